"""Other machines: PJRT plugins that are installed or that the user names.

What comes in: the name of a platform. What goes out: the way to make its backend, or a
sentence that says what was looked for. A plugin is the shared library with which a
vendor's compiler and devices are reached. Nothing is looked for before a platform is
asked for that does not exist, and no library is loaded before that.

A platform is looked for in this order: the environment variable
PJRT_NAMES_AND_LIBRARY_PATHS (`name:path,name:path`, as JAX reads it), the packages that
vendors publish for it (`VENDORS`), any package `jax_plugins.<name>`.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tetrad._src.runtime import device as registry
from tetrad._src.runtime import lazy

NAMED = "PJRT_NAMES_AND_LIBRARY_PATHS"


@dataclasses.dataclass(frozen=True)
class Vendor:
    """Where the plugin of a platform is, if it is installed."""

    packages: tuple[str, ...]  # modules that have the library in their folder
    pattern: str  # of the name of the library
    install: str
    variable: str = ""  # an environment variable with the path of the library


VENDORS = {
    "gpu": Vendor(
        ("jax_plugins.xla_cuda13", "jax_plugins.xla_cuda12", "jax_plugins.xla_rocm*"),
        "xla_*_plugin*.so",
        "pip install 'tetrad[cuda]' brings the plugin for NVIDIA GPUs on Linux",
    ),
    "tpu": Vendor(
        ("libtpu",),
        "libtpu*.so",
        "pip install 'tetrad[tpu]' brings the plugin for TPUs",
        "TPU_LIBRARY_PATH",
    ),
    "metal": Vendor(
        ("jax_plugins.metal_plugin",),
        "*.dylib",
        "pip install jax-metal brings the plugin for GPUs of Apple computers",
    ),
}


def register(name: str, path: str) -> None:
    """Adds a platform served by the library at `path`."""
    if not os.path.exists(path):
        raise FileNotFoundError(f"there is no PJRT plugin at {path}")
    registry.register_platform(name, _maker(name, str(path)), first=False)


def discover(name: str) -> Callable[[], Any] | None:
    """How to make the backend of a platform whose plugin is installed.

    None if there is none; what was looked for is then noted in the registry.
    """
    path, problem = find(name)
    if path is None:
        registry.explain_missing(name, problem)
        return None
    return _maker(name, path)


def find(name: str) -> tuple[str | None, str]:
    """The library with the plugin of a platform, or why there is none."""
    vendor = VENDORS.get(name)
    if vendor is None:
        package = (f"jax_plugins.{name}",) if name.isidentifier() else ()
        vendor = Vendor(package, "*.so", "")
    looked = [f"the variable {NAMED}"]
    path = _named_paths().get(name)
    if vendor.variable and path is None:
        path = os.environ.get(vendor.variable)
        looked.append(f"the variable {vendor.variable}")
    if path is None:
        found = next(_libraries(vendor), None)
        looked.extend([f"the package {package}" for package in vendor.packages])
        path = None if found is None else str(found)
    if path is None:
        places = ", ".join(looked)
        return None, f"no PJRT plugin for it is installed (looked for {places})"
    if not os.path.exists(path):
        return None, f"there is no PJRT plugin at {path}"
    return path, ""


def named() -> list[str]:
    """The platforms that the environment names."""
    return list(_named_paths())


def _named_paths() -> dict[str, str]:
    """The platforms that the environment names, with the paths of their plugins."""
    found = {}
    for entry in os.environ.get(NAMED, "").split(","):
        name, colon, path = entry.strip().partition(":")
        if colon:
            found[name] = path
    return found


def _libraries(vendor: Vendor) -> Iterator[Path]:
    """The libraries in the folders of the packages that are installed."""
    for package in vendor.packages:
        parent, _, leaf = package.rpartition(".")
        for root in _folders(parent or leaf):
            folders = sorted(root.glob(leaf)) if parent else [root]
            for folder in folders:
                yield from sorted(folder.glob(vendor.pattern))


def _folders(package: str) -> list[Path]:
    """The folders of a package, without importing it."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.submodule_search_locations is None:
        return []
    return [Path(root) for root in spec.submodule_search_locations]


def _maker(name: str, path: str) -> Callable[[], Any]:
    def make() -> Any:
        if importlib.util.find_spec("pypjrt") is None:
            raise RuntimeError(
                f"platform '{name}' needs the package pypjrt, which speaks to PJRT"
                " plugins: pip install 'tetrad[pjrt]'"
            )
        client = importlib.import_module("tetrad._src.hlo.client")
        return client.PjrtBackend(name, path, reclaim=lazy.prune_all)

    return make


def install() -> None:
    """Lets the registry ask here for platforms that nobody registered."""
    registry.set_discovery(discover)
    for name, vendor in VENDORS.items():
        registry.hints[name] = vendor.install
