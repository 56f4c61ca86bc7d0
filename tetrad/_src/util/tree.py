"""Functions on pytrees: what `tetrad.tree`, `tetrad.tree_util` and the library use.

The engine is in `treedef` and `treeflatten`; here are the operations on whole trees
(`map`, `transpose`, `broadcast_prefix`, paths), the registration of classes, `Partial`,
and the messages for trees that do not fit together.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, Final, TypeVar

from tetrad._src.util.tables import marked_outline, side_by_side
from tetrad._src.util.treedef import (
    LEAF,
    NONE,
    TUPLE_KIND,
    NodeKind,
    PyTreeDef,
    clear_pool,
    describe,
    kind_of,
    make_node,
)
from tetrad._src.util.treeflatten import (
    PyTreeRegistry,
    default_registry,
    flatten,
    flatten_keyed,
    leaves,
)
from tetrad._src.util.treekeys import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    KeyEntry,
    KeyPath,
    SequenceKey,
)

__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "LEAF",
    "NONE",
    "Partial",
    "PyTreeDef",
    "PyTreeRegistry",
    "SequenceKey",
    "all_leaves",
    "broadcast",
    "broadcast_prefix",
    "clear_pool",
    "default_registry",
    "difference_text",
    "equality_errors",
    "flatten",
    "flatten_one_level",
    "flatten_one_level_with_keys",
    "flatten_with_path",
    "is_tree_node",
    "keystr",
    "leaves",
    "leaves_with_path",
    "map",
    "map_with_path",
    "prefix_errors",
    "reduce",
    "reduce_associative",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "static",
    "structure",
    "transpose",
    "tree_all",
    "treedef_children",
    "treedef_is_leaf",
    "treedef_tuple",
    "unflatten",
]

Class = TypeVar("Class", bound=type)
IsLeaf = Callable[[Any], bool] | None


class _Missing:
    """The default of arguments for which None is a meaningful value."""

    def __repr__(self) -> str:
        return "<not given>"


_MISSING: Final = _Missing()


# --- Structures and leaves ---------------------------------------------------------------


def structure(tree: Any, is_leaf: IsLeaf = None) -> PyTreeDef:
    """The structure of `tree` without its leaves."""
    return flatten(tree, is_leaf)[1]


def unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    """Builds the tree of structure `treedef` from `leaves`; undoes `flatten`."""
    return treedef.unflatten(leaves)


def all_leaves(iterable: Iterable[Any], is_leaf: IsLeaf = None) -> bool:
    """Whether every element is a leaf, that is, no container (None is a container)."""
    if is_leaf is None:
        return all(kind_of(type(element)) is None for element in iterable)
    return all(structure(element, is_leaf) is LEAF for element in iterable)


def is_tree_node(typ: type) -> bool:
    """Whether instances of exactly this type are containers of pytrees."""
    return isinstance(typ, type) and kind_of(typ) is not None


def _node_kind(tree: Any) -> NodeKind:
    kind = kind_of(type(tree))
    if kind is None:
        raise ValueError(
            f"can't tree-flatten type {type(tree).__name__}: {describe(tree)} is a leaf"
        )
    return kind


def flatten_one_level(tree: Any) -> tuple[Iterable[Any], Hashable]:
    """The children and the metadata of the outermost container only."""
    children, metadata = _node_kind(tree).flatten(tree)
    return list(children), metadata


def flatten_one_level_with_keys(
    tree: Any,
) -> tuple[Iterable[tuple[KeyEntry, Any]], Hashable]:
    """The (key, child) pairs and the metadata of the outermost container only."""
    return _node_kind(tree).keyed(tree)


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """The structure of a tuple of trees of the given structures."""
    return make_node(TUPLE_KIND, None, tuple(treedefs))


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """The structures of the children of the root."""
    return treedef.children()


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Whether the structure is a single node: a leaf or an empty container."""
    return treedef.num_nodes == 1


# --- Mapping and folding -----------------------------------------------------------------


def map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf = None) -> Any:
    """Applies `f` to each leaf of `tree` and the subtrees of `rest` at its place.

    Args:
      f: takes one argument for `tree` and one for each of `rest`.
      tree: the pytree that gives the structure of the result.
      *rest: pytrees of which `tree` is a prefix.
      is_leaf: where true of a subtree of `tree`, the subtree counts as a leaf.

    Raises:
      ValueError: if `tree` is not a prefix of one of `rest`; the message names the path
        and shows both trees.

    >>> map(lambda x, y: x + y, {"a": 1, "b": (2,)}, {"a": 10, "b": (20,)})
    {'a': 11, 'b': (22,)}
    """
    found, treedef = flatten(tree, is_leaf)
    if not rest:
        return treedef.unflatten([f(leaf) for leaf in found])
    columns = [
        _flatten_like("tree.map", treedef, tree, i, other, is_leaf)
        for i, other in enumerate(rest)
    ]
    return treedef.unflatten([f(*row) for row in zip(found, *columns)])


def _flatten_like(
    where: str,
    treedef: PyTreeDef,
    tree: Any,
    position: int,
    other: Any,
    is_leaf: IsLeaf,
) -> list[Any]:
    try:
        return treedef.flatten_up_to(other)
    except ValueError as error:
        for make_error in prefix_errors(tree, other, is_leaf):
            mismatch = make_error("tree", f"rest[{position}]")
            raise ValueError(f"{where}: {mismatch}") from None
        raise error


def map_with_path(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> Any:
    """Like `map`, where `f` takes the path of the leaf as its first argument."""
    pairs, treedef = flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    columns = [
        _flatten_like("tree.map_with_path", treedef, tree, i, other, None)
        for i, other in enumerate(rest)
    ]
    rows = zip(pairs, *columns)
    return treedef.unflatten([f(*pair, *row) for pair, *row in rows])


def flatten_with_path(
    tree: Any,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
    """Lists (path, leaf) pairs from left to right, and gives the structure."""
    found: list[tuple[KeyPath, Any]] = []
    ask = is_leaf
    if is_leaf is not None and not is_leaf_takes_path:
        predicate = is_leaf
        ask = lambda path, subtree: predicate(subtree)  # noqa: E731
    return found, flatten_keyed(tree, (), found, ask)


def leaves_with_path(
    tree: Any,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> list[tuple[KeyPath, Any]]:
    """Lists (path, leaf) pairs from left to right."""
    return flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


def keystr(keys: KeyPath, *, simple: bool = False, separator: str = "") -> str:
    """Writes a path as text.

    >>> keystr((DictKey("w"), SequenceKey(0)))
    "['w'][0]"
    >>> keystr((DictKey("w"), SequenceKey(0)), simple=True, separator="/")
    'w/0'
    """
    words = [_simple_key(key) if simple else str(key) for key in keys]
    return separator.join(words)


def _simple_key(key: KeyEntry) -> str:
    match key:
        case DictKey() | FlattenedIndexKey():
            return str(key.key)
        case SequenceKey():
            return str(key.idx)
        case GetAttrKey():
            return key.name
    return str(key)


def reduce(
    function: Callable[[Any, Any], Any],
    tree: Any,
    initializer: Any = _MISSING,
    is_leaf: IsLeaf = None,
) -> Any:
    """Folds the leaves from left to right, as `functools.reduce` folds a sequence."""
    if initializer is _MISSING:
        return functools.reduce(function, leaves(tree, is_leaf))
    return functools.reduce(function, leaves(tree, is_leaf), initializer)


def reduce_associative(
    operation: Callable[[Any, Any], Any],
    tree: Any,
    *,
    identity: Any = _MISSING,
    is_leaf: IsLeaf = None,
) -> Any:
    """Folds the leaves in a balanced tree; `operation` must be associative."""
    found = leaves(tree, is_leaf)
    if not found:
        if identity is _MISSING:
            raise TypeError(
                "reduce_associative: the tree has no leaves; pass identity= to say "
                "what an empty tree reduces to"
            )
        return identity
    return _fold_balanced(operation, found)


def _fold_balanced(operation: Callable[[Any, Any], Any], values: list[Any]) -> Any:
    if len(values) == 1:
        return values[0]
    middle = len(values) // 2
    left = _fold_balanced(operation, values[:middle])
    return operation(left, _fold_balanced(operation, values[middle:]))


def tree_all(tree: Any, *, is_leaf: IsLeaf = None) -> bool:
    """Whether all leaves are true."""
    return all(leaves(tree, is_leaf))


def transpose(
    outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: Any
) -> Any:
    """Turns a tree of trees inside out: outer(inner(leaf)) to inner(outer(leaf)).

    With `inner_treedef=None` the inner structure is that of the first inner tree.

    >>> transpose(structure([0, 0]), None, [(1, 2), (3, 4)])
    ([1, 3], [2, 4])
    """
    for name, given in (("outer", outer_treedef), ("inner", inner_treedef)):
        if not isinstance(given, PyTreeDef) and (given is not None or name == "outer"):
            raise TypeError(
                f"tree.transpose: {name}_treedef must be a structure, got"
                f" {describe(given)}. Write jax.tree.structure(example)."
            )
    found, treedef = flatten(pytree_to_transpose)
    if inner_treedef is None:
        inner_trees = outer_treedef.flatten_up_to(pytree_to_transpose)
        if not inner_trees:
            raise ValueError(
                "tree.transpose: the outer structure has no leaves, so the inner "
                "structure cannot be found; pass inner_treedef"
            )
        inner_treedef = structure(inner_trees[0])
    expected = outer_treedef.compose(inner_treedef)
    if treedef != expected:
        picture = difference_text(
            "outer(inner)",
            expected.unflatten([AnyLeaf()] * expected.num_leaves),
            "the tree",
            treedef.unflatten(found),
        )
        raise TypeError(
            "tree.transpose: Mismatch of structures: the tree must have the structure"
            f" outer(inner).\n{picture}"
        )
    size = inner_treedef.num_leaves
    if size == 0 or outer_treedef.num_leaves == 0:
        raise ValueError(
            "tree.transpose: both structures need at least one leaf, got "
            f"{outer_treedef} and {inner_treedef}"
        )
    columns = [outer_treedef.unflatten(found[i::size]) for i in range(size)]
    return inner_treedef.unflatten(columns)


# --- Prefixes ----------------------------------------------------------------------------


def broadcast(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf = None) -> Any:
    """The tree of the structure of `full_tree` with the leaves of its prefix.

    >>> broadcast((0, None), ({"a": 1, "b": 2}, None))
    ({'a': 0, 'b': 0}, None)
    """
    found = broadcast_prefix(prefix_tree, full_tree, is_leaf)
    return structure(full_tree, is_leaf).unflatten(found)


def broadcast_prefix(
    prefix_tree: Any,
    full_tree: Any,
    is_leaf: IsLeaf = None,
    *,
    prefix_name: str = "prefix_tree",
    full_name: str = "full_tree",
) -> list[Any]:
    """One value of the prefix for each leaf of the full tree, in its order.

    `is_leaf` is asked about subtrees of the prefix (so that `None` can be a value
    there) and of the full tree.  The names appear in the error.

    Raises:
      ValueError: if `prefix_tree` is no prefix of `full_tree`; the message shows the two
        trees side by side and marks where they differ.
    """
    values, treedef = flatten(prefix_tree, is_leaf)
    try:
        subtrees = treedef.flatten_up_to(full_tree)
    except ValueError as error:
        for make_error in prefix_errors(prefix_tree, full_tree, is_leaf):
            raise make_error(prefix_name, full_name) from None
        raise error
    result: list[Any] = []
    for value, subtree in zip(values, subtrees):
        result.extend([value] * structure(subtree, is_leaf).num_leaves)
    return result


def prefix_errors(
    prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf = None
) -> list[Callable[..., ValueError]]:
    """Why `prefix_tree` is no prefix of `full_tree`; empty if it is one.

    Each element is a function of the names of the two trees that makes an exception.
    """
    found = list(_differences((), prefix_tree, full_tree, is_leaf, as_prefix=True))
    errors: list[Callable[..., ValueError]] = []
    for difference in found:

        def make_error(
            prefix_name: str,
            full_name: str = "the other tree",
            difference: _Difference = difference,
        ) -> ValueError:
            picture = _side_by_side(
                (prefix_name, prefix_tree), (full_name, full_tree), difference[0]
            )
            return ValueError(
                _difference_text(difference, prefix_name, full_name, picture)
            )

        errors.append(make_error)
    return errors


def equality_errors(
    tree1: Any, tree2: Any, is_leaf: IsLeaf = None
) -> Iterator[tuple[KeyPath, str, str, str]]:
    """Where the structures of two trees differ: (path, this, that, reason)."""
    return _differences((), tree1, tree2, is_leaf, as_prefix=False)


class AnyLeaf:
    """A leaf that may be anything."""

    def __repr__(self) -> str:
        return "leaf"


AnyLeaf.__name__ = "any"


def difference_text(name1: str, tree1: Any, name2: str, tree2: Any) -> str:
    """Where the structures of two trees differ, with both side by side; may be empty."""
    for difference in _differences((), tree1, tree2, None, as_prefix=False):
        picture = _side_by_side((name1, tree1), (name2, tree2), difference[0])
        return _difference_text(difference, name1, name2, picture)
    return ""


_Difference = tuple[KeyPath, str, str, str]


def _differences(
    path: KeyPath, one: Any, two: Any, is_leaf: IsLeaf, *, as_prefix: bool
) -> Iterator[_Difference]:
    stops = is_leaf is not None and is_leaf(one)
    kind = None if stops else kind_of(type(one))
    if as_prefix and kind is None:
        return
    other = None if is_leaf is not None and is_leaf(two) else kind_of(type(two))
    if kind is None and other is None:
        return
    if kind is None or other is not kind:
        yield path, describe(one), describe(two), "their types differ"
        return
    pairs, data = kind.keyed(one)
    other_pairs, other_data = kind.keyed(two)
    if not (data is other_data or data == other_data):
        reason = kind.data_difference(data, other_data)
        yield path, describe(one), describe(two), reason
        return
    if len(pairs) != len(other_pairs):
        yield path, describe(one), describe(two), "their numbers of children differ"
        return
    for (key, child), (_, other_child) in zip(pairs, other_pairs):
        yield from _differences(
            (*path, key), child, other_child, is_leaf, as_prefix=as_prefix
        )


def _difference_text(
    difference: _Difference, name: str, other_name: str, picture: str
) -> str:
    path, this, that, reason = difference
    place = keystr(path)
    at = f" at {place}" if place else ""
    return (
        f"{name} does not fit {other_name}{at}: {reason}.\n"
        f"  {name}{place} is {this}\n"
        f"  {other_name}{place} is {that}\n"
        f"{picture}"
    )


def _outline(tree: Any, limit: int) -> list[tuple[KeyPath, str]]:
    """One (path, text) line for each node and leaf, indented by depth."""
    lines: list[tuple[KeyPath, str]] = []

    def visit(path: KeyPath, subtree: Any) -> None:
        if len(lines) >= limit:
            return
        key = f"{path[-1]} " if path else ""
        lines.append((path, f"{'  ' * len(path)}{key}{describe(subtree)}"))
        kind = kind_of(type(subtree))
        if kind is not None:
            for child_key, child in kind.keyed(subtree)[0]:
                visit((*path, child_key), child)

    visit((), tree)
    return lines


def _side_by_side(left: tuple[str, Any], right: tuple[str, Any], path: KeyPath) -> str:
    """The outlines of two trees in two columns, with the line at `path` marked."""
    columns = []
    for name, tree in (left, right):
        lines = _outline(tree, 400)
        marked = next((i for i, line in enumerate(lines) if line[0] == path), None)
        shown = marked_outline([line[1] for line in lines], marked)
        columns.append([f"  {name}", *shown])
    return side_by_side(*columns)


# --- Registering classes -----------------------------------------------------------------


def register_pytree_node(
    nodetype: type,
    flatten_func: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten_func: Callable[[Any, Any], Any],
    flatten_with_keys_func: (
        Callable[[Any], tuple[Iterable[tuple[KeyEntry, Any]], Any]] | None
    ) = None,
) -> None:
    """Makes instances of a class containers of pytrees.

    Args:
      nodetype: the class; subclasses are not included.
      flatten_func: takes an instance, returns (children, metadata).
      unflatten_func: takes (metadata, children), returns an instance.
      flatten_with_keys_func: takes an instance, returns ((key, child) pairs, metadata);
        gives paths their names.
    """
    default_registry.register_node(
        nodetype, flatten_func, unflatten_func, flatten_with_keys_func
    )


def register_pytree_node_class(cls: Class) -> Class:
    """Class decorator: registers through methods `tree_flatten`, `tree_unflatten`."""
    methods: Any = cls
    register_pytree_node(cls, lambda tree: tree.tree_flatten(), methods.tree_unflatten)
    return cls


def register_pytree_with_keys(
    nodetype: type,
    flatten_with_keys: Callable[[Any], tuple[Iterable[tuple[KeyEntry, Any]], Any]],
    unflatten_func: Callable[[Any, Any], Any],
    flatten_func: Callable[[Any], tuple[Iterable[Any], Any]] | None = None,
) -> None:
    """Like `register_pytree_node`, for a class whose children have named paths."""

    def without_keys(tree: Any) -> tuple[list[Any], Any]:
        pairs, data = flatten_with_keys(tree)
        return [child for _, child in pairs], data

    register_pytree_node(
        nodetype, flatten_func or without_keys, unflatten_func, flatten_with_keys
    )


def register_pytree_with_keys_class(cls: Class) -> Class:
    """Class decorator: as `register_pytree_node_class`, with `tree_flatten_with_keys`."""
    methods: Any = cls
    plain = None
    if hasattr(cls, "tree_flatten"):
        plain = lambda tree: tree.tree_flatten()  # noqa: E731
    register_pytree_with_keys(
        cls,
        lambda tree: tree.tree_flatten_with_keys(),
        methods.tree_unflatten,
        plain,
    )
    return cls


def register_dataclass(
    nodetype: Class,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> Class:
    """Registers a dataclass: data fields are children, meta fields are metadata.

    Without lists of fields, those declared with `tree.static` (or
    `metadata=dict(static=True)`) are metadata and the others children.

    Raises:
      ValueError: if the lists do not cover the fields of the constructor exactly.
    """
    if (data_fields is None) != (meta_fields is None):
        raise TypeError(
            "register_dataclass: pass both data_fields and meta_fields, or neither"
        )
    if data_fields is None or meta_fields is None:
        if not dataclasses.is_dataclass(nodetype):
            raise TypeError(
                f"register_dataclass: {nodetype!r} is not a dataclass, so data_fields "
                "and meta_fields must be given"
            )
        fields = [f for f in dataclasses.fields(nodetype) if f.name not in drop_fields]
        data_fields = [f.name for f in fields if not f.metadata.get("static", False)]
        meta_fields = [f.name for f in fields if f.metadata.get("static", False)]
    if dataclasses.is_dataclass(nodetype):
        _check_fields(nodetype, [*data_fields, *meta_fields], drop_fields)
    default_registry.register_dataclass_node(nodetype, data_fields, meta_fields)
    return nodetype


def _check_fields(cls: Any, given: list[str], dropped: Sequence[str]) -> None:
    wanted = {f.name for f in dataclasses.fields(cls) if f.init} - set(dropped)
    missing = sorted(wanted - set(given))
    extra = sorted(set(given) - wanted)
    twice = sorted({name for name in given if given.count(name) > 1})
    if twice:
        raise ValueError(
            f"register_dataclass: data_fields and meta_fields must not overlap, nor list a"
            f" field twice. Overlapping fields: {set(twice)} of {cls.__name__}"
        )
    if missing:
        raise ValueError(
            "register_dataclass: data_fields and meta_fields must include all dataclass"
            f" fields of {cls.__name__}, or drop_fields names them. Missing fields:"
            f" {set(missing)}"
        )
    if extra:
        raise ValueError(
            "register_dataclass: data_fields and meta_fields must include all dataclass"
            f" fields of {cls.__name__}, and nothing else. Unexpected fields: {set(extra)}"
        )


def register_static(cls: Class) -> Class:
    """Class decorator: instances are containers without children, compared with `==`."""
    register_pytree_node(
        cls, lambda tree: ((), tree), lambda data, children: data, lambda t: ((), t)
    )
    return cls


def static(**kwargs: Any) -> Any:
    """A dataclass field that `register_dataclass` takes as metadata.

    Takes the arguments of `dataclasses.field`.
    """
    metadata = {"static": True, **(kwargs.pop("metadata", None) or {})}
    return dataclasses.field(metadata=metadata, **kwargs)


class _OpaqueFunction:
    """Keeps `functools.partial` from merging a partial function it is given."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __eq__(self, other: object) -> bool:
        function = other.function if type(other) is _OpaqueFunction else other
        return bool(self.function == function)

    def __hash__(self) -> int:
        return hash(self.function)

    def __repr__(self) -> str:
        return repr(self.function)


class Partial(functools.partial[Any]):
    """A `functools.partial` that is a pytree: its bound arguments are children.

    So it can be passed through transformations, as an argument or a result.  The
    function is metadata, compared with `==`.
    """

    def __new__(cls, func: Callable[..., Any], *args: Any, **kw: Any) -> Partial:
        if isinstance(func, functools.partial):
            func = _OpaqueFunction(func)
        return super().__new__(cls, func, *args, **kw)


register_pytree_node(
    Partial,
    lambda partial: ((partial.args, partial.keywords), partial.func),
    lambda func, children: Partial(func, *children[0], **children[1]),
)
