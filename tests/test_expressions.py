"""Random elementwise expressions: eager code, `jit` and `vmap` give the same bits."""

from __future__ import annotations

import functools

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import assert_bits

import tetrad as jax
import tetrad.numpy as jnp

# ------------------------------------------------------------- elementwise expressions

UNARY = ("neg", "abs", "sin", "cos", "tan", "exp", "expm1", "log", "log1p", "tanh",
         "sqrt", "rsqrt", "logistic", "square", "sign", "floor", "round", "erf", "atan",
         "cbrt")  # fmt: skip
BINARY = ("add", "sub", "mul", "div", "max", "min", "atan2", "pow", "rem")
COMPARE = ("lt", "le", "eq", "ne", "ge")
CONSTANTS = (0.0, -0.0, 1.0, 0.5, -2.0, 3.25, 1e-3, 1e6)


def trees(depth=4):
    """Expressions as nested tuples: (name, *operands), a variable, or a constant."""
    leaf = st.one_of(st.sampled_from(["x", "y"]), st.sampled_from(CONSTANTS))
    if depth == 0:
        return leaf
    below = trees(depth - 1)
    return st.one_of(
        st.tuples(st.sampled_from(UNARY), below),
        st.tuples(st.sampled_from(BINARY), below, below),
        st.tuples(st.just("select"), st.sampled_from(COMPARE), below, below, below),
        leaf,
    )


def evaluated(tree, x, y):
    """The value of an expression, in operations of lax."""
    if isinstance(tree, str):
        return {"x": x, "y": y}[tree]
    if isinstance(tree, float):
        return jnp.float32(tree)
    if tree[0] == "select":
        _, compare, *operands = tree
        first, second, third = [evaluated(t, x, y) for t in operands]
        return jnp.where(getattr(jax.lax, compare)(first, second), second, third)
    return getattr(jax.lax, tree[0])(*[evaluated(t, x, y) for t in tree[1:]])


SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, 1e-40, 3e38], "float32")
LANES = np.random.default_rng(5).normal(0, 3, (2, 3, 8)).astype("float32")
LANES[0, 1] = SPECIAL
LANES[1, 1] = SPECIAL[::-1]


@settings(
    max_examples=300,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(trees())
def test_expressions_have_the_same_bits_eagerly_compiled_and_mapped(tree):
    fun = functools.partial(evaluated, tree)
    xs, ys = LANES
    eager = [np.asarray(fun(jnp.asarray(x), jnp.asarray(y))) for x, y in zip(xs, ys)]
    compiled = jax.jit(fun)
    mapped = np.asarray(jax.vmap(fun)(jnp.asarray(xs), jnp.asarray(ys)))
    for lane, (x, y) in enumerate(zip(xs, ys)):
        assert_bits(compiled(x, y), eager[lane], "jit")
        assert_bits(
            mapped[lane], np.broadcast_to(eager[lane], mapped[lane].shape), "vmap"
        )
