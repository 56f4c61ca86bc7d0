"""Covariance and correlation, and histograms over several axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tetrad._src.core.bind import Value, aval_of
from tetrad._src.numpy import assemble, create, lax
from tetrad._src.numpy.convert import describe, value
from tetrad._src.numpy.dtype import dtype_argument, int_dtype
from tetrad._src.numpy.elementwise import number
from tetrad._src.numpy.plan import planned_whole
from tetrad._src.numpy.promote import call, promote_dtypes, promote_floats, to
from tetrad._src.numpy.reduce import average, summed
from tetrad._src.numpy.search import bincount, histogram_bin_edges, searchsorted
from tetrad._src.util import dtypes


def _observations(m: Any, y: Any, rowvar: bool, name: str) -> Any:
    xs = [value(v, name) for v in promote_floats(name, *([m] if y is None else [m, y]))]
    rows = []
    for x in xs:
        if x.ndim > 2:
            raise ValueError(f"{name} takes at most 2 axes, got {describe(x)}")
        if x.ndim < 2:
            x = lax.reshape(x, (1, x.size))
        elif not rowvar:
            x = lax.transpose(x, (1, 0))
        rows.append(x)
    return rows[0] if len(rows) == 1 else assemble.joined(rows, 0, name)


@planned_whole
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Value:
    """The covariance matrix of variables, one a row (`rowvar=False`: one a column).

    C[i, j] = Σ w (xᵢ - x̄ᵢ)(xⱼ - x̄ⱼ)* / f, where f = n - 1 (n with `bias`, n - `ddof`).
    `fweights` count observations, `aweights` weigh them.

    >>> import tetrad.numpy as jnp
    >>> jnp.cov(jnp.array([1., 2., 3.]))
    Array(1., dtype=float32)
    """
    return _covariance(m, y, rowvar, bias, ddof, fweights, aweights, dtype, "jnp.cov")


def _covariance(
    m: Any,
    y: Any,
    rowvar: bool,
    bias: bool,
    ddof: int | None,
    fweights: Any,
    aweights: Any,
    dtype: Any,
    name: str,
) -> Any:
    x = _observations(m, y, rowvar, name)
    if dtype is not None:
        found = dtype_argument(dtype, name)
        if dtypes.kind(found) not in "fc":
            raise ValueError(
                f"{name.removeprefix('jnp.')}: dtype must be a subclass of float or complex,"
                f" got {found.name}"
            )
        x = lax.convert_element_type(x, found)
    if x.shape[0] == 0:
        return lax.full((0, 0), x.dtype.type(0))
    if ddof is None:
        ddof = 0 if bias else 1
    if fweights is not None and aval_of(fweights).kind not in "iub":
        raise TypeError(
            f"{call(name)}: fweights count observations, so they must be integers, got"
            f" {describe(value(fweights, name))}"
        )
    counts, shares = [
        None if w is None else _weights_of(x, w, name, label)
        for w, label in ((fweights, "fweights"), (aweights, "aweights"))
    ]
    weights = _times(counts, shares)
    center, total = average(x, axis=1, weights=weights, returned=True)
    total = total[0]
    divisor: Any
    if weights is None:
        divisor = to(x.shape[1] - ddof, _real_dtype(x), False, name)
    elif ddof == 0:
        divisor = total
    elif shares is None:
        divisor = total - ddof
    else:
        divisor = total - ddof * summed(weights * shares, name=name) / total
    offset = x - center[:, None]
    weighted = offset if weights is None else offset * weights[None, :]
    other = lax.conj(offset) if x.aval.kind == "c" else offset
    product = lax.dot_general(weighted, other, (((1,), (1,)), ((), ())))
    if not isinstance(divisor, Value) and not divisor > 0:
        divisor = math.nan
    result = product / divisor
    gone = [i for i, n in enumerate(result.shape) if n == 1]
    return lax.squeeze(result, gone)


def _weights_of(x: Value, given: Any, name: str, argument: str) -> Any:
    """The weights of observations, a vector in the dtype of the divisor."""
    v = lax.convert_element_type(value(given, name, argument), _real_dtype(x))
    if v.shape != x.shape[1:]:
        raise ValueError(
            f"{name}: {argument} must be a vector of {x.shape[1]} elements"
        )
    return v


def _times(x: Any, y: Any) -> Any:
    """The product of what is given of two vectors."""
    if x is None or y is None:
        return y if x is None else x
    return lax.mul(x, y)


def _real_dtype(x: Value) -> Any:
    return (
        np.dtype(np.float32)
        if x.dtype == np.complex64
        else (np.dtype(np.float64) if x.dtype == np.complex128 else x.dtype)
    )


@planned_whole
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Value:
    """The correlation matrix R[i, j] = C[i, j] / √(C[i, i] C[j, j]): see `cov`.

    >>> import tetrad.numpy as jnp
    >>> jnp.corrcoef(jnp.array([[1., 2., 3.], [3., 2., 1.]]))
    Array([[ 1., -1.],
           [-1.,  1.]], dtype=float32)
    """
    c = _covariance(x, y, rowvar, False, None, None, None, dtype, "jnp.corrcoef")
    if not c.ndim:
        return c / c  # type: ignore[no-any-return, operator]
    variances = create.diagonal(c)
    spread = lax.sqrt(lax.real(variances) if c.aval.kind == "c" else variances)
    c = c / spread[:, None] / spread[None, :]  # type: ignore[operator]
    if c.aval.kind == "c":
        parts = [
            lax.clamp(number(p, -1), p, number(p, 1))
            for p in (lax.real(c), lax.imag(c))
        ]
        return lax.complex(*parts)
    return lax.clamp(number(c, -1), c, number(c, 1))


def histogramdd(
    sample: Any,
    bins: Any = 10,
    range: Sequence[Any] | None = None,
    weights: Any = None,
    density: bool | None = None,
) -> tuple[Value, list[Value]]:
    """(how many rows of `sample` fall into each cell of a grid, the edges of the axes).

    >>> import tetrad.numpy as jnp
    >>> jnp.histogramdd(jnp.array([[0., 0.], [1., 1.]]), bins=2)[0]
    Array([[1, 0],
           [0, 1]], dtype=int32)
    """
    name = "jnp.histogramdd"
    w: Any = None
    if weights is None:
        x = value(promote_floats(name, sample)[0], name)
    else:
        x, w = [value(v, name) for v in promote_floats(name, sample, weights)]
    if x.ndim == 1:
        x = lax.reshape(x, (x.size, 1))
    if x.ndim != 2:
        raise ValueError(f"{name} takes rows of coordinates, got {describe(x)}")
    count, axes = x.shape
    per_axis = list(bins) if isinstance(bins, (list, tuple)) else [bins] * axes
    ranges = list(range) if range is not None else [None] * axes
    if len(per_axis) != axes or len(ranges) != axes:
        raise ValueError(
            f"{name}: bins and range must have one entry for each of {axes} axes"
        )
    flat: Any = lax.full((count,), np.int32(0))
    inside: Any = lax.full((count,), np.bool_(True))
    edges: list[Any] = []
    shape = []
    for i, (b, r) in enumerate(zip(per_axis, ranges)):
        column = x[:, i]
        edge: Any = histogram_bin_edges(column, b, r)
        n = edge.shape[0] - 1
        place: Any = searchsorted(edge, column, "right")
        place = place - 1
        place = lax.select(lax.eq(column, edge[-1]), number(place, n - 1), place)
        inside = inside & (place >= 0) & (place < n)
        flat = flat * n + lax.clamp(number(place, 0), place, number(place, n - 1))
        edges.append(edge)
        shape.append(n)
    if w is None:
        w = lax.full((count,), int_dtype().type(1))
    w = lax.select(inside, w, number(w, 0))
    counts = lax.reshape(bincount(flat, w, length=math.prod(shape)), shape)
    if density:
        counts = lax.convert_element_type(counts, x.dtype)
        counts = counts / summed(counts, name=name)
        for i, edge in enumerate(edges):
            widths = edge[1:] - edge[:-1]
            wide = [n if j == i else 1 for j, n in enumerate(shape)]
            counts = counts / lax.reshape(widths, wide)
    return counts, edges


def histogram2d(
    x: Any,
    y: Any,
    bins: Any = 10,
    range: Any = None,
    weights: Any = None,
    density: bool | None = None,
) -> tuple[Value, Value, Value]:
    """(how many points (x, y) fall into each cell, the edges in x, the edges in y).

    >>> import tetrad.numpy as jnp
    >>> jnp.histogram2d(jnp.array([0., 1.]), jnp.array([0., 1.]), bins=2)[0]
    Array([[1, 0],
           [0, 1]], dtype=int32)
    """
    name = "jnp.histogram2d"
    points = [value(v, name) for v in promote_dtypes(name, x, y)]
    sample = assemble.stack([lax.reshape(p, (p.size,)) for p in points], axis=1)
    if not isinstance(bins, (list, tuple)) and not isinstance(bins, int):
        bins = [bins, bins]
    counts, edges = histogramdd(sample, bins, range, weights, density)
    return counts, edges[0], edges[1]
