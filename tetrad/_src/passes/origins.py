"""Which equations a step computes: for reports of time by source line.

`origins(jaxpr, …)` fuses a jaxpr again, the way it was fused when it was compiled, and
notes on the way what goes into which step. Out: the same plan, and of each of its steps
the equations. An elementwise equation that is pulled into two kernels belongs to both.
Compiling does without any of this.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tetrad._src.core.jaxpr import Eqn, Jaxpr
from tetrad._src.core.op import Flow, Kind
from tetrad._src.passes import inner
from tetrad._src.passes.bands import join
from tetrad._src.passes.cost import equation, step_bytes
from tetrad._src.passes.flow import NEW
from tetrad._src.passes.fuse import Placer
from tetrad._src.passes.graph import Graph, Node, input_nodes
from tetrad._src.passes.ir import (
    Band,
    Branch,
    Call,
    Copy,
    Kernel,
    Loop,
    Plan,
    Step,
)
from tetrad._src.passes.machine import Machine
from tetrad._src.passes.unread import drop_unread

NAMES = 6  # operations that the name of a kernel lists


class Origin(NamedTuple):
    """What a step is, for people."""

    name: str  # its operations
    types: str  # what it works on
    places: tuple[Any, ...]  # the lines that it serves
    nbytes: float  # that it moves each time
    operations: float | None  # of arithmetic each time; None if nobody knows


class _Noted:
    """The equations of a step, and lines that it serves besides theirs."""

    __slots__ = ("eqns", "inside")

    def __init__(self) -> None:
        self.eqns: dict[Eqn, None] = {}
        self.inside: list[Eqn] = []


class _NotingPlacer(Placer):
    """A placer that notes which equation each step comes from."""

    def __init__(
        self,
        graph: Graph,
        plan: Plan,
        machine: Machine,
        noted: dict[Any, _Noted],
        order: dict[Eqn, int],
    ) -> None:
        super().__init__(graph, plan, machine)
        self.noted = noted
        self.order = order
        for eqn, _ in graph.order:
            order.setdefault(eqn, len(order))
        self.eqns = {node: eqn for eqn, made in graph.order for node in made}
        self.current: Eqn | None = None

    def note(self, step: Any, eqn: Eqn | None) -> None:
        if eqn is not None:
            self.noted.setdefault(step, _Noted()).eqns[eqn] = None

    def block(
        self, jaxpr: Jaxpr, inputs: Sequence[Node], targets: Sequence[int]
    ) -> tuple[list[Step], list[int]]:
        graph = Graph(jaxpr, inputs, self.machine)
        placer = _NotingPlacer(graph, self.plan, self.machine, self.noted, self.order)
        placer.current = self.current
        outs = placer.run(targets)
        return placer.steps, outs

    def place(self, eqn: Eqn, made: list[Node]) -> None:
        before = len(self.steps)
        outer, self.current = self.current, eqn
        super().place(eqn, made)
        self.current = outer
        for step in self.steps[before:]:
            if step not in self.noted:
                self.note(step, eqn)

    def kernel(self, *args: Any, **options: Any) -> int:
        step = super().kernel(*args, **options)
        self.note(self.steps[step], self.current)
        return step

    def enter_map(self, kernel: Kernel, node: Node, *rest: Any) -> int:
        self.note(kernel, self.eqns.get(node))
        return super().enter_map(kernel, node, *rest)

    def enter_gather(self, kernel: Kernel, node: Node, *rest: Any) -> int:
        self.note(kernel, self.eqns.get(node))
        return super().enter_gather(kernel, node, *rest)

    def enter_count(self, kernel: Kernel, node: Node, *rest: Any) -> int:
        self.note(kernel, self.eqns.get(node))
        return super().enter_count(kernel, node, *rest)

    def place_inner(
        self, eqn: Eqn, ins: Sequence[Node], made: list[Node], found: inner.Found
    ) -> None:
        super().place_inner(eqn, ins, made, found)
        kernel = self.steps[-1]
        self.note(kernel, eqn)
        self.noted[kernel].inside += list(_inside(eqn))


def _inside(eqn: Eqn) -> Iterator[Eqn]:
    """The equations of the jaxprs that an equation holds, at all levels."""
    for jaxpr in eqn.op.jaxprs():
        for inside in jaxpr.eqns:
            yield inside
            yield from _inside(inside)


def origins(
    jaxpr: Jaxpr, by_value: tuple[bool, ...], machine: Machine
) -> tuple[Plan, dict[Step, Origin]]:
    """The plan of a simplified jaxpr, and what its steps and loops are."""
    plan = Plan(jaxpr.in_avals, by_value)
    inputs = input_nodes(jaxpr.in_avals, by_value)
    noted: dict[Any, _Noted] = {}
    order: dict[Eqn, int] = {}
    graph = Graph(jaxpr, inputs, machine)
    placer = _NotingPlacer(graph, plan, machine, noted, order)
    plan.outs = placer.run([NEW] * len(jaxpr.outs))
    plan.steps = join(plan, drop_unread(plan, placer.steps))
    for entry in noted.values():
        entry.eqns = dict.fromkeys(sorted(entry.eqns, key=order.__getitem__))
    found: dict[Step, Origin] = {}
    for step in _all(plan.steps):
        found[step] = _origin(plan, step, noted, machine)
    return plan, found


def whole(jaxpr: Jaxpr, nbytes: float, count: float | None) -> Origin:
    """A program as one step."""
    eqns = list(_opened(jaxpr))
    types = ", ".join([aval.long_name() for aval in jaxpr.out_avals[:2]])
    return Origin(_listed(eqns), types, _places(eqns), nbytes, count)


def _opened(jaxpr: Jaxpr) -> Iterator[Eqn]:
    """The equations of a jaxpr, those of calls and loops in their place."""
    for eqn in jaxpr.eqns:
        bodies = eqn.op.jaxprs()
        if not bodies:
            yield eqn
        for body in bodies:
            yield from _opened(body)


def _all(steps: Sequence[Step]) -> Iterator[Step]:
    for step in steps:
        yield step
        if type(step) is Branch:
            for block in step.blocks:
                yield from _all(block)
        elif type(step) is Loop:
            yield from _all(step.test)
            yield from _all(step.body)


def _origin(
    plan: Plan, step: Step, noted: dict[Any, _Noted], machine: Machine
) -> Origin:
    kernels = step.kernels if type(step) is Band else [step]
    eqns: dict[Eqn, None] = {}
    inside: list[Eqn] = []
    for kernel in kernels:
        if kernel in noted:
            eqns.update(noted[kernel].eqns)
            inside += noted[kernel].inside
    places = _places([*(inside or eqns)])
    if type(step) is Copy:
        return Origin("copy", _type(plan, step.target), places, *_cost(plan, step))
    if type(step) is Loop or type(step) is Branch:
        name = "loop" if type(step) is Loop else "branch"
        return Origin(name, "", places, 0.0, 0.0)
    if type(step) is Call:
        name = next(iter(eqns)).op.name if eqns else step.name
        count: float | None = sum([_flops(eqn, machine) for eqn in eqns])
        types = " ".join([aval.long_name() for aval in step.in_avals[:2]])
        return Origin(name, types, places, step_bytes(plan, step), count)
    names = _listed([*(inside or _calculating(eqns, kernels))])
    total: float | None = 0.0
    for kernel in kernels:
        assert type(kernel) is Kernel
        part = _arithmetic(kernel, eqns, machine)
        total = None if part is None or total is None else total + part
    largest = max(kernels, key=lambda k: _points(k.space))  # type: ignore[union-attr]
    return Origin(names, _space(largest), places, step_bytes(plan, step), total)  # type: ignore[arg-type]


def _cost(plan: Plan, step: Step) -> tuple[float, float]:
    return step_bytes(plan, step), 0.0


def _calculating(eqns: dict[Eqn, None], kernels: Sequence[Any]) -> list[Eqn]:
    """The equations that compute; those that only move where nothing is computed."""
    found = [e for e in eqns if e.op.restride is None and e.op.coordinates is None]
    return found or list(eqns)


def _listed(eqns: Sequence[Eqn]) -> str:
    names = list(dict.fromkeys([eqn.op.name for eqn in eqns]))
    more = ["…"] if len(names) > NAMES else []
    return ", ".join([*names[:NAMES], *more]) or "copy"


def _places(eqns: Sequence[Eqn]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys([e.where for e in eqns if e.where is not None]))


def _type(plan: Plan, value: int) -> str:
    return plan.avals[value].long_name()


def _space(kernel: Kernel) -> str:
    dtypes = [kernel.write_type(write) for write in kernel.writes]
    dtypes += [dtype for r in kernel.reductions for dtype in r.dtypes]
    dtypes += [kernel.dtypes[s.ref] for s in kernel.scatters]
    name = getattr(dtypes[0], "name", str(dtypes[0])) if dtypes else ""
    return f"{name}[{','.join(map(str, kernel.space))}]"


def _points(space: Sequence[int]) -> int:
    count = 1
    for extent in space:
        count *= extent
    return count


def _arithmetic(
    kernel: Kernel, eqns: dict[Eqn, None], machine: Machine
) -> float | None:
    """Operations of a kernel; those of loops that nobody can count are unknown."""
    if kernel.inner is not None:
        flows = [eqn for eqn in eqns if eqn.op.flow is not None]
        if any([eqn.op.flow is Flow.WHILE for eqn in flows]):
            return None
        return sum([_flops(eqn, machine) for eqn in flows])
    count = len(kernel.reductions) + len(kernel.scatters)
    for entry in kernel.entries:
        if getattr(entry[0], "kind", None) is Kind.ELEMENTWISE:
            count += 1
    return float(count * _points(kernel.space))


def _flops(eqn: Eqn, machine: Machine) -> float:
    cost = equation(eqn, machine)
    return cost.flops + cost.transcendentals
