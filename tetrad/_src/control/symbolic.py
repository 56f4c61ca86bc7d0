"""What rules with `symbolic_zeros=True` are given in place of zeros and arguments.

`SymbolicZero` stands for a tangent or cotangent that is zero, so that a rule need not
compute with it; `CustomVJPPrimal` is an argument together with whether anybody
differentiates along it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import aval_of
from tetrad._src.ops.views import zeros
from tetrad._src.util import tree
from tetrad._src.util.dtypes import float0


class SymbolicZero:
    """A tangent or cotangent that is zero: it has a type, and no elements."""

    __slots__ = ("aval",)

    def __init__(self, aval: Aval) -> None:
        self.aval = aval

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        return self.aval.ndim

    @property
    def size(self) -> int:
        return self.aval.size

    @property
    def weak_type(self) -> bool:
        return self.aval.weak_type

    def instantiate(self) -> Any:
        """The zeros as an array."""
        return zeros_of(self.aval)

    @staticmethod
    def from_primal_value(value: Any) -> SymbolicZero:
        """The zero among the tangents of `value`."""
        return SymbolicZero(tangent_aval(aval_of(value)))

    def __repr__(self) -> str:
        return f"SymbolicZero({self.aval.long_name()})"


class CustomVJPPrimal:
    """An argument of a `fwd` rule: its value, and whether it is differentiated."""

    __slots__ = ("perturbed", "value")

    def __init__(self, value: Any, perturbed: bool) -> None:
        self.value = value
        self.perturbed = perturbed

    def __repr__(self) -> str:
        return f"CustomVJPPrimal(value={self.value!r}, perturbed={self.perturbed})"


def tangent_aval(aval: Aval) -> Aval:
    """The type of tangents: the same for floats, float0 for integers and keys."""
    return aval if aval.inexact else Aval(aval.shape, float0)


def zeros_of(aval: Aval) -> Any:
    """Zeros of a type of tangents."""
    return np.zeros(aval.shape, float0) if aval.dtype == float0 else zeros(aval)


def zero_from_primal(value: Any, symbolic_zeros: bool = False) -> Any:
    """The zero among the tangents of `value`, a pytree of arrays or `SymbolicZero`s.

    >>> import tetrad as jax
    >>> jax.custom_derivatives.zero_from_primal(2.0, symbolic_zeros=True)
    SymbolicZero(float32[])
    """

    def zero_of(x: Any) -> Any:
        zero = SymbolicZero.from_primal_value(x)
        return zero if symbolic_zeros else zero.instantiate()

    return tree.map(zero_of, value)


def custom_vjp_primal_tree_values(tree_of_primals: Any) -> Any:
    """The values of a pytree of `CustomVJPPrimal` objects."""
    return tree.map(lambda primal: primal.value, tree_of_primals)


def is_zero(x: Any) -> bool:
    """Whether a rule returned a zero that has no elements."""
    if x is None or type(x) is SymbolicZero:
        return True
    return isinstance(x, np.ndarray) and x.dtype == float0
