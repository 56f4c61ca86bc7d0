"""Wrong programs that beginners write, by topic; `test_messages.py` says what for."""

from __future__ import annotations

from mistakes import (
    arguments,
    arrays,
    callbacks,
    debugging,
    indexing,
    measuring,
    placement,
    random_numbers,
    structures,
    tracing,
    transforms,
)
from mistakes.mistake import Mistake as Mistake

MISTAKES: list[Mistake] = [
    *arrays.MISTAKES,
    *arguments.MISTAKES,
    *indexing.MISTAKES,
    *tracing.MISTAKES,
    *transforms.MISTAKES,
    *random_numbers.MISTAKES,
    *debugging.MISTAKES,
    *structures.MISTAKES,
    *callbacks.MISTAKES,
    *placement.MISTAKES,
    *measuring.MISTAKES,
]
