"""`vmap(f, chunk_size=k)`: the same results as `vmap(f)`, in less memory."""

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax


def normal(*shape, seed=0):
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape), jnp.float32)


def same(a, b):
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        assert x.dtype == y.dtype and x.shape == y.shape
        np.testing.assert_array_equal(np.asarray(x), np.asarray(y))


FUNCTIONS = {
    "arithmetic": lambda x: jnp.sin(x) * 2 + jnp.exp(-x),
    "sum": lambda x: jnp.sum(x * x),
    "mean": lambda x: (x - x.mean()) / x.std(),
    "sort": lambda x: jnp.sort(x)[:3],
    "scan": lambda x: lax.scan(lambda c, v: (c + v, c * v), 0.0, x),
    "while": lambda x: lax.while_loop(lambda v: v.sum() < 9, lambda v: v * 2, abs(x)),
    "cond": lambda x: lax.cond(x[0] > 0, jnp.sin, jnp.cos, x),
    "outer": lambda x: jnp.outer(x, x) @ x,
    "pytree": lambda x: {"a": x[0], "b": (x, jnp.argmax(x))},
    "solve": lambda x: jnp.linalg.solve(jnp.outer(x, x) + jnp.eye(x.size), x),
    "index": lambda x: x[jnp.argsort(x)],
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("chunk", [1, 3, 7, 10])
def test_results_are_the_same_bit_for_bit(name, chunk):
    f = FUNCTIONS[name]
    x = normal(7, 6)
    same(jax.vmap(f, chunk_size=chunk)(x), jax.vmap(f)(x))


@pytest.mark.parametrize(
    "in_axes, out_axes", [(0, 0), (1, 0), (-1, 1), (0, -1), (1, 1)]
)
def test_axes(in_axes, out_axes):
    x = normal(7, 8)
    for f in (jnp.cumsum, lambda v: v * 2):
        plain = jax.vmap(f, in_axes, out_axes)
        same(jax.vmap(f, in_axes, out_axes, chunk_size=3)(x), plain(x))


def test_shared_arguments_pytrees_and_keywords():
    def f(params, x, *, shift):
        return {"y": params["w"] @ x + params["b"] + shift, "same": params["b"]}

    params = {"w": normal(4, 3), "b": normal(4)}
    x = normal(3, 7)
    shift = normal(7)
    axes = {"in_axes": (None, 1), "out_axes": {"y": 1, "same": None}}
    plain = jax.vmap(f, **axes)(params, x, shift=shift)
    same(jax.vmap(f, chunk_size=2, **axes)(params, x, shift=shift), plain)
    mixed = {"in_axes": ({"w": None, "b": 0}, None)}
    params["b"] = normal(7, 4)
    plain = jax.vmap(f, **mixed)(params, x[:, 0], shift=shift)
    same(jax.vmap(f, chunk_size=4, **mixed)(params, x[:, 0], shift=shift), plain)


def test_shared_arguments_stay_known_to_python():
    def f(flag, x):
        return x * 2 if flag else x

    chunked = jax.vmap(f, in_axes=(None, 0), chunk_size=2)
    same(chunked(jnp.bool_(True), jnp.arange(5.0)), jnp.arange(5.0) * 2)


def test_results_that_do_not_depend_on_the_lane():
    f = lambda x: (x, jnp.ones(2))
    same(jax.vmap(f, chunk_size=2)(jnp.arange(5.0)), jax.vmap(f)(jnp.arange(5.0)))
    axes = {"out_axes": (0, None)}
    plain = jax.vmap(f, **axes)(jnp.arange(5.0))
    same(jax.vmap(f, chunk_size=2, **axes)(jnp.arange(5.0)), plain)


def test_nested():
    f = lambda x, y: jnp.dot(x, y) + x.sum()
    x, y = normal(5, 4), normal(7, 4, seed=1)
    plain = jax.vmap(jax.vmap(f, (None, 0)), (0, None))(x, y)
    inner = jax.vmap(jax.vmap(f, (None, 0), chunk_size=3), (0, None))
    outer = jax.vmap(jax.vmap(f, (None, 0)), (0, None), chunk_size=2)
    both = jax.vmap(jax.vmap(f, (None, 0), chunk_size=3), (0, None), chunk_size=2)
    for g in (inner, outer, both):
        same(g(x, y), plain)


def test_under_jit_and_grad():
    def f(w, x):
        return jnp.tanh(x @ w).sum()

    w, x = normal(4, 3), normal(7, 4, seed=1)
    plain = jax.vmap(f, (None, 0))
    chunked = jax.vmap(f, (None, 0), chunk_size=3)
    same(jax.jit(chunked)(w, x), plain(w, x))
    total = lambda g: lambda w, x: (g(w, x) ** 2).sum()
    want = jax.grad(total(plain), (0, 1))(w, x)
    for g in (
        jax.grad(total(chunked), (0, 1)),
        jax.jit(jax.grad(total(chunked), (0, 1))),
    ):
        for a, b in zip(g(w, x), want):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    per_lane = jax.vmap(jax.grad(f), (None, 0), chunk_size=2)
    same(per_lane(w, x), jax.vmap(jax.grad(f), (None, 0))(w, x))
    tangent = jax.jvp(lambda x: chunked(w, x), (x,), (x,))[1]
    np.testing.assert_allclose(
        tangent, jax.jvp(lambda x: plain(w, x), (x,), (x,))[1], rtol=1e-5
    )
    hessian = jax.hessian(lambda v: jax.vmap(lambda a: a**3, chunk_size=2)(v).sum())
    same(hessian(jnp.arange(3.0)), jnp.diag(6 * jnp.arange(3.0)))


def test_closed_over_values_have_gradients():
    x = normal(7)

    def loss(a):
        return jax.vmap(lambda v: jnp.sin(a * v), chunk_size=3)(x).sum()

    want = jax.grad(lambda a: jnp.sin(a * x).sum())(0.5)
    np.testing.assert_allclose(jax.grad(loss)(0.5), want, rtol=1e-5)


def test_random_keys():
    keys = jax.random.split(jax.random.key(0), 7)
    f = lambda key: jax.random.normal(key, (3,))
    again = jax.random.clone(keys)
    same(jax.vmap(f, chunk_size=3)(keys), jax.vmap(f)(again))
    split = jax.vmap(lambda key: jax.random.split(key)[0], chunk_size=2)
    data = jax.random.key_data(split(jax.random.clone(keys)))
    assert data.shape == (7, 2)


def test_without_jit():
    with jax.disable_jit():
        x = normal(5, 2)
        same(jax.vmap(jnp.sum, chunk_size=2)(x), jax.vmap(jnp.sum)(x))


def test_numpy_arrays_and_small_axes():
    x = np.arange(6.0).reshape(3, 2)
    same(jax.vmap(jnp.sum, chunk_size=2)(x), jax.vmap(jnp.sum)(x))
    same(jax.vmap(jnp.sum, chunk_size=2)(x[:1]), jax.vmap(jnp.sum)(x[:1]))
    empty = jnp.ones((0, 3))
    same(jax.vmap(jnp.sum, chunk_size=2)(empty), jax.vmap(jnp.sum)(empty))
    constant = jax.vmap(lambda x: x + 1, in_axes=None, axis_size=4, chunk_size=2)
    same(constant(1.0), jax.vmap(lambda x: x + 1, in_axes=None, axis_size=4)(1.0))


def test_memory_is_that_of_a_chunk():
    device = jax.devices("cpu")[0]

    def f(p, points):
        return jnp.sort(jnp.abs(p - points))[:5]

    points = jnp.arange(3000.0).block_until_ready()
    plain = jax.vmap(f, (0, None))(points, points).block_until_ready()
    jax.release_memory()
    with jax.set_memory_limit(device.memory_stats()["bytes_in_use"] + 6_000_000):
        with pytest.raises(jax.errors.OutOfMemoryError, match="chunk_size=64"):
            jax.vmap(f, (0, None))(points, points).block_until_ready()
        device.ledger.reset_peak()
        same(jax.vmap(f, (0, None), chunk_size=64)(points, points), plain)
        assert device.ledger.peak <= device.ledger.limit


def test_whole_chunks_copy_no_operands():
    device = jax.devices("cpu")[0]
    x = jnp.ones((400, 1000)).block_until_ready()
    f = jax.vmap(lambda v: jnp.cumsum(v) * 2, chunk_size=20)
    f(x).block_until_ready()
    before = device.memory_stats()["bytes_in_use"]
    device.ledger.reset_peak()
    y = f(x).block_until_ready()
    assert device.ledger.peak - before < 1.5 * y.nbytes


@pytest.mark.parametrize("chunk", [0, -1, True])
def test_wrong_chunk_sizes(chunk):
    with pytest.raises(ValueError, match="from 1 on"):
        jax.vmap(jnp.sin, chunk_size=chunk)


def test_more_wrong_calls():
    with pytest.raises(TypeError, match="chunk_size is the number of lanes"):
        jax.vmap(jnp.sin, chunk_size=2.5)
    with pytest.raises(ValueError, match="leave one out"):
        jax.vmap(jnp.sin, axis_name="i", chunk_size=2)
    with pytest.raises(ValueError, match="do not fit together"):
        jax.vmap(jnp.add, chunk_size=2)(jnp.ones(3), jnp.ones(4))
    with pytest.raises(ValueError, match="out_axes=None"):
        jax.vmap(jnp.sin, out_axes=None, chunk_size=2)(jnp.ones(3))
    with pytest.raises(ValueError) as caught:
        jax.vmap(lambda x: x + jnp.ones(5), chunk_size=2)(jnp.ones((4, 3)))
    assert "one lane of 4" in "".join(caught.value.__notes__)
