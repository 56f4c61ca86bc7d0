"""Functions of neural networks: activations, softmax and its relatives, encodings.

All take arrays or Python numbers and give arrays of a floating-point dtype; integers
count as floats.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tetrad._src.control.custom import custom_jvp
from tetrad._src.core.bind import Value, aval_of
from tetrad._src.numpy import (
    assemble,
    choice,
    convert,
    create,
    elementwise,
    logic,
    reduce,
    shape,
    transcendental,
)
from tetrad._src.numpy.axes import static_int
from tetrad._src.numpy.plan import planned_whole, planned_with_floats
from tetrad._src.ops import elementwise as ops
from tetrad._src.ops import special
from tetrad._src.ops.convert import convert_element_type
from tetrad._src.ops.identity import stop_gradient
from tetrad._src.util import dtypes, frames
from tetrad._src.util.config import config

Axis = int | Sequence[int] | None
SINGLE = np.dtype(np.float32)  # in which floats of 8 bits and fewer are composed


def _float(x: Any, name: str) -> Any:
    """An array of a floating-point dtype."""
    x = convert.operand(x, f"nn.{name}")
    if not isinstance(x, Value):
        x = convert.asarray(x)
    aval = aval_of(x)
    if aval.kind in "iub":
        return convert_element_type(x, dtypes.canonicalize_dtype(float))
    return x


# ------------------------------------------------------------------------- activations


@custom_jvp
def _relu(x: Any) -> Any:
    return elementwise.maximum(x, 0)


@_relu.defjvp
def _relu_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    return _relu(x), choice.where(x > 0, t, create.zeros_like(t))


def relu(x: Any) -> Any:
    """max(x, 0), with derivative 0 at 0.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> jax.nn.relu(jnp.array([-1.0, 2.0]))
    Array([0., 2.], dtype=float32)
    """
    return _relu(convert.asarray(convert.operand(x, "nn.relu")))


@custom_jvp
def _relu6(x: Any) -> Any:
    return elementwise.minimum(elementwise.maximum(x, 0), 6)


@_relu6.defjvp
def _relu6_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    inside = logic.logical_and(x > 0, x < 6)
    return _relu6(x), choice.where(inside, t, create.zeros_like(t))


@planned_whole
def relu6(x: Any) -> Any:
    """min(max(x, 0), 6), with derivative 0 at both bends."""
    return _relu6(_float(x, "relu6"))


@planned_whole
def identity(x: Any) -> Any:
    """x itself, as an array."""
    return convert.asarray(convert.operand(x, "nn.identity"))


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x))."""
    return ops.logistic(_float(x, "sigmoid"))


@planned_whole
def softplus(x: Any) -> Any:
    """log(1 + exp(x)), without overflow."""
    return transcendental.logaddexp(_float(x, "softplus"), 0)


@planned_with_floats
def squareplus(x: Any, b: Any = 4) -> Any:
    """(x + sqrt(x² + b)) / 2: a softplus without exponentials.

    >>> import tetrad as jax
    >>> jax.nn.squareplus(0.0)
    Array(1., dtype=float32, weak_type=True)
    """
    x = _float(x, "squareplus")
    b = convert.operand(b, "nn.squareplus", "b")
    return (x + elementwise.sqrt(elementwise.square(x) + b)) / 2


@planned_whole
def sparse_plus(x: Any) -> Any:
    """0 up to -1, (x + 1)² / 4 between -1 and 1, x from there on."""
    x = _float(x, "sparse_plus")
    bend = elementwise.square(x + 1.0) / 4
    return choice.where(x <= -1.0, 0.0, choice.where(x >= 1.0, x, bend))


@planned_whole
def sparse_sigmoid(x: Any) -> Any:
    """The derivative of `sparse_plus`: (x + 1) / 2, held within 0 and 1."""
    x = _float(x, "sparse_sigmoid")
    held: Any = choice.clip(x + 1.0, 0.0, 2.0)
    return 0.5 * held


@planned_whole
def mish(x: Any) -> Any:
    """x · tanh(softplus(x)), of Misra, 2019."""
    x = _float(x, "mish")
    return x * transcendental.tanh(softplus(x))


@planned_whole
def log_sigmoid(x: Any) -> Any:
    """log(1 / (1 + exp(-x)))."""
    return -softplus(-_float(x, "log_sigmoid"))


@planned_whole
def soft_sign(x: Any) -> Any:
    """x / (1 + |x|)."""
    x = _float(x, "soft_sign")
    return x / (ops.abs(x) + 1)


@planned_whole
def silu(x: Any) -> Any:
    """x · sigmoid(x), also called swish."""
    x = _float(x, "silu")
    return x * ops.logistic(x)


swish = silu


@planned_with_floats
def elu(x: Any, alpha: Any = 1.0) -> Any:
    """x where x > 0, alpha (exp(x) - 1) elsewhere."""
    x = _float(x, "elu")
    safe = choice.where(x > 0, 0.0, x)
    return choice.where(x > 0, x, alpha * transcendental.expm1(safe))


@planned_whole
def selu(x: Any) -> Any:
    """The self-normalising elu of Klambauer et al., 2017."""
    alpha = 1.6732632423543772848170429916717
    scale = 1.0507009873554804934193349852946
    return scale * elu(x, alpha)


@planned_with_floats
def celu(x: Any, alpha: Any = 1.0) -> Any:
    """x where x > 0, alpha (exp(x / alpha) - 1) elsewhere."""
    x = _float(x, "celu")
    return elementwise.maximum(x, 0.0) + alpha * transcendental.expm1(
        elementwise.minimum(x, 0.0) / alpha
    )


@planned_with_floats
def leaky_relu(x: Any, negative_slope: Any = 0.01) -> Any:
    """x where x >= 0, negative_slope · x elsewhere."""
    x = _float(x, "leaky_relu")
    return choice.where(x >= 0, x, negative_slope * x)


@planned_whole
def hard_tanh(x: Any) -> Any:
    """x, held within -1 and 1; of the dtype of x."""
    x = convert.asarray(convert.operand(x, "nn.hard_tanh"))
    return choice.where(x > 1, 1, choice.where(x < -1, -1, x))


@planned_whole
def hard_sigmoid(x: Any) -> Any:
    """relu6(x + 3) / 6."""
    return relu6(_float(x, "hard_sigmoid") + 3.0) / 6.0


@planned_whole
def hard_silu(x: Any) -> Any:
    """x · hard_sigmoid(x)."""
    x = _float(x, "hard_silu")
    return x * hard_sigmoid(x)


hard_swish = hard_silu


@planned_whole
def gelu(x: Any, approximate: bool = True) -> Any:
    """x · Φ(x) with the normal distribution function Φ.

    By default Φ is approximated with a tanh (Hendrycks & Gimpel, 2016).
    """
    x = _float(x, "gelu")
    if approximate:
        inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
        return x * (0.5 * (1.0 + transcendental.tanh(inner)))
    return 0.5 * x * special.erfc(-x * math.sqrt(0.5))


@planned_whole
def glu(x: Any, axis: int = -1) -> Any:
    """The first half of x along `axis`, times the sigmoid of the second."""
    x = _float(x, "glu")
    size = x.shape[axis]
    if size % 2:
        raise ValueError(f"jax.nn.glu needs an even size along axis {axis}, got {size}")
    first, second = assemble.split(x, 2, axis)
    return first * sigmoid(second)


# ---------------------------------------------------------------- softmax and relatives


@planned_whole
def logsumexp(
    a: Any,
    axis: Axis = None,
    b: Any = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: Any = None,
) -> Any:
    """log(sum(b · exp(a))) along `axis`, without overflow.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> jax.nn.logsumexp(jnp.array([1000.0, 1000.0]))
    Array(1000.6932, dtype=float32)
    """
    a = _float(a, "logsumexp")
    dtype = aval_of(a).dtype
    if dtype.itemsize == 1:
        b = None if b is None else _float(b, "logsumexp").astype(SINGLE)
        outs = logsumexp(a.astype(SINGLE), axis, b, keepdims, return_sign, where)
        if return_sign:
            return tuple([out.astype(dtype) for out in outs])
        return outs.astype(dtype)
    if b is not None:
        b = _float(b, "logsumexp")
        a = choice.where(b != 0, a, -np.inf)
    peak = reduce.max(a, axis=axis, keepdims=True, where=where, initial=-np.inf)
    peak = stop_gradient(
        choice.where(logic.isfinite(peak), peak, create.zeros_like(peak))
    )
    terms = transcendental.exp(a - peak)
    if b is not None:
        terms = terms * b
    total = reduce.sum(terms, axis=axis, keepdims=keepdims, where=where)
    sign = elementwise.sign(total)
    if not keepdims:
        peak = shape.squeeze(peak, axis=_axes(axis, a.ndim))
    if return_sign or b is not None:
        total = ops.abs(total)
    out = transcendental.log(total) + peak
    if return_sign:
        return out, sign
    if b is not None:
        return choice.where(sign < 0, np.nan, out)
    return out


def logmeanexp(
    x: Any, axis: Axis = None, where: Any = None, keepdims: bool = False
) -> Any:
    """log(mean(exp(x))) along `axis`, without overflow."""
    x = _float(x, "logmeanexp")
    total = logsumexp(x, axis=axis, where=where, keepdims=keepdims)
    count = reduce.sum(create.ones_like(x), axis=axis, where=where, keepdims=keepdims)
    return total - transcendental.log(count)


@custom_jvp
def _log1mexp(x: Any) -> Any:
    near = transcendental.log(-transcendental.expm1(-x))
    far = transcendental.log1p(-transcendental.exp(-x))
    return choice.where(x < math.log(2.0), near, far)


@_log1mexp.defjvp
def _log1mexp_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    return _log1mexp(x), t / transcendental.expm1(x)


def log1mexp(x: Any) -> Any:
    """log(1 - exp(-x)) for x >= 0, accurate near both ends; NaN for negative x.

    Computed as log(-expm1(-x)) or as log1p(-exp(-x)), whichever loses fewer digits
    (Mächler, 2012).
    """
    return _log1mexp(_float(x, "log1mexp"))


def _axes(axis: Axis, ndim: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    if isinstance(axis, int):
        return (axis,)
    return tuple(axis)


def _softmax(x: Any, axis: Axis, where: Any) -> Any:
    peak = reduce.max(x, axis=axis, keepdims=True, where=where, initial=-np.inf)
    shifted = x if where is None else choice.where(where, x, -np.inf)
    terms = transcendental.exp(shifted - stop_gradient(peak))
    result = terms / reduce.sum(terms, axis=axis, keepdims=True, where=where)
    return result if where is None else choice.where(where, result, 0)


@functools.partial(custom_jvp, nondiff_argnums=(1,))
def _softmax_by_rule(x: Any, axis: Axis, where: Any) -> Any:
    return _softmax(x, axis, where)


@_softmax_by_rule.defjvp
def _softmax_jvp(axis: Axis, primals: Any, tangents: Any) -> Any:
    """The derivative in terms of the result, all that a backward pass then keeps."""
    x, where = primals
    t = tangents[0]
    y = _softmax_by_rule(x, axis, where)
    if where is not None:
        t = choice.where(where, t, create.zeros_like(t))
    return y, y * (t - reduce.sum(y * t, axis=axis, keepdims=True))


@planned_whole
def softmax(x: Any, axis: Axis = -1, where: Any = None) -> Any:
    """exp(x) / sum(exp(x)) along `axis`, without overflow.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> jax.nn.softmax(jnp.array([0.0, 0.0]))
    Array([0.5, 0.5], dtype=float32)
    """
    x = _float(x, "softmax")
    dtype = aval_of(x).dtype
    if dtype.itemsize == 1:
        return softmax(x.astype(SINGLE), axis, where).astype(dtype)
    if config.jax_softmax_custom_jvp:
        return _softmax_by_rule(x, axis, where)
    return _softmax(x, axis, where)


@planned_whole
def log_softmax(x: Any, axis: Axis = -1, where: Any = None) -> Any:
    """x - logsumexp(x) along `axis`."""
    x = _float(x, "log_softmax")
    dtype = aval_of(x).dtype
    if dtype.itemsize == 1:
        return log_softmax(x.astype(SINGLE), axis, where).astype(dtype)
    peak = reduce.max(x, axis=axis, keepdims=True, where=where, initial=-np.inf)
    shifted = x - stop_gradient(peak)
    if where is not None:
        # Before `exp`, so that no derivative comes of a slice in which nothing is chosen.
        shifted = choice.where(where, shifted, -np.inf)
    total = reduce.sum(transcendental.exp(shifted), axis=axis, keepdims=True)
    result = shifted - transcendental.log(total)
    return result if where is None else choice.where(where, result, -np.inf)


@planned_whole
def standardize(
    x: Any,
    axis: Axis = -1,
    mean: Any = None,
    variance: Any = None,
    epsilon: Any = 1e-5,
    where: Any = None,
    *,
    algorithm: str = "fast",
) -> Any:
    """(x - mean) / sqrt(variance + epsilon) along `axis`.

    The variance is mean(x²) - mean(x)², at least 0; with `algorithm="stable"` it is
    mean((x - mean)²), which keeps its digits where the mean is far from 0.
    """
    x = _float(x, "standardize")
    if algorithm not in ("fast", "stable"):
        raise ValueError(
            f"nn.standardize: algorithm must be 'fast' or 'stable', got {algorithm!r}"
        )
    if mean is None:
        mean = reduce.mean(x, axis=axis, keepdims=True, where=where)
    if variance is None and algorithm == "stable":
        variance = reduce.mean(
            elementwise.square(x - mean), axis=axis, keepdims=True, where=where
        )
    elif variance is None:
        variance = reduce.mean(
            elementwise.square(x), axis=axis, keepdims=True, where=where
        ) - elementwise.square(mean)
        variance = elementwise.maximum(variance, 0)  # it can come out negative
    return (x - mean) * ops.rsqrt(variance + epsilon)


@planned_whole
def one_hot(x: Any, num_classes: int, *, dtype: Any = None, axis: int = -1) -> Any:
    """1 at the position of each class index along a new axis, 0 elsewhere.

    Indices outside 0 … num_classes - 1 give rows of zeros.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> jax.nn.one_hot(jnp.array([1, 0]), 2)
    Array([[0., 1.],
           [1., 0.]], dtype=float32)
    """
    x = convert.asarray(x)
    if x.aval.kind not in "iub":
        frames.warn(
            f"jax.nn.one_hot input should be integer-typed, got {x.aval.long_name()};"
            " convert them with x.astype(int)",
            DeprecationWarning,
        )
    dtype = dtypes.canonicalize_dtype(float if dtype is None else dtype)
    rank = x.ndim + 1
    axis = axis % rank
    column = shape.expand_dims(x, axis)
    num_classes = static_int(num_classes, "nn.one_hot", "num_classes")
    classes = create.arange(num_classes, dtype=x.dtype)
    along = [1] * rank
    along[axis] = num_classes
    hit: Any = logic.equal(column, shape.reshape(classes, tuple(along)))
    return hit.astype(dtype)


tanh = transcendental.tanh
