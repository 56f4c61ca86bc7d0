"""First values of weights: functions of a key, a shape and a dtype.

`variance_scaling` is the general one: it keeps the variance of what passes through a
layer, whose number of inputs and outputs it reads from the shape. The named ones after
it fix its choices.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from tetrad._src.lib import random
from tetrad._src.numpy import convert, create, elementwise, transcendental
from tetrad._src.numpy import shape as shape_functions
from tetrad._src.numpy.axes import shape_argument
from tetrad._src.util import dtypes

Axes = int | Sequence[int]

# Standard deviations of what is left of a normal distribution of deviation 1 within
# two deviations of 0: on the line and, by the modulus, in the plane.
_TRUNCATED = 0.87962566103423978
_TRUNCATED_COMPLEX = 0.9619618280082135


class Initializer(Protocol):
    """What the functions of this module return."""

    def __call__(self, key: Any, shape: Sequence[int], dtype: Any = None) -> Any: ...


def _default(dtype: Any) -> Any:
    return dtypes.canonicalize_dtype(float if dtype is None else dtype)


def zeros(
    key: Any, shape: Sequence[int], dtype: Any = None, out_sharding: Any = None
) -> Any:
    """Zeros; the key is not used.

    >>> import tetrad as jax
    >>> jax.nn.initializers.zeros(jax.random.key(0), (2,))
    Array([0., 0.], dtype=float32)
    """
    elementwise.no_sharding("initializers.zeros", out_sharding)
    return create.zeros(shape, _default(dtype))


def ones(
    key: Any, shape: Sequence[int], dtype: Any = None, out_sharding: Any = None
) -> Any:
    """Ones; the key is not used."""
    elementwise.no_sharding("initializers.ones", out_sharding)
    return create.ones(shape, _default(dtype))


def constant(value: Any, dtype: Any = None) -> Initializer:
    """An initializer that gives `value` everywhere."""

    def init(key: Any, shape: Sequence[int], dtype: Any = dtype) -> Any:
        return create.full(shape, value, _default(dtype))

    return init


def _scaled(
    draw: Callable[..., Any], factor: Any, dtype: Any, *bounds: Any
) -> Initializer:
    def init(key: Any, shape: Sequence[int], dtype: Any = dtype) -> Any:
        kind = _default(dtype)
        return draw(key, *bounds, shape, kind) * convert.asarray(factor, kind)

    return init


def uniform(scale: Any = 1e-2, dtype: Any = None) -> Initializer:
    """An initializer that draws uniformly from [0, scale)."""
    return _scaled(random.uniform, scale, dtype)


def normal(stddev: Any = 1e-2, dtype: Any = None) -> Initializer:
    """An initializer that draws normal numbers of mean 0 and deviation `stddev`."""
    return _scaled(random.normal, stddev, dtype)


def truncated_normal(
    stddev: Any = 1e-2, dtype: Any = None, lower: Any = -2.0, upper: Any = 2.0
) -> Initializer:
    """An initializer that draws normal numbers between lower · stddev and upper · stddev.

    `stddev` is the deviation before the tails are cut off.
    """
    return _scaled(random.truncated_normal, stddev, dtype, lower, upper)


# ------------------------------------------------------------------------ by fan in and out


def _extent(shape: Sequence[int], axes: Axes) -> int:
    if isinstance(axes, int):
        return shape[axes]
    return math.prod([shape[axis] for axis in axes])


def _fans(
    shape: Sequence[int], in_axis: Axes, out_axis: Axes, batch_axis: Axes
) -> tuple[float, float]:
    """How many inputs reach an output and how many outputs an input reaches.

    Axes that are none of the three belong to both, as the window of a convolution does.
    """
    if len(shape) <= 1 and isinstance(in_axis, int) and in_axis == -2:
        raise ValueError(
            f"initializers by fan: weights of shape {tuple(shape)} have no axis -2 for the"
            " inputs; use two axes or more, or name in_axis and out_axis"
        )
    inputs, outputs = _extent(shape, in_axis), _extent(shape, out_axis)
    window = math.prod(shape) / inputs / outputs / _extent(shape, batch_axis)
    return inputs * window, outputs * window


_MODES: dict[str, Callable[[float, float], float]] = {
    "fan_in": lambda inputs, outputs: inputs,
    "fan_out": lambda inputs, outputs: outputs,
    "fan_avg": lambda inputs, outputs: (inputs + outputs) / 2,
    "fan_geo_avg": lambda inputs, outputs: math.sqrt(inputs * outputs),
}


def variance_scaling(
    scale: Any,
    mode: str,
    distribution: str,
    in_axis: Axes = -2,
    out_axis: Axes = -1,
    batch_axis: Axes = (),
    dtype: Any = None,
) -> Initializer:
    """An initializer of mean 0 and variance scale / n.

    Args:
      scale: the factor, a positive number.
      mode: what n is: "fan_in" (inputs of a layer), "fan_out" (outputs), "fan_avg" or
        "fan_geo_avg" (their arithmetic or geometric mean).
      distribution: "truncated_normal" (cut off at two deviations), "normal" or
        "uniform"; complex numbers are spread over a disk.
      in_axis, out_axis: axes of the shape that count inputs and outputs.
      batch_axis: axes that count independent layers.
      dtype: of the result, unless the initializer is given one.

    >>> import tetrad as jax
    >>> init = jax.nn.initializers.variance_scaling(1.0, "fan_in", "uniform")
    >>> init(jax.random.key(0), (300, 4)).shape
    (300, 4)
    """
    if mode not in _MODES:
        raise ValueError(
            f"variance_scaling: mode must be one of {', '.join(_MODES)}; got {mode!r}"
        )
    if distribution not in ("truncated_normal", "normal", "uniform"):
        raise ValueError(
            "variance_scaling: distribution must be truncated_normal, normal or uniform;"
            f" got {distribution!r}"
        )

    def init(key: Any, shape: Sequence[int], dtype: Any = dtype) -> Any:
        kind = _default(dtype)
        extents = shape_argument(shape, "an initializer")
        n = _MODES[mode](*_fans(extents, in_axis, out_axis, batch_axis))
        variance = convert.asarray(scale / n, kind)
        return _spread(key, extents, kind, distribution, variance)

    return init


def _spread(
    key: Any, shape: tuple[int, ...], dtype: Any, distribution: str, variance: Any
) -> Any:
    stddev = elementwise.sqrt(variance)
    plane = dtypes.kind(dtype) == "c"
    if distribution == "normal":
        return random.normal(key, shape, dtype) * stddev
    if distribution == "uniform":
        if plane:
            return _on_disk(key, shape, dtype) * stddev
        return random.uniform(key, shape, dtype, -1) * elementwise.sqrt(3 * variance)
    if plane:
        drawn = _within_two(key, shape, dtype)
        return drawn * (stddev / convert.asarray(_TRUNCATED_COMPLEX, dtype))
    drawn = random.truncated_normal(key, -2, 2, shape, dtype)
    return drawn * (stddev / convert.asarray(_TRUNCATED, dtype))


def _polar(key: Any, shape: tuple[int, ...], dtype: Any, radius: Any) -> Any:
    """Complex numbers of uniform angle; `radius` makes moduli of uniform numbers."""
    part = np.dtype(f"f{dtype.itemsize // 2}")
    moduli, angles = random.split(key)
    r = radius(random.uniform(moduli, shape, part).astype(dtype))
    angle = 2 * math.pi * random.uniform(angles, shape, part).astype(dtype)
    return r * transcendental.exp(1j * angle)


def _on_disk(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    return _polar(key, shape, dtype, lambda u: elementwise.sqrt(2 * u))


def _within_two(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Normal complex numbers of modulus below 2, by the inverse distribution."""
    inside = -math.expm1(-4.0)
    return _polar(
        key,
        shape,
        dtype,
        lambda u: elementwise.sqrt(-transcendental.log(1 - inside * u)),
    )


def _named(name: str, scale: float, mode: str, distribution: str) -> Any:
    """`variance_scaling` with the first three arguments fixed."""

    def make(
        in_axis: Axes = -2,
        out_axis: Axes = -1,
        batch_axis: Axes = (),
        dtype: Any = None,
    ) -> Initializer:
        return variance_scaling(
            scale, mode, distribution, in_axis, out_axis, batch_axis, dtype
        )

    make.__name__ = make.__qualname__ = name
    make.__doc__ = (
        f"`variance_scaling({scale}, {mode!r}, {distribution!r}, …)`, of which only the"
        " axes and the dtype remain to be chosen."
    )
    return make


glorot_uniform = _named("glorot_uniform", 1.0, "fan_avg", "uniform")
glorot_normal = _named("glorot_normal", 1.0, "fan_avg", "truncated_normal")
lecun_uniform = _named("lecun_uniform", 1.0, "fan_in", "uniform")
lecun_normal = _named("lecun_normal", 1.0, "fan_in", "truncated_normal")
he_uniform = _named("he_uniform", 2.0, "fan_in", "uniform")
he_normal = _named("he_normal", 2.0, "fan_in", "truncated_normal")
xavier_uniform, xavier_normal = glorot_uniform, glorot_normal
kaiming_uniform, kaiming_normal = he_uniform, he_normal


# ---------------------------------------------------------------------------- orthogonal


def orthogonal(
    scale: Any = 1.0, column_axis: int = -1, dtype: Any = None
) -> Initializer:
    """An initializer of orthonormal columns (rows, if there are fewer), times `scale`.

    The matrix has the axis `column_axis` for its columns, and all others for its rows.
    The initializer raises ValueError for shapes of fewer than two axes.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> q = jax.nn.initializers.orthogonal()(jax.random.key(0), (3, 2))
    >>> bool(jnp.allclose(q.T @ q, jnp.eye(2), atol=1e-6))
    True
    """

    def init(key: Any, shape: Sequence[int], dtype: Any = dtype) -> Any:
        kind = _default(dtype)
        extents = shape_argument(shape, "an initializer")
        if len(extents) < 2:
            raise ValueError(
                "orthogonal: weights must have two axes or more, got shape"
                f" {tuple(extents)}"
            )
        if 0 in extents:
            return create.zeros(extents, kind)
        columns = extents[column_axis]
        rest = list(extents)
        del rest[column_axis]
        q = random.orthogonal(key, math.prod(rest), (), kind, columns)
        q = shape_functions.reshape(q, (*rest, columns))
        moved: Any = shape_functions.moveaxis(q, -1, column_axis)
        return moved * convert.asarray(scale, kind)

    return init


def delta_orthogonal(
    scale: Any = 1.0, column_axis: int = -1, dtype: Any = None
) -> Initializer:
    """An initializer for convolutions: `orthogonal` in the middle of the window, else 0.

    Shapes are (*window, inputs, outputs), with a window of 1 to 3 axes and no more inputs
    than outputs; the initializer raises ValueError for others. Source: Xiao et al.,
    "Dynamical isometry and a mean field theory of CNNs", 2018.

    >>> import tetrad as jax
    >>> w = jax.nn.initializers.delta_orthogonal()(jax.random.key(0), (3, 2, 2))
    >>> [float(abs(m).sum()) > 0 for m in w]
    [False, True, False]
    """
    matrix = orthogonal(scale, column_axis, dtype)

    def init(key: Any, shape: Sequence[int], dtype: Any = dtype) -> Any:
        kind = _default(dtype)
        extents = shape_argument(shape, "an initializer")
        if len(extents) not in (3, 4, 5):
            raise ValueError(
                "delta_orthogonal: weights must have 3, 4 or 5 axes, got shape"
                f" {tuple(extents)}"
            )
        if extents[-2] > extents[-1]:
            raise ValueError(
                "delta_orthogonal: there must not be more inputs (axis -2) than outputs"
                f" (axis -1), got shape {tuple(extents)}"
            )
        middle = tuple((n - 1) // 2 for n in extents[:-2])
        values = matrix(key, extents[-2:], kind)
        window: Any = create.zeros(extents, kind)
        return window.at[middle].set(values)

    return init
