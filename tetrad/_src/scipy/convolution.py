"""Convolutions and correlations of arrays of any rank, and what is left without trends.

All come down to one convolution whose padding is what the mode asks for: the full result
pads by one less than the second array, the others by less.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tetrad import lax, numpy

jnp: Any = numpy  # arrays have methods that their type does not state

_MODES = ("full", "same", "valid")


def convolve(
    in1: Any, in2: Any, mode: str = "full", method: str = "auto", precision: Any = None
) -> Any:
    """The convolution y[n] = Σₖ in1[k]·in2[n − k] of arrays of the same rank.

    Args:
      in1, in2: the arrays.
      mode: 'full'; 'same', the middle, as large as in1; or 'valid', where the smaller
        array is inside the larger one.
      method: 'direct' or 'auto', sums of products; or 'fft'.
      precision: that of the products, for 'direct'.

    >>> from tetrad.scipy import signal
    >>> signal.convolve(jnp.array([1., 2., 3.]), jnp.array([1., 1.]))
    Array([1., 3., 5., 3.], dtype=float32)
    """
    if method not in ("auto", "direct", "fft"):
        raise ValueError(
            f"convolve: method must be 'auto', 'direct' or 'fft', got {method!r}"
        )
    if method == "fft":
        return fftconvolve(in1, in2, mode)
    in1, in2 = _operands("convolve", in1, in2, mode)
    return _direct("convolve", in1, in2, mode, precision)


def correlate(
    in1: Any, in2: Any, mode: str = "full", method: str = "auto", precision: Any = None
) -> Any:
    """The correlation Σₖ in1[k + n]·conj(in2[k]): `convolve` with in2 reversed.

    Arguments are those of `convolve`.

    >>> from tetrad.scipy import signal
    >>> signal.correlate(jnp.array([1., 2., 3.]), jnp.array([0., 1.]))
    Array([1., 2., 3., 0.], dtype=float32)
    """
    return convolve(in1, jnp.conj(jnp.flip(in2)), mode, method, precision)


def convolve2d(
    in1: Any,
    in2: Any,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: Any = 0,
    precision: Any = None,
) -> Any:
    """`convolve` of matrices, with zeros beyond the edges.

    >>> from tetrad.scipy import signal
    >>> signal.convolve2d(jnp.ones((2, 2)), jnp.ones((1, 2)))
    Array([[1., 2., 1.],
           [1., 2., 1.]], dtype=float32)
    """
    _planes("convolve2d", in1, in2, boundary, fillvalue)
    in1, in2 = _operands("convolve2d", in1, in2, mode)
    return _direct("convolve2d", in1, in2, mode, precision)


def correlate2d(
    in1: Any,
    in2: Any,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: Any = 0,
    precision: Any = None,
) -> Any:
    """`correlate` of matrices, with zeros beyond the edges.

    With mode 'valid' and an in1 that is smaller than in2 the result is reversed and
    conjugate, as SciPy's is.

    >>> from tetrad.scipy import signal
    >>> signal.correlate2d(jnp.ones((2, 2)), jnp.ones((2, 2)), "valid")
    Array([[4.]], dtype=float32)
    """
    _planes("correlate2d", in1, in2, boundary, fillvalue)
    in1, in2 = _operands("correlate2d", in1, in2, mode)
    turned = jnp.conj(jnp.flip(in2))
    # SciPy takes the later one of two middles here, and the earlier one elsewhere.
    return _direct("correlate2d", in1, turned, mode, precision, later=True)


def fftconvolve(
    in1: Any, in2: Any, mode: str = "full", axes: Sequence[int] | int | None = None
) -> Any:
    """`convolve` by Fourier transforms, along `axes` (all by default).

    The other axes broadcast. It is fast for large arrays and rounds at the level of the
    greatest elements.

    >>> from tetrad.scipy import signal
    >>> signal.fftconvolve(jnp.array([1., 2., 3.]), jnp.array([1., 1.])).round(4)
    Array([1., 3., 5., 3.], dtype=float32)
    """
    in1, in2 = _operands("fftconvolve", in1, in2, mode)
    rank = in1.ndim
    chosen = range(rank) if axes is None else axes
    chosen = [chosen] if isinstance(chosen, int) else chosen
    along = sorted({axis % rank for axis in chosen})
    one = [in1.shape[i] for i in along]
    two = [in2.shape[i] for i in along]
    for i in set(range(rank)) - set(along):
        if in1.shape[i] != in2.shape[i] and 1 not in (in1.shape[i], in2.shape[i]):
            raise ValueError(
                f"fftconvolve: axis {i}, which is not convolved, has sizes"
                f" {in1.shape[i]} and {in2.shape[i]}; they must be the same"
            )
    if mode == "valid" and _smaller("fftconvolve", one, two):
        in1, in2, one, two = in2, in1, two, one
    full = [n + m - 1 for n, m in zip(one, two, strict=True)]
    if jnp.issubdtype(in1.dtype, jnp.complexfloating):
        product = jnp.fft.fftn(in1, full, along) * jnp.fft.fftn(in2, full, along)
        y = jnp.fft.ifftn(product, full, along)
    else:
        product = jnp.fft.rfftn(in1, full, along) * jnp.fft.rfftn(in2, full, along)
        y = jnp.fft.irfftn(product, full, along)
    for axis, n, m in zip(along, one, two, strict=True):
        before, size = _crop(n, m, mode)
        y = lax.slice_in_dim(y, before, before + size, axis=axis)
    return y.astype(in1.dtype)


def detrend(
    data: Any,
    axis: int = -1,
    type: str = "linear",
    bp: Any = 0,
    overwrite_data: None = None,
) -> Any:
    """The data less its best straight line, or less its mean with type='constant'.

    Args:
      data: the array.
      axis: the axis along which lines run.
      type: 'linear' or 'constant'.
      bp: places where a new line begins, for 'linear'.
      overwrite_data: not supported; arrays are immutable.

    >>> from tetrad.scipy import signal
    >>> signal.detrend(jnp.array([1., 2., 3.]), type="constant")
    Array([-1.,  0.,  1.], dtype=float32)
    """
    if overwrite_data is not None:
        raise NotImplementedError(
            "detrend: overwrite_data is not supported; arrays are immutable"
        )
    if type not in ("linear", "constant"):
        raise ValueError(f"detrend: type must be 'linear' or 'constant', got {type!r}")
    (data,) = _floating(data)
    if type == "constant":
        return data - jnp.mean(data, axis, keepdims=True)
    data = jnp.moveaxis(data, axis, -1)
    n = data.shape[-1]
    breaks = sorted({0, n, *(int(i) for i in np.ravel(bp))})
    if breaks[0] < 0 or breaks[-1] > n:
        raise ValueError(
            f"detrend: bp must be between 0 and {n}, the length of the axis; got {bp}"
        )
    pieces = [
        _without_line(data[..., start:stop])
        for start, stop in zip(breaks, breaks[1:], strict=False)
    ]
    return jnp.moveaxis(jnp.concatenate(pieces, -1), -1, axis)


def _without_line(piece: Any) -> Any:
    n = piece.shape[-1]
    place = jnp.arange(n, dtype=piece.dtype) - (n - 1) / 2
    place = place.reshape((1,) * (piece.ndim - 1) + (n,))
    rest = piece - jnp.mean(piece, -1, keepdims=True)
    if n == 1:
        return rest
    slope = jnp.sum(rest * place, -1, keepdims=True) / (n * (n * n - 1) / 12)
    return rest - slope * place


# -------------------------------------------------------------------------- internals


def _floating(*xs: Any) -> list[Any]:
    arrays = [jnp.asarray(x) for x in xs]
    dtype = jnp.result_type(*arrays)
    if not jnp.issubdtype(dtype, jnp.inexact):
        dtype = jnp.result_type(float)
    return [x.astype(dtype) for x in arrays]


def _operands(name: str, in1: Any, in2: Any, mode: str) -> list[Any]:
    if mode not in _MODES:
        raise ValueError(
            f"{name}: mode must be 'full', 'same' or 'valid', got {mode!r}"
        )
    if jnp.ndim(in1) != jnp.ndim(in2):
        raise ValueError(
            f"{name}: the arrays must have the same number of axes, got shapes"
            f" {jnp.shape(in1)} and {jnp.shape(in2)}"
        )
    if 0 in jnp.shape(in1) or 0 in jnp.shape(in2):
        raise ValueError(
            f"{name}: the arrays must not be empty, got shapes {jnp.shape(in1)} and"
            f" {jnp.shape(in2)}"
        )
    return _floating(in1, in2)


def _planes(name: str, in1: Any, in2: Any, boundary: str, fillvalue: Any) -> None:
    if boundary != "fill" or fillvalue != 0:
        raise NotImplementedError(
            f"{name}: only boundary='fill' with fillvalue=0 is supported; for others pad"
            " the first array with jax.numpy.pad and use mode='valid'"
        )
    if jnp.ndim(in1) != 2 or jnp.ndim(in2) != 2:
        raise ValueError(
            f"{name}: the arrays must be matrices, got shapes {jnp.shape(in1)} and"
            f" {jnp.shape(in2)}"
        )


def _smaller(name: str, one: Sequence[int], two: Sequence[int]) -> bool:
    """Whether the first array fits into the second; raises if neither fits."""
    if all(n >= m for n, m in zip(one, two, strict=True)):
        return False
    if all(n <= m for n, m in zip(one, two, strict=True)):
        return True
    raise ValueError(
        f"{name}: for mode 'valid' one array must be at least as large as the other along"
        f" every axis, got sizes {tuple(one)} and {tuple(two)}"
    )


def _crop(n: int, m: int, mode: str, later: bool = False) -> tuple[int, int]:
    """(first, size) of the part of a full convolution of sizes n and m.

    `later` chooses which of two elements is the middle of an even m.
    """
    if mode == "full":
        return 0, n + m - 1
    if mode == "same":
        return (m if later else m - 1) // 2, n
    return m - 1, n - m + 1


def _direct(
    name: str, in1: Any, in2: Any, mode: str, precision: Any, later: bool = False
) -> Any:
    if mode == "valid" and _smaller(name, in1.shape, in2.shape):
        in1, in2 = in2, in1
    if in1.ndim == 0:
        return in1 * in2
    padding = []
    for n, m in zip(in1.shape, in2.shape, strict=True):
        before, size = _crop(n, m, mode, later)
        after = n + m - 1 - before - size
        padding.append((m - 1 - before, m - 1 - after))
    y = lax.conv_general_dilated(
        in1[None, None],
        jnp.flip(in2)[None, None],
        (1,) * in1.ndim,
        padding,
        precision=precision,
    )
    return y[0, 0]
