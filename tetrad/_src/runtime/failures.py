"""Failures of work that runs while Python goes on.

Whoever asks first for a value that could not be computed gets the whole story, with the
line that made it; whoever asks later gets a short error that refers to the first one.
"""

from __future__ import annotations

from typing import Any

from tetrad._src.util import errors
from tetrad._src.util.frames import format_where, user_frame


class Failure:
    """Why some work failed; `line` made the array that it was to compute."""

    __slots__ = ("line", "reason", "told")

    def __init__(self, line: Any, reason: str) -> None:
        self.line = line
        self.reason = reason  # ends the sentence "… was never computed: "
        self.told: Any = None  # where it was raised

    def error(self, line: Any) -> errors.JaxRuntimeError:
        """What to raise for the array that was made at `line`."""
        made = f"the array made at {format_where(line)} was never computed"
        if self.told is not None:
            told = format_where(self.told)
            return errors.JaxRuntimeError(
                f"{made}; the error raised at {told} says why"
            )
        self.told = user_frame()
        if line != self.line:
            made += f", for it depends on the array made at {format_where(self.line)}"
        error = errors.JaxRuntimeError(f"{made}: {self.reason}")
        error.failure = self  # type: ignore[attr-defined]
        return error


def unheard(error: BaseException) -> None:
    """The user does not get to see this error: the next one has to tell the story."""
    failure = getattr(error, "failure", None)
    if failure is not None:
        failure.told = None
