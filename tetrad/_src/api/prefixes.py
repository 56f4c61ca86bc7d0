"""Pytrees given for a whole: `in_axes=(0, None)`, shardings, and what they say of leaves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tetrad._src.util import tree


def is_none(x: Any) -> bool:
    return x is None


def prefix_leaves(
    prefix: Any,
    full: Any,
    what: str,
    whole: str,
    is_leaf: Callable[[Any], bool] = is_none,
) -> list[Any]:
    """The leaf of `prefix` above each leaf of `full`.

    `is_leaf` is asked about subtrees of `prefix`: None is a leaf there, and nothing in
    `full`.
    """
    values, prefix_tree = tree.flatten(prefix, is_leaf=is_leaf)
    try:
        subtrees = prefix_tree.flatten_up_to(full)
    except ValueError:
        for make_error in tree.prefix_errors(prefix, full, is_leaf=is_leaf):
            raise make_error(what, whole) from None
        raise
    found: list[Any] = []
    for value, subtree in zip(values, subtrees):
        found.extend([value] * len(tree.leaves(subtree)))
    return found


def map_prefix(f: Callable[[Any, Any], Any], full: Any, prefix: Any, what: str) -> Any:
    """The pytree of `f(x, value)` for each leaf x of `full` and its value in `prefix`."""
    found = prefix_leaves(prefix, full, what, "the values")
    leaves, treedef = tree.flatten(full)
    return treedef.unflatten([f(x, value) for x, value in zip(leaves, found)])


def axes_leaves(axes: Any, full: Any, what: str, whole: str) -> list[Any]:
    """As `prefix_leaves`, of axes; the error says which would fit."""
    try:
        return prefix_leaves(axes, full, what, whole)
    except ValueError as error:
        error.args = (f"{error}\n{_axes_that_fit(what.split()[-1], full)}",)
        raise


def _axes_that_fit(name: str, full: Any) -> str:
    """A sentence with axes that have the structure they should have."""
    leaves, treedef = tree.flatten(full)
    mapped = [name == "out_axes" or getattr(x, "ndim", 0) > 0 for x in leaves]
    axes = str(treedef.unflatten([0 if on else None for on in mapped]))
    short = f", and {name}=0 means that" if all(mapped) else ""
    return f"This fits: {name}={axes}{short}."
