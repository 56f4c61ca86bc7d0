"""Reductions by segment: `segment_ids[i]` says which row of the result gets `data[i]`.

Each function starts from its neutral element and scatters all rows into it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tetrad._src.core.bind import Tracer, Value, aval_of
from tetrad._src.numpy import convert, create, reduce
from tetrad._src.numpy.axes import static_int
from tetrad._src.ops import bounds
from tetrad._src.util import dtypes
from tetrad._src.util.config import config


def _arguments(
    name: str, data: Any, segment_ids: Any, num_segments: Any
) -> tuple[Any, Any, int]:
    data, ids = convert.asarray(data), convert.asarray(segment_ids)
    if ids.aval.kind not in "iu":
        raise TypeError(
            f"{name}: segment_ids must be integers, got {ids.aval.long_name()}"
        )
    if ids.ndim != 1 or data.ndim < 1 or data.shape[0] != ids.shape[0]:
        raise ValueError(
            f"{name}: segment_ids is a vector with one number for each row of data; data is"
            f" {data.aval.long_name()}, segment_ids is {ids.aval.long_name()}"
        )
    if num_segments is not None:
        count = static_int(num_segments, name, "num_segments")
        if count < 0:
            raise ValueError(f"{name}: num_segments must not be negative, got {count}")
        return data, ids, count
    if isinstance(ids, Tracer):
        raise ValueError(
            f"{name}: num_segments decides the shape of the result, so it must be given"
            f" where segment_ids is traced: {name}(data, segment_ids, num_segments=…)"
        )
    return data, ids, max(0, int(np.asarray(ids).max(initial=-1)) + 1)


def _start(dtype: Any, largest: bool) -> Any:
    """The largest or smallest value of `dtype`."""
    kind = dtypes.kind(dtype)
    if kind in "biuf":
        return dtypes.extremes(dtype)[largest]
    return np.inf if largest else -np.inf


def _segments(
    name: str,
    method: str,
    identity: Any,
    data: Any,
    segment_ids: Any,
    num_segments: Any,
    bucket_size: int | None,
    mode: Any,
    promises: dict[str, bool],
) -> Any:
    data, ids, count = _arguments(name, data, segment_ids, num_segments)
    if mode is None and config.tetrad_bounds == "error":
        at = bounds.limit(0, count, True, "segment")
        bounds.look([(ids, at)], (count, *data.shape[1:]), name)
    start = identity(aval_of(data).dtype)
    if bucket_size is None:
        return _scatter(method, start, data, ids, count, mode, promises)
    if bucket_size < 1:
        raise ValueError(f"{name}: bucket_size must be positive, got {bucket_size}")
    parts = [
        _scatter(method, start, data[i:end], ids[i:end], count, mode, promises)
        for i in range(0, data.shape[0], bucket_size)
        for end in [i + bucket_size]
    ]
    whole = _FOLDS[method](convert.array(parts), axis=0)
    return whole.astype(data.dtype)


_FOLDS: dict[str, Any] = {
    "add": reduce.sum,
    "multiply": reduce.prod,
    "min": reduce.min,
    "max": reduce.max,
}


def _scatter(
    method: str,
    start: Any,
    data: Any,
    ids: Any,
    count: int,
    mode: Any,
    promises: dict[str, bool],
) -> Value:
    out: Any = create.full((count, *data.shape[1:]), start, data.dtype)
    return getattr(out.at[ids], method)(  # type: ignore[no-any-return]
        data,
        mode="drop" if mode is None else mode,
        wrap_negative_indices=False,
        **promises,
    )


def _function(name: str, method: str, what: str, identity: Any, example: str) -> Any:
    def segments(
        data: Any,
        segment_ids: Any,
        num_segments: int | None = None,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        bucket_size: int | None = None,
        mode: Any = None,
    ) -> Any:
        return _segments(
            f"ops.{name}",
            method,
            identity,
            data,
            segment_ids,
            num_segments,
            bucket_size,
            mode,
            {
                "indices_are_sorted": indices_are_sorted,
                "unique_indices": unique_indices,
            },
        )

    segments.__name__ = segments.__qualname__ = name
    segments.__doc__ = f"""The {what} of the rows of `data` with each segment number.

    Row i of the result belongs to the rows where `segment_ids` is i; numbers outside
    0 … num_segments - 1 are left out (or as `mode` says for indices out of range).

    Args:
      data: rows to reduce, along its first axis.
      segment_ids: a vector of integers, one for each row.
      num_segments: the length of the result, by default the largest number plus one.
      indices_are_sorted, unique_indices: promises about `segment_ids`.
      bucket_size: reduce this many rows at a time first, for less rounding.

    >>> jax.ops.{name}(jnp.array([2, 3, 4]), jnp.array([0, 0, 1]))
    Array({example}, dtype=int32)
    """
    return segments


segment_sum = _function("segment_sum", "add", "sums", lambda dtype: 0, "[5, 4]")
segment_prod = _function(
    "segment_prod", "multiply", "products", lambda dtype: 1, "[6, 4]"
)
segment_min = _function(
    "segment_min", "min", "minima", lambda dtype: _start(dtype, True), "[2, 4]"
)
segment_max = _function(
    "segment_max", "max", "maxima", lambda dtype: _start(dtype, False), "[3, 4]"
)
