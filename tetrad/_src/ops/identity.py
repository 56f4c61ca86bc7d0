"""The same values: as a copy, or as constants to differentiation."""

from __future__ import annotations

from typing import Any

from tetrad._src.core.bind import Value, aval_of
from tetrad._src.ops.families import Unary, check_operand
from tetrad._src.ops.functions import unary
from tetrad._src.util import tree


class Copy(Unary):
    """The same values, as an array of its own.

    >>> from tetrad import lax
    >>> lax.full((), 1.0).copy()
    Array(1., dtype=float32, weak_type=True)
    """

    accepts = "fcuibK"
    linear = ((0,),)

    def transpose(self, ct: Any, x: Any) -> tuple[Any, ...]:
        return (ct,)

    def scalar(self, block: Any, x: Any) -> Any:
        return x

    def expand(self, x: Any) -> Any:
        return x


class StopGradient(Unary):
    """The same values, with derivative zero."""

    accepts = "fcuibK"

    def derivative(self, ans: Any, x: Any) -> tuple[Any, ...]:
        return (None,)

    def simplify(self, x: Any) -> Any:
        return x if isinstance(x, Value) else None

    def scalar(self, block: Any, x: Any) -> Any:
        return x

    def expand(self, x: Any) -> Any:
        return x


copy = unary(Copy)


def stop_gradient(x: Any) -> Any:
    """The arrays in `x` (a pytree), as constants to differentiation.

    >>> import tetrad as jax
    >>> jax.grad(lambda x: x * jax.lax.stop_gradient(x))(3.0)
    Array(3., dtype=float32, weak_type=True)
    """

    def stop(leaf: Any) -> Any:
        inexact = aval_of(check_operand(leaf, "stop_gradient")).inexact
        return StopGradient()(leaf) if inexact else leaf

    return tree.map(stop, x)
