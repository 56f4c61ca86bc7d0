"""Functions on pytrees: nested containers of arrays."""

from tetrad._src.util.tree import broadcast as broadcast
from tetrad._src.util.tree import flatten as flatten
from tetrad._src.util.tree import flatten_with_path as flatten_with_path
from tetrad._src.util.tree import leaves as leaves
from tetrad._src.util.tree import leaves_with_path as leaves_with_path
from tetrad._src.util.tree import map as map
from tetrad._src.util.tree import map_with_path as map_with_path
from tetrad._src.util.tree import reduce as reduce
from tetrad._src.util.tree import reduce_associative as reduce_associative
from tetrad._src.util.tree import static as static
from tetrad._src.util.tree import structure as structure
from tetrad._src.util.tree import transpose as transpose
from tetrad._src.util.tree import tree_all as all
from tetrad._src.util.tree import unflatten as unflatten

__all__ = [
    "all",
    "broadcast",
    "flatten",
    "flatten_with_path",
    "leaves",
    "leaves_with_path",
    "map",
    "map_with_path",
    "reduce",
    "reduce_associative",
    "static",
    "structure",
    "transpose",
    "unflatten",
]
