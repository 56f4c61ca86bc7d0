"""`tetrad.see.copies()`: the updates that copied their arrays, and who held these."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

from tetrad._src.runtime import events
from tetrad._src.runtime.copies import names_of_holders
from tetrad._src.runtime.flush import flush
from tetrad._src.runtime.ledger import human
from tetrad._src.util.frames import format_where, source_at
from tetrad._src.util.words import counted


class UpdateLine:
    """The updates of one line that copied."""

    def __init__(self, event: Any) -> None:
        self.where: str = format_where(event.where)
        self.text: str = source_at(event.where)
        self.count = 0
        self.bytes = 0
        self.holders: list[str] = []
        if event.array is not None and event.holders:
            self.holders = names_of_holders(event.array)
        if not self.holders and event.program:
            self.holders = ["the program, which needs the old array again"]

    def __str__(self) -> str:
        times = counted(self.count, "copy", "copies")
        held = ", ".join(self.holders) or "something that is no variable"
        return (
            f"{human(self.bytes):>10}  {times:>10}  {self.where}  {self.text}\n"
            f"{'':24}held by {held}"
        )


class Copies:
    """The updates of a block that copied their arrays, by line."""

    def __init__(self) -> None:
        self._lines: dict[Any, UpdateLine] = {}
        self._stack = ExitStack()

    def _hear(self, event: Any) -> None:
        line = self._lines.get(event.where)
        if line is None:
            line = self._lines[event.where] = UpdateLine(event)
        line.count += 1
        line.bytes += event.nbytes

    def __enter__(self) -> Copies:
        flush()
        self._stack.enter_context(events.copies.heard_by(self._hear))
        return self

    def __exit__(self, *error: object) -> None:
        try:
            if error[0] is None:
                flush()
        finally:
            self._stack.close()

    def __iter__(self) -> Iterator[UpdateLine]:
        return iter(sorted(self._lines.values(), key=lambda line: -line.bytes))

    def __len__(self) -> int:
        """How many copies were made."""
        return sum([line.count for line in self._lines.values()])

    @property
    def bytes(self) -> int:
        """The bytes that they copied."""
        return sum([line.bytes for line in self._lines.values()])

    def __str__(self) -> str:
        if not self._lines:
            return "no update copied its array"
        times = counted(len(self), "copy", "copies")
        return "\n".join([*map(str, self), f"{human(self.bytes)} in {times}"])

    __repr__ = __str__


def copies() -> Copies:
    """The updates of a `with` block that copied their arrays: line, bytes, who held them.

    An update such as `x.at[i].set(v)` is in place unless somebody else holds `x`.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> x = jnp.zeros(1000)
    >>> with jax.see.copies() as seen:
    ...     old = x
    ...     x = x.at[0].set(1)
    >>> len(seen), seen.bytes
    (1, 4000)
    """
    return Copies()
