"""Jaxprs as text, in JAX's syntax.

    { lambda a:f32[3]; b:f32[3]. let
        c:f32[3] = mul a 2.0:f32[]
        d:f32[3] = sin c
      in (d,) }

Inputs before the semicolon are arrays that the function closed over. An output that
nobody uses is `_`. In a call that passes its operands on (`jit`), variables of the body
have the names of the operands and results. A jaxpr that several equations hold is
written once, before the others: `let f = { … } in`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from tetrad._src.core.jaxpr import (
    Atom,
    Eqn,
    Jaxpr,
    Literal,
    OpenJaxpr,
    Var,
    subjaxprs,
)
from tetrad._src.core.layout import (
    Break,
    Doc,
    Group,
    Nest,
    Note,
    concat,
    filled,
    joined,
    render,
)


def variable_name(index: int) -> str:
    """0 → a, 25 → z, 26 → ba, …"""
    letters = ""
    while True:
        letters = chr(97 + index % 26) + letters
        index //= 26
        if index == 0:
            return letters


class Printer:
    """Names variables across nested jaxprs and lays them out.

    Notes at the ends of lines say, if asked for, the user's line and the names of scopes.
    """

    def __init__(self, lines: bool = False, scopes: bool = False) -> None:
        self.lines = lines
        self.scopes = scopes
        self.names: dict[Var, str] = {}
        self.count = 0
        self.shared: dict[int, str] = {}  # names of jaxprs, by identity

    def atom(self, atom: Atom) -> str:
        if type(atom) is Literal:
            value = atom.val
            text = f"{np.shape(value)}…" if np.ndim(value) else scalar_text(atom)
            return f"{text}:{atom.aval.short_name()}"
        name = self.names.get(atom)  # type: ignore[arg-type]
        if name is None:
            name = self.names[atom] = variable_name(self.count)  # type: ignore[index]
            self.count += 1
        return name

    def binder(self, var: Var) -> str:
        return f"{self.atom(var)}:{var.aval.short_name()}"

    def jaxpr(self, jaxpr: Jaxpr, consts: int = 0) -> Doc:
        used = {v for eqn in jaxpr.eqns for v in eqn.ins}
        used.update(jaxpr.outs)
        head = filled([self.binder(v) for v in jaxpr.ins[:consts]])
        ins = filled([self.binder(v) for v in jaxpr.ins[consts:]])
        eqns = []
        for eqn in jaxpr.eqns:
            for var in eqn.outs:
                if var not in used:
                    self.names.setdefault(var, "_")
            eqns.append(self.eqn(eqn))
        outs = filled([self.atom(v) for v in jaxpr.outs], comma=",")
        comma = "," if len(jaxpr.outs) == 1 else ""
        body = Nest(4, concat(Break(), joined(Break("; "), eqns)))
        tail = Nest(2, concat(Break(), "in (", Nest(2, outs), f"{comma}) }}"))
        doc = concat(
            "{ lambda ", Nest(4, head), "; ", Nest(4, ins), ". let", body, tail
        )
        noted = (self.lines or self.scopes) and len(eqns) > 1
        return doc if noted else Group(doc)  # each note beside its own equation

    def eqn(self, eqn: Eqn) -> Doc:
        outs = filled([self.binder(v) for v in eqn.outs])
        params = self.params(eqn)
        args = filled([self.atom(v) for v in eqn.ins])
        equals = " = " if eqn.outs else ""
        name = f"{equals}{eqn.op.name}"
        return concat(Nest(2, outs), name, self.note(eqn), params, " ", Nest(2, args))

    def note(self, eqn: Eqn) -> Doc:
        """The line and the scopes of an equation, as far as they are wanted."""
        info = eqn.source_info
        line = str(info) if self.lines else ""
        scope = f"[{info.name_stack}]" if self.scopes and info.name_stack else ""
        words = " ".join([part for part in (line, scope) if part])
        return Note(words) if words else ""

    def params(self, eqn: Eqn) -> Doc:
        op = eqn.op
        shown = [(k, v) for k, v in op.params.items() if k not in op.hidden]
        if not shown:
            return ""
        shown.sort(key=lambda item: (item[0] != "name", item[0]))
        docs = [concat(f"{k}=", self.value(v, eqn)) for k, v in shown]
        body = Nest(2, concat(Break(""), joined(Break(), docs)))
        return Group(concat("[", body, Break(""), "]"))

    def value(self, value: Any, eqn: Eqn) -> Doc:
        if isinstance(value, Jaxpr):
            return self.inner(value, eqn)
        if isinstance(value, tuple) and value and isinstance(value[0], Jaxpr):
            parts = joined(Break(), [self.inner(v, eqn) for v in value])
            return Group(concat("(", Nest(2, concat(Break(""), parts)), Break(""), ")"))
        if isinstance(value, np.dtype):
            return value.name
        return str(value)

    def inner(self, jaxpr: Jaxpr, eqn: Eqn) -> Doc:
        """A jaxpr that an equation holds: its name if it has one, else the text."""
        name = self.shared.get(id(jaxpr))
        if name is not None:
            return name
        if getattr(eqn.op, "shares_names", False) and len(eqn.ins) == len(jaxpr.ins):
            self.pass_names(jaxpr, eqn)
        return self.jaxpr(jaxpr)

    def pass_names(self, jaxpr: Jaxpr, eqn: Eqn) -> None:
        """Gives the variables of a body the names of operands and results."""
        taken = set()
        for var, atom in zip(jaxpr.ins, eqn.ins):
            if type(atom) is Var and atom not in taken:
                taken.add(atom)
                self.names.setdefault(var, self.names[atom])
        for inner, var in zip(jaxpr.outs, eqn.outs):
            if type(inner) is Var:
                self.names.setdefault(inner, self.names[var])

    def whole(self, jaxpr: Jaxpr, consts: int) -> str:
        """`jaxpr` after the jaxprs that it holds more than once."""
        texts = []
        for inner in self.name_shared(jaxpr):
            doc = concat(f"let {self.shared[id(inner)]} = ", self.jaxpr(inner), " in")
            texts.append(render(doc))
        texts.append(render(self.jaxpr(jaxpr, consts)))
        return "\n".join(texts)

    def name_shared(self, jaxpr: Jaxpr) -> Sequence[Jaxpr]:
        """Names the jaxprs that are held more than once; gives them in order."""
        counts: dict[int, int] = {}
        order: list[Jaxpr] = []
        stack = list(subjaxprs(jaxpr))[::-1]
        while stack:
            inner = stack.pop()
            counts[id(inner)] = counts.get(id(inner), 0) + 1
            if counts[id(inner)] == 1:
                order.append(inner)
                stack.extend(list(subjaxprs(inner))[::-1])
        shared = [inner for inner in order if counts[id(inner)] > 1]
        numbers: dict[str, int] = {}
        for inner in shared:
            label = re.sub(r"\W", "", inner.name) or "jaxpr"
            number = numbers.get(label, 0)
            numbers[label] = number + 1
            self.shared[id(inner)] = f"{label}{number or ''}"
        return shared


def scalar_text(literal: Literal) -> str:
    """A scalar as Python writes it, in the precision that it has in the program."""
    try:
        return str(np.asarray(literal.val).astype(literal.aval.dtype).item())
    except (TypeError, ValueError):
        return str(literal.val)


def jaxpr_text(
    jaxpr: Jaxpr, consts: int = 0, *, lines: bool = False, scopes: bool = False
) -> str:
    """`jaxpr` as text; its first `consts` inputs are what the function closed over.

    With `lines` and `scopes` each equation has its user line and its names beside it.
    """
    if isinstance(jaxpr, OpenJaxpr):
        consts = jaxpr.closed
    return Printer(lines, scopes).whole(jaxpr, consts)


def pretty_print(
    jaxpr: Any,
    *,
    source_info: bool = False,
    name_stack: bool = False,
    use_color: bool = False,
) -> str:
    """A jaxpr as text, if wanted with the user's lines and the names of scopes.

    Without a name of the user's there is no note. Raises NotImplementedError for colours.
    """
    if use_color:
        raise NotImplementedError(
            "pretty_print(use_color=True) is not available: leave it out"
        )
    closed = len(jaxpr.consts)
    return jaxpr_text(jaxpr.jaxpr, closed, lines=source_info, scopes=name_stack)


# What Python shows of a jaxpr, whose class is below this module.
Jaxpr.__str__ = lambda jaxpr: pretty_print(jaxpr)  # type: ignore[assignment, method-assign]
Jaxpr.pretty_print = pretty_print  # type: ignore[attr-defined]
