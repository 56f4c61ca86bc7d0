"""Comparisons, the choice between arrays by one, and bitwise logic."""

from __future__ import annotations

from typing import Any

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import aval_of
from tetrad._src.core.op import Linear
from tetrad._src.ops.families import (
    BOOL,
    Binary,
    Compare,
    Elementwise,
    Operand,
    Unary,
    check_operand,
)
from tetrad._src.ops.functions import binary, operands, unary


class Eq(Compare):
    """x = y, elementwise; NaN equals nothing.

    Raises TypeError for different dtypes or shapes. Source: IEEE 754-2019, 5.11.

    >>> from tetrad import lax
    >>> lax.eq(1.0, 1.0)
    Array(True, dtype=bool, weak_type=True)
    """

    accepts = "fcuib"
    commutes = True
    direction = "EQ"
    promote = "equal"

    def scalar(self, block: Any, x: Any, y: Any) -> Any:
        return block.eq(x, y)


class Ne(Compare):
    """x ≠ y, elementwise; NaN differs from everything.

    Raises TypeError for different dtypes or shapes. Source: IEEE 754-2019, 5.11.

    >>> from tetrad import lax
    >>> lax.ne(1.0, 1.0)
    Array(False, dtype=bool, weak_type=True)
    """

    accepts = "fcuib"
    commutes = True
    direction = "NE"
    promote = "not_equal"

    def scalar(self, block: Any, x: Any, y: Any) -> Any:
        return block.ne(x, y)


class Lt(Compare):
    """x < y, elementwise; false beside a NaN.

    Raises TypeError for complex numbers, and different dtypes or shapes. Source: IEEE
    754-2019, 5.11.

    >>> from tetrad import lax
    >>> lax.lt(1.0, 2.0)
    Array(True, dtype=bool, weak_type=True)
    """

    accepts = "fuib"
    direction = "LT"
    promote = "less"

    def scalar(self, block: Any, x: Any, y: Any) -> Any:
        return block.lt(x, y)


class Le(Compare):
    """x ≤ y, elementwise; false beside a NaN.

    Raises TypeError for complex numbers, and different dtypes or shapes. Source: IEEE
    754-2019, 5.11.

    >>> from tetrad import lax
    >>> lax.le(2.0, 2.0)
    Array(True, dtype=bool, weak_type=True)
    """

    accepts = "fuib"
    direction = "LE"
    promote = "less_equal"

    def scalar(self, block: Any, x: Any, y: Any) -> Any:
        return block.le(x, y)


class Gt(Compare):
    """x > y, elementwise; false beside a NaN.

    Raises TypeError for complex numbers, and different dtypes or shapes. Source: IEEE
    754-2019, 5.11.

    >>> from tetrad import lax
    >>> lax.gt(1.0, 2.0)
    Array(False, dtype=bool, weak_type=True)
    """

    accepts = "fuib"
    direction = "GT"
    promote = "greater"

    def scalar(self, block: Any, x: Any, y: Any) -> Any:
        return block.gt(x, y)


class Ge(Compare):
    """x ≥ y, elementwise; false beside a NaN.

    Raises TypeError for complex numbers, and different dtypes or shapes. Source: IEEE
    754-2019, 5.11.

    >>> from tetrad import lax
    >>> lax.ge(2.0, 2.0)
    Array(True, dtype=bool, weak_type=True)
    """

    accepts = "fuib"
    direction = "GE"
    promote = "greater_equal"

    def scalar(self, block: Any, x: Any, y: Any) -> Any:
        return block.ge(x, y)


eq = binary(Eq)
ne = binary(Ne)
lt = binary(Lt)
le = binary(Le)
gt = binary(Gt)
ge = binary(Ge)


class IsFinite(Elementwise):
    """Whether x is neither infinite nor NaN.

    Raises TypeError for dtypes without such values. Source: IEEE 754-2019, 5.7.2.

    >>> from tetrad import lax
    >>> lax.is_finite(1.0)
    Array(True, dtype=bool, weak_type=True)
    """

    accepts = "f"
    cheap = True

    def type(self, x: Aval) -> Aval:
        return Aval(x.shape, BOOL)

    def scalar(self, block: Any, x: Any) -> Any:
        return block.is_finite(x)

    hlo = "stablehlo.is_finite"


is_finite = unary(IsFinite)


# ------------------------------------------------------------------------------- selection


class SelectN(Elementwise):
    """`which` ? `on_true` : `on_false`, elementwise.

    The cases come in the order of the values False and True that pick them. Raises
    TypeError unless `which` is bool and the cases have one dtype.
    Source: https://openxla.org/stablehlo/spec#select

    >>> from tetrad import lax
    >>> lax.select_n(True, 1.0, 2.0)
    Array(2., dtype=float32, weak_type=True)
    """

    linear = ((1, 2),)
    cheap = True
    sets_weak = True

    def type(self, which: Aval, on_false: Aval, on_true: Aval) -> Aval:
        if which.dtype != BOOL:
            raise TypeError(
                f"lax.select needs a bool predicate, got {which.long_name()}"
            )
        dtype = self.common_dtype((on_false, on_true))
        shape = self.common_shape((which, on_false, on_true))
        return Aval(shape, dtype, on_false.weak_type and on_true.weak_type)

    def transpose(
        self, ct: Any, which: Any, on_false: Any, on_true: Any
    ) -> tuple[Any, ...]:
        zero = aval_of(ct).dtype.type(0)
        return (
            None,
            _SELECT(which, ct, zero) if isinstance(on_false, Linear) else None,
            _SELECT(which, zero, ct) if isinstance(on_true, Linear) else None,
        )

    def simplify(self, which: Any, on_false: Any, on_true: Any) -> Any:
        same = on_false is on_true and np.shape(which) in ((), np.shape(on_true))
        return on_true if same else None

    def scalar(self, block: Any, which: Any, on_false: Any, on_true: Any) -> Any:
        return block.select(which, on_true, on_false)

    def hlo(self, emit: Any, which: Any, on_false: Any, on_true: Any) -> Any:
        return emit("stablehlo.select", which, on_true, on_false)


_SELECT = SelectN()


class Replace(SelectN):
    """`old`, but `new` where `which` is true: what an update by a mask does.

    It is a selection; only reports about copies tell them apart.
    """

    name = "select_n"
    updates = 1


def select_n(which: Operand, *cases: Operand) -> Any:
    which = check_operand(which, "select_n", 0)
    values = operands("select_n", cases)
    if len(values) == 2 and aval_of(which).dtype == BOOL:
        return _SELECT(which, values[0], values[1])
    return _select_among(which, values)


def _select_among(which: Any, cases: list[Any]) -> Any:
    """Chooses by an integer: halves the cases until one is left."""
    aval = aval_of(which)
    if not cases:
        raise ValueError("lax.select_n needs at least one case")
    if aval.kind == "b" and len(cases) > 2:
        raise TypeError(
            f"lax.select_n: a bool array chooses between 2 cases, got {len(cases)};"
            " pass which as int32"
        )
    if aval.dtype not in (BOOL, np.dtype(np.int32)):
        raise TypeError(
            f"lax.select_n: which must be bool or int32, got {aval.long_name()}"
        )
    if len(cases) == 1:
        return cases[0]

    def choose(low: int, high: int) -> Any:
        if high - low == 1:
            return cases[low]
        middle = (low + high) // 2
        return _SELECT(lt(which, middle), choose(middle, high), choose(low, middle))

    return choose(0, len(cases))


_REPLACE = Replace()


def replace(which: Operand, old: Operand, new: Operand) -> Any:
    """`old` with the elements of `new` where `which` is true."""
    which = check_operand(which, "select_n", 0)
    return _REPLACE(which, *operands("select_n", (old, new)))


def select(pred: Operand, on_true: Operand, on_false: Operand) -> Any:
    """`pred` ? `on_true` : `on_false`, elementwise.

    `pred` is bool; it and the cases have one shape, or are scalars.

    >>> from tetrad import lax
    >>> lax.select(True, 1.0, 2.0)
    Array(1., dtype=float32, weak_type=True)
    """
    return select_n(pred, on_false, on_true)


select_n.__doc__ = SelectN.__doc__


# ------------------------------------------------------------------------------------ bits


class And(Binary):
    """The bitwise and of integers; the logical one of bools.

    Raises TypeError for floats, and different dtypes or shapes.
    Source: https://openxla.org/stablehlo/spec#and

    >>> from tetrad import lax
    >>> lax.bitwise_and(12, 10)
    Array(8, dtype=int32, weak_type=True)
    """

    accepts = "uib"
    commutes = True
    cheap = True
    promote = "bitwise_and"
    public = "bitwise_and"

    def simplify(self, x: Any, y: Any) -> Any:
        return x if x is y else None

    def scalar(self, block: Any, x: Any, y: Any) -> Any:
        return block.and_(x, y)

    hlo = "stablehlo.and"


class Or(Binary):
    """The bitwise or of integers; the logical one of bools.

    Raises TypeError for floats, and different dtypes or shapes.
    Source: https://openxla.org/stablehlo/spec#or

    >>> from tetrad import lax
    >>> lax.bitwise_or(12, 10)
    Array(14, dtype=int32, weak_type=True)
    """

    accepts = "uib"
    commutes = True
    cheap = True
    promote = "bitwise_or"
    public = "bitwise_or"

    def simplify(self, x: Any, y: Any) -> Any:
        return x if x is y else None

    def scalar(self, block: Any, x: Any, y: Any) -> Any:
        return block.or_(x, y)

    hlo = "stablehlo.or"


class Xor(Binary):
    """The bitwise exclusive or of integers; of bools, whether they differ.

    Raises TypeError for floats, and different dtypes or shapes.
    Source: https://openxla.org/stablehlo/spec#xor

    >>> from tetrad import lax
    >>> lax.bitwise_xor(12, 10)
    Array(6, dtype=int32, weak_type=True)
    """

    accepts = "uib"
    commutes = True
    cheap = True
    promote = "bitwise_xor"
    public = "bitwise_xor"

    def scalar(self, block: Any, x: Any, y: Any) -> Any:
        return block.xor(x, y)

    hlo = "stablehlo.xor"


class Not(Unary):
    """Every bit of an integer inverted; the negation of a bool.

    Raises TypeError for floats. Source: https://openxla.org/stablehlo/spec#not

    >>> from tetrad import lax
    >>> lax.bitwise_not(0)
    Array(-1, dtype=int32, weak_type=True)
    """

    accepts = "uib"
    cheap = True

    def scalar(self, block: Any, x: Any) -> Any:
        return block.not_(x)

    hlo = "stablehlo.not"


class ShiftLeft(Binary):
    """x · 2^y in the bits of x; 0 where y is negative or not below their number.

    Raises TypeError for floats and bools, and different dtypes or shapes.
    Source: https://openxla.org/stablehlo/spec#shift_left

    >>> from tetrad import lax
    >>> lax.shift_left(3, 2)
    Array(12, dtype=int32, weak_type=True)
    """

    accepts = "ui"
    promote = "left_shift"

    def scalar(self, block: Any, x: Any, y: Any) -> Any:
        return block.shift_left(x, y)

    hlo = "stablehlo.shift_left"


class ShiftRightLogical(Binary):
    """The bits of x moved down by y, with zeros coming in from above.

    0 where y is negative or not below the number of bits. Raises TypeError for floats
    and bools, and different dtypes or shapes.
    Source: https://openxla.org/stablehlo/spec#shift_right_logical

    >>> from tetrad import lax
    >>> lax.shift_right_logical(-1, 31)
    Array(1, dtype=int32, weak_type=True)
    """

    accepts = "ui"

    def scalar(self, block: Any, x: Any, y: Any) -> Any:
        return block.shift_right_logical(x, y)

    hlo = "stablehlo.shift_right_logical"


class ShiftRightArithmetic(Binary):
    """⌊x / 2^y⌋: the bits of x moved down by y, with copies of the sign coming in.

    As if y were the number of bits - 1 where it is negative or not below it. Raises
    TypeError for floats and bools, and different dtypes or shapes.
    Source: https://openxla.org/stablehlo/spec#shift_right_arithmetic

    >>> from tetrad import lax
    >>> lax.shift_right_arithmetic(-8, 1)
    Array(-4, dtype=int32, weak_type=True)
    """

    accepts = "ui"
    promote = "right_shift"

    def scalar(self, block: Any, x: Any, y: Any) -> Any:
        return block.shift_right_arithmetic(x, y)

    hlo = "stablehlo.shift_right_arithmetic"


class PopulationCount(Unary):
    """How many bits of x are 1.

    Raises TypeError for floats and bools. Source: https://openxla.org/stablehlo/spec#popcnt

    >>> from tetrad import lax
    >>> lax.population_count(7)
    Array(3, dtype=int32, weak_type=True)
    """

    accepts = "ui"

    def scalar(self, block: Any, x: Any) -> Any:
        return block.population_count(x)

    hlo = "stablehlo.popcnt"


class Clz(Unary):
    """How many bits of x stand before its highest 1; all of them if x is 0.

    Raises TypeError for floats and bools.
    Source: https://openxla.org/stablehlo/spec#count_leading_zeros

    >>> from tetrad import lax
    >>> lax.clz(1)
    Array(31, dtype=int32, weak_type=True)
    """

    accepts = "ui"

    def scalar(self, block: Any, x: Any) -> Any:
        return block.clz(x)

    hlo = "stablehlo.count_leading_zeros"


bitwise_and = binary(And, "bitwise_and")
bitwise_or = binary(Or, "bitwise_or")
bitwise_xor = binary(Xor, "bitwise_xor")
bitwise_not = unary(Not, "bitwise_not")
shift_left = binary(ShiftLeft)
shift_right_logical = binary(ShiftRightLogical)
shift_right_arithmetic = binary(ShiftRightArithmetic)
population_count = unary(PopulationCount)
clz = unary(Clz)
