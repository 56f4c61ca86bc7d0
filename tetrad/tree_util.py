"""Pytrees: registering container types, paths, and the functions of `tetrad.tree`."""

from tetrad._src.util.tree import DictKey as DictKey
from tetrad._src.util.tree import FlattenedIndexKey as FlattenedIndexKey
from tetrad._src.util.tree import GetAttrKey as GetAttrKey
from tetrad._src.util.tree import KeyEntry as KeyEntry
from tetrad._src.util.tree import KeyPath as KeyPath
from tetrad._src.util.tree import Partial as Partial
from tetrad._src.util.tree import PyTreeDef as PyTreeDef
from tetrad._src.util.tree import SequenceKey as SequenceKey
from tetrad._src.util.tree import all_leaves as all_leaves
from tetrad._src.util.tree import broadcast as tree_broadcast
from tetrad._src.util.tree import default_registry as default_registry
from tetrad._src.util.tree import flatten as tree_flatten
from tetrad._src.util.tree import flatten_one_level as flatten_one_level
from tetrad._src.util.tree import (
    flatten_one_level_with_keys as flatten_one_level_with_keys,
)
from tetrad._src.util.tree import flatten_with_path as tree_flatten_with_path
from tetrad._src.util.tree import is_tree_node as is_tree_node
from tetrad._src.util.tree import keystr as keystr
from tetrad._src.util.tree import leaves as tree_leaves
from tetrad._src.util.tree import leaves_with_path as tree_leaves_with_path
from tetrad._src.util.tree import map as tree_map
from tetrad._src.util.tree import map_with_path as tree_map_with_path
from tetrad._src.util.tree import reduce as tree_reduce
from tetrad._src.util.tree import reduce_associative as tree_reduce_associative
from tetrad._src.util.tree import register_dataclass as register_dataclass
from tetrad._src.util.tree import register_pytree_node as register_pytree_node
from tetrad._src.util.tree import (
    register_pytree_node_class as register_pytree_node_class,
)
from tetrad._src.util.tree import register_pytree_with_keys as register_pytree_with_keys
from tetrad._src.util.tree import (
    register_pytree_with_keys_class as register_pytree_with_keys_class,
)
from tetrad._src.util.tree import register_static as register_static
from tetrad._src.util.tree import structure as tree_structure
from tetrad._src.util.tree import transpose as tree_transpose
from tetrad._src.util.tree import tree_all as tree_all
from tetrad._src.util.tree import treedef_children as treedef_children
from tetrad._src.util.tree import treedef_is_leaf as treedef_is_leaf
from tetrad._src.util.tree import treedef_tuple as treedef_tuple
from tetrad._src.util.tree import unflatten as tree_unflatten

__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "Partial",
    "PyTreeDef",
    "SequenceKey",
    "all_leaves",
    "default_registry",
    "flatten_one_level",
    "flatten_one_level_with_keys",
    "is_tree_node",
    "keystr",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "tree_all",
    "tree_broadcast",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_with_path",
    "tree_reduce",
    "tree_reduce_associative",
    "tree_structure",
    "tree_transpose",
    "tree_unflatten",
    "treedef_children",
    "treedef_is_leaf",
    "treedef_tuple",
]
