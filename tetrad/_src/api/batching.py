"""`vmap` for users: a function of one example becomes one of a batch.

In: a function of pytrees, and which axis of each argument to map over. Out: a function
that runs `transforms/vmap.py` on flat values and puts mapped axes where they are asked
for. A call that does not fit is answered by a table of the arguments, the offending row
marked, and a call that works.

Read `vmap`, then `_mapped_axes`, then the tables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tetrad._src.api.chunks import check_chunk_size, in_chunks
from tetrad._src.api.flat import (
    FlatFunction,
    argument_name,
    as_value,
    leaf_aval,
    path_of_leaf,
    shortened,
    wraps_of,
)
from tetrad._src.api.lanes import misfit
from tetrad._src.api.prefixes import axes_leaves, is_none
from tetrad._src.control.signature import name_of, parameter_names
from tetrad._src.core.bind import aval_of
from tetrad._src.core.op import Axis
from tetrad._src.transforms.vmap import move_mapped, vmap_flat
from tetrad._src.util import errors, frames, tree
from tetrad._src.util.memo import Cache

Fun = Callable[..., Any]


_DOC = """Vectorized version of {fun}: maps it over an axis of its arguments.

Original documentation:

{doc}"""


def vmap(
    fun: Fun,
    in_axes: int | None | Sequence[Any] | Any = 0,
    out_axes: Any = 0,
    axis_name: Any = None,
    axis_size: int | None = None,
    spmd_axis_name: Any = None,
    *,
    chunk_size: int | None = None,
) -> Fun:
    """Maps `fun` over an axis of its arguments, all lanes at once.

    Args:
      fun: a function of pytrees.
      in_axes: which axis of each positional argument to map over: an int (negative ones
        count from the end), None for arguments that are the same for every lane, or a
        tuple with one entry an argument, whose entries may be pytrees of these. Keyword
        arguments are mapped over axis 0.
      out_axes: where the mapped axis goes in the results: an int, None for results that
        do not depend on the lane, or a pytree of these.
      axis_name: a name for the axis, for `lax.psum` and its like.
      axis_size: the size of the axis; needed only if no argument is mapped.
      chunk_size: how many lanes to compute at a time, where all at once need too much
        memory; the last chunk may be smaller. The results are the same.

    Raises ValueError with a table of the arguments if sizes differ or an axis does not
    exist.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> jax.vmap(jnp.dot)(jnp.ones((3, 2)), jnp.ones((3, 2))).tolist()
    [2.0, 2.0, 2.0]
    """
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    _check_options(fun, in_axes, out_axes, spmd_axis_name)
    chunk = check_chunk_size(chunk_size, axis_name)
    options = _Options(fun, in_axes, out_axes, axis_name, axis_size)
    code = getattr(fun, "__code__", None)

    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves, in_tree = tree.flatten((args, kwargs))
        axes = _axes_of_leaves(options, args, kwargs, in_tree)
        axes, size = _mapped_axes(options, in_tree, leaves, axes)
        values = [
            leaf if at is None else as_value(leaf, "vmap")
            for leaf, at in zip(leaves, axes)
        ]
        axis = Axis(size, axis_name)
        if code is not None:  # by identity: hashing code takes longer
            _mapped_codes[id(code)] = (code, in_axes, size)
        flat = FlatFunction(fun, in_tree, "vmap")
        try:
            if chunk is None or chunk >= size or all(at is None for at in axes):
                outs, out_at = vmap_flat(flat, axis, values, axes, watched=True)
            else:
                outs, out_at = _by_chunks(flat, values, axes, size, chunk)
        except (errors.ShapeError, IndexError) as error:
            if not hasattr(error, "__notes__"):
                error.add_note(
                    f"inside vmap({name_of(fun)}), shapes are those of one lane of"
                    f" {size}: the mapped axis is not among them"
                )
            raise
        wanted = _axes_of_results(options, flat.out_tree)
        results = [
            _placed(options, flat.out_tree, axis, i, out, at, to)
            for i, (out, at, to) in enumerate(zip(outs, out_at, wanted))
        ]
        return flat.out_tree.unflatten(results)

    return wraps_of(fun, doc=_DOC)(frames.hide_frames(mapped))


def _by_chunks(
    flat: FlatFunction,
    values: Sequence[Any],
    axes: Sequence[int | None],
    size: int,
    chunk: int,
) -> tuple[list[Any], list[int | None]]:
    """As `vmap_flat`, `chunk` lanes at a time."""

    def run(parts: Sequence[Any], count: int) -> tuple[list[Any], list[bool]]:
        rest = iter(parts)
        lanes = [v if at is None else next(rest) for v, at in zip(values, axes)]
        front = [None if at is None else 0 for at in axes]
        axis = Axis(count)
        outs, out_at = vmap_flat(flat, axis, lanes, front, watched=True)
        moved = [
            out if at is None else move_mapped(axis, out, at, 0)
            for out, at in zip(outs, out_at)
        ]
        return moved, [at is not None for at in out_at]

    mapped = [v for v, at in zip(values, axes) if at is not None]
    return in_chunks(run, mapped, [at for at in axes if at is not None], size, chunk)


class Lanes(NamedTuple):
    """How a function was last mapped."""

    name: str
    size: int
    in_axes: Any


# How functions were mapped last, by the identity of their code, which is kept alive; for
# the message that memory is full.
_mapped_codes = Cache("mapped functions", limit=256)


def lanes_of(code: Any) -> Lanes | None:
    """How the function with this code was last mapped; None if it was not."""
    found = _mapped_codes.get(id(code))
    return None if found is None else Lanes(code.co_name, found[2], found[1])


def _check_options(fun: Any, in_axes: Any, out_axes: Any, spmd_axis_name: Any) -> None:
    if not callable(fun):
        raise TypeError(
            f"vmap takes a function, got {shortened(fun)} of type {type(fun).__name__}."
            " Write vmap(f)(x), not vmap(f(x))."
        )
    if spmd_axis_name is not None:
        raise NotImplementedError(
            "vmap(spmd_axis_name=...) is not available: leave it out, and say where"
            " results live with device_put"
        )
    _check_axes("in_axes", in_axes)
    if not isinstance(in_axes, (tuple, int, np.integer)) and in_axes is not None:
        raise TypeError(
            "vmap in_axes must be an int, None, or a tuple with one entry an argument,"
            f" got {shortened(in_axes)} of type {type(in_axes).__name__}. For one"
            f" argument that is a {type(in_axes).__name__}, write"
            f" in_axes=({shortened(in_axes)},)."
        )
    _check_axes("out_axes", out_axes)


class _Options:
    """What `vmap` was given, and axes of leaves by structure of the arguments."""

    __slots__ = (
        "fun", "in_axes", "out_axes", "axis_name", "axis_size", "in_cache", "out_cache",
    )  # fmt: skip

    def __init__(
        self, fun: Fun, in_axes: Any, out_axes: Any, axis_name: Any, axis_size: Any
    ) -> None:
        self.fun = fun
        self.in_axes = in_axes
        self.out_axes = out_axes
        self.axis_name = axis_name
        self.axis_size = axis_size
        self.in_cache: dict[Any, list[int | None]] = {}
        self.out_cache: dict[Any, list[int | None]] = {}


def _check_axes(what: str, axes: Any) -> None:
    for axis in tree.leaves(axes, is_leaf=is_none):
        if isinstance(axis, bool) or not (
            axis is None or isinstance(axis, (int, np.integer))
        ):
            raise TypeError(
                f"vmap {what} must be an int, None, or a pytree of these, got"
                f" {shortened(axis)} of type {type(axis).__name__} in"
                f" {what}={shortened(axes)}"
            )


def _axes_of_leaves(
    options: _Options, args: Sequence[Any], kwargs: Any, in_tree: Any
) -> list[int | None]:
    """The axis to map for every leaf of (args, kwargs), as the user gave it."""
    found = options.in_cache.get(in_tree)
    if found is None:
        in_axes = options.in_axes
        if isinstance(in_axes, tuple):
            if len(in_axes) != len(args):
                raise ValueError(_wrong_count(options, args))
            found = axes_leaves(in_axes, tuple(args), "vmap: in_axes", "the arguments")
        else:
            found = [in_axes] * len(tree.leaves(tuple(args)))
        found = found + [0] * len(tree.leaves(kwargs))
        options.in_cache[in_tree] = found
    return found


def _wrong_count(options: _Options, args: Sequence[Any]) -> str:
    given = len(options.in_axes)
    names = ", ".join(parameter_names(options.fun, len(args)))
    works = tuple((*options.in_axes, *([0] * len(args)))[: len(args)])
    return (
        f"vmap: in_axes={options.in_axes} has {given} entr{'y' if given == 1 else 'ies'}"
        f" but `{name_of(options.fun)}` was called with {len(args)} positional argument"
        f"{'' if len(args) == 1 else 's'} ({names}). One entry an argument works, for"
        f" example in_axes={works}."
    )


def _mapped_axes(
    options: _Options, in_tree: Any, leaves: Sequence[Any], axes: Sequence[int | None]
) -> tuple[list[int | None], int]:
    """Axes counted from the front, and the size they share."""
    size = options.axis_size
    fine = True
    result: list[int | None] = []
    for leaf, at in zip(leaves, axes):
        if at is None:
            result.append(None)
            continue
        shape = _shape_of(options, in_tree, leaves, leaf)
        ndim = len(shape)
        if not -ndim <= at < ndim:
            fine = False
            break
        at = at % ndim
        if size is None:
            size = shape[at]
        elif shape[at] != size:
            fine = False
            break
        result.append(int(at))
    if not fine:
        raise misfit(options.fun, in_tree, leaves, axes, options.axis_size)
    if size is None:
        raise ValueError(_nothing_mapped(options, in_tree, leaves))
    return result, size


def _shape_of(
    options: _Options, in_tree: Any, leaves: Sequence[Any], leaf: Any
) -> tuple[int, ...]:
    try:
        return leaf_aval(leaf).shape
    except TypeError:
        index = next(i for i, x in enumerate(leaves) if x is leaf)
        name = argument_name(options.fun, in_tree, index)
        raise TypeError(
            f"vmap: argument `{name}` is {shortened(leaf)} of type"
            f" {type(leaf).__name__}, which cannot be mapped over. Give it the axis None"
            " in in_axes, so that it is the same for every lane."
        ) from None


# ------------------------------------------------------------------------------- results


def _axes_of_results(options: _Options, out_tree: Any) -> list[int | None]:
    found = options.out_cache.get(out_tree)
    if found is None:
        out_axes = options.out_axes
        if out_axes is None or isinstance(out_axes, (int, np.integer)):
            one = None if out_axes is None else int(out_axes)
            found = [one] * out_tree.num_leaves
        else:
            example = out_tree.unflatten([tree.AnyLeaf()] * out_tree.num_leaves)
            if isinstance(out_axes, list) and isinstance(example, tuple):
                out_axes = tuple(out_axes)
            found = axes_leaves(
                out_axes, example, "vmap: out_axes", "the result of the function"
            )
        options.out_cache[out_tree] = found
    return found


def _placed(
    options: _Options,
    out_tree: Any,
    axis: Axis,
    index: int,
    out: Any,
    at: int | None,
    to: int | None,
) -> Any:
    """A result with its mapped axis where `out_axes` wants it."""
    if to is None:
        if at is None:
            return as_value(out, "vmap")
        raise ValueError(
            f"vmap has mapped output at vmap out_axes=None for"
            f" {_result_name(options, out_tree, index)}: that result depends on the lane. Give it an axis, as in out_axes=0, or reduce it"
            " over the lanes after vmap."
        )
    ndim = aval_of(out).ndim + (at is None)
    if not -ndim <= to < ndim:
        lane = aval_of(out).shape if at is None else aval_of(out).drop((at,)).shape
        raise ValueError(
            f"vmap: out_axes={to} for {_result_name(options, out_tree, index)}, whose"
            f" lanes have shape {lane}: with the mapped axis it has {ndim}"
            f" ax{'i' if ndim == 1 else 'e'}s, so out_axes can be from {-ndim} to"
            f" {ndim - 1}, as in out_axes=0."
        )
    return as_value(move_mapped(axis, out, at, to % ndim), "vmap")


def _result_name(options: _Options, out_tree: Any, index: int) -> str:
    path = tree.keystr(path_of_leaf(out_tree, index))
    where = f" at {path}" if path else ""
    return f"the result of `{name_of(options.fun)}`{where}"


def _nothing_mapped(options: _Options, in_tree: Any, leaves: Sequence[Any]) -> str:
    name = name_of(options.fun)
    if not leaves:
        return (
            f"vmap: `{name}` was called without arrays, so there is nothing to map over."
            " Pass at least one array, or say axis_size=..."
        )
    return (
        f"vmap: no argument of `{name}` is mapped (in_axes={options.in_axes}), so the"
        " number of lanes is not known. Give one argument an axis, or say axis_size=..."
    )
