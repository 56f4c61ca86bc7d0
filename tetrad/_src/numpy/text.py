"""Arrays as text: what `repr` and `str` of an array print.

A host array comes in, a string goes out. The elements are laid out by NumPy under its
own print options; this module adds the name, the shape of empty arrays, the dtype and
the weak type.
"""

from __future__ import annotations

import numpy as np

PREFIX = "Array("


def format_array(host: np.ndarray, weak_type: bool = False) -> str:
    """The `repr` of an array: `Array([1., 2.], dtype=float32)`."""
    tail = f"dtype={host.dtype.name}"
    if weak_type:
        tail += ", weak_type=True"
    tail += ")"
    if host.size == 0:
        return f"{PREFIX}[], shape={host.shape}, {tail}"
    body = np.array2string(host, prefix=PREFIX, suffix=",", separator=", ")
    width = np.get_printoptions()["linewidth"]
    last_line = len(body) - (body.rfind("\n") + 1)
    room = last_line + len(", ") + len(tail) < width
    gap = " " if room else " " * len(PREFIX)
    return f"{PREFIX}{body},{gap}{tail}"


def format_elements(host: np.ndarray) -> str:
    """The `str` of an array: its elements alone."""
    return str(host)
