"""The graph of a jaxpr as fusion sees it: which values must be in memory.

In: a jaxpr and the machine it is compiled for. Out: `Graph`: a `Node` for every
variable. Reductions, updates and hand-made kernels give *stored* values. Elementwise
values and index maps are not stored unless somebody outside needs them, or computing
them again would cost more than a trip through memory: they are pulled into every kernel
that reads them. `add` makes the nodes, forwards; `decide` then says, backwards, what
else is stored. What follows is in `fuse`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.jaxpr import Eqn, Jaxpr, Literal, Var
from tetrad._src.core.op import Flow, Kind, Op
from tetrad._src.passes import inner, stencils
from tetrad._src.passes.ir import Scalar
from tetrad._src.passes.machine import Machine
from tetrad._src.passes.patches import Box, Piece, unwritten
from tetrad._src.passes.readers import Ahead, readers_first
from tetrad._src.passes.roles import CARRY, flow_roles
from tetrad._src.passes.trees import ROWS, collapses, tree

INPUT, VALUE, MAP, VIEW, COUNT, ROOT, GATHER = range(7)

READ_COST = 2.0
STORE_COST = 3.0
LAUNCH_COST = 4000.0
GATHER_COST = 12.0
SHORT_ROW = 16  # elements that are computed at once
LONG_ROW = 64  # elements: what is computed once a row costs nothing from here on
SMALL_PART = 4  # a value with fewer bytes than this part of an array is small
HEAVY = 500.0  # instructions: longer expressions are cut by storing an operand

BOOL = np.dtype(bool)

Shape = tuple[int, ...]
Strides = tuple[int, ...]


class Splat:
    """The index map from rank 0 to any space."""

    __slots__ = ("rank",)

    def __init__(self, rank: int) -> None:
        self.rank = rank

    def restride(
        self, aval: Aval, strides: Strides, offset: int
    ) -> tuple[Aval, Strides, int]:
        return aval, (0,) * self.rank, offset


class Permute:
    """The index map whose axis `i` is axis `order[i]` of the operand."""

    __slots__ = ("order",)

    starts = None

    def __init__(self, order: Shape) -> None:
        self.order = order

    def restride(
        self, aval: Aval, strides: Strides, offset: int
    ) -> tuple[Aval, Strides, int]:
        permuted = [aval.shape[d] for d in self.order]
        moved = tuple([strides[d] for d in self.order])
        return Aval(permuted, aval.dtype), moved, offset


class Lookup:
    """The index map to number `entry` of index vectors, from the array that they place.

    The vectors lie along the axes `along` of an array of this shape.
    """

    __slots__ = ("along", "entry", "shape")

    starts = None

    def __init__(self, along: Shape, entry: int, shape: Shape) -> None:
        self.along = along
        self.entry = entry
        self.shape = shape

    def restride(
        self, aval: Aval, strides: Strides, offset: int
    ) -> tuple[Aval, Strides, int]:
        moved = [0] * len(self.shape)
        for axis, stride in zip(self.along, strides):
            moved[axis] = stride
        offset += self.entry * strides[-1]
        return Aval(self.shape, aval.dtype), tuple(moved), offset


class Window:
    """The index map to a box of the operand."""

    __slots__ = ("start", "shape")

    starts = None

    def __init__(self, start: Shape, shape: Shape) -> None:
        self.start = start
        self.shape = shape

    def restride(
        self, aval: Aval, strides: Strides, offset: int
    ) -> tuple[Aval, Strides, int]:
        for first, stride in zip(self.start, strides):
            offset += first * stride
        return Aval(self.shape, aval.dtype), strides, offset


class Node:
    """One value of the jaxpr while it is being fused.

    What stands in the class is what most nodes begin with.
    """

    pick = -1  # which result of an op with several
    value = -1  # its number in the plan, once stored
    stored = False
    uses = 0
    layouts: tuple[Strides, ...] = ()  # strides it is read with, at the bottom
    level = 0  # kernels that must have run before
    cost = 0.0  # to evaluate one element where it is read
    own = 0.0  # instructions of the operation itself
    weight = 0.0  # instructions of its expression, shared parts counted again
    near = -1  # first step where it can be used, reading values made there
    far = 0  # first step where it can be used, reading from memory
    evals: dict[Any, float] | None = None  # (level, space) -> evaluations there
    scalar: Scalar | None = None
    starts: tuple[Any, ...] = ()
    walks: tuple[Strides, ...] | None = None  # `layouts` before it was stored
    pieces: Sequence[Piece] = ()  # that it is put together from
    gone = False  # put together where it is needed only
    boxes: Sequence[Box] = ()  # in which it is computed one after the other

    def __init__(self, aval: Aval, kind: int, op: Any, ins: Sequence[Node]) -> None:
        self.aval = aval
        self.kind = kind
        self.op = op
        self.ins = ins

    def store(self) -> bool:
        """It must be in memory. Whether it is read in another way from now on."""
        if self.stored:
            return False
        self.stored = True
        self.walks = self.layouts
        dense = (self.aval.strides,) if self.aval.shape else ()
        changed = self.layouts != () and self.layouts != dense
        self.layouts = dense
        self.cost = READ_COST
        self.weight = 1.0
        return changed

    def evaluated(self, key: Any, count: float) -> None:
        """Notes that kernels at a level and space evaluate it `count` times."""
        if self.evals is None:
            self.evals = {key: count}
        else:
            self.evals[key] = max(self.evals.get(key, 0.0), count)


def scalar_node(aval: Aval, scalar: Scalar) -> Node:
    """A scalar that travels as a word."""
    node = Node(aval, VALUE, None, ())
    node.scalar = scalar
    return node


def memory_node(aval: Aval, value: int) -> Node:
    """What comes into a jaxpr in memory: value number `value` of the plan."""
    node = Node(aval, INPUT, None, ())
    node.value = value
    node.stored = True
    node.cost = READ_COST
    if aval.shape:
        node.layouts = (aval.strides,)
    return node


def input_nodes(avals: Sequence[Aval], by_value: Sequence[bool]) -> list[Node]:
    """The inputs of a program."""
    return [
        scalar_node(aval, Scalar(position, None, aval.dtype))
        if scalar
        else memory_node(aval, position)
        for position, (aval, scalar) in enumerate(zip(avals, by_value))
    ]


class Graph:
    """The nodes of a jaxpr; `order` lists those of each equation."""

    def __init__(self, jaxpr: Jaxpr, inputs: Sequence[Node], machine: Machine) -> None:
        self.machine = machine
        jaxpr = readers_first(jaxpr)
        self.nodes: dict[Var, Node] = dict(zip(jaxpr.ins, inputs, strict=True))
        self.order: list[tuple[Eqn, list[Node]]] = []
        self.moved = False  # some value is read in other ways than when it was added
        self.jaxpr = jaxpr
        self.pieces: dict[Var, list[Piece]] | None = None  # not looked for yet
        self.gone: set[Var] = set()
        self.stencils: stencils.Stencils | None = None
        for eqn in jaxpr.eqns:
            self.order.append((eqn, self.add(eqn)))
        self.outs = [self.node(atom) for atom in jaxpr.outs]
        if any([eqn.op.kind is Kind.UPDATE for eqn in jaxpr.eqns]):
            self.store_readers()
        self.decide()

    # ------------------------------------------------------------ forwards: the nodes

    def node(self, atom: Any) -> Node:
        if type(atom) is Literal:
            return scalar_node(atom.aval, Scalar(-1, atom.val, atom.aval.dtype))
        return self.nodes[atom]

    def add(self, eqn: Eqn) -> list[Node]:
        """The nodes of one equation; values that must be stored are marked."""
        op = eqn.op
        nodes = self.nodes
        ins = [
            nodes[atom] if type(atom) is Var else self.node(atom) for atom in eqn.ins
        ]
        kind = op.kind
        if kind is Kind.ELEMENTWISE:
            made = self.add_map(eqn, ins)
        elif op.restride is not None or op.coordinates is not None:
            made = [self.add_view(eqn, ins)]
        elif kind is Kind.INDEXED:
            made = [self.add_gather(eqn, ins)]
        else:
            made = self.add_root(eqn, ins)
        for var, node in zip(eqn.outs, made):
            self.nodes[var] = node
        return made

    def add_map(self, eqn: Eqn, ins: list[Node]) -> list[Node]:
        op = eqn.op
        own = cost = weight = self.machine.cost(op, tuple([x.aval.dtype for x in ins]))
        layouts: tuple[Strides, ...] = ()
        level = 0
        for x in ins:
            weight += x.weight
            uses = x.uses = x.uses + 1
            cost += x.cost / uses
            if x.level > level:
                level = x.level
            if x.layouts != layouts and x.aval.shape:
                layouts += tuple([s for s in x.layouts if s not in layouts])
        if weight > HEAVY:
            weight = self.limit(own, ins)
        made = []
        for pick, var in enumerate(eqn.outs):
            node = Node(var.aval, MAP, op, ins)
            if op.multiple:
                node.pick = pick
            node.layouts = layouts
            node.level = level
            node.own = own
            node.cost = cost
            node.weight = weight
            made.append(node)
        if self.stencils is not None:
            for var, node in zip(eqn.outs, made):
                node.boxes = self.stencils.boxes.get(var, ())
                if var in self.stencils.stored:
                    self.store(node)
        return made

    def limit(self, own: float, ins: list[Node]) -> float:
        """The weight of an expression, after operands that make it too heavy are stored.

        Expressions in one kernel are compiled as a whole, which takes long if they are
        long; and views of views of one value may double at every step.
        """
        different = list(dict.fromkeys(ins))
        while True:
            weight = own + sum([x.weight for x in different])
            heaviest = max(different, key=_weight)
            if weight <= HEAVY or heaviest.weight <= 1.0:
                return weight
            self.store(heaviest)

    def add_view(self, eqn: Eqn, ins: list[Node]) -> Node:
        op = eqn.op
        aval = eqn.outs[0].aval
        if op.coordinates is not None:
            node = Node(aval, COUNT, op, ())
            node.layouts = (op.coordinates()[0],)
            node.cost = 1.0
            return node
        x = ins[0]
        node = Node(aval, VIEW, op, ins)
        for other in ins:
            other.uses += 1
            node.level = max(node.level, other.level)
        layouts = []
        for strides in x.layouts or (x.aval.strides,):
            moved = op.restride(x.aval, strides, 0)
            if moved is None:
                self.store(x)
                moved = op.restride(x.aval, x.aval.strides, 0)
                layouts = [moved[1]]
                break
            if moved[1] not in layouts:
                layouts.append(moved[1])
        if x.layouts or x.kind != VALUE:
            node.layouts = tuple(layouts) if aval.shape else ()
        node.cost = x.cost
        node.weight = x.weight
        if aval.size > x.aval.size:
            # Read, or evaluated once a row: either way cheap at each element.
            node.cost = min(x.cost, READ_COST)
        if op.starts is not None:
            node.starts = self.add_starts(op, ins)
        return node

    def add_starts(self, op: Op, ins: list[Node]) -> tuple[Any, ...]:
        """Start rules with the nodes of their operands, which are scalars."""
        starts = []
        for start in op.starts(*[x.aval for x in ins]):
            source = ins[start.operand]
            if source.kind != VALUE:
                self.store(source)
            starts.append((source, start.axis, start.limit))
        return tuple(starts)

    def add_gather(self, eqn: Eqn, ins: list[Node]) -> Node:
        """A read at computed coordinates: the operand, and the numbers that place it."""
        aval = eqn.outs[0].aval
        source = ins[0]
        source.uses += 1
        self.store(source)
        starts = self.lookups(eqn, ins[1], aval.shape)
        node = Node(aval, GATHER, eqn.op, [source, *starts])
        node.level = max([source.level + 1, *[x.level for x in starts]])
        node.cost = node.weight = GATHER_COST
        fixed, free = point_maps(eqn.op, aval.ndim, source.aval)
        layouts = [fixed, *[unit for unit in free if unit is not None]]
        for x in starts:
            layouts.extend(x.layouts)
            node.cost += x.cost
            node.weight += x.weight
        node.layouts = tuple(dict.fromkeys(layouts)) if aval.shape else ()
        return node

    def lookups(self, eqn: Eqn, x: Node, shape: Shape) -> list[Node]:
        """Views of index vectors, one for each of their numbers, over a space."""
        x.uses += 1
        if x.weight > HEAVY / 2:
            self.store(x)
        along = eqn.op.along(len(shape))
        made = []
        for entry in range(along.length):
            op = Lookup(along.vectors, entry, shape)
            node = Node(Aval(shape, x.aval.dtype), VIEW, op, (x,))
            layouts = [
                op.restride(x.aval, strides, 0)[1]
                for strides in x.layouts or (x.aval.strides,)
            ]
            node.layouts = tuple(dict.fromkeys(layouts)) if shape else ()
            node.level = x.level
            node.cost = x.cost
            node.weight = x.weight
            self.order.append((eqn, [node]))
            made.append(node)
        return made

    def add_root(self, eqn: Eqn, ins: list[Node]) -> list[Node]:
        """Nodes of an operation whose results are always stored."""
        op = eqn.op
        level = 0
        for x in ins:
            x.uses += 1
            level = max(level, x.level)
        if op.kind is Kind.REDUCE:
            self.need_tree(eqn, ins)
        elif op.kind is Kind.UPDATE:
            ins = self.need_update(eqn, ins)
        elif op.flow is not None:
            self.need_flow(op, ins)
        elif op.host is not None:
            for x in ins:
                self.store(x)
        elif op.regions is None:
            ins = self.need_call(eqn, ins)
        elif self.pieces is None:
            self.pieces, self.gone = unwritten(self.jaxpr)
            if self.pieces:
                self.stencils = stencils.find(self.jaxpr, self.pieces)
                self.gone |= self.stencils.gone
        made = []
        for pick, var in enumerate(eqn.outs):
            node = Node(var.aval, ROOT, op, ins)
            node.pick = pick
            node.stored = True
            if self.pieces is not None and var in self.pieces:
                node.pieces = self.pieces[var]
                node.gone = var in self.gone
                node.stored = not node.gone
            node.layouts = (var.aval.strides,) if var.aval.shape else ()
            node.level = level + 1
            node.cost = READ_COST
            made.append(node)
        if not made:  # what matters is its effects
            node = Node(Aval((), BOOL), ROOT, op, ins)
            node.level = level + 1
            node.uses = 1
            made.append(node)
        return made

    def need_tree(self, eqn: Eqn, ins: list[Node]) -> None:
        """Stores operands that cannot be walked as the reduction's tree wants."""
        space = ins[0].aval.shape
        form = tree(space, eqn.op.axes)  # type: ignore[attr-defined]
        if form.kind is ROWS and len(form.inner) > 1:
            for x in ins:
                if not all(collapses(s, space, form.inner) for s in x.layouts):
                    self.store(x)

    def need_update(self, eqn: Eqn, ins: list[Node]) -> list[Node]:
        op = eqn.op
        base = ins[0]
        self.store(base)
        if op.point is None:
            for start in op.starts(*[x.aval for x in ins]):
                if ins[start.operand].kind != VALUE:
                    self.store(ins[start.operand])
            if _reads(ins[1], base):
                self.store(ins[1])
            return ins
        for x in ins[1:]:
            if _reads(x, base):
                self.store(x)
        updates = ins[2]
        return [base, *self.lookups(eqn, ins[1], updates.aval.shape), updates]

    def need_flow(self, op: Op, ins: list[Node]) -> None:
        """Operands that the blocks read; scalars pass by value.

        What a kernel can hold pulls its operands into that kernel, but for those of
        which it reads a slice at a time.
        """
        found = inner.find(op, [x.aval for x in ins], self.machine)
        if found is not None:
            for position in found.stacked:
                self.store(ins[position])
            pulled = [ins[position] for position in found.operands]
            for x in pulled:
                _, rest = inner.layout(x.aval, found.space)
                if rest and x.aval.size > 1 and not bottom_of(x).stored:
                    self.store(x)  # or every element would compute it
            if pulled:
                self.limit(found.cost, pulled)
            roles = flow_roles(op, len(ins))
            for position in found.arrays:
                self.need_memory(ins[position], roles[position])
            return
        if op.flow is Flow.BRANCH:
            self.store(ins[0])
        for position, role in enumerate(flow_roles(op, len(ins))):
            self.need_memory(ins[position], role)

    def need_memory(self, x: Node, role: int) -> None:
        """An operand that control flow reads where it is, or starts from."""
        if role is CARRY:
            if x.kind == MAP or x.kind == GATHER:
                self.store(x)
        elif x.kind != VALUE:
            self.store(x)

    def need_call(self, eqn: Eqn, ins: list[Node]) -> list[Node]:
        """Operands as the hand-made kernel reads them; what it cannot read is stored.

        An operand that is to be stored in another order of axes becomes a node of its
        own, a stored view of the operand.
        """
        op = eqn.op
        if op.kernel is None:
            raise NotImplementedError(
                f"the CPU backend has no rule for {op.name}; it needs a kernel or an"
                " expansion into other operations"
            )
        name, parameters = op.kernel(*[x.aval for x in ins])
        machine = self.machine
        found = []
        for position, x in enumerate(ins):
            bottom = bottom_of(x)
            strides = _moved(x, bottom)
            whole = x.aval.size >= bottom.aval.size
            if (
                strides is not None
                and whole
                and bottom.kind not in (COUNT, VALUE)
                and machine.takes(name, parameters, position, x.aval, strides)
            ):
                self.store(bottom)
                found.append(x)
                continue
            order = machine.order(name, parameters, position, x.aval)
            if order != tuple(range(x.aval.ndim)):
                x = self.permuted(x, order)
            self.store(x)
            found.append(x)
        return found

    def permuted(self, x: Node, order: Shape) -> Node:
        """A view of `x` with its axes in `order`."""
        op = Permute(order)
        shape = [x.aval.shape[d] for d in order]
        node = Node(Aval(shape, x.aval.dtype), VIEW, op, (x,))
        node.level = x.level
        node.uses = 1
        return node

    def store(self, x: Node) -> None:
        if x.store():
            self.moved = True

    def store_readers(self) -> None:
        """Stores, before an update, small values that read the old array and are used
        later; and results that do, since they are stored anyway."""
        ahead = Ahead()
        for eqn, made in self.order:
            if not made:
                continue
            for x in made[0].ins:
                base = None if x.stored else ahead.late(x)
                if base is not None and x.aval.nbytes * SMALL_PART <= base.aval.nbytes:
                    self.store(x)
            if eqn.op.kind is Kind.UPDATE and made[0].kind == ROOT:
                ahead.update(made[0].ins[0])
            elif made[0].kind != ROOT:
                for node in made:
                    ahead.made(node)
        for x in self.outs:
            if not x.stored and x.kind in (VIEW, MAP, GATHER) and ahead.late(x):
                self.store(x)

    # ------------------------------------------------- backwards: what else is stored

    def decide(self) -> None:
        """Counts uses that matter, and stores what is dear to compute again."""
        for node in self.nodes.values():
            node.uses = 0
        for node in self.outs:
            node.uses += 1
            if node.kind == MAP or node.kind == GATHER:
                self.store(node)
            else:
                node.evaluated((node.level, node.aval.shape), float(node.aval.size))
        for eqn, made in reversed(self.order):
            for node in made:
                if node.uses:
                    break
            else:
                if not eqn.op.effects:
                    continue
            ins = made[0].ins if made else ()
            first = made[0]
            if first.kind == ROOT:
                self.decide_root(eqn, first)
            elif first.kind == COUNT:
                continue
            else:
                for node in made:
                    if node.kind == MAP and not node.stored and _dear(node):
                        self.store(node)
                evals = _evals(made)
                for x in ins:
                    x.uses += 1
                    _merge(x, evals, first)

    def decide_root(self, eqn: Eqn, first: Node) -> None:
        level = first.level - 1
        for position, x in enumerate(first.ins):
            x.uses += 1
            space = x.aval.shape
            if eqn.op.regions is not None:
                # Every region has a kernel of its own.
                key = (level, space, position, first if first.gone else None)
            else:
                key = (level, space)  # type: ignore[assignment]
            x.evaluated(key, float(x.aval.size))
            if type(x.op) is Permute:
                x.ins[0].uses += 1
                x.ins[0].evaluated(key, float(x.aval.size))


# ----------------------------------------------------------------------------- helpers


def point_maps(
    op: Op, rank: int, aval: Aval
) -> tuple[Strides, tuple[Strides | None, ...]]:
    """How a point moves through an operand as the outer array of `rank` is walked.

    The strides along axes that no index moves, and the maps of the coordinates that the
    operation still has to be told.
    """
    along = op.along(rank)
    strides = [0] * rank
    free: list[Strides | None] = [
        None if axis in along.vectors else tuple([int(d == axis) for d in range(rank)])
        for axis in range(rank)
    ]
    for outer, axis in along.fixed:
        strides[outer] = aval.strides[axis]
        free[outer] = None
    return tuple(strides), tuple(free)


def _weight(x: Node) -> float:
    return x.weight


def bottom_of(x: Node) -> Node:
    """What a view looks at."""
    while x.kind == VIEW and not x.stored:
        x = x.ins[0]
    return x


def _moved(x: Node, bottom: Node) -> Strides | None:
    """The strides of view `x` if `bottom` is dense; None if it is no plain view."""
    chain = []
    while x is not bottom:
        if x.starts:
            return None
        chain.append((x.op, x.ins[0].aval))
        x = x.ins[0]
    result = bottom.aval.strides
    for op, aval in reversed(chain):
        moved = op.restride(aval, result, 0)
        if moved is None:
            return None
        result = moved[1]
    return result


def _reads(x: Node, base: Node) -> bool:
    """Whether the expression of `x` reads `base` other than through memory."""
    seen: set[Node] = set()
    work = [x]
    while work:
        node = work.pop()
        if node is base:
            return True
        if node in seen:
            continue
        seen.add(node)
        if not node.stored:
            work.extend(node.ins)
    return False


def _evals(made: list[Node]) -> dict[Any, float]:
    """Where the operands of these nodes are evaluated, and how often."""
    if len(made) == 1:
        node = made[0]
        if node.stored:
            return {(node.level, node.aval.shape): float(node.aval.size)}
        return node.evals or {}
    joined: dict[Any, float] = {}
    for node in made:
        joined.update(_evals([node]))
    return joined


def _merge(x: Node, evals: dict[Any, float], reader: Node) -> None:
    if x.kind == INPUT or x.kind == VALUE:
        return
    if x.aval.ndim == 0:
        for level, *_ in evals:
            x.evaluated((level, ()), 1.0)
        return
    scale = 1.0
    if reader.kind == VIEW and not reader.stored and reader.layouts:
        # Evaluated once a row where the innermost axes are broadcast, which is worth
        # it if rows are long: one element takes as long as a vector.
        length = 1
        for axis in range(reader.aval.ndim - 1, -1, -1):
            if any(layout[axis] for layout in reader.layouts):
                break
            length *= max(reader.aval.shape[axis], 1)
        scale /= length if length >= LONG_ROW else max(length // SHORT_ROW, 1)
    for key, count in evals.items():
        x.evaluated(key, count * scale)


def _dear(node: Node) -> bool:
    """Whether storing an elementwise value beats computing it wherever it is read."""
    evals = node.evals or {}
    size = node.aval.size
    here = (node.level, node.aval.shape)
    total = sum(evals.values())
    if len(evals) == 1 and total <= size:
        return False
    again = total - (size if here in evals else 0.0)
    extra = again * (node.cost - READ_COST)
    store = size * STORE_COST
    if here not in evals:
        store += LAUNCH_COST + size * node.cost
    return extra > store
