"""Pytrees: structure, order, text, registration, paths, messages, against their rules.

`test_against_jax` compares with JAX where it is installed.
"""

from __future__ import annotations

import collections
import copy
import dataclasses
import functools
import pickle
import threading
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tetrad._src.util import tree as tree_lib
from tetrad._src.util.tree import (
    LEAF,
    NONE,
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    Partial,
    PyTreeDef,
    SequenceKey,
    broadcast_prefix,
    default_registry,
    equality_errors,
    flatten,
    flatten_with_path,
    keystr,
    leaves,
    prefix_errors,
    structure,
    transpose,
    unflatten,
)

Point = collections.namedtuple("Point", ["x", "y"])


@tree_lib.register_pytree_node_class
class Box:
    """Children without keys, metadata a name."""

    def __init__(self, *items: Any, name: str = "box") -> None:
        self.items = items
        self.name = name

    def tree_flatten(self) -> tuple[Any, str]:
        return self.items, self.name

    @classmethod
    def tree_unflatten(cls, name: str, children: Any) -> Box:
        assert type(children) is tuple
        return cls(*children, name=name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Box) and self.items == other.items


@tree_lib.register_pytree_with_keys_class
class Pair:
    """Children with keys."""

    def __init__(self, left: Any, right: Any) -> None:
        self.left = left
        self.right = right

    def tree_flatten_with_keys(self) -> tuple[Any, None]:
        pairs = ((GetAttrKey("left"), self.left), (GetAttrKey("right"), self.right))
        return pairs, None

    @classmethod
    def tree_unflatten(cls, data: None, children: Any) -> Pair:
        return cls(*children)


@tree_lib.register_dataclass
@dataclasses.dataclass
class Layer:
    weight: Any
    bias: Any
    activation: str = tree_lib.static(default="relu")


@tree_lib.register_static
@dataclasses.dataclass(frozen=True)
class Mode:
    name: str


TEXTS = [
    (None, "None"),
    (1, "*"),
    ((), "()"),
    ([], "[]"),
    ({}, "{}"),
    ((1,), "(*,)"),
    ((1, [2, None]), "(*, [*, None])"),
    ({"b": [1, 2], "a": 0}, "{'a': *, 'b': [*, *]}"),
    ({2: 1, 1: ()}, "{1: (), 2: *}"),
    (Point(1, (2,)), "CustomNode(namedtuple[Point], [*, (*,)])"),
    (
        collections.OrderedDict(b=1, a=2),
        "CustomNode(OrderedDict[('b', 'a')], [*, *])",
    ),
    (
        collections.defaultdict(list, b=1, a=2),
        "CustomNode(defaultdict[(<class 'list'>, ('a', 'b'))], [*, *])",
    ),
    (collections.deque([1, 2]), "*"),
    (Box(1, [2]), "CustomNode(Box[box], [*, [*]])"),
    (Pair(1, 2), "CustomNode(Pair[None], [*, *])"),
    (Layer(1, (2,)), "CustomNode(Layer[('relu',)], [*, (*,)])"),
    (Mode("train"), "CustomNode(Mode[Mode(name='train')], [])"),
    (Partial(print, 1, end=2), None),
]


@pytest.mark.parametrize(("tree", "text"), TEXTS)
def test_structure_prints_and_rebuilds(tree: Any, text: str | None) -> None:
    found, treedef = flatten(tree)
    if text is not None:
        assert repr(treedef) == str(treedef) == f"PyTreeDef({text})"
    assert treedef.num_leaves == len(found)
    assert structure(treedef.unflatten(found)) == treedef
    assert leaves(treedef.unflatten(iter(found))) == found


def test_none_is_a_container_without_children() -> None:
    assert leaves([None, 1, None]) == [1]
    assert structure(None) is NONE
    assert tree_lib.map(lambda x: x + 1, (None, 1)) == (None, 2)
    assert leaves([None, 1], is_leaf=lambda x: x is None) == [None, 1]


def test_dict_children_follow_sorted_keys() -> None:
    assert leaves({"b": 1, "a": 2, "c": 0}) == [2, 1, 0]
    assert list(tree_lib.map(lambda x: x, {"b": 1, "a": 2})) == ["a", "b"]
    ordered = collections.OrderedDict(b=1, a=2)
    assert leaves(ordered) == [1, 2]
    assert list(tree_lib.map(lambda x: x, ordered)) == ["b", "a"]
    default = tree_lib.map(lambda x: -x, collections.defaultdict(int, b=1, a=2))
    assert default.default_factory is int
    assert default == {"a": -2, "b": -1}


def test_keys_that_cannot_be_sorted() -> None:
    with pytest.raises(ValueError, match=r"keys that can be sorted; got 1, 'a'"):
        flatten({1: 0, "a": 1})


class SubList(list):  # type: ignore[type-arg]
    pass


class SubDict(dict):  # type: ignore[type-arg]
    pass


class SubPoint(Point):
    pass


def test_subclasses_are_leaves_except_of_namedtuples() -> None:
    tree = [SubList(), SubDict(), SubPoint(1, 2)]
    assert leaves(tree) == [[], {}, 1, 2]
    assert type(tree_lib.map(lambda x: x, tree)[2]) is SubPoint


def test_keys_equal_but_different_are_not_confused() -> None:
    assert repr(structure({1: 0})) == "PyTreeDef({1: *})"
    assert repr(structure({True: 0})) == "PyTreeDef({True: *})"
    assert repr(structure({1.0: 0})) == "PyTreeDef({1.0: *})"
    assert structure({1: 0}) == structure({True: 0})

    class Name(str):
        pass

    flatten({"a": 1})
    (key,) = tree_lib.map(lambda x: x, {Name("a"): 1})
    assert type(key) is Name


def test_a_sequence_of_nodes_is_not_a_sequence_of_leaves() -> None:
    trees = [[0] * n for n in range(40)] + [[[0] * n] for n in range(40)]
    texts = {repr(structure(tree)) for tree in trees}
    assert len(texts) == len(trees)
    assert all(leaves(tree_lib.map(abs, tree)) == leaves(tree) for tree in trees)


# --- Structures --------------------------------------------------------------------------


def test_equal_structures_are_shared() -> None:
    one = structure({"a": 1, "b": (2, None, [3])})
    two = structure({"b": (0, None, [0]), "a": 0})
    assert one is two
    assert structure(Point(1, 2)) is structure(Point(3, 4))
    assert structure(Layer(1, 2)) is structure(Layer(3, 4))


def test_equality_and_hash_do_not_need_sharing() -> None:
    one = structure({"a": [1, (2, Box(3))]})
    tree_lib.clear_pool()
    two = structure({"a": [1, (2, Box(3))]})
    assert one is not two
    assert one == two
    assert hash(one) == hash(two)
    assert one != structure({"a": [1, [2, Box(3)]]})
    assert one != structure({"a": [1, (2, Box(3, name="other"))]})
    assert one != 3
    assert structure([Box(1, name=1)]) == structure([Box(2, name=True)])  # type: ignore[arg-type]


def test_metadata_that_cannot_be_hashed() -> None:
    one = structure(Box(1, name=["list"]))  # type: ignore[arg-type]
    two = structure(Box(1, name=["list"]))  # type: ignore[arg-type]
    assert one == two
    assert hash(one) == hash(two)
    assert {one: 1}[two] == 1


def test_the_pool_is_bounded() -> None:
    from tetrad._src.util import treedef

    for i in range(9000):
        structure({f"key{i}": 0})
    assert len(treedef.pool) <= 8192
    assert tree_lib.clear_pool() > 0
    assert not treedef.pool


def test_methods_of_structures() -> None:
    treedef = structure({"a": 1, "b": [1, 2]})
    assert (treedef.num_leaves, treedef.num_nodes) == (3, 5)
    assert treedef.children() == [LEAF, structure([0, 0])]
    assert treedef.node_data() == (dict, ["a", "b"])
    assert LEAF.node_data() is None
    assert NONE.node_data() == (type(None), None)
    assert structure(Point(1, 2)).node_data() == (Point, Point)
    pair = structure((0, 0))
    assert repr(treedef.compose(pair)) == (
        "PyTreeDef({'a': (*, *), 'b': [(*, *), (*, *)]})"
    )
    assert treedef.from_iterable_tree([1, [2, 3]]) == {"a": 1, "b": [2, 3]}
    walked = treedef.walk(lambda c, data: sum(c), lambda x: 2 * x, [1, 2, 3])
    assert walked == 12
    with pytest.raises(TypeError, match="no constructor"):
        PyTreeDef()


def test_structures_of_structures() -> None:
    parts = [structure([1]), structure(None), LEAF]
    assert repr(tree_lib.treedef_tuple(parts)) == "PyTreeDef(([*], None, *))"
    assert tree_lib.treedef_children(structure((1, None))) == [LEAF, NONE]
    assert tree_lib.treedef_is_leaf(LEAF)
    assert tree_lib.treedef_is_leaf(structure(()))
    assert not tree_lib.treedef_is_leaf(structure((1,)))


@pytest.mark.parametrize(("tree", "text"), TEXTS)
def test_rebuild_from_node_data_and_children(tree: Any, text: str | None) -> None:
    treedef = structure(tree)
    again = PyTreeDef.from_node_data_and_children(
        default_registry, treedef.node_data(), treedef.children()
    )
    assert again == treedef


@pytest.mark.parametrize(("tree", "text"), TEXTS)
def test_structures_pickle_and_copy(tree: Any, text: str | None) -> None:
    treedef = structure(tree)
    assert pickle.loads(pickle.dumps(treedef)) == treedef
    assert copy.deepcopy(treedef) == treedef
    assert copy.copy(treedef) == treedef


def test_unflatten_counts_its_leaves() -> None:
    treedef = structure({"a": 1, "b": [1, 2]})
    with pytest.raises(ValueError, match="has 3 leaves but 2 were given"):
        treedef.unflatten([1, 2])
    with pytest.raises(ValueError, match="has 3 leaves but 4 were given"):
        treedef.unflatten(iter(range(4)))
    with pytest.raises(TypeError, match="must be an iterable, got int"):
        unflatten(treedef, 3)  # type: ignore[arg-type]


def test_flatten_up_to() -> None:
    treedef = structure({"a": 1, "b": [1, None]})
    assert treedef.flatten_up_to({"a": (1, 2), "b": [None, None]}) == [(1, 2), None]
    with pytest.raises(
        ValueError, match=r"at tree\['b'\], expected a list of length 2"
    ):
        treedef.flatten_up_to({"a": 1, "b": [1]})
    with pytest.raises(ValueError, match=r"missing \['b'\], unexpected \['c'\]"):
        treedef.flatten_up_to({"a": 1, "c": 2})
    with pytest.raises(ValueError, match=r"at tree\['b'\]\[1\], expected None"):
        treedef.flatten_up_to({"a": 1, "b": [1, 2]})
    with pytest.raises(ValueError, match="expected a dict .* got a tuple"):
        treedef.flatten_up_to((1, 2))
    with pytest.raises(ValueError, match="metadata"):
        structure(Box(1)).flatten_up_to(Box(1, name="other"))


def test_is_leaf_is_asked_from_the_root_down() -> None:
    asked: list[Any] = []

    def is_leaf(tree: Any) -> bool:
        asked.append(tree)
        return isinstance(tree, tuple)

    found, treedef = flatten([(1, 2), 3, None], is_leaf)
    assert found == [(1, 2), 3]
    assert asked == [[(1, 2), 3, None], (1, 2), 3, None]
    assert repr(treedef) == "PyTreeDef([*, *, None])"


# --- Mapping, folding, transposing -------------------------------------------------------


def test_map_takes_subtrees_at_the_leaves() -> None:
    result = tree_lib.map(lambda *a: a, [1, (2,)], [(3,), (None,)])
    assert result == [(1, (3,)), ((2, None),)]


def test_map_error_names_the_path_and_both_trees() -> None:
    with pytest.raises(ValueError) as caught:
        tree_lib.map(max, {"a": [1, (2, 3)]}, {"a": [1, [2, 3]]})
    message = str(caught.value)
    assert message.startswith(
        "tree.map: tree does not fit rest[0] at ['a'][1]: their types differ."
    )
    assert "tree['a'][1] is a tuple of length 2" in message
    assert "rest[0]['a'][1] is a list of length 2" in message
    marked = [line for line in message.splitlines() if line.startswith(">")]
    assert marked == [">     [1] a tuple of length 2 | >     [1] a list of length 2"]


def test_reductions() -> None:
    assert tree_lib.reduce(lambda a, b: a + b, [1, 2, (3,)]) == 6
    assert tree_lib.reduce(lambda a, b: a + b, [1, 2], 10) == 13
    assert tree_lib.reduce(lambda a, b: a + b, [], None) is None
    with pytest.raises(TypeError, match="empty"):
        tree_lib.reduce(lambda a, b: a + b, ())

    def joined(a: str, b: str) -> str:
        return f"({a}{b})"

    assert tree_lib.reduce_associative(joined, list("abcde")) == "((ab)(c(de)))"
    assert tree_lib.reduce_associative(joined, [], identity="e") == "e"
    with pytest.raises(TypeError, match="identity="):
        tree_lib.reduce_associative(joined, [])
    assert tree_lib.tree_all([True, 1, []])
    assert not tree_lib.tree_all([True, (0,)])
    assert tree_lib.all_leaves([1, "a"])
    assert not tree_lib.all_leaves([1, None])
    assert tree_lib.all_leaves([(1,)], is_leaf=lambda x: isinstance(x, tuple))


def test_transpose() -> None:
    outer, inner = structure([0, 0, 0]), structure({"a": 0, "b": 0})
    tree = [{"a": i, "b": -i} for i in range(3)]
    expected = {"a": [0, 1, 2], "b": [0, -1, -2]}
    assert transpose(outer, inner, tree) == expected
    assert transpose(outer, None, tree) == expected
    with pytest.raises(TypeError, match="structure outer"):
        transpose(outer, inner, [1, 2, 3])
    with pytest.raises(ValueError, match="pass inner_treedef"):
        transpose(structure(()), None, ())


def test_broadcast() -> None:
    assert tree_lib.broadcast((0, None), ({"a": 1, "b": 2}, None)) == (
        {"a": 0, "b": 0},
        None,
    )
    assert broadcast_prefix([1, 2], [(1, 2), {"a": 3}]) == [1, 1, 2]
    axes = broadcast_prefix((0, None), ([1, 2], 3), is_leaf=lambda x: x is None)
    assert axes == [0, 0, None]


def test_broadcast_error_shows_the_trees_side_by_side() -> None:
    with pytest.raises(ValueError) as caught:
        broadcast_prefix(
            (0, {"w": 0}),
            (1, {"w": 1, "b": 2}),
            prefix_name="in_axes",
            full_name="args",
        )
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("in_axes does not fit args at [1]: expected a dict")
    assert lines[3].split("|")[0].strip() == "in_axes"
    assert lines[3].split("|")[1].strip() == "args"
    (marked,) = [line for line in lines if line.startswith(">")]
    assert marked.count(">") == 2


def test_long_trees_are_shown_around_the_difference() -> None:
    long = [*range(300), (1,)]
    (make_error,) = prefix_errors(long, [*range(300), [1]])
    lines = str(make_error("in_axes")).splitlines()
    assert len(lines) < 20
    assert any(line.startswith(">") and "[300]" in line for line in lines)


def test_equality_errors() -> None:
    assert list(equality_errors([1, {"a": 2}], [3, {"a": 4}])) == []
    found = list(equality_errors([1, (2,), 3], [(1,), (2, 3), 3]))
    assert [(path, reason) for path, _, _, reason in found] == [
        ((SequenceKey(0),), "their types differ"),
        ((SequenceKey(1),), "their numbers of children differ"),
    ]


# --- Paths -------------------------------------------------------------------------------


def test_paths_name_every_step() -> None:
    tree = {"k": [Point(1, 2), Box(3), Pair(4, 5), Layer(6, None)]}
    names = [keystr(path) for path, _ in flatten_with_path(tree)[0]]
    assert names == [
        "['k'][0].x",
        "['k'][0].y",
        "['k'][1][<flat index 0>]",
        "['k'][2].left",
        "['k'][2].right",
        "['k'][3].weight",
    ]
    assert flatten_with_path(tree)[1] == structure(tree)


def test_keystr() -> None:
    path = (DictKey("a"), SequenceKey(1), GetAttrKey("z"), FlattenedIndexKey(3))
    assert keystr(path) == "['a'][1].z[<flat index 3>]"
    assert keystr(path, simple=True, separator="/") == "a/1/z/3"
    assert keystr((3, "a")) == "3a"
    assert keystr(()) == ""


def test_path_keys() -> None:
    assert DictKey("a") == DictKey("a")
    assert hash(DictKey("a")) == hash(DictKey("a"))
    assert DictKey(0) != SequenceKey(0)
    assert DictKey(0) != FlattenedIndexKey(0)
    assert repr(DictKey(key="a")) == "DictKey(key='a')"
    assert repr(SequenceKey(idx=2)) == "SequenceKey(idx=2)"
    assert repr(GetAttrKey(name="q")) == "GetAttrKey(name='q')"
    assert repr(FlattenedIndexKey(key=1)) == "FlattenedIndexKey(key=1)"
    for key in (DictKey("a"), SequenceKey(0), GetAttrKey("b"), FlattenedIndexKey(1)):
        assert pickle.loads(pickle.dumps(key)) == key
    match DictKey("a"):
        case DictKey(key=name):
            assert name == "a"


def test_map_with_path_and_is_leaf_with_path() -> None:
    named = tree_lib.map_with_path(
        lambda p, x, y: (keystr(p), x + y), [1, (2,)], [3, (4,)]
    )
    assert named == [("[0]", 4), (("[1][0]", 6),)]
    found, _ = flatten_with_path(
        [1, {"a": (2,)}], is_leaf=lambda p, x: len(p) == 2, is_leaf_takes_path=True
    )
    assert found[1] == ((SequenceKey(1), DictKey("a")), (2,))
    found, _ = flatten_with_path([(1,), None], is_leaf=lambda x: x is None)
    assert [leaf for _, leaf in found] == [1, None]


# --- Registration ------------------------------------------------------------------------


def test_register_pytree_node() -> None:
    class Stack:
        def __init__(self, items: list[Any]) -> None:
            self.items = items

    assert leaves([Stack([1])]) != [1]
    tree_lib.register_pytree_node(
        Stack, lambda s: (s.items, None), lambda data, c: Stack(list(c))
    )
    assert leaves([Stack([1, (2,)])]) == [1, 2]
    assert tree_lib.is_tree_node(Stack)
    assert tree_lib.flatten_one_level(Stack([1, (2,)])) == ([1, (2,)], None)
    with pytest.raises(ValueError, match="already"):
        tree_lib.register_pytree_node(Stack, lambda s: ((), None), lambda d, c: None)


def test_registration_explains_bad_arguments() -> None:
    class Thing:
        pass

    with pytest.raises(TypeError, match="must be callable"):
        tree_lib.register_pytree_node(Thing, None, None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="must be a class"):
        tree_lib.register_pytree_node(3, list, list)  # type: ignore[arg-type]
    tree_lib.register_pytree_node(Thing, lambda t: [1, 2, 3], lambda d, c: None)  # type: ignore[arg-type, return-value]
    with pytest.raises(
        ValueError, match=r"should return a .* got \[1, 2, 3\] from that of .*Thing"
    ):
        flatten(Thing())


def test_a_namedtuple_class_may_be_registered_after_it_was_met() -> None:
    Late = collections.namedtuple("Late", ["a", "b"])
    assert leaves(Late(1, 2)) == [1, 2]
    tree_lib.register_pytree_node(
        Late, lambda t: ((t.b,), t.a), lambda a, c: Late(a, c[0])
    )
    assert leaves(Late(1, 2)) == [2]
    assert leaves([Late(1, 2), 3]) == [2, 3]


def test_register_dataclass_checks_its_fields() -> None:
    @dataclasses.dataclass
    class Model:
        a: int
        b: int
        c: int = dataclasses.field(init=False, default=0)

    with pytest.raises(ValueError, match=r"Unexpected fields: \{'c'\}"):
        tree_lib.register_dataclass(Model)
    with pytest.raises(ValueError, match=r"Missing fields: \{'b'\}"):
        tree_lib.register_dataclass(Model, ["a"], [])
    with pytest.raises(TypeError, match="both data_fields and meta_fields"):
        tree_lib.register_dataclass(Model, ["a"])
    tree_lib.register_dataclass(Model, data_fields=["a"], meta_fields=["b"])
    assert tree_lib.map(lambda x: x + 1, Model(1, 2)) == Model(2, 2)
    with pytest.raises(TypeError, match="not a dataclass"):
        tree_lib.register_dataclass(type("Plain", (), {}))


def test_static_nodes_compare_by_value() -> None:
    assert leaves(Mode("a")) == []
    assert structure(Mode("a")) == structure(Mode("a"))
    assert structure(Mode("a")) != structure(Mode("b"))
    assert tree_lib.map(lambda x: x, [Mode("a")]) == [Mode("a")]


def test_partial_is_a_pytree() -> None:
    partial = Partial(max, 1, key=None)
    assert leaves(Partial(print, 1, end=2)) == [1, 2]
    doubled = tree_lib.map(lambda x: 2 * x, Partial(max, 1, 5))
    assert doubled(3) == 10
    assert isinstance(partial, functools.partial)
    inner = Partial(Partial(pow, 2), 5)
    assert leaves(inner) == [5]
    assert inner() == 32
    assert structure(inner) == structure(Partial(inner.func, 6))
    assert Partial(functools.partial(pow, 2), 3)() == 8


def test_one_level() -> None:
    assert tree_lib.flatten_one_level({"b": 1, "a": 2}) == ([2, 1], ("a", "b"))
    assert tree_lib.flatten_one_level(None) == ([], None)
    pairs, _ = tree_lib.flatten_one_level_with_keys(Point(1, 2))
    assert list(pairs) == [(GetAttrKey("x"), 1), (GetAttrKey("y"), 2)]
    with pytest.raises(ValueError, match="int 1 is a leaf"):
        tree_lib.flatten_one_level(1)
    assert default_registry.flatten_one_level(1) is None
    assert default_registry.is_node(dict)
    assert default_registry.flatten([1, (2,)])[0] == [1, 2]
    assert default_registry.flatten_with_path([1])[0] == [((SequenceKey(0),), 1)]


def test_the_facades_hold_the_names() -> None:
    import tetrad.tree
    import tetrad.tree_util

    for module in (tetrad.tree, tetrad.tree_util):
        for name in module.__all__:
            assert hasattr(module, name)
    assert tetrad.tree.map is tetrad.tree_util.tree_map


def test_threads_flatten_at_once() -> None:
    tree_lib.clear_pool()
    results: list[list[PyTreeDef]] = []

    def work() -> None:
        results.append([structure({f"key{i}": [i, (i,)]}) for i in range(500)])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    assert results[0] == results[1] == results[2] == results[3]


# --- Properties --------------------------------------------------------------------------

keys = st.text("abc", min_size=1, max_size=2)
trees = st.recursive(
    st.integers() | st.none(),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(keys, inner, max_size=3),
        st.dictionaries(st.integers(), inner, max_size=3),
        st.tuples(inner, inner).map(lambda pair: Point(*pair)),
        st.lists(inner, max_size=3).map(lambda items: Box(*items)),
    ),
    max_leaves=12,
)


@settings(deadline=None)
@given(trees)
def test_flatten_then_unflatten_is_identity(tree: Any) -> None:
    found, treedef = flatten(tree)
    assert unflatten(treedef, found) == tree
    assert [leaf for _, leaf in flatten_with_path(tree)[0]] == found
    assert flatten_with_path(tree)[1] == treedef
    assert flatten(tree, is_leaf=lambda x: False)[1] == treedef
    assert treedef.flatten_up_to(tree) == found
    assert treedef.num_leaves == len(found)
    tree_lib.clear_pool()
    assert structure(tree) == treedef
    assert hash(structure(tree)) == hash(treedef)


@settings(deadline=None)
@given(trees, trees)
def test_structures_are_equal_exactly_when_they_print_alike(a: Any, b: Any) -> None:
    one, two = structure(a), structure(b)
    assert (one == two) == (repr(one) == repr(two))
    assert (one == two) == (not list(equality_errors(a, b)))


@settings(deadline=None)
@given(trees, trees)
def test_compose_is_substitution(outer: Any, inner: Any) -> None:
    composed = structure(outer).compose(structure(inner))
    assert composed == structure(tree_lib.map(lambda _: inner, outer))


@pytest.mark.oracle
@settings(deadline=None)
@given(trees)
def test_against_jax(tree: Any) -> None:
    import jax.tree_util as jax_util

    if not jax_util.is_tree_node(Box):
        jax_util.register_pytree_node_class(Box)
    found, treedef = jax_util.tree_flatten(tree)
    assert leaves(tree) == found
    assert repr(structure(tree)) == repr(treedef)
    assert structure(tree).num_nodes == treedef.num_nodes
    ours = [(keystr(path), leaf) for path, leaf in flatten_with_path(tree)[0]]
    theirs, _ = jax_util.tree_flatten_with_path(tree)
    assert ours == [(jax_util.keystr(path), leaf) for path, leaf in theirs]
