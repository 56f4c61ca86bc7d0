"""Caches: tables that remember what was computed, and one function that empties them all.

`Cache` is a dictionary of bounded size whose look-ups run at dictionary speed; `LruCache`
keeps what was used most recently, for entries that are expensive to make again; `memo`
and `weak_memo` remember the results of functions.  All of them are known to
`clear_caches`.  `memo_on_first` keeps results on the first argument itself, so that they
die with it.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import weakref
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast

from tetrad._src.util.locks import make_rlock

__all__ = [
    "Cache",
    "LruCache",
    "cache_sizes",
    "clear_caches",
    "memo",
    "memo_on_first",
    "register_cache",
    "weak_memo",
]

First = TypeVar("First")
Result = TypeVar("Result")
Params = ParamSpec("Params")


class Clearable(Protocol):
    """What `clear_caches` needs to know of a cache."""

    name: str

    def clear(self) -> None: ...

    def __len__(self) -> int: ...


_registry: weakref.WeakSet[Any] = weakref.WeakSet()


def register_cache(cache: Clearable) -> None:
    """Lets `clear_caches` empty `cache` (which is held weakly)."""
    _registry.add(cache)


def clear_caches(prefix: str = "") -> int:
    """Empties every registered cache whose name begins with `prefix`.

    Returns how many entries were dropped.
    """
    dropped = 0
    for cache in list(_registry):
        if cache.name.startswith(prefix):
            dropped += len(cache)
            cache.clear()
    return dropped


def cache_sizes() -> dict[str, int]:
    """The number of entries of every registered cache, by name."""
    sizes: collections.Counter[str] = collections.Counter()
    for cache in list(_registry):
        sizes[cache.name] += len(cache)
    return dict(sizes)


class Cache(dict[Any, Any]):
    """A dictionary that drops its oldest entries when it is full.

    Reading is plain dictionary reading.  An entry's age counts from when it was stored,
    not from when it was read: use it where a dropped entry is cheap to make again.
    """

    __slots__ = ("__weakref__", "limit", "name")

    def __init__(self, name: str, limit: int = 4096) -> None:
        super().__init__()
        if limit < 1:
            raise ValueError(f"cache '{name}' needs a limit of at least 1, got {limit}")
        self.name = name
        self.limit = limit
        register_cache(self)

    __hash__ = object.__hash__  # type: ignore[assignment]
    __eq__ = object.__eq__

    def _make_room(self) -> None:
        # A snapshot of the keys, since another thread may store at the same time.
        for key in list(self)[: max(1, self.limit // 4)]:
            self.pop(key, None)

    def __setitem__(self, key: Any, value: Any) -> None:
        if len(self) >= self.limit and key not in self:
            self._make_room()
        super().__setitem__(key, value)

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """The value under `key`, which is `default` from now on if there was none."""
        if len(self) >= self.limit and key not in self:
            self._make_room()
        return super().setdefault(key, default)


class LruCache:
    """A bounded cache that drops the entry whose last use is longest ago.

    The bound is on the sum of the entries' costs (1 each unless said); `on_drop(value)`
    is told about every entry that leaves.
    """

    def __init__(
        self,
        name: str,
        limit: int = 4096,
        on_drop: Callable[[Any], None] | None = None,
    ) -> None:
        self.name = name
        self.limit = limit
        self.cost = 0
        self._on_drop = on_drop
        self._lock = make_rlock()
        self._entries: collections.OrderedDict[Any, tuple[Any, int]] = (
            collections.OrderedDict()
        )
        register_cache(self)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: Any) -> bool:
        return key in self._entries

    def get(self, key: Any, default: Any = None) -> Any:
        """The value under `key`, which now counts as just used."""
        entry = self._entries.get(key)
        if entry is None:
            return default
        # Another thread may drop it in between; the value is still good.
        with contextlib.suppress(KeyError):
            self._entries.move_to_end(key)
        return entry[0]

    def put(self, key: Any, value: Any, cost: int = 1) -> Any:
        """Stores `value`, dropping others until the costs fit the limit."""
        dropped = []
        with self._lock:
            dropped += self._remove(key)
            self._entries[key] = (value, cost)
            self.cost += cost
            while self.cost > self.limit and len(self._entries) > 1:
                dropped += self._remove(next(iter(self._entries)))
        self._tell(dropped)
        return value

    def drop(self, key: Any) -> None:
        """Removes one entry, if it is there."""
        with self._lock:
            dropped = self._remove(key)
        self._tell(dropped)

    def _remove(self, key: Any) -> list[Any]:
        entry = self._entries.pop(key, None)
        if entry is None:
            return []
        self.cost -= entry[1]
        return [entry[0]]

    def _tell(self, dropped: list[Any]) -> None:
        if self._on_drop is not None:
            for value in dropped:
                self._on_drop(value)

    def clear(self) -> None:
        """Removes every entry."""
        for key in list(self._entries):
            self.drop(key)


_ABSENT = object()


class _Memo:
    """The registered form of a function's `functools.lru_cache`."""

    def __init__(self, name: str, wrapper: Any) -> None:
        self.name = name
        self._wrapper = wrapper

    def __len__(self) -> int:
        return int(self._wrapper.cache_info().currsize)

    def clear(self) -> None:
        self._wrapper.cache_clear()


def memo(
    limit: int = 4096,
) -> Callable[[Callable[Params, Result]], Callable[Params, Result]]:
    """Decorator: remembers the `limit` most recently used results of a function.

    Arguments are compared with their types: 1, 1.0 and True are different.
    """

    def decorate(function: Callable[Params, Result]) -> Callable[Params, Result]:
        wrapper = functools.lru_cache(maxsize=limit, typed=True)(function)
        table = _Memo(function.__qualname__, wrapper)
        wrapper.table = table  # type: ignore[attr-defined]  # keeps the table alive
        register_cache(table)
        return cast(Callable[Params, Result], wrapper)

    return decorate


def memo_on_first(
    function: Callable[Concatenate[First, Params], Result],
) -> Callable[Concatenate[First, Params], Result]:
    """Decorator: remembers results in the `memo` dictionary of the first argument.

    The results live as long as that argument.  The other arguments must be hashable.
    """

    @functools.wraps(function)
    def remembered(
        first: First, /, *rest: Params.args, **named: Params.kwargs
    ) -> Result:
        table: dict[Any, Any] = first.memo  # type: ignore[attr-defined]
        key: Any = function
        if rest or named:
            key = (function, rest, tuple(sorted(named.items())))
        found = table.get(key, _ABSENT)
        if found is _ABSENT:
            found = function(first, *rest, **named)
            table[key] = found
        return cast(Result, found)

    return remembered


class _IdentityTable:
    """Results by the identity of an object, dropped when the object dies."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._entries: dict[int, tuple[weakref.ref[Any], dict[Any, Any]]] = {}
        register_cache(self)

    def __len__(self) -> int:
        return len(self._entries)

    def clear(self) -> None:
        self._entries.clear()

    def results_of(self, owner: Any) -> dict[Any, Any]:
        """The dictionary that belongs to `owner`, made when first asked for."""
        number = id(owner)
        entry = self._entries.get(number)
        if entry is not None and entry[0]() is owner:
            return entry[1]
        entries = self._entries

        def forget(dead: weakref.ref[Any]) -> None:
            present = entries.get(number)
            if present is not None and present[0] is dead:
                del entries[number]

        made: tuple[weakref.ref[Any], dict[Any, Any]] = (weakref.ref(owner, forget), {})
        entries[number] = made
        return made[1]


def weak_memo(
    function: Callable[Concatenate[First, Params], Result],
) -> Callable[Concatenate[First, Params], Result]:
    """Decorator: remembers results by the identity of the first argument.

    The results are dropped when that argument dies (they must not refer to it).  The
    other arguments must be hashable; the first must accept weak references.
    """
    table = _IdentityTable(function.__qualname__)

    @functools.wraps(function)
    def remembered(
        first: First, /, *rest: Params.args, **named: Params.kwargs
    ) -> Result:
        results = table.results_of(first)
        key = (rest, tuple(sorted(named.items())))
        found = results.get(key, _ABSENT)
        if found is _ABSENT:
            found = function(first, *rest, **named)
            results[key] = found
        return cast(Result, found)

    return remembered
