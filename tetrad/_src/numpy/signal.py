"""Convolution and correlation of vectors, and window functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from tetrad._src.core.bind import Value
from tetrad._src.numpy import convert, lax
from tetrad._src.numpy.at import AtIndex
from tetrad._src.numpy.axes import static_int
from tetrad._src.numpy.convert import describe, value
from tetrad._src.numpy.dtype import dtype_argument, float_dtype
from tetrad._src.numpy.elementwise import number
from tetrad._src.numpy.plan import planned_whole
from tetrad._src.numpy.promote import call, promote_floats
from tetrad._src.numpy.ufunc import rounded_once
from tetrad._src.ops.contract import canonical_precision

UNROLLED = 16  # vectors up to this length are multiplied in shift by shift


def _vectors(a: Any, v: Any, name: str, preferred: Any = None) -> list[Value]:
    """The two vectors in one dtype, `preferred` if it is given."""
    xs = [value(x, name) for x in promote_floats(name, a, v)]
    for x in xs:
        if x.ndim != 1 or not x.shape[0]:
            raise ValueError(
                f"{call(name)} takes vectors with elements, got {describe(xs[0])} and"
                f" {describe(xs[1])}"
            )
    if preferred is not None:
        dtype = dtype_argument(preferred, name)
        xs = [lax.convert_element_type(x, dtype) for x in xs]
    return xs


@planned_whole
def convolve(
    a: Any,
    v: Any,
    mode: str = "full",
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Value:
    """The convolution out[k] = Σⱼ a[j] v[k - j] of two vectors.

    Mode "full" gives all n + m - 1 elements, "same" as many as the longer vector has,
    "valid" those where the two overlap completely.

    >>> import tetrad.numpy as jnp
    >>> jnp.convolve(jnp.array([1., 2., 3.]), jnp.array([1., 1.]))
    Array([1., 3., 5., 3.], dtype=float32)
    """
    x, y = _vectors(a, v, "jnp.convolve", preferred_element_type)
    return convolved(x, y, mode, "jnp.convolve", precision)


@planned_whole
def correlate(
    a: Any,
    v: Any,
    mode: str = "valid",
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Value:
    """The correlation out[k] = Σⱼ a[j + k] conj(v[j]) of two vectors: see `convolve`.

    >>> import tetrad.numpy as jnp
    >>> jnp.correlate(jnp.array([1., 2., 3.]), jnp.array([0., 1.]))
    Array([2., 3.], dtype=float32)
    """
    x, y = _vectors(a, v, "jnp.correlate", preferred_element_type)
    if y.aval.kind == "c":
        y = lax.conj(y)
    backwards = x.shape[0] < y.shape[0]
    if backwards:
        # The shorter vector slides over the longer one; then the order is turned.
        x, y = y, x
    result = convolved(x, lax.rev(y, (0,)), mode, "jnp.correlate", precision)
    return lax.rev(result, (0,)) if backwards else result


def convolved(x: Value, y: Value, mode: str, name: str, precision: Any = None) -> Any:
    canonical_precision(precision)  # an error, if it is none; sums are full
    if mode not in ("full", "same", "valid"):
        raise ValueError(
            f'{name}: mode must be "full", "same" or "valid", got {mode!r}'
        )
    if x.shape[0] < y.shape[0]:
        x, y = y, x
    n, m = x.shape[0], y.shape[0]
    full = rounded_once(_full_convolution, x, y)
    if mode == "full":
        return full
    if mode == "same":
        start = (m - 1) // 2
        return lax.slice(full, (start,), (start + n,))
    return lax.slice(full, (m - 1,), (n,))


def _full_convolution(x: Value, y: Value) -> Any:
    """All sums of products; no element meets the zeros around the other vector.

    So an infinity there makes no NaN.
    """
    n, m = x.shape[0], y.shape[0]
    zero = number(x, 0)
    if m <= UNROLLED:
        total: Any = None
        for j in range(m):
            factor = lax.broadcast_in_dim(lax.slice(y, (j,), (j + 1,)), (n,), (0,))
            term = lax.pad(lax.mul(x, factor), zero, [(j, m - 1 - j, 0)])
            total = term if total is None else lax.add(total, term)
        return total
    padded = lax.pad(x, zero, [(m - 1, m - 1, 0)])
    shape = (n + m - 1, m)
    rows, columns = [lax.broadcasted_iota(np.int32, shape, axis) for axis in (0, 1)]
    places = lax.add(rows, columns)
    windows = AtIndex(padded, places).get(mode="promise_in_bounds")
    products = lax.mul(windows, lax.broadcast_in_dim(lax.rev(y, (0,)), shape, (1,)))
    inside = lax.bitwise_and(
        lax.ge(places, number(places, m - 1)), lax.lt(places, number(places, n + m - 1))
    )
    products = lax.select(inside, products, lax.full(shape, zero))
    return lax.reduce_sum(products, (1,))


# -------------------------------------------------------------------------------- windows


def _window(points: np.ndarray) -> Value:
    return convert.device_array(points.astype(float_dtype("jnp")), False)


def bartlett(M: int) -> Value:
    """The triangular window 1 - |2i / (M - 1) - 1| of M points.

    >>> import tetrad.numpy as jnp
    >>> jnp.bartlett(3)
    Array([0., 1., 0.], dtype=float32)
    """
    return _window(np.bartlett(static_int(M, "jnp.bartlett", "M")))


def blackman(M: int) -> Value:
    """The Blackman window 0.42 - 0.5 cos(2πi / (M - 1)) + 0.08 cos(4πi / (M - 1)).

    >>> import tetrad.numpy as jnp
    >>> jnp.blackman(3)[1]
    Array(1., dtype=float32)
    """
    return _window(np.blackman(static_int(M, "jnp.blackman", "M")))


def hamming(M: int) -> Value:
    """The Hamming window 0.54 - 0.46 cos(2πi / (M - 1)) of M points.

    >>> import tetrad.numpy as jnp
    >>> jnp.hamming(3)
    Array([0.08, 1.  , 0.08], dtype=float32)
    """
    return _window(np.hamming(static_int(M, "jnp.hamming", "M")))


def hanning(M: int) -> Value:
    """The Hann window 0.5 - 0.5 cos(2πi / (M - 1)) of M points.

    >>> import tetrad.numpy as jnp
    >>> jnp.hanning(3)
    Array([0., 1., 0.], dtype=float32)
    """
    return _window(np.hanning(static_int(M, "jnp.hanning", "M")))


def kaiser(M: int, beta: Any) -> Value:
    """The Kaiser window I₀(β √(1 - (2i / (M - 1) - 1)²)) / I₀(β) of M points.

    `beta` must be known when the program is built.

    >>> import tetrad.numpy as jnp
    >>> jnp.kaiser(3, 0.)
    Array([1., 1., 1.], dtype=float32)
    """
    return _window(np.kaiser(static_int(M, "jnp.kaiser", "M"), float(beta)))
