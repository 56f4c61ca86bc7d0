"""Element types, register values, and the emitter of raw vector instructions.

In: Python numbers and the names of LLVM registers. Out: lines of LLVM text, each of which
handles `lanes` elements at once (one lane gives scalar code). The emitter knows numbers
and bits; it knows no operation of the language. `math.py` and its neighbours write
polynomials with it; `scalar.py` builds the protocol that operations use on top of it.

Read in this order: the tables of element types, `Value`, `Emitter`.

How an element lives in a register: bool is `i1`; integers are LLVM integers, signed or
not by the name of the type, also those of 2 and 4 bits; floats of 16 bits and fewer are
carried as `float` whose value is always one of the format; a complex number is a pair of
registers.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np

from tetrad._src.cpu.formats import DTYPE_NAMES, FORMATS, INTEGER_BITS
from tetrad._src.util.dtypes import SMALL_FLOATS as SMALL_DTYPES

REGISTER_TYPE: dict[str, str] = {
    "i1": "i1",
    "i8": "i8",
    "i16": "i16",
    "i32": "i32",
    "i64": "i64",
    "u8": "i8",
    "u16": "i16",
    "u32": "i32",
    "u64": "i64",
    "f32": "float",
    "f64": "double",
    "bf16": "float",
    "f16": "float",
    "c64": "float",
    "c128": "double",
    **{type: f"i{bits}" for type, bits in INTEGER_BITS.items()},
    **dict.fromkeys(FORMATS, "float"),
}
"""LLVM's type of one lane in a register; a complex value has two such registers."""

MEMORY_TYPE: dict[str, str] = REGISTER_TYPE | {
    "i1": "i8",
    "bf16": "i16",
    "f16": "i16",
    "c64": "[2 x float]",
    "c128": "[2 x double]",
    **dict.fromkeys((*INTEGER_BITS, *FORMATS), "i8"),
}
"""LLVM's type of one element in memory, as `getelementptr` wants it."""

SIZE: dict[str, int] = {
    "i1": 1,
    "i8": 1,
    "i16": 2,
    "i32": 4,
    "i64": 8,
    "u8": 1,
    "u16": 2,
    "u32": 4,
    "u64": 8,
    "f32": 4,
    "f64": 8,
    "bf16": 2,
    "f16": 2,
    "c64": 8,
    "c128": 16,
    **dict.fromkeys((*INTEGER_BITS, *FORMATS), 1),
}
"""Bytes of one element in memory."""

SIGNED = frozenset(("i2", "i4", "i8", "i16", "i32", "i64"))
UNSIGNED = frozenset(("u2", "u4", "u8", "u16", "u32", "u64"))
INTEGERS = SIGNED | UNSIGNED
WIDE_FLOATS = frozenset(("f32", "f64"))
HALF_FLOATS = frozenset(("bf16", "f16"))
SMALL_FLOATS = frozenset(FORMATS)
NARROW_FLOATS = HALF_FLOATS | SMALL_FLOATS  # computed in f32, then rounded
FLOATS = WIDE_FLOATS | NARROW_FLOATS
COMPLEX = frozenset(("c64", "c128"))

REAL_OF: dict[str, str] = {"c64": "f32", "c128": "f64"}

_SUFFIX: dict[str, str] = {
    "float": "f32",
    "double": "f64",
    "half": "f16",
}

_NUMPY_TYPES: dict[str, str] = {
    "bool": "i1",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
    "complex64": "c64",
    "complex128": "c128",
    "int2": "i2",
    "int4": "i4",
    "uint2": "u2",
    "uint4": "u4",
    **DTYPE_NAMES,
}


def type_of(dtype: Any) -> str:
    """The element type for a NumPy dtype (anything with a `name`, or its name)."""
    name = dtype if isinstance(dtype, str) else np.dtype(dtype).name
    found = _NUMPY_TYPES.get(name)
    if found is None:
        raise TypeError(
            f"arrays of dtype {name} cannot be compiled for the CPU; "
            f"the dtypes that can: {', '.join(sorted(_NUMPY_TYPES))}"
        )
    return found


def bit_width(type: str) -> int:
    """Bits of an integer or boolean lane, or of a float's memory form."""
    if type in INTEGER_BITS:
        return INTEGER_BITS[type]
    if type in FORMATS:
        return FORMATS[type].bits
    return 1 if type == "i1" else 8 * SIZE[type]


_SMALL_DTYPES = {DTYPE_NAMES[name]: dtype for name, dtype in SMALL_DTYPES.items()}


def _round_to_narrow(value: float, type: str) -> float:
    """The nearest value of a float of 16 bits or fewer, as a Python float."""
    if type in SMALL_FLOATS:
        with np.errstate(over="ignore", invalid="ignore"):
            return float(np.float32(value).astype(_SMALL_DTYPES[type]))
    if type == "f16":
        with np.errstate(over="ignore"):
            return float(np.float16(value))
    with np.errstate(over="ignore"):
        single = np.float32(value)
    if not np.isfinite(single):
        return float(single)
    bits = int(single.view(np.uint32))
    bits += 0x7FFF + ((bits >> 16) & 1)
    rounded = np.uint32(bits & 0xFFFF0000).view(np.float32)
    return float(rounded)


_LITERALS: dict[tuple[str, Any], str] = {}
_LITERALS_KEPT = 4096


def literal(value: Any, type: str) -> str:
    """LLVM's text of one scalar constant of a real, integer or boolean type."""
    if value == 0 or value != value:
        return _literal(value, type)  # 0.0 == -0.0, and NaN is not equal to itself
    found = _LITERALS.get((type, value))
    if found is None:
        if len(_LITERALS) >= _LITERALS_KEPT:
            _LITERALS.clear()
        found = _LITERALS[type, value] = _literal(value, type)
    return found


def _literal(value: Any, type: str) -> str:
    if type == "i1":
        return "true" if value else "false"
    if type in FLOATS:
        number = float(value)
        if type in NARROW_FLOATS:
            number = _round_to_narrow(number, type)
        elif type == "f32":
            with np.errstate(over="ignore"):
                number = float(np.float32(number))
        return f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"
    width = bit_width(type)
    bits = int(value) & ((1 << width) - 1)
    return str(bits - (1 << width) if bits >> (width - 1) else bits)


_REGISTERS: dict[tuple[int, str], str] = {}
_INTRINSICS: dict[tuple[str, int, str, int], tuple[str, str]] = {}


class Value:
    """One register (or constant) of every lane; complex values have a second in `imag`.

    The operators `+ - * / & | ^` and unary minus mean the block's `add`, `sub`, … and
    take Python numbers on either side. `<<` and `>>` shift integers by a constant, `>>`
    by the signedness of the type.
    """

    __slots__ = ("block", "imag", "literal", "ref", "type", "uniform")

    def __init__(
        self,
        block: Emitter,
        ref: str,
        type: str,
        imag: str = "",
        literal: Any = None,
    ) -> None:
        self.block = block
        self.ref = ref
        self.type = type
        self.imag = imag
        self.literal = literal
        self.uniform = literal is not None  # known to be the same in every lane

    @property
    def parts(self) -> tuple[str, ...]:
        """The one or two registers of this value."""
        return (self.ref, self.imag) if self.imag else (self.ref,)

    def __repr__(self) -> str:
        return f"Value({', '.join(self.parts)}: {self.type})"

    def __add__(self, other: Value | float) -> Value:
        return self.block.add(self, other)

    def __radd__(self, other: Value | float) -> Value:
        return self.block.add(other, self)

    def __sub__(self, other: Value | float) -> Value:
        return self.block.sub(self, other)

    def __rsub__(self, other: Value | float) -> Value:
        return self.block.sub(other, self)

    def __mul__(self, other: Value | float) -> Value:
        return self.block.mul(self, other)

    def __rmul__(self, other: Value | float) -> Value:
        return self.block.mul(other, self)

    def __truediv__(self, other: Value | float) -> Value:
        return self.block.div(self, other)

    def __rtruediv__(self, other: Value | float) -> Value:
        return self.block.div(other, self)

    def __neg__(self) -> Value:
        return self.block.neg(self)

    def __and__(self, other: Value | int) -> Value:
        return self.block.binary("and", self, other)

    def __or__(self, other: Value | int) -> Value:
        return self.block.binary("or", self, other)

    def __xor__(self, other: Value | int) -> Value:
        return self.block.binary("xor", self, other)

    def __lshift__(self, amount: Value | int) -> Value:
        return self.block.binary("shl", self, amount)

    def __rshift__(self, amount: Value | int) -> Value:
        name = "ashr" if self.type in SIGNED else "lshr"
        return self.block.binary(name, self, amount)


class Emitter:
    """Appends LLVM lines for `lanes` elements at a time; see the module's docstring.

    `prefix` starts the names of all registers and labels, so that several emitters can
    write into one function. `label` names the basic block in which the first line will
    stand, and follows along when the code branches: a phi that merges what comes out of
    this code reads it when the code is complete. `fma` says that the target has fused
    multiply-add, half-precision conversions and rounding instructions (x86-64-v3, or
    any AArch64); without it, code for the oldest x86-64 is written.
    """

    def __init__(
        self, lanes: int, prefix: str = "v", *, fma: bool = True, label: str = "entry"
    ) -> None:
        self.lanes = lanes
        self.prefix = prefix
        self.has_fma = fma
        self.label = label
        self.index = "i64"  # the type of computed coordinates
        self.lines: list[str] = []
        self.declarations: set[str] = set()
        self._count = 0

    # Text

    def register(self, type: str) -> str:
        """LLVM's type of a register of all lanes, such as `<16 x float>`."""
        known = _REGISTERS.get((self.lanes, type))
        if known is None:
            known = _REGISTERS[self.lanes, type] = self.vector(REGISTER_TYPE[type])
        return known

    def vector(self, element: str) -> str:
        """All lanes of an LLVM scalar type."""
        return f"<{self.lanes} x {element}>" if self.lanes > 1 else element

    def suffix(self, element: str) -> str:
        """How an intrinsic's name spells all lanes of an LLVM scalar type."""
        short = _SUFFIX.get(element, element)
        return f"v{self.lanes}{short}" if self.lanes > 1 else short

    def type_of(self, dtype: Any) -> str:
        """The element type of a dtype."""
        return type_of(dtype)

    def fresh(self) -> str:
        """A new register name, with its percent sign."""
        self._count += 1
        return f"%{self.prefix}{self._count}"

    def fresh_label(self) -> str:
        """A new label name, without a percent sign."""
        self._count += 1
        return f"{self.prefix}block{self._count}"

    def line(self, text: str) -> None:
        """Append one instruction that has no result."""
        self.lines.append("  " + text)

    def raw(self, text: str) -> str:
        """Append one instruction; returns the name of its result."""
        name = self.fresh()
        self.lines.append(f"  {name} = {text}")
        return name

    def emit(self, type: str, text: str) -> Value:
        """Append one instruction with a result of a (not complex) element type."""
        return Value(self, self.raw(text), type)

    def value(self, ref: str, type: str, imag: str = "") -> Value:
        """Wrap registers that somebody else defined."""
        return Value(self, ref, type, imag)

    def start_block(self, label: str) -> None:
        """Begin a basic block; the line before must have ended the last one."""
        self.lines.append(f"{label}:")
        self.label = label

    @contextmanager
    def one_lane(self) -> Iterator[None]:
        """Within it, everything is written for a single element."""
        lanes = self.lanes
        self.lanes = 1
        try:
            yield
        finally:
            self.lanes = lanes

    # Constants

    def constant(self, value: Any, type: str) -> Value:
        """The same number in every lane."""
        if type in COMPLEX:
            number = complex(value)
            real = self.constant(number.real, REAL_OF[type])
            imag = self.constant(number.imag, REAL_OF[type])
            return Value(self, real.ref, type, imag.ref, number)
        text = literal(value, type)
        if self.lanes > 1:
            text = f"splat ({REGISTER_TYPE[type]} {text})"
        return Value(self, text, type, literal=value)

    def coerce(self, x: Value | float, like: Value) -> Value:
        """`x` itself, or the constant `x` of the type of `like`."""
        return x if isinstance(x, Value) else self.constant(x, like.type)

    def pair(self, x: Value | float, y: Value | float) -> tuple[Value, Value]:
        """Both operands as values; at least one of them is one already."""
        if isinstance(x, Value):
            return x, self.coerce(y, x)
        if isinstance(y, Value):
            return self.constant(x, y.type), y
        raise TypeError(f"neither operand is a value: {x!r}, {y!r}")

    # Instructions

    def binary(self, name: str, x: Value | float, y: Value | float) -> Value:
        """One two-operand instruction; the result has the type of the operands."""
        x, y = self.pair(x, y)
        return self.emit(x.type, f"{name} {self.register(x.type)} {x.ref}, {y.ref}")

    def cast(self, name: str, x: Value, type: str) -> Value:
        """One conversion instruction."""
        source, target = self.register(x.type), self.register(type)
        return self.emit(type, f"{name} {source} {x.ref} to {target}")

    def bits(self, x: Value) -> Value:
        """The bits of an f32 or f64 as a signed integer."""
        return self.cast("bitcast", x, "i32" if x.type == "f32" else "i64")

    def from_bits(self, x: Value) -> Value:
        """The f32 or f64 with these 32 or 64 bits."""
        return self.cast("bitcast", x, "f32" if SIZE[x.type] == 4 else "f64")

    def relabel(self, x: Value, type: str) -> Value:
        """The same register seen as another type with the same LLVM type."""
        return Value(self, x.ref, type, x.imag, x.literal)

    def intrinsic(self, name: str, *operands: Value | float) -> Value:
        """Call an LLVM intrinsic that is overloaded on its one type."""
        like = next(x for x in operands if isinstance(x, Value))
        register = self.register(like.type)
        key = (name, self.lanes, like.type, len(operands))
        known = _INTRINSICS.get(key)
        if known is None:
            full = f"llvm.{name}.{self.suffix(REGISTER_TYPE[like.type])}"
            types = ", ".join([register] * len(operands))
            declaration = f"declare {register} @{full}({types})"
            known = _INTRINSICS[key] = declaration, f"call {register} @{full}("
        declaration, start = known
        self.declarations.add(declaration)
        typed = [f"{register} {self.coerce(x, like).ref}" for x in operands]
        return self.emit(like.type, f"{start}{', '.join(typed)})")

    def call(self, name: str, type: str, *operands: Value, extra: str = "") -> Value:
        """Call a function of registers; `extra` is appended to the arguments."""
        types = [self.register(x.type) for x in operands]
        typed = [f"{t} {x.ref}" for t, x in zip(types, operands, strict=True)]
        result = self.register(type)
        if extra:
            typed.append(extra)
            types.append(extra.split()[0])
        self.declarations.add(f"declare {result} @{name}({', '.join(types)})")
        return self.emit(type, f"call {result} @{name}({', '.join(typed)})")

    def compare(self, predicate: str, x: Value | float, y: Value | float) -> Value:
        """`fcmp` for floats, `icmp` for integers; the predicate is LLVM's."""
        x, y = self.pair(x, y)
        name = "fcmp" if x.type in FLOATS else "icmp"
        register = self.register(x.type)
        return self.emit("i1", f"{name} {predicate} {register} {x.ref}, {y.ref}")

    def select(self, where: Value, x: Value | float, y: Value | float) -> Value:
        """Lane by lane: `x` where the condition holds, else `y`."""
        x, y = self.pair(x, y)
        register = self.register(x.type)
        condition = f"{self.register('i1')} {where.ref}"
        ref = self.raw(f"select {condition}, {register} {x.ref}, {register} {y.ref}")
        if not x.imag:
            return Value(self, ref, x.type)
        pair = f"{register} {x.imag}, {register} {y.imag}"
        return Value(self, ref, x.type, self.raw(f"select {condition}, {pair}"))

    # Arithmetic on wide floats and integers; `scalar.Block` extends it to every type

    def add(self, x: Value | float, y: Value | float) -> Value:
        """Sum."""
        x, y = self.pair(x, y)
        return self.binary("fadd" if x.type in FLOATS else "add", x, y)

    def sub(self, x: Value | float, y: Value | float) -> Value:
        """Difference."""
        x, y = self.pair(x, y)
        return self.binary("fsub" if x.type in FLOATS else "sub", x, y)

    def mul(self, x: Value | float, y: Value | float) -> Value:
        """Product."""
        x, y = self.pair(x, y)
        return self.binary("fmul" if x.type in FLOATS else "mul", x, y)

    def div(self, x: Value | float, y: Value | float) -> Value:
        """Quotient of floats."""
        return self.binary("fdiv", x, y)

    def neg(self, x: Value) -> Value:
        """The negative; of a float, with its sign bit flipped."""
        if x.type in FLOATS:
            return self.emit(x.type, f"fneg {self.register(x.type)} {x.ref}")
        return self.binary("sub", 0, x)

    def negated(self, where: Value) -> Value:
        """The opposite of a condition."""
        return self.binary("xor", where, True)

    def leading_zeros(self, x: Value) -> Value:
        """How many zero bits stand before the highest set bit of an integer."""
        name = f"llvm.ctlz.{self.suffix(REGISTER_TYPE[x.type])}"
        return self.call(name, x.type, x, extra="i1 false")

    def magnitude(self, x: Value) -> Value:
        """The absolute value of a float."""
        return self.intrinsic("fabs", x)

    def copysign(self, x: Value | float, sign: Value | float) -> Value:
        """The magnitude of `x` with the sign bit of `sign`."""
        return self.intrinsic("copysign", x, sign)

    def square_root(self, x: Value) -> Value:
        """The correctly rounded square root."""
        return self.intrinsic("sqrt", x)

    def fma(self, x: Value | float, y: Value | float, z: Value | float) -> Value:
        """`x·y + z`, rounded once if the target can, else twice."""
        if self.has_fma:
            return self.intrinsic("fma", x, y, z)
        return self.add(self._product(x, y, z), z)

    def _product(
        self, x: Value | float, y: Value | float, like: Value | float
    ) -> Value:
        if not isinstance(x, Value) and not isinstance(y, Value):
            assert isinstance(like, Value)
            return self.constant(x * y, like.type)
        return self.mul(x, y)

    def fma_accurate(
        self, x: Value | float, y: Value | float, z: Value | float
    ) -> Value:
        """`x·y + z` whose product keeps all its bits, on any target."""
        if self.has_fma:
            return self.intrinsic("fma", x, y, z)
        like = next(v for v in (x, y, z) if isinstance(v, Value))
        x, y, z = (self.coerce(v, like) for v in (x, y, z))
        if like.type == "f32":
            wide = [self.cast("fpext", v, "f64") for v in (x, y, z)]
            return self.cast("fptrunc", wide[0] * wide[1] + wide[2], "f32")
        high, low = self.two_product(x, y)
        total, rest = self.two_sum(high, z)
        return total + (rest + low)

    def two_sum(self, x: Value, y: Value) -> tuple[Value, Value]:
        """The rounded sum and what the rounding lost."""
        total = x + y
        other = total - x
        return total, (x - (total - other)) + (y - other)

    def fast_two_sum(self, x: Value, y: Value) -> tuple[Value, Value]:
        """As `two_sum`, where |x| ≥ |y| or x = 0."""
        total = x + y
        return total, y - (total - x)

    def two_product(self, x: Value, y: Value) -> tuple[Value, Value]:
        """The rounded product and what the rounding lost."""
        product = x * y
        if self.has_fma:
            return product, self.fma(x, y, -product)
        x_high, x_low = self._halves(x)
        y_high, y_low = self._halves(y)
        lost = x_high * y_high - product
        lost = (lost + x_high * y_low) + x_low * y_high
        return product, lost + x_low * y_low

    def _halves(self, x: Value) -> tuple[Value, Value]:
        """`x` as a sum of two numbers with half the bits each."""
        mask = -(1 << 12) if x.type == "f32" else -(1 << 27)
        high = self.from_bits(self.bits(x) & mask)
        return high, x - high

    def horner(self, x: Value, coefficients: Sequence[float]) -> Value:
        """The polynomial with these coefficients, lowest power first."""
        total = self.constant(coefficients[-1], x.type)
        for coefficient in reversed(coefficients[:-1]):
            total = self.fma(total, x, coefficient)
        return total

    def estrin(self, x: Value, coefficients: Sequence[float]) -> Value:
        """As `horner`, as a tree: more parallel, for long polynomials."""
        terms = [self.constant(c, x.type) for c in coefficients]
        power = x
        while len(terms) > 1:
            paired = [
                self.fma(terms[i + 1], power, terms[i])
                for i in range(0, len(terms) - 1, 2)
            ]
            if len(terms) % 2:
                paired.append(terms[-1])
            terms = paired
            if len(terms) > 1:
                power = power * power
        return terms[0]

    def clamp(
        self, x: Value, low: float | None = None, high: float | None = None
    ) -> Value:
        """`x` cut to a range; NaN stays."""
        if high is not None:
            x = self.select(self.compare("ogt", x, high), high, x)
        if low is not None:
            x = self.select(self.compare("olt", x, low), low, x)
        return x

    def larger(self, x: Value, y: Value) -> Value:
        """The larger of two floats that are not NaN."""
        return self.select(self.compare("ogt", x, y), x, y)

    def nearest(self, x: Value) -> Value:
        """The nearest whole number, ties to even, of an f32 or f64."""
        if self.has_fma:
            return self.intrinsic("rint", x)
        limit = 2.0**23 if x.type == "f32" else 2.0**52
        size = self.magnitude(x)
        rounded = self.copysign((size + limit) - limit, x)
        return self.select(self.compare("olt", size, limit), rounded, x)

    def whole_part(self, x: Value) -> Value:
        """An f32 or f64 cut toward zero to a whole number."""
        if self.has_fma:
            return self.intrinsic("trunc", x)
        size = self.magnitude(x)
        nearest = self.nearest(size)
        above = self.compare("ogt", nearest, size)
        return self.copysign(self.select(above, nearest - 1.0, nearest), x)

    def to_int(self, x: Value) -> Value:
        """A whole f32 or f64 as an integer of its width; NaN gives any integer."""
        target = "i32" if x.type == "f32" else "i64"
        # fptosi of NaN is poison, which freeze turns into some fixed integer.
        raw = self.cast("fptosi", x, target)
        return self.emit(target, f"freeze {self.register(target)} {raw.ref}")

    def to_float(self, x: Value) -> Value:
        """A signed 32- or 64-bit integer as the float of its width."""
        return self.cast("sitofp", x, "f32" if x.type == "i32" else "f64")

    def power_of_two(self, exponent: Value) -> Value:
        """2ⁿ for an integer n in the range of normal floats."""
        bias, shift = (127, 23) if exponent.type == "i32" else (1023, 52)
        return self.from_bits((exponent + bias) << shift)

    # Branches around what few elements need

    def any_lane(self, where: Value) -> str:
        """A scalar `i1` register: does the condition hold in some lane?"""
        if self.lanes == 1:
            return where.ref
        name = f"llvm.vector.reduce.or.v{self.lanes}i1"
        register = self.register("i1")
        self.declarations.add(f"declare i1 @{name}({register})")
        return self.raw(f"call i1 @{name}({register} {where.ref})")

    def if_any(self, where: Value, then: Callable[[], Value], fast: Value) -> Value:
        """`then()` if some lane meets the condition, else `fast`, by a branch.

        `then` writes the code of the rare case and returns the merged value of all
        lanes, so it selects `fast` where the condition does not hold.
        """
        rare, after = self.fresh_label(), self.fresh_label()
        before = self.fresh_label()
        self.line(f"br label %{before}")
        self.start_block(before)
        some = self.any_lane(where)
        weights = '!prof !{!"branch_weights", i32 1, i32 100}'
        self.line(f"br i1 {some}, label %{rare}, label %{after}, {weights}")
        self.start_block(rare)
        slow = then()
        self.line(f"br label %{after}")
        end = self.label
        self.start_block(after)
        merged = [
            self.raw(
                f"phi {self.register(fast.type)} [ {f}, %{before} ], [ {s}, %{end} ]"
            )
            for f, s in zip(fast.parts, slow.parts, strict=True)
        ]
        return Value(self, merged[0], fast.type, *merged[1:])

    def loop_while(
        self,
        more: Callable[..., Value],
        step: Callable[..., list[Value]],
        state: Sequence[Value],
    ) -> list[Value]:
        """Repeat `state = step(*state)` while `more(*state)` holds in some lane.

        All lanes take every step: `step` keeps the state of those that are done.
        """
        head, body, after = self.fresh_label(), self.fresh_label(), self.fresh_label()
        before = self.fresh_label()
        self.line(f"br label %{before}")
        self.start_block(before)
        self.line(f"br label %{head}")
        self.start_block(head)
        names = [self.fresh() for _ in state]
        # The phis go here, once it is known where the loop's body ends.
        place = len(self.lines)
        current = [
            Value(self, name, x.type) for name, x in zip(names, state, strict=True)
        ]
        some = self.any_lane(more(*current))
        self.line(f"br i1 {some}, label %{body}, label %{after}")
        self.start_block(body)
        following = step(*current)
        self.line(f"br label %{head}")
        self.lines[place:place] = [
            f"  {name} = phi {self.register(x.type)} "
            f"[ {x.ref}, %{before} ], [ {y.ref}, %{self.label} ]"
            for name, x, y in zip(names, state, following, strict=True)
        ]
        self.start_block(after)
        return current

    def call_helper(self, helper: Helper, *operands: Value) -> Value:
        """Call an out-of-line function; see `Helper`."""
        name = helper.full_name(self.lanes, self.has_fma)
        if Helper.linked:
            return self.call(name, helper.type, *operands)
        definition, declarations = helper.definition(self.lanes, self.has_fma)
        self.declarations |= declarations
        self.declarations.add(definition.replace("define dso_local", "define internal"))
        register = self.register(helper.type)
        typed = ", ".join(f"{self.register(x.type)} {x.ref}" for x in operands)
        return self.emit(helper.type, f"call {register} @{name}({typed})")


class Helper:
    """A rarely needed function of registers that stands outside of the kernels.

    `body(emitter, *operands)` writes its text. If `Helper.linked`, kernels only declare
    it, and whoever loads them finds it by its name (`math_library.py` does, and compiles
    it at its first use); else its definition goes into the module of every user.
    """

    PREFIX = "tetrad_math_"
    known: ClassVar[dict[str, Helper]] = {}
    linked: ClassVar[bool] = False

    def __init__(
        self, name: str, type: str, operands: Sequence[str], body: Callable[..., Value]
    ) -> None:
        self.name = name
        self.type = type
        self.operands = tuple(operands)
        self.body = body
        Helper.known[name] = self

    def full_name(self, lanes: int, fma: bool) -> str:
        """The name of the function for so many lanes, with or without fused code."""
        return f"{self.PREFIX}{self.name}_x{lanes}{'' if fma else '_plain'}"

    @classmethod
    def find(cls, full_name: str) -> tuple[Helper, int, bool] | None:
        """The helper, lanes and use of fused code that a name stands for."""
        matched = re.fullmatch(rf"{cls.PREFIX}(\w+)_x(\d+)(_plain)?", full_name)
        if matched is None or matched[1] not in cls.known:
            return None
        return cls.known[matched[1]], int(matched[2]), matched[3] is None

    def definition(self, lanes: int, fma: bool) -> tuple[str, set[str]]:
        """The text of the function, and the declarations that it needs."""
        inner = Emitter(lanes, "s", fma=fma)
        values = [Value(inner, f"%x{i}", t) for i, t in enumerate(self.operands)]
        result = self.body(inner, *values)
        register = inner.register(self.type)
        types = [inner.register(t) for t in self.operands]
        arguments = ", ".join(f"{t} %x{i}" for i, t in enumerate(types))
        text = "\n".join(inner.lines)
        name = self.full_name(lanes, fma)
        return (
            f"define dso_local {register} @{name}({arguments}) noinline cold nounwind {{"
            f"\nentry:\n{text}\n  ret {register} {result.ref}\n}}"
        ), inner.declarations
