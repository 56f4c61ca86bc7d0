"""The arguments that samplers share: shapes, dtypes, parameters and pieces of arrays.

In: what users pass. Out: canonical values, or errors that name the sampler and argument.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tetrad._src.core.bind import aval_of
from tetrad._src.numpy import convert
from tetrad._src.numpy import shape as shape_functions
from tetrad._src.numpy.axes import shape_argument
from tetrad._src.ops import shape as shape_ops
from tetrad._src.ops.convert import convert_element_type
from tetrad._src.util import dtypes

Shape = Sequence[int]


def shape_of(shape: Any, name: str) -> tuple[int, ...]:
    return shape_argument(shape, f"jax.random.{name}")


def float_dtype(dtype: Any, name: str) -> Any:
    dtype = dtypes.canonicalize_dtype(float if dtype is None else dtype)
    if dtypes.kind(dtype) != "f":
        raise ValueError(
            f"jax.random.{name}: it draws floating-point numbers, but dtype is {dtype.name}"
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
