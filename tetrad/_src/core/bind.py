"""Where an operation goes when it is called: the current trace of this thread.

`STATE.trace` is the interpreter that receives operations. At the bottom stands the base
trace that `wiring` installs (the recorder); every active transformation puts its own
trace on top and remembers its parent. There are no levels: a trace processes an
operation with itself switched off, so that what it does lands in its parent.

`Value` is what users call `jax.Array`: device arrays and tracers derive from it. Its
operators and methods are filled in by the `numpy` layer through a table.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence, Set
from typing import Any, ClassVar

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.util import dtypes
from tetrad._src.util.config import config


class _State(threading.local):
    """The trace that receives operations, and the user line that caused them."""

    trace: Trace
    where: tuple[Any, int] | None = None
    place: Any = None  # where arrays are made, if `device=` says so
    scopes: tuple[tuple[str, Trace], ...] = ()  # names, and the trace of each block


STATE = _State()


class Value:
    """An array as user code sees it: a device array or a tracer."""

    __slots__ = ()
    __array_priority__ = 100
    aval: Aval

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


class Tracer(Value):
    """A value that stands for one in a transformation."""

    __slots__ = ("_trace", "aval", "origin", "note", "__weakref__")
    _trace: Trace


class Trace:
    """An interpreter of operations; `parent` is what it calls upon itself.

    `transformation` is what it does to a program, for the names of operations. `eager`
    says that it carries operations out, `stages` that it writes them down. `lanes` is
    how many lanes of a user's `vmap` it runs.
    """

    parent: Trace | None = None
    main = property(lambda self: self)  # JAX's name for what identifies it
    transformation: ClassVar[str] = ""
    eager: ClassVar[bool] = False
    stages: ClassVar[bool] = False
    ended: bool = False  # whether the block of the transformation is over
    lanes: int = 0
    inside: Set[Any] = frozenset()  # variables of keys that were made in these lanes

    def process(self, op: Any, args: Sequence[Any]) -> Any:
        raise NotImplementedError

    def origin(self, x: Any) -> tuple[Any, Sequence[Any]] | None:
        """The operation and operands that `x` is the one result of, as far as known."""
        return None

    def run(self, fun: Callable[..., Any], args: Sequence[Any]) -> Any:
        """What `fun` makes of `args` while operations go to this trace, which then ends."""
        outside = STATE.trace
        try:  # not `with`: Ctrl-C may strike before a method like __exit__ acts
            STATE.trace = self
            return fun(*args)
        finally:
            STATE.trace = outside
            self.ended = True

    def __enter__(self) -> Trace:
        STATE.trace = self
        return self

    def __exit__(self, *exc: object) -> None:
        assert self.parent is not None
        STATE.trace = self.parent
        self.ended = True


class at:
    """`with at(trace):` operations go to `trace`; the old one comes back after."""

    __slots__ = ("trace", "old")

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    def __enter__(self) -> Trace:
        self.old = STATE.trace
        STATE.trace = self.trace
        return self.trace

    def __exit__(self, *exc: object) -> None:
        STATE.trace = self.old


class making_at:
    """`with making_at(place):` arrays that depend on no others are made there.

    `place` is a placement of the runtime; None leaves it as it is.
    """

    __slots__ = ("place", "outer")

    def __init__(self, place: Any) -> None:
        self.place = place

    def __enter__(self) -> None:
        self.outer = STATE.place
        if self.place is not None:
            STATE.place = self.place

    def __exit__(self, *exc: object) -> None:
        STATE.place = self.outer


def home_of(x: Any) -> Any:
    """The placement of an array that the user placed; None for all others."""
    return x.placement if getattr(x, "committed", False) else None


def set_base(trace: Trace) -> None:
    """The port of the recorder: what receives operations outside transformations."""
    _State.trace = trace


def base_trace() -> Trace:
    return _State.trace


def current() -> Trace:
    return STATE.trace


def active() -> bool:
    """Whether a transformation is being traced in this thread."""
    return STATE.trace is not _State.trace


_NUMPY_SCALARS = (
    np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32,
    np.uint64, np.float16, np.float32, np.float64, np.complex64, np.complex128,
)  # fmt: skip


def _scalars(x64: bool) -> dict[type, Aval]:
    """The avals of Python's and NumPy's numbers."""
    avals: dict[type, Aval] = {
        t: Aval((), dtypes.python_scalar_dtype(t, x64), t is not bool)
        for t in (bool, int, float, complex)
    }
    for kind in _NUMPY_SCALARS:
        avals[kind] = Aval((), dtypes.canonicalized(np.dtype(kind), x64))
    return avals


_SCALARS = {x64: _scalars(x64) for x64 in (False, True)}


def aval_of(x: Any) -> Aval:
    """The aval of a value, a Python scalar, or anything NumPy takes."""
    if isinstance(x, Value):
        return x.aval
    if type(x) is np.ndarray:
        return Aval(x.shape, dtypes.canonicalize_dtype(x.dtype))
    scalar = _SCALARS[config.x64].get(type(x))
    if scalar is not None:
        return scalar
    if isinstance(x, (bool, int, float, complex)) and not isinstance(x, np.generic):
        for kind in (bool, int, float, complex):
            if isinstance(x, kind):
                return _SCALARS[config.x64][kind]
    dtype = x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype
    return Aval(np.shape(x), dtypes.canonicalize_dtype(dtype))
