"""Convolutions in one layout, as products of patches of images.

What comes in: lhs[n, p…, c] and rhs[k…, c in group, o], and how the kernel slides. What goes
out: the result [n, q…, o], in terms of an operation that a kernel made by hand computes
(`Patches`), in one of three forms: that of a convolution, that of its derivative by the
kernel, and that of its derivative by the image. What fits none is a product over windows.

Read `Problem`, `convolved`, then what it calls.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import aval_of
from tetrad._src.core.op import Kind, Op
from tetrad._src.ops.arithmetic import mul
from tetrad._src.ops.contract import dot_general
from tetrad._src.ops.shape import moveaxis, reshape, rev, transpose
from tetrad._src.ops.slices import pad
from tetrad._src.ops.views import ReduceSum, broadcast_in_dim, squeeze
from tetrad._src.ops.windows import Sliding, Windows

Shape = tuple[int, ...]


def split_to(x: Any, axis: int, count: int, target: int) -> Any:
    """Moves `count` groups from the front of an axis to the front of another one."""
    shape = list(aval_of(x).shape)
    parted = [*shape[:axis], count, shape[axis] // count, *shape[axis + 1 :]]
    x = reshape(x, parted)
    # The groups stand at `axis`; they go in front of `target`.
    place = target if target < axis else target + 1
    x = moveaxis(x, axis, place - 1 if place > axis else place)
    shape[axis] //= count
    shape[target] *= count
    return reshape(x, shape)


BLAS_TYPES = ("float32", "float64")


class Problem(NamedTuple):
    """A convolution in one layout: lhs[n, p…, c], rhs[k…, c in group, o], out[n, q…, o]."""

    how: Sliding  # along the spatial axes
    groups: int


def _cut(lhs: Any, how: Sliding) -> tuple[Any, Sliding]:
    """Cuts off what negative padding takes away, unless lhs is spread as well."""
    if all(min(pair) >= 0 for pair in how.padding):
        return lhs, how
    if any(d > 1 for d in how.base_dilation):
        config = [(0, 0, 0), *how.config(), (0, 0, 0)]
        lhs = pad(lhs, np.zeros((), aval_of(lhs).dtype), config)
        none = ((0, 0),) * len(how.padding)
        ones = (1,) * len(how.padding)
        return lhs, how._replace(padding=none, base_dilation=ones)
    negative = [(min(low, 0), min(high, 0), 0) for low, high in how.padding]
    config = [(0, 0, 0), *negative, (0, 0, 0)]
    lhs = pad(lhs, np.zeros((), aval_of(lhs).dtype), config)
    rest = tuple([(max(low, 0), max(high, 0)) for low, high in how.padding])
    return lhs, how._replace(padding=rest)


def convolved(lhs: Any, rhs: Any, problem: Problem, empty: bool) -> Any:
    """The convolution of lhs[n, p…, c] with rhs[k…, c in group, o]."""
    groups = problem.groups
    lhs, how = _cut(lhs, problem.how)
    problem = Problem(how, groups)
    aval = aval_of(lhs)
    spatial = len(how.window_dimensions)
    ones = (1,) * spatial
    plain = Sliding(ones, ones, ((0, 0),) * spatial, ones, how.window_dilation)
    if how == plain and groups == 1:
        weights = reshape(rhs, aval_of(rhs).shape[-2:])
        return dot_general(lhs, weights, (((aval.ndim - 1,), (0,)), ((), ())))
    narrow = aval_of(rhs).shape[-2] == 1 and groups > 1
    if aval.dtype.name not in BLAS_TYPES or spatial > 3 or narrow or empty:
        return _over_windows(lhs, rhs, problem)
    if any(d > 1 for d in how.base_dilation):
        if how.window_strides == ones:
            return _spread(lhs, rhs, problem)
        config = [(0, 0, 0), *[(0, 0, d - 1) for d in how.base_dilation], (0, 0, 0)]
        lhs = pad(lhs, np.zeros((), aval.dtype), config)
        how = how._replace(base_dilation=ones)
    places = how.out_shape(aval_of(lhs).shape[1:-1])
    if math.prod(how.window_dimensions) > 2 * math.prod(places):
        return _as_weights(lhs, rhs, Problem(how, groups), places)
    return Patches("slide", how, groups, places)(lhs, rhs)


def _spread(lhs: Any, rhs: Any, problem: Problem) -> Any:
    """Elements of lhs far apart: each adds a patch to the result."""
    how, groups = problem
    shape = aval_of(rhs).shape
    spatial = tuple(range(len(shape) - 2))
    places = how.out_shape(aval_of(lhs).shape[1:-1])
    first = tuple([r - 1 - low for r, (low, _) in zip(how.reach(), how.padding)])
    moved = Sliding(
        how.window_dimensions,
        how.base_dilation,
        tuple([(n, 0) for n in first]),
        (1,) * len(spatial),
        how.window_dilation,
    )
    # [k…, i, (g, o)] becomes [g, i, k…, o].
    *kernel, taken, made = shape
    weights = reshape(rev(rhs, spatial), (*kernel, taken, groups, made // groups))
    n = len(kernel)
    weights = transpose(weights, (n + 1, n, *spatial, n + 2))
    return Patches("spread", moved, groups, places)(lhs, weights)


def _as_weights(lhs: Any, rhs: Any, problem: Problem, places: Shape) -> Any:
    """A kernel longer than the result, as the derivative by a kernel is.

    The axes change places: what lhs calls its features is the batch of an image, over
    which the result slides as the kernel of a convolution whose result would be rhs.
    """
    how, groups = problem
    *_, features = shape = aval_of(lhs).shape
    n = len(shape) - 2
    image = reshape(lhs, (*shape[:-1], groups, features // groups))
    image = transpose(image, (n + 2, *range(1, n + 1), n + 1, 0))
    image = reshape(image, (features // groups, *shape[1:-1], groups * shape[0]))
    cotangent = moveaxis(rhs, n, 0)
    moved = Sliding(
        places, how.window_dilation, how.padding, (1,) * n, how.window_strides
    )
    out = Patches("weights", moved, groups, how.window_dimensions)(image, cotangent)
    return moveaxis(out, n, 0)


def _over_windows(lhs: Any, rhs: Any, problem: Problem) -> Any:
    """A product of the windows of lhs, seen as an array, with rhs."""
    how, groups = problem
    config = [(0, 0, 0), *how.config(), (0, 0, 0)]
    around = pad(lhs, np.zeros((), aval_of(lhs).dtype), config)
    batch, *extents, features = aval_of(around).shape
    n = len(extents)
    parted = reshape(around, (batch, *extents, groups, features // groups))
    axes = tuple(range(1, n + 1))
    op = Windows(
        axes,
        (1, *how.window_dimensions, 1, 1),
        (1, *how.window_strides, 1, 1),
        (1, *how.window_dilation, 1, 1),
    )
    view = op(parted)  # [batch, q…, g, i, k…]
    *kernel, taken, made = aval_of(rhs).shape
    weights = reshape(rhs, (*kernel, taken, groups, made // groups))
    places = aval_of(view).shape[1 : n + 1]
    if taken == 1 and groups > 1:
        shape = (batch, *places, groups, made // groups, *kernel)
        own = squeeze(view, (n + 2,))
        wide = broadcast_in_dim(own, shape, (*range(n + 2), *range(n + 3, 2 * n + 3)))
        turned = transpose(squeeze(weights, (n,)), (n, n + 1, *range(n)))
        spread = broadcast_in_dim(turned, shape, tuple(range(n + 1, 2 * n + 3)))
        out = ReduceSum(tuple(range(n + 3, 2 * n + 3)))(mul(wide, spread))
        return reshape(out, (batch, *places, made))
    summed = ((n + 2, *range(n + 3, 2 * n + 3)), (n, *range(n)))
    out = dot_general(view, weights, (summed, ((n + 1,), (n + 1,))))
    return reshape(moveaxis(out, 0, n + 1), (batch, *places, made))


class Patches(Op):
    """Products of the patches of images, one for each place of a sliding kernel.

    An image x[n, p…, (g, c)] has at each place q… a patch of its elements at
    q·stride + k·dilation − low, for all k…. With patches as rows of a matrix P:

    slide    image, weights[k…, c, (g, o)]  → P·W at [n, q…, (g, o)]
    weights  image, y[n, q…, (g, o)]        → Pᵀ·y at [k…, c, (g, o)]
    spread   y[n, q…, (g, i)], weights[g, i, k…, c] → the image that y·W adds up to where
             patches overlap

    `extents` are those of the places; for "spread", those of the image.
    """

    form: str
    how: Sliding
    groups: int
    extents: Shape

    kind = Kind.OPAQUE
    accepts = "f"

    def type(self, first: Aval, second: Aval) -> Aval:
        if self.form == "weights":
            kernel = self.how.window_dimensions
            channels = first.shape[-1] // self.groups
            return Aval((*kernel, channels, second.shape[-1]), first.dtype)
        made = second.shape[-1] * (self.groups if self.form == "spread" else 1)
        return Aval((first.shape[0], *self.extents, made), first.dtype)

    def kernel(self, *operands: Aval) -> tuple[str, dict[str, Any]]:
        return "patches", self.params
