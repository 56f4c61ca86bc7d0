"""More CPU devices than this process was started with, for the tests of a module."""

from contextlib import contextmanager

import tetrad as jax
from tetrad._src.runtime import device as registry
from tetrad._src.runtime import lazy


@contextmanager
def cpu_devices(count):
    """Within it, the CPU platform has `count` devices."""
    backend = registry.backend("cpu")
    first = backend._devices[0]
    known = len(backend._devices)
    for i in range(known, count):
        made = registry.Device(backend, i, first.device_kind)
        made.ledger.reclaim = first.ledger.reclaim
        made.ledger.settle = first.ledger.settle
        backend._devices.append(made)
    registry.recount()
    try:
        yield jax.devices("cpu")
    finally:
        del backend._devices[known:]
        registry.recount()


@contextmanager
def untouched(*devices):
    """Fails if anything is allocated on one of `devices` within the block."""
    lazy.flush_all()
    before = [d.memory_stats()["num_allocs"] for d in devices]
    yield
    for device, count in zip(devices, before):
        made = device.memory_stats()["num_allocs"] - count
        assert made == 0, f"{made} buffers were made on {device}"
