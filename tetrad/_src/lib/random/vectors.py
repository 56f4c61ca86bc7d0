"""Random vectors and matrices: in balls, normal with a covariance, orthogonal.

In: keys, dimensions, parameters. Out: arrays whose last axes are the vectors or
matrices.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tetrad._src.control.compiled import compiled
from tetrad._src.core.bind import aval_of
from tetrad._src.lib.random.arguments import (
    Shape,
    float_dtype,
    no_sharding,
    pick,
    scalar,
    shape_of,
    spread_out,
)
from tetrad._src.lib.random.continuous import exponentials
from tetrad._src.lib.random.gamma import spread_by_power
from tetrad._src.lib.random.keys import Key, one_key
from tetrad._src.lib.random.uniform import normal, standard_normal
from tetrad._src.numpy import contract, convert, decompositions, linalg
from tetrad._src.numpy import shape as shape_functions
from tetrad._src.numpy.axes import static_int
from tetrad._src.ops import elementwise as ops
from tetrad._src.ops import random
from tetrad._src.ops.convert import convert_element_type
from tetrad._src.ops.reduce import reduce_max, reduce_sum
from tetrad._src.ops.shape import full_like
from tetrad._src.ops.views import broadcast_in_dim
from tetrad._src.util import dtypes


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


def multivariate_normal(
    key: Key,
    mean: Any,
    cov: Any,
    shape: Shape | None = None,
    dtype: Any = None,
    method: str = "cholesky",
    *,
    out_sharding: Any = None,
) -> Any:
    """Normal vectors of the given mean, shape (…, n), and covariance, shape (…, n, n).

    The leading axes broadcast to `shape`; the result has shape (*shape, n). It is
    mean + A z with A Aᵀ = cov. `method` says how A is found: "cholesky" is fastest and
    needs a positive definite matrix, where "eigh" and "svd" take singular ones too.
    ValueError for shapes that do not fit and unknown methods.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> key, cov = jax.random.key(0), jnp.array([[2.0, 1.0], [1.0, 2.0]])
    >>> jax.random.multivariate_normal(key, jnp.zeros(2), cov, (5,)).shape
    (5, 2)
    """
    name = "multivariate_normal"
    no_sharding(out_sharding, name)
    if method not in ("cholesky", "eigh", "svd"):
        raise ValueError(
            f"jax.random.{name}: method must be 'cholesky', 'eigh' or 'svd', got"
            f" {method!r}"
        )
    dtype = float_dtype(dtype, name)
    typed, _ = one_key(key, name)
    mean = convert.operand(mean, f"random.{name}", "mean")
    cov = convert.operand(cov, f"random.{name}", "cov")
    one, two = aval_of(mean).shape, aval_of(cov).shape
    if not one or len(two) < 2 or two[-2:] != (one[-1], one[-1]):
        raise ValueError(
            f"jax.random.{name}: mean must have shape (…, n) and cov shape (…, n, n), got"
            f" mean of shape {one} and cov of shape {two}"
        )
    try:
        common = np.broadcast_shapes(one[:-1], two[:-2])
        full = common if shape is None else shape_of(shape, name)
        fits = np.broadcast_shapes(common, full) == full
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            f"jax.random.{name}: mean of shape {one} and cov of shape {two} do not"
            f" broadcast to shape={shape}: only the axes before the last one of mean,"
            " and before the last two of cov, are the batch"
        )
    mean, cov = [convert_element_type(x, dtype) for x in (mean, cov)]
    return _multivariate_normal(
        typed, mean, cov, shape=(*full, one[-1]), dtype=dtype, method=method
    )


@compiled
def _multivariate_normal(
    typed: Any, mean: Any, cov: Any, shape: tuple[int, ...], dtype: Any, method: str
) -> Any:
    if method == "cholesky":
        root = decompositions.cholesky(cov)
    elif method == "eigh":
        values, vectors = decompositions.eigh(cov)
        root = _scaled_columns(vectors, values, dtype)
    else:
        vectors, values, _ = decompositions.svd(cov)
        root = _scaled_columns(vectors, values, dtype)
    normal = standard_normal(typed, shape, dtype)
    return ops.add(contract.matvec(root, normal), spread_out(mean, shape, dtype))


def _scaled_columns(vectors: Any, variances: Any, dtype: Any) -> Any:
    """Columns by the roots of variances, those that rounding made negative as 0."""
    shape = aval_of(vectors).shape
    last = len(shape) - 2
    if not shape[-1]:
        return vectors
    largest = reduce_max(ops.abs(variances), (last,))
    margin = ops.mul(largest, dtype.type(shape[-1] * dtypes.finfo(dtype).eps))
    margin = broadcast_in_dim(margin, shape[:-1], range(last))
    small = ops.le(ops.abs(variances), margin)
    roots = ops.sqrt(ops.select_n(small, variances, full_like(variances, 0)))
    return ops.mul(vectors, broadcast_in_dim(roots, shape, (*range(last), last + 1)))


def orthogonal(
    key: Key,
    n: int,
    shape: Shape = (),
    dtype: Any = None,
    m: int | None = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Orthogonal (unitary for complex dtypes) n×n matrices, uniformly.

    With `m`, n×m matrices with orthonormal columns, or rows if n < m. The result has
    shape (*shape, n, m). Source: Mezzadri, "How to generate random matrices from the
    classical compact groups", 2007.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> q = jax.random.orthogonal(jax.random.key(0), 3)
    >>> bool(jnp.allclose(q @ q.T, jnp.eye(3), atol=1e-6))
    True
    """
    no_sharding(out_sharding, "orthogonal")
    dtype = dtypes.canonicalize_dtype(float if dtype is None else dtype)
    if dtypes.kind(dtype) not in "fc":
        raise ValueError(
            "jax.random.orthogonal: dtype must be a floating-point or complex type, got"
            f" {dtype.name}"
        )
    typed, _ = one_key(key, "orthogonal")
    n = static_int(n, "jax.random.orthogonal", "n")
    m = n if m is None else static_int(m, "jax.random.orthogonal", "m")
    if min(n, m) < 0:
        raise ValueError(
            f"jax.random.orthogonal: sizes must not be negative, got n={n} and m={m}"
        )
    batch = shape_of(shape, "orthogonal")
    normals = normal(typed, (*batch, max(n, m), min(n, m)), dtype)
    q = _orthogonal(normals)
    return shape_functions.matrix_transpose(q) if n < m else q


@compiled
def _orthogonal(normals: Any) -> Any:
    """Q of a QR decomposition in which R has a positive diagonal."""
    q, r = decompositions.qr(normals)
    signs = ops.sign(linalg.diagonal(r))
    shape = aval_of(q).shape
    axes = (*range(len(shape) - 2), len(shape) - 1)
    return ops.mul(q, broadcast_in_dim(signs, shape, axes))
