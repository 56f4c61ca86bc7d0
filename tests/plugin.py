"""The plugin that tests run on: XLA's CPU backend, under the platform name `xla_cpu`."""

import contextlib
import importlib.util
from pathlib import Path

import pytest

from tetrad._src.api import plugins
from tetrad._src.runtime import device
from tetrad._src.util.config import config

PLATFORM = "xla_cpu"


def plugin_path():
    """The library in the package xla-cpu-pjrt, or None."""
    if importlib.util.find_spec("pypjrt") is None:
        return None
    spec = importlib.util.find_spec("xla_plugins")
    for root in spec.submodule_search_locations if spec else ():
        for path in Path(root).glob("xla_cpu_pjrt/*.so"):
            return str(path)
    return None


PATH = plugin_path()
needs_plugin = pytest.mark.skipif(
    PATH is None, reason="pypjrt and xla-cpu-pjrt are not installed (extra: pjrt)"
)
if PATH is not None:
    plugins.register(PLATFORM, PATH)


@contextlib.contextmanager
def on_plugin(index=0):
    """Within it, arrays that nobody places go to a device of the plugin."""
    before = config.jax_default_device
    config.update("jax_default_device", device.devices(PLATFORM)[index])
    try:
        yield
    finally:
        config.update("jax_default_device", before)
