"""Products of arrays whose blocks have scales of their own."""

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax, nn

RANDOM = np.random.default_rng(11)
X = RANDOM.normal(size=(2, 5, 64)).astype(np.float32)
Y = RANDOM.normal(size=(2, 7, 64)).astype(np.float32)
DIMS = (((2,), (2,)), ((0,), (0,)))


def test_scaled_matmul():
    a, b = jnp.asarray(X).astype("float8_e4m3fn"), jnp.asarray(Y).astype("float8_e5m2")
    s = 2.0 ** RANDOM.integers(-3, 3, (2, 5, 2)).astype(np.float32)
    t = 2.0 ** RANDOM.integers(-3, 3, (2, 7, 4)).astype(np.float32)
    want = np.einsum(
        "bmk,bnk->bmn",
        np.asarray(a.astype("float32")) * np.repeat(s, 32, -1),
        np.asarray(b.astype("float32")) * np.repeat(t, 16, -1),
    )
    scales = [jnp.asarray(v).astype("float8_e8m0fnu") for v in (s, t)]
    got = jax.jit(nn.scaled_matmul)(a, b, *scales)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
    low = nn.scaled_matmul(a, b, *scales, preferred_element_type=jnp.bfloat16)
    assert low.dtype == jnp.bfloat16
    turned = lax.scaled_dot(
        a,
        jnp.swapaxes(b, 1, 2),
        lhs_scale=scales[0],
        rhs_scale=jnp.swapaxes(scales[1], 1, 2),
        preferred_element_type="float32",
    )
    np.testing.assert_allclose(turned, want, rtol=1e-4, atol=1e-4)
    plain = lax.scaled_dot(X[0], Y[0].T)
    assert plain.dtype == jnp.bfloat16
    np.testing.assert_allclose(plain.astype("float32"), X[0] @ Y[0].T, rtol=1e-2)


def by_hand(x, mode, factor):
    """Rounds to blocks as the two formats say, in NumPy."""
    size, most = (32, 448.0) if mode == "mxfp8" else (16, 6.0)
    blocks = x.reshape(*x.shape[:-1], -1, size)
    scale = np.abs(blocks).max(-1, keepdims=True) / most
    if mode == "mxfp8":
        scale = 2.0 ** np.ceil(np.log2(scale))
        units = jnp.asarray(blocks / scale).astype("float8_e4m3fn")
        units = np.asarray(units.astype("float32"))
    else:
        narrow = jnp.asarray(scale / factor).astype("float8_e4m3fn")
        scale = np.asarray(narrow.astype("float32")) * factor
        grid = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
        units = np.clip(blocks / scale, -most, most)
        nearest = np.abs(np.abs(units)[..., None] - grid).argmin(-1)
        units = np.sign(units) * grid[nearest]
    return (units * scale).reshape(x.shape)


@pytest.mark.parametrize("mode, factor", [("mxfp8", 1), ("nvfp4", 1), ("nvfp4", 0.25)])
def test_scaled_dot_general(mode, factor):
    scale = None if factor == 1 else jnp.array([factor], jnp.float32)
    configs = [nn.get_scaled_dot_general_config(mode, scale)] * 3

    def product(x, y):
        return nn.scaled_dot_general(x, y, DIMS, configs=configs)

    x, y = by_hand(X, mode, factor), by_hand(Y, mode, factor)
    got = jax.jit(product)(X, Y)
    np.testing.assert_allclose(got, np.einsum("bmk,bnk->bmn", x, y), atol=1e-4)
    ct = RANDOM.normal(size=got.shape).astype(np.float32)
    by_x, by_y = jax.vjp(product, X, Y)[1](jnp.asarray(ct))
    error = 0.6 if mode == "mxfp8" else 4
    np.testing.assert_allclose(by_x, ct @ Y, atol=error)
    np.testing.assert_allclose(by_y, ct.swapaxes(1, 2) @ X, atol=error)
    assert not (by_x == ct @ Y).all()


def test_without_blocks_it_is_a_product():
    got = nn.scaled_dot_general(X, Y, DIMS, preferred_element_type="float32")
    np.testing.assert_array_equal(got, lax.dot_general(X, Y, DIMS))
    configs = [nn.get_scaled_dot_general_config("mxfp8")] * 3
    zeros = nn.scaled_dot_general(X * 0, Y, DIMS, configs=configs)
    assert not zeros.any()


@pytest.mark.parametrize(
    "make, error, words",
    [
        (lambda: lax.scaled_dot(X[0, 0], Y[0, 0]), TypeError, "rank of at least 2"),
        (
            lambda: lax.scaled_dot(X[0], Y[0].T, lhs_scale=np.ones((5, 3))),
            ValueError,
            r"scales of lhs must have its shape.*float\d+\[5,3\] for float32\[5,64\]",
        ),
        (lambda: nn.scaled_matmul(X, Y[0], 1, 1), ValueError, r"\(B, M, K\)"),
        (lambda: nn.get_scaled_dot_general_config("fp8"), ValueError, "got 'fp8'"),
        (
            lambda: nn.get_scaled_dot_general_config("mxfp8", 1.0),
            ValueError,
            "'nvfp4' alone",
        ),
        (
            lambda: nn.scaled_dot_general(X, Y, DIMS, configs=[1]),
            ValueError,
            "three results of",
        ),
        (
            lambda: nn.scaled_dot_general(X, Y, DIMS, implementation="cudnn"),
            NotImplementedError,
            "leave it out",
        ),
    ],
)
def test_what_does_not_fit(make, error, words):
    with pytest.raises(error, match=words):
        make()
