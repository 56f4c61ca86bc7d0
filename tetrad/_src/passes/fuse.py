"""Fusion: a jaxpr becomes a Plan of few kernels.

In: a jaxpr whose equations are operations the machine can compute (see `simplify`), and
which inputs are scalars passed by value. Out: a `Plan`.

Every variable becomes a `Node`. Reductions, updates and hand-made kernels give *stored*
values. Elementwise values and index maps are not stored unless somebody outside needs
them, or computing them again would cost more than a trip through memory: they are
pulled into every kernel that reads them. So three passes over the nodes: `_Builder.add`
makes them, forwards; `decide` says backwards what is stored; `place` goes forwards over
the stored ones, chooses a kernel for each, and pulls its expression into it.

An index map is not computed but remembered on the way down (`chain`) and applied to the
strides of what is read at the bottom.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from tetrad._src.core.avals import Aval, dense_strides
from tetrad._src.core.jaxpr import Eqn, Jaxpr, Literal, Var
from tetrad._src.core.op import Kind, Op, Region
from tetrad._src.passes.ir import (
    COORDINATE,
    PICK,
    POINT,
    READ,
    SCALAR,
    Call,
    Coordinate,
    Copy,
    Kernel,
    Plan,
    Read,
    Reduction,
    Scalar,
    Scatter,
    Term,
    Write,
)
from tetrad._src.passes.trees import ROWS, collapses, tree

INPUT, VALUE, MAP, VIEW, COUNT, ROOT, GATHER = range(7)

READ_COST = 2.0
STORE_COST = 3.0
LAUNCH_COST = 4000.0
STREAMS = 24  # reads and writes of one large kernel
SMALL = 1 << 16  # elements; smaller kernels may have any number of streams

Shape = tuple[int, ...]
Strides = tuple[int, ...]


class Machine(Protocol):
    """What fusion asks of the machine it compiles for."""

    def cost(self, op: Op, dtypes: tuple[Any, ...]) -> float:
        """Instructions per vector of `op.scalar` or `op.step`."""
        ...

    def takes(
        self, name: str, parameters: Any, position: int, aval: Aval, strides: Strides
    ) -> bool:
        """Whether a hand-made kernel reads operand `position` with these strides."""
        ...

    def order(
        self, name: str, parameters: Any, position: int, aval: Aval
    ) -> tuple[int, ...]:
        """The order of axes in which operand `position` must be dense otherwise."""
        ...


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


class Node:
    """One value of the jaxpr while it is being fused."""

    __slots__ = (
        "aval", "kind", "op", "ins", "pick", "value", "stored", "uses", "layouts",
        "level", "cost", "near", "far", "evals", "scalar", "starts", "walks",
    )

    def __init__(self, aval: Aval, kind: int, op: Any, ins: Sequence[Node]) -> None:
        self.aval = aval
        self.kind = kind
        self.op = op
        self.ins = ins
        self.pick = -1  # which result of an op with several
        self.value = -1  # its number in the plan, once stored
        self.stored = False
        self.uses = 0
        self.layouts: tuple[Strides, ...] = ()  # strides it is read with, at the bottom
        self.level = 0  # kernels that must have run before
        self.cost = 0.0  # to evaluate one element where it is read
        self.near = -1  # first step where it can be used, reading values made there
        self.far = 0  # first step where it can be used, reading from memory
        self.evals: dict[Any, float] = {}  # (level, space) -> evaluations there
        self.scalar: Scalar | None = None
        self.starts: tuple[Any, ...] = ()
        self.walks: tuple[Strides, ...] | None = None  # `layouts` before it was stored


def fuse(jaxpr: Jaxpr, by_value: tuple[bool, ...], machine: Machine) -> Plan:
    """The plan of `jaxpr`."""
    return _Builder(jaxpr, by_value, machine).build()


class _Builder:
    def __init__(
        self, jaxpr: Jaxpr, by_value: tuple[bool, ...], machine: Machine
    ) -> None:
        self.jaxpr = jaxpr
        self.machine = machine
        self.plan = Plan(jaxpr.in_avals, by_value)
        self.nodes: dict[Var, Node] = {}
        self.order: list[tuple[Eqn, list[Node]]] = []
        self.steps = self.plan.steps
        self.by_space: dict[Shape, list[int]] = {}
        self.moved = False  # some value is read in other ways than when it was added

    def build(self) -> Plan:
        plan = self.plan
        for position, var in enumerate(self.jaxpr.ins):
            aval = var.aval
            if plan.by_value[position]:
                node = Node(aval, VALUE, None, ())
                node.scalar = Scalar(position, None, aval.dtype)
            else:
                node = Node(aval, INPUT, None, ())
                node.value = position
                node.stored = True
                node.layouts = (aval.strides,) if aval.shape else ()
                node.cost = READ_COST
            self.nodes[var] = node
        for eqn in self.jaxpr.eqns:
            self.order.append((eqn, self.add(eqn)))
        outs = [self.node(atom) for atom in self.jaxpr.outs]
        self.decide(outs)
        for eqn, made in self.order:
            if any([node.uses for node in made]) or eqn.op.effects:
                self.place(eqn, made)
        self.finish(outs)
        return plan

    # ------------------------------------------------------------ forwards: the nodes

    def node(self, atom: Any) -> Node:
        if type(atom) is Literal:
            node = Node(atom.aval, VALUE, None, ())
            node.scalar = Scalar(-1, atom.val, atom.aval.dtype)
            return node
        return self.nodes[atom]

    def add(self, eqn: Eqn) -> list[Node]:
        """The nodes of one equation; values that must be stored are marked."""
        op = eqn.op
        ins = [self.node(atom) for atom in eqn.ins]
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
        cost = self.machine.cost(op, tuple([x.aval.dtype for x in ins]))
        layouts: tuple[Strides, ...] = ()
        level = 0
        for x in ins:
            cost += x.cost / (x.uses + 1)
            x.uses += 1
            if x.level > level:
                level = x.level
            if x.aval.shape and x.layouts != layouts:
                layouts += tuple([s for s in x.layouts if s not in layouts])
        made = []
        for pick, var in enumerate(eqn.outs):
            node = Node(var.aval, MAP, op, ins)
            if op.multiple:
                node.pick = pick
            node.layouts = layouts
            node.level = level
            node.cost = cost
            made.append(node)
        return made

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
        node = Node(eqn.outs[0].aval, GATHER, eqn.op, ins)
        for x in ins:
            x.uses += 1
            self.store(x)
            node.level = max(node.level, x.level + 1)
        rank = node.aval.ndim
        units = [tuple([int(d == axis) for d in range(rank)]) for axis in range(rank)]
        node.layouts = tuple(dict.fromkeys([node.aval.strides, *units])) if rank else ()
        node.cost = 12.0
        return node

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
            self.need_update(op, ins)
        elif op.regions is None:
            ins = self.need_call(eqn, ins)
        made = []
        for pick, var in enumerate(eqn.outs):
            node = Node(var.aval, ROOT, op, ins)
            node.pick = pick
            node.stored = True
            node.layouts = (var.aval.strides,) if var.aval.shape else ()
            node.level = level + 1
            node.cost = READ_COST
            made.append(node)
        return made

    def need_tree(self, eqn: Eqn, ins: list[Node]) -> None:
        """Stores operands that cannot be walked as the reduction's tree wants."""
        space = ins[0].aval.shape
        form = tree(space, eqn.op.axes)  # type: ignore[attr-defined]
        if form.kind is ROWS and len(form.inner) > 1:
            for x in ins:
                if not all([collapses(s, space, form.inner) for s in x.layouts]):
                    self.store(x)

    def need_update(self, op: Op, ins: list[Node]) -> None:
        base = ins[0]
        self.store(base)
        if op.point is None:
            for start in op.starts(*[x.aval for x in ins]):
                if ins[start.operand].kind != VALUE:
                    self.store(ins[start.operand])
            if _reads(ins[1], base):
                self.store(ins[1])
            return
        for x in ins[1:]:
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
            bottom = _bottom(x)
            strides = _moved(x, bottom)
            viewed = strides is not None and x.aval.size >= bottom.aval.size
            if viewed and bottom.kind != COUNT and bottom.kind != VALUE:
                if machine.takes(name, parameters, position, x.aval, strides):
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
        """`x` must be in memory. What was read through it is now read densely."""
        if not x.stored:
            x.stored = True
            x.walks = x.layouts
            if x.layouts and x.layouts != (x.aval.strides,):
                self.moved = True
            x.layouts = (x.aval.strides,) if x.aval.shape else ()
            x.cost = READ_COST

    # ------------------------------------------------- backwards: what else is stored

    def decide(self, outs: list[Node]) -> None:
        """Counts uses that matter, and stores what is dear to compute again."""
        for node in self.nodes.values():
            node.uses = 0
        for node in outs:
            node.uses += 1
            if node.kind == MAP or node.kind == GATHER:
                self.store(node)
            else:
                node.evals[(node.level, node.aval.shape)] = float(node.aval.size)
        for eqn, made in reversed(self.order):
            if not any([node.uses for node in made]) and not eqn.op.effects:
                continue
            ins = made[0].ins if made else ()
            first = made[0]
            if first.kind == ROOT:
                self.decide_root(eqn, first)
            elif first.kind == COUNT:
                continue
            else:
                for node in made:
                    if node.kind == MAP and not node.stored:
                        if _dear(node):
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
                key = (level, space, position)
            else:
                key = (level, space)  # type: ignore[assignment]
            x.evals[key] = float(x.aval.size)
            if type(x.op) is Permute:
                x.ins[0].uses += 1
                x.ins[0].evals[key] = float(x.aval.size)

    # ------------------------------------------------ forwards: kernels for the stored

    def place(self, eqn: Eqn, made: list[Node]) -> None:
        first = made[0]
        kind = first.kind
        if kind == GATHER or kind == ROOT:
            self.ensure(first.ins)
        if kind == MAP or kind == VIEW or kind == COUNT or kind == GATHER:
            for node in made:
                self.settle(node)
                if node.stored and node.uses:
                    self.place_write(node)
        elif eqn.op.kind is Kind.REDUCE:
            self.place_reduction(eqn, made)
        elif eqn.op.regions is not None:
            self.place_regions(eqn, first)
        elif eqn.op.kind is Kind.UPDATE:
            self.place_update(eqn, first)
        else:
            self.place_call(eqn, made)

    def settle(self, node: Node) -> None:
        """From which step on the expression of `node` can be evaluated."""
        if self.moved:
            self.walk(node)
        near, far = -1, 0
        rank = node.aval.ndim
        moved = node.kind == VIEW
        for x in node.ins:
            if moved or x.aval.ndim != rank or node.kind == GATHER:
                far = max(far, x.far, x.near + 1)
            else:
                near = max(near, x.near)
                far = max(far, x.far)
        node.near, node.far = near, far

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
        self.store(x)
        if x.value < 0:
            self.place_write(x)

    def ensure(self, ins: Sequence[Node]) -> None:
        """Scalars that must be in memory have no equation that stores them."""
        for x in ins:
            if x.kind == VALUE and x.stored and x.value < 0:
                self.place_write(x)

    def new_value(self, node: Node) -> int:
        node.value = self.plan.new_value(node.aval)
        return node.value

    def place_write(self, node: Node) -> None:
        """A kernel that stores an elementwise value or a view."""
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
        inner = tree(space, axes).inner if tree(space, axes).kind is ROWS else ()
        if self.moved and len(inner) > 1:
            for x in ins:
                if not all([collapses(s, space, inner) for s in x.layouts]):
                    self.place_now(x)
        joined = Node(ins[0].aval, MAP, eqn.op, ins)
        joined.layouts = sum([x.layouts for x in ins], ())
        self.settle(joined)
        step = self.kernel(space, joined, axes, inner)
        kernel = self.steps[step]
        assert type(kernel) is Kernel
        refs = tuple([self.pull(kernel, x, ()) for x in ins])
        values = tuple([self.new_value(node) for node in made])
        results = tuple([node.aval.dtype for node in made])
        kernel.reductions.append(Reduction(eqn.op, refs, axes, values, results))
        if any([_wide(dtype) for dtype in results]):
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
        size = 1
        for extent in space:
            size *= extent
        for step in candidates:
            if step < lowest:
                continue
            kernel = self.steps[step]
            assert type(kernel) is Kernel
            if axes is not None:
                if kernel.axes is not None and kernel.axes != axes or kernel.ragged:
                    continue
            elif ragged and kernel.axes is not None:
                continue
            if size > SMALL and len(kernel.reads) + len(kernel.writes) >= STREAMS:
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
        """Whether all reads together can be walked as the reductions want."""
        if len(inner) > 1 and not kernel.flat:
            if not all([collapses(s, space, inner) for s in kernel.walks]):
                return False
        if kernel.flat and axes is None:
            assert kernel.axes is not None
            inner = tree(space, kernel.axes).inner
            walks = node.layouts if node.walks is None else node.walks
            return all([collapses(s, space, inner) for s in walks])
        return True

    # ----------------------------------------------------------- expressions into kernels

    def pull(
        self, kernel: Kernel, root: Node, chain: tuple[Any, ...]
    ) -> int:
        """The entry of `kernel` that evaluates `root` under the index maps `chain`."""
        memo = kernel.memo
        if root.aval.ndim == 0:
            chain = kernel.splat
        goal = (root, chain)
        found = memo.get(goal)
        if found is not None:
            return found
        work = [goal]
        while work:
            key = work[-1]
            if key in memo:
                work.pop()
                continue
            node, chain = key
            if node.kind == VALUE:
                memo[key] = self.enter_scalar(kernel, node.scalar)
            elif node.value >= 0:
                memo[key] = self.enter_read(kernel, node, chain)
            elif node.kind == COUNT:
                memo[key] = self.enter_count(kernel, node, chain)
            elif node.kind == GATHER:
                memo[key] = self.enter_gather(kernel, node, chain)
            else:
                below = _below(kernel, node, chain)
                missing = [k for k in below if k not in memo]
                if missing:
                    work.extend(reversed(missing))
                    continue
                refs = [memo[k] for k in below]
                if node.kind == VIEW:
                    memo[key] = refs[0]
                else:
                    memo[key] = self.enter_map(kernel, node, tuple(refs), chain)
            work.pop()
        return memo[goal]

    def enter(self, kernel: Kernel, entry: tuple[Any, ...], dtype: Any) -> int:
        if dtype.itemsize >= 8 and _wide(dtype):
            kernel.wide = True
        return kernel.enter(entry, dtype)

    def enter_scalar(self, kernel: Kernel, scalar: Any) -> int:
        # Scalars are never merged by value: the key must not depend on values.
        kernel.scalars.append(scalar)
        return self.enter(kernel, (SCALAR, len(kernel.scalars) - 1), scalar.dtype)

    def enter_read(self, kernel: Kernel, node: Node, chain: tuple[Any, ...]) -> int:
        aval = node.aval
        strides, offset, terms = self.address(aval, aval.strides, chain)
        read = Read(node.value, aval.dtype, strides, offset, terms)
        place = kernel.places.get(read)
        if place is None:
            kernel.reads.append(read)
            kernel.walks.append(strides)
            place = self.enter(kernel, (READ, len(kernel.reads) - 1), aval.dtype)
            kernel.places[read] = place
        return place

    def address(
        self, aval: Aval, strides: Strides, chain: tuple[Any, ...], offset: int = 0
    ) -> tuple[Strides, int, tuple[Term, ...]]:
        """Applies index maps, innermost first, to strides."""
        terms: list[Term] = []
        for op, below, starts in chain:
            for source, axis, limit in starts:
                term_source = source.scalar if source.kind == VALUE else source.value
                terms.append(
                    Term(term_source, source.aval.dtype, limit, strides[axis])
                )
            moved = op.restride(below, strides, offset)
            if moved is None:
                raise AssertionError(f"{op} cannot be read through strides {strides}")
            _, strides, offset = moved
        return strides, offset, tuple(terms)

    def enter_count(self, kernel: Kernel, node: Node, chain: tuple[Any, ...]) -> int:
        coefficients, start = node.op.coordinates()
        strides, offset, terms = self.address(node.aval, coefficients, chain, start)
        kernel.walks.append(strides)
        entry = (COORDINATE, Coordinate(strides, offset, node.aval.dtype, terms))
        return self.enter(kernel, entry, node.aval.dtype)

    def enter_map(
        self, kernel: Kernel, node: Node, refs: tuple[int, ...], chain: tuple[Any, ...]
    ) -> int:
        op = node.op
        if node.pick < 0:
            kernel.cost += self.machine.cost(op, tuple([x.aval.dtype for x in node.ins]))
            return self.enter(kernel, (op, *refs), node.aval.dtype)
        key = (op, refs)
        all_results = kernel.memo.get(key)
        if all_results is None:
            kernel.cost += self.machine.cost(op, tuple([x.aval.dtype for x in node.ins]))
            all_results = self.enter(kernel, (op, *refs), node.aval.dtype)
            kernel.memo[key] = all_results
        return self.enter(kernel, (PICK, all_results, node.pick), node.aval.dtype)

    def enter_gather(self, kernel: Kernel, node: Node, chain: tuple[Any, ...]) -> int:
        coordinates = []
        for axis in range(node.aval.ndim):
            unit = tuple([int(d == axis) for d in range(node.aval.ndim)])
            strides, offset, terms = self.address(node.aval, unit, chain)
            kernel.walks.append(strides)
            coordinates.append(Coordinate(strides, offset, None, terms))
        refs = []
        for x in node.ins:
            read = Read(x.value, x.aval.dtype, x.aval.strides, 0, ())
            kernel.reads.append(read)
            refs.append(len(kernel.reads) - 1)
        avals = tuple([(x.aval.dtype, x.aval.ndim) for x in node.ins])
        entry = (POINT, node.op, tuple(refs), avals, tuple(coordinates))
        kernel.cost += 12.0
        return self.enter(kernel, entry, node.aval.dtype)

    # ------------------------------------------------------------- the other roots

    def place_regions(self, eqn: Eqn, node: Node) -> None:
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

    def place_update(self, eqn: Eqn, node: Node) -> None:
        op = eqn.op
        base, ins = node.ins[0], node.ins
        value = self.new_value(node)
        self.steps.append(Copy(base.value, value))
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
        ins = node.ins
        updates = ins[-1]
        kernel = Kernel(updates.aval.shape)
        self.steps.append(kernel)
        rank = updates.aval.ndim
        if rank:
            kernel.splat = ((Splat(rank), None, ()),)
        ref = self.pull(kernel, updates, ())
        coordinates = tuple([
            Coordinate(tuple([int(d == axis) for d in range(rank)]), 0, None, ())
            for axis in range(rank)
        ])
        operands: list[Any] = [None]
        for x in ins[1:]:
            kernel.reads.append(Read(x.value, x.aval.dtype, x.aval.strides, 0, ()))
            operands.append((len(kernel.reads) - 1, x.aval.dtype, x.aval.ndim))
        kernel.scatters.append(Scatter(op, ref, value, node.aval.ndim, tuple(operands), coordinates))
        kernel.cost += 16.0
        node.far, node.near = len(self.steps), -1

    def place_call(self, eqn: Eqn, made: list[Node]) -> None:
        ins = made[0].ins
        avals = [self.nodes.get(atom, x).aval for atom, x in zip(eqn.ins, ins)]
        name, parameters = eqn.op.kernel(*avals)
        reads = []
        for x in ins:
            if type(x.op) is Permute:
                self.settle(x)
                self.place_write(x)
                strides = [0] * x.aval.ndim
                for d, stride in zip(x.op.order, x.aval.strides):
                    strides[d] = stride
                reads.append(Read(x.value, x.aval.dtype, tuple(strides), 0, ()))
                continue
            chain: tuple[Any, ...] = ()
            bottom = x
            while not bottom.stored:
                chain = ((bottom.op, bottom.ins[0].aval, bottom.starts), *chain)
                bottom = bottom.ins[0]
            strides, offset, terms = self.address(
                bottom.aval, bottom.aval.strides, chain
            )
            reads.append(Read(bottom.value, x.aval.dtype, strides, offset, terms))
        values = [self.new_value(node) for node in made]
        self.steps.append(
            Call(name, parameters, reads, avals, values, [n.aval for n in made])
        )
        for node in made:
            node.far, node.near = len(self.steps), -1

    def finish(self, outs: list[Node]) -> None:
        """Every output gets a value of its own."""
        given: set[int] = set()
        for node in outs:
            if node.stored and node.kind != INPUT and node.value not in given:
                given.add(node.value)
                self.plan.outs.append(node.value)
                continue
            root = Node(node.aval, MAP, None, (node,))
            root.layouts = node.layouts
            root.near, root.far = node.near, node.far
            step = self.kernel(node.aval.shape, root)
            kernel = self.steps[step]
            assert type(kernel) is Kernel
            ref = self.pull(kernel, node, ())
            value = self.plan.new_value(node.aval)
            kernel.writes.append(Write(ref, value, node.aval.strides, 0, ()))
            self.plan.outs.append(value)


# ----------------------------------------------------------------------------- helpers


def _below(kernel: Kernel, node: Node, chain: tuple[Any, ...]) -> list[Any]:
    """What must be pulled before `node`: operands with their chains."""
    if node.kind == VIEW:
        x = node.ins[0]
        if x.aval.ndim == 0 and not x.starts:
            return [(x, kernel.splat)]
        return [(x, ((node.op, x.aval, node.starts), *chain))]
    splat = kernel.splat
    return [(x, splat if x.aval.ndim == 0 else chain) for x in node.ins]


def _bottom(x: Node) -> Node:
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
        return node.evals
    joined: dict[Any, float] = {}
    for node in made:
        joined.update(_evals([node]))
    return joined


def _merge(x: Node, evals: dict[Any, float], reader: Node) -> None:
    if x.kind == INPUT or x.kind == VALUE:
        return
    if x.aval.ndim == 0:
        for level, *_ in evals:
            x.evals[(level, ())] = 1.0
        return
    scale = 1.0
    if reader.kind == VIEW and not reader.stored and reader.layouts:
        # Evaluated once a row where the innermost axes are broadcast.
        for axis in range(reader.aval.ndim - 1, -1, -1):
            if any([layout[axis] for layout in reader.layouts]):
                break
            scale /= max(reader.aval.shape[axis], 1)
    for key, count in evals.items():
        x.evals[key] = max(x.evals.get(key, 0.0), count * scale)


def _dear(node: Node) -> bool:
    """Whether storing an elementwise value beats computing it wherever it is read."""
    evals = node.evals
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


def _wide(dtype: Any) -> bool:
    """Whether registers of this type have 64 bits."""
    if dtype.itemsize == 8:
        return getattr(dtype, "kind", "K") != "c"
    return dtype.itemsize == 16


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
            if all([
                a < d and c < b
                for a, b, c, d in zip(low, high, other_low, other_high)
            ]):
                return False
    return True


Costs = Callable[[Op, tuple[Any, ...]], float]

__all__ = ["Machine", "Node", "dense_strides", "fuse"]
