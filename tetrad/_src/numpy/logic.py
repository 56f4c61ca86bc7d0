"""Comparisons, logic and bits, element by element, and tests of whole arrays."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from tetrad._src.core.bind import Value, aval_of
from tetrad._src.numpy import lax
from tetrad._src.numpy.convert import asarray, operand, operands
from tetrad._src.numpy.elementwise import number, zero_like
from tetrad._src.numpy.plan import planned_whole, planned_with_floats
from tetrad._src.numpy.promote import (
    broadcast_shapes,
    promote,
    promote_dtypes,
    promote_inexact,
    stretch,
)
from tetrad._src.numpy.ufunc import Binary, Unary, at_least_int
from tetrad._src.util import dtypes

TRUE = "Array(True, dtype=bool, weak_type=True)"
FALSE = "Array(False, dtype=bool, weak_type=True)"


# ----------------------------------------------------------------------------- comparisons


class Comparison(Binary):
    """A comparison. A Python integer that no element of the other side can equal is larger
    or smaller than all of them; nothing is converted.
    """

    def anew(self, x: Any, y: Any, name: str) -> Any:
        try:
            return super().anew(x, y, name)
        except OverflowError:
            result = self._beyond(x, y)
            if result is None:
                raise
            return result

    def _beyond(self, x: Any, y: Any) -> Any:
        for far, array, sign in ((y, x, 1), (x, y, -1)):
            if type(far) is not int or not isinstance(array, Value):
                continue
            if array.aval.kind in "iub":
                order = sign if far > 0 else -sign  # of the right side to the left
                known = getattr(operator, _PYTHON_NAMES[self.__name__])(0, order)
                return lax.full(array.shape, known)
        return None


_PYTHON_NAMES = {
    "equal": "eq",
    "not_equal": "ne",
    "less": "lt",
    "less_equal": "le",
    "greater": "gt",
    "greater_equal": "ge",
}


class Ordering(Comparison):
    """A comparison of sizes; complex numbers compare by real, then imaginary part."""

    def __init__(self, name: str, op: Any, equal: bool, *args: Any) -> None:
        super().__init__(name, op, *args)
        self.equal = equal

    def anew(self, x: Any, y: Any, name: str) -> Any:
        xs = operands(name, (x, y))
        if any(aval_of(v).kind == "c" for v in xs):
            a, b = promote(name, *xs)
            real_a, real_b = lax.real(a), lax.real(b)
            by_imag = self.compute(lax.imag(a), lax.imag(b))
            by_real = self.compute(real_a, real_b)
            return lax.select(lax.eq(real_a, real_b), by_imag, by_real)
        return super().anew(xs[0] if xs[0] is not x else x, y, name)


class Equality(Comparison):
    """Equal or not; random keys are equal if the words behind them are."""

    def anew(self, x: Any, y: Any, name: str) -> Any:
        if all(isinstance(v, Value) and v.aval.kind == "K" for v in (x, y)):
            return self._of_keys(x, y, name)
        return super().anew(x, y, name)

    def _of_keys(self, x: Value, y: Value, name: str) -> Any:
        x, y = promote(name, lax.random_unwrap(x), lax.random_unwrap(y))
        words = self.compute(x, y)
        last = (aval_of(words).ndim - 1,)
        if isinstance(self.op, lax.Eq):
            return lax.reduce_and(words, last)
        return lax.reduce_or(words, last)


equal = Equality(
    "equal", lax.Eq(), "Whether x1 = x2; NaN equals nothing.", "equal(1, 1)", TRUE
)
not_equal = Equality(
    "not_equal",
    lax.Ne(),
    "Whether x1 ≠ x2; NaN differs from everything.",
    "not_equal(1, 1)",
    FALSE,
)
less = Ordering("less", lax.Lt(), False, "Whether x1 < x2.", "less(1, 2)", TRUE)
less_equal = Ordering(
    "less_equal", lax.Le(), True, "Whether x1 ≤ x2.", "less_equal(1, 1)", TRUE
)
greater = Ordering(
    "greater", lax.Gt(), False, "Whether x1 > x2.", "greater(1, 2)", FALSE
)
greater_equal = Ordering(
    "greater_equal", lax.Ge(), True, "Whether x1 ≥ x2.", "greater_equal(1, 1)", TRUE
)


# ---------------------------------------------------------------------------- bits, logic


ADVICE = "compare first (x > 0), or convert with .astype(int)"


def _bits(name: str, op: Any, sentence: str, example: str, result: str) -> Binary:
    return Binary(
        name,
        op,
        sentence,
        example,
        result + ", dtype=int32, weak_type=True)",
        kinds="biu",
        advice=ADVICE,
    )


bitwise_and = _bits(
    "bitwise_and",
    lax.And(),
    "The bits set in both x1 and x2.",
    "bitwise_and(6, 3)",
    "Array(2",
)
bitwise_or = _bits(
    "bitwise_or", lax.Or(), "The bits set in x1 or x2.", "bitwise_or(6, 3)", "Array(7"
)
bitwise_xor = _bits(
    "bitwise_xor",
    lax.Xor(),
    "The bits set in one of x1 and x2.",
    "bitwise_xor(6, 3)",
    "Array(5",
)
bitwise_not = bitwise_invert = invert = Unary(
    "bitwise_not",
    lax.Not(),
    "Every bit of x turned; of bools, the logical opposite.",
    "bitwise_not(3)",
    "Array(-4, dtype=int32, weak_type=True)",
    kinds="biu",
    advice=ADVICE,
)
bitwise_count = Unary(
    "bitwise_count",
    lambda x: lax.convert_element_type(lax.population_count(_unsigned(x)), np.uint8),
    "The number of bits set in |x|, as uint8.",
    "bitwise_count(7)",
    "Array(3, dtype=uint8)",
    kinds="biu",
)


def _unsigned(x: Any) -> Any:
    kind = aval_of(x).kind
    if kind == "b":
        return lax.convert_element_type(x, np.uint8)
    return lax.abs(x) if kind == "i" else x


left_shift = bitwise_left_shift = Binary(
    "left_shift",
    lax.ShiftLeft(),
    "x1 · 2^x2 by shifting bits, with zeros behind.",
    "left_shift(1, 3)",
    "Array(8, dtype=int32, weak_type=True)",
    rule=at_least_int,
    kinds="iu",
)


def _right_shift(x: Any, y: Any) -> Any:
    if aval_of(x).kind == "u":
        return lax.shift_right_logical(x, y)
    return lax.shift_right_arithmetic(x, y)


right_shift = bitwise_right_shift = Binary(
    "right_shift",
    _right_shift,
    "⌊x1 / 2^x2⌋ by shifting bits.",
    "right_shift(8, 3)",
    "Array(1, dtype=int32, weak_type=True)",
    rule=at_least_int,
    kinds="iu",
)


def as_bool(x: Any) -> Any:
    """Whether the elements of `x` are not 0."""
    if aval_of(x).kind == "b":
        return x
    return lax.ne(x, zero_like(x)) if isinstance(x, Value) else bool(x)


class Logical(Binary):
    """A function of truth values, for which every number but 0 is true."""

    def anew(self, x: Any, y: Any, name: str) -> Any:
        xs = operands(name, (x, y))
        if all(aval_of(v).kind == "b" for v in xs):
            return super().anew(xs[0], xs[1], name)
        weak = all(aval_of(v).weak_type for v in xs)
        result = super().anew(as_bool(xs[0]), as_bool(xs[1]), name)
        return lax.convert_element_type(result, np.bool_, weak)


logical_and = Logical(
    "logical_and",
    lax.And(),
    "Whether both x1 and x2 are true (not 0).",
    "logical_and(True, False)",
    "Array(False, dtype=bool)",
)
logical_or = Logical(
    "logical_or",
    lax.Or(),
    "Whether x1 or x2 is true (not 0).",
    "logical_or(True, False)",
    "Array(True, dtype=bool)",
)
logical_xor = Logical(
    "logical_xor",
    lax.Xor(),
    "Whether one of x1 and x2 is true (not 0).",
    "logical_xor(True, True)",
    "Array(False, dtype=bool)",
)
logical_not = Unary(
    "logical_not",
    lambda x: lax.bitwise_not(as_bool(x)),
    "Whether x is 0.",
    "logical_not(True)",
    "Array(False, dtype=bool)",
)


# ----------------------------------------------------------------------- kinds of numbers


def _constant_bool(x: Any, value: bool) -> Any:
    shape = aval_of(x).shape
    return lax.full(shape, np.bool_(value))


def _finite(x: Any) -> Any:
    kind = aval_of(x).kind
    if kind == "c":
        return lax.bitwise_and(_finite(lax.real(x)), _finite(lax.imag(x)))
    return lax.is_finite(x) if kind == "f" else _constant_bool(x, True)


def _infinite(x: Any) -> Any:
    kind = aval_of(x).kind
    if kind == "c":
        return lax.bitwise_or(_infinite(lax.real(x)), _infinite(lax.imag(x)))
    if kind != "f":
        return _constant_bool(x, False)
    return lax.eq(lax.abs(x), number(x, math.inf))


def _nan(x: Any) -> Any:
    return lax.ne(x, x) if aval_of(x).inexact else _constant_bool(x, False)


def _is(sign: float) -> Any:
    def compute(x: Any) -> Any:
        if aval_of(x).kind != "f":
            return _constant_bool(x, False)
        return lax.eq(x, number(x, sign * math.inf))

    return compute


def _strong(compute: Any) -> Any:
    """A bool is not weak: the question does not carry the weak type on."""
    return lambda x: lax.convert_element_type(compute(x), np.bool_)


def _question(
    name: str,
    compute: Any,
    sentence: str,
    example: str,
    result: str,
    kinds: str = "biufc",
) -> Unary:
    text = f"Array({result}, dtype=bool)"
    return Unary(name, _strong(compute), sentence, example, text, kinds=kinds)


isfinite = _question(
    "isfinite",
    _finite,
    "Whether x is neither infinite nor NaN.",
    "isfinite(1.)",
    "True",
)
isinf = _question("isinf", _infinite, "Whether x is infinite.", "isinf(1.)", "False")
isnan = _question("isnan", _nan, "Whether x is NaN.", "isnan(jnp.nan)", "True")
isposinf = _question(
    "isposinf", _is(1.0), "Whether x is +∞.", "isposinf(jnp.inf)", "True", "biuf"
)
isneginf = _question(
    "isneginf", _is(-1.0), "Whether x is -∞.", "isneginf(jnp.inf)", "False", "biuf"
)


def _has_imaginary(x: Any) -> Any:
    if aval_of(x).kind != "c":
        return _constant_bool(x, False)
    part = lax.imag(x)
    return lax.ne(part, zero_like(part))


iscomplex = _question(
    "iscomplex",
    _has_imaginary,
    "Whether the imaginary part of x is not 0.",
    "iscomplex(1j)",
    "True",
)
isreal = _question(
    "isreal",
    lambda x: lax.bitwise_not(_has_imaginary(x)),
    "Whether the imaginary part of x is 0.",
    "isreal(1j)",
    "False",
)


# ------------------------------------------------------------------------- complex numbers


def _real(x: Any) -> Any:
    if aval_of(x).kind == "c":
        return lax.real(x)
    return x if isinstance(x, Value) else lax.copy(x)


def _imag(x: Any) -> Any:
    if aval_of(x).kind == "c":
        return lax.imag(x)
    aval = aval_of(x)
    zero = lax.full(aval.shape, aval.dtype.type(0))
    return lax.convert_element_type(zero, aval.dtype, aval.weak_type)


real = Unary(
    "real",
    _real,
    "The real part of x.",
    "real(1.)",
    "Array(1., dtype=float32, weak_type=True)",
)
imag = Unary(
    "imag",
    _imag,
    "The imaginary part of x, 0 for real numbers.",
    "imag(1.)",
    "Array(0., dtype=float32, weak_type=True)",
)


def _conj(x: Any) -> Any:
    if aval_of(x).kind == "c":
        return lax.conj(x)
    return x if isinstance(x, Value) else lax.copy(x)


conj = conjugate = Unary(
    "conj",
    _conj,
    "The complex conjugate: the imaginary part with the other sign.",
    "conj(1.)",
    "Array(1., dtype=float32, weak_type=True)",
)


def angle(z: Any, deg: bool = False) -> Any:
    """The angle of the complex number z in (-π, π], in degrees if `deg`.

    Real numbers have the angle 0 or π.

    >>> import tetrad.numpy as jnp
    >>> jnp.angle(jnp.array([1., -1.]), deg=True)
    Array([  0., 180.], dtype=float32)
    """
    (x,) = promote_inexact("jnp.angle", z)
    if aval_of(x).kind == "c":
        x, y = lax.real(x), lax.imag(x)
    else:
        y = zero_like(x)
    result = lax.atan2(y, x)
    return lax.mul(result, number(result, 180 / math.pi)) if deg else result


def isrealobj(x: Any) -> bool:
    """Whether the dtype of x is not complex.

    >>> import tetrad.numpy as jnp
    >>> jnp.isrealobj(1.)
    True
    """
    return not iscomplexobj(x)


def iscomplexobj(x: Any) -> bool:
    """Whether the dtype of x is complex, whatever its values.

    >>> import tetrad.numpy as jnp
    >>> jnp.iscomplexobj(1j)
    True
    """
    if x is None:
        return False
    dtype = getattr(x, "dtype", None)
    if dtype is None:
        if isinstance(x, (list, tuple)):
            return any([iscomplexobj(item) for item in x])
        return bool(np.iscomplexobj(x))
    return not isinstance(dtype, dtypes.KeyDtype) and dtypes.kind(dtype) == "c"


def isscalar(element: Any) -> bool:
    """Whether `element` is a number, or an array without axes.

    >>> import tetrad.numpy as jnp
    >>> jnp.isscalar(1.), jnp.isscalar(jnp.ones(1))
    (True, False)
    """
    if not isinstance(element, Value) and hasattr(element, "__jax_array__"):
        element = element.__jax_array__()
    if isinstance(element, (Value, np.ndarray)):
        return element.ndim == 0
    return bool(np.isscalar(element)) and not isinstance(element, (str, bytes))


# ------------------------------------------------------------------------- nearness


@planned_with_floats
def isclose(
    a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False
) -> Any:
    """Whether |a - b| ≤ atol + rtol · |b|, element by element.

    The arguments broadcast. Infinities are close to themselves alone; NaN is close to
    nothing, or to NaN if `equal_nan`.

    >>> import tetrad.numpy as jnp
    >>> jnp.isclose(jnp.array([1., 2.]), 1.)
    Array([ True, False], dtype=bool)
    """
    x, y = promote("jnp.isclose", a, b)
    if aval_of(x).kind == "K":
        return equal(x, y)
    if not aval_of(x).inexact and not aval_of(y).inexact:
        x, y = promote_inexact("jnp.isclose", x, y)
    gap = lax.abs(lax.sub(x, y))
    size = lax.abs(y)
    atol = lax.convert_element_type(atol, aval_of(size).dtype)
    rtol = lax.convert_element_type(rtol, aval_of(size).dtype)
    near = lax.le(gap, lax.add(atol, lax.mul(rtol, size)))
    infinite = lax.bitwise_or(_infinite(x), _infinite(y))
    result = lax.select(infinite, lax.eq(x, y), near)
    if equal_nan:
        result = lax.bitwise_or(result, lax.bitwise_and(_nan(x), _nan(y)))
    return lax.convert_element_type(result, np.bool_)


def every(x: Any) -> Any:
    """Whether all elements are true, of an array of bools."""
    ndim = aval_of(x).ndim
    return lax.reduce_and(x, tuple(range(ndim))) if ndim else x


@planned_with_floats
def allclose(
    a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False
) -> Any:
    """Whether every |a - b| ≤ atol + rtol · |b|: see `isclose`.

    >>> import tetrad.numpy as jnp
    >>> jnp.allclose(jnp.array([1., 2.]), jnp.array([1., 2.]))
    Array(True, dtype=bool)
    """
    return every(isclose(a, b, rtol, atol, equal_nan))


@planned_whole
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Whether two arrays have one shape and equal elements.

    NaN equals NaN only if `equal_nan`.

    >>> import tetrad.numpy as jnp
    >>> jnp.array_equal(jnp.arange(3), jnp.arange(3))
    Array(True, dtype=bool)
    """
    xs = [_as_array(a) for a in (a1, a2)]
    if aval_of(xs[0]).shape != aval_of(xs[1]).shape:
        return lax.full((), np.bool_(False))
    x, y = promote("jnp.array_equal", *xs)
    same = equal(x, y)
    if equal_nan:
        same = lax.bitwise_or(same, lax.bitwise_and(_nan(x), _nan(y)))
    return lax.convert_element_type(every(same), np.bool_)


@planned_whole
def array_equiv(a1: Any, a2: Any) -> Any:
    """Whether two arrays broadcast to one shape and are equal there.

    >>> import tetrad.numpy as jnp
    >>> jnp.array_equiv(jnp.ones((2, 3)), jnp.ones(3))
    Array(True, dtype=bool)
    """
    x, y = [_as_array(a) for a in (a1, a2)]
    try:
        shape = broadcast_shapes(aval_of(x).shape, aval_of(y).shape)
    except ValueError:
        return lax.full((), np.bool_(False))
    x, y = [stretch(v, shape) for v in promote_dtypes("jnp.array_equiv", x, y)]
    return lax.convert_element_type(every(lax.eq(x, y)), np.bool_)


def _as_array(x: Any) -> Any:
    """An operand; lists are arrays, as in NumPy's comparisons of whole arrays."""
    return asarray(x) if isinstance(x, (list, tuple)) else operand(x, "jnp.array_equal")
