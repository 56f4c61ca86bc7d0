"""Traced values that get away: what holds them is named, wherever it is."""

import collections
import functools

import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax
from tetrad.errors import UnexpectedTracerError

SEEN = []
QUEUE = collections.deque()


class Layer:
    def __init__(self):
        self.cache = {}


class Slotted:
    __slots__ = ("kept",)


LAYER = Layer()
SLOTTED = Slotted()


def in_list(x):
    SEEN.append([x * 2])


def in_attribute(x):
    LAYER.cache["a"] = (x * 2, 1)


def in_slot(x):
    SLOTTED.kept = x * 2


def in_deque(x):
    QUEUE.append(x * 2)


def in_closure(x):
    y = x * 2
    SEEN.append(lambda: y)


def in_partial(x):
    SEEN.append(functools.partial(print, x * 2))


def in_exception(x):
    try:
        raise ValueError(x * 2)
    except ValueError as problem:
        SEEN.append(problem)


def in_generator(x):
    def steps(doubled):
        doubled = doubled * 2
        yield 1
        yield doubled

    SEEN.append(steps(x))
    next(SEEN[0])


def in_default(x, cache=[]):  # noqa: B006
    cache.append(x * 2)


def in_keyword_default(x, *, cache=[]):  # noqa: B006
    cache.append(x * 2)


def in_loop(x):
    def step(c, _):
        SEEN.append(c * 2)
        return c, None

    lax.scan(step, x, length=2)


CASES = {
    in_list: "the global variable `SEEN[0][0]`",
    in_attribute: "the attribute `cache['a'][0]` of a Layer",
    in_slot: "the attribute `kept` of a Slotted",
    in_deque: "the global variable `QUEUE[0]`",
    in_closure: "the variable `y` of `in_closure.<locals>.<lambda>`",
    in_partial: "the global variable `SEEN[0].args[0]`",
    in_exception: "the global variable `SEEN[0].args[0]`",
    in_generator: "the variable `doubled` of the generator `in_generator.<locals>.steps`",
    in_default: "the default value of `cache[0]` of `in_default`",
    in_keyword_default: "the default value of `cache[0]` of `in_keyword_default`",
    in_loop: "the global variable `SEEN[0]`",
}


@pytest.fixture(autouse=True)
def empty():
    yield
    SEEN.clear()
    QUEUE.clear()
    LAYER.cache.clear()
    SLOTTED.kept = None
    in_default.__defaults__[0].clear()
    in_keyword_default.__kwdefaults__["cache"].clear()


@pytest.mark.parametrize("leak", CASES)
@pytest.mark.parametrize("transform", [jax.jit, jax.grad])
def test_the_holder_is_named_at_the_end_of_the_trace(leak, transform):
    def f(x):
        leak(x)
        return x

    with jax.check_tracer_leaks(), pytest.raises(UnexpectedTracerError) as caught:
        transform(f)(1.0)
    text = str(caught.value)
    assert f"but {CASES[leak]} still holds it." in text
    assert "It was created on line" in text and "test_leaks.py" in text
    assert f"in `{leak.__name__}" in text
    assert "return it from the function" in text


@pytest.mark.parametrize("leak", [in_list, in_attribute, in_deque])
def test_the_holder_is_named_when_the_value_is_used(leak):
    jax.jit(lambda x: (leak(x), x)[1])(1.0)
    held = {in_list: SEEN, in_attribute: LAYER.cache.get("a"), in_deque: QUEUE}[leak]
    value = held[0][0] if leak is in_list else held[0]
    with pytest.raises(UnexpectedTracerError) as caught:
        jnp.sin(value)
    assert "It is held by" in str(caught.value)
    assert f"in `{leak.__name__}" in str(caught.value)


def test_what_does_not_get_away_is_fine():
    with jax.check_tracer_leaks():
        assert float(jax.grad(jax.jit(lambda x: x * jnp.sin(x)))(0.0)) == 0.0
        assert float(jax.jit(jax.vmap(jnp.sin))(jnp.zeros(2))[0]) == 0.0
        assert float(lax.fori_loop(0, 3, lambda i, x: x + i, 0.0)) == 3.0


def test_constants_are_computed_while_tracing():
    @jax.jit
    def f(x):
        with jax.ensure_compile_time_eval():
            size = int(jnp.sum(jnp.arange(4)))
        return x.reshape(size)

    assert f(jnp.zeros((2, 3))).shape == (6,)
