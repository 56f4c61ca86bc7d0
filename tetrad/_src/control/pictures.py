"""What functions should have returned and what they returned, side by side, for messages.

In: structures with the types of their leaves, or with the leaves. Out: text, in which the
first difference is marked, and the return statement or call that would fit.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from tetrad._src.control.signature import name_of, signature_of
from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import Value
from tetrad._src.util import tree

LONGEST = 60  # characters of a return statement

# A name, a structure, and its leaves or their types.
Named = tuple[str, Any, Sequence[Any]]


class Shown:
    """A leaf that messages show as its type."""

    __slots__ = ("aval",)

    def __init__(self, aval: Aval) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return self.aval.long_name()


Shown.__name__ = "array"  # what a message calls it


def differing_structures(one: Named, other: Named) -> str:
    """Two structures side by side, with the first difference marked."""
    trees = [
        treedef.unflatten([_shown(x) for x in leaves])
        for _, treedef, leaves in (one, other)
    ]
    return tree.difference_text(one[0], trees[0], other[0], trees[1])


def _shown(x: Any) -> Any:
    if isinstance(x, Aval):
        return Shown(x)
    return Shown(x.aval) if isinstance(x, Value) else x


def skeleton(treedef: Any) -> str:
    """A structure as a user writes it, with dots for its leaves: `{'w': ..., 'b': ...}`.

    >>> skeleton(tree.structure({"w": 0, "b": (1, None)}))
    "{'b': (..., None), 'w': ...}"
    """
    text = str(treedef).removeprefix("PyTreeDef(").removesuffix(")")
    return text.replace("*", "...")


def to_return(treedef: Any, rest: str = "") -> str:
    """A sentence with the return statement that fits a structure; empty if it is long."""
    if tree.treedef_is_leaf(treedef) and treedef.num_leaves:
        return " Return one array" + (f", as in `return carry{rest}`." if rest else ".")
    text = f"return {skeleton(treedef)}{rest}"
    return f" Write `{text}`." if len(text) <= LONGEST else ""


def described(value: Any) -> str:
    """A value that a function should not have returned, in a few words."""
    if isinstance(value, (tuple, list)):
        return f"a {type(value).__name__} of length {len(value)}"
    if isinstance(value, dict):
        keys = ", ".join([repr(key) for key in value][:6])
        return f"a dict with keys {keys}" if value else "an empty dict"
    if isinstance(value, Value):
        return f"one array {value.aval.long_name()}"
    if value is None:
        return "None"
    return f"a value of type {type(value).__name__}"


def called(fun: Any, role: str) -> str:
    """A function as messages name it: by its own name, or by the argument it is."""
    name = name_of(fun)
    return f"`{name}`" if name.isidentifier() else f"the function `{role}`"


def call(
    what: str, role: str, fun: Callable[..., Any], args: Sequence[Any], takes: str
) -> Any:
    """Calls a user's function; if it takes other arguments, the error says which.

    `takes` names the arguments that it should take, as in `carry, x`.
    """
    try:
        return fun(*args)
    except TypeError:
        signature = signature_of(fun)
        if signature is None or _binds(signature, args):
            raise
    count = len(args)
    plural = "" if count == 1 else "s"
    given = f"{count or 'no'} argument{plural}" + (f" ({takes})" if takes else "")
    parameters = [str(p) for p in signature.parameters.values()]
    name = name_of(fun)
    wanted = takes or ", ".join("xyzuvw"[:count])
    head = f"def {name}({wanted}):" if name.isidentifier() else f"lambda {wanted}: ..."
    advice = f"Write `{head.replace('lambda :', 'lambda:')}`"
    if count and len(parameters) > count:
        advice += ", or give the rest beforehand with functools.partial"
    elif not count and not takes:
        advice += f", or give operands: lax.{what}(..., {parameters[0]})"
    raise TypeError(
        f"lax.{what}: {called(fun, role)} is called with {given}, but its parameters are"
        f" ({', '.join(parameters)}). {advice}."
    )


def _binds(signature: inspect.Signature, args: Sequence[Any]) -> bool:
    try:
        signature.bind(*args)
    except TypeError:
        return False
    return True
