"""Eight threads of Python that share arrays: right answers, all the time.

Each thread plays turns drawn at random: it records on arrays that others made and have
not computed yet, asks for values, drops arrays, updates in place, gives arrays away,
compiles and calls shared functions, differentiates, collects garbage. Every array goes
with the NumPy array that it must equal.
"""

import gc
import queue
import random
import threading
import time
import traceback

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax
from tetrad._src.runtime import array as array_module

pytestmark = pytest.mark.usefixtures("few_objects")

THREADS = 8
SHELF = 24  # arrays that all threads take from and put to
SHAPES = ((5,), (40, 30), (30, 40))


@jax.jit
def polish(x):
    return jnp.where(x > 50, x - 50, x) * 0.5 + 1


def polished(x):
    return (np.where(x > 50, x - np.float32(50), x) * np.float32(0.5) + 1).astype("f4")


@jax.jit
def spin(x):
    return lax.fori_loop(0, 3, lambda i, x: x * 0.5 + i, x)


def spun(x):
    for i in range(3):
        x = (x * np.float32(0.5) + np.float32(i)).astype("f4")
    return x


@jax.jit
def halves(x):
    return jnp.minimum(x, 0), jnp.maximum(x, 0)


give = jax.jit(lambda x: x + 1, donate_argnums=0)
slope = jax.jit(jax.grad(lambda x: (x * x).sum()))


class Shelf:
    """Pairs of an array and what it must equal; who takes one leaves it there."""

    def __init__(self):
        self.lock = threading.Lock()
        self.pairs = []
        rng = np.random.default_rng(0)
        for k in range(SHELF):
            host = rng.integers(-9, 9, SHAPES[k % 3]).astype("f4")
            self.pairs.append((jnp.array(host), host))

    def take(self, draw):
        with self.lock:
            return self.pairs[draw.randrange(SHELF)]

    def put(self, draw, pair):
        """In the place of another one of its shape."""
        kind = SHAPES.index(pair[1].shape)
        with self.lock:
            self.pairs[3 * draw.randrange(SHELF // 3) + kind] = pair


class Player:
    def __init__(self, shelf, seed):
        self.shelf = shelf
        self.draw = random.Random(seed)
        self.turns = 0
        self.acts = [
            self.combine, self.combine, self.combine, self.ask, self.element,
            self.update, self.give_away, self.polish, self.spin, self.slope,
            self.product, self.compile, self.collect, self.wait, self.many,
            self.several, self.several,
        ]  # fmt: skip

    def play(self):
        self.turns += 1
        self.draw.choice(self.acts)()

    def pair(self, shape=None):
        while True:
            x, host = self.shelf.take(self.draw)
            if shape is None or host.shape == shape:
                return x, host

    def keep(self, x, host):
        """Puts a pair on the shelf; values stay small integers and halves."""
        limit = np.float32(100)
        if np.abs(host).max() > limit:
            x, host = jnp.clip(x, -limit, limit), np.clip(host, -limit, limit)
        self.shelf.put(self.draw, (x, host))

    def combine(self):
        x, a = self.pair()
        y, b = self.pair(a.shape)
        k = self.draw.randrange(-3, 4)
        self.keep((x - y) * 0.5 + k, ((a - b) * np.float32(0.5) + k).astype("f4"))

    def ask(self):
        x, a = self.pair()
        np.testing.assert_array_equal(np.asarray(x), a)

    def element(self):
        x, a = self.pair()
        at = tuple([self.draw.randrange(n) for n in a.shape])
        assert float(x[at]) == a[at]

    def update(self):
        x, a = self.pair()
        x, a = x * 1, a.copy()
        for _ in range(3):
            at = self.draw.randrange(len(a))
            x = x.at[at].set(7)
            a[at] = 7
        self.keep(x, a)

    def give_away(self):
        x, a = self.pair()
        own = x * 1
        y = give(own)
        assert own.is_deleted()
        self.keep(y, a + 1)

    def polish(self):
        x, a = self.pair()
        self.keep(polish(x), polished(a))

    def spin(self):
        x, a = self.pair()
        self.keep(spin(x), spun(a))

    def slope(self):
        x, a = self.pair()
        self.keep(slope(x), 2 * a)

    def product(self):
        x, a = self.pair((40, 30))
        y, b = self.pair((30, 40))
        x, a = jnp.round(x) % 4, np.round(a) % 4
        y, b = jnp.round(y) % 4, np.round(b) % 4
        np.testing.assert_array_equal(np.asarray(x @ y), a @ b)

    def several(self):
        """A recorded call with more than one result."""
        x, a = self.pair()
        low, high = halves(x)
        self.keep(high, np.maximum(a, 0))
        self.keep(low, np.minimum(a, 0))

    def compile(self):
        """A function that nobody has seen yet, called by this thread alone."""
        x, a = self.pair()
        k = self.draw.randrange(1000)
        f = jax.jit(lambda x: jnp.maximum(x, k) - k)
        np.testing.assert_array_equal(f(x), np.maximum(a, k) - k)

    def collect(self):
        if self.draw.random() < 0.2:
            gc.collect()

    def wait(self):
        x, a = self.pair()
        jax.block_until_ready([x, x + 1])

    def many(self):
        """A long recording, most of which nobody needs."""
        x, a = self.pair()
        y = x
        for i in range(self.draw.randrange(60)):
            y = y + i
            dropped = y * 3
        del y
        self.keep(x + 0, a)
        dropped = None  # noqa: F841


def play(seconds):
    shelf = Shelf()
    failures = []
    end = time.monotonic() + seconds
    players = [Player(shelf, seed) for seed in range(THREADS)]

    def run(player):
        try:
            while not failures and (player.turns < 5 or time.monotonic() < end):
                player.play()
        except BaseException:
            failures.append(traceback.format_exc())

    threads = [threading.Thread(target=run, args=(p,), daemon=True) for p in players]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds + 60)
        assert not thread.is_alive(), "a thread hangs"
    assert not failures, failures[0]
    for x, host in shelf.pairs:
        np.testing.assert_array_equal(np.asarray(x), host)
    return sum([player.turns for player in players])


def test_eight_threads():
    play(3)


@pytest.mark.slow
def test_eight_threads_for_a_minute():
    play(60)


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 3])
def test_with_other_numbers_of_native_threads(count):
    with jax.threads(count):
        play(20)


def test_memory_comes_back():
    """When the threads have ended and the shelf is gone, so is their memory."""
    device = jax.devices("cpu")[0]
    gc.collect()
    before = device.memory_stats()["bytes_in_use"]
    play(0.5)
    gc.collect()
    assert device.memory_stats()["bytes_in_use"] == before


def test_one_function_traced_by_many():
    """All call one function under `jit` at once, with new shapes; each is right."""
    f = jax.jit(lambda x: jnp.cumsum(jnp.sin(x) * 2))
    start = threading.Barrier(THREADS)
    failures = []

    def run(seed):
        try:
            start.wait()
            for n in range(1, 12):
                x = np.arange(n, dtype="f4") + seed % 2
                np.testing.assert_allclose(
                    f(x), np.cumsum(np.sin(x) * 2), rtol=1e-5, atol=1e-5
                )
        except BaseException:
            failures.append(traceback.format_exc())

    threads = [
        threading.Thread(target=run, args=(k,), daemon=True) for k in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "a thread hangs"
    assert not failures, failures[0]


class Worker:
    """A thread that calls what it is given, one after the other."""

    def __init__(self):
        self.asked = queue.SimpleQueue()
        self.answers = queue.SimpleQueue()
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def work(self):
        while (act := self.asked.get()) is not None:
            self.answers.put(act())
            act = None

    def __call__(self, act):
        self.asked.put(act)
        return self.answers.get(timeout=60)

    def end(self):
        self.asked.put(None)
        self.thread.join()


@pytest.fixture
def others():
    made = [Worker() for _ in range(3)]
    yield made
    for worker in made:
        worker.end()


def test_recordings_that_depend_on_each_other(others):
    """Each is needed before the other one can end: they are submitted together."""
    one, two, three = others
    a = jnp.arange(4.0) + 1
    b = one(lambda: a * 2)
    c = b + a
    d = two(lambda: c * b)
    e = one(lambda: d - c)
    f = three(lambda: e + 1)
    g = f + a
    x = np.arange(4.0) + 1
    want = 3 * x * 2 * x - 3 * x + 1 + x
    np.testing.assert_array_equal(three(lambda: np.asarray(g)), want)
    np.testing.assert_array_equal(d, 6 * x * x)
    np.testing.assert_array_equal(one(lambda: np.asarray(b + e)), 6 * x * x - x)


def test_a_recording_that_another_one_needs_a_part_of(others):
    one, two, _ = others
    a = jnp.arange(5.0) * 3
    b = one(lambda: a - 1)
    kept = [a + i for i in range(5)]
    assert two(lambda: float((b * 2).sum())) == 2 * (30 - 5)
    assert [float(x[1]) for x in kept] == [3, 4, 5, 6, 7]
    held = one(lambda: [b + 1, b + 2])
    np.testing.assert_array_equal(held[1], np.arange(5.0) * 3 + 1)


def test_failures_stay_with_their_cause(others):
    """One of two recordings that depend on each other reads what is gone."""
    one, _, _ = others
    x = jnp.ones(3)
    a = x + 1
    b = one(lambda: a * 2)
    c = b + a
    y = jnp.ones(3)
    d = one(lambda: y * 5)
    e = d + c
    array_module.mark_deleted(y, "deleted by the test")
    with pytest.raises(RuntimeError, match="deleted by the test"):
        np.asarray(e)
    np.testing.assert_array_equal(c, [6, 6, 6])
    np.testing.assert_array_equal(one(lambda: np.asarray(b)), [4, 4, 4])
