"""Axes and shapes as users give them: checked, and counted from 0.

The messages name the function and argument that the user wrote.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tetrad._src.core.bind import Tracer, Value
from tetrad._src.util import errors, frames

Shape = tuple[int, ...]


def static_int(x: Any, name: str, argument: str) -> int:
    """`x` as a Python int; it has to be known while the program is built."""
    if isinstance(x, Tracer):
        raise errors.ConcretizationTypeError(
            f"{name}: {argument} must be known when the program is built, got a traced"
            f" {x.aval.long_name()}. Shapes and axes cannot depend on values: take it from"
            f" x.shape, or {static_advice(x)}"
        )
    if isinstance(x, (bool, np.bool_)):
        raise TypeError(f"{name}: {argument} must be an integer, got {x!r}")
    try:
        return operator.index(x)
    except TypeError:
        raise TypeError(
            f"{name}: {argument} must be an integer, got {x!r}{_hint(x, name, argument)}"
        ) from None


_ELEMENTWISE = {"jnp.max": "jnp.maximum", "jnp.min": "jnp.minimum"}


def _hint(x: Any, name: str, argument: str) -> str:
    """What was probably meant by an argument that is no integer."""
    if argument == "axis" and name in _ELEMENTWISE:
        return f"; for two values, element by element, write {_ELEMENTWISE[name]}(a, b)"
    if isinstance(x, float):
        return "; // divides integers without rest, int() rounds towards zero"
    return ""


def static_advice(x: Any) -> str:
    """How to make the traced `x` known, for messages: it may be an argument by name."""
    named = frames.argument_named(x)
    if named is None:
        return (
            "make the argument that it comes from static: jax.jit(f, static_argnames=…)"
        )
    name, function = named
    function = function if function.isidentifier() else "f"
    return f'make `{name}` static: jax.jit({function}, static_argnames="{name}")'


def listed(x: Any, name: str, argument: str) -> list[Any]:
    """The elements of a sequence that a function takes as one argument."""
    try:
        return list(x)
    except TypeError:
        shown = repr(x) if len(repr(x)) <= 40 else "…"
        raise TypeError(
            f"{name}: {argument} must be a list or a tuple, got {shown} of type"
            f" {type(x).__name__}"
        ) from None


def shape_argument(shape: Any, name: str) -> Shape:
    """A shape: an int, or a sequence of ints, none negative."""
    vector = isinstance(shape, (Value, np.ndarray)) and shape.ndim == 1
    if vector or isinstance(shape, (list, tuple)):
        extents = tuple([_extent(n, name, "every extent of shape") for n in shape])
    elif isinstance(shape, str) or not _int_like(shape):
        raise TypeError(
            f"{name}: Shapes must be 1D sequences of concrete values of integer type, got"
            f" {shape!r}"
            f"{_hint(shape, name, 'shape')}"
        )
    else:
        extents = (_extent(shape, name, "shape"),)
    for extent in extents:
        if extent < 0:
            raise errors.ShapeError(
                f"{name}: extents must not be negative, got shape {extents}"
            )
    return extents


def _extent(x: Any, name: str, argument: str) -> int:
    if isinstance(x, Tracer):
        raise errors.ConcretizationTypeError(
            f"{name}: Shapes must be 1D sequences of concrete values of integer type:"
            f" {argument} must be known when the program is built, got a traced"
            f" {x.aval.long_name()}. Shapes cannot depend on values: take it from x.shape,"
            f" or {static_advice(x)}"
        )
    return static_int(x, name, argument)


def _int_like(x: Any) -> bool:
    return hasattr(x, "__index__")


def axis_argument(axis: Any, ndim: int, name: str, argument: str = "axis") -> int:
    """One axis of an array of rank `ndim`, counted from 0."""
    number = static_int(axis, name, argument)
    if not -ndim <= number < ndim:
        raise ValueError(
            f"{name}: {argument}={number} is out of range for an array with"
            f" {_axes(ndim)}"
        )
    return number % ndim


def _axes(ndim: int) -> str:
    if ndim == 0:
        return "no axes (a scalar)"
    if ndim == 1:
        return "1 axis (0 or -1)"
    return f"{ndim} axes ({-ndim} to {ndim - 1})"


def axes_argument(axis: Any, ndim: int, name: str, argument: str = "axis") -> Shape:
    """Axes given as None (all), an int or a sequence of ints; each once, in order."""
    if axis is None:
        return tuple(range(ndim))
    if not isinstance(axis, (list, tuple)):
        return (axis_argument(axis, ndim, name, argument),)
    axes = tuple([axis_argument(a, ndim, name, argument) for a in axis])
    if len(set(axes)) != len(axes):
        raise ValueError(
            f"{name}: repeated axis, duplicate value in {argument!r}: {tuple(axis)}"
        )
    return axes


def others(ndim: int, axes: Sequence[int]) -> Shape:
    """The axes that are not in `axes`."""
    return tuple([i for i in range(ndim) if i not in axes])


def no_out(name: str, out: Any) -> None:
    """Refuses the `out` argument: arrays never change."""
    if out is not None:
        raise NotImplementedError(
            f"{name}: arrays never change, so there is no out argument; write"
            f" out = {name}(...)"
        )
