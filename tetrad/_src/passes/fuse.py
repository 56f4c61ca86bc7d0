"""Fusion: a jaxpr becomes a Plan of few kernels.

In: a jaxpr whose equations are operations the machine can compute (see `simplify`), and
which inputs are scalars passed by value. Out: a `Plan`.

`graph` has said which values are stored. Here every stored value gets a kernel, in the
order of equations: the first one over the same space, behind everything it reads, or a
new one. Its expression is pulled into that kernel (`pull`). Jaxprs of control flow
become blocks (`flow`). Read `Placer.place`.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from typing import Any

from tetrad._src.core.avals import Aval
from tetrad._src.core.jaxpr import Eqn, Jaxpr
from tetrad._src.core.op import Kind, Op, Region
from tetrad._src.passes.bands import join
from tetrad._src.passes.flow import NEW, FlowPlacer
from tetrad._src.passes.graph import (
    GATHER,
    INPUT,
    MAP,
    ROOT,
    VALUE,
    VIEW,
    Graph,
    Machine,
    Node,
    Permute,
    Splat,
    Window,
    bottom_of,
    input_nodes,
    point_maps,
)
from tetrad._src.passes.ir import (
    HOST,
    Call,
    Coordinate,
    Copy,
    Kernel,
    Plan,
    Read,
    Reduction,
    Scatter,
    Step,
    Term,
    Update,
    Write,
    is_wide,
)
from tetrad._src.passes.patches import Piece, corner, cut
from tetrad._src.passes.stencils import slice_start
from tetrad._src.passes.trees import ROWS, collapses, crosses, tree
from tetrad._src.passes.unread import drop_unread

STREAMS = 24  # reads and writes of one large kernel
LONG = 500.0  # instructions of one kernel: compilers take more than linear time
FOLDS = 16  # reductions in one kernel: their states are in registers
SMALL = 1 << 16  # elements; smaller kernels may have more streams
MOST = 128  # streams of a small kernel

Shape = tuple[int, ...]
Strides = tuple[int, ...]


def fuse(jaxpr: Jaxpr, by_value: tuple[bool, ...], machine: Machine) -> Plan:
    """The plan of `jaxpr`."""
    plan = Plan(jaxpr.in_avals, by_value)
    inputs = input_nodes(jaxpr.in_avals, by_value)
    placer = Placer(Graph(jaxpr, inputs, machine), plan, machine)
    plan.outs = placer.run([NEW] * len(jaxpr.outs))
    plan.steps = join(plan, drop_unread(plan, placer.steps))
    return plan


class Placer(FlowPlacer):
    """Fills a block of a plan with steps."""

    def __init__(self, graph: Graph, plan: Plan, machine: Machine) -> None:
        super().__init__(plan, machine)
        self.graph = graph
        self.by_space: dict[Shape, list[int]] = {}

    def run(self, targets: Sequence[int]) -> list[int]:
        """Places everything; the values of the outputs.

        `targets` names values that outputs must become, or says NEW.
        """
        self.aim(self.graph.outs, targets)
        for eqn, made in self.graph.order:
            for node in made:
                if node.uses:
                    self.place(eqn, made)
                    break
            else:
                if eqn.op.effects:
                    self.place(eqn, made)
        return self.finish(self.graph.outs, targets)

    def block(
        self, jaxpr: Jaxpr, inputs: Sequence[Node], targets: Sequence[int]
    ) -> tuple[list[Step], list[int]]:
        """The steps of a jaxpr inside of this one, and the values of its outputs."""
        placer = Placer(Graph(jaxpr, inputs, self.machine), self.plan, self.machine)
        outs = placer.run(targets)
        return placer.steps, outs

    def place(self, eqn: Eqn, made: list[Node]) -> None:
        first = made[0]
        kind = first.kind
        if kind in (GATHER, ROOT):
            self.ensure(first.ins)
        if kind != ROOT:
            for node in made:
                self.settle(node)
                if node.stored and node.uses:
                    self.place_write(node)
                    self.note_update(eqn, node)
        elif eqn.op.kind is Kind.REDUCE:
            self.place_reduction(eqn, made)
        elif eqn.op.regions is not None:
            self.place_regions(eqn, first)
        elif eqn.op.kind is Kind.UPDATE:
            self.place_update(eqn, first)
        elif eqn.op.flow is not None:
            self.place_flow(eqn, made)
        else:
            self.place_call(eqn, made)

    def settle(self, node: Node) -> None:
        """From which step on the expression of `node` can be evaluated."""
        if self.graph.moved:
            self.walk(node)
        near, far = -1, 0
        rank = node.aval.ndim if node.kind == MAP else -1
        for x in node.ins:
            if x.far > far:
                far = x.far
            if x.near >= 0:
                if x.aval.ndim == rank:
                    near = max(near, x.near)
                else:
                    far = max(far, x.near + 1)
        if near >= 0:
            node.near = near
        if far:
            node.far = far

    def walk(self, node: Node) -> None:
        """Finds out anew how the expression of `node` reads memory."""
        layouts: list[Strides] = []
        if node.kind == VIEW:
            x = node.ins[0]
            if x.kind == VALUE and not x.stored:
                return
            for strides in x.layouts or (x.aval.strides,):
                moved = node.op.restride(x.aval, strides, 0)
                if moved is None:
                    self.place_now(x)
                    moved = node.op.restride(x.aval, x.aval.strides, 0)
                    layouts = [moved[1]]
                    break
                if moved[1] not in layouts:
                    layouts.append(moved[1])
        elif node.kind == MAP:
            for x in node.ins:
                if x.aval.ndim == node.aval.ndim:
                    layouts.extend([s for s in x.layouts if s not in layouts])
        else:
            return
        if not node.aval.shape:
            layouts = []
        if node.stored:
            node.walks = tuple(layouts)
        else:
            node.layouts = tuple(layouts)

    def place_now(self, x: Node) -> None:
        """Stores a value that turned out not to be readable otherwise."""
        self.graph.store(x)
        if x.value < 0:
            self.place_write(x)

    def ensure(self, ins: Sequence[Node]) -> None:
        """Scalars that must be in memory have no equation that stores them."""
        for x in ins:
            if x.kind == VALUE and x.stored and x.value < 0:
                self.place_write(x)

    def place_write(self, node: Node) -> None:
        """A kernel that stores an elementwise value or a view."""
        if node.boxes:
            self.place_boxes(node)
            return
        step = self.kernel(node.aval.shape, node)
        kernel = self.steps[step]
        assert type(kernel) is Kernel
        ref = self.pull(kernel, node, ())
        strides = node.aval.strides
        value = self.new_value(node)
        kernel.writes.append(Write(ref, value, strides, 0, ()))
        node.near, node.far = step, 0

    def place_reduction(self, eqn: Eqn, made: list[Node]) -> None:
        ins = made[0].ins
        space = ins[0].aval.shape
        axes: Shape = eqn.op.axes  # type: ignore[attr-defined]
        form = tree(space, axes)
        inner = form.inner if form.kind is ROWS else ()
        if self.graph.moved and len(inner) > 1:
            for x in ins:
                if not all(collapses(s, space, inner) for s in x.layouts):
                    self.place_now(x)
        joined = Node(ins[0].aval, MAP, eqn.op, ins)
        joined.layouts = ins[0].layouts
        joined.weight = ins[0].weight
        for x in ins[1:]:
            joined.layouts += x.layouts
        self.settle(joined)
        step = self.kernel(space, joined, axes, inner)
        kernel = self.steps[step]
        assert type(kernel) is Kernel
        refs = tuple([self.pull(kernel, x, ()) for x in ins])
        values = tuple([self.new_value(node) for node in made])
        results = tuple([node.aval.dtype for node in made])
        kernel.reductions.append(Reduction(eqn.op, refs, axes, values, results))
        if any(is_wide(dtype) for dtype in results):
            kernel.wide = True
        kernel.axes = axes
        if len(inner) > 1:
            kernel.flat = True
        kernel.cost += self.machine.cost(eqn.op, tuple([x.aval.dtype for x in ins]))
        for node in made:
            node.far = step + 1
            node.near = -1

    def kernel(
        self,
        space: Shape,
        node: Node,
        axes: Shape | None = None,
        inner: Shape = (),
        ragged: bool = False,
    ) -> int:
        """The first kernel that can take an expression over `space`, or a new one."""
        lowest = max(node.near, node.far)
        candidates = self.by_space.get(space)
        if candidates is None:
            candidates = self.by_space[space] = []
        size = node.aval.size
        for step in candidates[bisect.bisect_left(candidates, lowest) :]:
            kernel = self.steps[step]
            assert type(kernel) is Kernel
            if axes is not None:
                if kernel.axes is not None and kernel.axes != axes or kernel.ragged:
                    continue
                if len(kernel.reductions) >= FOLDS:
                    continue
            elif ragged and kernel.axes is not None:
                continue
            if kernel.cost + node.weight > LONG:
                continue
            streams = len(kernel.reads) + len(kernel.writes)
            if streams >= (STREAMS if size > SMALL else MOST):
                continue
            if not self.walkable(kernel, space, node, axes, inner):
                continue
            return step
        kernel = Kernel(space)
        if space:
            kernel.splat = ((Splat(len(space)), None, ()),)
        self.steps.append(kernel)
        candidates.append(len(self.steps) - 1)
        return candidates[-1]

    def walkable(
        self,
        kernel: Kernel,
        space: Shape,
        node: Node,
        axes: Shape | None,
        inner: Shape,
    ) -> bool:
        """Whether all reads and writes can be walked as the reductions want."""
        if axes is None:
            if kernel.axes is not None and crosses(space, kernel.axes):
                return False
        elif kernel.writes and crosses(space, axes):
            return False
        joins = len(inner) > 1 and not kernel.flat
        if joins and not all(collapses(s, space, inner) for s in kernel.walks):
            return False
        if kernel.flat and axes is None:
            assert kernel.axes is not None
            inner = tree(space, kernel.axes).inner
            walks = node.layouts if node.walks is None else node.walks
            return all(collapses(s, space, inner) for s in walks)
        return True

    # ------------------------------------------------------------- the other roots

    def place_pieces(self, node: Node) -> None:
        """Everything that an array is put together from, in any order."""
        value = self.new_value(node)
        strides = node.aval.strides
        last = -1
        for x, piece in self.parts(node):
            shape = piece.shape
            if piece.start is not None and shape != x.aval.shape:
                x = self.window(x, piece.start, shape)
            root = Node(Aval(shape, x.aval.dtype), MAP, None, (x,))
            root.layouts = x.layouts
            self.settle(root)
            step = self.kernel(shape, root, ragged=True)
            kernel = self.steps[step]
            assert type(kernel) is Kernel
            ref = self.pull(kernel, x, ())
            offset = sum([a * b for a, b in zip(piece.low, strides)])
            kernel.writes.append(Write(ref, value, strides, offset, ()))
            kernel.ragged = True
            last = max(last, step)
        node.far, node.near = last + 1, -1

    def place_boxes(self, node: Node) -> None:
        """An elementwise value that reads arrays which are only put together in it."""
        parts = []
        for low, shape in node.boxes:
            boxed: dict[Any, Node] = {}
            x = self.boxed(node, low, shape, boxed)
            root = Node(Aval(shape, x.aval.dtype), MAP, None, (x,))
            root.layouts, root.weight = x.layouts, x.weight
            self.settle(root)
            parts.append((x, root, low))
        value = self.new_value(node)
        strides = node.aval.strides
        last = -1
        for x, root, low in parts:
            step = self.kernel(root.aval.shape, root, ragged=True)
            kernel = self.steps[step]
            assert type(kernel) is Kernel
            ref = self.pull(kernel, x, ())
            offset = sum([a * b for a, b in zip(low, strides)])
            kernel.writes.append(Write(ref, value, strides, offset, ()))
            kernel.ragged = True
            last = max(last, step)
        node.far, node.near = last + 1, -1

    def boxed(
        self, node: Node, start: Shape, shape: Shape, known: dict[Any, Node]
    ) -> Node:
        """A box of an expression, in which each array that is gone is one piece."""
        key = (node, start)
        if key in known:
            return known[key]
        if not node.aval.shape:
            made = node
        elif node.kind == MAP and node.value < 0:
            ins = [self.boxed(x, start, shape, known) for x in node.ins]
            made = Node(Aval(shape, node.aval.dtype), MAP, node.op, ins)
            made.pick, made.own = node.pick, node.own
            made.weight = node.own + sum([x.weight for x in ins])
            for x in ins:
                made.layouts += tuple([s for s in x.layouts if s not in made.layouts])
            self.settle(made)
        elif node.gone:
            made = self.boxed_piece(node, start, shape, known)
        else:
            made = self.boxed_view(node, start, shape, known)
        known[key] = made
        return made

    def boxed_piece(
        self, node: Node, start: Shape, shape: Shape, known: dict[Any, Node]
    ) -> Node:
        """A box of the only piece that it lies in."""
        for piece in node.pieces:
            inside = cut(piece, (start, shape))
            if inside is not None:
                assert inside.shape == shape
                x = node.ins[piece.operand]
                if inside.start is None:
                    return x
                return self.boxed(x, inside.start, shape, known)
        raise AssertionError("the pieces do not fill the array")

    def boxed_view(
        self, node: Node, start: Shape, shape: Shape, known: dict[Any, Node]
    ) -> Node:
        """A box of something in memory, or of an index map."""
        if node.kind == VIEW and node.value < 0 and bottom_of(node).gone:
            taken = slice_start(node.op, node.ins[0].aval)
            assert taken is not None
            moved = tuple([a + b for a, b in zip(start, taken[1])])
            return self.boxed(node.ins[0], moved, shape, known)
        if shape == node.aval.shape:
            return node
        return self.window(node, start, shape)

    def parts(self, node: Node) -> list[tuple[Node, Piece]]:
        """The pieces of an array, and of those that it is the only place for."""
        found: list[tuple[Node, Piece]] = []
        for piece in node.pieces:
            x = node.ins[piece.operand]
            bottom = bottom_of(x)
            if not bottom.gone or piece.start is None:
                found.append((x, piece))
                continue
            offset, below = 0, x
            while below is not bottom:
                below, op = below.ins[0], below.op
                _, _, offset = op.restride(below.aval, bottom.aval.strides, offset)
            begin = corner(offset, bottom.aval)
            begin = tuple([a + b for a, b in zip(begin, piece.start)])
            for source, part in self.parts(bottom):
                inside = cut(part, (begin, piece.shape))
                if inside is not None:
                    moved = zip(inside.low, begin, piece.low)
                    low = tuple([a - b + c for a, b, c in moved])
                    found.append((source, inside._replace(low=low)))
        return found

    def window(self, x: Node, start: Shape, shape: Shape) -> Node:
        """A box of an operand."""
        op = Window(start, shape)
        node = Node(Aval(shape, x.aval.dtype), VIEW, op, (x,))
        node.layouts = x.layouts if shape else ()
        node.weight = x.weight
        self.settle(node)
        return node

    def place_regions(self, eqn: Eqn, node: Node) -> None:
        if node.gone:
            return
        if node.pieces:
            self.place_pieces(node)
            return
        ins = node.ins
        value = self.new_value(node)
        regions = eqn.op.regions(*[x.aval for x in ins])
        disjoint = _disjoint(regions, node.aval)
        last = -1
        for region in regions:
            x = ins[region.operand]
            if 0 in region.shape:
                continue
            root = Node(Aval(region.shape, x.aval.dtype), MAP, None, (x,))
            root.layouts = x.layouts
            self.settle(root)
            if not disjoint:
                root.far = max(root.far, last + 1)
            step = self.kernel(region.shape, root, ragged=True)
            kernel = self.steps[step]
            assert type(kernel) is Kernel
            ref = self.pull(kernel, x, ())
            kernel.writes.append(Write(ref, value, region.strides, region.offset, ()))
            kernel.ragged = True
            last = max(last, step)
        node.far, node.near = last + 1, -1

    def note_update(self, eqn: Eqn, node: Node) -> None:
        """Notes that `eqn` updates an array, if it does and that is in memory."""
        number = eqn.op.updates
        if number is None or node.op is not eqn.op:
            return
        base = node.ins[number]
        if base.value >= 0 and base.kind != VALUE:
            self.plan.updates.append(Update(base.value, node.value, eqn.where))

    def place_update(self, eqn: Eqn, node: Node) -> None:
        op = eqn.op
        base, ins = node.ins[0], node.ins
        value = self.new_value(node)
        self.steps.append(Copy(base.value, value))
        self.note_update(eqn, node)
        copied = len(self.steps) - 1
        if op.point is not None:
            self.place_scatter(op, node, value)
            return
        x = ins[1]
        terms = []
        for start in op.starts(*[v.aval for v in ins]):
            source = ins[start.operand]
            stride = base.aval.strides[start.axis]
            origin = source.scalar if source.kind == VALUE else source.value
            terms.append(Term(origin, source.aval.dtype, start.limit, stride))
        root = Node(x.aval, MAP, None, (x,))
        root.layouts = x.layouts
        self.settle(root)
        root.far = max(root.far, copied + 1)
        step = self.kernel(x.aval.shape, root, ragged=True)
        kernel = self.steps[step]
        assert type(kernel) is Kernel
        ref = self.pull(kernel, x, ())
        kernel.writes.append(Write(ref, value, base.aval.strides, 0, tuple(terms)))
        kernel.ragged = True
        node.far, node.near = step + 1, -1

    def place_scatter(self, op: Op, node: Node, value: int) -> None:
        """The updates are walked in order by a kernel of its own."""
        base, *starts, updates = node.ins
        kernel = Kernel(updates.aval.shape)
        self.steps.append(kernel)
        rank = updates.aval.ndim
        if rank:
            kernel.splat = ((Splat(rank), None, ()),)
        refs = tuple([self.pull(kernel, x, ()) for x in starts])
        ref = self.pull(kernel, updates, ())
        strides, free = point_maps(op, rank, base.aval)
        coordinates = tuple(
            [None if unit is None else Coordinate(unit, 0, None, ()) for unit in free]
        )
        kernel.scatters.append(
            Scatter(op, ref, value, node.aval.ndim, strides, refs, coordinates)
        )
        kernel.cost += 16.0
        node.far, node.near = len(self.steps), -1

    def read_of_call(self, x: Node, name: str, parameters: Any, position: int) -> Read:
        """Where a hand-made kernel reads `x`: the first memory on the way down that it
        takes. What others stored on the way may lie in an order that it cannot read.
        """
        chain: tuple[Any, ...] = ()
        nearest = None
        node = x
        while True:
            if node.stored:
                place = self.address(node.aval, node.aval.strides, chain)
                read = Read(node.value, x.aval.dtype, *place)
                if name == HOST:
                    return read
                if self.machine.takes(name, parameters, position, x.aval, read.strides):
                    return read
                nearest = nearest or read
            if node.kind != VIEW:
                break
            chain = ((node.op, node.ins[0].aval, node.starts), *chain)
            node = node.ins[0]
        assert nearest is not None
        return nearest

    def place_call(self, eqn: Eqn, made: list[Node]) -> None:
        ins = made[0].ins
        avals = [atom.aval for atom in eqn.ins]
        if eqn.op.host is not None:
            name, parameters = HOST, {"op": eqn.op}
        else:
            name, parameters = eqn.op.kernel(*avals)
        reads = []
        for position, x in enumerate(ins):
            if type(x.op) is Permute:
                self.settle(x)
                self.place_write(x)
                turned = [0] * x.aval.ndim
                for d, stride in zip(x.op.order, x.aval.strides):
                    turned[d] = stride
                reads.append(Read(x.value, x.aval.dtype, tuple(turned), 0, ()))
            else:
                reads.append(self.read_of_call(x, name, parameters, position))
        made = made[: len(eqn.outs)]
        values = [self.new_value(node) for node in made]
        self.steps.append(
            Call(name, parameters, reads, avals, values, [n.aval for n in made])
        )
        for node in made:
            node.far, node.near = len(self.steps), -1

    def finish(self, outs: list[Node], targets: Sequence[int]) -> list[int]:
        """Every output gets a value of its own."""
        values: list[int] = []
        for node, target in zip(outs, targets):
            own = node.stored and node.kind != INPUT and node.value not in values
            if own and target in (NEW, node.value):
                values.append(node.value)
                continue
            value = self.plan.new_value(node.aval) if target == NEW else target
            if target == NEW or not self.copies(node, target):
                self.write(node, value)
            values.append(value)
        return values

    def copies(self, node: Node, target: int) -> bool:
        """Copies what is in memory to `target`, for nothing if they are one buffer."""
        parts = self.plan.parts
        if node.value < 0 or not node.stored or {node.value, target} & parts.keys():
            return False
        self.steps.append(Copy(node.value, target))
        return True

    def write(self, node: Node, value: int) -> None:
        """A kernel that gives `value` what `node` is."""
        root = Node(node.aval, MAP, None, (node,))
        root.layouts = node.layouts
        root.near, root.far = node.near, node.far
        step = self.kernel(node.aval.shape, root)
        kernel = self.steps[step]
        assert type(kernel) is Kernel
        ref = self.pull(kernel, node, ())
        kernel.writes.append(Write(ref, value, node.aval.strides, 0, ()))


def _disjoint(regions: Sequence[Region], aval: Aval) -> bool:
    """Whether regions are boxes of the output that do not overlap."""
    boxes = []
    for region in regions:
        if region.strides != aval.strides:
            return len(regions) == 1
        low = []
        rest = region.offset
        for stride in aval.strides:
            low.append(rest // stride if stride else 0)
            rest -= low[-1] * stride
        boxes.append((low, [a + n for a, n in zip(low, region.shape)]))
    for i, (low, high) in enumerate(boxes):
        for other_low, other_high in boxes[:i]:
            if all(
                a < d and c < b for a, b, c, d in zip(low, high, other_low, other_high)
            ):
                return False
    return True
