"""Number theory and the bits of numbers: `gcd`, `packbits`, `frexp`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tetrad._src.core.bind import Value, aval_of
from tetrad._src.numpy import lax
from tetrad._src.numpy.axes import axis_argument
from tetrad._src.numpy.convert import describe, value
from tetrad._src.numpy.elementwise import number, zero_like
from tetrad._src.numpy.plan import planned_whole
from tetrad._src.numpy.promote import call, inexact, promote_floats
from tetrad._src.numpy.ufunc import Binary, Unary
from tetrad._src.util import dtypes


def _gcd(x: Any, y: Any) -> Any:
    """Euclid's algorithm, in as many steps as the width of the integers may need."""
    if aval_of(x).kind == "i":
        x, y = lax.abs(x), lax.abs(y)
    # Consecutive Fibonacci numbers need most: about 1.44 steps a bit.
    steps = int(1.45 * dtypes.itemsize_bits(aval_of(x).dtype)) + 1
    for _ in range(steps):
        done = lax.eq(y, zero_like(y))
        rest = lax.rem(x, lax.select(done, number(y, 1), y))
        x = lax.select(done, x, y)
        y = lax.select(done, y, rest)
    return x


def _lcm(x: Any, y: Any) -> Any:
    """|x| / gcd · |y|, which wraps where it does not fit."""
    if aval_of(x).kind == "i":
        x, y = lax.abs(x), lax.abs(y)
    divisor = _gcd(x, y)
    nothing = lax.eq(divisor, zero_like(divisor))
    quotient = lax.div(x, lax.select(nothing, number(divisor, 1), divisor))
    product = lax.mul(quotient, y)
    return lax.select(nothing, zero_like(product), product)


gcd = Binary(
    "gcd",
    _gcd,
    "The greatest common divisor of x1 and x2.",
    "gcd(12, 18)",
    "Array(6, dtype=int32, weak_type=True)",
    kinds="iu",
)
lcm = Binary(
    "lcm",
    _lcm,
    "The least common multiple of x1 and x2.",
    "lcm(4, 6)",
    "Array(12, dtype=int32, weak_type=True)",
    kinds="iu",
)


@planned_whole
def packbits(a: Any, axis: int | None = None, bitorder: str = "big") -> Value:
    """Eight bits (elements that are not 0) along `axis` packed into each uint8.

    The last is filled with 0. None packs the flattened array.

    >>> import tetrad.numpy as jnp
    >>> jnp.packbits(jnp.array([1, 0, 1]))
    Array([160], dtype=uint8)
    """
    name = "jnp.packbits"
    x = value(a, name, "a")
    if x.aval.kind not in "iub":
        raise TypeError(f"{call(name)}: takes integers or bools, got {describe(x)}")
    if axis is None:
        x, axis = lax.reshape(x, (x.size,)), 0
    along = axis_argument(axis, x.ndim, name)
    bits = lax.convert_element_type(lax.ne(x, zero_like(x)), np.uint8)
    n = x.shape[along]
    config = [(0, -n % 8 if i == along else 0, 0) for i in range(x.ndim)]
    bits = lax.pad(bits, np.uint8(0), config)
    total = bits.shape[along] // 8
    shape = (*x.shape[:along], total, 8, *x.shape[along + 1 :])
    bits = lax.reshape(bits, shape)
    weights = _weights(bitorder, name, shape, along + 1)
    return lax.reduce_sum(lax.shift_left(bits, weights), (along + 1,))


@planned_whole
def unpackbits(
    a: Any, axis: int | None = None, count: int | None = None, bitorder: str = "big"
) -> Value:
    """The eight bits of each uint8 along `axis`, as uint8 0 or 1; `count` of them.

    >>> import tetrad.numpy as jnp
    >>> jnp.unpackbits(jnp.array([5], dtype=jnp.uint8))
    Array([0, 0, 0, 0, 0, 1, 0, 1], dtype=uint8)
    """
    name = "jnp.unpackbits"
    x = value(a, name, "a")
    if x.dtype != np.uint8:
        raise TypeError(f"{call(name)}: takes uint8, got {describe(x)}")
    if axis is None:
        x, axis = lax.reshape(x, (x.size,)), 0
    along = axis_argument(axis, x.ndim, name)
    shape = (*x.shape[: along + 1], 8, *x.shape[along + 1 :])
    axes = tuple([i if i <= along else i + 1 for i in range(x.ndim)])
    wide = lax.broadcast_in_dim(x, shape, axes)
    weights = _weights(bitorder, name, shape, along + 1)
    bits = lax.bitwise_and(lax.shift_right_logical(wide, weights), np.uint8(1))
    final = (*x.shape[:along], 8 * x.shape[along], *x.shape[along + 1 :])
    bits = lax.reshape(bits, final)
    if count is None:
        return bits
    n = final[along]
    stop = min(count, n) if count >= 0 else max(n + count, 0)
    bits = lax.slice_in_dim(bits, 0, stop, axis=along)
    more = max(count - n, 0)
    config = [(0, more if i == along else 0, 0) for i in range(x.ndim)]
    return lax.pad(bits, np.uint8(0), config)


def _weights(bitorder: str, name: str, shape: tuple[int, ...], axis: int) -> Any:
    if bitorder not in ("big", "little"):
        raise ValueError(
            f'{name}: bitorder must be "big" or "little", got {bitorder!r}'
        )
    places = lax.broadcasted_iota(np.uint8, shape, axis)
    return lax.sub(np.uint8(7), places) if bitorder == "big" else places


_LAYOUT: dict[Any, Any] = {  # dtype: (integer, bits of the fraction, bias)
    np.dtype(np.float32): (np.dtype(np.int32), 23, 126),
    np.dtype(np.float64): (np.dtype(np.int64), 52, 1022),
}


def frexp(x: Any, /) -> tuple[Value, Value]:
    """(m, e) with x = m · 2ᵉ and 1/2 ≤ |m| < 1; (x, 0) for 0, infinities and NaN.

    >>> import tetrad.numpy as jnp
    >>> jnp.frexp(jnp.array(8.))
    (Array(0.5, dtype=float32), Array(4, dtype=int32))
    """
    name = "jnp.frexp"
    v = value(promote_floats(name, x)[0], name)
    if v.aval.kind == "c":
        raise TypeError(f"{call(name)}: takes real numbers, got {describe(v)}")
    narrow = v.dtype
    v = lax.convert_element_type(v, np.float32 if narrow.itemsize < 4 else narrow)
    integer, fraction, bias = _LAYOUT[v.dtype]
    tiny = lax.lt(lax.abs(v), number(v, float(np.finfo(v.dtype).tiny)))
    scaled = lax.select(tiny, lax.mul(v, number(v, 2.0 ** (fraction + 2))), v)
    bits = lax.bitcast_convert_type(scaled, integer)
    mask = (1 << (integer.itemsize * 8 - 1 - fraction)) - 1
    exponent = lax.bitwise_and(
        lax.shift_right_logical(bits, integer.type(fraction)), integer.type(mask)
    )
    # A power of two brings the mantissa into [2, 4): exact, and it has a derivative.
    power = lax.shift_left(
        lax.sub(integer.type(mask), exponent), integer.type(fraction)
    )
    power = lax.bitcast_convert_type(power, v.dtype)
    mantissa = lax.mul(lax.mul(scaled, power), number(v, 0.25))
    shift = lax.select(tiny, integer.type(bias + fraction + 2), integer.type(bias))
    exponent = lax.convert_element_type(lax.sub(exponent, shift), np.int32)
    special = lax.bitwise_or(lax.eq(v, zero_like(v)), lax.bitwise_not(lax.is_finite(v)))
    mantissa = lax.select(special, v, mantissa)
    return (
        lax.convert_element_type(mantissa, narrow),
        lax.select(special, np.int32(0), exponent),
    )


def _spacing(x: Any) -> Any:
    size = lax.abs(x)
    _, most = dtypes.extremes(aval_of(x).dtype)
    gap = lax.sub(lax.nextafter(size, number(size, most)), size)
    return lax.select(lax.lt(x, zero_like(x)), lax.neg(gap), gap)


spacing = Unary(
    "spacing",
    _spacing,
    "The distance from x to the next float away from 0.",
    "spacing(1.)",
    "Array(1.1920929e-07, dtype=float32, weak_type=True)",
    rule=inexact,
    kinds="f",
    narrow=True,
)
