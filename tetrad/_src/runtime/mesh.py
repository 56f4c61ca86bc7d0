"""Meshes over the devices that exist: `make_mesh`, and devices in the shape of a mesh."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tetrad._src.core.mesh import Mesh, axis_names_of
from tetrad._src.core.sharding import AxisType, Shape
from tetrad._src.runtime import device as registry
from tetrad._src.runtime.device import Device


def make_mesh(
    axis_shapes: Sequence[int],
    axis_names: Sequence[Any],
    axis_types: tuple[AxisType, ...] | None = None,
    *,
    devices: Sequence[Device] | None = None,
) -> Mesh:
    """A mesh of the given shape over the devices of the default platform, in their order.

    Args:
      axis_shapes: the size of each axis.
      axis_names: one name an axis.
      axis_types: one `AxisType` an axis; `Explicit` by default.
      devices: the devices to use.

    Raises ValueError if there are fewer devices than the mesh has places.

    >>> import tetrad as jax
    >>> print(jax.make_mesh((1, 1), ("x", "y"), devices=jax.devices()[:1]))
    Mesh('x': 1, 'y': 1, axis_types=(Explicit, Explicit,))
    """
    shape = tuple([int(size) for size in axis_shapes])
    names = axis_names_of(axis_names)
    if len(shape) != len(names):
        raise ValueError(
            f"make_mesh: axis_shapes has {len(shape)} entries and axis_names"
            f" {len(names)}; each axis needs both"
        )
    if axis_types is None:
        axis_types = (AxisType.Explicit,) * len(names)
    grid = device_grid(shape, devices, "make_mesh")
    return Mesh(grid, names, axis_types)


def device_grid(
    shape: Shape, devices: Sequence[Device] | None, what: str
) -> np.ndarray[Any, Any]:
    """The first devices, as many as fit, in the shape of a mesh."""
    found = registry.devices() if devices is None else list(devices)
    count = math.prod(shape)
    if len(found) < count:
        raise ValueError(
            f"{what}: Number of devices {len(found)} must be >= the product of mesh_shape"
            f" {shape}"
        )
    grid = np.empty(count, dtype=object)
    grid[:] = found[:count]
    return grid.reshape(shape)


def create_device_mesh(
    mesh_shape: Sequence[int],
    devices: Sequence[Device] | None = None,
    *,
    contiguous_submeshes: bool = False,
    allow_split_physical_axes: bool = False,
) -> np.ndarray[Any, Any]:
    """Devices in an array of the shape of a mesh, in their order.

    Args:
      mesh_shape: the shape; its product must be the number of devices.
      devices: the devices; those of the default platform if left out.
      contiguous_submeshes: about wires between devices of a TPU; one device has none.
      allow_split_physical_axes: the same.

    >>> import tetrad as jax
    >>> from tetrad.experimental import mesh_utils
    >>> mesh_utils.create_device_mesh((1, 1), jax.devices()[:1]).shape
    (1, 1)
    """
    shape = tuple([int(size) for size in mesh_shape])
    found = registry.devices() if devices is None else list(devices)
    if len(found) != math.prod(shape):
        raise ValueError(
            f"Number of devices {len(found)} must equal the product of mesh_shape {shape}"
        )
    return device_grid(shape, found, "create_device_mesh")


def create_hybrid_device_mesh(
    mesh_shape: Sequence[int],
    dcn_mesh_shape: Sequence[int],
    devices: Sequence[Device] | None = None,
    *,
    process_is_granule: bool = False,
    should_sort_granules_by_key: bool = True,
    allow_split_physical_axes: bool = False,
) -> np.ndarray[Any, Any]:
    """Devices of several groups in an array of the shape of a mesh.

    Args:
      mesh_shape: the shape of the mesh of each group.
      dcn_mesh_shape: how groups lie beside each other; one group exists, so all ones.
      devices: the devices; those of the default platform if left out.

    The other arguments are about groups, of which there is one.

    >>> import tetrad as jax
    >>> from tetrad.experimental import mesh_utils
    >>> mesh_utils.create_hybrid_device_mesh((1,), (1,), jax.devices()[:1]).shape
    (1,)
    """
    groups = math.prod([int(size) for size in dcn_mesh_shape])
    if groups != 1:
        raise ValueError(
            f"create_hybrid_device_mesh: dcn_mesh_shape={tuple(dcn_mesh_shape)} asks for"
            f" {groups} groups of devices, and there is one process with one group"
        )
    return create_device_mesh(mesh_shape, devices)
