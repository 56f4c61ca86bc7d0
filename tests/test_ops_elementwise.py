"""The rules of elementwise operations and index maps, run without a compiler."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import mpmath
import numpy as np
import pytest
from numpy_machine import Known, NumpyTrace, array_of, known

from tetrad import lax
from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import at
from tetrad._src.core.op import Axis, Linear
from tetrad._src.core.stage import stage
from tetrad._src.core.text import jaxpr_text
from tetrad._src.ops import (
    arithmetic,
    compare,
    complex,
    identity,
    slices,
    special,
    transcendental,
    views,
)
from tetrad._src.util.config import enable_x64


@pytest.fixture(autouse=True)
def numpy_machine() -> Iterator[None]:
    with enable_x64(True), at(NumpyTrace()):
        yield


POSITIVE = np.array([0.3, 0.8, 1.7, 2.5])
ANY = np.array([-2.3, -0.7, 0.4, 1.9])
UNIT = np.array([-0.8, -0.1, 0.3, 0.7])
COMPLEX = np.array([0.3 + 0.4j, -0.5 + 0.8j, 1.2 - 0.6j, -0.9 - 0.4j])

UNARY = [
    (arithmetic.Square(), ANY),
    (arithmetic.Log(), POSITIVE),
    (arithmetic.Sqrt(), POSITIVE),
    (arithmetic.Rsqrt(), POSITIVE),
    (arithmetic.Cbrt(), ANY),
    (complex.Abs(), ANY),
    (arithmetic.IntegerPow(3), ANY),
    (arithmetic.IntegerPow(-2), ANY),
    (arithmetic.IntegerPow(1), ANY),
    (transcendental.Exp(), ANY),
    (transcendental.Exp2(), ANY),
    (transcendental.Expm1(), ANY),
    (transcendental.Log1p(), UNIT),
    (transcendental.Logistic(), ANY),
    (transcendental.Sin(), ANY),
    (transcendental.Cos(), ANY),
    (transcendental.Tan(), UNIT),
    (transcendental.Asin(), UNIT),
    (transcendental.Acos(), UNIT),
    (transcendental.Atan(), ANY),
    (transcendental.Sinh(), ANY),
    (transcendental.Cosh(), ANY),
    (transcendental.Tanh(), ANY),
    (transcendental.Asinh(), ANY),
    (transcendental.Acosh(), POSITIVE + 1),
    (transcendental.Atanh(), UNIT),
    (special.Erf(), ANY),
    (special.Erfc(), ANY),
    (special.ErfInv(), UNIT),
    (special.Lgamma(), POSITIVE),
    (special.Digamma(), POSITIVE),
]
BINARY = [
    (arithmetic.Div(), ANY, POSITIVE),
    (arithmetic.Rem(), ANY * 3 + 0.1, POSITIVE),
    (arithmetic.Max(), ANY, UNIT),
    (arithmetic.Min(), ANY, UNIT),
    (arithmetic.Pow(), POSITIVE, ANY),
    (transcendental.Atan2(), ANY, UNIT),
]


def slope(function: Any, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The derivative of a smooth elementwise function, to about ten digits."""
    h = 1e-3
    near = array_of(function(x + h)) - array_of(function(x - h))
    far = array_of(function(x + 2 * h)) - array_of(function(x - 2 * h))
    return np.asarray((8 * near - far) / (12 * h))


@pytest.mark.parametrize(("op", "x"), UNARY, ids=lambda v: getattr(v, "name", ""))
def test_derivative_of_one_operand(op: Any, x: np.ndarray[Any, Any]) -> None:
    (coefficient,) = op.derivative(op(known(x)), known(x))
    np.testing.assert_allclose(array_of(coefficient), slope(op, x), rtol=1e-7)


@pytest.mark.parametrize(("op", "x"), UNARY, ids=lambda v: getattr(v, "name", ""))
def test_derivative_of_a_complex_operand(op: Any, x: np.ndarray[Any, Any]) -> None:
    if "c" not in op.accepts or isinstance(op, (arithmetic.Sign,)):
        pytest.skip("takes no complex numbers")
    z = COMPLEX * (0.5 if isinstance(op, (transcendental.Log1p,)) else 1)
    (coefficient,) = op.derivative(op(known(z)), known(z))
    np.testing.assert_allclose(array_of(coefficient), slope(op, z), rtol=1e-7)


@pytest.mark.parametrize(("op", "x", "y"), BINARY, ids=lambda v: getattr(v, "name", ""))
def test_derivative_of_two_operands(op: Any, x: Any, y: Any) -> None:
    ans = op(known(x), known(y))
    by_x, by_y = op.derivative(ans, known(x), known(y))
    want_x = slope(lambda v: op(v, y), x)
    want_y = slope(lambda v: op(x, v), y)
    shape = x.shape
    np.testing.assert_allclose(
        np.broadcast_to(array_of(by_x), shape), want_x, rtol=1e-7, atol=1e-9
    )
    np.testing.assert_allclose(array_of(by_y), want_y, rtol=1e-7, atol=1e-9)


def test_derivatives_where_functions_have_corners() -> None:
    one = known(np.array([1.0]))
    assert [array_of(c)[0] for c in arithmetic.Max().derivative(one, one, one)] == [
        0.5,
        0.5,
    ]
    zero = known(np.array([0.0]))
    assert array_of(complex.Abs().derivative(zero, zero)[0])[0] == 1
    by_x, by_y = arithmetic.Pow().derivative(one, zero, zero)
    assert array_of(by_x)[0] == 0
    assert array_of(by_y)[0] == 0
    assert arithmetic.Sign().derivative(one, one) == (None,)
    low, x, high = (
        known(np.array([0.0])),
        known(np.array([0.5])),
        known(np.array([1.0])),
    )
    assert [array_of(c)[0] for c in arithmetic.Clamp().derivative(x, low, x, high)] == [
        0,
        1,
        0,
    ]


def test_modulus_of_complex_numbers() -> None:
    z, t = COMPLEX, COMPLEX[::-1].copy()
    ans, tangent = complex.ComplexAbs().jvp((known(z),), (known(t),))
    np.testing.assert_allclose(array_of(ans), np.abs(z))
    h = 1e-6
    want = (np.abs(z + h * t) - np.abs(z - h * t)) / (2 * h)
    np.testing.assert_allclose(array_of(tangent), want, rtol=1e-8)


# --------------------------------------------------------------------------- transposition

X = np.arange(12.0).reshape(3, 4) - 5
LINEAR = [
    (views.BroadcastInDim((2, 3, 4), (1, 2)), X),
    (views.BroadcastInDim((3, 4), (0, 1)), X[:, :1]),
    (views.BroadcastInDim((5,), ()), np.array(2.0)),
    (views.ReduceSum((1,)), X),
    (views.ReduceSum((0, 1)), X),
    (views.Reshape((2, 6)), X),
    (views.Squeeze((0,)), X[None]),
    (views.Transpose((1, 0)), X),
    (views.Rev((0, 1)), X),
    (slices.Slice((0, 1), (3, 4), (2, 2)), X),
    (slices.Slice((1, 0), (1, 4)), X),
    (arithmetic.Neg(), X),
    (identity.Copy(), X),
    (complex.Real(), COMPLEX),
    (complex.Imag(), COMPLEX),
    (complex.Conj(np.dtype(np.complex128)), COMPLEX),
]


def inner(x: Any, y: Any) -> Any:
    """The bilinear pairing that transposition preserves."""
    return np.sum(np.asarray(array_of(x)) * np.asarray(array_of(y)))


@pytest.mark.parametrize(("op", "x"), LINEAR, ids=lambda v: getattr(v, "name", ""))
def test_transpose_of_one_operand(op: Any, x: np.ndarray[Any, Any]) -> None:
    out = op(known(x))
    ct = np.random.default_rng(0).normal(size=out.shape).astype(out.dtype)
    (back,) = op.transpose(known(ct), Linear(known(x).aval))
    assert back.shape == x.shape
    if isinstance(op, complex.Imag):
        # The pairing of a real part with complex numbers takes Re(x · y).
        np.testing.assert_allclose(np.real(inner(back, x)), inner(out, ct))
        return
    if isinstance(op, complex.Real):
        np.testing.assert_allclose(np.real(inner(back, x)), inner(out, ct))
        return
    if isinstance(op, complex.Conj):
        np.testing.assert_allclose(np.real(inner(back, x)), np.real(inner(out, ct)))
        return
    np.testing.assert_allclose(inner(back, x), inner(out, ct))


def test_transpose_of_pad_and_concatenate() -> None:
    pad = slices.Pad(((1, 2, 1), (0, 1, 2)))
    value = known(np.array(3.0))
    out = pad(known(X), value)
    ct = known(np.random.default_rng(0).normal(size=out.shape))
    to_x, to_value = pad.transpose(ct, Linear(known(X).aval), Linear(value.aval))
    total = inner(to_x, X) + array_of(to_value) * 3.0
    np.testing.assert_allclose(total, inner(out, ct))
    join = slices.Concatenate(1)
    y = X[:, :2]
    out = join(known(X), known(y))
    ct = known(np.random.default_rng(0).normal(size=out.shape))
    to_x, none = join.transpose(ct, Linear(known(X).aval), known(y))
    assert none is None
    np.testing.assert_array_equal(array_of(to_x), array_of(ct)[:, :4])


def test_transpose_of_choices_and_products() -> None:
    which = known(np.array([True, False]))
    x = Linear(Aval((2,), "float64"))
    ct = known(np.array([2.0, 3.0]))
    none, on_false, on_true = compare.SelectN().transpose(ct, which, x, x)
    assert none is None
    assert array_of(on_false).tolist() == [0, 3]
    assert array_of(on_true).tolist() == [2, 0]
    y = known(np.array([5.0, 7.0]))
    assert array_of(arithmetic.Mul().transpose(ct, y, x)[1]).tolist() == [10, 21]
    assert array_of(arithmetic.Sub().transpose(ct, x, x)[1]).tolist() == [-2, -3]
    assert array_of(arithmetic.Div().transpose(ct, x, y)[0]).tolist() == [0.4, 3 / 7]


# ------------------------------------------------------------------------------- index maps


def test_index_maps_agree_with_numpy() -> None:
    cases = [
        (lax.broadcast_in_dim(X, (2, 3, 4), (1, 2)), np.broadcast_to(X, (2, 3, 4))),
        (lax.expand_dims(X, (0, -1)), X[None, :, :, None]),
        (lax.reshape(X, (4, 3)), X.reshape(4, 3)),
        (lax.reshape(X, (12,), (1, 0)), X.T.reshape(12)),
        (lax.transpose(X, (1, 0)), X.T),
        (lax.slice(X, (0, 1), (3, 4), (2, 1)), X[::2, 1:4]),
        (lax.slice_in_dim(X, -3, None, 2, axis=1), X[:, -3::2]),
        (lax.index_in_dim(X, -1, 1, False), X[:, -1]),
        (lax.rev(X, (1,)), X[:, ::-1]),
        (
            lax.pad(X, 9, [(1, -1, 0), (-1, 2, 0)]),
            np.pad(X[:2, 1:], ((1, 0), (0, 2)), constant_values=9),
        ),
        (lax.concatenate([X, X[:1]], 0), np.concatenate([X, X[:1]])),
        (lax.stack([X, X], 1), np.stack([X, X], 1)),
        (lax.unstack(X, 1)[2], X[:, 2]),
        (lax.split(X, (1, 3), 1)[1], X[:, 1:]),
        (lax.iota("int32", 4), np.arange(4, dtype=np.int32)),
        (
            lax.broadcasted_iota("float32", (2, 3), 1),
            np.broadcast_to(np.arange(3, dtype=np.float32), (2, 3)),
        ),
        (lax.full((2, 2), 7, "int8"), np.full((2, 2), 7, np.int8)),
        (lax.full_like(X, 1), np.ones_like(X)),
        (lax.squeeze(X[None], (0,)), X),
        (lax.reduce_sum(X, (0,)), X.sum(0)),
        (lax.collapse(X[None], 1, 3), X.reshape(1, 12)),
        (lax.tile(X, (2, 3)), np.tile(X, (2, 3))),
        (lax.broadcast_to_rank(X, 3), X[None]),
        (lax.broadcast(X, (2,)), np.stack([X, X])),
    ]
    for got, want in cases:
        np.testing.assert_array_equal(array_of(got), want)
        assert array_of(got).dtype == want.dtype


def test_interior_padding() -> None:
    got = lax.pad(np.arange(3), 9, [(1, 0, 2)])
    assert array_of(got).tolist() == [9, 0, 9, 9, 1, 9, 9, 2]
    assert array_of(lax.pad(np.arange(3), 9, [(-1, 0, 1)])).tolist() == [9, 1, 9, 2]


@pytest.mark.parametrize(
    ("shape", "axes", "new"),
    [
        ((4, 6), (0, 1), (2, 2, 3, 2)),
        ((4, 6), (1, 0), (6, 2, 2)),
        ((2, 1, 3), (0, 1, 2), (6,)),
        ((2, 3, 4), (2, 0, 1), (2, 2, 6)),
        ((2, 3, 4), (2, 0, 1), (4, 6, 1)),
        ((5,), (0,), (1, 5, 1)),
        ((), (), (1, 1)),
        ((2, 3), (1, 0), (6,)),
        ((6, 1), (1, 0), (3, 2)),
        ((2, 3, 4), (0, 2, 1), (24,)),
        ((4, 3, 2), (0, 2, 1), (2, 2, 6)),
        ((0, 3), (0, 1), (3, 0)),
        ((2, 8, 9), (0, 1, 2), (4, 4, 3, 3)),
        ((1, 1), (0, 1), ()),
    ],
)
def test_reshape_by_strides(
    shape: tuple[int, ...], axes: tuple[int, ...], new: tuple[int, ...]
) -> None:
    """Strides exist exactly where NumPy reshapes without a copy, and read the same."""
    base = np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)
    x = base.transpose(axes)
    strides = tuple(s // 8 for s in x.strides)
    got = views.reshaped_strides(x.shape, strides, new)
    view = x.view()
    try:
        view.shape = new
    except AttributeError:
        assert got is None
        return
    assert got is not None
    if x.size:
        read = np.lib.stride_tricks.as_strided(base, new, [s * 8 for s in got])
        np.testing.assert_array_equal(read, x.reshape(new))


def test_broadcast_arrays_reshape_where_strides_allow() -> None:
    assert views.reshaped_strides((3, 4), (0, 0), (12,)) == (0,)
    assert views.reshaped_strides((3, 4), (0, 1), (12,)) is None
    assert views.reshaped_strides((3, 4), (0, 1), (3, 2, 2)) == (0, 2, 1)


def test_batch_rules() -> None:
    xs = np.stack([X, X + 1, X * 2])
    axis = Axis(3)
    ops = [op for op, x in LINEAR if op.batch is not None and x.shape == X.shape]
    assert len(ops) > 6
    for op in ops:
        want = np.stack([array_of(op(known(x))) for x in xs])
        np.testing.assert_array_equal(array_of(op.batch(axis, known(xs))), want)
    pad = slices.Pad(((1, 0, 1), (0, 2, 0)))
    values = np.array([7.0, 8.0, 9.0])
    want = np.stack([array_of(pad(known(x), known(v))) for x, v in zip(xs, values)])
    got = pad.batch(axis, (True, True), known(xs), known(values))
    np.testing.assert_array_equal(array_of(got), want)
    got = pad.batch(axis, (False, True), known(X), known(values))
    want = np.stack([array_of(pad(known(X), known(v))) for v in values])
    np.testing.assert_array_equal(array_of(got), want)


# ----------------------------------------------------------------------- values and dtypes


def test_python_numbers_take_the_dtype_of_the_array() -> None:
    half = known(np.ones(2, np.float16))
    assert lax.add(half, 1).dtype == np.float16
    assert lax.mul(2.0, half).dtype == np.float16
    assert lax.add(known(np.ones(2, np.complex64)), 1.5).dtype == np.complex64
    byte = known(np.ones(2, np.uint8))
    assert array_of(lax.add(byte, 254)).tolist() == [255, 255]
    with pytest.raises(OverflowError, match="256 does not fit the uint8"):
        lax.add(byte, 256)
    with pytest.raises(OverflowError, match="-1 does not fit"):
        lax.add(-1, byte)


def test_extents_of_one_are_stretched() -> None:
    got = lax.add(X, X[:, :1])
    np.testing.assert_array_equal(array_of(got), X + X[:, :1])
    got = lax.mul(X[:, :1], known(X[:1]))
    np.testing.assert_array_equal(array_of(got), X[:, :1] * X[:1])
    got = lax.clamp(0.0, X, known(np.ones((1, 4))))
    np.testing.assert_array_equal(array_of(got), np.clip(X, 0, 1))


def test_weak_types() -> None:
    assert lax.add(1.0, 2.0).weak_type
    assert not lax.add(known(np.float64(1.0)), 2.0).weak_type
    assert lax.convert_element_type(1, "float32").weak_type is False
    assert lax.full((2,), 1.0).weak_type
    assert lax.select(known(np.array([True])), 1.0, 2.0).weak_type
    assert not lax.select(True, known(np.float64(1)), 2.0).weak_type
    assert not lax.full((2,), 1.0, "float32").weak_type


def test_zeta_and_polygamma() -> None:
    for x, q in ((1.5, 0.3), (2.0, 1.0), (3.7, 12.0), (20.0, 0.5), (1.01, 2.0)):
        got = array_of(lax.zeta(x, q))
        np.testing.assert_allclose(got, float(mpmath.zeta(x, q)), rtol=1e-13)
        _, by_q = special.Zeta().jvp((x, q), (None, 1.0))
        want = float(-x * mpmath.zeta(x + 1, q))
        np.testing.assert_allclose(array_of(by_q), want, rtol=1e-12)
    for m in (0, 1, 2, 5):
        for x in (0.3, 1.0, 4.5, 30.0):
            got = array_of(lax.polygamma(float(m), x))
            want = float(mpmath.polygamma(m, x))
            np.testing.assert_allclose(got, want, rtol=1e-12)
    assert array_of(lax.zeta(1.0, 2.0)) == np.inf
    assert np.isnan(array_of(lax.zeta(0.5, 2.0)))
    with pytest.raises(NotImplementedError, match="first argument"):
        special.Zeta().jvp((2.0, 1.0), (1.0, None))


def test_bits() -> None:
    x = known(np.array([1.0, -2.0], np.float32))
    bits = lax.bitcast_convert_type(x, "uint32")
    assert array_of(bits).tolist() == [0x3F800000, 0xC0000000]
    np.testing.assert_array_equal(
        array_of(lax.bitcast_convert_type(bits, "float32")), [1, -2]
    )
    x = np.array([1.5, -2.25, 3e30], np.float32)
    for dtype in ("uint8", "int8", "uint16", "float16"):
        parts = lax.bitcast_convert_type(known(x), dtype)
        want = x.view(dtype).reshape(3, -1)
        np.testing.assert_array_equal(array_of(parts), want)
        again = lax.bitcast_convert_type(parts, "float32")
        np.testing.assert_array_equal(array_of(again), x)
    assert array_of(lax.clz(known(np.int8(1)))) == 7
    assert array_of(lax.bitwise_not(True)) == np.False_


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_reduced_precision(dtype: str) -> None:
    with np.errstate(over="ignore"):
        x = np.array(
            [
                1.3,
                -2.7,
                1e-7,
                6e4,
                65519.0,
                65520.0,
                np.inf,
                -np.inf,
                np.nan,
                0.0,
                -0.0,
                6.2e-5,
                5e-5,
            ]
        ).astype(dtype)
    got = array_of(lax.reduce_precision(known(x), 5, 10))
    with np.errstate(over="ignore"):
        want = x.astype(np.float16).astype(dtype)
    if dtype != "float16":
        want[np.abs(want) < 2.0**-14] *= 0
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(want))


def test_choice_among_several() -> None:
    which = known(np.array([0, 1, 2, 3], np.int32))
    cases = [known(np.full(4, float(i))) for i in range(4)]
    assert array_of(lax.select_n(which, *cases)).tolist() == [0, 1, 2, 3]


def test_conjugate_of_a_real_number() -> None:
    got = lax.conj(known(np.float32(2)))
    assert got.dtype == np.complex64
    assert array_of(got) == 2


def test_rules_keep_the_dtype() -> None:
    """Coefficients come in the dtype of the result, so tangents do too."""
    for dtype in (np.float16, np.float32):
        for op, x in UNARY:
            v = known(x.astype(dtype))
            for c in op.derivative(op(v), v):
                assert c is None or np.asarray(array_of(c)).dtype == dtype, op
        for op, x, y in BINARY:
            v, w = known(x.astype(dtype)), known(y.astype(dtype))
            for c in op.derivative(op(v, w), v, w):
                assert np.asarray(array_of(c)).dtype == dtype, op


def test_simplifications() -> None:
    x = known(ANY)
    assert arithmetic.Mul().simplify(x, 1.0) is x
    assert arithmetic.Mul().simplify(np.float32(1), x) is x
    assert arithmetic.Mul().simplify(x, 2.0) is None
    assert arithmetic.Div().simplify(x, 1) is x
    assert arithmetic.Max().simplify(x, x) is x
    assert compare.SelectN().simplify(known(ANY > 0), x, x) is x
    one = known(np.float64(1))
    assert compare.SelectN().simplify(known(ANY > 0), one, one) is None
    assert views.Transpose((0, 1)).simplify(known(X)).array.shape == X.shape
    assert views.Reshape((3, 4)).simplify(known(X)).array.shape == X.shape
    assert slices.Slice((0, 0), (3, 4)).simplify(known(X)).array.shape == X.shape


# -------------------------------------------------------------------------- text and errors


def text(function: Any, *avals: Aval) -> str:
    jaxpr, _ = stage(lambda *xs: [function(*xs)], avals)
    return " ".join(jaxpr_text(jaxpr).split())


def test_jaxpr_text_reads_like_jax() -> None:
    v, m = Aval((3,), "float32"), Aval((3, 4), "float32")
    shows = [
        (
            lambda x: lax.broadcast_in_dim(x, (3, 4), (0,)),
            v,
            "broadcast_in_dim[broadcast_dimensions=(0,)] a",
        ),
        (
            lambda x: lax.reduce_sum(x, (0,)),
            m,
            "reduce_sum[axes=(0,) out_sharding=None] a",
        ),
        (
            lambda x: lax.convert_element_type(x, "int32"),
            v,
            "convert_element_type[new_dtype=int32 weak_type=False] a",
        ),
        (lambda x: lax.integer_pow(x, 2), v, "integer_pow[y=2] a"),
        (lax.sin, v, "sin a"),
        (lambda x: lax.select(True, x, x), v, "select_n True:bool[] a a"),
        (lambda x: lax.round(x), v, "round[rounding_method=0] a"),
        (lambda x: lax.bitwise_and(lax.eq(x, x), True), v, "and b True:bool[]"),
        (
            lambda x: lax.reshape(x, (12,)),
            m,
            "reshape[dimensions=None new_sizes=(12,) sharding=None] a",
        ),
        (
            lambda x: lax.pad(x, 0, [(1, 0, 0)]),
            v,
            "pad[padding_config=((1, 0, 0),)] a 0.0:f32[]",
        ),
        (lambda x: lax.erf_inv(x), v, "erf_inv a"),
        (
            lambda x: lax.shift_right_logical(x, 1),
            Aval((2,), "int32"),
            "shift_right_logical a 1:i32[]",
        ),
    ]
    for function, aval, want in shows:
        assert want in text(function, aval)


def test_parameters_replay() -> None:
    v = Aval((3, 4), "float32")
    jaxpr, _ = stage(lambda x: [lax.reduce_sum(lax.reshape(x, (12,)), (0,))], [v])
    for eqn in jaxpr.eqns:
        assert (
            eqn.primitive(
                **{k: w for k, w in eqn.params.items() if k not in eqn.op.fixed}
            )
            is eqn.op
        )
    reshape = jaxpr.eqns[0]
    again = reshape.primitive.bind(np.zeros((3, 4), np.float32), **reshape.params)
    assert isinstance(again, Known)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: lax.add(X, [1.0]), TypeError, "argument 1 is a list"),
        (lambda: lax.add(X, None), TypeError, "argument 1 is None"),
        (lambda: lax.sin("a"), TypeError, "'a' of type str"),
        (
            lambda: lax.add(X, X[0]),
            TypeError,
            r"equal shapes .*float64\[3,4\] and float64\[4\].*jnp.add",
        ),
        (
            lambda: lax.add(X, X.astype(int)),
            TypeError,
            r"same dtypes.*float64\[3,4\] and int64\[3,4\].*jnp.add",
        ),
        (lambda: lax.sin(1), TypeError, "sin does not accept dtype int64"),
        (lambda: lax.reshape(X, (5,)), ValueError, r"reshape float64\[3,4\] \(12 el"),
        (lambda: lax.transpose(X, (0, 0)), ValueError, "not a permutation"),
        (lambda: lax.slice(X, (0, 0), (4, 4)), ValueError, "limit 4, stride 1"),
        (lambda: lax.squeeze(X, (0,)), ValueError, "has extent 3"),
        (lambda: lax.squeeze(X, (2,)), ValueError, "axis 2 is out of range"),
        (lambda: lax.reduce_sum(X, (0, -2)), ValueError, "duplicate"),
        (lambda: lax.broadcast_in_dim(X, (3, 5), (0, 1)), ValueError, "4 is neither 1"),
        (lambda: lax.concatenate([X, X[0]], 0), ValueError, "extents differ"),
        (lambda: lax.concatenate([], 0), ValueError, "at least one"),
        (lambda: lax.select(X, X, X), TypeError, "which must be bool"),
        (lambda: lax.integer_pow(3, -1), TypeError, "negative powers"),
        (lambda: lax.pad(X, 0, [(0, 0, 0)]), ValueError, "one .low, high, interior."),
        (lambda: lax.full((2,), X), TypeError, "must be a scalar"),
        (
            lambda: lax.reshape(X, (lax.add(1, 2),)),
            TypeError,
            "must be Python integers",
        ),
        (lambda: lax.reshape(X, (3.0, 4)), TypeError, "1D sequences"),
        (lambda: lax.index_in_dim(X, 3), IndexError, "index 3 is out of range"),
        (lambda: lax.lt(1j, 2j), TypeError, "lt does not accept dtype complex128"),
        (lambda: lax.split(X, (1, 1)), ValueError, "must be equal to 3"),
        (
            lambda: lax.bitcast_convert_type(X.astype(np.int16), "int32"),
            ValueError,
            r"2 times as wide needs a last axis of extent 2, got int16\[3,4\]",
        ),
        (lambda: lax.bitcast_convert_type(1j, "int32"), TypeError, "complex128"),
    ],
)
def test_errors_say_what_to_do(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()
