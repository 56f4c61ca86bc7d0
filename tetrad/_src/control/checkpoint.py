"""Checkpoints: a function whose derivative computes it again instead of storing values.

`Remat` is a call whose known part keeps nothing, so that its unknown part starts again
from the operands; a `policy` may choose values that are stored nevertheless. Policies
are functions `policy(primitive, *avals, **params) -> bool`; the common ones are here.
`checkpoint_name` gives a value a name that policies can ask for.

Read `Remat`, `_split_remat`, `_split_saving`, then the policies.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tetrad._src.control.call import (
    JaxprCall,
    Jit,
    Mask,
    expand_mask,
    jit_of,
    linear_mask,
    nonzero_mask,
    places,
)
from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import STATE, base_trace
from tetrad._src.core.jaxpr import Eqn, Jaxpr, Var, dce, eval_jaxpr
from tetrad._src.core.op import Flow, Kind, Linear, Split, infer
from tetrad._src.core.rewrite import inline
from tetrad._src.ops.families import Unary
from tetrad._src.transforms.linearize import split_jaxpr
from tetrad._src.transforms.transpose import transpose_jaxpr
from tetrad._src.util import tree
from tetrad._src.util.memo import memo_on_first

Policy = Callable[..., Any]


class Remat(JaxprCall):
    """A function whose derivative computes it again instead of storing its values."""

    jaxpr: Jaxpr
    differentiated: bool = False
    policy: Policy | None = None
    prevent_cse: bool = True

    name = "remat2"

    @property
    def repeats(self) -> bool:
        """Whether it computes again what has been computed already."""
        return self.differentiated

    @property
    def inlined(self) -> bool:
        """Whether it may be replaced by its body: not if that could undo it."""
        return not (self.prevent_cse and self.differentiated)

    def structural(self) -> Any:
        """The policy does not change what is computed."""
        key = self.jaxpr.structural_key()
        return (Remat, key, self.differentiated, self.prevent_cse)

    def split(self, unknown: Mask) -> Split | None:
        if self.policy is None:
            known, later, operands, unknown_out = _split_remat(self.jaxpr, unknown)
        else:
            known, later, operands, unknown_out = _split_saving(
                self.jaxpr, unknown, self.policy
            )
        again = Remat(later, True, self.policy, self.prevent_cse)
        return Split(Known(known), places(unknown, False), again, operands, unknown_out)

    def transpose(self, cts: Sequence[Any], *args: Any) -> list[Any]:
        linear = linear_mask(args)
        jaxpr = transpose_jaxpr(self.jaxpr, linear, nonzero_mask(cts))
        values = [a for a in args if type(a) is not Linear]
        live = [ct for ct in cts if ct is not None]
        op = Remat(jaxpr, True, self.policy, self.prevent_cse)
        return expand_mask(op(*values, *live), linear)

    def hlo(self, emit: Any, *operands: Any) -> Any:
        """The body behind a barrier, lest its values be found to exist already."""
        if operands:
            avals = [x.aval for x in operands]
            name = "stablehlo.optimization_barrier"
            operands = tuple(emit(name, *operands, result=avals))
        return emit.inline(self.jaxpr, *operands)


class Known(JaxprCall):
    """The part of a checkpoint that is computed now.

    Outside of all transformations it is one call; inside it is its equations.
    """

    jaxpr: Jaxpr

    inlined = True

    def __call__(self, *args: Any) -> Any:
        if STATE.trace is base_trace():
            return STATE.trace.process(jit_of(self.jaxpr), args)
        return eval_jaxpr(self.jaxpr, args)


Parts = tuple[Jaxpr, Jaxpr, tuple[int, ...], Mask]


@memo_on_first
def _split_remat(jaxpr: Jaxpr, unknown: Mask) -> Parts:
    """The known and the unknown jaxpr, the operands of the latter, unknown outputs.

    The unknown part starts again from the operands, but for what had effects.
    """
    if jaxpr.effects:
        found: Parts = _split_saving(jaxpr, unknown, nothing_saveable)
        return found
    parts = split_jaxpr(jaxpr, unknown)
    count = parts.unknown_out.count(False)
    known, _ = dce(
        parts.known, tuple([i < count for i in range(len(parts.known.outs))])
    )
    later, used = dce(jaxpr, parts.unknown_out, keep_ins=False)
    return known, later, places(used, True), parts.unknown_out


@memo_on_first
def _split_saving(jaxpr: Jaxpr, unknown: Mask, policy: Policy) -> Parts:
    """As `_split_remat`, where the values that `policy` chooses are residuals.

    So are the results of what has effects, which must not happen again.
    """
    flat = inline(jaxpr, lambda eqn: eqn.op.jaxpr if type(eqn.op) is Jit else None)
    flat, stored = _taken_apart(flat, unknown, policy)
    reached: set[Any] = {v for v, u in zip(flat.ins, unknown) if u}
    first: list[Eqn] = []
    rest: list[Eqn] = []
    saved: list[Var] = []
    for eqn in flat.eqns:
        if any(v in reached for v in eqn.ins):
            reached.update(eqn.outs)
            rest.append(eqn)
            continue
        chosen = [
            bool(eqn.op.effects) or v in stored or _saveable(eqn, i, policy)
            for i, v in enumerate(eqn.outs)
        ]
        saved.extend([v for v, c in zip(eqn.outs, chosen) if c])
        if eqn.op.flow is Flow.SCAN and not all(chosen) and not eqn.op.effects:
            keep, again, avals = _storing_loop(eqn.op, policy)
            stacks = [Var(aval) for aval in avals]
            saved.extend(stacks)
            first.append(Eqn(keep, eqn.ins, [*eqn.outs, *stacks], eqn.where))
            rest.append(Eqn(again, [*eqn.ins, *stacks], eqn.outs, eqn.where))
            continue
        first.append(eqn)
        if not all(chosen) and not eqn.op.effects:
            rest.append(eqn)
    unknown_out = tuple([v in reached for v in flat.outs])
    # Equations that give a value again that is stored get another name for it.
    taken = set(saved)
    renamed = [
        Eqn(e.op, e.ins, [Var(v.aval) if v in taken else v for v in e.outs], e.where)
        for e in rest
    ]
    later = Jaxpr(
        saved + flat.ins,
        renamed,
        [v for v, u in zip(flat.outs, unknown_out) if u],
        jaxpr.name,
    )
    later, used = dce(later, (True,) * len(later.outs), keep_ins=False)
    kept = [v for v, u in zip(saved, used) if u]
    operands = [~j for j in range(len(kept))]
    operands += [i for i, u in enumerate(used[len(saved) :]) if u]
    known = Jaxpr(
        [v for v, u in zip(flat.ins, unknown) if not u],
        first,
        [*[v for v, u in zip(flat.outs, unknown_out) if not u], *kept],
        jaxpr.name,
    )
    known, _ = dce(known, (True,) * len(known.outs))
    return known, later, tuple(operands), unknown_out


def _taken_apart(jaxpr: Jaxpr, unknown: Mask, policy: Policy) -> tuple[Jaxpr, set[Any]]:
    """`jaxpr` with equations that are known as a whole, or have no known part.

    Branches and loops that are known in part become two equations each. In branches the
    policy chooses what the first stores for the second: that is the set.
    """
    stored: set[Any] = set()
    reached: set[Any] = {v for v, u in zip(jaxpr.ins, unknown) if u}
    eqns: list[Eqn] = []
    for eqn in jaxpr.eqns:
        mask = tuple([v in reached for v in eqn.ins])
        split: Split | None = None
        if any(mask) and not all(mask) and eqn.op.split is not None:
            op = eqn.op
            if op.flow is Flow.BRANCH:
                inner = [_checkpointed(j, policy) for j in op.jaxprs()]
                op = op.lift(inner, 0)[0]
            split = op.split(mask)
        if split is None:
            eqns.append(eqn)
            reached.update(eqn.outs if any(mask) else ())
            continue
        residuals: list[Var] = []
        if split.known is not None:
            ins = [eqn.ins[i] for i in split.known_in]
            outs = [v for v, u in zip(eqn.outs, split.unknown_out) if not u]
            avals = infer(split.known, tuple([v.aval for v in ins]))
            residuals = [Var(aval) for aval in avals[len(outs) :]]
            stored.update(residuals if eqn.op.flow is Flow.BRANCH else ())
            eqns.append(Eqn(split.known, ins, outs + residuals, eqn.where))
        if split.unknown is not None:
            ins = [eqn.ins[i] if i >= 0 else residuals[~i] for i in split.unknown_in]
            outs = [v for v, u in zip(eqn.outs, split.unknown_out) if u]
            eqns.append(Eqn(split.unknown, ins, outs, eqn.where))
            reached.update(outs)
    return Jaxpr(jaxpr.ins, eqns, jaxpr.outs, jaxpr.name), stored


@memo_on_first
def _checkpointed(jaxpr: Jaxpr, policy: Policy) -> Jaxpr:
    """`jaxpr` as one checkpoint under `policy`."""
    ins = [Var(aval) for aval in jaxpr.in_avals]
    outs = [Var(aval) for aval in jaxpr.out_avals]
    eqn = Eqn(Remat(jaxpr, policy=policy), ins, outs)
    return Jaxpr(ins, [eqn], outs, jaxpr.name)


@memo_on_first
def _storing_loop(scan: Any, policy: Policy) -> tuple[Any, Any, list[Aval]]:
    """A loop that also gives what `policy` stores of each turn, and one that takes it.

    The types are those of the stacks of what is stored.
    """
    body = inline(scan.jaxpr, lambda eqn: eqn.op.jaxpr if type(eqn.op) is Jit else None)
    kept = [
        v
        for eqn in body.eqns
        for i, v in enumerate(eqn.outs)
        if eqn.op.flow is None and _saveable(eqn, i, policy)
    ]
    keep = Jaxpr(body.ins, body.eqns, [*body.outs, *kept], body.name)
    given = {v: Var(v.aval) for v in kept}
    eqns = [
        Eqn(e.op, [given.get(v, v) for v in e.ins], e.outs, e.where)  # type: ignore[arg-type]
        for e in body.eqns
    ]
    outs = [given.get(v, v) for v in body.outs]  # type: ignore[arg-type]
    again = Jaxpr([*body.ins, *given.values()], eqns, outs, body.name)
    again, _ = dce(again, (True,) * len(outs))
    avals = [v.aval.update((scan.length, *v.aval.shape)) for v in kept]
    return (
        scan.like(keep, scan.num_consts, scan.num_carry),
        scan.like(again, scan.num_consts, scan.num_carry),
        avals,
    )


def _saveable(eqn: Eqn, out: int, policy: Policy) -> bool:
    """Whether `policy` stores an output; of a branch or loop, what makes it inside."""
    jaxprs = eqn.op.jaxprs()
    if not jaxprs or len(jaxprs[0].outs) != len(eqn.outs):
        answer = policy(eqn.primitive, *[v.aval for v in eqn.ins], **eqn.params)
        return _stores(answer)
    for jaxpr in jaxprs:
        var = jaxpr.outs[out]
        for inner in jaxpr.eqns:
            if var in inner.outs and _saveable(inner, inner.outs.index(var), policy):
                return True
    return False


# ------------------------------------------------------------------------------ policies


class Decision(enum.Enum):
    """What a policy may answer besides True and False."""

    RECOMPUTE = False
    SAVE = True

    def __bool__(self) -> bool:
        return self.value

    def __repr__(self) -> str:
        return "Saveable" if self.value else "Recompute"


Recompute, Saveable = Decision.RECOMPUTE, Decision.SAVE

# Kinds of memory that are one and the same where the host computes.
HOST_KINDS = ("device", "pinned_host", "unpinned_host")


class Offloadable(NamedTuple):
    """The answer of a policy that stores a value in another memory, until it is needed.

    Where the host computes, the memory of the device is that of the host: values are
    stored, and nothing is moved. NotImplementedError for memory that does not exist here.

    Args:
      src: the memory of the device, "device".
      dst: where the value waits, "pinned_host".
    """

    src: str
    dst: str


def _stores(answer: Any) -> bool:
    """What a policy answered, as whether to store a value."""
    if type(answer) is Offloadable:
        for kind in answer:
            if kind not in HOST_KINDS:
                raise NotImplementedError(
                    f"checkpoint: the policy offloads to or from memory {kind!r}; there"
                    f" are {', '.join(HOST_KINDS)}"
                )
    return bool(answer)


class Name(Unary):
    """The same values, under a name that policies of checkpoints can ask for."""

    label: str

    accepts = "fcuibK"

    @property
    def params(self) -> dict[str, Any]:
        return {"name": self.label}

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        return self(*primals), tangents[0]

    def scalar(self, block: Any, x: Any) -> Any:
        return x

    def expand(self, x: Any) -> Any:
        return x


def checkpoint_name(x: Any, name: str) -> Any:
    """The arrays of the pytree `x`, under a name for the policy of a checkpoint.

    >>> import tetrad as jax
    >>> float(checkpoint_name(jax.numpy.sin(0.0), "s"))
    0.0
    """
    if not isinstance(name, str):
        raise TypeError(f"checkpoint_name: the name must be a string, got {name!r}")
    return tree.map(Name(name), x)


def everything_saveable(primitive: Any, *avals: Any, **params: Any) -> bool:
    """Stores everything; the checkpoint then changes nothing."""
    return True


def nothing_saveable(primitive: Any, *avals: Any, **params: Any) -> bool:
    """Stores nothing but the arguments; the same as no policy."""
    return False


def dots_saveable(primitive: Any, *avals: Any, **params: Any) -> bool:
    """Stores the results of matrix products."""
    return bool(primitive.kind is Kind.CONTRACT)


def dots_with_no_batch_dims_saveable(
    primitive: Any, *avals: Any, **params: Any
) -> bool:
    """Stores the results of matrix products without batch axes, as of weights."""
    if primitive.kind is not Kind.CONTRACT:
        return False
    _, batch = params["dimension_numbers"]
    return not any(batch)


def save_only_these_names(*names: str) -> Policy:
    """Stores what `checkpoint_name` gave one of `names`."""
    chosen = frozenset(names)

    def policy(primitive: Any, *avals: Any, **params: Any) -> bool:
        return primitive is Name and params["name"] in chosen

    return policy


def save_any_names_but_these(*names: str) -> Policy:
    """Stores what `checkpoint_name` gave any name but `names`."""
    left_out = frozenset(names)

    def policy(primitive: Any, *avals: Any, **params: Any) -> bool:
        return primitive is Name and params["name"] not in left_out

    return policy


def save_anything_except_these_names(*names: str) -> Policy:
    """Stores everything but what `checkpoint_name` gave one of `names`."""
    left_out = frozenset(names)

    def policy(primitive: Any, *avals: Any, **params: Any) -> bool:
        return not (primitive is Name and params["name"] in left_out)

    return policy


def save_from_both_policies(first: Policy, second: Policy) -> Policy:
    """Stores what either policy stores."""

    def policy(primitive: Any, *avals: Any, **params: Any) -> bool:
        return bool(
            first(primitive, *avals, **params) or second(primitive, *avals, **params)
        )

    return policy


def save_and_offload_only_these_names(
    *,
    names_which_can_be_saved: Sequence[str],
    names_which_can_be_offloaded: Sequence[str],
    offload_src: str,
    offload_dst: str,
) -> Policy:
    """Stores what `checkpoint_name` gave one of the first names, and offloads the second."""
    saved, offloaded = set(names_which_can_be_saved), set(names_which_can_be_offloaded)
    if saved & offloaded:
        raise ValueError(
            "save_and_offload_only_these_names: names must be saved or offloaded, but"
            f" {sorted(saved & offloaded)} are in both"
        )

    def policy(primitive: Any, *avals: Any, **params: Any) -> Any:
        if primitive is not Name or params["name"] not in saved | offloaded:
            return Recompute
        if params["name"] in saved:
            return Saveable
        return Offloadable(offload_src, offload_dst)

    return policy


def offload_dot_with_no_batch_dims(offload_src: str, offload_dst: str) -> Policy:
    """Offloads the results of matrix products without batch axes, as of weights."""

    def policy(primitive: Any, *avals: Any, **params: Any) -> Any:
        if dots_with_no_batch_dims_saveable(primitive, *avals, **params):
            return Offloadable(offload_src, offload_dst)
        return Recompute

    return policy
