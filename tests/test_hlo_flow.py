"""Branches and loops on a PJRT plugin give what they give on the CPU."""

import numpy as np
import pytest
from plugin import needs_plugin, on_plugin

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax

pytestmark = needs_plugin

X = np.linspace(-1, 1, 6, dtype="float32").reshape(3, 2)


def scanned(x):
    def step(c, row):
        return jnp.sin(c) + row, c * row

    return lax.scan(step, jnp.ones(2), x)


PROGRAMS = {
    "cond": lambda x: lax.cond(x.sum() > -5, lambda v: v * 2, lambda v: -v, x),
    "switch": lambda x: [
        lax.switch(i, [jnp.sin, jnp.cos, lambda v: v * 3], x) for i in range(3)
    ],
    "scan": scanned,
    "scan backwards": lambda x: lax.scan(
        lambda c, r: (c + r, c), jnp.zeros(2), x, reverse=True
    ),
    "scan without steps": lambda x: lax.scan(
        lambda c, r: (c + r, c), jnp.zeros(2), x[:0]
    ),
    "fori": lambda x: lax.fori_loop(0, 5, lambda i, v: v * 0.5 + i, x),
    "while": lambda x: lax.while_loop(
        lambda s: s[0] < 40, lambda s: (s[0] * 3, s[1] + x.sum()), (1, 0.5)
    ),
    "nested": lambda x: lax.fori_loop(
        0, 3, lambda i, v: lax.cond(i % 2 == 0, lambda u: u + 1, scanned_sum, v), x
    ),
    "gradient": jax.grad(lambda x: scanned(x)[0].sum() + scanned(x)[1].sum()),
    "mapped": jax.vmap(
        lambda r: lax.while_loop(lambda v: v.sum() < 3, lambda v: v + 1, r)
    ),
}


def scanned_sum(v):
    return lax.scan(lambda c, r: (c + r, None), jnp.zeros(2), v)[0] + v


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_flow(name, jitted):
    fun = jax.jit(PROGRAMS[name]) if jitted else PROGRAMS[name]
    want = jax.tree.leaves(fun(jnp.asarray(X)))
    with on_plugin():
        got = jax.tree.leaves(fun(jnp.asarray(X)))
        assert {x.device.platform for x in got} == {"xla_cpu"}
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
