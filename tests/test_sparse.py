"""Sparse arrays against their dense forms: products, sums, layouts, gradients."""

import itertools

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad.experimental import sparse

RNG = np.random.default_rng(0)


def dense(*shape):
    x = RNG.normal(size=shape).astype("float32")
    x[RNG.random(shape) < 0.6] = 0
    return x


M = dense(4, 5)


def same(ours, theirs):
    if isinstance(ours, sparse.BCOO):
        ours = ours.todense()
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def test_to_and_from_dense():
    m = sparse.BCOO.fromdense(M)
    assert repr(m) == f"BCOO(float32[4, 5], nse={np.count_nonzero(M)})"
    same(m, M)
    padded = jax.jit(lambda x: sparse.BCOO.fromdense(x, nse=18))(jnp.asarray(M))
    assert padded.nse == 18
    same(padded, M)
    same(padded @ jnp.ones(5), M.sum(1))
    assert padded.sum() == pytest.approx(M.sum(), rel=1e-5)
    with pytest.raises(ValueError, match="say nse"):
        jax.jit(sparse.BCOO.fromdense)(jnp.asarray(M))
    with pytest.raises(TypeError, match="todense"):
        np.asarray(m)
    with pytest.raises(NotImplementedError, match="n_batch=1"):
        sparse.BCOO.fromdense(M, n_batch=1)
    with pytest.raises(ValueError, match="data must be"):
        sparse.BCOO((jnp.ones(2), jnp.ones((2, 1))), shape=(2, 2))


def test_products():
    m = sparse.BCOO.fromdense(M)
    v, w = dense(5), dense(4)
    a, b = dense(5, 3), dense(2, 4)
    same(m @ v, M @ v)
    same(m @ a, M @ a)
    same(w @ m, w @ M)
    same(b @ m, b @ M)
    same(jnp.asarray(b) @ m, b @ M)
    same(m @ sparse.BCOO.fromdense(a), M @ a)
    same(jax.jit(lambda m, v: m @ v)(m, v), M @ v)
    same(jax.vmap(lambda v: m @ v)(jnp.asarray(a.T)), (M @ a).T)
    x, y = dense(2, 3, 4), dense(4, 2, 5)
    numbers = (((2,), (0,)), ((0,), (1,)))
    expected = np.einsum("bik,kbj->bij", x, y)
    left = sparse.bcoo_dot_general(
        sparse.BCOO.fromdense(x), y, dimension_numbers=numbers
    )
    same(left, expected)
    right = sparse.bcoo_dot_general(
        x, sparse.BCOO.fromdense(y), dimension_numbers=numbers
    )
    same(right, expected)
    with pytest.raises(TypeError, match="has extent"):
        m @ jnp.ones(4)


def test_arithmetic():
    m, n = sparse.BCOO.fromdense(M), sparse.BCOO.fromdense(M[::-1])
    same(m + n, M + M[::-1])
    same(m - n, M - M[::-1])
    same(2 * m, 2 * M)
    same(m / 4, M / 4)
    same(m * M, M * M)
    same(m * M[0], M * M[0])
    same(m * n, M * M[::-1])
    same(m + M, 2 * M)
    same(-m, -M)
    twice = (m + n).sum_duplicates()
    assert twice.nse == np.count_nonzero((M != 0) | (M[::-1] != 0))
    same(twice, M + M[::-1])
    same(m.sort_indices().T.sort_indices(), M.T)


def test_places_that_come_twice():
    places = jnp.array([[3, 1], [0, 2], [3, 1], [0, 0], [4, 0], [0, 9]])
    m = sparse.BCOO((jnp.array([1.0, 2, 3, 0, 5, 6]), places), shape=(4, 5))
    full = m.todense()
    once = m.sum_duplicates()
    assert once.indices.tolist() == [[0, 2], [3, 1]]
    assert once.data.tolist() == [2, 4]
    kept = m.sum_duplicates(remove_zeros=False)
    assert kept.indices.tolist() == [[0, 0], [0, 2], [3, 1]]
    assert sparse.bcoo_sum_duplicates(m).nse == 3
    for nse in (2, 5):
        same(m.sum_duplicates(nse), full)
        same(jax.jit(lambda m, nse=nse: m.sum_duplicates(nse))(m), full)
    same(jax.jit(lambda m: m.sum_duplicates())(m), full)
    assert sparse.empty((4, 5)).sum_duplicates().nse == 0
    stored = np.isin(np.arange(20).reshape(4, 5), [0, 2, 16])
    same(sparse.bcoo_extract(m, M), np.where(stored, M, 0))
    twice = sparse.bcoo_extract(m, M, assume_unique=True).data
    assert twice[0] == twice[2] == M[3, 1]


def test_layouts():
    x = dense(2, 3, 4)
    s = sparse.BCOO.fromdense(x)
    for order in itertools.permutations(range(3)):
        same(s.transpose(order), x.transpose(order))
    same(s.reshape(6, 4), x.reshape(6, 4))
    same(s.reshape((4, -1)), x.reshape(4, -1))
    same(s.sum(1), x.sum(1))
    same(s.sum((0, -1)), x.sum((0, -1)))
    same(sparse.bcoo_concatenate([s, s], dimension=1), np.concatenate([x, x], 1))
    same(s[1], x[1])
    same(sparse.eye(3, 4, k=1), np.eye(3, 4, k=1))
    same(sparse.empty((2, 2)), np.zeros((2, 2)))
    random = sparse.random_bcoo(jax.random.key(0), (6, 5), nse=0.4, sorted_indices=True)
    assert random.nse == 12
    assert np.count_nonzero(random.todense()) == 12


def test_gradients():
    m = sparse.BCOO.fromdense(M)
    v = jnp.asarray(dense(5))
    same(jax.grad(lambda v: (m @ v).sum())(v), M.sum(0))
    by_m = sparse.grad(lambda m, v: ((m @ v) ** 2).sum())(m, v)
    full = jax.grad(lambda x: ((x @ v) ** 2).sum())(jnp.asarray(M))
    same(by_m, np.where(M != 0, full, 0))
    value, (first, second) = sparse.value_and_grad(
        lambda m, v: (m @ v).sum(), argnums=(0, 1)
    )(m, v)
    assert isinstance(first, sparse.BCOO)
    same(second, M.sum(0))


def test_sparsify():
    m, v = sparse.BCOO.fromdense(M), dense(4)
    expected = 2 * np.log1p(abs(M).T) @ v + 1

    def f(m, v):
        return 2 * jnp.dot(jnp.log1p(abs(m).T), v) + 1

    same(sparse.sparsify(f)(m, v), expected)
    same(sparse.sparsify(jax.jit(f))(m, v), expected)
    same(sparse.sparsify(lambda m: jnp.sin(m).sum(0))(m), np.sin(M).sum(0))
    same(sparse.sparsify(lambda m: m.reshape(2, 10) * 3.0)(m), 3 * M.reshape(2, 10))
    wider = jax.jit(lambda m: sparse.sparsify(lambda m: m[None])(m).todense())
    same(wider(m), M[None])
    with pytest.raises(NotImplementedError, match="is stretched to"):
        sparse.sparsify(lambda m: jnp.broadcast_to(m, (2, 4, 5)))(m)
    with pytest.raises(NotImplementedError, match="`exp` has no rule"):
        sparse.sparsify(jnp.exp)(m)
