"""The makers of public functions: `lax.sin` and `lax.add` from their classes.

What comes in: an operation class. What goes out: a function of values, NumPy arrays and
Python numbers, with the docstring of the class. A Python number takes the dtype of the
array beside it; arrays of one rank are stretched along axes of extent 1; nothing else
is promoted.

Read `operands`, then the makers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tetrad._src.core.bind import STATE, Value, aval_of
from tetrad._src.core.op import Op
from tetrad._src.ops.accuracy import check_accuracy
from tetrad._src.ops.families import PYTHON_NUMBERS, Operand, check_operand
from tetrad._src.ops.views import broadcast_in_dim
from tetrad._src.util import dtypes

# The kinds of dtype that hold every value of a Python number, and its type there.
_KIND_OF_NUMBER: dict[type, str] = {bool: "b", int: "iufc", float: "fc", complex: "c"}
_NUMBER_OF_KIND: dict[str, type] = {
    "b": bool,
    "i": int,
    "u": int,
    "f": float,
    "c": complex,
}


def is_number(x: Any) -> bool:
    """Whether `x` is a number of Python, not of NumPy."""
    return isinstance(x, PYTHON_NUMBERS) and not isinstance(x, np.generic)


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
    """Arguments of a public function, in one dtype and shape where the rules allow."""
    checked = [check_operand(x, name, i) for i, x in enumerate(args)]
    arrays = [x for x in checked if not is_number(x)]
    if len(arrays) < len(checked) and arrays:
        dtype = aval_of(arrays[0]).dtype
        checked = [number_like(x, dtype, name) if is_number(x) else x for x in checked]
    shapes = {aval_of(x).shape for x in arrays}
    return stretched(checked) if len(shapes - {()}) > 1 else checked


def stretched(xs: Sequence[Operand]) -> list[Operand]:
    """Arrays of one rank with each extent 1 raised to that of the others."""
    shapes = [aval_of(x).shape for x in xs]
    ranks = {len(shape) for shape in shapes if shape}
    if len(ranks) > 1:
        return list(xs)
    full = tuple(
        [
            max(extents, key=lambda n: n != 1)
            for extents in zip(*[shape for shape in shapes if shape])
        ]
    )
    axes = tuple(range(len(full)))
    return [
        broadcast_in_dim(x, full, axes)
        if shape and all(n in (1, m) for n, m in zip(shape, full))
        else x
        for x, shape in zip(xs, shapes)
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


def accurate(cls: type[Op]) -> Callable[..., Any]:
    """As `unary`, for a function that users may ask to be exact."""
    op = cls()
    label = cls.name

    def function(x: Operand, *, accuracy: Any = None) -> Any:
        if accuracy is not None:
            check_accuracy(accuracy, label)
        if isinstance(x, Value):
            return STATE.trace.process(op, (x,))
        return STATE.trace.process(op, (check_operand(x, label),))

    return _named(function, cls, "")  # type: ignore[no-any-return]


def binary(cls: type[Op], name: str = "") -> Callable[[Operand, Operand], Any]:
    """The public function of an operation with two operands and no parameters."""
    op = cls()
    label = name or cls.name

    def function(x: Operand, y: Operand) -> Any:
        if isinstance(x, Value):
            if isinstance(y, Value):
                if x.aval is y.aval:
                    return STATE.trace.process(op, (x, y))
            elif type(y) in PYTHON_NUMBERS:
                y = number_like(y, x.aval.dtype, label)
                return STATE.trace.process(op, (x, y))
        return STATE.trace.process(op, operands(label, (x, y)))

    return _named(function, cls, name)  # type: ignore[no-any-return]
