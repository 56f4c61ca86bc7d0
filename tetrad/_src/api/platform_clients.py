"""Platforms as JAX's libraries see them: `get_backend` gives an object to ask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tetrad._src.api import devices
from tetrad._src.runtime import device as registry
from tetrad._src.runtime.device import Device


class PlatformClient:
    """One platform: its name, its devices, and what is alive on them."""

    __slots__ = ("platform",)

    def __init__(self, platform: str) -> None:
        self.platform = platform

    def devices(self) -> Sequence[Device]:
        """All devices."""
        return registry.devices(self.platform)

    def local_devices(self) -> Sequence[Device]:
        """The devices of this process, which are all."""
        return registry.devices(self.platform)

    def device_count(self) -> int:
        """How many devices there are."""
        return len(self.devices())

    def local_device_count(self) -> int:
        """How many devices this process has."""
        return len(self.devices())

    def process_index(self) -> int:
        """The number of this process: 0."""
        return devices.process_index()

    def process_count(self) -> int:
        """How many processes there are: 1."""
        return devices.process_count()

    def live_arrays(self) -> list[Any]:
        """The arrays that are alive on this platform."""
        return devices.live_arrays(self.platform)

    def __repr__(self) -> str:
        return f"<platform {self.platform}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PlatformClient) and self.platform == other.platform

    def __hash__(self) -> int:
        return hash(self.platform)


def get_backend(platform: str | None = None) -> PlatformClient:
    """A platform, by default the one that arrays go to.

    RuntimeError if there is none of that name; the message says which there are.

    >>> import tetrad as jax
    >>> from tetrad.extend.backend import get_backend
    >>> get_backend("cpu").platform
    'cpu'
    """
    if isinstance(platform, PlatformClient):
        return platform
    name = registry.canonical(platform or registry.default_platform())
    registry.backend(name)
    return PlatformClient(name)
