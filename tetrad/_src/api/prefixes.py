"""Pytrees given for a whole: `in_axes=(0, None)`, shardings, and what they say of leaves."""

from __future__ import annotations

from typing import Any

from tetrad._src.util import tree


def is_none(x: Any) -> bool:
    return x is None


def prefix_leaves(prefix: Any, full: Any, what: str, whole: str) -> list[Any]:
    """The leaf of `prefix` (None is one) above each leaf of `full`."""
    values, prefix_tree = tree.flatten(prefix, is_leaf=is_none)
    try:
        subtrees = prefix_tree.flatten_up_to(full)
    except ValueError:
        for make_error in tree.prefix_errors(prefix, full, is_leaf=is_none):
            error = make_error(what, whole)
            error.args = (f"{error}\n{_prefix_that_fits(what.split()[-1], full)}",)
            raise error from None
        raise
    found: list[Any] = []
    for value, subtree in zip(values, subtrees):
        found.extend([value] * len(tree.leaves(subtree)))
    return found


def _prefix_that_fits(name: str, full: Any) -> str:
    """A sentence with axes that have the structure they should have."""
    leaves, treedef = tree.flatten(full)
    mapped = [name == "out_axes" or getattr(x, "ndim", 0) > 0 for x in leaves]
    axes = str(treedef.unflatten([0 if on else None for on in mapped]))
    short = f", and {name}=0 means that" if all(mapped) else ""
    return f"This fits: {name}={axes}{short}."
