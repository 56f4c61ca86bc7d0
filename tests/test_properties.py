"""Random programs: what must hold of every program, whatever it computes.

Eager code and `jit` give the same bits, `vmap` gives what a loop gives, and both are
near NumPy in double precision. `trees` draws elementwise expressions, `programs` draws
steps of all kinds.
"""

from __future__ import annotations

import dataclasses
import functools
import os
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import assert_bits

import tetrad as jax
import tetrad.numpy as jnp

settings.register_profile(
    "tetrad", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("ci", settings.get_profile("tetrad"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "tetrad")

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


@settings(max_examples=300)
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


# ---------------------------------------------------------------------- whole programs


@dataclasses.dataclass(frozen=True)
class Step:
    """A call of a NumPy function on earlier values; "[]" takes a part."""

    name: str
    operands: tuple[int, ...]
    params: Any = ()

    def apply(self, numpy, values):
        args = [values[i] for i in self.operands]
        if self.name == "[]":
            return args[0][self.params]
        return getattr(numpy, self.name)(*args, **dict(self.params))


@dataclasses.dataclass(frozen=True)
class Program:
    shapes: tuple[tuple[int, ...], ...]
    steps: tuple[Step, ...]

    def run(self, numpy, *inputs):
        """The last two values."""
        values = list(inputs)
        for step in self.steps:
            values.append(step.apply(numpy, values))
        return values[-1], values[-2]

    def inputs(self, seed):
        rng = np.random.default_rng(seed)
        return [rng.uniform(-2, 2, shape).astype("float32") for shape in self.shapes]

    @property
    def has_products(self):
        return any(step.name == "matmul" for step in self.steps)


def pick(draw, values, fits=lambda v: True):
    """The position of an earlier value that fits, or None."""
    found = [i for i, v in enumerate(values) if fits(v)]
    return draw(st.sampled_from(found)) if found else None


def smooth(draw, values):
    name = draw(st.sampled_from(["sin", "tanh", "arctan", "abs", "negative", "cos"]))
    return Step(name, (pick(draw, values),))


def together(draw, values):
    first = pick(draw, values)
    second = pick(draw, values, lambda v: stretches(v.shape, values[first].shape))
    name = draw(st.sampled_from(["add", "subtract", "multiply", "maximum", "minimum"]))
    return Step(name, (first, second))


def stretches(one, other):
    return all(a == b or 1 in (a, b) for a, b in zip(one[::-1], other[::-1]))


def folded(draw, values):
    i = pick(draw, values, lambda v: v.ndim and v.size)
    if i is None:
        return None
    axis = draw(st.one_of(st.none(), st.integers(-values[i].ndim, values[i].ndim - 1)))
    name = draw(st.sampled_from(["sum", "mean", "max", "min", "var"]))
    keepdims = draw(st.booleans())
    return Step(name, (i,), (("axis", axis), ("keepdims", keepdims)))


def running(draw, values):
    i = pick(draw, values, lambda v: v.ndim)
    if i is None:
        return None
    axis = draw(st.integers(0, values[i].ndim - 1))
    return Step(
        draw(st.sampled_from(["cumsum", "sort", "flip"])), (i,), (("axis", axis),)
    )


def moved(draw, values):
    i = pick(draw, values, lambda v: v.ndim)
    if i is None:
        return None
    name = draw(st.sampled_from(["transpose", "ravel", "expand", "tile"]))
    if name == "expand":
        return Step(
            "expand_dims", (i,), (("axis", draw(st.integers(0, values[i].ndim))),)
        )
    if name == "tile":
        return Step("tile", (i,), (("reps", draw(st.sampled_from([2, (2, 1)]))),))
    return Step(name, (i,))


def taken(draw, values):
    i = pick(draw, values, lambda v: v.ndim and v.shape[0])
    if i is None:
        return None
    n = values[i].shape[0]
    place = st.integers(-n, n - 1)
    key = draw(st.one_of(
        place,
        st.builds(slice, st.none() | place, st.none() | place, st.sampled_from([1, 2, -1])),
        st.lists(place, min_size=1, max_size=4).map(lambda p: np.array(p, "int32")),
        st.just((Ellipsis, None)),
    ))  # fmt: skip
    return Step("[]", (i,), key)


def joined(draw, values):
    i = pick(draw, values, lambda v: v.ndim)
    if i is None:
        return None
    return Step("append", (i, i), (("axis", draw(st.integers(0, values[i].ndim - 1))),))


def multiplied(draw, values):
    i = pick(draw, values, lambda v: v.ndim in (1, 2) and v.size)
    if i is None:
        return None
    rows = values[i].shape[-1]
    j = pick(draw, values, lambda v: v.ndim in (1, 2) and v.shape[0] == rows)
    return None if j is None else Step("matmul", (i, j))


RULES = (smooth, together, together, folded, running, moved, taken, joined, multiplied)
SHAPES = ((3,), (4, 3), (3, 4), (2, 3, 4), ())


@st.composite
def programs(draw):
    shapes = tuple(draw(st.lists(st.sampled_from(SHAPES), min_size=2, max_size=3)))
    program = Program(shapes, ())
    values = [x.astype(np.float64) for x in program.inputs(0)]
    for _ in range(draw(st.integers(3, 9))):
        step = draw(st.sampled_from(RULES))(draw, values)
        if step is None:
            continue
        made = np.asarray(step.apply(np, values))
        if made.size and made.size <= 500 and np.abs(made).max() < 1e3:
            values.append(made)
            program = dataclasses.replace(program, steps=(*program.steps, step))
    return program


def assert_near(got, want, note):
    np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-3, err_msg=note)


@settings(max_examples=100)
@given(programs())
def test_programs_are_the_same_eagerly_compiled_and_mapped(program):
    fun = functools.partial(program.run, jnp)
    lanes = [program.inputs(seed) for seed in (0, 1)]
    stacked = [jnp.asarray(np.stack(xs)) for xs in zip(*lanes)]
    mapped = jax.vmap(fun)(*stacked)
    compiled = jax.jit(fun)
    for lane, inputs in enumerate(lanes):
        arrays = list(map(jnp.asarray, inputs))
        eager = fun(*arrays)
        exact = program.run(np, *[x.astype(np.float64) for x in inputs])
        for one, other, many, want in zip(eager, compiled(*arrays), mapped, exact):
            assert_near(one, want, "NumPy")
            assert_bits(other, one, "jit")
            if program.has_products:
                assert_near(many[lane], one, "vmap")
            else:
                assert_bits(many[lane], one, "vmap")


@settings(max_examples=30)
@given(programs())
def test_gradients_of_programs_are_the_same_eagerly_and_compiled(program):
    def total(*inputs):
        last, before = program.run(jnp, *inputs)
        return jnp.sum(jnp.sin(last)) + jnp.sum(jnp.tanh(before))

    inputs = list(map(jnp.asarray, program.inputs(2)))
    where = tuple(range(len(inputs)))
    eager = jax.grad(total, argnums=where)(*inputs)
    compiled = jax.jit(jax.grad(total, argnums=where))(*inputs)
    for x, one, other in zip(inputs, eager, compiled):
        assert one.shape == x.shape and one.dtype == x.dtype
        np.testing.assert_allclose(other, one, rtol=1e-5, atol=1e-5)
