"""Neural networks as pairs of functions.

A layer is (init, apply): `init(key, input_shape)` gives the shape of the output and the
parameters, `apply(params, inputs, rng=key)` the output. Sizes of −1 in a shape stand for
a batch of any size.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from tetrad import lax, nn, numpy, random
from tetrad._src.api.inspect import ShapeDtypeStruct, eval_shape
from tetrad.nn.initializers import glorot_normal, normal, ones, zeros

jnp: Any = numpy  # arrays have methods that their type does not state

_WEIGHTS, _BIAS, _SMALL_BIAS = glorot_normal(), normal(), normal(1e-6)

Layer = tuple[Callable[..., Any], Callable[..., Any]]
Shape = tuple[int, ...]


def _output_shape(
    apply: Callable[..., Any], params: Any, shape: Sequence[int]
) -> Shape:
    """The shape that `apply` gives; an unknown batch stays the axis that it is."""
    known = [1 if n < 0 else n for n in shape]
    inputs = ShapeDtypeStruct(known, jnp.result_type(float))
    found = list(eval_shape(apply, params, inputs).shape)
    for axis, n in enumerate(shape):
        if n < 0:
            found[axis] = n
    return tuple(found)


# ---------------------------------------------------------------- layers with weights


def Dense(
    out_dim: int,
    W_init: Any = _WEIGHTS,
    b_init: Any = _BIAS,
) -> Layer:
    """inputs·W + b, with `out_dim` outputs.

    >>> import tetrad as jax
    >>> from tetrad.example_libraries import stax
    >>> init, apply = stax.serial(stax.Dense(3), stax.Relu)
    >>> shape, params = init(jax.random.key(0), (-1, 2))
    >>> shape, apply(params, jnp.ones((5, 2))).shape
    ((-1, 3), (5, 3))
    """

    def init(rng: Any, input_shape: Shape) -> Any:
        first, second = random.split(rng)
        W = W_init(first, (input_shape[-1], out_dim))
        return (*input_shape[:-1], out_dim), (W, b_init(second, (out_dim,)))

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        W, b = params
        return jnp.dot(inputs, W) + b

    return init, apply


def _convolution(
    convolve: Callable[[Any, Any], Any],
    dimension_numbers: tuple[str, str, str],
    out_chan: int,
    filter_shape: Sequence[int],
    W_init: Any,
    b_init: Any,
) -> Layer:
    lhs, rhs, out = dimension_numbers
    if W_init is None:
        W_init = glorot_normal(rhs.index("I"), rhs.index("O"))

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        W, b = params
        return convolve(inputs, W) + b

    def init(rng: Any, input_shape: Shape) -> Any:
        sizes = iter(filter_shape)
        channels = {"O": out_chan, "I": input_shape[lhs.index("C")]}
        kernel = [channels[c] if c in channels else next(sizes) for c in rhs]
        bias = [out_chan if c == "C" else 1 for c in out]
        first, second = random.split(rng)
        params = W_init(first, kernel), b_init(second, bias)
        return _output_shape(apply, params, input_shape), params

    return init, apply


def GeneralConv(
    dimension_numbers: tuple[str, str, str],
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    W_init: Any = None,
    b_init: Any = _SMALL_BIAS,
) -> Layer:
    """A convolution with a bias; `dimension_numbers` are those of input, kernel, output."""
    steps = strides or (1,) * len(filter_shape)

    def convolve(x: Any, W: Any) -> Any:
        return lax.conv_general_dilated(
            x, W, steps, padding, dimension_numbers=dimension_numbers
        )

    return _convolution(
        convolve, dimension_numbers, out_chan, filter_shape, W_init, b_init
    )


def GeneralConvTranspose(
    dimension_numbers: tuple[str, str, str],
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    W_init: Any = None,
    b_init: Any = _SMALL_BIAS,
) -> Layer:
    """A transposed convolution with a bias."""
    steps = strides or (1,) * len(filter_shape)

    def convolve(x: Any, W: Any) -> Any:
        return lax.conv_transpose(
            x, W, steps, padding, dimension_numbers=dimension_numbers
        )

    return _convolution(
        convolve, dimension_numbers, out_chan, filter_shape, W_init, b_init
    )


Conv = functools.partial(GeneralConv, ("NHWC", "HWIO", "NHWC"))
Conv1DTranspose = functools.partial(GeneralConvTranspose, ("NHC", "HIO", "NHC"))
ConvTranspose = functools.partial(GeneralConvTranspose, ("NHWC", "HWIO", "NHWC"))


def BatchNorm(
    axis: Any = (0, 1, 2),
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
    beta_init: Any = zeros,
    gamma_init: Any = ones,
) -> Layer:
    """Inputs of mean 0 and variance 1 over `axis`, times gamma (`scale`) plus beta."""
    axes = (axis,) if isinstance(axis, int) else tuple(axis)

    def init(rng: Any, input_shape: Shape) -> Any:
        shape = tuple(n for i, n in enumerate(input_shape) if i not in axes)
        first, second = random.split(rng)
        beta = beta_init(first, shape) if center else ()
        gamma = gamma_init(second, shape) if scale else ()
        return input_shape, (beta, gamma)

    def apply(params: Any, x: Any, **kwargs: Any) -> Any:
        beta, gamma = params
        z = nn.standardize(x, axes, epsilon=epsilon)
        if scale:
            z = jnp.expand_dims(gamma, axes) * z
        return z + jnp.expand_dims(beta, axes) if center else z

    return init, apply


# ------------------------------------------------------------- layers without weights


def elementwise(fun: Callable[..., Any], **fun_kwargs: Any) -> Layer:
    """A layer that applies a function to each element."""

    def init(rng: Any, input_shape: Any) -> Any:
        return input_shape, ()

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return fun(inputs, **fun_kwargs)

    return init, apply


Tanh = elementwise(jnp.tanh)
Relu = elementwise(nn.relu)
Exp = elementwise(jnp.exp)
LogSoftmax = elementwise(nn.log_softmax, axis=-1)
Softmax = elementwise(nn.softmax, axis=-1)
Softplus = elementwise(nn.softplus)
Sigmoid = elementwise(nn.sigmoid)
Elu = elementwise(nn.elu)
LeakyRelu = elementwise(nn.leaky_relu)
Selu = elementwise(nn.selu)
Gelu = elementwise(nn.gelu)
Identity = elementwise(lambda x: x)


def _pool(
    reducer: Any,
    start: float,
    average: bool,
    window_shape: Sequence[int],
    strides: Sequence[int] | None,
    padding: Any,
    spec: str | None,
) -> Layer:
    rank = len(window_shape) + 2
    batch, channel = (0, rank - 1) if spec is None else map(spec.index, "NC")
    window, steps = list(window_shape), list(strides or (1,) * len(window_shape))
    for axis in sorted((batch, channel)):
        window.insert(axis, 1)
        steps.insert(axis, 1)

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        y = lax.reduce_window(inputs, start, reducer, window, steps, padding)
        if not average:
            return y
        # Windows at the edges cover less of the input.
        covered = lax.reduce_window(
            jnp.ones_like(inputs), 0.0, lax.add, window, steps, padding
        )
        return y / covered

    def init(rng: Any, input_shape: Shape) -> Any:
        return _output_shape(apply, (), input_shape), ()

    return init, apply


def MaxPool(
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    spec: str | None = None,
) -> Layer:
    """The greatest element of each window; `spec` names axes, as 'NHWC' does."""
    return _pool(lax.max, -jnp.inf, False, window_shape, strides, padding, spec)


def SumPool(
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    spec: str | None = None,
) -> Layer:
    """The sum of each window."""
    return _pool(lax.add, 0.0, False, window_shape, strides, padding, spec)


def AvgPool(
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    spec: str | None = None,
) -> Layer:
    """The mean of each window, over what it covers of the input."""
    return _pool(lax.add, 0.0, True, window_shape, strides, padding, spec)


def _flatten() -> Layer:
    def init(rng: Any, input_shape: Shape) -> Any:
        size = 1
        for n in input_shape[1:]:
            size *= n
        return (input_shape[0], size), ()

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return jnp.reshape(inputs, (inputs.shape[0], -1))

    return init, apply


Flatten = _flatten()


def Dropout(rate: float, mode: str = "train") -> Layer:
    """Keeps elements with probability `rate`, over `rate`; all if mode is not 'train'."""

    def init(rng: Any, input_shape: Any) -> Any:
        return input_shape, ()

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        key = kwargs.get("rng")
        if key is None:
            raise ValueError(
                "Dropout needs a random key: call apply(params, inputs, rng=key)"
            )
        if mode != "train":
            return inputs
        keep = random.bernoulli(key, rate, inputs.shape)
        return jnp.where(keep, inputs / rate, 0)

    return init, apply


# ---------------------------------------------------------------------- many of them


def FanOut(num: int) -> Layer:
    """Gives its input `num` times, for `parallel`."""

    def init(rng: Any, input_shape: Shape) -> Any:
        return [input_shape] * num, ()

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return [inputs] * num

    return init, apply


def _fan_in_sum() -> Layer:
    def init(rng: Any, input_shape: Sequence[Shape]) -> Any:
        return input_shape[0], ()

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return sum(inputs)

    return init, apply


FanInSum = _fan_in_sum()


def FanInConcat(axis: int = -1) -> Layer:
    """Joins inputs along an axis."""

    def init(rng: Any, input_shape: Sequence[Shape]) -> Any:
        shape = list(input_shape[0])
        shape[axis] = sum(each[axis] for each in input_shape)
        return tuple(shape), ()

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return jnp.concatenate(inputs, axis)

    return init, apply


def _keys(rng: Any, n: int) -> Any:
    return [None] * n if rng is None else random.split(rng, n)


def serial(*layers: Layer) -> Layer:
    """The layers one after the other."""

    def init(rng: Any, input_shape: Any) -> Any:
        params = []
        for init_layer, _ in layers:
            rng, key = random.split(rng)
            input_shape, param = init_layer(key, input_shape)
            params.append(param)
        return input_shape, params

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        keys = _keys(kwargs.pop("rng", None), len(layers))
        for (_, layer), param, key in zip(layers, params, keys, strict=True):
            inputs = layer(param, inputs, rng=key, **kwargs)
        return inputs

    return init, apply


def parallel(*layers: Layer) -> Layer:
    """The layers side by side: of several inputs, each goes through its own."""

    def init(rng: Any, input_shape: Sequence[Any]) -> Any:
        keys = random.split(rng, len(layers))
        made = [
            init_layer(key, shape)
            for (init_layer, _), key, shape in zip(
                layers, keys, input_shape, strict=True
            )
        ]
        return [shape for shape, _ in made], [param for _, param in made]

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        keys = _keys(kwargs.pop("rng", None), len(layers))
        return [
            layer(param, x, rng=key, **kwargs)
            for (_, layer), param, x, key in zip(
                layers, params, inputs, keys, strict=True
            )
        ]

    return init, apply


def shape_dependent(make_layer: Callable[[Any], Layer]) -> Layer:
    """The layer that `make_layer` makes of the shape of its input."""

    def init(rng: Any, input_shape: Any) -> Any:
        return make_layer(input_shape)[0](rng, input_shape)

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return make_layer(inputs.shape)[1](params, inputs, **kwargs)

    return init, apply
