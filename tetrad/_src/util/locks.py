"""Locks that a forked process can use, whoever held them in its parent.

A child of `fork` has one thread. A lock that another thread of the parent held at that
moment would stay held for ever; the locks made here are free again. What they guard must
be whole between any two steps of Python, as dictionaries are.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any

_made: weakref.WeakSet[Any] = weakref.WeakSet()


def make_lock() -> Any:
    """A `threading.Lock` that is free in a forked child."""
    return _noted(threading.Lock())


def make_rlock() -> Any:
    """A `threading.RLock` that is free in a forked child."""
    return _noted(threading.RLock())


def _noted(lock: Any) -> Any:
    _made.add(lock)
    return lock


def _after_fork_in_child() -> None:
    for lock in list(_made):
        mine = getattr(lock, "_is_owned", None)
        if mine is None or not mine():
            lock._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
