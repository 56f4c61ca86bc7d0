"""Mistakes with axes and indices."""

from __future__ import annotations

from mistakes.mistake import Mistake, mistake
from tetrad.errors import OutOfBoundsWarning

MISTAKES: list[Mistake] = [
    # ------------------------------------------------------------------------- axes
    mistake(
        "an axis that does not exist",
        """
x = jnp.ones((2, 3))
x.sum(axis=5)
""",
        ValueError,
        "x.sum(axis=5)",
        "axis=5",
        "2 axes",
    ),
    mistake(
        "an axis twice",
        """
x = jnp.ones((2, 3))
jnp.mean(x, axis=(1, -1))
""",
        ValueError,
        "jnp.mean",
        "(1, -1)",
        "repeated axis",
    ),
    mistake(
        "transpose with too few axes",
        """
x = jnp.ones((2, 3, 4))
jnp.transpose(x, (1, 0))
""",
        ValueError,
        "jnp.transpose(x, (1, 0))",
        "float32[2,3,4]",
        "(1, 0)",
    ),
    mistake(
        "squeeze of an axis that is not 1",
        """
x = jnp.ones((2, 1))
x.squeeze(0)
""",
        ValueError,
        "x.squeeze(0)",
        "float32[2,1]",
    ),
    mistake(
        "expand_dims too far",
        """
x = jnp.ones(3)
jnp.expand_dims(x, 4)
""",
        ValueError,
        "jnp.expand_dims(x, 4)",
        "4",
    ),
    mistake(
        "moveaxis of an axis that does not exist",
        """
x = jnp.ones((2, 3))
jnp.moveaxis(x, 0, 2)
""",
        ValueError,
        "jnp.moveaxis(x, 0, 2)",
        "destination",
    ),
    mistake(
        "an output to write to",
        """
x = jnp.ones(3)
jnp.exp(x, out=x)
""",
        TypeError,
        "jnp.exp(x, out=x)",
        "out = jnp.exp(",
    ),
    mistake(
        "three arrays to add",
        """
a = b = c = jnp.ones(3)
jnp.add(a, b, c)
""",
        TypeError,
        "jnp.add(a, b, c)",
        "two arrays, got 3",
    ),
    mistake(
        "the sine of a random key",
        """
key = random.key(0)
jnp.sin(key)
""",
        TypeError,
        "jnp.sin(key)",
        "key<fry>[]",
        "random keys",
    ),
    mistake(
        "an axis given as text",
        """
x = jnp.ones((2, 3))
x.sum(axis="rows")
""",
        TypeError,
        "x.sum",
        "'rows'",
    ),
    # ---------------------------------------------------------------------- indices
    mistake(
        "an index out of range",
        """
x = jnp.arange(3)
x[3]
""",
        OutOfBoundsWarning,
        "x[3]",
        "3",
        "(3,)",
    ),
    mistake(
        "too many indices",
        """
x = jnp.arange(3)
x[0, 1]
""",
        IndexError,
        "x[0, 1]",
        "2",
        "(3,)",
    ),
    mistake(
        "a float as index",
        """
x = jnp.arange(10)
x[len(x) / 2]
""",
        TypeError,
        "x[len(x) / 2]",
        "5.0",
        "//",
    ),
    mistake(
        "an array of floats as index",
        """
x = jnp.arange(10)
i = jnp.array([1.0, 2.0])
x[i]
""",
        TypeError,
        "x[i]",
        "float32[2]",
        "astype(int)",
    ),
    mistake(
        "text as index",
        """
params = jnp.arange(3)
params["w"]
""",
        TypeError,
        'params["w"]',
    ),
    mistake(
        "a list as index",
        """
x = jnp.arange(3)
x[[0, 1]]
""",
        TypeError,
        "x[[0, 1]]",
        "x[jnp.array([0, 1])]",
    ),
    mistake(
        "a mask of another shape",
        """
x = jnp.arange(3)
mask = jnp.array([True, False])
x[mask]
""",
        IndexError,
        "x[mask]",
        "(2,)",
        "(3,)",
    ),
    mistake(
        "assignment to an element",
        """
x = jnp.zeros(3)
x[0] = 1
""",
        TypeError,
        "x = x.at[0].set(1)",
    ),
    mistake(
        "addition to a slice",
        """
grid = jnp.zeros((4, 4))
grid[1:3, 0] += 2.0
""",
        TypeError,
        "grid = grid.at[1:3, 0].add(2.0)",
    ),
    mistake(
        "deletion of an element",
        """
x = jnp.zeros(3)
del x[0]
""",
        TypeError,
        "x = jnp.delete(x, 0)",
    ),
    mistake(
        "calling an update without an index",
        """
x = jnp.zeros(3)
x.at.set(1.0)
""",
        TypeError,
        "x.at[",
        "[:]",
    ),
    mistake(
        "an index out of range in a compiled program",
        """
def element(x, place):
    return x[place]

with jax.bounds("error"):
    jax.jit(element)(jnp.arange(3), 3)
""",
        IndexError,
        "x[place]",
        "index 3 is out of range for axis 0 of extent 3",
        'mode="clip"',
    ),
    mistake(
        "an update out of range in a loop",
        """
def count(marks, steps):
    return jax.lax.fori_loop(0, steps, lambda i, m: m.at[i].add(1), marks)

with jax.bounds("error"):
    count(jnp.zeros(3, int), 5)
""",
        IndexError,
        "m.at[i].add(1)",
        "index 3 is out of range",
    ),
    mistake(
        "indices out of range in take",
        """
x = jnp.arange(3.0)
jnp.take(x, np.array([0, 3]))
""",
        OutOfBoundsWarning,
        "index 3 is out of range",
        'mode="clip"',
    ),
    mistake(
        "a power of elements out of range",
        """
x = jnp.zeros(3)
x.at[5].power(2)
""",
        OutOfBoundsWarning,
        "x.at[5].power(2)",
        "5",
        "(3,)",
    ),
    mistake(
        "items of several elements",
        """
x = jnp.arange(3)
x.item()
""",
        ValueError,
        "x.item()",
        "int32[3]",
    ),
    mistake(
        "a list indexed by an array of floats",
        """
x = jnp.arange(3.0)
[1, 2, 3][x[0]]
""",
        TypeError,
        "[1, 2, 3][x[0]]",
        "float32[]",
        "int(x)",
    ),
    mistake(
        "the length of a scalar",
        """
x = jnp.float32(1)
len(x)
""",
        TypeError,
        "len(x)",
        "float32[]",
    ),
    mistake(
        "assignment through at",
        """
a = jnp.ones(3)
a.at[0] = 5
""",
        TypeError,
        "x = x.at[i].set(v)",
    ),
    mistake(
        "addition through at",
        """
a = jnp.ones(3)
a.at[0] += 5
""",
        TypeError,
        "x = x.at[i].add(v)",
    ),
    mistake(
        "iterating over a scalar",
        """
total = jnp.float32(3)
for part in total:
    pass
""",
        TypeError,
        "total",
        "float32[]",
    ),
    mistake(
        "an array as a dictionary key",
        """
x = jnp.arange(3)
{x: 1}
""",
        TypeError,
        "{x: 1}",
        "int32[3]",
    ),
]
