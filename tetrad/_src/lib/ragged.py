"""Products of matrices with groups of rows: `ragged_dot`.

In: an array whose rows (or terms of sums) come in groups that follow each other, and the
sizes of the groups. Out: each group multiplied by a matrix of its own, or a sum for each
group. Which group an element belongs to is a mask, and the products with all groups are
one contraction.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from tetrad._src.core.bind import aval_of
from tetrad._src.core.sharding import PartitionSpec
from tetrad._src.numpy.elementwise import no_sharding
from tetrad._src.ops.axes import ints
from tetrad._src.ops.compare import ge, lt, select
from tetrad._src.ops.contract import dot_general
from tetrad._src.ops.cumulative import cumsum
from tetrad._src.ops.elementwise import bitwise_and, sub
from tetrad._src.ops.families import check_operand
from tetrad._src.ops.index import dynamic_slice_in_dim
from tetrad._src.ops.views import (
    broadcast_in_dim,
    broadcasted_iota,
    moveaxis,
    transpose,
    zeros_like,
)

NAME = "ragged_dot_general"


@dataclasses.dataclass(frozen=True)
class RaggedDotDimensionNumbers:
    """Which axes of a product are what.

    Args:
      dot_dimension_numbers: as for `lax.dot_general`.
      lhs_ragged_dimensions: the axis of lhs whose elements come in groups.
      rhs_group_dimensions: the axis of rhs with one entry a group, if the groups are of an
        axis that is not summed.

    >>> from tetrad import lax
    >>> lax.RaggedDotDimensionNumbers((([1], [1]), ([], [])), [0], [0]).lhs_ragged_dimensions
    (0,)
    """

    dot_dimension_numbers: Any
    lhs_ragged_dimensions: Sequence[int]
    rhs_group_dimensions: Sequence[int]

    def __post_init__(self) -> None:
        def axes(given: Any) -> tuple[int, ...]:
            return ints(given, NAME)

        (lc, rc), (lb, rb) = self.dot_dimension_numbers
        numbers = ((axes(lc), axes(rc)), (axes(lb), axes(rb)))
        object.__setattr__(self, "dot_dimension_numbers", numbers)
        for name in ("lhs_ragged_dimensions", "rhs_group_dimensions"):
            object.__setattr__(self, name, axes(getattr(self, name)))


_BASIC = RaggedDotDimensionNumbers((([1], [1]), ([], [])), [0], [0])


def ragged_dot(
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
    group_offset: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Multiplies groups of rows by a matrix each.

    lhs[m, k], rhs[g, k, n], group_sizes[g] → [m, n]: the first group_sizes[0] rows times
    rhs[0], the next group_sizes[1] rows times rhs[1], and so on; rows that are left are 0.

    Args:
      precision, preferred_element_type: as for `lax.dot_general`.
      group_offset: an array with the number of the first group that `rhs` has; it may have
        fewer than there are sizes then.
      out_sharding: how the result is laid out, over one device.

    >>> import tetrad.numpy as jnp
    >>> from tetrad import lax
    >>> x = jnp.ones((3, 2))
    >>> weights = jnp.array([[[1.0], [1.0]], [[10.0], [10.0]]])
    >>> lax.ragged_dot(x, weights, jnp.array([1, 2])).ravel().tolist()
    [2.0, 20.0, 20.0]
    """
    return ragged_dot_general(
        lhs,
        rhs,
        group_sizes,
        _BASIC,
        precision,
        preferred_element_type,
        group_offset,
        out_sharding,
    )


def ragged_dot_general(
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: Any = None,
    preferred_element_type: Any = None,
    group_offset: Any = None,
    out_sharding: Any = None,
) -> Any:
    """A product, as `lax.dot_general`, in which one axis of `lhs` comes in groups.

    If the axis is not summed, `rhs` has an axis of groups, and each group of `lhs` meets
    its own entry. If it is summed, the result has a leading axis with the sum of each
    group. If it is a batch axis, the groups make no difference.

    Args:
      group_sizes: the sizes, of shape [g], or with the batch axes (and for an axis that is
        not summed, the other such axes before it) in front.
      ragged_dot_dimension_numbers: which axes are what.
      precision, preferred_element_type: as for `lax.dot_general`.
      group_offset: an array with the number of the first group that `rhs` has; it may have
        fewer than there are sizes then.
      out_sharding: how the result is laid out, over one device.

    Raises TypeError if shapes do not fit.

    >>> import tetrad.numpy as jnp
    >>> from tetrad import lax
    >>> sums = lax.RaggedDotDimensionNumbers((([0], [0]), ([], [])), [0], [])
    >>> x = jnp.array([1.0, 2.0, 3.0])
    >>> lax.ragged_dot_general(x, x, jnp.array([1, 2]), sums).tolist()
    [1.0, 13.0]
    """
    if not isinstance(out_sharding, PartitionSpec):
        no_sharding(f"lax.{NAME}", out_sharding)
    if not isinstance(ragged_dot_dimension_numbers, RaggedDotDimensionNumbers):
        raise TypeError(
            f"lax.{NAME}: dimension numbers must be a lax.RaggedDotDimensionNumbers, got"
            f" {ragged_dot_dimension_numbers!r}"
        )
    lhs, rhs = check_operand(lhs, NAME), check_operand(rhs, NAME, 1)
    group_sizes = check_operand(group_sizes, NAME, 2)
    numbers = ragged_dot_dimension_numbers
    (lc, rc), (lb, rb) = numbers.dot_dimension_numbers
    ragged = _checked(lhs, rhs, group_sizes, numbers, group_offset is not None)
    options = (precision, preferred_element_type)
    if ragged in lb:
        return dot_general(lhs, rhs, numbers.dot_dimension_numbers, *options)
    if ragged in lc:
        groups = aval_of(group_sizes).shape[-1]
    else:
        (group,) = numbers.rhs_group_dimensions
        groups = aval_of(rhs).shape[group]
    prefix = _prefix(lhs, numbers, ragged)
    inside = _inside(lhs, group_sizes, prefix, ragged, group_offset, groups)
    spread = broadcast_in_dim(
        lhs, (groups, *aval_of(lhs).shape), range(1, aval_of(lhs).ndim + 1)
    )
    spread = select(inside, spread, zeros_like(spread))
    if ragged in lc:  # the groups become an axis of the result
        moved = (
            ([axis + 1 for axis in lc], list(rc)),
            ([axis + 1 for axis in lb], list(rb)),
        )
        out = dot_general(spread, rhs, moved, *options)
        return moveaxis(out, len(lb), 0)
    contracted = ([0, *[axis + 1 for axis in lc]], [group, *rc])
    batch = ([axis + 1 for axis in lb], list(rb))
    return dot_general(spread, rhs, (contracted, batch), *options)


def _prefix(lhs: Any, numbers: RaggedDotDimensionNumbers, ragged: int) -> list[int]:
    """The axes of lhs, in order, by which group sizes may differ."""
    (lc, _), (lb, _) = numbers.dot_dimension_numbers
    if ragged in lb:
        return list(lb[: lb.index(ragged)])
    if ragged in lc:
        return [*lb, *lc[: lc.index(ragged)]]
    free = [a for a in range(aval_of(lhs).ndim) if a not in lb and a not in lc]
    return [*lb, *free[: free.index(ragged)]]


def _checked(
    lhs: Any,
    rhs: Any,
    sizes: Any,
    numbers: RaggedDotDimensionNumbers,
    partial: bool,
) -> int:
    """The axis of groups; TypeError if something does not fit.

    `partial`: `rhs` may have some of the groups alone.
    """
    (lc, rc), (lb, rb) = numbers.dot_dimension_numbers
    if len(numbers.lhs_ragged_dimensions) != 1:
        raise TypeError(
            f"{NAME} expects exactly one lhs ragged dimension, got"
            f" {numbers.lhs_ragged_dimensions}"
        )
    (ragged,) = numbers.lhs_ragged_dimensions
    if not 0 <= ragged < aval_of(lhs).ndim:
        raise TypeError(
            f"{NAME} requires lhs ragged dimension numbers to be nonnegative and less than"
            f" the number of axes of the lhs, {aval_of(lhs).ndim}, got {ragged}"
        )
    given = aval_of(sizes).shape
    if not given:
        raise TypeError(f"{NAME}: group_sizes must be an array, got a number")
    prefix = _prefix(lhs, numbers, ragged)
    expected = (*[aval_of(lhs).shape[axis] for axis in prefix], given[-1])
    if len(given) > 1 and given != expected:
        shown = expected if prefix else (given[-1],)
        raise TypeError(
            f"{NAME}: expected group_sizes to have shape {shown}, got {given}"
        )
    free = ragged not in lc and ragged not in lb
    groups = numbers.rhs_group_dimensions
    if any([axis in rc or axis in rb for axis in groups]):
        raise TypeError(
            f"{NAME} requires rhs group dimension numbers to be distinct from contracting"
            f" and batch dimensions, got {groups}"
        )
    if not free and groups:
        raise TypeError(
            f"{NAME} requires zero group dimensions in the rhs when lhs ragged dimension is"
            f" contracting or batch, got {groups}"
        )
    if free and len(groups) != 1:
        raise TypeError(
            f"{NAME} requires exactly one rhs group dimension when lhs ragged dimension is"
            f" noncontracting, got {groups}"
        )
    if not free and partial:
        raise TypeError(
            f"{NAME}: group_offset is for an axis of lhs that is not summed, and no batch"
            " axis; leave it out"
        )
    count = aval_of(rhs).shape[groups[0]] if free else given[-1]
    if count > given[-1] or count < given[-1] and not partial:
        limit = "at most " if partial else ""
        raise TypeError(
            f"{NAME}: expected rhs group dimension size to be {limit}{given[-1]}, got"
            f" {count}"
        )
    return ragged


def _inside(
    lhs: Any, sizes: Any, prefix: list[int], ragged: int, offset: Any, groups: int
) -> Any:
    """Whether an element of lhs is in a group: [groups, *lhs.shape]."""
    aval = aval_of(sizes)
    ends = cumsum(sizes, aval.ndim - 1)
    starts = sub(ends, sizes)
    if offset is not None:
        first = offset if not aval_of(offset).ndim else offset[0]
        starts, ends = (
            dynamic_slice_in_dim(x, first, groups, aval.ndim - 1)
            for x in (starts, ends)
        )
    shape = (groups, *aval_of(lhs).shape)
    axes = [axis + 1 for axis in prefix] if aval.ndim > 1 else []
    order = moveaxis(starts, aval.ndim - 1, 0), moveaxis(ends, aval.ndim - 1, 0)
    # Axes of the sizes in the order in which the result has them.
    places = [0, *axes]
    first, last = (_arranged(x, places, shape) for x in order)
    at = broadcasted_iota(aval.dtype, shape, ragged + 1)
    return bitwise_and(ge(at, first), lt(at, last))


def _arranged(x: Any, places: list[int], shape: tuple[int, ...]) -> Any:
    """`x`, whose axis i is axis places[i] of `shape`, stretched to it."""
    order = sorted(range(len(places)), key=lambda i: places[i])
    return broadcast_in_dim(transpose(x, order), shape, sorted(places))
