"""The names of the variables that hold objects: `history[3]`, `self.params['w']`.

In: objects, a handful. Out: for each, the names by which the user's program reaches it.
Found backwards: who refers to the objects, who refers to these, and so on, each step one
question to the garbage collector for all of them. The variables of running functions are
read from their frames. Where a process has so many objects that the questions take too
long, variables are looked through once more and the search ends; global variables also
where `gc.freeze()` has hidden them from the collector. Used only while a report is being
written. Read `owners_of`, then `_Search.step`.
"""

from __future__ import annotations

import functools
import gc
import itertools
import sys
import time
import types
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tetrad._src.util.frames import is_ours, locals_of

DEPTH = 5  # containers between an object and the variable
NAMES = 3  # so many names of one object are enough
WIDEST = 256  # objects that are asked for at a time
PATIENCE = 1.0  # seconds, where there are very many objects
MOST_WAYS = 256  # from one container
HARMLESS = (types.ModuleType, types.CodeType, types.BuiltinFunctionType)


class Owner(NamedTuple):
    """A name of an object."""

    name: str  # `history[3]`
    kind: str  # "local", "global", "closure", "default", "traceback" or "library"
    inside: str  # the function of a local; else ""
    container: Any  # id of the list, dict or deque that holds it directly; or None

    def __str__(self) -> str:
        if self.kind == "local":
            return f"`{self.name}` in {self.inside}"
        if self.kind == "closure":
            return f"`{self.name}` that {self.inside} closes over"
        if self.kind == "default":
            return f"the default `{self.name}` of {self.inside}"
        if self.kind == "traceback":
            return f"`{self.name}` of {self.inside}, kept by an error"
        return f"`{self.name}`"


def owners_of(objects: Sequence[Any], skip: Sequence[Any] = ()) -> list[list[Owner]]:
    """The names of each object; `skip` lists what the caller itself holds them in."""
    search = _Search(objects, skip)
    end = time.monotonic() + PATIENCE
    some_are_not_asked = gc.get_freeze_count() > 0
    for _ in range(DEPTH + 1):
        late = time.monotonic() > end
        search.look_in_frames()
        if late or some_are_not_asked:
            search.look_in_modules()
        if late or not search.step():
            break
    return search.found


class _Reached(NamedTuple):
    """Something from which objects can be reached."""

    holder: Any
    ways: list[tuple[int, str, Any]]  # (object, what to write behind it, container)


class _Search:
    def __init__(self, objects: Sequence[Any], skip: Sequence[Any]) -> None:
        self.found: list[list[Owner]] = [[] for _ in objects]
        self.frames = list(_running())
        self.seen = {id(x) for x in (*skip, skip, objects)}
        self.level = [_Reached(x, [(i, "", None)]) for i, x in enumerate(objects)]
        self.seen |= {id(x) for x in objects}

    def look_in_frames(self) -> None:
        """Names the objects of this level that are variables of running functions."""
        level = self._level()
        for frame in self.frames:
            self._in_frame(frame, level, "local")

    def look_in_modules(self) -> None:
        """Names those that are global variables, without asking who holds them."""
        level = self._level()
        for module in list(sys.modules.values()):
            if isinstance(module, types.ModuleType) and "__builtins__" in vars(module):
                self._in_dict(vars(module), level)

    def step(self) -> bool:
        """Names what holds the objects of this level; goes on to who holds those."""
        level = self._level()
        if not level:
            return False
        targets = [r.holder for r in level.values()]
        owners = gc.get_referrers(*targets)
        own = {id(owners), id(targets), id(level), id(self.level), id(self.__dict__)}
        own |= {id(r) for r in self.level} | {id(self)}
        self.level = []
        for owner in owners:
            if id(owner) in own or id(owner) in self.seen or type(owner) in _OURS:
                continue
            self.seen.add(id(owner))
            self._in_owner(owner, level)
        return True

    def _level(self) -> dict[int, _Reached]:
        return {id(r.holder): r for r in self.level[:WIDEST]}

    def _add(self, reached: _Reached, name: str, kind: str, inside: str = "") -> None:
        for number, way, container in reached.ways:
            names = self.found[number]
            if len(names) < NAMES:
                owner = Owner(name + way, kind, inside, container)
                if owner not in names:
                    names.append(owner)

    def _go_on(self, owner: Any, steps: Iterator[tuple[_Reached, str]]) -> None:
        """The objects are reached from `owner`, by what is to be written behind it."""
        plain = owner if type(owner) in (list, dict, deque) else None
        every = (
            (number, step + way, container if way or plain is None else id(plain))
            for reached, step in steps
            for number, way, container in reached.ways
            if len(self.found[number]) < NAMES
        )
        ways = list(itertools.islice(every, MOST_WAYS))
        if ways:
            self.level.append(_Reached(owner, ways))

    def _in_frame(
        self, frame: types.FrameType, level: dict[int, _Reached], kind: str
    ) -> None:
        code = frame.f_code
        if code.co_name == "<module>":  # its dictionary is met anyway
            return
        for name, value in locals_of(frame).items():
            reached = level.get(id(value))
            if reached is not None:
                self._add(reached, name, kind, code.co_name)

    def _in_owner(self, owner: Any, level: dict[int, _Reached]) -> None:
        if isinstance(owner, dict):
            self._in_dict(owner, level)
        elif isinstance(owner, (list, tuple, deque)):
            steps = (
                (level[id(x)], f"[{i}]") for i, x in enumerate(owner) if id(x) in level
            )
            self._go_on(owner, steps)
        elif isinstance(owner, types.FrameType):
            if not is_ours(owner.f_code.co_filename) and owner not in self.frames:
                self._in_frame(owner, level, "traceback")
        elif isinstance(owner, types.CellType):
            self._in_cell(owner, level)
        elif isinstance(owner, types.GeneratorType):
            frame = owner.gi_frame
            if frame is not None and not is_ours(frame.f_code.co_filename):
                self._in_frame(frame, level, "local")
        elif isinstance(owner, types.FunctionType):
            self._in_function(owner, level)
        elif isinstance(owner, functools.partial):
            steps = (
                (level[id(part)], f".{name}")
                for name, part in (("args", owner.args), ("keywords", owner.keywords))
                if id(part) in level
            )
            self._go_on(owner, steps)
        elif not isinstance(owner, HARMLESS):
            self._in_instance(owner, level)

    def _in_dict(self, owner: dict[Any, Any], level: dict[int, _Reached]) -> None:
        module = owner.get("__name__") if "__builtins__" in owner else None
        if module is not None:
            if is_ours(owner.get("__file__") or ""):
                return
            for name, value in list(owner.items()):
                reached = level.get(id(value))
                if reached is not None and isinstance(name, str):
                    self._add(reached, name, "global")
            return
        steps = (
            (level[id(value)], f"[{key!r}]")
            for key, value in list(owner.items())
            if id(value) in level and len(repr(key)) < 40
        )
        self._go_on(owner, steps)

    def _in_cell(self, cell: types.CellType, level: dict[int, _Reached]) -> None:
        reached = level.get(id(cell.cell_contents))
        if reached is None:
            return
        for closure in gc.get_referrers(cell):
            if type(closure) is not tuple:
                continue
            for function in gc.get_referrers(closure):
                if not isinstance(function, types.FunctionType):
                    continue
                code = function.__code__
                for name, other in zip(code.co_freevars, closure):
                    if other is cell and not is_ours(code.co_filename):
                        self._add(reached, name, "closure", function.__name__)

    def _in_function(
        self, function: types.FunctionType, level: dict[int, _Reached]
    ) -> None:
        """Default values: a tuple, or a dictionary for those given by keyword."""
        code = function.__code__
        if is_ours(code.co_filename):
            return
        reached = level.get(id(function.__defaults__))
        if reached is None:
            return
        first = code.co_argcount - len(function.__defaults__ or ())
        for number, way, container in reached.ways:
            at, _, rest = way[1:].partition("]")
            if at.isdigit() and len(self.found[number]) < NAMES:
                name = code.co_varnames[first + int(at)] + rest
                owner = Owner(name, "default", function.__name__, container)
                self.found[number].append(owner)

    def _in_instance(self, owner: Any, level: dict[int, _Reached]) -> None:
        """An object whose attributes, or whose dictionary of them, are on the level."""
        kind = type(owner)
        module = sys.modules.get(kind.__module__)
        if is_ours(getattr(module, "__file__", None) or ""):
            return
        steps = []
        attributes = getattr(owner, "__dict__", None)
        if type(attributes) is dict:
            reached = level.get(id(attributes))
            if reached is not None:  # `['w']` of the dictionary is `.w` of the object
                ways = [
                    (number, _dotted(way), None if _is_item(way) else container)
                    for number, way, container in reached.ways
                ]
                steps.append((_Reached(owner, ways), ""))
            else:
                steps += [
                    (level[id(value)], f".{name}")
                    for name, value in list(attributes.items())
                    if id(value) in level
                ]
        for cls in kind.__mro__:
            slots = cls.__dict__.get("__slots__", ())
            for name in [slots] if isinstance(slots, str) else slots:
                value = getattr(owner, name, None)
                if id(value) in level:
                    steps.append((level[id(value)], f".{name}"))
        self._go_on(owner, iter(steps))


_OURS = (_Reached, _Search)


def _is_item(way: str) -> bool:
    """Whether `way` is one step, `['w']`."""
    return way.startswith("['") and way.find("']") == len(way) - 2


def _dotted(way: str) -> str:
    """`['w'][0]` as `.w[0]`."""
    name, ends, rest = way[2:].partition("']")
    return f".{name}{rest}" if ends and name.isidentifier() else way


def _running() -> Iterator[types.FrameType]:
    """The frames of the user's functions that run now, in all threads."""
    mine = sys._getframe()
    for frame in [mine, *sys._current_frames().values()]:
        while frame is not None:
            if not is_ours(frame.f_code.co_filename):
                yield frame
            frame = frame.f_back  # type: ignore[assignment]
