"""The error about arguments of `vmap` that do not fit together: a table, and what works.

In: the function, the structure of (args, kwargs), the leaves and the axis of each. Out:
all arguments with what one lane of them is, those that do not fit marked, and a call
that works as far as one can be guessed.

Read `misfit`, then `_size` (how many lanes are meant), then `_works`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tetrad._src.api.flat import argument_name, leaf_aval
from tetrad._src.control.signature import name_of, parameter_names
from tetrad._src.util.tables import table

Shape = tuple[int, ...]


class Leaf(NamedTuple):
    """A leaf of the arguments; what is not mapped need not be an array."""

    name: str
    shape: Shape | None
    at: int | None

    @property
    def extent(self) -> int | None:
        """The extent of the mapped axis; None if nothing is mapped or it is missing."""
        if self.at is None or self.shape is None:
            return None
        ndim = len(self.shape)
        return self.shape[self.at] if -ndim <= self.at < ndim else None

    def fits(self, size: int | None) -> bool:
        return self.at is None or (self.extent is not None and self.extent == size)


class Argument(NamedTuple):
    """A positional argument or (by name) a keyword argument, with its leaves."""

    name: str
    leaves: list[Leaf]
    alone: bool  # whether it is an array and no container
    keyword: bool


def misfit(
    fun: Any,
    in_tree: Any,
    leaves: Sequence[Any],
    axes: Sequence[int | None],
    axis_size: int | None,
) -> ValueError:
    """The error with the table."""
    arguments = _arguments(fun, in_tree, leaves, axes)
    size = _size(arguments) if axis_size is None else axis_size
    rows: list[tuple[str, ...]] = [("argument", "shape", "in_axes", "lane shape", "")]
    for argument in arguments:
        rows += [_row(leaf, size) for leaf in argument.leaves]
    advice = _too_many(arguments, axis_size) or _works(fun, arguments, size)
    return ValueError(
        f"vmap: the arguments of `{name_of(fun)}` do not fit together.\n{table(rows)}\n"
        f"{advice}"
    )


def _arguments(
    fun: Any, in_tree: Any, leaves: Sequence[Any], axes: Sequence[int | None]
) -> list[Argument]:
    args, kwargs = in_tree.children()
    names = parameter_names(fun, len(args.children()))
    example = kwargs.unflatten(range(kwargs.num_leaves))
    parts = [(n, t, False) for n, t in zip(names, args.children())]
    parts += [(n, t, True) for n, t in zip(sorted(example), kwargs.children())]
    found = []
    at = 0
    for name, treedef, keyword in parts:
        own = []
        for i in range(at, at + treedef.num_leaves):
            label = argument_name(fun, in_tree, i)
            own.append(Leaf(label, _shape_or_none(leaves[i]), axes[i]))
        at += treedef.num_leaves
        alone = len(own) == 1 and own[0].name == name
        found.append(Argument(name, own, alone, keyword))
    return found


def _shape_or_none(leaf: Any) -> Shape | None:
    try:
        return leaf_aval(leaf).shape
    except TypeError:
        return None


def _size(arguments: Sequence[Argument]) -> int | None:
    """How many lanes there should be: what most arguments have, all of each.

    If they tie, it is rather an array than a container, and rather the first.
    """
    votes: dict[int, tuple[int, int]] = {}
    for argument in arguments:
        extents = {leaf.extent for leaf in argument.leaves if leaf.at is not None}
        if len(extents) == 1 and None not in extents:
            (extent,) = extents
            whole, alone = votes.get(extent, (0, 0))  # type: ignore[arg-type]
            votes[extent] = whole + 1, alone + argument.alone  # type: ignore[index]
    if votes:
        return max(votes, key=lambda size: votes[size])
    sizes = [leaf.extent for a in arguments for leaf in a.leaves]
    known = [size for size in sizes if size is not None]
    return max(known, key=known.count) if known else None


def _row(leaf: Leaf, size: int | None) -> tuple[str, ...]:
    text = "no array" if leaf.shape is None else str(leaf.shape)
    lane, note = text, ""
    if leaf.at is not None and leaf.shape is not None:
        if leaf.extent is None:
            ndim = len(leaf.shape)
            many = f"{ndim} ax{'i' if ndim == 1 else 'e'}s"
            lane, note = "-", f"<- has {many}, no axis {leaf.at}"
        else:
            rest = list(leaf.shape)
            extent = rest.pop(leaf.at)
            lane = str(tuple(rest))
            if extent != size:
                note = f"<- axis {leaf.at} has size {extent}, not {size}"
    return leaf.name, text, str(leaf.at), lane, note


def _too_many(arguments: Sequence[Argument], axis_size: int | None) -> str:
    """Advice if nothing is wrong but the number of lanes that was asked for."""
    extents = {x.extent for a in arguments for x in a.leaves if x.at is not None}
    if axis_size is None or len(extents) != 1 or None in extents:
        return ""
    return (
        f"This works: leave axis_size out, for the arrays have {extents.pop()} lanes."
    )


def _works(fun: Any, arguments: Sequence[Argument], size: int | None) -> str:
    """A call that works, as far as one can be guessed."""
    if size is None:  # no axis exists: axis 0 of the first argument that has one
        shapes = [leaf.shape for a in arguments for leaf in a.leaves if leaf.shape]
        size = shapes[0][0] if shapes else None
    entries: list[int | None] = []
    words = []
    named = []
    for argument in arguments:
        entry = _entry(argument, size)
        fits = all(leaf.fits(size) for leaf in argument.leaves)
        if argument.keyword:
            named += [] if fits else [argument.name]
            continue
        entries.append(entry)
        if not fits and entry is None:
            words.append(f"gives all of `{argument.name}` to every lane")
        elif not fits:
            words.append(f"maps `{argument.name}` over its axis {entry}")
    if named:
        return (
            f"Arguments given by keyword are mapped over their axis 0. Give `{named[0]}`"
            f" by position, with None in in_axes if all lanes share it."
        )
    if not words or all(at is None for at in entries):
        return "Call the function without vmap, or pass axis_size."
    text = str(entries[0])
    if len(set(entries)) > 1 or entries[0] is None:
        text = f"({', '.join(map(str, entries))}{',' if len(entries) == 1 else ''})"
    name = name_of(fun)
    shown = name if name.isidentifier() else "f"
    return f"This works: vmap({shown}, in_axes={text}), which {' and '.join(words)}."


def _entry(argument: Argument, size: int | None) -> int | None:
    """The axis that in_axes should have for an argument; None if all lanes share it."""
    axes = {leaf.at for leaf in argument.leaves}
    if all(leaf.fits(size) for leaf in argument.leaves):
        return axes.pop() if len(axes) == 1 else 0
    shapes = [leaf.shape or () for leaf in argument.leaves]
    for axis in range(min(map(len, shapes), default=0)):
        if all(shape[axis] == size for shape in shapes):
            return axis
    return None
