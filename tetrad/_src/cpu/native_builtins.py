"""Conversions of 16-bit floats that LLVM calls by name where the processor has none.

Compiler runtimes provide them, but not those of every system, and not in every version.
`text()` is one module with all of them; the engine compiles it when compiled code first
refers to one of `NAMES`. Everything goes through double, which holds each narrower
value exactly, so each conversion rounds once: to nearest, ties to even.
"""

from __future__ import annotations

NAMES = (
    "__truncdfhf2",
    "__truncsfhf2",
    "__truncdfbf2",
    "__truncsfbf2",
    "__extendhfsf2",
    "__extendhfdf2",
)


def text() -> str:
    """The module of all conversions."""
    return (
        _narrow("half", exponent=5, mantissa=10)
        + _narrow("bfloat", exponent=8, mantissa=7)
        + _wrapper("__truncdfhf2", "double", "half")
        + _wrapper("__truncsfhf2", "float", "half")
        + _wrapper("__truncdfbf2", "double", "bfloat")
        + _wrapper("__truncsfbf2", "float", "bfloat")
        + _EXTEND
    )


def _narrow(kind: str, *, exponent: int, mantissa: int) -> str:
    bias = (1 << (exponent - 1)) - 1
    shift = 52 - mantissa
    infinity = ((1 << exponent) - 1) << mantissa
    return f"""
define internal i16 @to_{kind}(i64 %bits) nounwind {{
entry:
  %high = lshr i64 %bits, 48
  %sign = and i64 %high, 32768
  %size = and i64 %bits, 9223372036854775807
  %nan = icmp ugt i64 %size, 9218868437227405312
  br i1 %nan, label %keep, label %number
keep:
  %payload = lshr i64 %size, {shift}
  %part = and i64 %payload, {(1 << mantissa) - 1}
  %quiet = or i64 %part, {infinity | 1 << (mantissa - 1)}
  br label %leave
number:
  %biased = lshr i64 %size, 52
  %tiny = icmp ult i64 %biased, {1023 - bias + 1}
  br i1 %tiny, label %subnormal, label %normal
normal:
  %moved = sub i64 %size, {(1023 - bias) << 52}
  br label %round
subnormal:
  %fraction = and i64 %size, 4503599627370495
  %whole = or i64 %fraction, 4503599627370496
  %below = sub i64 {1023 - bias + 1 + shift}, %biased
  %far = icmp ugt i64 %below, 60
  %by = select i1 %far, i64 60, i64 %below
  br label %round
round:
  %value = phi i64 [ %moved, %normal ], [ %whole, %subnormal ]
  %count = phi i64 [ {shift}, %normal ], [ %by, %subnormal ]
  %above = lshr i64 %value, %count
  %odd = and i64 %above, 1
  %last = sub i64 %count, 1
  %half = shl i64 1, %last
  %less = sub i64 %half, 1
  %nudge = add i64 %less, %odd
  %sum = add i64 %value, %nudge
  %rounded = lshr i64 %sum, %count
  %over = icmp ugt i64 %rounded, {infinity}
  %clipped = select i1 %over, i64 {infinity}, i64 %rounded
  br label %leave
leave:
  %magnitude = phi i64 [ %quiet, %keep ], [ %clipped, %round ]
  %whole_word = or i64 %magnitude, %sign
  %word = trunc i64 %whole_word to i16
  ret i16 %word
}}
"""


def _wrapper(name: str, source: str, kind: str) -> str:
    widen = "%wide = fadd double %x, -0.0"  # quiets a NaN, changes nothing else
    if source == "float":
        widen = "%wide = fpext float %x to double"
    return f"""
define dso_local {kind} @{name}({source} %x) nounwind {{
  {widen}
  %bits = bitcast double %wide to i64
  %word = call i16 @to_{kind}(i64 %bits)
  %result = bitcast i16 %word to {kind}
  ret {kind} %result
}}
"""


_EXTEND = """
define internal double @from_half(half %x) nounwind {
entry:
  %word = bitcast half %x to i16
  %bits = zext i16 %word to i64
  %sign_bit = and i64 %bits, 32768
  %sign = shl i64 %sign_bit, 48
  %size = and i64 %bits, 32767
  %tiny = icmp ult i64 %size, 1024
  br i1 %tiny, label %subnormal, label %normal
subnormal:
  ; multiples of 2^-24
  %steps = uitofp i64 %size to double
  %scaled = fmul double %steps, 0x3E70000000000000
  %scaled_bits = bitcast double %scaled to i64
  br label %leave
normal:
  %special = icmp uge i64 %size, 31744
  %offset = select i1 %special, i64 2016, i64 1008
  %moved = shl i64 %size, 42
  %bias = shl i64 %offset, 52
  %normal_bits = add i64 %moved, %bias
  br label %leave
leave:
  %magnitude = phi i64 [ %scaled_bits, %subnormal ], [ %normal_bits, %normal ]
  %all = or i64 %magnitude, %sign
  %result = bitcast i64 %all to double
  ret double %result
}

define dso_local float @__extendhfsf2(half %x) nounwind {
  %wide = call double @from_half(half %x)
  %result = fptrunc double %wide to float
  ret float %result
}

define dso_local double @__extendhfdf2(half %x) nounwind {
  %wide = call double @from_half(half %x)
  ret double %wide
}
"""
