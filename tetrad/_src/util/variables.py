"""Which variables of the user's code hold something, and on which lines they got it.

In: a test of values. Out: `Variable`s, of the functions that are running now and of
their modules. Looked for only when an error or a report is being written: nothing is
noted while programs run. The line is read off the bytecode, so no source is needed.
"""

from __future__ import annotations

import collections
import dis
import functools
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
    return [variable() for value, variable in _bindings() if wanted(value)]


def contained(x: Any) -> list[Variable]:
    """The variables with containers that hold `x`, named like `cache["a"][0]`.

    The garbage collector is asked once for all containers that are as deep.
    """
    found: list[Variable] = []
    paths = {id(x): ""}
    held = [x]
    seen = {id(x), id(held)}
    for _ in range(DEPTH):
        owners = gc.get_referrers(*held)
        seen.add(id(owners))
        above = {}
        for owner in owners:
            if id(owner) in seen or type(owner) not in CONTAINERS:
                continue
            seen.add(id(owner))
            path = _path_in(owner, paths)
            if path is not None and not _is_module(owner):
                above[id(owner)] = path
        held = [owner for owner in owners if id(owner) in above]
        seen.add(id(held))
        paths = above
        if not held:
            break
        for value, variable in _bindings():
            if id(value) in paths:
                bound = variable()
                found.append(bound._replace(name=f"{bound.name}{paths[id(value)]}"))
    return found


def _bindings() -> Iterator[tuple[Any, Callable[[], Variable]]]:
    """Values, and what makes the variables that have them."""
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
                for name, value in locals_of(frame).items():
                    yield value, functools.partial(_variable, frame, name)
        frame = frame.f_back
    for frame, at_top in modules.values():
        for name, value in list(frame.f_globals.items()):
            make = _variable if at_top else _global
            yield value, functools.partial(make, frame, name)


def _variable(frame: types.FrameType, name: str) -> Variable:
    function = frame.f_code.co_qualname
    at_top = function == "<module>"
    return Variable(name, None if at_top else function, _bound(frame, name))


def _global(frame: types.FrameType, name: str) -> Variable:
    return Variable(name, None, None)


CONTAINERS = (list, tuple, dict, collections.deque)
DEPTH = 4  # containers in containers


def _is_module(owner: Any) -> bool:
    return type(owner) is dict and "__builtins__" in owner


def _path_in(owner: Any, paths: dict[int, str]) -> str | None:
    """How a container is asked for what one of `paths` leads to."""
    pairs = owner.items() if type(owner) is dict else enumerate(owner)
    for key, value in list(pairs):
        if id(value) in paths:
            step = f"[{key!r}]" if type(key) in (str, int) else "[...]"
            return step + paths[id(value)]
    return None


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
