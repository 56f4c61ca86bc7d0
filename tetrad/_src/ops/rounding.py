"""Rounding to integers, and the neighbours of a float."""

from __future__ import annotations

import enum
from typing import Any

from tetrad._src.ops.families import Binary, Operand, Unary, check_operand
from tetrad._src.ops.functions import operands, unary


class Floor(Unary):
    """The largest integer not above x. Raises TypeError for all dtypes but floats.

    Source: C11 7.12.9.2.

    >>> from tetrad import lax
    >>> lax.floor(-1.5)
    Array(-2., dtype=float32, weak_type=True)
    """

    accepts = "f"

    def derivative(self, ans: Any, x: Any) -> tuple[Any, ...]:
        return (None,)

    def scalar(self, block: Any, x: Any) -> Any:
        return block.floor(x)

    hlo = "stablehlo.floor"


class Ceil(Unary):
    """The smallest integer not below x. Raises TypeError for all dtypes but floats.

    Source: C11 7.12.9.1.

    >>> from tetrad import lax
    >>> lax.ceil(-1.5)
    Array(-1., dtype=float32, weak_type=True)
    """

    accepts = "f"

    def derivative(self, ans: Any, x: Any) -> tuple[Any, ...]:
        return (None,)

    def scalar(self, block: Any, x: Any) -> Any:
        return block.ceil(x)

    hlo = "stablehlo.ceil"


class RoundingMethod(enum.IntEnum):
    """What `round` does with numbers halfway between two integers."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


class Round(Unary):
    """The nearest integer; halves go away from zero, or to the even neighbour.

    Raises TypeError for all dtypes but floats. Source: IEEE 754-2019, 5.9.

    >>> from tetrad import lax
    >>> lax.round(2.5)
    Array(3., dtype=float32, weak_type=True)
    """

    rounding_method: RoundingMethod = RoundingMethod.AWAY_FROM_ZERO

    accepts = "f"

    def derivative(self, ans: Any, x: Any) -> tuple[Any, ...]:
        return (None,)

    def scalar(self, block: Any, x: Any) -> Any:
        if self.rounding_method == RoundingMethod.TO_NEAREST_EVEN:
            return block.round(x)
        return block.round_away(x)

    def hlo(self, emit: Any, x: Any) -> Any:
        if self.rounding_method == RoundingMethod.TO_NEAREST_EVEN:
            return emit("stablehlo.round_nearest_even", x)
        return emit("stablehlo.round_nearest_afz", x)


floor = unary(Floor)
ceil = unary(Ceil)


def round(
    x: Operand, rounding_method: RoundingMethod = RoundingMethod.AWAY_FROM_ZERO
) -> Any:
    return Round(RoundingMethod(rounding_method))(check_operand(x, "round"))


round.__doc__ = Round.__doc__


class Nextafter(Binary):
    """The next float after `x1` in the direction of `x2`, elementwise.

    Raises TypeError for all dtypes but floats, and different dtypes or shapes. Source:
    C11 7.12.11.3.

    >>> from tetrad import lax
    >>> lax.nextafter(0.0, 1.0) > 0
    Array(True, dtype=bool, weak_type=True)
    """

    accepts = "f"
    promote = "nextafter"

    def scalar(self, block: Any, x1: Any, x2: Any) -> Any:
        return block.nextafter(x1, x2)

    hlo = "chlo.next_after"


def nextafter(x1: Operand, x2: Operand) -> Any:
    return Nextafter()(*operands("nextafter", (x1, x2)))


nextafter.__doc__ = Nextafter.__doc__
