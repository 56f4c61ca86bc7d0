"""Where arrays live: devices, transfers between them, waiting, and what is alive."""

from __future__ import annotations

import gc
from collections.abc import Iterable
from typing import Any

import numpy as np

from tetrad._src.api import plugins
from tetrad._src.api.formats import Format
from tetrad._src.core.bind import Tracer, Value, aval_of
from tetrad._src.core.mesh import named_in_force
from tetrad._src.core.sharding import PartitionSpec, Sharding
from tetrad._src.runtime import array as array_module
from tetrad._src.runtime import device as registry
from tetrad._src.runtime import host, lazy
from tetrad._src.runtime.array import Array, Deleted
from tetrad._src.runtime.device import Device, Placement
from tetrad._src.util import dtypes, memo, tree
from tetrad._src.util.config import config


def devices(backend: str | None = None) -> list[Device]:
    """The devices of a platform, by default of the default one.

    Args:
      backend: a platform name such as `"cpu"`.

    Raises:
      RuntimeError: if the platform does not exist here; says which do.

    >>> import tetrad as jax
    >>> jax.devices("cpu")[0].platform
    'cpu'
    """
    return registry.devices(backend)


def local_devices(
    process_index: int | None = None, backend: str | None = None
) -> list[Device]:
    """The devices of this process; see `devices`."""
    if process_index not in (None, 0):
        raise ValueError(f"there is one process, number 0; got {process_index}")
    return registry.devices(backend)


def device_count(backend: str | None = None) -> int:
    """How many devices a platform has."""
    return len(registry.devices(backend))


local_device_count = device_count


def process_index(backend: str | None = None) -> int:
    """The number of this process: 0."""
    return 0


def process_count(backend: str | None = None) -> int:
    """How many processes compute together: 1."""
    return 1


host_id = process_index
host_count = process_count


def process_indices(backend: str | None = None) -> list[int]:
    """The numbers of all processes: 0 alone."""
    return [0]


host_ids = process_indices


def default_backend() -> str:
    """The platform that arrays go to when nobody says otherwise."""
    return registry.default_platform()


def set_cpu_devices(count: int) -> None:
    """Gives the CPU platform `count` devices, each with memory of its own.

    Raises:
      RuntimeError: once the CPU devices have been used.
    """
    config.update("jax_num_cpu_devices", count)


def device_put(
    x: Any,
    device: Any = None,
    *,
    src: Any = None,
    donate: bool = False,
    may_alias: bool | None = None,
) -> Any:
    """Arrays with the values of `x` (a pytree) on `device`; `x` stays where it was.

    Without a device the result goes to the default one, uncommitted. With one it is
    committed: operations on it run there.

    Args:
      x: a pytree of arrays and numbers.
      device: a device or its sharding; or a pytree of these that is a prefix of `x`.
      src: accepted because programs say it; arrays know where they are.
      donate: whether `x` is given up.
      may_alias: accepted; memory that two arrays share is never changed.
    """
    if donate and may_alias:
        raise ValueError("jax.device_put: memory is shared or given up, not both")

    def move(leaf: Any, place: Placement | None) -> Any:
        if isinstance(leaf, Tracer):
            return leaf
        moved = _put_leaf(leaf, place)
        if donate and type(leaf) is Array and moved is not leaf:
            array_module.mark_deleted(leaf, "donated to jax.device_put")
        return moved

    if not _is_place(device):
        leaves, treedef = tree.flatten(x)
        devices = tree.broadcast_prefix(
            device, x, lambda d: d is None, prefix_name="device", full_name="x"
        )
        for leaf, where in zip(leaves, devices):
            _check_rank(leaf, where)
        places = [_placement(d) for d in devices]
        return treedef.unflatten([move(v, p) for v, p in zip(leaves, places)])
    place = _placement(device)
    if isinstance(device, (Sharding, PartitionSpec)):
        tree.map(lambda leaf: _check_rank(leaf, device), x)
    return tree.map(lambda leaf: move(leaf, place), x)


def _is_place(device: Any) -> bool:
    """Whether it is one place, and no pytree of places."""
    kind = type(device)
    return device is None or kind is Format or not tree.is_tree_node(kind)


def _check_rank(leaf: Any, where: Any) -> None:
    if isinstance(where, PartitionSpec):
        where = named_in_force(where, "jax.device_put")
    if isinstance(where, Sharding):
        where.check_rank(np.ndim(leaf), "jax.device_put")


def _placement(device: Any) -> Placement | None:
    if device is None:
        return None
    if isinstance(device, Format):
        device = device.checked("jax.device_put")
    if isinstance(device, PartitionSpec):
        device = named_in_force(device, "jax.device_put")
    if isinstance(device, Sharding):
        return device.placement  # type: ignore[no-any-return]
    if isinstance(device, str):
        device = registry.devices(device)[0]
    if not isinstance(device, Device):
        raise TypeError(
            "jax.device_put takes a device such as jax.devices()[0] or its sharding,"
            f" got {device!r}"
        )
    return device.committed


def _put_leaf(leaf: Any, place: Placement | None) -> Array:
    if type(leaf) is Array:
        return lazy.copy_to(leaf, leaf.placement if place is None else place)
    aval = aval_of(leaf)
    if aval.dtype == np.dtype(object) or aval.kind == "V":
        raise TypeError(f"jax.device_put cannot place {leaf!r} ({type(leaf).__name__})")
    dtypes.check_narrowing(leaf, aval.dtype, "jax.device_put: the value")
    return lazy.put(np.asarray(leaf, aval.dtype), aval, place)


def device_get(x: Any) -> Any:
    """NumPy arrays with the values of `x` (a pytree), once they are computed."""

    def get(leaf: Any) -> Any:
        return np.asarray(leaf) if isinstance(leaf, Value) else leaf

    return tree.map(get, x)


def block_until_ready(x: Any) -> Any:
    """Waits until every array in the pytree `x` is computed; returns `x`.

    Leaves of other types are waited for if they have a method `block_until_ready`.

    Raises:
      JaxRuntimeError: if an array could not be computed; names the line that made it.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> jax.block_until_ready({"loss": jnp.ones(3).sum(), "step": 7, "rest": None})
    {'loss': Array(3., dtype=float32), 'step': 7, 'rest': None}
    """
    if type(x) is Array:
        return x.block_until_ready()
    leaves = tree.leaves(x)
    for leaf in leaves:
        if type(leaf) is Array:
            array_module.ready_buffer(leaf)
    for leaf in leaves:
        if isinstance(leaf, Tracer):
            continue
        wait = getattr(leaf, "block_until_ready", None)
        if callable(wait) and not isinstance(leaf, type):
            wait()
    return x


def effects_barrier() -> None:
    """Waits until all calls of Python in programs submitted so far have happened.

    A program with callbacks returns when they are over, so this waits only for programs
    of other threads.

    >>> import tetrad as jax
    >>> jax.effects_barrier()
    """
    host.barrier()


def copy_to_host_async(x: Any) -> Any:
    """Starts the computation of every array in the pytree `x`."""
    for leaf in tree.leaves(x):
        start = getattr(leaf, "copy_to_host_async", None)
        if start is not None and not isinstance(leaf, Tracer):
            start()
    return x


def live_arrays(platform: str | None = None) -> list[Array]:
    """All arrays that some part of the program can still reach."""
    lazy.prune_all()
    found: Iterable[Any] = gc.get_objects()
    return [
        x
        for x in found
        if type(x) is Array
        and type(x.buffer) is not Deleted
        and getattr(x, "aval", None) is not None
        and (platform is None or x.placement.device.platform == platform)
    ]


def register_pjrt_plugin(name: str, path: str) -> None:
    """Adds the platform `name`, served by the PJRT plugin in the library at `path`.

    `jax.devices(name)` then gives its devices. Needs the package pypjrt
    (`pip install 'tetrad[pjrt]'`); nothing is loaded before a device is asked for.
    """
    plugins.register(name, path)


def clear_caches() -> int:
    """Forgets every compiled program and cached result; returns the bytes freed.

    Arrays stay. What is called again compiles again.
    """
    lazy.flush_all()
    memo.clear_caches()
    return sum([backend.forget() for backend in registry.made_backends()])
