"""Gradients of loops in which weights meet the values of a step in products."""

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype("f4") * 0.3


def unrolled(step, carry, xs, reverse=False):
    ys = []
    for n in reversed(range(len(xs))) if reverse else range(len(xs)):
        carry, y = step(carry, xs[n])
        ys.append(y)
    return carry, jnp.stack(ys[::-1] if reverse else ys)


def plain(w, h, x):
    h = jnp.tanh(w[0] @ h + w[1] @ x)
    return h, h


def rows(w, h, x):
    h = jnp.tanh(h @ w[0] + x @ w[1].T)
    return h, h[0]


def shared(w, h, x):
    """One matrix that is used three times, once transposed."""
    z = jnp.sin(w[0] @ h)
    z = jnp.cos(w[0].T @ z) + w[1] @ x
    return jnp.tanh(w[0] @ z), z


def batched(w, h, x):
    """Groups: one product for each."""
    h = jnp.tanh(
        jnp.einsum("gij,gbj->gbi", w[0], h) + jnp.einsum("gij,gbj->gbi", w[1], x)
    )
    return h, h.sum()


def scaled(w, h, x):
    """A weight that is used in another way, too."""
    return jnp.tanh(w[0] @ h * jnp.sum(w[0] ** 2) + w[1] @ x), h


CASES = {
    "plain": (plain, (6, 6), (6, 4), (6,), (4,)),
    "rows": (rows, (12, 12), (12, 10), (3, 12), (3, 10)),
    "shared": (shared, (6, 6), (6, 4), (6,), (4,)),
    "batched": (batched, (2, 9, 9), (2, 9, 7), (2, 3, 9), (2, 3, 7)),
    "scaled": (scaled, (6, 6), (6, 4), (6,), (4,)),
}


def losses(name, reverse):
    step, w0, w1, h, x = CASES[name]
    weights = numbers(*w0), numbers(*w1, seed=1)
    carry, xs = numbers(*h, seed=2), numbers(5, *x, seed=3)

    def loss(loop):
        def run(w, xs=xs):
            final, ys = loop(lambda c, x: step(w, c, x), carry, xs, reverse=reverse)
            return jnp.sum(final**2) + jnp.sum(jnp.cos(ys))

        return run

    return loss(lax.scan), loss(unrolled), weights, xs


def same(gots, wants, tol=2e-4):
    for got, want in zip(jax.tree.leaves(gots), jax.tree.leaves(wants), strict=True):
        np.testing.assert_allclose(got, want, rtol=tol, atol=tol)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_gradients(name, reverse):
    loop, steps, weights, xs = losses(name, reverse)
    same(jax.jit(jax.grad(loop))(weights), jax.grad(steps)(weights))
    both = jax.grad(loop, (0, 1))(weights, xs)
    same(both, jax.grad(steps, (0, 1))(weights, xs))


@pytest.mark.parametrize("name", CASES)
def test_second_derivatives(name):
    loop, steps, weights, _ = losses(name, False)

    def along(f):
        return jax.jit(lambda w: jax.jvp(jax.grad(f), (w,), (w,))[1])(weights)

    def twice(f):
        def inner(w):
            return sum([jnp.sum(jnp.sin(g)) for g in jax.grad(f)(w)])

        return jax.jit(jax.grad(inner))(weights)

    same(along(loop), along(steps), 1e-3)
    same(twice(loop), twice(steps), 1e-3)


@pytest.mark.parametrize("name", CASES)
def test_lanes(name):
    loop, steps, weights, _ = losses(name, False)
    lanes = tuple(jnp.stack([w, w * 0.5, -w]) for w in weights)
    got = jax.jit(jax.vmap(jax.grad(loop)))(lanes)
    wants = [jax.grad(steps)(tuple(w[n] for w in lanes)) for n in range(3)]
    same(got, [jnp.stack(parts) for parts in zip(*wants)])


def test_large_sums_do_not_travel_through_the_loop():
    """The sums of outer products are one product after the loop."""
    loop, _, weights, _ = losses("plain", False)
    jaxpr = jax.make_jaxpr(jax.grad(loop))(weights).jaxpr
    loops = [eqn for eqn in jaxpr.eqns if eqn.primitive.name == "scan"]
    backward = loops[1].params["jaxpr"].jaxpr
    shapes = [v.aval.shape for v in backward.invars[: loops[1].params["num_carry"] + 1]]
    assert shapes.count((6, 6)) == 1, shapes  # the weights themselves
    products = [eqn.outvars[0].aval.shape for eqn in jaxpr.eqns[-4:]]
    assert (6, 6) in products and (6, 4) in products


def test_small_sums_stay_in_the_loop():
    """What would be stacked is larger than the sum: a long batch of short rows."""

    def loss(w):
        step = lambda h, x: (jnp.tanh(h @ w + x), None)
        return jnp.sum(lax.scan(step, numbers(50, 3), numbers(4, 50, 3))[0])

    jaxpr = jax.make_jaxpr(jax.grad(loss))(numbers(3, 3)).jaxpr
    loops = [eqn for eqn in jaxpr.eqns if eqn.primitive.name == "scan"]
    assert loops[1].params["num_carry"] == 2


def test_einsum_with_a_product_of_ones_own():
    seen = []

    def doubled(x, y, numbers, precision=None, preferred_element_type=None):
        seen.append((x.shape, y.shape, numbers))
        return 2 * lax.dot_general(
            x, y, numbers, precision, preferred_element_type=preferred_element_type
        )

    x, y = jnp.ones((2, 3)), jnp.ones((3, 4))
    got = jax.jit(lambda x, y: jnp.einsum("ij,jk->ik", x, y, _dot_general=doubled))(
        x, y
    )
    np.testing.assert_array_equal(got, np.full((2, 4), 6.0))
    assert seen == [((2, 3), (3, 4), (((1,), (0,)), ((), ())))]
    same = jnp.einsum("ij,jk->ik", x, y, _dot_general=lax.dot_general)
    np.testing.assert_array_equal(same, np.full((2, 4), 3.0))


def test_products_take_a_sharding_over_one_device():
    x = jnp.ones((2, 2))
    numbers = (((1,), (0,)), ((), ()))
    whole = jax.typeof(x).sharding
    for sharding in (None, whole):
        lax.dot_general(x, x, numbers, out_sharding=sharding)
        lax.dot(x, x, out_sharding=sharding)
        lax.broadcast_in_dim(x, (3, 2, 2), (1, 2), out_sharding=sharding)
        lax.reshape(x, (4,), out_sharding=sharding)
        jax.nn.initializers.zeros(None, (2,), out_sharding=sharding)
    for call in (
        lambda: lax.dot_general(x, x, numbers, out_sharding="rows"),
        lambda: lax.dot(x, x, out_sharding="rows"),
        lambda: lax.broadcast_in_dim(x, (3, 2, 2), (1, 2), out_sharding="rows"),
        lambda: lax.reshape(x, (4,), out_sharding="rows"),
        lambda: jax.nn.initializers.ones(None, (2,), out_sharding="rows"),
    ):
        with pytest.raises(NotImplementedError, match="out_sharding is not available"):
            call()
