"""SciPy's functions: `tetrad.scipy`. Each module is loaded when it is first used."""

from __future__ import annotations

import importlib as _importlib

_LATER = (
    "cluster",
    "fft",
    "integrate",
    "interpolate",
    "linalg",
    "ndimage",
    "optimize",
    "signal",
    "sparse",
    "spatial",
    "special",
    "stats",
)


def __getattr__(name: str) -> object:
    if name in _LATER:
        return _importlib.import_module(f"tetrad.scipy.{name}")
    raise AttributeError(f"module 'tetrad.scipy' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
