"""The builder that turns scalar rules of operations into vector instructions.

In: calls such as `b.add(x, y)` made by the `scalar(self, b, *xs)` rule of an operation.
Out: `block.lines`, straight-line LLVM text for `block.lanes` elements at once, and
`block.declarations`, the module-level text that it needs. Methods are typed by their
operands and do what XLA does for each dtype. Nothing depends on fusion: a float of 16
bits or fewer is rounded to its format after every operation.

    block = Block(16, "a")                     # 16 lanes; names start with %a
    x = block.load("%pointer", "f32")          # 16 elements from %pointer
    y = block.mul(block.sin(x), 2.0)           # Python numbers take the other's type
    block.store(y, "%result", mask=None)
    "\\n".join(block.lines)                     # goes into a function whose current
                                               # basic block was called block's `label`
    block.label                                # the basic block in which it ends

Memory: `load store gather scatter load_scalar_broadcast`; values from registers:
`value broadcast constant lane_index`; `convert bitcast select type_of`; arithmetic `add
sub mul div rem neg abs sign max min pow integer_pow sqrt rsqrt`; rounding `floor ceil
round round_away trunc`; comparisons `eq ne lt le gt ge
ordered is_finite`; bits `and_ or_ xor
not_ shift_left shift_right_logical shift_right_arithmetic population_count clz mul_hi
rotate_left nextafter`; complex `complex real imag conj`; `threefry2x32`; and the functions
of `math.py` and `complex_math.py` by name. What the code generator also needs comes from
`registers.Emitter`: `lines declarations label emit raw line fresh fresh_label register
start_block if_any loop_while any_lane one_lane`.

Pointers are LLVM register names of elements in memory form (`MEMORY_TYPE`): bool is one
byte, complex is interleaved. Masks are `i1` values; lanes outside read as zero.
"""

from __future__ import annotations

from typing import Any

from tetrad._src.cpu import (
    complex_math,
    math_library,  # noqa: F401  tells the engine where shared functions come from
)
from tetrad._src.cpu.math import BINARY, UNARY
from tetrad._src.cpu.math_power import integer_power
from tetrad._src.cpu.registers import (
    COMPLEX,
    FLOATS,
    INTEGERS,
    MEMORY_TYPE,
    NARROW_FLOATS,
    REAL_OF,
    REGISTER_TYPE,
    SIGNED,
    SIZE,
    SMALL_FLOATS,
    UNSIGNED,
    Value,
    bit_width,
    type_of,
)
from tetrad._src.cpu.scalar_bits import BitsBlock

__all__ = ["MEMORY_TYPE", "SIZE", "Block", "Value", "type_of"]

_ORDERED = {"lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "eq": "oeq"}


class Block(BitsBlock):
    """The builder that operations see; the module's docstring lists what it offers."""

    def type_of(self, dtype: Any) -> str:
        """The element type for a NumPy dtype."""
        return type_of(dtype)

    def _rounded(self, x: Value, type: str) -> Value:
        """An f32 result as a value of a narrow format; others pass."""
        return self.round_narrow(x, type) if type in NARROW_FLOATS else x

    def _representable(self, x: Value) -> Value:
        """A value that other floats hold, made one that small floats do too.

        Not all of them have -0, negative numbers, or the next whole number.
        """
        return self.round_narrow(x, x.type) if x.type in SMALL_FLOATS else x

    def _arithmetic(
        self, x: Value | float, y: Value | float, float_name: str, name: str
    ) -> Value:
        x, y = self.pair(x, y)
        if x.type in FLOATS:
            return self._rounded(self.binary(float_name, x, y), x.type)
        return self.binary(name, x, y)

    def _in_parts(self, x: Value) -> tuple[Value, Value]:
        part = REAL_OF[x.type]
        return self.value(x.ref, part), self.value(x.imag, part)

    # Arithmetic

    def add(self, x: Value | float, y: Value | float) -> Value:
        """Sum; integers wrap, bools or."""
        x, y = self.pair(x, y)
        if x.type in COMPLEX:
            (a, b), (c, d) = self._in_parts(x), self._in_parts(y)
            return self.complex(a + c, b + d)
        return self._arithmetic(x, y, "fadd", "or" if x.type == "i1" else "add")

    def sub(self, x: Value | float, y: Value | float) -> Value:
        """Difference; integers wrap."""
        x, y = self.pair(x, y)
        if x.type in COMPLEX:
            (a, b), (c, d) = self._in_parts(x), self._in_parts(y)
            return self.complex(a - c, b - d)
        return self._arithmetic(x, y, "fsub", "sub")

    def mul(self, x: Value | float, y: Value | float) -> Value:
        """Product; integers wrap, bools and."""
        x, y = self.pair(x, y)
        if x.type in COMPLEX:
            (a, b), (c, d) = self._in_parts(x), self._in_parts(y)
            return self.complex(a * c - b * d, a * d + b * c)
        return self._arithmetic(x, y, "fmul", "and" if x.type == "i1" else "mul")

    def div(self, x: Value | float, y: Value | float) -> Value:
        """Quotient; of integers truncated, with x/0 all ones and no trap on overflow."""
        x, y = self.pair(x, y)
        if x.type in INTEGERS:
            return self._divide_integers(x, y)
        if x.type in COMPLEX:
            return self._complex_function("div", x, y)
        return self._arithmetic(x, y, "fdiv", "fdiv")

    def rem(self, x: Value | float, y: Value | float) -> Value:
        """Remainder with the sign of `x`; of integers, x rem 0 = x."""
        x, y = self.pair(x, y)
        if x.type in INTEGERS:
            quotient = self._divide_integers(x, y)
            rest = x - quotient * y
            return self.select(self.compare("eq", y, 0), x, rest)
        return self._function("rem", x, y)

    def _divide_integers(self, x: Value, y: Value) -> Value:
        signed = x.type in SIGNED
        zero = self.compare("eq", y, 0)
        unsafe = zero
        if signed:
            smallest = -1 << (bit_width(x.type) - 1)
            overflow = self.binary(
                "and", self.compare("eq", x, smallest), self.compare("eq", y, -1)
            )
            unsafe = self.binary("or", zero, overflow)
        # Where the division would trap, x / 1 = x is right or replaced below.
        divisor = self.select(unsafe, self.constant(1, x.type), y)
        if SIZE[x.type] == 8:
            quotient = self.binary("sdiv" if signed else "udiv", x, divisor)
        else:
            quotient = self._divide_as_floats(x, divisor, signed)
        return self.select(zero, -1, quotient)

    def _divide_as_floats(self, x: Value, y: Value, signed: bool) -> Value:
        """Exact: a float with more bits never rounds a quotient up to an integer."""
        wide = "f64" if SIZE[x.type] == 4 else "f32"
        to_float = "sitofp" if signed else "uitofp"
        quotient = self.binary(
            "fdiv", self.cast(to_float, x, wide), self.cast(to_float, y, wide)
        )
        return self.cast("fptosi" if signed else "fptoui", quotient, x.type)

    def neg(self, x: Value) -> Value:
        """The negative."""
        if x.type in COMPLEX:
            real, imag = self._in_parts(x)
            return self.complex(-real, -imag)
        return self._representable(super().neg(x))

    def abs(self, x: Value) -> Value:
        """Magnitude; of complex numbers a real; the smallest integer stays."""
        if x.type in FLOATS:
            return self.magnitude(x)
        if x.type in SIGNED:
            return self.call(
                f"llvm.abs.{self.suffix(REGISTER_TYPE[x.type])}",
                x.type,
                x,
                extra="i1 false",
            )
        if x.type in COMPLEX:
            return complex_math.magnitude(self, self._in_parts(x))
        return x

    def sign(self, x: Value) -> Value:
        """−1, 0 or 1; NaN and signed zeros stay."""
        if x.type in FLOATS:
            one = self.copysign(self.constant(1.0, x.type), x)
            # Not every format has a zero to compare with.
            number = self.relabel(x, "f32") if x.type in SMALL_FLOATS else x
            trivial = self.compare("ueq", number, 0)
            return self.select(trivial, x, one)
        if x.type in COMPLEX:
            return self._complex_function("sign", x)
        if x.type in UNSIGNED:
            return self.select(self.compare("eq", x, 0), x, 1)
        one = self.constant(1, x.type)
        sign = self.select(self.compare("slt", x, 0), -1, one)
        return self.select(self.compare("eq", x, 0), 0, sign)

    def max(self, x: Value | float, y: Value | float) -> Value:
        """The larger; NaN if either is, +0 over −0."""
        return self._extremum(x, y, "max", "gt")

    def min(self, x: Value | float, y: Value | float) -> Value:
        """The smaller; NaN if either is, −0 under +0."""
        return self._extremum(x, y, "min", "lt")

    def _extremum(
        self, x: Value | float, y: Value | float, name: str, order: str
    ) -> Value:
        x, y = self.pair(x, y)
        if x.type in FLOATS:
            if x.uniform:
                x, y = y, x
            if y.uniform:
                return self._bounded(x, y, name == "max")
            return self.intrinsic(f"{name}imum", x, y)
        if x.type == "i1":
            return self.binary("or" if name == "max" else "and", x, y)
        if x.type in COMPLEX:
            known = self.compare("ord", *self._in_parts(y))
            first = self.binary("and", self._compare(x, y, order), known)
            unknown = self.compare("uno", *self._in_parts(x))
            first = self.binary("or", first, unknown)
            return self.select(first, x, y)
        prefix = "s" if x.type in SIGNED else "u"
        return self.intrinsic(f"{prefix}{name}", x, y)

    def _bounded(self, x: Value, bound: Value, below: bool) -> Value:
        """x held above (`below` it is the bound) or under the same number in all lanes.

        A comparison that fails gives x, which is right but where the bound is NaN, or the
        zero that goes before the other. So a term is added that is that NaN or +0, and
        otherwise −0, which changes nothing.
        """
        if x.type not in ("f32", "f64"):  # it is in a register of float32
            single, limit = self.relabel(x, "f32"), self.relabel(bound, "f32")
            return self.relabel(self._bounded(single, limit, below), x.type)
        take = self.compare("ogt" if below else "olt", bound, x)
        near = self.select(take, bound, x)
        known = bound.literal
        if known is not None and (known > 0 or known < 0):
            return near
        integer = "i64" if x.type == "f64" else "i32"
        first = 0 if below else -1 << (63 if x.type == "f64" else 31)
        found = self.compare("eq", self.bitcast(bound, integer), first)
        term = self.select(found, self.constant(0.0, x.type), -0.0)
        term = self.select(self.compare("uno", bound, bound), bound, term)
        return self.add(near, term) if below else -self.sub(term, near)

    def integer_pow(self, x: Value, n: int) -> Value:
        """xⁿ for a known integer, by repeated squaring."""
        if n == 0:
            return self.constant(1, x.type)
        if x.type in SMALL_FLOATS:
            single = self.integer_pow(self.relabel(x, "f32"), n)
            return self._rounded(single, x.type)
        power, result, left = x, None, abs(n)
        while left:
            if left & 1:
                result = power if result is None else self.mul(result, power)
            left >>= 1
            if left:
                power = self.mul(power, power)
        assert result is not None
        return self.div(1, result) if n < 0 else result

    def sqrt(self, x: Value) -> Value:
        """Square root."""
        if x.type in COMPLEX:
            return self._complex_function("sqrt", x)
        return self._rounded(self.square_root(x), x.type)

    def rsqrt(self, x: Value) -> Value:
        """1/√x."""
        if x.type in COMPLEX:
            return self._complex_function("rsqrt", x)
        single = self.relabel(x, "f32") if x.type in NARROW_FLOATS else x
        return self._rounded(1.0 / self.square_root(single), x.type)

    # Comparison

    def eq(self, x: Value | float, y: Value | float) -> Value:
        """Equal."""
        return self._compare(*self.pair(x, y), "eq")

    def ne(self, x: Value | float, y: Value | float) -> Value:
        """Not equal; true for NaN."""
        x, y = self.pair(x, y)
        if x.type in COMPLEX:
            return self.not_(self._compare(x, y, "eq"))
        return self.compare("une" if x.type in FLOATS else "ne", x, y)

    def lt(self, x: Value | float, y: Value | float) -> Value:
        """Less; complex numbers compare by real, then by imaginary part."""
        return self._compare(*self.pair(x, y), "lt")

    def le(self, x: Value | float, y: Value | float) -> Value:
        """Less or equal."""
        return self._compare(*self.pair(x, y), "le")

    def gt(self, x: Value | float, y: Value | float) -> Value:
        """Greater."""
        return self._compare(*self.pair(x, y), "gt")

    def ge(self, x: Value | float, y: Value | float) -> Value:
        """Greater or equal."""
        return self._compare(*self.pair(x, y), "ge")

    def _compare(self, x: Value, y: Value, order: str) -> Value:
        if x.type in FLOATS:
            return self.compare(_ORDERED[order], x, y)
        if x.type in COMPLEX:
            (a, b), (c, d) = self._in_parts(x), self._in_parts(y)
            same, later = self._compare(a, c, "eq"), self._compare(b, d, order)
            both = self.binary("and", same, later)
            if order == "eq":
                return both
            return self.binary("or", self._compare(a, c, order[0] + "t"), both)
        if order == "eq":
            return self.compare("eq", x, y)
        return self.compare(("s" if x.type in SIGNED else "u") + order, x, y)

    def ordered(self, x: Value, y: Value) -> Value:
        """Neither of two floats is NaN."""
        return self.compare("ord", x, y)

    def is_finite(self, x: Value) -> Value:
        """Neither infinite nor NaN; true for integers."""
        if x.type in COMPLEX:
            real, imag = self._in_parts(x)
            return self.binary("and", self.is_finite(real), self.is_finite(imag))
        if x.type not in FLOATS:
            return self.constant(True, "i1")
        single = self.relabel(x, "f32") if x.type in SMALL_FLOATS else x
        return self.compare("olt", self.magnitude(single), float("inf"))

    # Rounding

    def floor(self, x: Value) -> Value:
        """The largest whole number that is not above."""
        return self._whole(x, "floor")

    def ceil(self, x: Value) -> Value:
        """The smallest whole number that is not below."""
        return self._whole(x, "ceil")

    def trunc(self, x: Value) -> Value:
        """The whole part."""
        return self._whole(x, "trunc")

    def round(self, x: Value) -> Value:
        """The nearest whole number, ties to even."""
        return self._whole(x, "rint")

    def round_away(self, x: Value) -> Value:
        """The nearest whole number, ties away from zero."""
        if x.type not in FLOATS:
            return x
        whole = self.trunc(x)
        rest = self.binary("fsub", x, whole)
        tie = self.compare("oge", self.magnitude(rest), 0.5)
        step = self.copysign(self.constant(1.0, x.type), x)
        away = self.binary("fadd", whole, step)
        return self._representable(self.select(tie, away, whole))

    def _whole(self, x: Value, name: str) -> Value:
        if x.type not in FLOATS:
            return x
        if self.has_fma:
            return self._representable(self.intrinsic(name, x))
        if x.type in NARROW_FLOATS:
            single = self._whole(self.relabel(x, "f32"), name)
            return self._representable(self.relabel(single, x.type))
        nearest = self.nearest(x)
        if name == "rint":
            return nearest
        if name == "trunc":
            size = self.magnitude(nearest)
            above = self.compare("ogt", size, self.magnitude(x))
            y = self.select(above, size - 1.0, size)
        else:
            floor = name == "floor"
            off = self.compare("ogt" if floor else "olt", nearest, x)
            y = self.select(off, nearest + (-1.0 if floor else 1.0), nearest)
        return self.copysign(y, x)

    # Complex numbers

    def complex(self, real: Value, imag: Value) -> Value:
        """The complex number with these parts."""
        type = "c128" if real.type == "f64" else "c64"
        return Value(self, real.ref, type, imag.ref)

    def real(self, x: Value) -> Value:
        """The real part."""
        return self._in_parts(x)[0] if x.type in COMPLEX else x

    def imag(self, x: Value) -> Value:
        """The imaginary part; 0 for real numbers."""
        if x.type not in COMPLEX:
            return self.constant(0, x.type)
        return self._in_parts(x)[1]

    def conj(self, x: Value) -> Value:
        """The complex conjugate."""
        if x.type not in COMPLEX:
            return x
        real, imag = self._in_parts(x)
        return self.complex(real, -imag)

    # Functions

    def _function(self, name: str, *operands: Value) -> Value:
        """A function of the math library; narrow floats go through f32."""
        type = operands[0].type
        if type in COMPLEX:
            return self._complex_function(name, *operands)
        single = [
            self.relabel(x, "f32") if type in NARROW_FLOATS else x for x in operands
        ]
        function: Any = UNARY[name] if len(operands) == 1 else BINARY[name]
        return self._rounded(function(self, *single), type)

    def _complex_function(self, name: str, *operands: Value) -> Value:
        """A complex function, always computed in double precision."""
        type = operands[0].type
        pairs = [self._in_parts(self.convert(x, "c128")) for x in operands]
        found = complex_math.UNARY if len(operands) == 1 else complex_math.BINARY
        function: Any = found.get(name)
        if function is None:
            raise NotImplementedError(f"{name} is not defined for complex numbers")
        return self.convert(self.complex(*function(self, *pairs)), type)

    def exp(self, x: Value) -> Value:
        """eˣ."""
        return self._function("exp", x)

    def exp2(self, x: Value) -> Value:
        """2ˣ."""
        return self._function("exp2", x)

    def expm1(self, x: Value) -> Value:
        """eˣ − 1."""
        return self._function("expm1", x)

    def log(self, x: Value) -> Value:
        """Natural logarithm."""
        return self._function("log", x)

    def log1p(self, x: Value) -> Value:
        """log(1 + x)."""
        return self._function("log1p", x)

    def logistic(self, x: Value) -> Value:
        """1/(1 + e⁻ˣ)."""
        return self._function("logistic", x)

    def sin(self, x: Value) -> Value:
        """Sine."""
        return self._function("sin", x)

    def cos(self, x: Value) -> Value:
        """Cosine."""
        return self._function("cos", x)

    def tan(self, x: Value) -> Value:
        """Tangent."""
        return self._function("tan", x)

    def asin(self, x: Value) -> Value:
        """Arc sine."""
        return self._function("asin", x)

    def acos(self, x: Value) -> Value:
        """Arc cosine."""
        return self._function("acos", x)

    def atan(self, x: Value) -> Value:
        """Arc tangent."""
        return self._function("atan", x)

    def sinh(self, x: Value) -> Value:
        """Hyperbolic sine."""
        return self._function("sinh", x)

    def cosh(self, x: Value) -> Value:
        """Hyperbolic cosine."""
        return self._function("cosh", x)

    def tanh(self, x: Value) -> Value:
        """Hyperbolic tangent."""
        return self._function("tanh", x)

    def asinh(self, x: Value) -> Value:
        """Inverse hyperbolic sine."""
        return self._function("asinh", x)

    def acosh(self, x: Value) -> Value:
        """Inverse hyperbolic cosine."""
        return self._function("acosh", x)

    def atanh(self, x: Value) -> Value:
        """Inverse hyperbolic tangent."""
        return self._function("atanh", x)

    def cbrt(self, x: Value) -> Value:
        """Cube root."""
        return self._function("cbrt", x)

    def erf(self, x: Value) -> Value:
        """Error function."""
        return self._function("erf", x)

    def erfc(self, x: Value) -> Value:
        """1 − erf(x)."""
        return self._function("erfc", x)

    def erf_inv(self, x: Value) -> Value:
        """The inverse of erf."""
        return self._function("erf_inv", x)

    def lgamma(self, x: Value) -> Value:
        """log |Γ(x)|."""
        return self._function("lgamma", x)

    def digamma(self, x: Value) -> Value:
        """The derivative of log Γ."""
        return self._function("digamma", x)

    def atan2(self, y: Value, x: Value) -> Value:
        """The angle of the point (x, y)."""
        return self._function("atan2", y, x)

    def pow(self, x: Value | float, y: Value | float) -> Value:
        """x to the power y; of integers wrapping, negative powers of all but ±1 are 0."""
        x, y = self.pair(x, y)
        if x.type in INTEGERS:
            return integer_power(self, x, y)
        return self._function("pow", x, y)
