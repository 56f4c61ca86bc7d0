"""Mistakes with `vmap`, `grad`, control flow, random keys and devices."""

from __future__ import annotations

from mistakes.mistake import Mistake, mistake
from tetrad import errors

MISTAKES: list[Mistake] = [
    # ------------------------------------------------------------------------- vmap
    mistake(
        "vmap over axes of different sizes",
        """
def f(x, y):
    return x * y

jax.vmap(f)(jnp.ones(3), jnp.ones(4))
""",
        ValueError,
        "x ",
        "y ",
        "(3,)",
        "(4,)",
        "in_axes=(0, None)",
    ),
    mistake(
        "vmap with too few in_axes",
        """
def f(x, y):
    return x * y

jax.vmap(f, in_axes=(0,))(jnp.ones(3), jnp.ones(3))
""",
        ValueError,
        "in_axes=(0,)",
        "`f`",
        "in_axes=(0, 0)",
    ),
    mistake(
        "vmap over an axis that does not exist",
        """
def f(x, y):
    return x * y

jax.vmap(f, in_axes=(0, 1))(jnp.ones(3), jnp.ones(3))
""",
        ValueError,
        "y ",
        "(3,)",
        "in_axes=0",
    ),
    mistake(
        "vmap over nothing",
        """
jax.vmap(lambda x: x, in_axes=None)(jnp.ones(3))
""",
        ValueError,
        "in_axes=None",
        "axis_size",
    ),
    mistake(
        "vmap over a number",
        """
def f(x, y):
    return x * y

jax.vmap(f)(jnp.ones(3), 2.0)
""",
        ValueError,
        "y",
        "in_axes=(0, None)",
    ),
    mistake(
        "vmap over a list of text",
        """
jax.vmap(lambda name: name)(["a", "b"])
""",
        TypeError,
        "name",
        "'a'",
    ),
    mistake(
        "shapes inside vmap",
        """
w = jnp.ones((4, 3))
xs = jnp.ones((8, 5))
jax.vmap(lambda x: w @ x)(xs)
""",
        TypeError,
        "w @ x",
        "w is float32[4,3]",
        "x is float32[5]",
    ),
    mistake(
        "out_axes of None for a mapped result",
        """
jax.vmap(lambda x: 2 * x, out_axes=None)(jnp.ones(3))
""",
        ValueError,
        "out_axes=None",
    ),
    mistake(
        "if inside vmap",
        """
def relu(x):
    return x if x > 0 else 0.0

jax.vmap(relu)(jnp.arange(3.0))
""",
        errors.TracerBoolConversionError,
        "vmap",
        "jnp.where(x > 0, x, 0.0)",
    ),
    # ------------------------------------------------------------------------- grad
    mistake(
        "the gradient of several numbers",
        """
def f(x):
    return x**2

jax.grad(f)(jnp.arange(3.0))
""",
        TypeError,
        "`f`",
        "float32[3]",
        "sum()",
        "jacrev",
    ),
    mistake(
        "the gradient at an integer",
        """
def f(x):
    return x**2.0

jax.grad(f)(3)
""",
        TypeError,
        "`x`",
        "`f`",
        "3",
        "3.0",
    ),
    mistake(
        "argnums beyond the arguments",
        """
def f(x):
    return x**2

jax.grad(f, argnums=1)(1.0)
""",
        TypeError,
        "argnums=1",
        "`f`",
    ),
    mistake(
        "has_aux forgotten",
        """
def loss(w):
    return w**2, {"w": w}

jax.grad(loss)(1.0)
""",
        TypeError,
        "`loss`",
        "has_aux=True",
    ),
    mistake(
        "has_aux without a pair",
        """
def loss(w):
    return w**2

jax.grad(loss, has_aux=True)(1.0)
""",
        TypeError,
        "`loss`",
        "has_aux=True",
        "(value, auxiliary data)",
    ),
    mistake(
        "the gradient of a result",
        """
def f(x):
    return x**2

jax.grad(f(3.0))
""",
        TypeError,
        "grad(f)(x)",
    ),
    mistake(
        "the gradient of a function without result",
        """
def f(x):
    x**2

jax.grad(f)(1.0)
""",
        TypeError,
        "`f`",
        "None",
        "return",
    ),
    mistake(
        "the gradient of a count",
        """
def accuracy(x):
    return jnp.sum(x > 0)

jax.grad(accuracy)(jnp.arange(3.0))
""",
        TypeError,
        "`accuracy`",
        "int32[]",
    ),
    mistake(
        "float inside grad",
        """
def f(x):
    return float(x) ** 2

jax.grad(f)(1.0)
""",
        errors.ConcretizationTypeError,
        "float(x)",
        "grad",
    ),
    mistake(
        "a tangent of another shape",
        """
jax.jvp(jnp.sin, (jnp.ones(3),), (jnp.ones(2),))
""",
        ValueError,
        "`x`",
        "(3,)",
        "(2,)",
    ),
    mistake(
        "a jvp without tuples",
        """
jax.jvp(jnp.sin, 1.0, 1.0)
""",
        TypeError,
        "primals",
        "(p,)",
    ),
    # ----------------------------------------------------------------- control flow
    mistake(
        "a scan that returns no pair",
        """
lax.scan(lambda c, x: c + x, 0.0, jnp.ones(3))
""",
        TypeError,
        "lax.scan",
        "(carry, y)",
        "float32[]",
        "return carry, None",
    ),
    mistake(
        "a scan whose carry changes shape",
        """
def step(carry, x):
    return jnp.ones(3) * x, x

lax.scan(step, 0.0, jnp.ones(3))
""",
        TypeError,
        "`step`",
        "float32[]",
        "float32[3]",
    ),
    mistake(
        "a scan whose carry changes structure",
        """
def step(state, x):
    return {"sum": state["total"] + x}, None

lax.scan(step, {"total": 0.0}, jnp.ones(3))
""",
        TypeError,
        "`step`",
        "'total'",
        "'sum'",
    ),
    mistake(
        "a scan over arrays of different lengths",
        """
lax.scan(lambda c, x: (c, x), 0.0, (jnp.ones(3), jnp.ones(4)))
""",
        ValueError,
        "xs[0]",
        "xs[1]",
        "(3,)",
        "(4,)",
    ),
    mistake(
        "a scan over a number of steps",
        """
lax.scan(lambda c, x: (c + 1, None), 0, 10)
""",
        ValueError,
        "xs",
        "int32[]",
    ),
    mistake(
        "a while loop whose condition is no bool",
        """
lax.while_loop(lambda n: n, lambda n: n - 1, 3)
""",
        TypeError,
        "lax.while_loop",
        "`cond_fun`",
        "int32[]",
    ),
    mistake(
        "the gradient of a while loop",
        """
def f(x):
    return lax.while_loop(lambda y: y < 3, lambda y: y * 2, x)

jax.grad(f)(1.0)
""",
        ValueError,
        "lax.while_loop",
        "lax.scan",
        "jvp",
    ),
    mistake(
        "a cond on many elements",
        """
x = jnp.arange(3.0)
lax.cond(x > 1, lambda: 1.0, lambda: 2.0)
""",
        TypeError,
        "lax.cond(x > 1, lambda: 1.0, lambda: 2.0)",
        "bool[3]",
        "jnp.where",
    ),
    mistake(
        "branches of different dtypes",
        """
lax.cond(True, lambda x: x, lambda x: 0, 1.0)
""",
        TypeError,
        "float32[]",
        "int32[]",
    ),
    mistake(
        "branches that are values",
        """
lax.cond(True, 1.0, 2.0)
""",
        TypeError,
        "lax.cond(True, 1.0, 2.0)",
        "true_fun",
        "1.0",
    ),
    mistake(
        "a loop up to a float",
        """
n = 10
lax.fori_loop(0, n / 2, lambda i, x: x + i, 0)
""",
        TypeError,
        "lax.fori_loop",
        "upper",
        "float32",
        "int(",
    ),
    mistake(
        "if in the body of a loop",
        """
def body(i, x):
    if x > 3:
        return x
    return x + i

lax.fori_loop(0, 3, body, 1.0)
""",
        errors.TracerBoolConversionError,
        "x > 3",
        "return jnp.where(x > 3, x, x + i)",
    ),
    # ----------------------------------------------------------------------- random
    mistake(
        "a seed instead of a key",
        """
random.normal(0, (3,))
""",
        TypeError,
        "random.normal",
        "random.key(0)",
    ),
    mistake(
        "a shape instead of a key",
        """
random.uniform((3, 2))
""",
        TypeError,
        "random.uniform",
        "key",
        "(3, 2)",
    ),
    mistake(
        "a seed with fractions",
        """
random.key(1.5)
""",
        TypeError,
        "random.key",
        "1.5",
    ),
    mistake(
        "a shape with a fraction",
        """
key = random.key(0)
random.normal(key, (2.5,))
""",
        TypeError,
        "random.normal",
        "2.5",
    ),
    mistake(
        "several keys where one is needed",
        """
keys = random.split(random.key(0), 3)
random.normal(keys, (2,))
""",
        ValueError,
        "random.normal",
        "(3,)",
        "vmap",
    ),
    mistake(
        "an array of another kind as key",
        """
random.normal(jnp.ones(2), (3,))
""",
        TypeError,
        "random.normal",
        "float32[2]",
        "random.key",
    ),
    # ---------------------------------------------------------------------- devices
    mistake(
        "a donated array",
        """
step = jax.jit(lambda x: x + 1, donate_argnums=0)
state = jnp.zeros(3)
new = step(state)
state + 1
""",
        RuntimeError,
        "donated",
        "float32[3]",
    ),
    mistake(
        "an update that must not copy",
        """
x = jnp.zeros(3)
b = x
with jax.no_copies():
    x = x.at[0].set(1)
""",
        errors.CopyError,
        "x.at[0].set(1)",
        "held by `b` at an_update_that_must_not_copy.py:2",
        "del b",
    ),
    mistake(
        "a call that must not copy",
        """
step = jax.jit(lambda state: state.at[0].add(1))
state = jnp.zeros(100_000)
with jax.no_copies():
    state = step(state)
""",
        errors.CopyError,
        "state.at[0].add(1)",
        "`state`",
        "jit(<lambda>, donate_argnums=...)",
    ),
    mistake(
        "a compiled function called with other types",
        """
compiled = jax.jit(lambda x, y: x + y).lower(jnp.zeros(3), 1.0).compile()
compiled(jnp.zeros(4), 1)
""",
        TypeError,
        "`x`: compiled for float32[3], got float32[4]",
        "`y`: compiled for float32[], got int32[]",
    ),
    mistake(
        "a deleted array",
        """
x = jnp.zeros(3)
x.delete()
print(x)
""",
        RuntimeError,
        "deleted",
        "float32[3]",
    ),
    mistake(
        "a device that does not exist",
        """
jax.devices("gpuu")
""",
        RuntimeError,
        "gpuu",
        "cpu",
    ),
    mistake(
        "a setting that does not exist",
        """
jax.config.update("jax_enable_x65", True)
""",
        AttributeError,
        "jax_enable_x65",
        "jax_enable_x64",
    ),
    mistake(
        "a function that does not exist",
        """
x = jnp.ones(3)
x.fill(2.0)
""",
        AttributeError,
        "fill",
    ),
]
