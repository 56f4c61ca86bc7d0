"""Statistics of samples: what is most frequent, ranks, the error of a mean.

Ranks and frequencies come from one sort: equal values are then runs of neighbours.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tetrad import lax, numpy

jnp: Any = numpy  # arrays have methods that their type does not state

METHODS = ("average", "min", "max", "dense", "ordinal")


class ModeResult(NamedTuple):
    """What `mode` returns: the most frequent values, and how often they occur."""

    mode: Any
    count: Any


def _flat(a: Any, axis: int | None) -> tuple[Any, int]:
    """The array and the axis to work along, counted from the front."""
    a = jnp.asarray(a)
    if axis is None or a.ndim == 0:
        return a.ravel(), 0
    if not -a.ndim <= axis < a.ndim:
        raise ValueError(f"axis {axis} is out of range for an array of shape {a.shape}")
    return a, axis % a.ndim


def _policy(name: str, policy: str, known: tuple[str, ...]) -> None:
    if policy in known:
        return
    if policy in ("omit", "raise"):
        raise NotImplementedError(
            f"{name}: nan_policy={policy!r} is not supported;"
            f" write one of {', '.join(map(repr, known))}"
        )
    raise ValueError(
        f"{name}: nan_policy must be one of {', '.join(map(repr, known))},"
        f" got {policy!r}"
    )


def _runs(ordered: Any, axis: int) -> tuple[Any, Any, Any]:
    """(starts, first, last): of each place whether a run of equal values begins there,
    and the places where its run begins and ends.
    """
    n = ordered.shape[axis]
    place = lax.broadcasted_iota(jnp.int32, ordered.shape, axis)
    left = lax.slice_in_dim(ordered, 0, n - 1, axis=axis)
    right = lax.slice_in_dim(ordered, 1, n, axis=axis)
    edge = jnp.ones_like(lax.slice_in_dim(place, 0, 1, axis=axis), dtype=bool)
    starts = jnp.concatenate([edge, left != right], axis)
    ends = jnp.concatenate([left != right, edge], axis)
    first = lax.cummax(jnp.where(starts, place, 0), axis)
    last = lax.cummin(jnp.where(ends, place, n - 1), axis, reverse=True)
    return starts, first, last


def mode(
    a: Any, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False
) -> ModeResult:
    """The most frequent value along an axis (the least, if there are several).

    Args:
      a: the array. Each NaN counts as a value of its own.
      axis: the axis; None takes all elements.
      nan_policy: 'propagate'.
      keepdims: whether the axis stays, with size 1.

    >>> from tetrad.scipy import stats
    >>> stats.mode(jnp.array([2, 4, 1, 4]))
    ModeResult(mode=Array(4, dtype=int32), count=Array(2, dtype=int32))
    """
    _policy("mode", nan_policy, ("propagate",))
    shape = jnp.shape(a)
    a, along = _flat(a, axis)
    if a.shape[along] == 0:
        rest = tuple(n for i, n in enumerate(a.shape) if i != along)
        value, count = jnp.full(rest, jnp.nan), jnp.zeros(rest)
    else:
        ordered = jnp.sort(a, axis=along)
        _, first, last = _runs(ordered, along)
        best = jnp.argmax(last - first, axis=along, keepdims=True)
        value = jnp.take_along_axis(ordered, best, along).squeeze(along)
        count = jnp.max(last - first, axis=along) + 1
    if keepdims:
        kept = tuple(
            1 if axis is None or i == along else n for i, n in enumerate(shape)
        )
        value, count = value.reshape(kept), count.reshape(kept)
    return ModeResult(value, count)


def rankdata(
    a: Any,
    method: str = "average",
    *,
    axis: int | None = None,
    nan_policy: str = "propagate",
) -> Any:
    """The ranks of elements, from 1, as floating-point numbers.

    Args:
      a: the array.
      method: what equal values get: 'average', 'min' or 'max' of their ranks, 'dense'
        (ranks without gaps) or 'ordinal' (different ranks, in the order of the array).
      axis: the axis along which to rank; None ranks all elements as one vector.
      nan_policy: 'propagate': where there is a NaN, all ranks are NaN.

    >>> from tetrad.scipy import stats
    >>> stats.rankdata(jnp.array([5, 2, 8, 2]))
    Array([3. , 1.5, 4. , 1.5], dtype=float32)
    """
    _policy("rankdata", nan_policy, ("propagate",))
    if method not in METHODS:
        raise ValueError(
            f"rankdata: method must be one of {', '.join(METHODS)}, got {method!r}"
        )
    a, along = _flat(a, axis)
    dtype = jnp.result_type(float)
    if a.size == 0:
        return jnp.zeros(a.shape, dtype)
    order = jnp.argsort(a, axis=along, stable=True)
    place = jnp.argsort(order, axis=along)
    starts, first, last = _runs(jnp.take_along_axis(a, order, along), along)
    if method == "ordinal":
        rank = place + 1
    elif method == "dense":
        rank = jnp.take_along_axis(jnp.cumsum(starts, axis=along), place, along)
    else:
        ranks = {
            "min": first + 1,
            "max": last + 1,
            "average": (first + last).astype(dtype) / 2 + 1,
        }[method]
        rank = jnp.take_along_axis(ranks, place, along)
    rank = rank.astype(dtype)
    if jnp.issubdtype(a.dtype, jnp.inexact):
        bad = jnp.any(jnp.isnan(a), axis=along, keepdims=True)
        rank = jnp.where(bad, jnp.nan, rank)
    return rank


def sem(
    a: Any,
    axis: int | None = 0,
    ddof: int = 1,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Any:
    """The standard error of the mean: the standard deviation over √n.

    Args:
      a: the array.
      axis: the axis; None takes all elements.
      ddof: what is taken from n in the standard deviation.
      nan_policy: 'propagate', or 'omit' to leave NaNs out.
      keepdims: whether the axis stays, with size 1.

    >>> from tetrad.scipy import stats
    >>> stats.sem(jnp.array([1., 2., 3., 4.])).round(4)
    Array(0.6455, dtype=float32)
    """
    _policy("sem", nan_policy, ("propagate", "omit"))
    a = jnp.asarray(a)
    if not jnp.issubdtype(a.dtype, jnp.inexact):
        a = a.astype(jnp.result_type(float))
    if nan_policy == "omit":
        there = jnp.sum(~jnp.isnan(a), axis=axis, keepdims=keepdims)
        deviation = jnp.nanstd(a, axis=axis, ddof=ddof, keepdims=keepdims)
        return deviation / jnp.sqrt(there.astype(deviation.dtype))
    count = a.size if axis is None else a.shape[axis]
    return jnp.std(a, axis=axis, ddof=ddof, keepdims=keepdims) / count**0.5
