"""Numbers of bytes and seconds as people write and read them.

In: `"2GB"`, `"512 MiB"`, or a number. Out: an int; and back, for messages. KB, MB, GB
and TB are powers of 1000, KiB, MiB, GiB and TiB powers of 1024. Seconds are written only.
"""

from __future__ import annotations

import operator
import re
from typing import Any, Final

_UNITS: Final = {
    "": 1, "b": 1,
    "k": 10**3, "kb": 10**3, "kib": 1 << 10,
    "m": 10**6, "mb": 10**6, "mib": 1 << 20,
    "g": 10**9, "gb": 10**9, "gib": 1 << 30,
    "t": 10**12, "tb": 10**12, "tib": 1 << 40,
}  # fmt: skip
_SIZE: Final = re.compile(r"\s*(\d[\d_]*(?:\.\d*)?|\.\d+)\s*([a-zA-Z]*)\s*")
_WRITE: Final = 'write a number of bytes or a text such as "2GB", "500MB" or "1.5GiB"'


def parse_bytes(name: str, value: Any) -> int:
    """The number of bytes that `value` says; `name` is for the message.

    >>> parse_bytes("limit", "1.5 GB"), parse_bytes("limit", "2MiB")
    (1500000000, 2097152)
    """
    if isinstance(value, str):
        found = _SIZE.fullmatch(value)
        if found is None:
            raise ValueError(f"{name}={value!r} is no number of bytes: {_WRITE}")
        unit = _UNITS.get(found[2].lower())
        if unit is None:
            raise ValueError(
                f"{name}={value!r}: there is no unit {found[2]!r}; the units are KB, MB,"
                " GB and TB (powers of 1000) and KiB, MiB, GiB and TiB (powers of 1024)"
            )
        number = found[1].replace("_", "")
        nbytes = int(number) * unit if number.isdigit() else int(float(number) * unit)
    elif isinstance(value, bool):
        raise TypeError(f"{name}={value!r} is no number of bytes: {_WRITE}")
    elif isinstance(value, float):
        if not value.is_integer():
            raise ValueError(f"{name}={value!r} is no whole number of bytes: {_WRITE}")
        nbytes = int(value)
    else:
        try:
            nbytes = operator.index(value)
        except TypeError:
            raise TypeError(
                f"{name} is a {type(value).__name__} and no number of bytes: {_WRITE}"
            ) from None
    if nbytes <= 0:
        raise ValueError(f"{name}={value!r} must be more than 0 bytes; {_WRITE}")
    return nbytes


def human(nbytes: int) -> str:
    """1536 → 1.5 KiB"""
    size = float(nbytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"


def signed(nbytes: int) -> str:
    """+1.5 KiB, −2 B, or ±0."""
    if not nbytes:
        return "±0"
    return f"{'+' if nbytes > 0 else '−'}{human(abs(nbytes))}"


def duration(seconds: float) -> str:
    """A time in the unit that suits it, with three digits.

    >>> duration(0.00123), duration(0), duration(75), duration(0.99999), duration(1234)
    ('1.23 ms', '0 s', '75 s', '1 s', '1230 s')
    """
    seconds = float(f"{seconds:.3g}")
    if not seconds:
        return "0 s"
    units = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))
    unit, size = next((u for u in units if seconds >= u[1]), units[-1])
    return f"{seconds / size:g} {unit}"
