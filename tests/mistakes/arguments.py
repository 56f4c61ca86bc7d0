"""Arguments that make no sense where they stand, one program for each family."""

from __future__ import annotations

from mistakes.mistake import Mistake, mistake

MISTAKES: list[Mistake] = [
    mistake(
        "a scalar where a vector is needed",
        """
coefficients = jnp.float32(2.0)
jnp.polyval(coefficients, jnp.arange(3.0))
""",
        IndexError,
        "jnp.polyval(coefficients, jnp.arange(3.0))",
        "p: float32[]",
        "fewer axes",
    ),
    mistake(
        "a text as an axis",
        """
x = jnp.arange(3.0)
jnp.linalg.cross(x, x, axis="rows")
""",
        TypeError,
        "axis cannot be 'rows'",
    ),
    mistake(
        "a text as a count",
        """
lax.top_k(jnp.arange(3.0), "two")
""",
        TypeError,
        "k cannot be 'two'",
        "an integer is needed",
        "it takes (operand, k",
    ),
    mistake(
        "a number where a function is needed",
        """
jnp.apply_over_axes(3, jnp.ones((2, 3)), 0)
""",
        TypeError,
        "func cannot be 3",
    ),
    mistake(
        "an array where a function is needed",
        """
f = jnp.ones(3)
jnp.apply_along_axis(f, 0, jnp.ones((2, 3)))
""",
        TypeError,
        "func1d cannot be float32[3]",
        "a function is needed",
    ),
    mistake(
        "a number where a pair is needed",
        """
jax.scipy.linalg.cho_solve(3, jnp.ones(2))
""",
        TypeError,
        "c_and_lower cannot be 3",
        "a tuple is needed",
    ),
    mistake(
        "None among shapes",
        """
jnp.broadcast_shapes((2, 3), None)
""",
        TypeError,
        "shapes cannot be ((2, 3), None)",
        "a tuple is needed",
    ),
    mistake(
        "an array where bytes are needed",
        """
jnp.frombuffer(jnp.arange(3))
""",
        TypeError,
        "buffer cannot be int32[3]",
    ),
    mistake(
        "a number where a dtype is needed",
        """
jnp.isdtype(3, "bool")
""",
        TypeError,
        "dtype cannot be 3",
    ),
    mistake(
        "a function of SciPy with a text for a number",
        """
jax.scipy.signal.welch(jnp.arange(8.0), fs="fast")
""",
        TypeError,
        "fs cannot be 'fast'",
    ),
    mistake(
        "a matrix function with a number for a function",
        """
jax.scipy.linalg.funm(jnp.eye(2), 3)
""",
        TypeError,
        "func cannot be 3",
    ),
]
