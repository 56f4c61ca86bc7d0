"""Families of operations, and the makers of the public functions that call them.

What comes in: one class per operation, written in the files beside this one. What goes
out: the parts that classes of one family share (kind, typing), and functions such as
`lax.sin` and `lax.add` made from a class by `unary`, `binary` and `nary`.

Read the families first; then `operands`, which says what an argument may be; then the
makers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import STATE, Value, aval_of
from tetrad._src.core.op import Kind, Op
from tetrad._src.util import dtypes

BOOL = np.dtype(bool)

Operand = Any  # a Value, a NumPy array or scalar, or a Python number
Shape = tuple[int, ...]


# ---------------------------------------------------------------------------- families


class Elementwise(Op):
    """out[i] = scalar(x[i], y[i], …): operands share one shape, or have rank 0.

    `promote` names the function to use instead when dtypes differ.
    """

    kind = Kind.ELEMENTWISE
    promote: ClassVar[str] = ""

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
        if what == "shape":
            return (
                f"lax.{self.name} needs arguments of equal shapes (or scalars), got"
                f" {got}. Use {better}, which broadcasts, or lax.broadcast_in_dim."
            )
        return (
            f"lax.{self.name} requires arguments to have the same dtypes, got {got}."
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
_is_python_number = frozenset(PYTHON_NUMBERS).__contains__

# The kinds of dtype that hold every value of a Python number, and its type there.
_KIND_OF_NUMBER: dict[type, str] = {bool: "b", int: "iufc", float: "fc", complex: "c"}
_NUMBER_OF_KIND: dict[str, type] = {
    "b": bool, "i": int, "u": int, "f": float, "c": complex
}


def check_operand(x: Any, name: str, position: int = 0) -> Operand:
    """`x` if it is a value an operation takes, else a TypeError that says why."""
    if isinstance(x, (Value, np.generic)) or _is_python_number(type(x)):
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
        f" {x!r} of type {type(x).__name__}."
    )


def number_like(x: Any, dtype: Any, name: str) -> Any:
    """The Python number `x` in the dtype of the arrays beside it.

    Stays a Python number, which is weakly typed, where that already means `dtype`. It
    stays as it is too if `dtype` cannot hold such a number: typing then complains.
    """
    kind = dtypes.kind(dtype)
    for number in PYTHON_NUMBERS:
        if isinstance(x, number):
            break
    if kind not in _KIND_OF_NUMBER[number]:
        return x
    if kind in "iu":
        limits = dtypes.iinfo(dtype)
        if not limits.min <= x <= limits.max:
            raise OverflowError(
                f"lax.{name}: the Python integer {x} does not fit the {dtype.name} of"
                f" the other argument ({limits.min} to {limits.max}). Convert the"
                " array to a wider dtype first."
            )
    x = _NUMBER_OF_KIND[kind](x)
    return x if aval_of(x).dtype == dtype else dtype.type(x)


def scalar_like(x: Operand, value: Any) -> Any:
    """`value` as a scalar of the dtype of `x`, for rules."""
    return number_like(value, aval_of(x).dtype, "full")


def operands(name: str, args: Sequence[Any]) -> list[Operand]:
    """Arguments of a public function, with Python numbers in the dtype of the rest."""
    checked = [check_operand(x, name, i) for i, x in enumerate(args)]
    dtype = None
    for x in checked:
        if not isinstance(x, PYTHON_NUMBERS) or isinstance(x, np.generic):
            dtype = aval_of(x).dtype
            break
    if dtype is None:
        return checked
    return [
        number_like(x, dtype, name)
        if isinstance(x, PYTHON_NUMBERS) and not isinstance(x, np.generic)
        else x
        for x in checked
    ]


# ------------------------------------------------------------- makers of public functions


def _named(function: Any, cls: type[Op], name: str) -> Any:
    function.__name__ = function.__qualname__ = name or cls.name
    function.__doc__ = cls.__doc__
    function.__module__ = "tetrad.lax"
    return function


def unary(cls: type[Op], name: str = "") -> Callable[[Operand], Any]:
    """The public function of an operation with one operand and no parameters."""
    op = cls()
    label = name or cls.name

    def function(x: Operand) -> Any:
        if isinstance(x, Value):
            return STATE.trace.process(op, (x,))
        return STATE.trace.process(op, (check_operand(x, label),))

    return _named(function, cls, name)  # type: ignore[no-any-return]


def binary(cls: type[Op], name: str = "") -> Callable[[Operand, Operand], Any]:
    """The public function of an operation with two operands and no parameters."""
    op = cls()
    label = name or cls.name

    def function(x: Operand, y: Operand) -> Any:
        if isinstance(x, Value):
            if isinstance(y, Value):
                return STATE.trace.process(op, (x, y))
            if _is_python_number(type(y)):
                y = number_like(y, x.aval.dtype, label)
                return STATE.trace.process(op, (x, y))
        return STATE.trace.process(op, operands(label, (x, y)))

    return _named(function, cls, name)  # type: ignore[no-any-return]


def nary(cls: type[Op], name: str = "") -> Callable[..., Any]:
    """The public function of an operation with any number of operands."""
    op = cls()
    label = name or cls.name

    def function(*args: Operand) -> Any:
        return STATE.trace.process(op, operands(label, args))

    return _named(function, cls, name)  # type: ignore[no-any-return]
