"""Platforms that are in use."""

from tetrad._src.runtime.device import _backends as _backends


def backends_are_initialized() -> bool:
    """Whether the devices of any platform were asked for."""
    return bool(_backends)
