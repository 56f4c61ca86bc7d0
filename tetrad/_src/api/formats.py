"""How the arrays of a compiled function lie in memory: always whole and row-major."""

from __future__ import annotations

from typing import Any, NamedTuple

from tetrad._src.core.avals import Aval
from tetrad._src.runtime.device import SingleDeviceSharding


class Layout(NamedTuple):
    """The order of axes in memory, the slowest first.

    >>> from tetrad.experimental.layout import Layout
    >>> Layout((0, 1))
    Layout(major_to_minor=(0, 1))
    """

    major_to_minor: tuple[int, ...]
    tiling: tuple[tuple[int, ...], ...] | None = None

    def __repr__(self) -> str:
        tiles = f", tiling={self.tiling}" if self.tiling else ""
        return f"Layout(major_to_minor={self.major_to_minor}{tiles})"


class Format(NamedTuple):
    """A layout, and the devices that hold the array.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> from tetrad.experimental.layout import Format, Layout
    >>> where = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    >>> jax.device_put(jnp.ones(2), Format(Layout((0,)), where)).shape
    (2,)
    """

    layout: Layout | None = None
    sharding: Any = None

    def checked(self, what: str) -> Any:
        """The sharding; NotImplementedError for a layout that arrays do not have."""
        layout = self.layout
        if layout is not None:
            order = tuple(layout.major_to_minor)
            if order != tuple(range(len(order))) or layout.tiling:
                raise NotImplementedError(
                    f"{what}: {layout}, but every array is dense and row-major. Give a"
                    " sharding in place of the Format, and transpose where axes should"
                    " change places"
                )
        return self.sharding

    def __repr__(self) -> str:
        return f"Format(layout={self.layout}, sharding={self.sharding})"


def format_of(aval: Aval, device: Any) -> Format:
    """The format of an array of type `aval` on `device`."""
    return Format(Layout(tuple(range(aval.ndim))), SingleDeviceSharding(device))


class MemoryStats(NamedTuple):
    """What a compiled function needs, in bytes.

    Arguments and results as far as they are arrays on the device; `alias` is the part of
    the results that takes the memory of donated arguments; `temp` is what is needed
    besides; `peak` is the sum of all that exists at once, as planned.
    """

    argument_size_in_bytes: int
    output_size_in_bytes: int
    alias_size_in_bytes: int
    temp_size_in_bytes: int
    generated_code_size_in_bytes: int
    # Nothing of a program is kept in the memory of the host beside that of the device.
    host_argument_size_in_bytes: int = 0
    host_output_size_in_bytes: int = 0
    host_alias_size_in_bytes: int = 0
    host_temp_size_in_bytes: int = 0
    host_generated_code_size_in_bytes: int = 0

    @property
    def peak_memory_in_bytes(self) -> int:
        return (
            self.argument_size_in_bytes
            + self.output_size_in_bytes
            - self.alias_size_in_bytes
            + self.temp_size_in_bytes
        )

    def __repr__(self) -> str:
        fields = self._asdict().items()
        parts = [f"{n}={value}" for n, value in fields if not n.startswith("host_")]
        return (
            f"MemoryStats({', '.join(parts)},"
            f" peak_memory_in_bytes={self.peak_memory_in_bytes})"
        )
