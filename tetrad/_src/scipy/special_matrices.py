"""Matrices with names: made of a few numbers, of coefficients, or of an extent alone.

Those of an extent are computed on the host in double precision, or in integers, and
rounded once.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tetrad import numpy
from tetrad._src.scipy.arguments import apart, floating

jnp: Any = numpy  # arrays have methods that their type does not state


@apart
def block_diag(*arrs: Any) -> Any:
    """The matrices along the diagonal of one, with zeros around them.

    >>> from tetrad.scipy import linalg
    >>> linalg.block_diag(jnp.ones((1, 2)), 5.0)
    Array([[1., 1., 0.],
           [0., 0., 5.]], dtype=float32)
    """
    blocks = [jnp.atleast_2d(x) for x in (arrs or (jnp.zeros((1, 0)),))]
    for i, block in enumerate(blocks):
        if block.ndim != 2:
            raise ValueError(
                f"block_diag: argument {i} must have at most 2 axes, got {block.shape}"
            )
    dtype = jnp.result_type(*blocks)
    columns = sum(block.shape[1] for block in blocks)
    rows, before = [], 0
    for block in blocks:
        after = columns - before - block.shape[1]
        rows.append(jnp.pad(block.astype(dtype), ((0, 0), (before, after))))
        before += block.shape[1]
    return jnp.concatenate(rows)


@apart
def toeplitz(c: Any, r: Any = None) -> Any:
    """The matrix with constant diagonals, first column `c` and first row `r` (c̄).

    >>> from tetrad.scipy import linalg
    >>> linalg.toeplitz(jnp.array([1, 2, 3]))
    Array([[1, 2, 3],
           [2, 1, 2],
           [3, 2, 1]], dtype=int32)
    """
    c = jnp.atleast_1d(jnp.asarray(c))
    r = jnp.conj(c) if r is None else jnp.atleast_1d(jnp.asarray(r))
    dtype = jnp.result_type(c, r)
    c, r = c.astype(dtype), r.astype(dtype)
    n, m = c.shape[-1], r.shape[-1]
    leading = jnp.broadcast_shapes(c.shape[:-1], r.shape[:-1])
    c = jnp.broadcast_to(c, (*leading, n))
    r = jnp.broadcast_to(r, (*leading, m))
    if not n or not m:
        return jnp.zeros((*leading, n, m), dtype)
    line = jnp.concatenate([c[..., ::-1], r[..., 1:]], -1)
    return line[..., (n - 1 - np.arange(n))[:, None] + np.arange(m)]


@apart
def hankel(c: Any, r: Any = None) -> Any:
    """The matrix with constant antidiagonals, first column `c` and last row `r` (zeros).

    >>> from tetrad.scipy import linalg
    >>> linalg.hankel(jnp.array([1, 2]))
    Array([[1, 2],
           [2, 0]], dtype=int32)
    """
    c = jnp.atleast_1d(jnp.asarray(c))
    r = jnp.zeros_like(c) if r is None else jnp.atleast_1d(jnp.asarray(r))
    dtype = jnp.result_type(c, r)
    n, m = c.shape[-1], r.shape[-1]
    leading = jnp.broadcast_shapes(c.shape[:-1], r.shape[:-1])
    if not n or not m:
        return jnp.zeros((*leading, n, m), dtype)
    c = jnp.broadcast_to(c.astype(dtype), (*leading, n))
    r = jnp.broadcast_to(r.astype(dtype), (*leading, m))
    line = jnp.concatenate([c, r[..., 1:]], -1)
    return line[..., np.arange(n)[:, None] + np.arange(m)]


@apart
def circulant(c: Any) -> Any:
    """The matrix whose columns are the rotations of `c`.

    >>> from tetrad.scipy import linalg
    >>> linalg.circulant(jnp.array([1, 2, 3]))
    Array([[1, 3, 2],
           [2, 1, 3],
           [3, 2, 1]], dtype=int32)
    """
    c = jnp.asarray(c)
    n = c.shape[-1]
    if not n:
        return jnp.zeros((*c.shape, 0), c.dtype)
    return c[..., (np.arange(n)[:, None] - np.arange(n)) % n]


@apart
def hilbert(n: int) -> Any:
    """The matrix 1/(i + j + 1).

    >>> from tetrad.scipy import linalg
    >>> linalg.hilbert(2)
    Array([[1.        , 0.5       ],
           [0.5       , 0.33333334]], dtype=float32)
    """
    places = np.arange(n)
    return jnp.asarray(1 / (places[:, None] + places + 1.0), dtype=float)


@apart
def pascal(n: int, kind: str | None = None) -> Any:
    """Binomial coefficients: (i + j over i), or for kind="lower" (i over j), "upper" its ᵀ.

    >>> from tetrad.scipy import linalg
    >>> linalg.pascal(3, "lower")
    Array([[1., 0., 0.],
           [1., 1., 0.],
           [1., 2., 1.]], dtype=float32)
    """
    if kind not in (None, "symmetric", "lower", "upper"):
        raise ValueError(
            f"pascal: Expected kind to be one of 'symmetric', 'lower' and 'upper',"
            f" got {kind!r}"
        )
    host = np.array([[math.comb(i, j) for j in range(n)] for i in range(n)], float)
    host = host.reshape(n, n)
    lower = jnp.asarray(host, dtype=float)
    if kind == "lower":
        return lower
    if kind == "upper":
        return lower.T
    return jnp.asarray(host @ host.T, dtype=float)


@apart
def hadamard(n: int, dtype: Any = int) -> Any:
    """Hadamard's matrix of ±1 with orthogonal rows; n is a positive power of 2.

    >>> from tetrad.scipy import linalg
    >>> linalg.hadamard(2)
    Array([[ 1,  1],
           [ 1, -1]], dtype=int32)
    """
    if n < 1 or n & (n - 1):
        raise ValueError(f"hadamard: n must be a positive power of 2, got {n}")
    places = np.arange(n)
    ones = np.bitwise_and(places[:, None], places)
    parity = np.array([[bin(x).count("1") % 2 for x in row] for row in ones])
    return jnp.asarray(1 - 2 * parity.reshape(n, n), dtype=dtype)


@apart
def dft(n: int, scale: str | None = None, *, dtype: Any = None) -> Any:
    """The matrix of the discrete Fourier transform; scale is None, "sqrtn" or "n".

    Args:
      n: how many points.
      scale: by what to divide: 1, √n or n.
      dtype: a complex dtype; the default one if left out.

    >>> from tetrad.scipy import linalg
    >>> linalg.dft(2).real
    Array([[ 1.,  1.],
           [ 1., -1.]], dtype=float32)
    """
    if scale not in (None, "sqrtn", "n"):
        raise ValueError(f'dft: scale must be None, "sqrtn" or "n", got {scale!r}')
    dtype = jnp.dtype(jnp.result_type(complex) if dtype is None else dtype)
    if not jnp.issubdtype(dtype, jnp.complexfloating):
        raise ValueError(f"dft: dtype must be a complex dtype, got {dtype.name}")
    places = np.arange(n)
    host = np.exp(-2j * np.pi * (places[:, None] * places % n) / max(n, 1))
    host = host / {None: 1, "sqrtn": math.sqrt(n), "n": n}[scale]
    return jnp.asarray(host, dtype=dtype)


@apart
def companion(a: Any) -> Any:
    """The matrix whose eigenvalues are the roots of a polynomial.

    Args:
      a: the coefficients, of shape (..., n), the highest power first; at least two, and
        the first not 0.

    Gives the matrix of shape (..., n - 1, n - 1) with −a[1:]/a[0] as its first row and
    ones below the diagonal.

    >>> from tetrad.scipy import linalg
    >>> linalg.companion(jnp.array([2.0, -6.0, 4.0]))
    Array([[ 3., -2.],
           [ 1.,  0.]], dtype=float32)
    """
    a = floating(jnp.atleast_1d(a))
    n = a.shape[-1]
    if n < 2:
        raise ValueError(
            "companion: the length of `a` along the last axis must be at least 2, got"
            f" shape {a.shape}"
        )
    row = -a[..., 1:] / a[..., :1]
    below = jnp.eye(n - 2, n - 1, dtype=a.dtype)
    below = jnp.broadcast_to(below, (*a.shape[:-1], n - 2, n - 1))
    return jnp.concatenate([row[..., None, :], below], -2)


@apart
def convolution_matrix(a: Any, n: int, mode: str = "full") -> Any:
    """The matrix A for which A @ v is `jnp.convolve(a, v, mode)`, v of length n.

    Args:
      a: what to convolve with, of shape (..., m), not empty.
      n: the length of v, positive.
      mode: "full", "same" or "valid".

    >>> from tetrad.scipy import linalg
    >>> linalg.convolution_matrix(jnp.array([1, 2]), 2)
    Array([[1, 0],
           [2, 1],
           [0, 2]], dtype=int32)
    """
    a = jnp.asarray(a)
    if not a.ndim:
        raise ValueError(
            "convolution_matrix: a must be at least 1-dimensional, got a number"
        )
    m = a.shape[-1]
    if n <= 0:
        raise ValueError(f"convolution_matrix: n must be a positive integer, got {n}")
    if not m:
        raise ValueError("convolution_matrix: len(a) must be at least 1")
    if mode not in ("full", "same", "valid"):
        raise ValueError(
            f'convolution_matrix: mode must be one of "full", "same" and "valid", got {mode!r}'
        )
    if mode == "full":
        first, rows = 0, m + n - 1
    elif mode == "same":
        first, rows = (min(m, n) - 1) // 2, max(m, n)
    else:
        first, rows = min(m, n) - 1, max(m, n) - min(m, n) + 1
    at = np.arange(first, first + rows)[:, None] - np.arange(n)
    inside = (at >= 0) & (at < m)
    taken = a[..., np.where(inside, at, 0)]
    inside = np.broadcast_to(inside, taken.shape)
    return jnp.where(inside, taken, jnp.zeros((), a.dtype))


@apart
def fiedler(a: Any) -> Any:
    """The symmetric matrix |a_i − a_j|, for `a` of shape (..., n).

    >>> from tetrad.scipy import linalg
    >>> linalg.fiedler(jnp.array([1, 4]))
    Array([[0, 3],
           [3, 0]], dtype=int32)
    """
    a = jnp.atleast_1d(a)
    return jnp.abs(a[..., :, None] - a[..., None, :])


@apart
def fiedler_companion(a: Any) -> Any:
    """A matrix of five diagonals whose eigenvalues are the roots of a polynomial.

    Args:
      a: the coefficients, of shape (..., n), the highest power first; the first not 0.

    Gives the matrix of shape (..., n - 1, n - 1), empty for one coefficient.

    >>> from tetrad.scipy import linalg
    >>> linalg.fiedler_companion(jnp.array([1.0, -3.0, 2.0]))
    Array([[ 3., -2.],
           [ 1.,  0.]], dtype=float32)
    """
    a = floating(jnp.atleast_1d(a))
    if a.shape[-1] <= 2:
        if a.shape[-1] == 2:
            return -(a[..., 1:] / a[..., :1])[..., None]
        if not a.shape[-1]:
            raise ValueError(
                "fiedler_companion: a must have a nonzero leading coefficient, got shape"
                f" {a.shape}"
            )
        return jnp.zeros((*a.shape[:-1], 0, 0), a.dtype)
    a = a / a[..., :1]
    n = a.shape[-1] - 1
    which = np.zeros((n, n), int)  # k: minus coefficient k
    ones = np.zeros((n, n), bool)
    for row in range(n):
        if row % 2:
            ones[row, max(row - 2, 0)] = True
            continue
        for column, k in ((max(row - 1, 0), row + 1), (row + 1, row + 2)):
            if column < n:
                which[row, column] = k
        if row + 2 < n:
            ones[row, row + 2] = True
    taken = jnp.where(
        np.broadcast_to(which > 0, (*a.shape[:-1], n, n)), -a[..., which], 0
    )
    return taken + np.asarray(ones, a.dtype)


@apart
def helmert(n: int, full: bool = False) -> Any:
    """The orthogonal matrix of contrasts: row k compares element k with those before.

    Args:
      n: how many elements.
      full: whether to give the first row as well, which is constant.

    >>> from tetrad.scipy import linalg
    >>> linalg.helmert(2)
    Array([[ 0.70710677, -0.70710677]], dtype=float32)
    """
    if n <= 0:
        raise ValueError(f"helmert: n must be a positive integer, got {n}")
    places = np.arange(n)
    host = np.tril(np.ones((n, n)), -1) - np.diag(places)
    host[0] = 1
    norms = places * (places + 1.0)
    norms[0] = n
    host = host / np.sqrt(norms)[:, None]
    return jnp.asarray(host if full else host[1:], dtype=float)


@apart
def invhilbert(n: int) -> Any:
    """The inverse of the matrix 1/(i + j + 1), from its closed form.

    >>> from tetrad.scipy import linalg
    >>> linalg.invhilbert(2)
    Array([[ 4., -6.],
           [-6., 12.]], dtype=float32)
    """
    comb = math.comb
    entries = [
        [
            (-1) ** (i + j)
            * (i + j + 1)
            * comb(n + i, n - j - 1)
            * comb(n + j, n - i - 1)
            * comb(i + j, i) ** 2
            for j in range(n)
        ]
        for i in range(n)
    ]
    return jnp.asarray(np.array(entries, float).reshape(n, n), dtype=float)


@apart
def invpascal(n: int, kind: str | None = None) -> Any:
    """The inverse of `pascal(n, kind)`, from its closed form.

    >>> from tetrad.scipy import linalg
    >>> linalg.invpascal(2, "lower")
    Array([[ 1.,  0.],
           [-1.,  1.]], dtype=float32)
    """
    if kind not in (None, "symmetric", "lower", "upper"):
        raise ValueError(
            f"invpascal: Expected kind to be one of 'symmetric', 'lower' and 'upper',"
            f" got {kind!r}"
        )
    entries = [[(-1) ** (i + j) * math.comb(i, j) for j in range(n)] for i in range(n)]
    lower = np.array(entries, object).reshape(n, n)
    host = lower if kind == "lower" else lower.T
    if kind in (None, "symmetric"):
        host = lower.T @ lower
    return jnp.asarray(host.astype(float), dtype=float)


@apart
def leslie(f: Any, s: Any) -> Any:
    """The matrix of a population by age: births in the first row, survival below.

    Args:
      f: births by age, of shape (..., n).
      s: the share that reaches the next age, of shape (..., n - 1).

    >>> from tetrad.scipy import linalg
    >>> linalg.leslie(jnp.array([0.0, 2.0]), jnp.array([0.5]))
    Array([[0. , 2. ],
           [0.5, 0. ]], dtype=float32)
    """
    f, s = jnp.atleast_1d(f), jnp.atleast_1d(s)
    n = f.shape[-1]
    if n < 2:
        raise ValueError(
            "leslie: the length of f along the last axis must be at least 2, got shape"
            f" {f.shape}"
        )
    if s.shape[-1] != n - 1:
        raise ValueError(
            "leslie: Incorrect lengths for f and s: along the last axis f must have one more"
            f" element than s; got shapes {f.shape} and {s.shape}"
        )
    dtype = jnp.result_type(f, s)
    leading = jnp.broadcast_shapes(f.shape[:-1], s.shape[:-1])
    row = jnp.broadcast_to(f.astype(dtype), (*leading, n))
    lines = jnp.eye(n - 1, n, dtype=dtype) * s.astype(dtype)[..., None]
    lines = jnp.broadcast_to(lines, (*leading, n - 1, n))
    return jnp.concatenate([row[..., None, :], lines], -2)
