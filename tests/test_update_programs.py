"""Programs of updates that nobody wrote: in place, with donation, or copying, all agree.

A program is a list of steps on a few arrays: updates of every kind, reads of old and new
arrays, branches and loops with programs inside. It runs eagerly, under `jit` with and
without donation, and in NumPy, where every update copies.
"""

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax

KINDS = (
    "element", "shift", "read", "sum", "window", "mix", "gather_add", "move", "keep",
    "branch", "loop", "copy_element", "mask",
)  # fmt: skip


def draw(rng, depth=0):
    """A program: steps (kind, two numbers, a value, programs inside)."""
    steps = []
    for _ in range(rng.integers(3, 9)):
        kind = KINDS[rng.integers(len(KINDS))]
        if kind in ("branch", "loop") and depth > (kind == "branch"):
            continue
        inside = [
            draw(rng, depth + 1) for _ in range({"branch": 2, "loop": 1}.get(kind, 0))
        ]
        numbers = [int(n) for n in rng.integers(0, 1000, 2)]
        steps.append((kind, *numbers, float(rng.integers(-3, 4)), inside))
    return steps


def run(program, arrays, numbers, world):
    """Changes the lists of arrays and numbers as the program says."""
    for kind, a, b, v, inside in program:
        i, j = a % len(arrays), b % len(arrays)
        x = arrays[i]
        n = x.shape[0]
        if kind == "element":
            arrays[i] = world.set(x, a % n, v + numbers[-1])
        elif kind == "shift":
            arrays[i] = world.add(x, slice(1, n), x[:-1])
        elif kind == "read":
            numbers.append(x[a % n] * 0.5 + 1)
        elif kind == "sum":
            numbers.append(x.sum() * 0.01)
        elif kind == "window":
            arrays[i] = world.set(x, slice(a % n, min(n, a % n + 5)), v)
        elif kind == "mix":
            arrays[i] = x * 0.5 + arrays[j]
        elif kind == "gather_add":
            arrays[i] = world.add(x, np.array([a % n, b % n, (a + b) % n]), v)
        elif kind == "move":
            old = x[np.array([a % n, b % n, 7 % n])]
            arrays[i] = world.set(world.set(x, 3 % n, v), np.array([0, 1, 2]), old)
        elif kind == "keep":
            arrays.append(x)
        elif kind == "copy_element":
            arrays[i] = world.set(x, a % n, x[b % n])
        elif kind == "mask":
            arrays[i] = world.set(x, x > v, numbers[-1])
        elif kind == "branch":
            first, second = [nested(p, world, 1.0) for p in inside]
            *arrays[:], number = world.cond(
                numbers[-1] > v, first, second, *arrays, numbers[-1]
            )
            numbers.append(number)
        else:
            turn = nested(inside[0], world, 0.5)
            *arrays[:], number = world.loop(
                3, lambda _, state, turn=turn: turn(*state), (*arrays, numbers[-1])
            )
            numbers.append(number)


def nested(program, world, factor):
    """A program as a function of arrays and one number, which gives as many."""

    def function(*state):
        arrays, numbers = list(state[:-1]), [state[-1]]
        run(program, arrays, numbers, world)
        return (*arrays[: len(state) - 1], numbers[-1] * factor)

    return function


class Plain:
    """What NumPy does, with a copy for every update."""

    @staticmethod
    def set(x, index, value):
        x = x.copy()
        x[index] = value
        return x

    @staticmethod
    def add(x, index, value):
        x = x.copy()
        np.add.at(x, index, np.asarray(value, "float32"))
        return x

    @staticmethod
    def cond(which, first, second, *state):
        return first(*state) if which else second(*state)

    @staticmethod
    def loop(turns, body, state):
        for turn in range(turns):
            state = body(turn, state)
        return state


class Ours:
    @staticmethod
    def set(x, index, value):
        return x.at[index].set(value)

    @staticmethod
    def add(x, index, value):
        return x.at[index].add(value)

    @staticmethod
    def cond(which, first, second, *state):
        return lax.cond(which, first, second, *state)

    @staticmethod
    def loop(turns, body, state):
        return lax.fori_loop(0, turns, body, state)


def results(program, world, number, *arrays):
    arrays, numbers = list(arrays), [number]
    run(program, arrays, numbers, world)
    return (*arrays, numbers[-1])


@pytest.mark.filterwarnings("ignore:Some donated buffers", "ignore:a donated buffer")
@pytest.mark.parametrize("seed", range(40))
def test_all_ways_to_run_a_program_agree(seed):
    rng = np.random.default_rng(seed)
    while True:
        program = draw(rng)
        n = int(rng.choice([8, 33, 1000]))
        host = [(rng.integers(-5, 6, n) * 0.5).astype("float32") for _ in range(2)]
        copies = [x.copy() for x in host]
        with np.errstate(all="ignore"):
            want = results(program, Plain, np.float32(0.5), *copies)
        if all([np.abs(x).max() < 1e6 for x in want]):  # also if there is no NaN
            break

    def whole(x, y):
        return results(program, Ours, jnp.float32(0.5), x, y)

    for run_it in (whole, jax.jit(whole), jax.jit(whole, donate_argnums=(0, 1))):
        arrays = [jnp.asarray(x) for x in host]
        for got, wanted in zip(run_it(*arrays), want, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=2e-4, atol=2e-4)
        for x, unchanged in zip(arrays, host):
            if not x.is_deleted():
                np.testing.assert_array_equal(x, unchanged)
