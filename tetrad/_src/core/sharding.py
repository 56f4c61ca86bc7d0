"""How arrays are laid out over devices, as programs describe it: meshes and specs.

A `Mesh` is an array of devices whose axes have names; an `AbstractMesh` has the names
and extents without the devices. A `PartitionSpec` says which axes of the mesh each axis
of an array is cut along, a `NamedSharding` is both together. These are descriptions. An
array itself is whole, on one device, so what places arrays asks `only_device` and
refuses a sharding over several.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np


class AxisType(enum.Enum):
    """Who decides how arrays are cut along an axis of a mesh."""

    Auto = enum.auto()
    Explicit = enum.auto()
    Manual = enum.auto()

    def __repr__(self) -> str:
        return self.name


class PartitionSpec:
    """The axes of a mesh along which each axis of an array is cut.

    An entry is the name of an axis, a tuple of names, or None for an axis that is whole.

    >>> import tetrad as jax
    >>> spec = jax.P("rows", None)
    >>> spec, spec[0], len(spec)
    (P('rows', None), 'rows', 2)
    """

    __slots__ = ("partitions",)

    def __init__(self, *partitions: Any) -> None:
        for entry in partitions:
            names = entry if isinstance(entry, tuple) else (entry,)
            if not all(name is None or isinstance(name, str) for name in names):
                raise TypeError(
                    "PartitionSpec takes for each axis of the array a name of the mesh,"
                    f" a tuple of names or None, got {entry!r}"
                )
        self.partitions = partitions

    def __getitem__(self, i: Any) -> Any:
        return self.partitions[i]

    def __len__(self) -> int:
        return len(self.partitions)

    def __iter__(self) -> Any:
        return iter(self.partitions)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, PartitionSpec):
            return self.partitions == other.partitions
        return isinstance(other, tuple) and self.partitions == other

    def __hash__(self) -> int:
        return hash(self.partitions)

    def __add__(self, other: Iterable[Any]) -> PartitionSpec:
        return PartitionSpec(*self.partitions, *other)

    def __repr__(self) -> str:
        return f"P{self.partitions!r}"

    def __reduce__(self) -> tuple[Any, ...]:
        return PartitionSpec, self.partitions


class _Axes:
    """What concrete and abstract meshes have in common: names, extents and types."""

    axis_sizes: tuple[int, ...]
    axis_names: tuple[str, ...]
    axis_types: tuple[AxisType, ...]

    def _name_axes(self, sizes: Any, names: Any, types: Any) -> None:
        self.axis_sizes = tuple(map(int, sizes))
        self.axis_names = (names,) if isinstance(names, str) else tuple(names)
        if len(self.axis_names) != len(self.axis_sizes):
            raise ValueError(
                f"{type(self).__name__} needs one name for each of its"
                f" {len(self.axis_sizes)} axes, got {self.axis_names}"
            )
        if len(set(self.axis_names)) != len(self.axis_names):
            raise ValueError(
                f"{type(self).__name__}: the names of axes must differ, got {names}"
            )
        if types is None:
            types = (AxisType.Auto,) * len(self.axis_sizes)
        self.axis_types = tuple(types)
        if len(self.axis_types) != len(self.axis_sizes):
            raise ValueError(
                f"{type(self).__name__} needs one axis type for each axis, got {types}"
            )

    @property
    def shape(self) -> dict[str, int]:
        return dict(zip(self.axis_names, self.axis_sizes))

    @property
    def shape_tuple(self) -> tuple[tuple[str, int], ...]:
        return tuple(zip(self.axis_names, self.axis_sizes))

    @property
    def size(self) -> int:
        return math.prod(self.axis_sizes)

    @property
    def empty(self) -> bool:
        return not self.axis_names

    def _all(self, kind: AxisType) -> bool:
        return bool(self.axis_types) and all(t is kind for t in self.axis_types)

    @property
    def are_all_axes_auto(self) -> bool:
        return self._all(AxisType.Auto)

    @property
    def are_all_axes_explicit(self) -> bool:
        return self._all(AxisType.Explicit)

    @property
    def are_all_axes_manual(self) -> bool:
        return self._all(AxisType.Manual)

    def _axes_text(self) -> str:
        axes = ", ".join(f"{name!r}: {size}" for name, size in self.shape_tuple)
        return f"{axes or '()'}, axis_types={self.axis_types}"


class AbstractMesh(_Axes):
    """The names and extents of the axes of a mesh, without devices.

    >>> import tetrad as jax
    >>> jax.sharding.AbstractMesh((2, 4), ("x", "y"))
    AbstractMesh('x': 2, 'y': 4, axis_types=(Auto, Auto))
    """

    def __init__(
        self,
        axis_sizes: Iterable[int],
        axis_names: str | Iterable[str],
        axis_types: Iterable[AxisType] | None = None,
    ) -> None:
        self._name_axes(axis_sizes, axis_names, axis_types)

    @property
    def abstract_mesh(self) -> AbstractMesh:
        return self

    def _key(self) -> tuple[Any, ...]:
        return self.axis_sizes, self.axis_names, self.axis_types

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbstractMesh) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"AbstractMesh({self._axes_text()})"

    def __reduce__(self) -> tuple[Any, ...]:
        return AbstractMesh, self._key()


class Mesh(_Axes):
    """An array of devices whose axes have names.

    >>> import tetrad as jax
    >>> mesh = jax.sharding.Mesh(jax.devices()[:1], ("x",))
    >>> mesh.shape, mesh.size
    ({'x': 1}, 1)
    """

    devices: np.ndarray

    def __init__(
        self,
        devices: Any,
        axis_names: str | Sequence[str],
        axis_types: Iterable[AxisType] | None = None,
    ) -> None:
        if not isinstance(devices, np.ndarray):
            devices = np.array(devices, dtype=object)
        self.devices = devices.copy()
        self.devices.flags.writeable = False
        self._name_axes(devices.shape, axis_names, axis_types)

    @property
    def abstract_mesh(self) -> AbstractMesh:
        return AbstractMesh(self.axis_sizes, self.axis_names, self.axis_types)

    @property
    def device_ids(self) -> np.ndarray:
        ids = [device.id for device in self.devices.flat]
        return np.array(ids, dtype=int).reshape(self.devices.shape)

    def _key(self) -> tuple[Any, ...]:
        placed = tuple(self.devices.flat)
        return placed, self.axis_sizes, self.axis_names, self.axis_types

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mesh) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"Mesh({self._axes_text()})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Mesh, (np.array(self.devices), self.axis_names, self.axis_types)


class Sharding:
    """How an array is laid out over devices."""

    memory_kind: str | None = None

    @property
    def device_set(self) -> set[Any]:
        raise NotImplementedError(f"{type(self).__name__} names no devices")

    @property
    def num_devices(self) -> int:
        return len(self.device_set)

    @property
    def addressable_devices(self) -> set[Any]:
        return self.device_set

    @property
    def is_fully_addressable(self) -> bool:
        return True

    @property
    def is_fully_replicated(self) -> bool:
        return True

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of the part of an array that one device holds."""
        return tuple(global_shape)


class NamedSharding(Sharding):
    """A mesh, and how the axes of an array are cut along its axes.

    >>> import tetrad as jax
    >>> mesh = jax.sharding.AbstractMesh((2,), ("x",))
    >>> jax.NamedSharding(mesh, jax.P("x")).shard_shape((8, 3))
    (4, 3)
    """

    def __init__(
        self,
        mesh: Mesh | AbstractMesh,
        spec: PartitionSpec,
        *,
        memory_kind: str | None = None,
    ) -> None:
        if not isinstance(mesh, (Mesh, AbstractMesh)):
            raise TypeError(
                "NamedSharding takes a jax.sharding.Mesh or AbstractMesh, got"
                f" {mesh!r} of type {type(mesh).__name__}"
            )
        if not isinstance(spec, PartitionSpec):
            raise TypeError(
                "NamedSharding takes a jax.sharding.PartitionSpec such as jax.P('x'),"
                f" got {spec!r} of type {type(spec).__name__}"
            )
        self.mesh = mesh
        self.spec = spec
        self.memory_kind = memory_kind
        used = [name for names in self._names() for name in names]
        for name in used:
            if name not in mesh.axis_names:
                raise ValueError(
                    f"{spec} names the axis {name!r}, but the mesh has the axes"
                    f" {mesh.axis_names}"
                )
            if used.count(name) > 1:
                raise ValueError(f"{spec} uses the axis {name!r} of the mesh twice")

    def _names(self) -> list[tuple[str, ...]]:
        """The axes of the mesh for each axis of the array."""
        entries = [e if isinstance(e, tuple) else (e,) for e in self.spec]
        return [tuple(n for n in entry if n is not None) for entry in entries]

    @property
    def device_set(self) -> set[Any]:
        if isinstance(self.mesh, AbstractMesh):
            raise ValueError(f"{self!r} has an abstract mesh, which has no devices")
        return set(self.mesh.devices.flat)

    @property
    def is_fully_replicated(self) -> bool:
        extents = self.mesh.shape
        return all(extents[n] == 1 for names in self._names() for n in names)

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        names = self._names()
        if len(names) > len(global_shape):
            raise ValueError(
                f"{self.spec} describes {len(names)} axes, but the shape is"
                f" {tuple(global_shape)}"
            )
        extents = self.mesh.shape
        shape = list(global_shape)
        for i, along in enumerate(names):
            parts = math.prod(extents[n] for n in along)
            if shape[i] % parts:
                raise ValueError(
                    f"axis {i} of shape {tuple(global_shape)} does not divide into"
                    f" {parts} equal parts, as {self.spec} asks"
                )
            shape[i] //= parts
        return tuple(shape)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NamedSharding):
            return False
        mine = self.mesh, self.spec, self.memory_kind
        return mine == (other.mesh, other.spec, other.memory_kind)

    def __hash__(self) -> int:
        return hash((self.mesh, self.spec, self.memory_kind))

    def __repr__(self) -> str:
        kind = f", memory_kind={self.memory_kind}" if self.memory_kind else ""
        return f"NamedSharding(mesh={self.mesh!r}, spec={self.spec!r}{kind})"


NO_MESH = AbstractMesh((), ())


def get_abstract_mesh() -> AbstractMesh:
    """The mesh under which the program runs; it has no axes, as arrays are whole.

    >>> import tetrad as jax
    >>> jax.sharding.get_abstract_mesh().empty
    True
    """
    return NO_MESH


def whole(ndim: int) -> NamedSharding:
    """The sharding of the type of an array: no axis is cut."""
    return NamedSharding(NO_MESH, PartitionSpec(*(None,) * ndim))


def is_whole(sharding: Any) -> bool:
    """Whether `sharding` asks for nothing but an array in one piece."""
    if not isinstance(sharding, NamedSharding):
        return sharding is None
    return sharding.mesh.size == 1


def only_device(sharding: Sharding) -> Any:
    """The device of a sharding over one; NotImplementedError for more."""
    devices = sharding.device_set
    if len(devices) != 1:
        raise NotImplementedError(
            f"an array lies whole on one device, but {sharding!r} spreads it over"
            f" {len(devices)}; put it on one of them: jax.device_put(x, jax.devices()[0])"
        )
    return next(iter(devices))
