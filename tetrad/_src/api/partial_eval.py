"""Jaxprs from wrapped functions, and what is left of them: `partial_eval` for libraries.

In: a `WrappedFun` over flat values and, for each argument, a type or a known value. Out:
a jaxpr of what depends on the unknown ones; what does not is computed. `dce_jaxpr` drops
what given outputs do not need.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tetrad._src.api.linear_util import WrappedFun
from tetrad._src.control.signature import name_of
from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import STATE, aval_of
from tetrad._src.core.jaxpr import Jaxpr, OpenJaxpr, dce
from tetrad._src.core.stage import stage
from tetrad._src.transforms.linearize import Partial


class PartialVal(tuple[Any, Any]):
    """A value that is known, or one of which only the type is: (type, value)."""

    __slots__ = ()

    def __new__(cls, pair: tuple[Aval | None, Any]) -> PartialVal:
        return tuple.__new__(cls, pair)

    @classmethod
    def known(cls, value: Any) -> PartialVal:
        return cls((None, value))

    @classmethod
    def unknown(cls, aval: Aval) -> PartialVal:
        return cls((aval, None))

    def is_known(self) -> bool:
        return self[0] is None

    def get_known(self) -> Any:
        """The value, or None if it is not known."""
        return self[1] if self[0] is None else None

    def get_aval(self) -> Aval:
        """The type."""
        return aval_of(self[1]) if self[0] is None else self[0]


def trace_to_jaxpr_dynamic(
    fun: WrappedFun, in_avals: Sequence[Aval]
) -> tuple[Jaxpr, list[Aval], list[Any]]:
    """The jaxpr of `fun` for arguments of given types, its result types and constants."""
    jaxpr, consts = stage(fun.call_wrapped, in_avals, name_of(fun.f))
    opened = OpenJaxpr(jaxpr, len(consts))
    return opened, list(jaxpr.out_avals), consts


def trace_to_jaxpr_nounits(
    fun: WrappedFun,
    pvals: Sequence[PartialVal],
    instantiate: bool | Sequence[bool] = False,
) -> tuple[Jaxpr, list[PartialVal], list[Any]]:
    """Computes of `fun` what depends on known arguments; the jaxpr of the rest.

    Gives (jaxpr, what is known of each result, constants): the jaxpr takes constants,
    then the unknown arguments, and gives the unknown results. Results in `instantiate`
    count as unknown in any case.
    """
    partial = Partial(STATE.trace)
    args = [p[1] if p.is_known() else partial.unknown(p[0]) for p in pvals]
    ins = [a.variable for a, p in zip(args, pvals) if not p.is_known()]
    with partial:
        outs = list(fun.call_wrapped(*args))
    forced = [instantiate] * len(outs) if isinstance(instantiate, bool) else instantiate
    unknown = [partial.owns(out) or force for out, force in zip(outs, forced)]
    jaxpr, consts = partial.close(
        ins, [o for o, u in zip(outs, unknown) if u], name_of(fun.f)
    )
    found = [
        PartialVal.unknown(aval_of(o)) if u else PartialVal.known(o)
        for o, u in zip(outs, unknown)
    ]
    return OpenJaxpr(jaxpr, len(consts)), found, consts


def dce_jaxpr(
    jaxpr: Jaxpr,
    used_outputs: bool | Sequence[bool],
    instantiate: bool | Sequence[bool] = False,
) -> tuple[Jaxpr, list[bool]]:
    """`jaxpr` without what the `used_outputs` do not need, and which inputs are left.

    Inputs in `instantiate` stay in any case.
    """
    count = len(jaxpr.invars)
    used = (
        [used_outputs] * len(jaxpr.outs)
        if isinstance(used_outputs, bool)
        else used_outputs
    )
    kept = [instantiate] * count if isinstance(instantiate, bool) else instantiate
    smaller, needed = dce(jaxpr, tuple(used))
    closed = len(jaxpr.ins) - count
    left = [n or k for n, k in zip(needed[closed:], kept)]
    ins = [v for v, k in zip(jaxpr.ins, [True] * closed + left) if k]
    made = Jaxpr(ins, smaller.eqns, smaller.outs, jaxpr.name)
    return (OpenJaxpr(made, closed) if closed else made), left


def convert_constvars_jaxpr(jaxpr: Jaxpr) -> Jaxpr:
    """`jaxpr` with its constants as leading inputs."""
    return Jaxpr(jaxpr.ins, jaxpr.eqns, jaxpr.outs, jaxpr.name)
