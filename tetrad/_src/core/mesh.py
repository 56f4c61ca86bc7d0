"""Meshes of devices with named axes, shardings over them, and the mesh that is in force.

In: devices and names. Out: `Mesh`, `AbstractMesh` (sizes and names alone), and
`NamedSharding`, which says for each axis of an array over which axes of a mesh it is
split. Equal meshes are one object.

Read `_Axes` (what both kinds of meshes are), `Mesh`, `NamedSharding`, `set_mesh`.
"""

from __future__ import annotations

import collections
import math
import threading
import weakref
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from tetrad._src.core.sharding import (
    UNCONSTRAINED,
    AxisType,
    Index,
    PartitionSpec,
    Shape,
    Sharding,
    names_of,
)


class DuplicateSpecError(ValueError):
    """A specification splits two axes of an array over one axis of the mesh.

    Each axis of a mesh can split one axis of an array:

    >>> import tetrad as jax
    >>> mesh = jax.make_mesh((1,), ("x",))
    >>> jax.NamedSharding(mesh, jax.P("x", None)).spec
    P('x', None)
    """


class AbstractDevice(NamedTuple):
    """The kind of the devices of a mesh that has no devices."""

    device_kind: str
    num_cores: int | None
    platform: str


class _Axes:
    """The named axes of a mesh: names, sizes, types."""

    axis_names: tuple[Any, ...]
    axis_types: tuple[AxisType, ...]
    axis_sizes: tuple[int, ...]

    @property
    def shape(self) -> collections.OrderedDict[Any, int]:
        """The size of each axis by name."""
        return collections.OrderedDict(zip(self.axis_names, self.axis_sizes))

    @property
    def shape_tuple(self) -> tuple[tuple[Any, int], ...]:
        """Names and sizes of the axes."""
        return tuple(zip(self.axis_names, self.axis_sizes))

    @property
    def size(self) -> int:
        return math.prod(self.axis_sizes) if self.axis_names else 0

    @property
    def empty(self) -> bool:
        """Whether there is no axis."""
        return not self.axis_names

    def _of_type(self, kind: AxisType) -> tuple[Any, ...]:
        pairs = zip(self.axis_names, self.axis_types)
        return tuple([name for name, its in pairs if its is kind])

    def _all_of_type(self, kind: AxisType) -> bool:
        return bool(self.axis_types) and all([t is kind for t in self.axis_types])

    @property
    def auto_axes(self) -> tuple[Any, ...]:
        """The axes along which the compiler decides."""
        return self._of_type(AxisType.Auto)

    @property
    def explicit_axes(self) -> tuple[Any, ...]:
        """The axes along which types of arrays say how they are split."""
        return self._of_type(AxisType.Explicit)

    @property
    def manual_axes(self) -> tuple[Any, ...]:
        """The axes along which a function sees one part."""
        return self._of_type(AxisType.Manual)

    @property
    def are_all_axes_auto(self) -> bool:
        return self._all_of_type(AxisType.Auto)

    @property
    def are_all_axes_explicit(self) -> bool:
        return self._all_of_type(AxisType.Explicit)

    @property
    def are_all_axes_manual(self) -> bool:
        return self._all_of_type(AxisType.Manual)

    @property
    def is_multi_process(self) -> bool:
        return False

    @property
    def _name_to_type(self) -> dict[Any, AxisType]:
        return dict(zip(self.axis_names, self.axis_types))

    def update_axis_types(self, types: dict[Any, AxisType]) -> Any:
        """The same with other types for the axes named in `types`."""
        new = [types.get(name, its) for name, its in self._name_to_type.items()]
        return self.update(axis_types=tuple(new))  # type: ignore[attr-defined]

    def _text(self) -> str:
        if not self.axis_names:
            return f"{type(self).__name__}()"
        axes = ", ".join([f"{name!r}: {size}" for name, size in self.shape_tuple])
        return f"{type(self).__name__}({axes}, axis_types={_types_text(self)})"


def _types_text(mesh: _Axes) -> str:
    return f"({', '.join([kind.name for kind in mesh.axis_types])},)"


def axis_names_of(names: Any) -> tuple[Any, ...]:
    found = (names,) if isinstance(names, str) else tuple(names)
    if any([name is None for name in found]):
        raise ValueError(f"Mesh: axis names cannot be None, got {found}")
    if len(set(found)) < len(found):
        raise ValueError(f"Mesh: each axis needs a name of its own, got {found}")
    return found


def _axis_types(types: Any, names: tuple[Any, ...]) -> tuple[AxisType, ...]:
    if types is None:
        return (AxisType.Auto,) * len(names)
    if isinstance(types, AxisType):
        types = (types,)
    found = tuple(types)
    if not all([isinstance(kind, AxisType) for kind in found]):
        raise TypeError(
            f"Mesh: axis_types must be a tuple of jax.sharding.AxisType, got {types!r}"
        )
    if len(found) != len(names):
        raise ValueError(
            f"Mesh: axis_types has {len(found)} entries and axis_names {len(names)};"
            " each axis needs one"
        )
    return found


_meshes: weakref.WeakValueDictionary[Any, Mesh] = weakref.WeakValueDictionary()


class Mesh(_Axes):
    """Devices in an array whose axes have names.

    Args:
      devices: an array (or nested lists) of devices.
      axis_names: one name for each axis of `devices`.
      axis_types: one `AxisType` an axis; `Auto` by default.

    With one device, arrays, `jit`, `shard_map` and `lax.with_sharding_constraint` take
    shardings over it. Meshes of several devices can be made and asked; computing with
    them is not available.

    Raises ValueError if the number of names is not the rank of `devices`.

    >>> import tetrad as jax
    >>> mesh = jax.sharding.Mesh(jax.devices()[:1], ("x",))
    >>> mesh.shape["x"]
    1
    """

    devices: np.ndarray[Any, Any]

    def __new__(cls, devices: Any, axis_names: Any, axis_types: Any = None) -> Mesh:
        grid = np.array(devices, dtype=object)
        names = axis_names_of(axis_names)
        if grid.ndim != len(names):
            raise ValueError(
                "Mesh requires the ndim of its first argument (`devices`) to equal the"
                f" length of its second argument (`axis_names`): devices has shape"
                f" {grid.shape}, and the names are {names}"
            )
        for device in grid.flat:
            if not hasattr(device, "platform"):
                raise TypeError(
                    f"Mesh: devices must hold devices such as jax.devices()[0], got"
                    f" {device!r} of type {type(device).__name__}"
                )
        types = _axis_types(axis_types, names)
        key = (tuple(grid.flat), grid.shape, names, types)
        found = _meshes.get(key)
        if found is None:
            found = object.__new__(cls)
            grid.flags.writeable = False
            found.devices = grid
            found.axis_names = names
            found.axis_types = types
            found.axis_sizes = grid.shape
            found._key = key
            found = _meshes.setdefault(key, found)
        return found

    _key: tuple[Any, ...]

    def __reduce__(self) -> tuple[Any, ...]:
        return Mesh, (self.devices, self.axis_names, self.axis_types)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mesh) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def local_mesh(self) -> Mesh:
        return self

    @property
    def local_devices(self) -> list[Any]:
        return list(self.devices.flat)

    @property
    def device_ids(self) -> np.ndarray[Any, Any]:
        """The numbers of the devices, in the shape of the mesh."""
        ids = [device.id for device in self.devices.flat]
        return np.array(ids, dtype=int).reshape(self.devices.shape)

    @property
    def abstract_mesh(self) -> AbstractMesh:
        """The mesh without its devices."""
        kind = None
        if self.devices.size:
            first = self.devices.flat[0]
            kind = AbstractDevice(first.device_kind, None, first.platform)
        return AbstractMesh(
            self.axis_sizes, self.axis_names, self.axis_types, abstract_device=kind
        )

    def update(
        self, devices: Any = None, axis_names: Any = None, axis_types: Any = None
    ) -> Mesh:
        """The same with some of devices, axis_names, axis_types changed."""
        return Mesh(
            self.devices if devices is None else devices,
            self.axis_names if axis_names is None else axis_names,
            self.axis_types if axis_types is None else axis_types,
        )

    def __enter__(self) -> Mesh:
        _state.entered.append((_state.mesh, _state.abstract))
        _state.mesh = self
        return self

    def __exit__(self, *exception: object) -> None:
        _state.mesh, _state.abstract = _state.entered.pop()

    def __repr__(self) -> str:
        if not self.axis_names:
            return "Mesh(axis_sizes=(), axis_names=())"
        return (
            f"Mesh(axis_sizes={self.axis_sizes}, axis_names={self.axis_names},"
            f" axis_types={_types_text(self)})"
        )

    def __str__(self) -> str:
        return self._text()


class AbstractMesh(_Axes):
    """The sizes and names of the axes of a mesh, without its devices.

    Args:
      axis_sizes: the size of each axis.
      axis_names: one name an axis.
      axis_types: one `AxisType` an axis; `Auto` by default.
      abstract_device: what kind of devices it is for.

    >>> from tetrad.sharding import AbstractMesh
    >>> AbstractMesh((2, 4), ("x", "y")).size
    8
    """

    def __init__(
        self,
        axis_sizes: Iterable[int],
        axis_names: Any,
        axis_types: Any = None,
        *,
        abstract_device: AbstractDevice | None = None,
    ) -> None:
        self.axis_sizes = tuple([int(size) for size in axis_sizes])
        self.axis_names = axis_names_of(axis_names)
        self.axis_types = _axis_types(axis_types, self.axis_names)
        self.abstract_device = abstract_device
        if len(self.axis_sizes) != len(self.axis_names):
            raise ValueError(
                f"AbstractMesh: axis_sizes has {len(self.axis_sizes)} entries and"
                f" axis_names {len(self.axis_names)}; each axis needs both"
            )

    @property
    def abstract_mesh(self) -> AbstractMesh:
        return self

    @property
    def devices(self) -> Any:
        """An AbstractMesh has none: ValueError."""
        raise ValueError(
            "AbstractMesh has no devices; jax.sharding.Mesh is a mesh of devices"
        )

    device_ids = local_devices = devices

    def update(self, **changes: Any) -> AbstractMesh:
        """The same with some of its arguments changed."""
        options = {
            "axis_sizes": self.axis_sizes,
            "axis_names": self.axis_names,
            "axis_types": self.axis_types,
            "abstract_device": self.abstract_device,
            **changes,
        }
        return AbstractMesh(**options)

    def _key(self) -> tuple[Any, ...]:
        return (
            self.axis_sizes, self.axis_names, self.axis_types, self.abstract_device,
        )  # fmt: skip

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbstractMesh) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        text = self._text()
        if not self.axis_names:
            return "AbstractMesh((), axis_types=())"
        if self.abstract_device is None:
            return text
        kind, cores, platform = self.abstract_device
        return (
            f"{text[:-1]}, device_kind={kind}, num_cores={cores}, platform={platform})"
        )


class NamedSharding(Sharding):
    """The axes of an array split over the named axes of a mesh.

    Args:
      mesh: a `Mesh` (or an `AbstractMesh`, to speak of).
      spec: a `PartitionSpec`.
      memory_kind: the kind of memory of the devices; "device" by default.

    Raises ValueError for names that the mesh does not have, DuplicateSpecError if one
    splits two axes.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> mesh = jax.make_mesh((1,), ("x",), devices=jax.devices()[:1])
    >>> x = jax.device_put(jnp.ones((4, 2)), jax.NamedSharding(mesh, jax.P("x")))
    >>> x.sharding.spec
    P('x',)
    """

    def __init__(
        self, mesh: Any, spec: PartitionSpec, *, memory_kind: str | None = None
    ) -> None:
        if not isinstance(mesh, (Mesh, AbstractMesh)):
            raise TypeError(
                "NamedSharding: mesh must be a Mesh, as from jax.make_mesh, got"
                f" {mesh!r} of type {type(mesh).__name__}"
            )
        if not isinstance(spec, PartitionSpec):
            raise TypeError(
                "NamedSharding: spec must be a PartitionSpec, as in jax.P('x'), got"
                f" {spec!r} of type {type(spec).__name__}"
            )
        self.mesh = mesh
        self.spec = spec
        self._memory_kind = memory_kind
        _check_spec(mesh, spec)

    @property
    def _devices(self) -> tuple[Any, ...]:
        return tuple(self.mesh.devices.flat)

    @property
    def num_devices(self) -> int:
        return int(self.mesh.size)

    def update(self, **changes: Any) -> NamedSharding:
        """The same with some of mesh, spec, memory_kind changed."""
        options = {"mesh": self.mesh, "spec": self.spec, **changes}
        options.setdefault("memory_kind", self._memory_kind)
        return NamedSharding(**options)

    def with_memory_kind(self, kind: str) -> NamedSharding:
        """The same sharding with the parts in another kind of memory of the devices."""
        return self.update(memory_kind=kind)

    @property
    def replicated_axes(self) -> frozenset[Any]:
        """The axes of the mesh along which devices hold the same parts."""
        return frozenset(self.mesh.axis_names) - set(names_of(self.spec))

    @property
    def is_fully_replicated(self) -> bool:
        sizes = self.mesh.shape
        return all([sizes[name] == 1 for name in names_of(self.spec)])

    def _counts(self, ndim: int) -> list[int]:
        """Into how many parts each axis of an array is split."""
        sizes = self.mesh.shape
        counts = [math.prod([sizes[n] for n in names_of([part])]) for part in self.spec]
        return counts + [1] * (ndim - len(counts))

    def check_rank(self, ndim: int, what: str) -> None:
        if len(self.spec) > ndim:
            raise ValueError(
                f"{what}: Sharding {self} is only valid for values of rank at least"
                f" {len(self.spec)}, but was applied to a value of rank {ndim}"
            )

    def shard_shape(self, global_shape: Shape) -> Shape:
        """The shape of one part of an array of the shape `global_shape`."""
        self.check_rank(len(global_shape), "shard_shape")
        counts = self._counts(len(global_shape))
        for axis, (extent, count) in enumerate(zip(global_shape, counts)):
            if extent % count:
                raise ValueError(
                    f"Sharding {self} implies that array axis {axis} is partitioned"
                    f" {count} times, but the dimension size is {extent} (full shape:"
                    f" {global_shape}); it must be a multiple of {count}"
                )
        return tuple([extent // n for extent, n in zip(global_shape, counts)])

    def devices_indices_map(self, global_shape: Shape) -> dict[Any, Index]:
        """Which part of an array of a shape each device holds."""
        part = self.shard_shape(global_shape)
        counts = self._counts(len(global_shape))
        entries = [*self.spec, *[None] * (len(global_shape) - len(self.spec))]
        sizes = self.mesh.shape
        found = {}
        for place in np.ndindex(self.mesh.devices.shape):
            at = dict(zip(self.mesh.axis_names, place))
            index = []
            for entry, extent, count in zip(entries, part, counts):
                number = 0
                for name in names_of([entry]):
                    number = number * sizes[name] + at[name]
                whole = count == 1
                index.append(
                    slice(None)
                    if whole
                    else slice(number * extent, (number + 1) * extent)
                )
            found[self.mesh.devices[place]] = tuple(index)
        return found

    def for_rank(self, ndim: int) -> NamedSharding:
        """The sharding of an array of rank `ndim` that came from one with this."""
        if len(self.spec) <= ndim:
            return self
        return self.update(spec=PartitionSpec())

    def _key(self) -> tuple[Any, ...]:
        return self.mesh, self.spec, self.memory_kind

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedSharding) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return (
            f"NamedSharding(mesh={self.mesh!s}, spec={self.spec}, "
            f"memory_kind={self.memory_kind})"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.mesh, self.spec, self._memory_kind)


def _restore(mesh: Any, spec: PartitionSpec, kind: str | None) -> NamedSharding:
    return NamedSharding(mesh, spec, memory_kind=kind)


def _check_spec(mesh: _Axes, spec: PartitionSpec) -> None:
    known = set(mesh.axis_names)
    used = names_of(spec)
    for name in [*used, *spec.unreduced, *spec.reduced]:
        if name not in known:
            raise ValueError(
                f"Resource axis: {name} of {spec} is not found in mesh:"
                f" {mesh.axis_names}."
            )
    twice = [name for name, n in collections.Counter(used).items() if n > 1]
    if twice:
        raise DuplicateSpecError(
            "A single NamedSharding spec specification can map every mesh axis to at"
            f" most one positional dimension, but {spec} has duplicate entries for"
            f" `{twice[0]}`"
        )
    if any([part is UNCONSTRAINED for part in spec]) and mesh.are_all_axes_explicit:
        raise ValueError(
            f"{spec} leaves an axis to the compiler, but all axes of {mesh} are Explicit"
        )


# ------------------------------------------------------------------- the mesh in force


class _State(threading.local):
    """The mesh in force in this thread, and what was before in the blocks around."""

    def __init__(self) -> None:
        self.mesh: Mesh | None = None
        self.abstract: AbstractMesh | None = None
        self.entered: list[tuple[Mesh | None, AbstractMesh | None]] = []


_state = _State()


def empty_mesh() -> Mesh:
    """The mesh without axes, which is in force when nothing else is."""
    found = _meshes.get("empty")
    if found is None:
        found = object.__new__(Mesh)
        found.devices = np.empty((), dtype=object)
        found.axis_names = found.axis_types = found.axis_sizes = ()
        found._key = ("empty",)
        _meshes["empty"] = found
    return found


def current_mesh() -> Mesh | None:
    """The mesh in force, if there is one."""
    return _state.mesh


def named_in_force(spec: PartitionSpec, what: str) -> NamedSharding:
    """The sharding that a specification alone means: over the mesh in force."""
    mesh = _state.mesh
    if mesh is None:
        raise RuntimeError(
            f"{what} requires a non-empty mesh in context if you are passing"
            f" `PartitionSpec`s, got {spec}. Put one in force with jax.set_mesh(mesh), or"
            " write jax.NamedSharding(mesh, spec)"
        )
    return NamedSharding(mesh, spec)


def get_mesh() -> Mesh:
    """The mesh that `set_mesh` put in force; the empty mesh if none is.

    >>> import tetrad as jax
    >>> with jax.set_mesh(jax.make_mesh((1,), ("x",), devices=jax.devices()[:1])):
    ...     print(jax.sharding.get_mesh().shape_tuple)
    (('x', 1),)
    """
    return _state.mesh or empty_mesh()


def get_abstract_mesh() -> AbstractMesh:
    """The mesh in force without its devices; without axes if none is.

    >>> import tetrad as jax
    >>> jax.sharding.get_abstract_mesh().empty
    True
    """
    if _state.abstract is not None:
        return _state.abstract
    if _state.mesh is not None:
        return _state.mesh.abstract_mesh
    return NO_MESH


class set_mesh:
    """Puts a mesh in force, from now on, or in a `with` block.

    Names in a `PartitionSpec` that stands alone mean axes of the mesh in force.

    Args:
      mesh: a `Mesh`, or None for none.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> with jax.set_mesh(jax.make_mesh((1,), ("x",), devices=jax.devices()[:1])):
    ...     x = jax.device_put(jnp.ones(3), jax.P("x"))
    >>> x.sharding.spec
    P('x',)
    """

    def __init__(self, mesh: Mesh | None) -> None:
        if mesh is not None and not isinstance(mesh, Mesh):
            raise ValueError(
                f"set_mesh: expected a mesh of devices, as from jax.make_mesh, got"
                f" {mesh!r}. Use jax.sharding.use_abstract_mesh for an AbstractMesh"
            )
        self.prev_mesh = _state.mesh
        self.prev_abstract_mesh = _state.abstract
        _state.mesh = mesh
        _state.abstract = None

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exception: object) -> None:
        _state.mesh = self.prev_mesh
        _state.abstract = self.prev_abstract_mesh


class use_abstract_mesh:
    """Puts an `AbstractMesh` in force in a `with` block.

    >>> from tetrad.sharding import AbstractMesh, get_abstract_mesh, use_abstract_mesh
    >>> with use_abstract_mesh(AbstractMesh((2,), ("x",))):
    ...     print(get_abstract_mesh().size)
    2
    """

    def __init__(self, mesh: AbstractMesh) -> None:
        if not isinstance(mesh, AbstractMesh):
            raise ValueError(
                f"use_abstract_mesh: expected an AbstractMesh, got {mesh!r}. Use"
                " jax.set_mesh for a mesh of devices"
            )
        self.mesh = mesh

    def __enter__(self) -> AbstractMesh:
        self.prev = _state.abstract
        _state.abstract = self.mesh
        return self.mesh

    def __exit__(self, *exception: object) -> None:
        _state.abstract = self.prev


# ------------------------------------------------------------------ arrays in one piece


NO_MESH = AbstractMesh((), ())


def whole(ndim: int) -> NamedSharding:
    """The sharding of the type of an array: no axis is split."""
    return NamedSharding(NO_MESH, PartitionSpec(*(None,) * ndim))


def is_whole(sharding: Any) -> bool:
    """Whether `sharding` asks for nothing but an array in one piece."""
    if not isinstance(sharding, NamedSharding):
        return sharding is None
    return bool(sharding.mesh.size <= 1)


def no_sharding(name: str, sharding: Any) -> None:
    """Refuses an argument `out_sharding` that spreads a result over devices."""
    if sharding is not None and not is_whole(sharding):
        raise NotImplementedError(
            f"{name}: out_sharding is not available; leave it out, and write"
            " jax.device_put(result, sharding)"
        )
