"""Calls of Python, and programs that make them.

Such programs are prepared under the recorder's lock and run after it is free.

A backend that can call Python prepares such a program in `execute` (`prepare`). Whoever
submitted it lets go of the recorder and runs it (`run`). Callbacks happen on this
thread: what they do may record, submit and wait like any other code, and start such
programs itself.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tetrad._src.core.bind import STATE
from tetrad._src.core.op import Op

Run = Callable[[], None]


class _Threads(threading.local):
    run: Run | None = None  # what is prepared
    muted = False


_threads = _Threads()
_changed = threading.Condition()
_running: dict[object, int] = {}  # one token a program, and its thread


def call(op: Op, arrays: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
    """Calls Python: the one place where it is done."""
    if _threads.muted and op.effects and not op.type():
        return []
    results: list[np.ndarray[Any, Any]] = op.host(*arrays)
    return results


class muted:
    """While something runs again in this thread: calls that only look on do nothing."""

    def __enter__(self) -> None:
        self.before = _threads.muted
        _threads.muted = True

    def __exit__(self, *exc: object) -> None:
        _threads.muted = self.before


def prepare(run: Run) -> None:
    """Notes what runs a program; for `run`, in this thread."""
    _threads.run = run


def forget() -> None:
    """Nothing is prepared yet: what Ctrl-C kept from running is not run later."""
    _threads.run = None


def run() -> None:
    """Runs what was prepared in this thread; raises what a callback raised."""
    prepared, _threads.run = _threads.run, None
    if prepared is None:  # nobody needed what Python computes
        return
    token = object()
    outside = STATE.where
    with _changed:
        _running[token] = threading.get_ident()
    try:
        prepared()
    finally:
        STATE.where = outside
        with _changed:
            _running.pop(token, None)
            _changed.notify_all()


def barrier() -> None:
    """Waits for the programs with calls of Python that other threads are in now.

    Those of this thread are over: a call returns when all its effects have happened.
    """
    mine = threading.get_ident()
    with _changed:
        others = [token for token, thread in _running.items() if thread != mine]
        _changed.wait_for(lambda: _running.keys().isdisjoint(others))


def _after_fork_in_child() -> None:
    global _changed
    _changed = threading.Condition()
    _running.clear()  # the other threads are gone


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
