"""Attention by scaled products of queries and keys.

`dot_product_attention` takes queries, keys and values with their masks and gives the
weighted means of the values. Scores and weights are computed in float32 at least.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tetrad._src.core.bind import aval_of
from tetrad._src.lib.nn import logsumexp, softmax
from tetrad._src.numpy import choice, convert, create, logic, shape
from tetrad._src.numpy.einsum import einsum
from tetrad._src.ops.convert import convert_element_type
from tetrad._src.util import dtypes

NAME = "nn.dot_product_attention"


def dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    bias: Any = None,
    mask: Any = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: Any = None,
    key_value_seq_lengths: Any = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: str | None = None,
    return_residual: bool = False,
) -> Any:
    """softmax(query · key / √H + bias) · value, with what `mask` forbids left out.

    Args:
      query: (B, T, N, H): batch, time, heads, features; the batch may be missing.
      key, value: (B, S, K, H); each of the K heads serves N / K heads of the query.
      bias: added to the scores; broadcasts to (B, N, T, S).
      mask: bools, True where a query may look; broadcasts to (B, N, T, S).
      scale: the factor on the products, 1 / √H by default.
      is_causal: whether a query sees no key that comes later.
      query_seq_lengths, key_value_seq_lengths: (B,), how many rows of each sequence
        count; the rest of the result is 0.
      local_window_size: how far a query sees to the left and right.
      implementation: None or "xla", which are the same here.
      return_residual: whether the logarithms of the sums of exponentials, (B, T, N),
        are returned as well.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> x = jnp.ones((1, 3, 2, 4))
    >>> jax.nn.dot_product_attention(x, x, x).shape
    (1, 3, 2, 4)
    """
    if implementation not in (None, "xla"):
        raise NotImplementedError(
            f"{NAME}: implementation={implementation!r} is not available; leave it out"
        )
    q, k, v = [convert.value(x, NAME) for x in (query, key, value)]
    given_rank = q.ndim
    if given_rank == 3:
        q, k, v = [x[None] if x.ndim == 3 else x for x in (q, k, v)]
    _check(q, k, v)
    batch, times, heads, features = q.shape
    groups = heads // k.shape[2]
    q5 = shape.reshape(q, (batch, times, heads // groups, groups, features))
    scores: Any = einsum(
        "btkgh,bskh->bkgts", q5, k, preferred_element_type=_wide(q.dtype)
    )
    scores = shape.reshape(scores, (batch, heads, times, k.shape[1]))
    scores = scores * (1 / math.sqrt(features) if scale is None else scale)
    if bias is not None:
        scores = scores + convert_element_type(_rank4(bias, "bias"), scores.dtype)
    lengths = query_seq_lengths, key_value_seq_lengths
    allowed = _allowed(
        times, k.shape[1], mask, is_causal, *lengths, _window(local_window_size)
    )
    if allowed is not None:
        low = scores.dtype.type(-0.7 * float(dtypes.finfo(scores.dtype).max))
        scores = choice.where(allowed, scores, low)
    weights = convert_element_type(softmax(scores), k.dtype)
    weights = shape.reshape(
        weights, (batch, heads // groups, groups, times, k.shape[1])
    )
    out: Any = shape.reshape(einsum("bkgts,bskh->btkgh", weights, v), q.shape)
    residual: Any = shape.transpose(logsumexp(scores, axis=-1), (0, 2, 1))
    if query_seq_lengths is not None:
        rows = _before(times, query_seq_lengths)
        out = out * convert_element_type(rows[:, :, None, None], out.dtype)
        residual = residual * convert_element_type(rows[:, :, None], residual.dtype)
    if given_rank == 3:
        out, residual = out[0], residual[0]
    if return_residual:
        return out, convert_element_type(residual, q.dtype)
    return out


def _wide(dtype: Any) -> Any:
    return dtype if dtype.itemsize >= 4 else np.dtype("float32")


def _check(q: Any, k: Any, v: Any) -> None:
    shapes = f"query is {q.shape}, key {k.shape}, value {v.shape}"
    if not q.ndim == k.ndim == v.ndim == 4:
        raise ValueError(
            f"{NAME}: query, key and value have 4 axes (batch, time, heads, features)"
            f" or 3 (without batch); {shapes}"
        )
    if k.shape != v.shape or q.shape[0] != k.shape[0] or q.shape[3] != k.shape[3]:
        raise ValueError(
            f"{NAME}: batches and features must agree, and key and value in all; {shapes}"
        )
    if not k.shape[2] or q.shape[2] % k.shape[2]:
        raise ValueError(
            f"{NAME}: the {q.shape[2]} heads of the query must be a multiple of the"
            f" {k.shape[2]} heads of the key; {shapes}"
        )
    if not q.dtype == k.dtype == v.dtype:
        raise ValueError(
            f"{NAME}: query, key and value must have one dtype, got {q.dtype.name},"
            f" {k.dtype.name} and {v.dtype.name}"
        )


def _rank4(x: Any, argument: str) -> Any:
    x = convert.value(x, NAME, argument)
    while x.ndim < 4:
        x = x[None]
    return x


def _window(size: int | tuple[int, int] | None) -> tuple[int, int] | None:
    return (size, size) if isinstance(size, int) else size


def _allowed(
    times: int,
    keys: int,
    mask: Any,
    is_causal: bool,
    query_lengths: Any,
    key_lengths: Any,
    window: tuple[int, int] | None,
) -> Any:
    """Where a query may look at a key, as something that broadcasts; None: everywhere."""
    parts = []
    if mask is not None:
        mask = _rank4(mask, "mask")
        if aval_of(mask).kind != "b":
            raise ValueError(
                f"{NAME}: mask must hold bools, got {mask.aval.long_name()}; numbers to"
                " add to the scores go to bias"
            )
        parts.append(mask)
    rows: Any = create.arange(times)
    columns: Any = create.arange(keys)
    row, column = rows[:, None], columns[None, :]
    if is_causal:
        parts.append((column <= row)[None, None])
    if window is not None:
        near = logic.logical_and(column >= row - window[0], column <= row + window[1])
        parts.append(near[None, None])
    if query_lengths is not None:
        parts.append(_before(times, query_lengths)[:, None, :, None])
    if key_lengths is not None:
        parts.append(_before(keys, key_lengths)[:, None, None, :])
    if not parts:
        return None
    allowed = parts[0]
    for part in parts[1:]:
        allowed = logic.logical_and(allowed, part)
    return allowed


def _before(count: int, lengths: Any) -> Any:
    """(B, count): which positions come before the length of their sequence."""
    lengths = convert.value(lengths, NAME, "sequence lengths")
    positions: Any = create.arange(count)
    return positions[None, :] < lengths[:, None]
