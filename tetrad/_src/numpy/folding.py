"""What NumPy's universal functions do beside being called, for any function of two scalars.

`reduce`, `accumulate`, `reduceat` and `at` go from the first element to the last, so they
mean something for functions that are not associative, too. Functions whose folds are
operations (sums, extrema) do not come here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tetrad._src.control.loop import fori_loop
from tetrad._src.control.scan import scan
from tetrad._src.core.bind import Value, aval_of
from tetrad._src.numpy import lax
from tetrad._src.numpy.axes import axes_argument, axis_argument, no_out
from tetrad._src.numpy.convert import operands, value
from tetrad._src.numpy.dtype import dtype_argument
from tetrad._src.ops.views import moveaxis

Fun = Callable[..., Any]


class Folds:
    """`reduce` and its like, for functions of two arguments with one result."""

    name: str
    identity: Any = None
    __call__: Fun

    # What is an operation of its own: (reduction over axes, running totals, name of the
    # update). It is filled where reductions are.
    folds: tuple[Any, Any, str] = (None, None, "")

    def _method(self, method: str) -> str:
        """The name of a method for errors; a ValueError where it means nothing."""
        return f"{self.name}.{method}"

    def reduce(
        self,
        a: Any,
        axis: Any = 0,
        dtype: Any = None,
        out: None = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = None,
    ) -> Any:
        """The elements along `axis` (None: all) folded by this function."""
        name = self._method("reduce")
        no_out(name, out)
        fold = self.folds[0]
        if fold is None:
            return reduced(
                self, name, a, axis, dtype, keepdims, initial, where, self.identity
            )
        options: dict[str, Any] = {"keepdims": keepdims}
        for key, given in (("dtype", dtype), ("initial", initial), ("where", where)):
            if given is not None:
                options[key] = given
        return fold(a, axis, **options)

    def accumulate(
        self, a: Any, axis: int = 0, dtype: Any = None, out: None = None
    ) -> Any:
        """The running folds of the elements along `axis`."""
        name = self._method("accumulate")
        no_out(name, out)
        fold = self.folds[1]
        if fold is None:
            return accumulated(self, name, a, axis, dtype)
        return fold(a, axis, dtype)

    def reduceat(
        self, a: Any, indices: Any, axis: int = 0, dtype: Any = None, out: None = None
    ) -> Any:
        """Folds of slices along `axis`: from each index to the next, the last to the end."""
        name = self._method("reduceat")
        no_out(name, out)
        return reduced_at(self, name, a, indices, axis, dtype)

    def at(self, a: Any, indices: Any, b: Any = None, *, inplace: bool = True) -> Any:
        """`a` with this function applied at `indices`; write inplace=False."""
        name = f"{self.name}.at"
        if inplace:
            raise NotImplementedError(
                f"{name}: arrays never change; write x = {name}(x, indices, values,"
                " inplace=False)"
            )
        update = self.folds[2]
        if not update:
            return applied_at(self, name, a, indices, b)
        return getattr(value(a, name).at[indices], update)(b)

    def outer(self, a: Any, b: Any, /) -> Any:
        """The function of every element of `a` with every element of `b`.

        The result has the shape of `a` followed by that of `b`.
        """
        a, b = operands(self._method("outer"), (a, b))
        rank = aval_of(b).ndim
        if isinstance(a, Value) and rank:
            shape = (*a.aval.shape, *[1] * rank)
            a = lax.broadcast_in_dim(a, shape, tuple(range(a.aval.ndim)))
        return self(a, b)


def _typed(a: Any, dtype: Any, name: str) -> Any:
    x = value(a, name, "a")
    if dtype is None:
        return x
    return lax.convert_element_type(x, dtype_argument(dtype, name))


def reduced(
    fun: Fun,
    name: str,
    a: Any,
    axis: Any,
    dtype: Any,
    keepdims: bool,
    initial: Any,
    where: Any,
    identity: Any,
) -> Any:
    """The elements along axes folded, the first one first."""
    x = _typed(a, dtype, name)
    axes = axes_argument(axis, x.ndim, name)
    if where is not None and initial is None and identity is None:
        raise ValueError(
            f"{name}: where= needs initial=, since the function has no identity"
        )
    order = [*axes, *[i for i in range(x.ndim) if i not in axes]]
    rest = [x.shape[i] for i in order[len(axes) :]]
    count = math.prod([x.shape[i] for i in axes])
    rows = lax.reshape(lax.transpose(x, order), (count, *rest))
    masks = None
    if where is not None:
        mask: Any = lax.broadcast_in_dim(
            value(where, name, "where"), x.shape,
            range(x.ndim - aval_of(where).ndim, x.ndim),
        )  # fmt: skip
        masks = lax.reshape(lax.transpose(mask, order), rows.shape)
    start = (
        identity
        if initial is None and (masks is not None or not len(rows))
        else initial
    )
    if start is None and not len(rows):
        raise ValueError(f"{name}: no elements along axis {axis}; give initial=")
    first = 0
    if start is None:
        total, first = rows[0], 1
    else:
        filled = lax.convert_element_type(start, x.dtype)
        total = lax.broadcast_in_dim(filled, tuple(rest), ()) if rest else filled
    total = lax.convert_element_type(total, _dtype_of(fun, x))

    def step(carry: Any, at: Any) -> Any:
        row, mask = at
        new = lax.convert_element_type(fun(carry, row), carry.dtype)
        return (new if mask is None else lax.select(mask, new, carry)), None

    steps = (rows[first:], None if masks is None else masks[first:])
    out, _ = scan(step, total, steps)
    if keepdims:
        shape = [1 if i in axes else n for i, n in enumerate(x.shape)]
        out = lax.reshape(out, tuple(shape))
    return out


def _dtype_of(fun: Fun, x: Any) -> Any:
    """The dtype that folds of `x` have."""
    one = lax.full((), x.dtype.type(0))
    return aval_of(fun(one, one)).dtype


def accumulated(fun: Fun, name: str, a: Any, axis: int, dtype: Any) -> Any:
    """The folds of the first one, two, … elements along an axis."""
    x = _typed(a, dtype, name)
    at = axis_argument(axis, x.ndim, name)
    rows = moveaxis(x, at, 0)
    if not len(rows):
        return x

    def step(carry: Any, row: Any) -> Any:
        new = lax.convert_element_type(fun(carry, row), carry.dtype)
        return new, new

    start = lax.convert_element_type(rows[0], _dtype_of(fun, x))
    _, later = scan(step, start, rows[1:])
    first = lax.reshape(start, (1, *start.shape))
    return moveaxis(lax.concatenate([first, later], 0), 0, at)


def reduced_at(fun: Fun, name: str, a: Any, indices: Any, axis: int, dtype: Any) -> Any:
    """Folds of slices along an axis: from each index to the next, the last to the end.

    An index that is not smaller than the next gives the element there.
    """
    x = _typed(a, dtype, name)
    starts: Any = value(indices, name, "indices")
    if starts.ndim != 1 or starts.aval.kind not in "iu":
        raise TypeError(f"{name}: indices must be a vector of integers")
    at = axis_argument(axis, x.ndim, name)
    rows = moveaxis(x, at, 0)
    n = rows.shape[0]
    following = lax.concatenate([starts[1:], lax.full((1,), starts.dtype.type(n))], 0)
    ends = lax.select(lax.lt(starts, following), following, starts + 1)
    total: Any = rows[starts]

    def step(i: Any, total: Any) -> Any:
        i = i.astype(starts.dtype)
        inside = lax.bitwise_and(lax.gt(i, starts), lax.lt(i, ends))
        inside = lax.broadcast_in_dim(inside, total.shape, (0,))
        row = lax.broadcast_in_dim(rows[i], total.shape, range(1, total.ndim))
        new = lax.convert_element_type(fun(total, row), total.dtype)
        return lax.select(inside, new, total)

    return moveaxis(fori_loop(0, n, step, total), 0, at)


def applied_at(fun: Fun, name: str, a: Any, indices: Any, b: Any) -> Any:
    """`a` with fun(a[i], b) in the place of a[i], for one index after the other."""
    x = value(a, name, "a")
    count = lax.reshape(lax.iota(np.int32, x.size), x.shape)
    places: Any = count[indices]
    flat: Any = lax.reshape(x, (x.size,))
    steps: Any = lax.reshape(places, (places.size,))
    values = None
    if b is not None:
        given: Any = value(b, name, "b")
        lead = places.ndim - given.ndim
        values = lax.broadcast_in_dim(given, places.shape, range(lead, places.ndim))
        values = lax.reshape(values, (places.size,))

    def step(carry: Any, at: Any) -> Any:
        place, other = at
        old = carry[place]
        new = fun(old) if other is None else fun(old, other)
        return carry.at[place].set(lax.convert_element_type(new, carry.dtype)), None

    out, _ = scan(step, flat, (steps, values))
    return lax.reshape(out, x.shape)
