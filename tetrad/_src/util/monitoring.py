"""Events that programs record and listen to: `tetrad.monitoring`.

In: an event's name, a number, and words about it. Out: a call of everybody who registered
for that kind of events. The library records how long tracing and compiling take:

    /jax/core/compile/jaxpr_trace_duration     a function was traced (fun_name)
    /jax/core/compile/backend_compile_duration a program was planned and compiled (fun_name)
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

Listener = Callable[..., Any]

_lock = threading.Lock()


class Listeners:
    """Those who listen to one kind of events."""

    __slots__ = ("kind", "all")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.all: tuple[Listener, ...] = ()

    def add(self, callback: Listener) -> None:
        if not callable(callback):
            raise TypeError(
                f"monitoring: a listener to {self.kind} must be a function, got"
                f" {callback!r} of type {type(callback).__name__}"
            )
        with _lock:
            self.all = (*self.all, callback)

    def remove(self, callback: Listener) -> None:
        with _lock:
            if callback not in self.all:
                raise ValueError(
                    f"monitoring: {callback!r} does not listen to {self.kind}, so it"
                    " cannot be unregistered"
                )
            left = list(self.all)
            left.remove(callback)
            self.all = tuple(left)

    def tell(self, *facts: Any, **words: Any) -> None:
        for listener in self.all:
            listener(*facts, **words)


events = Listeners("events")
durations = Listeners("durations")
spans = Listeners("time spans")
scalars = Listeners("scalars")


def record_event(event: str, **kwargs: str | int) -> None:
    """Tells listeners that something happened.

    >>> import tetrad as jax
    >>> heard = []
    >>> jax.monitoring.register_event_listener(lambda event, **words: heard.append(event))
    >>> jax.monitoring.record_event("/mine/started")
    >>> jax.monitoring.clear_event_listeners()
    >>> heard
    ['/mine/started']
    """
    events.tell(event, **kwargs)


def record_event_duration_secs(
    event: str, duration: float, **kwargs: str | int
) -> None:
    """Tells listeners how many seconds something took."""
    durations.tell(event, duration, **kwargs)


def record_event_time_span(
    event: str, start_time: float, end_time: float, **kwargs: str | int
) -> None:
    """Tells listeners when something started and ended."""
    spans.tell(event, start_time, end_time, **kwargs)


def record_scalar(event: str, value: float, **kwargs: str | int) -> None:
    """Tells listeners a number."""
    scalars.tell(event, value, **kwargs)


def register_event_listener(callback: Listener) -> None:
    """Calls `callback(event, **words)` at each `record_event` from now on."""
    events.add(callback)


def register_event_duration_secs_listener(callback: Listener) -> None:
    """Calls `callback(event, seconds, **words)` at each duration from now on."""
    durations.add(callback)


def register_event_time_span_listener(callback: Listener) -> None:
    """Calls `callback(event, start, end, **words)` at each time span from now on."""
    spans.add(callback)


def register_scalar_listener(callback: Listener) -> None:
    """Calls `callback(event, value, **words)` at each scalar from now on."""
    scalars.add(callback)


def unregister_event_listener(callback: Listener) -> None:
    """Stops calling `callback` at events; ValueError if it was not registered."""
    events.remove(callback)


def unregister_event_duration_listener(callback: Listener) -> None:
    """Stops calling `callback` at durations; ValueError if it was not registered."""
    durations.remove(callback)


def unregister_event_time_span_listener(callback: Listener) -> None:
    """Stops calling `callback` at time spans; ValueError if it was not registered."""
    spans.remove(callback)


def unregister_scalar_listener(callback: Listener) -> None:
    """Stops calling `callback` at scalars; ValueError if it was not registered."""
    scalars.remove(callback)


def clear_event_listeners() -> None:
    """Stops calling anybody."""
    for listeners in (events, durations, spans, scalars):
        listeners.all = ()
