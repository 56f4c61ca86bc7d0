"""A profile as a trace in Chrome's format, for ui.perfetto.dev and chrome://tracing.

In: the record of a block. Out: a dictionary for `json.dumps`. One process of the trace
is Python, with a track for each thread (waiting, and stretches that the user named) and
one for compilation; each device is a process with a track of programs, and their
kernels inside of them. A loop is one entry, from its first turn to its last one.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

from tetrad._src.runtime.events import Span
from tetrad._src.see.collect import Done, Record
from tetrad._src.util.frames import format_where

PYTHON = 1
COMPILER = 0  # the track of compilations; threads have their own numbers
MICRO = 1e6

Event = dict[str, Any]


def chrome(record: Record) -> dict[str, Any]:
    """The trace; times in it are microseconds since the block began."""
    events: list[Event] = [_named("process_name", PYTHON, 0, "Python")]
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    threads: dict[int, None] = {record.thread: None}
    for stretch in record.waited:
        threads[stretch.thread] = None
    for mark in record.marks:
        threads[mark.thread] = None
    for thread in threads:
        name = names.get(thread, f"thread {thread}")
        events.append(_named("thread_name", PYTHON, thread, name))
    if record.compiled:
        events.append(_named("thread_name", PYTHON, COMPILER, "compiler"))
    for stretch in (*record.waited, *record.compiled):
        kind = "compile" if stretch.thread == COMPILER else "wait"
        details = {"line": format_where(stretch.where)} if stretch.where else {}
        span = (stretch.begin, stretch.end)
        events.append(
            _event(record, stretch.what, kind, span, PYTHON, stretch.thread, details)
        )
    for mark in record.marks:
        span = (mark.begin, mark.end)
        words = {name: str(value) for name, value in mark.details.items()}
        events.append(
            _event(record, mark.name, "user", span, PYTHON, mark.thread, words)
        )
    events += _device_events(record)
    return {
        "traceEvents": events,
        "displayTimeUnit": "ms",
        "otherData": {"producer": "tetrad", "runs left out": record.left_out},
    }


def _device_events(record: Record) -> list[Event]:
    events: list[Event] = []
    numbers: dict[Any, int] = {}
    for done in record.timeline:
        device = done.key[0]
        if device not in numbers:
            numbers[device] = PYTHON + 1 + len(numbers)
            events.append(
                _named("process_name", numbers[device], 0, f"device {device}")
            )
            events.append(_named("thread_name", numbers[device], 1, "programs"))
        events += _run(record, done, numbers[device])
    return events


def _run(record: Record, done: Done, process: int) -> list[Event]:
    """A program, and what it did inside."""
    if not done.spans:
        return []
    of, origins = record.origins(done.key)
    places = done.key[2]
    line = format_where(places[-1]) if places else "a program"
    begin = min([span.first for span in done.spans])
    end = max([span.last for span in done.spans])
    events = [_event(record, line, "program", (begin, end), process, 1, {})]
    for group in _loops(done.spans):
        parts = []
        for span in group:
            step = of.get(span.number, -1)
            if step >= 0:
                parts.append((span, origins[step]))
        names = list(dict.fromkeys([origin.name for _, origin in parts]))
        extent = (group[0].first, max([span.last for span in group]))
        details: dict[str, Any] = {}
        for span, origin in parts:
            lines = [format_where(place) for place in origin.places]
            details[f"{origin.name} {origin.types}".strip()] = {
                "seconds": span.seconds,
                "calls": span.turns,
                "bytes": origin.nbytes * span.turns,
                "lines": ", ".join(dict.fromkeys(lines)),
            }
        turns = max([span.turns for span in group])
        name = ", ".join(names) or "kernel"
        if turns > 1:
            name = f"loop of {turns}: {name}"
        events.append(_event(record, name, "kernel", extent, process, 1, details))
    return events


def _loops(spans: Iterable[Span]) -> list[list[Span]]:
    """Spans that overlap belong to one loop: groups that do not overlap, in order."""
    groups: list[list[Span]] = []
    end = 0.0
    for span in sorted(spans, key=lambda span: span.first):
        if groups and span.first < end:
            groups[-1].append(span)
        else:
            groups.append([span])
        end = max(end, span.last)
    return groups


def _named(what: str, process: int, thread: int, name: str) -> Event:
    return {
        "ph": "M",
        "name": what,
        "pid": process,
        "tid": thread,
        "args": {"name": name},
    }


def _event(
    record: Record,
    name: str,
    kind: str,
    span: tuple[float, float],
    process: int,
    thread: int,
    details: dict[str, Any],
) -> Event:
    begin, end = span
    return {
        "ph": "X",
        "name": name,
        "cat": kind,
        "ts": (begin - record.begin) * MICRO,
        "dur": max(end - begin, 0.0) * MICRO,
        "pid": process,
        "tid": thread,
        "args": details,
    }
