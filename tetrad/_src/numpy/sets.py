"""Arrays as sets: union, intersection, difference, in rising order.

Without `size` the number of elements must be known, so the arrays must be; NumPy finds
them on the host. With `size` the functions are traced like all others, and the result is
cut or filled to that many elements.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tetrad._src.core.bind import Value
from tetrad._src.numpy import convert, lax, reduce
from tetrad._src.numpy.axes import static_int
from tetrad._src.numpy.choice import compress
from tetrad._src.numpy.convert import value
from tetrad._src.numpy.dtype import int_dtype
from tetrad._src.numpy.elementwise import number
from tetrad._src.numpy.order import argsort, known, sort, unique
from tetrad._src.numpy.promote import promote_dtypes
from tetrad._src.numpy.search import isin


def _on_host(name: str, *arrays: Any) -> list[np.ndarray]:
    xs = [value(v, name) for v in promote_dtypes(name, *arrays)]
    return [known(x, name).reshape(-1) for x in xs]


def _flat(name: str, *arrays: Any) -> list[Any]:
    """Vectors of one dtype."""
    xs: list[Any] = [value(v, name) for v in promote_dtypes(name, *arrays)]
    return [lax.reshape(x, (x.size,)) for x in xs]


def _first_of_runs(x: Any) -> Any:
    """Whether an element of a sorted vector differs from the one before it."""
    if not x.size:
        return lax.full((0,), True)
    return lax.concatenate([lax.full((1,), True), lax.ne(x[1:], x[:-1])], 0)


def _chosen(mask: Any, x: Any, size: Any, fill: Any, name: str) -> Any:
    """The elements of `x` where `mask` is true: `size` of them, then `fill`.

    That is the first one if None.
    """
    count = static_int(size, name, "size")
    values: Any = compress(mask, x, size=count, fill_value=number(x, 0))
    if not count:
        return values
    filler = values[0] if fill is None else lax.convert_element_type(fill, values.dtype)
    return lax.select(_filled(mask, count), values, lax.full(values.shape, filler))


def _filled(mask: Any, count: int) -> Any:
    """Whether each of `count` places is one of a true element."""
    found: Any = reduce.sum(mask)
    return lax.lt(lax.iota(found.dtype, count), found)


def union1d(
    ar1: Any, ar2: Any, *, size: int | None = None, fill_value: Any = None
) -> Value:
    """The distinct elements of both arrays, in rising order.

    `size` is the length of the result, filled with `fill_value` (or the least element).

    >>> import tetrad.numpy as jnp
    >>> jnp.union1d(jnp.array([1, 2]), jnp.array([2, 3]))
    Array([1, 2, 3], dtype=int32)
    """
    both = lax.concatenate(_flat("jnp.union1d", ar1, ar2), 0)
    return unique(both, size=size, fill_value=fill_value)


def intersect1d(
    ar1: Any,
    ar2: Any,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """The distinct elements that are in both arrays, in rising order.

    With `return_indices`, also the first index of each in both. `size` is the length of
    the result, filled with `fill_value` (or the least element); indices are filled with
    the sizes of the arrays.

    >>> import tetrad.numpy as jnp
    >>> jnp.intersect1d(jnp.array([1, 2]), jnp.array([2, 3]))
    Array([2], dtype=int32)
    """
    name = "jnp.intersect1d"
    if size is not None:
        return _sized_intersection(name, ar1, ar2, size, fill_value, return_indices)
    x, y = _on_host(name, ar1, ar2)
    found: Any = np.intersect1d(x, y, assume_unique, return_indices)  # type: ignore[call-overload]
    if not return_indices:
        return convert.array_beside(found, ar1, ar2)
    values, first, second = found
    places = [part.astype(int_dtype()) for part in (first, second)]
    return tuple([convert.array_beside(p, ar1, ar2) for p in (values, *places)])


def _sized_intersection(
    name: str, ar1: Any, ar2: Any, size: Any, fill: Any, indices: bool
) -> Any:
    x, y = _flat(name, ar1, ar2)
    order: Any = argsort(x)
    ordered = x[order]
    mask = lax.bitwise_and(_first_of_runs(ordered), isin(ordered, y))
    values = _chosen(mask, ordered, size, fill, name)
    if not indices:
        return values
    first = _chosen(mask, order, size, x.size, name)
    if not y.size:
        return values, first, lax.full(values.shape, number(first, 0))
    second = reduce.argmax(lax.eq(y[None, :], values[:, None]), 1)
    second = lax.convert_element_type(second, first.dtype)
    none = lax.full(second.shape, number(second, y.size))
    return values, first, lax.select(_filled(mask, values.size), second, none)


def setdiff1d(
    ar1: Any,
    ar2: Any,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Value:
    """The distinct elements of `ar1` that are not in `ar2`, in rising order.

    With `assume_unique`, all such elements in their order. `size` is the length of the
    result, filled with `fill_value` (or 0).

    >>> import tetrad.numpy as jnp
    >>> jnp.setdiff1d(jnp.array([1, 2]), jnp.array([2, 3]))
    Array([1], dtype=int32)
    """
    name = "jnp.setdiff1d"
    if size is None:
        x, y = _on_host(name, ar1, ar2)
        return convert.array_beside(np.setdiff1d(x, y, assume_unique), ar1, ar2)
    v, w = _flat(name, ar1, ar2)
    if not assume_unique:
        v = sort(v)
    kept: Any = isin(v, w, invert=True)
    if not assume_unique:
        kept = lax.bitwise_and(_first_of_runs(v), kept)
    found: Value = _chosen(kept, v, size, 0 if fill_value is None else fill_value, name)
    return found


def setxor1d(
    ar1: Any,
    ar2: Any,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Value:
    """The distinct elements that are in one of the arrays, in rising order.

    `size` is the length of the result, filled with `fill_value` (or the least element).

    >>> import tetrad.numpy as jnp
    >>> jnp.setxor1d(jnp.array([1, 2]), jnp.array([2, 3]))
    Array([1, 3], dtype=int32)
    """
    name = "jnp.setxor1d"
    if size is None:
        x, y = _on_host(name, ar1, ar2)
        return convert.array_beside(np.setxor1d(x, y, assume_unique), ar1, ar2)
    x, y = _flat(name, ar1, ar2)
    both = sort(lax.concatenate([x, y], 0))
    mask = lax.bitwise_and(_first_of_runs(both), lax.ne(isin(both, x), isin(both, y)))
    found: Value = _chosen(mask, both, size, fill_value, name)
    return found
