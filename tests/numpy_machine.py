"""A machine for tests: runs operations with NumPy, by the rules that they state.

`scalar` rules run on whole arrays, index maps as strided views, regions as strided
assignments, folds element by element. Slow, small, and no part of the library: what it
computes shows whether a rule is right before any compiler is involved.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import mpmath
import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import Trace, Value, aval_of
from tetrad._src.core.op import Kind, Op, infer
from tetrad._src.util.dtypes import SMALL_BY_SHORT_NAME

TYPES = {
    "i1": np.dtype(bool),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f16": np.dtype(np.float16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "c64": np.dtype(np.complex64),
    "c128": np.dtype(np.complex128),
    **{f"i{n}": np.dtype(f"int{n}") for n in (8, 16, 32, 64)},
    **{f"u{n}": np.dtype(f"uint{n}") for n in (8, 16, 32, 64)},
    **SMALL_BY_SHORT_NAME,
}
NAMES = {dtype: name for name, dtype in TYPES.items()}


def _through_mpmath(function: Any) -> Any:
    def value(x: float) -> float:
        try:
            return float(function(float(x)))
        except (ValueError, OverflowError):
            return math.nan

    return np.vectorize(value, otypes=[np.float64])


def _round_away(x: Any) -> Any:
    return np.trunc(x + np.copysign(0.5, x))


def _sign(x: Any) -> Any:
    if np.iscomplexobj(x):
        size = np.abs(x)
        return np.where(size == 0, x, x / np.where(size == 0, 1, size))
    return np.sign(x)


def _divide(x: Any, y: Any) -> Any:
    if np.asarray(x).dtype.kind in "iu":
        return np.trunc(np.true_divide(x, y))
    return np.true_divide(x, y)


FUNCTIONS: dict[str, Any] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": _divide,
    "rem": np.fmod,
    "neg": np.negative,
    "abs": np.abs,
    "sign": _sign,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.round,
    "trunc": np.trunc,
    "round_away": _round_away,
    "max": np.maximum,
    "min": np.minimum,
    "pow": np.power,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "cbrt": np.cbrt,
    "exp": np.exp,
    "exp2": np.exp2,
    "log": np.log,
    "log1p": np.log1p,
    "expm1": np.expm1,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "logistic": lambda x: 1 / (1 + np.exp(-x)),
    "erf": _through_mpmath(math.erf),
    "erfc": _through_mpmath(math.erfc),
    "erf_inv": _through_mpmath(mpmath.erfinv),
    "lgamma": _through_mpmath(math.lgamma),
    "digamma": _through_mpmath(mpmath.digamma),
    "is_finite": np.isfinite,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "select": np.where,
    "and_": np.bitwise_and,
    "or_": np.bitwise_or,
    "xor": np.bitwise_xor,
    "not_": np.invert,
    "shift_left": np.left_shift,
    "shift_right_logical": np.right_shift,
    "shift_right_arithmetic": np.right_shift,
    "population_count": np.bitwise_count,
    "nextafter": np.nextafter,
    "complex": lambda x, y: x + 1j * y,
    "real": np.real,
    "imag": np.imag,
    "conj": np.conj,
}
BOOLEAN = {"is_finite", "eq", "ne", "lt", "le", "gt", "ge"}
PARTS = {"complex": 1, "real": -1, "imag": -1, "abs": -1}


class Lanes(np.ndarray):
    """Values of the builder: a NumPy array that knows its type's name."""

    @property
    def type(self) -> str:
        return NAMES[self.dtype]


def lanes(x: Any, dtype: Any) -> Lanes:
    return np.asarray(x).astype(dtype).view(Lanes)


class NumpyBlock:
    """The builder protocol of `scalar` rules."""

    def type_of(self, dtype: Any) -> str:
        return NAMES[dtype]

    def constant(self, value: Any, type: str) -> Lanes:
        return lanes(value, TYPES[type])

    def convert(self, x: Lanes, type: str) -> Lanes:
        values = np.asarray(x)
        if values.dtype.kind == "c" and TYPES[type].kind not in "cb":
            values = values.real
        return lanes(values, TYPES[type])

    def bitcast(self, x: Lanes, type: str) -> Lanes:
        return np.ascontiguousarray(x).view(TYPES[type]).reshape(x.shape).view(Lanes)

    def integer_pow(self, x: Lanes, n: int) -> Lanes:
        values = np.asarray(x)
        power = values**n if n >= 0 else 1 / values ** (-n)
        return lanes(power, x.dtype)

    def clz(self, x: Lanes) -> Lanes:
        bits = x.dtype.itemsize * 8
        mask = (1 << bits) - 1
        count = np.vectorize(lambda v: bits - (int(v) & mask).bit_length())
        return lanes(count(np.asarray(x)), x.dtype)

    def __getattr__(self, name: str) -> Any:
        function = FUNCTIONS[name]

        def apply(*args: Any) -> Lanes:
            like = next(a for a in reversed(args) if isinstance(a, Lanes)).dtype
            plain = [np.asarray(a) if isinstance(a, Lanes) else a for a in args]
            with np.errstate(all="ignore"):
                return lanes(function(*plain), _result_dtype(name, like))

        return apply


def _result_dtype(name: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
    if name in BOOLEAN:
        return np.dtype(bool)
    if name == "complex":
        return np.dtype(np.complex64 if dtype.itemsize == 4 else np.complex128)
    if name in PARTS and dtype.kind == "c":
        return np.dtype(np.float32 if dtype.itemsize == 8 else np.float64)
    return dtype


class Known(Value):
    """An array that this machine holds."""

    __slots__ = ("aval", "array")

    def __init__(self, aval: Aval, array: np.ndarray[Any, Any]) -> None:
        self.aval = aval
        self.array = array


def known(x: Any) -> Known:
    aval = aval_of(x)
    return Known(aval, np.asarray(x).astype(aval.dtype))


def array_of(x: Any) -> np.ndarray[Any, Any]:
    return x.array if isinstance(x, Known) else np.asarray(x).astype(aval_of(x).dtype)


class NumpyTrace(Trace):
    """Runs each operation at once."""

    def process(self, op: Op, args: Sequence[Any]) -> Any:
        aval = infer(op, tuple([aval_of(a) for a in args]))
        arrays = [array_of(a) for a in args]
        result = run(op, aval, arrays)
        assert result.shape == aval.shape, (op, result.shape, aval)
        assert result.dtype == aval.dtype, (op, result.dtype, aval)
        return Known(aval, result)


def run(op: Op, aval: Aval, arrays: Sequence[np.ndarray[Any, Any]]) -> Any:
    if op.kind is Kind.ELEMENTWISE:
        if op.scalar is None:
            return array_of(op.expand(*[known(a) for a in arrays]))
        out = op.scalar(NumpyBlock(), *[lanes(a, a.dtype) for a in arrays])
        return np.array(np.broadcast_to(np.asarray(out), aval.shape))
    if op.restride is not None:
        return _restrided(op, aval, arrays[0])
    if op.coordinates is not None:
        return _counted(op, aval)
    if op.regions is not None:
        return _assembled(op, aval, arrays)
    assert op.kind is Kind.REDUCE, op
    return _folded(op, aval, arrays[0])


def _restrided(op: Op, aval: Aval, x: np.ndarray[Any, Any]) -> Any:
    dense = np.ascontiguousarray(x).reshape(-1)
    own = Aval(x.shape, x.dtype)
    view, strides, offset = op.restride(own, own.strides, 0)
    assert view.strong() is aval.strong()
    if aval.size == 0:
        return np.zeros(aval.shape, aval.dtype)
    at = np.full(aval.shape, offset)
    for axis, index in enumerate(np.indices(aval.shape)):
        at += index * strides[axis]
    assert at.min() >= 0
    return dense[at]


def _counted(op: Op, aval: Aval) -> Any:
    coefficients, offset = op.coordinates()
    count = np.full(aval.shape, offset)
    for c, index in zip(coefficients, np.indices(aval.shape)):
        count += c * index
    return count.astype(aval.dtype)


def _assembled(op: Op, aval: Aval, arrays: Sequence[np.ndarray[Any, Any]]) -> Any:
    out = np.zeros(aval.size, aval.dtype)
    for region in op.regions(*[Aval(a.shape, a.dtype) for a in arrays]):
        at = np.full(region.shape, region.offset)
        for stride, index in zip(region.strides, np.indices(region.shape)):
            at += index * stride
        out[at] = arrays[region.operand]
    return out.reshape(aval.shape)


def _folded(op: Any, aval: Aval, x: np.ndarray[Any, Any]) -> Any:
    block = NumpyBlock()
    kept = [i for i in range(x.ndim) if i not in op.axes]
    moved = np.transpose(x, (*op.axes, *kept)).reshape(-1, *aval.shape)
    state = op.initial(block, NAMES[x.dtype])
    for index, part in enumerate(moved):
        state = op.step(block, state, lanes(part, x.dtype), index)
    return np.array(np.broadcast_to(np.asarray(op.finish(block, state)), aval.shape))
