"""Random vectors: in balls.

In: keys, dimensions, parameters. Out: arrays whose last axes are the vectors.
"""

from __future__ import annotations

from typing import Any

from tetrad._src.lib.compiled import compiled
from tetrad._src.lib.random.arguments import (
    Shape,
    float_dtype,
    no_sharding,
    pick,
    scalar,
    shape_of,
)
from tetrad._src.lib.random.continuous import exponentials
from tetrad._src.lib.random.gamma import spread_by_power
from tetrad._src.lib.random.keys import Key, one_key
from tetrad._src.numpy.axes import static_int
from tetrad._src.ops import elementwise as ops
from tetrad._src.ops import random
from tetrad._src.ops.reduce import reduce_sum
from tetrad._src.ops.views import broadcast_in_dim


def ball(
    key: Key,
    d: int,
    p: Any = 2,
    shape: Shape = (),
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Points in the unit ball of the Lp norm in d dimensions, uniformly.

    The result has shape (*shape, d).

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> x = jax.random.ball(jax.random.key(0), 3, shape=(100,))
    >>> bool((jnp.linalg.norm(x, axis=-1) < 1).all())
    True
    """
    no_sharding(out_sharding, "ball")
    dtype = float_dtype(dtype, "ball")
    typed, _ = one_key(key, "ball")
    d = static_int(d, "jax.random.ball", "d")
    if d < 0:
        raise ValueError(f"jax.random.ball: d must not be negative, got {d}")
    p = scalar(p, dtype, "ball", "p")
    return _ball(typed, p, shape=(*shape_of(shape, "ball"), d), dtype=dtype)


@compiled
def _ball(typed: Any, p: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Generalised normal numbers over a norm with one more, exponential, coordinate.

    Source: Barthe, Guédon, Mendelson and Naor, "A probabilistic approach to the geometry
    of the ℓp-ball", 2005.
    """
    keys = random.random_split(typed, (2,))
    points = spread_by_power(pick(keys, 0), p, shape, dtype)
    more = exponentials(pick(keys, 1), shape[:-1], dtype)
    p = ops.mul(p, dtype.type(1))
    total = reduce_sum(ops.pow(ops.abs(points), p), (len(shape) - 1,))
    norm = ops.pow(ops.add(total, more), ops.div(dtype.type(1), p))
    return ops.div(points, broadcast_in_dim(norm, shape, range(len(shape) - 1)))
