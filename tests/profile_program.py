"""A program whose lines the tests of profiles know by their marks.

A comment `# mark NAME` names a line; `line(NAME)` is its number.
"""

from pathlib import Path

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax

SOURCE = Path(__file__).read_text().split("\n")


def line(name):
    """The number of the line that is marked with this name."""
    (found,) = [
        n for n, text in enumerate(SOURCE, 1) if text.endswith(f"# mark {name}")
    ]
    return found


def lines(*names):
    return {line(name) for name in names}


def eager(x):
    y = jnp.sin(x)  # mark sin
    z = y * 2  # mark double
    return z.sum()  # mark sum


@jax.jit
def jitted(x, w):
    h = x @ w  # mark product
    h = jnp.tanh(h)  # mark tanh
    return jnp.sort(h, axis=1)  # mark sort


@jax.jit
def looped(x, w):
    def body(i, c):
        c = c @ w  # mark loop product
        return jnp.cos(c) * 1e-3  # mark loop cosine

    return lax.fori_loop(0, 7, body, x)  # mark loop


@jax.jit
def scanned(x):
    def step(c, t):
        c = c * 0.5 + t  # mark step
        return c, jnp.exp(c)  # mark step result

    return lax.scan(step, jnp.zeros(()), x)[1]  # mark scan


@jax.jit
def searched(x):
    return lax.while_loop(  # mark while
        lambda c: c[0] < 5,
        lambda c: (c[0] + 1, jnp.sinh(c[1] @ c[1] * 1e-6)),  # mark while body
        (0, x),
    )[1]


@jax.jit
def chosen(flag, x):
    return lax.cond(
        flag,
        lambda x: x @ x,  # mark branch taken
        lambda x: jnp.fft.fft(x).real,  # mark branch not taken
        x,
    )


def called(x):
    return jax.pure_callback(lambda y: y + 1, x, x) * 2  # mark callback


def loss(w, x):
    return jnp.sum((x @ w) ** 2)  # mark loss


slope = jax.jit(jax.grad(loss))
