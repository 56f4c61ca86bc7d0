"""What a mistake is: a program, the error it raises, words of the message."""

from __future__ import annotations

from typing import NamedTuple


class Mistake(NamedTuple):
    """A wrong program. `shows` must be in the message, word for word."""

    title: str
    program: str
    error: type[BaseException]
    shows: tuple[str, ...] = ()


def mistake(
    title: str, program: str, error: type[BaseException], *shows: str
) -> Mistake:
    return Mistake(title, program.strip() + "\n", error, shows)
