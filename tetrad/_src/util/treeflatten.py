"""Flattening: a pytree in, the list of its leaves and its `PyTreeDef` out.

Each container type has a flattener, a function that appends the leaves of a tree to a
list and returns its structure; the built-in containers have their own fast ones.  The
registry that programs add their classes to stands at the end.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeAlias

from tetrad._src.util.treedef import (
    DICT_KIND,
    LEAF,
    LIST_KIND,
    NONE,
    TUPLE_KIND,
    NodeKind,
    PyTreeDef,
    kind_of,
    make_node,
    node_of,
    pooled_node,
    register_kind,
    shortened,
    sorted_keys,
)
from tetrad._src.util.treekeys import GetAttrKey, KeyedChildren, KeyEntry, KeyPath

__all__ = [
    "PyTreeRegistry",
    "default_registry",
    "flatten",
    "flatten_keyed",
    "leaves",
]

# A flattener appends the leaves of a tree to a list and returns the tree's structure.
Flattener: TypeAlias = Callable[[Any, list[Any]], PyTreeDef]


# The flattener of each type that was met, None for types that are leaves.  A plain
# dictionary: the look-ups below are the innermost loops of every call, and types that
# are new announce themselves by a KeyError.
_flatteners: dict[type, Flattener | None] = {}


def _meet(cls: type) -> Flattener | None:
    kind = kind_of(cls)
    return _flatteners.setdefault(
        cls, None if kind is None else _custom_flattener(kind)
    )


def _flatten_none(tree: None, found: list[Any]) -> PyTreeDef:
    return NONE


def _sequence_flattener(kind: NodeKind) -> Flattener:
    flat = [pooled_node(kind, None, None, count) for count in range(17)]

    def flatten_sequence(tree: Sequence[Any], found: list[Any]) -> PyTreeDef:
        try:
            for child in tree:
                if _flatteners[type(child)] is not None:
                    break
            else:
                found += tree
                count = len(tree)
                return (
                    flat[count] if count < 17 else pooled_node(kind, None, None, count)
                )
        except KeyError:
            pass
        parts = _flatten_children(tree, found)
        return pooled_node(kind, None, parts, len(tree))

    return flatten_sequence


def _flatten_dict(tree: dict[Any, Any], found: list[Any]) -> PyTreeDef:
    keys = tuple(sorted_keys(tree))
    parts = _flatten_children([tree[key] for key in keys], found)
    return node_of(DICT_KIND, keys, parts, len(keys))


def _flatten_children(
    children: Sequence[Any], found: list[Any]
) -> list[PyTreeDef] | None:
    """Appends the leaves below; gives the structures, or None if all are leaves."""
    try:
        for child in children:
            if _flatteners[type(child)] is not None:
                break
        else:
            found += children
            return None
    except KeyError:
        for child in children:
            _meet(type(child))
        return _flatten_children(children, found)
    parts = []
    for child in children:
        cls = type(child)
        flattener = _flatteners[cls] if cls in _flatteners else _meet(cls)
        if flattener is None:
            found.append(child)
            parts.append(LEAF)
        else:
            parts.append(flattener(child, found))
    return parts


def _custom_flattener(kind: NodeKind) -> Flattener:
    take_apart = kind.flatten

    def flatten_custom(tree: Any, found: list[Any]) -> PyTreeDef:
        children, data = take_apart(tree)
        parts = _flatten_children(children, found)
        return node_of(kind, data, parts, len(children))

    return flatten_custom


_flatteners[type(None)] = _flatten_none
_flatteners[tuple] = _sequence_flattener(TUPLE_KIND)
_flatteners[list] = _sequence_flattener(LIST_KIND)
_flatteners[dict] = _flatten_dict


def flatten(
    tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> tuple[list[Any], PyTreeDef]:
    """Lists the leaves of `tree` from left to right, and gives its structure.

    `is_leaf(subtree)` is asked before a subtree is entered; where it is true, the
    subtree counts as one leaf.
    """
    found: list[Any] = []
    if is_leaf is not None:
        return found, _flatten_checked(tree, found, is_leaf)
    cls = type(tree)
    flattener = _flatteners[cls] if cls in _flatteners else _meet(cls)
    if flattener is None:
        return [tree], LEAF
    return found, flattener(tree, found)


def leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """Lists the leaves of `tree` from left to right."""
    return flatten(tree, is_leaf)[0]


def _flatten_checked(
    tree: Any, found: list[Any], is_leaf: Callable[[Any], bool]
) -> PyTreeDef:
    kind = kind_of(type(tree))
    if is_leaf(tree) or kind is None:
        found.append(tree)
        return LEAF
    children, data = kind.flatten(tree)
    parts = tuple([_flatten_checked(child, found, is_leaf) for child in children])
    return make_node(kind, data, parts)


def flatten_keyed(
    tree: Any,
    path: KeyPath,
    found: list[tuple[KeyPath, Any]],
    is_leaf: Callable[[KeyPath, Any], bool] | None,
) -> PyTreeDef:
    """Appends (path, leaf) pairs to `found` and returns the structure of `tree`."""
    kind = kind_of(type(tree))
    if kind is None or (is_leaf is not None and is_leaf(path, tree)):
        found.append((path, tree))
        return LEAF
    pairs, data = kind.keyed(tree)
    parts = tuple(
        [flatten_keyed(child, (*path, key), found, is_leaf) for key, child in pairs]
    )
    return make_node(kind, data, parts)


# --- The registry object -----------------------------------------------------------------


class PyTreeRegistry:
    """The table of node types.  There is one, `default_registry`."""

    def register_node(
        self,
        nodetype: type,
        flatten_func: Callable[[Any], tuple[Iterable[Any], Any]],
        unflatten_func: Callable[[Any, Any], Any],
        flatten_with_keys_func: (
            Callable[[Any], tuple[Iterable[tuple[KeyEntry, Any]], Any]] | None
        ) = None,
    ) -> None:
        """Registers a type; see `register_pytree_node`."""
        if not isinstance(nodetype, type):
            raise TypeError(f"a pytree node type must be a class, got {nodetype!r}")
        functions = (flatten_func, unflatten_func)
        if not all(callable(function) for function in functions):
            raise TypeError(
                f"registering {nodetype.__name__}: the flatten and unflatten functions "
                f"must be callable, got {flatten_func!r} and {unflatten_func!r}"
            )
        name = nodetype.__qualname__

        def take_apart(tree: Any) -> tuple[Sequence[Any], Any]:
            children, data = _pair(flatten_func(tree), name)
            if type(children) is not tuple and type(children) is not list:
                children = _listed(children, name)
            return children, data

        keyed = None
        if flatten_with_keys_func is not None:
            with_keys = flatten_with_keys_func

            def keyed(tree: Any) -> tuple[KeyedChildren, Any]:
                pairs, data = _pair(with_keys(tree), name)
                return _listed(pairs, name), data

        _add(NodeKind(nodetype, take_apart, unflatten_func, keyed))

    def register_dataclass_node(
        self, nodetype: type, data_fields: Sequence[str], meta_fields: Sequence[str]
    ) -> None:
        """Registers a class with named children and named metadata."""
        data_names = tuple(data_fields)
        meta_names = tuple(meta_fields)
        keys = [GetAttrKey(name) for name in data_names]
        children_of = _attributes(data_names)
        metadata_of = _attributes(meta_names)

        def take_apart(tree: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
            return children_of(tree), metadata_of(tree)

        def keyed(tree: Any) -> tuple[KeyedChildren, tuple[Any, ...]]:
            return list(zip(keys, children_of(tree))), metadata_of(tree)

        def put_together(data: tuple[Any, ...], children: Iterable[Any]) -> Any:
            arguments = dict(zip(data_names, children))
            arguments.update(zip(meta_names, data))
            return nodetype(**arguments)

        _add(NodeKind(nodetype, take_apart, put_together, keyed))

    def is_node(self, cls: type) -> bool:
        """Whether instances of exactly this class are containers."""
        return kind_of(cls) is not None

    def flatten(
        self, tree: Any, is_leaf: Callable[[Any], bool] | None = None
    ) -> tuple[list[Any], PyTreeDef]:
        """See `tree_flatten`."""
        return flatten(tree, is_leaf)

    def flatten_with_path(
        self, tree: Any, is_leaf: Callable[[Any], bool] | None = None
    ) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
        """See `tree_flatten_with_path`."""
        found: list[tuple[KeyPath, Any]] = []
        predicate = is_leaf
        ask = None if predicate is None else lambda path, x: predicate(x)
        return found, flatten_keyed(tree, (), found, ask)

    def flatten_one_level(self, tree: Any) -> tuple[Iterable[Any], Any] | None:
        """The children and metadata of the root, or None for a leaf."""
        kind = kind_of(type(tree))
        return None if kind is None else kind.flatten(tree)

    def flatten_one_level_with_keys(
        self, tree: Any
    ) -> tuple[Iterable[tuple[KeyEntry, Any]], Any] | None:
        """The (key, child) pairs and metadata of the root, or None for a leaf."""
        kind = kind_of(type(tree))
        return None if kind is None else kind.keyed(tree)


def _add(kind: NodeKind) -> None:
    register_kind(kind)
    _flatteners[kind.type] = _custom_flattener(kind)


def _pair(result: Any, name: str) -> tuple[Any, Any]:
    if not isinstance(result, tuple) or len(result) != 2:
        raise ValueError(
            f"The to_iterable function for a custom PyTree node should return a"
            f" (children, aux_data) tuple, got {shortened(result)} from that of {name}"
        )
    return result


def _listed(children: Any, name: str) -> list[Any]:
    try:
        return list(children)
    except TypeError:
        raise ValueError(
            "The to_iterable function for a custom PyTree node should return a (children,"
            " aux_data) tuple where 'children' is iterable, got"
            f" {shortened(children)} from that of {name}"
        ) from None


def _attributes(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    if not names:
        return lambda tree: ()
    if len(names) == 1:
        name = names[0]
        return lambda tree: (getattr(tree, name),)
    return operator.attrgetter(*names)


default_registry: Final = PyTreeRegistry()
