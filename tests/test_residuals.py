"""What loops stack for their gradients, and that these are right."""

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype("f4")


def stacked(fun, *args):
    """How many arrays the forward loop of a gradient gives beside its carry."""
    jaxpr = jax.make_jaxpr(jax.grad(fun))(*args).jaxpr
    loops = [eqn for eqn in jaxpr.eqns if eqn.primitive.name == "scan"]
    return len(loops[0].outvars) - loops[0].params["num_carry"]


def unrolled(step, carry, xs):
    ys = []
    for x in xs:
        carry, y = step(carry, x)
        ys.append(y)
    return carry, None if ys[0] is None else jnp.stack(ys)


def check(step, carry, xs, count, *weights):
    """The gradient by `step(weights)` agrees, and `count` arrays are stacked."""

    def loss(loop):
        def run(weights):
            carry_out, ys = loop(lambda c, x: step(weights, c, x), carry, xs)
            total = sum([jnp.sum(v * v) for v in jax.tree.leaves(carry_out)])
            return total if ys is None else total + jnp.sum(jnp.cos(ys))

        return run

    got = jax.jit(jax.grad(loss(lax.scan)))(weights)
    want = jax.jit(jax.grad(loss(unrolled)))(weights)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-4)
    assert stacked(loss(lax.scan), weights) == count


def test_what_is_returned_of_each_step_is_not_stacked_again():
    """The state before each step, and the states that are returned."""

    def step(weights, h, x):
        h = jnp.tanh(weights[0] @ h + x)
        return h, h

    check(step, numbers(5), numbers(7, 5), 2, numbers(5, 5) * 0.3)


def test_slopes_are_computed_from_values():
    def step(weights, h, x):
        return jnp.tanh(weights[0] @ h + x), None

    check(step, numbers(5), numbers(7, 5), 2, numbers(5, 5) * 0.3)


def test_lstm():
    """Of each step: the state, the cell before it and after it, and four gates."""

    def step(weights, state, x):
        h, c = state
        z = weights[0] @ h + weights[1] @ x
        i, f, g, o = jnp.split(z, 4)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), None

    state = numbers(3), numbers(3, seed=1)
    weights = numbers(12, 3) * 0.3, numbers(12, 2, seed=2) * 0.3
    check(step, state, numbers(6, 2), 7, *weights)


def test_masks_are_computed_again():
    """From the state before each step."""

    def step(weights, h, x):
        return jax.nn.relu(weights[0] * h + x), None

    check(step, numbers(5), numbers(7, 5), 1, numbers(5))


@pytest.mark.parametrize("seed", range(40))
def test_random_steps(seed):
    rng = np.random.default_rng(seed)
    plan = rng.integers(0, 9, 7), rng.integers(0, 100, (7, 2)), rng.integers(0, 100, 3)

    def step(weights, carry, x):
        pool = [*weights, *carry, x, x * 0.5]
        for kind, pair in zip(plan[0], plan[1]):
            a, b = (pool[n % len(pool)] for n in pair)
            made = (
                lambda a, b: a * b * 0.5,
                lambda a, b: jnp.sin(a) + b,
                lambda a, b: jnp.tanh(a),
                lambda a, b: 1 - a * a * 0.3,
                lambda a, b: jnp.where(a > 0, a, b),
                lambda a, b: jnp.maximum(a, b) * jnp.sum(b) * 0.2,
                lambda a, b: jnp.exp(-a * a) - b,
                lambda a, b: jnp.roll(a, 1) * a[::-1] * 0.5,
                lambda a, b: (a + b) / (1 + b * b),
            )[kind](a, b)
            pool.append(made)
        first, second, y = (pool[-1 - n % 4] for n in plan[2])
        return (first, jnp.tanh(second)), y

    weights = numbers(4, seed=1) * 0.5, numbers(4, seed=2) * 0.5

    def loss(loop, weights):
        carry = numbers(4, seed=3) * 0.5, numbers(4, seed=4) * 0.5
        xs = numbers(4, 4, seed=5) * 0.5
        (a, b), ys = loop(lambda c, x: step(weights, c, x), carry, xs)
        return jnp.sum(a * a) + jnp.sum(b) + jnp.sum(ys * ys)

    got = jax.grad(lambda w: loss(lax.scan, w))(weights)
    want = jax.grad(lambda w: loss(unrolled, w))(weights)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)
    again = jax.jvp(jax.grad(lambda w: loss(lax.scan, w)), (weights,), (weights,))[1]
    other = jax.jvp(jax.grad(lambda w: loss(unrolled, w)), (weights,), (weights,))[1]
    for a, b in zip(again, other, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-2, atol=1e-3)


def test_scan_has_reverse_and_unrolled_forms():
    def step(weights, h, x):
        h = jnp.tanh(weights[0] * h + x)
        return h, h * 2

    xs = numbers(7, 5)

    def loss(weights, **options):
        carry, ys = lax.scan(lambda c, x: step(weights, c, x), xs[0], xs, **options)
        return jnp.sum(carry) + jnp.sum(ys * ys)

    w = (numbers(5),)
    want = jax.grad(loss)(w)[0]
    np.testing.assert_allclose(jax.grad(lambda w: loss(w, unroll=3))(w)[0], want, 1e-5)
    backwards = jax.grad(lambda w: loss(w, reverse=True))(w)[0]

    def reversed_loss(w):
        carry, ys = lax.scan(lambda c, x: step(w, c, x), xs[0], xs[::-1])
        return jnp.sum(carry) + jnp.sum(ys * ys)

    np.testing.assert_allclose(backwards, jax.grad(reversed_loss)(w)[0], 1e-5)
