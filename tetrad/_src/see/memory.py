"""`tetrad.see.memory()`: what the devices hold, their peaks, and which lines made it."""

from __future__ import annotations

from typing import Any

from tetrad._src.runtime import device as registry
from tetrad._src.runtime.ledger import human


class DeviceMemory:
    """The memory of one device at one moment, or over a `with` block."""

    def __init__(self, device: Any) -> None:
        ledger = device.ledger
        ledger.reclaim()
        self.device = device
        self.bytes_in_use: int = ledger.now
        self.peak: int = ledger.peak
        self.by_line: list[tuple[str, int, int]] = ledger.by_line()

    def __str__(self) -> str:
        lines = [
            f"{self.device}: {human(self.bytes_in_use)} in use, peak {human(self.peak)}"
        ]
        for place, size, count in self.by_line[:20]:
            arrays = "1 array" if count == 1 else f"{count} arrays"
            lines.append(f"  {human(size):>10}  {arrays:>10}  {place}")
        if len(self.by_line) > 20:
            lines.append(f"  … and {len(self.by_line) - 20} more lines")
        return "\n".join(lines)


class Memory:
    """A report of all devices in use; as a context manager, of a block.

    `bytes_in_use`, `peak` and `delta` sum over devices. In a block the peak is that of
    the block.
    """

    def __init__(self) -> None:
        self._look()
        self._before = self.bytes_in_use
        self._peaks: dict[Any, int] = {}

    def _look(self) -> None:
        self.devices = [
            DeviceMemory(device)
            for backend in registry.made_backends()
            for device in backend.devices()
        ]

    @property
    def bytes_in_use(self) -> int:
        return sum([d.bytes_in_use for d in self.devices])

    @property
    def peak(self) -> int:
        return sum([d.peak for d in self.devices])

    @property
    def delta(self) -> int:
        """Bytes in use now, less those at the start of the block."""
        return self.bytes_in_use - self._before

    def __enter__(self) -> Memory:
        registry.backend()
        self._look()
        self._before = self.bytes_in_use
        for d in self.devices:
            self._peaks[d.device] = d.device.ledger.peak
            d.device.ledger.reset_peak()
        return self

    def __exit__(self, *exc: object) -> None:
        self._look()
        for d in self.devices:
            ledger = d.device.ledger
            ledger.peak = max(ledger.peak, self._peaks.get(d.device, 0))

    def __str__(self) -> str:
        return "\n".join(map(str, self.devices)) or "no device has been used yet"

    __repr__ = __str__


def memory() -> Memory:
    """What every device in use holds: bytes now, peak, and bytes by birth line.

    Prints as a table. As a context manager it measures a block:

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> with jax.see.memory() as m:
    ...     y = (jnp.ones((1000, 1000)) + 1).block_until_ready()
    >>> m.delta
    4000000
    """
    return Memory()
