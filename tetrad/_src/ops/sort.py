"""Sorting arrays along one axis, and the largest elements along it.

What comes in: one array, or several of one shape that are moved together. What goes out:
the arrays with the lanes along one axis in ascending order of the first `num_keys` of
them. The order is total: NaN comes last, −0 equals 0, complex numbers compare by real,
then by imaginary part. Tangents are carried along as one more operand's permutation.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import aval_of
from tetrad._src.core.op import Axis, Kind, Op
from tetrad._src.ops.axes import check_axis
from tetrad._src.ops.families import Operand, check_operand
from tetrad._src.ops.gather import take_along
from tetrad._src.ops.shape import broadcasted_iota, rev, slice_in_dim

I32 = np.dtype(np.int32)


class Sort(Op):
    """Sorts along `dimension` by the first `num_keys` operands; the others follow.

    The order is lexicographic in the keys, ascending; NaN comes last and −0 equals 0.
    With `is_stable`, equal lanes keep their order. TypeError if shapes differ,
    ValueError if the axis or so many keys do not exist.
    Source: https://openxla.org/stablehlo/spec#sort

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> lax.sort((jnp.array([3, 1, 2]), jnp.array([30, 10, 20])))
    (Array([1, 2, 3], dtype=int32), Array([10, 20, 30], dtype=int32))
    """

    dimension: int
    is_stable: bool = True
    num_keys: int = 1

    kind = Kind.OPAQUE
    multiple = True
    sets_weak = True

    def type(self, *operands: Aval) -> tuple[Aval, ...]:
        shape = operands[0].shape
        if any(aval.shape != shape for aval in operands):
            raise TypeError(
                "lax.sort moves arrays of one shape together, got"
                f" {', '.join(aval.long_name() for aval in operands)}"
            )
        if not 0 <= self.dimension < len(shape):
            raise ValueError(
                f"lax.sort: dimension {self.dimension} does not exist in"
                f" {operands[0].long_name()}"
            )
        if not 1 <= self.num_keys <= len(operands):
            raise ValueError(
                f"lax.sort: num_keys must be at least 1 and at most the"
                f" {len(operands)} operands, got {self.num_keys}"
            )
        for aval in operands[: self.num_keys]:
            if aval.kind == "K":
                raise TypeError(
                    "random keys have no order; sort by other data and pass the keys as"
                    " a later operand"
                )
        return operands

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        if all(tangent is None for tangent in tangents):
            return self(*primals), [None] * len(primals)
        shape = aval_of(primals[0]).shape
        places = broadcasted_iota(I32, shape, self.dimension)
        *outs, order = self(*primals, places)
        moved = [
            None if tangent is None else take_along(tangent, order, self.dimension)
            for tangent in tangents
        ]
        return outs, moved

    def batch(self, axis: Axis, *operands: Any) -> Any:
        return Sort(self.dimension + 1, self.is_stable, self.num_keys)(*operands)

    def kernel(self, *operands: Aval) -> tuple[str, dict[str, Any]]:
        return "sort", self.params

    def hlo(self, emit: Any, *operands: Any) -> Any:
        pairs = [Aval((), x.aval.dtype) for x in operands for _ in range(2)]

        def comes_before(block: Any, *values: Any) -> Any:
            keys = [values[2 * i : 2 * i + 2] for i in range(self.num_keys)]
            return _comes_before(
                block, [p for key in keys for p in _parts(block, *key)]
            )

        return emit(
            "stablehlo.sort",
            *operands,
            regions=[(pairs, comes_before)],
            dimension=self.dimension,
            is_stable=self.is_stable,
        )


def _parts(block: Any, x: Any, y: Any) -> list[tuple[Any, Any]]:
    """Pairs of real numbers to compare in turn."""
    if x.type[0] != "c":
        return [(x, y)]
    return [(block.real(x), block.real(y)), (block.imag(x), block.imag(y))]


def _comes_before(block: Any, pairs: Sequence[tuple[Any, Any]]) -> Any:
    """Whether the first of each pair is less in lexicographic order; NaN is last."""
    before = None
    for x, y in reversed(pairs):
        less = block.and_(block.not_(x), y) if x.type == "i1" else block.lt(x, y)
        same = block.eq(x, y)
        if x.type.lstrip("b")[0] == "f":
            x_nan, y_nan = block.ne(x, x), block.ne(y, y)
            less = block.or_(less, block.and_(y_nan, block.not_(x_nan)))
            same = block.or_(same, block.and_(x_nan, y_nan))
        before = less if before is None else block.or_(less, block.and_(same, before))
    return before


class TopK(Op):
    """The `k` largest elements along `axis`, in descending order, and where they are.

    NaN counts as the largest; of equal elements the first comes first. The indices are
    int32. ValueError if the axis does not exist or has fewer than k elements.
    Source: https://openxla.org/stablehlo/generated/chlo#chlotop_k-chlotopkop

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> lax.top_k(jnp.array([5, 9, 7]), 2)
    (Array([9, 7], dtype=int32), Array([1, 2], dtype=int32))
    """

    k: int
    axis: int

    name = "top_k"
    multiple = True
    accepts = "fuib"
    sets_weak = True

    def type(self, operand: Aval) -> tuple[Aval, Aval]:
        if not 0 <= self.axis < operand.ndim:
            raise ValueError(
                f"lax.top_k: axis {self.axis} does not exist in {operand.long_name()}"
            )
        if not 0 <= self.k <= operand.shape[self.axis]:
            raise ValueError(
                f"lax.top_k: k must be at least 0 and at most the extent"
                f" {operand.shape[self.axis]} of axis {self.axis} of"
                f" {operand.long_name()}, got {self.k}"
            )
        shape = list(operand.shape)
        shape[self.axis] = self.k
        return operand.update(shape=shape), Aval(shape, I32)

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        values, places = self(*primals)
        tangent = take_along(tangents[0], places, self.axis)
        return [values, places], [tangent, None]

    def batch(self, axis: Axis, operand: Any) -> Any:
        return TopK(self.k, self.axis + 1)(operand)

    def expand(self, operand: Any) -> list[Any]:
        # Read backwards, an ascending stable sort has the last of equal elements last,
        # which read forwards again comes first.
        places = broadcasted_iota(I32, aval_of(operand).shape, self.axis)
        backwards = [rev(x, (self.axis,)) for x in (operand, places)]
        ascending = Sort(self.axis)(*backwards)
        descending = [rev(x, (self.axis,)) for x in ascending]
        return [slice_in_dim(x, 0, self.k, axis=self.axis) for x in descending]

    def kernel(self, operand: Aval) -> tuple[str, dict[str, Any]]:
        return "top_k", self.params


# --------------------------------------------------------------------- public functions


def sort(
    operand: Operand | Sequence[Operand],
    dimension: int = -1,
    is_stable: bool = True,
    num_keys: int = 1,
) -> Any:
    several = isinstance(operand, (list, tuple))
    operands = [
        check_operand(x, "sort", i)
        for i, x in enumerate(operand if several else [operand])
    ]
    if not operands:
        raise TypeError("lax.sort needs at least one array")
    ndim = aval_of(operands[0]).ndim
    axis = check_axis(dimension, ndim, "sort")
    outs = Sort(axis, bool(is_stable), int(num_keys))(*operands)
    return tuple(outs) if several else outs[0]


sort.__doc__ = Sort.__doc__


def sort_key_val(
    keys: Operand, values: Operand, dimension: int = -1, is_stable: bool = True
) -> Any:
    """Sorts `keys` along an axis and moves `values`, of the same shape, with them.

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> lax.sort_key_val(jnp.array([3, 1]), jnp.array([30, 10]))
    (Array([1, 3], dtype=int32), Array([10, 30], dtype=int32))
    """
    return sort((keys, values), dimension, is_stable)


def top_k(operand: Operand, k: int, *, axis: int = -1) -> Any:
    operand = check_operand(operand, "top_k")
    axis = check_axis(axis, aval_of(operand).ndim, "top_k")
    return tuple(TopK(operator.index(k), axis)(operand))


top_k.__doc__ = TopK.__doc__
