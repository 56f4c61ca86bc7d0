"""Products of matrices with themselves, and Cholesky factors after a change of rank 1."""

from __future__ import annotations

from typing import Any

from tetrad._src.control.loop import fori_loop
from tetrad._src.core.bind import aval_of
from tetrad._src.numpy import contract, create, lax, shape
from tetrad._src.numpy.decompositions import matrices
from tetrad._src.ops.families import check_operand


def symmetric_product(
    a_matrix: Any,
    c_matrix: Any,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    symmetrize_output: bool = False,
) -> Any:
    """alpha · A · Aᵀ + beta · C, for a symmetric C.

    a[..., m, n], c[..., m, m] → [..., m, m]. `symmetrize_output` copies the lower triangle
    of the result to the upper one. ValueError if shapes differ.

    >>> import tetrad.numpy as jnp
    >>> from tetrad import lax
    >>> lax.linalg.symmetric_product(jnp.ones((2, 3)), jnp.eye(2), beta=2.0).tolist()
    [[5.0, 3.0], [3.0, 5.0]]
    """
    name = "lax.linalg.symmetric_product"
    a: Any = check_operand(a_matrix, name)
    c: Any = check_operand(c_matrix, name, 1)
    rows = (*aval_of(a).shape[:-1], *aval_of(a).shape[-2:-1])
    if aval_of(a).ndim < 2 or aval_of(c).shape != rows:
        raise ValueError(
            f"{name}: c_matrix must have shape {rows} for a_matrix"
            f" {aval_of(a).long_name()}, got {aval_of(c).long_name()}"
        )
    turned = shape.matrix_transpose(a)
    product: Any = contract.matmul(a, turned, precision="highest")
    out = product * alpha + c * beta
    if not symmetrize_output:
        return out
    lower: Any = create.tril(out)
    return lower + shape.matrix_transpose(create.tril(out, -1))


def cholesky_update(r_matrix: Any, w_vector: Any) -> Any:
    """The upper R' with R'ᵀ·R' = Rᵀ·R + w·wᵀ, in n² operations.

    r[n, n] upper triangular, w[n]. TypeError or ValueError for other shapes.

    >>> import tetrad.numpy as jnp
    >>> from tetrad import lax
    >>> lax.linalg.cholesky_update(jnp.eye(1), jnp.array([3.0 ** 0.5])).round(4).tolist()
    [[2.0]]
    """
    name = "lax.linalg.cholesky_update"
    r: Any = matrices(name, "r_matrix", r_matrix)
    w: Any = check_operand(w_vector, name, 1)
    n = r.shape[-1]
    if r.ndim != 2 or aval_of(w).shape != (n,) or r.aval.kind == "c":
        raise ValueError(
            f"{name}: r_matrix must be a real matrix and w_vector a vector of its order,"
            f" got {r.aval.long_name()} and {aval_of(w).long_name()}"
        )
    w = lax.convert_element_type(w, r.dtype)
    places = lax.iota("int32", n)

    def rotate(k: Any, state: Any) -> Any:
        # A rotation of row k and w makes w[k] zero.
        r, w = state
        row = r[k]
        length = lax.sqrt(row[k] * row[k] + w[k] * w[k])
        length = lax.select(lax.eq(length, 0), length * 0 + 1, length)
        c, s = row[k] / length, w[k] / length
        later = lax.ge(places, k)
        new = lax.select(later, c * row + s * w, row)
        left = lax.select(later, c * w - s * row, w)
        return r.at[k].set(new), left

    out, _ = fori_loop(0, n, rotate, (r, w))
    return out
