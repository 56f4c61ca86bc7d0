"""Reductions that leave NaN out."""

from __future__ import annotations

from typing import Any

import numpy as np

from tetrad._src.core.bind import Value
from tetrad._src.numpy import lax, reduce
from tetrad._src.numpy.convert import value
from tetrad._src.numpy.elementwise import no_out, number
from tetrad._src.numpy.plan import planned, planned_whole
from tetrad._src.util import dtypes


def _without(x: Value, filler: Any) -> Any:
    """`x` with `filler` in place of NaN."""
    if not x.aval.inexact:
        return x
    if x.aval.kind == "f" and np.isinf(filler):  # or as far as the dtype goes
        filler = dtypes.extremes(x.dtype)[filler > 0]
    return lax.select(lax.ne(x, x), number(x, filler), x)


def _numbers(x: Value, where: Any, name: str) -> Any:
    """Where `x` is no NaN and `where` holds."""
    valid = lax.eq(x, x)
    if where is None:
        return valid
    return lax.bitwise_and(valid, reduce.mask_of(where, x.shape, name))


@planned()
def nansum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Value:
    """The sum of the elements along `axis` that are no NaN.

    >>> import tetrad.numpy as jnp
    >>> jnp.nansum(jnp.array([1., jnp.nan]))
    Array(1., dtype=float32)
    """
    name = "jnp.nansum"
    x = _without(value(a, name, "a"), 0)
    return reduce.summed(x, axis, dtype, out, keepdims, initial, where, name=name)


def nanprod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Value:
    """The product of the elements along `axis` that are no NaN.

    >>> import tetrad.numpy as jnp
    >>> jnp.nanprod(jnp.array([2., jnp.nan]))
    Array(2., dtype=float32)
    """
    name = "jnp.nanprod"
    x = _without(value(a, name, "a"), 1)
    return reduce.multiplied(x, axis, dtype, out, keepdims, initial, where, name=name)


def _nan_extreme(
    a: Any,
    axis: Any,
    out: Any,
    keepdims: bool,
    initial: Any,
    where: Any,
    name: str,
    fold: Any,
    limit: float,
) -> Any:
    no_out(name, out)
    x = value(a, name, "a")
    result = fold(_without(x, limit), axis, None, keepdims, initial, where)
    if initial is not None or not x.aval.inexact:
        return result
    nothing = reduce.all(lax.ne(x, x), axis, keepdims=keepdims)
    return lax.select(nothing, number(result, np.nan), result)


@planned()
def nanmax(
    a: Any,
    axis: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Value:
    """The largest element along `axis` that is no NaN; NaN where all are.

    >>> import tetrad.numpy as jnp
    >>> jnp.nanmax(jnp.array([1., jnp.nan]))
    Array(1., dtype=float32)
    """
    return _nan_extreme(
        a, axis, out, keepdims, initial, where, "jnp.nanmax", reduce.max, -np.inf
    )


@planned()
def nanmin(
    a: Any,
    axis: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Value:
    """The smallest element along `axis` that is no NaN; NaN where all are.

    >>> import tetrad.numpy as jnp
    >>> jnp.nanmin(jnp.array([1., jnp.nan]))
    Array(1., dtype=float32)
    """
    return _nan_extreme(
        a, axis, out, keepdims, initial, where, "jnp.nanmin", reduce.min, np.inf
    )


def _nan_index(
    a: Any, axis: Any, keepdims: Any, name: str, fold: Any, limit: float
) -> Any:
    x = value(a, name, "a")
    index = fold(_without(x, limit), axis, keepdims=bool(keepdims))
    if not x.aval.inexact:
        return index
    nothing = reduce.all(lax.ne(x, x), axis, keepdims=bool(keepdims))
    return lax.select(nothing, number(index, -1), index)


def nanargmax(
    a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Value:
    """The index of the largest element along `axis` that is no NaN; -1 where all are.

    >>> import tetrad.numpy as jnp
    >>> jnp.nanargmax(jnp.array([jnp.nan, 1.]))
    Array(1, dtype=int32)
    """
    no_out("jnp.nanargmax", out)
    return _nan_index(a, axis, keepdims, "jnp.nanargmax", reduce.argmax, -np.inf)


def nanargmin(
    a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Value:
    """The index of the smallest element along `axis` that is no NaN; -1 where all are.

    >>> import tetrad.numpy as jnp
    >>> jnp.nanargmin(jnp.array([jnp.nan, 1.]))
    Array(1, dtype=int32)
    """
    no_out("jnp.nanargmin", out)
    return _nan_index(a, axis, keepdims, "jnp.nanargmin", reduce.argmin, np.inf)


@planned()
def nanmean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    where: Any = None,
) -> Value:
    """The mean of the elements along `axis` that are no NaN.

    >>> import tetrad.numpy as jnp
    >>> jnp.nanmean(jnp.array([1., jnp.nan]))
    Array(1., dtype=float32)
    """
    x = value(a, "jnp.nanmean", "a")
    if not x.aval.inexact:
        return reduce.mean(x, axis, dtype, out, keepdims, where=where)
    return reduce.mean(
        x, axis, dtype, out, keepdims, where=_numbers(x, where, "jnp.nanmean")
    )


@planned_whole
def nanvar(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    where: Any = None,
    mean: Any = None,
) -> Value:
    """The variance of the elements along `axis` that are no NaN: see `var`.

    >>> import tetrad.numpy as jnp
    >>> jnp.nanvar(jnp.array([1., jnp.nan, 3.]))
    Array(1., dtype=float32)
    """
    x = value(a, "jnp.nanvar", "a")
    valid = _numbers(x, where, "jnp.nanvar") if x.aval.inexact else where
    return reduce.var(x, axis, dtype, out, ddof, keepdims, where=valid, mean=mean)


@planned_whole
def nanstd(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    where: Any = None,
    mean: Any = None,
) -> Value:
    """The standard deviation of the elements along `axis` that are no NaN: see `var`.

    >>> import tetrad.numpy as jnp
    >>> jnp.nanstd(jnp.array([1., jnp.nan, 3.]))
    Array(1., dtype=float32)
    """
    return lax.sqrt(nanvar(a, axis, dtype, out, ddof, keepdims, where, mean))
