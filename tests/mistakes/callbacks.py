"""Mistakes with functions that compiled code calls."""

from __future__ import annotations

from mistakes.mistake import Mistake, mistake

MISTAKES: list[Mistake] = [
    mistake(
        "a callback that returns another shape than it promises",
        """
def total(x):
    return np.sum(x, axis=0)

spec = jax.ShapeDtypeStruct((), jnp.float32)
jax.jit(lambda x: jax.pure_callback(total, spec, x))(jnp.ones((3, 2)))
""",
        RuntimeError,
        "pure_callback: the callback `total`",
        "Expected: float32[]",
        "Actual: float32[2]",
    ),
    mistake(
        "a callback that returns nothing",
        """
def show(x):
    print(x)

jax.pure_callback(show, jax.ShapeDtypeStruct((), jnp.float32), 1.0)
""",
        RuntimeError,
        "`show` returned 0 arrays",
        "promises 1",
    ),
    mistake(
        "vmap of a callback without a method",
        """
def f(x):
    return jax.pure_callback(np.sin, x, x)

jax.vmap(f)(jnp.ones(3))
""",
        NotImplementedError,
        "vmap_method='sequential'",
    ),
    mistake(
        "the gradient of a callback",
        """
def f(x):
    return jax.pure_callback(np.sin, x, x)

jax.grad(f)(1.0)
""",
        ValueError,
        "Pure callbacks do not support JVP",
        "jax.custom_jvp",
    ),
    mistake(
        "64-bit results while they are off",
        """
jax.pure_callback(np.sin, jax.ShapeDtypeStruct((), "float64"), 1.0)
""",
        ValueError,
        "Ask for float32",
    ),
    mistake(
        "text as an argument of a callback",
        """
jax.pure_callback(lambda x, how: x, jax.ShapeDtypeStruct((), "float32"), 1.0, "how")
""",
        TypeError,
        "functools.partial",
    ),
    mistake(
        "a result type that is none",
        """
jax.pure_callback(np.sin, "float32", 1.0)
""",
        TypeError,
        "jax.ShapeDtypeStruct(shape, dtype)",
    ),
    mistake(
        "an f-string in debug.print",
        """
x = jnp.ones(2)
jax.debug.print(f"x is {x}", x)
""",
        ValueError,
        "leave out the `f`",
    ),
    mistake(
        "an f-string with a traced value",
        """
@jax.jit
def f(x):
    jax.debug.print(f"x is {x}")

f(1.0)
""",
        ValueError,
        "You may be passing an f-string",
        "jax.debug.print('{}', x)",
    ),
    mistake(
        "a format that asks for more than it gets",
        """
jax.debug.print("{} {}", 1.0)
""",
        IndexError,
        "mentions a value that was not given",
    ),
    mistake(
        "ordered lanes",
        """
from tetrad.experimental import io_callback

jax.vmap(lambda x: io_callback(print, None, x, ordered=True))(jnp.arange(3))
""",
        ValueError,
        "Cannot `vmap` ordered IO callback",
        "jax.lax.map",
    ),
]
