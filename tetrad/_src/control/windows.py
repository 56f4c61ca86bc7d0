"""`reduce_window`: folds over sliding windows, by any function of two scalars.

Sums, maxima and minima have operations of their own, with derivatives; other functions
fold the windows in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tetrad._src.control import bodies
from tetrad._src.control.maps import reduce
from tetrad._src.core.bind import Value, aval_of
from tetrad._src.ops import arithmetic
from tetrad._src.ops.convert import convert_element_type
from tetrad._src.ops.families import check_operand
from tetrad._src.ops.reduce import combiner_of
from tetrad._src.ops.slices import pad
from tetrad._src.ops.views import broadcast_in_dim
from tetrad._src.ops.windows import Sliding, reduced, sliding, windows_of
from tetrad._src.util import tree


def reduce_window(
    operand: Any,
    init_value: Any,
    computation: Callable[[Any, Any], Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: str | Sequence[tuple[int, int]] = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Any:
    """Folds windows of arrays: out[i] = init ∘ x[i·stride] ∘ x[i·stride + 1]….

    Args:
      operand: an array, or a pytree of arrays of one shape.
      init_value: a scalar for each array, with which every window starts; it also
        surrounds the arrays.
      computation: an associative function of two such scalars, such as `lax.max`.
      window_dimensions, window_strides: the length of a window and how far it moves
        along each axis.
      padding: "SAME", "VALID", or (low, high) for each axis.
      base_dilation: how far the elements of the operand are spread.
      window_dilation: how far the elements of a window are apart.

    ValueError if an entry is missing or not positive, TypeError for starts with axes.
    Source: https://openxla.org/stablehlo/spec#reduce_window

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> x = jnp.array([3., 1., 4., 1., 5., 9.])
    >>> lax.reduce_window(x, -jnp.inf, lax.max, (2,), (2,), "VALID")
    Array([3., 4., 9.], dtype=float32)
    """
    name = "reduce_window"
    bodies.check_function(name, "computation", computation)
    leaves, treedef = tree.flatten(operand)
    leaves = [check_operand(x, name) for x in leaves]
    starts = treedef.flatten_up_to(init_value)
    shapes = [aval_of(check_operand(start, name)).shape for start in starts]
    if any(shapes):
        raise TypeError(
            "lax.reduce_window expected init_values to be scalars but init_values have"
            f" shapes {shapes}. A window starts with one number for each array."
        )
    shape = aval_of(leaves[0]).shape
    how = sliding(
        name,
        shape,
        window_dimensions,
        window_strides,
        padding,
        base_dilation,
        window_dilation,
    )
    if len(leaves) == 1:
        found = _known(leaves[0], starts[0], computation, how)
        if found is not None:
            return treedef.unflatten([found])
    views = []
    for x, start in zip(leaves, starts):
        scalar = convert_element_type(start, aval_of(x).dtype)
        view, axes = windows_of(pad(x, scalar, how.config()), how)
        views.append(view)
    return reduce(
        treedef.unflatten(views), treedef.unflatten(starts), computation, axes
    )


def _known(x: Any, start: Any, computation: Any, how: Sliding) -> Any:
    """The reduction by an operation of its own, if there is one; else None."""
    dtype = aval_of(x).dtype
    scalar = aval_of(x).update(shape=(), weak_type=False)
    (_, single) = tree.flatten(0)
    body = bodies.staged(
        "reduce_window", "computation", computation, (single, single), [scalar] * 2
    )
    kind = combiner_of(body.jaxpr) if not body.consts else None
    if kind == "add" or kind == "add_any":
        if isinstance(start, Value) or np.asarray(start) != 0:
            return None
        if aval_of(x).kind == "b":
            return None
        return reduced("sum", x, how)
    if kind not in ("max", "min"):
        return None
    if how.config() != [(0, 0, 0)] * len(how.padding) and isinstance(start, Value):
        return None  # the padding is not known to be the least element
    out = reduced(kind, x, how)
    start = convert_element_type(start, dtype)
    join = arithmetic.max if kind == "max" else arithmetic.min
    return join(out, broadcast_in_dim(start, aval_of(out).shape, ()))
