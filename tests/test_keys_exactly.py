"""The check of keys against the values of keys: random programs, exactly the right alarms.

The check knows keys by where they came from. Two keys are one key if and only if their
words are equal, so a program that draws with the same words twice must be noticed, and
one that does not must pass.
"""

import random as python_random

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import random
from tetrad.errors import KeyReuseError

STEPS = 14
DRAWS = (random.normal, random.uniform, random.bits)


class Pool:
    """Arrays of keys, and the words that were used up, by their use."""

    def __init__(self, chance, raw, first=None):
        self.chance = chance
        if first is None:
            first = random.PRNGKey(5) if raw else random.key(5)
        self.arrays = [first]
        self.raw = raw
        self.used = {}
        self.alarms = 0

    def pick(self, ndim=None):
        rank = lambda x: x.ndim - self.raw
        fit = [x for x in self.arrays if ndim is None or rank(x) == ndim]
        return self.chance.choice(fit) if fit else None

    def words(self, keys):
        data = np.asarray(keys if self.raw else random.key_data(keys))
        return [tuple(w) for w in data.reshape(-1, 2).tolist()]

    def consume(self, keys, how, action):
        """Runs an action that uses `keys` up; checks whether there is an alarm."""
        words = self.words(keys)
        again = len(set(words)) < len(words)
        for word in words:
            again |= word in self.used and not (
                how[0] == "split" and self.used[word] == how
            )
        if again:
            with pytest.raises(KeyReuseError):
                action()
            self.alarms += 1
            return None
        for word in words:
            self.used[word] = how
        return action()


def draw(pool):
    key = pool.pick(0)
    sampler = pool.chance.choice(DRAWS)
    pool.consume(key, ("draw",), lambda: sampler(key))


def draw_many(pool):
    keys = pool.pick(1)
    if keys is not None:
        pool.consume(keys, ("draw",), lambda: jax.vmap(random.bits)(keys))


def split(pool):
    key = pool.pick(0)
    count = pool.chance.choice([2, 2, 3])
    made = pool.consume(key, ("split", count), lambda: random.split(key, count))
    if made is not None:
        pool.arrays.append(made)


def fold_in(pool):
    key = pool.pick(0)
    pool.arrays.append(random.fold_in(key, pool.chance.randrange(2)))


def index(pool):
    keys = pool.pick(1)
    if keys is not None:
        pool.arrays.append(keys[pool.chance.randrange(len(keys))])


def slice_(pool):
    keys = pool.pick(1)
    if keys is not None:
        start = pool.chance.randrange(len(keys))
        pool.arrays.append(keys[start :: pool.chance.choice([1, 2])])


def reverse(pool):
    keys = pool.pick(1)
    if keys is not None:
        pool.arrays.append(keys[::-1])


def stack(pool):
    pool.arrays.append(jnp.stack([pool.pick(0), pool.pick(0)]))


def concatenate(pool):
    one, other = pool.pick(1), pool.pick(1)
    if one is not None and one.shape[0] + other.shape[0] < 7:
        pool.arrays.append(jnp.concatenate([one, other]))


def reshape(pool):
    keys = pool.pick(0)
    pool.arrays.append(jnp.expand_dims(keys, 0))


def copy(pool):
    pool.arrays.append(jnp.array(pool.pick()))


def wait(pool):
    jax.block_until_ready(pool.arrays)


def jitted(pool):
    key = pool.pick(0)
    f = pool.chance.choice([_noise, _child])
    how = ("draw",) if f is _noise else ("split in a function",)
    pool.consume(key, how, lambda: f(key))


@jax.jit
def _noise(key):
    return random.normal(key)


@jax.jit
def _child(key):
    return random.normal(random.split(key)[0])


ACTIONS = (
    draw, draw, draw_many, split, split, fold_in, index, index, slice_, reverse, stack,
    concatenate, reshape, copy, wait, jitted,
)  # fmt: skip


@pytest.mark.parametrize("raw", [False, True], ids=["typed", "raw"])
def test_alarms_are_those_of_the_values(raw):
    alarms = 0
    with jax.key_check("error"):
        for seed in range(60):
            pool = Pool(python_random.Random(seed), raw)
            for _ in range(STEPS):
                pool.chance.choice(ACTIONS)(pool)
            alarms += pool.alarms
    assert alarms > 50


class Blind(Pool):
    """A pool of traced keys, whose words are not known: it just goes on."""

    def consume(self, keys, how, action):
        return action()


class Counting(Pool):
    """A pool that counts where there should be alarms, and goes on."""

    def consume(self, keys, how, action):
        words = self.words(keys)
        self.alarms += len(set(words)) < len(words)
        for word in words:
            earlier = self.used.setdefault(word, how)
            again = word in self.before and (how[0] != "split" or earlier != how)
            self.alarms += again
        self.before.update(words)
        return action()


def fold_step(pool):
    pool.arrays.append(random.fold_in(pool.pick(0), pool.step))


LOOP_ACTIONS = (
    draw, draw, draw_many, split, split, fold_in, fold_step, fold_step, index, index,
    slice_, stack, reshape, jitted,
)  # fmt: skip


@pytest.mark.parametrize("raw", [False, True], ids=["typed", "raw"])
def test_alarms_of_loops_are_those_of_the_values(raw):
    outcomes = []
    for seed in range(40):

        def body(pool, step, arrays):
            """A step of the loop: gives the key that it carries on."""
            pool.chance, pool.step = python_random.Random(seed), step
            pool.arrays = list(arrays)
            for _ in range(4):
                pool.chance.choice(LOOP_ACTIONS)(pool)
            return pool.pick(0)

        make = random.PRNGKey if raw else random.key
        first, closed = random.split(make(seed))
        xs = random.split(make(seed + 1000), 3)
        with jax.key_check("off"):
            pool = Counting(None, raw, first)
            pool.before = set()
            carry = first
            for i in range(3):
                carry = body(pool, i, (carry, closed, xs[i]))

        def step(carry, x):
            key, i = carry
            return (body(Blind(None, raw, key), i, (key, closed, x)), i + 1), None

        with jax.key_check("error"):
            try:
                jax.lax.scan(step, (first, 0), xs)
                noticed = False
            except KeyReuseError:
                noticed = True
        assert noticed == (pool.alarms > 0), seed
        outcomes.append(noticed)
    assert 10 < sum(outcomes) < 35


@pytest.mark.parametrize("raw", [False, True], ids=["typed", "raw"])
def test_alarms_under_jit_are_those_of_the_values(raw):
    actions = [action for action in ACTIONS if action is not wait]
    outcomes = []
    for seed in range(60):
        with jax.key_check("off"):
            pool = Counting(python_random.Random(seed), raw)
            pool.before = set()
            for _ in range(STEPS // 2):
                pool.chance.choice(actions)(pool)

        def program(key):
            blind = Blind(python_random.Random(seed), raw, key)
            for _ in range(STEPS // 2):
                blind.chance.choice(actions)(blind)

        first = random.PRNGKey(5) if raw else random.key(5)
        with jax.key_check("error"):
            try:
                jax.jit(program)(first)
                noticed = False
            except KeyReuseError:
                noticed = True
        assert noticed == (pool.alarms > 0), seed
        outcomes.append(noticed)
    assert 10 < sum(outcomes) < 50
