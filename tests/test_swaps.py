"""What loops carry in buffers that change places after each turn."""

import re

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax
from tetrad._src.passes import exchange, flow, patches


@pytest.fixture(autouse=True)
def every_size(monkeypatch):
    monkeypatch.setattr(patches, "LEAST", 0)
    monkeypatch.setattr(exchange, "LEAST", 0)
    monkeypatch.setattr(flow, "LEAST", 0)


def numbers(*shape):
    return np.random.default_rng(0).random(shape, dtype="float32")


def step(np, u):
    return (np.roll(u, 1, 0) + np.roll(u, -1, 1)) * np.float32(0.5)


def steps(u, count):
    for _ in range(count):
        u = step(np, u)
    return u


def check(f, args, wants, rtol=1e-5):
    gots = jax.jit(f)(*args)
    for got, want in zip(jax.tree.leaves(gots), wants, strict=True):
        np.testing.assert_allclose(got, want, rtol=rtol, atol=1e-6)


@pytest.mark.parametrize("length", range(7))
def test_counted_loops(length):
    u = numbers(9, 12)
    turn = lambda i, u: step(jnp, u)
    check(lambda u: lax.fori_loop(0, length, turn, u), [u], [steps(u, length)])


@pytest.mark.parametrize("length", range(7))
def test_loops_that_end_on_a_condition(length):
    u = numbers(9, 12)

    def f(u, n):
        return lax.while_loop(
            lambda c: c[0] < n, lambda c: (c[0] + 1, step(jnp, c[1])), (0, u)
        )[1]

    check(f, [u, np.int32(length)], [steps(u, length)])


@pytest.mark.parametrize("outer", [1, 2, 3])
@pytest.mark.parametrize("inner", [1, 2, 3])
def test_nested_loops(outer, inner):
    u = numbers(9, 12)

    def f(u):
        def turn(i, u):
            u = step(jnp, u)
            return lax.fori_loop(0, inner, lambda j, v: step(jnp, v), u) * 0.75

        return lax.fori_loop(0, outer, turn, u)

    want = u
    for _ in range(outer):
        want = steps(want, 1 + inner) * 0.75
    check(f, [u], [want])


@pytest.mark.parametrize("length", [4, 5])
def test_nested_loops_that_end_on_conditions(length):
    u = numbers(9, 12)

    def f(u):
        def turn(c):
            i, u = c
            more = lambda c: c[0] < i + 1
            u = lax.while_loop(more, lambda c: (c[0] + 1, step(jnp, c[1])), (0, u))[1]
            return i + 1, u

        return lax.while_loop(lambda c: c[0] < length, turn, (0, u))[1]

    want = u
    for i in range(length):
        want = steps(want, i + 1)
    check(f, [u], [want])


@pytest.mark.parametrize("length", [3, 4])
def test_several_carries_and_stacked_results(length):
    """A wave: the last two states, energies, and every second row of each state."""

    def waves(u, v, xs):
        def turn(c, x):
            old, now = c
            new = 2 * now - old + x * (step(jnp, now) - now)
            return (now, new), (jnp.sum(new), new[::2])

        return lax.scan(turn, (u, v), xs)

    u, v, xs = numbers(9, 12), numbers(9, 12) + 1, numbers(length)
    energies, rows = [], []
    old, now = u, v
    for x in xs:
        old, now = now, 2 * now - old + x * (step(np, now) - now)
        energies.append(now.sum())
        rows.append(now[::2])
    check(waves, [u, v, xs], [old, now, energies, rows], rtol=1e-4)


def test_carries_that_are_products_and_sorted():
    w = np.linalg.qr(numbers(20, 20))[0]

    def f(w, x):
        turn = lambda i, x: jnp.sort(x @ w, 1)[::-1]
        return lax.fori_loop(0, 5, turn, x)

    x = want = numbers(6, 20)
    for _ in range(5):
        want = np.sort(want @ w, 1)[::-1]
    check(f, [w, x], [want])


def test_branches_inside():
    def f(u):
        def turn(i, u):
            return lax.cond(
                i % 2 == 0, lambda u: step(jnp, u), lambda u: jnp.cumsum(u, 1) * 0.1, u
            )

        return lax.fori_loop(0, 5, turn, u)

    u = want = numbers(9, 12)
    for i in range(5):
        want = step(np, want) if i % 2 == 0 else np.cumsum(want, 1) * np.float32(0.1)
    check(f, [u], [want])


def test_gradients():
    def f(u):
        return jnp.sum(lax.fori_loop(0, 5, lambda i, u: jnp.sin(step(jnp, u)), u))

    def unrolled(u):
        for _ in range(5):
            u = jnp.sin(step(jnp, u))
        return jnp.sum(u)

    u = numbers(9, 12)
    check(jax.grad(f), [u], [jax.jit(jax.grad(unrolled))(u)])


def test_no_copies_at_the_end_of_turns():
    u = numbers(20, 30)
    text = jax.see.program(lambda u: lax.fori_loop(0, 4, lambda i, u: step(jnp, u), u))(
        u
    ).program
    assert "change places" in text


def test_donated_starts():
    f = jax.jit(
        lambda u: lax.fori_loop(0, 5, lambda i, u: step(jnp, u), u), donate_argnums=0
    )
    u = numbers(9, 12)
    got = f(jnp.asarray(u))
    np.testing.assert_allclose(got, steps(u, 5), rtol=1e-5)


@pytest.mark.parametrize("seed", range(60))
def test_random_carries(seed):
    """Values that move on to other carries, change, or stay as they are."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 6))
    kinds = rng.integers(0, 7, count)
    sources = rng.integers(0, count, (count, 2))
    length = int(rng.integers(0, 8))

    def turn(np, carry):
        after = []
        for kind, (a, b) in zip(kinds, sources):
            x, y = carry[a], carry[b]
            if kind < 3:
                after.append(x)
            elif kind == 3:
                after.append(x * np.float32(0.5) + y * np.float32(0.4))
            elif kind == 4:
                after.append(step(np, x))
            elif kind == 5:
                after.append(np.cumsum(x, 0) * np.float32(0.3))
            else:
                after.append(step(np, x) - y * np.float32(0.3))
        return tuple(after)

    start = tuple(numbers(4, 5) + k for k in range(count))
    want = start
    for _ in range(length):
        want = turn(np, want)
    check(
        lambda c: lax.fori_loop(0, length, lambda i, c: turn(jnp, c), c),
        [start],
        want,
        rtol=1e-4,
    )

    def counted(c, n):
        more = lambda s: s[0] < n
        return lax.while_loop(more, lambda s: (s[0] + 1, turn(jnp, s[1])), (0, c))[1]

    check(counted, [start, np.int32(length)], want, rtol=1e-4)

    def nested(c):
        inner = lambda i, c: turn(jnp, c)
        outer = lambda i, c: turn(jnp, lax.fori_loop(0, length, inner, c))
        return lax.fori_loop(0, 3, outer, c)

    want = start
    for _ in range(3 * (length + 1)):
        want = turn(np, want)
    check(nested, [start], want, rtol=1e-3)


def test_a_wave_copies_no_states():
    u = numbers(20, 30)

    def waves(u, v):
        turn = lambda i, c: (c[1], 2 * c[1] - c[0] + step(jnp, c[1]))
        return lax.fori_loop(0, 6, turn, (u, v))

    stages = jax.see.program(waves)(u, u)
    assert re.search(r"v\d+, v\d+, v\d+ change places", stages.program)
    assert stages.plan.count("copy") == 2  # where the loop starts
