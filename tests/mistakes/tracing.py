"""Mistakes with pytrees and under `jit`."""

from __future__ import annotations

from mistakes.mistake import Mistake, mistake
from tetrad import errors

MISTAKES: list[Mistake] = [
    # ------------------------------------------------------------------------ trees
    mistake(
        "tree.map over different structures",
        """
params = {"w": jnp.ones(2), "b": jnp.ones(1)}
grads = {"w": jnp.ones(2)}
jax.tree.map(lambda p, g: p - g, params, grads)
""",
        ValueError,
        "tree.map",
        "'b'",
    ),
    mistake(
        "tree.map over a list and a tuple",
        """
jax.tree.map(lambda a, b: a + b, [1, 2], (1, 2))
""",
        ValueError,
        "tree.map",
        "list",
        "tuple",
    ),
    mistake(
        "in_axes with another structure than the argument",
        """
params = {"w": jnp.ones((3, 2)), "b": jnp.ones(3)}
jax.vmap(lambda p, x: p["w"] * x, in_axes=({"w": 0}, None))(params, 1.0)
""",
        ValueError,
        "in_axes",
        "'b'",
    ),
    mistake(
        "out_axes with another structure than the result",
        """
def f(x):
    return x, x

jax.vmap(f, out_axes=(0, 0, 0))(jnp.ones(3))
""",
        ValueError,
        "out_axes",
        "3",
        "2",
    ),
    mistake(
        "a result that is no array",
        """
@jax.jit
def f(x):
    return {"value": x, "name": "loss"}

f(1.0)
""",
        TypeError,
        "f",
        "['name']",
        "'loss'",
    ),
    # -------------------------------------------------------------------------- jit
    mistake(
        "a static argument without a hash",
        """
def f(x, sizes):
    return x * sum(sizes)

jax.jit(f, static_argnums=1)(1.0, [1, 2])
""",
        ValueError,
        "`sizes`",
        "`f`",
        "list",
        "tuple",
    ),
    mistake(
        "static_argnums out of range",
        """
def f(x, n):
    return x * n

jax.jit(f, static_argnums=2)
""",
        ValueError,
        "static_argnums=2",
        "`f`",
        "2",
    ),
    mistake(
        "static_argnames misspelt",
        """
def f(x, size):
    return x * size

jax.jit(f, static_argnames="sizes")
""",
        ValueError,
        "'sizes'",
        "`f`",
        "size",
    ),
    mistake(
        "an object as argument of a jitted function",
        """
class Model:
    pass

@jax.jit
def predict(model, x):
    return x

predict(Model(), 1.0)
""",
        TypeError,
        "`model`",
        "predict",
        "Model",
        "static_argnames",
    ),
    mistake(
        "if on a traced value",
        """
@jax.jit
def f(x):
    if x > 0:
        return x
    return -x

f(1.0)
""",
        errors.TracerBoolConversionError,
        "x > 0",
        "jnp.where(x > 0, x, -x)",
    ),
    mistake(
        "a conditional expression on a traced value",
        """
@jax.jit
def f(a):
    return a if a > 0 else -a

f(1.0)
""",
        errors.TracerBoolConversionError,
        "a > 0",
        "jnp.where(a > 0, a, -a)",
    ),
    mistake(
        "and between traced values",
        """
@jax.jit
def f(x):
    return x > 0 and x < 1

f(0.5)
""",
        errors.TracerBoolConversionError,
        "x > 0",
        "(x > 0) & (x < 1)",
    ),
    mistake(
        "while on a traced value",
        """
@jax.jit
def f(x):
    while x < 10:
        x = x * 2
    return x

f(1.0)
""",
        errors.TracerBoolConversionError,
        "x < 10",
        "lax.while_loop",
    ),
    mistake(
        "assert on a traced value",
        """
@jax.jit
def f(x):
    assert x > 0
    return x

f(1.0)
""",
        errors.TracerBoolConversionError,
        "assert x > 0",
    ),
    mistake(
        "not on a traced value",
        """
@jax.jit
def f(x):
    if not x:
        return 1
    return 2

f(True)
""",
        errors.TracerBoolConversionError,
        "`not x`",
        "jnp.where(jnp.logical_not(x), 1, 2)",
    ),
    mistake(
        "max of traced values",
        """
@jax.jit
def relu(x):
    return max(x, 0)

relu(1.0)
""",
        errors.TracerBoolConversionError,
        "`max(x, 0)`",
        "jnp.maximum(x, 0)",
    ),
    mistake(
        "sorted on a traced value",
        """
@jax.jit
def f(x):
    return sorted(x)

f(jnp.arange(3.0))
""",
        errors.TracerBoolConversionError,
        "`sorted(x)`",
        "jnp.sort(x)",
    ),
    mistake(
        "math on a traced value",
        """
import math

@jax.jit
def f(x):
    return math.sin(x)

f(1.0)
""",
        errors.ConcretizationTypeError,
        "`math.sin(x)`",
        "jnp.sin(x)",
    ),
    mistake(
        "a dictionary indexed by a traced value",
        """
names = {0: 1.0, 1: 2.0}

@jax.jit
def f(i):
    return names[i]

f(1)
""",
        TypeError,
        "`names[i]`",
        "int32[]",
        'static_argnames="i"',
    ),
    mistake(
        "a traced value in a format",
        """
@jax.jit
def f(x):
    print(f"{x:.2f}")
    return x

f(1.0)
""",
        TypeError,
        "float32[]",
        "jax.debug.print",
    ),
    mistake(
        "an axis that is traced",
        """
@jax.jit
def f(x, axis):
    return jnp.sum(x, axis=axis)

f(jnp.ones((2, 2)), 1)
""",
        errors.ConcretizationTypeError,
        "jnp.sum(x, axis=axis)",
        'static_argnames="axis"',
    ),
    mistake(
        "a reshape by a traced value",
        """
@jax.jit
def f(x, n):
    return x.reshape(n, -1)

f(jnp.arange(4), 2)
""",
        errors.ConcretizationTypeError,
        "x.reshape(n, -1)",
        'static_argnames="n"',
    ),
    mistake(
        "nonzero of a traced value",
        """
@jax.jit
def f(x):
    return jnp.nonzero(x)

f(jnp.arange(3.0))
""",
        errors.ConcretizationTypeError,
        "jnp.nonzero(x)",
        "float32[3]",
        "size=n",
    ),
    mistake(
        "a gradient with text among the parameters",
        """
def loss(params):
    return jnp.sum(params["w"])

jax.grad(loss)({"w": 1.0, "name": "net"})
""",
        TypeError,
        "params['name']",
        "'net'",
    ),
    mistake(
        "an integer among the parameters of a gradient",
        """
def loss(params):
    return params["w"] * 2.0

jax.grad(loss)({"w": 1})
""",
        TypeError,
        "`params['w']`",
        "`loss`",
        "1.0",
    ),
    mistake(
        "range of a traced value",
        """
@jax.jit
def f(x, n):
    for i in range(n):
        x = x + i
    return x

f(1.0, 3)
""",
        errors.TracerIntegerConversionError,
        "range(n)",
        "fori_loop",
        "`n`",
    ),
    mistake(
        "a list indexed by a traced value",
        """
table = [1.0, 2.0]

@jax.jit
def f(i):
    return table[i]

f(1)
""",
        errors.TracerIntegerConversionError,
        "table[i]",
        "jnp.array(table)[i]",
    ),
    mistake(
        "int of a traced value",
        """
@jax.jit
def f(x):
    return jnp.ones(3)[int(x)]

f(1.0)
""",
        errors.ConcretizationTypeError,
        "int(x)",
        "x.astype(int)",
    ),
    mistake(
        "float of a traced value",
        """
@jax.jit
def f(x):
    return float(x) + 1

f(1.0)
""",
        errors.ConcretizationTypeError,
        "float(x)",
    ),
    mistake(
        "NumPy on a traced value",
        """
@jax.jit
def f(x):
    return np.sin(x)

f(1.0)
""",
        errors.TracerArrayConversionError,
        "np.sin(x)",
        "jnp.sin(x)",
    ),
    mistake(
        "a shape from a traced value",
        """
@jax.jit
def f(n):
    return jnp.zeros(n)

f(3)
""",
        errors.ConcretizationTypeError,
        "jnp.zeros(n)",
        "`n`",
        "static",
    ),
    mistake(
        "a slice with traced ends",
        """
@jax.jit
def f(x, n):
    return x[:n]

f(jnp.arange(5), 3)
""",
        IndexError,
        "x[:n]",
        "`n`",
        "dynamic_slice_in_dim",
    ),
    mistake(
        "a traced mask as index",
        """
@jax.jit
def f(x):
    return x[x > 0].sum()

f(jnp.arange(3.0))
""",
        errors.NonConcreteBooleanIndexError,
        "x[x > 0]",
        "jnp.where(x > 0, x, 0)",
    ),
    mistake(
        "a leak through a list",
        """
seen = []

@jax.jit
def f(x):
    y = x * 2
    seen.append(y)
    return y

f(1.0)
seen[0] + 1
""",
        errors.UnexpectedTracerError,
        "seen[0]",
        "float32[]",
        "`f`",
    ),
    mistake(
        "a leak through an attribute",
        """
class Layer:
    def __call__(self, x):
        self.cache = x * 2
        return x

layer = Layer()
jax.jit(lambda x: layer(x))(1.0)
layer.cache + 1
""",
        errors.UnexpectedTracerError,
        "Layer",
        "cache",
    ),
    mistake(
        "a leak through a global",
        """
state = jnp.zeros(3)

@jax.jit
def step(x):
    global state
    state = state + x
    return x

step(1.0)
jnp.sum(state)
""",
        errors.UnexpectedTracerError,
        "`state`",
        "float32[3]",
        "`step`",
    ),
    mistake(
        "jit of a result",
        """
def f(x):
    return x

jax.jit(f(jnp.ones(3)))
""",
        TypeError,
        "jit(f)(x)",
    ),
    mistake(
        "a missing argument of a jitted function",
        """
@jax.jit
def f(x, y):
    return x + y

f(1.0)
""",
        TypeError,
        "f()",
        "'y'",
    ),
]
