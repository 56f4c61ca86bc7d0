"""The writer of kernels: loops, words, addresses and masks as LLVM text.

`Writer` is the expression builder of `scalar` plus what surrounds expressions: a kernel
is `void k(ptr %args, i64 %lo, i64 %hi)`, whose words are read from `%args` in order, and
whose loops are opened and closed with `begin` and `end`. Templates (map.py, reduce.py,
transpose.py) call it; they never write a label themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tetrad._src.cpu import engine, native_host
from tetrad._src.cpu.literals import element_type
from tetrad._src.cpu.registers import NARROW_FLOATS
from tetrad._src.cpu.scalar import MEMORY_TYPE, SIZE, Block, Value

PREFETCH = 4096  # bytes ahead


class Loop:
    """An open loop: its index, its carried registers, and where their phis stand."""

    __slots__ = (
        "index",
        "carried",
        "types",
        "starts",
        "line",
        "before",
        "head",
        "body",
        "step",
        "end",
        "after",
    )

    index: str
    carried: list[str]
    types: list[str]
    starts: list[str]
    line: int
    before: str
    head: str
    body: str
    step: int
    end: str
    after: str


class Writer(Block):
    """Writes one kernel."""

    def __init__(self, lanes: int, prefix: str = "v", fma: bool | None = None) -> None:
        fma = has_fma() if fma is None else fma
        super().__init__(lanes, prefix, fma=fma, label="entry")
        self.words = 0
        self.extent: Callable[[int, int], Value] = _no_extent

    def type_of(self, dtype: Any) -> str:
        """The element type of a dtype."""
        return element_type(dtype)

    # Words of the argument block

    def word(self, kind: str = "i64") -> str:
        """The next word, as an LLVM scalar type of at most 8 bytes."""
        pointer = "%args"
        if self.words:
            pointer = self.raw(f"getelementptr i64, ptr %args, i64 {self.words}")
        self.words += 1
        return self.raw(f"load {kind}, ptr {pointer}, align 8")

    def word_value(self, type: str) -> Value:
        """The next word as a scalar of an element type."""
        pointer = "%args"
        if self.words:
            pointer = self.raw(f"getelementptr i64, ptr %args, i64 {self.words}")
        self.words += 2 if type == "c128" else 1
        with self.one_lane():
            if type in NARROW_FLOATS:
                single = self.load(pointer, "f32")
                return self.round_narrow(single, type)
            return self.load(pointer, type)

    # Scalar index arithmetic

    def i(self, name: str, x: str, y: str | int) -> str:
        """One i64 instruction on scalars; trivial ones are folded away."""
        y = str(y)
        if name == "mul":
            if x == "0" or y == "0":
                return "0"
            if y == "1":
                return x
            if x == "1":
                return y
        elif name == "add":
            if x == "0":
                return y
            if y == "0":
                return x
        elif name == "sub" and y == "0":
            return x
        return self.raw(f"{name} i64 {x}, {y}")

    def smaller_index(self, x: str, y: str) -> str:
        """The minimum of two i64."""
        self.declarations.add("declare i64 @llvm.smin.i64(i64, i64)")
        return self.raw(f"call i64 @llvm.smin.i64(i64 {x}, i64 {y})")

    def larger_index(self, x: str, y: str) -> str:
        """The maximum of two i64."""
        self.declarations.add("declare i64 @llvm.smax.i64(i64, i64)")
        return self.raw(f"call i64 @llvm.smax.i64(i64 {x}, i64 {y})")

    def less(self, x: str, y: str) -> str:
        """An i1 register: x < y, as signed i64."""
        return self.raw(f"icmp slt i64 {x}, {y}")

    def point_to(self, pointer: str, index: str, type: str) -> str:
        """The address of an element."""
        if index == "0":
            return pointer
        return self.raw(
            f"getelementptr {MEMORY_TYPE[type]}, ptr {pointer}, i64 {index}"
        )

    # Control flow

    def begin(
        self,
        start: str,
        end: str,
        step: int | str,
        carried: Sequence[tuple[str, str]] = (),
    ) -> Loop:
        """Opens `for index in range(start, end, step)` with (type, start) registers."""
        loop = Loop()
        head, body, after = self.fresh_label(), self.fresh_label(), self.fresh_label()
        loop.before = self.label
        self.line(f"br label %{head}")
        self.start_block(head)
        loop.line = len(self.lines)
        loop.index = self.fresh()
        loop.types = [type for type, _ in carried]
        loop.starts = [start, *[ref for _, ref in carried]]
        loop.carried = [self.fresh() for _ in carried]
        self.lines.extend([""] * (1 + len(carried)))
        more = self.less(loop.index, end)
        self.line(f"br i1 {more}, label %{body}, label %{after}")
        self.start_block(body)
        loop.head, loop.body, loop.after = head, body, after
        loop.step = step  # type: ignore[assignment]
        loop.end = end
        return loop

    def end(self, loop: Loop, nexts: Sequence[str] = ()) -> list[str]:
        """Closes a loop; `nexts` are the carried registers of the next turn.

        The result lists their values after the loop.
        """
        after = self.i("add", loop.index, loop.step)
        last = self.label
        self.line(f"br label %{loop.head}")
        names = [loop.index, *loop.carried]
        types = ["i64", *loop.types]
        for offset, (name, type, start, following) in enumerate(
            zip(names, types, loop.starts, [after, *nexts], strict=True)
        ):
            self.lines[loop.line + offset] = (
                f"  {name} = phi {type} [ {start}, %{loop.before} ],"
                f" [ {following}, %{last} ]"
            )
        self.start_block(loop.after)
        return loop.carried

    def first(self, start: str, end: str, step: int, test: Callable[[str], str]) -> str:
        """The first index of `range(start, end, step)` that passes the test, an i1
        register; none: what follows the last one."""
        head, body, later = self.fresh_label(), self.fresh_label(), self.fresh_label()
        after, before = self.fresh_label(), self.label
        index, following = self.fresh(), self.fresh()
        self.line(f"br label %{head}")
        self.start_block(head)
        self.line(
            f"{index} = phi i64 [ {start}, %{before} ], [ {following}, %{later} ]"
        )
        more = self.less(index, end)
        self.line(f"br i1 {more}, label %{body}, label %{after}")
        self.start_block(body)
        found = test(index)
        self.line(f"br i1 {found}, label %{after}, label %{later}")
        self.start_block(later)
        self.line(f"{following} = add i64 {index}, {step}")
        self.line(f"br label %{head}")
        self.start_block(after)
        return index

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """Code that runs only if an i1 register is true."""
        then, after = self.fresh_label(), self.fresh_label()
        self.line(f"br i1 {condition}, label %{then}, label %{after}")
        self.start_block(then)
        yield
        self.line(f"br label %{after}")
        self.start_block(after)

    def choose(
        self, condition: str, then: Callable[[], None], other: Callable[[], None]
    ) -> None:
        """`then` or `other`, by a scalar i1 register."""
        yes, no, after = self.fresh_label(), self.fresh_label(), self.fresh_label()
        self.line(f"br i1 {condition}, label %{yes}, label %{no}")
        for label, write in ((yes, then), (no, other)):
            self.start_block(label)
            write()
            self.line(f"br label %{after}")
        self.start_block(after)

    # Masks and memory

    def mask(self, remaining: str) -> Value:
        """The first `remaining` lanes; it must not be negative."""
        lanes = self.lanes
        if lanes == 1:
            return self.emit("i1", f"icmp sgt i64 {remaining}, 0")
        if engine.vector_bits() == 512 and lanes < 64:
            # Masks are registers there, filled in two instructions.
            self.declarations.add("declare i64 @llvm.umin.i64(i64, i64)")
            count = self.raw(f"call i64 @llvm.umin.i64(i64 {remaining}, i64 {lanes})")
            bits = self.i("sub", self.i("shl", "1", count), 1)
            short = self.raw(f"trunc i64 {bits} to i{lanes}")
            return self.emit("i1", f"bitcast i{lanes} {short} to <{lanes} x i1>")
        name = f"llvm.get.active.lane.mask.v{lanes}i1.i64"
        self.declarations.add(f"declare <{lanes} x i1> @{name}(i64, i64)")
        return self.emit("i1", f"call <{lanes} x i1> @{name}(i64 0, i64 {remaining})")

    def prefetch(self, pointer: str, type: str) -> None:
        """Fetch the lines `PREFETCH` bytes behind a vector at `pointer`."""
        self.declarations.add("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        for offset in range(0, self.lanes * SIZE[type], 64):
            ahead = self.raw(
                f"getelementptr i8, ptr {pointer}, i64 {PREFETCH + offset}"
            )
            self.line(f"call void @llvm.prefetch.p0(ptr {ahead}, i32 0, i32 3, i32 1)")

    def shuffled(self, x: Value, order: Sequence[int]) -> Value:
        """Lane i of the result is lane order[i] of `x`."""
        register = self.register(x.type)
        lanes = ", ".join(f"i32 {lane}" for lane in order)
        refs = [
            self.raw(
                f"shufflevector {register} {ref}, {register} poison,"
                f" <{len(order)} x i32> <{lanes}>"
            )
            for ref in x.parts
        ]
        return Value(self, refs[0], x.type, *refs[1:])

    def lane(self, x: Value, number: int) -> Value:
        """One lane as a scalar."""
        if self.lanes == 1:
            return x
        register = self.register(x.type)
        refs = [
            self.raw(f"extractelement {register} {ref}, i64 {number}")
            for ref in x.parts
        ]
        return Value(self, refs[0], x.type, *refs[1:])

    def first_lane(self, *where: Value) -> str:
        """The number of the first lane that is true, as i64, counted through all these
        vectors, one or a power of two; if there is none, that of lanes."""
        masks = [value.ref for value in where]
        lanes = self.lanes
        while len(masks) > 1:
            order = ", ".join([f"i32 {lane}" for lane in range(2 * lanes)])
            masks = [
                self.raw(
                    f"shufflevector <{lanes} x i1> {low}, <{lanes} x i1> {high},"
                    f" <{2 * lanes} x i32> <{order}>"
                )
                for low, high in zip(masks[::2], masks[1::2])
            ]
            lanes *= 2
        if lanes == 1:
            return self.raw(f"select i1 {masks[0]}, i64 0, i64 1")
        self.declarations.add(f"declare i{lanes} @llvm.cttz.i{lanes}(i{lanes}, i1)")
        bits = self.raw(f"bitcast <{lanes} x i1> {masks[0]} to i{lanes}")
        count = self.raw(
            f"call i{lanes} @llvm.cttz.i{lanes}(i{lanes} {bits}, i1 false)"
        )
        return count if lanes == 64 else self.raw(f"zext i{lanes} {count} to i64")

    def half(self, x: Value, first: int) -> Value:
        """Half of the lanes, from lane `first` on; a single one is a scalar."""
        count = self.lanes // 2
        if count == 1:
            return self.lane(x, first)
        return self.shuffled(x, range(first, first + count))

    def spread(self, x: Value) -> Value:
        """A scalar in every lane."""
        if self.lanes == 1:
            return x
        return self.broadcast(x.ref, x.type, x.imag)

    def function(self, name: str) -> str:
        """The text of the finished kernel."""
        body = "\n".join(self.lines)
        return (
            f"define dso_local void @{name}(ptr %args, i64 %lo, i64 %hi) nounwind"
            f' "prefer-vector-width"="512" {{\nentry:\n{body}\n  ret void\n}}\n'
        )


def _no_extent(operand: int, axis: int) -> Value:
    raise RuntimeError("extents are known only to operations with computed coordinates")


def has_fma() -> bool:
    """Whether the target has fused multiply-add and its contemporaries."""
    return native_host.machine() != "x86_64" or engine.vector_bits() >= 256


def module(functions: Sequence[tuple[str, Writer]]) -> str:
    """The text of several kernels, with what they declare once."""
    declarations: set[str] = set()
    parts = []
    for name, writer in functions:
        parts.append(writer.function(name))
        declarations |= writer.declarations
    return "\n".join(parts) + "\n" + "\n".join(sorted(declarations)) + "\n"
