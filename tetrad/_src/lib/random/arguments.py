"""The arguments that samplers share: shapes, dtypes, parameters and pieces of arrays.

In: what users pass. Out: canonical values, or errors that name the sampler and argument.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tetrad._src.core.bind import aval_of
from tetrad._src.core.mesh import is_whole
from tetrad._src.numpy import convert
from tetrad._src.numpy import shape as shape_functions
from tetrad._src.numpy.axes import shape_argument
from tetrad._src.ops import shape as shape_ops
from tetrad._src.ops.convert import convert_element_type
from tetrad._src.ops.views import broadcast_in_dim
from tetrad._src.util import dtypes

Shape = Sequence[int]


def shape_of(shape: Any, name: str) -> tuple[int, ...]:
    """A shape; what is one already is not looked at for long."""
    if type(shape) is tuple:
        for extent in shape:
            if type(extent) is not int or extent < 0:
                break
        else:
            return shape
    return shape_argument(shape, f"jax.random.{name}")


def float_dtype(dtype: Any, name: str) -> Any:
    dtype = dtypes.canonicalize_dtype(float if dtype is None else dtype)
    if dtypes.kind(dtype) != "f":
        raise ValueError(
            f"jax.random.{name}: the dtype argument to {name} must be a float, got {dtype.name}"
        )
    if dtype.itemsize == 1 and dtypes.itemsize_bits(dtype) < 8:
        raise TypeError(
            f"jax.random.{name}: it draws numbers of 8 bits and more, but dtype is"
            f" {dtype.name}; draw float32 and convert, .astype('{dtype.name}')"
        )
    return dtype


def bound(x: Any, shape: tuple[int, ...], dtype: Any, name: str, what: str) -> Any:
    """A parameter in the dtype of the result, broadcast to its shape."""
    x = convert.operand(x, f"random.{name}", what)
    aval = aval_of(x)
    if not aval.ndim:
        if isinstance(x, (bool, int, float)):
            typed = dtype.type(x)
            return float(x) if aval_of(float(x)).dtype == dtype else typed
        return convert_element_type(x, dtype)
    try:
        fits = np.broadcast_shapes(aval.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            f"jax.random.{name}: {what} has shape {aval.shape}, which does not broadcast"
            f" to shape={shape}"
        )
    return shape_functions.broadcast_to(convert_element_type(x, dtype), shape)


def pick(x: Any, i: int) -> Any:
    """x[i] along the first axis."""
    return shape_ops.squeeze(shape_ops.slice_in_dim(x, i, i + 1, axis=0), (0,))


def parameters(
    name: str, shape: Any, dtype: Any, **values: Any
) -> tuple[tuple[int, ...], list[Any]]:
    """The shape of the draws, and the parameters of a distribution in their dtype.

    Without a `shape` it is the common shape of the parameters.
    """
    if shape is None:
        shapes = {
            what: aval_of(convert.operand(x, f"random.{name}", what)).shape
            for what, x in values.items()
        }
        try:
            shape = np.broadcast_shapes(*shapes.values())
        except ValueError:
            listed = " and ".join(f"{what} of shape {s}" for what, s in shapes.items())
            raise ValueError(
                f"jax.random.{name}: {listed} do not broadcast to a common shape"
            ) from None
    shape = shape_of(shape, name)
    return shape, [bound(x, shape, dtype, name, what) for what, x in values.items()]


def scalar(x: Any, dtype: Any, name: str, what: str) -> Any:
    """A parameter that is one number for all draws."""
    x = convert.operand(x, f"random.{name}", what)
    if aval_of(x).ndim:
        raise ValueError(
            f"jax.random.{name}: {what} must be one number, got {aval_of(x).long_name()}"
        )
    return bound(x, (), dtype, name, what)


def no_sharding(sharding: Any, name: str) -> None:
    """Refuses to draw an array that is spread over devices."""
    if not is_whole(sharding):
        raise NotImplementedError(
            f"jax.random.{name}: out_sharding is not available; draw on one device and"
            " move the result with jax.device_put(x, sharding)"
        )


def spread_out(a: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """A parameter, stretched to the shape of the draws."""
    a = a if aval_of(a).ndim else convert_element_type(a, dtype)
    if aval_of(a).shape == shape:
        return a
    ndim = aval_of(a).ndim
    return broadcast_in_dim(a, shape, range(len(shape) - ndim, len(shape)))


def increasing(name: str, **bounds: Any) -> None:
    """Raises if the first of two numbers is larger than the second."""
    (low_name, low), (high_name, high) = bounds.items()
    numbers = (int, float, np.integer, np.floating)
    if isinstance(low, numbers) and isinstance(high, numbers) and low > high:
        raise ValueError(
            f"jax.random.{name}: {low_name}={low} is larger than {high_name}={high}, so"
            " there is nothing between them to draw"
        )
