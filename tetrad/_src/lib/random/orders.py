"""Orders and choices: categorical draws, permutations, samples with and without weights.

In: keys, and what is drawn from. Out: indices or elements, the same as JAX's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tetrad._src.control.compiled import compiled
from tetrad._src.core.bind import Tracer, aval_of
from tetrad._src.lib.random.arguments import (
    Shape,
    no_sharding,
    pick,
    shape_of,
    spread_out,
)
from tetrad._src.lib.random.continuous import gumbel
from tetrad._src.lib.random.keys import Key, one_key
from tetrad._src.lib.random.uniform import check_mode, randint, uniform
from tetrad._src.numpy import convert, create, index, reduce, search
from tetrad._src.numpy import shape as shape_functions
from tetrad._src.numpy.axes import axis_argument, static_int
from tetrad._src.ops import cumulative, random
from tetrad._src.ops import elementwise as ops
from tetrad._src.ops import shape as shape_ops
from tetrad._src.ops.convert import convert_element_type
from tetrad._src.ops.sort import sort_key_val, top_k
from tetrad._src.transforms.tracer_methods import primal_of
from tetrad._src.util import dtypes


def categorical(
    key: Key,
    logits: Any,
    axis: int = -1,
    shape: Shape | None = None,
    replace: bool = True,
    mode: str | None = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Indices along `axis`, drawn with probabilities softmax(logits).

    The result has the shape of logits without `axis`; a longer `shape` draws more, of
    which those for one row of logits are distinct if `replace` is False. `mode` is that
    of `gumbel`. ValueError if there are fewer categories than distinct draws.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> logits = jnp.log(jnp.array([0.0, 0.5, 0.5]))
    >>> int(jax.random.categorical(jax.random.key(0), logits, shape=(50,)).min())
    1
    """
    no_sharding(out_sharding, "categorical")
    check_mode(mode, "categorical", "highest")
    typed, _ = one_key(key, "categorical")
    logits = convert.operand(logits, "random.categorical", "logits")
    aval = aval_of(logits)
    if aval.kind not in "fiub":
        raise TypeError(
            f"jax.random.categorical: logits must be real numbers, got {aval.long_name()}"
        )
    if not aval.ndim:
        raise ValueError("jax.random.categorical needs logits of at least one axis")
    axis = axis_argument(axis, aval.ndim, "jax.random.categorical")
    batch = aval.shape[:axis] + aval.shape[axis + 1 :]
    full = batch if shape is None else shape_of(shape, "categorical")
    tail = _tail_of(full, batch)
    prefix = full[: len(full) - len(batch)]
    dtype = aval.dtype if aval.kind == "f" else dtypes.canonicalize_dtype(float)
    rows = (*tail[:axis], aval.shape[axis], *tail[axis:])
    logits = convert_element_type(logits, dtype)
    if replace:
        noise = gumbel(typed, (*prefix, *rows), dtype, mode)
        scores = ops.add(noise, spread_out(logits, (*prefix, *rows), dtype))
        return reduce.argmax(scores, axis=axis + len(prefix))
    draws = math.prod(prefix)
    if draws > aval.shape[axis]:
        raise ValueError(
            "jax.random.categorical: Number of samples without replacement, which is"
            f" {draws} for shape={full}, is more than the {aval.shape[axis]} categories;"
            " pass replace=True"
        )
    noise = gumbel(typed, rows, dtype, mode)
    scores = ops.add(noise, spread_out(logits, rows, dtype))
    chosen = top_k(shape_functions.moveaxis(scores, axis, -1), draws)[1]
    return shape_ops.reshape(shape_functions.moveaxis(chosen, -1, 0), full)


def _tail_of(shape: tuple[int, ...], batch: tuple[int, ...]) -> tuple[int, ...]:
    """The end of the shape of categorical draws, to which the logits broadcast."""
    tail = shape[len(shape) - len(batch) :]
    try:
        fits = len(tail) == len(batch) and np.broadcast_shapes(tail, batch) == tail
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            f"jax.random.categorical: shape={shape} must end in {batch}, the shape of"
            " the logits without their category axis"
        )
    return tail


# ------------------------------------------------------------------- orders and choices


def permutation(
    key: Key,
    x: Any,
    axis: int = 0,
    independent: bool = False,
    *,
    out_sharding: Any = None,
) -> Any:
    """`x` in random order along `axis`, or the numbers 0 to x - 1 if x is an integer.

    With `independent=True` every slice is shuffled by itself.

    >>> import tetrad as jax
    >>> sorted(jax.random.permutation(jax.random.key(0), 4).tolist())
    [0, 1, 2, 3]
    """
    no_sharding(out_sharding, "permutation")
    typed, _ = one_key(key, "permutation")
    x = convert.operand(x, "random.permutation", "x")
    aval = aval_of(x)
    axis = axis_argument(axis, max(aval.ndim, 1), "jax.random.permutation")
    if not aval.ndim:
        return _shuffle(typed, create.arange(_how_many(x)), axis=0)
    if independent or aval.ndim == 1:
        return _shuffle(typed, x, axis=axis)
    chosen = _shuffle(typed, create.arange(aval.shape[axis]), axis=0)
    return take(x, chosen, axis)


def _how_many(x: Any) -> int:
    """The length of a permutation that is given as a number."""
    if aval_of(x).kind not in "iu":
        raise TypeError(
            f"jax.random.permutation takes an array or an integer, got {x!r}"
        )
    count = static_int(x, "jax.random.permutation", "x")
    if count < 0:
        raise ValueError(
            f"jax.random.permutation: the number of elements must not be negative, got"
            f" {count}"
        )
    return count


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
    mode: str | None = None,
) -> Any:
    """Elements drawn from `a` (or from 0 to a - 1) along `axis`.

    With probabilities `p`, element i is drawn with probability p[i]; without replacement
    the draws are distinct, and `mode` is that of `gumbel`. ValueError if p has negative
    numbers or does not sum to 1 (in compiled code, which cannot look, the probabilities
    are p / sum(p)); TypeError unless `shape` is a tuple.

    >>> import tetrad as jax
    >>> sorted(jax.random.choice(jax.random.key(0), 3, (3,), replace=False).tolist())
    [0, 1, 2]
    """
    typed, _ = one_key(key, "choice")
    check_mode(mode, "choice", "highest")
    if not isinstance(shape, Sequence):
        raise TypeError(
            f"jax.random.choice: shape must be a tuple, got {shape!r}; for {shape}"
            f" elements write shape=({shape},)"
        )
    shape = shape_of(shape, "choice")
    a = convert.operand(a, "random.choice", "a")
    is_count = not aval_of(a).ndim
    if is_count and aval_of(a).kind not in "iu":
        raise TypeError(
            f"jax.random.choice: a must be an integer or an array with axes, got {a!r}"
        )
    axis = axis_argument(axis, max(aval_of(a).ndim, 1), "jax.random.choice")
    if is_count:
        count = static_int(a, "jax.random.choice", "a")
    else:
        count = aval_of(a).shape[axis]
    draws = math.prod(shape)
    if count <= 0 and draws:
        raise ValueError("jax.random.choice cannot draw from nothing")
    if not replace and draws > count:
        raise ValueError(
            f"jax.random.choice cannot draw {draws} distinct elements from {count};"
            " pass replace=True"
        )
    if p is not None:
        picked = _weighted(typed, p, count, draws, replace, mode)
    elif replace:
        picked = randint(typed, (draws,), 0, max(count, 1))
    elif aval_of(a).ndim == 1:  # the elements themselves, in random order
        mixed = shape_ops.slice(_shuffle(typed, a, axis=0), (0,), (draws,))
        return shape_ops.reshape(mixed, shape)
    else:
        picked = shape_ops.slice(permutation(typed, count), (0,), (draws,))
    if is_count:
        return shape_ops.reshape(picked, shape)
    taken = take(a, picked, axis)
    kept = aval_of(a).shape
    return shape_ops.reshape(taken, (*kept[:axis], *shape, *kept[axis + 1 :]))


def _weighted(
    key: Key, p: Any, count: int, draws: int, replace: bool, mode: str | None
) -> Any:
    _check_probabilities(p)
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
    if not count:
        return create.zeros((0,), int)
    if replace:
        total = cumulative.cumsum(p, axis=0)
        u = uniform(key, (draws,), dtype)
        last = pick(total, count - 1)
        level = ops.mul(last, ops.sub(dtype.type(1), u))
        return search.searchsorted(total, level)
    noise = ops.add(gumbel(key, (count,), dtype, mode), ops.log(p))
    return top_k(noise, draws)[1]


def _check_probabilities(p: Any) -> None:
    """Raises if p, where its values can be seen, is no distribution."""
    if isinstance(p, Tracer) or isinstance(primal_of(p), Tracer):
        return
    numbers = np.asarray(p)
    if numbers.ndim != 1 or not numbers.size or dtypes.kind(numbers.dtype) not in "fiu":
        return
    wide = numbers.astype(np.float64)
    if not (wide >= 0).all():
        at = int(np.argmin(wide >= 0))
        raise ValueError(
            f"jax.random.choice: probabilities must not be negative, got p[{at}] ="
            f" {wide[at]:g}"
        )
    kind = dtypes.kind(numbers.dtype)
    eps = float(dtypes.finfo(numbers.dtype if kind == "f" else np.float64).eps)
    total = wide.sum()
    if abs(total - 1) > max(math.sqrt(eps), 1e-6):
        raise ValueError(
            f"jax.random.choice: the probabilities p sum to {total:g}, not to 1; to draw"
            " in proportion to weights write p=p / p.sum()"
        )


def take(x: Any, places: Any, axis: int) -> Any:
    return index.getitem(x, (*[slice(None)] * axis, places))
