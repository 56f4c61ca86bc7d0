"""Small words for matrices in the last two axes, for the rules of decompositions.

What comes in: values with any number of leading batch axes. Read it as a vocabulary:
`turned` and `adjoint`, `product`, `lower` and `upper`, `diagonal` and `on_diagonal`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import aval_of
from tetrad._src.ops import arithmetic, compare
from tetrad._src.ops.complex import conj
from tetrad._src.ops.complex import real as real_part
from tetrad._src.ops.contract import Precision, dot_general
from tetrad._src.ops.families import Operand, check_operand
from tetrad._src.ops.views import (
    broadcast_in_dim,
    broadcasted_iota,
    expand_dims,
    full_like,
    reduce_sum,
    transpose,
    zeros_like,
)

I32 = np.dtype(np.int32)


def matrix_argument(
    x: Operand, name: str, argument: str = "x", square: bool = True
) -> Any:
    """`x` as a value, once it is known to hold (square) matrices of floats."""
    x = check_operand(x, name)
    aval = aval_of(x)
    if aval.ndim < 2 or square and aval.shape[-1] != aval.shape[-2]:
        wanted = "square matrices" if square else "matrices"
        raise ValueError(
            f"{name}: {argument} must hold {wanted} in its last two axes, got"
            f" {aval.long_name()}"
        )
    check_precision(aval, name, argument)
    return x


def check_precision(aval: Aval, name: str, argument: str) -> None:
    """Raises unless LAPACK knows the dtype."""
    if aval.kind not in "fc" or aval.dtype.itemsize < 4:
        raise TypeError(
            f"{name}: {argument} must be float32, float64, complex64 or complex128, got"
            f" {aval.long_name()}. Convert it: {argument}.astype('float32')."
        )


def is_complex(x: Any) -> bool:
    return bool(aval_of(x).kind == "c")


def turned(x: Any) -> Any:
    """Xᵀ."""
    ndim = aval_of(x).ndim
    return transpose(x, (*range(ndim - 2), ndim - 1, ndim - 2))


def conjugate(x: Any) -> Any:
    """X̄, which is X for real numbers."""
    return conj(x) if is_complex(x) else x


def adjoint(x: Any) -> Any:
    """Xᴴ."""
    return conjugate(turned(x))


def real(x: Any) -> Any:
    """The real part."""
    return real_part(x) if is_complex(x) else x


def product(*factors: Any) -> Any:
    """X Y Z …, to the full precision of the dtype."""
    left, *rest = factors
    for right in rest:
        ndim = aval_of(left).ndim
        batch = tuple(range(ndim - 2))
        dimensions = (((ndim - 1,), (ndim - 2,)), (batch, batch))
        left = dot_general(left, right, dimensions, Precision.HIGHEST)
    return left


def add(x: Any, y: Any) -> Any:
    return arithmetic.add(x, y)


def sub(x: Any, y: Any) -> Any:
    return arithmetic.sub(x, y)


def mul(x: Any, y: Any) -> Any:
    return arithmetic.mul(x, y)


def _places(x: Any) -> tuple[Any, Any]:
    """The row and the column of every element."""
    shape = aval_of(x).shape
    ndim = len(shape)
    return broadcasted_iota(I32, shape, ndim - 2), broadcasted_iota(
        I32, shape, ndim - 1
    )


def lower(x: Any, offset: int = 0) -> Any:
    """X with zeros above the diagonal `offset`."""
    rows, columns = _places(x)
    kept = compare.ge(add(rows, full_like(rows, offset)), columns)
    return compare.select(kept, x, zeros_like(x))


def upper(x: Any, offset: int = 0) -> Any:
    """X with zeros below the diagonal `offset`."""
    rows, columns = _places(x)
    kept = compare.le(add(rows, full_like(rows, offset)), columns)
    return compare.select(kept, x, zeros_like(x))


def on_diagonal(x: Any) -> Any:
    """X with zeros off the diagonal."""
    rows, columns = _places(x)
    return compare.select(compare.eq(rows, columns), x, zeros_like(x))


def diagonal(x: Any) -> Any:
    """The diagonal of square matrices, as vectors."""
    return reduce_sum(on_diagonal(x), (aval_of(x).ndim - 1,))


def identity_like(x: Any) -> Any:
    """Matrices of the shape of X with ones on the diagonal."""
    rows, columns = _places(x)
    ones = full_like(x, 1)
    return compare.select(compare.eq(rows, columns), ones, zeros_like(x))


def identity(shape: tuple[int, ...], dtype: Any) -> Any:
    """Matrices of a shape with ones on the diagonal."""
    return identity_like(broadcast_in_dim(np.zeros((), dtype), shape, ()))


def half_lower(x: Any) -> Any:
    """The lower triangle of X with half of its diagonal."""
    return sub(lower(x), scaled(on_diagonal(x), 0.5))


def scaled(x: Any, factor: float) -> Any:
    return mul(x, full_like(x, factor))


def as_rows(vector: Any, rows: int) -> Any:
    """Matrices with `rows` copies of a vector as their rows."""
    shape = aval_of(vector).shape
    axes = (*range(len(shape) - 1), len(shape))
    return broadcast_in_dim(vector, (*shape[:-1], rows, shape[-1]), axes)


def as_columns(vector: Any, columns: int) -> Any:
    """Matrices with `columns` copies of a vector as their columns."""
    shape = aval_of(vector).shape
    return broadcast_in_dim(vector, (*shape, columns), tuple(range(len(shape))))


def column(vector: Any) -> Any:
    """A vector as a matrix of one column."""
    return expand_dims(vector, (aval_of(vector).ndim,))
