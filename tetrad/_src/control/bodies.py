"""The functions that users hand to control flow, staged over flat values.

In: a function of pytrees, and the avals and structures of its arguments. Out: a `Body`,
its jaxpr with what it closes over. Several bodies that one operation holds get common
closed-over values (`with_common`). Carries are matched here: a weakly typed start takes
the type that comes out; what still differs becomes a table in an error.

Read `Body` and `staged`, then `flat_values`, `settled`, then the messages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tetrad._src.control.pictures import call, called, differing_structures, to_return
from tetrad._src.control.signature import name_of
from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import Value, aval_of
from tetrad._src.core.jaxpr import Jaxpr, Var
from tetrad._src.core.stage import stage
from tetrad._src.ops.convert import convert_element_type
from tetrad._src.ops.families import PYTHON_NUMBERS, check_operand
from tetrad._src.ops.identity import copy
from tetrad._src.util import tree
from tetrad._src.util.dtypes import is_key
from tetrad._src.util.tables import table

Fun = Callable[..., Any]


class Body:
    """A staged function: `jaxpr` over (*consts, *arguments), and the result's structure."""

    __slots__ = ("fun", "jaxpr", "consts", "out_tree")

    def __init__(
        self, fun: Fun, jaxpr: Jaxpr, consts: list[Any], out_tree: Any
    ) -> None:
        self.fun = fun
        self.jaxpr = jaxpr
        self.consts = consts
        self.out_tree = out_tree

    @property
    def out_avals(self) -> tuple[Aval, ...]:
        return self.jaxpr.out_avals


def staged(
    what: str,
    role: str,
    fun: Fun,
    in_trees: Sequence[Any],
    avals: Sequence[Aval],
    check: Callable[[Any], None] | None = None,
    takes: str = "",
) -> Body:
    """Stages `fun` for arguments of the given structures, whose leaves have `avals`.

    `check` looks at what the function returned. `what` and `role` name the public
    function and the argument that `fun` is, and `takes` its arguments, for messages.
    """
    found: dict[str, Any] = {}

    def flat(*leaves: Any) -> list[Any]:
        args = []
        at = 0
        for in_tree in in_trees:
            count = in_tree.num_leaves
            args.append(in_tree.unflatten(leaves[at : at + count]))
            at += count
        result = call(what, role, fun, args, takes)
        if check is not None:
            check(result)
        outs, found["tree"] = tree.flatten(result)
        return [returned(what, role, fun, result, i, out) for i, out in enumerate(outs)]

    jaxpr, consts = stage(flat, avals, name_of(fun))
    return Body(fun, jaxpr, consts, found["tree"])


def with_common(bodies: Sequence[Body]) -> tuple[list[Jaxpr], list[Any]]:
    """The jaxprs of `bodies` over all that any of them closes over, and these values."""
    position: dict[int, int] = {}
    consts: list[Any] = []
    for body in bodies:
        for const in body.consts:
            if id(const) not in position:
                position[id(const)] = len(consts)
                consts.append(const)
    jaxprs = []
    for body in bodies:
        own = {position[id(c)]: v for c, v in zip(body.consts, body.jaxpr.ins)}
        leading = [own.get(i) or Var(aval_of(c)) for i, c in enumerate(consts)]
        ins = leading + body.jaxpr.ins[len(body.consts) :]
        jaxpr = body.jaxpr
        if ins != jaxpr.ins:
            jaxpr = Jaxpr(ins, jaxpr.eqns, jaxpr.outs, jaxpr.name)
        jaxprs.append(jaxpr)
    return jaxprs, consts


# -------------------------------------------------------------------------------- leaves


def is_value(x: Any) -> bool:
    """Whether `x` can be an operand."""
    if isinstance(x, (Value, *PYTHON_NUMBERS)):
        return True
    return isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind not in "OSUMm"


def as_operand(what: str, x: Any) -> Any:
    return x if isinstance(x, Value) else check_operand(x, what)


def flat_values(what: str, argument: str, values: Any) -> tuple[list[Any], Any]:
    """The leaves of an argument and its structure; TypeError for what is no array."""
    leaves, treedef = tree.flatten(values)
    for i, leaf in enumerate(leaves):
        if isinstance(leaf, Value):
            continue
        if hasattr(leaf, "__jax_array__"):
            leaves[i] = leaf = leaf.__jax_array__()
        if not is_value(leaf):
            place = path_text(treedef, i)
            raise TypeError(
                f"lax.{what}: {argument}{place} must be an array or a number, got"
                f" {shortened(leaf)} of type {type(leaf).__name__}"
            )
    return leaves, treedef


def arrays(what: str, argument: str, values: Any) -> Any:
    """A pytree with its leaves as arrays."""
    leaves, treedef = flat_values(what, argument, values)
    return treedef.unflatten([x if isinstance(x, Value) else copy(x) for x in leaves])


def returned(what: str, role: str, fun: Fun, result: Any, index: int, out: Any) -> Any:
    """A leaf of what a function returned, as a value."""
    if isinstance(out, Value):
        return out
    if hasattr(out, "__jax_array__"):
        out = out.__jax_array__()
    if not is_value(out):
        place = path_text(tree.structure(result), index)
        where = f" at result{place}" if place else ""
        raise TypeError(
            f"lax.{what}: {called(fun, role)} returned a value of type"
            f" {type(out).__name__}{where}, {shortened(out)}, but results must be arrays,"
            " numbers, or containers of these"
        )
    return out


def path_text(treedef: Any, index: int) -> str:
    """The path of a leaf, as Python writes it: `['w'][0]`."""
    numbered = treedef.unflatten(range(treedef.num_leaves))
    return tree.keystr(tree.leaves_with_path(numbered)[index][0])


def shortened(value: Any) -> str:
    text = repr(value)
    if " at 0x" in text:  # where it lies tells nobody anything
        return f"<{type(value).__name__} object>"
    return text if len(text) <= 40 else f"{text[:37]}…"


def check_function(what: str, role: str, fun: Any) -> None:
    if not callable(fun):
        raise TypeError(
            f"lax.{what}: {role} must be a function, got {shortened(fun)} of type"
            f" {type(fun).__name__}"
        )


# ------------------------------------------------------------------------------- carries


def settled(
    init: list[Any],
    trace: Callable[[Sequence[Aval]], tuple[Any, Sequence[Aval] | None]],
) -> tuple[list[Any], Any]:
    """The start of a loop in types that the loop keeps, and what `trace` gave for them.

    `trace(avals)` stages the body for a carry of `avals`; it gives a result and the
    avals of the carry that comes out, or None if that has another structure. A weakly
    typed start is converted to the type that comes out.
    """
    while True:
        avals = [aval_of(x) for x in init]
        body, outs = trace(avals)
        if outs is None:
            return init, body
        wider = [
            promoted(x, aval, out) if aval.weak_type else x
            for x, aval, out in zip(init, avals, outs)
        ]
        if all(a is b for a, b in zip(init, wider)):
            return init, body
        init = wider


def promoted(x: Any, aval: Aval, out: Aval) -> Any:
    """A weakly typed value in the dtype of `out`, if that is the wider one."""
    if aval.dtype == out.dtype or _RANK.get(aval.kind, 9) > _RANK.get(out.kind, -1):
        return x
    if aval.kind == out.kind and out.weak_type:
        return x
    if isinstance(x, Value):
        return convert_element_type(x, out.dtype)
    return np.asarray(x).astype(out.dtype)[()]


_RANK = {"i": 0, "u": 0, "f": 1, "c": 2}


def same_carry(ins: Sequence[Aval], outs: Sequence[Aval]) -> bool:
    return all(a.strong() is b.strong() for a, b in zip(ins, outs))


def check_carry(
    what: str,
    fun: Any,
    role: str,
    argument: str,
    in_tree: Any,
    ins: Sequence[Aval],
    body: Body,
    out_tree: Any = None,
    rest: str = "",
) -> None:
    """TypeError if the carry comes out of the body unlike it goes in.

    `out_tree` is its structure, if it is a part of what the body returns, and `rest` is
    what stands after it in a return statement.
    """
    out_tree = body.out_tree if out_tree is None else out_tree
    outs = body.out_avals[: out_tree.num_leaves]
    name = called(fun, role)
    if in_tree != out_tree:
        picture = differing_structures(
            ("the carry that goes in", in_tree, ins),
            ("the carry that comes out", out_tree, outs),
        )
        raise TypeError(
            f"lax.{what}: {name} must return a carry of the structure that it takes.\n"
            f"{picture}\nReturn all parts of the carry, changed or not, in the"
            f" containers of `{argument}`.{to_return(in_tree, rest)}"
        )
    if same_carry(ins, outs):
        return
    rows = [("carry", "goes in", "comes out", "")]
    advice = []
    for i, (a, b) in enumerate(zip(ins, outs)):
        path = path_text(in_tree, i)
        note = ""
        if a.strong() is not b.strong():
            note, words = _difference(a, b, f"{argument}{path}", path or "the carry")
            advice.append(words)
        rows.append((path or "(all of it)", a.long_name(), b.long_name(), note))
    raise TypeError(
        f"lax.{what}: {name} must return a carry of the types that it takes.\n"
        f"{table(rows)}\n{advice[0]}"
    )


def _difference(a: Aval, b: Aval, start: str, part: str) -> tuple[str, str]:
    """What differs between a carry that goes in and comes out, and what to write."""
    if a.shape != b.shape:
        return "<- the shapes differ", (
            f"Start with {start} of shape {b.shape}, or return {part} of shape"
            f" {a.shape}: what leaves one step enters the next."
        )
    if is_key(a.dtype) or is_key(b.dtype):
        return "<- the dtypes differ", (
            f"Return {part} as {a.long_name()}: what leaves one step enters the next."
        )
    return "<- the dtypes differ", (
        f"Start with {start} of dtype {b.dtype.name} (jnp.asarray({start},"
        f" '{b.dtype.name}')), or return {part} converted by"
        f" .astype('{a.dtype.name}')."
    )
