"""Calls: operations that hold one jaxpr and apply it, as `jit` does.

Arrays that the function closes over are leading operands, so the jaxpr owns none. The
rules rewrite the jaxpr (every rewrite is remembered on `jaxpr.memo`) and call the result
the same way. `Jit` marks the border of what a user compiled; whoever runs the program
may replace it by its body (`inlined`).

Read `JaxprCall`, then `Jit`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from tetrad._src.control import keys
from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import STATE
from tetrad._src.core.jaxpr import Jaxpr, dce, eval_jaxpr
from tetrad._src.core.op import Axis, Linear, Split, Whole
from tetrad._src.ops.families import Call
from tetrad._src.transforms.jvp import jvp_jaxpr
from tetrad._src.transforms.linearize import split_jaxpr
from tetrad._src.transforms.transpose import transpose_jaxpr
from tetrad._src.transforms.vmap import batch_jaxpr
from tetrad._src.util.memo import memo_on_first

Mask = tuple[bool, ...]


def nonzero_mask(values: Sequence[Any]) -> Mask:
    """Which of `values` are not None."""
    return tuple([value is not None for value in values])


def linear_mask(args: Sequence[Any]) -> Mask:
    """Which operands of a transposition are linear."""
    return tuple([type(arg) is Linear for arg in args])


def expand_mask(values: Sequence[Any], mask: Mask) -> list[Any]:
    """`values` in the places where `mask` is set, None in the others."""
    rest = iter(values)
    return [next(rest) if on else None for on in mask]


@memo_on_first
def axis_names(jaxpr: Jaxpr) -> tuple[Any, ...]:
    """Names of mapped axes that the operations of `jaxpr` refer to."""
    names: dict[Any, None] = {}
    for eqn in jaxpr.eqns:
        names.update(dict.fromkeys(eqn.op.axis_names))
    return tuple(names)


class JaxprCall(Call):
    """Applies `jaxpr` to its operands."""

    jaxpr: Jaxpr

    applies = True
    aligned = False
    inlined: ClassVar[bool] = False  # may be replaced by its body when it is run
    recorded: ClassVar[bool] = False  # by eager code like one operation, however large
    repeats: ClassVar[bool] = False  # computes again what has been computed already

    def __call__(self, *args: Any) -> Any:
        trace = STATE.trace
        if self.repeats:  # what it draws has been drawn before
            with keys.unchecked():
                return trace.process(self, args)
        outs = trace.process(self, args)
        keys.called(trace, self, args, outs)
        return outs

    @property
    def effects(self) -> frozenset[Any]:
        return self.jaxpr.effects

    @property
    def axis_names(self) -> tuple[Any, ...]:
        return axis_names(self.jaxpr)

    def jaxprs(self) -> tuple[Jaxpr, ...]:
        return (self.jaxpr,)

    def type(self, *avals: Aval) -> tuple[Aval, ...]:
        if len(avals) != len(self.jaxpr.ins):
            raise TypeError(
                f"{self.jaxpr.name or self.name} takes {len(self.jaxpr.ins)} operands,"
                f" got {len(avals)}"
            )
        return self.jaxpr.out_avals

    def like(self, jaxpr: Jaxpr) -> JaxprCall:
        """The same kind of call of another jaxpr; one object for each jaxpr."""
        key = (type(self), *self.fields()[1:])
        found: JaxprCall | None = jaxpr.memo.get(key)
        if found is None:
            found = jaxpr.memo[key] = type(self)(jaxpr, *key[1:])
        return found

    def lift(
        self, jaxprs: Sequence[Jaxpr], count: int
    ) -> tuple[JaxprCall, tuple[int, ...]]:
        return self.like(jaxprs[0]), (0,)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        jaxpr, mask = jvp_jaxpr(self.jaxpr, nonzero_mask(tangents))
        live = [t for t in tangents if t is not None]
        results = self.like(jaxpr)(*primals, *live)
        count = len(mask)
        return results[:count], expand_mask(results[count:], mask)

    def transpose(self, cts: Sequence[Any], *args: Any) -> list[Any]:
        linear = linear_mask(args)
        jaxpr = transpose_jaxpr(self.jaxpr, linear, nonzero_mask(cts))
        values = [a for a in args if type(a) is not Linear]
        results = self.like(jaxpr)(*values, *[ct for ct in cts if ct is not None])
        return expand_mask(results, linear)

    def batch(self, axis: Axis, mapped: Mask, *args: Any) -> list[Any]:
        none = (False,) * len(self.jaxpr.outs)
        jaxpr, mask = batch_jaxpr(self.jaxpr, axis, mapped, none)
        results = self.like(jaxpr)(*args)
        return [out if m else Whole(out) for out, m in zip(results, mask)]

    def split(self, unknown: Mask) -> Split | None:
        known, later, operands, unknown_out = _split_call(self.jaxpr, unknown)
        return Split(
            self.like(known),
            places(unknown, False),
            self.like(later),
            operands,
            unknown_out,
        )

    def dce(self, used: Mask) -> tuple[JaxprCall, Mask]:
        jaxpr, used_ins = dce(self.jaxpr, used, keep_ins=False)
        return self.like(jaxpr), used_ins

    def expand(self, *args: Any) -> list[Any]:
        return eval_jaxpr(self.jaxpr, args)


def places(mask: Mask, value: bool) -> tuple[int, ...]:
    return tuple([i for i, on in enumerate(mask) if on == value])


@memo_on_first
def _split_call(
    jaxpr: Jaxpr, unknown: Mask
) -> tuple[Jaxpr, Jaxpr, tuple[int, ...], Mask]:
    """The known and the unknown jaxpr, the operands of the latter, unknown outputs.

    A residual that simply is an operand is not an output of the known part.
    """
    parts = split_jaxpr(jaxpr, unknown)
    known = parts.known
    known_in = places(unknown, False)
    count = parts.unknown_out.count(False)
    outs = known.outs[:count]
    number: dict[Any, int] = {}
    residuals = []
    for atom, source in zip(known.outs[count:], parts.source):
        if source is not None:
            residuals.append(known_in[source])
            continue
        if atom not in number:
            number[atom] = len(number)
            outs.append(atom)
        residuals.append(~number[atom])
    known = Jaxpr(known.ins, known.eqns, outs, known.name)
    operands = (*residuals, *places(unknown, True))
    return known, parts.unknown, operands, parts.unknown_out


class Jit(JaxprCall):
    """A function that the user wants compiled as one program.

    `donated` marks operands whose buffers the results may take over.
    """

    jaxpr: Jaxpr
    donated: Mask = ()

    name = "jit"
    inlined = True
    shares_names: ClassVar[bool] = True  # text gives the body the names of operands

    def like(self, jaxpr: Jaxpr) -> JaxprCall:
        return jit_of(jaxpr)

    def lift(
        self, jaxprs: Sequence[Jaxpr], count: int
    ) -> tuple[JaxprCall, tuple[int, ...]]:
        donated = (False,) * count + self.donated if any(self.donated) else ()
        return Jit(jaxprs[0], donated), (0,)

    @property
    def params(self) -> dict[str, Any]:
        shown: dict[str, Any] = {"name": self.jaxpr.name}
        if any(self.donated):
            shown["donated_invars"] = self.donated
        shown["jaxpr"] = self.jaxpr
        return shown

    @classmethod
    def of(cls, params: dict[str, Any]) -> Any:
        """As replayed jaxprs ask: only the jaxpr and donations matter."""
        op = params.get("op")
        if op is None:
            op = cls(params["jaxpr"].jaxpr, tuple(params.get("donated_invars", ())))
        return op


@memo_on_first
def jit_of(jaxpr: Jaxpr) -> Jit:
    """A call that donates nothing."""
    return Jit(jaxpr)


class ClosedCall(JaxprCall):
    """A call without a border: what a program that rewrites jaxprs binds."""

    jaxpr: Jaxpr

    name = "closed_call"
    inlined = True
    recorded = True

    @property
    def params(self) -> dict[str, Any]:
        return {"call_jaxpr": self.jaxpr}

    @classmethod
    def bind(cls, *args: Any, **params: Any) -> Any:
        """Calls the jaxpr `call_jaxpr`, which may carry its constants."""
        closed = params["call_jaxpr"]
        return cls(closed.jaxpr)(*closed.consts, *args)


class Inline(JaxprCall):
    """Equations that a rule wants where it is called, not in a call of their own."""

    jaxpr: Jaxpr

    inlined = True

    def __call__(self, *args: Any) -> Any:
        return eval_jaxpr(self.jaxpr, args)
