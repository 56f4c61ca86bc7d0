"""Functions of neural networks: values, slopes at bends, attention, first weights."""

import math

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad.nn import initializers

X = np.linspace(-3, 3, 13).astype("float32")


def test_activations():
    x = jnp.asarray(X)
    softplus = np.log1p(np.exp(X))
    close = np.testing.assert_allclose
    close(jax.nn.squareplus(x), (X + np.sqrt(X**2 + 4)) / 2, rtol=1e-6, atol=1e-7)
    bend = np.where(X <= -1, 0, np.where(X >= 1, X, (X + 1) ** 2 / 4))
    close(jax.nn.sparse_plus(x), bend, rtol=1e-6)
    close(jax.nn.sparse_sigmoid(x), np.clip((X + 1) / 2, 0, 1), rtol=1e-6)
    close(
        jax.vmap(jax.grad(jax.nn.sparse_plus))(x), jax.nn.sparse_sigmoid(x), rtol=1e-6
    )
    close(jax.nn.mish(x), X * np.tanh(softplus), rtol=1e-5, atol=1e-7)
    close(jax.nn.identity(x), X)


def test_slopes_at_bends_and_nan():
    grad = jax.grad
    assert grad(jax.nn.relu6)(0.0) == grad(jax.nn.relu6)(6.0) == 0
    assert grad(jax.nn.relu6)(3.0) == 1
    assert math.isnan(grad(jax.nn.softplus)(math.nan))
    assert grad(jax.nn.softplus)(math.inf) == 1
    assert grad(lambda x: jnp.logaddexp(x, x))(-math.inf) == 2


def test_logarithms_of_means_and_differences():
    x = jnp.asarray(X)
    np.testing.assert_allclose(
        jax.nn.logmeanexp(x), np.log(np.mean(np.exp(X))), rtol=1e-6
    )
    far = jax.nn.logmeanexp(jnp.array([1000.0, 1000.0]))
    assert far == 1000
    points = np.array([1e-6, 0.1, 1, 30])
    want = np.log1p(-np.exp(-points))
    np.testing.assert_allclose(
        jax.nn.log1mexp(points.astype("float32")), want, rtol=1e-5
    )
    assert math.isnan(jax.nn.log1mexp(-1.0))
    np.testing.assert_allclose(
        jax.grad(jax.nn.log1mexp)(0.5), 1 / np.expm1(0.5), rtol=1e-6
    )


@pytest.mark.parametrize("rule", [False, True])
def test_softmax_and_its_derivative(rule):
    x, where = jnp.asarray(X[:5]), jnp.array([True, True, False, True, False])
    with jax.softmax_custom_jvp(rule):
        jacobian = jax.jacrev(jax.nn.softmax)(x)
        y = np.asarray(jax.nn.softmax(x))
        np.testing.assert_allclose(jacobian, np.diag(y) - np.outer(y, y), atol=1e-6)
        masked = jax.jacfwd(lambda x: jax.nn.softmax(x, where=where))(x)
        y = np.asarray(jax.nn.softmax(x, where=where))
        np.testing.assert_allclose(masked, np.diag(y) - np.outer(y, y), atol=1e-6)


def test_standardize_never_takes_the_root_of_a_negative_variance():
    x = jnp.array([-11.0, -11.0, -11.0]) + 3e-6
    assert not bool(jnp.isnan(jax.nn.standardize(x)).any())
    far = jnp.array([1e6, 1e6 + 1, 1e6 + 2])
    stable = jax.nn.standardize(far, algorithm="stable")
    np.testing.assert_allclose(stable, [-1.2247, 0, 1.2247], atol=1e-3)
    with pytest.raises(ValueError, match="'fast' or 'stable'"):
        jax.nn.standardize(x, algorithm="slow")


def test_one_hot_takes_lists_and_warns_of_floats():
    np.testing.assert_array_equal(jax.nn.one_hot([0, 2], 3), [[1, 0, 0], [0, 0, 1]])
    with pytest.warns(DeprecationWarning, match="integer-typed"):
        jax.nn.one_hot(jnp.array([1.0]), 2)


# ------------------------------------------------------------------------------ attention


def reference(q, k, v, allowed, bias=0.0):
    k, v = [np.repeat(a, q.shape[2] // a.shape[2], axis=2) for a in (k, v)]
    scores = np.einsum("btnh,bsnh->bnts", q, k) / math.sqrt(q.shape[-1]) + bias
    scores = np.where(allowed, scores, -1e30)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    total = weights.sum(-1, keepdims=True)
    log_sum = np.log(total)[..., 0] + scores.max(-1)
    return np.einsum("bnts,bsnh->btnh", weights / total, v), log_sum.transpose(0, 2, 1)


def draw(seed):
    rng = np.random.default_rng(seed)
    shapes = [(2, 5, 4, 3), (2, 6, 2, 3), (2, 6, 2, 3)]
    return [rng.standard_normal(s).astype("float32") for s in shapes]


def test_attention_masks():
    q, k, v = draw(0)
    row, column = np.arange(5)[:, None], np.arange(6)[None]
    rng = np.random.default_rng(1)
    mask = rng.random((2, 1, 5, 6)) > 0.3
    mask[..., 0] = True
    bias = rng.standard_normal((1, 4, 5, 6)).astype("float32")
    near = (column >= row - 1) & (column <= row + 2)
    cases = [
        ({}, True, 0.0),
        ({"is_causal": True}, column <= row, 0.0),
        ({"local_window_size": (1, 2)}, near, 0.0),
        ({"mask": mask}, mask, 0.0),
        ({"bias": bias, "mask": mask}, mask, bias),
    ]
    for options, allowed, extra in cases:
        want, log_sum = reference(q, k, v, allowed, extra)
        got, residual = jax.nn.dot_product_attention(
            q, k, v, return_residual=True, **options
        )
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-6)
        np.testing.assert_allclose(residual, log_sum, rtol=2e-5, atol=2e-6)


def test_attention_of_sequences_of_several_lengths():
    q, k, v = draw(2)
    got = jax.nn.dot_product_attention(
        q, k, v,
        query_seq_lengths=jnp.array([2, 5]),
        key_value_seq_lengths=jnp.array([3, 6]),
    )  # fmt: skip
    want, _ = reference(q[:1, :2], k[:1, :3], v[:1, :3], True)
    np.testing.assert_allclose(got[:1, :2], want, rtol=2e-5, atol=2e-6)
    assert not np.asarray(got)[0, 2:].any()
    alone = jax.vmap(jax.nn.dot_product_attention)(q, k, v)
    np.testing.assert_allclose(alone, reference(q, k, v, True)[0], rtol=2e-5, atol=2e-6)
    half = jax.nn.dot_product_attention(
        *[jnp.asarray(x, jnp.bfloat16) for x in (q, k, v)]
    )
    assert half.dtype == jnp.bfloat16


def test_attention_explains_wrong_arguments():
    q, k, v = draw(3)
    with pytest.raises(ValueError, match="the 4 heads of the query must be a multiple"):
        jax.nn.dot_product_attention(
            q, np.ones((2, 6, 3, 3), "f4"), np.ones((2, 6, 3, 3), "f4")
        )
    with pytest.raises(ValueError, match="mask must hold bools"):
        jax.nn.dot_product_attention(q, k, v, mask=np.ones((5, 6), "f4"))
    with pytest.raises(NotImplementedError, match="cudnn"):
        jax.nn.dot_product_attention(q, k, v, implementation="cudnn")


# --------------------------------------------------------------------------- initializers


@jax.key_check("off")
def test_known_first_weights():
    key = jax.random.key(42)
    got = initializers.he_normal()(key, (2, 3))
    want = [[-0.03071363, 0.5051931, 0.32045117], [0.16655728, -0.13455985, 0.2352222]]
    np.testing.assert_allclose(got, want, rtol=1e-6)
    got = initializers.lecun_uniform()(key, (2, 3), jnp.complex64)
    np.testing.assert_allclose(got[0, 0], -0.10185894 - 0.72103083j, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("distribution", ["truncated_normal", "normal", "uniform"])
@pytest.mark.parametrize(
    "mode, n",
    [("fan_in", 600), ("fan_out", 300), ("fan_avg", 450), ("fan_geo_avg", 424.26)],
)
def test_variance_follows_the_fan(mode, n, distribution, dtype):
    init = initializers.variance_scaling(2.0, mode, distribution, dtype=dtype)
    w = np.asarray(init(jax.random.key(1), (3, 200, 100)))
    assert w.dtype == dtype and w.shape == (3, 200, 100)
    np.testing.assert_allclose(np.mean(np.abs(w) ** 2), 2 / n, rtol=0.02)
    assert abs(w.mean()) < 0.01 * np.abs(w).max()
    if distribution == "truncated_normal":
        spread = 0.87962566 if dtype == "float32" else 0.96196255
        assert np.abs(w).max() <= 2 * math.sqrt(2 / n) / spread * 1.0001


@jax.key_check("off")
def test_plain_first_weights():
    key = jax.random.key(0)
    assert initializers.constant(3)(key, (2,)).tolist() == [3, 3]
    assert initializers.zeros(key, (1,)).tolist() == [0]
    assert initializers.ones(key, (1,), jnp.bfloat16).dtype == jnp.bfloat16
    assert float(initializers.uniform(0.5)(key, (1000,)).max()) <= 0.5
    narrow = initializers.truncated_normal(2.0, lower=-1.0, upper=0.5)(key, (1000,))
    assert float(narrow.min()) > -2 and float(narrow.max()) < 1
    with pytest.raises(ValueError, match="no axis -2"):
        initializers.he_normal()(key, (5,))
    with pytest.raises(ValueError, match="mode must be one of"):
        initializers.variance_scaling(1.0, "fan", "normal")


def test_orthogonal_initializers():
    keys = iter(jax.random.split(jax.random.key(0), 9))
    for shape, column_axis in (((4, 3), -1), ((2, 3, 4), -1), ((3, 2, 5), 0)):
        w = initializers.orthogonal(2.0, column_axis)(next(keys), shape)
        assert w.shape == shape
        m = np.moveaxis(np.asarray(w), column_axis, -1).reshape(-1, shape[column_axis])
        gram = m.T @ m if m.shape[0] >= m.shape[1] else m @ m.T
        np.testing.assert_allclose(gram, 4 * np.eye(len(gram)), atol=1e-5)
    w = initializers.delta_orthogonal()(next(keys), (3, 4, 2, 5))
    middle = np.asarray(w[1, 1])
    np.testing.assert_allclose(middle @ middle.T, np.eye(2), atol=1e-5)
    assert np.count_nonzero(w) == np.count_nonzero(middle)
    with pytest.raises(ValueError, match="two axes or more"):
        initializers.orthogonal()(next(keys), (3,))
    with pytest.raises(ValueError, match="more inputs"):
        initializers.delta_orthogonal()(next(keys), (3, 3, 2))


@pytest.mark.parametrize("function", [jax.nn.softmax, jax.nn.log_softmax])
def test_slices_in_which_nothing_is_chosen_have_no_derivative(function):
    x = jnp.array([[0.0, 3.0, 1.0], [1.0, 2.0, 0.0]])
    where = jnp.array([[True, True, False], [False, False, False]])

    def f(x):
        return function(x, where=where)

    (cotangent,) = jax.vjp(f, x)[1](jnp.ones((2, 3)))
    tangent = jax.jvp(f, (x,), (x,))[1]
    for found in (cotangent, tangent):
        np.testing.assert_array_equal(found[1], 0)
        np.testing.assert_array_equal(found[0, 2], 0)
        assert np.isfinite(found).all()
