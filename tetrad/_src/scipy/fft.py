"""Cosine transforms, each from one real Fourier transform of the same length.

The even samples followed by the odd ones backwards are a signal v. With V its Fourier
transform and W[k] = exp(−iπk/2N)·V[k], the cosine transform is 2·Re W[k] at k and
−2·Im W[k] at N − k. (Makhoul, 1980.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tetrad import lax, numpy

jnp: Any = numpy  # arrays have methods that their type does not state


def dct(
    x: Any,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
) -> Any:
    """The cosine transform of type 2: y[k] = 2·Σⱼ x[j]·cos(πk(2j + 1)/2n).

    Args:
      x: the array; complex arrays are transformed part by part.
      type: 2.
      n: the length; x is cut or padded with zeros to it.
      axis: the axis.
      norm: None or 'backward'; or 'ortho', which divides by √2n, and y[0] by √2 too.

    >>> from tetrad.scipy import fft
    >>> fft.dct(jnp.array([1., 2., 4.])).round(4)
    Array([14.    , -5.1962,  1.    ], dtype=float32)
    """
    _known("dct", type, norm)
    return _by_parts(lambda x: _dct(_sized(x, n, axis), axis, norm), x)


def idct(
    x: Any,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
) -> Any:
    """The inverse of `dct`, with the same arguments.

    >>> from tetrad.scipy import fft
    >>> fft.idct(jnp.array([12., 0., 0.]))
    Array([2., 2., 2.], dtype=float32)
    """
    _known("idct", type, norm)
    return _by_parts(lambda x: _idct(_sized(x, n, axis), axis, norm), x)


def dctn(
    x: Any,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Any:
    """`dct` along several axes, all by default, of lengths `s`.

    >>> from tetrad.scipy import fft
    >>> fft.dctn(jnp.ones((2, 2)))
    Array([[16.,  0.],
           [ 0.,  0.]], dtype=float32)
    """
    for n, axis in _lengths("dctn", x, s, axes):
        x = dct(x, type, n, axis, norm)
    return x


def idctn(
    x: Any,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Any:
    """The inverse of `dctn`, with the same arguments.

    >>> from tetrad.scipy import fft
    >>> fft.idctn(jnp.array([[16., 0.], [0., 0.]]))
    Array([[1., 1.],
           [1., 1.]], dtype=float32)
    """
    for n, axis in _lengths("idctn", x, s, axes):
        x = idct(x, type, n, axis, norm)
    return x


def _known(name: str, type: int, norm: str | None) -> None:
    if type != 2:
        raise NotImplementedError(
            f"{name}: only transforms of type 2 are supported, got type={type!r}"
        )
    if norm not in (None, "backward", "ortho"):
        raise ValueError(
            f"{name}: norm must be None, 'backward' or 'ortho', got {norm!r}"
        )


def _lengths(
    name: str, x: Any, s: Sequence[int] | int | None, axes: Sequence[int] | None
) -> list[tuple[int | None, int]]:
    rank = jnp.ndim(x)
    sizes = (s,) if isinstance(s, int) else s
    if axes is None:
        axes = tuple(range(rank)) if sizes is None else tuple(range(-len(sizes), 0))
    elif isinstance(axes, int):
        axes = (axes,)
    if sizes is None:
        return [(None, axis) for axis in axes]
    if len(sizes) > rank:
        raise ValueError(f"{name}: s has {len(sizes)} lengths, but x only {rank} axes")
    if len(sizes) != len(axes):
        raise ValueError(
            f"{name}: s has {len(sizes)} lengths for {len(axes)} axes; give one for"
            " each"
        )
    return list(zip(sizes, axes, strict=True))


def _by_parts(f: Callable[[Any], Any], x: Any) -> Any:
    x = jnp.asarray(x)
    if jnp.issubdtype(x.dtype, jnp.complexfloating):
        return lax.complex(f(x.real), f(x.imag))
    if not jnp.issubdtype(x.dtype, jnp.inexact):
        x = x.astype(jnp.result_type(float))
    return f(x)


def _sized(x: Any, n: int | None, axis: int) -> Any:
    """x with its axis cut, or padded with zeros, to length n."""
    size = x.shape[axis]
    if n is None or n == size:
        return x
    if n < 1:
        raise ValueError(f"cosine transforms: the length must be positive, got n={n}")
    if n < size:
        return lax.slice_in_dim(x, 0, n, axis=axis)
    widths = [(0, 0)] * x.ndim
    widths[axis] = (0, n - size)
    return jnp.pad(x, widths)


def _scales(n: int, dtype: Any) -> Any:
    """What makes the transform orthogonal, element by element."""
    scales = np.full(n, math.sqrt(1 / (2 * n)))
    scales[0] /= math.sqrt(2)
    return jnp.asarray(scales.astype(dtype))


def _turns(n: int, dtype: Any) -> Any:
    """exp(−iπk/2n) for k up to n/2."""
    angles = np.pi * np.arange(n // 2 + 1) / (2 * n)
    kind = np.complex128 if dtype == np.float64 else np.complex64
    return jnp.asarray(np.exp(-1j * angles).astype(kind))


def _row(x: Any, rank: int) -> Any:
    """A vector along the last of `rank` axes."""
    return x.reshape((1,) * (rank - 1) + (-1,))


def _dct(x: Any, axis: int, norm: str | None) -> Any:
    x = jnp.moveaxis(x, axis, -1)
    n = x.shape[-1]
    v = jnp.concatenate([x[..., ::2], x[..., 1::2][..., ::-1]], -1)
    W = jnp.fft.rfft(v) * _row(_turns(n, x.dtype), x.ndim)
    back = W[..., 1 : (n + 1) // 2].imag[..., ::-1]
    y = 2 * jnp.concatenate([W.real, -back], -1).astype(x.dtype)
    if norm == "ortho":
        y = y * _row(_scales(n, x.dtype), x.ndim)
    return jnp.moveaxis(y, -1, axis)


def _idct(y: Any, axis: int, norm: str | None) -> Any:
    y = jnp.moveaxis(y, axis, -1)
    n = y.shape[-1]
    if norm == "ortho":
        y = y / _row(_scales(n, y.dtype), y.ndim)
    half = n // 2 + 1
    mirror = jnp.concatenate([jnp.zeros_like(y[..., :1]), y[..., :0:-1]], -1)
    W = lax.complex(y[..., :half], -mirror[..., :half]) / 2
    turned = W * _row(jnp.conj(_turns(n, y.dtype)), y.ndim)
    v = jnp.fft.irfft(turned, n).astype(y.dtype)
    even, odd = v[..., : (n + 1) // 2], v[..., (n + 1) // 2 :][..., ::-1]
    if n % 2:
        odd = (
            jnp.concatenate([odd, jnp.zeros_like(odd[..., :1])], -1) if n > 1 else even
        )
    x = jnp.stack([even, odd], -1).reshape(*y.shape[:-1], -1)[..., :n]
    return jnp.moveaxis(x, -1, axis)
