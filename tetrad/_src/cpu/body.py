"""The inside of a kernel: its entries as vector instructions at one place of its space.

In: a `Loops` and the writer of its kernel. `Body` reads the words that every template
has in common, turns coordinates of the surrounding loops into addresses (`place`),
evaluates once what is the same for all vectors of a row (`hoist`), and evaluates the
rest for one vector (`vector`). Templates decide which places are visited, and what
happens to the values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tetrad._src.cpu import points
from tetrad._src.cpu.llvm import Writer
from tetrad._src.cpu.loops import ACROSS, CONTIGUOUS, STRIDED, UNIFORM, Access, Loops
from tetrad._src.cpu.scalar import SIZE, Value


class Row:
    """Addresses at one row: pointers of reads and writes, values of coordinates."""

    __slots__ = ("reads", "writes", "counts", "scalars", "vectors", "tiles", "points")

    def __init__(self, reads: list[str], writes: list[str], counts: list[str]) -> None:
        self.reads = reads
        self.writes = writes
        self.counts = counts
        self.scalars: dict[int, Value] = {}  # uniform entries, one lane
        self.vectors: dict[int, Value] = {}  # those that vectors need, spread
        self.tiles: dict[int, Value] = {}  # reads that the template has made already
        self.points: dict[int, tuple[Any, ...]] = {}  # where steady entries read


class Body:
    """Evaluates the entries of a `Loops`."""

    def __init__(self, writer: Writer, loops: Loops) -> None:
        self.w = writer
        self.loops = loops
        self.read_words()
        self.uniform = uniform_entries(loops)
        self.steady = [
            number
            for number, entry in enumerate(loops.entries)
            if entry[0] == "point" and not self.uniform[number]
            if points.steady(loops, self.uniform, entry[1])
        ]
        self.spread = _spread(loops, self.uniform, self.steady)
        self.parts: dict[int, list[str]] = {}  # of the vector at hand, per leader
        self.strides: list[list[str]] = []  # per map, per surrounding axis
        self.inner: list[str] = []  # per map, the stride along vectors

    # Words

    def read_words(self) -> None:
        """The words in front of extents and strides."""
        w, loops = self.w, self.loops
        self.shapes: dict[int, tuple[list[str], list[str]]] = {}
        reads = [self.pointer(access) for access in loops.reads]
        self.scalars = [w.word_value(type) for type in loops.scalars]
        writes = [self.pointer(access) for _, access in loops.writes]
        counts = []
        for access in loops.coordinates:
            offset = w.word()
            counts.append(w.i("add", offset, self.offset(access)))
        self.root = Row(reads, writes, counts)
        ranks = points.operand_ranks(loops)
        for number, rank in ranks:
            extents = [w.word() for _ in range(rank)]
            strides = [w.word() for _ in range(rank)]
            self.shapes[number] = (extents, strides)
        if loops.scatter is not None:
            updates = [w.word() for _ in range(loops.scatter.updates)]
            self.shapes[points.UPDATES] = (updates, [])

    def pointer(self, access: Access) -> str:
        pointer = self.w.word("ptr")
        return self.w.point_to(pointer, self.offset(access), access.type)

    def offset(self, access: Access) -> str:
        """The sum of the start terms of an access."""
        w = self.w
        total = "0"
        for source in access.terms:
            if source[0] == "*":
                pointer = w.word("ptr")
                with w.one_lane():
                    start = w.load(pointer, source[1:])
            else:
                start = w.word_value(source)
            limit, stride = w.word(), w.word()
            with w.one_lane():
                wide = w.convert(start, "i64").ref
            clamped = w.smaller_index(w.larger_index(wide, "0"), limit)
            total = w.i("add", total, w.i("mul", clamped, stride))
        return total

    def read_strides(self, axes: int) -> None:
        """The strides of every map along `axes` surrounding axes, and along vectors."""
        w, loops = self.w, self.loops
        accesses = [*loops.reads, *[a for _, a in loops.writes], *loops.coordinates]
        for access in accesses:
            self.strides.append([w.word() for _ in range(axes)])
            if access.kind == STRIDED or access.kind == ACROSS:
                self.inner.append(w.word())
            else:
                self.inner.append("1" if access.kind == CONTIGUOUS else "0")

    # Places

    def place(self, base: Row, index: Sequence[str], axes: Sequence[int]) -> Row:
        """`base` moved by `index` along the surrounding `axes`."""
        w, loops = self.w, self.loops
        number = 0
        moved: list[list[str]] = []
        for old, accesses in (
            (base.reads, loops.reads),
            (base.writes, [a for _, a in loops.writes]),
            (base.counts, loops.coordinates),
        ):
            new = []
            for place, access in zip(old, accesses):
                offset = "0"
                for i, axis in zip(index, axes):
                    step = w.i("mul", i, self.strides[number][axis])
                    offset = w.i("add", offset, step)
                number += 1
                if old is base.counts:
                    new.append(w.i("add", place, offset))
                else:
                    new.append(w.point_to(place, offset, access.type))
            moved.append(new)
        return Row(*moved)

    def split(self, number: str, extents: Sequence[str]) -> list[str]:
        """The coordinates of a row-major number in `extents`."""
        w = self.w
        index: list[str] = []
        for extent in reversed(extents[1:]):
            # Unsigned division is cheaper, and everything is non-negative.
            quotient = w.i("udiv", number, extent)
            index.append(w.i("sub", number, w.i("mul", quotient, extent)))
            number = quotient
        if extents:
            index.append(number)
        return index[::-1]

    # Values

    def hoist(self, row: Row) -> None:
        """Evaluates the entries that are the same all along the row."""
        w, loops = self.w, self.loops
        with w.one_lane():
            for number, entry in enumerate(loops.entries):
                if self.uniform[number]:
                    row.scalars[number] = self.scalar(row, entry)
            for number in self.steady:
                points.settle(self, row, number, loops.entries[number][1])
        for number in self.spread:
            row.vectors[number] = w.spread(row.scalars[number])

    def scalar(self, row: Row, entry: tuple[Any, ...]) -> Value:
        w, loops = self.w, self.loops
        head = entry[0]
        if head == "read":
            return w.load(row.reads[entry[1]], loops.reads[entry[1]].type)
        if head == "scalar":
            return self.scalars[entry[1]]  # type: ignore[no-any-return]
        if head == "coordinate":
            count = w.value(row.counts[entry[1]], "i64")
            return w.convert(count, loops.coordinates[entry[1]].type)
        if head == "pick":
            return row.scalars[entry[1]].results[entry[2]]  # type: ignore[attr-defined,no-any-return]
        if head == "point":
            return points.read(self, row, entry[1], "0", None, row.scalars)
        return self.apply(head, [row.scalars[ref] for ref in entry[1:]])  # type: ignore[no-any-return]

    def apply(self, op: Any, operands: list[Value]) -> Any:
        result = op.scalar(self.w, *operands)
        if type(result) is Value:
            return result
        if isinstance(result, (tuple, list)):
            return Several(result)
        return result

    def vector(
        self, row: Row, j: str, mask: Value | None, prefetch: bool = False
    ) -> dict[int, Any]:
        """The values of all entries for the vector that starts at `j`."""
        loops = self.loops
        self.parts = {}
        values: dict[int, Any] = dict(row.vectors)
        for number, entry in enumerate(loops.entries):
            if self.uniform[number]:
                continue
            head = entry[0]
            if head == "read":
                value = self.load(row, entry[1], j, mask, prefetch)
            elif head == "coordinate":
                value = self.count(row, entry[1], j)
            elif head == "pick":
                value = values[entry[1]].results[entry[2]]
            elif number in row.points:
                value = points.read_row(self, row, number, entry[1], j, mask)
            elif head == "point":
                value = points.read(self, row, entry[1], j, mask, values)
            else:
                value = self.apply(head, [values[ref] for ref in entry[1:]])
            values[number] = value
        return values

    def load(
        self, row: Row, number: int, j: str, mask: Value | None, prefetch: bool
    ) -> Value:
        if number in row.tiles:
            return row.tiles[number]
        return self.load_from(row.reads[number], row, number, j, mask, prefetch)

    def load_from(
        self,
        base: str,
        row: Row,
        number: int,
        j: str,
        mask: Value | None,
        prefetch: bool,
    ) -> Value:
        """A vector of read `number`, whose row begins at `base`."""
        w = self.w
        access = self.loops.reads[number]
        if access.kind == UNIFORM:
            return w.load_scalar_broadcast(base, access.type)
        if access.kind == CONTIGUOUS:
            pointer = w.point_to(base, j, access.type)
            if prefetch:
                w.prefetch(pointer, access.type)
            return w.load(pointer, access.type, mask)
        if access.comb is not None:
            if mask is None and w.lanes > 1:
                return self.load_comb(row, access, j, prefetch)
            base = w.point_to(base, str(access.comb.phase), access.type)
        step = self.inner[number]
        pointer = w.point_to(base, w.i("mul", j, step), access.type)
        return w.gather(pointer, self.steps(step), access.type, mask)

    def load_comb(self, row: Row, access: Access, j: str, prefetch: bool) -> Value:
        """Interleaved elements, from whole vectors that the accesses share."""
        w = self.w
        type, comb = access.type, access.comb
        assert comb is not None
        base = row.reads[comb.leader]
        pointer = w.point_to(base, w.i("mul", j, comb.step), type)
        if comb.step < 0:
            return w.load_backwards(pointer, type)
        parts = self.parts.get(comb.leader)
        if parts is None:
            if prefetch:
                for number in range(comb.step):
                    at = w.point_to(pointer, str(number * w.lanes), type)
                    w.prefetch(at, type)
            parts = w.load_parts(pointer, type, comb.step)
            self.parts[comb.leader] = parts
        return w.pick_part(parts, type, comb.step, comb.phase)

    def steps(self, step: str) -> Value:
        """0, step, 2·step, … as i64."""
        w = self.w
        lanes = w.lane_index("i64")
        if step == "1":
            return lanes
        return w.binary("mul", w.broadcast(step, "i64"), lanes)

    def count(self, row: Row, number: int, j: str) -> Value:
        """A coordinate in the lanes, as its type."""
        w = self.w
        type = self.loops.coordinates[number].type
        kind = self.loops.coordinates[number].kind
        step = self.inner_of_coordinate(number)
        start = w.i("add", row.counts[number], w.i("mul", j, step))
        wide = SIZE[type] == 8 and type != "c64" or type == "c128"
        if wide:
            base = w.broadcast(start, "i64")
            lanes = w.lane_index("i64")
            factor = w.broadcast(step, "i64") if kind == STRIDED else None
        else:
            narrow = w.raw(f"trunc i64 {start} to i32")
            base = w.broadcast(narrow, "i32")
            lanes = w.lane_index("i32")
            factor = None
            if kind == STRIDED:
                factor = w.broadcast(w.raw(f"trunc i64 {step} to i32"), "i32")
        if factor is not None:
            lanes = w.binary("mul", lanes, factor)
        if kind != UNIFORM:
            base = w.binary("add", base, lanes)
        return w.convert(base, type)

    def inner_of_coordinate(self, number: int) -> str:
        """The stride of a coordinate along vectors."""
        return self.inner[len(self.loops.reads) + len(self.loops.writes) + number]

    def write(
        self, row: Row, values: dict[int, Any], j: str, mask: Value | None
    ) -> None:
        """Stores what is written at the vector that starts at `j`."""
        w = self.w
        reads = len(self.loops.reads)
        for number, (ref, access) in enumerate(self.loops.writes):
            if ref < 0:
                continue
            base = row.writes[number]
            value = values[ref]
            if access.kind == CONTIGUOUS:
                pointer = w.point_to(base, j, access.type)
                if self.loops.stream == 2 and mask is None:
                    self.store_around(value, pointer)
                else:
                    w.store(value, pointer, mask)
                continue
            if access.comb is not None:
                if mask is None and w.lanes > 1:
                    self.write_comb(row, values, number, j)
                    continue
                base = w.point_to(base, str(access.comb.phase), access.type)
            step = self.inner[reads + number]
            pointer = w.point_to(base, w.i("mul", j, step), access.type)
            w.scatter(value, pointer, self.steps(step), mask)

    def write_comb(self, row: Row, values: dict[int, Any], number: int, j: str) -> None:
        """Interleaved elements: all accesses of a group at once, with its last."""
        w, writes = self.w, self.loops.writes
        _, access = writes[number]
        comb = access.comb
        assert comb is not None
        group = [
            (other.comb.phase, ref, at)
            for at, (ref, other) in enumerate(writes)
            if other.comb is not None and other.comb.leader == comb.leader
        ]
        if number != max([at for _, _, at in group]):
            return
        base = row.writes[comb.leader]
        pointer = w.point_to(base, w.i("mul", j, comb.step), access.type)
        w.store_parts([values[ref] for _, ref, _ in sorted(group)], pointer)

    def store_around(self, value: Value, pointer: str) -> None:
        """A store that does not fill the caches; the address is aligned."""
        w = self.w
        start = len(w.lines)
        w.store(value, pointer, None)
        size = w.lanes * SIZE[value.type]
        line = w.lines[-1]
        if line.startswith("  store ") and size % 16 == 0 and len(w.lines) > start:
            head = line.rsplit(", align", 1)[0]
            align = min(size, 64)
            w.lines[-1] = f"{head}, align {align}, !nontemporal !{{i32 1}}"


class Several:
    """The results of an operation that has several."""

    __slots__ = ("results",)

    def __init__(self, results: Sequence[Value]) -> None:
        self.results = list(results)


def uniform_entries(loops: Loops) -> list[bool]:
    """Which entries are the same for all vectors of a row."""
    uniform: list[bool] = []
    for entry in loops.entries:
        head = entry[0]
        if head == "read":
            uniform.append(loops.reads[entry[1]].kind == UNIFORM)
        elif head == "scalar":
            uniform.append(True)
        elif head == "coordinate":
            uniform.append(loops.coordinates[entry[1]].kind == UNIFORM)
        elif head == "pick":
            uniform.append(uniform[entry[1]])
        elif head == "point":
            same = loops.reads[entry[1].read].kind == UNIFORM
            uniform.append(same and points.steady(loops, uniform, entry[1]))
        else:
            uniform.append(all(uniform[ref] for ref in entry[1:]))
    return uniform


def _spread(loops: Loops, uniform: list[bool], steady: Sequence[int]) -> list[int]:
    """The uniform entries that something needs in every lane."""
    needed: set[int] = set()
    for number, entry in enumerate(loops.entries):
        head = entry[0]
        if head == "point" and not uniform[number] and number not in steady:
            needed.update(entry[1].refs)
        if type(head) is str or uniform[number]:
            continue
        needed.update(entry[1:])
    needed.update([ref for ref, _ in loops.writes if ref >= 0])
    for fold in loops.folds:
        needed.update(fold.refs)
    if loops.scatter is not None:
        needed.add(loops.scatter.ref)
        needed.update(loops.scatter.refs)
    return sorted([ref for ref in needed if uniform[ref]])
