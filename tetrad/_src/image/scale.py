"""Images at another size: each axis is multiplied by a matrix of weights.

Column j of the matrix of an axis says what each sample of the input gives to sample j of
the output: the value of a kernel at their distance, over the sum of the column. A kernel
is as wide as a sample of the input or, against aliasing, of the output if that is wider.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tetrad import lax, numpy

jnp: Any = numpy  # arrays have methods that their type does not state


class ResizeMethod(enum.Enum):
    """How samples are weighted by their distance; `resize` takes names as well.

    NEAREST takes the nearest sample; LINEAR is a triangle of radius 1; CUBIC is Keys'
    kernel of radius 2 with a = −1/2; CUBIC_PYTORCH is the same, but without antialiasing
    has a = −3/4 and repeats edges; LANCZOS3 and LANCZOS5 are windowed sines of that
    radius; AREA averages over the area that a sample of the output covers.
    """

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6

    @staticmethod
    def from_string(s: str) -> ResizeMethod:
        """The method of a name.

        >>> import tetrad as jax
        >>> jax.image.ResizeMethod.from_string("bilinear").name
        'LINEAR'
        """
        if s not in _NAMES:
            raise ValueError(
                f"method must be one of {', '.join(map(repr, _NAMES))}; got {s!r}"
            )
        return _NAMES[s]


_NAMES = {
    "nearest": ResizeMethod.NEAREST,
    "linear": ResizeMethod.LINEAR,
    "bilinear": ResizeMethod.LINEAR,
    "trilinear": ResizeMethod.LINEAR,
    "triangle": ResizeMethod.LINEAR,
    "lanczos3": ResizeMethod.LANCZOS3,
    "lanczos5": ResizeMethod.LANCZOS5,
    "cubic": ResizeMethod.CUBIC,
    "bicubic": ResizeMethod.CUBIC,
    "tricubic": ResizeMethod.CUBIC,
    "cubic-pytorch": ResizeMethod.CUBIC_PYTORCH,
    "bicubic-pytorch": ResizeMethod.CUBIC_PYTORCH,
    "area": ResizeMethod.AREA,
}


# ----------------------------------------------------------- kernels, functions of |x|


def _triangle(x: Any) -> Any:
    return jnp.maximum(1 - x, 0)


def _cubic(a: float, x: Any) -> Any:
    inner = ((a + 2) * x - (a + 3)) * x * x + 1
    outer = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return jnp.where(x < 1, inner, jnp.where(x < 2, outer, 0))


def _lanczos(radius: int, x: Any) -> Any:
    return jnp.where(x <= radius, jnp.sinc(x) * jnp.sinc(x / radius), 0)


_KERNELS: dict[ResizeMethod, Callable[[Any], Any]] = {
    ResizeMethod.LINEAR: _triangle,
    ResizeMethod.CUBIC: partial(_cubic, -0.5),
    ResizeMethod.CUBIC_PYTORCH: partial(_cubic, -0.75),
    ResizeMethod.LANCZOS3: partial(_lanczos, 3),
    ResizeMethod.LANCZOS5: partial(_lanczos, 5),
}
_SMALL = 1e-4  # a column whose sum is less sees nothing of the input


# -------------------------------------------------------------------------- weights


def _weights(
    n: int, m: int, scale: Any, move: Any, method: ResizeMethod, antialias: bool
) -> Any:
    """The (n, m) matrix that takes n samples to m; sample x goes to scale·x + move."""
    step = 1 / scale
    start = (jnp.arange(m, dtype=step.dtype) - move)[None] * step
    centre = start + 0.5 * step - 0.5
    repeated = method is ResizeMethod.CUBIC_PYTORCH
    margin = 2 if repeated else 0
    places = jnp.arange(-margin, n + margin, dtype=step.dtype)[:, None]
    if method is ResizeMethod.AREA:
        right = jnp.minimum(start + step, places + 1)
        weights = jnp.maximum(right - jnp.maximum(start, places), 0)
    else:
        width = jnp.maximum(step, 1) if antialias else 1
        weights = _KERNELS[method](jnp.abs(centre - places) / width)
    if repeated:
        weights = _fold_edges(weights, n, margin)
    total = jnp.sum(weights, 0, keepdims=True)
    seen = jnp.abs(total) > _SMALL
    if not repeated:
        seen = seen & (centre >= -0.5) & (centre <= n - 0.5)
    return jnp.where(seen, weights / jnp.where(total == 0, 1, total), 0)


def _fold_edges(weights: Any, n: int, margin: int) -> Any:
    """The weights of places before the first and after the last, given to these."""
    if n == 1:
        return jnp.sum(weights, 0, keepdims=True)
    first = jnp.sum(weights[: margin + 1], 0, keepdims=True)
    last = jnp.sum(weights[margin + n - 1 :], 0, keepdims=True)
    return jnp.concatenate([first, weights[margin + 1 : margin + n - 1], last])


def _resample(image: Any, weights: Sequence[tuple[int, Any]], precision: Any) -> Any:
    for axis, matrix in weights:
        image = jnp.tensordot(
            image, matrix.astype(image.dtype), axes=(axis, 0), precision=precision
        )
        image = jnp.moveaxis(image, -1, axis)
    return image


# --------------------------------------------------------------------------- public


def _checked(
    name: str, image: Any, shape: Sequence[int]
) -> tuple[Any, tuple[int, ...]]:
    image = jnp.asarray(image)
    sizes = tuple(int(n) for n in shape)
    if len(sizes) != image.ndim:
        raise ValueError(
            f"{name}: shape must have a size for each of the {image.ndim} axes of an"
            f" image of shape {image.shape}; got {sizes}"
        )
    return image, sizes


def _method(name: str, method: str | ResizeMethod, antialias: bool) -> ResizeMethod:
    if isinstance(method, str):
        method = ResizeMethod.from_string(method)
    if not isinstance(method, ResizeMethod):
        raise TypeError(
            f"{name}: method must be a name or a ResizeMethod, got {method!r}"
        )
    if method is ResizeMethod.CUBIC_PYTORCH and antialias:
        return ResizeMethod.CUBIC
    return method


def _floating(image: Any) -> Any:
    if jnp.issubdtype(image.dtype, jnp.inexact):
        return image
    return image.astype(jnp.result_type(float))


def resize(
    image: Any,
    shape: Sequence[int],
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = lax.Precision.HIGHEST,
) -> Any:
    """The image resampled to `shape`; axes whose size stays are left alone.

    Args:
      image: an array.
      shape: the new size of each axis.
      method: 'nearest', 'linear' (or 'bilinear', 'trilinear', 'triangle'), 'cubic' (or
        'bicubic', 'tricubic'), 'cubic-pytorch' (or 'bicubic-pytorch'), 'lanczos3',
        'lanczos5', 'area', or a `ResizeMethod`.
      antialias: whether kernels widen as an axis shrinks.
      precision: that of the matrix products.

    The result is floating-point except with 'nearest'. Raises ValueError if `shape` has
    another number of axes, or if the method is unknown.

    >>> import tetrad as jax
    >>> jax.image.resize(jnp.array([1., 2.]), (4,), "linear")
    Array([1.  , 1.25, 1.75, 2.  ], dtype=float32)
    """
    image, sizes = _checked("resize", image, shape)
    method = _method("resize", method, antialias)
    changed = [i for i, n in enumerate(sizes) if n != image.shape[i]]
    for axis in changed:
        if image.shape[axis] == 0:
            raise ValueError(f"resize: axis {axis} of the image is empty")
    if method is ResizeMethod.NEAREST:
        return _nearest(image, [(axis, sizes[axis]) for axis in changed])
    image = _floating(image)
    dtype = jnp.finfo(image.dtype).dtype
    dtype = jnp.float32 if dtype.itemsize < 4 else dtype
    weights = []
    for axis in changed:
        n, m = image.shape[axis], sizes[axis]
        scale, move = jnp.asarray(m / n if m else 1, dtype), jnp.zeros((), dtype)
        weights.append((axis, _weights(n, m, scale, move, method, antialias)))
    return _resample(image, weights, precision)


def _nearest(image: Any, sizes: Sequence[tuple[int, int]]) -> Any:
    for axis, m in sizes:
        n = image.shape[axis]
        # The floor of (j + 1/2)·n/m, in whole numbers.
        picked = [(2 * j + 1) * n // (2 * m) for j in range(m)]
        image = jnp.take(image, jnp.array(picked, jnp.int32), axis=axis)
    return image


def scale_and_translate(
    image: Any,
    shape: Sequence[int],
    spatial_dims: Sequence[int],
    scale: Any,
    translation: Any,
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = lax.Precision.HIGHEST,
) -> Any:
    """The image resampled so that place x goes to scale·x + translation.

    Args:
      image: an array.
      shape: the shape of the result. Places that come from outside the image are 0.
      spatial_dims: the axes that are resampled; the sizes of others must stay.
      scale: a factor for each of these axes.
      translation: how far each of these axes moves.
      method: as in `resize`, except 'nearest'.
      antialias: whether kernels widen as an axis shrinks.
      precision: that of the matrix products.

    It has derivatives by `scale` and `translation`, too. Raises ValueError if numbers of
    axes do not agree.

    >>> import tetrad as jax
    >>> jax.image.scale_and_translate(
    ...     jnp.array([1., 2.]), (3,), (0,), jnp.array([1.]), jnp.array([1.]), "linear")
    Array([0., 1., 2.], dtype=float32)
    """
    name = "scale_and_translate"
    image, sizes = _checked(name, image, shape)
    method = _method(name, method, antialias)
    if method is ResizeMethod.NEAREST:
        raise ValueError(
            "scale_and_translate: method 'nearest' is not supported; use 'linear', or"
            " resize, which has it"
        )
    image = _floating(image)
    axes = [_axis(name, axis, image.ndim) for axis in spatial_dims]
    scale, translation = jnp.asarray(scale), jnp.asarray(translation)
    for word, value in (("scale", scale), ("translation", translation)):
        if value.shape != (len(axes),):
            raise ValueError(
                f"{name}: {word} must have one element for each of spatial_dims"
                f" {tuple(spatial_dims)}; got shape {value.shape}"
            )
    for axis, n in enumerate(sizes):
        if axis not in axes and n != image.shape[axis]:
            raise ValueError(
                f"{name}: axis {axis} is not in spatial_dims, and its size"
                f" {image.shape[axis]} cannot become {n}"
            )
    scale, translation = _floating(scale), _floating(translation)
    weights = []
    for i, axis in enumerate(axes):
        n, m = image.shape[axis], sizes[axis]
        matrix = _weights(n, m, scale[i], translation[i], method, antialias)
        weights.append((axis, matrix))
    return _resample(image, weights, precision)


def _axis(name: str, axis: int, ndim: int) -> int:
    if not -ndim <= axis < ndim:
        raise ValueError(
            f"{name}: spatial_dims has {axis}, but the image has {ndim} axes"
        )
    return axis % ndim
