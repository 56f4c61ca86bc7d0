"""The structure of a pytree: its containers without its leaves.

A pytree is a leaf or a container of pytrees.  Containers are `None` (no children),
tuples, lists, dicts (children in the order of their sorted keys), namedtuples,
`OrderedDict`, `defaultdict` and the classes a program registers; every other type,
subclasses of the built-in containers included, is a leaf.  A `NodeKind` says how one
container type is taken apart and put together; a `PyTreeDef` is a tree of kinds.

Structures stand in every compilation key, so they are pooled: two trees of one shape
have the very same `PyTreeDef` object wherever that is provably harmless (text keys, no
foreign metadata).  The pool is bounded; equality and hashing stay structural, and
identity is only their fast path.

Reading order: `PyTreeDef`, mismatches, the kinds of nodes and their table, the pool.
"""

from __future__ import annotations

import collections
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, Protocol

from tetrad._src.util.treekeys import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    KeyedChildren,
    KeyEntry,
    KeyPath,
    SequenceKey,
)

__all__ = [
    "DICT_KIND",
    "LEAF",
    "LIST_KIND",
    "NONE",
    "NONE_KIND",
    "NodeKind",
    "PyTreeDef",
    "TUPLE_KIND",
    "clear_pool",
    "describe",
    "kind_of",
    "make_node",
    "node_of",
    "pool",
    "pooled_node",
    "register_kind",
    "shortened",
    "sorted_keys",
]


class _Registry(Protocol):
    """What knows whether a type is a node (see `PyTreeRegistry`)."""

    def is_node(self, cls: type) -> bool: ...


class PyTreeDef:
    """The structure of a pytree: its containers without its leaves.

    `PyTreeDef`s are immutable, hashable (metadata that cannot be hashed is left out of
    the hash), comparable with `==`, and pickle when their metadata does.  They come from
    `tree.flatten` or `tree.structure`; there is no public constructor.
    """

    __slots__ = (
        "_assemble",
        "_children",
        "_data",
        "_flat",
        "_hash",
        "_kind",
        "_serial",
        "num_leaves",
        "num_nodes",
    )

    _kind: NodeKind
    _data: Any
    _flat: bool  # a container of leaves only
    _children: tuple[PyTreeDef, ...]
    _assemble: Callable[[Iterable[Any]], Any]
    _hash: int | None
    _serial: int
    num_leaves: int
    num_nodes: int

    def __new__(cls) -> PyTreeDef:
        raise TypeError(
            "PyTreeDef has no constructor: take the structure of an example with "
            "tree.structure(example), or use PyTreeDef.from_node_data_and_children"
        )

    # Building a tree from leaves.

    def unflatten(self, leaves: Iterable[Any], /) -> Any:
        """Builds the tree that has this structure and these `leaves`, in order.

        Raises:
          ValueError: if the number of leaves is not `num_leaves`.
        """
        if type(leaves) is not list and type(leaves) is not tuple:
            leaves = _listed(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"unflatten: this structure has {self.num_leaves} leaves but "
                f"{len(leaves)} were given; the structure is {self}"
            )
        if self._flat:
            return self._assemble(leaves)
        if self is LEAF:
            return leaves[0]
        return _build(self, iter(leaves))

    def walk(
        self,
        f_node: Callable[[Any, Any], Any],
        f_leaf: Callable[[Any], Any] | None,
        leaves: Iterable[Any],
        /,
    ) -> Any:
        """Folds `leaves` from below: `f_leaf(leaf)`, `f_node(children, node_data)`."""
        values = _listed(leaves)
        if len(values) != self.num_leaves:
            raise ValueError(
                f"walk: this structure has {self.num_leaves} leaves but "
                f"{len(values)} were given"
            )
        return _walk(self, f_node, f_leaf, iter(values))

    def from_iterable_tree(self, tree: Any, /) -> Any:
        """Builds the tree of this structure whose nodes are given as plain iterables."""
        if self._kind is LEAF_KIND:
            return tree
        children = list(tree)
        if len(children) != len(self._children):
            raise ValueError(
                f"from_iterable_tree: {self} has {len(self._children)} children but "
                f"{len(children)} were given"
            )
        pairs = zip(self._children, children)
        return self._assemble([node.from_iterable_tree(c) for node, c in pairs])

    # Taking a tree apart along this structure.

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """Lists the subtrees of `tree` that stand where this structure has leaves.

        Raises:
          ValueError: if this structure is not a prefix of `tree`; the message names the
            first place where they differ.
        """
        found: list[Any] = []
        try:
            _flatten_up_to(self, tree, found)
        except StructureMismatch as mismatch:
            raise ValueError(f"flatten_up_to: {mismatch}") from None
        return found

    # Looking inside, and composition.

    def children(self) -> list[PyTreeDef]:
        """The structures of the children of the root, in order."""
        return list(self._children)

    def node_data(self) -> tuple[type, Any] | None:
        """The type and metadata of the root node, or None for a leaf."""
        if self._kind is LEAF_KIND:
            return None
        data = list(self._data) if self._kind.type is dict else self._data
        return self._kind.type, data

    @staticmethod
    def from_node_data_and_children(
        registry: _Registry,
        node_data: tuple[type, Any] | None,
        children: Iterable[PyTreeDef],
    ) -> PyTreeDef:
        """Rebuilds a structure from what `node_data()` and `children()` returned."""
        parts = tuple(children)
        if node_data is None:
            return LEAF
        cls, data = node_data
        kind = kind_of(cls) if registry.is_node(cls) else None
        if kind is None:
            raise ValueError(
                f"from_node_data_and_children: {cls!r} is not a pytree node type; "
                "register it first, for example with register_pytree_node"
            )
        data = tuple(data) if cls is dict else data
        return make_node(kind, data, parts)

    make_from_node_data_and_children = from_node_data_and_children

    def compose(self, inner: PyTreeDef, /) -> PyTreeDef:
        """The structure with a copy of `inner` in the place of every leaf."""
        if type(inner) is not PyTreeDef:
            raise TypeError(f"compose expects a PyTreeDef, got {type(inner).__name__}")
        if self._kind is LEAF_KIND:
            return inner
        parts = tuple([child.compose(inner) for child in self._children])
        return make_node(self._kind, self._data, parts)

    # Identity, text, pickling.

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(other) is not PyTreeDef:
            return NotImplemented
        return (
            self._kind is other._kind
            and self.num_nodes == other.num_nodes
            and self.num_leaves == other.num_leaves
            and (self._data is other._data or bool(self._data == other._data))
            and self._children == other._children
        )

    def __hash__(self) -> int:
        value = self._hash
        if value is None:
            try:
                of_data = hash(self._data)
            except TypeError:
                of_data = 0
            value = hash((self._kind.type, of_data, self._children))
            self._hash = value
        return value

    def __repr__(self) -> str:
        return f"PyTreeDef({self._text()})"

    def _text(self) -> str:
        if self._kind is LEAF_KIND:
            return "*"
        return self._kind.text(self._data, [child._text() for child in self._children])

    def __reduce__(self) -> tuple[Any, ...]:
        if self._kind is LEAF_KIND:
            return _unpickle_leaf, ()
        return _unpickle_node, (self._kind.type, self._data, self._children)


def _unpickle_leaf() -> PyTreeDef:
    return LEAF


def _unpickle_node(cls: type, data: Any, children: tuple[PyTreeDef, ...]) -> PyTreeDef:
    kind = kind_of(cls)
    if kind is None:
        raise TypeError(
            f"cannot unpickle a PyTreeDef: {cls!r} is not registered as a pytree node "
            "in this process"
        )
    return make_node(kind, data, children)


def _listed(leaves: Iterable[Any]) -> list[Any]:
    try:
        return list(leaves)
    except TypeError:
        raise TypeError(
            f"the leaves must be an iterable, got {type(leaves).__name__}"
        ) from None


def _build(node: PyTreeDef, leaves: Iterator[Any]) -> Any:
    """Builds a container from as many of the `leaves` as it has."""
    if node._flat:
        return node._assemble(itertools.islice(leaves, node.num_leaves))
    children = [
        next(leaves) if child is LEAF else _build(child, leaves)
        for child in node._children
    ]
    return node._assemble(children)


def _walk(
    node: PyTreeDef,
    f_node: Callable[[Any, Any], Any],
    f_leaf: Callable[[Any], Any] | None,
    leaves: Iterator[Any],
) -> Any:
    if node._kind is LEAF_KIND:
        leaf = next(leaves)
        return leaf if f_leaf is None else f_leaf(leaf)
    children = tuple([_walk(c, f_node, f_leaf, leaves) for c in node._children])
    described = node.node_data()
    return f_node(children, None if described is None else described[1])


# --- Where a structure and a tree part company -------------------------------------------


class StructureMismatch(Exception):
    """Internal: says why a tree does not follow a structure, and at which path."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        self.path: KeyPath = ()

    def below(self, key: KeyEntry) -> StructureMismatch:
        self.path = (key, *self.path)
        return self

    def __str__(self) -> str:
        place = "".join(str(key) for key in self.path)
        return f"at tree{place}, {self.reason}" if place else f"{self.reason}"


def _flatten_up_to(node: PyTreeDef, tree: Any, found: list[Any]) -> None:
    kind = node._kind
    if kind is LEAF_KIND:
        found.append(tree)
        return
    if kind_of(type(tree)) is not kind:
        hint = ""
        if kind.type is type(None):
            hint = (
                "; None is a container without children: to treat it as a leaf, pass "
                "is_leaf=lambda x: x is None"
            )
        raise StructureMismatch(
            f"expected {kind.describe(node._data, len(node._children))}, "
            f"got {describe(tree)}{hint}"
        )
    children, data = kind.flatten(tree)
    if not (data is node._data or data == node._data):
        raise StructureMismatch(kind.data_difference(node._data, data))
    if len(children) != len(node._children):
        raise StructureMismatch(
            f"expected {kind.describe(node._data, len(node._children))}, "
            f"got one of length {len(children)}"
        )
    for index, child in enumerate(children):
        part = node._children[index]
        if part is LEAF:
            found.append(child)
            continue
        try:
            _flatten_up_to(part, child, found)
        except StructureMismatch as mismatch:
            raise mismatch.below(kind.keyed(tree)[0][index][0]) from None


def describe(tree: Any) -> str:
    """A few words for a tree or leaf in an error message."""
    kind = kind_of(type(tree))
    if kind is not None:
        children, data = kind.flatten(tree)
        return kind.describe(data, len(children))
    shape = getattr(tree, "shape", None)
    dtype = getattr(tree, "dtype", None)
    if isinstance(shape, tuple) and dtype is not None:
        extents = ",".join(str(n) for n in shape)
        name = type(tree).__name__
        # What stands for an array in a transformation is an array to the user.
        name = "array" if name.endswith(("Tracer", "Aval")) else name
        return f"{name} {dtype}[{extents}]"
    text = repr(tree)
    if len(text) > 40:
        text = f"{text[:37]}..."
    return f"{type(tree).__name__} {text}"


# --- Kinds of nodes ----------------------------------------------------------------------


class NodeKind:
    """How one container type is taken apart and put together.

    `flatten(tree)` gives (children, metadata); `keyed(tree)` gives ((key, child) pairs,
    metadata); `unflatten(metadata, children)` builds the container.
    """

    __slots__ = ("flatten", "name", "type", "unflatten", "with_keys")

    def __init__(
        self,
        cls: type,
        flatten: Callable[[Any], tuple[Sequence[Any], Any]],
        unflatten: Callable[[Any, Any], Any],
        with_keys: Callable[[Any], tuple[KeyedChildren, Any]] | None = None,
    ) -> None:
        self.type = cls
        self.name = cls.__name__
        self.flatten = flatten
        self.unflatten = unflatten
        self.with_keys = with_keys

    def keyed(self, tree: Any) -> tuple[KeyedChildren, Any]:
        if self.with_keys is not None:
            return self.with_keys(tree)
        children, data = self.flatten(tree)
        return [(FlattenedIndexKey(i), c) for i, c in enumerate(children)], data

    def assembler(self, data: Any) -> Callable[[Iterable[Any]], Any]:
        unflatten = self.unflatten
        return lambda children: unflatten(data, tuple(children))

    def text(self, data: Any, children: list[str]) -> str:
        return f"CustomNode({self.name}[{data}], [{', '.join(children)}])"

    def describe(self, data: Any, arity: int) -> str:
        children = "1 child" if arity == 1 else f"{arity} children"
        return f"{self.name} with {children}"

    def data_difference(self, expected: Any, got: Any) -> str:
        return (
            f"expected {self.name} with metadata {shortened(expected)}, "
            f"got metadata {shortened(got)}"
        )


def shortened(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:197]}..."


class _LeafKind(NodeKind):
    __slots__ = ()

    def text(self, data: Any, children: list[str]) -> str:
        return "*"

    def describe(self, data: Any, arity: int) -> str:
        return "a leaf"


class _NoneKind(NodeKind):
    __slots__ = ()

    def assembler(self, data: Any) -> Callable[[Iterable[Any]], Any]:
        return lambda children: None

    def text(self, data: Any, children: list[str]) -> str:
        return "None"

    def describe(self, data: Any, arity: int) -> str:
        return "None"


class _SequenceKind(NodeKind):
    __slots__ = ()

    def assembler(self, data: Any) -> Callable[[Iterable[Any]], Any]:
        build: Callable[[Iterable[Any]], Any] = self.type
        return build

    def text(self, data: Any, children: list[str]) -> str:
        inside = ", ".join(children)
        if self.type is list:
            return f"[{inside}]"
        return f"({inside},)" if len(children) == 1 else f"({inside})"

    def describe(self, data: Any, arity: int) -> str:
        return f"a {self.name} of length {arity}"


class _MappingKind(NodeKind):
    """`dict`: its metadata is the tuple of sorted keys."""

    __slots__ = ()

    def assembler(self, data: Any) -> Callable[[Iterable[Any]], Any]:
        return lambda children: dict(zip(data, children))

    def text(self, data: Any, children: list[str]) -> str:
        pairs = zip(data, children)
        return "{" + ", ".join(f"{key!r}: {child}" for key, child in pairs) + "}"

    def describe(self, data: Any, arity: int) -> str:
        return f"a dict with keys {shortened(list(data))}"

    def data_difference(self, expected: Any, got: Any) -> str:
        missing = [key for key in expected if key not in got]
        extra = [key for key in got if key not in expected]
        parts = []
        if missing:
            parts.append(f"missing {shortened(missing)}")
        if extra:
            parts.append(f"unexpected {shortened(extra)}")
        return (
            f"expected a dict with keys {shortened(list(expected))}, "
            f"got keys {shortened(list(got))} ({', '.join(parts)})"
        )


class _NamedTupleKind(NodeKind):
    """A class made by `namedtuple`: its metadata is the class itself."""

    __slots__ = ()

    def __init__(self, cls: type) -> None:
        fields: tuple[str, ...] = cls._fields  # type: ignore[attr-defined]
        keys = [GetAttrKey(name) for name in fields]
        super().__init__(
            cls,
            lambda tree: (tuple(tree), cls),
            lambda data, children: cls(*children),
            lambda tree: (list(zip(keys, tree)), cls),
        )

    def text(self, data: Any, children: list[str]) -> str:
        return f"CustomNode(namedtuple[{self.name}], [{', '.join(children)}])"


def sorted_keys(mapping: dict[Any, Any]) -> list[Any]:
    """The keys of a dict in the order of its children."""
    try:
        return sorted(mapping)
    except Exception as error:
        names = ", ".join(shortened(key) for key in itertools.islice(mapping, 6))
        raise ValueError(
            f"a dict in a pytree needs keys that can be sorted; got {names} ({error})"
        ) from error


def _flatten_sequence(tree: Sequence[Any]) -> tuple[Sequence[Any], None]:
    return tree, None


def _key_sequence(tree: Sequence[Any]) -> tuple[KeyedChildren, None]:
    return [(SequenceKey(i), child) for i, child in enumerate(tree)], None


def _flatten_mapping(tree: dict[Any, Any]) -> tuple[list[Any], tuple[Any, ...]]:
    keys = tuple(sorted_keys(tree))
    return [tree[key] for key in keys], keys


def _key_mapping(tree: dict[Any, Any]) -> tuple[KeyedChildren, tuple[Any, ...]]:
    keys = tuple(sorted_keys(tree))
    return [(DictKey(key), tree[key]) for key in keys], keys


def _key_ordered(tree: dict[Any, Any]) -> tuple[KeyedChildren, tuple[Any, ...]]:
    return [(DictKey(key), value) for key, value in tree.items()], tuple(tree)


def _flatten_default(
    tree: collections.defaultdict[Any, Any],
) -> tuple[list[Any], tuple[Any, tuple[Any, ...]]]:
    children, keys = _flatten_mapping(tree)
    return children, (tree.default_factory, keys)


def _key_default(
    tree: collections.defaultdict[Any, Any],
) -> tuple[KeyedChildren, tuple[Any, tuple[Any, ...]]]:
    pairs, keys = _key_mapping(tree)
    return pairs, (tree.default_factory, keys)


def _unflatten_default(
    data: tuple[Any, tuple[Any, ...]], children: Iterable[Any]
) -> collections.defaultdict[Any, Any]:
    factory, keys = data
    return collections.defaultdict(factory, zip(keys, children))


LEAF_KIND: Final = _LeafKind(object, lambda tree: ((), None), lambda data, c: None)
NONE_KIND: Final = _NoneKind(
    type(None),
    lambda tree: ((), None),
    lambda data, children: None,
    lambda tree: ((), None),
)
TUPLE_KIND: Final = _SequenceKind(
    tuple, _flatten_sequence, lambda data, children: tuple(children), _key_sequence
)
LIST_KIND: Final = _SequenceKind(
    list, _flatten_sequence, lambda data, children: list(children), _key_sequence
)
DICT_KIND: Final = _MappingKind(
    dict,
    _flatten_mapping,
    lambda data, children: dict(zip(data, children)),
    _key_mapping,
)
ORDERED_KIND: Final = NodeKind(
    collections.OrderedDict,
    lambda tree: (list(tree.values()), tuple(tree)),
    lambda data, children: collections.OrderedDict(zip(data, children)),
    _key_ordered,
)
DEFAULT_KIND: Final = NodeKind(
    collections.defaultdict, _flatten_default, _unflatten_default, _key_default
)


# --- The table of kinds ------------------------------------------------------------------


class _Kinds(dict[type, NodeKind | None]):
    """Classifies a type when it is first met: namedtuples are nodes, others leaves."""

    def __missing__(self, cls: type) -> NodeKind | None:
        kind = None
        if issubclass(cls, tuple) and hasattr(cls, "_fields"):
            kind = _NamedTupleKind(cls)
        return self.setdefault(cls, kind)


_kinds = _Kinds()


def kind_of(cls: type) -> NodeKind | None:
    """The kind of node that instances of exactly this class are; None for leaves."""
    return _kinds[cls]


def register_kind(kind: NodeKind) -> None:
    """Makes instances of `kind.type` nodes; a type can be registered once."""
    cls = kind.type
    known = _kinds.get(cls)
    if known is not None and type(known) is not _NamedTupleKind:
        raise ValueError(
            f"{cls.__module__}.{cls.__qualname__} is registered as a pytree node "
            "already; a type can be registered only once"
        )
    _kinds[cls] = kind


for _kind in (NONE_KIND, TUPLE_KIND, LIST_KIND, DICT_KIND, ORDERED_KIND, DEFAULT_KIND):
    register_kind(_kind)


# --- Making structures -------------------------------------------------------------------

# Serial numbers name pooled structures in the keys of the pool, which are
# (kind, metadata, number of leaves) or (kind, metadata, serials of the children).
# Structures that cannot be shared by equality carry UNPOOLED; so does what contains them.
UNPOOLED: Final = -1
_POOL_LIMIT: Final = 8192
_serials = itertools.count(1)
pool: dict[Any, PyTreeDef] = {}


def _new_structure(
    kind: NodeKind, data: Any, children: tuple[PyTreeDef, ...], serial: int
) -> PyTreeDef:
    node: PyTreeDef = object.__new__(PyTreeDef)
    node._kind = kind
    node._data = data
    node._children = children
    node._assemble = kind.assembler(data)
    node._hash = None
    node._serial = serial
    node.num_leaves = sum([child.num_leaves for child in children])
    node._flat = all(child is LEAF for child in children)
    node.num_nodes = 1 + sum([child.num_nodes for child in children])
    return node


LEAF: Final = _new_structure(LEAF_KIND, None, (), next(_serials))
LEAF._flat = False
LEAF.num_leaves = 1
NONE: Final = _new_structure(NONE_KIND, None, (), next(_serials))


def pooled_node(
    kind: NodeKind, data: Any, parts: Sequence[PyTreeDef] | None, count: int
) -> PyTreeDef:
    """The shared structure of a node with `count` children; see `node_of`."""
    key = (kind, data, count if parts is None else tuple([p._serial for p in parts]))
    known = pool.get(key)
    if known is not None:
        return known
    children = (LEAF,) * count if parts is None else tuple(parts)
    if any(child._serial == UNPOOLED for child in children):
        return _new_structure(kind, data, children, UNPOOLED)
    if len(pool) >= _POOL_LIMIT:
        pool.clear()
    node = _new_structure(kind, data, children, next(_serials))
    return pool.setdefault(key, node)


def node_of(
    kind: NodeKind, data: Any, parts: Sequence[PyTreeDef] | None, count: int
) -> PyTreeDef:
    """The structure of a node; `parts` must be None if its `count` children are leaves.

    It is shared where equal metadata is the same metadata; 1, 1.0 and True are equal.
    """
    if data is None or _is_text(data) or data is kind.type:
        return NONE if kind is NONE_KIND else pooled_node(kind, data, parts, count)
    children = (LEAF,) * count if parts is None else tuple(parts)
    return _new_structure(kind, data, children, UNPOOLED)


def make_node(kind: NodeKind, data: Any, children: Sequence[PyTreeDef]) -> PyTreeDef:
    """The structure of one node over those of its children."""
    nested = any(child is not LEAF for child in children)
    return node_of(kind, data, children if nested else None, len(children))


def _is_text(data: Any) -> bool:
    if type(data) is tuple:
        for item in data:  # noqa: SIM110  (a loop: this is on the path of every dict)
            if type(item) is not str:
                return False
        return True
    return type(data) is str


def clear_pool() -> int:
    """Forgets the shared structures (those in use stay valid); returns how many."""
    count = len(pool)
    pool.clear()
    return count
