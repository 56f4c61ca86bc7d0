"""The template for kernels that read some operand across its rows.

Vectors run along the last axis of the space; an operand whose elements are neighbours
along another axis (`across`) would have to be gathered. Instead both axes are walked in
square tiles of one vector's length: the tile is read along `across`, turned around in
registers, and used row by row. Tiles are visited so that reads stay in a few pages:
bands of rows of the result, in them blocks of columns, in them tiles, rows first.

Words after the common ones: extents of outer axes, of `across`, of the vectors' axis;
rows in a band, number of bands, columns in a block; strides along the outer axes, then
along `across`, then (strided accesses) along vectors.
"""

from __future__ import annotations

from collections.abc import Sequence

from tetrad._src.cpu.body import Body, Row
from tetrad._src.cpu.llvm import Writer
from tetrad._src.cpu.loops import ACROSS, Loops
from tetrad._src.cpu.scalar import SIZE, Value

UNROLLED = 10  # entries up to which all rows of a tile are written out
IN_MEMORY = {"i1": "u8", "bf16": "u16", "f16": "u16"}


def write_tiles(loops: Loops) -> Writer:
    """The kernel of a map with turned operands."""
    w = Writer(loops.lanes)
    body = Body(w, loops)
    outer = [w.word() for _ in range(loops.outer)]
    rows, columns = w.word(), w.word()
    band, bands, block = w.word(), w.word(), w.word()
    body.read_strides(loops.outer + 1)
    tiles = _Tiles(w, body, rows, columns)
    task = w.begin("%lo", "%hi", 1)
    number = w.i("udiv", task.index, bands)
    part = w.i("sub", task.index, w.i("mul", number, bands))
    base = body.place(body.root, body.split(number, outer), range(loops.outer))
    first = w.i("mul", part, band)
    last = w.smaller_index(w.i("add", first, band), rows)
    blocks = w.begin("0", columns, block)
    edge = w.smaller_index(w.i("add", blocks.index, block), columns)
    right = w.begin(blocks.index, edge, w.lanes)
    down = w.begin(first, last, w.lanes)
    tiles.tile(base, down.index, right.index)
    w.end(down)
    w.end(right)
    w.end(blocks)
    w.end(task)
    if loops.stream == 2:
        w.line("fence seq_cst")
    return w


class _Tiles:
    """Writes the code of one tile."""

    def __init__(self, w: Writer, body: Body, rows: str, columns: str) -> None:
        self.w = w
        self.body = body
        self.rows = rows
        self.columns = columns
        loops = body.loops
        self.turned = [n for n, a in enumerate(loops.reads) if a.kind == ACROSS]
        self.unrolled = len(loops.entries) <= UNROLLED
        self.buffers: dict[int, str] = {}
        if not self.unrolled:
            for number in self.turned:
                type = IN_MEMORY.get(loops.reads[number].type, loops.reads[number].type)
                room = w.lanes * w.lanes * SIZE[type]
                self.buffers[number] = w.raw(f"alloca [{room} x i8], align 64")

    def tile(self, base: Row, i: str, j: str) -> None:
        """The tile whose first row is `i` and whose first column is `j`."""
        w = self.w
        below = w.i("sub", self.rows, i)
        beside = w.i("sub", self.columns, j)
        small = w.less(w.smaller_index(below, beside), str(w.lanes))
        w.choose(
            small,
            lambda: self.edge(base, i, j, below, beside),
            lambda: self.whole(base, i, j),
        )

    def whole(self, base: Row, i: str, j: str) -> None:
        """A tile that lies inside."""
        w, body = self.w, self.body
        outer = body.loops.outer
        turned = {n: self.turn(self.columns_of(base, n, i, j, None)) for n in self.turned}
        if self.unrolled:
            for r in range(w.lanes):
                row = body.place(base, [w.i("add", i, r)], [outer])
                row.tiles = {n: self.typed(n, v[r]) for n, v in turned.items()}
                body.hoist(row)
                body.write(row, body.vector(row, j, None), j, None)
            return
        self.save(turned)
        loop = w.begin("0", str(w.lanes), 1)
        row = body.place(base, [w.i("add", i, loop.index)], [outer])
        row.tiles = {n: self.saved(n, loop.index) for n in self.turned}
        body.hoist(row)
        body.write(row, body.vector(row, j, None), j, None)
        w.end(loop)

    def edge(self, base: Row, i: str, j: str, below: str, beside: str) -> None:
        """A tile that sticks out: row by row, by gathered elements."""
        w, body = self.w, self.body
        last = w.smaller_index(below, str(w.lanes))
        mask = w.mask(w.smaller_index(beside, str(w.lanes)))
        loop = w.begin("0", last, 1)
        row = body.place(base, [w.i("add", i, loop.index)], [body.loops.outer])
        body.hoist(row)
        body.write(row, body.vector(row, j, mask), j, mask)
        w.end(loop)

    def columns_of(
        self, base: Row, number: int, i: str, j: str, mask: Value | None
    ) -> list[Value]:
        """The tile's columns, which are contiguous in memory."""
        w, body = self.w, self.body
        type = body.loops.reads[number].type
        stored = IN_MEMORY.get(type, type)
        pointer = w.point_to(base.reads[number], i, type)
        found = []
        for c in range(w.lanes):
            at = w.i("mul", w.i("add", j, c), body.inner[number])
            found.append(w.load(w.point_to(pointer, at, type), stored, mask))
        return found

    def turn(self, vectors: Sequence[Value]) -> list[Value]:
        """Lane r of vector c becomes lane c of vector r, in log₂ rounds of exchange."""
        w = self.w
        current = list(vectors)
        step = 1
        while step < w.lanes:
            low = [n if not n & step else w.lanes + (n ^ step) for n in range(w.lanes)]
            high = [(n | step) if not n & step else w.lanes + n for n in range(w.lanes)]
            for n in range(w.lanes):
                if n & step:
                    continue
                a, b = current[n], current[n | step]
                current[n] = self.mixed(a, b, low)
                current[n | step] = self.mixed(a, b, high)
            step *= 2
        return current

    def mixed(self, a: Value, b: Value, order: Sequence[int]) -> Value:
        w = self.w
        register = w.register(a.type)
        lanes = ", ".join(f"i32 {n}" for n in order)
        refs = [
            w.raw(
                f"shufflevector {register} {x}, {register} {y},"
                f" <{w.lanes} x i32> <{lanes}>"
            )
            for x, y in zip(a.parts, b.parts)
        ]
        return Value(w, refs[0], a.type, *refs[1:])

    def typed(self, number: int, value: Value) -> Value:
        """A vector in its form in memory as an operand of scalar rules."""
        return self.w.from_memory(value, self.body.loops.reads[number].type)

    def save(self, turned: dict[int, list[Value]]) -> None:
        w = self.w
        for number, rows in turned.items():
            for r, value in enumerate(rows):
                size = w.lanes * SIZE[value.type]
                at = w.raw(f"getelementptr i8, ptr {self.buffers[number]}, i64 {r * size}")
                w.store(value, at)

    def saved(self, number: int, r: str) -> Value:
        w = self.w
        type = self.body.loops.reads[number].type
        stored = IN_MEMORY.get(type, type)
        offset = w.i("mul", r, w.lanes * SIZE[stored])
        at = w.raw(f"getelementptr i8, ptr {self.buffers[number]}, i64 {offset}")
        return self.typed(number, w.load(at, stored))
