"""Reductions: operations that fold axes of an array with an associative combiner.

What comes in: an array and the axes to fold. What goes out: an array without these
axes. `reduce_sum` stands in shape.py, as the transpose of `broadcast_in_dim`.

Each class states the fold for the CPU in four steps (`initial`, `step`, `merge`,
`finish`), so that the machine may cut the axes into pieces and merge the states in any
order. Some say more: that elements may be taken in any order (`any_order`), two at a time
(`pair`), or that an index is that of an element which another fold finds (`peak`).
Read `FoldReduce` first, then the folds, the argument reductions, and last
`fold_of`, which recognises a fold in a function of two scalars.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import Value, aval_of
from tetrad._src.core.jaxpr import Jaxpr
from tetrad._src.ops import elementwise
from tetrad._src.ops.convert import canonical, convert_element_type
from tetrad._src.ops.elementwise import add, div, eq, mul
from tetrad._src.ops.families import Operand, Reduce, Shape, check_operand
from tetrad._src.ops.shape import (
    broadcast_in_dim,
    check_axes,
    check_axis,
    concatenate,
    reduce_sum,
    slice,
    up,
)
from tetrad._src.ops.views import fold_of_single
from tetrad._src.util import dtypes

Axes = tuple[int, ...]


def kept(ndim: int, axes: Sequence[int]) -> Axes:
    """The axes of a rank that a reduction over `axes` keeps."""
    return tuple([i for i in range(ndim) if i not in axes])


def limits(type: str) -> tuple[Any, Any]:
    """The identities of `max` and `min`, for a dtype by its short name (`f32`, `u8`).

    Complex numbers compare by real, then by imaginary part.
    """
    if type in ("bool", "i1"):
        return False, True
    if type[0] == "c":
        return complex(-math.inf, -math.inf), complex(math.inf, math.inf)
    small = dtypes.SMALL_BY_SHORT_NAME.get(type)
    if small is not None:
        return dtypes.extremes(small)
    if type.lstrip("b")[0] == "f":
        return -math.inf, math.inf
    bits = int(type[1:])
    if type[0] == "u":
        return 0, (1 << bits) - 1
    return -(1 << (bits - 1)), (1 << (bits - 1)) - 1


# ------------------------------------------------------------------------------- folds


class FoldReduce(Reduce):
    """Folds `axes` with a combiner of two elements; the state is one element."""

    axes: Axes

    def type(self, operand: Aval) -> Aval:
        return operand.drop(check_axes(self.axes, operand.ndim, self.name))

    def batch(self, axis: Any, operand: Any) -> Any:
        return type(self)(up(self.axes))(operand)

    def simplify(self, operand: Any) -> Any:
        return fold_of_single(operand, self.axes)

    def identity(self, type: str) -> Any:
        """What an empty fold gives, as a Python number; `type` is a dtype's short name."""
        raise NotImplementedError

    def combine(self, block: Any, old: Any, new: Any) -> Any:
        """The combiner of two elements."""
        raise NotImplementedError

    def initial(self, block: Any, type: str) -> tuple[Any, ...]:
        return (block.constant(self.identity(type), type),)

    def step(self, block: Any, state: Any, x: Any, index: Any) -> tuple[Any, ...]:
        return (self.combine(block, state[0], x),)

    def merge(self, block: Any, state: Any, other: Any) -> tuple[Any, ...]:
        return (self.combine(block, state[0], other[0]),)

    def finish(self, block: Any, state: Any) -> Any:
        return state[0]


class ChooserReduce(FoldReduce):
    """A fold that picks one element; tangents of elements that tie are averaged."""

    accepts = "fcuib"

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        (operand,), (tangent,) = primals, tangents
        ans = self(operand)
        aval = aval_of(operand)
        if not aval.inexact:
            return ans, None
        chosen = broadcast_in_dim(ans, aval.shape, kept(aval.ndim, self.axes))
        hit = convert_element_type(eq(operand, chosen), aval.dtype)
        total = reduce_sum(mul(tangent, hit), self.axes)
        return ans, div(total, reduce_sum(hit, self.axes))


class ExtremeReduce(ChooserReduce):
    """The largest or the smallest element; NaN if there is one.

    The order of +0 and −0, and that of NaN, cost more than the rest and matter rarely.
    So the state of floats has three parts: the best element that is no NaN, the signs of
    all elements (those of zeros, if that is all there is at the end), and whether there
    was no NaN. What waits for the state before is one instruction for each.
    """

    every: ClassVar[int]  # the bits that `signs` starts with

    def any_order(self, type: str) -> bool:
        return type[0] != "c"

    def beats(self, block: Any, x: Any, y: Any) -> Any:
        """Whether x is more extreme than y; not if one of them is NaN."""
        raise NotImplementedError

    def signs(self, block: Any, x: Any, y: Any) -> Any:
        """The sign bit that wins, of two."""
        raise NotImplementedError

    def initial(self, block: Any, type: str) -> tuple[Any, ...]:
        best = block.constant(self.identity(type), type)
        bits = _BITS.get(type)
        if bits is None:
            return (best,)
        return best, block.constant(self.every, bits), block.constant(True, "i1")

    def step(self, block: Any, state: Any, x: Any, index: Any) -> tuple[Any, ...]:
        if len(state) == 1:
            return (self.combine(block, state[0], x),)
        return self.merge(block, state, (x, _bits(block, x), block.eq(x, x)))

    def pair(self, block: Any, state: Any, x: Any, y: Any) -> tuple[Any, ...]:
        if len(state) == 1:
            return (self.combine(block, state[0], self.combine(block, x, y)),)
        best = self.better(block, x, y)  # y if one of them is NaN
        signs = self.signs(block, _bits(block, x), _bits(block, y))
        known = block.ordered(x, y)
        return self.merge(block, state, (best, signs, known))

    def better(self, block: Any, x: Any, y: Any) -> Any:
        """The more extreme of two; y if one of them is NaN."""
        return block.select(self.beats(block, x, y), x, y)

    def merge(self, block: Any, state: Any, other: Any) -> tuple[Any, ...]:
        if len(state) == 1:
            return (self.combine(block, state[0], other[0]),)
        best = self.better(block, other[0], state[0])
        signs = self.signs(block, state[1], other[1])
        return best, signs, block.and_(state[2], other[2])

    def finish(self, block: Any, state: Any) -> Any:
        best = state[0]
        if len(state) == 1:
            return best
        wide = "f64" if best.type == "f64" else "f32"
        bits = block.and_(state[1], limits(_BITS[wide])[0])
        zero = block.convert(block.bitcast(bits, wide), best.type)
        best = block.select(block.eq(best, 0), zero, best)
        return block.select(state[2], best, math.nan)


_BITS = {"f32": "i32", "f64": "i64", "f16": "i32", "bf16": "i32"}


def _bits(block: Any, x: Any) -> Any:
    """The bits of a float as a signed integer; short floats are widened."""
    wide = "f64" if x.type == "f64" else "f32"
    return block.bitcast(block.convert(x, wide), _BITS[wide])


class ReduceMax(ExtremeReduce):
    """The largest element along `axes`: out[i] = maxₖ operand[i, k].

    NaN if there is one; −∞ (or the dtype's smallest value) over no elements. Complex
    numbers compare by real part, then imaginary part. Raises ValueError for axes that the
    array does not have or that are named twice.
    Source: https://openxla.org/stablehlo/spec#reduce

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> lax.reduce_max(jnp.array([[1, 5], [4, 2]]), (0,))
    Array([4, 5], dtype=int32)
    """

    def identity(self, type: str) -> Any:
        return limits(type)[0]

    def combine(self, block: Any, old: Any, new: Any) -> Any:
        return block.max(old, new)

    every = -1

    def beats(self, block: Any, x: Any, y: Any) -> Any:
        return block.gt(x, y)

    def signs(self, block: Any, x: Any, y: Any) -> Any:
        return block.and_(x, y)  # negative if all are

    hlo = "stablehlo.maximum"


class ReduceMin(ExtremeReduce):
    """The smallest element along `axes`: out[i] = minₖ operand[i, k].

    NaN if there is one; +∞ (or the dtype's largest value) over no elements. Complex
    numbers compare by real part, then imaginary part. Raises ValueError for axes that the
    array does not have or that are named twice.
    Source: https://openxla.org/stablehlo/spec#reduce

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> lax.reduce_min(jnp.array([[1, 5], [4, 2]]), (0,))
    Array([1, 2], dtype=int32)
    """

    def identity(self, type: str) -> Any:
        return limits(type)[1]

    def combine(self, block: Any, old: Any, new: Any) -> Any:
        return block.min(old, new)

    every = 0

    def beats(self, block: Any, x: Any, y: Any) -> Any:
        return block.lt(x, y)

    def signs(self, block: Any, x: Any, y: Any) -> Any:
        return block.or_(x, y)  # negative if one is

    hlo = "stablehlo.minimum"


class ReduceProd(FoldReduce):
    """The product along `axes`: out[i] = Πₖ operand[i, k]; 1 over no elements.

    Raises TypeError for bool, ValueError for axes that the array does not have or that
    are named twice. Source: https://openxla.org/stablehlo/spec#reduce

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> lax.reduce_prod(jnp.array([[1, 5], [4, 2]]), (0,))
    Array([ 4, 10], dtype=int32)
    """

    accepts = "fcui"

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        (operand,), (tangent,) = primals, tangents
        ans = self(operand)
        if not aval_of(operand).inexact:
            return ans, None
        return ans, _tangent_of_product(operand, tangent, self.axes)

    def identity(self, type: str) -> Any:
        return 1

    def any_order(self, type: str) -> bool:
        return type[0] in "iu"

    def combine(self, block: Any, old: Any, new: Any) -> Any:
        return block.mul(old, new)

    hlo = "stablehlo.multiply"


def _tangent_of_product(x: Any, tangent: Any, axes: Axes) -> Any:
    """Σₖ tangent[k] Π_{j≠k} x[j], by halving: no division, so zeros are no problem."""
    for axis in sorted(axes, reverse=True):
        size = aval_of(x).shape[axis]
        while size > 1:
            half = size // 2
            first, second, rest = _cut(x, axis, half, size)
            d_first, d_second, d_rest = _cut(tangent, axis, half, size)
            x = mul(first, second)
            tangent = add(mul(d_first, second), mul(first, d_second))
            if rest is not None:
                x = concatenate([x, rest], axis)
                tangent = concatenate([tangent, d_rest], axis)
            size = half + size % 2
        # One element is its own product; over no elements the tangent is zero.
        x = ReduceProd((axis,))(x)
        tangent = reduce_sum(tangent, (axis,))
    return tangent


def _cut(x: Any, axis: int, half: int, size: int) -> tuple[Any, Any, Any]:
    """x[:half], x[half : 2 * half] and, if `size` is odd, the last element."""
    shape = aval_of(x).shape

    def part(start: int, limit: int) -> Any:
        starts = [start if i == axis else 0 for i in range(len(shape))]
        ends = [limit if i == axis else n for i, n in enumerate(shape)]
        return slice(x, starts, ends)

    rest = part(2 * half, size) if size % 2 else None
    return part(0, half), part(half, 2 * half), rest


class BitwiseReduce(FoldReduce):
    """A fold of bits."""

    accepts = "uib"

    def any_order(self, type: str) -> bool:
        return True


class ReduceAnd(BitwiseReduce):
    """Bitwise (for bool: logical) and of the elements along `axes`.

    All bits set over no elements. Raises TypeError for floats and complex numbers.
    Source: https://openxla.org/stablehlo/spec#reduce

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> lax.reduce_and(jnp.array([[True, False], [True, True]]), (0,))
    Array([ True, False], dtype=bool)
    """

    def identity(self, type: str) -> Any:
        smallest, largest = limits(type)
        return -1 if smallest else largest

    def combine(self, block: Any, old: Any, new: Any) -> Any:
        return block.and_(old, new)

    hlo = "stablehlo.and"


class ReduceOr(BitwiseReduce):
    """Bitwise (for bool: logical) or of the elements along `axes`.

    No bits set over no elements. Raises TypeError for floats and complex numbers.
    Source: https://openxla.org/stablehlo/spec#reduce

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> lax.reduce_or(jnp.array([[True, False], [True, False]]), (0,))
    Array([ True, False], dtype=bool)
    """

    def identity(self, type: str) -> Any:
        return 0

    def combine(self, block: Any, old: Any, new: Any) -> Any:
        return block.or_(old, new)

    hlo = "stablehlo.or"


class ReduceXor(BitwiseReduce):
    """Bitwise (for bool: logical) exclusive or of the elements along `axes`.

    No bits set over no elements. Raises TypeError for floats and complex numbers.
    Source: https://openxla.org/stablehlo/spec#reduce

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> lax.reduce_xor(jnp.array([[1, 3], [2, 2]]), (0,))
    Array([3, 1], dtype=int32)
    """

    def identity(self, type: str) -> Any:
        return 0

    def combine(self, block: Any, old: Any, new: Any) -> Any:
        return block.xor(old, new)

    hlo = "stablehlo.xor"


# ------------------------------------------------------------------ argument reductions

_LAST = (1 << 63) - 1


class ArgReduce(Reduce):
    """Where along one axis the extreme element is; the state is (element, index).

    NaN is more extreme than everything, and the lowest index wins a tie, so states
    merge in any order. A state that has met nothing but the least extreme element has
    no index yet: if that is all there is, the first of them wins. Where that is quicker,
    a machine finds the element first (`peak`), and then where it is (`same`).
    """

    axes: Axes
    index_dtype: Any

    accepts = "fcuib"
    sets_weak = True

    def type(self, operand: Aval) -> Aval:
        if len(self.axes) != 1 or not 0 <= self.axes[0] < operand.ndim:
            raise ValueError(
                f"{self.name}: axes={self.axes} must name one axis of an array of shape"
                f" {operand.shape}"
            )
        if dtypes.kind(self.index_dtype) not in "iu":
            raise TypeError(
                f"{self.name}: index_dtype must be an integer type, got"
                f" {np.dtype(self.index_dtype).name}"
            )
        if operand.shape[self.axes[0]] == 0:
            raise ValueError(
                f"{self.name}: reductions to an element require non-empty reduced"
                f" dimension, but axis {self.axes[0]} of shape {operand.shape} is empty"
            )
        return Aval(operand.drop(self.axes).shape, self.index_dtype)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        return self(*primals), None

    def batch(self, axis: Any, operand: Any) -> Any:
        return type(self)(up(self.axes), self.index_dtype)(operand)

    def identity(self, type: str) -> Any:
        """The least extreme element."""
        raise NotImplementedError

    def beats(self, block: Any, x: Any, y: Any) -> Any:
        """Whether x is more extreme than y, NaN aside."""
        raise NotImplementedError

    def reaches(self, block: Any, x: Any, y: Any) -> Any:
        """Whether x is as extreme as y or more; not if one of them is NaN."""
        raise NotImplementedError

    def initial(self, block: Any, type: str) -> tuple[Any, ...]:
        element = block.constant(self.identity(type), type)
        return element, block.constant(_LAST, "i64")

    def any_order(self, type: str) -> bool:
        return type[0] != "c"

    def extreme(self) -> FoldReduce:
        """The fold to the element itself."""
        raise NotImplementedError

    def peak(self, type: str) -> FoldReduce | None:
        return self.extreme() if self.any_order(type) else None

    def overtakes(self, block: Any, x: Any, best: Any) -> Any:
        """Whether x, which comes later, is more extreme."""
        take = self.beats(block, x, best)
        if _is_float(x.type):
            take = block.or_(take, block.and_(block.ne(x, x), block.eq(best, best)))
        return take

    def same(self, block: Any, x: Any, best: Any) -> Any:
        """Whether x is as extreme as the most extreme element."""
        same = block.eq(x, best)
        if _is_float(x.type):
            same = block.or_(same, block.and_(block.ne(x, x), block.ne(best, best)))
        return same

    def step(self, block: Any, state: Any, x: Any, index: Any) -> tuple[Any, ...]:
        best, at = state  # of lower indices: a tie changes nothing
        if _is_float(x.type):
            known = block.eq(best, best)
            take = block.and_(block.not_(self.reaches(block, best, x)), known)
        elif x.type[0] == "c":
            return self.merge(block, state, (x, index))
        else:
            take = self.beats(block, x, best)
        return block.select(take, x, best), block.select(take, index, at)

    def merge(self, block: Any, state: Any, other: Any) -> tuple[Any, ...]:
        (x, i), (y, j) = state, other
        better = self.beats(block, y, x)
        tie = block.eq(x, y)
        if x.type[0] == "c" or _is_float(x.type):
            x_nan, y_nan = block.ne(x, x), block.ne(y, y)
            better = block.or_(better, block.and_(y_nan, block.not_(x_nan)))
            tie = block.or_(tie, block.and_(x_nan, y_nan))
        take = block.or_(better, block.and_(tie, block.lt(j, i)))
        return block.select(take, y, x), block.select(take, j, i)

    def finish(self, block: Any, state: Any) -> Any:
        index = state[1]
        index = block.select(block.eq(index, _LAST), 0, index)
        return block.convert(index, block.type_of(self.index_dtype))


def _is_float(type: str) -> bool:
    return type.lstrip("b")[0] == "f"


class Argmax(ArgReduce):
    """The index of the largest element along one axis: argmaxₖ operand[i, k].

    The first NaN wins, then the lowest index among equals. Complex numbers compare by
    real part, then imaginary part. Raises ValueError if the axis is empty or does not
    exist, TypeError if `index_dtype` is no integer dtype.
    Source: https://openxla.org/stablehlo/spec#reduce

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> lax.argmax(jnp.array([[1, 5], [4, 2]]), 0, "int32")
    Array([1, 0], dtype=int32)
    """

    def identity(self, type: str) -> Any:
        return limits(type)[0]

    def extreme(self) -> FoldReduce:
        return ReduceMax(self.axes)

    def beats(self, block: Any, x: Any, y: Any) -> Any:
        return _greater(block, x, y)

    def reaches(self, block: Any, x: Any, y: Any) -> Any:
        return block.ge(x, y)


class Argmin(ArgReduce):
    """The index of the smallest element along one axis: argminₖ operand[i, k].

    The first NaN wins, then the lowest index among equals. Complex numbers compare by
    real part, then imaginary part. Raises ValueError if the axis is empty or does not
    exist, TypeError if `index_dtype` is no integer dtype.
    Source: https://openxla.org/stablehlo/spec#reduce

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> lax.argmin(jnp.array([[1, 5], [4, 2]]), 0, "int32")
    Array([0, 1], dtype=int32)
    """

    def identity(self, type: str) -> Any:
        return limits(type)[1]

    def extreme(self) -> FoldReduce:
        return ReduceMin(self.axes)

    def beats(self, block: Any, x: Any, y: Any) -> Any:
        return _greater(block, y, x)

    def reaches(self, block: Any, x: Any, y: Any) -> Any:
        return block.le(x, y)


def _greater(block: Any, x: Any, y: Any) -> Any:
    if x.type == "i1":
        return block.and_(x, block.not_(y))
    return block.gt(x, y)


# --------------------------------------------------------------------- public functions


def _fold(cls: type[FoldReduce]) -> Callable[[Operand, Sequence[int]], Any]:
    """The public function of a fold."""

    def function(operand: Operand, axes: Sequence[int]) -> Any:
        x = check_operand(operand, cls.name)
        return cls(check_axes(axes, aval_of(x).ndim, cls.name))(x)

    function.__name__ = function.__qualname__ = cls.name
    function.__doc__ = cls.__doc__
    function.__module__ = "tetrad.lax"
    return function


def _argument(cls: type[ArgReduce]) -> Callable[[Operand, int, Any], Any]:
    """The public function of an argument reduction."""

    def function(operand: Operand, axis: int, index_dtype: Any) -> Any:
        x = check_operand(operand, cls.name)
        axis = check_axis(axis, aval_of(x).ndim, cls.name)
        return cls((axis,), canonical(index_dtype))(x)

    function.__name__ = function.__qualname__ = cls.name
    function.__doc__ = cls.__doc__
    function.__module__ = "tetrad.lax"
    return function


reduce_max = _fold(ReduceMax)
reduce_min = _fold(ReduceMin)
reduce_prod = _fold(ReduceProd)
reduce_and = _fold(ReduceAnd)
reduce_or = _fold(ReduceOr)
reduce_xor = _fold(ReduceXor)
argmax = _argument(Argmax)
argmin = _argument(Argmin)


# Which fold a combiner of two scalars is. A sum is added up by `reduce_sum`.
_FOLDS: dict[str, Any] = {
    "add": (reduce_sum, 0, elementwise.add),
    "mul": (reduce_prod, 1, elementwise.mul),
    "max": (reduce_max, None, elementwise.max),
    "min": (reduce_min, None, elementwise.min),
    "and": (reduce_and, None, elementwise.bitwise_and),
    "or": (reduce_or, 0, elementwise.bitwise_or),
    "xor": (reduce_xor, 0, elementwise.bitwise_xor),
}


def fold_of(
    computation: Jaxpr, consts: int, x: Operand, init: Operand, axes: Shape
) -> Any:
    """`x` folded by a jaxpr of two scalars, if an operation does that; else None.

    `consts` counts the closed-over values of `computation`. `init` has the dtype of `x`.
    """
    name = combiner_of(computation) if not consts else None
    if name is None:
        return None
    fold, identity, combine = _FOLDS[name]
    out = fold(x, axes)
    if not isinstance(init, Value):
        if identity is None:
            identity = _IDENTITIES[name](dtypes.short_name(aval_of(x).dtype))
        if init == np.asarray(identity).astype(aval_of(x).dtype):
            return out
    return combine(broadcast_in_dim(init, aval_of(out).shape, ()), out)


_IDENTITIES: dict[str, Callable[[str], Any]] = {
    "max": lambda type: limits(type)[0],
    "min": lambda type: limits(type)[1],
    "and": ReduceAnd(()).identity,
}


def combiner_of(jaxpr: Jaxpr) -> str | None:
    """The name of the one operation that a jaxpr applies to its two inputs."""
    if len(jaxpr.eqns) != 1:
        return None
    (eqn,) = jaxpr.eqns
    once = jaxpr.outs == list(eqn.outs) and set(eqn.ins) == set(jaxpr.ins)
    if once and len(eqn.ins) == 2 and eqn.op.name in _FOLDS:
        return eqn.op.name
    return None
