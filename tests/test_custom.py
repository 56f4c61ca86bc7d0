"""Functions with their own derivatives, and checkpoints."""

from functools import partial

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad._src.api.transforms import checkpoint_name
from tetrad._src.core.op import Op
from tetrad._src.ops.families import Unary

RNG = np.random.default_rng(1)


def sample(*shape):
    return jnp.asarray(RNG.standard_normal(shape).astype("float32"))


def close(got, want, tolerance=2e-5):
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


X, Y = sample(4), sample(4)
M = sample(3, 4)


# ------------------------------------------------------------------ custom derivatives


def custom_pair():
    forward = jax.custom_jvp(lambda x, y: jnp.sin(x) * y)

    @forward.defjvp
    def rule(primals, tangents):
        (x, y), (tx, ty) = primals, tangents
        return forward(x, y), 7.0 * jnp.cos(x) * y * tx + jnp.sin(x) * ty

    reverse = jax.custom_vjp(lambda x, y: jnp.sin(x) * y)
    reverse.defvjp(
        lambda x, y: (reverse(x, y), (x, y)),
        lambda r, g: (7.0 * jnp.cos(r[0]) * r[1] * g, jnp.sin(r[0]) * g),
    )
    return forward, reverse


@pytest.mark.parametrize("which", [0, 1])
def test_custom_rules_in_every_order(which):
    g = custom_pair()[which]
    want = 7.0 * np.cos(np.asarray(X)) * np.asarray(Y)
    total = lambda h: lambda x, y: jnp.sum(h(x, y))
    ways = [
        jax.grad(total(g)),
        jax.jit(jax.grad(jax.jit(total(g)))),
        jax.vmap(jax.grad(g)),
        jax.vmap(jax.jit(jax.grad(jax.jit(g)))),
        jax.grad(total(jax.vmap(g))),
        jax.grad(total(jax.jit(jax.vmap(jax.jit(g))))),
        jax.jit(jax.vmap(jax.grad(g))),
        jax.grad(total(jax.checkpoint(g))),
        jax.grad(jax.jit(jax.checkpoint(total(g)))),
    ]
    for way in ways:
        close(way(X, Y), want)
    close(jax.grad(total(g), argnums=1)(X, Y), jnp.sin(X))
    close(jax.jacrev(g)(X, Y), np.diag(want))


def test_custom_jvp_forward_and_twice():
    g, _ = custom_pair()
    _, tangent = jax.jvp(lambda x: g(x, Y), (X,), (jnp.ones(4),))
    close(tangent, 7.0 * jnp.cos(X) * Y)
    close(jax.jacfwd(lambda x: g(x, Y))(X), np.diag(7.0 * jnp.cos(X) * Y))
    second = jax.grad(jax.grad(lambda x: g(x, 2.0)))(1.0)
    close(second, -7.0 * np.sin(1.0) * 2.0)


def test_custom_vjp_twice_and_its_missing_forward_mode():
    _, g = custom_pair()
    h = lambda x: g(x, x)
    first = lambda x: 7.0 * jnp.cos(x) * x + jnp.sin(x)
    close(jax.grad(h)(1.0), first(1.0))
    close(jax.grad(jax.grad(h))(1.0), jax.grad(first)(1.0))
    with pytest.raises(TypeError, match="custom_vjp function"):
        jax.jvp(h, (1.0,), (1.0,))
    with pytest.raises(TypeError, match="custom_vjp function"):
        jax.jit(lambda x: jax.jvp(h, (x,), (x,)))(1.0)


def test_custom_rules_with_static_arguments():
    @partial(jax.custom_jvp, nondiff_argnums=(0,))
    def apply(g, x):
        return g(x)

    @apply.defjvp
    def _(g, primals, tangents):
        return g(primals[0]), 3.0 * tangents[0]

    assert float(jax.grad(lambda x: apply(jnp.sin, x))(2.0)) == 3.0
    assert float(jax.jit(jax.grad(lambda x: apply(jnp.sin, x)))(2.0)) == 3.0

    @partial(jax.custom_vjp, nondiff_argnums=(1,))
    def power(x, n):
        return x**n

    power.defvjp(
        lambda x, n: (x**n, {"x": x}),
        lambda n, r, g: (10.0 * g * n * r["x"] ** (n - 1),),
    )
    assert float(jax.grad(lambda x: power(x, n=3))(2.0)) == 120.0


def test_defjvps_and_zero_cotangents():
    @jax.custom_jvp
    def product(x, y):
        return x * y

    product.defjvps(lambda t, ans, x, y: 2 * t * y, None)
    assert [float(g) for g in jax.grad(product, argnums=(0, 1))(2.0, 3.0)] == [6.0, 0.0]

    @jax.custom_vjp
    def pick(p, k):
        return {"s": p["a"] * p["b"], "t": (p["a"], k)}

    pick.defvjp(
        lambda p, k: (pick(p, k), p),
        lambda r, g: ({"a": g["s"] * r["b"], "b": None}, None),
    )
    got = jax.grad(lambda p: pick(p, 3)["s"] + pick(p, 2)["t"][0])({"a": 2.0, "b": 3.0})
    assert (float(got["a"]), float(got["b"])) == (3.0, 0.0)


def test_eager_custom_functions_run_python():
    @jax.custom_jvp
    def relu(x):
        return x if x > 0 else 0.0 * x

    relu.defjvp(lambda p, t: (relu(p[0]), t[0] if p[0] > 0 else 0.0 * t[0]))
    assert float(relu(jnp.float32(-1))) == 0.0
    assert float(jax.grad(relu)(2.0)) == 1.0


CUSTOM_MISTAKES = {
    "no rule": (lambda g: g(1.0), AttributeError, "defvjp"),
    "not a tuple": (
        lambda g: (g.defvjp(lambda x: (x, None), lambda r, ct: ct), jax.grad(g)(1.0)),
        TypeError,
        "must produce a tuple with one cotangent",
    ),
    "wrong shape": (
        lambda g: (
            g.defvjp(lambda x: (x, None), lambda r, ct: (jnp.ones(3),)),
            jax.grad(g)(1.0),
        ),
        ValueError,
        r"an output of type float32\[3\], but the argument is float32\[\]",
    ),
    "no pair": (
        lambda g: (g.defvjp(lambda x: x, lambda r, ct: (ct,)), jax.grad(g)(1.0)),
        TypeError,
        "must produce a pair",
    ),
}


@pytest.mark.parametrize("name", CUSTOM_MISTAKES)
def test_mistakes_in_custom_rules(name):
    run, error, words = CUSTOM_MISTAKES[name]
    with pytest.raises(error, match=words):
        run(jax.custom_vjp(lambda x: 2.0 * x))


def test_closing_over_a_differentiated_value_is_an_error():
    def outer(y):
        @jax.custom_jvp
        def g(x):
            return x * y

        g.defjvp(lambda p, t: (g(p[0]), t[0]))
        return jax.jit(lambda x: g(x))(y)

    with pytest.raises((NotImplementedError, jax.errors.UnexpectedTracerError)):
        jax.grad(outer)(2.0)


def test_custom_functions_close_over_lanes():
    def forward(x, z):
        g = jax.custom_jvp(lambda y: x * y)
        g.defjvp(lambda p, t: (x * p[0], x * t[0]))
        return g(z)

    def reverse(x, z):
        g = jax.custom_vjp(lambda y: x * y)
        g.defvjp(lambda y: (x * y, None), lambda r, ct: (x * ct,))
        return g(z)

    for h in (forward, reverse):
        mapped = lambda z: jnp.sum(jax.vmap(h, in_axes=(0, None))(X, z))
        for way in (jax.grad(mapped), jax.jit(jax.grad(mapped))):
            close(way(2.0), jnp.sum(X))
    _, tangent = jax.jvp(lambda z: jax.vmap(forward, (0, None))(X, z), (1.0,), (2.0,))
    close(tangent, 2 * X)


def test_custom_functions_of_shared_values_stay_shared():
    relu = jax.custom_jvp(lambda x: jnp.maximum(x, 0.0))
    relu.defjvp(lambda p, t: (relu(p[0]), t[0]))
    got = jax.vmap(lambda x, y: relu(y), in_axes=(0, None), out_axes=None)(X, 1.0)
    assert float(got) == 1.0


def test_a_rule_may_apply_the_function_to_tangents():
    divide = jax.custom_jvp(lambda x, y: x / y)
    divide.defjvp(lambda p, t: (divide(*p), divide(t[0], p[1])))
    assert float(jax.grad(divide)(1.0, 2.0)) == 0.5
    assert float(jax.jit(jax.grad(jax.jit(divide)))(1.0, 2.0)) == 0.5


# ------------------------------------------------------------------------- checkpoint


class Note(Op):
    """Counts how often it runs; used to see that effects happen once."""

    name = "note"
    kind = Unary.kind
    accepts = "f"
    linear = ()
    effects = frozenset({"note"})

    def type(self, x):
        return x

    def jvp(self, primals, tangents):
        return self(*primals), None

    def scalar(self, block, x):
        return x

    hlo = None


def test_effects_of_a_checkpoint_happen_once():
    def g(x):
        Note()(x)
        return jnp.sin(jnp.sin(x))

    jaxpr = jax.make_jaxpr(jax.grad(jax.checkpoint(g)))(1.0)
    assert str(jaxpr).count("note ") == 1


def test_checkpoint_keeps_only_its_arguments():
    def g(x):
        return jnp.sin(jnp.sin(jnp.sin(x)))

    text = str(jax.make_jaxpr(jax.grad(jax.checkpoint(g)))(1.0))
    assert "remat2[\n      differentiated=True" in text
    assert text.count("sin ") >= 5  # three forward, two again


POLICIES = {
    "everything": (jax.checkpoint_policies.everything_saveable, 3),
    "nothing": (jax.checkpoint_policies.nothing_saveable, 5),
    "names": (jax.checkpoint_policies.save_only_these_names("middle"), 4),
    "other names": (jax.checkpoint_policies.save_any_names_but_these("middle"), 5),
    "sines": (lambda primitive, *avals, **params: primitive.name == "sin", 3),
}


@pytest.mark.parametrize("name", POLICIES)
def test_policies_choose_what_is_stored(name):
    policy, sines = POLICIES[name]

    def g(x):
        y = checkpoint_name(jnp.sin(jnp.sin(x)), "middle")
        return jnp.sum(jnp.sin(y))

    h = jax.checkpoint(g, policy=policy)
    for way in (
        jax.grad,
        lambda k: jax.jit(jax.grad(k)),
        lambda k: jax.grad(jax.jit(k)),
    ):
        close(way(h)(X), jax.grad(g)(X))
    close(jax.vmap(jax.grad(h))(M), jax.vmap(jax.grad(g))(M))
    close(jax.hessian(h)(X), jax.hessian(g)(X))
    assert str(jax.make_jaxpr(jax.grad(h))(X)).count(" sin ") == sines


def test_policies_see_matrix_products_through_jit():
    dots = jax.checkpoint_policies.dots_with_no_batch_dims_saveable
    h = jax.checkpoint(jax.jit(lambda x: jnp.sum(jnp.sin(M @ jnp.sin(x)))), policy=dots)
    text = str(jax.make_jaxpr(jax.grad(h))(X))
    assert text.count("dot_general") == 2  # once forward, once for the gradient
    close(jax.grad(h)(X), jax.grad(lambda x: jnp.sum(jnp.sin(M @ jnp.sin(x))))(X))


def test_checkpoint_traces_once():
    runs = []

    @partial(jax.checkpoint, static_argnums=1)
    def g(x, n):
        runs.append(1)
        return x**n

    for _ in range(3):
        assert float(jax.grad(g)(2.0, 3)) == 12.0
    assert len(runs) == 1
