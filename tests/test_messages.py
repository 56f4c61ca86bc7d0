"""Users' mistakes and what they are told.

`MISTAKES` are short wrong programs that beginners write. For each, the golden file
`golden/messages.txt` has the program and the exact message; read it as a whole to judge
the wording. Beyond the text, every message must name what the user wrote (`shows`), have
the expected type, use no internal operation's name, and come with at most two frames of
the library.

To accept changed messages, run with UPDATE_GOLDEN=1 and read the difference.
"""

from __future__ import annotations

import difflib
import gc
import inspect
import linecache
import os
import pathlib
import pickle
import re
import subprocess
import sys
import traceback
from typing import Any, NamedTuple

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import errors, lax, random
from tetrad._src.ops.families import Unary

GOLDEN = pathlib.Path(__file__).parent / "golden" / "messages.txt"
PACKAGE = os.path.dirname(jax.__file__) + os.sep

# Words of the inside. Functions of lax may use their own names.
INTERNAL = re.compile(
    r"\b(dot_general|broadcast_in_dim|convert_element_type|select_n|expand_dims_p"
    r"|dynamic_slice(?!_in_dim)|dynamic_update_slice|scatter|gather|iota|reduce_sum"
    r"|reduce_max|StageTracer|BatchTracer|LinearTracer|JVPTracer|squeeze_p|NoneType"
    r"|Aval|_src)\b"
)


class Mistake(NamedTuple):
    """A wrong program. `shows` must be in the message, word for word."""

    title: str
    program: str
    error: type[BaseException]
    shows: tuple[str, ...] = ()


def mistake(title: str, program: str, error: type[BaseException], *shows: str) -> Mistake:
    return Mistake(title, program.strip() + "\n", error, shows)


MISTAKES = [
    # ------------------------------------------------------------------------ shapes
    mistake(
        "inner sizes of a product",
        """
a = jnp.ones((3, 2))
b = jnp.ones((3, 2))
a @ b
""",
        TypeError, "a @ b", "a is float32[3,2]", "b is float32[3,2]", "a @ b.T",
    ),
    mistake(
        "a vector on the wrong side",
        """
weights = jnp.ones((4, 3))
x = jnp.ones(4)
jnp.dot(weights, x)
""",
        TypeError, "jnp.dot(weights, x)", "float32[4,3]", "float32[4]", "jnp.dot(x, weights)",
    ),
    mistake(
        "a product with a scalar",
        """
a = jnp.ones((3, 2))
a @ 2
""",
        ValueError, "a @ 2", "float32[3,2]", "*",
    ),
    mistake(
        "shapes that do not broadcast",
        """
x = jnp.ones((3, 4))
bias = jnp.ones(3)
x + bias
""",
        ValueError, "x + bias", "x is float32[3,4]", "bias is float32[3]", "bias[:, None]",
    ),
    mistake(
        "shapes that do not broadcast, in a function",
        """
image = jnp.ones((28, 28))
mask = jnp.ones((32, 32))
jnp.maximum(image, mask)
""",
        ValueError, "jnp.maximum(image, mask)", "float32[28,28]", "float32[32,32]",
    ),
    mistake(
        "an update in place with another shape",
        """
total = jnp.zeros(3)
total += jnp.ones(4)
""",
        ValueError, "total += jnp.ones(4)", "float32[3]", "float32[4]",
    ),
    mistake(
        "reshape to another size",
        """
x = jnp.arange(6)
x.reshape(4, 2)
""",
        TypeError, "x.reshape(4, 2)", "int32[6]", "(4, 2)", "6",
    ),
    mistake(
        "reshape with two unknowns",
        """
x = jnp.arange(6)
jnp.reshape(x, (-1, -1))
""",
        ValueError, "jnp.reshape(x, (-1, -1))",
    ),
    mistake(
        "concatenate along an axis where others differ",
        """
a = jnp.ones((2, 3))
b = jnp.ones((2, 4))
jnp.concatenate([a, b])
""",
        TypeError, "jnp.concatenate", "float32[2,3]", "float32[2,4]", "axis",
    ),
    mistake(
        "concatenate without a list",
        """
a = jnp.ones(2)
b = jnp.ones(2)
jnp.concatenate(a, b)
""",
        TypeError, "jnp.concatenate", "[a, b]",
    ),
    mistake(
        "stack arrays of different shapes",
        """
a = jnp.ones(3)
b = jnp.ones(4)
jnp.stack([a, b])
""",
        ValueError, "jnp.stack", "float32[3]", "float32[4]",
    ),
    mistake(
        "where with shapes that do not broadcast",
        """
mask = jnp.array([True, False])
a = jnp.ones(3)
jnp.where(mask, a, 0)
""",
        ValueError, "jnp.where(mask, a, 0)", "bool[2]", "float32[3]",
    ),
    mistake(
        "broadcast_to a smaller shape",
        """
x = jnp.ones((2, 3))
jnp.broadcast_to(x, (3, 2))
""",
        ValueError, "jnp.broadcast_to(x, (3, 2))", "float32[2,3]", "(3, 2)",
    ),
    mistake(
        "einsum with too many letters",
        """
a = jnp.ones((2, 3))
jnp.einsum("ijk->i", a)
""",
        ValueError, "jnp.einsum", "ijk", "2 axes",
    ),
    mistake(
        "einsum with sizes that differ",
        """
a = jnp.ones((2, 3))
b = jnp.ones((4, 5))
jnp.einsum("ij,jk->ik", a, b)
""",
        ValueError, "jnp.einsum", "'j'", "3", "4",
    ),
    mistake(
        "set with a value of the wrong shape",
        """
x = jnp.zeros((4, 3))
row = jnp.ones(4)
x.at[0].set(row)
""",
        ValueError, "x.at[0].set(row)", "float32[4]", "(3,)",
    ),
    mistake(
        "zeros with separate extents",
        """
jnp.zeros(3, 4)
""",
        TypeError, "jnp.zeros(3, 4)", "jnp.zeros((3, 4))",
    ),
    mistake(
        "a negative extent",
        """
n = -1
jnp.ones((n, 2))
""",
        ValueError, "jnp.ones", "-1",
    ),
    mistake(
        "a shape with a float",
        """
n = 10
jnp.zeros(n / 2)
""",
        TypeError, "jnp.zeros", "5.0", "//",
    ),
    mistake(
        "split into unequal parts",
        """
x = jnp.arange(7)
jnp.split(x, 3)
""",
        ValueError, "jnp.split(x, 3)", "7", "jnp.array_split",
    ),
    # ------------------------------------------------------------------------ dtypes
    mistake(
        "a misspelt dtype",
        """
jnp.ones(3, dtype="flaot32")
""",
        TypeError, "flaot32", "float32",
    ),
    mistake(
        "an array of text",
        """
jnp.array(["cat", "dog"])
""",
        TypeError, "jnp.array", "cat",
    ),
    mistake(
        "ragged rows",
        """
jnp.array([[1, 2], [3]])
""",
        ValueError, "jnp.array", "[2, 1]",
    ),
    mistake(
        "None among numbers",
        """
jnp.array([1.0, None])
""",
        TypeError, "jnp.array", "None", "jnp.nan",
    ),
    mistake(
        "an integer that does not fit",
        """
jnp.array([300], dtype=jnp.uint8)
""",
        OverflowError, "300", "uint8",
    ),
    mistake(
        "an integer that does not fit the other operand",
        """
x = jnp.ones(2, jnp.uint8)
x + 1000
""",
        OverflowError, "x + 1000", "1000", "uint8",
    ),
    mistake(
        "bits of floats",
        """
x = jnp.ones(3)
(x > 0) & x
""",
        TypeError, "(x > 0) & x", "float32[3]",
    ),
    mistake(
        "two comparisons without parentheses",
        """
x = jnp.arange(3.0)
x > 0 & x < 2
""",
        TypeError, "0 & x", "float32[3]", "(",
    ),
    mistake(
        "a chained comparison",
        """
x = jnp.arange(3.0)
0 < x < 2
""",
        ValueError, "0 < x < 2", "&",
    ),
    mistake(
        "order of complex numbers",
        """
z = jnp.ones(2, complex)
jnp.floor(z)
""",
        TypeError, "jnp.floor(z)", "complex64[2]",
    ),
    mistake(
        "not on an array",
        """
x = jnp.arange(3.0)
not x
""",
        ValueError, "not x", "float32[3]", "jnp.logical_not",
    ),
    mistake(
        "if on an array",
        """
x = jnp.arange(3.0)
if x > 0:
    x = -x
""",
        ValueError, "x > 0", "bool[3]", "jnp.any", "jnp.where",
    ),
    mistake(
        "float() of many elements",
        """
losses = jnp.arange(3.0)
float(losses)
""",
        TypeError, "float(losses)", "float32[3]",
    ),
    mistake(
        "text added to an array",
        """
x = jnp.arange(3.0)
x + "1"
""",
        TypeError, "x + \"1\"", "str",
    ),
    mistake(
        "a list added to an array",
        """
x = jnp.arange(3.0)
x + [1.0, 2.0, 3.0]
""",
        TypeError, "x + [1.0, 2.0, 3.0]", "jnp.array([1.0, 2.0, 3.0])",
    ),
    mistake(
        "None times an array",
        """
x = jnp.arange(3.0)
scale = None
x * scale
""",
        TypeError, "x * scale", "None",
    ),
    mistake(
        "a list where an array is needed",
        """
jnp.sum([1, 2])
""",
        TypeError, "jnp.sum", "jnp.array([1, 2])",
    ),
    mistake(
        "several numbers where an array is needed",
        """
a, b = 1.0, 2.0
jnp.max(a, b)
""",
        TypeError, "jnp.max", "axis", "jnp.maximum(a, b)",
    ),
    # -------------------------------------------------------------------------- axes
    mistake(
        "an axis that does not exist",
        """
x = jnp.ones((2, 3))
x.sum(axis=5)
""",
        ValueError, "x.sum(axis=5)", "axis=5", "2 axes",
    ),
    mistake(
        "an axis twice",
        """
x = jnp.ones((2, 3))
jnp.mean(x, axis=(1, -1))
""",
        ValueError, "jnp.mean", "(1, -1)", "twice",
    ),
    mistake(
        "transpose with too few axes",
        """
x = jnp.ones((2, 3, 4))
jnp.transpose(x, (1, 0))
""",
        ValueError, "jnp.transpose(x, (1, 0))", "float32[2,3,4]", "(1, 0)",
    ),
    mistake(
        "squeeze of an axis that is not 1",
        """
x = jnp.ones((2, 1))
x.squeeze(0)
""",
        ValueError, "x.squeeze(0)", "float32[2,1]",
    ),
    mistake(
        "expand_dims too far",
        """
x = jnp.ones(3)
jnp.expand_dims(x, 4)
""",
        ValueError, "jnp.expand_dims(x, 4)", "4",
    ),
    mistake(
        "moveaxis of an axis that does not exist",
        """
x = jnp.ones((2, 3))
jnp.moveaxis(x, 0, 2)
""",
        ValueError, "jnp.moveaxis(x, 0, 2)", "destination",
    ),
    mistake(
        "an output to write to",
        """
x = jnp.ones(3)
jnp.exp(x, out=x)
""",
        TypeError, "jnp.exp(x, out=x)", "out = jnp.exp(",
    ),
    mistake(
        "three arrays to add",
        """
a = b = c = jnp.ones(3)
jnp.add(a, b, c)
""",
        TypeError, "jnp.add(a, b, c)", "two arrays, got 3",
    ),
    mistake(
        "the sine of a random key",
        """
key = random.key(0)
jnp.sin(key)
""",
        TypeError, "jnp.sin(key)", "key<fry>[]", "random keys",
    ),
    mistake(
        "an axis given as text",
        """
x = jnp.ones((2, 3))
x.sum(axis="rows")
""",
        TypeError, "x.sum", "'rows'",
    ),
    # ----------------------------------------------------------------------- indices
    mistake(
        "an index out of range",
        """
x = jnp.arange(3)
x[3]
""",
        IndexError, "x[3]", "3", "(3,)",
    ),
    mistake(
        "too many indices",
        """
x = jnp.arange(3)
x[0, 1]
""",
        IndexError, "x[0, 1]", "2", "(3,)",
    ),
    mistake(
        "a float as index",
        """
x = jnp.arange(10)
x[len(x) / 2]
""",
        TypeError, "x[len(x) / 2]", "5.0", "//",
    ),
    mistake(
        "an array of floats as index",
        """
x = jnp.arange(10)
i = jnp.array([1.0, 2.0])
x[i]
""",
        TypeError, "x[i]", "float32[2]", "astype(int)",
    ),
    mistake(
        "text as index",
        """
params = jnp.arange(3)
params["w"]
""",
        TypeError, 'params["w"]',
    ),
    mistake(
        "a list as index",
        """
x = jnp.arange(3)
x[[0, 1]]
""",
        TypeError, "x[[0, 1]]", "x[jnp.array([0, 1])]",
    ),
    mistake(
        "a mask of another shape",
        """
x = jnp.arange(3)
mask = jnp.array([True, False])
x[mask]
""",
        IndexError, "x[mask]", "(2,)", "(3,)",
    ),
    mistake(
        "assignment to an element",
        """
x = jnp.zeros(3)
x[0] = 1
""",
        TypeError, "x = x.at[0].set(1)",
    ),
    mistake(
        "addition to a slice",
        """
grid = jnp.zeros((4, 4))
grid[1:3, 0] += 2.0
""",
        TypeError, "grid = grid.at[1:3, 0].add(2.0)",
    ),
    mistake(
        "deletion of an element",
        """
x = jnp.zeros(3)
del x[0]
""",
        TypeError, "x = jnp.delete(x, 0)",
    ),
    mistake(
        "calling an update without an index",
        """
x = jnp.zeros(3)
x.at.set(1.0)
""",
        TypeError, "x.at[", "[:]",
    ),
    mistake(
        "a power of elements out of range",
        """
x = jnp.zeros(3)
x.at[5].power(2)
""",
        IndexError, "x.at[5].power(2)", "5", "(3,)",
    ),
    mistake(
        "items of several elements",
        """
x = jnp.arange(3)
x.item()
""",
        ValueError, "x.item()", "int32[3]",
    ),
    mistake(
        "a list indexed by an array of floats",
        """
x = jnp.arange(3.0)
[1, 2, 3][x[0]]
""",
        TypeError, "[1, 2, 3][x[0]]", "float32[]", "int(x)",
    ),
    mistake(
        "the length of a scalar",
        """
x = jnp.float32(1)
len(x)
""",
        TypeError, "len(x)", "float32[]",
    ),
    mistake(
        "assignment through at",
        """
a = jnp.ones(3)
a.at[0] = 5
""",
        TypeError, "x = x.at[i].set(v)",
    ),
    mistake(
        "addition through at",
        """
a = jnp.ones(3)
a.at[0] += 5
""",
        TypeError, "x = x.at[i].add(v)",
    ),
    mistake(
        "iterating over a scalar",
        """
total = jnp.float32(3)
for part in total:
    pass
""",
        TypeError, "total", "float32[]",
    ),
    mistake(
        "an array as a dictionary key",
        """
x = jnp.arange(3)
{x: 1}
""",
        TypeError, "{x: 1}", "int32[3]",
    ),
    # ------------------------------------------------------------------------- trees
    mistake(
        "tree.map over different structures",
        """
params = {"w": jnp.ones(2), "b": jnp.ones(1)}
grads = {"w": jnp.ones(2)}
jax.tree.map(lambda p, g: p - g, params, grads)
""",
        ValueError, "tree.map", "'b'",
    ),
    mistake(
        "tree.map over a list and a tuple",
        """
jax.tree.map(lambda a, b: a + b, [1, 2], (1, 2))
""",
        ValueError, "tree.map", "list", "tuple",
    ),
    mistake(
        "in_axes with another structure than the argument",
        """
params = {"w": jnp.ones((3, 2)), "b": jnp.ones(3)}
jax.vmap(lambda p, x: p["w"] * x, in_axes=({"w": 0}, None))(params, 1.0)
""",
        ValueError, "in_axes", "'b'",
    ),
    mistake(
        "out_axes with another structure than the result",
        """
def f(x):
    return x, x

jax.vmap(f, out_axes=(0, 0, 0))(jnp.ones(3))
""",
        ValueError, "out_axes", "3", "2",
    ),
    mistake(
        "a result that is no array",
        """
@jax.jit
def f(x):
    return {"value": x, "name": "loss"}

f(1.0)
""",
        TypeError, "f", "['name']", "'loss'",
    ),
    # --------------------------------------------------------------------------- jit
    mistake(
        "a static argument without a hash",
        """
def f(x, sizes):
    return x * sum(sizes)

jax.jit(f, static_argnums=1)(1.0, [1, 2])
""",
        ValueError, "`sizes`", "`f`", "list", "tuple",
    ),
    mistake(
        "static_argnums out of range",
        """
def f(x, n):
    return x * n

jax.jit(f, static_argnums=2)
""",
        ValueError, "static_argnums=2", "`f`", "2",
    ),
    mistake(
        "static_argnames misspelt",
        """
def f(x, size):
    return x * size

jax.jit(f, static_argnames="sizes")
""",
        ValueError, "'sizes'", "`f`", "size",
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
        TypeError, "`model`", "predict", "Model", "static_argnames",
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
        errors.TracerBoolConversionError, "x > 0", "jnp.where(x > 0, x, -x)",
    ),
    mistake(
        "a conditional expression on a traced value",
        """
@jax.jit
def f(a):
    return a if a > 0 else -a

f(1.0)
""",
        errors.TracerBoolConversionError, "a > 0", "jnp.where(a > 0, a, -a)",
    ),
    mistake(
        "and between traced values",
        """
@jax.jit
def f(x):
    return x > 0 and x < 1

f(0.5)
""",
        errors.TracerBoolConversionError, "x > 0", "(x > 0) & (x < 1)",
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
        errors.TracerBoolConversionError, "x < 10", "lax.while_loop",
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
        errors.TracerBoolConversionError, "assert x > 0",
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
        errors.TracerBoolConversionError, "`not x`", "jnp.where(jnp.logical_not(x), 1, 2)",
    ),
    mistake(
        "max of traced values",
        """
@jax.jit
def relu(x):
    return max(x, 0)

relu(1.0)
""",
        errors.TracerBoolConversionError, "`max(x, 0)`", "jnp.maximum(x, 0)",
    ),
    mistake(
        "sorted on a traced value",
        """
@jax.jit
def f(x):
    return sorted(x)

f(jnp.arange(3.0))
""",
        errors.TracerBoolConversionError, "`sorted(x)`", "jnp.sort(x)",
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
        errors.ConcretizationTypeError, "`math.sin(x)`", "jnp.sin(x)",
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
        TypeError, "`names[i]`", "int32[]", 'static_argnames="i"',
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
        TypeError, "float32[]", "jax.debug.print",
    ),
    mistake(
        "an axis that is traced",
        """
@jax.jit
def f(x, axis):
    return jnp.sum(x, axis=axis)

f(jnp.ones((2, 2)), 1)
""",
        errors.ConcretizationTypeError, "jnp.sum(x, axis=axis)", 'static_argnames="axis"',
    ),
    mistake(
        "a reshape by a traced value",
        """
@jax.jit
def f(x, n):
    return x.reshape(n, -1)

f(jnp.arange(4), 2)
""",
        errors.ConcretizationTypeError, "x.reshape(n, -1)", 'static_argnames="n"',
    ),
    mistake(
        "nonzero of a traced value",
        """
@jax.jit
def f(x):
    return jnp.nonzero(x)

f(jnp.arange(3.0))
""",
        errors.ConcretizationTypeError, "jnp.nonzero(x)", "float32[3]", "size=n",
    ),
    mistake(
        "a gradient with text among the parameters",
        """
def loss(params):
    return jnp.sum(params["w"])

jax.grad(loss)({"w": 1.0, "name": "net"})
""",
        TypeError, "params['name']", "'net'",
    ),
    mistake(
        "an integer among the parameters of a gradient",
        """
def loss(params):
    return params["w"] * 2.0

jax.grad(loss)({"w": 1})
""",
        TypeError, "`params['w']`", "`loss`", "1.0",
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
        errors.TracerIntegerConversionError, "range(n)", "fori_loop", "`n`",
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
        errors.TracerIntegerConversionError, "table[i]", "jnp.array(table)[i]",
    ),
    mistake(
        "int of a traced value",
        """
@jax.jit
def f(x):
    return jnp.ones(3)[int(x)]

f(1.0)
""",
        errors.ConcretizationTypeError, "int(x)", "x.astype(int)",
    ),
    mistake(
        "float of a traced value",
        """
@jax.jit
def f(x):
    return float(x) + 1

f(1.0)
""",
        errors.ConcretizationTypeError, "float(x)",
    ),
    mistake(
        "NumPy on a traced value",
        """
@jax.jit
def f(x):
    return np.sin(x)

f(1.0)
""",
        errors.TracerArrayConversionError, "np.sin(x)", "jnp.sin(x)",
    ),
    mistake(
        "a shape from a traced value",
        """
@jax.jit
def f(n):
    return jnp.zeros(n)

f(3)
""",
        errors.ConcretizationTypeError, "jnp.zeros(n)", "`n`", "static",
    ),
    mistake(
        "a slice with traced ends",
        """
@jax.jit
def f(x, n):
    return x[:n]

f(jnp.arange(5), 3)
""",
        IndexError, "x[:n]", "`n`", "dynamic_slice_in_dim",
    ),
    mistake(
        "a traced mask as index",
        """
@jax.jit
def f(x):
    return x[x > 0].sum()

f(jnp.arange(3.0))
""",
        errors.NonConcreteBooleanIndexError, "x[x > 0]", "jnp.where(x > 0, x, 0)",
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
        errors.UnexpectedTracerError, "seen[0]", "float32[]", "`f`",
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
        errors.UnexpectedTracerError, "Layer", "cache",
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
        errors.UnexpectedTracerError, "`state`", "float32[3]", "`step`",
    ),
    mistake(
        "jit of a result",
        """
def f(x):
    return x

jax.jit(f(jnp.ones(3)))
""",
        TypeError, "jit(f)(x)",
    ),
    mistake(
        "a missing argument of a jitted function",
        """
@jax.jit
def f(x, y):
    return x + y

f(1.0)
""",
        TypeError, "f()", "'y'",
    ),
    # -------------------------------------------------------------------------- vmap
    mistake(
        "vmap over axes of different sizes",
        """
def f(x, y):
    return x * y

jax.vmap(f)(jnp.ones(3), jnp.ones(4))
""",
        ValueError, "x ", "y ", "(3,)", "(4,)", "in_axes=(0, None)",
    ),
    mistake(
        "vmap with too few in_axes",
        """
def f(x, y):
    return x * y

jax.vmap(f, in_axes=(0,))(jnp.ones(3), jnp.ones(3))
""",
        ValueError, "in_axes=(0,)", "`f`", "in_axes=(0, 0)",
    ),
    mistake(
        "vmap over an axis that does not exist",
        """
def f(x, y):
    return x * y

jax.vmap(f, in_axes=(0, 1))(jnp.ones(3), jnp.ones(3))
""",
        ValueError, "y ", "(3,)", "in_axes=0",
    ),
    mistake(
        "vmap over nothing",
        """
jax.vmap(lambda x: x, in_axes=None)(jnp.ones(3))
""",
        ValueError, "in_axes=None", "axis_size",
    ),
    mistake(
        "vmap over a number",
        """
def f(x, y):
    return x * y

jax.vmap(f)(jnp.ones(3), 2.0)
""",
        ValueError, "y", "in_axes=(0, None)",
    ),
    mistake(
        "vmap over a list of text",
        """
jax.vmap(lambda name: name)(["a", "b"])
""",
        TypeError, "name", "'a'",
    ),
    mistake(
        "shapes inside vmap",
        """
w = jnp.ones((4, 3))
xs = jnp.ones((8, 5))
jax.vmap(lambda x: w @ x)(xs)
""",
        TypeError, "w @ x", "w is float32[4,3]", "x is float32[5]",
    ),
    mistake(
        "out_axes of None for a mapped result",
        """
jax.vmap(lambda x: 2 * x, out_axes=None)(jnp.ones(3))
""",
        ValueError, "out_axes=None",
    ),
    mistake(
        "if inside vmap",
        """
def relu(x):
    return x if x > 0 else 0.0

jax.vmap(relu)(jnp.arange(3.0))
""",
        errors.TracerBoolConversionError, "vmap", "jnp.where(x > 0, x, 0.0)",
    ),
    # -------------------------------------------------------------------------- grad
    mistake(
        "the gradient of several numbers",
        """
def f(x):
    return x**2

jax.grad(f)(jnp.arange(3.0))
""",
        TypeError, "`f`", "float32[3]", "sum()", "jacrev",
    ),
    mistake(
        "the gradient at an integer",
        """
def f(x):
    return x**2.0

jax.grad(f)(3)
""",
        TypeError, "`x`", "`f`", "3", "3.0",
    ),
    mistake(
        "argnums beyond the arguments",
        """
def f(x):
    return x**2

jax.grad(f, argnums=1)(1.0)
""",
        TypeError, "argnums=1", "`f`",
    ),
    mistake(
        "has_aux forgotten",
        """
def loss(w):
    return w**2, {"w": w}

jax.grad(loss)(1.0)
""",
        TypeError, "`loss`", "has_aux=True",
    ),
    mistake(
        "has_aux without a pair",
        """
def loss(w):
    return w**2

jax.grad(loss, has_aux=True)(1.0)
""",
        TypeError, "`loss`", "has_aux=True", "(value, auxiliary data)",
    ),
    mistake(
        "the gradient of a result",
        """
def f(x):
    return x**2

jax.grad(f(3.0))
""",
        TypeError, "grad(f)(x)",
    ),
    mistake(
        "the gradient of a function without result",
        """
def f(x):
    x**2

jax.grad(f)(1.0)
""",
        TypeError, "`f`", "None", "return",
    ),
    mistake(
        "the gradient of a count",
        """
def accuracy(x):
    return jnp.sum(x > 0)

jax.grad(accuracy)(jnp.arange(3.0))
""",
        TypeError, "`accuracy`", "int32[]",
    ),
    mistake(
        "float inside grad",
        """
def f(x):
    return float(x) ** 2

jax.grad(f)(1.0)
""",
        errors.ConcretizationTypeError, "float(x)", "grad",
    ),
    mistake(
        "a tangent of another shape",
        """
jax.jvp(jnp.sin, (jnp.ones(3),), (jnp.ones(2),))
""",
        ValueError, "`x`", "(3,)", "(2,)",
    ),
    mistake(
        "a jvp without tuples",
        """
jax.jvp(jnp.sin, 1.0, 1.0)
""",
        TypeError, "primals", "(p,)",
    ),
    # ------------------------------------------------------------------ control flow
    mistake(
        "a scan that returns no pair",
        """
lax.scan(lambda c, x: c + x, 0.0, jnp.ones(3))
""",
        TypeError, "lax.scan", "(carry, y)", "float32[]", "return carry, None",
    ),
    mistake(
        "a scan whose carry changes shape",
        """
def step(carry, x):
    return jnp.ones(3) * x, x

lax.scan(step, 0.0, jnp.ones(3))
""",
        TypeError, "`step`", "float32[]", "float32[3]",
    ),
    mistake(
        "a scan whose carry changes structure",
        """
def step(state, x):
    return {"sum": state["total"] + x}, None

lax.scan(step, {"total": 0.0}, jnp.ones(3))
""",
        TypeError, "`step`", "'total'", "'sum'",
    ),
    mistake(
        "a scan over arrays of different lengths",
        """
lax.scan(lambda c, x: (c, x), 0.0, (jnp.ones(3), jnp.ones(4)))
""",
        ValueError, "xs[0]", "xs[1]", "(3,)", "(4,)",
    ),
    mistake(
        "a scan over a number of steps",
        """
lax.scan(lambda c, x: (c + 1, None), 0, 10)
""",
        ValueError, "xs", "int32[]",
    ),
    mistake(
        "a while loop whose condition is no bool",
        """
lax.while_loop(lambda n: n, lambda n: n - 1, 3)
""",
        TypeError, "lax.while_loop", "`cond_fun`", "int32[]",
    ),
    mistake(
        "the gradient of a while loop",
        """
def f(x):
    return lax.while_loop(lambda y: y < 3, lambda y: y * 2, x)

jax.grad(f)(1.0)
""",
        ValueError, "lax.while_loop", "lax.scan", "jvp",
    ),
    mistake(
        "a cond on many elements",
        """
x = jnp.arange(3.0)
lax.cond(x > 1, lambda: 1.0, lambda: 2.0)
""",
        TypeError, "lax.cond(x > 1, lambda: 1.0, lambda: 2.0)", "bool[3]", "jnp.where",
    ),
    mistake(
        "branches of different dtypes",
        """
lax.cond(True, lambda x: x, lambda x: 0, 1.0)
""",
        TypeError, "float32[]", "int32[]",
    ),
    mistake(
        "branches that are values",
        """
lax.cond(True, 1.0, 2.0)
""",
        TypeError, "lax.cond(True, 1.0, 2.0)", "true_fun", "1.0",
    ),
    mistake(
        "a loop up to a float",
        """
n = 10
lax.fori_loop(0, n / 2, lambda i, x: x + i, 0)
""",
        TypeError, "lax.fori_loop", "upper", "float32[]", "int(",
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
        errors.TracerBoolConversionError, "x > 3", "return jnp.where(x > 3, x, x + i)",
    ),
    # ------------------------------------------------------------------------ random
    mistake(
        "a seed instead of a key",
        """
random.normal(0, (3,))
""",
        TypeError, "random.normal", "random.key(0)",
    ),
    mistake(
        "a shape instead of a key",
        """
random.uniform((3, 2))
""",
        TypeError, "random.uniform", "key", "(3, 2)",
    ),
    mistake(
        "a seed with fractions",
        """
random.key(1.5)
""",
        TypeError, "random.key", "1.5",
    ),
    mistake(
        "a shape with a fraction",
        """
key = random.key(0)
random.normal(key, (2.5,))
""",
        TypeError, "random.normal", "2.5",
    ),
    mistake(
        "several keys where one is needed",
        """
keys = random.split(random.key(0), 3)
random.normal(keys, (2,))
""",
        ValueError, "random.normal", "(3,)", "vmap",
    ),
    mistake(
        "an array of another kind as key",
        """
random.normal(jnp.ones(2), (3,))
""",
        TypeError, "random.normal", "float32[2]", "random.key",
    ),
    # ----------------------------------------------------------------------- devices
    mistake(
        "a donated array",
        """
step = jax.jit(lambda x: x + 1, donate_argnums=0)
state = jnp.zeros(3)
new = step(state)
state + 1
""",
        RuntimeError, "donated", "float32[3]",
    ),
    mistake(
        "a deleted array",
        """
x = jnp.zeros(3)
x.delete()
print(x)
""",
        RuntimeError, "deleted", "float32[3]",
    ),
    mistake(
        "a device that does not exist",
        """
jax.devices("gpuu")
""",
        RuntimeError, "gpuu", "cpu",
    ),
    mistake(
        "a setting that does not exist",
        """
jax.config.update("jax_enable_x65", True)
""",
        AttributeError, "jax_enable_x65", "jax_enable_x64",
    ),
    mistake(
        "a function that does not exist",
        """
x = jnp.ones(3)
x.fill(2.0)
""",
        AttributeError, "fill",
    ),
]


# ------------------------------------------------------------------------ the machinery


class Told(NamedTuple):
    """What a user sees of a mistake."""

    error: BaseException
    frames: list[traceback.FrameSummary]

    @property
    def ours(self) -> list[traceback.FrameSummary]:
        return [f for f in self.frames if f.filename.startswith(PACKAGE)]


def file_name(mistake: Mistake) -> str:
    return re.sub(r"\W+", "_", mistake.title) + ".py"


def run(mistake: Mistake) -> Told | None:
    """Runs the program as a file of its own, whose source can be read."""
    name = file_name(mistake)
    lines = mistake.program.splitlines(keepends=True)
    linecache.cache[name] = (len(mistake.program), None, lines, name)
    names: dict[str, Any] = {
        "jax": jax, "jnp": jnp, "np": np, "lax": lax, "random": random,
        "__name__": "program",
    }  # fmt: skip
    try:
        exec(compile(mistake.program, name, "exec"), names)
    except BaseException as error:
        shown = [
            f for f in traceback.extract_tb(error.__traceback__) if f.filename != __file__
        ]
        return Told(error, shown)
    return None


def message(error: BaseException) -> str:
    notes = getattr(error, "__notes__", [])
    return "\n".join([str(error), *notes])


def page(mistake: Mistake, told: Told | None) -> str:
    """The mistake as it stands in the golden file."""
    if told is None:
        return f"## {mistake.title}\n\n{mistake.program}\n(no error)\n"
    kind = type(told.error).__name__
    return f"## {mistake.title}\n\n{mistake.program}\n{kind}: {message(told.error)}\n"


def golden_pages() -> dict[str, str]:
    text = GOLDEN.read_text(encoding="utf-8") if GOLDEN.exists() else ""
    parts = text.split("\n## ")[1:]
    pages = ["## " + part.rstrip("\n") + "\n" for part in parts]
    return {p.splitlines()[0][3:]: p for p in pages}


@pytest.fixture(scope="module")
def golden() -> dict[str, str]:
    if os.environ.get("UPDATE_GOLDEN"):
        pages = [page(m, run(m)) for m in MISTAKES]
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text("# Mistakes and messages\n\n" + "\n".join(pages), "utf-8")
    return golden_pages()


@pytest.mark.parametrize("case", MISTAKES, ids=[file_name(m)[:-3] for m in MISTAKES])
def test_message(case: Mistake, golden: dict[str, str]) -> None:
    told = run(case)
    assert told is not None, "no error"
    assert isinstance(told.error, case.error), type(told.error)
    text = message(told.error)
    missing = [words for words in case.shows if words not in text]
    assert not missing, f"the message does not show {missing}:\n{text}"
    found = INTERNAL.search(text)
    assert found is None, f"the message speaks of {found and found[0]}:\n{text}"
    assert len(told.ours) <= 2, told.ours
    assert told.frames[-1 - len(told.ours)].filename == file_name(case)
    for _ in range(2):  # what repeats is planned or compiled, and fails all the same
        again = run(case)
        assert again is not None and message(again.error) == text
        assert len(again.ours) <= 2, again.ours
    got, wanted = page(case, told), golden.get(case.title, "")
    assert got == wanted, "\n".join(
        difflib.unified_diff(wanted.splitlines(), got.splitlines(), lineterm="")
    )


# -------------------------------------------------------------------------------- leaks


class Holder:
    kept: Any = None
    __slots__ = ("inner",)

    def __init__(self) -> None:
        self.inner: dict[str, list[Any]] = {"a": []}


class Kept:
    pass


def leak(store: Any) -> None:
    """Traces a function that stores a traced value somewhere."""

    @jax.jit
    def traced(x: Any) -> Any:
        store(x * 2)
        return x

    traced(1.0)


def held(use: Any) -> str:
    with pytest.raises(errors.UnexpectedTracerError) as caught:
        use()
    text = str(caught.value)
    assert "leak.<locals>.traced" in text and "test_messages.py" in text
    return text[text.index("It is held by") :].split(". ")[0]


def test_leaks_say_what_holds_the_value() -> None:
    found: dict[str, Any] = {}
    leak(lambda x: found.update(h=x))
    assert "variable `found['h']`" in held(lambda: found["h"] + 1)
    layer = Kept()
    leak(lambda x: setattr(layer, "cache", x))
    assert held(lambda: -layer.cache) == "It is held by the attribute `cache` of a Kept"
    leak(lambda x: setattr(Kept, "best", x))
    assert "attribute `best` of the class Kept" in held(lambda: jnp.sin(Kept.best))
    holder = Holder()
    leak(holder.inner["a"].append)
    assert "attribute `inner['a'][0]` of a Holder" in held(lambda: holder.inner["a"][0] * 2)
    last = None

    def keep(x: Any) -> None:
        nonlocal last
        last = x

    leak(keep)
    assert "variable `last`" in held(lambda: last + 1)


@pytest.mark.parametrize(
    "use", [bool, int, float, np.asarray, lambda x: [1, 2][x], lambda x: x.tolist()]
)
def test_leaked_values_are_told_from_traced_ones(use: Any) -> None:
    kept: list[Any] = []
    leak(kept.append)
    held(lambda: use(kept[0]))


# ------------------------------------------------------------------------------- devices


def test_mixed_devices() -> None:
    program = """
import tetrad as jax, tetrad.numpy as jnp
jax.set_cpu_devices(2)
a, b = [jax.device_put(jnp.ones(3), device) for device in jax.devices()]
try:
    a + b
except ValueError as error:
    print(error)
"""
    text = output_of(program)
    assert "cpu:0" in text and "cpu:1" in text and "jax.device_put" in text


def output_of(program: str, limit: int = 120) -> str:
    """What a program prints that runs in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True, text=True, timeout=limit, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


# ---------------------------------------------------------------------------------- vmap


def product(x: Any, y: Any) -> Any:
    return x * y


WRONG_MAPS: list[tuple[dict[str, Any], tuple[Any, ...]]] = [
    ({}, (np.ones(3), np.ones(4))),
    ({}, (np.ones(3), 2.0)),
    ({}, (2.0, np.ones(3))),
    ({"in_axes": 1}, (np.ones((3, 4)), np.ones(4))),
    ({"in_axes": -2}, (np.ones(3), np.ones((3, 4)))),
    ({"in_axes": (0,)}, (np.ones(3), np.ones(3))),
    ({"in_axes": (0, 0, 0)}, (np.ones(3), np.ones(3))),
    ({"in_axes": (0, 1)}, (np.ones(3), np.ones(3))),
    ({"in_axes": (0, 2)}, (np.ones(3), np.ones((3, 4)))),
    ({"in_axes": (0, 0)}, (np.ones((2, 4)), np.ones((4, 2)))),
    ({"in_axes": (1, 0)}, (np.ones((3, 3, 2)), np.ones((2, 2)))),
    ({"in_axes": (None, 1)}, (np.ones(3), np.ones(3))),
]


@pytest.mark.parametrize(("options", "args"), WRONG_MAPS)
def test_what_vmap_suggests_works(options: dict[str, Any], args: Any) -> None:
    with pytest.raises(ValueError) as caught:
        jax.vmap(product, **options)(*args)
    text = str(caught.value)
    assert "x" in text and "y" in text and "`product`" in text
    suggested = re.findall(r"in_axes=(\(.*?\)|-?\d+|None)", text)[-1]
    sizes = jax.vmap(lambda x, y: 0.0, in_axes=eval(suggested))(*args).shape
    assert len(sizes) == 1


# ------------------------------------------------------------------------- wrong arguments


@pytest.mark.parametrize("module", ["jnp", "lax", "random", "nn", "linalg"])
def test_wrong_arguments_never_crash(module: str, tmp_path: pathlib.Path) -> None:
    script = pathlib.Path(__file__).parent / "wrong_arguments.py"
    log = tmp_path / "calls.txt"
    done = subprocess.run(
        [sys.executable, str(script), module, "2", "2"],
        capture_output=True, text=True, timeout=600, check=False,
        env={**os.environ, "WRONG_ARGUMENTS_LOG": str(log)},
    )  # fmt: skip
    calls = log.read_text(encoding="utf-8").splitlines()
    assert done.returncode == 0, f"{calls[-1:]}\n{done.stderr[-3000:]}"
    *wrong, counts = done.stdout.splitlines()
    assert counts.startswith("counts:")
    assert not wrong, "\n".join(wrong)


# ---------------------------------------------------------------------------- tracebacks


def test_frames_of_the_user_stay() -> None:
    def inner(x: Any) -> Any:
        return x @ jnp.ones(5)

    def outer(x: Any) -> Any:
        return jnp.sum(jax.vmap(inner)(x))

    told = told_of(lambda: jax.jit(jax.grad(outer))(jnp.ones((2, 3))))
    names = [f.name for f in told.frames if not f.filename.startswith(PACKAGE)]
    assert names[-3:] == ["<lambda>", "outer", "inner"]
    assert len(told.ours) <= 2


def test_functions_can_be_pickled_and_have_their_names() -> None:
    for function in (jnp.sum, jnp.reshape, lax.dot, random.normal, jax.vmap, jnp.add):
        assert pickle.loads(pickle.dumps(function)) is function
    assert jnp.sum.__name__ == "sum"
    assert inspect.signature(jnp.expand_dims).parameters.keys() == {"a", "axis"}


# -------------------------------------------------------------------------- late errors


class Riddle(Unary):
    """An operation that no compiler can make code for."""

    @staticmethod
    def scalar(block: Any, x: Any) -> Any:
        raise NotImplementedError("riddles have no code")


riddle = Riddle()


def told_of(run: Any) -> Told:
    with pytest.raises(Exception) as caught:
        run()
    error = caught.value
    shown = traceback.extract_tb(error.__traceback__)
    return Told(error, [f for f in shown if "pytest" not in f.filename])


def line_in(told: Told, words: str) -> None:
    """Asserts that the message names this file and shows the line with `words`."""
    text = message(told.error)
    assert os.path.basename(__file__) in text
    assert words in text, text


def test_what_fails_at_the_flush_names_the_line_that_was_recorded() -> None:
    x = jnp.ones(3)
    y = riddle(x + 1)
    z = y * 2
    told = told_of(lambda: np.asarray(z))
    assert isinstance(told.error, NotImplementedError)
    line_in(told, "y = riddle(x + 1)")
    assert len(told.ours) <= 2
    # And again, when it is asked for again.
    line_in(told_of(lambda: z.tolist()), "y = riddle(x + 1)")


def test_what_fails_alone_names_the_line() -> None:
    x = jax.block_until_ready(jnp.ones(3))
    y = riddle(x)
    line_in(told_of(y.block_until_ready), "y = riddle(x)")


def test_what_fails_inside_of_jit_names_the_line() -> None:
    @jax.jit
    def f(x: Any) -> Any:
        return riddle(x) + 1

    line_in(told_of(lambda: np.asarray(f(jnp.ones(3)))), "return riddle(x) + 1")


def test_a_failure_stays_with_what_depends_on_it() -> None:
    x = jnp.arange(3.0)
    wrong = riddle(x)
    after = x + 1
    both = after + wrong
    told_of(lambda: np.asarray(wrong))
    assert after.tolist() == [1, 2, 3] and x.tolist() == [0, 1, 2]
    told_of(lambda: np.asarray(both))
    fresh = after * 2
    assert fresh.tolist() == [2, 4, 6]
    told_of(lambda: (both + fresh).tolist())
    assert (fresh + after).tolist() == [3, 6, 9]


def test_out_of_memory_names_the_line_and_leaves_others_alone() -> None:
    x = jnp.arange(3.0)
    huge = jnp.ones(10**12) * x[0]
    after = x + 1
    told = told_of(huge.block_until_ready)
    assert isinstance(told.error, errors.OutOfMemoryError)
    line_in(told, "TiB")
    assert len(told.ours) <= 2
    assert after.tolist() == [1, 2, 3]


def test_arrays_of_a_failed_recording_are_let_go() -> None:
    device = jax.devices()[0]
    gc.collect()
    before = device.memory_stats()["bytes_in_use"]
    x = jax.block_until_ready(jnp.ones(1000))
    y = riddle(x)
    try:
        y.block_until_ready()
    except NotImplementedError:
        pass
    del x, y
    assert device.memory_stats()["bytes_in_use"] == before
