"""Reductions over windows that slide along the axes: pooling, and what it needs.

What comes in: an array and a `Sliding`, which says for every axis how long a window is,
how far it moves, what surrounds the array and how it is spread. What goes out: one
element for each place of the window. On the CPU a window is an index map (`Windows`): no
copy of overlapping parts exists, and a reduction over windows is one kernel.

Read `Sliding`, `Windows`, then the reductions, then the public functions.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import aval_of
from tetrad._src.core.op import Axis
from tetrad._src.ops.arithmetic import add, div, mul, rem
from tetrad._src.ops.families import Operand, Rearrange, check_operand
from tetrad._src.ops.gather import index_take
from tetrad._src.ops.reduce import Argmax, Argmin, ReduceMax, ReduceMin, limits
from tetrad._src.ops.shape import ints, reshape
from tetrad._src.ops.slices import pad, slice, stack
from tetrad._src.ops.views import (
    ReduceSum,
    broadcasted_iota,
    full_like,
)
from tetrad._src.util import dtypes

Shape = tuple[int, ...]
Pairs = tuple[tuple[int, int], ...]
I32 = np.dtype(np.int32)


class Sliding(NamedTuple):
    """How windows slide; one entry for every axis of the operand.

    `padding` surrounds the operand after `base_dilation` - 1 elements were put between
    each two. A window takes every `window_dilation`-th element.
    """

    window_dimensions: Shape
    window_strides: Shape
    padding: Pairs
    base_dilation: Shape
    window_dilation: Shape

    def reach(self) -> Shape:
        """How long windows are with what they skip."""
        return tuple(
            [
                (n - 1) * d + 1
                for n, d in zip(self.window_dimensions, self.window_dilation)
            ]
        )

    def padded(self, shape: Shape) -> Shape:
        """The extents after dilation and padding."""
        return tuple(
            [
                low + high + (max(n - 1, 0) * d + min(n, 1))
                for n, d, (low, high) in zip(shape, self.base_dilation, self.padding)
            ]
        )

    def out_shape(self, shape: Shape) -> Shape:
        """How many places windows have along each axis."""
        return tuple(
            [
                max((n - r) // s + 1, 0) if n >= r else 0
                for n, r, s in zip(
                    self.padded(shape), self.reach(), self.window_strides
                )
            ]
        )

    def config(self) -> list[tuple[int, int, int]]:
        """The same padding as `lax.pad` takes it."""
        pairs = zip(self.padding, self.base_dilation)
        return [(low, high, d - 1) for (low, high), d in pairs]

    def up(self) -> Sliding:
        """For arrays with one more axis in front."""
        return Sliding(
            (1, *self.window_dimensions),
            (1, *self.window_strides),
            ((0, 0), *self.padding),
            (1, *self.base_dilation),
            (1, *self.window_dilation),
        )


def padding_text(padding: Pairs) -> str:
    """Padding as StableHLO writes it."""
    rows = ", ".join([f"[{low}, {high}]" for low, high in padding])
    return f"dense<[{rows}]> : tensor<{len(padding)}x2xi64>"


class Windows(Rearrange):
    """All windows of an array: out[i…, j…] = x[i·stride + j·dilation …].

    `axes` lists the axes that have windows; their windows come last, in this order. The
    other entries say how windows slide along every axis.
    """

    axes: Shape
    dimensions: Shape
    strides: Shape
    dilation: Shape

    linear = ((0,),)

    def type(self, operand: Aval) -> Aval:
        places = [
            max((n - (k - 1) * d - 1) // s + 1, 0)
            for n, k, s, d in zip(
                operand.shape, self.dimensions, self.strides, self.dilation
            )
        ]
        return Aval([*places, *[self.dimensions[a] for a in self.axes]], operand.dtype)

    def transpose(self, ct: Any, operand: Any) -> tuple[Any, ...]:
        # What each element of a window gave goes back to where it came from.
        shape = operand.aval.shape
        places = aval_of(ct).shape[: len(shape)]
        total = None
        for inside in self.insides():
            ends = (*places, *[k + 1 for k in inside])
            part = slice(ct, ((0,) * len(shape)) + inside, ends)
            config = [
                (first, n - end, s - 1)
                for first, end, n, s in zip(
                    *self.reach(inside, places), shape, self.strides
                )
            ]
            zero = np.zeros((), aval_of(ct).dtype)
            back = pad(reshape(part, places), zero, config)
            total = back if total is None else add(total, back)
        return (total,)

    def insides(self) -> Iterator[Shape]:
        """The places inside a window, in turn."""
        return itertools.product(*[range(self.dimensions[a]) for a in self.axes])

    def reach(self, inside: Shape, places: Shape) -> tuple[list[int], list[int]]:
        """Where along each axis the elements begin and end that stand at `inside`."""
        starts = [0] * len(places)
        for axis, k in zip(self.axes, inside):
            starts[axis] = k * self.dilation[axis]
        ends = [
            first + max(n - 1, 0) * s + min(n, 1)
            for first, n, s in zip(starts, places, self.strides)
        ]
        return starts, ends

    def batch(self, axis: Axis, operand: Any) -> Any:
        axes = tuple([a + 1 for a in self.axes])
        rest = ((1, *x) for x in (self.dimensions, self.strides, self.dilation))
        return Windows(axes, *rest)(operand)

    def restride(
        self, operand: Aval, strides: Shape, offset: int
    ) -> tuple[Aval, Shape, int]:
        places = [stride * s for stride, s in zip(strides, self.strides)]
        inside = [strides[a] * self.dilation[a] for a in self.axes]
        return self.type(operand), (*places, *inside), offset

    def expand(self, operand: Any) -> Any:
        """For machines that have no such index map: the elements of a window in turn."""
        out = self.type(aval_of(operand))
        ndim = aval_of(operand).ndim
        places = out.shape[:ndim]
        parts = []
        for inside in self.insides():
            starts, ends = self.reach(inside, places)
            parts.append(slice(operand, starts, ends, self.strides))
        return reshape(stack(parts, ndim), out.shape)


def windows_of(operand: Any, how: Sliding) -> tuple[Any, Shape]:
    """The windows of an operand that is padded already, and their axes."""
    axes = tuple([i for i, n in enumerate(how.window_dimensions) if n > 1])
    op = Windows(axes, how.window_dimensions, how.window_strides, how.window_dilation)
    ndim = len(how.window_dimensions)
    return op(operand), tuple(range(ndim, ndim + len(axes)))


# ------------------------------------------------------------------------- reductions


class WindowReduce(Rearrange):
    """What the reductions over windows share; the fields are those of `Sliding`."""

    window_dimensions: Shape
    window_strides: Shape
    padding: Pairs
    base_dilation: Shape
    window_dilation: Shape

    accepts = "fcuib"

    @property
    def how(self) -> Sliding:
        return Sliding(*self.fields()[:5])

    def type(self, operand: Aval) -> Any:
        return operand.update(shape=self.how.out_shape(operand.shape), weak_type=False)

    def batch(self, axis: Axis, operand: Any) -> Any:
        return self.like(self.how.up())(operand)

    def like(self, how: Sliding) -> Any:
        """The same reduction over other windows."""
        return type(self)(*how, *self.fields()[5:])

    def identity(self, dtype: Any) -> Any:
        """What surrounds the operand."""
        raise NotImplementedError

    def surrounded(self, operand: Any) -> Any:
        """The operand with its padding."""
        config = self.how.config()
        if not any(any(entry) for entry in config):
            return operand
        around = self.identity(aval_of(operand).dtype)
        return pad(operand, around, config)

    def hlo(self, emit: Any, operand: Any) -> Any:
        how = self.how
        scalar = Aval((), operand.aval.dtype)
        first = emit.writer.constant(self.identity(scalar.dtype), scalar)
        return emit(
            "stablehlo.reduce_window",
            operand,
            first,
            regions=[((scalar, scalar), self.combined)],
            window_dimensions=how.window_dimensions,
            window_strides=how.window_strides,
            base_dilations=how.base_dilation,
            window_dilations=how.window_dilation,
            padding=padding_text(how.padding),
        )

    def combined(self, block: Any, x: Any, y: Any) -> Any:
        """Two elements folded, in the block of a backend."""
        raise NotImplementedError


class ReduceWindowSum(WindowReduce):
    """Sums over windows: out[i] = Σⱼ x[i·stride + j·dilation − low].

    Source: https://openxla.org/stablehlo/spec#reduce_window
    """

    accepts = "fcui"
    linear = ((0,),)

    def identity(self, dtype: Any) -> Any:
        return np.zeros((), dtype)

    def transpose(self, ct: Any, operand: Any) -> tuple[Any, ...]:
        # Sums over windows of the cotangent, spread as far as windows moved.
        how = self.how
        shape = operand.aval.shape
        back = []
        for n, k, s, (low, _), base, d, places in zip(
            shape, *how[:3], *how[3:], how.out_shape(shape)
        ):
            reach = (k - 1) * d + 1
            spread = max(places - 1, 0) * s + min(places, 1)
            first = reach - 1 - low
            length = (max(n - 1, 0) * base + min(n, 1)) + reach - 1
            back.append((first, length - first - spread))
        ones = (1,) * len(shape)
        config = [(lo, hi, s - 1) for (lo, hi), s in zip(back, how.window_strides)]
        zero = np.zeros((), aval_of(ct).dtype)
        around = pad(ct, zero, config)
        none = ((0, 0),) * len(shape)
        inner = Sliding(
            how.window_dimensions, how.base_dilation, none, ones, how.window_dilation
        )
        return (ReduceWindowSum(*inner)(around),)

    def expand(self, operand: Any) -> Any:
        view, axes = windows_of(self.surrounded(operand), self.how)
        return ReduceSum(axes)(view)

    def combined(self, block: Any, x: Any, y: Any) -> Any:
        return block.add(x, y)


class ReduceWindowExtreme(WindowReduce):
    """Maxima and minima: the derivative is that of the element which is taken."""

    accepts = "fcuib"

    def arguments(self) -> Any:
        """The operation that says where the extreme elements are."""
        raise NotImplementedError

    def fold(self, axes: Shape) -> Any:
        raise NotImplementedError

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        (operand,), (tangent,) = primals, tangents
        out = self(operand)
        if tangent is None:
            return out, None
        config = self.how.config()
        around = pad(tangent, np.zeros((), aval_of(tangent).dtype), config)
        places = self.arguments()(operand)
        flat = reshape(around, (aval_of(around).size,))
        return out, index_take(flat, (places,), (0,))

    def expand(self, operand: Any) -> Any:
        view, axes = windows_of(self.surrounded(operand), self.how)
        return self.fold(axes)(view)


class ReduceWindowMax(ReduceWindowExtreme):
    """The largest element of each window.

    Source: https://openxla.org/stablehlo/spec#reduce_window
    """

    def identity(self, dtype: Any) -> Any:
        return _lowest(dtype)

    def arguments(self) -> Any:
        return ArgmaxOfWindows(*self.how)

    def fold(self, axes: Shape) -> Any:
        return ReduceMax(axes)

    def combined(self, block: Any, x: Any, y: Any) -> Any:
        return block.max(x, y)


class ReduceWindowMin(ReduceWindowExtreme):
    """The smallest element of each window.

    Source: https://openxla.org/stablehlo/spec#reduce_window
    """

    def identity(self, dtype: Any) -> Any:
        return _highest(dtype)

    def arguments(self) -> Any:
        return ArgminOfWindows(*self.how)

    def fold(self, axes: Shape) -> Any:
        return ReduceMin(axes)

    def combined(self, block: Any, x: Any, y: Any) -> Any:
        return block.min(x, y)


def _lowest(dtype: Any) -> Any:
    return np.array(limits(dtypes.short_name(dtype))[0], dtype)


def _highest(dtype: Any) -> Any:
    return np.array(limits(dtypes.short_name(dtype))[1], dtype)


class FoldedArgmax(Argmax):
    """Where the largest element is, counted along several axes in row-major order."""

    def type(self, operand: Aval) -> Aval:
        return Aval(operand.drop(self.axes).shape, self.index_dtype)


class FoldedArgmin(Argmin):
    """Where the smallest element is, counted along several axes in row-major order."""

    def type(self, operand: Aval) -> Aval:
        return Aval(operand.drop(self.axes).shape, self.index_dtype)


class ArgmaxOfWindows(WindowReduce):
    """Where in the padded operand, flattened, the largest element of each window is."""

    accepts = "fcuib"

    def identity(self, dtype: Any) -> Any:
        return _lowest(dtype)

    def fold(self, axes: Shape) -> Any:
        return FoldedArgmax(axes, I32)

    def type(self, operand: Aval) -> Aval:
        if math.prod(self.how.padded(operand.shape)) >= 2**31:
            raise NotImplementedError(
                "derivatives of extremes over windows take arrays of less than 2^31"
                f" elements, got {operand.long_name()}"
            )
        return Aval(self.how.out_shape(operand.shape), I32)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        return self(*primals), None

    def expand(self, operand: Any) -> Any:
        how = self.how
        around = self.surrounded(operand)
        extents = aval_of(around).shape
        view, axes = windows_of(around, how)
        places = self.fold(axes)(view)
        shape = aval_of(places).shape
        total = full_like(places, 0)
        weight = 1
        rest = places
        for axis in reversed(range(len(extents))):
            start = broadcasted_iota(I32, shape, axis)
            move = how.window_strides[axis]
            total = add(total, mul(start, full_like(start, move * weight)))
            k = how.window_dimensions[axis]
            if k > 1:
                inside = rem(rest, full_like(rest, k))
                step = how.window_dilation[axis] * weight
                total = add(total, mul(inside, full_like(inside, step)))
                rest = div(rest, full_like(rest, k))
            weight *= extents[axis]
        return total

    hlo: ClassVar[Any] = None  # type: ignore[assignment]


class ArgminOfWindows(ArgmaxOfWindows):
    """Where in the padded operand, flattened, the smallest element of each window is."""

    def identity(self, dtype: Any) -> Any:
        return _highest(dtype)

    def fold(self, axes: Shape) -> Any:
        return FoldedArgmin(axes, I32)


# ------------------------------------------------------------------- public functions


def sliding(
    name: str,
    shape: Shape,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None,
    padding: str | Sequence[tuple[int, int]],
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Sliding:
    """The arguments of the public functions, checked and completed."""
    ndim = len(shape)
    given = {
        "window_dimensions": window_dimensions,
        "window_strides": window_strides,
        "base_dilation": base_dilation,
        "window_dilation": window_dilation,
    }
    full: dict[str, Shape] = {}
    for argument, entries in given.items():
        found = (1,) * ndim if entries is None else ints(entries, name)
        if len(found) != ndim:
            raise ValueError(
                f"lax.{name}: {argument} needs an entry for each of the {ndim} axes of an"
                f" operand of shape {shape}, got {found}"
            )
        if any(n < 1 for n in found):
            raise ValueError(f"lax.{name}: {argument} must be positive, got {found}")
        full[argument] = found
    reach = [
        (k - 1) * d + 1
        for k, d in zip(full["window_dimensions"], full["window_dilation"])
    ]
    pairs = pad_pairs(name, padding, shape, reach, full["window_strides"])
    return Sliding(
        full["window_dimensions"],
        full["window_strides"],
        pairs,
        full["base_dilation"],
        full["window_dilation"],
    )


def pad_pairs(
    name: str,
    padding: str | Sequence[tuple[int, int]],
    extents: Sequence[int],
    reach: Sequence[int],
    strides: Sequence[int],
) -> Pairs:
    """Padding as (low, high) for each axis; of a word, that which it stands for.

    "VALID" is none. "SAME" gives ⌈extent / stride⌉ places, with the odd element at the end;
    "SAME_LOWER" has it at the beginning.
    """
    if isinstance(padding, str):
        word = padding.upper()
        if word == "VALID":
            return ((0, 0),) * len(extents)
        if word not in ("SAME", "SAME_LOWER"):
            raise ValueError(
                f'lax.{name}: padding must be "SAME", "SAME_LOWER", "VALID" or (low, high)'
                f" for each axis, got {padding!r}"
            )
        pairs = []
        for n, r, s in zip(extents, reach, strides):
            total = max((-(-n // s) - 1) * s + r - n, 0)
            less, more = total // 2, total - total // 2
            pairs.append((less, more) if word == "SAME" else (more, less))
        return tuple(pairs)
    found = tuple([ints(pair, name) for pair in padding])
    if len(found) != len(extents) or any(len(pair) != 2 for pair in found):
        raise ValueError(
            f"lax.{name}: padding needs (low, high) for each of {len(extents)} axes, got"
            f" {padding!r}"
        )
    return found  # type: ignore[return-value]


def padtype_to_pads(
    in_shape: Sequence[int],
    window_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str,
) -> list[tuple[int, int]]:
    """The padding (low, high) for each axis that "SAME", "SAME_LOWER" or "VALID" stands for.

    >>> from tetrad import lax
    >>> lax.padtype_to_pads((5,), (3,), (2,), "SAME")
    [(1, 1)]
    """
    if any([stride == 0 for stride in window_strides]):
        raise ValueError(
            f"lax.padtype_to_pads: window_strides must not be 0, got {window_strides}"
        )
    sizes = [
        ints(x, "padtype_to_pads") for x in (in_shape, window_shape, window_strides)
    ]
    return list(pad_pairs("padtype_to_pads", padding, *sizes))


def reduce_window_shape_tuple(
    operand_shape: Sequence[int],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Shape:
    """The shape of a reduction over windows, with the arguments of `lax.reduce_window`.

    ⌊(n + low + high − w)/s⌋ + 1 along each axis, for windows of length w and strides s.
    ValueError if an argument does not have an entry for each axis.

    >>> from tetrad import lax
    >>> lax.reduce_window_shape_tuple((8, 5), (2, 3), (2, 1), [(0, 0), (1, 1)])
    (4, 5)
    """
    shape = ints(operand_shape, "reduce_window_shape_tuple")
    how = sliding(
        "reduce_window_shape_tuple",
        shape,
        window_dimensions,
        window_strides,
        padding,
        base_dilation,
        window_dilation,
    )
    return how.out_shape(shape)


_REDUCTIONS: dict[str, type[WindowReduce]] = {
    "sum": ReduceWindowSum,
    "max": ReduceWindowMax,
    "min": ReduceWindowMin,
}


def reduced(kind: str, operand: Operand, how: Sliding) -> Any:
    """The reduction "sum", "max" or "min" over windows, starting from its identity."""
    return _REDUCTIONS[kind](*how)(check_operand(operand, f"reduce_window_{kind}"))
