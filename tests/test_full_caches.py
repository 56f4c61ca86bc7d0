"""Caches that are always full: what is dropped is made again, and nothing else changes."""

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax
from tetrad._src.util import memo

X = np.linspace(-2, 2, 24).reshape(4, 6).astype("f4")


def several_kernels(x):
    y = jnp.sort(jnp.cumsum(x, 1), 0)
    z = jnp.concatenate([y.T @ x, x.T @ y], 1)
    return jnp.fft.fft(z).real + z.mean(0), z.argmax(1), jnp.exp(z) / 7


def recurrence(x):
    def step(carry, row):
        carry = jnp.tanh(carry * 0.5 + jnp.roll(row, 1))
        return carry, carry.sum()

    return lax.scan(step, jnp.zeros(6), x)


PROGRAMS = [
    several_kernels,
    recurrence,
    lambda x: jax.grad(lambda x: recurrence(x)[1].sum())(x),
    lambda x: jax.hessian(lambda v: jnp.prod(jnp.sin(v)))(x[0]),
    lambda x: jax.vmap(lambda r: jnp.linalg.norm(r) + r[::2].at[1].add(2))(x[:, :5]),
    lambda x: lax.cond(x.sum() > 1, jnp.cos, lambda x: jnp.pad(x, 1)[1:-1, 1:-1], x),
    lambda x: jax.random.permutation(jax.random.key(3), x),
    lambda x: jnp.linalg.solve(x @ x.T + 30 * jnp.eye(4), jnp.interp(x, x[0], x[1])),
]


@pytest.fixture(params=[1, 3])
def full(request, monkeypatch):
    """Every cache there is has room for so many entries."""
    caches = [cache for cache in list(memo._registry) if isinstance(cache, memo.Cache)]
    assert len(caches) > 20
    for cache in caches:
        monkeypatch.setattr(cache, "limit", request.param)
    jax.clear_caches()
    yield
    jax.clear_caches()


@pytest.mark.parametrize("compiled", [False, True])
def test_results_are_the_same(full, monkeypatch, compiled):
    x = jnp.asarray(X)
    for _ in range(2):  # the second time caches hold what came last
        for program in PROGRAMS:
            got = (jax.jit(program) if compiled else program)(x)
            got = [np.asarray(leaf) for leaf in jax.tree.leaves(got)]
            with monkeypatch.context() as roomy:
                for cache in list(memo._registry):
                    if isinstance(cache, memo.Cache):
                        roomy.setattr(cache, "limit", 4096)
                want = jax.tree.leaves(program(x))
            for one, other in zip(got, want, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)
