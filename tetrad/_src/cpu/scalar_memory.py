"""Loads and stores of all element types, contiguous or by index, masked or not.

In: names of pointer registers (elements in memory form) and index values; out: values,
or stores. Bool is one byte in memory, narrow floats are their bits, integers of less than
8 bits are the low ones of a byte, complex elements are
interleaved pairs. Lanes outside a mask touch no memory and read as zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tetrad._src.cpu.formats import FORMATS, INTEGER_BITS
from tetrad._src.cpu.registers import (
    COMPLEX,
    MEMORY_TYPE,
    NARROW_FLOATS,
    REAL_OF,
    REGISTER_TYPE,
    SIZE,
    Value,
)
from tetrad._src.cpu.scalar_convert import ConvertBlock

_STORED_AS: dict[str, str] = {
    "i1": "u8",
    "bf16": "u16",
    "f16": "u16",
    **dict.fromkeys((*INTEGER_BITS, *FORMATS), "u8"),
}


class MemoryBlock(ConvertBlock):
    """The builder with access to memory."""

    def load(self, pointer: str, type: str, mask: Value | None = None) -> Value:
        """The `lanes` elements that start at a pointer."""
        if type in COMPLEX:
            return self._load_complex(pointer, type, mask)
        stored = _STORED_AS.get(type, type)
        return self._from_memory(self._load_plain(pointer, stored, mask), type)

    def store(self, x: Value, pointer: str, mask: Value | None = None) -> None:
        """Store the `lanes` elements of a value from a pointer on."""
        if x.type in COMPLEX:
            self._store_complex(x, pointer, mask)
        else:
            self._store_plain(self._to_memory(x), pointer, mask)

    def gather(
        self, base: str, index: Value, type: str, mask: Value | None = None
    ) -> Value:
        """In each lane the element number `index` (i64 or i32) of the array at `base`."""
        pointers = self._addresses(base, index, type)
        if type not in COMPLEX:
            stored = _STORED_AS.get(type, type)
            return self._from_memory(self._gather_plain(pointers, stored, mask), type)
        real = self._gather_plain(pointers, REAL_OF[type], mask)
        imag = self._gather_plain(self._next_to(pointers, type), REAL_OF[type], mask)
        return Value(self, real.ref, type, imag.ref)

    def scatter(
        self, x: Value, base: str, index: Value, mask: Value | None = None
    ) -> None:
        """Store each lane to element `index` of the array at `base`, lane 0 first."""
        pointers = self._addresses(base, index, x.type)
        if x.type not in COMPLEX:
            self._scatter_plain(self._to_memory(x), pointers, mask)
            return
        part = REAL_OF[x.type]
        self._scatter_plain(self.value(x.ref, part), pointers, mask)
        beside = self._next_to(pointers, x.type)
        self._scatter_plain(self.value(x.imag, part), beside, mask)

    # Interleaved: every `step`-th element, or all backwards

    def load_parts(self, pointer: str, type: str, step: int) -> list[str]:
        """The registers that hold `step` times `lanes` elements from a pointer on."""
        stored, count = _STORED_AS.get(type, type), step
        if type in COMPLEX:
            stored, count = REAL_OF[type], 2 * step
        parts = []
        for number in range(count):
            offset = number * self.lanes * SIZE[stored]
            at = self.raw(f"getelementptr i8, ptr {pointer}, i64 {offset}")
            parts.append(self._load_plain(at, stored, None).ref)
        return parts

    def pick_part(self, parts: list[str], type: str, step: int, phase: int) -> Value:
        """Elements phase, phase + step, … of what `load_parts` has loaded."""
        if type in COMPLEX:
            part = REAL_OF[type]
            real = self._pick_lanes(parts, part, 2 * step, 2 * phase)
            imag = self._pick_lanes(parts, part, 2 * step, 2 * phase + 1)
            return Value(self, real, type, imag)
        stored = _STORED_AS.get(type, type)
        ref = self._pick_lanes(parts, stored, step, phase)
        return self._from_memory(self.value(ref, stored), type)

    def _pick_lanes(self, parts: list[str], type: str, step: int, phase: int) -> str:
        lanes, register = self.lanes, self.register(type)
        places = [divmod(phase + step * lane, lanes) for lane in range(lanes)]
        done: str | None = None
        for number, part in enumerate(parts):
            if not any(n == number for n, _ in places):
                continue
            # Lanes of earlier parts stay where they are.
            if done is None:
                order = [at if n == number else 0 for n, at in places]
                pair = f"{register} {part}, {register} poison"
            else:
                order = [
                    lanes + at if n == number else lane
                    for lane, (n, at) in enumerate(places)
                ]
                pair = f"{register} {done}, {register} {part}"
            done = self.raw(f"shufflevector {pair}, {_shuffle_mask(order)}")
        assert done is not None
        return done

    def load_backwards(self, pointer: str, type: str) -> Value:
        """The element at a pointer, the one before it, …"""
        offset = (1 - self.lanes) * SIZE[type]
        first = self.raw(f"getelementptr i8, ptr {pointer}, i64 {offset}")
        value = self.load(first, type)
        register = self.register(type)
        order = _shuffle_mask(reversed(range(self.lanes)))
        refs = [
            self.raw(f"shufflevector {register} {x}, {register} poison, {order}")
            for x in value.parts
        ]
        return Value(self, refs[0], type, *refs[1:])

    def store_parts(self, values: Sequence[Value], pointer: str) -> None:
        """Store lane 0 of all values, then lane 1 of all, …, from a pointer on."""
        type = values[0].type
        columns = [self._to_memory(x) for x in values]
        stored = columns[0].type
        refs = [x.ref for x in columns]
        if type in COMPLEX:
            stored = REAL_OF[type]
            refs = [ref for x in values for ref in x.parts]
        lanes, count, register = self.lanes, len(refs), self.register(stored)
        for number in range(count):
            places = [divmod(number * lanes + lane, count) for lane in range(lanes)]
            done = refs[places[0][1]]
            order = [at for at, _ in places]
            for column in range(count):
                if column == places[0][1]:
                    continue
                order = [
                    lanes + at if c == column else order[lane]
                    for lane, (at, c) in enumerate(places)
                ]
                done = self.raw(
                    f"shufflevector {register} {done}, {register} {refs[column]}, "
                    + _shuffle_mask(order)
                )
                order = list(range(lanes))
            at = self.raw(
                f"getelementptr i8, ptr {pointer}, i64 {number * lanes * SIZE[stored]}"
            )
            self._store_plain(self.value(done, stored), at, None)

    def broadcast(self, scalar: str, type: str, imag: str = "") -> Value:
        """A scalar register (of `REGISTER_TYPE`) in every lane."""
        ref = self._splat(scalar, type)
        found = Value(self, ref, type, self._splat(imag, type) if imag else "")
        found.uniform = True
        return found

    def load_scalar_broadcast(self, pointer: str, type: str) -> Value:
        """The single element at a pointer in every lane."""
        with self.one_lane():
            scalar = self.load(pointer, type)
        return self.broadcast(scalar.ref, type, scalar.imag)

    def lane_index(self, type: str = "i64") -> Value:
        """0, 1, 2, … in the lanes."""
        if self.lanes == 1:
            return self.constant(0, type)
        element = MEMORY_TYPE[type]
        texts = ", ".join(f"{element} {lane}" for lane in range(self.lanes))
        return Value(self, f"<{texts}>", type)

    # Forms in memory

    def _from_memory(self, x: Value, type: str) -> Value:
        if type == "i1":
            return self.compare("ne", x, 0)
        if type in NARROW_FLOATS:
            return self.unpack_narrow(x, type)
        if type in INTEGER_BITS:
            return self.cast("trunc", x, type)
        return x

    def _to_memory(self, x: Value) -> Value:
        if x.type == "i1":
            return self.cast("zext", x, "u8")
        if x.type in NARROW_FLOATS:
            return self.pack_narrow(x)
        if x.type in INTEGER_BITS:
            return self.cast("zext", x, "u8")
        return x

    def _splat(self, scalar: str, type: str) -> str:
        if self.lanes == 1:
            return scalar
        register = self.register(type)
        element = register.split(" x ")[1][:-1]
        first = self.raw(f"insertelement {register} poison, {element} {scalar}, i64 0")
        zeros = f"<{self.lanes} x i32> zeroinitializer"
        return self.raw(f"shufflevector {register} {first}, {register} poison, {zeros}")

    # Contiguous

    def _load_plain(self, pointer: str, type: str, mask: Value | None) -> Value:
        register = self.register(type)
        if mask is None:
            return self.emit(
                type, f"load {register}, ptr {pointer}, align {SIZE[type]}"
            )
        vector, where, lanes = self._masked(register, mask)
        name = f"llvm.masked.load.{self._masked_suffix(type, lanes)}.p0"
        self.declarations.add(
            f"declare {vector} @{name}(ptr, i32, <{lanes} x i1>, {vector})"
        )
        ref = self.raw(
            f"call {vector} @{name}(ptr {pointer}, i32 {SIZE[type]}, "
            f"<{lanes} x i1> {where}, {vector} zeroinitializer)"
        )
        if self.lanes > 1:
            return Value(self, ref, type)
        return self.emit(type, f"bitcast {vector} {ref} to {register}")

    def _store_plain(self, x: Value, pointer: str, mask: Value | None) -> None:
        register, align = self.register(x.type), SIZE[x.type]
        if mask is None:
            self.line(f"store {register} {x.ref}, ptr {pointer}, align {align}")
            return
        vector, where, lanes = self._masked(register, mask)
        ref = x.ref
        if self.lanes == 1:
            ref = self.raw(f"bitcast {register} {ref} to {vector}")
        name = f"llvm.masked.store.{self._masked_suffix(x.type, lanes)}.p0"
        self.declarations.add(
            f"declare void @{name}({vector}, ptr, i32, <{lanes} x i1>)"
        )
        self.line(
            f"call void @{name}({vector} {ref}, ptr {pointer}, i32 {align}, "
            f"<{lanes} x i1> {where})"
        )

    def _masked(self, register: str, mask: Value) -> tuple[str, str, int]:
        """(vector type, mask register, lanes): a single lane becomes a vector of one."""
        if self.lanes > 1:
            return register, mask.ref, self.lanes
        where = self.raw(f"bitcast i1 {mask.ref} to <1 x i1>")
        return f"<1 x {register}>", where, 1

    def _masked_suffix(self, type: str, lanes: int) -> str:
        with self.one_lane():
            return f"v{lanes}{self.suffix(REGISTER_TYPE[type])}"

    def _load_complex(self, pointer: str, type: str, mask: Value | None) -> Value:
        part = REAL_OF[type]
        if self.lanes == 1:
            real = self._load_plain(pointer, part, mask)
            imag = self._load_plain(self._next_to(pointer, type), part, mask)
            return Value(self, real.ref, type, imag.ref)
        lanes = self.lanes
        double_mask = self._doubled(mask)
        self.lanes = 2 * lanes
        both = self._load_plain(pointer, part, double_mask)
        pair = self.register(part)
        self.lanes = lanes
        refs = [
            self.raw(
                f"shufflevector {pair} {both.ref}, {pair} poison, "
                + _shuffle_mask(range(offset, 2 * lanes, 2))
            )
            for offset in (0, 1)
        ]
        return Value(self, refs[0], type, refs[1])

    def _store_complex(self, x: Value, pointer: str, mask: Value | None) -> None:
        part = REAL_OF[x.type]
        if self.lanes == 1:
            self._store_plain(self.value(x.ref, part), pointer, mask)
            beside = self._next_to(pointer, x.type)
            self._store_plain(self.value(x.imag, part), beside, mask)
            return
        lanes = self.lanes
        order = [lane + offset for lane in range(lanes) for offset in (0, lanes)]
        register = self.register(part)
        both = self.raw(
            f"shufflevector {register} {x.ref}, {register} {x.imag}, "
            + _shuffle_mask(order)
        )
        double_mask = self._doubled(mask)
        self.lanes = 2 * lanes
        self._store_plain(self.value(both, part), pointer, double_mask)
        self.lanes = lanes

    def _doubled(self, mask: Value | None) -> Value | None:
        """Every lane of a mask twice in a row."""
        if mask is None:
            return None
        order = _shuffle_mask(lane // 2 for lane in range(2 * self.lanes))
        register = self.register("i1")
        ref = self.raw(
            f"shufflevector {register} {mask.ref}, {register} poison, {order}"
        )
        return Value(self, ref, "i1")

    # By index

    def _addresses(self, base: str, index: Value, type: str) -> str:
        indices = f"{self.register(index.type)} {index.ref}"
        return self.raw(f"getelementptr {MEMORY_TYPE[type]}, ptr {base}, {indices}")

    def _next_to(self, pointers: str, type: str) -> str:
        """Pointers to the imaginary parts, from those to the real parts."""
        step = f"i64 {SIZE[type] // 2}"
        return self.raw(f"getelementptr i8, {self.vector('ptr')} {pointers}, {step}")

    def _gather_plain(self, pointers: str, type: str, mask: Value | None) -> Value:
        if self.lanes == 1:
            return self._load_plain(pointers, type, mask)
        register, vector = self.register(type), self.vector("ptr")
        boolean = self.register("i1")
        where = "splat (i1 true)" if mask is None else mask.ref
        short = self._masked_suffix(type, self.lanes)
        name = f"llvm.masked.gather.{short}.v{self.lanes}p0"
        self.declarations.add(
            f"declare {register} @{name}({vector}, i32, {boolean}, {register})"
        )
        return self.emit(
            type,
            f"call {register} @{name}({vector} {pointers}, i32 {SIZE[type]}, "
            f"{boolean} {where}, {register} zeroinitializer)",
        )

    def _scatter_plain(self, x: Value, pointers: str, mask: Value | None) -> None:
        if self.lanes == 1:
            self._store_plain(x, pointers, mask)
            return
        register, vector = self.register(x.type), self.vector("ptr")
        boolean = self.register("i1")
        where = "splat (i1 true)" if mask is None else mask.ref
        short = self._masked_suffix(x.type, self.lanes)
        name = f"llvm.masked.scatter.{short}.v{self.lanes}p0"
        self.declarations.add(
            f"declare void @{name}({register}, {vector}, i32, {boolean})"
        )
        self.line(
            f"call void @{name}({register} {x.ref}, {vector} {pointers}, "
            f"i32 {SIZE[x.type]}, {boolean} {where})"
        )


def _shuffle_mask(order: Any) -> str:
    """The constant that tells `shufflevector` which element goes where."""
    lanes = [f"i32 {lane}" for lane in order]
    return f"<{len(lanes)} x i32> <{', '.join(lanes)}>"
