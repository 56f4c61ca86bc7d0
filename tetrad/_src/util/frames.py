"""Source locations and tracebacks: the user's line, found cheaply and told exactly.

`user_frame` finds who called into the library and returns a *place*, the pair (code
object, instruction offset); it costs well under a microsecond and holds no frame alive.
`line_of`, `source_line` and `expression_at` turn a place into text when a message is
written.  `hide_frames` marks the borders of the public interface: an exception that
passes such a border loses the frames of the library's inside, so that a user sees the
own lines and the call that failed.  `TETRAD_FULL_TRACEBACK=1` keeps every frame.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import linecache
import os
import re
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import Any, Final, NamedTuple, ParamSpec, TypeAlias, TypeVar, cast
from weakref import WeakSet

import numpy as np

from tetrad._src.util import misfit
from tetrad._src.util.config import config

__all__ = [
    "Around",
    "Location",
    "Marked",
    "Place",
    "argument_named",
    "backward",
    "entrance",
    "expression_at",
    "format_where",
    "hidden_frames",
    "hide_all",
    "hide_frames",
    "is_ours",
    "line_of",
    "locals_of",
    "name_stack",
    "named",
    "positions",
    "register_exclusion",
    "source_at",
    "source_line",
    "trim_traceback",
    "trims_itself",
    "user_frame",
    "warn",
    "within",
]

Place: TypeAlias = tuple[CodeType, int]


class Marked(tuple[CodeType, int]):
    """A place of which more is known; equal to the place alone.

    `backward` says that what is computed belongs to the backward pass of a gradient, and
    `names` are the scopes that the user put around the line, the outermost first, with
    the transformations between them.
    """

    backward: bool = False
    names: tuple[str, ...] = ()


class Around(str):
    """The name of a transformation among names: it stands around the next name."""

    __slots__ = ()


_getframe = sys._getframe

Params = ParamSpec("Params")
Result = TypeVar("Result")

# Files whose path starts like this are ours.
_PACKAGE: Final = os.path.dirname(os.path.dirname(os.path.dirname(__file__))) + os.sep

# Frames that are passed over on the way to the user: ours, and those of the modules
# through which a user's call may reach us.
_PASSED_OVER: tuple[str, ...] = (
    _PACKAGE,
    os.path.dirname(np.__file__) + os.sep,
    contextlib.__file__,
    functools.__file__,
    "<frozen ",
)
_passed_over: dict[str, bool] = {}
_is_passed_over = _passed_over.get


def register_exclusion(path: str) -> None:
    """Counts the files whose path starts like this among those that are passed over.

    A library that is built on this one registers itself, so that messages name the line
    of whoever called it.
    """
    global _PASSED_OVER
    _PASSED_OVER = (*_PASSED_OVER, path)
    _passed_over.clear()


def is_ours(filename: str) -> bool:
    """Whether a file belongs to this library."""
    return filename.startswith(_PACKAGE)


def user_frame(depth: int = 1) -> Place | None:
    """The place of the nearest caller outside this library, or None.

    The search starts `depth` frames above this function: at 1 with the function that
    calls it. Python makes an object of each frame that is looked at, which costs more
    than the rest; so who knows that some callers are ours starts above them.
    """
    try:
        frame = _getframe(depth)
    except ValueError:  # the library was called by a thread itself
        return None
    code = frame.f_code
    if _is_passed_over(code.co_filename) is False:
        return code, frame.f_lasti
    return _search(frame)


def _search(frame: FrameType | None) -> Place | None:
    """The place of the nearest frame, this one or above, that is not passed over."""
    known_files = _passed_over
    while frame is not None:
        code = frame.f_code
        passed_over = known_files.get(code.co_filename)
        if passed_over is None:
            passed_over = code.co_filename.startswith(_PASSED_OVER)
            known_files[code.co_filename] = passed_over
        if not passed_over:
            return code, frame.f_lasti
        frame = frame.f_back
    return None


def entrance() -> tuple[FrameType | None, FrameType]:
    """The nearest frame outside this library, and the frame that it called to get in."""
    inner = frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_PASSED_OVER):
        inner = frame
        frame = frame.f_back  # type: ignore[assignment]
    return frame, inner


def backward(place: Place | None) -> Place | None:
    """The place, marked as one whose cotangents are computed."""
    if place is None or getattr(place, "backward", False):
        return place
    made = Marked(place)
    made.backward = True
    names = getattr(place, "names", ())
    around = [i for i, n in enumerate(names) if type(n) is Around and n == "jvp"]
    if around:
        at = around[-1]
        names = (*names[:at], Around("transpose"), *names[at:])
    made.names = names
    return made


def named(place: Place, names: tuple[str, ...]) -> Marked:
    """The place, marked with names."""
    made = Marked(place)
    made.names = names
    return made


def within(outer: Place | None, inner: Place | None) -> Place | None:
    """The place `inner` of a function that is called at `outer`, with the names of both."""
    names = getattr(outer, "names", ())
    if not names or inner is None:
        return inner
    made = named(inner, (*names, *getattr(inner, "names", ())))
    made.backward = getattr(inner, "backward", False)
    return made


def name_stack(place: Place | None) -> str:
    """The names of a place in one string: `model/vmap(layer)/relu`.

    >>> name_stack(named((None, 0), ("model", Around("vmap"), "layer", "relu")))
    'model/vmap(layer)/relu'
    """
    words: list[str] = []
    for name in reversed(getattr(place, "names", ())):
        if type(name) is Around:
            inner = words.pop(0) if words else ""
            words.insert(0, f"{name}({inner})")
        else:
            words.insert(0, name)
    return "/".join(words)


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Issues a warning at the line of the user."""
    level = 1
    frame: FrameType | None = sys._getframe(0)
    while frame is not None and frame.f_code.co_filename.startswith(_PASSED_OVER):
        frame = frame.f_back
        level += frame is not None
    warnings.warn(message, category, stacklevel=level)


def argument_named(value: object) -> tuple[str, str] | None:
    """(name of the argument, name of the function) if the nearest function of the user
    was called with `value`; None otherwise.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_PASSED_OVER):
        frame = frame.f_back
    if frame is None:
        return None
    code = frame.f_code
    count = code.co_argcount + code.co_kwonlyargcount
    for name in code.co_varnames[:count]:
        if frame.f_locals.get(name) is value:
            return name, code.co_name
    return None


class Location(NamedTuple):
    """A place as people name it."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{_short_path(self.file)}:{self.line}"


def _short_path(file: str) -> str:
    """The path from the working directory where that is shorter."""
    if not os.path.isabs(file):
        return file
    try:
        relative = os.path.relpath(file)
    except (OSError, ValueError):
        return file
    return file if relative.startswith("..") else relative


def positions(place: Place) -> tuple[int | None, int | None, int | None, int | None]:
    """(first line, last line, first column, last column) of an instruction."""
    code, lasti = place
    number = max(0, lasti) // 2
    found = next(itertools.islice(code.co_positions(), number, None), None)
    return (None, None, None, None) if found is None else found


def line_of(place: Place) -> Location:
    """The file, line and function of a place."""
    code = place[0]
    line = positions(place)[0]
    if line is None:
        line = code.co_firstlineno
    return Location(code.co_filename, line, code.co_qualname)


def format_where(place: Place | Location | None) -> str:
    """`file:line`, as messages name a place."""
    if place is None:
        return "an unknown line"
    if isinstance(place, Location):
        return str(place)
    return str(line_of(place))


def source_line(file: str, line: int) -> str:
    """The text of one source line without its indentation; empty if not known."""
    return linecache.getline(file, line).strip()


def source_at(place: Place | None) -> str:
    """The text of the line of a place; empty if not known."""
    return "" if place is None else source_line(*line_of(place)[:2])


def expression_at(code: CodeType, lasti: int) -> str | None:
    """The text of the expression that an instruction belongs to, such as `a @ b`.

    None if the source or the positions are not known.
    """
    first, last, start, end = positions((code, lasti))
    if first is None or last is None or start is None or end is None:
        return None
    lines = [linecache.getline(code.co_filename, n) for n in range(first, last + 1)]
    if not all(lines):
        return None
    # Columns count bytes of UTF-8; the end comes first, for one line may hold both.
    encoded = [line.encode() for line in lines]
    encoded[-1] = encoded[-1][:end]
    encoded[0] = encoded[0][start:]
    words = b" ".join(part.strip() for part in encoded).decode(errors="replace")
    return words or None


# --- Tracebacks --------------------------------------------------------------------------


def _keeps_all_frames() -> bool:
    if os.environ.get("TETRAD_FULL_TRACEBACK", "") not in ("", "0"):
        return True
    return config.jax_traceback_filtering == "off"


_REMOVED = (
    "For simplicity, the frames of tetrad are left out of this traceback;"
    ' config.update("jax_traceback_filtering", "off") shows them.'
)


def trim_traceback(error: BaseException) -> None:
    """Takes the frames of this library out of the traceback of `error`.

    The user's frames stay, and the deepest frame as the place that raised.  What our
    frames hold is dropped, so that an error keeps no array alive but those of the user.
    In an `except` block, a bare `raise` after this keeps what is left.
    """
    _in_users_words(error)
    late = getattr(error, "tell_late", None)
    whole = _keeps_all_frames()
    if late is not None or not whole:
        _empty_frames(error)
    if late is not None:
        late()
    if whole:
        return
    told = _REMOVED in getattr(error, "__notes__", ())
    if config.jax_traceback_filtering == "quiet_remove_frames" and not told:
        error.add_note(_REMOVED)
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        link.__traceback__ = _trimmed(link.__traceback__)
        link = link.__cause__ or link.__context__


# How messages begin: the name of a public function or method, or an operator.
_BEGINNING = re.compile(r"(?:(?:jnp|jax|lax|x)(?:\.\w+)*\.(\w+)|x ([^\w\s]+) y): ")
# What typing says of an operation that the user may never have heard of.
_TYPING = re.compile(r"(\w+) does not accept dtype (.*) \(operand \d+ is (.*)\)$")
_LONGEST = 60  # characters of an expression at the beginning of a message


def _in_users_words(error: BaseException) -> None:
    """Puts the user's own call in place of a function's name at a message's beginning:
    `jnp.sum: axis=5 …` becomes `jnp.sum(image, axis=5): axis=5 …`.
    """
    text = error.args[0] if error.args else None
    if not isinstance(text, str):
        return
    beginning = _BEGINNING.match(text)
    typing = _TYPING.match(text) if beginning is None else None
    place = user_frame() if beginning is not None or typing is not None else None
    if place is None:
        return
    words = expression_at(*place)
    if words is None or len(words) > _LONGEST:
        return
    if beginning is not None:
        if (beginning[1] or beginning[2]) in words:
            error.args = (f"{words}: {text[beginning.end() :]}", *error.args[1:])
    elif typing is not None and typing[1] not in words:
        why = "; random keys are no numbers" if "key<" in typing[2] else ""
        told = (
            f"{words} does not accept dtype {typing[2]}: an operand is {typing[3]}{why}"
        )
        error.args = (told, *error.args[1:])


def _empty_frames(error: BaseException) -> None:
    """Drops the local variables of our frames that have ended because of `error`."""
    waiting: list[BaseException | None] = [error]
    seen: set[int] = set()
    while waiting:
        link = waiting.pop()
        if link is None or id(link) in seen:
            continue
        seen.add(id(link))
        waiting += [link.__cause__, link.__context__]
        traceback = link.__traceback__
        while traceback is not None:
            # Inner borders have taken frames out that the deepest one still leads to.
            frame: FrameType | None = traceback.tb_frame
            while frame is not None and _emptied(frame):
                frame = frame.f_back
            traceback = traceback.tb_next


def _emptied(frame: FrameType) -> bool:
    """Drops what a frame of ours holds; no if it is running, or is not ours."""
    code = frame.f_code
    if not is_ours(code.co_filename):
        return False
    if code.co_flags & _SUSPENDS:  # it may be waiting for its next turn
        return True
    try:
        frame.clear()
    except RuntimeError:
        return False
    return True


_SUSPENDS: Final = (
    inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
)


def locals_of(frame: FrameType) -> dict[str, Any]:
    """The variables of a frame; unlike `frame.f_locals`, this keeps none of them alive.

    Up to Python 3.12, `f_locals` of a function is a dictionary that stays with the frame.
    """
    found = frame.f_locals
    values = dict(found)
    if (
        type(found) is dict
        and frame.f_code.co_flags & inspect.CO_OPTIMIZED
        and sys.getrefcount(found) <= 3  # the frame's, ours, the call's: no locals()
    ):
        found.clear()
    return values


def _trimmed(traceback: TracebackType | None) -> TracebackType | None:
    entries = []
    while traceback is not None:
        entries.append(traceback)
        traceback = traceback.tb_next
    result: TracebackType | None = None
    for entry in reversed(entries):
        if result is None or not is_ours(entry.tb_frame.f_code.co_filename):
            line = entry.tb_lineno  # None where Ctrl-C struck between two lines
            frame = entry.tb_frame
            result = TracebackType(result, frame, entry.tb_lasti, line or 0)
    return result


class hidden_frames:
    """Context manager form of `hide_frames`, for a part of a function."""

    __slots__ = ()

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is not None:
            trim_traceback(error)


_trim_themselves: WeakSet[Any] = WeakSet()


def trims_itself(function: Callable[Params, Result]) -> Callable[Params, Result]:
    """Marks a function that calls `trim_traceback` itself, so needs no border.

    A `try` inside of a function costs nothing while all goes well; a border is a call.
    """
    _trim_themselves.add(function)
    return function


def misfit_of(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    error: BaseException,
) -> Exception | None:
    """What the user is told about arguments that made Python raise under way, if so."""
    if _keeps_all_frames() or is_ours(sys._getframe(2).f_code.co_filename):
        return None
    told = misfit.instead_of(error, function, args, kwargs)
    if told is not None:
        _in_users_words(told)
        _empty_frames(error)
    return told


def hide_frames(function: Callable[Params, Result]) -> Callable[Params, Result]:
    """Decorator of public functions: exceptions leave without our inner frames.

    A user sees the own frames and the frame that raised.
    """
    if function in _trim_themselves:
        return function

    @functools.wraps(function)
    def border(*args: Params.args, **kwargs: Params.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            told = misfit_of(function, args, kwargs, error)
            if told is not None:
                raise told from None
            trim_traceback(error)
            del args, kwargs  # which the frame that raised leads to
            # Bare, so that the frame of this border is not added again.
            raise

    return trims_itself(cast(Callable[Params, Result], border))


_borders: dict[FunctionType, Callable[..., Any]] = {}


def hide_all(namespace: dict[str, Any]) -> None:
    """Puts borders around the public functions in the namespace of a public module.

    A function that stands in several modules, or under several names, stays one
    function. It is told where it can be found, so that it can be pickled.
    """
    module = namespace["__name__"]
    for name, member in list(namespace.items()):
        if name.startswith("_") or type(member) is not FunctionType:
            continue
        if member in _trim_themselves or not is_ours(member.__code__.co_filename):
            continue
        border = _borders.get(member)
        if border is None:
            border = _borders[member] = hide_frames(member)
            border.__module__ = module
            border.__qualname__ = border.__name__ = name
        namespace[name] = border
