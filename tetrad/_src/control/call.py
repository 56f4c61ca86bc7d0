"""Calls: operations that hold one jaxpr and apply it, as `jit` and `checkpoint` do.

Arrays that the function closes over are leading operands, so the jaxpr owns none. The
rules rewrite the jaxpr (every rewrite is remembered on `jaxpr.memo`) and call the result
the same way. `Jit` marks the border of what a user compiled; whoever runs the program
may replace it by its body (`inlined`). `Remat` is computed again when its derivative is
taken, instead of keeping what the derivative needs.

Read `JaxprCall`, `Jit`, then `Remat`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from tetrad._src.core.avals import Aval
from tetrad._src.core.jaxpr import Jaxpr, Var, dce, eval_jaxpr
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

    aligned = False
    inlined: ClassVar[bool] = False  # may be replaced by its body when it is run

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
            _places(unknown, False),
            self.like(later),
            operands,
            unknown_out,
        )

    def dce(self, used: Mask) -> tuple[JaxprCall, Mask]:
        jaxpr, used_ins = dce(self.jaxpr, used, keep_ins=False)
        return self.like(jaxpr), used_ins

    def expand(self, *args: Any) -> list[Any]:
        return eval_jaxpr(self.jaxpr, args)


def _places(mask: Mask, value: bool) -> tuple[int, ...]:
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
    known_in = _places(unknown, False)
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
    operands = (*residuals, *_places(unknown, True))
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
        return _jit_of(jaxpr)

    @property
    def params(self) -> dict[str, Any]:
        shown: dict[str, Any] = {"name": self.jaxpr.name}
        if any(self.donated):
            shown["donated_invars"] = self.donated
        shown["jaxpr"] = self.jaxpr
        return shown


@memo_on_first
def _jit_of(jaxpr: Jaxpr) -> Jit:
    """A call that donates nothing."""
    return Jit(jaxpr)


class Remat(JaxprCall):
    """A function whose derivative computes it again instead of storing its values."""

    jaxpr: Jaxpr
    differentiated: bool = False

    name = "remat2"

    @property
    def params(self) -> dict[str, Any]:
        return {
            "differentiated": self.differentiated,
            "jaxpr": self.jaxpr,
            "policy": None,
            "prevent_cse": True,
        }

    def split(self, unknown: Mask) -> Split | None:
        known, later, operands, unknown_out = _split_remat(self.jaxpr, unknown)
        return Split(
            _jit_of(known),
            _places(unknown, False),
            Remat(later, True),
            operands,
            unknown_out,
        )

    def transpose(self, cts: Sequence[Any], *args: Any) -> list[Any]:
        linear = linear_mask(args)
        jaxpr = transpose_jaxpr(self.jaxpr, linear, nonzero_mask(cts))
        values = [a for a in args if type(a) is not Linear]
        live = [ct for ct in cts if ct is not None]
        return expand_mask(Remat(jaxpr, True)(*values, *live), linear)


@memo_on_first
def _split_remat(
    jaxpr: Jaxpr, unknown: Mask
) -> tuple[Jaxpr, Jaxpr, tuple[int, ...], Mask]:
    """As `_split_call`, but the unknown part starts again from the operands."""
    parts = split_jaxpr(jaxpr, unknown)
    count = parts.unknown_out.count(False)
    known, _ = dce(
        parts.known, tuple([i < count for i in range(len(parts.known.outs))])
    )
    pure = _without_known_effects(jaxpr, unknown)
    later, used = dce(pure, parts.unknown_out, keep_ins=False)
    return known, later, _places(used, True), parts.unknown_out


def _without_known_effects(jaxpr: Jaxpr, unknown: Mask) -> Jaxpr:
    """Drops effects that the known part has already had, lest they happen twice."""
    if not jaxpr.effects:
        return jaxpr
    reached: set[Any] = {v for v, u in zip(jaxpr.ins, unknown) if u}
    needed: set[Any] = set(jaxpr.outs)
    for eqn in jaxpr.eqns:
        needed.update([v for v in eqn.ins if type(v) is Var])
        if any(v in reached for v in eqn.ins):
            reached.update(eqn.outs)
    eqns = []
    for eqn in jaxpr.eqns:
        happened = eqn.op.effects and not any(v in reached for v in eqn.ins)
        if not happened or any(v in needed for v in eqn.outs):
            eqns.append(eqn)
    return Jaxpr(jaxpr.ins, eqns, jaxpr.outs, jaxpr.name)
