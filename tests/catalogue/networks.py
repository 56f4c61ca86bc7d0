"""Functions of tetrad.nn."""

import numpy as np
from scipy import special

from catalogue.row import Arg, Row, real, whole

FEW = ("float32", "float64", "bfloat16")
# Compositions of several rounded functions.
ULP = {"bfloat16": 8, "float32": 16, "float64": 16}


def unary(name, reference, low=0.1, high=3.0, **more):
    more.setdefault("elementwise", True)
    more.setdefault("ulp", ULP)
    more.setdefault("dtypes", FEW)
    return Row(f"nn.{name}", reference, (real(low, high),), **more)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def elu(x, alpha=1.0):
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def standardized(x):
    middle = x - x.mean(-1, keepdims=True)
    return middle / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


SCALE, ALPHA = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717
TANH_SCALE = np.sqrt(2 / np.pi)


def attention(q, k, v):
    """By heads: the batch, then times, heads, features."""
    scores = np.einsum("btnh,bsnh->bnts", q, k) / np.sqrt(q.dtype.type(q.shape[-1]))
    later = np.triu(np.ones(scores.shape[-2:], bool), 1)
    return np.einsum("bnts,bsnh->btnh", softmax(np.where(later, -np.inf, scores)), v)


# Edges are left out where the reference has 0 * inf.
ROWS = [
    unary("relu", lambda x: np.maximum(x, 0), dtypes=(*FEW, "int32")),
    unary("relu6", lambda x: np.clip(x, 0, 6)),
    unary("sigmoid", sigmoid, -3), unary("softplus", lambda x: np.logaddexp(x, 0), -3),
    unary("log_sigmoid", lambda x: -np.logaddexp(-x, 0), -3),
    unary("soft_sign", lambda x: x / (1 + np.abs(x)), edges=False),
    unary("silu", lambda x: x * sigmoid(x), edges=False),
    unary("swish", lambda x: x * sigmoid(x), edges=False),
    unary("tanh", np.tanh, -3),
    unary("elu", elu), unary("elu", elu, -3, -0.1, id="negative"),
    unary("celu", elu, -3, -0.1),
    unary("selu", lambda x: SCALE * elu(x, ALPHA), -3, -0.1),
    unary("leaky_relu", lambda x: np.where(x >= 0, x, 0.01 * x), -3, -0.1),
    unary("hard_sigmoid", lambda x: np.clip(x + 3, 0, 6) / 6, -2, 2),
    unary("hard_silu", lambda x: x * np.clip(x + 3, 0, 6) / 6, edges=False),
    unary("hard_swish", lambda x: x * np.clip(x + 3, 0, 6) / 6, edges=False),
    unary("hard_tanh", lambda x: np.clip(x, -1, 1), -0.9, 0.9),
    unary("gelu", lambda x: x / 2 * (1 + np.tanh(TANH_SCALE * (x + 0.044715 * x**3))),
          edges=False),
    unary("gelu", lambda x: x / 2 * special.erfc(-x.astype(np.float64) / np.sqrt(2)),
          params={"approximate": False}, id="exact", edges=False),
    unary("identity", lambda x: x),
    unary("log1mexp", lambda x: np.log(-np.expm1(-x))),
    unary("mish", lambda x: x * np.tanh(np.logaddexp(x, 0)), edges=False),
    unary("squareplus", lambda x: (x + np.sqrt(x * x + 4)) / 2, edges=False),
    unary("sparse_plus", lambda x: np.where(x >= 1, x, np.where(
        x <= -1, 0, (x + 1) ** 2 / 4)), -0.9, 0.9),
    unary("sparse_sigmoid", lambda x: np.clip((x + 1) / 2, 0, 1), -0.9, 0.9),
    unary("softmax", softmax, -3, elementwise=False),
    unary("log_softmax", lambda x: x - np.log(np.exp(x).sum(-1, keepdims=True)), -3,
          elementwise=False),
    unary("logsumexp", lambda x: np.log(np.exp(x).sum()), -3, elementwise=False),
    unary("logsumexp", lambda x: np.log(np.exp(x).sum(1, keepdims=True)), -3,
          elementwise=False, params={"axis": 1, "keepdims": True}, id="axis"),
    unary("logmeanexp", lambda x: np.log(np.exp(x).mean(1)), elementwise=False,
          params={"axis": 1}),
    # Differences from the mean cancel.
    unary("standardize", standardized, -3, elementwise=False,
          absolute={"float32": 1e-6, "float64": 2e-15}, dtypes=("float32", "float64")),
    Row("nn.glu", lambda x: x[:, :2] * sigmoid(x[:, 2:]), ulp=ULP, dtypes=FEW),
    Row("nn.one_hot", lambda i: np.eye(4)[i], (whole(0, 3, (5,)),), dtypes=("float32",),
        params={"num_classes": 4}),
    # Values are averaged and may cancel.
    Row("nn.dot_product_attention", attention, (Arg((2, 3, 2, 4)),) * 3, bits=False,
        params={"is_causal": True}, dtypes=("float32", "float64"), ulp=ULP,
        absolute={"float32": 2e-6, "float64": 4e-15}),
]  # fmt: skip
