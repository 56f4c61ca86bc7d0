"""Control flow becomes steps with blocks: branches and loops.

In: an equation whose operation states a `flow`, with its operands placed. Out: a
`Branch` or a `Loop`, whose blocks are the fused jaxprs of the operation. Scalars that
travel as words are seen through; what else the blocks read is in memory.

What a loop carries is one value: a step before the loop writes the start into it, the
blocks read it, and a `Carry` at the end of a turn replaces it. Whether that costs a
copy is decided in `plan`. The slices of stacked operands and results are `Part`s.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tetrad._src.core.avals import Aval
from tetrad._src.core.jaxpr import Atom, Eqn, Jaxpr, Literal, Var
from tetrad._src.core.op import Flow, Kind
from tetrad._src.passes import inner
from tetrad._src.passes.exchange import LEAST
from tetrad._src.passes.graph import (
    COUNT,
    INPUT,
    ROOT,
    VALUE,
    Machine,
    Node,
    Splat,
    memory_node,
    scalar_node,
)
from tetrad._src.passes.hoist import hoist
from tetrad._src.passes.ir import (
    MANY,
    SCALAR,
    Branch,
    Copy,
    Inner,
    Kernel,
    Loop,
    Part,
    Plan,
    Read,
    Scalar,
    Step,
    Update,
    Write,
)
from tetrad._src.passes.pull import Puller
from tetrad._src.passes.roles import CARRY, CONST, flow_roles
from tetrad._src.passes.simplify import simplify

NEW = -1  # an output becomes a value of its own


class FlowPlacer(Puller):
    """Places control flow; `fuse` gives it `block` and `write`."""

    def __init__(self, plan: Plan, machine: Machine) -> None:
        super().__init__(machine)
        self.plan = plan
        self.steps: list[Step] = []
        self.targets: dict[Node, int] = {}

    def block(
        self, jaxpr: Jaxpr, inputs: Sequence[Node], targets: Sequence[int]
    ) -> tuple[list[Step], list[int]]:
        raise NotImplementedError

    def write(self, node: Node, value: int) -> None:
        raise NotImplementedError

    # ------------------------------------------------------------- numbers of values

    def aim(self, outs: Sequence[Node], targets: Sequence[int]) -> None:
        """Lets outputs be computed where they are wanted, if they can be."""
        seen: set[Node] = set()
        for node, target in zip(outs, targets):
            if target != NEW and node not in seen and self.fits(node, target):
                self.targets[node] = target
            seen.add(node)

    def fits(self, node: Node, target: int) -> bool:
        """Whether the steps that store `node` may store it as value `target`."""
        if not node.stored or node.kind in (INPUT, VALUE):
            return False
        if target not in self.plan.parts or node.kind != ROOT:
            return True
        # Kernels made by hand may write behind a result, and carries are no parts.
        op = node.op
        return op.kind in (Kind.REDUCE, Kind.UPDATE) or op.regions is not None

    def new_value(self, node: Node) -> int:
        """Gives the node the number that it is stored as."""
        target = self.targets.pop(node, NEW)
        node.value = self.plan.new_value(node.aval) if target == NEW else target
        return node.value

    # --------------------------------------------------------------------- branches

    def place_flow(self, eqn: Eqn, made: list[Node]) -> None:
        flow = eqn.op.flow
        ins = made[0].ins
        made = made[: len(eqn.outs)]
        avals = [x.aval for x in ins]
        found = inner.find(eqn.op, avals, self.machine)
        if found is not None:
            self.place_inner(eqn, ins, made, found)
        elif flow is Flow.BRANCH:
            self.place_branch(eqn, ins, made)
        elif flow is Flow.WHILE:
            self.place_while(eqn, ins, made)
        else:
            self.place_scan(eqn, ins, made)
        for node in made:
            node.far, node.near = len(self.steps), -1

    def place_branch(self, eqn: Eqn, ins: Sequence[Node], made: list[Node]) -> None:
        index, *args = ins
        values = [self.new_value(node) for node in made]
        blocks = []
        for jaxpr in eqn.op.jaxprs():
            inputs = [
                self.given(x) for x in args
            ]  # one block stores nothing for another
            steps, _ = self.block(simplify(jaxpr), inputs, values)
            blocks.append(steps)
        self.steps.append(Branch(index.value, blocks))

    # ------------------------------------------------------------------------ loops

    def place_while(self, eqn: Eqn, ins: Sequence[Node], made: list[Node]) -> None:
        op: Any = eqn.op
        first, count = op.cond_nconsts, op.cond_nconsts + op.body_nconsts
        consts = [self.given(x) for x in ins[:count]]
        carries = self.start(ins[count:], made)
        test, body = op.jaxprs()
        loop = Loop(None)
        test, known = self.hoisted(simplify(test), consts[:first])
        loop.test, (loop.condition,) = self.block(test, [*known, *carries], [NEW])
        self.turn(loop, body, consts[first:], carries, [], [])
        self.steps.append(loop)

    def place_scan(self, eqn: Eqn, ins: Sequence[Node], made: list[Node]) -> None:
        op: Any = eqn.op
        roles = flow_roles(op, len(ins))
        known = roles.count(CONST)
        first = known + roles.count(CARRY)
        loop = Loop(op.length)
        consts = [self.given(x) for x in ins[:known]]
        carries = self.start(ins[known:first], made)
        stacked = []
        for x in ins[first:]:
            aval = Aval(x.aval.shape[1:], x.aval.dtype)
            part = self.part(x.value, aval, loop, op.reverse)
            stacked.append(memory_node(aval, part))
        wanted = []
        for node in made[len(carries) :]:
            if not node.uses:
                wanted.append(NEW)
                continue
            loop.stacked.append(self.new_value(node))
            aval = Aval(node.aval.shape[1:], node.aval.dtype)
            wanted.append(self.part(node.value, aval, loop, op.reverse))
        if loop.length:
            self.turn(loop, op.jaxprs()[0], consts, carries, stacked, wanted)
        self.steps.append(loop)

    def turn(
        self,
        loop: Loop,
        jaxpr: Jaxpr,
        consts: list[Node],
        carries: list[Node],
        stacked: list[Node],
        wanted: list[int],
    ) -> None:
        """The body of a loop: all that changes, and what is `wanted` of each turn."""
        jaxpr = simplify(jaxpr)
        outs, targets, later = [], [], []
        inputs = jaxpr.ins[len(consts) : len(consts) + len(carries)]
        passed = _passed(loop, inputs, jaxpr.outs[: len(carries)])
        for k, node in enumerate(carries):
            if jaxpr.outs[k] is not inputs[k] and k not in passed:
                outs.append(jaxpr.outs[k])
                targets.append(NEW)
                later.append(node.value)
        for atom, target in zip(jaxpr.outs[len(carries) :], wanted):
            if target != NEW:
                outs.append(atom)
                targets.append(target)
        if len(outs) < len(jaxpr.outs):
            jaxpr = simplify(Jaxpr(jaxpr.ins, jaxpr.eqns, outs, jaxpr.name))
        jaxpr, consts = self.hoisted(jaxpr, consts)
        given = [*consts, *carries, *stacked]
        loop.body, values = self.block(jaxpr, given, targets)
        moved = [(carries[j].value, carries[k].value) for k, j in passed.items()]
        loop.carries = moved + list(zip(values, later))

    def hoisted(self, jaxpr: Jaxpr, consts: list[Node]) -> tuple[Jaxpr, list[Node]]:
        """Places what needs no turn before the loop; the rest, and what it is given."""
        parts = hoist(jaxpr, len(consts))
        if parts is None:
            return jaxpr, consts
        before, turn = parts
        steps, values = self.block(before, consts, [NEW] * len(before.outs))
        self.steps.extend(steps)
        made = [memory_node(v.aval, value) for v, value in zip(before.outs, values)]
        return turn, [*consts, *made]

    # ---------------------------------------------------------------- inside kernels

    def place_inner(
        self, eqn: Eqn, ins: Sequence[Node], made: list[Node], found: inner.Found
    ) -> None:
        """A kernel that has the control flow inside of it."""
        op: Any = eqn.op
        space, rank = found.space, len(found.space)
        kernel = Kernel(space)
        if rank:
            kernel.splat = ((Splat(rank), None, ()),)
        values = self.arrays(op, ins, made, found, kernel)
        arrays = []
        for number, walk in found.walks:
            value, dtype = values[number]
            kernel.reads.append(Read(value, dtype, walk, 0, ()))
            arrays.append(len(kernel.reads) - 1)
        refs = [self.enter_lifted(kernel, what) for what in found.lifted]
        for position in found.operands:
            x = ins[position]
            _, rest = inner.layout(x.aval, space)
            for index in inner.points(rest):
                refs.append(self.pull(kernel, x, _element(x.aval, space, index)))
        reads = []
        for position in found.stacked:
            x = ins[position]
            for strides, offset, step in _slices(x.aval, space, op.reverse):
                kernel.reads.append(
                    Read(x.value, x.aval.dtype, strides, offset, (), step)
                )
                reads.append(len(kernel.reads) - 1)
        results, stores = self.inner_writes(op, made, kernel)
        kernel.inner = Inner(
            found.form,
            len(found.lifted),
            tuple(refs),
            tuple(reads),
            tuple(results),
            tuple(stores),
            tuple(arrays),
        )
        kernel.cost += found.cost
        kernel.wide = kernel.wide or found.long
        if op.flow is not Flow.BRANCH:
            kernel.turns = float(op.length) if op.flow is Flow.SCAN else MANY
        self.steps.append(kernel)

    def inner_writes(
        self, op: Any, made: list[Node], kernel: Kernel
    ) -> tuple[list[int], list[int]]:
        """Writes what control flow gives at its end, and what each turn of it gives.

        Lists the numbers of these writes; -1 for those that nobody needs.
        """
        results: list[int] = []
        stores: list[int] = []
        for number, node in enumerate(made):
            aval = node.aval
            if node.value in kernel.updated:
                continue
            if op.flow is Flow.SCAN and number >= op.num_carry:
                places, into = _slices(aval, kernel.space, op.reverse), stores
            else:
                places, into = _elements(aval, kernel.space), results
            if not node.uses:
                into.extend([-1] * len(places))
                continue
            value = self.new_value(node)
            for strides, offset, step in places:
                kernel.writes.append(
                    Write(-1, value, strides, offset, (), step, aval.dtype)
                )
                into.append(len(kernel.writes) - 1)
        return results, stores

    def arrays(
        self,
        op: Any,
        ins: Sequence[Node],
        made: Sequence[Node],
        found: inner.Found,
        kernel: Kernel,
    ) -> list[tuple[int, Any]]:
        """The values and dtypes of arrays in memory; carried ones start as copies."""
        roles = flow_roles(op, len(ins))
        first = roles.index(CARRY) if CARRY in roles else 0
        values = []
        for position in found.arrays:
            x = ins[position]
            value = x.value
            if roles[position] is CARRY:
                (carry,) = self.start([x], [made[position - first]])
                value = carry.value
                kernel.updated.append(value)
                self.plan.updates.append(Update(value, value, _line_of_update(op)))
            values.append((value, x.aval.dtype))
        return values

    def enter_lifted(self, kernel: Kernel, what: Literal | inner.Count) -> int:
        """A literal or a count that the turns of a kernel use."""
        if type(what) is inner.Count:
            node = Node(what.aval, COUNT, what.op, ())
            return self.pull(
                kernel, node, _element(what.aval, kernel.space, what.index)
            )
        assert type(what) is Literal
        # No 64-bit register of vectors is needed for it, whatever its type is.
        kernel.scalars.append(Scalar(-1, what.val, what.aval.dtype))
        return kernel.enter((SCALAR, len(kernel.scalars) - 1), what.aval.dtype)

    # --------------------------------------------------------------------- operands

    def given(self, x: Node) -> Node:
        """An operand as blocks see it."""
        if x.kind == VALUE:
            assert x.scalar is not None
            return scalar_node(x.aval, x.scalar)
        return memory_node(x.aval, x.value)

    def start(self, starts: Sequence[Node], made: Sequence[Node]) -> list[Node]:
        """Values that a loop carries, with what they start from."""
        carries = []
        for x, node in zip(starts, made):
            value = self.new_value(node)
            if x.value >= 0:
                self.steps.append(Copy(x.value, value))
                self.plan.starts.append((x.value, value))
            else:
                self.write(x, value)
            carries.append(memory_node(x.aval, value))
        return carries

    def part(self, whole: int, aval: Aval, loop: Loop, reverse: bool) -> int:
        """A value that is one element of the leading axis of `whole`."""
        value = self.plan.new_value(aval)
        size = aval.nbytes
        last = max((loop.length or 0) - 1, 0) * size
        offset, stride = (last, -size) if reverse else (0, size)
        self.plan.parts[value] = Part(whole, offset, stride, loop)
        return value


def _line_of_update(op: Any) -> Any:
    """The user's line of the first update in a loop."""
    for jaxpr in op.jaxprs():
        for eqn in jaxpr.eqns:
            found = eqn.where if eqn.op.updates is not None else _line_of_update(eqn.op)
            if found is not None:
                return found
    return None


def _passed(loop: Loop, inputs: Sequence[Var], outs: Sequence[Atom]) -> dict[int, int]:
    """Large carries that become what others were, and which others.

    They come in an order in which they can be copied one after the other. Only chains
    that end in something new count, and loops whose length is known.
    """
    if loop.length is None:
        return {}
    place = {var: k for k, var in enumerate(inputs)}
    follows = {k: place[out] for k, out in enumerate(outs) if out in place}
    length: dict[int, int] = {}
    for k in follows:
        chain = [k]
        while chain[-1] in follows and follows[chain[-1]] not in chain:
            chain.append(follows[chain[-1]])
        if chain[-1] not in follows and inputs[k].aval.nbytes >= LEAST:
            length[k] = len(chain)
    return {k: follows[k] for k in sorted(length, key=length.__getitem__, reverse=True)}


# ------------------------------------------------------ elements of arrays, see `inner`

Place = tuple[tuple[int, ...], int, int]  # strides over the space, offset, step


class Element:
    """The index map from an array to one element of its axes behind the space."""

    __slots__ = ("index", "wide", "rank")

    def __init__(self, index: tuple[int, ...], wide: bool, rank: int) -> None:
        self.index = index
        self.wide = wide
        self.rank = rank

    def restride(
        self, aval: Aval, strides: tuple[int, ...], offset: int
    ) -> tuple[Aval, tuple[int, ...], int]:
        kept = self.rank if self.wide else 0
        for i, stride in zip(self.index, strides[kept:]):
            offset += i * stride
        return aval, strides[:kept] if self.wide else (0,) * self.rank, offset


def _element(aval: Aval, space: tuple[int, ...], index: tuple[int, ...]) -> Any:
    """The chain of index maps to an element."""
    wide, rest = inner.layout(aval, space)
    if wide and not rest:
        return ()
    return ((Element(index, wide, len(space)), aval, ()),)


def _elements(aval: Aval, space: tuple[int, ...], step: int = 0) -> list[Place]:
    """Where the elements of an array are."""
    _, rest = inner.layout(aval, space)
    places = []
    for index in inner.points(rest):
        strides, offset = aval.strides, 0
        for op, below, _ in _element(aval, space, index):
            _, strides, offset = op.restride(below, strides, offset)
        places.append((strides, offset, step))
    return places


def _slices(aval: Aval, space: tuple[int, ...], reverse: bool) -> list[Place]:
    """Where the elements of the slices along the leading axis are."""
    inside = Aval(aval.shape[1:], aval.dtype)
    if not reverse:
        return _elements(inside, space, inside.size)
    last = (aval.shape[0] - 1) * inside.size
    return [
        (strides, offset + last, -inside.size)
        for strides, offset, _ in _elements(inside, space)
    ]
