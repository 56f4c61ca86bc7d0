"""How an array is laid out over devices: `Sharding`, and the words it is made of.

In: devices, and the index map that a kind of sharding states. Out: which device holds
which part of an array of a given shape. Shardings over many devices can be made, compared
and asked; an array itself lies on one device, so `placement` refuses what needs more.

Read `Sharding`, then `PartitionSpec`; `mesh.py` has meshes and the sharding over one.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from typing import Any

Index = tuple[slice, ...]
Shape = tuple[int, ...]


def several_devices(what: str, count: int) -> NotImplementedError:
    """The error for what would spread an array over devices."""
    return NotImplementedError(
        f"{what} spreads an array over {count} devices, and an array lies on one device"
        " here. Make the mesh of one device, as in"
        " jax.make_mesh((1,), ('x',), devices=jax.devices()[:1]); lanes of a named axis"
        " run on one device with jax.vmap(f, axis_name=...)"
    )


class Sharding:
    """Where the parts of an array lie.

    A subclass gives its devices in order, and the part of an array on each of them.
    """

    @property
    def _devices(self) -> tuple[Any, ...]:
        raise NotImplementedError("a subclass of Sharding says which devices it has")

    def devices_indices_map(self, global_shape: Shape) -> dict[Any, Index]:
        """Which part of an array of a shape each device holds."""
        raise NotImplementedError("a subclass of Sharding says which part lies where")

    def shard_shape(self, global_shape: Shape) -> Shape:
        """The shape of one part of an array of the shape `global_shape`."""
        raise NotImplementedError("a subclass of Sharding says how large its parts are")

    _memory_kind: str | None = None

    @property
    def memory_kind(self) -> str | None:
        return self._memory_kind or "device"

    def with_memory_kind(self, kind: str) -> Sharding:
        """The same sharding with the parts in another kind of memory of the devices."""
        raise NotImplementedError(
            "a subclass of Sharding says which kinds of memory it has"
        )

    @property
    def device_set(self) -> set[Any]:
        """The devices that hold parts."""
        return set(self._devices)

    @property
    def addressable_devices(self) -> set[Any]:
        """The devices of this process that hold parts: all of them."""
        return self.device_set

    @property
    def num_devices(self) -> int:
        return len(self._devices)

    @property
    def is_fully_replicated(self) -> bool:
        """Whether each device holds the whole array."""
        raise NotImplementedError("a subclass of Sharding says what it replicates")

    @property
    def is_fully_addressable(self) -> bool:
        return True

    @property
    def has_addressable_devices(self) -> bool:
        return True

    def addressable_devices_indices_map(self, global_shape: Shape) -> dict[Any, Index]:
        """Which part of an array of a shape each device of this process holds."""
        return self.devices_indices_map(global_shape)

    def is_equivalent_to(self, other: Sharding, ndim: int) -> bool:
        """Whether both put the same parts of arrays of rank `ndim` on the same devices."""
        if self._devices != other._devices or self.memory_kind != other.memory_kind:
            return False
        if len(self._devices) == 1:
            return True
        # An extent that every number of parts divides tells them apart.
        shape = (len(self._devices),) * ndim
        return self.devices_indices_map(shape) == other.devices_indices_map(shape)

    def for_rank(self, ndim: int) -> Sharding:
        """The sharding of an array of rank `ndim` that came from one with this."""
        return self

    def check_rank(self, ndim: int, what: str) -> None:
        """ValueError if arrays of rank `ndim` cannot be laid out like this."""

    def check_compatible_aval(self, shape: Shape) -> None:
        """ValueError if an array of a shape cannot be laid out like this."""
        self.check_rank(len(shape), type(self).__name__)

    @property
    def placement(self) -> Any:
        """The placement of arrays with this sharding, which must have one device."""
        return self.placed()

    def placed(self, where: Any = None) -> Any:
        """The placement of arrays to which the line `where` gives this sharding."""
        devices = self._devices
        if len(devices) != 1:
            raise several_devices(f"the sharding {self}", len(devices))
        return devices[0].placed(self, where)


class AxisType(enum.Enum):
    """Who decides how arrays are laid out along an axis of a mesh."""

    Auto = enum.auto()
    Explicit = enum.auto()
    Manual = enum.auto()

    def __repr__(self) -> str:
        return self.name


class _Unconstrained:
    """The entry of a specification that leaves an axis to the compiler."""

    def __repr__(self) -> str:
        return "UNCONSTRAINED"

    def __reduce__(self) -> str:
        return "UNCONSTRAINED"


UNCONSTRAINED = _Unconstrained()


def _entry(part: Any) -> Any:
    """One entry in its plain form: a name, a tuple of several, or None."""
    if isinstance(part, (tuple, list)):
        names = tuple(part)
        return None if not names else names[0] if len(names) == 1 else names
    return part


class PartitionSpec:
    """Over which axes of a mesh each axis of an array is split.

    An entry is the name of an axis of the mesh, a tuple of such names, or None for an axis
    that is not split; axes beyond the last entry are not split. `jax.P` is a short name.

    Args:
      *partitions: the entries, one for each axis of the array.
      unreduced: axes of the mesh along which parts are terms of a sum.
      reduced: axes of the mesh along which gradients are terms of a sum.

    >>> import tetrad as jax
    >>> spec = jax.P("x", None, ("y", "z"))
    >>> spec[2], len(spec)
    (('y', 'z'), 3)
    """

    UNCONSTRAINED = UNCONSTRAINED

    __slots__ = ("_partitions", "unreduced", "reduced")
    __match_args__ = ("_partitions",)

    def __init__(
        self,
        *partitions: Any,
        unreduced: Any = frozenset(),
        reduced: Any = frozenset(),
    ) -> None:
        self._partitions = tuple([_entry(part) for part in partitions])
        self.unreduced = _names("unreduced", unreduced)
        self.reduced = _names("reduced", reduced)
        both = self.unreduced & self.reduced
        if both:
            raise ValueError(
                f"PartitionSpec: {', '.join(sorted(both))} cannot be in unreduced and in"
                " reduced"
            )
        split = set(names_of(self._partitions))
        both = frozenset(split) & (self.unreduced | self.reduced)
        if both:
            raise ValueError(
                f"PartitionSpec: an axis of the array is split over"
                f" {', '.join(sorted(both))}, so this cannot be unreduced or reduced"
            )

    @property
    def partitions(self) -> tuple[Any, ...]:
        """The entries."""
        return self._partitions

    def update(self, **changes: Any) -> PartitionSpec:
        """The same with some of partitions, unreduced, reduced changed."""
        partitions = changes.pop("partitions", self._partitions)
        options = {"unreduced": self.unreduced, "reduced": self.reduced, **changes}
        return PartitionSpec(*partitions, **options)

    def index(self, value: Any) -> int:
        """The place of the first entry equal to `value`."""
        return self._partitions.index(_entry(value))

    def count(self, value: Any) -> int:
        """How many entries are equal to `value`."""
        return self._partitions.count(_entry(value))

    def __getitem__(self, at: Any) -> Any:
        return self._partitions[at]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._partitions)

    def __len__(self) -> int:
        return len(self._partitions)

    def __add__(self, other: Any) -> PartitionSpec:
        if isinstance(other, PartitionSpec):
            return PartitionSpec(
                *self,
                *other,
                unreduced=self.unreduced | other.unreduced,
                reduced=self.reduced | other.reduced,
            )
        if isinstance(other, tuple):
            return self.update(partitions=(*self, *other))
        return NotImplemented

    def __radd__(self, other: Any) -> PartitionSpec:
        if not isinstance(other, tuple):
            return NotImplemented
        return self.update(partitions=(*other, *self))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PartitionSpec):
            return False
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return self._partitions, self.unreduced, self.reduced

    def __repr__(self) -> str:
        parts = [repr(part) for part in self._partitions]
        alone = len(parts) == 1
        for word in ("unreduced", "reduced"):
            names = ", ".join([repr(name) for name in sorted(getattr(self, word))])
            if names:
                parts.append(f"{word}={{{names}}}")
        if alone and len(parts) == 1:
            return f"P({parts[0]},)"
        return f"P({', '.join(parts)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self._partitions, self.unreduced, self.reduced)


def _restore(partitions: Any, unreduced: Any, reduced: Any) -> PartitionSpec:
    return PartitionSpec(*partitions, unreduced=unreduced, reduced=reduced)


def _names(word: str, names: Any) -> frozenset[Any]:
    if not isinstance(names, (set, frozenset)):
        raise TypeError(
            f"PartitionSpec: {word} must be a set of names of axes, as in"
            f" {word}={{'x'}}, got {names!r} of type {type(names).__name__}"
        )
    if None in names:
        raise ValueError(f"PartitionSpec: {word} cannot contain None")
    return frozenset(names)


def names_of(partitions: Iterable[Any]) -> list[Any]:
    """The names of axes of a mesh in a specification, in order."""
    found: list[Any] = []
    for part in partitions:
        if part is None or part is UNCONSTRAINED:
            continue
        found += part if isinstance(part, tuple) else [part]
    return found
