"""Orders and choices: categorical draws, permutations, samples with and without weights.

In: keys, and what is drawn from. Out: indices or elements, the same as JAX's.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tetrad._src.core.bind import aval_of
from tetrad._src.lib.compiled import compiled
from tetrad._src.lib.random.arguments import Shape, pick, shape_of
from tetrad._src.lib.random.continuous import gumbel
from tetrad._src.lib.random.keys import Key, one_key
from tetrad._src.lib.random.uniform import randint, uniform
from tetrad._src.numpy import convert, create, elementwise, index, reduce, search
from tetrad._src.ops import cumulative, random
from tetrad._src.ops import elementwise as ops
from tetrad._src.ops import shape as shape_ops
from tetrad._src.ops.convert import convert_element_type
from tetrad._src.ops.sort import sort_key_val, top_k
from tetrad._src.util import dtypes


def categorical(
    key: Key, logits: Any, axis: int = -1, shape: Shape | None = None
) -> Any:
    """Indices along `axis`, drawn with probabilities softmax(logits).

    The result has the shape of logits without `axis`; a longer `shape` draws more.
    """
    logits = convert.operand(logits, "random.categorical", "logits")
    aval = aval_of(logits)
    if not aval.ndim:
        raise ValueError("jax.random.categorical needs logits of at least one axis")
    axis = axis % aval.ndim
    batch = aval.shape[:axis] + aval.shape[axis + 1 :]
    full = batch if shape is None else shape_of(shape, "categorical")
    prefix = full[: len(full) - len(batch)]
    if full[len(prefix) :] != batch:
        raise ValueError(
            f"jax.random.categorical: shape={full} must end in {batch}, the shape of"
            " the logits without their category axis"
        )
    dtype = aval.dtype if aval.kind == "f" else dtypes.canonicalize_dtype(float)
    noise = gumbel(key, (*prefix, *aval.shape), dtype)
    scores = elementwise.add(noise, logits)
    return reduce.argmax(scores, axis=axis + len(prefix))


def permutation(key: Key, x: Any, axis: int = 0, independent: bool = False) -> Any:
    """`x` in random order along `axis`, or the numbers 0 to x - 1 if x is an integer.

    With `independent=True` every slice is shuffled by itself.
    """
    typed, _ = one_key(key, "permutation")
    if isinstance(x, (int, np.integer)):
        return _shuffle(typed, create.arange(int(x)), axis=0)
    x = convert.operand(x, "random.permutation", "x")
    aval = aval_of(x)
    if not aval.ndim:
        if aval.kind not in "iu" or not hasattr(x, "__index__"):
            raise TypeError(
                f"jax.random.permutation takes an array or an integer, got {x!r}"
            )
        return _shuffle(typed, create.arange(int(x)), axis=0)
    axis = axis % aval.ndim
    if independent or aval.ndim == 1:
        return _shuffle(typed, x, axis=axis)
    chosen = _shuffle(typed, create.arange(aval.shape[axis]), axis=0)
    return take(x, chosen, axis)


@compiled
def _shuffle(typed: Any, x: Any, axis: int) -> Any:
    """Sorts by random keys, often enough that equal keys do not matter."""
    size = max(1, aval_of(x).size)
    rounds = math.ceil(3 * math.log(size) / math.log(2**32 - 1))
    for _ in range(rounds):
        keys = random.random_split(typed, (2,))
        typed, sub = pick(keys, 0), pick(keys, 1)
        words = random.random_bits(sub, 32, aval_of(x).shape)
        _, x = sort_key_val(words, x, dimension=axis)
    return x


def choice(
    key: Key,
    a: Any,
    shape: Shape = (),
    replace: bool = True,
    p: Any = None,
    axis: int = 0,
) -> Any:
    """Elements drawn from `a` (or from 0 to a - 1) along `axis`.

    With weights `p`, element i is drawn with probability p[i] / sum(p); without
    replacement the draws are distinct.
    """
    shape = shape_of(shape, "choice")
    is_count = isinstance(a, (int, np.integer))
    if not is_count:
        a = convert.operand(a, "jax.random.choice", "a")
        if not aval_of(a).ndim:
            raise TypeError(
                f"jax.random.choice: a must be an integer or an array with axes, got {a!r}"
            )
        axis = axis % aval_of(a).ndim if aval_of(a).ndim else 0
    count = int(a) if is_count else aval_of(a).shape[axis]
    draws = math.prod(shape)
    if count <= 0 and draws:
        raise ValueError("jax.random.choice cannot draw from nothing")
    if not replace and draws > count:
        raise ValueError(
            f"jax.random.choice cannot draw {draws} distinct elements from {count};"
            " pass replace=True"
        )
    if p is None and not replace:
        order_of = permutation(key, count)
        picked = shape_ops.slice(order_of, (0,), (draws,))
    elif p is None:
        picked = randint(key, (draws,), 0, count)
    else:
        picked = _weighted(key, p, count, draws, replace)
    picked = shape_ops.reshape(picked, shape)
    return picked if is_count else take(a, picked, axis)


def _weighted(key: Key, p: Any, count: int, draws: int, replace: bool) -> Any:
    p = convert.operand(p, "random.choice", "p")
    dtype = aval_of(p).dtype
    if dtypes.kind(dtype) != "f":
        p = convert_element_type(p, dtypes.canonicalize_dtype(float))
        dtype = aval_of(p).dtype
    if aval_of(p).shape != (count,):
        raise ValueError(
            f"jax.random.choice: p has shape {aval_of(p).shape}, but there are {count}"
            f" elements to draw from, so it must be ({count},)"
        )
    if replace:
        total = cumulative.cumsum(p, axis=0)
        u = uniform(key, (draws,), dtype)
        last = pick(total, count - 1)
        level = ops.mul(last, ops.sub(dtype.type(1), u))
        return search.searchsorted(total, level)
    noise = ops.add(gumbel(key, (count,), dtype), ops.log(p))
    return top_k(noise, draws)[1]


def take(x: Any, places: Any, axis: int) -> Any:
    return index.getitem(x, (*[slice(None)] * axis, places))
