"""Where arrays live: devices, transfers between them, waiting, and what is alive."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tetrad._src.api import plugins
from tetrad._src.api.formats import Format
from tetrad._src.api.prefixes import prefix_leaves
from tetrad._src.core.bind import STATE, Tracer, Value, aval_of
from tetrad._src.core.mesh import named_in_force
from tetrad._src.core.sharding import PartitionSpec, Sharding
from tetrad._src.ops.placing import DevicePut
from tetrad._src.runtime import array as array_module
from tetrad._src.runtime import device as registry
from tetrad._src.runtime import host, lazy
from tetrad._src.runtime.array import Array, Deleted
from tetrad._src.runtime.device import Device, Placement
from tetrad._src.util import dtypes, frames, memo, tree
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
    donate: bool | Any = False,
    may_alias: bool | None | Any = None,
) -> Any:
    """Arrays with the values of `x` (a pytree) on `device`; `x` stays where it was.

    With a device the result is committed to it: operations on it run there, and mixing
    it with arrays committed elsewhere is an error. Without one, arrays stay where they
    are, and other data goes to the default device, uncommitted.

    In a function under `jit`, it says where the compiled program runs; other devices
    than that of its committed arguments are an error. Gradients return to where `x` was.

    Args:
      x: a pytree of arrays and numbers.
      device: a device or a sharding on one; or a pytree of these that is a prefix of `x`.
      src: where `x` was, for gradients; arrays know, traced ones do not.
      donate: whether `x` is given up: its memory is freed, or the result has it. Like
        the next, a bool or a pytree of these that is a prefix of `x`.
      may_alias: whether a result may have the memory of an array that is on that device
        already. None and True allow it, False asks for a copy. Arrays never change, so
        it only matters to who deletes or donates one of them.

    Raises:
      ValueError: if `device` is no device, or for `donate` with `may_alias`.
      TypeError: for data that is no array.

    >>> import tetrad as jax
    >>> x = jax.device_put([1.0, 2.0], jax.devices("cpu")[0])
    >>> x[0].committed, x[0].device
    (True, CpuDevice(id=0))
    """
    where = STATE.where or frames.user_frame()
    leaves, treedef = tree.flatten(x)
    places = _spread(device, x, len(leaves), "device")
    given = _spread(donate, x, len(leaves), "donate")
    shared = _spread(may_alias, x, len(leaves), "may_alias")
    sources = _spread(src, x, len(leaves), "src")
    moved = []
    for leaf, at, gives, shares, origin in zip(leaves, places, given, shared, sources):
        if gives and shares:
            raise ValueError(
                "jax.device_put: may_alias and donate cannot be True at the same time."
                " With donate=True `x` is given up; with may_alias=True it is shared"
            )
        place = None
        if at is not None:
            place = placement_of(at, "jax.device_put", where, leaf)
        moved.append(put_leaf(leaf, place, gives, shares, origin))
    return treedef.unflatten(moved)


def _spread(value: Any, x: Any, count: int, name: str) -> Sequence[Any]:
    """One value for each leaf of `x`, of an argument that may be a prefix of `x`."""
    kind = type(value)
    if value is None or kind is Format or not tree.is_tree_node(kind):
        return (value,) * count
    return prefix_leaves(value, x, name, "x")


def placement_of(
    place: Any, who: str, where: Any = None, leaf: Any = None
) -> Placement:
    """The placement that a line asks for by a device or a sharding."""
    if isinstance(place, Device):
        return place.placed(where=where)
    if isinstance(place, Format):
        place = place.checked(who)
    if isinstance(place, PartitionSpec):
        place = named_in_force(place, who)
    if isinstance(place, Sharding):
        if leaf is not None:
            place.check_rank(np.ndim(leaf), who)
        return place.placed(where)  # type: ignore[no-any-return]
    raise ValueError(
        f"{who} takes a device such as jax.devices()[0], a sharding, or a pytree of"
        f" these, got {place!r} of type {type(place).__name__}"
    )


def put_leaf(
    leaf: Any,
    place: Placement | None,
    gives: Any = False,
    shares: Any = None,
    src: Any = None,
) -> Any:
    """One leaf of `device_put`."""
    if isinstance(leaf, Tracer):
        if place is None:
            return leaf
        source = _source(leaf)
        if src is not None:
            source = placement_of(src, "jax.device_put(src=...)", place.where)
        return DevicePut(place, source)(leaf)
    if type(leaf) is not Array:
        return _from_host(leaf, place)
    if place is None:
        if not gives and shares is not False:
            return leaf
        place = leaf.placement
    moved = lazy.copy_to(leaf, place, share=shares is not False)
    if gives:
        array_module.give_up(leaf, "donated to jax.device_put")
    return moved


def _source(x: Any) -> Placement | None:
    """Where the array below the tracers is, if there is one."""
    while isinstance(x, Tracer):
        x = getattr(x, "primal", getattr(x, "value", None))
    return x.placement if type(x) is Array else None


def _from_host(leaf: Any, place: Placement | None) -> Array:
    aval = aval_of(leaf)
    if getattr(aval.dtype, "kind", "") in "OSUMm" or aval.kind == "V":
        raise TypeError(
            f"jax.device_put: arrays hold numbers, got {leaf!r} of type"
            f" {type(leaf).__name__}"
        )
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
        if type(leaf) is Array:
            leaf.block_until_ready()
            continue
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
    gc.collect()  # programs and what they were traced from refer to each other
    return sum([backend.forget() for backend in registry.made_backends()])
