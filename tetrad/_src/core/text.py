"""Jaxprs as text, in JAX's syntax.

    { lambda a:f32[3]; b:f32[3]. let
        c:f32[3] = mul a 2.0:f32[]
      in (c,) }

Inputs before the semicolon are arrays that the function closed over.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tetrad._src.core.jaxpr import Atom, Jaxpr, Literal, Var
from tetrad._src.util import dtypes


def variable_name(index: int) -> str:
    """0 → a, 25 → z, 26 → ba, …"""
    letters = ""
    while True:
        letters = chr(97 + index % 26) + letters
        index //= 26
        if index == 0:
            return letters


class Printer:
    """Names variables across nested jaxprs and renders them."""

    def __init__(self) -> None:
        self.names: dict[Var, str] = {}

    def atom(self, atom: Atom) -> str:
        if type(atom) is Literal:
            value = atom.val
            text = f"{np.shape(value)}…" if np.ndim(value) else _scalar_text(value)
            return f"{text}:{atom.aval.short_name()}"
        name = self.names.get(atom)  # type: ignore[arg-type]
        if name is None:
            name = self.names[atom] = variable_name(len(self.names))  # type: ignore[index]
        return name

    def binder(self, var: Var) -> str:
        return f"{self.atom(var)}:{var.aval.short_name()}"

    def jaxpr(self, jaxpr: Jaxpr, consts: int = 0, indent: str = "") -> str:
        head = " ".join(self.binder(v) for v in jaxpr.ins[:consts])
        ins = " ".join(self.binder(v) for v in jaxpr.ins[consts:])
        lines = [f"{{ lambda {head}; {ins}. let"]
        for eqn in jaxpr.eqns:
            outs = " ".join(self.binder(v) for v in eqn.outs) or "_"
            params = self.params(eqn.op, indent + "      ")
            args = "".join(" " + self.atom(v) for v in eqn.ins)
            lines.append(f"{indent}    {outs} = {eqn.op.name}{params}{args}")
        outs = ", ".join(self.atom(v) for v in jaxpr.outs)
        comma = "," if len(jaxpr.outs) == 1 else ""
        lines.append(f"{indent}  in ({outs}{comma}) }}")
        return "\n".join(lines)

    def params(self, op: Any, indent: str) -> str:
        shown = [(k, v) for k, v in op.params.items() if k not in op.hidden]
        if not shown:
            return ""
        if len(shown) == 1 and not isinstance(shown[0][1], Jaxpr):
            return f"[{shown[0][0]}={self.value(shown[0][1], indent)}]"
        lines = [f"\n{indent}{k}={self.value(v, indent)}" for k, v in sorted(shown)]
        return "[" + "".join(lines) + f"\n{indent[:-2]}]"

    def value(self, value: Any, indent: str) -> str:
        if isinstance(value, Jaxpr):
            return self.jaxpr(value, 0, indent)
        if isinstance(value, tuple) and value and isinstance(value[0], Jaxpr):
            inner = "\n".join(indent + self.jaxpr(v, 0, indent) for v in value)
            return f"(\n{inner}\n{indent})"
        if isinstance(value, np.dtype):
            return value.name
        return str(value)


def _scalar_text(value: Any) -> str:
    if isinstance(value, (int, float)):
        return str(value)
    scalar = np.asarray(value)[()]
    if dtypes.kind(scalar.dtype) == "f" and not isinstance(scalar, np.floating):
        return str(float(scalar))  # bfloat16 and its like print without a point
    return str(scalar)


def jaxpr_text(jaxpr: Jaxpr, consts: int = 0) -> str:
    return Printer().jaxpr(jaxpr, consts)
