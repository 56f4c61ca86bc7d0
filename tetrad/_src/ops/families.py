"""Families of operations: what the classes in the files beside this one share.

A family fixes the kind and the typing rule, with messages in the words of the caller.
At the end, `check_operand` says what an argument of a public function may be;
`functions.py` makes such functions from classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import Value
from tetrad._src.core.op import Kind, Op

BOOL = np.dtype(bool)

Operand = Any  # a Value, a NumPy array or scalar, or a Python number
Shape = tuple[int, ...]


# ---------------------------------------------------------------------------- families


class Elementwise(Op):
    """out[i] = scalar(x[i], y[i], …): operands share one shape, or have rank 0.

    `promote` names the function to use instead when dtypes differ, `public` the own one
    in lax if it is not the name of the operation.
    """

    kind = Kind.ELEMENTWISE
    promote: ClassVar[str] = ""
    public: ClassVar[str] = ""

    def type(self, *avals: Aval) -> Aval:
        return Aval(self.common_shape(avals), self.common_dtype(avals))

    def common_shape(self, avals: Sequence[Aval]) -> Shape:
        """The one shape of the operands that have a rank."""
        shape: Shape = ()
        for aval in avals:
            if aval.shape and aval.shape != shape:
                if shape:
                    raise TypeError(self._differ("shape", avals))
                shape = aval.shape
        return shape

    def common_dtype(self, avals: Sequence[Aval]) -> Any:
        """The one dtype of the operands."""
        dtype = avals[0].dtype
        for aval in avals[1:]:
            if aval.dtype != dtype:
                raise TypeError(self._differ("dtype", avals))
        return dtype

    def _differ(self, what: str, avals: Sequence[Aval]) -> str:
        got = " and ".join(aval.long_name() for aval in avals)
        better = f"jnp.{self.promote}" if self.promote else "the jax.numpy function"
        own = self.public or self.name
        if what == "shape":
            return (
                f"lax.{own} needs arguments of equal shapes (or scalars), got"
                f" {got}. Use {better}, which broadcasts, or lax.broadcast_in_dim."
            )
        return (
            f"lax.{own} requires arguments to have the same dtypes, got {got}."
            f" Use {better}, which promotes dtypes, or convert one argument with"
            " x.astype(dtype)."
        )


class Unary(Elementwise):
    """out[i] = scalar(x[i])."""

    def type(self, x: Aval) -> Aval:
        return x


class Binary(Elementwise):
    """out[i] = scalar(x[i], y[i])."""


class Compare(Elementwise):
    """out[i] = whether x[i] and y[i] stand in a relation; bool."""

    cheap = True
    direction: ClassVar[str] = ""  # as StableHLO writes it

    def type(self, x: Aval, y: Aval) -> Aval:
        avals = (x, y)
        self.common_dtype(avals)
        return Aval(self.common_shape(avals), BOOL)

    def hlo(self, emit: Any, x: Any, y: Any) -> Any:
        direction = f"#stablehlo<comparison_direction {self.direction}>"
        return emit("stablehlo.compare", x, y, comparison_direction=direction)


class Rearrange(Op):
    """Moves elements by an index map; computes nothing."""

    kind = Kind.REARRANGE


class Reduce(Op):
    """Folds axes with an associative combiner."""

    kind = Kind.REDUCE


class Call(Op):
    """Holds jaxprs or functions; its results are a list."""

    kind = Kind.CALL
    multiple = True


# ---------------------------------------------------------------------------- operands

PYTHON_NUMBERS = (bool, int, float, complex)


def check_operand(x: Any, name: str, position: int = 0) -> Operand:
    """`x` if it is a value an operation takes, else a TypeError that says why."""
    if isinstance(x, (Value, np.generic)) or type(x) in PYTHON_NUMBERS:
        return x
    if isinstance(x, np.ndarray):
        if x.dtype.kind not in "OSUMm":
            return x
        raise TypeError(
            f"lax.{name} takes numbers, but argument {position} is a NumPy array of"
            f" dtype {x.dtype}. Convert it with .astype first."
        )
    if isinstance(x, PYTHON_NUMBERS):
        return x
    convert = getattr(x, "__jax_array__", None)
    if convert is not None:
        return check_operand(convert(), name, position)
    if isinstance(x, (list, tuple)):
        raise TypeError(
            f"lax.{name} takes arrays and numbers, but argument {position} is a"
            f" {type(x).__name__}. Write jnp.array(...) around it."
        )
    raise TypeError(
        f"lax.{name} takes arrays and numbers, but argument {position} is"
        f" {'None' if x is None else f'{x!r} of type {type(x).__name__}'}."
    )
