"""Mistakes with time, threads and traces."""

from __future__ import annotations

from mistakes.mistake import Mistake, mistake

MISTAKES: list[Mistake] = [
    mistake(
        "no threads at all",
        """
jax.set_num_threads(0)
""",
        ValueError,
        "1..1024",
        "got 0",
    ),
    mistake(
        "threads as text",
        """
with jax.threads("4"):
    pass
""",
        TypeError,
        "must be an integer",
        "'4'",
    ),
    mistake(
        "timing a result",
        """
def f(x):
    return x + 1
jax.timeit(f(jnp.ones(3)))
""",
        TypeError,
        "tetrad.timeit takes a function",
        "tetrad.timeit(f, x)",
    ),
    mistake(
        "timing what uses its argument up",
        """
step = jax.jit(lambda state: state * 2, donate_argnums=0)
def train(state):
    return step(state)
jax.timeit(train, jnp.ones(3))
""",
        ValueError,
        "`train` deletes an argument, the float32[3]",
        "Time the function under jit that donates it",
    ),
    mistake(
        "a profile before its block ends",
        """
with jax.see.profile() as p:
    y = jnp.ones(3) + 1
    p.rows
""",
        RuntimeError,
        "complete at the end of its block",
        "then print(p)",
    ),
    mistake(
        "a profile saved as a picture",
        """
with jax.see.profile() as p:
    y = jnp.ones(3) + 1
p.save("profile.png")
""",
        ValueError,
        ".json or .html",
        "profile.png",
    ),
    mistake(
        "ending a trace that nobody began",
        """
jax.profiler.stop_trace()
""",
        RuntimeError,
        "no trace is being taken",
        "jax.profiler.start_trace(directory)",
    ),
]
