"""`tetrad.timeit`: what it runs, what it counts, what it says. No test asserts a time."""

import re

import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad._src.util.sizes import duration

LINE = (
    r"\S+: [\d.e+]+ (s|ms|µs|ns) ± \d+ % \(\d+ runs\), first [\d.e+]+ (s|ms|µs|ns),"
    r" compile [\d.e+]+ (s|ms|µs|ns)"
)


def test_fields():
    def f(x, *, scale):
        return jnp.sin(x) * scale

    t = jax.timeit(jax.jit(f), jnp.arange(97.0), scale=2.0)
    s = t.steady
    assert 0 < s.best <= s.low <= s.median <= s.high
    assert s.runs >= 5 and s.spread >= 0
    assert 0 <= t.compile <= t.first
    assert (t.recompiled, t.reasons, t.notes) == (0, [], [])
    assert re.fullmatch(LINE, str(t)) and str(t).startswith("f: ") and repr(t) == str(t)


def test_nothing_to_compile():
    f = jax.jit(lambda x: x * 3 - 1)
    f(jnp.ones(5)).block_until_ready()
    jax.timeit(f, jnp.ones(5))
    t = jax.timeit(f, jnp.ones(5))
    assert t.compile == 0 and "compile 0 s" in str(t)


def test_every_run_is_computed():
    """What a run returns is computed, also in parts that nobody looks at."""
    runs = []

    def f(x):
        y = jnp.cos(x)
        runs.append(1)
        return {"unread": [y + 1, None], "n": 3}

    t = jax.timeit(f, jnp.ones(10))
    assert len(runs) == t.steady.runs + 1
    calls = []

    def count(x):
        calls.append(1)
        return x

    g = jax.jit(lambda x: {"a": (jax.pure_callback(count, x, x), None)})
    t = jax.timeit(g, jnp.ones(3))
    assert len(calls) == t.steady.runs + 1


def test_pending_arguments_are_computed_before():
    x = jnp.ones(100)
    y = x + 1
    jax.timeit(lambda y: y, y)
    assert y.is_ready()


def test_compiled_again():
    shapes = iter(range(1, 20_000))

    def f():
        return step(jnp.ones(next(shapes)))

    step = jax.jit(lambda v: v * 2)
    t = jax.timeit(f)
    assert t.recompiled >= t.steady.runs
    assert "argument `v` was float32[1], now float32[2]" in t.reasons[0]
    assert re.search(r"; compiled again \d+ times: argument `v` was", str(t))


def test_donated_arguments():
    x = jnp.ones(50)
    f = jax.jit(lambda x, y: x + y, donate_argnums=0)
    t = jax.timeit(f, x, y=2.0)
    assert float(x[0]) == 1 and not x.is_deleted()
    assert str(t).endswith("; donated arguments were copied before each run")
    with pytest.raises(ValueError, match="deletes an argument, the float32") as raised:
        jax.timeit(lambda x: f(x, 1), x)
    assert "donated to `<lambda>` as `x`" in str(raised.value)


def test_functions_without_results():
    t = jax.timeit(lambda: None)
    assert str(t).endswith(
        "; it returned no arrays, and what is not returned may not run"
    )


def test_wrong_use():
    with pytest.raises(TypeError, match="takes a function"):
        jax.timeit(3)
    with pytest.raises(ZeroDivisionError):
        jax.timeit(lambda: 1 / 0)


def test_durations():
    assert [duration(t) for t in (2.5, 0.5, 3e-5, 4e-9)] == [
        "2.5 s", "500 ms", "30 µs", "4 ns"
    ]  # fmt: skip
