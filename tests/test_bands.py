"""Kernels that are joined to bands: same bits as apart, and never across rows."""

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad._src.cpu.pool import native


def plan(f, *args):
    return jax.see.program(f)(*args).plan


def softmax(x):
    e = jnp.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def standardised(x):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) / jnp.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5)


def several(x):
    total = x.sum(-1, keepdims=True)
    scaled = x / total
    best = jnp.argmax(scaled, -1)
    return scaled, best, jnp.log(abs(total)), (scaled * scaled).sum(-1)


def with_bias(x):
    bias = jnp.arange(x.shape[-1], dtype=x.dtype)
    return softmax(x * bias) + bias


def with_lookup(x):
    best = jnp.argmax(x, -1)
    return jnp.take_along_axis(x, best[..., None], -1) - x


def two_axes(x):
    return x - x.sum((-2, -1), keepdims=True)


FUNCTIONS = [softmax, standardised, several, with_bias, with_lookup, two_axes]
SHAPES = [(33, 7), (5, 3, 50), (20, 4, 33), (100, 1000), (17, 5000), (2, 3), (40, 1)]


def numbers(shape, dtype):
    x = np.random.default_rng(0).standard_normal(shape)
    return jnp.asarray(x.astype("float32"), dtype)


@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_bits(f, shape, dtype):
    if len(shape) < 2 and f is two_axes:
        return
    with jax.enable_x64(True):
        x = numbers(shape, dtype)
        outs = jax.jit(f)(x)
        outs = outs if isinstance(outs, tuple) else (outs,)
        wants = f(x)
        wants = wants if isinstance(wants, tuple) else (wants,)
        pieces = [
            jax.jit(lambda v, i=i: (r if isinstance(r := f(v), tuple) else (r,))[i])
            for i in range(len(outs))
        ]
        for out, want, piece in zip(outs, wants, pieces):
            np.testing.assert_array_equal(out, want)
            np.testing.assert_array_equal(out, piece(x))


@pytest.mark.parametrize("f", FUNCTIONS)
def test_bits_do_not_depend_on_threads(f):
    x = numbers((300, 700), "float32")
    runner = native()
    before = runner.num_threads
    found = []
    try:
        for count in (1, 2, 3):
            runner.set_num_threads(count)
            found.append([np.asarray(v) for v in jax.tree.leaves(jax.jit(f)(x))])
    finally:
        runner.set_num_threads(before)
    for other in found[1:]:
        for a, b in zip(found[0], other):
            np.testing.assert_array_equal(a, b)


def test_what_becomes_a_band():
    x = numbers((64, 500), "float32")
    for f in (softmax, standardised, several, with_bias):
        text = plan(f, x)
        assert "band of 64 rows, 500 elements each" in text
        assert "\nkernel" not in text, text


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x - x.sum(-1, keepdims=True)[::-1],
        lambda x: x / (x * 2).sum(-1)[None, :],
        lambda x: x + (x - x.max(-1, keepdims=True)).sum(),
        lambda x: x - x.sum(0, keepdims=True),
        lambda x: (x / x.sum(-1, keepdims=True)).T @ x,
        lambda x: jnp.roll(x.sum(-1, keepdims=True), 1, 0) + x,
        lambda x: x.sum(-1)[jnp.argmax(x, -1) % x.shape[0]][:, None] * x,
    ],
)
def test_what_needs_other_rows(f):
    x = np.abs(np.random.default_rng(0).standard_normal((300, 300))).astype("float32")
    got = jax.jit(f)(jnp.asarray(x))
    with jax.enable_x64(True):
        want = f(jnp.asarray(x, "float64"))
    np.testing.assert_allclose(got, want, rtol=2e-4, atol=1e-4)


@pytest.mark.parametrize("f", [softmax, standardised])
def test_a_donated_operand_is_overwritten_row_by_row(f):
    x = numbers((200, 300), "float32")
    want = np.asarray(f(x))
    given = jax.jit(f, donate_argnums=0)(x)
    np.testing.assert_array_equal(given, want)
    assert x.is_deleted()


def test_derivatives():
    x = numbers((40, 60), "float32")
    for f in (softmax, standardised):
        got = jax.jit(jax.grad(lambda v: (f(v) ** 3).sum()))(x)
        want = jax.grad(lambda v: (f(v) ** 3).sum())(x)
        np.testing.assert_array_equal(got, want)
        _, numeric = jax.jvp(lambda v: (f(v) ** 3).sum(), (x,), (x,))
        np.testing.assert_allclose((got * x).sum(), numeric, rtol=2e-3, atol=1e-4)


def composed(rng, *arrays):
    """Rows folded, and combined with what was there before, at random."""
    pool = list(arrays)
    for _ in range(9):
        a, b = (pool[rng.integers(max(0, len(pool) - 5), len(pool))] for _ in "ab")
        kind = rng.integers(5)
        if kind == 0:
            pool.append(jnp.sin(a) * 0.5 + b)
        elif kind == 1:
            pool.append(a - b.max(-1, keepdims=True))
        elif kind == 2:
            pool.append(a / (1 + (b * b).sum(-1, keepdims=True)))
        elif kind == 3:
            total = (a + b).mean(-1, keepdims=True)
            pool.append(a * total - b)
        else:
            pool.append(jnp.where(a > b, a, -b) + jnp.cos(a).sum(-1, keepdims=True))
    chosen = rng.integers(len(arrays), len(pool), 3)
    return [pool[i] + 0 for i in sorted(set(chosen.tolist()))]


@pytest.mark.filterwarnings("ignore:Some donated buffers were not usable")
@pytest.mark.parametrize("seed", range(60))
def test_memory_that_is_given_away_is_needed_by_nobody(seed):
    shape = [(40, 300), (3, 4), (5, 6, 33)][seed % 3]
    hosts = [np.random.default_rng(i).random(shape, dtype="float32") for i in range(3)]

    def f(x, y, z):
        return composed(np.random.default_rng(seed), x, y, z)

    held = [jnp.asarray(h) for h in hosts]
    wants = [np.asarray(v) for v in jax.jit(f)(*held)]
    for numbers in ((), (0,), (1,), (0, 1, 2)):
        given = [jnp.asarray(h) for h in hosts]
        outs = jax.jit(f, donate_argnums=numbers)(*given)
        for out, want in zip(outs, wants):
            np.testing.assert_array_equal(out, want)
    for v, h in zip(held, hosts):
        np.testing.assert_array_equal(v, h)
    for n in range(len(wants)):
        alone = jax.jit(lambda *a, n=n: f(*a)[n])(*held)
        np.testing.assert_array_equal(alone, wants[n])
