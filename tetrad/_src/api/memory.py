"""How much memory programs may use, and giving it back.

`set_memory_limit` bounds what a device holds. `release_memory` gives free blocks to the
system, `forget_last_error` the arrays that the last error keeps, and `cache_info` says
what the caches hold.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from typing import NamedTuple

from tetrad._src.runtime import device as registry
from tetrad._src.runtime.device import Device
from tetrad._src.runtime.ledger import human
from tetrad._src.util import config as settings
from tetrad._src.util import memo
from tetrad._src.util.config import config
from tetrad._src.util.sizes import parse_bytes
from tetrad._src.util.tables import table


class MemoryLimit:
    """What `set_memory_limit` gives: the limit, the one before, and the way back.

    As a context manager it restores the earlier limits at the end of the block.
    """

    def __init__(self, limit: int | None, devices: Sequence[Device] | None) -> None:
        every = devices is None
        self.limit = limit
        self._devices = registry.made_devices() if devices is None else list(devices)
        self._chosen = [device.ledger.chosen for device in self._devices]
        self._process = config.tetrad_memory_limit
        self._every = every
        self.before = self._process if every else self._chosen[0]
        if every:
            config.update("tetrad_memory_limit", limit)
        for device in self._devices:
            device.ledger.choose(limit)

    def __enter__(self) -> MemoryLimit:
        return self

    def __exit__(self, *error: object) -> None:
        if self._every:
            config.update("tetrad_memory_limit", self._process)
        for device, chosen in zip(self._devices, self._chosen):
            device.ledger.choose(chosen)

    def __repr__(self) -> str:
        names = ", ".join(map(str, self._devices))
        what = "every device" if self._every else names
        return (
            f"<memory limit of {what}: {_words(self.limit)}; before:"
            f" {_words(self.before)}>"
        )


def set_memory_limit(
    limit: int | str | None, device: Device | str | None = None
) -> MemoryLimit:
    """Bounds the bytes that a device may have in use.

    Arrays, intermediate values of programs and work space count. Beyond the limit
    recorded work is finished, garbage collected and free memory given back; if that is
    not enough, `errors.OutOfMemoryError` says what fills the device.

    Args:
      limit: bytes, as a number or a text such as `"2GB"` or `"500 MiB"`; None: no limit
        but what the device has. The environment variable `TETRAD_MEMORY_LIMIT` and the
        setting `tetrad_memory_limit` say the same.
      device: a device or the name of a platform; by default every device.

    Returns an object with the new `limit` and the one `before`, which as a context
    manager restores the earlier one.

    Raises ValueError or TypeError for what is no number of bytes.

    >>> import tetrad as jax
    >>> with jax.set_memory_limit("200MB") as bound:
    ...     print(bound.limit)
    200000000
    """
    wanted = None if limit is None else parse_bytes("set_memory_limit: limit", limit)
    if device is None:
        return MemoryLimit(wanted, None)
    if isinstance(device, str):
        return MemoryLimit(wanted, registry.devices(device))
    if isinstance(device, Device):
        return MemoryLimit(wanted, [device])
    raise TypeError(
        "set_memory_limit: device must be one of jax.devices() or the name of a"
        f" platform, got {device!r}"
    )


def _follow(limit: int | None) -> None:
    for device in registry.made_devices():
        device.ledger.choose(limit)


def _words(limit: int | None) -> str:
    return "none" if limit is None else human(limit)


settings.follow("tetrad_memory_limit", _follow)


# ------------------------------------------------------------------------- giving back


def release_memory() -> int:
    """Waits for all work and gives memory that no array needs back to the system.

    Returns the bytes given back. Arrays and compiled programs stay.

    >>> import tetrad as jax
    >>> jax.release_memory() >= 0
    True
    """
    return sum([backend.make_room() for backend in registry.made_backends()])


class CacheEntry(NamedTuple):
    """What a cache holds."""

    entries: int
    nbytes: int | None  # None: not counted
    limit: int | None  # of the bytes


class CacheInfo(dict[str, CacheEntry]):
    """What the caches hold, by name; prints as a table."""

    def __str__(self) -> str:
        rows: list[tuple[str, ...]] = [("cache", "entries", "bytes", "limit", "")]
        for name, entry in self.items():
            nbytes = "" if entry.nbytes is None else human(entry.nbytes)
            limit = "" if entry.limit is None else human(entry.limit)
            rows.append((name, str(entry.entries), nbytes, limit, ""))
        return table(rows)

    __repr__ = __str__


def cache_info() -> CacheInfo:
    """How many entries and, where they are counted, bytes the caches hold, by name.

    `clear_caches()` empties them, but for what is on disk. The setting
    `tetrad_code_limit` (`TETRAD_CODE_LIMIT`) bounds the machine code that stays loaded.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> y = (jnp.ones(3) + 1).block_until_ready()
    >>> jax.cache_info()["machine code"].nbytes > 0
    True
    """
    found = CacheInfo()
    for backend in registry.made_backends():
        for name, entry in backend.caches().items():
            found[name] = CacheEntry(*entry)
    for name, count in sorted(memo.cache_sizes().items()):
        if count:
            found[name] = CacheEntry(count, None, None)
    return found


def forget_last_error() -> int:
    """Drops the last uncaught error, whose traceback keeps the variables of its functions.

    After a failed cell of a notebook, or a failed line at the prompt, Python and IPython
    keep the error for later inspection, and with it every array of the functions that
    failed. Returns the bytes that became free on the devices in use.

    >>> import tetrad as jax
    >>> jax.forget_last_error() >= 0
    True
    """
    before = _in_use()
    for name in ("last_exc", "last_value", "last_traceback", "last_type"):
        if hasattr(sys, name):
            delattr(sys, name)
    _forget_in_ipython()
    gc.collect()  # an error and the frames it passed refer to each other
    return max(0, before - _in_use())


def _forget_in_ipython() -> None:
    """What the shell of a notebook keeps of the last error."""
    ipython = sys.modules.get("IPython")
    get = getattr(ipython, "get_ipython", None)
    shell = get() if get is not None else None
    if shell is None:
        return
    for name in ("InteractiveTB", "SyntaxTB"):
        shown = getattr(shell, name, None)
        for kept in ("tb", "etype", "evalue", "value", "last_syntax_error"):
            if getattr(shown, kept, None) is not None:
                setattr(shown, kept, None)
    result = getattr(shell, "last_execution_result", None)
    for kept in ("error_in_exec", "error_before_exec"):
        if getattr(result, kept, None) is not None:
            setattr(result, kept, None)


def _in_use() -> int:
    return sum(
        [device.memory_stats()["bytes_in_use"] for device in registry.made_devices()]
    )
