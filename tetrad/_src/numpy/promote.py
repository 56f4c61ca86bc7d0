"""Operands of one operation are brought together: one dtype, shapes that fit.

Operands as `convert.operand` gives them come in; the same operands in one dtype go out,
and with one shape, except that scalars stay scalars. What has to be done is found once
for each combination of avals (`join`).

Scalars of the host stay scalars of the host: they are arguments of the program, not
part of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import Value, aval_of
from tetrad._src.core.stage import where
from tetrad._src.numpy import lax
from tetrad._src.numpy.convert import describe, number_as, operands
from tetrad._src.util import dtypes, errors, frames, source
from tetrad._src.util.config import config
from tetrad._src.util.memo import memo

Shape = tuple[int, ...]


class Join(NamedTuple):
    """What operands have in common."""

    dtype: Any
    weak: bool
    shape: Shape


def join(avals: tuple[Aval, ...]) -> Join:
    """The common dtype and shape of `avals`; raises ValueError if shapes differ."""
    return _join(avals, config.x64, config.jax_numpy_dtype_promotion)


@memo(limit=16384)
def _join(avals: tuple[Aval, ...], x64: bool, mode: str) -> Join:
    dtype, weak = dtypes.lattice_result(*[(a.dtype, a.weak_type) for a in avals])
    return Join(dtype, weak, broadcast_shapes(*[a.shape for a in avals]))


def broadcast_shapes(*shapes: Any) -> Shape:
    """The shape that arrays of `shapes` broadcast to.

    Shapes are aligned at their last axes; where extents differ, one must be 1.
    ValueError otherwise.

    >>> import tetrad.numpy as jnp
    >>> jnp.broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    result: list[int] = []
    for shape in shapes:
        if isinstance(shape, (int, np.integer)):
            shape = (int(shape),)
        result[:0] = [1] * (len(shape) - len(result))
        for axis in range(-len(shape), 0):
            ours, theirs = result[axis], int(shape[axis])
            if ours == 1:
                result[axis] = theirs
            elif theirs not in (1, ours):
                raise ValueError(
                    "shapes "
                    + " and ".join(str(tuple(s)) for s in shapes)
                    + f" do not broadcast: axis {axis} has extents {ours} and {theirs}"
                )
    return tuple(result)


# --------------------------------------------------------------------------- conversion


def to(x: Any, dtype: Any, weak: bool, name: str) -> Any:
    """The operand `x` in `dtype`."""
    if isinstance(x, Value):
        return lax.convert_element_type(x, dtype, weak)
    return number_as(x, dtype, weak, name)


def broadcast(x: Any, shape: Shape) -> Any:
    """`x` stretched to `shape`, aligned at the last axes."""
    old = aval_of(x).shape
    if old == shape:
        return x
    return lax.broadcast_in_dim(
        x, shape, tuple(range(len(shape) - len(old), len(shape)))
    )


def stretch(x: Any, shape: Shape) -> Any:
    """`x` stretched to `shape`, unless it is a scalar: operations take those as such."""
    if not isinstance(x, Value):
        return x
    old = x.aval.shape
    return x if old == shape or not old else broadcast(x, shape)


def promote(name: str, *args: Any) -> list[Any]:
    """`args` in one dtype and one shape (scalars stay scalars)."""
    xs = operands(name, args)
    dtype, weak, shape = joined(name, xs)
    return [stretch(to(x, dtype, weak, name), shape) for x in xs]


def promote_inexact(name: str, *args: Any) -> list[Any]:
    """As `promote`; integers and bools become floats."""
    xs = operands(name, args)
    dtype, weak, shape = joined(name, xs)
    dtype = inexact(dtype)
    return [stretch(to(x, dtype, weak, name), shape) for x in xs]


def promote_dtypes(name: str, *args: Any) -> list[Any]:
    """`args` in one dtype, each in its own shape."""
    return same_dtype(name, operands(name, args))


def promote_floats(name: str, *args: Any) -> list[Any]:
    """As `promote_dtypes`; integers and bools become floats."""
    return same_dtype(name, operands(name, args), floating=True)


def same_dtype(name: str, xs: Sequence[Any], floating: bool = False) -> list[Any]:
    pairs = [(a.dtype, a.weak_type) for a in map(aval_of, xs)]
    dtype, weak = lattice(name, pairs)
    if floating:
        dtype = inexact(dtype)
    return [to(x, dtype, weak, name) for x in xs]


def lattice(name: str, pairs: Sequence[tuple[Any, bool]]) -> tuple[Any, bool]:
    try:
        return dtypes.lattice_result(*pairs)
    except dtypes.TypePromotionError as error:
        raise dtypes.TypePromotionError(f"{name}: {error}") from None


def inexact(dtype: Any) -> Any:
    """`dtype`, or the default float if it holds no fractions."""
    if dtypes.kind(dtype) in "fc":
        return dtype
    return dtypes.python_scalar_dtype(float, config.x64)


def joined(name: str, xs: Sequence[Any]) -> Join:
    """The join of `xs`; errors are told in the user's words."""
    try:
        found = join(tuple([aval_of(x) for x in xs]))
    except dtypes.TypePromotionError as error:
        raise dtypes.TypePromotionError(f"{call(name)}: {error}") from None
    except ValueError as error:
        raise errors.ShapeError(shapes_message(name, xs, str(error))) from None
    if config.mode == 2:
        check_ranks(name, xs)
    return found


def common_shape(name: str, xs: Sequence[Any]) -> Shape:
    """The shape that `xs` broadcast to."""
    try:
        return broadcast_shapes(*[aval_of(x).shape for x in xs])
    except ValueError as error:
        raise errors.ShapeError(shapes_message(name, xs, str(error))) from None


def common_leading(name: str, xs: Sequence[Any], shapes: Sequence[Shape]) -> Shape:
    """What `shapes` broadcast to, the leading parts of the shapes of `xs`."""
    try:
        return broadcast_shapes(*shapes)
    except ValueError as error:
        listed = " and ".join(describe(x) for x in xs)
        raise errors.ShapeError(f"{call(name)}: {listed}; leading {error}") from None


def check_ranks(name: str, xs: Sequence[Any]) -> None:
    """Warns or raises, as `jax_numpy_rank_promotion` says, where ranks differ."""
    setting = config.jax_numpy_rank_promotion
    if setting == "allow" or len({aval_of(x).ndim for x in xs} - {0}) < 2:
        return
    shapes = ", ".join(str(aval_of(x).shape) for x in xs)
    problem = (
        f"{call(name)}: {named(name, xs)}; the ranks of the shapes {shapes} differ,"
        f" and jax_numpy_rank_promotion is {setting!r}"
    )
    advice = "add the missing axes, as in x[None, :]"
    if setting == "raise":
        raise ValueError(f"{problem}; {advice}")
    frames.warn(f"{problem}; {advice}")


# --------------------------------------------------------------------------- in messages


def call(name: str) -> str:
    """The call being made, in the user's own words if the source can be read."""
    place = where()
    text = frames.expression_at(*place) if place is not None else None
    if text is None or len(text) > 60 or "\n" in text or not _mentions(text, name):
        return name
    return text


def _mentions(text: str, name: str) -> bool:
    """Whether the source `text` shows the call, operator or index `name`."""
    if name.endswith("[i]"):
        return "[" in text
    core = name.split(" ")[1] if name.count(" ") == 2 else name.split(".")[-1]
    return core in text


def operand_names(name: str, count: int) -> list[str]:
    """Names for operands: those the user wrote, or x, y, …"""
    text = call(name)
    found = source.operands(text, count) if text != name else None
    if found is not None and all(len(side) <= 24 for side in found):
        return found
    return ["x", "y", "z", "w"][:count] if count <= 4 else []


def named(name: str, xs: Sequence[Any]) -> str:
    """`x is float32[3,4], y is float32[3]`."""
    names = operand_names(name, len(xs))
    if not names:
        return "got " + ", ".join(describe(x) for x in xs)
    shown = [f"{n} is {describe(x)}" for n, x in zip(names, xs) if not _is_number(n)]
    return ", ".join(shown)


def _is_number(text: str) -> bool:
    return text.lstrip("-")[:1].isdigit() or text in ("True", "False")


def shapes_message(name: str, xs: Sequence[Any], why: str) -> str:
    shapes = [aval_of(x).shape for x in xs]
    hint = ""
    long, short = max(shapes, key=len), min(shapes, key=len)
    if len(xs) == 2 and len(short) == 1 and len(long) == 2 and short[0] == long[0]:
        first = operand_names(name, 2)[shapes.index(short)]
        hint = f"; to go along axis 0 write {first}[:, None]"
    detail = why.split(": ", 1)[-1]
    return f"{call(name)}: {named(name, xs)}; shapes do not broadcast, {detail}{hint}"
