"""Operations that change the dtype of an array: by value, or by reading the same bits."""

from __future__ import annotations

from typing import Any

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import Value, aval_of
from tetrad._src.core.op import Kind, Op
from tetrad._src.ops.families import Elementwise, Operand, check_operand
from tetrad._src.util import dtypes
from tetrad._src.util.dtypes import canonicalize_dtype

canonical = canonicalize_dtype  # the short name that operations use


class ConvertElementType(Elementwise):
    """Converts `operand` to `new_dtype`, by value.

    Floats become integers by truncation, complex numbers become real ones by dropping
    the imaginary part, everything becomes bool by `x != 0`. Raises TypeError for keys.
    Source: https://openxla.org/stablehlo/spec#convert

    >>> from tetrad import lax
    >>> lax.convert_element_type(1.75, "int32")
    Array(1, dtype=int32)
    """

    new_dtype: Any
    weak_type: bool = False

    accepts = "fcuib"
    linear = ((0,),)
    sets_weak = True

    def type(self, operand: Aval) -> Aval:
        return Aval(operand.shape, self.new_dtype, self.weak_type)

    def transpose(self, ct: Any, operand: Any) -> tuple[Any, ...]:
        aval = operand.aval
        return (convert_element_type(ct, aval.dtype, aval.weak_type),)

    def simplify(self, operand: Any) -> Any:
        return operand if aval_of(operand).dtype == self.new_dtype else None

    def scalar(self, block: Any, operand: Any) -> Any:
        return block.convert(operand, block.type_of(self.new_dtype))

    hlo = "stablehlo.convert"


def convert_element_type(
    operand: Operand, new_dtype: Any, weak_type: bool = False
) -> Any:
    new_dtype = canonicalize_dtype(new_dtype)
    if isinstance(operand, Value):
        aval = operand.aval
        if aval.dtype == new_dtype and aval.weak_type == weak_type:
            return operand
    else:
        operand = check_operand(operand, "convert_element_type")
    return ConvertElementType(new_dtype, weak_type)(operand)


class BitcastConvertType(Op):
    """Reads the bits of `operand` as elements of `new_dtype`.

    A narrower dtype adds a last axis that counts the parts, least significant first; a
    wider one takes the last axis away, which must have as many elements as there are
    parts. Raises TypeError for bool and complex operands, ValueError for a wrong axis.
    Source: https://openxla.org/stablehlo/spec#bitcast_convert

    >>> from tetrad import lax
    >>> lax.bitcast_convert_type(1.0, "uint32")
    Array(1065353216, dtype=uint32)
    """

    new_dtype: Any

    kind = Kind.ELEMENTWISE
    accepts = "fui"
    sets_weak = True

    def type(self, operand: Aval) -> Aval:
        if dtypes.kind(self.new_dtype) not in "fui":
            raise TypeError(
                "lax.bitcast_convert_type gives floats and integers, got new_dtype"
                f" {self.new_dtype.name}"
            )
        if operand.dtype.itemsize != self.new_dtype.itemsize:
            raise NotImplementedError(
                "lax.bitcast_convert_type between dtypes of different widths"
                f" ({operand.dtype.name} to {self.new_dtype.name}) is not available;"
                " shift and mask the bits of an integer array instead"
            )
        return Aval(operand.shape, self.new_dtype)

    def derivative(self, ans: Any, operand: Any) -> tuple[Any, ...]:
        return (None,)

    def scalar(self, block: Any, operand: Any) -> Any:
        return block.bitcast(operand, block.type_of(self.new_dtype))

    hlo = "stablehlo.bitcast_convert"


def bitcast_convert_type(operand: Operand, new_dtype: Any) -> Any:
    operand = check_operand(operand, "bitcast_convert_type")
    new_dtype = canonicalize_dtype(new_dtype)
    if isinstance(operand, Value) and operand.aval.dtype == new_dtype:
        return operand
    return BitcastConvertType(new_dtype)(operand)


convert_element_type.__doc__ = ConvertElementType.__doc__
bitcast_convert_type.__doc__ = BitcastConvertType.__doc__
