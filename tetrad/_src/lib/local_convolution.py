"""Convolutions whose kernel differs from place to place, and the shapes of convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import aval_of
from tetrad._src.core.stage import stage
from tetrad._src.ops.contract import dot_general
from tetrad._src.ops.convolution import (
    conv_dimension_numbers,
    conv_general_dilated,
    conv_general_dilated_patches,
    conv_transpose,
)
from tetrad._src.ops.families import check_operand
from tetrad._src.ops.views import transpose

Shape = tuple[int, ...]


def conv_general_dilated_local(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    filter_shape: Sequence[int],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    precision: Any = None,
) -> Any:
    """A convolution with a kernel of its own at each place of the result.

    out[n, o, p] = Σᵢ patch[n, i, p] · rhs[o, i, p], where patch i at p is what
    `conv_general_dilated_patches` gives: features, then elements of the kernel.

    Args:
      lhs: the array, by default (batch, feature, spatial…).
      rhs: the kernels: out features, patch elements, and the places of the result, in the
        order that `dimension_numbers` says.
      window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers: as for
        `conv_general_dilated`.
      filter_shape: the extents of the kernel.
      precision: as `lax.dot_general` takes it.

    >>> import tetrad.numpy as jnp
    >>> from tetrad import lax
    >>> x = jnp.array([[[1.0, 2.0, 3.0]]])
    >>> kernels = jnp.array([[[1.0, 0.0], [0.0, 1.0]]])
    >>> lax.conv_general_dilated_local(x, kernels, (1,), "VALID", (2,)).tolist()
    [[[1.0, 3.0]]]
    """
    lhs = check_operand(lhs, "conv_general_dilated_local")
    rhs = check_operand(rhs, "conv_general_dilated_local", 1)
    numbers = conv_dimension_numbers(
        aval_of(lhs).shape, aval_of(rhs).shape, dimension_numbers
    )
    patches = conv_general_dilated_patches(
        lhs,
        filter_shape,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        dimension_numbers,
        precision,
    )
    batch, features, *places = numbers.out_spec
    out, inner, *own = numbers.rhs_spec
    product = dot_general(
        patches, rhs, (([features], [inner]), (places, own)), precision
    )
    # (places…, batch, out features) → the order of the result
    count = len(places)
    order = [0] * (count + 2)
    order[batch], order[features] = count, count + 1
    for i, place in enumerate(places):
        order[place] = i
    return transpose(product, order)


def conv_general_permutations(dimension_numbers: Any) -> tuple[Shape, Shape, Shape]:
    """The orders of axes that bring three layouts to (N, C, …), (O, I, …) and (N, C, …).

    >>> from tetrad import lax
    >>> lax.conv_general_permutations(("NHWC", "HWIO", "NHWC"))
    ((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))
    """
    left, right, out = dimension_numbers
    shape = (1,) * len(left)
    numbers = conv_dimension_numbers(shape, shape, (left, right, out))
    return numbers.lhs_spec, numbers.rhs_spec, numbers.out_spec


def _shape_of(
    function: Any,
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    *args: Any,
    **kwargs: Any,
) -> Shape:
    """The shape of what a function gives for two float32 arrays and other arguments."""
    avals = [Aval(tuple(shape), "float32") for shape in (lhs_shape, rhs_shape)]
    jaxpr, _ = stage(lambda *xs: [function(*xs, *args, **kwargs)], avals, "shape")
    shape: Shape = jaxpr.out_avals[0].shape
    return shape


def conv_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    strides: Sequence[int],
    pads: Any,
    batch_group_count: int = 1,
) -> Shape:
    """The shape of a convolution of (N, C, …) with (O, I, …).

    >>> from tetrad import lax
    >>> lax.conv_shape_tuple((1, 3, 5, 5), (4, 3, 3, 3), (1, 1), [(1, 1), (1, 1)])
    (1, 4, 5, 5)
    """
    return _shape_of(
        conv_general_dilated,
        lhs_shape,
        rhs_shape,
        strides,
        pads,
        batch_group_count=batch_group_count,
    )


def conv_general_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
    dimension_numbers: Any,
) -> Shape:
    """The shape of a convolution in any layout.

    >>> from tetrad import lax
    >>> layout = ("NHWC", "HWIO", "NHWC")
    >>> lax.conv_general_shape_tuple((1, 5, 5, 3), (3, 3, 3, 4), (1, 1), "SAME", layout)
    (1, 5, 5, 4)
    """
    return _shape_of(
        conv_general_dilated,
        lhs_shape,
        rhs_shape,
        window_strides,
        padding,
        dimension_numbers=dimension_numbers,
    )


def conv_transpose_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
    dimension_numbers: Any,
) -> Shape:
    """The shape of a transposed convolution in any layout.

    >>> from tetrad import lax
    >>> layout = ("NHWC", "HWIO", "NHWC")
    >>> lax.conv_transpose_shape_tuple((1, 5, 5, 3), (3, 3, 3, 4), (2, 2), "SAME", layout)
    (1, 10, 10, 4)
    """
    return _shape_of(
        conv_transpose,
        lhs_shape,
        rhs_shape,
        window_strides,
        padding,
        dimension_numbers=dimension_numbers,
    )
