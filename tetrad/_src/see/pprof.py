"""Memory by source line in the format of pprof, which many viewers read.

In: the ledgers. Out: the bytes of a gzipped message `perftools.profiles.Profile`. Only
what this needs of protocol buffers is written here: a field is a key, number · 8 + kind,
and either a number in base 128 (kind 0) or bytes with their length before them (kind 2).

Read `_Profile` (the tables of the message), then `device_memory_profile`.
"""

from __future__ import annotations

import gzip
import os
import time
from typing import Any

from tetrad._src.runtime import device as registry
from tetrad._src.runtime import flush
from tetrad._src.runtime.ledger import by_place
from tetrad._src.util import frames

# Numbers of the fields of Profile …
SAMPLE_TYPE, SAMPLE, LOCATION, FUNCTION, STRINGS = 1, 2, 4, 5, 6
TIME, PERIOD_TYPE, PERIOD, DEFAULT_SAMPLE_TYPE = 9, 11, 12, 14
# … ValueType …
TYPE, UNIT = 1, 2
# … Sample and its Label …
LOCATION_IDS, VALUES, LABEL = 1, 2, 3
KEY, STRING = 1, 2
# … Location and its Line, Function.
ID, LINE = 1, 4
FUNCTION_ID, LINE_NUMBER = 1, 2
NAME, SYSTEM_NAME, FILENAME, START_LINE = 2, 3, 4, 5


def _number(value: int) -> bytes:
    """In base 128, low digits first; all but the last have their highest bit set."""
    digits = bytearray()
    while value > 127:
        digits.append(value & 127 | 128)
        value >>= 7
    digits.append(value)
    return bytes(digits)


def _field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return _number(number << 3) + _number(value)
    return _number(number << 3 | 2) + _number(len(value)) + value


class _Profile:
    """A message in the making, with its tables of strings, functions and locations."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.strings: dict[str, int] = {"": 0}
        self.functions: dict[tuple[str, str], int] = {}
        self.locations: dict[tuple[int, int], int] = {}

    def string(self, text: str) -> int:
        return self.strings.setdefault(text, len(self.strings))

    def value_type(self, kind: str, unit: str) -> bytes:
        return _field(TYPE, self.string(kind)) + _field(UNIT, self.string(unit))

    def location(self, where: Any) -> int:
        """The number of the location of a place, which is added if it is new."""
        if where is None:
            file, line, function, start = "", 0, "unknown line", 0
        else:
            file, line, function = frames.line_of(where)
            start = where[0].co_firstlineno
        number = self.function(file, function, start)
        key = (number, line)
        found = self.locations.get(key)
        if found is None:
            found = self.locations[key] = len(self.locations) + 1
            place = _field(FUNCTION_ID, number) + _field(LINE_NUMBER, line)
            self.add(LOCATION, _field(ID, found) + _field(LINE, place))
        return found

    def function(self, file: str, name: str, start: int) -> int:
        found = self.functions.get((file, name))
        if found is None:
            found = self.functions[file, name] = len(self.functions) + 1
            self.add(
                FUNCTION,
                _field(ID, found)
                + _field(NAME, self.string(name))
                + _field(SYSTEM_NAME, self.string(name))
                + _field(FILENAME, self.string(file))
                + _field(START_LINE, start),
            )
        return found

    def sample(self, where: Any, values: tuple[int, ...], **labels: str) -> None:
        told = _field(LOCATION_IDS, _number(self.location(where)))
        told += _field(VALUES, b"".join(map(_number, values)))
        for key, text in labels.items():
            label = _field(KEY, self.string(key)) + _field(STRING, self.string(text))
            told += _field(LABEL, label)
        self.add(SAMPLE, told)

    def add(self, number: int, value: int | bytes) -> None:
        self.parts.append(_field(number, value))

    def encoded(self) -> bytes:
        texts = [_field(STRINGS, text.encode()) for text in self.strings]
        return b"".join([*self.parts, *texts])


def device_memory_profile(backend: str | None = None) -> bytes:
    """What fills the devices, by source line, as pprof reads it.

    Samples have two values: buffers ("allocations", "count") and bytes ("space",
    "bytes"). A location is the line that asked for the memory. The labels are the device
    and the kind: "buffer" of an array, "temporary" memory of a program.

    Args:
      backend: the name of a platform; by default all devices that are in use.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> x = jnp.ones(1000).block_until_ready()
    >>> profile = jax.profiler.device_memory_profile()
    >>> profile[:2] == bytes([0x1F, 0x8B])  # gzip
    True
    """
    profile = _Profile()
    profile.add(SAMPLE_TYPE, profile.value_type("allocations", "count"))
    profile.add(SAMPLE_TYPE, profile.value_type("space", "bytes"))
    profile.add(PERIOD_TYPE, profile.value_type("space", "bytes"))
    profile.add(PERIOD, 1)
    profile.add(TIME, time.time_ns())
    profile.add(DEFAULT_SAMPLE_TYPE, profile.string("space"))
    flush.flush_quietly()
    backends = [registry.backend(backend)] if backend else registry.made_backends()
    for device in [d for b in backends for d in b.devices()]:
        device.ledger.reclaim()
        for where, group in by_place(device.ledger.holdings()):
            for kind, array in (("buffer", True), ("temporary", False)):
                held = [h[0] for h in group if (h[3] is not None) == array]
                if held:
                    values = (len(held), sum(held))
                    profile.sample(where, values, kind=kind, device=str(device))
    return gzip.compress(profile.encoded())


def save_device_memory_profile(
    filename: str | os.PathLike[str], backend: str | None = None
) -> None:
    """Writes `device_memory_profile` to a file, for `pprof --web FILE` and its like.

    >>> import tetrad as jax
    >>> jax.profiler.save_device_memory_profile("memory.prof")  # doctest: +SKIP
    """
    with open(filename, "wb") as file:
        file.write(device_memory_profile(backend))
