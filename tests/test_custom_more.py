"""Custom rules: symbolic zeros, rules for vmap, rules that close over arrays."""

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax
from tetrad.custom_batching import custom_vmap, sequential_vmap
from tetrad.custom_derivatives import (
    CustomVJPPrimal,
    SymbolicZero,
    custom_vjp_primal_tree_values,
    zero_from_primal,
)

# -------------------------------------------------------------------------- symbolic zeros


def product():
    seen = []

    @jax.custom_jvp
    def f(x, y):
        return x * y

    def f_jvp(primals, tangents):
        (x, y), (tx, ty) = primals, tangents
        seen.append([type(t) is SymbolicZero for t in tangents])
        if type(tx) is SymbolicZero:
            return f(x, y), x * ty
        if type(ty) is SymbolicZero:
            return f(x, y), tx * y
        return f(x, y), x * ty + tx * y

    f.defjvp(f_jvp, symbolic_zeros=True)
    return f, seen


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit, jax.checkpoint])
def test_a_rule_is_told_which_tangents_are_zero(wrap):
    f, seen = product()
    g = wrap(f)
    assert jax.grad(g)(2.0, 3.0) == 3
    assert seen[-1] == [False, True]
    assert jax.grad(g, argnums=1)(2.0, 3.0) == 2
    assert seen[-1] == [True, False]
    assert jax.grad(g, argnums=(0, 1))(2.0, 3.0) == (3, 2)
    assert seen[-1] == [False, False]
    got = jax.vmap(jax.grad(g))(jnp.arange(3.0), jnp.ones(3))
    np.testing.assert_array_equal(got, [1, 1, 1])
    assert seen[-1] == [False, True]


def test_a_rule_may_return_a_symbolic_zero():
    @jax.custom_jvp
    def f(x, y):
        return x + y

    f.defjvp(lambda p, t: (f(*p), t[1]), symbolic_zeros=True)
    assert jax.grad(f)(1.0, 2.0) == 0
    assert jax.vmap(jax.grad(f))(jnp.ones(2), jnp.ones(2)).tolist() == [0, 0]


def test_zeros_of_every_kind():
    zero = SymbolicZero.from_primal_value(jnp.ones((2, 3)))
    assert (zero.shape, zero.ndim, zero.size, zero.dtype) == ((2, 3), 2, 6, jnp.float32)
    assert zero.instantiate().tolist() == [[0, 0, 0], [0, 0, 0]]
    assert zero_from_primal(jnp.arange(2)).dtype == jax.float0
    assert zero_from_primal(1.0) == 0
    assert jnp.zeros((2,), jax.float0).dtype == jax.float0


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit, jax.checkpoint, jax.vmap])
def test_vjp_rules_are_told_what_is_differentiated(wrap):
    log = []

    @jax.custom_vjp
    def f(x, y):
        return x * y, x + y

    def fwd(x, y):
        assert isinstance(x, CustomVJPPrimal)
        log.append((x.perturbed, y.perturbed))
        x, y = custom_vjp_primal_tree_values((x, y))
        return f(x, y), (x, y)

    def bwd(residuals, cts):
        x, y = residuals
        log.append([type(ct) is SymbolicZero for ct in cts])
        a, b = [ct.instantiate() if type(ct) is SymbolicZero else ct for ct in cts]
        return a * y + b, a * x + b

    f.defvjp(fwd, bwd, symbolic_zeros=True)
    g = wrap(f)
    x, y = jnp.array([2.0]), jnp.array([3.0])
    assert jax.grad(lambda x: g(x, y)[0].sum())(x) == 3
    assert log == [(True, False), [False, True]]
    del log[:]
    assert jax.grad(lambda x, y: g(x, y)[1].sum(), argnums=1)(x, y) == 1
    assert log == [(False, True), [True, False]]


def test_results_without_residuals_come_from_the_function():
    @jax.custom_vjp
    def f(x):
        return jnp.tan(x)

    f.defvjp(
        lambda x: (jnp.sin(x), (x,)),
        lambda r, g: (jnp.cos(r[0]) * g,),
        optimize_remat=True,
    )
    value, slope = jax.value_and_grad(lambda x: jax.checkpoint(f)(x))(0.5)
    np.testing.assert_allclose([value, slope], [np.tan(0.5), np.cos(0.5)], rtol=1e-6)
    value, slope = jax.value_and_grad(f)(0.5)
    np.testing.assert_allclose([value, slope], [np.sin(0.5), np.cos(0.5)], rtol=1e-6)
    lanes = jax.vmap(jax.grad(jax.checkpoint(f)))(jnp.array([0.1, 0.5]))
    np.testing.assert_allclose(lanes, np.cos([0.1, 0.5]), rtol=1e-6)


def test_rules_must_return_what_the_function_returns():
    @jax.custom_jvp
    def f(x):
        return x

    f.defjvp(lambda p, t: ((p[0], p[0]), (t[0], t[0])))
    with pytest.raises(
        TypeError, match=r"what `f` returns, float32\[\], got float32\[\], "
    ):
        jax.grad(jax.jit(lambda x: f(x) * 1.0))(1.0)

    @jax.custom_vjp
    def g(x):
        return x

    g.defvjp(lambda x: (jnp.zeros(3), None), lambda r, ct: (ct,))
    with pytest.raises(
        TypeError, match=r"what `g` returns, float32\[\], got float32\[3\]"
    ):
        jax.grad(jax.jit(lambda x: g(x) * 1.0))(1.0)
    with pytest.raises(ValueError, match="must return cotangents like the arguments"):
        g.defvjp(lambda x: (x, None), lambda r, ct: (jnp.ones(2),))
        jax.grad(g)(1.0)


def test_a_custom_function_inside_a_custom_function():
    @jax.custom_jvp
    @custom_vmap
    def f(x):
        return 2.0 * x

    f.def_vmap(lambda n, b, x: (3.0 * x, True))
    f.defjvp(lambda p, t: (f(*p), 5.0 * t[0]))
    assert jax.vmap(f)(jnp.ones(1)) == 3
    assert jax.grad(f)(1.0) == 5
    with pytest.raises(AttributeError, match="no attribute 'rule_of_thumb'"):
        f.rule_of_thumb


def test_jacrev_of_integers():
    got = jax.jacrev(lambda x, i: x * i, argnums=(0, 1), allow_int=True)(
        jnp.ones(2), jnp.arange(2)
    )
    assert got[0].tolist() == [[0, 0], [0, 1]]
    assert got[1].dtype == jax.float0 and got[1].shape == (2, 2)


# ---------------------------------------------------------------------- rules with arrays


def test_rules_may_close_over_arrays_whatever_runs_them():
    y = jnp.arange(1.0, 4.0)

    @jax.custom_jvp
    def f(x):
        return 3 * x * jnp.sum(y)

    f.defjvp(lambda p, t: (f(*p), 2 * t[0] * y.sum() + 0 * np.arange(3.0).sum()))

    @jax.custom_vjp
    def g(x):
        return 3 * x * jnp.sum(y)

    g.defvjp(lambda x: (g(x), y), lambda r, ct: (2 * ct * (r * y / r).sum(),))

    def scanned(f):
        return lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=1)[0]

    def branched(f):
        return lambda x: lax.cond(x > 0, f, lambda x: x, x)

    def looped(f):
        return lambda x: lax.fori_loop(0, 1, lambda i, x: f(x), x)

    for h in (f, g):
        for wrap in (jax.jit, jax.checkpoint, scanned, branched, looped):
            inside = wrap(h)
            assert jax.grad(inside)(1.0) == 12
            assert jax.jit(jax.grad(inside))(1.0) == 12
            ones = jnp.ones(2)
            assert jax.vmap(jax.grad(inside))(ones).tolist() == [12, 12]
            assert jax.grad(lambda x: jax.vmap(inside)(x).sum())(ones).tolist() == [
                12,
                12,
            ]

    def waited(f):
        return lambda x: lax.while_loop(lambda x: x < 1.5, f, x)

    assert jax.jvp(jax.jit(waited(f)), (1.0,), (1.0,)) == (18, 12)
    lowered = jax.jit(lambda x, t: jax.jvp(jax.jit(f), (x,), (t,))[1]).lower(1.0, 1.0)
    assert lowered.compile()(1.0, 1.0) == 12


# --------------------------------------------------------------------------- custom_vmap


def sine():
    calls = []

    @custom_vmap
    def f(x):
        return jnp.sin(x)

    @f.def_vmap
    def rule(axis_size, in_batched, x):
        calls.append((axis_size, in_batched))
        return jnp.cos(x), in_batched[0]

    return f, calls


def test_a_rule_for_vmap():
    f, calls = sine()
    x = jnp.arange(3.0)
    np.testing.assert_allclose(f(1.0), np.sin(1.0), rtol=1e-6)
    np.testing.assert_allclose(jax.jit(f)(1.0), np.sin(1.0), rtol=1e-6)
    assert not calls
    for g in (jax.vmap(f), jax.jit(jax.vmap(f)), jax.vmap(jax.jit(f))):
        np.testing.assert_allclose(g(x), np.cos(x), rtol=1e-6)
        assert calls.pop() == (3, [True])
        calls.clear()


def test_the_derivative_of_a_rule_for_vmap():
    f, calls = sine()
    x, t = jnp.arange(3.0), jnp.arange(3.0) * 2

    def push(x, t):
        return jax.jvp(f, (x,), (t,))

    want = np.cos(x), -np.sin(x) * t
    for both in (jax.vmap(push), lambda x, t: jax.jvp(jax.vmap(f), (x,), (t,))):
        got = both(x, t)
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-7)
        assert calls.pop() == (3, [True])
        calls.clear()
    # One lane of primals, many tangents: the rule sees nothing mapped.
    y, ty = jax.vmap(push, in_axes=(None, 0), out_axes=(None, 0))(1.0, t)
    assert calls.pop() == (3, [False])
    np.testing.assert_allclose(y, np.cos(1.0), rtol=1e-6)
    np.testing.assert_allclose(ty, -np.sin(1.0) * t, rtol=1e-6)
    np.testing.assert_allclose(jax.jacfwd(f)(x), -np.diag(np.sin(x)), atol=1e-6)
    # Reverse mode takes the function apart.
    np.testing.assert_allclose(jax.grad(f)(0.5), np.cos(0.5), rtol=1e-6)


def test_a_rule_with_pytrees_and_partly_mapped_arguments():
    @custom_vmap
    def dot(parts, v):
        return {"dot": parts["u"] @ v}

    @dot.def_vmap
    def rule(axis_size, in_batched, parts, v):
        assert axis_size == 4
        u_mapped, v_mapped = in_batched[0]["u"], in_batched[1]
        out = jnp.sum(parts["u"] * v, axis=-1)
        return {"dot": out}, {"dot": u_mapped or v_mapped}

    u, v = np.arange(12.0, dtype="f4").reshape(4, 3), np.ones(3, "f4")
    got = jax.vmap(dot, in_axes=({"u": 0}, None))({"u": u}, v)["dot"]
    np.testing.assert_array_equal(got, u @ v)
    got = jax.vmap(dot, in_axes=({"u": 1}, 0))({"u": u.T}, u)["dot"]
    np.testing.assert_array_equal(got, (u * u).sum(1))


def test_mistakes_in_rules_for_vmap():
    @custom_vmap
    def f(x):
        return jnp.sin(x)

    with pytest.raises(AttributeError, match=r"State one with @f\.def_vmap"):
        f(1.0)
    x = jnp.ones(3)
    f.def_vmap(lambda n, b, x: ([x, x], True))
    with pytest.raises(ValueError, match="in one structure"):
        jax.vmap(f)(x)
    f.def_vmap(lambda n, b, x: ([x], [True]))
    with pytest.raises(ValueError, match="in the structure of that of `f`"):
        jax.vmap(f)(x)
    f.def_vmap(lambda n, b, x: (x[:2], True))
    with pytest.raises(ValueError, match=r"shape \(3,\) .* got float32\[2\]"):
        jax.vmap(f)(x)

    def closing(y):
        g = custom_vmap(lambda x: x * y)
        g.def_vmap(lambda n, b, x: (x, True))
        return g(y)

    with pytest.raises(NotImplementedError, match="closes over a mapped value"):
        jax.vmap(closing)(x)


def test_lanes_one_after_the_other():
    sizes = []

    @sequential_vmap
    def f(x, y):
        sizes.append(x.shape)
        return x + y, {"square": x * x}

    x, y = jnp.arange(3.0), 4.0
    total, rest = jax.vmap(f, in_axes=(0, None))(x, y)
    assert total.tolist() == [4, 5, 6] and rest["square"].tolist() == [0, 1, 4]
    assert set(sizes) == {()}
    assert "scan[" in str(jax.make_jaxpr(jax.vmap(f, in_axes=(0, None)))(x, y))


# ------------------------------------------------------------------------- checkpoints


def only(name):
    return lambda primitive, *avals, **params: str(primitive) == name


FLOWS = {
    "cond": lambda x: lax.cond(x > 0, jnp.sin, lambda x: x, x),
    "scan": lambda x: lax.scan(lambda c, _: (jnp.sin(c), None), x, None, length=2)[0],
    "jit": lambda x: jax.jit(jnp.sin)(x),
}


@pytest.mark.parametrize("flow", FLOWS)
@pytest.mark.parametrize("name", ["sin", "cos", "none of them"])
def test_policies_reach_into_branches_and_loops(flow, name):
    f = FLOWS[flow]
    g = jax.checkpoint(f, policy=only(name))
    for _ in range(3):
        assert jax.jit(g)(0.7) == jax.jit(f)(0.7)
        f, g = jax.grad(f), jax.grad(g)
    _, derivative = jax.linearize(jax.checkpoint(FLOWS[flow], policy=only(name)), 0.7)
    text = str(derivative.func.args[0])
    assert (" cos " in text) == (name != "cos")
    assert " sin " not in text or name != "cos"


def layers(through):
    """Three products in a branch or in the turns of a loop."""

    def turn(x, w):
        for _ in range(3):
            x = jnp.sin(x @ w)
        return x

    def in_a_branch(w):
        return lax.cond(w.sum() > 0, lambda: turn(jnp.ones(5), w), lambda: jnp.ones(5))

    def in_a_loop(w):
        return lax.scan(lambda x, _: (turn(x, w), None), jnp.ones(5), None, 2)[0]

    return in_a_branch if through == "branch" else in_a_loop


@pytest.mark.parametrize("through, products", [("branch", 5), ("loop", 6)])
def test_products_that_a_policy_stores_are_not_computed_again(through, products):
    w = jax.random.normal(jax.random.key(0), (5, 5)) / 5 + 0.1
    plain = layers(through)
    policies = jax.checkpoint_policies
    stored = jax.checkpoint(plain, policy=policies.dots_saveable)
    nothing = jax.checkpoint(plain, policy=policies.nothing_saveable)
    y, pull_back = jax.vjp(stored, w)
    assert str(jax.make_jaxpr(pull_back)(y)).count(" dot_general[") == products
    _, pull_back = jax.vjp(nothing, w)
    again = str(jax.make_jaxpr(pull_back)(y)).count(" dot_general[")
    assert again == products + 3
    for f in (stored, nothing):
        got, want = jax.vjp(f, w)[1](y), jax.vjp(plain, w)[1](y)
        np.testing.assert_allclose(got[0], want[0], rtol=1e-6)
        got = jax.hessian(lambda w: f(w).sum())(w)
        want = jax.hessian(lambda w: plain(w).sum())(w)
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_lanes_of_lanes_run_one_after_the_other():
    f = jax.custom_batching.sequential_vmap(lambda x: x + 1.0)
    x = jnp.arange(6.0).reshape(2, 3)
    twice = jax.vmap(jax.vmap(f))
    np.testing.assert_array_equal(twice(x), x + 1)
    assert str(jax.make_jaxpr(twice)(x)).count("scan[") == 2
    one = jax.make_jaxpr(jax.vmap(f))(x[0])
    assert str(one) == str(jax.make_jaxpr(lambda xs: lax.map(f, xs))(x[0]))


def test_the_linear_part_of_a_custom_vjp_in_a_jaxpr():
    @jax.custom_vjp
    def f(x, y):
        return x * y

    f.defvjp(lambda x, y: (f(x, y), y), lambda y, ct: (ct * y, ct))
    text = str(
        jax.make_jaxpr(lambda x: jax.linearize(lambda x: f(x, 2.0), x)[1](x))(1.0)
    )
    assert "0x" not in text
    closed = jax.make_jaxpr(lambda x: jax.jvp(lambda x: f(x, 2.0), (x,), (x,)))(1.0)
    eqn = closed.eqns[-1]
    assert str(eqn.primitive) == "custom_lin"
    assert eqn.params["in_zeros"] == [False, True]
    assert eqn.params["num_res"] == 1
