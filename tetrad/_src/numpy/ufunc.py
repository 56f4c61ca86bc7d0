"""Universal functions: what `jnp.add` and `jnp.sin` do before and after their operation.

A `Unary` or `Binary` object is the public function. It promotes its arguments by its
rule and applies `compute`. Where nothing has to be promoted, which is nearly always,
one dictionary look-up on the avals leads straight to the operation: `operator` makes
the methods of arrays (`x + y`) from the same tables.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import STATE, Value, aval_of
from tetrad._src.core.op import Op, infer
from tetrad._src.core.stage import where
from tetrad._src.numpy import lax
from tetrad._src.numpy.convert import array_like, operand, operands
from tetrad._src.numpy.folding import Folds
from tetrad._src.numpy.plan import Plan, Planner
from tetrad._src.numpy.promote import (
    call,
    inexact,
    joined,
    named,
    operand_names,
    stretch,
    to,
)
from tetrad._src.util import dtypes, source
from tetrad._src.util.config import config
from tetrad._src.util.frames import trim_traceback, trims_itself
from tetrad._src.util.memo import Cache

Rule = Callable[[Any], Any]

KIND_NAMES = {
    "b": "bool",
    "i": "signed integers",
    "u": "unsigned integers",
    "f": "floats",
    "c": "complex numbers",
}


def kinds_in_words(kinds: str) -> str:
    """What functions take, for messages: `bools and integers`."""
    names = {"b": "bools", "iu": "integers", "f": "floats", "c": "complex numbers"}
    words = [word for letters, word in names.items() if letters in kinds]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def same(dtype: Any) -> Any:
    """The rule of functions that compute in the dtype of their arguments."""
    return dtype


def at_least_int(dtype: Any) -> Any:
    """The rule of functions that take bools as integers."""
    if dtypes.kind(dtype) == "b":
        return dtypes.python_scalar_dtype(int, config.x64)
    return dtype


def document(sentence: str, details: str, example: str, result: str) -> str:
    lines = [sentence]
    if details:
        lines += ["", details]
    lines += ["", ">>> import tetrad.numpy as jnp", f">>> jnp.{example}", result, ""]
    return "\n".join(lines)


class Function:
    """A public function made from an operation; `name` is as the user wrote it."""

    nin: int

    def __init__(
        self,
        name: str,
        compute: Any,
        sentence: str,
        example: str,
        result: str,
        rule: Rule = same,
        kinds: str = "biufc",
        advice: str = "",
        narrow: bool = False,
    ) -> None:
        self.__name__ = self.__qualname__ = name
        self.__module__ = "tetrad.numpy"
        self.__doc__ = document(sentence, self.details(rule, kinds), example, result)
        self.name = f"jnp.{name}"
        self.op: Op | None = compute if isinstance(compute, Op) else None
        self.compute = compute
        self.rule = rule
        self.kinds = kinds
        self.advice = advice
        self.narrow = narrow  # whether it is about the digits of 16-bit floats

    def details(self, rule: Rule, kinds: str) -> str:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<jnp.ufunc '{self.__name__}'>"

    def __reduce__(self) -> str:
        return self.__name__

    def wrong_call(self, given: int, options: dict[str, Any]) -> TypeError:
        """The error for arguments that NumPy's functions take and ours do not."""
        count = "one array" if self.nin == 1 else "two arrays"
        if not options:
            return TypeError(f"{self.name}: it takes {count}, got {given}")
        name = next(iter(options))
        instead = {
            "out": f"results are new arrays: out = {self.name}(…)",
            "where": f"choose with jnp.where(condition, {self.name}(…), other)",
            "dtype": f"convert with {self.name}(…).astype(dtype)",
            "axis": "it works element by element",
        }.get(name, "leave it out")
        return TypeError(f"{self.name}: it takes {count} and no {name}=; {instead}")

    def check_kind(self, name: str, dtype: Any, xs: list[Any]) -> None:
        kind = dtypes.kind(dtype)
        if kind in self.kinds:
            return
        place = where()
        meant = source.parenthesised(place) if place is not None else None
        advice = f"write {meant}" if meant else self.advice
        raise TypeError(
            f"{call(name)}: {named(name, xs)}; it takes {kinds_in_words(self.kinds)}"
            f"{'; ' + advice if advice else ''}"
        )


ufunc = Function


def rounded_once(compute: Any, *xs: Any) -> Any:
    """`compute(*xs)`; floats of 16 bits and less are float32 until the end."""
    narrow = {
        a.dtype for a in map(aval_of, xs) if a.kind == "f" and a.dtype.itemsize < 4
    }
    if not narrow:
        return compute(*xs)
    result = compute(*[_single(x) for x in xs])
    back = aval_of(result).dtype == np.float32
    return lax.convert_element_type(result, narrow.pop()) if back else result


def _single(x: Any) -> Any:
    if isinstance(x, Value):
        return lax.convert_element_type(x, np.float32)
    return np.float32(x) if isinstance(x, np.generic) else x


class Unary(Function):
    """A function of one argument, element by element."""

    nin = 1
    nout = 1

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.planner = Planner(self.name)
        self.table: dict[Aval, Op] = Cache(f"plans of {self.name}", limit=4096)

    def details(self, rule: Rule, kinds: str) -> str:
        text = "Works element by element and keeps the shape"
        if rule is inexact:
            text += "; integers and bools are computed as floats"
        if kinds != "biufc":
            text += "; TypeError unless `x` holds "
            text += " or ".join(KIND_NAMES[k] for k in kinds)
        return text + "."

    def __call__(self, x: Any, /, *more: Any, **options: Any) -> Any:
        try:
            if more or options:
                raise self.wrong_call(1 + len(more), options)
            if isinstance(x, Value):
                op = self.table.get(x.aval)
                if op is not None:
                    return STATE.trace.process(op, (x,))
                plan = self.planner.plans[config.mode].get(x.aval)
                if type(plan) is Plan and plan.direct is None:
                    return plan.run((x,))
            return self.slow(x, self.name)
        except Exception as error:
            trim_traceback(error)
            del x, more, options  # which the frame that raised leads to
            raise

    def slow(self, x: Any, name: str) -> Any:
        """The call with all checks; that of an array is planned."""
        if not isinstance(x, Value):
            return self.anew(x, name)
        op = self.planner.only(x.aval)
        # Where the result has another dtype, that may depend on settings.
        if op is not None and infer(op, (x.aval,)).dtype in (x.aval.dtype, np.bool_):
            self.table[x.aval] = op
        return self.planner.run(x.aval, lambda v: self.anew(v, name), (x,))

    def anew(self, x: Any, name: str) -> Any:
        given = x
        x = operand(x, name)
        aval = aval_of(x)
        dtype = self.rule(dtypes.canonicalize_dtype(aval.dtype))
        self.check_kind(name, dtype, [x])
        x = to(x, dtype, aval.weak_type and dtypes.kind(dtype) != "b", name)
        if self.op is not None and x is given and isinstance(x, Value):
            self.table[aval] = self.op
        composed = isinstance(x, Value) and self.op is None
        return self._composed(x) if composed else self.compute(x)

    def _composed(self, x: Any) -> Any:
        return self.compute(x) if self.narrow else rounded_once(self.compute, x)


class Binary(Function, Folds):
    """A function of two arguments, element by element, which broadcast."""

    nin = 2
    nout = 1

    def __init__(self, *args: Any, identity: Any = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.identity = identity
        self.planner = Planner(self.name)
        self.pairs: dict[Any, Op] = Cache(f"plans of {self.name}", limit=4096)
        # Plans for (aval, type of a Python number), while x64 is off, and on.
        self.right = (
            Cache(f"scalars of {self.name}"),
            Cache(f"scalars of {self.name}"),
        )
        self.left = (Cache(f"scalars of {self.name}"), Cache(f"scalars of {self.name}"))
        # The same where it takes several operations: keys of plans of these.
        numbers = f"numbers of {self.name}"
        self.numbers_right = (Cache(numbers), Cache(numbers))
        self.numbers_left = (Cache(numbers), Cache(numbers))

    def details(self, rule: Rule, kinds: str) -> str:
        text = "Works element by element on arguments that broadcast to one shape and"
        text += " promote to one dtype"
        if rule is inexact:
            text += ", a float or complex one"
        text += ". ValueError if the shapes do not broadcast"
        if kinds != "biufc":
            text += "; TypeError unless the arguments hold "
            text += " or ".join(KIND_NAMES[k] for k in kinds)
        return text + "."

    def __call__(self, x1: Any, x2: Any, /, *more: Any, **options: Any) -> Any:
        try:
            if more or options:
                raise self.wrong_call(2 + len(more), options)
            if type(x2) is float or type(x2) is int:
                return self.with_number(x1, x2, self.name)
            try:
                op = self.pairs.get((x1.aval, x2.aval))
            except AttributeError:
                return self.with_number(x1, x2, self.name)
            if op is not None:
                return STATE.trace.process(op, (x1, x2))
            return self.slow(x1, x2, self.name)
        except Exception as error:
            trim_traceback(error)
            del x1, x2, more, options  # which the frame that raised leads to
            raise

    def with_number(self, x: Any, y: Any, name: str) -> Any:
        """The call where one argument, as a rule, is a Python number."""
        right = isinstance(x, Value)
        table = (self.right if right else self.left)[config.x64]
        array, given = (x, y) if right else (y, x)
        kind = type(given)
        if (kind is not float and kind is not int) or not isinstance(array, Value):
            return self.slow(x, y, name)
        plan = table.get((array.aval, kind))
        if plan is None:
            return self.slow(x, y, name)
        op, cast = plan
        try:
            used = given if cast is None else cast(given)
        except OverflowError:  # a comparison knows what to do
            return self.slow(x, y, name)
        return STATE.trace.process(op, (array, used) if right else (used, array))

    def slow(self, x: Any, y: Any, name: str) -> Any:
        """The call with all checks; that of two arrays is planned."""
        if isinstance(x, Value) and isinstance(y, Value):
            return self.planner.run(
                (x.aval, y.aval), lambda a, b: self.anew(a, b, name), (x, y)
            )
        planned = self._by_plan(x, y) if self.op is None else None
        return self.anew(x, y, name) if planned is None else planned

    def _by_plan(self, x: Any, y: Any) -> Any:
        """The result for an array and a Python number, if there is a plan for such."""
        right = isinstance(x, Value)
        array, given = (x, y) if right else (y, x)
        if not isinstance(array, Value):
            return None
        tables = self.numbers_right if right else self.numbers_left
        found = tables[config.x64].get((array.aval, type(given)))
        if found is None:
            return None
        key, cast = found
        plan = self.planner.plans[config.mode].get(key)
        if type(plan) is not Plan:
            return None
        try:
            used = given if cast is None else cast(given)
        except OverflowError:
            return None
        return plan.run((array, used) if right else (used, array))

    def anew(self, x: Any, y: Any, name: str) -> Any:
        xs = operands(name, (x, y))
        dtype, weak, shape = joined(name, xs)
        dtype = self.rule(dtype)
        self.check_kind(name, dtype, xs)
        a, b = [stretch(to(v, dtype, weak, name), shape) for v in xs]
        if self.op is not None:
            self.remember(x, y, a, b)
            return self.compute(a, b)
        if isinstance(a, Value) and isinstance(b, Value):
            return self._composed(a, b, weak)
        key = aval_of(a), type(a), aval_of(b), type(b)  # a number is an operand, too
        if a is x and isinstance(x, Value):
            self._remember_number(self.numbers_right, key, x.aval, y, b)
        elif b is y and isinstance(y, Value):
            self._remember_number(self.numbers_left, key, y.aval, x, a)
        return self.planner.run(key, lambda p, q: self._composed(p, q, weak), (a, b))

    def _composed(self, a: Any, b: Any, weak: bool) -> Any:
        """What several operations make of converted operands, as weak as these."""
        result = rounded_once(self.compute, a, b)
        if weak or not aval_of(result).weak_type:
            return result
        return lax.convert_element_type(result, aval_of(result).dtype)

    def remember(self, x: Any, y: Any, a: Any, b: Any) -> None:
        """Notes that operands like `x` and `y` go to the operation as they are."""
        if a is x and b is y and isinstance(x, Value) and isinstance(y, Value):
            self.pairs[x.aval, y.aval] = self.op  # type: ignore[assignment]
        elif a is x and isinstance(x, Value):
            self._remember_number(self.right, self.op, x.aval, y, b)
        elif b is y and isinstance(y, Value):
            self._remember_number(self.left, self.op, y.aval, x, a)

    def _remember_number(
        self, tables: Any, what: Any, aval: Aval, given: Any, used: Any
    ) -> None:
        if type(given) not in (int, float):
            return
        table = tables[config.x64]
        if type(used) is float:
            table[aval, type(given)] = what, None if type(given) is float else float
        elif type(used) is int:
            table[aval, int] = what, _in_range(aval.dtype, self.name)
        elif dtypes.kind(aval.dtype) == "f":
            table[aval, type(given)] = what, aval.dtype.type


def _in_range(dtype: Any, name: str) -> Callable[[int], int]:
    limits = dtypes.iinfo(dtype)
    low, high = int(limits.min), int(limits.max)

    def checked(x: int) -> int:
        if low <= x <= high:
            return x
        dtypes.check_narrowing(x, dtype, f"{name}: the Python integer")
        return x

    return checked


# What Python calls these methods in its own messages about missing arguments.
Unary.__call__.__qualname__ = Binary.__call__.__qualname__ = "<jnp function>"


# ----------------------------------------------------------------------------- operators


def operator(function: Binary, symbol: str) -> Callable[[Any, Any], Any]:
    """The method behind `x <symbol> y`."""
    pairs, tables, name = function.pairs, function.right, f"x {symbol} y"
    slow = function.slow

    def method(x: Any, y: Any) -> Any:
        try:
            kind = type(y)
            if kind is float or kind is int:
                plan = tables[config.x64].get((x.aval, kind))
                if plan is not None:
                    op, cast = plan
                    try:
                        y = y if cast is None else cast(y)
                    except OverflowError:  # a comparison knows what to do
                        return slow(x, y, name)
                    return STATE.trace.process(op, (x, y))
            else:
                try:
                    op = pairs.get((x.aval, y.aval))
                except AttributeError:
                    op = None
                if op is not None:
                    return STATE.trace.process(op, (x, y))
            return slow(x, y, name) if array_like(y) else unknown(x, y, name)
        except Exception as error:
            trim_traceback(error)
            del x, y  # which the frame that raised leads to
            raise

    method.__doc__ = f"`x {symbol} y`: see `jnp.{function.__name__}`."
    return trims_itself(method)


_CONTAINERS = (list, tuple, dict, set, str, bytes, type(None))


def unknown(x: Any, y: Any, name: str) -> Any:
    """An operator on an array and something else: that may know what to do, unless it
    is one of Python's own containers. Those equal no array.
    """
    other = y if isinstance(x, Value) else x
    if type(other) not in _CONTAINERS or name in ("x == y", "x != y"):
        return NotImplemented
    names = operand_names(name, 2)
    side = names[0] if other is x else names[1]
    if isinstance(other, (list, tuple)):
        instead = f"write jnp.array({side})"
    elif other is None:
        instead = f"{side} has no value" if side != "None" else "None is no number"
    else:
        instead = "operators take arrays and numbers"
    word = "None" if other is None else f"a {type(other).__name__}"
    array = x if other is y else y
    raise TypeError(
        f"{call(name)}: one side is {array.aval.long_name()}, the other {word}; {instead}"
    )


def reflected(function: Binary, symbol: str) -> Callable[[Any, Any], Any]:
    """The method behind `y <symbol> x` where `y` is no array of ours."""
    tables, name, slow = function.left, f"x {symbol} y", function.slow

    def method(x: Any, y: Any) -> Any:
        try:
            kind = type(y)
            if kind is float or kind is int:
                plan = tables[config.x64].get((x.aval, kind))
                if plan is not None:
                    op, cast = plan
                    try:
                        y = y if cast is None else cast(y)
                    except OverflowError:
                        return slow(y, x, name)
                    return STATE.trace.process(op, (y, x))
            return slow(y, x, name) if array_like(y) else unknown(y, x, name)
        except Exception as error:
            trim_traceback(error)
            del x, y  # which the frame that raised leads to
            raise

    method.__doc__ = f"`y {symbol} x`: see `jnp.{function.__name__}`."
    return trims_itself(method)


def prefix(function: Unary, symbol: str) -> Callable[[Any], Any]:
    """The method behind `<symbol>x`."""
    table, slow = function.table, function.slow

    def method(x: Any) -> Any:
        try:
            op = table.get(x.aval)
            if op is not None:
                return STATE.trace.process(op, (x,))
            return slow(x, f"{symbol}x")
        except Exception as error:
            trim_traceback(error)
            del x  # which the frame that raised leads to
            raise

    method.__doc__ = f"`{symbol}x`: see `jnp.{function.__name__}`."
    return trims_itself(method)
