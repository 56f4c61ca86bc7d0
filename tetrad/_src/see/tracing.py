"""What `jax.profiler` offers: traces in a directory, and named stretches in them.

In: the block between `start_trace` and `stop_trace`. Out: one file of the profile's
trace (`trace.py`), compressed, where tools look for it:
`<directory>/plugins/profile/<time>/<host>.trace.json.gz`. It opens in
ui.perfetto.dev. Names of stretches go to every profile that looks on, also to
`tetrad.see.profile`; while none does they cost next to nothing.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import json
import os
import platform
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from tetrad._src.runtime import events
from tetrad._src.runtime.events import Annotation
from tetrad._src.see import trace as trace_format
from tetrad._src.see.collect import Record
from tetrad._src.see.profile import Profile

Fun = TypeVar("Fun", bound=Callable[..., Any])


class ProfileOptions:
    """What a trace holds.

    With `host_tracer_level` 0 there is nothing of Python in it: waits, compilations,
    named stretches. With `device_tracer_level` 0 there is nothing of devices. Calls of
    Python functions are not traced (`python_tracer_level` is 0).
    """

    __slots__ = ("host_tracer_level", "device_tracer_level", "_python")

    def __init__(self) -> None:
        self.host_tracer_level = 2
        self.device_tracer_level = 1
        self._python = 0

    @property
    def python_tracer_level(self) -> int:
        return self._python

    @python_tracer_level.setter
    def python_tracer_level(self, level: int) -> None:
        if level:
            raise NotImplementedError(
                "calls of Python functions are not traced; run the program under"
                " `python -m cProfile`, or name stretches with"
                " jax.profiler.TraceAnnotation"
            )
        self._python = 0


class _Running:
    """The trace that is being taken."""

    def __init__(
        self, directory: Path, options: ProfileOptions, perfetto: bool
    ) -> None:
        self.directory = directory
        self.options = options
        self.perfetto = perfetto
        self.profile = Profile()


_running: _Running | None = None
_lock = threading.Lock()


def start_trace(
    log_dir: str | os.PathLike[str],
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: ProfileOptions | None = None,
) -> None:
    """Begins a trace, which `stop_trace` writes into the directory `log_dir`.

    What is pending is computed first. With `create_perfetto_trace` a second file,
    `perfetto_trace.json.gz`, is written besides.

    Raises:
      RuntimeError: if a trace is being taken already.
      NotImplementedError: for `create_perfetto_link`; open the file in ui.perfetto.dev.
    """
    global _running
    if create_perfetto_link:
        raise NotImplementedError(
            "create_perfetto_link=True would serve the trace to a browser; write it with"
            " create_perfetto_trace=True and open the file in https://ui.perfetto.dev"
        )
    if not isinstance(profiler_options, ProfileOptions | None):
        raise TypeError(
            "profiler_options must be a jax.profiler.ProfileOptions, got"
            f" {type(profiler_options).__name__}"
        )
    options = ProfileOptions() if profiler_options is None else profiler_options
    with _lock:
        if _running is not None:
            raise RuntimeError(
                "a trace is being taken already, into"
                f" {str(_running.directory)!r}; call jax.profiler.stop_trace() first"
            )
        made = _Running(Path(log_dir), options, create_perfetto_trace)
        made.profile.__enter__()
        _running = made


def stop_trace() -> None:
    """Ends the trace and writes it.

    What is pending is computed, and waited for, before.

    Raises:
      RuntimeError: if no trace is being taken.
    """
    global _running
    with _lock:
        ended, _running = _running, None
    if ended is None:
        raise RuntimeError(
            "no trace is being taken; jax.profiler.start_trace(directory) begins one"
        )
    ended.profile.__exit__(None, None, None)
    _write(ended)


def _write(ended: _Running) -> None:
    record = _chosen(ended.profile.record, ended.options)
    folder = (
        ended.directory / "plugins" / "profile" / time.strftime("%Y_%m_%d_%H_%M_%S")
    )
    folder.mkdir(parents=True, exist_ok=True)
    data = json.dumps(trace_format.chrome(record)).encode()
    names = [f"{platform.node() or 'host'}.trace.json.gz"]
    if ended.perfetto:
        names.append("perfetto_trace.json.gz")
    for name in names:
        with gzip.open(folder / name, "wb") as file:
            file.write(data)


def _chosen(record: Record, options: ProfileOptions) -> Record:
    if not options.host_tracer_level:
        record.waited.clear()
        record.compiled.clear()
        record.marks.clear()
    if not options.device_tracer_level:
        record.timeline.clear()
    return record


@contextlib.contextmanager
def trace(
    log_dir: str | os.PathLike[str],
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: ProfileOptions | None = None,
) -> Iterator[None]:
    """`with jax.profiler.trace(directory):` takes a trace of the block; see
    `start_trace`.

    >>> import tempfile, pathlib, tetrad as jax, tetrad.numpy as jnp
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     with jax.profiler.trace(directory):
    ...         y = jnp.ones(3) + 1
    ...     files = list(pathlib.Path(directory).rglob("*.trace.json.gz"))
    >>> len(files)
    1
    """
    start_trace(log_dir, create_perfetto_link, create_perfetto_trace, profiler_options)
    try:
        yield
    finally:
        stop_trace()


class TraceAnnotation:
    """`with jax.profiler.TraceAnnotation(name):` names a stretch of a program in traces.

    Keyword arguments are shown with it.

    >>> import tetrad as jax
    >>> with jax.see.profile() as p:
    ...     with jax.profiler.TraceAnnotation("load", file="a.npz"):
    ...         pass
    >>> [mark.name for mark in p.record.marks]
    ['load']
    """

    __slots__ = ("name", "details", "begin")

    def __init__(self, name: str, **kwargs: Any) -> None:
        self.name = name
        self.details = kwargs
        self.begin = 0.0

    @staticmethod
    def is_enabled() -> bool:
        """Whether a profile or trace looks on."""
        return bool(events.marks.listeners)

    def set_metadata(self, **kwargs: Any) -> None:
        """Adds to what is shown with it."""
        self.details = {**self.details, **kwargs}

    def __enter__(self) -> TraceAnnotation:
        if events.marks.listeners:
            self.begin = time.perf_counter()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        begin, self.begin = self.begin, 0.0
        if begin and events.marks.listeners:
            end = time.perf_counter()
            thread = threading.get_ident()
            events.marks.tell(Annotation(self.name, begin, end, thread, self.details))


class StepTraceAnnotation(TraceAnnotation):
    """A `TraceAnnotation` of one step of a training: `StepTraceAnnotation("train",
    step_num=7)` is shown as `train 7`.
    """

    __slots__ = ()

    def __init__(self, name: str, **kwargs: Any) -> None:
        step = kwargs.get("step_num")
        super().__init__(name if step is None else f"{name} {step}", **kwargs)


def annotate_function(
    func: Fun, name: str | None = None, **decorator_kwargs: Any
) -> Fun:
    """`func`, whose calls are named in traces; a decorator.

    >>> import tetrad as jax
    >>> @jax.profiler.annotate_function
    ... def load():
    ...     return 3
    >>> load()
    3
    """
    word = name or getattr(func, "__qualname__", None) or type(func).__name__

    @functools.wraps(func)
    def annotated(*args: Any, **kwargs: Any) -> Any:
        with TraceAnnotation(word, **decorator_kwargs):
            return func(*args, **kwargs)

    return annotated  # type: ignore[return-value]


def start_server(port: int, requires_backend: bool = True) -> Any:
    """Is not offered: take traces with `jax.profiler.trace`, also from a thread."""
    raise NotImplementedError(
        "a server of profiles is not offered; take a trace in the program, with"
        " jax.profiler.trace(directory) or start_trace and stop_trace, from any thread"
    )


def stop_server() -> None:
    """Is not offered, as there is no `start_server`.

    Raises:
      ValueError: always; no server runs.
    """
    raise ValueError("no profiler server is running")
