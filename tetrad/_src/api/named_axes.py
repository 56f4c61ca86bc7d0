"""Functions of one part of an array, on a mesh of one device: `shard_map`, `pmap`.

In: a function that sees the part of a device, and may speak of the axes of a mesh by
name (`lax.psum(x, "x")`). Out: a function of whole arrays. With one device a part is the
whole array and each named axis has one lane, so the function runs as it is, inside named
axes of extent 1. What needs several devices raises NotImplementedError.

Read `alone`, then `shard_map`, then `pmap`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tetrad._src.api.flat import (
    FlatFunction,
    argument_name,
    leaf_aval,
    shortened,
    without_static,
)
from tetrad._src.api.jit import jit
from tetrad._src.api.prefixes import axes_leaves, is_none, prefix_leaves
from tetrad._src.control.signature import argument_numbers, name_of
from tetrad._src.core import mesh as meshes
from tetrad._src.core.mesh import AbstractMesh, Mesh
from tetrad._src.core.op import Axis
from tetrad._src.core.sharding import PartitionSpec, names_of, several_devices
from tetrad._src.ops.views import expand_dims, squeeze
from tetrad._src.runtime import device as registry
from tetrad._src.transforms.vmap import vmap_flat
from tetrad._src.util import frames, tree

Fun = Callable[..., Any]


def alone(names: Sequence[Any], fun: Any, leaves: Sequence[Any]) -> list[Any]:
    """Runs `fun` of flat values inside axes named `names` that have one lane each."""
    if not names:
        return list(fun(*leaves))
    axis = Axis(1, names[0])
    outs, mapped = vmap_flat(
        lambda *inner: alone(names[1:], fun, inner), axis, leaves, [None] * len(leaves)
    )
    return [out if at is None else squeeze(out, (at,)) for out, at in zip(outs, mapped)]


# --------------------------------------------------------------------------- shard_map


class Infer:
    """Stands for: as the arguments are laid out."""


def shard_map(
    f: Fun | None = None,
    /,
    *,
    out_specs: Any,
    in_specs: Any = Infer,
    mesh: Mesh | AbstractMesh | None = None,
    axis_names: Iterable[Any] = frozenset(),
    check_vma: bool = True,
) -> Any:
    """Maps a function over the parts of arrays that lie on the devices of a mesh.

    The mesh must have one device; a part is then the whole array, and collectives such as
    `lax.psum` over the axes of the mesh work with one lane.

    Args:
      f: a function of parts. Without it `shard_map` is a decorator with options.
      out_specs: a pytree of `PartitionSpec`s, a prefix of the result: how parts of
        results are put together.
      in_specs: the same for the tuple of arguments; by default as they are laid out.
      mesh: the mesh; by default the one in force (`jax.set_mesh`).
      axis_names: the axes that `f` may name; by default all axes of the mesh.
      check_vma: whether to check that results are equal on all devices along axes that
        out_specs does not name. With one device they are.

    Raises NotImplementedError if the mesh has more than one device, ValueError if specs
    do not fit.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> mesh = jax.make_mesh((1,), ("x",), devices=jax.devices()[:1])
    >>> spec = jax.P("x")
    >>> total = jax.shard_map(
    ...     lambda part: jax.lax.psum(part, "x"), mesh=mesh, in_specs=spec, out_specs=spec
    ... )
    >>> total(jnp.arange(3)).tolist()
    [0, 1, 2]
    """
    if f is None:
        return functools.partial(
            shard_map,
            out_specs=out_specs,
            in_specs=in_specs,
            mesh=mesh,
            axis_names=axis_names,
            check_vma=check_vma,
        )
    if not callable(f):
        raise TypeError(
            "shard_map requires a callable for its first argument, got"
            f" {shortened(f)} of type {type(f).__name__}. Write shard_map(f, ...)(x)."
        )
    function = f

    def mapped(*args: Any) -> Any:
        names = _names_of_call(mesh, axis_names)
        leaves, in_tree = tree.flatten((args, {}))
        if in_specs is not Infer and in_specs is not None:
            _check_specs(function, "in_specs", in_specs, args, leaves, names)
        flat = FlatFunction(function, in_tree, "shard_map")
        outs = alone(names, flat, leaves)
        result = flat.out_tree.unflatten(outs)
        _check_specs(function, "out_specs", out_specs, result, outs, names)
        return result

    functools.update_wrapper(mapped, f)
    return frames.hide_frames(mapped)


def _names_of_call(mesh: Any, axis_names: Any) -> tuple[Any, ...]:
    """The axes of the mesh, which has one device, that the function may name."""
    if mesh is None:
        mesh = meshes.get_abstract_mesh()
        if mesh.empty:
            raise ValueError(
                "shard_map: the context mesh cannot be empty. Put a mesh in force with"
                " jax.set_mesh(mesh), or say mesh=..."
            )
    if not isinstance(mesh, (Mesh, AbstractMesh)):
        raise TypeError(
            "shard_map: mesh must be a Mesh, as from jax.make_mesh, got"
            f" {shortened(mesh)} of type {type(mesh).__name__}"
        )
    if mesh.size > 1:
        raise several_devices(f"shard_map over {mesh}", mesh.size)
    names = tuple(axis_names)
    unknown = [name for name in names if name not in mesh.axis_names]
    if unknown:
        raise ValueError(
            f"shard_map: axis_names={set(names)} must be axes of the mesh, which has"
            f" {mesh.axis_names}"
        )
    return tuple([n for n in mesh.axis_names if not names or n in names])


def _check_specs(
    fun: Any, what: str, specs: Any, full: Any, leaves: Sequence[Any], names: Any
) -> None:
    """ValueError unless `specs` fits the values, whose leaves are `leaves`."""
    found = prefix_leaves(specs, full, f"shard_map {what}", "the values")
    for spec, leaf in zip(found, leaves):
        if not isinstance(spec, PartitionSpec):
            raise TypeError(
                f"shard_map {what} must be a pytree of PartitionSpecs such as jax.P('x'),"
                f" got {shortened(spec)} of type {type(spec).__name__}"
            )
        wrong = [name for name in names_of(spec) if name not in names]
        if wrong:
            raise ValueError(
                f"shard_map {what} argument must refer to an axis marked as manual"
                f" ({', '.join(map(repr, names))}), but {spec} refers to {wrong[0]!r}"
            )
        rank = leaf_aval(leaf).ndim
        if len(spec) > rank:
            raise ValueError(
                f"shard_map applied to the function '{name_of(fun)}' was given an {what}"
                f" entry which is too long: {spec} has {len(spec)} entries, but the value"
                f" is {leaf_aval(leaf).long_name()}, of rank {rank}"
            )


def smap(
    f: Fun | None = None,
    /,
    *,
    in_axes: Any = Infer,
    out_axes: Any,
    axis_name: Any,
) -> Any:
    """Maps a function over the parts of arrays along one axis of the mesh in force.

    Args:
      f: a function of parts. Without it `smap` is a decorator with options.
      in_axes: which axis of each argument is split, None for those that are not; by
        default as they are laid out.
      out_axes: the same for the result.
      axis_name: the axis of the mesh; it must have one device.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> with jax.set_mesh(jax.make_mesh((1,), ("x",), devices=jax.devices()[:1])):
    ...     f = jax.smap(lambda x: 2 * x, in_axes=0, out_axes=0, axis_name="x")
    ...     f(jnp.arange(3)).tolist()
    [0, 2, 4]
    """
    if f is None:
        return functools.partial(
            smap, in_axes=in_axes, out_axes=out_axes, axis_name=axis_name
        )

    def specs(axes: Any) -> Any:
        return tree.map(
            lambda at: (
                PartitionSpec()
                if at is None
                else PartitionSpec(*[None] * at, axis_name)
            ),
            axes,
            is_leaf=is_none,
        )

    return shard_map(
        f,
        in_specs=Infer if in_axes is Infer else specs(in_axes),
        out_specs=specs(out_axes),
        axis_names={axis_name},
    )


# --------------------------------------------------------------------------------- pmap


def pmap(
    fun: Fun,
    axis_name: Any = None,
    *,
    in_axes: Any = 0,
    out_axes: Any = 0,
    static_broadcasted_argnums: int | Iterable[int] = (),
    devices: Sequence[Any] | None = None,
    backend: str | None = None,
    axis_size: int | None = None,
    donate_argnums: int | Iterable[int] = (),
) -> Any:
    """Maps a compiled function over the devices, one lane each.

    One device computes here: mapped axes must have extent 1. `vmap` runs many lanes on
    one device.

    Args:
      fun: a function of one lane.
      axis_name: a name for the axis, for `lax.psum` and its like.
      in_axes: which axis of each positional argument to map over; None for arguments
        that are the same for every lane.
      out_axes: where the mapped axis goes in results; None for the value of one lane.
      static_broadcasted_argnums: arguments whose values select the program.
      devices: the devices to run on.
      backend: the platform to run on.
      axis_size: the extent of the mapped axes.
      donate_argnums: arguments whose memory the results take over.

    Raises NotImplementedError for more than one lane where there are as many devices,
    ValueError where there are not.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> step = jax.pmap(lambda x: x / jax.lax.psum(x, "i"), axis_name="i")
    >>> step(jnp.array([[2.0, 4.0]])).tolist()
    [[1.0, 1.0]]
    """
    if not callable(fun):
        raise TypeError(f"pmap: Expected a callable value, got {shortened(fun)}")
    if devices is not None and not devices:
        raise ValueError("'devices' argument to pmap must be non-empty, or None.")
    static = _numbers("static_broadcasted_argnums", static_broadcasted_argnums)
    in_axes = tuple(in_axes) if isinstance(in_axes, list) else in_axes

    def lanes(*args: Any, **kwargs: Any) -> Any:
        function, dynamic = without_static(fun, args, static)
        leaves, in_tree = tree.flatten((dynamic, kwargs))
        axes = [
            *_pmap_axes(fun, in_axes, args, static, dynamic),
            *[0] * len(tree.leaves(kwargs)),
        ]
        _check_lanes(fun, leaves, axes, in_tree, axis_size, devices, backend)
        parts = [x if at is None else squeeze(x, (at,)) for x, at in zip(leaves, axes)]
        flat = FlatFunction(function, in_tree, "pmap")
        outs = alone((axis_name,), flat, parts)
        result = flat.out_tree.unflatten(outs)
        places = axes_leaves(out_axes, result, "pmap: out_axes", "the result")
        outs = [
            out if at is None else expand_dims(out, (at,))
            for out, at in zip(outs, places)
        ]
        return flat.out_tree.unflatten(outs)

    functools.update_wrapper(lanes, fun)
    sharding = None
    if devices is not None and len(devices) == 1:
        sharding = registry.SingleDeviceSharding(devices[0])
    elif backend is not None:
        sharding = registry.SingleDeviceSharding(registry.devices(backend)[0])
    return jit(
        lanes,
        static_argnums=static,
        donate_argnums=_numbers("donate_argnums", donate_argnums),
        out_shardings=sharding,
    )


def _numbers(what: str, given: Any) -> tuple[int, ...]:
    if isinstance(given, Iterable):
        given = tuple(given)
    return argument_numbers(given, f"pmap {what}")


def _pmap_axes(
    fun: Any, in_axes: Any, args: Any, static: Sequence[int], dynamic: Any
) -> list[int | None]:
    """Which axis of each leaf of `dynamic` is mapped, of all arguments `args`."""
    if isinstance(in_axes, tuple):
        if len(in_axes) != len(args):
            raise ValueError(
                f"pmap in_axes={in_axes} has {len(in_axes)} entries, but"
                f" `{name_of(fun)}` was called with {len(args)} positional arguments;"
                " each needs one"
            )
        _, in_axes = without_static(fun, in_axes, static)  # one entry an argument
        axes = axes_leaves(in_axes, dynamic, "pmap: in_axes", "the arguments")
    else:
        axes = [in_axes] * len(tree.leaves(dynamic))
    for at in axes:
        if at is not None and (isinstance(at, bool) or not isinstance(at, int)):
            raise TypeError(
                f"pmap in_axes must be an int, None, or a pytree of these, got"
                f" {shortened(at)} of type {type(at).__name__}"
            )
    return axes


def _check_lanes(
    fun: Any,
    leaves: Sequence[Any],
    axes: Sequence[int | None],
    in_tree: Any,
    axis_size: int | None,
    devices: Any,
    backend: str | None,
) -> None:
    """An error unless every mapped axis has one lane."""
    if all([at is None for at in axes]):
        raise ValueError("pmap requires at least one argument with a mapped axis.")
    sizes: dict[str, int] = {}
    for index, (leaf, at) in enumerate(zip(leaves, axes)):
        if at is None:
            continue
        name = argument_name(fun, in_tree, index)
        aval = leaf_aval(leaf)
        if not -aval.ndim <= at < aval.ndim:
            raise ValueError(
                f"pmap: argument `{name}` is {aval.long_name()}, which has no axis {at}"
                " to map over; say None for it in in_axes if it is the same for every"
                " lane"
            )
        sizes[name] = aval.shape[at]
    if axis_size is not None:
        sizes["axis_size"] = axis_size
    if len(set(sizes.values())) > 1:
        listed = ", ".join([f"{name}: {size}" for name, size in sizes.items()])
        raise ValueError(
            "pmap got inconsistent sizes for array axes to be mapped; each must be the"
            f" number of lanes: {listed}"
        )
    (size,) = set(sizes.values())
    if size == 1:
        return
    there = len(devices) if devices is not None else len(registry.devices(backend))
    if size > there:
        raise ValueError(
            f"pmap: the mapped axes have {size} lanes, each for a device of its own, and"
            f" there {'is' if there == 1 else 'are'} {there}. jax.vmap(f,"
            " axis_name=...) runs lanes on one device"
        )
    raise several_devices("pmap", size)


def old_shard_map(
    f: Fun,
    mesh: Mesh | AbstractMesh,
    in_specs: Any,
    out_specs: Any,
    check_rep: bool = True,
    auto: Iterable[Any] = frozenset(),
) -> Any:
    """`jax.shard_map` with its arguments by position, as older programs call it.

    Args:
      f: a function of parts.
      mesh: the mesh, of one device.
      in_specs: a pytree of `PartitionSpec`s, a prefix of the tuple of arguments.
      out_specs: the same for the result.
      check_rep: as `check_vma` of `jax.shard_map`.
      auto: the axes of the mesh that `f` may not name.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> from tetrad.experimental.shard_map import shard_map
    >>> mesh = jax.make_mesh((1,), ("x",), devices=jax.devices()[:1])
    >>> shard_map(jnp.cumsum, mesh, jax.P("x"), jax.P("x"))(jnp.arange(3)).tolist()
    [0, 1, 3]
    """
    names = tuple(mesh.axis_names)
    left = tuple(auto)
    return shard_map(
        f,
        mesh=mesh,
        in_specs=in_specs,
        out_specs=out_specs,
        axis_names=tuple([n for n in names if n not in left]),
        check_vma=check_rep,
    )
