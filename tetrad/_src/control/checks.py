"""Checks in programs: the operation behind `checkify.check`, and the error as a value.

A *site* is a place of a program that can fail: a kind, a message with gaps, the types of
what goes into the gaps, the user's line. An `Error` is a number (-1, or the place in
`sites` of the first check that failed) with the values for the gaps of every site. It is
a pytree, so transformed and compiled programs return it like any other result.

`Check` is the operation: its operands are such a number and such values. Eager code
raises at once; a machine never sees it, for `checkify.py` takes it out of programs.

Read `Site`, `Error`, `Check`, then the public functions.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from tetrad._src.control.bodies import shortened
from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import Tracer, Value, aval_of
from tetrad._src.core.op import Axis
from tetrad._src.core.stage import where
from tetrad._src.ops.compare import select_n
from tetrad._src.ops.families import PYTHON_NUMBERS, Call
from tetrad._src.util import errors, frames, tree

NONE = np.int32(-1)  # the number that stands for no error


class JaxException(Exception):
    """The base of what an `Error` can be."""


class FailedCheckError(JaxException):
    """A condition of `checkify.check` does not hold."""


class NaNError(JaxException):
    """An operation gave a NaN."""


class DivisionByZeroError(JaxException):
    """A divisor is 0."""


class OOBError(JaxException):
    """An index lies outside of its array."""


class OutOfBounds(JaxException):
    """An index lies outside of its array, where `bounds` says that this is an error."""


Kind = type[JaxException]


# How a message names the line.
_FOUND = {FailedCheckError: "the check at", OutOfBounds: "at"}


class Site(NamedTuple):
    """A place that can fail. `text` is a format string for (args, kwargs), which the
    values of types `avals` become by `treedef`."""

    kind: Kind
    text: str
    treedef: Any
    avals: tuple[Aval, ...]
    place: Any

    def exception(self, values: Sequence[Any]) -> JaxException:
        """The exception, with the values in the gaps of its message."""
        shown = [v if isinstance(v, Value) else np.asarray(v) for v in values]
        args, kwargs = self.treedef.unflatten(shown)
        text = self.text.format(*args, **kwargs)
        if self.place is None:
            return self.kind(text)
        line = frames.line_of(self.place)
        inside = "" if line.function == "<module>" else f" in `{line.function}`"
        what = _FOUND.get(self.kind, "found at")
        return self.kind(f"{text} ({what} {line}{inside})")


class Error:
    """The first check that failed, if any: what a function under `checkify` returns.

    >>> from tetrad.experimental import checkify
    >>> import tetrad.numpy as jnp
    >>> def root(x):
    ...     checkify.check(x >= 0, "{} is negative", x)
    ...     return jnp.sqrt(x)
    >>> error, y = checkify.checkify(root)(-4.0)
    >>> error.get().startswith("-4.0 is negative")
    True
    """

    __slots__ = ("code", "values", "sites")

    def __init__(
        self, code: Any, values: Sequence[Any] = (), sites: tuple[Site, ...] = ()
    ) -> None:
        self.code = code
        self.values = tuple(values)  # of all sites, one after the other
        self.sites = sites

    def get_exception(self) -> JaxException | None:
        """The exception of the first check that failed, or None.

        If the error is one of many lanes, of the first lane that has any.
        """
        codes = self._codes()
        failed = np.argwhere(codes >= 0)
        return None if not len(failed) else self._of_lane(tuple(failed[0]))

    def get(self) -> str | None:
        """The message of the first check that failed, or None; a line for each lane."""
        codes = self._codes()
        if codes.ndim == 0:
            return None if codes < 0 else str(self._of_lane(()))
        lines = []
        for lane in np.argwhere(codes >= 0):
            number = ", ".join(map(str, lane))
            lines.append(f"at mapped index {number}: {self._of_lane(tuple(lane))}")
        return "\n".join(lines) if lines else None

    def throw(self) -> None:
        """Raises a CheckError with the message, if there is one."""
        message = self.get()
        if message is not None:
            raise errors.CheckError(message)

    def _codes(self) -> np.ndarray[Any, Any]:
        if isinstance(self.code, Tracer):
            raise errors.ConcretizationTypeError(
                "whether a check failed is not known while the function is traced."
                " Return the error and ask outside of jit: err, out ="
                " jax.jit(checkify.checkify(f))(x); err.throw()"
            )
        return np.asarray(self.code)

    def _of_lane(self, lane: tuple[int, ...]) -> JaxException:
        number = int(np.asarray(self.code)[lane])
        first = sum([len(site.avals) for site in self.sites[:number]])
        site = self.sites[number]
        values = self.values[first : first + len(site.avals)]
        return site.exception([v[lane] if lane else v for v in values])

    def __repr__(self) -> str:
        if not isinstance(self.code, (Value, np.ndarray, np.generic)):
            return f"Error({self.code!r})"
        if isinstance(self.code, Tracer):
            return f"Error({self.code})"
        return f"Error({self.get() or 'none'})"


tree.register_pytree_node(
    Error,
    lambda e: ((e.code, *e.values), e.sites),
    lambda sites, children: Error(children[0], children[1:], sites),
)

init_error = Error(NONE)


# --------------------------------------------------------------------------- operation


@functools.total_ordering
class ErrorEffect:
    """What a jaxpr with a check in it does: it may fail in this way, with such values."""

    __slots__ = ("error_type", "shape_dtypes", "_key")

    def __init__(self, error_type: Kind, shape_dtypes: Sequence[Any]) -> None:
        self.error_type = error_type
        self.shape_dtypes = tuple(shape_dtypes)
        types = tuple([(str(x.dtype), tuple(x.shape)) for x in shape_dtypes])
        self._key = (error_type.__name__, types)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ErrorEffect) and self._key == other._key

    def __lt__(self, other: ErrorEffect) -> bool:
        return self._key < other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        types = ", ".join([f"{name}{list(shape)}" for name, shape in self._key[1]])
        return f"ErrorEffect({self._key[0]}, ({types}))"


_REFUSAL = (
    "Cannot abstractly evaluate a checkify.check: a compiled program, a branch or a loop"
    " cannot raise. Turn its checks into a result, as in err, out ="
    " jax.jit(checkify.checkify(f))(x); err.throw(). checkify.debug_check does nothing"
    " where it is not turned into a result."
)


class Check(Call):
    """Fails if its first operand, a number for each of `lanes` axes, is not -1."""

    sites: tuple[Site, ...]
    debug: bool = False
    lanes: int = 0

    name = "check"

    @property
    def effects(self) -> frozenset[Any]:
        return frozenset([ErrorEffect(site.kind, site.avals) for site in self.sites])

    @property
    def params(self) -> dict[str, Any]:
        return {"err": " or ".join([repr(site.text) for site in self.sites])}

    def type(self, *avals: Aval) -> tuple[Aval, ...]:
        return ()

    def require(self, *avals: Aval) -> None:
        if not self.debug:
            raise ValueError(_REFUSAL)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        self(*primals)
        return [], []

    def batch(self, axis: Axis, *args: Any) -> list[Any]:
        Check(self.sites, self.debug, self.lanes + 1)(*args)
        return []

    def expand(self, *args: Any) -> list[Any]:
        if self.debug:
            return []
        if any([isinstance(x, Tracer) for x in args]):
            raise ValueError(_REFUSAL)
        Error(args[0], args[1:], self.sites).throw()
        return []


# ------------------------------------------------------------------------------- public


def check(
    pred: Any, msg: str, *fmt_args: Any, debug: bool = False, **fmt_kwargs: Any
) -> None:
    """States that a condition holds; `checkify` turns it into a result of the function.

    Eager code raises CheckError at once if it does not hold. A compiled program cannot:
    write jit(checkify(f)).

    Args:
      pred: a scalar bool, which should be true.
      msg: what to say otherwise: a format string.
      *fmt_args, **fmt_kwargs: arrays, or pytrees of arrays, for the gaps of `msg`.

    >>> from tetrad.experimental import checkify
    >>> checkify.check(True, "never said")
    """
    what = "debug_check" if debug else "check"
    aval = aval_of(pred) if isinstance(pred, (Value, *PYTHON_NUMBERS)) else None
    if aval is None and isinstance(pred, (np.ndarray, np.generic)):
        aval = aval_of(pred)
    if aval is None or aval.shape or aval.kind != "b":
        got = shortened(pred) if aval is None else aval.long_name()
        raise TypeError(
            f"checkify.{what} takes a scalar pred, a bool, got {got}. Write jnp.all(...)"
            " around a condition on many elements."
        )
    if not isinstance(msg, str):
        raise TypeError(
            f"checkify.{what}: msg must be a string, got {shortened(msg)} of type"
            f" {type(msg).__name__}"
        )
    leaves, treedef = tree.flatten((fmt_args, fmt_kwargs))
    for leaf in leaves:
        if not isinstance(leaf, (Value, np.ndarray, np.generic, *PYTHON_NUMBERS)):
            raise TypeError(
                f"checkify.{what}: Formatting arguments must be arrays or pytrees of"
                f" arrays, got {shortened(leaf)} of type {type(leaf).__name__}. Put text"
                " into the message itself."
            )
    avals = tuple([aval_of(leaf) for leaf in leaves])
    site = Site(FailedCheckError, msg, treedef, avals, where())
    _try_message(what, site)
    code = select_n(pred, np.int32(0), NONE)
    Check((site,), debug)(code, *leaves)


def _try_message(what: str, site: Site) -> None:
    """Finds gaps in the message that nothing fills, while the line is at hand."""
    args, kwargs = site.treedef.unflatten([np.zeros((), bool)] * len(site.avals))
    try:
        site.text.format(*args, **kwargs)
    except (KeyError, IndexError) as problem:
        names = [*map(str, range(len(args))), *kwargs]
        raise ValueError(
            f"checkify.{what}: the message {site.text!r} has a gap that no argument fills"
            f" ({problem}); there are the arguments {names}. Double the braces that are"
            " meant as text."
        ) from None
    except (ValueError, TypeError):
        return  # a format that fits values other than these


def debug_check(pred: Any, msg: str, *fmt_args: Any, **fmt_kwargs: Any) -> None:
    """A check that does nothing unless `checkify` turns it into a result.

    >>> from tetrad.experimental import checkify
    >>> checkify.debug_check(False, "said by checkify only")
    """
    check(pred, msg, *fmt_args, debug=True, **fmt_kwargs)


def check_error(error: Error) -> None:
    """Raises what an `Error` holds; in a function under `checkify`, fails with it.

    So errors that were turned into results by one `checkify` go on to the next one.

    >>> from tetrad.experimental import checkify
    >>> error, _ = checkify.checkify(lambda: checkify.check(False, "no"))()
    >>> try:
    ...     checkify.check_error(error)
    ... except checkify.JaxRuntimeError as problem:
    ...     print(str(problem)[:2])
    no
    """
    if not isinstance(error, Error):
        _no_error(error)
    if error.sites:
        lanes = aval_of(error.code).ndim
        Check(error.sites, False, lanes)(error.code, *error.values)


def _no_error(error: Any) -> NoReturn:
    raise TypeError(
        f"check_error takes the Error that a function under checkify returns first, got"
        f" {shortened(error)} of type {type(error).__name__}. Write err, out ="
        " checkify.checkify(f)(x); checkify.check_error(err)"
    )
