"""Indices out of range: what is looked at, and what a user is told.

In: the indices of a read or write as the user gave them, with the `Limit` of each. What
happens is said by `tetrad_bounds`. Under "warn", indices that are known without waiting
are looked at: numbers, NumPy arrays, arrays that are computed already. Under "error" all
others are, too: `InBounds` is the operation that says in a program what must hold. It
has an effect, so nothing drops it; whoever runs a program from outside all
transformations turns it into a result first (`control/bounds.py`), and a machine that
meets it nevertheless leaves it out.

Reading order: `Limit`, `look`, `InBounds`, the words.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from types import CodeType
from typing import Any, Final, NamedTuple

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import STATE, Tracer, Value
from tetrad._src.core.effects import BOUNDS
from tetrad._src.core.op import Axis
from tetrad._src.core.stage import where
from tetrad._src.ops.families import Call
from tetrad._src.util import frames, source
from tetrad._src.util.config import config
from tetrad._src.util.errors import OutOfBoundsError, OutOfBoundsWarning

Shape = tuple[int, ...]
Place = Any

LARGEST: Final = 1 << 16  # elements of an index array that are looked at in eager code
LONGEST: Final = 60  # characters of the user's words


class Limit(NamedTuple):
    """What an index may be: at least `low`, at most `high`, along `axis` of `extent`.

    It is the start of a window of `size`; `how` says what it is for: a key of `_ADVICE`.
    """

    axis: int
    extent: int
    low: int
    high: int
    how: str
    size: int = 1


def limit(axis: int, extent: int, counted: bool, how: str) -> Limit:
    """The limit of one element; negative ones count from the end unless `counted`."""
    return Limit(axis, extent, 0 if counted else -extent, extent - 1, how)


# ------------------------------------------------------------------------------- looking


def look(given: Iterable[tuple[Any, Limit]], shape: Shape, name: str) -> None:
    """Warns or raises where an index is out of range, as far as the setting asks for it.

    `shape` is that of the array; `name` the call, where the source cannot be read.
    """
    setting = config.tetrad_bounds
    if setting == "off":
        return
    later = []
    for index, bound in given:
        found = _extremes(index)
        if found is None:
            if setting == "error":
                later.append((index, bound))
            continue
        value = _outside(found, bound)
        if value is not None:
            report(value, bound, shape, name, where())
    if later:
        InBounds(tuple([bound for _, bound in later]), shape, name)(
            *[index for index, _ in later]
        )


def inside(index: Value, extent: int) -> bool:
    """Whether an index array that was looked at before needs no second look."""
    found = getattr(index, "extremes", None)
    return found is not None and found[0] >= 0 and found[1] < extent


def _extremes(index: Any) -> tuple[int, int] | None:
    """The smallest and the largest element, if they are known."""
    if not isinstance(index, Value):
        return _ends(np.asarray(index))
    found: tuple[int, int] | None = getattr(index, "extremes", None)
    if found is not None or isinstance(index, Tracer):
        return found
    if index.size > LARGEST:
        return None
    host = index._peek()  # type: ignore[attr-defined]
    return None if host is None else remember(index, host)


def _ends(host: np.ndarray[Any, Any]) -> tuple[int, int]:
    """The smallest and the largest element; of none, what lies in every range."""
    return (int(host.min()), int(host.max())) if host.size else (0, -1)


def _outside(found: tuple[int, int], bound: Limit) -> int | None:
    """Which of two extremes is out of range; the lower one if both are."""
    low, high = found
    if low < bound.low:
        return low
    return high if high > bound.high else None


def remember(index: Any, host: np.ndarray[Any, Any]) -> tuple[int, int]:
    """Notes the extremes of an index array, of which `host` has the elements."""
    found = _ends(host)
    if not isinstance(index, Tracer):
        index.extremes = found
    return found


# Places that were warned of; the code objects stay alive, so that no other gets their id.
_told: dict[tuple[int, int, int], CodeType | None] = {}
_MOST_PLACES: Final = 4096


def report(value: int, bound: Limit, shape: Shape, name: str, place: Place) -> None:
    """Raises, or warns once for each place and axis."""
    if config.tetrad_bounds == "error":
        raise OutOfBoundsError(
            located(problem(bound, shape, name, place), value, place)
        )
    code, lasti = place if place is not None else (None, 0)
    known = id(code), lasti, bound.axis
    if known in _told:
        return
    if len(_told) >= _MOST_PLACES:
        _told.clear()
    _told[known] = code
    text = warning(bound, shape, name, place).format(value)
    if place is None:
        frames.warn(text, OutOfBoundsWarning)
        return
    line = frames.line_of(place)
    warnings.warn_explicit(text, OutOfBoundsWarning, line.file, line.line)


# ----------------------------------------------------------------------------- operation


class InBounds(Call):
    """States that each operand, integers of any shape, is within its limit."""

    limits: tuple[Limit, ...]
    shape: Shape  # of the array that is indexed
    call: str

    name = "in_bounds"
    effects = frozenset((BOUNDS,))

    @property
    def params(self) -> dict[str, Any]:
        return {"limits": tuple([(x.axis, x.low, x.high) for x in self.limits])}

    def type(self, *avals: Aval) -> tuple[Aval, ...]:
        return ()

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        self(*primals)
        return [], []

    def batch(self, axis: Axis, *args: Any) -> list[Any]:
        self(*args)
        return []

    def expand(self, *args: Any) -> list[Any]:
        """Looks at values that are known; in a program it is nothing."""
        if any([isinstance(x, Tracer) for x in args]):
            return []
        place = STATE.where or frames.user_frame()
        for x, bound in zip(args, self.limits):
            value = _outside(_ends(np.asarray(x)), bound)
            if value is not None:
                text = problem(bound, self.shape, self.call, place)
                raise OutOfBoundsError(located(text, value, place))
        return []


# --------------------------------------------------------------------------------- words

# What happens out of range, and what to write where that is meant.
_ADVICE: Final = {
    "read": (
        "the nearest element is read",
        '{array}.at[{index}].get(mode="clip") reads the nearest element, mode="fill" a'
        " value of your choice",
    ),
    "write": (
        "nothing is written there",
        '{array}.at[{index}].{method}(…, mode="drop") leaves such elements out,'
        ' mode="clip" moves them inside',
    ),
    "put": (
        "the nearest element is written",
        'mode="clip" says so, mode="wrap" counts modulo the size',
    ),
    "take": (
        "NaN is read there, or the extreme of an integer type",
        'mode="fill" says so, mode="clip" reads the nearest element, mode="wrap" counts'
        " modulo the extent",
    ),
    "segment": (
        "such rows are left out",
        'mode="drop" leaves such rows out',
    ),
    "gather": (
        "such windows are not read or written",
        'mode="fill" (of a scatter "drop") leaves such windows out, mode="clip" moves'
        " them inside",
    ),
    "window": (
        "the window is moved inside",
        "jnp.clip(start, {low}, {high}) moves the window inside",
    ),
}


def problem(bound: Limit, shape: Shape, name: str, place: Place) -> str:
    """The message of an error, with a gap {} for the index."""
    advice = _advice(bound, name, place)
    return f"{_what(bound, shape, name, place)}. Where that is meant, {advice}"


def warning(bound: Limit, shape: Shape, name: str, place: Place) -> str:
    """The message of a warning, with a gap {} for the index."""
    happens, _ = _ADVICE[bound.how]
    advice = _advice(bound, name, place)
    return (
        f"{_what(bound, shape, name, place)}: {happens}. Where that is meant, {advice};"
        ' jax.bounds("error") makes this an error'
    )


def located(text: str, value: Any, place: Place) -> str:
    """A message with the index in its gap, and the line."""
    text = text.format(value)
    if place is None:
        return text
    line = frames.line_of(place)
    inside = "" if line.function == "<module>" else f" in `{line.function}`"
    return f"{text} (at {line}{inside})"


def _what(bound: Limit, shape: Shape, name: str, place: Place) -> str:
    words = _quoted(_words(name, place))
    along = f"axis {bound.axis} of extent {bound.extent} (shape {shape})"
    if bound.size == 1:
        return f"{words}: index {{}} is out of range for {along}"
    return f"{words}: a window of {bound.size} from index {{}} on does not fit {along}"


def _advice(bound: Limit, name: str, place: Place) -> str:
    _, advice = _ADVICE[bound.how]
    words = _words(name, place)
    found = source.subscript(words) or source.subscript(words[: words.rfind("].") + 1])
    array, index = found or ("x", "i")
    if array.endswith(".at"):
        array = array.removesuffix(".at")
    if len(array) + len(index) > LONGEST // 2:
        array, index = "x", "i"
    text = advice.format(
        array=array,
        index=index,
        method=name.rpartition(".")[2] if "]." in name else "set",
        low=0,
        high=bound.high,
    )
    return _quoted(text)


def _words(name: str, place: Place) -> str:
    """The user's words for the call, if they can be read."""
    text = frames.expression_at(*place) if place is not None else None
    return text if text and len(text) <= LONGEST and "\n" not in text else name


def _quoted(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")
