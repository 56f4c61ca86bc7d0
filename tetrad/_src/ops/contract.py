"""Products of arrays summed over common axes: matrix products in every form.

What comes in: two arrays, and which of their axes are summed over together and which
run along together. What goes out: an array with the common axes first, then what is left
of the left operand, then what is left of the right one.

Read `Precision` and `DotGeneral`; then the public functions.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import aval_of
from tetrad._src.core.mesh import no_sharding
from tetrad._src.core.op import Axis, Kind, Linear, Op
from tetrad._src.ops.algorithms import (
    F32,
    PRESETS,
    Algorithm,
    DotAlgorithm,
    DotAlgorithmPreset,
    by_algorithm,
    check_algorithm,
    check_operands,
    written,
)
from tetrad._src.ops.arithmetic import mul
from tetrad._src.ops.compare import bitwise_and
from tetrad._src.ops.convert import (
    ConvertElementType,
    canonical,
    convert_element_type,
)
from tetrad._src.ops.families import Operand, check_operand
from tetrad._src.ops.reduce import reduce_or
from tetrad._src.ops.shape import ints, moveaxis, reshape, transpose, up
from tetrad._src.ops.views import ReduceSum, broadcast_in_dim
from tetrad._src.util import dtypes
from tetrad._src.util.config import config, numpy_dtype_promotion

Axes = tuple[int, ...]


class Precision(enum.Enum):
    """How exactly an accelerator computes products of float32.

    Our CPU computes them exactly as the dtype says, whatever is asked for. What is
    rounded on every machine is a `DotAlgorithm`.
    """

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    def __repr__(self) -> str:
        return f"Precision.{self.name}"

    def __str__(self) -> str:
        return self.name


_PRECISIONS = {
    "default": Precision.DEFAULT,
    "fastest": Precision.DEFAULT,
    "bfloat16": Precision.DEFAULT,
    "high": Precision.HIGH,
    "bfloat16_3x": Precision.HIGH,
    "tensorfloat32": Precision.HIGH,
    "highest": Precision.HIGHEST,
    "float32": Precision.HIGHEST,
}


# What the parameter `precision` may be for annotations, and the dimension numbers.
PrecisionLike = (
    str
    | Precision
    | tuple[str, str]
    | tuple[Precision, Precision]
    | DotAlgorithm
    | DotAlgorithmPreset
    | None
)
DotDimensionNumbers = tuple[
    tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]
]


def canonical_precision(
    precision: Any,
) -> tuple[Precision, Precision] | Algorithm | None:
    """What users may give: a precision for each operand, or an algorithm for both.

    None stands for the setting `jax_default_matmul_precision`.
    """
    if precision is None:
        precision = config.jax_default_matmul_precision
        if precision is None:
            return None
    if isinstance(precision, Precision):
        return precision, precision
    if isinstance(precision, DotAlgorithmPreset):
        return precision
    if isinstance(precision, DotAlgorithm):
        return check_algorithm(precision)
    if isinstance(precision, str) and precision in PRESETS:
        return PRESETS[precision]
    if isinstance(precision, str) and precision in _PRECISIONS:
        return _PRECISIONS[precision], _PRECISIONS[precision]
    if isinstance(precision, (tuple, list)) and len(precision) == 2:
        left, right = map(canonical_precision, precision)
        default = Precision.DEFAULT
        pairs = [x or (default, default) for x in (left, right)]
        if not any(is_algorithm(x) for x in pairs):
            return pairs[0][0], pairs[1][0]  # type: ignore[index, return-value]
    raise ValueError(
        f"precision must be None, a lax.Precision, one of {sorted(_PRECISIONS)}, a pair"
        " of these, a lax.DotAlgorithm, or a lax.DotAlgorithmPreset or its name; got"
        f" {precision!r}"
    )


def is_algorithm(precision: Any) -> bool:
    """Whether a canonical precision says how to round, besides how exact to be."""
    return isinstance(precision, (DotAlgorithm, DotAlgorithmPreset))


class DotDimensions(tuple[Any, ...]):
    """((lhs contracting, rhs contracting), (lhs batch, rhs batch)): tuples of axes."""

    __slots__ = ()

    def __str__(self) -> str:
        (lc, rc), (lb, rb) = self
        return f"(({list(lc)}, {list(rc)}), ({list(lb)}, {list(rb)}))"

    def __reduce__(self) -> tuple[Any, ...]:
        return DotDimensions, (tuple(self),)


class DotGeneral(Op):
    """The sum of products of two arrays over common axes.

    out[b, i, j] = Σₖ lhs[b, i, k] · rhs[b, j, k], where k stands for the contracting
    axes of both, b for the batch axes, i and j for the axes that are left. For bool,
    sum is or and product is and. `preferred_element_type` is the dtype of the sum and
    of the result. Raises TypeError if dtypes or the extents of paired axes differ, or if
    an axis does not exist or is named twice.
    Source: https://openxla.org/stablehlo/spec#dot_general

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> x = jnp.array([[1.0, 2.0], [3.0, 4.0]])
    >>> lax.dot_general(x, x, (((1,), (1,)), ((), ())))
    Array([[ 5., 11.],
           [11., 25.]], dtype=float32)
    """

    dimension_numbers: DotDimensions
    precision: tuple[Precision, Precision] | Algorithm | None = None
    preferred_element_type: Any = None

    kind = Kind.CONTRACT
    accepts = "fcuib"
    linear = ((0,), (1,))
    aligned = False

    @property
    def hidden(self) -> tuple[str, ...]:
        names = ("precision", "preferred_element_type")
        return tuple([name for name in names if getattr(self, name) is None])

    def axes(self) -> tuple[Axes, Axes, Axes, Axes]:
        """Contracting axes of lhs and of rhs, batch axes of lhs and of rhs."""
        (lc, rc), (lb, rb) = self.dimension_numbers
        return lc, rc, lb, rb

    def type(self, lhs: Aval, rhs: Aval) -> Aval:
        lc, rc, lb, rb = self.axes()
        _check_axes(lhs, "lhs", lc, lb)
        _check_axes(rhs, "rhs", rc, rb)
        _check_pairs(lhs, rhs, "contracting", lc, rc)
        _check_pairs(lhs, rhs, "batch", lb, rb)
        if lhs.dtype != rhs.dtype:
            raise TypeError(
                "dot_general needs operands of one dtype, got"
                f" {lhs.long_name()} and {rhs.long_name()}"
            )
        dtype = self.preferred_element_type or lhs.dtype
        if lhs.kind == "c" and dtypes.kind(dtype) != "c":
            raise TypeError(
                f"dot_general: preferred_element_type={dtype.name} cannot hold the"
                f" product of {lhs.dtype.name} arrays"
            )
        batch = [lhs.shape[i] for i in lb]
        left = [lhs.shape[i] for i in _free(lhs.ndim, lc, lb)]
        right = [rhs.shape[i] for i in _free(rhs.ndim, rc, rb)]
        return Aval(batch + left + right, dtype)

    def transpose(self, ct: Any, lhs: Any, rhs: Any) -> tuple[Any, Any]:
        lc, rc, lb, rb = self.axes()
        left, right = _aval(lhs), _aval(rhs)
        left_free = _free(left.ndim, lc, lb)
        right_free = _free(right.ndim, rc, rb)
        first = len(lb) + len(left_free)
        ct_left = tuple(range(len(lb), first))
        ct_right = tuple(range(first, first + len(right_free)))
        ct_lhs = ct_rhs = None
        if isinstance(lhs, Linear):
            mine, other = (left_free, lc, lb), (right_free, rc, rb)
            ct_lhs = self._cotangent(ct, ct_right, rhs, left, mine, other)
        if isinstance(rhs, Linear):
            mine, other = (right_free, rc, rb), (left_free, lc, lb)
            ct_rhs = self._cotangent(ct, ct_left, lhs, right, mine, other)
        return ct_lhs, ct_rhs

    def _cotangent(
        self,
        ct: Any,
        ct_other_free: Axes,
        other: Any,
        aval: Aval,
        mine: tuple[Axes, Axes, Axes],
        others: tuple[Axes, Axes, Axes],
    ) -> Any:
        """The cotangent of one operand: ct times the other one, summed over its free axes.

        The product is taken in the order that gives the operand's own order of axes, if
        there is one; otherwise a transpose follows.
        """
        free, contract, batch = mine
        other_free, other_contract, other_batch = others
        ct_batch = tuple(range(len(batch)))
        dtype = aval_of(ct).dtype
        other = convert_element_type(other, dtype, aval_of(other).weak_type)
        # The other operand's contracting axes come out in its own order.
        paired = [contract[other_contract.index(k)] for k in sorted(other_contract)]
        ct_first = [*batch, *free, *paired]
        other_first = [*batch, *paired, *free]
        if other_first == sorted(other_first) != ct_first:
            dims = DotDimensions(((other_free, ct_other_free), (other_batch, ct_batch)))
            out = DotGeneral(dims, self.precision)(other, ct)
        else:
            dims = DotDimensions(((ct_other_free, other_free), (ct_batch, other_batch)))
            out = DotGeneral(dims, self.precision)(ct, other)
            order = tuple([ct_first.index(i) for i in range(aval.ndim)])
            out = transpose(out, order)
        return convert_element_type(out, aval.dtype, aval_of(out).weak_type)

    def batch(self, axis: Axis, mapped: Sequence[bool], lhs: Any, rhs: Any) -> Any:
        lc, rc, lb, rb = self.axes()
        both = mapped[0] and mapped[1]
        if mapped[0]:
            lc, lb = up(lc), up(lb)
        if mapped[1]:
            rc, rb = up(rc), up(rb)
        if both:
            return self._with(lc, rc, (0, *lb), (0, *rb))(lhs, rhs)
        # The mapped axis is a free one: it comes out first among its operand's.
        op = self._with(lc, rc, lb, rb)
        batch = len(lb)
        if mapped[0]:
            return moveaxis(op(lhs, rhs), batch, 0)
        left_free = aval_of(lhs).ndim - len(lc) - batch
        right_free = aval_of(rhs).ndim - len(rc) - batch
        if right_free == 1:
            return moveaxis(op.swapped()(rhs, lhs), batch, 0)
        return moveaxis(op(lhs, rhs), batch + left_free, 0)

    def _with(self, lc: Axes, rc: Axes, lb: Axes, rb: Axes) -> DotGeneral:
        dims = DotDimensions(((lc, rc), (lb, rb)))
        return DotGeneral(dims, self.precision, self.preferred_element_type)

    def swapped(self) -> DotGeneral:
        """The same product with its operands in the other order."""
        lc, rc, lb, rb = self.axes()
        dims = DotDimensions(((rc, lc), (rb, lb)))
        precision: Any = self.precision
        if isinstance(precision, DotAlgorithm):
            first, second, *rest = precision
            precision = DotAlgorithm(second, first, *rest)
        elif isinstance(precision, tuple):
            precision = precision[1], precision[0]
        return DotGeneral(dims, precision, self.preferred_element_type)

    def flops(self, lhs: Aval, rhs: Aval) -> int:
        lc, _, _, _ = self.axes()
        terms = math.prod([lhs.shape[i] for i in lc])
        return 2 * self.type(lhs, rhs).size * terms

    def kernel(self, lhs: Aval, rhs: Aval) -> tuple[str, dict[str, Any]]:
        """ "dot", and the axes of lhs and rhs that are summed over and run together."""
        lc, rc, lb, rb = self.axes()
        return "dot", {"contract": (lc, rc), "batch": (lb, rb)}

    @property
    def simplify(self) -> Any:  # type: ignore[override]
        """Products for which machines have no routine, by operations that they have.

        Without contracting axes there is nothing to sum: elementwise products.
        """
        if is_algorithm(self.precision):
            return self._by_algorithm
        return self._in_routines if self.axes()[0] else self._outer

    def _in_routines(self, lhs: Any, rhs: Any) -> Any:
        """Sums are kept in float32 or wider, as long as the result is a float.

        Routines multiply floats of one type. Products of other matrices with vectors are
        elementwise products that are summed: they read each element once.
        """
        left, right = aval_of(lhs), aval_of(rhs)
        out = self.type(left, right)
        short = out.kind == "f" and out.dtype.itemsize < 4
        total = F32 if short else out.dtype
        routine = dtypes.kind(total) in "fc"
        lc, rc, lb, rb = self.axes()
        counts = [
            math.prod([x.shape[i] for i in _free(x.ndim, *axes)])
            for x, axes in ((left, (lc, lb)), (right, (rc, rb)))
        ]
        given = routine and left.dtype == total == out.dtype
        if given and (out.kind != "c" or counts != [1, 1]):
            return None
        if counts[1] == 1:
            summed = _summed(lhs, rhs, (lc, lb), (rc, rb), total)
        elif counts[0] == 1:
            summed = _summed(rhs, lhs, (rc, rb), (lc, lb), total)
        elif routine:
            product = DotGeneral(self.dimension_numbers, self.precision)
            summed = product(*[ConvertElementType(total)(x) for x in (lhs, rhs)])
        else:
            return None
        return ConvertElementType(out.dtype)(reshape(summed, out.shape))

    def _by_algorithm(self, lhs: Any, rhs: Any) -> Any:
        def product(lhs: Any, rhs: Any, dtype: Any) -> Any:
            return DotGeneral(self.dimension_numbers, None, dtype)(lhs, rhs)

        out = self.type(aval_of(lhs), aval_of(rhs)).dtype
        algorithm: Any = self.precision
        return by_algorithm(algorithm, product, lhs, rhs, out)

    def _outer(self, lhs: Any, rhs: Any) -> Any:
        _, _, lb, rb = self.axes()
        left, right = aval_of(lhs), aval_of(rhs)
        out = self.type(left, right)
        left_free = _free(left.ndim, (), lb)
        right_free = _free(right.ndim, (), rb)
        first = len(lb) + len(left_free)
        batch = tuple(range(len(lb)))
        spread = []
        for x, order, axes in (
            (lhs, (*lb, *left_free), range(first)),
            (rhs, (*rb, *right_free), (*batch, *range(first, out.ndim))),
        ):
            x = convert_element_type(x, out.dtype)
            x = transpose(x, order)
            spread.append(broadcast_in_dim(x, out.shape, tuple(axes)))
        return bitwise_and(*spread) if out.kind == "b" else mul(*spread)

    def hlo(self, emit: Any, lhs: Any, rhs: Any) -> Any:
        if is_algorithm(self.precision):
            return written(emit, self._by_algorithm, lhs, rhs)
        lc, rc, lb, rb = self.axes()
        numbers = (
            f"#stablehlo.dot<lhs_batching_dimensions = {list(lb)},"
            f" rhs_batching_dimensions = {list(rb)},"
            f" lhs_contracting_dimensions = {list(lc)},"
            f" rhs_contracting_dimensions = {list(rc)}>"
        )
        out = self.type(lhs.aval, rhs.aval)
        if out.kind != "b" and min(map(_bits, (lhs.aval, rhs.aval))) < min(
            8, _bits(out)
        ):
            # XLA has no products of such numbers with wider results.
            lhs, rhs = [
                emit("stablehlo.convert", x, result=Aval(x.aval.shape, out.dtype))
                for x in (lhs, rhs)
            ]
        pair: Any = self.precision or (Precision.DEFAULT,) * 2
        names = [p.name for p in pair]
        precisions = ", ".join([f"#stablehlo<precision {name}>" for name in names])
        return emit(
            "stablehlo.dot_general",
            lhs,
            rhs,
            dot_dimension_numbers=numbers,
            precision_config=f"[{precisions}]",
        )


def _summed(
    matrix: Any,
    vector: Any,
    axes: tuple[Axes, Axes],
    others: tuple[Axes, Axes],
    dtype: Any,
) -> Any:
    """A product with an operand without free axes, by its contracting and batch axes.

    Sums run along the axes of the matrix where these are.
    """
    contract, batch = axes
    shape = aval_of(matrix).shape
    pairs = sorted(zip((*contract, *batch), (*others[0], *others[1])))
    free = _free(aval_of(vector).ndim, *others)
    x, y = [ConvertElementType(dtype)(v) for v in (matrix, vector)]
    y = transpose(y, (*[other for _, other in pairs], *free))
    places = tuple([place for place, _ in pairs])
    y = broadcast_in_dim(reshape(y, [shape[i] for i in places]), shape, places)
    if dtypes.kind(dtype) == "b":
        summed = reduce_or(bitwise_and(x, y), contract)
    else:
        summed = ReduceSum(tuple(sorted(contract)))(mul(x, y))
    kept = [i for i in range(len(shape)) if i not in contract]
    order = [*batch, *[i for i in kept if i not in batch]]
    return transpose(summed, tuple([kept.index(i) for i in order]))


def _bits(x: Aval) -> int:
    return dtypes.itemsize_bits(x.dtype)


def _free(ndim: int, contract: Axes, batch: Axes) -> Axes:
    return tuple([i for i in range(ndim) if i not in contract and i not in batch])


def _aval(x: Any) -> Aval:
    return x.aval if isinstance(x, Linear) else aval_of(x)


def _check_axes(aval: Aval, side: str, contract: Axes, batch: Axes) -> None:
    named = (*contract, *batch)
    if any(not 0 <= axis < aval.ndim for axis in named) or len(set(named)) < len(named):
        raise TypeError(
            f"dot_general: contracting axes {contract} and batch axes {batch} of {side}"
            f" must be different axes of {aval.long_name()}, counted from 0"
        )


def _check_pairs(lhs: Aval, rhs: Aval, what: str, left: Axes, right: Axes) -> None:
    if len(left) != len(right):
        raise TypeError(
            f"dot_general: lhs and rhs need equally many {what} axes, got {left} and"
            f" {right}"
        )
    sizes = tuple([lhs.shape[i] for i in left])
    others = tuple([rhs.shape[i] for i in right])
    if sizes != others:
        raise TypeError(
            f"dot_general requires {what} dimensions to have the same shape, got"
            f" {sizes} and {others}: axes {left} of {lhs.long_name()} and {right} of"
            f" {rhs.long_name()}"
        )


def _mixed(left: Any, right: Any, preferred: Any) -> tuple[Any, Any]:
    """The dtype in which a product of different dtypes is computed, and its result's."""
    narrow = [d for d in (left, right) if d in _SMALL]
    if len(narrow) == 1 and dtypes.kind(narrow[0]) in "fiu":
        # Small dtypes promote with no other; beside one of 16 bits or more they become it.
        other = right if narrow[0] == left else left
        if dtypes.kind(other) in "fc" or dtypes.kind(narrow[0]) in "iu":
            return other, preferred
    if len(narrow) == 2 and {dtypes.kind(d) for d in narrow} == {"f"}:
        larger = max(narrow, key=lambda d: float(dtypes.finfo(d).max))
        return np.dtype(np.float32), preferred or larger
    with numpy_dtype_promotion("standard"):  # mixed products are meant, if written
        return dtypes.promote_types(left, right), preferred


_SMALL = frozenset([*dtypes.SMALL_FLOATS.values(), *dtypes.SMALL_INTEGERS.values()])


# --------------------------------------------------------------------- public functions


def dot_general(
    lhs: Operand,
    rhs: Operand,
    dimension_numbers: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    no_sharding("lax.dot_general", out_sharding)
    lhs = check_operand(lhs, "dot_general")
    rhs = check_operand(rhs, "dot_general", 1)
    (lc, rc), (lb, rb) = dimension_numbers
    axes = [ints(a, "dot_general") for a in (lc, rc, lb, rb)]
    dims = DotDimensions(((axes[0], axes[1]), (axes[2], axes[3])))
    left, right = aval_of(lhs), aval_of(rhs)
    preferred = preferred_element_type
    if preferred is not None:
        preferred = canonical(preferred)
    if left.dtype != right.dtype:
        dtype, preferred = _mixed(left.dtype, right.dtype, preferred)
        lhs = convert_element_type(lhs, dtype)
        rhs = convert_element_type(rhs, dtype)
    how = canonical_precision(precision)
    check_operands(how, left.dtype, right.dtype, "dot_general")
    return DotGeneral(dims, how, preferred)(lhs, rhs)


dot_general.__doc__ = DotGeneral.__doc__


def dot(
    lhs: Operand,
    rhs: Operand,
    *,
    dimension_numbers: Any = None,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """The product of vectors and matrices; with `dimension_numbers`, `dot_general`.

    Sums over the last axis of `lhs` and the first of `rhs`, each of rank 1 or 2.
    ValueError for other ranks, or if the extents of these axes differ.

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> lax.dot(jnp.array([1.0, 2.0]), jnp.array([3.0, 4.0]))
    Array(11., dtype=float32)
    """
    no_sharding("lax.dot", out_sharding)
    if dimension_numbers is None:
        left = aval_of(check_operand(lhs, "dot"))
        right = aval_of(check_operand(rhs, "dot", 1))
        small = left.ndim in (1, 2) and right.ndim in (1, 2)
        if not small or left.shape[-1] != right.shape[0]:
            raise ValueError(
                "lax.dot multiplies vectors and matrices whose last (left) and first"
                f" (right) extents agree, got {left.long_name()} and"
                f" {right.long_name()}. For other products pass dimension_numbers, or"
                " use jnp.matmul or jnp.einsum."
            )
        dimension_numbers = (((left.ndim - 1,), (0,)), ((), ()))
    return dot_general(lhs, rhs, dimension_numbers, precision, preferred_element_type)


def batch_matmul(lhs: Operand, rhs: Operand, precision: Any = None) -> Any:
    """The matrix product of the last two axes, one for each index of the others.

    out[…, i, j] = Σₖ lhs[…, i, k] · rhs[…, k, j]. ValueError unless both have the same
    rank of at least 2; TypeError if extents differ.

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> lax.batch_matmul(jnp.ones((4, 2, 3)), jnp.ones((4, 3, 5))).shape
    (4, 2, 5)
    """
    left = aval_of(check_operand(lhs, "batch_matmul"))
    right = aval_of(check_operand(rhs, "batch_matmul", 1))
    if left.ndim != right.ndim or left.ndim < 2:
        raise ValueError(
            "lax.batch_matmul needs two arrays of the same rank of at least 2, got"
            f" {left.long_name()} and {right.long_name()}. jnp.matmul broadcasts."
        )
    batch = tuple(range(left.ndim - 2))
    dims = (((left.ndim - 1,), (right.ndim - 2,)), (batch, batch))
    return dot_general(lhs, rhs, dims, precision)
