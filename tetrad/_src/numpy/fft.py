"""Fourier transforms in NumPy's words: one, two or several axes, real or complex.

What comes in: an array, lengths to which axes are cut or padded with zeros, and a norm.
What goes out: the transform, which `lax.fft` computes along the last axes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tetrad._src.core.bind import Value
from tetrad._src.numpy import create, lax, shape
from tetrad._src.numpy.axes import axes_argument, static_int
from tetrad._src.numpy.convert import describe, there, value
from tetrad._src.numpy.plan import planned_whole
from tetrad._src.numpy.promote import call, inexact, promote_floats

NORMS = ("backward", "ortho", "forward")


def _transform(
    name: str, kind: str, a: Any, s: Any, axes: Any, norm: str | None
) -> Any:
    """The transform `kind` of `a` along axes, cut or padded to the lengths `s`."""
    x: Any = value(promote_floats(name, value(a, name, "a"))[0], name)
    if x.dtype.itemsize < 4:
        x = lax.convert_element_type(x, "float32")
    if norm not in (None, *NORMS):
        raise ValueError(
            f"{call(name)}: norm must be None or one of {', '.join(NORMS)}, got {norm!r}"
        )
    if kind == "RFFT":
        if x.aval.kind == "c":
            raise ValueError(
                f"{call(name)}: takes real arrays, got {describe(x)}; use fft for complex"
                " ones"
            )
    elif x.aval.kind != "c":
        x = lax.complex(x, lax.zeros_like(x))
    axes = _axes(name, x, s, axes)
    if not axes:
        return x
    lengths = _lengths(name, x, s, axes, kind)
    held = list(lengths)
    if kind == "IRFFT":
        held[-1] = lengths[-1] // 2 + 1
    order = [i for i in range(x.ndim) if i not in axes] + list(axes)
    x = lax.transpose(x, order)
    first = x.ndim - len(axes)
    for i, extent in enumerate(held):
        x = _resized(x, first + i, extent)
    result = lax.fft(x, kind, lengths)
    inverse = [0] * x.ndim
    for i, axis in enumerate(order):
        inverse[axis] = i
    result = lax.transpose(result, inverse)
    factor = _factor(kind, math.prod(lengths), norm)
    return result if factor == 1 else result * factor


def _factor(kind: str, count: int, norm: str | None) -> float:
    """What a transform is multiplied by, beyond what `lax.fft` does."""
    backwards = kind in ("IFFT", "IRFFT")
    if norm == "ortho":
        return math.sqrt(count) if backwards else 1 / math.sqrt(count)
    if norm == "forward":
        return float(count) if backwards else 1 / count
    return 1


def _axes(name: str, x: Any, s: Any, axes: Any) -> tuple[int, ...]:
    if axes is None:
        count = x.ndim if s is None else len(s)
        if count > x.ndim:
            raise ValueError(
                f"{call(name)}: s has {count} lengths for an array of {x.ndim} axes"
            )
        return tuple(range(x.ndim - count, x.ndim))
    found = axes_argument(axes, x.ndim, name)
    if s is not None and len(s) != len(found):
        raise ValueError(
            f"{call(name)}: s and axes must have the same number of entries, got {s} and"
            f" {axes}"
        )
    return found


def _lengths(
    name: str, x: Any, s: Any, axes: tuple[int, ...], kind: str
) -> tuple[int, ...]:
    found = [x.shape[axis] for axis in axes]
    if kind == "IRFFT":
        found[-1] = max(0, 2 * (found[-1] - 1))
    if s is not None:
        given = [None if n is None else static_int(n, name, "n") for n in s]
        found = [old if n is None or n == -1 else n for n, old in zip(given, found)]
    if any(n < 1 for n in found):
        raise ValueError(
            f"{call(name)}: a transform needs lengths of at least 1, got {tuple(found)}"
        )
    return tuple(found)


def _resized(x: Any, axis: int, extent: int) -> Any:
    held = x.shape[axis]
    if held == extent:
        return x
    if held > extent:
        return lax.slice_in_dim(x, 0, extent, axis=axis)
    config = [(0, 0, 0)] * x.ndim
    config[axis] = (0, extent - held, 0)
    return lax.pad(x, lax.full((), 0, x.dtype), config)


def _one(name: str, kind: str, a: Any, n: Any, axis: Any, norm: str | None) -> Any:
    if isinstance(axis, (tuple, list)):
        raise ValueError(
            f"{call(name)}: axis must be one integer, got {axis!r}; use {name}n for several"
        )
    return _transform(name, kind, a, None if n is None else (n,), (axis,), norm)


@planned_whole
def fft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Value:
    """The discrete Fourier transform along one axis: X[k] = Σⱼ a[j]·exp(−2πi·jk/n).

    `n` cuts the axis or pads it with zeros. `norm` is "backward" (the default: nothing is
    divided), "ortho" (divided by √n) or "forward" (by n). The result is complex.

    >>> import tetrad.numpy as jnp
    >>> jnp.fft.fft(jnp.array([1., 2., 3., 4.]))
    Array([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j], dtype=complex64)
    """
    return _one("jnp.fft.fft", "FFT", a, n, axis, norm)  # type: ignore[no-any-return]


@planned_whole
def ifft(
    a: Any, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Value:
    """The inverse of `fft`: a[j] = (1/n) Σₖ X[k]·exp(2πi·jk/n).

    >>> import tetrad.numpy as jnp
    >>> jnp.fft.ifft(jnp.array([4., 0., 0., 0.])).real
    Array([1., 1., 1., 1.], dtype=float32)
    """
    return _one("jnp.fft.ifft", "IFFT", a, n, axis, norm)  # type: ignore[no-any-return]


@planned_whole
def rfft(
    a: Any, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Value:
    """The first n // 2 + 1 elements of the transform of a real array.

    The others are their conjugates. ValueError for complex arrays.

    >>> import tetrad.numpy as jnp
    >>> jnp.fft.rfft(jnp.array([1., 2., 3., 4.]))
    Array([10.+0.j, -2.+2.j, -2.+0.j], dtype=complex64)
    """
    return _one("jnp.fft.rfft", "RFFT", a, n, axis, norm)  # type: ignore[no-any-return]


@planned_whole
def irfft(
    a: Any, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Value:
    """The inverse of `rfft`: a real array of length `n`, by default 2·(elements − 1).

    >>> import tetrad.numpy as jnp
    >>> jnp.fft.irfft(jnp.array([4., 0., 0.]))
    Array([1., 1., 1., 1.], dtype=float32)
    """
    return _one("jnp.fft.irfft", "IRFFT", a, n, axis, norm)  # type: ignore[no-any-return]


def _conjugated(a: Any, name: str) -> Any:
    x: Any = value(a, name, "a")
    return lax.conj(x) if x.aval.kind == "c" else x


_TURNED = {"ortho": "ortho", "forward": "backward", "backward": "forward"}


@planned_whole
def hfft(
    a: Any, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Value:
    """The transform of a signal whose second half is the conjugate of the first: real.

    >>> import tetrad.numpy as jnp
    >>> jnp.fft.hfft(jnp.array([1., 0., 0.]))
    Array([1., 1., 1., 1.], dtype=float32)
    """
    name = "jnp.fft.hfft"
    turned = _TURNED.get(norm or "backward", norm)
    return _one(name, "IRFFT", _conjugated(a, name), n, axis, turned)  # type: ignore[no-any-return]


@planned_whole
def ihfft(
    a: Any, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Value:
    """The inverse of `hfft`: the first half of a signal with a real transform.

    >>> import tetrad.numpy as jnp
    >>> jnp.fft.ihfft(jnp.ones(4)).real
    Array([1., 0., 0.], dtype=float32)
    """
    turned = _TURNED.get(norm or "backward", norm)
    return lax.conj(_one("jnp.fft.ihfft", "RFFT", a, n, axis, turned))  # type: ignore[no-any-return]


@planned_whole
def fftn(
    a: Any,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Value:
    """`fft` along several axes, by default all, or the last len(s).

    >>> import tetrad.numpy as jnp
    >>> jnp.fft.fftn(jnp.ones((2, 2))).real
    Array([[4., 0.],
           [0., 0.]], dtype=float32)
    """
    return _transform("jnp.fft.fftn", "FFT", a, s, axes, norm)  # type: ignore[no-any-return]


@planned_whole
def ifftn(
    a: Any,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Value:
    """The inverse of `fftn`.

    >>> import tetrad.numpy as jnp
    >>> jnp.fft.ifftn(jnp.array([[4., 0.], [0., 0.]])).real
    Array([[1., 1.],
           [1., 1.]], dtype=float32)
    """
    return _transform("jnp.fft.ifftn", "IFFT", a, s, axes, norm)  # type: ignore[no-any-return]


@planned_whole
def rfftn(
    a: Any,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Value:
    """`fftn` of a real array, of which the last axis keeps n // 2 + 1 elements.

    >>> import tetrad.numpy as jnp
    >>> jnp.fft.rfftn(jnp.ones((2, 4))).shape
    (2, 3)
    """
    return _transform("jnp.fft.rfftn", "RFFT", a, s, axes, norm)  # type: ignore[no-any-return]


@planned_whole
def irfftn(
    a: Any,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Value:
    """The inverse of `rfftn`: real, with 2·(elements − 1) along the last axis, or s[-1].

    >>> import tetrad.numpy as jnp
    >>> jnp.fft.irfftn(jnp.ones((2, 3))).shape
    (2, 4)
    """
    return _transform("jnp.fft.irfftn", "IRFFT", a, s, axes, norm)  # type: ignore[no-any-return]


def _two(name: str, kind: str, a: Any, s: Any, axes: Any, norm: str | None) -> Any:
    if len(axes) != 2:
        raise ValueError(f"{call(name)}: axes must name two axes, got {axes!r}")
    return _transform(name, kind, a, s, axes, norm)


@planned_whole
def fft2(
    a: Any,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Value:
    """`fft` along two axes.

    >>> import tetrad.numpy as jnp
    >>> jnp.fft.fft2(jnp.ones((2, 2))).real
    Array([[4., 0.],
           [0., 0.]], dtype=float32)
    """
    return _two("jnp.fft.fft2", "FFT", a, s, axes, norm)  # type: ignore[no-any-return]


@planned_whole
def ifft2(
    a: Any,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Value:
    """The inverse of `fft2`.

    >>> import tetrad.numpy as jnp
    >>> jnp.fft.ifft2(jnp.array([[4., 0.], [0., 0.]])).real
    Array([[1., 1.],
           [1., 1.]], dtype=float32)
    """
    return _two("jnp.fft.ifft2", "IFFT", a, s, axes, norm)  # type: ignore[no-any-return]


@planned_whole
def rfft2(
    a: Any,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Value:
    """`fft2` of a real array, of which the last axis keeps n // 2 + 1 elements.

    >>> import tetrad.numpy as jnp
    >>> jnp.fft.rfft2(jnp.ones((2, 4))).shape
    (2, 3)
    """
    return _two("jnp.fft.rfft2", "RFFT", a, s, axes, norm)  # type: ignore[no-any-return]


@planned_whole
def irfft2(
    a: Any,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Value:
    """The inverse of `rfft2`.

    >>> import tetrad.numpy as jnp
    >>> jnp.fft.irfft2(jnp.ones((2, 3))).shape
    (2, 4)
    """
    return _two("jnp.fft.irfft2", "IRFFT", a, s, axes, norm)  # type: ignore[no-any-return]


def fftfreq(n: int, d: Any = 1.0, *, dtype: Any = None, device: Any = None) -> Value:
    """The frequencies of `fft`, in cycles per unit of the sample spacing `d`.

    0, 1, …, then the negative ones −⌊n/2⌋, …, −1, all divided by n·d.

    >>> import tetrad.numpy as jnp
    >>> jnp.fft.fftfreq(4)
    Array([ 0.  ,  0.25, -0.5 , -0.25], dtype=float32)
    """
    if device is not None:
        return there(device, fftfreq, n, d, dtype=dtype)  # type: ignore[no-any-return]
    n = _count("jnp.fft.fftfreq", n)
    found = _dtype(dtype)
    numbers: Any = create.arange(n, dtype="int32")
    turned = lax.select(numbers < (n + 1) // 2, numbers, numbers - n)
    return lax.convert_element_type(turned, found) / (n * _spacing(d))  # type: ignore[no-any-return]


def rfftfreq(n: int, d: Any = 1.0, *, dtype: Any = None, device: Any = None) -> Value:
    """The frequencies of `rfft`: 0, 1, …, ⌊n/2⌋, divided by n·d.

    >>> import tetrad.numpy as jnp
    >>> jnp.fft.rfftfreq(4)
    Array([0.  , 0.25, 0.5 ], dtype=float32)
    """
    if device is not None:
        return there(device, rfftfreq, n, d, dtype=dtype)  # type: ignore[no-any-return]
    n = _count("jnp.fft.rfftfreq", n)
    found = _dtype(dtype)
    numbers = create.arange(n // 2 + 1, dtype="int32")
    return lax.convert_element_type(numbers, found) / (n * _spacing(d))  # type: ignore[no-any-return]


def _count(name: str, n: Any) -> int:
    if isinstance(n, (tuple, list)):
        raise ValueError(f"{call(name)}: n must be an integer, got {n!r}")
    found = static_int(n, name, "n")
    if found < 1:
        raise ValueError(f"{call(name)}: n must be positive, got {found}")
    return found


def _spacing(d: Any) -> Any:
    if isinstance(d, (tuple, list)):
        raise ValueError(f"jnp.fft: the sample spacing d must be a number, got {d!r}")
    return d


def _dtype(dtype: Any) -> Any:
    return inexact(create.arange(0, dtype=dtype or float).dtype)


@planned_whole
def fftshift(x: Any, axes: Any = None) -> Value:
    """Moves the frequency zero to the middle of axes, by default all.

    >>> import tetrad.numpy as jnp
    >>> jnp.fft.fftshift(jnp.arange(5))
    Array([3, 4, 0, 1, 2], dtype=int32)
    """
    v, found = _shift_axes("jnp.fft.fftshift", x, axes)
    return shape.roll(v, [v.shape[i] // 2 for i in found], found)


@planned_whole
def ifftshift(x: Any, axes: Any = None) -> Value:
    """The inverse of `fftshift`.

    >>> import tetrad.numpy as jnp
    >>> jnp.fft.ifftshift(jnp.array([3, 4, 0, 1, 2]))
    Array([0, 1, 2, 3, 4], dtype=int32)
    """
    v, found = _shift_axes("jnp.fft.ifftshift", x, axes)
    return shape.roll(v, [-(v.shape[i] // 2) for i in found], found)


def _shift_axes(name: str, x: Any, axes: Any) -> tuple[Value, tuple[int, ...]]:
    v = value(x, name, "x")
    if axes is None:
        return v, tuple(range(v.ndim))
    return v, axes_argument(axes, v.ndim, name)
