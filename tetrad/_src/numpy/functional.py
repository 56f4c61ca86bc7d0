"""Functions over parts of arrays, and what `jnp.add.reduce` and its like do."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tetrad._src.core.bind import Value
from tetrad._src.core.op import Axis
from tetrad._src.numpy import cumulative, elementwise, lax, logic, reduce
from tetrad._src.numpy.axes import axes_argument, axis_argument, shape_argument
from tetrad._src.numpy.convert import value
from tetrad._src.numpy.dtype import dtype_argument
from tetrad._src.numpy.folding import Folds
from tetrad._src.numpy.promote import broadcast, common_shape
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


def _running_extreme(op: Any) -> Callable[..., Any]:
    def accumulate(a: Any, axis: int, dtype: Any) -> Any:
        x = value(a, "accumulate", "a")
        x = x if dtype is None else lax.convert_element_type(x, dtype)
        return op(x, axis_argument(axis, x.ndim, "accumulate"))

    return accumulate


elementwise.add.folds = (reduce.sum, cumulative.cumsum, "add")
elementwise.multiply.folds = (reduce.prod, cumulative.cumprod, "multiply")
elementwise.subtract.folds = (None, None, "subtract")
elementwise.maximum.folds = (reduce.max, _running_extreme(lax.cummax), "max")
elementwise.minimum.folds = (reduce.min, _running_extreme(lax.cummin), "min")
logic.logical_and.folds = (reduce.all, None, "")
logic.logical_or.folds = (reduce.any, None, "")


class PyUfunc(Folds):
    """A function of scalars, applied to arrays element by element: see `frompyfunc`."""

    def __init__(
        self, function: Callable[..., Any], nin: int, nout: int, identity: Any
    ) -> None:
        self.__name__ = self.name = getattr(function, "__name__", "function")
        self.function = function
        self.nin = nin
        self.nout = nout
        self.nargs = nin + nout
        self.identity = identity

    def __call__(self, *args: Any, out: None = None, where: None = None) -> Any:
        if out is not None or where is not None:
            raise NotImplementedError(
                f"{self.name}: out and where are not available; write jnp.where(condition,"
                " f(x), x)"
            )
        if len(args) != self.nin:
            raise TypeError(f"{self.name} takes {self.nin} arguments, got {len(args)}")
        xs = [value(x, self.name, f"argument {i}") for i, x in enumerate(args)]
        shape = common_shape(self.name, xs)
        size = math.prod(shape)
        flat = [lax.reshape(broadcast(x, shape), (size,)) for x in xs]

        def scalars(*lanes: Any) -> list[Any]:
            result = self.function(*lanes)
            outs = list(result) if self.nout > 1 else [result]
            return [value(out, self.name) for out in outs]

        if not shape:
            outs = scalars(*xs)
        else:
            lanes = Axis(size)
            found, mapped = vmap_flat(scalars, lanes, flat, [0] * len(flat))
            outs = [move_mapped(lanes, o, at, 0) for o, at in zip(found, mapped)]
            outs = [lax.reshape(out, shape) for out in outs]
        return outs[0] if self.nout == 1 else tuple(outs)

    def _method(self, method: str) -> str:
        name = super()._method(method)
        if (self.nin, self.nout) != (2, 1):
            raise ValueError(
                f"{name} is for functions of two arguments with one result"
            )
        return name

    def __repr__(self) -> str:
        return f"<jnp.ufunc '{self.name}'>"


def frompyfunc(
    func: Callable[..., Any], /, nin: int, nout: int, *, identity: Any = None
) -> PyUfunc:
    """A universal function from a function of scalars, with `reduce` and its like.

    Args:
      func: a function of `nin` scalars that gives `nout` of them.
      nin, nout: how many.
      identity: what the function leaves others as they are with, for `reduce`.

    >>> import tetrad.numpy as jnp
    >>> add = jnp.frompyfunc(lambda x, y: x + y, 2, 1, identity=0)
    >>> add(jnp.array([1, 2]), 10)
    Array([11, 12], dtype=int32)
    >>> add.reduce(jnp.arange(5))
    Array(10, dtype=int32)
    """
    return PyUfunc(func, nin, nout, identity)


def fromfunction(
    function: Callable[..., Any], shape: Any, *, dtype: Any = float, **kwargs: Any
) -> Any:
    """`function` of the indices of each element of a grid of `shape`.

    It is called once, under `vmap`, with scalars.

    >>> import tetrad.numpy as jnp
    >>> jnp.fromfunction(lambda i, j: i + j, (2, 2))
    Array([[0., 1.],
           [1., 2.]], dtype=float32)
    """
    extents = shape_argument(shape, "jnp.fromfunction")
    found = dtype_argument(dtype, "jnp.fromfunction")
    places = [lax.iota(found, extent) for extent in extents]

    def along(axis: int, scalars: tuple[Any, ...]) -> Any:
        if axis == len(extents):
            return function(*scalars, **kwargs)
        return mapped(lambda x: along(axis + 1, (*scalars, x)), places[axis])

    return along(0, ())
