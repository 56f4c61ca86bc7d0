"""Reading the bits of an array as another dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import Value, aval_of
from tetrad._src.ops.arithmetic import mul
from tetrad._src.ops.compare import shift_left, shift_right_logical
from tetrad._src.ops.convert import convert_element_type
from tetrad._src.ops.families import Elementwise, Operand, check_operand
from tetrad._src.ops.views import (
    broadcast_in_dim,
    broadcasted_iota,
    reduce_sum,
)
from tetrad._src.util import dtypes
from tetrad._src.util.dtypes import canonicalize_dtype


class BitcastConvertType(Elementwise):
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

    accepts = "fui"
    sets_weak = True

    def type(self, operand: Aval) -> Aval:
        return Aval(operand.shape, self.new_dtype)

    def derivative(self, ans: Any, operand: Any) -> tuple[Any, ...]:
        return (None,)

    def scalar(self, block: Any, operand: Any) -> Any:
        return block.bitcast(operand, block.type_of(self.new_dtype))

    hlo = "stablehlo.bitcast_convert"


def bitcast_convert_type(operand: Operand, new_dtype: Any) -> Any:
    operand = check_operand(operand, "bitcast_convert_type")
    new_dtype = canonicalize_dtype(new_dtype)
    aval = aval_of(operand)
    if isinstance(operand, Value) and aval.dtype == new_dtype:
        return operand
    if aval.kind not in "fui" or dtypes.kind(new_dtype) not in "fui":
        raise TypeError(
            "lax.bitcast_convert_type reads floats and integers, got"
            f" {aval.long_name()} and new_dtype {new_dtype.name}"
        )
    old, new = dtypes.itemsize_bits(aval.dtype), dtypes.itemsize_bits(new_dtype)
    if old % min(old, new) or new % min(old, new):
        raise ValueError(
            f"lax.bitcast_convert_type: the {old} bits of {aval.dtype.name} and the {new}"
            f" of {new_dtype.name} do not divide each other"
        )
    if new < old:
        return BitcastConvertType(new_dtype)(_taken_apart(operand, old, new))
    if new > old:
        return BitcastConvertType(new_dtype)(_put_together(operand, old, new))
    return BitcastConvertType(new_dtype)(operand)


def _unsigned(bits: int) -> np.dtype[Any]:
    name = f"uint{bits}"
    return dtypes.SMALL_INTEGERS.get(name) or np.dtype(name)


def _taken_apart(x: Operand, old: int, new: int) -> Any:
    """The `old` bits of each element as unsigned integers of `new` bits."""
    aval = aval_of(x)
    wide = _unsigned(old)
    shape = (*aval.shape, old // new)
    bits = broadcast_in_dim(BitcastConvertType(wide)(x), shape, tuple(range(aval.ndim)))
    places = broadcasted_iota(wide, shape, aval.ndim)
    shifted = shift_right_logical(bits, mul(places, new))
    return convert_element_type(shifted, _unsigned(new))


def _put_together(x: Operand, old: int, new: int) -> Any:
    """Elements of `old` bits along the last axis of `x` as one of `new` bits."""
    aval = aval_of(x)
    count = new // old
    if not aval.shape or aval.shape[-1] != count:
        raise ValueError(
            f"lax.bitcast_convert_type to a dtype {count} times as wide needs a last"
            f" axis of extent {count}, got {aval.long_name()}"
        )
    wide = _unsigned(new)
    bits = convert_element_type(BitcastConvertType(_unsigned(old))(x), wide)
    places = broadcasted_iota(wide, aval.shape, aval.ndim - 1)
    # The parts have no bits in common, so their sum puts them side by side.
    return reduce_sum(shift_left(bits, mul(places, old)), (aval.ndim - 1,))


bitcast_convert_type.__doc__ = BitcastConvertType.__doc__
