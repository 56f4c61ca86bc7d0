"""Checks of shapes and axes that callers give, in the words of the caller.

In: what was passed as a shape, an axis or several; and the public name of the function.
Out: tuples of plain ints, axes counted from 0; TypeError or ValueError otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tetrad._src.core.bind import Value
from tetrad._src.ops.families import Shape


def up(axes: Iterable[int]) -> Shape:
    """`axes` after one more axis was put in front."""
    return tuple([axis + 1 for axis in axes])


def ints(values: Any, name: str) -> Shape:
    """A tuple of ints from what a caller gives as a shape or as axes."""
    try:
        return tuple([value.__index__() for value in values])
    except (AttributeError, TypeError):
        pass
    if any(isinstance(value, Value) for value in _sequence(values)):
        raise TypeError(
            f"lax.{name}: shapes and axes must be Python integers, got an array. They"
            " are part of the program, so they cannot depend on traced values; use"
            " x.shape, or mark the argument static (static_argnums)."
        )
    raise TypeError(
        f"lax.{name}: Shapes must be 1D sequences of concrete values of integer type, and"
        f" axes likewise, got {values!r}"
    )


def _sequence(values: Any) -> Sequence[Any]:
    return values if isinstance(values, (list, tuple)) else [values]


def check_shape(shape: Any, name: str) -> Shape:
    """A tuple of extents, none negative."""
    checked = ints(shape, name)
    if any(extent < 0 for extent in checked):
        raise ValueError(f"lax.{name}: extents must be >= 0, got shape {checked}")
    return checked


def check_axes(axes: Any, ndim: int, name: str) -> Shape:
    """Axes of an array of rank `ndim`, counted from 0; negative ones count back."""
    checked = ints(axes, name)
    for axis in checked:
        if not -ndim <= axis < ndim:
            raise ValueError(
                f"lax.{name}: axis {axis} is out of range for an array of rank {ndim}"
            )
    positive = tuple([axis % ndim for axis in checked])
    if len(set(positive)) != len(positive):
        raise ValueError(f"lax.{name}: duplicate value in 'axes' {checked}")
    return positive


def check_axis(axis: int, ndim: int, name: str) -> int:
    return check_axes((axis,), ndim, name)[0]
