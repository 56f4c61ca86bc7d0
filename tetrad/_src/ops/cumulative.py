"""Running folds along one axis: sums, products, extremes and log-sums of exponentials.

What comes in: an array. What goes out: an array of the same shape in which each element
is the fold of the elements up to it along the axis (from it on, if `reverse`).

A running fold yₖ = yₖ₋₁ ∘ xₖ has the tangent tₖ = aₖ tₖ₋₁ + bₖ, where a and b come from
the derivative of ∘; `recurrence` solves that by doubling. `cumsum` is linear. On a
backend without a kernel the folds themselves are found by doubling.

Read `doubled` and `recurrence`, then the classes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import aval_of
from tetrad._src.core.op import Axis, Kind, Op
from tetrad._src.ops.axes import check_axis
from tetrad._src.ops.elementwise import (
    RoundingMethod,
    add,
    bitwise_and,
    div,
    eq,
    exp,
    gt,
    imag,
    is_finite,
    log1p,
    max,
    min,
    mul,
    neg,
    real,
    round,
    select,
    sub,
)
from tetrad._src.ops.elementwise import abs as absolute
from tetrad._src.ops.elementwise import complex as complex_
from tetrad._src.ops.families import Operand, check_operand
from tetrad._src.ops.reduce import limits
from tetrad._src.ops.shape import full_like, pad, slice_in_dim, zeros_like
from tetrad._src.util import dtypes

Combine = Callable[[Any, Any], Any]


def shifted(x: Any, by: int, axis: int, reverse: bool, fill: Any) -> Any:
    """`x` moved `by` places along `axis` (backwards if `reverse`), `fill` behind it."""
    aval = aval_of(x)
    n = aval.shape[axis]
    by = n if by > n else by
    config = [(0, 0, 0)] * aval.ndim
    config[axis] = (0, by, 0) if reverse else (by, 0, 0)
    kept = (
        slice_in_dim(x, by, n, axis=axis)
        if reverse
        else slice_in_dim(x, 0, n - by, axis=axis)
    )
    return pad(kept, aval.dtype.type(fill), config)


def doubled(x: Any, combine: Combine, identity: Any, axis: int, reverse: bool) -> Any:
    """The running fold of `x`, in ⌈log₂ n⌉ steps over the whole array."""
    by = 1
    while by < aval_of(x).shape[axis]:
        x = combine(shifted(x, by, axis, reverse, identity), x)
        by *= 2
    return x


def recurrence(a: Any, b: Any, axis: int, reverse: bool) -> Any:
    """The t with tₖ = aₖ tₖ₋₁ + bₖ along `axis`, beginning from zero; linear in b."""
    by = 1
    n = aval_of(b).shape[axis]
    while by < n:
        b = add(mul(a, shifted(b, by, axis, reverse, 0)), b)
        if 2 * by < n:
            a = mul(a, shifted(a, by, axis, reverse, 1))
        by *= 2
    return b


class Cumulative(Op):
    """A running fold along `axis`."""

    axis: int
    reverse: bool = False

    fold: ClassVar[str] = ""  # the name of the combiner

    kind = Kind.OPAQUE

    def type(self, operand: Aval) -> Aval:
        if not 0 <= self.axis < operand.ndim:
            raise ValueError(
                f"lax.{self.name}: axis {self.axis} does not exist in"
                f" {operand.long_name()}"
            )
        return operand

    def batch(self, axis: Axis, operand: Any) -> Any:
        return type(self)(self.axis + 1, self.reverse)(operand)

    def expand(self, operand: Any) -> Any:
        identity = self.identity(aval_of(operand).dtype)
        return doubled(operand, self.combined, identity, self.axis, self.reverse)

    def kernel(self, operand: Aval) -> tuple[str, dict[str, Any]]:
        """ "cumulative", and the fold, the axis and the direction."""
        return "cumulative", {"fold": self.fold, **self.params}

    def identity(self, dtype: Any) -> Any:
        """What an empty fold gives, as a Python number."""
        raise NotImplementedError

    def combined(self, x: Any, y: Any) -> Any:
        """x ∘ y, elementwise."""
        raise NotImplementedError


class Cumsum(Cumulative):
    """Running sums: out[k] = Σ_{j ≤ k} operand[j] along `axis`, or j ≥ k if `reverse`.

    Integers wrap. Raises TypeError for bool, ValueError if the axis does not exist.
    Source: https://numpy.org/doc/stable/reference/generated/numpy.cumsum.html

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> lax.cumsum(jnp.array([1, 2, 3]))
    Array([1, 3, 6], dtype=int32)
    """

    fold = "add"
    accepts = "fcui"
    linear = ((0,),)

    def transpose(self, ct: Any, operand: Any) -> tuple[Any, ...]:
        return (Cumsum(self.axis, not self.reverse)(ct),)

    def identity(self, dtype: Any) -> Any:
        return 0

    def combined(self, x: Any, y: Any) -> Any:
        return add(x, y)


class Nonlinear(Cumulative):
    """A running fold whose tangent is a recurrence with known coefficients."""

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        (x,), (tangent,) = primals, tangents
        ans = self(x)
        if not aval_of(x).inexact:
            return ans, None
        identity = self.identity(aval_of(x).dtype)
        before = shifted(ans, 1, self.axis, self.reverse, identity)
        a, b = self.coefficients(before, x, ans)
        b = tangent if b is None else mul(tangent, b)
        return ans, recurrence(a, b, self.axis, self.reverse)

    def coefficients(self, before: Any, x: Any, ans: Any) -> tuple[Any, Any]:
        """∂y/∂before and ∂y/∂x of y = before ∘ x."""
        raise NotImplementedError


class Cumprod(Nonlinear):
    """Running products: out[k] = Π_{j ≤ k} operand[j] along `axis`, j ≥ k if `reverse`.

    Integers wrap. Raises TypeError for bool, ValueError if the axis does not exist.
    Source: https://numpy.org/doc/stable/reference/generated/numpy.cumprod.html

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> lax.cumprod(jnp.array([1, 2, 3]))
    Array([1, 2, 6], dtype=int32)
    """

    fold = "mul"
    accepts = "fcui"

    def identity(self, dtype: Any) -> Any:
        return 1

    def combined(self, x: Any, y: Any) -> Any:
        return mul(x, y)

    def coefficients(self, before: Any, x: Any, ans: Any) -> tuple[Any, Any]:
        return x, before


class CumulativeExtremum(Nonlinear):
    """The tangent follows the element that is the extremum; a tie shares it."""

    accepts = "fcuib"

    def coefficients(self, before: Any, x: Any, ans: Any) -> tuple[Any, Any]:
        one, zero = full_like(x, 1), zeros_like(x)
        share = select(eq(before, x), full_like(x, 0.5), one)
        stays = select(eq(before, ans), share, zero)
        return stays, sub(one, stays)


class Cummax(CumulativeExtremum):
    """Running maxima: out[k] = max_{j ≤ k} operand[j] along `axis`, j ≥ k if `reverse`.

    NaN from the first NaN on. Complex numbers compare by real part, then imaginary
    part. ValueError if the axis does not exist.
    Source: https://openxla.org/stablehlo/spec#reduce_window

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> lax.cummax(jnp.array([2, 1, 3]))
    Array([2, 2, 3], dtype=int32)
    """

    fold = "max"

    def identity(self, dtype: Any) -> Any:
        return limits(dtypes.short_name(dtype))[0]

    def combined(self, x: Any, y: Any) -> Any:
        return max(x, y)


class Cummin(CumulativeExtremum):
    """Running minima: out[k] = min_{j ≤ k} operand[j] along `axis`, j ≥ k if `reverse`.

    NaN from the first NaN on. Complex numbers compare by real part, then imaginary
    part. ValueError if the axis does not exist.
    Source: https://openxla.org/stablehlo/spec#reduce_window

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> lax.cummin(jnp.array([2, 1, 3]))
    Array([2, 1, 1], dtype=int32)
    """

    fold = "min"

    def identity(self, dtype: Any) -> Any:
        return limits(dtypes.short_name(dtype))[1]

    def combined(self, x: Any, y: Any) -> Any:
        return min(x, y)


class Cumlogsumexp(Nonlinear):
    """Running log-sums of exponentials: out[k] = log Σ_{j ≤ k} exp(operand[j]).

    Along `axis`; over j ≥ k if `reverse`. Nothing overflows: the largest element is
    taken out. Of complex numbers, the principal logarithms. Raises TypeError for
    integers and bools, ValueError if the axis does not exist. Source: https://en.wikipedia.org/wiki/LogSumExp

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> lax.cumlogsumexp(jnp.array([0.0, 0.0]))
    Array([0.       , 0.6931472], dtype=float32)
    """

    fold = "logaddexp"
    accepts = "fc"

    def identity(self, dtype: Any) -> Any:
        return -float("inf")

    def expand(self, operand: Any) -> Any:
        out = super().expand(operand)
        if aval_of(out).kind != "c":
            return out
        angle = imag(out)
        turn = full_like(angle, 2 * math.pi)
        turns = round(div(angle, turn), RoundingMethod.TO_NEAREST_EVEN)
        return complex_(real(out), sub(angle, mul(turns, turn)))

    def combined(self, x: Any, y: Any) -> Any:
        largest = max(x, y)
        if aval_of(x).kind == "c":
            gap = sub(min(x, y), largest)
            known = bitwise_and(is_finite(real(gap)), is_finite(imag(gap)))
            gap = select(known, gap, zeros_like(gap))
            return select(known, add(largest, log1p(exp(gap))), largest)
        gap = neg(absolute(sub(x, y)))
        # Equal infinities have no difference; NaN is larger than everything.
        smooth = add(largest, log1p(exp(gap)))
        return select(is_finite(largest), smooth, largest)

    def coefficients(self, before: Any, x: Any, ans: Any) -> tuple[Any, Any]:
        def share(part: Any) -> Any:
            weight = exp(sub(part, ans))
            size = real(ans) if aval_of(ans).kind == "c" else ans
            known = gt(size, full_like(size, -float("inf")))
            return select(known, weight, zeros_like(ans))

        return share(before), share(x)


# --------------------------------------------------------------------- public functions


def _public(cls: type[Cumulative]) -> Callable[..., Any]:
    def function(operand: Operand, axis: int = 0, reverse: bool = False) -> Any:
        operand = check_operand(operand, cls.name)
        axis = check_axis(axis, aval_of(operand).ndim, cls.name)
        return cls(axis, bool(reverse))(operand)

    function.__name__ = function.__qualname__ = cls.name
    function.__doc__ = cls.__doc__
    function.__module__ = "tetrad.lax"
    return function


cumsum = _public(Cumsum)
cumprod = _public(Cumprod)
cummax = _public(Cummax)
cummin = _public(Cummin)
cumlogsumexp = _public(Cumlogsumexp)
