"""Random programs with callbacks in branches, loops and calls.

What is called, with which values and in which order is the same when Python runs the
control flow, when it is compiled, and when the program runs on a thread of its own;
under `vmap` every lane calls what it calls alone; derivatives repeat no effect.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax
from tetrad._src.cpu import host
from tetrad.experimental import io_callback

ROW = jax.ShapeDtypeStruct((4,), np.float32)
START = (jnp.arange(4.0) * 0.3, jnp.full(4, -0.4), jnp.linspace(1, -1, 4))
SIMPLE = ("compute", "compute", "look", "act", "ask", "halve")
NESTED = ("cond", "switch", "for", "while", "scan", "jit", "checkpoint")
SEEDS = [*range(5), *[pytest.param(s, marks=pytest.mark.slow) for s in range(5, 60)]]


class Program:
    """A random program over three rows; `events` is what it called."""

    def __init__(self, seed, kinds=SIMPLE):
        self.random = random.Random(seed)
        self.kinds = kinds
        self.count = 0
        self.events = []
        self.functions = {}
        self.block = self.make_block(3)

    # -- how it is made

    def make_block(self, depth):
        return [self.make_step(depth) for _ in range(self.random.randint(1, 4))]

    def make_step(self, depth):
        self.count += 1
        kind = self.random.choice([*self.kinds, *NESTED * (depth > 0)])
        step = {
            "kind": kind,
            "i": self.random.randrange(3),
            "j": self.random.randrange(3),
            "n": self.random.randint(0, 3),
            "number": self.count,
        }
        if kind in NESTED:
            step["blocks"] = [self.make_block(depth - 1) for _ in range(2)]
        return step

    # -- what it calls

    def seen(self, number, gives=False):
        """The callback of a step; the same function each time."""

        def look(*rows):
            self.events.append((number, *[np.array(row) for row in rows]))

        def ask(row):
            look(row)
            return np.tanh(row)

        return self.functions.setdefault((number, gives), ask if gives else look)

    # -- what it does

    def __call__(self, rows):
        return self.run(self.block, list(rows))

    def run(self, block, rows):
        for step in block:
            rows = list(getattr(self, "do_" + step["kind"])(step, rows))
        return rows

    def inside(self, step, number=0):
        return lambda rows: self.run(step["blocks"][number], list(rows))

    def replaced(self, step, rows, value):
        return [value if k == step["i"] else row for k, row in enumerate(rows)]

    def do_compute(self, step, rows):
        a, b = rows[step["i"]], rows[step["j"]]
        made = (
            lambda: jnp.sin(a) + b * 0.5,
            lambda: jnp.where(a > b, a, -b),
            lambda: jnp.cumsum(a) * 0.3 + jnp.sum(b) * 0.1,
            lambda: a[::-1] * 0.9,
        )[step["n"]]()
        return self.replaced(step, rows, made)

    def do_look(self, step, rows):
        a, b = rows[step["i"]], rows[step["j"]]
        jax.debug.callback(self.seen(step["number"]), a, b)
        return rows

    def do_act(self, step, rows):
        io_callback(self.seen(step["number"]), None, rows[step["i"]])
        return rows

    def do_ask(self, step, rows):
        ask = self.seen(step["number"], gives=True)
        return self.replaced(step, rows, io_callback(ask, ROW, rows[step["j"]]))

    def do_halve(self, step, rows):
        x = rows[step["j"]]
        y = jax.pure_callback(_half, ROW, x, vmap_method="sequential")
        return self.replaced(step, rows, y)

    def do_cond(self, step, rows):
        positive = jnp.sum(rows[step["i"]]) > 0.5
        return lax.cond(positive, self.inside(step), self.inside(step, 1), rows)

    def do_switch(self, step, rows):
        number = (jnp.sum(jnp.abs(rows[step["i"]])) * 3).astype(int) % 3
        branches = [self.inside(step), self.inside(step, 1), lambda rows: rows]
        return lax.switch(number, branches, rows)

    def do_for(self, step, rows):
        body = self.inside(step)
        return lax.fori_loop(0, step["n"], lambda _, rows: body(rows), rows)

    def do_while(self, step, rows):
        body = self.inside(step)

        def go_on(carry):
            count, rows = carry
            return (count < step["n"]) & (jnp.sum(rows[step["i"]]) < 1)

        return lax.while_loop(go_on, lambda c: (c[0] + 1, body(c[1])), (0, rows))[1]

    def do_scan(self, step, rows):
        xs = jnp.stack([rows[step["i"]] * k for k in range(step["n"] + 1)])

        def body(rows, x):
            rows = self.replaced(step, rows, rows[step["i"]] * 0.5 + x)
            rows = self.run(step["blocks"][0], rows)
            return rows, rows[0]

        rows, ys = lax.scan(body, rows, xs)
        return self.replaced(step, rows, rows[step["i"]] + jnp.sum(ys, 0) * 0.1)

    def do_jit(self, step, rows):
        return jax.jit(self.inside(step))(rows)

    def do_checkpoint(self, step, rows):
        return jax.checkpoint(self.inside(step))(rows)


def _half(x):
    return np.asarray(x) * np.float32(0.5) + np.float32(1)


def ran(program, function, *args):
    """The results of a function that calls the program, and what that called."""
    program.events.clear()
    rows = [np.asarray(row) for row in function(*args)]
    return rows, list(program.events)


def assert_same(got, expected):
    rows, events = got
    for row, other in zip(rows, expected[0], strict=True):
        np.testing.assert_allclose(row, other, rtol=1e-3, atol=1e-3)
    assert [event[0] for event in events] == [event[0] for event in expected[1]]
    for event, other in zip(events, expected[1]):
        np.testing.assert_allclose(event[1:], other[1:], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_same_calls_in_the_same_order(seed, monkeypatch):
    program = Program(seed)
    with jax.disable_jit():
        expected = ran(program, program, START)
    assert_same(ran(program, program, START), expected)
    assert_same(ran(program, jax.jit(program), START), expected)
    monkeypatch.setattr(host.HostRun, "run_here", host.HostRun.run_apart)
    assert_same(ran(program, jax.jit(program), START), expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_lanes_call_what_they_call_alone(seed):
    program = Program(seed)
    rows = [jnp.stack([row * c for c in (1.0, -2.0, 0.3)]) for row in START]
    alone = [ran(program, jax.jit(program), [r[k] for r in rows]) for k in range(3)]
    expected = [np.stack(column) for column in zip(*[rows for rows, _ in alone])]
    calls = sorted([event[0] for _, events in alone for event in events])
    for function in (jax.vmap(program), jax.jit(jax.vmap(program))):
        got, events = ran(program, function, rows)
        for row, other in zip(got, expected, strict=True):
            np.testing.assert_allclose(row, other, rtol=1e-3, atol=1e-3)
        assert sorted([event[0] for event in events]) == calls


@pytest.mark.parametrize("seed", SEEDS)
def test_derivatives_repeat_no_effects(seed):
    program = Program(seed, ("compute", "compute", "look", "act"))
    expected = ran(program, program, START)

    def forward(rows):
        return jax.jvp(program, (rows,), (rows,))[0]

    def reverse(rows):
        results, back = jax.vjp(program, rows)
        back(results)
        return results

    rows = list(START)
    assert_same(ran(program, jax.jit(forward), rows), expected)
    if not any(step["kind"] == "while" for step in _steps(program.block)):
        assert_same(ran(program, reverse, rows), expected)
        assert_same(ran(program, jax.jit(reverse), rows), expected)


def _steps(block):
    for step in block:
        yield step
        for inner in step.get("blocks", ()):
            yield from _steps(inner)
