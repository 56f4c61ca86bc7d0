"""Products of arrays whose blocks have scales of their own.

In: arrays of few bits, and scales, one for a block of neighbours along the axes that are
summed over. Out: their product, as if every element had been multiplied by the scale of its
block, in float32. `scaled_dot_general` rounds arrays of floats to such blocks first, and
does the same with cotangents.

Read `_scaled`, then `lax.scaled_dot` and `nn.scaled_matmul`, then `Rounded`.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import ml_dtypes
import numpy as np

from tetrad._src.control.custom import custom_vjp
from tetrad._src.core.bind import aval_of
from tetrad._src.numpy import (
    assemble,
    choice,
    convert,
    create,
    elementwise,
    integers,
    transcendental,
)
from tetrad._src.numpy import shape as shapes
from tetrad._src.numpy.pad import pad
from tetrad._src.numpy.reduce import max as maximum_of
from tetrad._src.ops.contract import dot_general
from tetrad._src.ops.convert import canonical, convert_element_type
from tetrad._src.ops.shape import transpose
from tetrad._src.util import dtypes

F32 = np.dtype(np.float32)


def _scaled(name: str, x: Any, scale: Any, argument: str, summed: Any) -> Any:
    """x in float32, times the scale of the block of each element."""
    wide: Any = convert_element_type(x, F32)
    if scale is None:
        return wide
    full, short = aval_of(x), aval_of(scale)
    fits = full.ndim == short.ndim and all(
        n % max(k, 1) == 0 and k > 0 if i in summed else n == k
        for i, (n, k) in enumerate(zip(full.shape, short.shape))
    )
    if not fits:
        raise ValueError(
            f"{name}: the scales of {argument} must have its shape, but for extents that"
            f" divide those of the axes {tuple(summed)}, which are summed over; got"
            f" {short.long_name()} for {full.long_name()}"
        )
    spread: Any = convert_element_type(scale, F32)
    for axis, (n, k) in enumerate(zip(full.shape, short.shape)):
        if n != k:
            spread = assemble.repeat(spread, n // k, axis)
    return wide * spread


def scaled_dot(
    lhs: Any,
    rhs: Any,
    *,
    lhs_scale: Any = None,
    rhs_scale: Any = None,
    dimension_numbers: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """The product of arrays whose blocks have scales of their own.

    out = `dot_general`(lhs·scale, rhs·scale): an element takes the scale of the block that
    it lies in. Computed in float32, and rounded to `preferred_element_type`.

    Args:
      lhs, rhs: arrays of one rank of at least 2.
      lhs_scale, rhs_scale: as many axes; extents are the same, or along the axes that are
        summed over divisors of them. None is 1.
      dimension_numbers: as `lax.dot_general` takes them; without them the last axis of
        lhs meets the last but one of rhs, and those before run together.
      preferred_element_type: the dtype of the result, bfloat16 by default.

    TypeError for ranks below 2, ValueError if scales do not fit.

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> x, halves = jnp.ones((1, 4)), jnp.array([[1.0, 0.5]])
    >>> lax.scaled_dot(x, jnp.ones((4, 1)), lhs_scale=halves)
    Array([[3]], dtype=bfloat16)
    """
    name = "lax.scaled_dot"
    lhs, rhs = convert.asarray(lhs), convert.asarray(rhs)
    if dimension_numbers is None:
        n = lhs.ndim
        if n < 2 or rhs.ndim != n:
            raise TypeError(
                f"{name} needs two arrays of one rank of at least 2, got"
                f" {aval_of(lhs).long_name()} and {aval_of(rhs).long_name()}"
            )
        batch = tuple(range(n - 2))
        dimension_numbers = (((n - 1,), (n - 2,)), (batch, batch))
    (left, right), _ = dimension_numbers
    out = canonical(preferred_element_type or dtypes.bfloat16)
    product = dot_general(
        _scaled(name, lhs, lhs_scale, "lhs", left),
        _scaled(name, rhs, rhs_scale, "rhs", right),
        dimension_numbers,
    )
    return convert_element_type(product, out)


def scaled_matmul(
    lhs: Any,
    rhs: Any,
    lhs_scales: Any,
    rhs_scales: Any,
    preferred_element_type: Any = np.float32,
) -> Any:
    """The matrix products lhs·rhsᵀ of matrices whose blocks have scales of their own.

    out[b, m, n] = Σₖ lhs[b, m, k]·s[b, m, ⌊k/p⌋]·rhs[b, n, k]·t[b, n, ⌊k/q⌋] with the scales
    s[b, m, k/p] and t[b, n, k/q]. Computed in float32, and rounded to
    `preferred_element_type`. ValueError if shapes do not fit.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> a, b = jnp.array([[[1., 2., 3.]]]), jnp.array([[[4., 5., 6.]]])
    >>> half = jnp.array([[[0.5]]])
    >>> jax.nn.scaled_matmul(a, b, half, half)
    Array([[[8.]]], dtype=float32)
    """
    name = "nn.scaled_matmul"
    lhs, rhs = convert.asarray(lhs), convert.asarray(rhs)
    left, right = aval_of(lhs), aval_of(rhs)
    if not left.ndim == right.ndim == 3 or left.shape[::2] != right.shape[::2]:
        raise ValueError(
            f"{name}: lhs and rhs must have shapes (B, M, K) and (B, N, K), got"
            f" {left.long_name()} and {right.long_name()}"
        )
    product = dot_general(
        _scaled(name, lhs, lhs_scales, "lhs", (2,)),
        _scaled(name, rhs, rhs_scales, "rhs", (2,)),
        (((2,), (2,)), ((0,), (0,))),
    )
    return convert_element_type(product, canonical(preferred_element_type))


@dataclasses.dataclass
class BlockScaleConfig:
    """How an array is rounded to blocks; made by `nn.get_scaled_dot_general_config`.

    Args:
      mode: "mxfp8", with scales that are powers of 2, or "nvfp4".
      block_size: how many elements share a scale.
      data_type: the dtype of elements.
      scale_type: the dtype of scales.
      global_scale: a further factor of all scales, or None.
      infer_only: whether gradients are refused.
    """

    mode: str
    block_size: int
    data_type: Any
    scale_type: Any
    global_scale: Any = None
    infer_only: bool = False


def get_scaled_dot_general_config(
    mode: str, global_scale: Any = None
) -> BlockScaleConfig:
    """How `nn.scaled_dot_general` rounds an operand.

    Args:
      mode: "mxfp8": blocks of 32 float8_e4m3fn with a power of 2 as their scale.
        "nvfp4": blocks of 16 float4_e2m1fn with a float8_e4m3fn as their scale.
      global_scale: with "nvfp4", a float32[1] that all scales are multiples of; 1 if None.

    ValueError for another mode, or a global scale with "mxfp8".

    >>> import tetrad as jax
    >>> jax.nn.get_scaled_dot_general_config("mxfp8").block_size
    32
    """
    if mode == "nvfp4":
        one = create.ones((1,), F32) if global_scale is None else global_scale
        return BlockScaleConfig(
            mode, 16, _dtype_named("float4_e2m1fn"), _dtype_named("float8_e4m3fn"), one
        )
    if mode != "mxfp8":
        raise ValueError(
            "nn.get_scaled_dot_general_config: mode must be 'nvfp4' or 'mxfp8', got"
            f" {mode!r}"
        )
    if global_scale is not None:
        raise ValueError(
            "nn.get_scaled_dot_general_config: global_scale goes with mode='nvfp4' alone"
        )
    return BlockScaleConfig(
        mode, 32, _dtype_named("float8_e4m3fn"), _dtype_named("float8_e8m0fnu")
    )


def _dtype_named(name: str) -> np.dtype[Any]:
    found: Any = getattr(ml_dtypes, name, None)
    if found is None:
        raise NotImplementedError(
            f"nn.get_scaled_dot_general_config needs the dtype {name}, which the installed"
            " ml_dtypes lacks; install a newer one"
        )
    dtype: np.dtype[Any] = np.dtype(found)
    return dtype


def _rounded(x: Any, config: BlockScaleConfig) -> Any:
    """x[b, m, k] in float32, rounded to blocks along its last axis."""
    size = config.block_size
    b, m, k = x.shape
    x = convert_element_type(x, F32)
    blocks: Any = pad(x, ((0, 0), (0, 0), (0, -k % size)))
    blocks = shapes.reshape(blocks, (b, m, -1, size))
    most = float(dtypes.finfo(config.data_type).max)
    largest: Any = maximum_of(elementwise.abs(blocks), axis=-1, keepdims=True)
    scales: Any = largest / most
    if config.mode == "mxfp8":
        found: Any = integers.frexp(scales)
        part, power = found
        power = choice.clip(power - (part == 0.5), -126, 127)
        scales = transcendental.ldexp(create.ones_like(scales), power)
    else:
        factor: Any = convert.asarray(config.global_scale)
        highest = float(dtypes.finfo(config.scale_type).max)
        narrow: Any = choice.clip(scales / factor, 0, highest)
        narrow = convert_element_type(narrow, config.scale_type)
        scales = convert_element_type(narrow, F32) * factor
    safe: Any = choice.where(scales == 0, 1, scales)
    units: Any = choice.clip(blocks / safe, -most, most)
    units = convert_element_type(units, config.data_type)
    whole: Any = shapes.reshape(convert_element_type(units, F32) * scales, (b, m, -1))
    return whole[..., :k]


_BATCHED = (((2,), (2,)), ((0,), (0,)))


def _product(configs: Any) -> Any:
    """lhs·rhsᵀ of operands that are rounded to blocks, and so are cotangents."""

    @custom_vjp
    def product(lhs: Any, rhs: Any) -> Any:
        return dot_general(
            _rounded(lhs, configs[0]), _rounded(rhs, configs[1]), _BATCHED
        )

    def forward(lhs: Any, rhs: Any) -> Any:
        return product(lhs, rhs), (lhs, rhs)

    def backward(saved: Any, ct: Any) -> Any:
        if any(config.infer_only for config in configs):
            raise ValueError(
                "nn.scaled_dot_general: a configuration says infer_only=True, which"
                " allows no gradients"
            )
        lhs, rhs = saved
        turned = (0, 2, 1)
        by_lhs = dot_general(
            _rounded(ct, configs[2]),
            _rounded(transpose(rhs, turned), configs[1]),
            _BATCHED,
        )
        by_rhs = dot_general(
            _rounded(transpose(ct, turned), configs[2]),
            _rounded(transpose(lhs, turned), configs[0]),
            _BATCHED,
        )
        pairs = (by_lhs, lhs), (by_rhs, rhs)
        return tuple([convert_element_type(g, aval_of(x).dtype) for g, x in pairs])

    product.defvjp(forward, backward)
    return product


def scaled_dot_general(
    lhs: Any,
    rhs: Any,
    dimension_numbers: Any,
    preferred_element_type: Any = np.float32,
    configs: Any = None,
    implementation: str | None = None,
) -> Any:
    """`lax.dot_general` of operands that are rounded to blocks with scales of their own.

    Args:
      lhs, rhs: arrays of floats.
      dimension_numbers: as `lax.dot_general` takes them.
      preferred_element_type: the dtype of the result.
      configs: how lhs, rhs and cotangents are rounded, three results of
        `nn.get_scaled_dot_general_config`; None leaves them as they are.
      implementation: None; there is one.

    Sums are those of float32. Gradients round the cotangent and the other operand along
    the axes that they sum over. ValueError for other configurations.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> configs = [jax.nn.get_scaled_dot_general_config("mxfp8")] * 3
    >>> x = jnp.full((2, 3), 1.05)
    >>> product = jax.nn.scaled_dot_general(x, x, (((1,), (1,)), ((), ())), configs=configs)
    >>> product[0, 0]
    Array(3., dtype=float32)
    """
    name = "nn.scaled_dot_general"
    if implementation is not None:
        raise NotImplementedError(
            f"{name}: implementation={implementation!r} is not available, there is one;"
            " leave it out"
        )
    out = canonical(preferred_element_type)
    if configs is None:
        return dot_general(lhs, rhs, dimension_numbers, preferred_element_type=out)
    kinds = [isinstance(config, BlockScaleConfig) for config in configs]
    if kinds != [True] * 3:
        raise ValueError(
            f"{name}: configs must be three results of nn.get_scaled_dot_general_config,"
            f" for lhs, rhs and gradients, got {configs!r}"
        )
    (lc, rc), (lb, rb) = dimension_numbers
    lhs, rhs = convert.asarray(lhs), convert.asarray(rhs)
    left, free_left, batch = _as_matrices(lhs, tuple(lc), tuple(lb))
    right, free_right, _ = _as_matrices(rhs, tuple(rc), tuple(rb))
    product: Any = _product(tuple(configs))(left, right)
    return convert_element_type(
        shapes.reshape(product, (*batch, *free_left, *free_right)), out
    )


def _as_matrices(x: Any, summed: Any, batch: Any) -> tuple[Any, Any, Any]:
    """x as (batch, free, summed), and the extents of what is free and the batch."""
    free = [i for i in range(x.ndim) if i not in summed and i not in batch]
    extents = [[x.shape[i] for i in axes] for axes in (batch, free, summed)]
    moved = transpose(x, (*batch, *free, *summed))
    joined = shapes.reshape(moved, tuple([math.prod(part) for part in extents]))
    return joined, extents[1], extents[0]
