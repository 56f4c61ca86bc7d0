"""Devices, where arrays are placed, and the registry of platforms.

A platform is a name and a way to make its backend; nothing of a backend is imported
before its devices are asked for. A `Placement` is a device plus whether the user asked
for it ("committed"), and if so in which line. Results take over the placement of their
operands, so every array knows the line that brought it where it is. There is one
placement for each line and one for what nobody placed; they compare with `is`.

Arrays that nobody placed are computed with where the default device of the thread is,
wherever they are. So that the recorder need not ask each time, the placement of those
on the default device is of the class `Placement` while no setting says anything else,
and of the class `Roaming` otherwise: `_bless`, `_ask_again`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tetrad._src.core.bind import STATE
from tetrad._src.core.sharding import Index, Shape, Sharding
from tetrad._src.runtime.ledger import Ledger
from tetrad._src.util.config import config, on_switch
from tetrad._src.util.frames import Place
from tetrad._src.util.locks import make_lock, make_rlock

LINES = 4096  # lines a device that are known apart


class Device:
    """A place with its own memory where arrays live and operations run."""

    def __init__(self, backend: Any, id: int, kind: str) -> None:
        self.backend = backend
        self.platform: str = backend.platform
        self.id = id
        self.local_hardware_id = id
        self.process_index = 0
        self.host_id = 0
        self.device_kind = kind
        self.ledger = Ledger()
        self.free: Placement = Roaming(self, committed=False)
        self.committed = Placement(self, committed=True)
        self.floating: Placement = Floating(self, committed=False)
        self._placements: dict[Any, Placement] = {}

    def placed(
        self, sharding: Sharding | None = None, where: Place | None = None
    ) -> Placement:
        """The placement of arrays that the line `where` puts here, under a sharding of
        one device."""
        if isinstance(sharding, SingleDeviceSharding):
            sharding = None
        if where is None and sharding is None:
            return self.committed
        found = self._placements.get((sharding, where))
        if found is None:
            if len(self._placements) >= LINES and where is not None:
                return self.placed(sharding)
            made = Placement(self, committed=True, sharding=sharding, where=where)
            found = self._placements.setdefault((sharding, where), made)
        return found

    @property
    def client(self) -> Any:
        return self.backend

    def memory_stats(self) -> dict[str, int]:
        """Bytes in use, their peak, and counts, under JAX's names for GPU devices."""
        return self.ledger.stats()

    def default_memory(self) -> str:
        return "device"

    def __repr__(self) -> str:
        return f"{self.platform.capitalize()}Device(id={self.id})"

    def __str__(self) -> str:
        return f"{self.platform}:{self.id}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _find, (self.platform, self.id)


class Placement:
    """A device, whether the user chose it, the sharding by which he named it, if any, and
    the line.
    """

    __slots__ = ("device", "is_committed", "sharding", "where")

    def __init__(
        self,
        device: Device,
        committed: bool,
        sharding: Sharding | None = None,
        where: Place | None = None,
    ) -> None:
        self.device = device
        self.is_committed = committed
        self.sharding = sharding
        self.where = where

    def __repr__(self) -> str:
        return str(self.device)

    def __reduce__(self) -> tuple[Any, ...]:
        return _placement, (self.device, self.is_committed, self.sharding)


class Roaming(Placement):
    """The placement of arrays that nobody placed, on a device that may not be the
    default one: what is computed from them may go elsewhere.
    """

    __slots__ = ()


class Floating(Placement):
    """The placement of host data that is on its way to an operation: it goes to the
    device where that runs, or to this one if somebody asks before.
    """

    __slots__ = ()


def _placement(device: Device, committed: bool, sharding: Any) -> Placement:
    return device.placed(sharding) if committed else device.free


class SingleDeviceSharding(Sharding):
    """Where an array lives: whole, on one device."""

    def __init__(self, device: Device, *, memory_kind: str | None = None) -> None:
        self._device = device
        self._memory_kind = memory_kind

    def with_memory_kind(self, kind: str) -> SingleDeviceSharding:
        """The same sharding in another kind of memory of the device."""
        return SingleDeviceSharding(self._device, memory_kind=kind)

    @property
    def _devices(self) -> tuple[Device, ...]:
        return (self._device,)

    @property
    def is_fully_replicated(self) -> bool:
        return True

    def devices_indices_map(self, global_shape: Shape) -> dict[Device, Index]:
        """Which part of an array each device holds: the one has all of it."""
        return {self._device: (slice(None),) * len(global_shape)}

    def shard_shape(self, global_shape: Shape) -> Shape:
        """The shape of the part of an array: the shape of the array."""
        return tuple(global_shape)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, SingleDeviceSharding)
            and other._device is self._device
            and other.memory_kind == self.memory_kind
        )

    def __hash__(self) -> int:
        return hash((self._device, self.memory_kind))

    def __repr__(self) -> str:
        return f"SingleDeviceSharding(device={self._device!r}, memory_kind={self.memory_kind})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _sharding, (self._device, self._memory_kind)


def _sharding(device: Device, kind: str | None) -> SingleDeviceSharding:
    return SingleDeviceSharding(device, memory_kind=kind)


# --------------------------------------------------------------------------- registry

_factories: dict[str, Callable[[], Any]] = {}
_problems: dict[str, str] = {}
_backends: dict[str, Any] = {}
_aliases = {"cuda": "gpu", "rocm": "gpu"}
_order: list[str] = []
on_made: tuple[Callable[[Any], None], ...] = ()  # who is told of a new backend
_lock = make_rlock()


def _nothing_to_discover(name: str) -> Callable[[], Any] | None:
    return None


_discover: Callable[[str], Callable[[], Any] | None] = _nothing_to_discover
hints: dict[str, str] = {}  # platform -> what to install for it


def register_platform(name: str, factory: Callable[[], Any], *, first: bool) -> None:
    """Adds a platform; `first` puts it before the others as the default."""
    _factories[name] = factory
    if name in _order:
        _order.remove(name)
    _order.insert(0 if first else len(_order), name)
    _ask_again()


def set_discovery(look: Callable[[str], Callable[[], Any] | None]) -> None:
    """The port of the roof: how to find a platform that nobody registered."""
    global _discover
    _discover = look


def platforms() -> list[str]:
    return list(_order)


def canonical(platform: str) -> str:
    """The name of a platform that may have several."""
    return _aliases.get(platform, platform)


def backend(platform: str | None = None) -> Any:
    """The backend of a platform, made now if it does not exist yet."""
    name = canonical(platform or default_platform())
    found = _backends.get(name)
    if found is not None:
        return found
    with _lock:
        if name in _backends:
            return _backends[name]
        factory = _factories.get(name) or _discover(name)
        if factory is None:
            raise RuntimeError(missing_platform(name))
        made = factory()
        for device in made.devices():
            device.ledger.choose(config.tetrad_memory_limit)
        _backends[name] = made
        recount()
        for tell in on_made:
            tell(made)
        if name not in _order:
            _order.append(name)
        return made


def missing_platform(name: str) -> str:
    looked = _problems.get(name, f"no PJRT plugin for '{name}' is installed")
    hint = hints.get(name) or "tetrad.register_pjrt_plugin(name, path) adds a plugin"
    return (
        f"platform '{name}' is not available: {looked}. Platforms that exist:"
        f" {', '.join(platforms())}. {hint}."
    )


def explain_missing(name: str, problem: str) -> None:
    """Notes why a platform that was looked for is not there."""
    _problems[name] = problem


def default_platform() -> str:
    wanted = config.jax_platforms or config.jax_platform_name
    if wanted:
        return str(wanted).split(",")[0]
    return _order[0]


def default_placement() -> Placement:
    """Where an array goes that nobody placed."""
    place: Placement | None = STATE.place
    if place is not None:  # something is made with `device=`
        return place
    chosen = config.jax_default_device
    if chosen is None:
        return _first_placement()
    if isinstance(chosen, str):
        chosen = backend(chosen).devices()[0]
    free: Placement = chosen.free
    return free


_first: dict[str, Placement] = {}
_blessed: Placement | None = None
_chosen = False  # whether some thread has a default device of its own


def _first_placement() -> Placement:
    name = default_platform()
    found = _first.get(name)
    if found is None:
        place: Placement = backend(name).devices()[0].free
        found = _first[name] = place
    if found is not _blessed:
        _bless(found)
    return found


def _bless(place: Placement) -> None:
    """Spares the recorder the question where arrays of this placement are computed."""
    global _blessed
    with _blessing:
        if _chosen:
            return
        if _blessed is not None:
            _blessed.__class__ = Roaming
        _blessed = place
        place.__class__ = Placement


def _ask_again(chosen: bool | None = None) -> None:
    """From now on, the recorder asks for the default device, until `_bless`."""
    global _blessed, _chosen
    with _blessing:
        if chosen is not None:
            _chosen = chosen
        if _blessed is not None:
            _blessed.__class__ = Roaming
        _blessed = None


_blessing = make_lock()
on_switch(("jax_default_device",), _ask_again)
on_switch(("jax_platforms", "jax_platform_name"), lambda _: _ask_again())


def devices(platform: str | None = None) -> list[Device]:
    return list(backend(platform).devices())


_devices_made = 0


def several() -> bool:
    """Whether there is more than one device in use."""
    return _devices_made > 1


def recount() -> None:
    """Counts the devices in use."""
    global _devices_made
    _devices_made = len(made_devices())


def tell_of_backends(listener: Callable[[Any], None]) -> Callable[[], None]:
    """Calls `listener` with each backend that exists, and with each that will be made.

    Returns a function that ends it.
    """
    global on_made
    with _lock:
        on_made = (*on_made, listener)
        for made in made_backends():
            listener(made)

    def end() -> None:
        global on_made
        with _lock:
            on_made = tuple([x for x in on_made if x is not listener])

    return end


def made_backends() -> Sequence[Any]:
    """The backends that exist already."""
    return list(_backends.values())


def made_devices() -> list[Device]:
    """Their devices."""
    return [device for made in made_backends() for device in made.devices()]


def _find(platform: str, id: int) -> Device:
    return devices(platform)[id]
