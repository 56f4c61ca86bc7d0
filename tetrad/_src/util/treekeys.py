"""The steps of a path into a pytree: how a leaf is named in messages and to programs.

A path is a tuple of keys, one for each container on the way from the root to a leaf.
"""

from __future__ import annotations

import operator
from collections.abc import Hashable, Sequence
from typing import Any, TypeAlias

__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "KeyedChildren",
    "SequenceKey",
]


class _PathKey:
    """Base of the four path keys: one field, compared by class and value."""

    __slots__ = ()
    __match_args__: tuple[str, ...] = ()

    def _value(self) -> Any:
        return getattr(self, self.__match_args__[0])

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return bool(self._value() == other._value())

    def __hash__(self) -> int:
        return hash((type(self), self._value()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.__match_args__[0]}={self._value()!r})"


class DictKey(_PathKey):
    """The step from a dictionary to the value under `key`."""

    __slots__ = ("key",)
    __match_args__ = ("key",)

    def __init__(self, key: Hashable) -> None:
        self.key = key

    def __str__(self) -> str:
        return f"[{self.key!r}]"


class SequenceKey(_PathKey):
    """The step from a tuple or list to its element number `idx`."""

    __slots__ = ("idx",)
    __match_args__ = ("idx",)

    def __init__(self, idx: int) -> None:
        self.idx = operator.index(idx)

    def __str__(self) -> str:
        return f"[{self.idx}]"


class GetAttrKey(_PathKey):
    """The step from an object to its attribute `name`."""

    __slots__ = ("name",)
    __match_args__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __str__(self) -> str:
        return f".{self.name}"


class FlattenedIndexKey(_PathKey):
    """The step to child number `key` of a class registered without path keys."""

    __slots__ = ("key",)
    __match_args__ = ("key",)

    def __init__(self, key: int) -> None:
        self.key = operator.index(key)

    def __str__(self) -> str:
        return f"[<flat index {self.key}>]"


KeyEntry: TypeAlias = Any
KeyPath: TypeAlias = tuple[KeyEntry, ...]
KeyedChildren: TypeAlias = Sequence[tuple[KeyEntry, Any]]
