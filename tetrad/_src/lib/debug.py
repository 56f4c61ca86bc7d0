"""Looking into programs while they run: `debug.callback`, `debug.print`, `debug.log`.

In: a function, or a format, and the values to look at; what is no array among them goes
along as it is. Out: an operation with an effect and no results. It differs from
`io_callback` in what transformations do with it: derivatives show the values of the
function itself, and `vmap` calls it once for each lane.

Read `DebugCall`, its two kinds, then the public functions.
"""

from __future__ import annotations

import logging
import re
import string
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from tetrad._src.core.effects import DEBUG, ORDERED_DEBUG, Effect
from tetrad._src.core.op import Axis
from tetrad._src.lib.callbacks import Callback, EachLane, HostCall, Mask, flat_callback
from tetrad._src.util import frames
from tetrad._src.util.log import logger

_TRACED = re.compile(r"\b(Jit|Vmap|Grad|JVP)Tracer\(")
_EFFECTS = {effect: frozenset({effect}) for effect in (DEBUG, ORDERED_DEBUG)}


class DebugCall(HostCall):
    """A call that only looks on."""

    @property
    def shown(self) -> Effect:
        """Its effect."""
        raise NotImplementedError

    @property
    def effects(self) -> frozenset[Any]:  # type: ignore[override]
        return _EFFECTS[self.shown]  # type: ignore[index]

    def take(self, results: Any) -> list[np.ndarray[Any, Any]]:
        return []

    def batch(self, axis: Axis, mapped: Mask, *args: Any) -> list[Any]:
        each = EachLane(_Ignoring(self.function), mapped, axis.size, (), self.what)
        results: list[Any] = DebugCallback(each, self.shown)(*args)
        return results

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        self(*primals)
        return [], []

    def transpose(self, cts: Sequence[Any], *args: Any) -> NoReturn:
        raise ValueError(
            f"Transpose doesn't support debugging callbacks: {self.what} was given a"
            " tangent, whose value no reverse-mode derivative ever computes. Look at the"
            " primal value, or differentiate forwards with jax.jvp"
        )


class _Ignoring:
    """A callback whose results nobody wants."""

    __slots__ = ("callback",)

    def __init__(self, callback: Any) -> None:
        self.callback = callback

    def __call__(self, *arrays: Any) -> None:
        self.callback(*arrays)

    def __eq__(self, other: object) -> bool:
        return type(other) is _Ignoring and self.callback == other.callback

    def __hash__(self) -> int:
        return hash(self.callback)

    @property
    def name(self) -> str:
        name: str = self.callback.name
        return name


class DebugCallback(DebugCall):
    """A call of a function that only looks on."""

    callback: Any
    effect: Effect
    partitioned: bool = False

    name = "debug_callback"

    @property
    def what(self) -> str:
        return "debug.callback"

    @property
    def shown(self) -> Effect:
        return self.effect


class DebugPrint(DebugCall):
    """Prints values by a format."""

    fmt: str
    ordered: bool
    in_tree: Any
    static_args: tuple[Any, ...]
    np_printoptions: tuple[Any, ...]
    has_placeholders: bool
    partitioned: bool = False
    logging_record: Any = None

    name = "debug_print"
    hidden = ("np_printoptions", "logging_record")

    @property
    def shown(self) -> Effect:
        return ORDERED_DEBUG if self.ordered else DEBUG

    @property
    def function(self) -> Any:
        printer = Printer(
            self.fmt, self.has_placeholders, self.np_printoptions, self.logging_record
        )
        return Callback(printer, self.in_tree, self.static_args)

    @property
    def what(self) -> str:
        return "debug.print" if self.logging_record is None else "debug.log"

    def structural(self) -> Any:
        return (type(self), self.ordered, self.function)


class Printer:
    """Writes a line to standard output: a format filled with values.

    With the place of the user's call, it is told to Python's `logging` instead.
    """

    __slots__ = ("fmt", "placeholders", "options", "place")

    def __init__(
        self, fmt: str, placeholders: bool, options: tuple[Any, ...], place: Any
    ) -> None:
        self.fmt = fmt
        self.placeholders = placeholders
        self.options = options
        self.place = place

    @property
    def known_as(self) -> Any:
        """What printers that write the same are equal in; see `Callback`."""
        return (Printer, self.fmt, self.placeholders, self.options, self.place)

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        if not self.placeholders:
            line = " ".join([self.fmt, *map(str, args)])
        else:
            options: dict[str, Any] = dict(self.options)
            if options.get("formatter"):
                options["formatter"] = dict(options["formatter"])
            with np.printoptions(**options):
                line = self.fmt.format(*args, **kwargs)
        if self.place is None:
            sys.stdout.write(line + "\n")
        elif logger.isEnabledFor(logging.INFO):
            file, number = self.place
            record = logger.makeRecord(
                logger.name, logging.INFO, file, number, line, (), None
            )
            logger.handle(record)


def _print_options() -> tuple[Any, ...]:
    """NumPy's options for printing, as a hashable."""
    options: dict[str, Any] = dict(np.get_printoptions())
    if options.get("formatter"):
        options["formatter"] = tuple(options["formatter"].items())
    return tuple(options.items())


class _Used(string.Formatter):
    """Finds out which values a format mentions."""

    def __init__(self) -> None:
        self.names: set[Any] = set()

    def format_field(self, value: Any, format_spec: str) -> str:
        return ""  # the values are not known yet

    def check_unused_args(
        self, used_args: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> None:
        self.names = set(used_args)


def _check_format(
    what: str, fmt: str, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> None:
    """Raises unless a format mentions all values, and nothing else."""
    fstring = (
        "You may be passing an f-string, which Python fills before anything is"
        " computed: leave out the `f`"
    )
    traced = _TRACED.search(fmt)
    if traced is not None:
        raise ValueError(
            f"{what}: the format has the text of a traced value in it, {traced[0]}...)."
            f" {fstring}, and hand the value over: jax.{what}('{{}}', x)"
        )
    used = _Used()
    try:
        used.format(fmt, *args, **kwargs)
        kind = None
    except (KeyError, IndexError) as error:
        kind = type(error)
    if kind is not None:
        raise kind(
            f"{what}: the format {fmt!r} mentions a value that was not given; it gets"
            f" {len(args)} by position and {sorted(kwargs)} by name"
        )
    left = [v for i, v in enumerate(args) if i not in used.names]
    if left:
        raise ValueError(
            f"Unused positional arguments to `jax.{what}`: {left}. Write a {{}} for each"
            f" into the format. {fstring}"
        )
    names = [name for name in kwargs if name not in used.names]
    if names:
        raise ValueError(
            f"Unused keyword arguments to `jax.{what}`: {names}. Write {{{names[0]}}}"
            f" into the format. {fstring}"
        )


# ------------------------------------------------------------------------------ public


def _check_partitioned(what: str, partitioned: bool) -> None:
    if partitioned:
        raise NotImplementedError(
            f"{what}(partitioned=True) is not available: a program runs on one device,"
            " so there are no parts to show. Leave it out"
        )


def _two_calls(name: str, args: Any, kwargs: Any) -> None:
    if args or kwargs:
        raise TypeError(
            f"{name} received unexpected arguments in the two-call form: {args=}"
            f" {kwargs=}. Options come first, then everything else:"
            f" {name.replace('_', '.')}(ordered=True)(..., x)"
        )


def debug_callback(
    callback: Callable[..., Any] | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    **kwargs: Any,
) -> Any:
    """Calls a Python function with values of a computation, also from compiled code.

    What the function returns is ignored. Under `vmap` it is called once for each lane;
    under `grad` and `jvp` with the values of the function that is differentiated.

    Args:
      callback: a function. Without it, options are taken, and the function comes next:
        `debug.callback(ordered=True)(function, x, ordered=...)`, the second call's
        keyword arguments all being the function's.
      *args: trees of values for the callback; what is no array goes along as it is.
      ordered: whether it keeps its place among other ordered calls.
      partitioned: must be False.
      **kwargs: further arguments.

    >>> import tetrad as jax
    >>> seen = []
    >>> y = jax.jit(lambda x: jax.debug.callback(lambda v: seen.append(int(v)), x))(3)
    >>> seen
    [3]
    """
    what = "debug.callback"
    _check_partitioned(what, partitioned)

    def call(callback: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        flat, arrays = flat_callback(what, callback, args, kwargs, static=True)
        DebugCallback(flat, ORDERED_DEBUG if ordered else DEBUG)(*arrays)

    if callback is not None:
        return call(callback, *args, **kwargs)
    _two_calls("debug_callback", args, kwargs)
    return call


def _write(what: str, ordered: bool, check: bool, place: Any) -> Callable[..., None]:
    """The function that prints, or tells `logging`, by a format."""

    def write(fmt: str, *args: Any, **kwargs: Any) -> None:
        if not isinstance(fmt, str):
            raise TypeError(
                f"{what}: the format must be a string, got {fmt!r} of type"
                f" {type(fmt).__name__}. Write jax.{what}('{{}}', x)"
            )
        if check:
            _check_format(what, fmt, args, kwargs)
        placeholders = any(
            [field is not None for _, field, *_ in string.Formatter().parse(fmt)]
        )
        flat, arrays = flat_callback(what, _unbound, args, kwargs, static=True)
        op = DebugPrint(
            fmt,
            bool(ordered),
            flat.in_tree,
            flat.static,
            _print_options(),
            placeholders,
            False,
            place,
        )
        op(*arrays)

    return write


def debug_print(
    fmt: str | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    **kwargs: Any,
) -> Any:
    """Prints values of a computation, also from compiled code.

    Args:
      fmt: a format as for `str.format`: "x: {}", "x: {x:.3f}". No f-string. Without it,
        options are taken, and the format comes next: `debug.print(ordered=True)(fmt, x)`.
      *args: trees of values for the format.
      ordered: whether it keeps its place among other ordered calls.
      partitioned: must be False.
      skip_format_check: do not check beforehand that the format uses all values.
      **kwargs: values by name.

    Raises ValueError if the format does not use a value.

    >>> import tetrad as jax
    >>> @jax.jit
    ... def f(x):
    ...     jax.debug.print("x is {:.2f}", x)
    ...     return x + 1
    >>> y = f(2.0)
    x is 2.00
    """
    what = "debug.print"
    _check_partitioned(what, partitioned)

    write = _write(what, ordered, not skip_format_check, None)
    if fmt is not None:
        return write(fmt, *args, **kwargs)
    _two_calls("debug_print", args, kwargs)
    return write


def debug_log(
    fmt: str | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    **kwargs: Any,
) -> Any:
    """Tells values of a computation to Python's `logging`, also from compiled code.

    The logger is `logging.getLogger("tetrad")`, the level INFO, the place that of the
    call. Everything else is as in `debug.print`.

    >>> import logging, tetrad as jax
    >>> logging.getLogger("tetrad").isEnabledFor(logging.INFO)
    False
    >>> jax.debug.log("x is {}", 2)  # so nothing is written
    """
    what = "debug.log"
    _check_partitioned(what, partitioned)
    place = frames.user_frame()
    found = None if place is None else frames.line_of(place)
    where = ("", 0) if found is None else (found.file, found.line)
    write = _write(what, ordered, not skip_format_check, where)
    if fmt is not None:
        return write(fmt, *args, **kwargs)
    _two_calls("debug_log", args, kwargs)
    return write


def _unbound(*args: Any, **kwargs: Any) -> None:
    """Stands for the printer while arguments are flattened."""
