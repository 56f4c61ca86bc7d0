"""Who holds an object: named for the message about a traced value that got away.

In: the object. Out: words such as "the attribute `cache` of a Layer" or "`seen[0]`".
Found by asking Python's garbage collector who refers to the object, only when an error
is being written.
"""

from __future__ import annotations

import collections
import functools
import gc
import sys
import types
from collections.abc import Mapping
from typing import Any

from tetrad._src.util.frames import is_ours, locals_of

DEPTH = 4  # containers between the object and something with a name


def holder(x: Any) -> str | None:
    """What of the user's holds `x`, in words; None if nothing is found."""
    return _named(x, "", DEPTH, {id(x)}) or _local(x)


def _local(x: Any) -> str | None:
    """The local variable, of a function that is running, that holds `x`."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not is_ours(code.co_filename):
            for name, value in locals_of(frame).items():
                step = "" if value is x else _step(value, x)
                if step is not None:
                    return f"the variable `{name}{step}` of `{code.co_qualname}`"
        frame = frame.f_back
    return None


def _named(x: Any, path: str, depth: int, seen: set[int]) -> str | None:
    """The name of what holds `x`, of which `path` (such as `[0]`) is meant."""
    containers = []
    for owner in gc.get_referrers(x):
        if id(owner) in seen or isinstance(owner, types.FrameType):
            continue
        seen.add(id(owner))
        found = _direct(owner, x, path)
        if found is not None:
            return found
        containers.append(owner)
    if depth == 0:
        return None
    for owner in containers:
        step = _step(owner, x)
        if step is not None:
            found = _named(owner, step + path, depth - 1, seen)
            if found is not None:
                return found
    return None


def _direct(owner: Any, x: Any, path: str) -> str | None:
    """The name, if `owner` is a namespace: a module, an object, a closure."""
    if type(owner) is dict:
        key = _key_of(owner, x)
        if not isinstance(key, str):
            return None
        if "__builtins__" in owner:
            return f"the global variable `{key}{path}`"
        instance = _instance_of(owner)
        if isinstance(instance, type):
            return f"the attribute `{key}{path}` of the class {instance.__name__}"
        if instance is not None:
            return f"the attribute `{key}{path}` of {_a(instance)}"
        return None
    if isinstance(owner, types.CellType):
        return _closure(owner, path)
    if isinstance(owner, types.FunctionType):
        return _default(owner, x, path)
    if isinstance(owner, types.GeneratorType) and owner.gi_frame is not None:
        for name, value in owner.gi_frame.f_locals.items():
            if value is x:
                return f"the variable `{name}{path}` of the generator `{owner.__qualname__}`"
        return None
    if _is_plain_object(owner):
        for name in _attribute_names(owner):
            if getattr(owner, name, None) is x:
                return f"the attribute `{name}{path}` of {_a(owner)}"
    return None


def _key_of(owner: dict[Any, Any], x: Any) -> Any:
    return next((key for key, value in list(owner.items()) if value is x), None)


def _instance_of(attributes: dict[str, Any]) -> Any:
    """The object or class whose `__dict__` this is."""
    for owner in gc.get_referrers(attributes):
        if isinstance(owner, type) and _same_items(vars(owner), attributes):
            return owner
        if getattr(owner, "__dict__", None) is attributes:
            return owner
    return None


def _same_items(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    return len(a) == len(b) and all(a.get(key) is value for key, value in b.items())


_BUILTIN = ("builtins", "types", "weakref", "functools", "inspect", "collections")


def _is_plain_object(owner: Any) -> bool:
    module = sys.modules.get(type(owner).__module__)
    file = getattr(module, "__file__", None) or ""
    builtin = type(owner).__module__ in _BUILTIN
    return not builtin and not is_ours(file)


def _attribute_names(owner: Any) -> list[str]:
    names = list(getattr(owner, "__dict__", ()))
    for cls in type(owner).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        names += [slots] if isinstance(slots, str) else list(slots)
    return names


def _closure(cell: types.CellType, path: str) -> str | None:
    """The name of a variable that inner functions share."""
    for owner in gc.get_referrers(cell):
        if type(owner) is not tuple:
            continue
        for function in gc.get_referrers(owner):
            if not isinstance(function, types.FunctionType):
                continue
            for name, other in zip(function.__code__.co_freevars, owner):
                if other is cell and not is_ours(function.__code__.co_filename):
                    return f"the variable `{name}{path}` of `{function.__qualname__}`"
    return None


def _default(function: types.FunctionType, x: Any, path: str) -> str | None:
    """The name of a parameter whose default value is in `x`, the tuple of all of them."""
    if is_ours(function.__code__.co_filename):
        return None
    if function.__defaults__ is x:
        number, _, rest = path[1:].partition("]")
        code = function.__code__
        first = code.co_argcount - len(function.__defaults__)
        path = code.co_varnames[first + int(number)] + rest
    elif function.__kwdefaults__ is x:
        name, _, rest = path[2:].partition("']")
        path = name + rest
    else:
        return None
    return f"the default value of `{path}` of `{function.__qualname__}`"


def _step(owner: Any, x: Any) -> str | None:
    """How `owner` is asked for `x`: `[0]` or `['key']`."""
    if isinstance(owner, (list, tuple, collections.deque)):
        return next((f"[{i}]" for i, item in enumerate(owner) if item is x), None)
    if isinstance(owner, BaseException):
        return ".args" if owner.args is x else None
    if isinstance(owner, functools.partial):
        names = ("args", "keywords", "func")
        return next((f".{n}" for n in names if getattr(owner, n) is x), None)
    if isinstance(owner, dict):
        key = _key_of(owner, x)
        return None if key is None else f"[{key!r}]"
    return None


def _a(instance: Any) -> str:
    word = type(instance).__name__
    return f"{'an' if word[:1] in 'AEIOUaeiou' else 'a'} {word}"
