"""Private names of JAX that libraries import, answered with what this library has.

With `install_as_jax`, `import jax._src.dtypes` finds the module `dtypes` here. Only names
that widely used libraries need are given; each is another spelling of a public one.
"""

from __future__ import annotations

import importlib
from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    """`jax._src.xla_bridge` without an import of its own."""
    if not name.startswith("__"):
        try:
            return importlib.import_module(f"{__name__}.{name}")
        except ModuleNotFoundError:
            pass
    raise AttributeError(f"tetrad has no counterpart of jax._src.{name}")
