"""Writing windows at many positions: set, multiply, minimum and maximum.

What comes in: an array, integer index vectors, and windows of updates, as for
`scatter_add` in gather.py, whose forms these operations share. What goes out: the array
with the updates combined in, in row-major order of the updates. So where several
updates of a plain `scatter` go to one element, the last one stays.

Read the classes; then the public functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import Value, aval_of
from tetrad._src.core.op import Linear
from tetrad._src.ops.convert import convert_element_type
from tetrad._src.ops.elementwise import add, div, eq, mul, select
from tetrad._src.ops.families import Operand, check_operand
from tetrad._src.ops.gather import (
    GatherScatterMode,
    ScatterAdd,
    ScatterDimensionNumbers,
    ScatterOp,
    ScatterSub,
    look_at_windows,
)
from tetrad._src.ops.shape import constant, iota, reshape, zeros, zeros_like
from tetrad._src.util.config import config


class Scatter(ScatterOp):
    """`operand` with windows replaced by those of `updates`, one for each index vector.

    out = operand; out[start(indices[i]) + w] = updates[…i, …w], in row-major order of
    the updates: the last one stays. Windows that stick out are treated as `mode` says.
    TypeError if the dimension numbers do not fit, dtypes differ or the indices are not
    integers. Source: https://openxla.org/stablehlo/spec#scatter

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> at = lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> lax.scatter(jnp.zeros(3), jnp.array([[1], [1]]), jnp.array([2.0, 3.0]), at)
    Array([0., 3., 0.], dtype=float32)
    """

    linear = ((0, 2),)

    def transpose(
        self, ct: Any, operand: Any, indices: Any, updates: Any
    ) -> tuple[Any, ...]:
        ct_operand = ct_updates = None
        written = updates.aval if isinstance(updates, Linear) else aval_of(updates)
        if isinstance(operand, Linear):
            blank = zeros(Aval(written.shape, aval_of(ct).dtype))
            ct_operand = self(ct, indices, blank)
        if isinstance(updates, Linear):
            ct_updates = self.reader(aval_of(ct), written, 0)(ct, indices)
            if not self.unique_indices:
                stays = self.stays(aval_of(ct).shape, indices, written)
                ct_updates = select(stays, ct_updates, zeros_like(ct_updates))
        return ct_operand, None, ct_updates

    def stays(self, shape: tuple[int, ...], indices: Any, updates: Aval) -> Any:
        """Whether each update is the last one that goes to its element.

        Scatters the number of each update and reads back which one is there.
        """
        dtype = np.dtype(np.int32 if updates.size < 1 << 31 else np.int64)
        numbers = reshape(iota(dtype, updates.size), updates.shape)
        nobody = constant(Aval(shape, dtype), -1)
        last = self(nobody, indices, numbers)
        read = self.reader(aval_of(last), updates, -1)
        return eq(read(last, indices), numbers)

    def combine(self, block: Any, old: Any, new: Any) -> Any:
        return new


class ScatterMul(ScatterOp):
    """`operand` with windows of `updates` multiplied in, one for each index vector.

    As `scatter_add`, with ×= for +=. It is differentiable with respect to the updates
    only with `unique_indices=True`.

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> at = lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> lax.scatter_mul(jnp.ones(3), jnp.array([[1], [1]]), jnp.array([2.0, 3.0]), at)
    Array([1., 6., 1.], dtype=float32)
    """

    name = "scatter-mul"
    accepts = "fcuib"
    linear = ((0,),)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        operand, indices, updates = primals
        d_operand, _, d_updates = tangents
        ans = self(operand, indices, updates)
        tangent = None
        if d_operand is not None:
            tangent = self(d_operand, indices, updates)
        if d_updates is not None:
            if not self.unique_indices:
                raise NotImplementedError(
                    "the derivative of scatter_mul with respect to its updates needs"
                    " unique_indices=True: x.at[i].multiply(y, unique_indices=True)"
                )
            read = self.reader(aval_of(operand), aval_of(updates), 0)
            scaled = mul(d_updates, read(operand, indices))
            plus = ScatterAdd(*self.fields())
            part = plus(zeros_like(operand), indices, scaled)
            tangent = part if tangent is None else add(tangent, part)
        return ans, tangent

    def transpose(
        self, ct: Any, operand: Any, indices: Any, updates: Any
    ) -> tuple[Any, ...]:
        return self(ct, indices, updates), None, None

    def combine(self, block: Any, old: Any, new: Any) -> Any:
        return block.mul(old, new)


class ScatterExtremum(ScatterOp):
    """The larger or smaller of operand and updates; tangents of ties are averaged."""

    accepts = "fcuib"

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        operand, indices, updates = primals
        d_operand, _, d_updates = tangents
        ans = self(operand, indices, updates)
        if d_operand is None and d_updates is None:
            return ans, None
        dtype = aval_of(ans).dtype
        plus = ScatterAdd(*self.fields())
        read = self.reader(aval_of(ans), aval_of(updates), np.nan)
        hit_operand = convert_element_type(eq(operand, ans), dtype)
        hit_updates = convert_element_type(eq(updates, read(ans, indices)), dtype)
        count = plus(hit_operand, indices, hit_updates)
        parts = [
            zeros_like(hit) if tangent is None else mul(tangent, hit)
            for tangent, hit in ((d_operand, hit_operand), (d_updates, hit_updates))
        ]
        return ans, div(plus(parts[0], indices, parts[1]), count)


class ScatterMin(ScatterExtremum):
    """`operand` with the minimum of it and `updates` taken, for each index vector.

    As `scatter_add`, with the minimum for the sum.

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> at = lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> lax.scatter_min(jnp.ones(2), jnp.array([[1], [1]]), jnp.array([0.5, 3.0]), at)
    Array([1. , 0.5], dtype=float32)
    """

    name = "scatter-min"

    def combine(self, block: Any, old: Any, new: Any) -> Any:
        return block.min(old, new)


class ScatterMax(ScatterExtremum):
    """`operand` with the maximum of it and `updates` taken, for each index vector.

    As `scatter_add`, with the maximum for the sum.

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> at = lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> lax.scatter_max(jnp.ones(2), jnp.array([[1], [1]]), jnp.array([0.5, 3.0]), at)
    Array([1., 3.], dtype=float32)
    """

    name = "scatter-max"

    def combine(self, block: Any, old: Any, new: Any) -> Any:
        return block.max(old, new)


# --------------------------------------------------------------------- public functions


def _numbers(given: Any, name: str) -> ScatterDimensionNumbers:
    if not isinstance(given, ScatterDimensionNumbers):
        raise TypeError(
            f"lax.{name}: dimension_numbers must be lax.ScatterDimensionNumbers, got"
            f" {given!r}"
        )
    return given


def _look(
    name: str,
    operand: Any,
    indices: Any,
    updates: Any,
    given: ScatterDimensionNumbers,
) -> None:
    """Looks whether windows stick out that the caller did not say what to do with."""
    numbers = given.as_gather()
    gone = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    window = iter([aval_of(updates).shape[d] for d in numbers.offset_dims])
    ndim = aval_of(operand).ndim
    sizes = [1 if d in gone else next(window, 1) for d in range(ndim)]
    look_at_windows(name, operand, indices, numbers, sizes)


def _public(cls: type[ScatterOp], name: str) -> Callable[..., Any]:
    def function(
        operand: Operand,
        scatter_indices: Operand,
        updates: Operand,
        dimension_numbers: ScatterDimensionNumbers,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
    ) -> Any:
        operand = check_operand(operand, name)
        indices = check_operand(scatter_indices, name, 1)
        updates = check_operand(updates, name, 2)
        if not isinstance(updates, Value):
            # Numbers, and NumPy arrays that hold the same, take the operand's dtype.
            dtype = aval_of(operand).dtype
            if not np.ndim(updates) and not isinstance(updates, np.generic):
                updates = dtype.type(updates)
        numbers = _numbers(dimension_numbers, name)
        if mode is None and config.tetrad_bounds == "error":
            _look(name, operand, indices, updates, numbers)
        op = cls(
            numbers,
            bool(indices_are_sorted),
            bool(unique_indices),
            GatherScatterMode.from_any(mode),
        )
        return op(operand, indices, updates)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = cls.__doc__
    function.__module__ = "tetrad.lax"
    return function


scatter = _public(Scatter, "scatter")
scatter_add = _public(ScatterAdd, "scatter_add")
scatter_sub = _public(ScatterSub, "scatter_sub")
scatter_mul = _public(ScatterMul, "scatter_mul")
scatter_min = _public(ScatterMin, "scatter_min")
scatter_max = _public(ScatterMax, "scatter_max")


def scatter_apply(
    operand: Operand,
    scatter_indices: Operand,
    func: Callable[[Any], Any],
    dimension_numbers: ScatterDimensionNumbers,
    *,
    update_shape: Sequence[int] = (),
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
) -> Any:
    """`operand` with an elementwise function applied to the elements that indices name.

    `update_shape` is the shape that updates would have. An element named several times
    is changed once.

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> at = lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> lax.scatter_apply(jnp.ones(2), jnp.array([[1]]), lax.neg, at, update_shape=(1,))
    Array([ 1., -1.], dtype=float32)
    """
    operand = check_operand(operand, "scatter_apply")
    shape = tuple([int(n) for n in update_shape])
    dtype = aval_of(operand).dtype
    op = Scatter(
        _numbers(dimension_numbers, "scatter_apply"),
        bool(indices_are_sorted),
        bool(unique_indices),
        GatherScatterMode.from_any(mode),
    )
    read = op.reader(aval_of(operand), Aval(shape, dtype), 0)
    changed = func(read(operand, scatter_indices))
    return op(operand, scatter_indices, changed)
