"""Which variables of the user's code hold something, and on which lines they got it.

In: a test of values. Out: `Variable`s, of the functions that are running now and of
their modules. Looked for only when an error or a report is being written: nothing is
noted while programs run. The line is read off the bytecode, so no source is needed.
"""

from __future__ import annotations

import collections
import dis
import gc
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tetrad._src.util.frames import Location, is_ours, locals_of


class Variable(NamedTuple):
    """A variable, the function it belongs to, and where it was last bound."""

    name: str
    function: str | None  # None: a global variable
    where: Location | None

    def __str__(self) -> str:
        place = "" if self.where is None else f" at {self.where}"
        return f"`{self.name}`{place}"


def variables(wanted: Callable[[Any], bool]) -> list[Variable]:
    """The variables of running functions, then of their modules, with wanted values."""
    found: list[Variable] = []
    modules: dict[int, tuple[types.FrameType, bool]] = {}
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not is_ours(code.co_filename):
            key = id(frame.f_globals)
            if code.co_name == "<module>":
                modules[key] = frame, True
            else:
                modules.setdefault(key, (frame, False))
                values = locals_of(frame)
                names = [name for name, value in values.items() if wanted(value)]
                found += [
                    Variable(n, code.co_qualname, _bound(frame, n)) for n in names
                ]
                del values
        frame = frame.f_back
    for frame, at_top in modules.values():
        for name in [n for n, value in list(frame.f_globals.items()) if wanted(value)]:
            found.append(Variable(name, None, _bound(frame, name) if at_top else None))
    return found


def contained(x: Any) -> list[Variable]:
    """The variables with containers that hold `x`, named like `cache["a"][0]`."""
    found: list[Variable] = []
    level: list[tuple[Any, str]] = [(x, "")]
    seen = {id(x), id(level)}
    for _ in range(DEPTH):
        above: list[tuple[Any, str]] = []
        seen.add(id(above))
        for held, path in level:
            for owner in gc.get_referrers(held):
                if id(owner) in seen or type(owner) not in CONTAINERS:
                    continue
                seen.add(id(owner))
                key = _key_in(owner, held)
                named = type(owner) is dict and "__builtins__" in owner
                if key is not None and not named:
                    above.append((owner, f"{key}{path}"))
        for owner, path in above:
            for v in variables(lambda value: value is owner):
                found.append(Variable(f"{v.name}{path}", v.function, v.where))
        level = above
    return found


CONTAINERS = (list, tuple, dict, collections.deque)
DEPTH = 4  # containers in containers


def _key_in(owner: Any, x: Any) -> str | None:
    """How a container is asked for `x`."""
    pairs = owner.items() if type(owner) is dict else enumerate(owner)
    key = next((key for key, value in list(pairs) if value is x), x)
    if key is x:
        return None
    return f"[{key!r}]" if type(key) in (str, int) else "[...]"


def _bound(frame: types.FrameType, name: str) -> Location | None:
    """The line that bound `name` last, as far as the order of instructions tells."""
    code = frame.f_code
    if name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
        line: int | None = code.co_firstlineno
    else:
        line = None
    for offset, number in _stores(code, name):
        if line is None or offset <= frame.f_lasti:
            line = number
    return None if line is None else Location(code.co_filename, line, code.co_qualname)


def _stores(code: types.CodeType, name: str) -> Iterator[tuple[int, int]]:
    """(offset, line) of the instructions that bind `name`."""
    for instruction in dis.get_instructions(code):
        if instruction.opname.startswith("STORE_") and instruction.argval == name:
            positions = instruction.positions
            if positions is not None and positions.lineno is not None:
                yield instruction.offset, positions.lineno
