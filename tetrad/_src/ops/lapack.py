"""One operation for every routine of LAPACK that decompositions are made of.

What comes in: arrays whose last one or two axes are a vector or a matrix, in the order of
Fortran: `x[..., column, row]`. What goes out: the results of the routine in the same
order, batched like the operands. The decompositions themselves are in `factor` and
`spectral`; they transpose what they hand over, which costs nothing where the transpose is
fused with what made the operand.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.op import Axis, Kind, Op

Core = tuple[tuple[int, ...], Any]  # shape and dtype of one result of one problem


class Lapack(Op):
    """A routine of LAPACK for each problem of a batch.

    `ranks` are the ranks of the operands of one problem, `results` the shapes and dtypes
    of its results. Where the routine does not converge, or a matrix is not what the
    routine asks for, the results of that problem are NaN.
    Source: https://netlib.org/lapack/explore-html
    """

    routine: str
    options: tuple[Any, ...]
    ranks: tuple[int, ...]
    results: tuple[Core, ...]

    kind = Kind.OPAQUE
    accepts = "fci"
    multiple = True

    def type(self, *operands: Aval) -> tuple[Aval, ...]:
        first = operands[0]
        batch = first.shape[: first.ndim - self.ranks[0]]
        return tuple([Aval(batch + shape, dtype) for shape, dtype in self.results])

    def batch(self, axis: Axis, *operands: Any) -> Any:
        return self(*operands)

    def kernel(self, *operands: Aval) -> tuple[str, dict[str, Any]]:
        return "lapack", self.params


def result(shape: tuple[int, ...], dtype: Any) -> Core:
    """How a result of one problem is stated."""
    return shape, np.dtype(dtype)
