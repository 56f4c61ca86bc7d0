"""Details of NumPy's functions that a plain comparison of values overlooks.

NumPy itself is the judge where it has the function; a derivative is judged by
the formula, worked out by hand.
"""

import array

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax

Z = np.array([1 + 2j, 1 - 3j, 0 + 9j, -1 + 0j], "complex64")


def same(got, want, **tolerance):
    want = np.asarray(want)
    assert got.shape == want.shape
    np.testing.assert_allclose(np.asarray(got), want, rtol=1e-5, **tolerance)


# ---------------------------------------------------------------------------- reductions


def test_complex_numbers_are_ordered_by_their_real_part_first():
    assert complex(jnp.max(Z)) == complex(np.max(Z))
    assert complex(jnp.min(Z)) == complex(np.min(Z))


def test_a_reduction_takes_only_bools_for_where_and_a_scalar_for_initial():
    x = jnp.arange(4.0)
    with pytest.raises((TypeError, ValueError)):
        jnp.sum(x, where=jnp.ones(4))
    with pytest.raises((TypeError, ValueError)):
        jnp.sum(x, initial=jnp.ones(4))


def test_the_derivative_of_nanstd_is_finite_beside_nans():
    x = jnp.array([1.0, jnp.nan, 3.0])
    same(jax.grad(lambda x: jnp.nanstd(x))(x), [-0.5, 0.0, 0.5])


def test_variances_have_the_dtype_that_was_asked_for():
    x = jnp.arange(4)
    assert jnp.var(x).dtype == np.float32
    assert jnp.var(x, dtype="float16").dtype == np.float16
    assert jnp.std(jnp.asarray(Z)).dtype == np.float32


def test_an_average_takes_weights_of_some_of_the_axes():
    x = np.arange(24.0, dtype="float32").reshape(2, 3, 4)
    w = np.arange(1.0, 7.0, dtype="float32").reshape(2, 3)
    same(jnp.average(x, axis=(0, 1), weights=w), np.average(x, axis=(0, 1), weights=w))


def test_quantiles_with_weights():
    x, w = np.array([3.0, 1.0, 2.0], "float32"), np.array([1.0, 5.0, 1.0], "float32")
    got = jnp.quantile(x, jnp.array([0.5, 0.9]), weights=w, method="inverted_cdf")
    same(got, np.quantile(x, [0.5, 0.9], weights=w, method="inverted_cdf"))


def test_cumulative_sums_of_bools():
    x = np.array([0, 2, 0, 3])
    assert jnp.cumsum(x, dtype=bool).tolist() == np.cumsum(x, dtype=bool).tolist()


def test_covariances_of_nothing_and_of_one_variable():
    x = np.array([1.0, 2.0, 4.0], "float32")
    same(jnp.cov(x), np.cov(x))
    same(jnp.cov(x[None]), np.cov(x[None]))
    same(jnp.corrcoef(x), np.corrcoef(x))
    assert jnp.cov(x.astype("float16")).dtype == np.float16


# ------------------------------------------------------------------------------ creation


def test_bounds_of_triangles_may_be_traced():
    x = jnp.arange(9.0).reshape(3, 3)
    for k in (-1, 0, 2):
        same(jax.jit(lambda k: jnp.tril(x, k))(k), np.tril(x, k))
        same(jax.jit(lambda k: jnp.triu(x, k))(k), np.triu(x, k))
        same(jax.jit(lambda k: jnp.eye(3, k=k))(k), np.eye(3, k=k))
        same(jax.jit(lambda k: jnp.tri(3, k=k))(k), np.tri(3, k=k))


def test_grids_of_open_slices_and_directives():
    assert jnp.mgrid[()].shape == np.mgrid[()].shape
    same(jnp.mgrid[0:3], np.mgrid[0:3])
    same(jnp.r_["r", 1, 2, 3], [[1, 2, 3]])
    same(jnp.r_["c", 1, 2, 3], [[1], [2], [3]])
    same(jnp.c_[jnp.arange(3), jnp.ones(3)], np.c_[np.arange(3), np.ones(3)])


def test_a_geomspace_between_arrays():
    a, b = np.array([1.0, 2.0]), np.array([1000.0, 16.0])
    same(jnp.geomspace(a, b, 4), np.geomspace(a, b, 4))
    same(jnp.geomspace(a, b, 4, axis=1), np.geomspace(a, b, 4, axis=1))


def test_arange_refuses_complex_steps():
    with pytest.raises(ValueError, match="complex|real"):
        jnp.arange(3j)


def test_likes_of_shapes_without_values():
    like = jax.ShapeDtypeStruct((2, 3), "int32")
    for function in (jnp.zeros_like, jnp.ones_like, jnp.empty_like):
        assert (function(like).shape, function(like).dtype) == ((2, 3), np.int32)
    assert jnp.full_like(like, 7).tolist() == [[7] * 3] * 2


def test_arrays_from_buffers():
    x = jnp.array(array.array("i", [1, 2, 3]))
    assert (x.dtype, x.tolist()) == (np.int32, [1, 2, 3])
    assert jnp.asarray(memoryview(b"ab")).dtype == np.uint8


# ------------------------------------------------------------------------- editing, order


def test_indices_of_edits_may_be_traced():
    x = np.arange(5)
    for i in (0, 3, -1):
        same(jax.jit(lambda i: jnp.insert(x, i, 9))(i), np.insert(x, i, 9))
        same(jax.jit(lambda i: jnp.delete(x, i))(i), np.delete(x, i))


def test_zeros_are_trimmed_along_any_axes():
    x = np.zeros((4, 5), "int32")
    x[1, 1:3] = 1
    same(jnp.trim_zeros(x), np.trim_zeros(x))
    same(jnp.trim_zeros(x, axis=1), np.trim_zeros(x, axis=1))
    same(jnp.trim_zeros(x, "b"), np.trim_zeros(x, "b"))


def test_padding_by_a_function_and_by_medians():
    x = np.arange(12.0, dtype="float32").reshape(3, 4)

    def fill(row, width, axis, options):
        return jnp.asarray(row).at[: width[0]].set(options["value"])

    def fill_numpy(row, width, axis, options):
        row[: width[0]] = options["value"]

    same(
        jnp.pad(x, ((1, 0), (2, 0)), fill, value=7),
        np.pad(x, ((1, 0), (2, 0)), fill_numpy, value=7),
    )
    same(jnp.pad(x, 1, "median"), np.pad(x, 1, "median"))
    same(jnp.pad(x, 2, "median", stat_length=2), np.pad(x, 2, "median", stat_length=2))


def test_take_along_axis_may_count_from_the_front_only():
    x, i = jnp.arange(4.0), jnp.array([1, 3])
    same(jnp.take_along_axis(x, i, 0, wrap_negative_indices=False), [1, 3])
    same(jnp.take_along_axis(x, i, 0, mode="one_hot"), [1, 3])


def test_argsort_keeps_its_dtype():
    assert jnp.argsort(jnp.array([3.0, 1.0])).dtype == np.int32


def test_histograms_have_as_many_weights_as_numbers():
    with pytest.raises(ValueError):
        jnp.histogram(jnp.arange(4.0), weights=jnp.ones(3))


def test_raveled_indices():
    want = np.ravel_multi_index(([1, 0], [2, 1]), (3, 4))
    rows, columns = jnp.array([1, 0]), jnp.array([2, 1])
    assert jnp.ravel_multi_index((rows, columns), (3, 4)).tolist() == want.tolist()
    assert [x.tolist() for x in jnp.unravel_index(jnp.array([6, 1]), (3, 4))] == [
        [1, 0],
        [2, 1],
    ]


# --------------------------------------------------------------------------- mathematics


def test_derivatives_of_sinc_at_zero():
    f = jnp.sinc
    for want in (0.0, -(np.pi**2) / 3, 0.0, np.pi**4 / 5):
        f = jax.grad(f)
        same(f(0.0), want, atol=1e-5)


def test_the_derivative_of_a_mantissa_is_its_scale():
    same(jax.grad(lambda x: jnp.frexp(x)[0])(6.0), 1 / 8)


def test_interpolation_between_points_that_are_very_close():
    got = jnp.interp(
        0.5, jnp.array([0.0, 0.5, 0.5 + 1e-40, 1.0]), jnp.array([0.0, 1.0, 1.0, 2.0])
    )
    same(got, 1.0)


def test_rounding_to_more_decimals_than_a_float_has():
    for decimals, want in ((60, 1.5), (-60, 0.0), (38, 1.5)):
        same(jnp.round(jnp.float32(1.5), decimals), want)
    same(jnp.round(jnp.float16(1.5), 60), 1.5)


def test_a_trapezoid_takes_a_step_per_interval():
    y = np.array([1.0, 2.0, 4.0], "float32")
    same(jnp.trapezoid(y, dx=jnp.array([1.0, 3.0])), 1.5 + 9.0)


def test_ldexp_wants_whole_exponents():
    with pytest.raises((TypeError, ValueError)):
        jnp.ldexp(jnp.float32(1.0), jnp.float32(2.0))


# ------------------------------------------------------------------------------- methods


def test_casts_to_real_warn():
    with pytest.warns((DeprecationWarning, np.exceptions.ComplexWarning)):
        x = jnp.asarray(Z).astype("float32")
    assert x.tolist() == Z.real.tolist()


def test_bytes_are_swapped():
    x = np.array([1, 256], "int32")
    assert jnp.asarray(x).byteswap().tolist() == x.byteswap().tolist()


def test_operators_leave_subclasses_that_contain_arrays_alone():
    class Boxed(list):
        def __radd__(self, other):
            return "boxed"

    assert (jnp.ones(2) + Boxed()) == "boxed"


# -------------------------------------------------------------------------- lax, dtypes


def test_a_barrier_is_the_identity_with_its_derivative_and_its_place():
    x = jnp.arange(3.0)
    a, b = lax.optimization_barrier((x, {"y": 2.0}))
    assert (a.tolist(), float(b["y"])) == ([0, 1, 2], 2)
    assert lax.optimization_barrier(()) == ()
    f = lambda x: (lax.optimization_barrier((x * x, x))[0]).sum()
    assert jax.grad(f)(x).tolist() == [0, 2, 4]
    assert jax.vmap(lambda x: lax.optimization_barrier((x, 1.0)))(x)[1].tolist() == [
        1,
        1,
        1,
    ]
    assert "optimization_barrier" in jax.jit(f).lower(x).as_text()
    assert "optimization_barrier" in str(jax.make_jaxpr(f)(x))


def test_products_of_two_dtypes_are_meant_even_where_promotion_is_strict():
    with jax.numpy_dtype_promotion("strict"):
        out = lax.dot(jnp.ones(2, "float16"), jnp.ones(2, "float32"))
    assert out.dtype == np.float32


def test_lax_tells_dtypes():
    assert lax.dtype(1.5) == np.float32
    assert lax.dtype(np.float64(1.5)) == np.float32
    assert lax.dtype(jnp.arange(3) > 1) == np.bool_
    assert lax.dtype(jax.ShapeDtypeStruct((2,), "int8")) == np.int8
    assert lax.dtype(np.zeros(2, jax.dtypes.float0)) == jax.dtypes.float0
    for same in (float, "float64", np.float32, np.dtype("float32"), jnp.float32):
        assert lax.dtype(same) == np.float32
    for wrong in (object, "S3", "nonsense", None, [1.5]):
        with pytest.raises(TypeError):
            lax.dtype(wrong)
        if wrong is not None:
            with pytest.raises(TypeError):
                jnp.result_type(wrong)
    key = jax.random.key(0)
    assert lax.dtype(key) == lax.dtype(key.dtype) == key.dtype
    assert jax.dtypes.itemsize_bits("float16") == 16
    with pytest.raises(jax.dtypes.TypePromotionError):
        jax.dtypes.result_type(jax.random.key(0).dtype, "float32")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_spacing_is_that_of_the_type(dtype):
    x = jnp.array([1.0, 3.0, -5.0], dtype)
    info = jnp.finfo(dtype)
    wanted = np.array([1, 2, -4]) * float(info.eps)
    np.testing.assert_array_equal(jnp.spacing(x).astype("float32"), wanted)
    assert jnp.spacing(x).dtype == dtype


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_composed_functions_of_narrow_floats_are_rounded_once(dtype):
    x = np.linspace(-3, 3, 40, dtype="float32").astype(jnp.dtype(dtype))
    y = np.asarray(x[::-1])
    wide = np.logaddexp2(x.astype("float64"), y.astype("float64"))
    np.testing.assert_array_equal(jnp.logaddexp2(x, y), wide.astype(dtype))


@pytest.mark.parametrize("sizes", [(5, 3), (3, 5), (40, 35)])
@pytest.mark.parametrize("function", ["convolve", "correlate"])
def test_an_infinity_does_not_meet_the_padding_of_a_convolution(function, sizes):
    for which in (0, 1):
        for special in (np.inf, np.nan):
            pair = [np.linspace(1, 2, n, dtype="float32") for n in sizes]
            pair[which][1] = special
            for mode in ("full", "same", "valid"):
                want = getattr(np, function)(*pair, mode)
                same(getattr(jnp, function)(*pair, mode), want)


@pytest.mark.parametrize("n", [10, 50])
def test_convolutions_of_narrow_floats_are_rounded_once(n):
    x = jnp.linspace(0, 1, n, dtype="bfloat16")
    wide = jnp.convolve(x.astype("float32"), x.astype("float32"))
    got = jnp.convolve(x, x)
    assert got.dtype == x.dtype
    np.testing.assert_array_equal(np.asarray(got), np.asarray(wide.astype("bfloat16")))


def test_isscalar_of_objects_that_become_arrays():
    class Wrapped:
        def __init__(self, x):
            self.x = x

        def __jax_array__(self):
            return self.x

    assert jnp.isscalar(Wrapped(jnp.array(1)))
    assert not jnp.isscalar(Wrapped(jnp.ones(1)))


# ------------------------------------------------------------- nothing, or next to nothing


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 0, 3), (2, 3, 0), (0, 0)])
def test_decompositions_of_empty_matrices_have_true_bases(shape):
    big = jnp.full((*shape[:-2], 4, 4), 7.0)  # leaves its memory behind
    jnp.linalg.svd(big)[0].block_until_ready()
    del big
    u, s, vh = jnp.linalg.svd(jnp.zeros(shape))
    same(u, np.broadcast_to(np.eye(shape[-2]), u.shape))
    same(vh, np.broadcast_to(np.eye(shape[-1]), vh.shape))
    assert s.shape == (*shape[:-2], 0)
    q, r = jnp.linalg.qr(jnp.zeros(shape), mode="complete")
    same(q, np.broadcast_to(np.eye(shape[-2]), q.shape))
    assert r.shape == shape


def test_the_bases_of_a_singular_hermitian_matrix_are_orthonormal():
    u, s, vh = jnp.linalg.svd(jnp.diag(jnp.array([2.0, 0.0, -3.0])), hermitian=True)
    same(s, [3.0, 2.0, 0.0])
    same(jnp.abs(u) @ jnp.abs(vh), np.abs(np.eye(3)), atol=1e-6)
    same(vh @ vh.T, np.eye(3), atol=1e-6)


def test_a_convolution_over_no_channels_is_zero():
    x, kernel = jnp.zeros((2, 0, 5, 5)), jnp.zeros((4, 0, 3, 3))
    same(lax.conv_general_dilated(x, kernel, (1, 1), "VALID"), np.zeros((2, 4, 3, 3)))


def test_a_histogram_of_nothing_has_the_edges_of_numpy():
    for got, want in zip(jnp.histogram(jnp.zeros(0)), np.histogram(np.zeros(0))):
        same(got, want)


# ------------------------------------------------------------------------- unique to a size

ROWS = np.array([[3, 1, 0], [2, 3, 0], [3, 1, 0], [0, 9, 9]])


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("size", [1, 3, 5])
def test_distinct_slices_cut_or_filled_to_a_size(axis, size):
    got = jax.jit(
        lambda x: jnp.unique(x, True, True, True, axis, size=size, fill_value=-1)
    )(jnp.array(ROWS))
    want = np.unique(ROWS, True, True, True, axis)
    along = axis or 0
    count = min(size, want[0].shape[along])
    head = [slice(None)] * want[0].ndim
    head[along] = slice(count)
    same(got[0][tuple(head)], want[0][tuple(head)])
    assert got[0].shape[along] == size
    head[along] = slice(count, None)
    assert np.all(np.asarray(got[0])[tuple(head)] == -1)
    same(got[1][:count], want[1][:count])
    same(got[2], want[2])
    same(got[3][:count], want[3][:count])
    assert not np.any(got[3][count:])


def test_distinct_elements_of_nothing_are_the_filling():
    same(jnp.unique(jnp.zeros(0), size=2, fill_value=5), [5.0, 5.0])
    with pytest.raises(ValueError, match="no element to fill with"):
        jnp.unique(jnp.zeros(0), size=2)
    empty = jnp.zeros((3, 0))
    assert jnp.unique(empty, axis=0, size=2, fill_value=1).shape == (2, 0)


# ----------------------------------------------------------------------- beyond the ends


def test_shares_beyond_the_ends():
    x = jnp.array([1.0, 2.0, 4.0])
    for q in (-0.1, 1.5, [0.5, 2.0]):
        with pytest.raises(ValueError, match=r"q must be in \[0, 1\]"):
            jnp.quantile(x, q)
    with pytest.raises(ValueError, match=r"q must be in \[0, 100\]"):
        jnp.percentile(x, 101)
    same(jnp.quantile(x, jnp.array([-0.1, 1.5])), [1.0, 4.0])


def test_put_brings_indices_into_range():
    x, v = jnp.zeros(4), jnp.array([7.0, 8.0, 9.0])
    with pytest.warns(
        jax.errors.OutOfBoundsWarning, match="nearest element is written"
    ):
        same(jnp.put(x, jnp.array([0, -2, 99]), v, inplace=False), [7, 0, 8, 9])
    for mode in ("clip", "wrap"):
        want = np.zeros(4)
        np.put(want, [1, -5, 6], [7.0, 8.0, 9.0], mode=mode)
        got = jnp.put(x, jnp.array([1, -5, 6]), v, mode=mode, inplace=False)
        same(got, want)


def test_a_number_that_the_table_cannot_hold_has_its_place():
    table = jnp.array([1, 2, 3], "uint8")
    assert int(jnp.searchsorted(table, 300)) == 3
    assert int(jnp.searchsorted(table, -1)) == 0


# ------------------------------------------------------------------------ bytes and factors


@pytest.mark.parametrize(
    ("dtype", "other"),
    [
        ("float32", "complex64"),
        ("complex64", "float32"),
        ("complex64", "int32"),
        ("complex64", "uint8"),
        ("uint8", "complex64"),
        ("float32", "bool"),
        ("complex64", "complex64"),
    ],
)
def test_bytes_are_read_as_any_dtype(dtype, other):
    x = np.arange(48, dtype="uint8").view(dtype).reshape(2, -1)
    if other == "bool":
        x = np.array([[0, 1], [1, 0]], "uint32").view(dtype)
        same(jnp.array(x).view(other), x.view("uint8") != 0)
        return
    got = jnp.array(x).view(other)
    assert np.asarray(got).tobytes() == x.view(other).tobytes()
    assert got.shape == x.view(other).shape


def test_qr_as_lapack_leaves_it():
    a = np.random.default_rng(0).normal(size=(5, 3)).astype("float32")
    for x in (a, a.T):
        for got, want in zip(
            jnp.linalg.qr(jnp.array(x), mode="raw"), np.linalg.qr(x, mode="raw")
        ):
            same(got, want, atol=1e-5)


def test_factors_of_one_kind_solve_for_right_sides_of_another():
    a = np.array([[3.0, 1.0], [1.0, 2.0]], "float32")
    linalg = jax.scipy.linalg
    for matrix, b in ((a, Z[:2]), (a + 1j * a.T, a[0]), (a, np.array([1, 2]))):
        matrix, b = jnp.array(matrix), jnp.array(b)
        want = np.linalg.solve(np.asarray(matrix), np.asarray(b))
        same(linalg.lu_solve(linalg.lu_factor(matrix), b), want)
    same(
        linalg.cho_solve(linalg.cho_factor(jnp.array(a)), Z[:2]),
        np.linalg.solve(a, Z[:2]),
    )


# --------------------------------------------------------------- the same, time and again


@pytest.mark.parametrize("dtype", ["f4", "f2", "i4", "u1", "?"])
def test_clip_gives_the_same_time_and_again(dtype):
    x = np.array([0, 1, 1, 5, 3]).astype(dtype)
    low = np.array([1, 0, 2, 2, 0]).astype(dtype)
    cases = [
        (1, 3),
        (1, None),
        (None, 2),
        (low, 3),
        (None, None),
        (low, low),
        (0.5, 2.5),
    ]
    if dtype == "?":
        cases = cases[3:4]
    for a, b in cases * 3:
        ours = [jnp.asarray(v) if isinstance(v, np.ndarray) else v for v in (x, a, b)]
        got = jnp.clip(*ours)
        parts = [v for v in (a, b) if v is not None]
        assert got.dtype == jnp.result_type(x, *parts)
        want = x.astype(got.dtype)
        want = want if a is None else np.maximum(want, a)
        same(got, want if b is None else np.minimum(want, b))


def test_numbers_that_do_not_fit_are_told_time_and_again():
    x = jnp.arange(3, dtype="uint8")
    for _ in range(4):
        with pytest.raises(OverflowError, match="does not fit uint8"):
            jnp.clip(x, -1, 2)
        with pytest.raises(OverflowError, match="does not fit uint8"):
            jnp.maximum(300, x)


def test_functions_of_an_array_and_a_number_give_the_same_time_and_again():
    x = np.array([1.5, -2, 3], "f4")
    ours = jnp.asarray(x)
    for _ in range(3):
        for number in (2, 2.5, -1):
            same(jnp.maximum(ours, number), np.maximum(x, number))
            same(jnp.subtract(number, ours), number - x)
            assert jnp.add(ours, number).dtype == x.dtype
            assert jnp.add(jnp.asarray([1, 2]), number).dtype == (
                "int32" if type(number) is int else "float32"
            )


def test_arrays_are_joined_the_same_time_and_again():
    x, y = np.arange(6.0).reshape(2, 3), np.arange(3).reshape(1, 3)
    ours = [jnp.asarray(v, jnp.asarray(v).dtype) for v in (x, y)]
    for _ in range(4):
        same(jnp.concatenate(ours), np.concatenate([x, y]))
        same(jnp.concatenate([ours[0]], 1), x)
        same(jnp.stack([ours[0]] * 3, -1), np.stack([x] * 3, -1))
        same(
            jax.jit(lambda a, b: jnp.concatenate((a, b)))(*ours), np.concatenate([x, y])
        )
        with pytest.raises(ValueError, match="all extents but that of axis 1"):
            jnp.concatenate(ours, 1)
        with pytest.raises(ValueError, match="only arrays of one shape"):
            jnp.stack(ours)


@pytest.mark.parametrize("dtype", ["i8", "i4", "i1", "u4"])
def test_index_arrays_of_the_host_compile_once(dtype):
    x = np.arange(20.0, dtype="f4").reshape(5, 4)
    ours = jnp.asarray(x)
    for _ in range(3):
        same(ours[np.array([2, 0], dtype)], x[[2, 0]])
    rows = [np.array(i, dtype) for i in ([4, 4], [0, 1], [3, 2])]
    if dtype[0] == "i":
        rows.append(np.array([-1, -5], dtype))
    with jax.see.compiles() as seen:
        for i in rows:
            same(ours[i], x[i])
    assert len(seen) == 0
    for i in rows * 2:
        same(ours[i, 1:3], x[i, 1:3])
        same(ours[:, i % 4], x[:, i % 4])
        want = x.copy()
        want[i, 2] = 7
        same(ours.at[i, 2].set(7), want)
    with jax.bounds("error"), pytest.raises(IndexError, match="5"):
        ours[np.array([0, 5], dtype)]


@pytest.mark.parametrize("dtype", ["complex64", "float32", "int8", "bool"])
@pytest.mark.parametrize("shape", [(2, 4), (4, 4), (1, 8), (2, 12)])
def test_what_a_step_writes_ends_where_the_next_part_begins(dtype, shape):
    # The last step writes the first part, so that nothing hides what it spoils.
    xs = np.random.default_rng(0).normal(size=(4, *shape)).astype(dtype)
    c = np.eye(shape[0]).astype(dtype)
    _, ys = lax.scan(lambda c, x: (c, c @ x), jnp.array(c), jnp.array(xs), reverse=True)
    np.testing.assert_allclose(ys, xs)
