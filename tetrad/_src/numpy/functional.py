"""Functions over parts of arrays, and what `jnp.add.reduce` and its like do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tetrad._src.core.bind import Value
from tetrad._src.core.op import Axis
from tetrad._src.numpy import cumulative, elementwise, lax, logic, reduce
from tetrad._src.numpy.axes import axes_argument, axis_argument
from tetrad._src.numpy.convert import value
from tetrad._src.transforms.vmap import move_mapped, vmap_flat
from tetrad._src.util import tree


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any
) -> Any:
    """`func1d` of every vector along `axis`; its results' axes take that axis' place.

    >>> import tetrad.numpy as jnp
    >>> jnp.apply_along_axis(jnp.sum, 0, jnp.ones((2, 3)))
    Array([2., 2., 2.], dtype=float32)
    """
    name = "jnp.apply_along_axis"
    x = value(arr, name, "arr")
    along = axis_argument(axis, x.ndim, name)
    lead = [i for i in range(x.ndim) if i != along]
    x = lax.transpose(x, (*lead, along))

    def lanes(x: Value, depth: int) -> Any:
        if depth == 0:
            return func1d(x, *args, **kwargs)
        return mapped(lambda lane: lanes(lane, depth - 1), x)

    outs, structure = tree.flatten(lanes(x, len(lead)))
    return tree.unflatten(structure, [_back(out, len(lead), along) for out in outs])


def mapped(function: Callable[[Any], Any], x: Value) -> Any:
    """`function` of every x[i], stacked along axis 0, for trees of results."""
    axis = Axis(x.shape[0])
    structure: Any = None

    def flat(lane: Any) -> Sequence[Any]:
        nonlocal structure
        leaves, structure = tree.flatten(function(lane))
        return leaves

    outs, places = vmap_flat(flat, axis, [x], [0])
    moved = [move_mapped(axis, out, at, 0) for out, at in zip(outs, places)]
    return tree.unflatten(structure, moved)


def _back(out: Any, lead: int, along: int) -> Any:
    """The axes of a result in the place of the axis that the function took."""
    order = list(range(lead))
    order[along:along] = range(lead, out.ndim)
    return lax.transpose(out, tuple(order))


def apply_over_axes(func: Callable[[Any, int], Any], a: Any, axes: Any) -> Any:
    """`func(a, axis)` for one axis after the other; axes that vanish come back.

    >>> import tetrad.numpy as jnp
    >>> jnp.apply_over_axes(jnp.sum, jnp.ones((2, 3)), (0, 1))
    Array([[6.]], dtype=float32)
    """
    x = value(a, "jnp.apply_over_axes", "a")
    for axis in axes_argument(axes, x.ndim, "jnp.apply_over_axes", "axes"):
        result = func(x, axis)
        if result.ndim == x.ndim - 1:
            result = lax.expand_dims(result, (axis,))
        elif result.ndim != x.ndim:
            raise ValueError(
                "jnp.apply_over_axes: func must keep the number of axes or drop the one"
                f" it is given; {x.aval.long_name()} became {result.aval.long_name()}"
            )
        x = result
    return x


def _truth(fold: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, axis, **options: fold(a, axis, **options)


def _running_extreme(op: Any) -> Callable[..., Any]:
    def accumulate(a: Any, axis: int = 0, dtype: Any = None, out: None = None) -> Any:
        x = value(a, "accumulate", "a")
        x = x if dtype is None else lax.convert_element_type(x, dtype)
        return op(x, axis_argument(axis, x.ndim, "accumulate"))

    return accumulate


elementwise.add.folds = (reduce.sum, cumulative.cumsum, "add")
elementwise.multiply.folds = (reduce.prod, cumulative.cumprod, "multiply")
elementwise.subtract.folds = (None, None, "subtract")
elementwise.maximum.folds = (reduce.max, _running_extreme(lax.cummax), "max")
elementwise.minimum.folds = (reduce.min, _running_extreme(lax.cummin), "min")
logic.logical_and.folds = (_truth(reduce.all), None, "")
logic.logical_or.folds = (_truth(reduce.any), None, "")
