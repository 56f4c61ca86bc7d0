"""Algorithms of products: to what operands are rounded, and in what sums are kept.

In: a `DotAlgorithm`, one of the presets, or the name of one, as `precision`. Out: the
product as a sum of plain products of rounded parts. An operand that is rounded to fewer
bits than it has may be split into up to three parts, each what the ones before it left
over; the products of the largest parts are added up.

Read `DotAlgorithm`, `DotAlgorithmPreset`, then `by_algorithm`.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tetrad._src.core.bind import aval_of
from tetrad._src.core.stage import stage
from tetrad._src.ops.arithmetic import add, sub
from tetrad._src.ops.convert import ConvertElementType
from tetrad._src.ops.special import ReducePrecision
from tetrad._src.util import dtypes
from tetrad._src.util.config import enable_x64

F32 = np.dtype(np.float32)
TF32 = "tf32"  # the exponent of float32 with ten bits of mantissa; no dtype of arrays

# How many parts an operand has, and which of them are multiplied: smallest first.
_PRODUCTS = {
    1: (1, [(0, 0)]),
    3: (2, [(1, 0), (0, 1), (0, 0)]),
    6: (3, [(2, 0), (1, 1), (0, 2), (1, 0), (0, 1), (0, 0)]),
    9: (3, [(2, 2), (2, 1), (1, 2), (2, 0), (1, 1), (0, 2), (1, 0), (0, 1), (0, 0)]),
}


class DotAlgorithm(NamedTuple):
    """How a product is computed, as `precision` of `lax.dot_general` and its kin.

    out = Σₖ round(lhs)·round(rhs), summed in `accumulation_type`, and rounded to the
    dtype of the result. `num_primitive_operations` may be 1, 3, 6 or 9: with more than
    one, operands are split into 2 or 3 parts of the precision types, whose products are
    added up; component counts are 1 or that number of parts. Sums of 16 bits are kept in
    float32 and rounded once.

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> rounded = lax.DotAlgorithm(jnp.bfloat16, jnp.bfloat16, jnp.float32)
    >>> x = jnp.array([1.0, 1.001])
    >>> lax.dot(x, x, precision=rounded)
    Array(2., dtype=float32)
    """

    lhs_precision_type: Any
    rhs_precision_type: Any
    accumulation_type: Any
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False


class DotAlgorithmPreset(enum.Enum):
    """Well-known algorithms of products, named by the types of lhs, rhs and the sum.

    `_X3`, `_X6`, `_X9` split operands and add up that many products; see `DotAlgorithm`.
    Members or their names are given as `precision` of `lax.dot_general`, `lax.dot`,
    convolutions, `jnp.matmul`, `jnp.einsum` and their kin. The presets of float8 take
    float8 operands only, and raise ValueError for others.

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> x = jnp.array([1.0, 1.001])
    >>> lax.dot(x, x, precision="BF16_BF16_F32_X3").round(4)
    Array(2.002, dtype=float32)
    """

    DEFAULT = enum.auto()
    ANY_F8_ANY_F8_F32 = enum.auto()
    ANY_F8_ANY_F8_F32_FAST_ACCUM = enum.auto()
    ANY_F8_ANY_F8_ANY = enum.auto()
    ANY_F8_ANY_F8_ANY_FAST_ACCUM = enum.auto()
    F16_F16_F16 = enum.auto()
    F16_F16_F32 = enum.auto()
    BF16_BF16_BF16 = enum.auto()
    BF16_BF16_F32 = enum.auto()
    BF16_BF16_F32_X3 = enum.auto()
    BF16_BF16_F32_X6 = enum.auto()
    BF16_BF16_F32_X9 = enum.auto()
    TF32_TF32_F32 = enum.auto()
    TF32_TF32_F32_X3 = enum.auto()
    F32_F32_F32 = enum.auto()
    F64_F64_F64 = enum.auto()

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    def __str__(self) -> str:
        return self.name

    @property
    def accumulation_type(self) -> Any:
        """The dtype in which products are added up; None if it is that of the result."""
        words = self.name.split("_")
        if self is DotAlgorithmPreset.DEFAULT:
            return None
        last = "F32" if "F32" in words else words[2] if len(words) == 3 else "ANY"
        return None if last == "ANY" else _TYPES[last]


_TYPES: dict[str, Any] = {
    "F16": np.dtype(np.float16),
    "BF16": np.dtype(dtypes.bfloat16),
    "TF32": TF32,
    "F32": F32,
    "F64": np.dtype(np.float64),
}
PRESETS = {preset.name: preset for preset in DotAlgorithmPreset}
Algorithm = DotAlgorithm | DotAlgorithmPreset


def check_algorithm(algorithm: DotAlgorithm) -> DotAlgorithm:
    """`algorithm` with dtypes in place of what stands for them; an error if none."""
    types = []
    for name, given in zip(DotAlgorithm._fields, algorithm[:3]):
        try:
            dtype = np.dtype(given)
        except TypeError:
            dtype = None
        if dtype not in (*_TYPES.values(),):
            raise ValueError(
                f"DotAlgorithm: {name} must be float16, bfloat16, float32 or float64, got"
                f" {given!r}"
            )
        types.append(dtype)
    if algorithm.num_primitive_operations not in _PRODUCTS:
        raise ValueError(
            "DotAlgorithm: num_primitive_operations must be 1, 3, 6 or 9, got"
            f" {algorithm.num_primitive_operations!r}"
        )
    parts = _PRODUCTS[algorithm.num_primitive_operations][0]
    for name in ("lhs_component_count", "rhs_component_count"):
        if getattr(algorithm, name) not in (1, parts):
            raise ValueError(
                f"DotAlgorithm: {name} must be 1 or {parts} with"
                f" num_primitive_operations={algorithm.num_primitive_operations}, got"
                f" {getattr(algorithm, name)!r}"
            )
    lhs, rhs, wide = types
    return algorithm._replace(
        lhs_precision_type=lhs, rhs_precision_type=rhs, accumulation_type=wide
    )


def check_operands(algorithm: Any, lhs: Any, rhs: Any, name: str) -> None:
    """ValueError where a preset is for other dtypes than those of the operands."""
    if not isinstance(algorithm, DotAlgorithmPreset):
        return
    if not algorithm.name.startswith("ANY_F8"):
        return
    if lhs.name.startswith("float8") and rhs.name.startswith("float8"):
        return
    raise ValueError(
        f"{name}: precision={algorithm.name} multiplies arrays of float8, got {lhs.name}"
        f" and {rhs.name}. Convert the operands, or leave precision out."
    )


def _parameters(algorithm: Algorithm, out: np.dtype[Any]) -> tuple[Any, Any, Any, int]:
    """The types of lhs, of rhs and of the sum, and the number of products."""
    if isinstance(algorithm, DotAlgorithm):
        return (*algorithm[:3], algorithm.num_primitive_operations)
    words = algorithm.name.split("_")
    if words[0] == "ANY":
        wide = algorithm.accumulation_type or out
        if dtypes.kind(wide) != "f" or wide.name.startswith("float8"):
            wide = F32
        return None, None, wide, 1
    products = int(words[3][1:]) if len(words) > 3 else 1
    return _TYPES[words[0]], _TYPES[words[1]], _TYPES[words[2]], products


def _parts(x: Any, rounded: Any, wide: Any, count: int) -> list[Any]:
    """x as a sum of `count` values that `rounded` holds; the last is what it rounds to."""
    parts = []
    if count > 1:
        x = ConvertElementType(wide)(x)
    while True:
        if rounded is None:
            part = ConvertElementType(wide)(x)
        elif rounded is TF32:
            part = ReducePrecision(8, 10)(ConvertElementType(F32)(x))
        else:
            part = ConvertElementType(rounded)(x)
        parts.append(part)
        if len(parts) == count:
            return parts
        x = sub(x, ConvertElementType(wide)(part))


def by_algorithm(
    algorithm: Algorithm,
    product: Callable[[Any, Any, Any], Any],
    lhs: Any,
    rhs: Any,
    out: np.dtype[Any],
) -> Any:
    """The product of dtype `out`, from `product(lhs, rhs, dtype of sum and result)`."""
    kind = aval_of(lhs).kind
    if algorithm is DotAlgorithmPreset.DEFAULT or kind != "f":
        return product(lhs, rhs, out)
    left, right, wide, products = _parameters(algorithm, out)
    count, pairs = _PRODUCTS[products]
    with enable_x64(True):
        first = _parts(lhs, left, wide, count)
        second = _parts(rhs, right, wide, count)
        total = None
        for i, j in pairs:
            a, b = first[i], second[j]
            if aval_of(a).dtype != aval_of(b).dtype:
                a, b = [ConvertElementType(wide)(x) for x in (a, b)]
            term = product(a, b, wide)
            total = term if total is None else add(total, term)
        return ConvertElementType(out)(total)


def written(emit: Any, product: Callable[[Any, Any], Any], lhs: Any, rhs: Any) -> Any:
    """`product(lhs, rhs)` as StableHLO."""
    jaxpr, _ = stage(lambda *xs: [product(*xs)], (lhs.aval, rhs.aval), "product")
    return emit.inline(jaxpr, lhs, rhs)[0]
