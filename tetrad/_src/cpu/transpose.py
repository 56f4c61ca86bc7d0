"""The template for kernels that read some operand across its rows.

Vectors run along the last axis of the space; an operand whose elements are neighbours
along another axis (`across`) would have to be gathered. Instead both axes are walked in
square tiles of one vector's length: the tile is read along `across`, turned around in
registers, kept on the stack, and used row by row. Tiles are visited so that reads stay
in a few pages: bands of rows of the result, in them blocks of columns, in them tiles,
rows first.

Turning a tile depends on nothing but its size, and its shuffles are slow to compile: it
is a function of its own (`turn_text`), compiled when the first kernel names it.

Words after the common ones: extents of outer axes, of `across`, of the vectors' axis;
rows in a band, number of bands, columns in a block; strides along the outer axes, then
along `across`, then (strided accesses) along vectors.
"""

from __future__ import annotations

from tetrad._src.cpu import engine
from tetrad._src.cpu.body import Body, Row
from tetrad._src.cpu.llvm import Writer
from tetrad._src.cpu.loops import ACROSS, Loops
from tetrad._src.cpu.scalar import SIZE

PREFIX = "tetrad_turn_"


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
        self.buffers: dict[int, str] = {}
        for number, access in enumerate(body.loops.reads):
            if access.kind == ACROSS:
                room = w.lanes * w.lanes * SIZE[access.type]
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
        for number in self.buffers:
            self.turn(base, number, i, j)
        loop = w.begin("0", str(w.lanes), 1)
        row = body.place(base, [w.i("add", i, loop.index)], [body.loops.outer])
        for number, buffer in self.buffers.items():
            type = body.loops.reads[number].type
            offset = w.i("mul", loop.index, w.lanes * SIZE[type])
            at = w.raw(f"getelementptr i8, ptr {buffer}, i64 {offset}")
            row.tiles[number] = w.load(at, type)
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

    def turn(self, base: Row, number: int, i: str, j: str) -> None:
        """Fills a buffer with the tile of one read."""
        w, body = self.w, self.body
        type = body.loops.reads[number].type
        step = body.inner[number]
        pointer = w.point_to(base.reads[number], i, type)
        pointer = w.point_to(pointer, w.i("mul", j, step), type)
        stride = w.i("mul", step, SIZE[type])
        name = f"{PREFIX}{SIZE[type]}_{w.lanes}"
        engine.lookup_symbol(name)
        w.declarations.add(f"declare void @{name}(ptr, i64, ptr)")
        w.line(
            f"call void @{name}(ptr {pointer}, i64 {stride}, ptr {self.buffers[number]})"
        )


def turn_text(name: str) -> str:
    """`void turn(ptr source, i64 stride, ptr tile)`: a square tile, turned around.

    Lane r of the c-th vector of the source, `stride` bytes apart, becomes lane c of the
    r-th vector of the tile, in log₂ rounds of pairwise exchange.
    """
    size, lanes = map(int, name.removeprefix(PREFIX).split("_"))
    register = f"<{lanes} x i{8 * size}>"
    lines = []
    for c in range(lanes):
        lines.append(f"  %o{c} = mul i64 %stride, {c}")
        lines.append(f"  %p{c} = getelementptr i8, ptr %source, i64 %o{c}")
        lines.append(f"  %v0_{c} = load {register}, ptr %p{c}, align {size}")
    rounds = lanes.bit_length() - 1
    for n in range(rounds):
        step = 1 << n
        low = [k if not k & step else lanes + (k ^ step) for k in range(lanes)]
        high = [(k | step) if not k & step else lanes + k for k in range(lanes)]
        for k in range(lanes):
            a, b = k & ~step, k | step
            order = ", ".join(f"i32 {lane}" for lane in (high if k & step else low))
            lines.append(
                f"  %v{n + 1}_{k} = shufflevector {register} %v{n}_{a},"
                f" {register} %v{n}_{b}, <{lanes} x i32> <{order}>"
            )
    for r in range(lanes):
        lines.append(
            f"  %q{r} = getelementptr i8, ptr %tile, i64 {r * lanes * size}\n"
            f"  store {register} %v{rounds}_{r}, ptr %q{r}, align {min(64, size * lanes)}"
        )
    text = "\n".join(lines)
    return (
        f"define dso_local void @{name}(ptr %source, i64 %stride, ptr %tile) nounwind"
        f' "prefer-vector-width"="512" {{\nentry:\n{text}\n  ret void\n}}\n'
    )


def resolve(name: str) -> int:
    """The address of a function of `turn_text`, compiled now."""
    return engine.assemble(turn_text(name), [name]).pin()[name]


engine.add_resolver(PREFIX, resolve)
