"""`tetrad.numpy` under the Python array API standard: what it says about itself."""

import inspect

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp

# The functions of the standard, version 2024.12.
FUNCTIONS = [
    "abs",
    "acos",
    "acosh",
    "add",
    "all",
    "any",
    "arange",
    "argmax",
    "argmin",
    "argsort",
    "asarray",
    "asin",
    "asinh",
    "astype",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "broadcast_arrays",
    "broadcast_to",
    "can_cast",
    "ceil",
    "clip",
    "concat",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "count_nonzero",
    "cumulative_prod",
    "cumulative_sum",
    "diff",
    "divide",
    "empty",
    "empty_like",
    "equal",
    "exp",
    "expand_dims",
    "expm1",
    "eye",
    "finfo",
    "flip",
    "floor",
    "floor_divide",
    "from_dlpack",
    "full",
    "full_like",
    "greater",
    "greater_equal",
    "hypot",
    "iinfo",
    "imag",
    "isdtype",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "linspace",
    "log",
    "log10",
    "log1p",
    "log2",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "matmul",
    "matrix_transpose",
    "max",
    "maximum",
    "mean",
    "meshgrid",
    "min",
    "minimum",
    "moveaxis",
    "multiply",
    "negative",
    "nextafter",
    "nonzero",
    "not_equal",
    "ones",
    "ones_like",
    "permute_dims",
    "positive",
    "pow",
    "prod",
    "real",
    "reciprocal",
    "remainder",
    "repeat",
    "reshape",
    "result_type",
    "roll",
    "round",
    "searchsorted",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sort",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "std",
    "subtract",
    "sum",
    "take",
    "take_along_axis",
    "tan",
    "tanh",
    "tensordot",
    "tile",
    "tril",
    "triu",
    "trunc",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "unstack",
    "var",
    "vecdot",
    "where",
    "zeros",
    "zeros_like",
]

LINALG = [
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]

FFT = [
    "fft",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfftn",
    "rfft",
    "rfftfreq",
    "rfftn",
]


@pytest.mark.parametrize(
    "module, names", [(jnp, FUNCTIONS), (jnp.linalg, LINALG), (jnp.fft, FFT)]
)
def test_the_functions_are_there(module, names):
    assert [name for name in names if not callable(getattr(module, name, None))] == []


def test_arrays_name_their_module():
    assert jnp.__array_api_version__ == "2024.12"
    x = jnp.ones(3)
    assert x.__array_namespace__() is jnp
    assert x.__array_namespace__(api_version="2024.12") is jnp
    with pytest.raises(ValueError, match="no version '1999.01'"):
        x.__array_namespace__(api_version="1999.01")
    assert jax.eval_shape(lambda x: x.__array_namespace__().sin(x), x).shape == (3,)


def test_inspection():
    info = jnp.__array_namespace_info__()
    assert info.default_device() is None
    assert info.devices() == [None, *jax.devices()]
    assert info.capabilities() == {
        "boolean indexing": True,
        "data-dependent shapes": True,
        "max dimensions": 64,
    }
    assert info.default_dtypes() == {
        "real floating": np.dtype("float32"),
        "complex floating": np.dtype("complex64"),
        "integral": np.dtype("int32"),
        "indexing": np.dtype("int32"),
    }
    assert list(info.dtypes(kind=("bool", "real floating"))) == ["bool", "float32"]
    assert "float64" not in info.dtypes()
    assert set(info.dtypes(kind="numeric")) == set(info.dtypes()) - {"bool"}
    with jax.enable_x64(True):
        assert info.default_dtypes(device=jax.devices()[0])["indexing"] == np.int64
        assert list(info.dtypes(kind="complex floating")) == ["complex64", "complex128"]
        assert len(info.dtypes()) == 13
    with pytest.raises(ValueError, match="kind must be one of 'bool'"):
        info.dtypes(kind="float")
    with pytest.raises(ValueError, match="device must be None or one of"):
        info.dtypes(device="cpu:0")


def test_traced_functions_can_do_less():
    found = []

    def f(x):
        found.append(jnp.__array_namespace_info__().capabilities())
        return x

    jax.jit(f)(1.0)
    assert not found[0]["boolean indexing"]
    assert not found[0]["data-dependent shapes"]


def test_arrays_move_between_devices():
    x = jnp.ones(3)
    there = x.to_device(jax.devices()[0])
    assert there.device is jax.devices()[0]
    assert jax.jit(lambda x: x.to_device(jax.devices()[0]) + 1)(x).shape == (3,)
    with pytest.raises(NotImplementedError, match="stream"):
        x.to_device(jax.devices()[0], stream=1)


def test_dlpack_by_old_and_new_rules():
    x = jnp.arange(6.0)
    names = list(inspect.signature(type(x).__dlpack__).parameters)
    assert names == ["self", "stream", "max_version", "dl_device", "copy"]

    class Old:
        """A consumer that asks as before DLPack 1.0."""

        __dlpack_device__ = x.__dlpack_device__

        def __dlpack__(self, **options):
            return x.__dlpack__()

    taken = np.from_dlpack(Old())
    np.testing.assert_array_equal(taken, np.arange(6.0))
    assert not np.from_dlpack(x).flags.writeable
    assert np.shares_memory(np.from_dlpack(x), np.asarray(x))


@pytest.mark.parametrize("function", [jnp.cumulative_sum, jnp.cumulative_prod])
@pytest.mark.parametrize(
    "given, wanted",
    [("bool", "int32"), ("int8", "int32"), ("uint8", "uint32"), ("float16", "float16")],
)
def test_running_sums_of_narrow_integers_are_wide(function, given, wanted):
    x = jnp.asarray([True, True]).astype(given)
    assert function(x).dtype == wanted
    assert function(x, include_initial=True).dtype == wanted
    assert function(x, dtype="int16").dtype == "int16"


def test_empty_ranges_of_unsigned_integers():
    assert jnp.arange(0, 0, 1, dtype="uint8").shape == (0,)
    assert jnp.arange(5, 0, 1, dtype="uint8").shape == (0,)
