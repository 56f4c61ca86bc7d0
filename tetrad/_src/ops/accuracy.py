"""How exact elementwise functions must be: `lax.AccuracyMode` and `lax.Tolerance`.

Our functions of one operand are within a few units in the last place whatever is asked
for, so a request is checked, and refused if it asks for more than they give.
"""

from __future__ import annotations

import dataclasses
import enum
from typing import Any

EXACT = 4  # units in the last place that every function with `accuracy` stays within


class AccuracyMode(enum.Enum):
    """How exact a function should be: as usual, or as exact as possible.

    >>> from tetrad import lax
    >>> lax.exp(0.0, accuracy=lax.AccuracyMode.HIGHEST)
    Array(1., dtype=float32, weak_type=True)
    """

    DEFAULT = enum.auto()
    HIGHEST = enum.auto()


@dataclasses.dataclass(frozen=True)
class Tolerance:
    """The error that a function may have: absolute, and relative or in last places.

    Args:
      atol: the absolute error.
      rtol: the error relative to the result.
      ulps: the error in units in the last place.

    ValueError if one is negative, or both `rtol` and `ulps` are given.

    >>> from tetrad import lax
    >>> lax.sin(0.0, accuracy=lax.Tolerance(atol=0.0, rtol=1e-5))
    Array(0., dtype=float32, weak_type=True)
    """

    atol: float = 0.0
    rtol: float = 0.0
    ulps: int = 0

    def __post_init__(self) -> None:
        if min(self.atol, self.rtol, self.ulps) < 0:
            raise ValueError(f"Tolerances must be non-negative, got {self}")
        if self.rtol and self.ulps:
            raise ValueError(
                f"Tolerance: give rtol or ulps besides atol, not both, got {self}"
            )


def check_accuracy(accuracy: Any, name: str) -> None:
    """An error for what is no accuracy, or more than there is."""
    if accuracy is None or isinstance(accuracy, AccuracyMode):
        return
    if not isinstance(accuracy, Tolerance):
        raise TypeError(
            f"lax.{name}: accuracy must be a lax.Tolerance, a lax.AccuracyMode or None,"
            f" got {accuracy!r}"
        )
    if 0 < accuracy.ulps < EXACT and not accuracy.atol:
        raise NotImplementedError(
            f"lax.{name}: accuracy={accuracy}, but results are within {EXACT} units in the"
            " last place. Compute in a wider dtype and round, as in"
            f" lax.{name}(x.astype('float64')).astype(x.dtype)"
        )
