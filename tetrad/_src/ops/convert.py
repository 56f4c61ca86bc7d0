"""The conversion of arrays to another dtype, by value."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import Value, aval_of
from tetrad._src.core.jaxpr import Literal
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
    cheap = True
    sets_weak = True

    def type(self, operand: Aval) -> Aval:
        return Aval(operand.shape, self.new_dtype, self.weak_type)

    def elide(self, x: Any, out: Aval) -> Any:
        """Nothing where nothing changes; a number is converted while it is staged."""
        if x.aval is out:
            return x
        if type(x) is not Literal or x.aval.ndim or x.aval.kind not in "fiub":
            return None
        number = np.asarray(x.val, x.aval.dtype)
        made = number.astype(out.dtype)[()]
        if out.kind == "f":
            exact = math.isfinite(float(made))
        else:
            integers = out.kind in "iu" and x.aval.kind in "iub"
            exact = integers and int(made) == int(number)
        value = made.item() if out.weak_type else made
        return Literal(value, out) if exact and aval_of(value) is out else None

    def transpose(self, ct: Any, operand: Any) -> tuple[Any, ...]:
        aval = operand.aval
        return (convert_element_type(ct, aval.dtype, aval.weak_type),)

    def simplify(self, operand: Any) -> Any:
        return operand if aval_of(operand).dtype == self.new_dtype else None

    def scalar(self, block: Any, operand: Any) -> Any:
        return block.convert(operand, block.type_of(self.new_dtype))

    def hlo(self, emit: Any, operand: Any) -> Any:
        if operand.aval.kind == "c" and dtypes.kind(self.new_dtype) not in "cb":
            part = np.dtype(f"float{operand.aval.dtype.itemsize * 4}")
            real = Aval(operand.aval.shape, part)
            operand = emit("stablehlo.real", operand, result=real)
        return emit("stablehlo.convert", operand)


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
        if type(operand) is int:
            what = "lax.convert_element_type: the Python integer"
            dtypes.check_narrowing(operand, new_dtype, what)
        elif (
            isinstance(operand, (np.ndarray, np.generic))
            and operand.dtype.kind in "iu"
            and dtypes.kind(new_dtype) in "iu"
        ):
            operand = operand.astype(new_dtype)  # asked for by name, so it may be cut
    return ConvertElementType(new_dtype, weak_type)(operand)


convert_element_type.__doc__ = ConvertElementType.__doc__


def dtype(x: Any) -> Any:
    """The dtype of an array or number, as wide as 64-bit types allow now.

    A dtype, its name or class stands for itself. TypeError for what has no dtype.

    >>> from tetrad import lax
    >>> lax.dtype(1.5), lax.dtype("int8")
    (dtype('float32'), dtype('int8'))
    """
    if isinstance(x, Value):
        return x.aval.dtype
    found = getattr(x, "dtype", x) if not isinstance(x, type) else x
    if isinstance(found, (type, str, np.dtype, dtypes.KeyDtype)):
        if found == dtypes.float0:
            return found
        return dtypes.result_type(found)
    return aval_of(check_operand(x, "dtype")).dtype
