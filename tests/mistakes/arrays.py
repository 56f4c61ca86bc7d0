"""Mistakes with shapes and dtypes."""

from __future__ import annotations

from mistakes.mistake import Mistake, mistake

MISTAKES: list[Mistake] = [
    # ----------------------------------------------------------------------- shapes
    mistake(
        "inner sizes of a product",
        """
a = jnp.ones((3, 2))
b = jnp.ones((3, 2))
a @ b
""",
        TypeError,
        "a @ b",
        "a is float32[3,2]",
        "b is float32[3,2]",
        "a @ b.T",
    ),
    mistake(
        "a vector on the wrong side",
        """
weights = jnp.ones((4, 3))
x = jnp.ones(4)
jnp.dot(weights, x)
""",
        TypeError,
        "jnp.dot(weights, x)",
        "float32[4,3]",
        "float32[4]",
        "jnp.dot(x, weights)",
    ),
    mistake(
        "a product with a scalar",
        """
a = jnp.ones((3, 2))
a @ 2
""",
        ValueError,
        "a @ 2",
        "float32[3,2]",
        "*",
    ),
    mistake(
        "shapes that do not broadcast",
        """
x = jnp.ones((3, 4))
bias = jnp.ones(3)
x + bias
""",
        ValueError,
        "x + bias",
        "x is float32[3,4]",
        "bias is float32[3]",
        "bias[:, None]",
    ),
    mistake(
        "shapes that do not broadcast, in a function",
        """
image = jnp.ones((28, 28))
mask = jnp.ones((32, 32))
jnp.maximum(image, mask)
""",
        ValueError,
        "jnp.maximum(image, mask)",
        "float32[28,28]",
        "float32[32,32]",
    ),
    mistake(
        "an update in place with another shape",
        """
total = jnp.zeros(3)
total += jnp.ones(4)
""",
        ValueError,
        "total += jnp.ones(4)",
        "float32[3]",
        "float32[4]",
    ),
    mistake(
        "reshape to another size",
        """
x = jnp.arange(6)
x.reshape(4, 2)
""",
        TypeError,
        "x.reshape(4, 2)",
        "int32[6]",
        "(4, 2)",
        "6",
    ),
    mistake(
        "reshape with two unknowns",
        """
x = jnp.arange(6)
jnp.reshape(x, (-1, -1))
""",
        ValueError,
        "jnp.reshape(x, (-1, -1))",
    ),
    mistake(
        "concatenate along an axis where others differ",
        """
a = jnp.ones((2, 3))
b = jnp.ones((2, 4))
jnp.concatenate([a, b])
""",
        TypeError,
        "jnp.concatenate",
        "float32[2,3]",
        "float32[2,4]",
        "axis",
    ),
    mistake(
        "concatenate without a list",
        """
a = jnp.ones(2)
b = jnp.ones(2)
jnp.concatenate(a, b)
""",
        TypeError,
        "jnp.concatenate",
        "[a, b]",
    ),
    mistake(
        "stack arrays of different shapes",
        """
a = jnp.ones(3)
b = jnp.ones(4)
jnp.stack([a, b])
""",
        ValueError,
        "jnp.stack",
        "float32[3]",
        "float32[4]",
    ),
    mistake(
        "where with shapes that do not broadcast",
        """
mask = jnp.array([True, False])
a = jnp.ones(3)
jnp.where(mask, a, 0)
""",
        ValueError,
        "jnp.where(mask, a, 0)",
        "bool[2]",
        "float32[3]",
    ),
    mistake(
        "broadcast_to a smaller shape",
        """
x = jnp.ones((2, 3))
jnp.broadcast_to(x, (3, 2))
""",
        ValueError,
        "jnp.broadcast_to(x, (3, 2))",
        "float32[2,3]",
        "(3, 2)",
    ),
    mistake(
        "einsum with too many letters",
        """
a = jnp.ones((2, 3))
jnp.einsum("ijk->i", a)
""",
        ValueError,
        "jnp.einsum",
        "ijk",
        "2 axes",
    ),
    mistake(
        "einsum with sizes that differ",
        """
a = jnp.ones((2, 3))
b = jnp.ones((4, 5))
jnp.einsum("ij,jk->ik", a, b)
""",
        ValueError,
        "jnp.einsum",
        "'j'",
        "3",
        "4",
    ),
    mistake(
        "set with a value of the wrong shape",
        """
x = jnp.zeros((4, 3))
row = jnp.ones(4)
x.at[0].set(row)
""",
        ValueError,
        "x.at[0].set(row)",
        "float32[4]",
        "(3,)",
    ),
    mistake(
        "zeros with separate extents",
        """
jnp.zeros(3, 4)
""",
        TypeError,
        "jnp.zeros(3, 4)",
        "jnp.zeros((3, 4))",
    ),
    mistake(
        "a negative extent",
        """
n = -1
jnp.ones((n, 2))
""",
        ValueError,
        "jnp.ones",
        "-1",
    ),
    mistake(
        "a shape with a float",
        """
n = 10
jnp.zeros(n / 2)
""",
        TypeError,
        "jnp.zeros",
        "5.0",
        "//",
    ),
    mistake(
        "split into unequal parts",
        """
x = jnp.arange(7)
jnp.split(x, 3)
""",
        ValueError,
        "jnp.split(x, 3)",
        "7",
        "jnp.array_split",
    ),
    # ----------------------------------------------------------------------- dtypes
    mistake(
        "a misspelt dtype",
        """
jnp.ones(3, dtype="flaot32")
""",
        TypeError,
        "flaot32",
        "float32",
    ),
    mistake(
        "an array of text",
        """
jnp.array(["cat", "dog"])
""",
        TypeError,
        "jnp.array",
        "cat",
    ),
    mistake(
        "ragged rows",
        """
jnp.array([[1, 2], [3]])
""",
        ValueError,
        "jnp.array",
        "[2, 1]",
    ),
    mistake(
        "None among numbers",
        """
jnp.array([1.0, None])
""",
        TypeError,
        "jnp.array",
        "None",
        "jnp.nan",
    ),
    mistake(
        "an integer that does not fit",
        """
jnp.array([300], dtype=jnp.uint8)
""",
        OverflowError,
        "300",
        "uint8",
    ),
    mistake(
        "an integer that does not fit the other operand",
        """
x = jnp.ones(2, jnp.uint8)
x + 1000
""",
        OverflowError,
        "x + 1000",
        "1000",
        "uint8",
    ),
    mistake(
        "bits of floats",
        """
x = jnp.ones(3)
(x > 0) & x
""",
        TypeError,
        "(x > 0) & x",
        "float32[3]",
    ),
    mistake(
        "two comparisons without parentheses",
        """
x = jnp.arange(3.0)
x > 0 & x < 2
""",
        TypeError,
        "0 & x",
        "float32[3]",
        "(",
    ),
    mistake(
        "a chained comparison",
        """
x = jnp.arange(3.0)
0 < x < 2
""",
        ValueError,
        "0 < x < 2",
        "&",
    ),
    mistake(
        "order of complex numbers",
        """
z = jnp.ones(2, complex)
jnp.floor(z)
""",
        TypeError,
        "jnp.floor(z)",
        "complex64[2]",
    ),
    mistake(
        "not on an array",
        """
x = jnp.arange(3.0)
not x
""",
        ValueError,
        "not x",
        "float32[3]",
        "jnp.logical_not",
    ),
    mistake(
        "if on an array",
        """
x = jnp.arange(3.0)
if x > 0:
    x = -x
""",
        ValueError,
        "x > 0",
        "bool[3]",
        "jnp.any",
        "jnp.where",
    ),
    mistake(
        "float() of many elements",
        """
losses = jnp.arange(3.0)
float(losses)
""",
        TypeError,
        "float(losses)",
        "float32[3]",
    ),
    mistake(
        "text added to an array",
        """
x = jnp.arange(3.0)
x + "1"
""",
        TypeError,
        'x + "1"',
        "str",
    ),
    mistake(
        "a list added to an array",
        """
x = jnp.arange(3.0)
x + [1.0, 2.0, 3.0]
""",
        TypeError,
        "x + [1.0, 2.0, 3.0]",
        "jnp.array([1.0, 2.0, 3.0])",
    ),
    mistake(
        "None times an array",
        """
x = jnp.arange(3.0)
scale = None
x * scale
""",
        TypeError,
        "x * scale",
        "None",
    ),
    mistake(
        "a list where an array is needed",
        """
jnp.sum([1, 2])
""",
        TypeError,
        "jnp.sum",
        "jnp.array([1, 2])",
    ),
    mistake(
        "several numbers where an array is needed",
        """
a, b = 1.0, 2.0
jnp.max(a, b)
""",
        TypeError,
        "jnp.max",
        "axis",
        "jnp.maximum(a, b)",
    ),
    # ----------------------------------------------------------------- small dtypes
    mistake(
        "a float of 8 bits beside a float32",
        """
weights = jnp.ones(3, jnp.float8_e4m3fn)
x = jnp.ones(3)
weights * x
""",
        ValueError,
        "weights * x",
        "float8_e4m3fn",
        "8-bit floats do not support implicit promotion",
        "astype('float32')",
    ),
    mistake(
        "4-bit integers beside an int8",
        """
codes = jnp.ones(3, jnp.int4)
codes + jnp.ones(3, jnp.int8)
""",
        ValueError,
        "codes + ",
        "4-bit integers do not support implicit promotion",
    ),
    mistake(
        "a number that 4 bits do not hold",
        """
codes = jnp.ones(3, jnp.int4)
codes + 9
""",
        OverflowError,
        "codes + 9",
        "int4 (-8 to 7)",
    ),
    mistake(
        "the inverse of a matrix of 8-bit floats",
        """
a = jnp.eye(2, dtype=jnp.float8_e5m2)
jnp.linalg.inv(a)
""",
        TypeError,
        "jnp.linalg.inv",
        "float8_e5m2[2,2]",
        "astype('float32')",
    ),
    mistake(
        "complex numbers of 8-bit floats",
        """
x = jnp.ones(2, jnp.float8_e4m3fn)
lax.complex(x, x)
""",
        TypeError,
        "lax.complex takes float32 or float64 parts",
        "float8_e4m3fn[2]",
    ),
    mistake(
        "8-bit floats given to another library",
        """
x = jnp.ones(2, jnp.float8_e5m2)
np.from_dlpack(x)
""",
        BufferError,
        "float8_e5m2",
        "x.view('uint8')",
    ),
    mistake(
        "4-bit integers from a file of NumPy",
        """
import io

file = io.BytesIO()
jnp.save(file, jnp.ones(2, jnp.int4))
file.seek(0)
jnp.load(file)
""",
        TypeError,
        "jnp.load",
        "numpy.load(file).view(",
    ),
]
