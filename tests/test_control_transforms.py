"""Structured control flow under transformations: derivatives, lanes, equations."""

import functools

import numpy as np
import pytest
from controls import (
    MODES,
    XS,
    C,
    P,
    V,
    W,
    body_of,
    branch,
    by_hand,
    choose,
    close,
    network,
    sample,
    settle,
    slope,
)

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax
from tetrad._src.control.cond import LaneCond
from tetrad._src.control.scan import Scan

# -------------------------------------------------------------------------- derivatives


@MODES
@pytest.mark.parametrize("argument", [0, 1, 2])
def test_gradient_of_scan(mode, argument):
    args = [W, C, XS]
    got = mode(jax.grad(network, argument))(*args)
    close(got, jax.grad(by_hand, argument)(*args), 1e-4)
    direction = sample(*args[argument].shape)

    def along(x):
        return network(*args[:argument], x, *args[argument + 1 :])

    close(jnp.vdot(got, direction), slope(along, args[argument], direction), 5e-3)


@MODES
def test_higher_derivatives_of_scan(mode):
    close(
        mode(jax.hessian(network, 1))(W, C, XS), jax.hessian(by_hand, 1)(W, C, XS), 1e-4
    )
    norm = lambda f: lambda c: jnp.sum(jax.grad(f, 1)(W, c, XS) ** 2)
    close(mode(jax.grad(norm(network)))(C), jax.grad(norm(by_hand))(C), 1e-3)


@MODES
def test_forward_agrees_with_reverse(mode):
    tangents = (sample(4, 4), sample(4), sample(6, 4))
    _, tangent = mode(lambda a, t: jax.jvp(network, a, t))((W, C, XS), tangents)
    gradients = jax.grad(network, (0, 1, 2))(W, C, XS)
    total = sum(float(jnp.vdot(g, t)) for g, t in zip(gradients, tangents))
    close(tangent, np.float32(total), 1e-4)
    _, linear = jax.linearize(network, W, C, XS)
    close(linear(*tangents), tangent)


@MODES
def test_checkpoints_around_and_inside_of_loops(mode):
    want = jax.grad(network, (0, 1, 2))(W, C, XS)
    got = mode(jax.grad(jax.checkpoint(network), (0, 1, 2)))(W, C, XS)
    for a, b in zip(got, want):
        close(a, b, 1e-4)

    def inside(w, c, xs):
        step = jax.checkpoint(lambda c, x: (jnp.tanh(w @ c + x), jnp.sum(c**2)))
        return jnp.sum(lax.scan(step, c, xs)[1])

    def plain(w, c, xs):
        return jnp.sum(
            lax.scan(lambda c, x: (jnp.tanh(w @ c + x), jnp.sum(c**2)), c, xs)[1]
        )

    for a, b in zip(
        mode(jax.grad(inside, (0, 1, 2)))(W, C, XS),
        jax.grad(plain, (0, 1, 2))(W, C, XS),
    ):
        close(a, b, 1e-4)


@MODES
def test_gradient_of_fori_loop_and_of_updates(mode):
    f = lambda x: jnp.sum(
        lax.fori_loop(0, 5, lambda i, a: a.at[i].set(a[i - 1] * 2 + i), x) ** 2
    )

    def plain(x):
        for i in range(5):
            x = x.at[i].set(x[i - 1] * 2 + i)
        return jnp.sum(x**2)

    close(mode(jax.grad(f))(V), jax.grad(plain)(V))


@MODES
def test_gradients_of_branches(mode):
    for p in (True, False):
        close(
            mode(jax.grad(branch, 1))(p, 0.7),
            slope(functools.partial(branch, p), 0.7, 1),
            1e-3,
        )
    for i in range(3):
        f = functools.partial(choose, i)
        close(mode(jax.grad(choose, 1))(i, 0.7), slope(f, 0.7, 1), 1e-3)
        close(mode(jax.hessian(choose, 1))(i, 0.7), slope(jax.grad(f), 0.7, 1), 1e-3)


@MODES
def test_forward_derivative_of_while(mode):
    direction = sample(4)
    f = functools.partial(settle, W)
    _, tangent = mode(lambda c, t: jax.jvp(f, (c,), (t,)))(C, direction)
    close(tangent, slope(f, C, direction, 1e-3), 5e-3)
    close(mode(jax.jacfwd(f))(C) @ direction, tangent, 1e-4)
    value, linear = jax.linearize(f, C)
    close(value, f(C))
    close(linear(direction), tangent)


def test_loops_without_derivative_do_no_harm():
    steps = lambda x: lax.while_loop(lambda n: n < 10, lambda n: 2 * n, 1) * x
    assert float(jax.grad(steps)(3.0)) == 16
    stopped = lambda x: (
        x * lax.stop_gradient(lax.while_loop(lambda c: c < 10, lambda c: c * 2, x))
    )
    assert float(jax.grad(stopped)(3.0)) == 12
    counted = lambda x: (
        x
        * lax.while_loop(lambda c: c[0] < 4, lambda c: (c[0] + 1, c[1] * 2), (0, x))[0]
    )
    assert float(jax.grad(counted)(3.0)) == 4


@jax.key_check("off")
def test_random_keys_are_residuals_too():
    def f(x, p, key):
        def noisy(x, key):
            return jax.random.normal(jax.random.fold_in(key, 3)) * x * x

        return lax.cond(p, noisy, lambda x, key: 3 * x, x, key)

    key = jax.random.key(0)
    noise = jax.random.normal(jax.random.fold_in(key, 3))
    for g in (f, jax.checkpoint(f)):
        close(jax.grad(g)(2.0, True, key), 4 * noise)
        close(jax.grad(g)(2.0, False, key), 3.0)
        lanes = jax.vmap(jax.grad(g), (0, 0, None))
        got = lanes(jnp.array([2.0, 2.0]), jnp.array([True, False]), key)
        close(got, jnp.array([4 * noise, 3.0]))


def test_integers_in_a_carry():
    def f(x):
        step = lambda c, _: ((c[0] + 1, c[1] * jnp.sin(x) + c[0]), c[0])
        return lax.scan(step, (0, x), length=3)[0][1]

    close(jax.grad(f)(0.7), slope(f, 0.7, 1), 1e-3)


def test_derivatives_inside_of_loops():
    def f(x):
        step = lambda c, _: (c - 0.1 * jax.grad(lambda z: jnp.sin(z) ** 2)(c), c)
        return lax.scan(step, x, length=3)[0]

    x = 0.7
    for _ in range(3):
        x = x - 0.1 * np.sin(2 * x)
    close(f(0.7), x)
    close(jax.grad(f)(0.7), slope(f, 0.7, 1), 1e-3)


def test_linear_transpose_of_a_loop():
    f = lambda c: lax.fori_loop(0, 3, lambda i, a: a * 2.0, c)
    assert float(jax.linear_transpose(f, 1.0)(5.0)[0]) == 40


def test_custom_derivatives_inside_of_loops():
    f = lambda x: lax.scan(
        lambda c, _: (jax.nn.relu(c) * 1.2 - 0.1, None), x, length=3
    )[0]
    close(jax.grad(f)(0.7), np.float32(1.2**3))


# ------------------------------------------------------------------------------- lanes


def lanes(f, axes, *args):
    """What f gives for each lane, one after the other."""
    size = next(a.shape[0] for a, at in zip(args, axes) if at == 0)
    take = lambda a, at, i: a if at is None else a[i]
    rows = [f(*[take(a, at, i) for a, at in zip(args, axes)]) for i in range(size)]
    return jax.tree.map(lambda *xs: jnp.stack(xs), *rows)


CASES = {
    "scan: carry": (network, (None, 0, None), (W, sample(3, 4), XS)),
    "scan: inputs": (network, (None, None, 0), (W, C, sample(3, 6, 4))),
    "scan: all": (network, (0, 0, 0), (sample(3, 4, 4), sample(3, 4), sample(3, 6, 4))),
    "cond: value": (branch, (None, 0), (True, V)),
    "cond: predicate": (branch, (0, None), (P, jnp.float32(0.7))),
    "cond: both": (branch, (0, 0), (P, V)),
    "cond: arrays": (branch, (0, 0), (P, sample(5, 3))),
    "switch": (choose, (0, 0), (jnp.array([0, 2, 1, 9, -4]), V)),
    "while": (settle, (None, 0), (W, 2 * sample(5, 4))),
    "while: weights": (settle, (0, None), (sample(5, 4, 4), C)),
    "fori": (
        lambda n, c: lax.fori_loop(0, n, lambda i, c: c * 1.5 + i, c),
        (0, None),
        (jnp.array([0, 3, 1]), C),
    ),
}


@MODES
@pytest.mark.parametrize("name", CASES)
def test_vmap_is_a_loop(mode, name):
    f, axes, args = CASES[name]
    want = lanes(f, axes, *args)
    close(mode(jax.vmap(f, axes))(*args), want, 1e-4)
    close(
        mode(lambda *a: jax.vmap(f, axes, out_axes=-1)(*a))(*args),
        jnp.moveaxis(want, 0, -1),
        1e-4,
    )


@MODES
@pytest.mark.parametrize("name", [n for n in CASES if "while" not in n and n != "fori"])
def test_gradients_commute_with_vmap(mode, name):
    f, axes, args = CASES[name]
    number = next(
        i for i, a in enumerate(args) if getattr(a, "dtype", None) == jnp.float32
    )
    total = lambda *a: jnp.sum(jax.vmap(f, axes)(*a))
    got = mode(jax.grad(total, number))(*args)
    single = lambda *a: jnp.sum(f(*a))
    rows = lanes(jax.grad(single, number), axes, *args)
    close(got, rows if axes[number] == 0 else jnp.sum(rows, 0), 1e-4)
    inside = mode(jax.vmap(jax.grad(single, number), axes))(*args)
    close(inside, rows, 1e-4)


@MODES
def test_lanes_of_lanes(mode):
    x = sample(3)
    grid = jax.vmap(jax.vmap(branch, (0, None)), (None, 0))
    want = jnp.stack([jnp.stack([branch(p, v) for p in P]) for v in x])
    close(mode(grid)(P, x), want)
    grid = jax.vmap(jax.vmap(branch, (None, 0)), (0, None))
    close(mode(grid)(P, x), want.T)
    nested = jax.vmap(jax.vmap(network, (None, 0, None)), (0, None, None))
    ws, cs = sample(2, 4, 4), sample(3, 4)
    close(
        mode(nested)(ws, cs, XS),
        jnp.stack([lanes(network, (None, 0, None), w, cs, XS) for w in ws]),
        1e-4,
    )


def test_a_branch_not_taken_cannot_spoil_a_gradient():
    def total(w, x):
        safe = lambda x: lax.cond(x > 0, lambda: jnp.log(x * w), lambda: 0.0 * x)
        return jnp.sum(jax.vmap(safe)(x))

    got_w, got_x = jax.jit(jax.grad(total, (0, 1)))(2.0, V)
    close(got_w, 3 / 2.0)
    close(got_x, jnp.where(V > 0, 1 / V, 0.0))


def test_a_branch_not_taken_need_not_end():
    def f(x):
        forever = lambda x: lax.while_loop(lambda a: a < 20.0, lambda a: a * 1.5, x)
        return lax.cond(x > 0, forever, lambda x: x, x)

    got = jax.jit(jax.vmap(f))(V)
    close(got, lanes(f, (0,), V))


def test_a_loop_ends_for_each_lane():
    def f(x):
        # The inner loop never ends for what the outer one ends with.
        inner = lambda b: lax.while_loop(lambda c: c < 50.0, lambda c: c * 2, b)
        return lax.while_loop(lambda a: a > 0, lambda a: 1.0 - inner(a), x)

    x = jnp.array([3.0, 1.0, -1.0])
    close(jax.jit(jax.vmap(f))(x), lanes(f, (0,), x))


def test_expensive_branches_are_visited_lane_by_lane():
    def f(p, x):
        many = lambda x: lax.fori_loop(0, 10_000, lambda i, x: jnp.sin(x) + x, x)
        return lax.cond(p, many, lambda x: x, x)

    jaxpr = body_of(jax.vmap(f), P, V)
    (op,) = [eqn.op for eqn in jaxpr.eqns if isinstance(eqn.op, LaneCond)]
    steps = body_of(lambda i, x: op.expand(i, x), P.astype("int32"), V)
    assert [type(eqn.op) for eqn in steps.eqns] == [Scan]
    jaxpr = body_of(jax.vmap(branch), P, V)
    (op,) = [eqn.op for eqn in jaxpr.eqns if isinstance(eqn.op, LaneCond)]
    steps = body_of(lambda i, x: op.expand(i, x), P.astype("int32"), V)
    assert not [eqn for eqn in steps.eqns if eqn.op.flow is not None]


def test_collectives_inside_of_control_flow():
    total = lambda x: lax.scan(lambda c, y: (c + lax.psum(x * y, "i"), c), x, V)[0]
    x = sample(3)
    got = jax.vmap(total, axis_name="i")(x)
    close(got, x + jnp.sum(x) * jnp.sum(V), 1e-4)
    f = lambda x: lax.cond(x > 0, lambda x: lax.psum(x, "i"), lambda x: 2 * x, x)
    close(jax.vmap(f, axis_name="i")(x), jnp.where(x > 0, jnp.sum(x), 2 * x))


# ---------------------------------------------------------------------------- equations


def root_of(a):
    newton = lambda f, x: lax.while_loop(
        lambda x: jnp.abs(f(x)) > 1e-4, lambda x: x - f(x) / (2 * x), x
    )
    return lax.custom_root(lambda x: x * x - a, a, newton, lambda g, y: y / g(1.0))


@MODES
def test_a_root_has_the_derivative_of_its_equation(mode):
    close(mode(root_of)(2.0), np.sqrt(2))
    close(mode(jax.grad(root_of))(2.0), 0.5 / np.sqrt(2), 1e-4)
    close(mode(jax.grad(jax.grad(root_of)))(2.0), -0.25 * 2**-1.5, 1e-3)
    many = jnp.array([1.0, 2.0, 3.0])
    close(mode(jax.vmap(jax.grad(root_of)))(many), 0.5 / np.sqrt(many), 1e-4)
    gradient = mode(jax.grad(lambda a: jnp.sum(jax.vmap(root_of)(a))))
    close(gradient(many), 0.5 / np.sqrt(many), 1e-4)


def conjugate_gradients(matvec, b):
    def step(state):
        x, r, p, n = state
        ap = matvec(p)
        size = r @ r / (p @ ap)
        later = r - size * ap
        return x + size * p, later, later + (later @ later) / (r @ r) * p, n + 1

    going = lambda state: (state[3] < 20) & (state[1] @ state[1] > 1e-10)
    return lax.while_loop(going, step, (jnp.zeros_like(b), b, b, 0))[0]


def solved(a, b):
    return lax.custom_linear_solve(
        lambda x: a @ x, b, conjugate_gradients, symmetric=True
    )


@MODES
def test_linear_equations(mode):
    a = W @ W.T + 2 * jnp.eye(4)
    inverse = jnp.asarray(np.linalg.inv(np.asarray(a)))
    close(mode(solved)(a, C), inverse @ C, 1e-4)
    loss = lambda a, b: jnp.sum(solved(a, b) ** 2)
    got_a, got_b = mode(jax.grad(loss, (0, 1)))(a, C)
    x = inverse @ C
    close(got_b, inverse @ (2 * x), 1e-3)
    close(got_a, -jnp.outer(inverse @ (2 * x), x), 1e-3)
    bs = sample(3, 4)
    close(mode(jax.vmap(solved, (None, 0)))(a, bs), bs @ inverse.T, 1e-3)
    _, tangent = mode(lambda b, t: jax.jvp(lambda b: solved(a, b), (b,), (t,)))(C, C)
    close(tangent, x, 1e-3)


def test_transposed_systems():
    a = jnp.array([[2.0, 1.0], [0.0, 4.0]])

    def solve(matvec, b):
        columns = jnp.stack([matvec(e) for e in jnp.eye(2)], 1)
        (p, q), (r, s) = columns
        return jnp.array([s * b[0] - q * b[1], p * b[1] - r * b[0]]) / (p * s - q * r)

    f = lambda a, b: lax.custom_linear_solve(
        lambda x: a @ x, b, solve, transpose_solve=solve
    )
    b = jnp.array([3.0, 8.0])
    close(f(a, b), [0.5, 2.0])
    got = jax.grad(lambda b: f(a, b)[0])(b)
    close(got, np.linalg.inv(np.asarray(a))[0])
    with_aux = lax.custom_linear_solve(
        lambda x: a @ x, b, lambda m, b: (solve(m, b), {"n": 3}), has_aux=True
    )
    close(with_aux[0], [0.5, 2.0])
    assert int(with_aux[1]["n"]) == 3
    one_way = lambda b: jnp.sum(lax.custom_linear_solve(lambda x: a @ x, b, solve))
    with pytest.raises(TypeError, match="transpose_solve"):
        jax.grad(one_way)(b)
