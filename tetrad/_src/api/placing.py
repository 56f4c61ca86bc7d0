"""Saying how values are laid out over a mesh: constraints, and arrays from parts.

In: values and shardings (or specifications over the mesh in force). Out: the same values,
laid out so. One device makes a layout a name: values stay where they are and remember it.
Shardings over several devices raise NotImplementedError.

Read `as_sharding`, `place`, then the public functions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tetrad._src.api import devices
from tetrad._src.api.flat import as_value, leaf_aval, shortened
from tetrad._src.api.formats import Format
from tetrad._src.api.prefixes import map_prefix, prefix_leaves
from tetrad._src.core import mesh as meshes
from tetrad._src.core.bind import Tracer, aval_of
from tetrad._src.core.sharding import (
    AxisType,
    PartitionSpec,
    Sharding,
    several_devices,
)
from tetrad._src.runtime.array import Array
from tetrad._src.runtime.device import SingleDeviceSharding
from tetrad._src.util import dtypes, frames, tree

Fun = Callable[..., Any]


def as_sharding(sharding: Any, what: str) -> Sharding:
    """A sharding, from a sharding or a specification over the mesh in force."""
    if isinstance(sharding, PartitionSpec):
        return meshes.named_in_force(sharding, what)
    if isinstance(sharding, Sharding):
        return sharding
    raise ValueError(
        f"{what} got sharding {shortened(sharding)}, which is not allowed. Please only"
        " pass `jax.sharding.Sharding` instances, or PartitionSpecs over the mesh in force"
    )


def place(x: Any, sharding: Sharding, what: str) -> Any:
    """`x` laid out as `sharding` says, which must have one device."""
    if sharding.num_devices > 1:
        raise several_devices(f"{what} with {sharding}", sharding.num_devices)
    sharding.check_rank(leaf_aval(x).ndim, what)
    if isinstance(x, Tracer):
        return x
    return devices.device_put(as_value(x, what), sharding)


def _placed(x: Any, shardings: Any, what: str) -> Any:
    def laid_out(leaf: Any, sharding: Any) -> Any:
        return place(leaf, as_sharding(sharding, what), what)

    return map_prefix(laid_out, x, shardings, f"{what} shardings")


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """The arrays of the pytree `x`, with a wish how they are laid out over devices.

    On one device it changes no value and no place.

    Args:
      x: a pytree of arrays.
      shardings: a sharding, a `PartitionSpec` over the mesh in force, or a pytree of these
        that is a prefix of `x`.

    Raises ValueError if a specification has more entries than its array axes,
    NotImplementedError for shardings over several devices.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> mesh = jax.make_mesh((1,), ("x",), devices=jax.devices()[:1])
    >>> rows = jax.NamedSharding(mesh, jax.P("x"))
    >>> jax.lax.with_sharding_constraint(jnp.arange(3), rows).tolist()
    [0, 1, 2]
    """
    return _placed(x, shardings, "with_sharding_constraint")


def reshard(xs: Any, out_shardings: Any) -> Any:
    """The arrays of the pytree `xs`, laid out as `out_shardings` says.

    Args:
      xs: a pytree of arrays.
      out_shardings: a sharding, a `PartitionSpec` over the mesh in force, or a pytree of
        these that is a prefix of `xs`.

    Raises ValueError if a specification has more entries than its array axes,
    NotImplementedError for shardings over several devices.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> mesh = jax.make_mesh((1,), ("x",), devices=jax.devices()[:1])
    >>> jax.reshard(jnp.arange(3), jax.NamedSharding(mesh, jax.P())).sharding.spec
    P()
    """
    return _placed(xs, out_shardings, "reshard")


def _mesh_with(kind: AxisType, axes: Any, name: str) -> meshes.Mesh:
    """The mesh in force with some of its axes, by default all, of another type."""
    mesh = meshes.current_mesh()
    if mesh is None:
        raise ValueError(
            f"{name}: no mesh is in force. Put one there with jax.set_mesh(mesh)"
        )
    names = mesh.axis_names if axes is None else axes
    names = (names,) if isinstance(names, str) else names
    changed: meshes.Mesh = mesh.update_axis_types(dict.fromkeys(names, kind))
    return changed


def auto_axes(
    f: Fun | None = None, /, *, axes: Any = None, out_sharding: Any = None
) -> Any:
    """A function in which axes of the mesh in force are of type `Auto`.

    Args:
      f: the function. Without it `auto_axes` is a decorator with options.
      axes: names of axes; all by default.
      out_sharding: how results are laid out; may be given in the call instead.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> with jax.set_mesh(jax.make_mesh((1,), ("x",), devices=jax.devices()[:1])):
    ...     jax.sharding.auto_axes(jnp.sin, out_sharding=jax.P("x"))(jnp.zeros(2)).tolist()
    [0.0, 0.0]
    """
    if f is None:
        return functools.partial(auto_axes, axes=axes, out_sharding=out_sharding)
    function = f

    def changed(*args: Any, **kwargs: Any) -> Any:
        wanted = kwargs.pop("out_sharding", out_sharding)
        with meshes.set_mesh(_mesh_with(AxisType.Auto, axes, "auto_axes")):
            result = function(*args, **kwargs)
        return result if wanted is None else _placed(result, wanted, "auto_axes")

    functools.update_wrapper(changed, f)
    return frames.hide_frames(changed)


def explicit_axes(
    f: Fun | None = None, /, *, axes: Any = None, in_sharding: Any = None
) -> Any:
    """A function in which axes of the mesh in force are of type `Explicit`.

    Args:
      f: the function. Without it `explicit_axes` is a decorator with options.
      axes: names of axes; all by default.
      in_sharding: how arguments are laid out; may be given in the call instead.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> with jax.set_mesh(jax.make_mesh((1,), ("x",), devices=jax.devices()[:1])):
    ...     jax.sharding.explicit_axes(jnp.sin, in_sharding=jax.P())(jnp.zeros(2)).tolist()
    [0.0, 0.0]
    """
    if f is None:
        return functools.partial(explicit_axes, axes=axes, in_sharding=in_sharding)
    function = f

    def changed(*args: Any, **kwargs: Any) -> Any:
        wanted = kwargs.pop("in_sharding", in_sharding)
        mesh = _mesh_with(AxisType.Explicit, axes, "explicit_axes")
        if wanted is not None:
            args = _placed(args, wanted, "explicit_axes")
        with meshes.set_mesh(mesh):
            return function(*args, **kwargs)

    functools.update_wrapper(changed, f)
    return frames.hide_frames(changed)


def make_single_device_sharding(
    device: Any, *, memory_kind: str | None = None
) -> Sharding:
    """The sharding of arrays that lie whole on `device`.

    >>> import tetrad as jax
    >>> jax.sharding.make_single_device_sharding(jax.devices()[0]).num_devices
    1
    """
    return SingleDeviceSharding(device, memory_kind=memory_kind)


# -------------------------------------------------------------------- arrays from parts


def _one_device(sharding: Any, what: str) -> Sharding:
    if isinstance(sharding, Format):
        sharding = sharding.checked(what)
    found = as_sharding(sharding, what)
    if found.num_devices > 1:
        raise several_devices(f"{what} with {found}", found.num_devices)
    return found


def _whole(part: Any, shape: Any, sharding: Sharding, dtype: Any, what: str) -> Array:
    """The array whose only part is `part`."""
    shape = tuple([int(extent) for extent in shape])
    sharding.check_rank(len(shape), what)
    aval = leaf_aval(part)
    expected = sharding.shard_shape(shape)
    if aval.shape != expected:
        raise ValueError(
            f"{what}: Expected shard shape {expected} doesn't match the single device array"
            f" shape {aval.shape}. The shape of the array is {shape}, its sharding"
            f" {sharding}"
        )
    if dtype is not None and dtypes.as_dtype(dtype) != aval.dtype:
        raise ValueError(
            f"{what}: dtype={dtypes.as_dtype(dtype).name}, but the part is"
            f" {aval.long_name()}"
        )
    made: Array = devices.device_put(as_value(part, what), sharding)
    return made


def make_array_from_callback(
    shape: Sequence[int], sharding: Any, data_callback: Any, dtype: Any = None
) -> Array:
    """An array whose parts a function makes, given where they lie in the whole.

    Args:
      shape: the shape of the whole.
      sharding: how it is laid out; one device.
      data_callback: a function of an index (a tuple of slices) that gives that part.
      dtype: the dtype that parts must have.

    Raises ValueError if the part has another shape or dtype.

    >>> import numpy as np, tetrad as jax
    >>> mesh = jax.make_mesh((1,), ("x",), devices=jax.devices()[:1])
    >>> rows, data = jax.NamedSharding(mesh, jax.P("x")), np.arange(4)
    >>> jax.make_array_from_callback((4,), rows, lambda index: data[index]).tolist()
    [0, 1, 2, 3]
    """
    what = "make_array_from_callback"
    found = _one_device(sharding, what)
    (index,) = found.devices_indices_map(tuple(shape)).values()
    return _whole(data_callback(index), shape, found, dtype, what)


def make_array_from_process_local_data(
    sharding: Any, local_data: Any, global_shape: Sequence[int] | None = None
) -> Any:
    """Arrays from what each process holds; the one process holds everything.

    Args:
      sharding: how the arrays are laid out; one device. May be a pytree, a prefix of
        `local_data`.
      local_data: a pytree of arrays.
      global_shape: the shape of the whole, which is that of the data.

    >>> import numpy as np, tetrad as jax
    >>> mesh = jax.make_mesh((1,), ("x",), devices=jax.devices()[:1])
    >>> rows = jax.NamedSharding(mesh, jax.P("x"))
    >>> jax.make_array_from_process_local_data(rows, np.arange(3)).tolist()
    [0, 1, 2]
    """
    what = "make_array_from_process_local_data"
    shardings = prefix_leaves(sharding, local_data, f"{what} sharding", "the data")
    leaves, treedef = tree.flatten(local_data)
    shapes: list[Any] = [None] * len(leaves)
    if global_shape is not None:
        shapes = prefix_leaves(
            global_shape, local_data, f"{what} global_shape", "the data", _is_shape
        )
    made = []
    for leaf, how, shape in zip(leaves, shardings, shapes):
        own = np.shape(leaf)
        shape = own if shape is None else tuple(shape)
        shape = tuple([n if n is not None else m for n, m in zip(shape, own)])
        made.append(_whole(leaf, shape, _one_device(how, what), None, what))
    return treedef.unflatten(made)


def _is_shape(x: Any) -> bool:
    """Whether `x` is a shape, a tuple of integers and None, or None."""
    return x is None or (
        isinstance(x, tuple) and all([n is None or isinstance(n, int) for n in x])
    )


def make_array_from_single_device_arrays(
    shape: Sequence[int], sharding: Any, arrays: Sequence[Any], *, dtype: Any = None
) -> Array:
    """An array from its parts, one on each device.

    Args:
      shape: the shape of the whole.
      sharding: how it is laid out; one device.
      arrays: a list of the one part.
      dtype: the dtype that the part must have.

    Raises TypeError if `arrays` is no list, ValueError if the part has another shape.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> mesh = jax.make_mesh((1,), ("x",), devices=jax.devices()[:1])
    >>> rows = jax.NamedSharding(mesh, jax.P("x"))
    >>> jax.make_array_from_single_device_arrays((2,), rows, [jnp.arange(2)]).tolist()
    [0, 1]
    """
    what = "make_array_from_single_device_arrays"
    if not isinstance(arrays, (list, tuple)):
        raise TypeError(
            f"jax.{what} `arrays` argument must be a list or tuple, but got"
            f" {type(arrays).__name__}."
        )
    found = _one_device(sharding, what)
    if len(arrays) != 1:
        raise ValueError(
            f"jax.{what}: {found} has one device, so it needs one array, got"
            f" {len(arrays)}"
        )
    return _whole(arrays[0], shape, found, dtype, what)


# ------------------------------------------------------------------- arguments of `jit`


class Shardings:
    """The shardings of the arguments or of the results of a jitted function."""

    def __init__(self, what: str, wanted: Any) -> None:
        self.what = what
        self.wanted = tuple(wanted) if isinstance(wanted, list) else wanted
        for leaf in tree.leaves(self.wanted):
            if not isinstance(leaf, (PartitionSpec, Sharding)):
                raise TypeError(
                    f"jit: {what} leaf specifications are expected to be Shardings,"
                    f" PartitionSpecs or None, but got {shortened(leaf)}"
                )

    def place(self, values: Any) -> Any:
        """The pytree `values`, laid out like this."""
        return map_prefix(self._one, values, self.wanted, f"jit {self.what}")

    def _one(self, value: Any, wanted: Any) -> Any:
        if wanted is None:
            return value
        sharding = as_sharding(wanted, f"jit({self.what})")
        if (
            self.what == "in_shardings"
            and type(value) is Array
            and value.committed
            and value.device not in sharding.device_set
        ):
            raise ValueError(
                f"jit: in_shardings has {sharding}, but the argument, an"
                f" {aval_of(value).long_name()} array, was placed on {value.device}. Move it"
                " with jax.device_put before the call"
            )
        return place(value, sharding, f"jit({self.what})")


def shardings_of(what: str, wanted: Any) -> Shardings | None:
    """The option `what` of `jit` as it was given; None: nothing was."""
    return None if wanted is None else Shardings(what, wanted)
