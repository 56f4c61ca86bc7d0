"""`lax.linalg.qdwh`: the polar decomposition by Halley's iteration.

In: a matrix with at least as many rows as columns. Out: A = U·H, the columns of U
orthonormal and H Hermitian with no negative eigenvalue. Each step is a rational function
of the singular values that takes all of an interval [l, 1] nearer to 1; since l is known
before the first step, so are the weights of all of them.

Read `_weights`, then `qdwh`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tetrad._src.control.cond import cond
from tetrad._src.control.loop import while_loop
from tetrad._src.numpy import assemble, contract, convert, create, lax, linalg
from tetrad._src.numpy.decompositions import matrices
from tetrad._src.numpy.shape import matrix_transpose
from tetrad._src.ops.factor import cholesky, qr, triangular_solve
from tetrad._src.util import dtypes

STABLE = 100.0  # up to this weight Gram's matrix may be factored instead of a tall one


def _weights(lowest: float, count: int) -> list[tuple[float, float, float, float]]:
    """(a, b, c, l) of `count` steps x ← x·(a + b·x²)/(1 + c·x²), from [lowest, 1].

    After a step singular values lie in [l, 1].
    """
    found = []
    low = lowest
    for _ in range(count):
        square = low * low
        d = (4 * max(1 - square, 0.0) / (square * square)) ** (1 / 3)
        root = math.sqrt(1 + d)
        a = root + 0.5 * math.sqrt(
            max(8 - 4 * d + 8 * (2 - square) / (square * root), 0.0)
        )
        b = (a - 1) ** 2 / 4
        c = a + b - 1
        low = min(1.0, low * (a + b * square) / (1 + c * square))
        found.append((a, b, c, low))
    return found


def _times(x: Any, y: Any) -> Any:
    return contract.matmul(x, y, precision="highest")


def _adjoint(x: Any) -> Any:
    turned: Any = matrix_transpose(x)
    return turned.conj()


def _by_qr(x: Any, a: Any, b: Any, c: Any) -> Any:
    rows, columns = x.shape
    root = lax.sqrt(c)
    tall = assemble.concatenate([x * root, create.eye(columns, dtype=x.dtype)])
    q, _ = qr(tall, full_matrices=False)
    return x * (b / c) + _times(q[:rows], _adjoint(q[rows:])) * ((a - b / c) / root)


def _by_cholesky(x: Any, a: Any, b: Any, c: Any) -> Any:
    gram = create.eye(x.shape[1], dtype=x.dtype) + _times(_adjoint(x), x) * c
    factor = cholesky(gram)
    half: Any = triangular_solve(
        factor, x, lower=True, transpose_a=True, conjugate_a=True
    )
    whole: Any = triangular_solve(factor, half, lower=True)
    return x * (b / c) + whole * (a - b / c)


def _norm(x: Any, order: Any = None) -> Any:
    return linalg.norm(x, order)


def qdwh(
    x: Any,
    *,
    is_hermitian: bool = False,
    max_iterations: int | None = None,
    eps: float | None = None,
    dynamic_shape: tuple[Any, Any] | None = None,
) -> tuple[Any, Any, Any, Any]:
    """The polar decomposition A = U·H, UᴴU = 1 and H = Hᴴ ≥ 0, of a matrix of full rank.

    x[m, n] with m ≥ n → (U[m, n], H[n, n], the number of steps, whether it converged).

    Args:
      x: a matrix of floats or complex numbers.
      is_hermitian: promises that `x` is Hermitian; then U is too, to the last bit.
      max_iterations: stops after this many steps; 10 if None.
      eps: steps end when they change x by less than (4·eps)^(1/3) of its norm, and
        have brought singular values within 10·eps of 1; the distance between floats
        near 1 if None.
      dynamic_shape: (m, n) of the part of `x` that counts, from its first element on;
        U and H are 0 outside of it.

    ValueError if m < n, or for what is no matrix.
    Source: Nakatsukasa, Bai and Gygi, SIAM J. Matrix Anal. Appl. 31 (2010)

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> u, h, steps, converged = lax.linalg.qdwh(jnp.array([[0., -2.], [1., 0.]]))
    >>> abs(u).round(4).tolist(), abs(h).round(4).tolist(), bool(converged)
    ([[0.0, 1.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 2.0]], True)
    """
    x = matrices("lax.linalg.qdwh", "x", x, square=False)
    if x.ndim != 2 or x.shape[0] < x.shape[1]:
        raise ValueError(
            "lax.linalg.qdwh: x must be a matrix with at least as many rows as columns,"
            f" got {x.aval.long_name()}. Of a wide matrix decompose the transpose."
        )
    if is_hermitian and x.shape[0] != x.shape[1]:
        raise ValueError(
            f"lax.linalg.qdwh: is_hermitian=True, but x is {x.aval.long_name()}, which"
            " is not square"
        )
    count = 10 if max_iterations is None else int(max_iterations)
    if eps is None:
        eps = float(dtypes.finfo(x.dtype).eps)
    if dynamic_shape is not None:
        x = _masked(x, dynamic_shape)
    u, steps, converged = _iterate(x, count, float(eps))
    if is_hermitian:
        u = (u + _adjoint(u)) * 0.5
    h = _times(_adjoint(u), x)
    return u, (h + _adjoint(h)) * 0.5, steps, converged


def _masked(x: Any, shape: tuple[Any, Any]) -> Any:
    rows, columns = [create.arange(n) < keep for n, keep in zip(x.shape, shape)]
    return lax.select(rows[:, None] & columns[None], x, create.zeros_like(x))


def _iterate(x: Any, count: int, eps: float) -> tuple[Any, Any, Any]:
    real = np.dtype(dtypes.finfo(x.dtype).dtype)
    table = _weights(float(dtypes.finfo(x.dtype).eps), max(count, 1))
    weights: Any = convert.asarray(np.array(table, real))
    one, other = _norm(x, 1), _norm(x, np.inf)
    size = lax.sqrt(one * other)
    start = x / lax.select(size > 0, size, create.ones_like(size))
    # A step that changes little has converged only if it left no small singular value.
    limit, near = (4 * eps) ** (1 / 3), 10 * eps

    def turning(state: Any) -> Any:
        step, _, moves = state
        return (step < count) & moves

    def turn(state: Any) -> Any:
        step, old, _ = state
        a, b, c, low = weights[step]
        new = cond(c > STABLE, _by_qr, _by_cholesky, old, a, b, c)
        moves = _norm(new - old) > limit * _norm(new)
        return step + 1, new, moves | (low < 1 - near)

    begin = (convert.asarray(0), start, convert.asarray(True))
    found: Any = while_loop(turning, turn, begin)
    steps, u, moves = found
    # What the last step leaves of the order of its change cubed, one of Newton's removes.
    u = u * 1.5 - _times(u, _times(_adjoint(u), u)) * 0.5
    return u, steps, ~moves
