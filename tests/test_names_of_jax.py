"""Names of JAX that few programs use: products by algorithms, `qdwh`, linear calls, …"""

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax
from tetrad.ad_checkpoint import Offloadable, Recompute, Saveable
from tetrad.custom_derivatives import linear_call

RANDOM = np.random.default_rng(7)
A = RANDOM.normal(size=(12, 20)).astype(np.float32)
B = RANDOM.normal(size=(20, 8)).astype(np.float32)
EXACT = A.astype(np.float64) @ B.astype(np.float64)


def rounded(x, dtype):
    return np.asarray(jnp.asarray(x).astype(dtype).astype("float32"), np.float64)


@pytest.mark.parametrize(
    "name, error",
    [
        ("BF16_BF16_F32_X3", 2e-4),
        ("BF16_BF16_F32_X6", 4e-6),
        ("BF16_BF16_F32_X9", 4e-6),
        ("TF32_TF32_F32", 1e-2),
        ("TF32_TF32_F32_X3", 6e-6),
        ("F32_F32_F32", 6e-6),
        ("F64_F64_F64", 1e-6),
    ],
)
def test_algorithms_of_products(name, error):
    got = jnp.matmul(A, B, precision=name)
    assert got.dtype == np.float32
    assert np.abs(np.asarray(got) - EXACT).max() < error
    again = jax.jit(lambda a, b: lax.dot(a, b, precision=name))(A, B)
    assert (got == again).all()


@pytest.mark.parametrize("dtype, preset", [("bfloat16", "BF16_BF16_F32"),
                                           ("float16", "F16_F16_F32")])  # fmt: skip
def test_operands_are_rounded_first(dtype, preset):
    want = rounded(A, dtype) @ rounded(B, dtype)
    algorithm = lax.DotAlgorithm(dtype, dtype, "float32")
    for precision in (preset, lax.DotAlgorithmPreset[preset], algorithm):
        got = jnp.einsum("ij,jk->ik", A, B, precision=precision)
        np.testing.assert_allclose(got, want, atol=2e-5)
    image = A[None, None]
    kernel = B[None, None, :3, :3]
    got = lax.conv(image, kernel, (1, 1), "SAME", precision=preset)
    plain = lax.conv(
        jnp.asarray(rounded(image, dtype), "float32"),
        jnp.asarray(rounded(kernel, dtype), "float32"),
        (1, 1),
        "SAME",
    )
    np.testing.assert_allclose(got, plain, atol=1e-5)


def test_derivatives_keep_the_algorithm():
    def loss(a):
        return lax.dot(a, B, precision="BF16_BF16_F32").sum()

    assert "BF16_BF16_F32" in str(jax.make_jaxpr(jax.grad(loss))(A))
    want = np.broadcast_to(rounded(B, "bfloat16").sum(1), A.shape)
    np.testing.assert_allclose(jax.grad(loss)(A), want, atol=1e-4)
    with jax.default_matmul_precision("BF16_BF16_F32"):
        np.testing.assert_array_equal(
            A @ jnp.asarray(B), lax.dot(A, B, precision="BF16_BF16_F32")
        )


@pytest.mark.parametrize(
    "precision, words",
    [
        ("ANY_F8_ANY_F8_F32", "arrays of float8, got float32"),
        (
            lax.DotAlgorithm("int8", "int8", "int32"),
            "lhs_precision_type must be float16",
        ),
        (lax.DotAlgorithm("float16", "float16", "float32", 1, 1, 4), "1, 3, 6 or 9"),
        (lax.DotAlgorithm("float16", "float16", "float32", 2), "lhs_component_count"),
        (("F32_F32_F32", "F32_F32_F32"), "a pair of these"),
    ],
)
def test_algorithms_that_do_not_exist(precision, words):
    with pytest.raises(ValueError, match=words):
        lax.dot(A, B, precision=precision)


@pytest.mark.parametrize("shape, dtype", [((5, 5), "float32"), ((9, 4), "float32"),
                                          ((6, 3), "complex64")])  # fmt: skip
def test_qdwh(shape, dtype):
    x = RANDOM.normal(size=shape).astype(dtype)
    if dtype == "complex64":
        x = x + 1j * RANDOM.normal(size=shape).astype("float32")
    u, h, steps, converged = jax.jit(lax.linalg.qdwh)(x)
    assert converged and 1 <= steps <= 7
    n = shape[1]
    np.testing.assert_allclose(u.conj().T @ u, np.eye(n), atol=2e-6)
    np.testing.assert_allclose(u @ h, x, atol=5e-6)
    assert (np.linalg.eigvalsh(np.asarray(h)) > 0).all()
    padded = np.pad(x, ((0, 2), (0, 1)), constant_values=9.0)
    inner = lax.linalg.qdwh(padded, dynamic_shape=shape)[0]
    np.testing.assert_allclose(inner[: shape[0], :n], u, atol=2e-6)
    assert not inner[shape[0] :].any() and not inner[:, n:].any()


def test_qdwh_of_what_does_not_fit():
    with pytest.raises(ValueError, match="as many rows as columns, got float32"):
        lax.linalg.qdwh(jnp.ones((2, 3)))
    with pytest.raises(ValueError, match="not square"):
        lax.linalg.qdwh(jnp.ones((3, 2)), is_hermitian=True)
    assert not lax.linalg.qdwh(jnp.diag(jnp.array([1.0, 1e-5])), max_iterations=1)[3]


def test_implementations_of_decompositions():
    x = jnp.eye(2)
    lax.linalg.eigh(x, implementation=lax.linalg.EighImplementation.QR)
    lax.linalg.svd(x, algorithm=lax.linalg.SvdAlgorithm.DIVIDE_AND_CONQUER)
    lax.linalg.eig(x, implementation=lax.linalg.EigImplementation.LAPACK)
    with pytest.raises(NotImplementedError, match="LAPACK alone"):
        lax.linalg.svd(x, algorithm=lax.linalg.SvdAlgorithm.POLAR)


def test_ragged_all_to_all_of_many_rows():
    lanes, rows = 3, 6
    x = jnp.arange(float(lanes * rows * 2)).reshape(lanes, rows, 2)
    sizes = np.array([[1, 2, 3], [0, 4, 1], [2, 2, 2]])
    starts = np.cumsum(sizes, 1) - sizes
    targets = np.cumsum(sizes, 0) - sizes
    out = jnp.full((lanes, 9, 2), -1.0)

    def send(*args):
        return lax.ragged_all_to_all(*args, axis_name="i")

    got = jax.vmap(send, axis_name="i")(x, out, starts, sizes, targets, sizes.T)
    want = np.full((lanes, 9, 2), -1.0)
    for i in range(lanes):
        for j in range(lanes):
            part = np.asarray(x)[i, starts[i, j] : starts[i, j] + sizes[i, j]]
            want[j, targets[i, j] : targets[i, j] + sizes[i, j]] = part
    np.testing.assert_array_equal(got, want)
    with pytest.raises(ValueError, match="send_sizes must be 3 integers"):
        jax.vmap(send, axis_name="i")(x, out, starts, sizes * 1.0, targets, sizes.T)


def test_what_is_refused_says_what_to_write():
    with pytest.raises(NotImplementedError, match=r"jax.random.uniform\(key, \(2,\)"):
        lax.rng_uniform(0, 1, (2,))
    with pytest.raises(
        NotImplementedError, match=r"lax.ppermute\(x, 'i', \[\(0, 1\)\]"
    ):
        lax.psend(1.0, "i", [(0, 1)])
    with pytest.raises(NotImplementedError, match="lax.ppermute"):
        lax.precv(lax.create_token(), 1.0, "i", [(0, 1)])


def halved(x, r):
    return linear_call(lambda r, x: x / r, lambda r, ct: 7.0 * ct / r, r, x)


def test_linear_call():
    assert halved(6.0, 2.0) == 3.0
    assert jax.grad(halved)(6.0, 2.0) == 3.5
    assert jax.jvp(halved, (6.0, 2.0), (1.0, 0.0))[1] == 0.5
    assert jax.jvp(halved, (6.0, 2.0), (0.0, 1.0))[1] == -1.5
    (turned,) = jax.linear_transpose(lambda x: halved(x, 2.0), 1.0)(1.0)
    assert turned == 3.5
    f = jax.linear_transpose(lambda ct: jax.linear_transpose(
        lambda x: halved(x, 2.0), 1.0)(ct)[0], 1.0)  # fmt: skip
    assert f(1.0)[0] == 0.5
    xs, rs = jnp.arange(3.0), jnp.array([1.0, 2.0, 4.0])
    np.testing.assert_allclose(jax.vmap(jax.grad(halved))(xs, rs), 7 / rs)
    np.testing.assert_allclose(jax.jit(jax.vmap(halved, (0, None)))(xs, 2.0), xs / 2)


def test_linear_call_of_what_does_not_fit():
    with pytest.raises(TypeError, match="structure of linear_args"):
        linear_call(lambda r, x: x, lambda r, ct: (ct,), (), 1.0)
    with pytest.raises(TypeError, match="values like linear_args"):
        linear_call(lambda r, x: x.sum(), lambda r, ct: ct, (), jnp.ones(3))


def test_policies_that_answer_in_words():
    asked = []

    def policy(primitive, *avals, **params):
        asked.append(primitive)
        return Saveable if primitive is lax.sin_p else Recompute

    f = jax.checkpoint(lambda x: jnp.cos(jnp.sin(jnp.exp(x))), policy=policy)
    assert abs(jax.grad(f)(0.5) - jax.grad(f.__wrapped__)(0.5)) < 1e-6 and asked

    named = jax.checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=["a"],
        names_which_can_be_offloaded=["b"],
        offload_src="device",
        offload_dst="pinned_host",
    )

    def g(x):
        y = jax.ad_checkpoint.checkpoint_name(jnp.sin(x), "a")
        return jax.ad_checkpoint.checkpoint_name(jnp.sin(y), "b") * y

    assert abs(jax.grad(jax.checkpoint(g, policy=named))(0.5) - jax.grad(g)(0.5)) < 1e-6
    far = jax.checkpoint(g, policy=lambda *a, **k: Offloadable("device", "disk"))
    with pytest.raises(NotImplementedError, match="memory 'disk'"):
        jax.grad(far)(0.5)


def test_small_names():
    from tetrad.api_util import rebase_donate_argnums
    from tetrad.extend.backend import get_backend

    assert jax.dlpack.is_supported_dtype(np.int8)
    assert not jax.dlpack.is_supported_dtype("bfloat16")
    with pytest.raises(TypeError, match="None"):
        jax.dlpack.is_supported_dtype(None)
    with pytest.raises(ValueError, match=r"\[1\] are in both"):
        rebase_donate_argnums((1,), (1,))
    assert get_backend() == get_backend(jax.default_backend())
    assert get_backend("cpu").device_count() == jax.device_count("cpu")
    with pytest.raises(RuntimeError, match="not available"):
        get_backend("no_such_platform")
    info = jax.jit(jnp.sin).lower(1.0).args_info
    assert isinstance(jax.tree.leaves(info)[0], jax.stages.ArgInfo)
    assert jax.core.get_opaque_trace_state() == jax.core.get_opaque_trace_state()
