"""Other machines: PJRT plugins that are installed or that the user names.

A plugin is the shared library with which a vendor's compiler and devices are reached.
Those that pypjrt finds are offered as platforms; none is loaded before one of its
devices is asked for.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Callable
from typing import Any

from tetrad._src.runtime import device as registry
from tetrad._src.runtime import lazy

# Distribution packages that bring a plugin, by the platform they serve.
PACKAGES = {
    "gpu": ("jax_plugins.xla_cuda13", "jax_plugins.xla_cuda12", "jax_rocm7_pjrt"),
    "tpu": ("libtpu",),
}


def register(name: str, path: str) -> None:
    """Adds a platform served by the library at `path`."""
    if not os.path.exists(path):
        raise FileNotFoundError(f"there is no PJRT plugin at {path}")
    registry.register_platform(name, _maker(name, path), first=False)


def _maker(name: str, path: str) -> Callable[[], Any]:
    def make() -> Any:
        if importlib.util.find_spec("pypjrt") is None:
            raise RuntimeError(
                f"platform '{name}' needs pypjrt: pip install 'tetrad[pjrt]'"
            )
        client = importlib.import_module("tetrad._src.hlo.client")
        return client.PjrtBackend(name, path, reclaim=lazy.prune_all)

    return make
