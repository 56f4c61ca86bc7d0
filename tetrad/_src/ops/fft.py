"""Discrete Fourier transforms along the last axes, of complex and of real arrays.

What comes in: an array and the lengths of the axes to transform. What goes out: the sums
X[k] = Σⱼ x[j]·exp(∓2πi·jk/n), for each of these axes; inverse transforms divide by n.

On the CPU all of them are made of one hand-made kernel for complex numbers along one axis
(`FourierRows`), and of elementwise work around it: real arrays go as complex ones of half
the length, long axes as two short ones, and lengths with a large prime factor as
convolutions with a chirp.

Read `FftType`, `Fft` with its rules, then `expanded` and what it calls.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import aval_of
from tetrad._src.core.op import Axis, Kind, Op
from tetrad._src.ops.arithmetic import add, mul, sub
from tetrad._src.ops.compare import bitwise_or, eq, select
from tetrad._src.ops.complex import complex as complex_of
from tetrad._src.ops.complex import conj, imag, real
from tetrad._src.ops.convert import convert_element_type
from tetrad._src.ops.families import Operand, check_operand
from tetrad._src.ops.shape import ints, reshape, rev, transpose
from tetrad._src.ops.slices import concatenate, pad, slice_in_dim
from tetrad._src.ops.views import (
    broadcast_in_dim,
    broadcasted_iota,
    full_like,
    zeros_like,
)

I32 = np.dtype(np.int32)
DIRECT = 2048  # the longest axis that is transformed in one go
LARGEST = 61  # prime factor of a length that is transformed without a chirp
FEW = 8  # rows that do not fill the lanes of a vector


class FftType(enum.IntEnum):
    """Which transform: of complex numbers, of real ones, and their inverses."""

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


class Fft(Op):
    """The transform `fft_type` along the last axes, whose lengths are `fft_lengths`.

    RFFT gives the first n // 2 + 1 elements along the last axis, since the others are
    their conjugates; IRFFT takes as many.
    Source: https://openxla.org/stablehlo/spec#fft
    """

    fft_type: FftType
    fft_lengths: tuple[int, ...]

    accepts = "fc"
    linear = ((0,),)

    def type(self, operand: Aval) -> Aval:
        kind, lengths = self.fft_type, self.fft_lengths
        wanted = "f" if kind is FftType.RFFT else "c"
        if operand.kind != wanted or operand.dtype.itemsize < 4:
            raise TypeError(
                f"lax.fft: {kind.name} takes"
                f" {'float32 or float64' if wanted == 'f' else 'complex64 or complex128'}"
                f" arrays, got {operand.long_name()}"
            )
        count = len(lengths)
        if not 1 <= count <= operand.ndim:
            raise ValueError(
                f"lax.fft: fft_lengths {lengths} must name 1 to {operand.ndim} axes of"
                f" {operand.long_name()}"
            )
        held = list(lengths)
        if kind is FftType.IRFFT:
            held[-1] = lengths[-1] // 2 + 1 if lengths[-1] else 0
        if list(operand.shape[operand.ndim - count :]) != held:
            raise ValueError(
                f"lax.fft: {kind.name} with fft_lengths {lengths} takes arrays whose last"
                f" extents are {tuple(held)}, got {operand.long_name()}"
            )
        shape = list(operand.shape)
        if kind is FftType.RFFT:
            shape[-1] = lengths[-1] // 2 + 1 if lengths[-1] else 0
            return Aval(shape, np.result_type(operand.dtype, np.complex64))
        if kind is FftType.IRFFT:
            shape[-1] = lengths[-1]
            return Aval(shape, np.zeros((), operand.dtype).real.dtype)
        return operand

    def transpose(self, ct: Any, operand: Any) -> tuple[Any, ...]:
        kind, lengths = self.fft_type, self.fft_lengths
        n = lengths[-1]
        if kind is FftType.RFFT:
            # The elements that were left out count for nothing.
            axis = aval_of(ct).ndim - 1
            config = [(0, 0, 0)] * axis + [(0, n - aval_of(ct).shape[-1], 0)]
            whole = pad(ct, np.zeros((), aval_of(ct).dtype), config)
            return (real(Fft(FftType.FFT, lengths)(whole)),)
        if kind is FftType.IRFFT:
            half = conj(Fft(FftType.RFFT, lengths)(ct))
            places = broadcasted_iota(I32, aval_of(half).shape, aval_of(half).ndim - 1)
            once = eq(places, full_like(places, 0))
            if n % 2 == 0:
                once = bitwise_or(once, eq(places, full_like(places, n // 2)))
            scale = 1.0 / math.prod(lengths)
            weights = select(once, full_like(half, scale), full_like(half, 2 * scale))
            return (mul(half, weights),)
        return (self(ct),)

    def batch(self, axis: Axis, operand: Any) -> Any:
        return self(operand)

    def expand(self, operand: Any) -> Any:
        return expanded(self.fft_type, self.fft_lengths, operand)

    def hlo(self, emit: Any, operand: Any) -> Any:
        return emit(
            "stablehlo.fft",
            operand,
            fft_type=f"#stablehlo<fft_type {self.fft_type.name}>",
            fft_length=self.fft_lengths,
        )


class FourierRows(Op):
    """X[o, k, i] = Σⱼ x[o, j, i]·exp(∓2πi·jk/n), minus forwards; nothing is divided.

    If `whole` is not 0, the element is also multiplied by exp(∓2πi·k·⌊i / stride⌋ / whole).
    """

    inverse: bool
    whole: int = 0
    stride: int = 1

    kind = Kind.OPAQUE
    accepts = "c"

    def type(self, operand: Aval) -> Aval:
        return operand

    def kernel(self, operand: Aval) -> tuple[str, dict[str, Any]]:
        return "fft", self.params


class Roots(Op):
    """exp(sign·2πi·k/order) for k < count, or for their squares."""

    order: int
    count: int
    sign: int
    dtype: Any
    squares: bool = False

    def type(self) -> Aval:
        return Aval((self.count,), self.dtype)

    def kernel(self) -> tuple[str, dict[str, Any]]:
        return "roots", self.params


# -------------------------------------------------------------------------- on the CPU


def expanded(kind: FftType, lengths: Sequence[int], x: Any) -> Any:
    """The transform in terms of `FourierRows`."""
    aval = aval_of(x)
    first = aval.ndim - len(lengths)
    axes = list(range(first, aval.ndim))
    if not math.prod(aval.shape) or not math.prod(lengths):
        out = Fft(kind, tuple(lengths)).type(aval)
        return broadcast_in_dim(np.zeros((), out.dtype), out.shape, ())
    if kind is FftType.RFFT:
        x = _of_real(x, lengths[-1])
        for axis in axes[:-1]:
            x = along(x, axis, False)
        return x
    inverse = kind is not FftType.FFT
    if kind is FftType.IRFFT:
        for axis in axes[:-1]:
            x = along(x, axis, True)
        x = _to_real(x, lengths[-1])
        return mul(x, full_like(x, 1.0 / math.prod(lengths)))
    for axis in axes:
        x = along(x, axis, inverse)
    return mul(x, full_like(x, 1.0 / math.prod(lengths))) if inverse else x


def along(x: Any, axis: int, inverse: bool) -> Any:
    """The transform of complex numbers along one axis, not divided."""
    shape = aval_of(x).shape
    outer, n = math.prod(shape[:axis]), shape[axis]
    inner = math.prod(shape[axis + 1 :])
    if n == 1:
        return x
    return reshape(_rows(reshape(x, (outer, n, inner)), inverse), shape)


def _rows(x: Any, inverse: bool) -> Any:
    outer, n, inner = aval_of(x).shape
    if _largest_factor(n) > LARGEST:
        return _by_chirp(x, inverse)
    left = _divisor(n)
    short = n <= DIRECT and (outer * inner >= FEW or n <= 256)
    if short or left == 1:
        return FourierRows(inverse)(x)
    # n = left · right: columns of length left, turned, then columns of length right.
    right = n // left
    columns = reshape(x, (outer, left, right * inner))
    columns = FourierRows(inverse, n, inner)(columns)
    columns = reshape(columns, (outer, left, right, inner))
    turned = reshape(transpose(columns, (0, 2, 1, 3)), (outer, right, left * inner))
    return reshape(_rows(turned, inverse), (outer, n, inner))


def _largest_factor(n: int) -> int:
    largest, p = 1, 2
    while p * p <= n:
        while n % p == 0:
            largest, n = p, n // p
        p += 1
    return max(largest, n)


def _divisor(n: int) -> int:
    """The divisor nearest to √n from below that is not longer than a direct transform."""
    start = min(math.isqrt(n), DIRECT)
    return next(d for d in range(start, 0, -1) if n % d == 0)


def _by_chirp(x: Any, inverse: bool) -> Any:
    """Bluestein: jk = (j² + k² − (k − j)²)/2 makes the sum a convolution."""
    outer, n, inner = aval_of(x).shape
    length = 1 << (2 * n - 2).bit_length()
    dtype = aval_of(x).dtype
    sign = 1 if inverse else -1
    chirp = Roots(2 * n, n, sign, dtype, True)()
    wide = broadcast_in_dim(chirp, (outer, n, inner), (1,))
    zero = np.zeros((), dtype)
    spread = pad(mul(x, wide), zero, [(0, 0, 0), (0, length - n, 0), (0, 0, 0)])
    bell = conj(chirp)
    tail = rev(slice_in_dim(bell, 1, n), (0,))
    gap = broadcast_in_dim(zero, (length - 2 * n + 1,), ())
    bell = reshape(concatenate([bell, gap, tail], 0), (1, length, 1))
    turned = reshape(_rows(bell, False), (length,))
    turned = mul(turned, full_like(turned, 1.0 / length))
    turned = broadcast_in_dim(turned, (outer, length, inner), (1,))
    result = _rows(mul(_rows(spread, False), turned), True)
    return mul(slice_in_dim(result, 0, n, axis=1), wide)


def _of_real(x: Any, n: int) -> Any:
    """RFFT along the last axis."""
    aval = aval_of(x)
    last = aval.ndim - 1
    half = n // 2 + 1
    if n % 2 or n < 4:
        whole = along(complex_of(x, zeros_like(x)), last, False)
        return slice_in_dim(whole, 0, half, axis=last)
    # Even and odd elements are real and imaginary part of a transform of half the length.
    pairs = reshape(x, (*aval.shape[:-1], n // 2, 2))
    even, odd = (_entry(pairs, i) for i in (0, 1))
    z = along(complex_of(even, odd), last, False)
    z = concatenate([z, slice_in_dim(z, 0, 1, axis=last)], last)
    mirrored = conj(rev(z, (last,)))
    total, gap = add(z, mirrored), sub(z, mirrored)
    root = roots_along(z, n, -1)
    # X = (Z + Z̄')/2 − i·rootᵏ·(Z − Z̄')/2
    turned = mul(root, complex_of(imag(gap), _negative(real(gap))))
    return mul(add(total, turned), full_like(z, 0.5))


def _to_real(x: Any, n: int) -> Any:
    """IRFFT along the last axis, not divided by n."""
    aval = aval_of(x)
    last = aval.ndim - 1
    # The first element, and the last one of an even n, have no imaginary part.
    places = broadcasted_iota(I32, aval.shape, last)
    lone = eq(places, full_like(places, 0))
    if n % 2 == 0:
        lone = bitwise_or(lone, eq(places, full_like(places, n // 2)))
    x = complex_of(real(x), select(lone, zeros_like(imag(x)), imag(x)))
    if n % 2 or n < 4:
        tail = slice_in_dim(x, 1, n - n // 2, axis=last)
        whole = concatenate([x, conj(rev(tail, (last,)))], last)
        return real(along(whole, last, True))
    mirrored = conj(rev(x, (last,)))
    total, gap = add(x, mirrored), sub(x, mirrored)
    turned = mul(roots_along(x, n, 1), gap)
    z = add(total, complex_of(_negative(imag(turned)), real(turned)))
    z = along(slice_in_dim(z, 0, n // 2, axis=last), last, True)
    shape = (*aval.shape[:-1], n // 2, 1)
    parts = [reshape(real(z), shape), reshape(imag(z), shape)]
    return reshape(concatenate(parts, last + 1), (*aval.shape[:-1], n))


def _entry(pairs: Any, i: int) -> Any:
    axis = aval_of(pairs).ndim - 1
    part = slice_in_dim(pairs, i, i + 1, axis=axis)
    return reshape(part, aval_of(pairs).shape[:-1])


def _negative(x: Any) -> Any:
    return mul(x, full_like(x, -1.0))


def roots_along(x: Any, n: int, sign: int) -> Any:
    """exp(sign·2πi·k/n) for the places k along the last axis of x."""
    aval = aval_of(x)
    roots = Roots(n, aval.shape[-1], sign, aval.dtype)()
    return broadcast_in_dim(roots, aval.shape, (aval.ndim - 1,))


# ------------------------------------------------------------------- public functions


def fft(x: Operand, fft_type: Any, fft_lengths: Sequence[int]) -> Any:
    """The discrete Fourier transform along the last axes.

    Args:
      x: complex numbers, or real ones, which RFFT takes alone.
      fft_type: "FFT", "IFFT", "RFFT", "IRFFT" or an `FftType`.
      fft_lengths: the lengths of the axes to transform, in the real array for RFFT and
        IRFFT. Without lengths, `x` as it is.

    X[k] = Σⱼ x[j]·exp(−2πi·jk/n) for each axis; inverse transforms have + and divide by n.
    TypeError for other dtypes, ValueError if lengths do not fit.
    Source: https://openxla.org/stablehlo/spec#fft

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> lax.fft(jnp.array([1., 2., 3., 4.]), "RFFT", (4,))
    Array([10.+0.j, -2.+2.j, -2.+0.j], dtype=complex64)
    """
    if isinstance(fft_type, str):
        names = [kind.name for kind in FftType]
        if fft_type.upper() not in names:
            raise ValueError(
                f"lax.fft: fft_type must be one of {', '.join(names)}, got {fft_type!r}"
            )
        fft_type = FftType[fft_type.upper()]
    x = check_operand(x, "fft")
    aval = aval_of(x)
    if FftType(fft_type) is not FftType.RFFT and aval.kind == "f":
        x = convert_element_type(x, np.result_type(aval.dtype, np.complex64))
    lengths = ints(fft_lengths, "fft")
    return Fft(FftType(fft_type), lengths)(x) if lengths else x
