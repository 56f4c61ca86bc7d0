"""What a loop has to remember of each step for the steps of a later loop.

In: the body of the loop that runs first, and the body of the later one, whose first
inputs are residuals. Out: the same pair, with fewer residuals where the later body can
compute one from others in a few operations that are cheaper than memory. What both loops
read anyway (constants, scanned arrays) and what the first one returns of each step costs
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tetrad._src.core.jaxpr import Eqn, Jaxpr, Var, dce, eval_jaxpr
from tetrad._src.core.stage import restage

LONGEST = 8  # operations that replace one residual


class Bodies(NamedTuple):
    """Bodies of two loops.

    `known` gives `kept` results, then the residuals; `source` says which of its inputs
    they are, None if none. `later` takes the residuals first.
    """

    known: Jaxpr
    later: Jaxpr
    kept: int
    source: tuple[int | None, ...]


def with_fewer(bodies: Bodies, passing: Sequence[bool], returned: int) -> Bodies:
    """The bodies with as few residuals as can be found.

    `passing` says of the inputs of `known` whether the later loop can read them, too;
    its results from number `returned` on are returned of each step.
    """
    known, kept = bodies.known, bodies.kept
    residuals = known.outs[kept:]
    free = {v for v, passes in zip(known.ins, passing) if passes}
    free |= {v for v in known.outs[returned:kept] if type(v) is Var}
    stacked = {v for v in residuals if type(v) is Var and v not in free}
    if not stacked:
        return bodies
    search = _Search(known, free)
    fewer = search.fewer(stacked)
    if fewer == stacked:
        return bodies
    eqns = search.between(free | fewer, stacked - fewer)
    return _rebuilt(bodies, eqns, stacked - fewer)


class _Search:
    """Looks for values from which others are computed cheaply."""

    def __init__(self, jaxpr: Jaxpr, free: set[Var]) -> None:
        self.free = free
        self.order = {eqn: n for n, eqn in enumerate(jaxpr.eqns)}
        self.maker = {v: eqn for eqn in jaxpr.eqns for v in eqn.outs if _cheap(eqn)}

    def needs(self, var: Var, given: Callable[[Var], bool]) -> set[Var] | None:
        """What is missing to compute `var` from what is given; None if too long."""
        missing: set[Var] = set()
        seen: set[Var] = set()
        work, length = [var], 0
        while work:
            v = work.pop()
            if v in seen:
                continue
            seen.add(v)
            eqn = self.maker.get(v)
            if v is not var and given(v) or eqn is None:
                if not given(v) or v is var:
                    missing.add(v)
                continue
            length += 1
            if length > LONGEST:
                return None
            work.extend([a for a in eqn.ins if type(a) is Var])
        return missing

    def fewer(self, stacked: set[Var]) -> set[Var]:
        """What to stack instead, from which all of `stacked` can be computed."""
        stacked = set(stacked)
        for var in sorted(stacked, key=self.place, reverse=True):
            rest = self.free | (stacked - {var})
            if self.needs(var, rest.__contains__) == set():
                stacked.discard(var)
        while True:
            sources: dict[Var, list[Var]] = {}
            for var in stacked:
                rest = self.free | (stacked - {var})
                missing = self.needs(var, rest.__contains__)
                if missing is not None and len(missing) == 1 and var not in missing:
                    sources.setdefault(missing.pop(), []).append(var)
            for source in sorted(sources, key=self.place):
                group = sources[source]
                if sum([_bytes(v) for v in group]) > _bytes(source):
                    stacked = (stacked - set(group)) | {source}
                    break
            else:
                return stacked

    def place(self, var: Var) -> int:
        """Where a value is made; inputs and dear ones come first."""
        eqn = self.maker.get(var)
        return -1 if eqn is None else self.order[eqn]

    def between(self, given: set[Var], wanted: set[Var]) -> list[Eqn]:
        """The equations that compute what is wanted, in order."""
        found: set[Eqn] = set()
        work = list(wanted)
        while work:
            eqn = self.maker[work.pop()]
            if eqn in found:
                continue
            found.add(eqn)
            work.extend([a for a in eqn.ins if type(a) is Var and a not in given])
        return sorted(found, key=self.order.__getitem__)


def _cheap(eqn: Eqn) -> bool:
    """Whether an equation costs less than what it gives costs in memory."""
    op = eqn.op
    view = op.restride is not None and op.starts is None or op.coordinates is not None
    return (op.cheap or view) and not op.effects and len(eqn.outs) == 1


def _bytes(var: Var) -> int:
    return var.aval.nbytes


def _rebuilt(bodies: Bodies, eqns: list[Eqn], computed: set[Var]) -> Bodies:
    """The bodies in which `eqns` compute some of the residuals for the later body."""
    known, later, kept = bodies.known, bodies.later, bodies.kept
    residuals = known.outs[kept:]
    made = {v for eqn in eqns for v in eqn.outs}
    read = [a for eqn in eqns for a in eqn.ins]
    left = [a for a in residuals if a not in computed]
    leaves = list(
        dict.fromkeys([a for a in (*left, *read) if type(a) is Var and a not in made])
    )
    again = Jaxpr(leaves, eqns, residuals, known.name)
    count = len(leaves)

    def run(*args: object) -> list[object]:
        values = eval_jaxpr(again, args[:count])
        return eval_jaxpr(later, [*values, *args[count:]])

    rest = later.ins[len(residuals) :]
    longer = restage(run, [v.aval for v in (*leaves, *rest)], later.name)
    outs = [*known.outs[:kept], *leaves]
    shorter, _ = dce(
        Jaxpr(known.ins, known.eqns, outs, known.name), (True,) * len(outs)
    )
    position = {v: n for n, v in enumerate(known.ins)}
    source = tuple([position.get(v) for v in leaves])
    return Bodies(shorter, longer, kept, source)
