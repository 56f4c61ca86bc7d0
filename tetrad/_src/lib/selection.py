"""The largest elements, and how shapes come out: small functions of `lax`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tetrad._src.core.bind import aval_of
from tetrad._src.numpy import convert
from tetrad._src.ops.axes import check_axis
from tetrad._src.ops.convert import convert_element_type
from tetrad._src.ops.elementwise import (
    add,
    bitwise_and,
    mul,
    neg,
    shift_right_arithmetic,
    shift_right_logical,
)
from tetrad._src.ops.families import check_operand
from tetrad._src.ops.functions import operands
from tetrad._src.ops.identity import copy
from tetrad._src.ops.sort import top_k
from tetrad._src.ops.views import broadcast_in_dim, moveaxis


def approx_max_k(
    operand: Any,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> tuple[Any, Any]:
    """The k largest elements along an axis, in descending order, and their indices.

    Accelerators may miss some; here all are found, so every `recall_target` is met.

    Args:
      operand: an array of floats.
      k: how many.
      reduction_dimension: the axis.
      recall_target: the share of the k largest that must be among those found.
      reduction_input_size_override: the length by which recall is judged.
      aggregate_to_topk: whether exactly k are given, in order.

    >>> import tetrad.numpy as jnp
    >>> from tetrad import lax
    >>> values, places = lax.approx_max_k(jnp.array([1.0, 5.0, 3.0]), 2)
    >>> values.tolist(), places.tolist()
    ([5.0, 3.0], [1, 2])
    """
    return _largest("approx_max_k", operand, k, reduction_dimension, recall_target,
                    aggregate_to_topk, False)  # fmt: skip


def approx_min_k(
    operand: Any,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> tuple[Any, Any]:
    """The k smallest elements along an axis, in ascending order, and their indices.

    As `approx_max_k` otherwise.

    >>> import tetrad.numpy as jnp
    >>> from tetrad import lax
    >>> values, places = lax.approx_min_k(jnp.array([1.0, 5.0, 3.0]), 2)
    >>> values.tolist(), places.tolist()
    ([1.0, 3.0], [0, 2])
    """
    return _largest("approx_min_k", operand, k, reduction_dimension, recall_target,
                    aggregate_to_topk, True)  # fmt: skip


def _largest(
    name: str,
    operand: Any,
    k: int,
    axis: int,
    recall: float,
    aggregate: bool,
    smallest: bool,
) -> tuple[Any, Any]:
    operand = check_operand(operand, name)
    aval = aval_of(operand)
    if aval.kind != "f":
        raise ValueError(f"lax.{name}: operand must be floats, got {aval.long_name()}")
    if not 0 <= recall <= 1:
        raise ValueError(f"lax.{name}: recall_target is from 0 to 1, got {recall}")
    if not aggregate:
        raise NotImplementedError(
            f"lax.{name}(aggregate_to_topk=False) is not available: the k elements are"
            " found exactly, and given in order"
        )
    at = check_axis(axis, aval.ndim, name)
    moved = moveaxis(operand, at, aval.ndim - 1)
    values, places = top_k(neg(moved) if smallest else moved, k)
    values = neg(values) if smallest else values
    return moveaxis(values, aval.ndim - 1, at), moveaxis(places, aval.ndim - 1, at)


def broadcast_like(arr: Any, like_arr: Any) -> Any:
    """`arr` in the shape of `like_arr`: stretched, and with axes in front.

    ValueError if the shapes do not fit.

    >>> import tetrad.numpy as jnp
    >>> from tetrad import lax
    >>> lax.broadcast_like(jnp.array([1, 2]), jnp.zeros((2, 2))).tolist()
    [[1, 2], [1, 2]]
    """
    arr = check_operand(arr, "broadcast_like")
    like_arr = check_operand(like_arr, "broadcast_like", 1)
    own, shape = aval_of(arr).shape, aval_of(like_arr).shape
    first = len(shape) - len(own)
    fits = first >= 0 and all(
        [a in (1, b) for a, b in zip(own, shape[max(first, 0) :])]
    )
    if not fits:
        raise ValueError(f"lax.broadcast_like: shape {own} cannot become {shape}")
    return broadcast_in_dim(arr, shape, range(first, len(shape)))


def mulhi(x: Any, y: Any, /) -> Any:
    """The upper half of the product of integers, computed in twice their width.

    >>> import numpy as np
    >>> from tetrad import lax
    >>> lax.mulhi(np.uint32(1 << 31), np.uint32(6))
    Array(3, dtype=uint32)
    """
    x, y = operands("mulhi", (x, y))
    aval = aval_of(x)
    if aval.kind not in "iu":
        raise TypeError(f"lax.mulhi takes integers, got {aval.long_name()}")
    bits = aval.dtype.itemsize * 8
    shift = shift_right_arithmetic if aval.kind == "i" else shift_right_logical
    if bits < 32:
        wide = np.dtype(np.int32 if aval.kind == "i" else np.uint32)
        product = mul(convert_element_type(x, wide), convert_element_type(y, wide))
        return convert_element_type(shift(product, wide.type(bits)), aval.dtype)
    # Four products of halves; the upper halves of signed numbers carry the sign.
    dtype, half = aval.dtype.type, bits // 2
    low = dtype((1 << half) - 1)
    x0, y0 = bitwise_and(x, low), bitwise_and(y, low)
    x1, y1 = shift(x, dtype(half)), shift(y, dtype(half))
    first = shift_right_logical(mul(x0, y0), dtype(half))
    middle = add(mul(x1, y0), first)
    other = add(mul(x0, y1), bitwise_and(middle, low))
    carried = add(shift(middle, dtype(half)), shift(other, dtype(half)))
    return add(mul(x1, y1), carried)


def stage(x: Any, /) -> Any:
    """`x` as a value of what is traced now; an array outside of it.

    >>> from tetrad import lax
    >>> lax.stage(3.0)
    Array(3., dtype=float32, weak_type=True)
    """
    return copy(check_operand(x, "stage"))


def shape_as_value(shape: Sequence[int]) -> Any:
    """A shape as an int32 array.

    >>> from tetrad import lax
    >>> lax.shape_as_value((2, 3))
    Array([2, 3], dtype=int32)
    """
    return convert.device_array(np.array(tuple(shape), np.int32), False)
