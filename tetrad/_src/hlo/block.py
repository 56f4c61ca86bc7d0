"""The scalar builder over StableHLO: what rules such as `combine` and `merge` call.

What comes in: calls like `block.add(x, y)` on values of rank 0, or of one shape. What
goes out: lines in the writer. It is the part of the CPU's builder that rules of
reductions, scatters and sorts use; Python numbers take the type of the other operand,
and rank 0 is broadcast.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.hlo.value import Value, Writer
from tetrad._src.util import dtypes

_DTYPES = {
    "i1": np.dtype(bool),
    "bf16": dtypes.bfloat16,
    "c64": np.dtype(np.complex64),
    "c128": np.dtype(np.complex128),
}
_LETTERS = {"f": "float", "i": "int", "u": "uint"}


def dtype_of(type: str) -> np.dtype[Any]:
    """The dtype that scalar rules call `type`."""
    found = _DTYPES.get(type) or dtypes.SMALL_BY_SHORT_NAME.get(type)
    return np.dtype(_LETTERS[type[0]] + type[1:]) if found is None else found


class Block:
    """Writes elementwise operations."""

    __slots__ = ("writer",)

    def __init__(self, writer: Writer) -> None:
        self.writer = writer

    def type_of(self, dtype: Any) -> str:
        """The name that scalar rules give a dtype."""
        return Value("", Aval((), dtype)).type

    def constant(self, value: Any, type: str) -> Value:
        dtype = dtype_of(type)
        host = np.asarray(value)
        if dtypes.kind(dtype) in "iu" and host.dtype.kind in "iu":
            host = np.asarray(
                int(value) % (1 << dtypes.itemsize_bits(dtype)), np.uint64
            )
        return self.writer.constant(host.astype(dtype), Aval((), dtype))

    def convert(self, x: Value, type: str) -> Value:
        if x.type == type:
            return x
        aval = x.aval.update(dtype=dtype_of(type))
        return self.writer.operation("stablehlo.convert", [x], [aval], {})[0]

    def select(self, mask: Value, x: Any, y: Any) -> Value:
        x, y = self._alike(x, y)
        mask, x = self._alike(mask, x)
        mask, y = self._alike(mask, y)
        return self.writer.operation("stablehlo.select", [mask, x, y], [x.aval], {})[0]

    def real(self, x: Value) -> Value:
        return self._part("stablehlo.real", x)

    def imag(self, x: Value) -> Value:
        return self._part("stablehlo.imag", x)

    def _part(self, name: str, x: Value) -> Value:
        dtype = np.dtype(f"float{4 * x.aval.dtype.itemsize}")
        return self.writer.operation(name, [x], [x.aval.update(dtype=dtype)], {})[0]

    # -- of two operands ---------------------------------------------------------------

    def add(self, x: Any, y: Any) -> Value:
        return self._binary("stablehlo.add", x, y)

    def sub(self, x: Any, y: Any) -> Value:
        return self._binary("stablehlo.subtract", x, y)

    def mul(self, x: Any, y: Any) -> Value:
        return self._binary("stablehlo.multiply", x, y)

    def div(self, x: Any, y: Any) -> Value:
        return self._binary("stablehlo.divide", x, y)

    def max(self, x: Any, y: Any) -> Value:
        return self._extreme("stablehlo.maximum", "GT", x, y)

    def min(self, x: Any, y: Any) -> Value:
        return self._extreme("stablehlo.minimum", "LT", x, y)

    def _extreme(self, name: str, direction: str, x: Any, y: Any) -> Value:
        """Of complex numbers by parts: what backends make of NaN in them differs."""
        x, y = self._alike(x, y)
        if x.type[0] != "c":
            return self._binary(name, x, y)
        better = self._compare(direction, x, y)
        better = self.and_(better, self.eq(y, y))
        return self.select(self.or_(better, self.ne(x, x)), x, y)

    def and_(self, x: Any, y: Any) -> Value:
        return self._binary("stablehlo.and", x, y)

    def or_(self, x: Any, y: Any) -> Value:
        return self._binary("stablehlo.or", x, y)

    def xor(self, x: Any, y: Any) -> Value:
        return self._binary("stablehlo.xor", x, y)

    def not_(self, x: Value) -> Value:
        return self.writer.operation("stablehlo.not", [x], [x.aval], {})[0]

    def eq(self, x: Any, y: Any) -> Value:
        return self._compare("EQ", x, y)

    def ne(self, x: Any, y: Any) -> Value:
        return self._compare("NE", x, y)

    def lt(self, x: Any, y: Any) -> Value:
        return self._compare("LT", x, y)

    def le(self, x: Any, y: Any) -> Value:
        return self._compare("LE", x, y)

    def gt(self, x: Any, y: Any) -> Value:
        return self._compare("GT", x, y)

    def ge(self, x: Any, y: Any) -> Value:
        return self._compare("GE", x, y)

    def _compare(self, direction: str, x: Any, y: Any) -> Value:
        x, y = self._alike(x, y)
        if x.type[0] == "c" and direction not in ("EQ", "NE"):
            first, second = (self.real(x), self.real(y)), (self.imag(x), self.imag(y))
            later = self.and_(self.eq(*first), self._compare(direction, *second))
            return self.or_(self._compare(f"{direction[0]}T", *first), later)
        aval = x.aval.update(dtype=np.dtype(bool))
        text = f"#stablehlo<comparison_direction {direction}>"
        how = {"comparison_direction": text}
        return self.writer.operation("stablehlo.compare", [x, y], [aval], how)[0]

    def _binary(self, name: str, x: Any, y: Any) -> Value:
        x, y = self._alike(x, y)
        return self.writer.operation(name, [x, y], [x.aval], {})[0]

    def _alike(self, x: Any, y: Any) -> tuple[Value, Value]:
        """Numbers as values of the other's type, rank 0 in the other's shape."""
        if not isinstance(x, Value):
            x = self.constant(x, y.type)
        if not isinstance(y, Value):
            y = self.constant(y, x.type)
        shape = x.aval.shape or y.aval.shape
        return self.writer.broadcast(x, shape), self.writer.broadcast(y, shape)
