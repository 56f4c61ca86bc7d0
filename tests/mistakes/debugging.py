"""Mistakes that the switches for debugging find."""

from __future__ import annotations

from mistakes.mistake import Mistake, mistake
from tetrad import errors

MISTAKES: list[Mistake] = [
    mistake(
        "a NaN that jit made",
        """
@jax.jit
def loss(x):
    y = jnp.log(x - 1.0)
    return y.sum()

with jax.debug_nans(True):
    loss(jnp.array([2.0, 0.0, 3.0]))
""",
        errors.NonFiniteError,
        "`jnp.log(x - 1.0)`",
        "-1.0",
    ),
    mistake(
        "a NaN in the gradient of a guarded root",
        """
def norm(x):
    return jnp.sum(jnp.where(x > 0, jnp.sqrt(x), 0.0))

with jax.debug_nans(True):
    jax.grad(norm)(jnp.array([0.0, 4.0]))
""",
        errors.NonFiniteError,
        "in the backward pass of `jnp.sqrt(x)`",
    ),
    mistake(
        "a NaN in a step of a loop",
        """
def step(c, x):
    c = c - x
    return c, jnp.log(c)

with jax.debug_nans(True):
    jax.lax.scan(step, 3.0, jnp.ones(5))
""",
        errors.NonFiniteError,
        "step 3 of scan",
        "`jnp.log(c)`",
    ),
    mistake(
        "an infinity",
        """
with jax.debug_infs(True):
    1.0 / jnp.zeros(3)
""",
        errors.NonFiniteError,
        "gave an infinity",
    ),
    mistake(
        "a check in a compiled function",
        """
from tetrad.experimental import checkify

@jax.jit
def root(x):
    checkify.check(x >= 0, "negative: {}", x)
    return jnp.sqrt(x)

root(4.0)
""",
        ValueError,
        "jax.jit(checkify.checkify(f))",
    ),
    mistake(
        "a check that fails",
        """
from tetrad.experimental import checkify

@jax.jit
@checkify.checkify
def root(x):
    checkify.check(x >= 0, "negative: {}", x)
    return jnp.sqrt(x)

error, y = root(-4.0)
error.throw()
""",
        errors.CheckError,
        "negative: -4.0",
        "in `root`",
    ),
    mistake(
        "an error looked at while tracing",
        """
from tetrad.experimental import checkify

@jax.jit
def f(x):
    error, y = checkify.checkify(jnp.log, checkify.nan_checks)(x)
    error.throw()
    return y

f(1.0)
""",
        errors.ConcretizationTypeError,
        "Return the error",
    ),
    mistake(
        "a check on many elements",
        """
from tetrad.experimental import checkify

checkify.check(jnp.arange(3) > 0, "not positive")
""",
        TypeError,
        "bool[3]",
        "jnp.all(",
    ),
    mistake(
        "a gap in the message of a check",
        """
from tetrad.experimental import checkify

checkify.check(True, "x is {x}", y=1.0)
""",
        ValueError,
        "'x is {x}'",
        "['y']",
    ),
    mistake(
        "kinds of errors that are no set",
        """
from tetrad.experimental import checkify

checkify.checkify(jnp.sin, errors="nan")
""",
        TypeError,
        "checkify.nan_checks",
    ),
]
