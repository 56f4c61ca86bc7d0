"""Structured control flow: values, types, texts, messages, disabled jit."""

import functools

import numpy as np
import pytest
from controls import (
    MODES,
    XS,
    C,
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
)

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax
from tetrad._src.control.cond import Cond
from tetrad._src.control.loop import While
from tetrad._src.control.scan import Scan
from tetrad._src.core.bind import Value
from tetrad._src.core.check import check
from tetrad._src.core.jaxpr import dce

# ------------------------------------------------------------------------------- values


@MODES
def test_scan_is_a_loop(mode):
    close(mode(network)(W, C, XS), by_hand(W, C, XS))


@MODES
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("unroll", [1, 2, True])
def test_scan_of_trees(mode, reverse, unroll):
    def step(carry, x):
        new = {"a": carry["a"] * 0.5 + x[0], "n": carry["n"] + 1}
        return new, (carry["a"] * x[1], carry["n"])

    f = lambda a, x, y: lax.scan(
        step, {"a": a, "n": 0}, (x, y), reverse=reverse, unroll=unroll
    )
    x, y = sample(5, 3), sample(5)
    got, (products, counts) = mode(f)(C[:3], x, y)
    a, want = C[:3], [None] * 5
    order = range(5)
    for n, i in enumerate(reversed(order) if reverse else order):
        want[i] = (a * y[i], n)
        a = a * 0.5 + x[i]
    close(got["a"], a)
    assert int(got["n"]) == 5
    close(products, jnp.stack([w[0] for w in want]))
    assert counts.tolist() == [w[1] for w in want]


@MODES
def test_scan_without_arrays_and_without_steps(mode):
    double = lambda x, n: lax.scan(lambda c, _: (2 * c, c), x, length=n)
    last, ys = mode(functools.partial(double, n=4))(1.0)
    assert float(last) == 16 and ys.tolist() == [1, 2, 4, 8]
    last, ys = mode(functools.partial(double, n=0))(1.0)
    assert float(last) == 1 and ys.shape == (0,) and ys.dtype == jnp.float32


@MODES
@pytest.mark.parametrize("lower, upper", [(0, 4), (2, 5), (3, 3), (5, 2)])
def test_fori_loop_counts(mode, lower, upper):
    f = lambda c: lax.fori_loop(lower, upper, lambda i, c: c * 2 + i, c)
    g = lambda low, high, c: lax.fori_loop(low, high, lambda i, c: c * 2 + i, c)
    want = 1
    for i in range(lower, upper):
        want = want * 2 + i
    assert int(mode(f)(1)) == want
    assert int(mode(g)(lower, upper, 1)) == want


@MODES
def test_while_loop_ends_when_its_condition_says_so(mode):
    c, n = C, 0
    while n < 3 * float(jnp.sum(jnp.abs(c))):
        n, c = n + 1, jnp.sin(W @ c) * 0.9 + 0.1
    close(mode(settle)(W, C), c)
    assert int(lax.while_loop(lambda n: False, lambda n: n + 1, 7)) == 7


@MODES
def test_cond_and_switch_choose(mode):
    close(mode(branch)(True, 0.7), np.sin(0.7) * 0.7)
    close(mode(branch)(False, 0.7), np.exp(0.7) - 2.1)
    close(mode(branch)(0, 0.7), np.exp(0.7) - 2.1)
    close(mode(branch)(jnp.float32(0.5), 0.7), np.sin(0.7) * 0.7)
    for i, want in [(-3, np.sin(0.7) * 0.7), (1, 0.49), (9, 2 * np.exp(0.7))]:
        close(mode(choose)(i, 0.7), want)
        close(mode(choose)(jnp.int8(i), 0.7), want)


def test_forms_of_cond():
    plus, times = (lambda x: x + 1), (lambda x: x * 3)
    assert float(lax.cond(True, plus, times, 2.0)) == 3
    assert float(lax.cond(False, plus, times, operand=2.0)) == 6
    assert float(lax.cond(False, 2.0, plus, 5.0, times)) == 15
    assert float(lax.cond(True, 2.0, plus, 5.0, times)) == 3
    assert float(lax.cond(True, lambda: 1.0, lambda: 2.0)) == 1
    assert float(lax.cond(True, lambda x: 1.0, lambda x: 2.0, operand=None)) == 1
    got = lax.cond(False, lambda a, b: a, lambda a, b: b, {"x": 1}, {"x": 2})
    assert int(got["x"]) == 2
    assert float(lax.switch(3, [plus], 2.0)) == 3
    assert lax.cond(True, lambda: None, lambda: None) is None


@MODES
def test_maps_and_folds(mode):
    square = lambda x: {"a": x * x, "b": jnp.sum(x)}
    for size in (None, 1, 3, 5, 7):
        got = mode(lambda xs, size=size: lax.map(square, xs, batch_size=size))(XS)
        close(got["a"], XS * XS)
        close(got["b"], jnp.sum(XS, 1))
    pairs = lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1])
    for n in range(1, 10):
        a, b = sample(n), sample(n)
        got = mode(lambda a, b: lax.associative_scan(pairs, (a, b)))(a, b)
        rows = [(a[0], b[0])]
        for i in range(1, n):
            rows.append(pairs(rows[-1], (a[i], b[i])))
        close(got[0], jnp.stack([r[0] for r in rows]))
        close(got[1], jnp.stack([r[1] for r in rows]))
    got = mode(lambda x: lax.associative_scan(jnp.maximum, x, True, axis=1))(XS)
    close(got, np.maximum.accumulate(np.asarray(XS)[:, ::-1], 1)[:, ::-1])
    digits = mode(lambda x: lax.reduce(x, 0, lambda a, b: 10 * a + b, (0, 2)))
    assert digits(jnp.arange(8).reshape(2, 2, 2)).tolist() == [145, 2367]
    largest = lambda a, b: (
        jnp.maximum(a[0], b[0]),
        jnp.where(a[0] >= b[0], a[1], b[1]),
    )
    got = mode(lambda x: lax.reduce((x, jnp.arange(5)), (-jnp.inf, 0), largest, (0,)))(
        V
    )
    assert float(got[0]) == 2 and int(got[1]) == 2


def test_types_of_carries():
    kind = lambda x: (x.dtype.name, x.weak_type)
    vector = jnp.arange(3.0)
    last, ys = lax.scan(lambda c, x: (c + x, c), 0.0, vector)
    assert kind(last) == ("float32", False) and kind(ys) == ("float32", True)
    last, ys = lax.scan(lambda c, x: (c + x, c), 0, vector)
    assert kind(last) == kind(ys) == ("float32", False)
    assert kind(lax.scan(lambda c, _: (c * 2, None), 1.0, length=2)[0])[1]
    last, _ = lax.scan(lambda c, x: ((c[1], c[0] + x), None), (0.0, 0), vector)
    assert kind(last[0]) == kind(last[1]) == ("float32", False)
    assert kind(lax.while_loop(lambda c: c < 9, lambda c: c + 1.5, 0))[0] == "float32"
    assert kind(lax.fori_loop(0, 3, lambda i, c: i, 1)) == ("int32", True)
    assert not lax.cond(True, lambda: 1.0, lambda: jnp.float32(2)).weak_type
    assert lax.cond(True, lambda: 1.0, lambda: 2.0).weak_type


@jax.key_check("off")
def test_random_keys_travel():
    key = jax.random.key(3)

    def step(key, _):
        key, sub = jax.random.split(key)
        return key, jax.random.normal(sub)

    last, ys = jax.jit(lambda k: lax.scan(step, k, length=4))(key)
    for i in range(4):
        key, y = step(key, None)
        assert float(y) == float(ys[i])
    assert (jax.random.key_data(last) == jax.random.key_data(key)).all()
    chosen = lax.cond(True, lambda: key, lambda: last)
    assert (jax.random.key_data(chosen) == jax.random.key_data(key)).all()


@pytest.mark.parametrize(
    "f, args",
    [
        (network, (W, C, XS)),
        (settle, (W, C)),
        (branch, (True, 0.7)),
        (choose, (2, 0.7)),
    ],
    ids=["scan", "while", "cond", "switch"],
)
def test_the_machine_computes_what_the_operation_says(f, args):
    def eager(jaxpr, values):
        env = dict(zip(jaxpr.ins, values))
        for eqn in jaxpr.eqns:
            ins = [getattr(v, "val", None) if v not in env else env[v] for v in eqn.ins]
            flow = isinstance(eqn.op, (Scan, While, Cond))
            outs = eqn.op.expand(*ins) if flow else eqn.op(*ins)
            env.update(zip(eqn.outs, outs if eqn.op.multiple else [outs]))
        return [env[v] for v in jaxpr.outs]

    close(eager(body_of(f, *args), args)[0], f(*args))


def test_carries_of_loops_are_updated_in_place():
    big = jnp.zeros((2000, 1000)).block_until_ready()
    fill = jax.jit(
        lambda a: lax.fori_loop(0, 50, lambda i, a: a.at[i].set(i), a), donate_argnums=0
    )
    fill(jnp.zeros((2000, 1000))).block_until_ready()
    with jax.see.memory() as seen:
        out = fill(big).block_until_ready()
    assert float(out[49, 3]) == 49
    assert seen.peak < 2.1 * out.nbytes


# --------------------------------------------------------------------------------- text


def text(f, *args):
    return str(jax.make_jaxpr(f)(*args))


def test_text_of_cond():
    assert text(branch, True, 1.0) == (
        "{ lambda ; a:bool[] b:f32[]. let\n"
        "    c:i32[] = convert_element_type[new_dtype=int32 weak_type=False] a\n"
        "    d:f32[] = cond[\n"
        "      branches=(\n"
        "        { lambda ; e:f32[]. let\n"
        "            f:f32[] = exp e\n"
        "            g:f32[] = mul e 3.0:f32[]\n"
        "            h:f32[] = sub f g\n"
        "          in (h,) }\n"
        "        { lambda ; i:f32[]. let j:f32[] = sin i; k:f32[] = mul j i in (k,) }\n"
        "      )\n"
        "    ] c b\n"
        "  in (d,) }"
    )


def test_text_of_scan():
    f = lambda c, xs: lax.scan(lambda c, x: (c + x, c * x), c, xs)
    assert text(f, jnp.float32(1), jnp.arange(3.0)) == (
        "{ lambda ; a:f32[] b:f32[3]. let\n"
        "    c:f32[] d:f32[3] = scan[\n"
        "      jaxpr={ lambda ; e:f32[] f:f32[]. let\n"
        "          g:f32[] = add e f\n"
        "          h:f32[] = mul e f\n"
        "        in (g, h) }\n"
        "      length=3\n"
        "      num_carry=1\n"
        "      num_consts=0\n"
        "      reverse=False\n"
        "      unroll=1\n"
        "    ] a b\n"
        "  in (c, d) }"
    )


def test_text_of_while():
    f = lambda n, x: lax.fori_loop(0, n, lambda i, c: c * x, x)
    assert text(f, jnp.int32(3), jnp.float32(2)) == (
        "{ lambda ; a:i32[] b:f32[]. let\n"
        "    _:i32[] _:i32[] c:f32[] = while[\n"
        "      body_jaxpr={ lambda ; d:f32[] e:i32[] f:i32[] g:f32[]. let\n"
        "          h:i32[] = add e 1:i32[]\n"
        "          i:f32[] = mul g d\n"
        "        in (h, f, i) }\n"
        "      body_nconsts=1\n"
        "      cond_jaxpr={ lambda ; j:i32[] k:i32[] l:f32[]. let\n"
        "          m:bool[] = lt j k\n"
        "        in (m,) }\n"
        "      cond_nconsts=0\n"
        "    ] b 0:i32[] a b\n"
        "  in (c,) }"
    )


def test_what_a_loop_leaves_alone_does_not_travel_through_it():
    step = lambda c, x: ((c[0], c[1] + x * c[0]), (c[0], x))
    jaxpr = body_of(lambda a, b, xs: lax.scan(step, (a, b), xs), 1.0, 2.0, V)
    (eqn,) = jaxpr.eqns
    assert (eqn.op.num_consts, eqn.op.num_carry) == (1, 1)
    a, b, xs = jaxpr.ins
    assert jaxpr.outs[0] is a and jaxpr.outs[3] is xs
    loop = lambda a, b: lax.while_loop(
        lambda c: c[1] < 9, lambda c: (c[0], c[1] * c[0]), (a, b)
    )
    jaxpr = body_of(loop, 2.0, 1.0)
    assert jaxpr.outs[0] is jaxpr.ins[0] and jaxpr.eqns[0].op.body_nconsts == 1
    both = lambda p, a, b: lax.cond(p, lambda: (a, b), lambda: (a, 2 * b))
    jaxpr = body_of(both, True, 1.0, 2.0)
    assert jaxpr.outs[0] is jaxpr.ins[1] and len(jaxpr.eqns[-1].outs) == 1


def test_the_gradient_hoists_what_no_step_changes():
    def f(w, c, xs):
        return lax.scan(lambda c, x: (jnp.sin(c) * jnp.exp(w) + x, None), c, xs)[0]

    jaxpr = body_of(jax.grad(f, 1), 0.5, 0.7, V)
    forward, backward = [eqn.op for eqn in jaxpr.eqns if isinstance(eqn.op, Scan)]
    assert not any(eqn.op.name == "exp" for eqn in backward.jaxpr.eqns)
    assert len(backward.jaxpr.ins) - backward.num_carry - backward.num_consts == 1
    assert backward.num_consts == 1


def test_dead_code_leaves_loops():
    def f(c, xs):
        step = lambda c, x: ((c[0] * x, c[1] + 1, c[2] + c[1]), (c[0], c[2] * 2))
        (a, n, m), (ys, zs) = lax.scan(step, (c, 0.0, 0.0), xs)
        return a

    jaxpr = body_of(f, 1.0, V)
    (eqn,) = dce(jaxpr, (True,))[0].eqns
    check(dce(jaxpr, (True,))[0])
    assert eqn.op.num_carry == 1 and len(eqn.outs) == 1
    assert all(inner.op.name != "add" for inner in eqn.op.jaxpr.eqns)

    def g(x):
        state = (0, x, x, x)
        step = lambda s: (s[0] + 1, s[1] * 2, s[2] * 3, s[3] + s[2])
        return lax.while_loop(lambda s: s[0] < 3, step, state)[1]

    smaller, _ = dce(body_of(g, 2.0), (True,))
    check(smaller)
    assert len(smaller.eqns[0].outs) == 2
    h = lambda p, x, y: lax.cond(p, lambda: (x * 2, y), lambda: (x * 3, y * y))[0]
    smaller, _ = dce(body_of(h, True, 1.0, 2.0), (True,))
    check(smaller)
    assert len(smaller.eqns[-1].ins) == 2


def test_derived_loops_are_derived_once():
    f = jax.jit(jax.grad(lambda c: network(W, c, XS)))
    f(C)
    before = jax.see.compiles()
    for _ in range(3):
        f(C + 1)
    assert len(jax.see.compiles()) == len(before)


def test_parameters_that_libraries_read():
    jaxpr = body_of(lambda c, xs: lax.scan(lambda c, x: (c + x, c), c, xs), 1.0, V)
    (eqn,) = jaxpr.eqns
    assert eqn.primitive is lax.scan_p
    assert eqn.params["linear"] == (False, False)
    assert eqn.params["_split_transpose"] is False
    outs = eqn.primitive.bind(1.0, V, **eqn.params)
    close(outs[0], 1 + jnp.sum(V))
    jaxpr = body_of(branch, True, 1.0)
    eqn = jaxpr.eqns[-1]
    assert eqn.primitive is lax.cond_p and len(eqn.params["branches"]) == 2
    close(eqn.primitive.bind(np.int32(1), 2.0, **eqn.params)[0], np.sin(2.0) * 2)
    assert {"cond_jaxpr", "body_jaxpr"} <= set(body_of(settle, W, C).eqns[-1].params)


# ----------------------------------------------------------------------------- messages


def message(error, f, *args):
    with pytest.raises(error) as caught:
        f(*args)
    return str(caught.value)


def test_a_carry_that_changes_its_type():
    def step(c, x):
        return {"a": c["a"] + x, "n": c["n"] + 0.5}, None

    init = {"a": jnp.float32(0), "n": jnp.int32(0)}
    got = message(TypeError, lambda: lax.scan(step, init, V))
    assert "`step` must return a carry of the types that it takes" in got
    assert "  > ['n'] | int32[]   | float32[]   <- the dtypes differ" in got
    assert "    ['a'] | float32[] | float32[]" in got
    assert "jnp.asarray(init['n'], 'float32')" in got and ".astype('int32')" in got


def test_a_carry_that_changes_its_shape_or_structure():
    got = message(TypeError, lambda: lax.fori_loop(0, 3, lambda i, c: V, 1.0))
    assert "float32[] | float32[5]   <- the shapes differ" in got
    assert "Start with init_val of shape (5,)" in got
    f = lambda: lax.while_loop(lambda c: c[0] < 3, lambda c: {"x": c}, (0, 1.0))
    got = message(TypeError, f)
    assert "the carry that goes in" in got and "the carry that comes out" in got
    assert "> a tuple of length 2" in got and "> a dict with keys ['x']" in got


def test_branches_that_differ():
    got = message(TypeError, lambda: lax.cond(True, lambda: 1, lambda: 2.5))
    assert "int32[]  | float32[]   <- the dtypes differ" in got
    assert "jnp.asarray(x, 'float32')" in got
    got = message(TypeError, lambda: lax.cond(True, lambda: V, lambda: V[0]))
    assert "float32[5] | float32[]   <- the shapes differ" in got
    assert "jnp.broadcast_to(x, (5,))" in got
    got = message(TypeError, lambda: lax.switch(1, [lambda: (1, 2), lambda: [1, 2]]))
    assert "> a tuple of length 2" in got and "> a list of length 2" in got


WRONG = [
    (lambda: lax.cond(V > 0, lambda: 1, lambda: 2), TypeError, "jnp.where"),
    (lambda: lax.cond("a", lambda: 1, lambda: 2), TypeError, "got 'a' of type str"),
    (lambda: lax.cond(True, 3, lambda: 2), TypeError, "true_fun must be a function"),
    (lambda: lax.cond(True, abs, abs, 1, operand=2), TypeError, "not both"),
    (lambda: lax.cond(True, abs, abs, "x"), TypeError, "got 'x' of type str"),
    (lambda: lax.cond(True, lambda: "a", lambda: "b"), TypeError, "must be arrays"),
    (lambda: lax.switch(1.0, [abs, abs], 1), TypeError, "must be an integer"),
    (lambda: lax.switch(True, [abs, abs], 1), TypeError, "lax.cond"),
    (lambda: lax.switch(0, [], 1), ValueError, "at least one"),
    (lambda: lax.switch(jnp.arange(2), [abs, abs], 1), TypeError, "vmap"),
    (lambda: lax.scan(lambda c, x: c, 1.0, V), TypeError, r"pair \(carry, y\)"),
    (lambda: lax.scan(lambda c, x: (c, x, x), 1.0, V), TypeError, "length 3"),
    (lambda: lax.scan(lambda c, x: (c, x), 1.0), ValueError, "length=n"),
    (lambda: lax.scan(lambda c, x: (c, x), 1.0, 2.0), ValueError, "no leading axis"),
    (lambda: lax.scan(lambda c, x: (c, x), 1.0, V, 4), ValueError, "not 4"),
    (lambda: lax.scan(lambda c, x: (c, x), 1.0, (V, XS)), ValueError, "not 5"),
    (lambda: lax.scan(lambda c, x: (c, x), 1.0, length=-3), ValueError, ">= 0, got -3"),
    (lambda: lax.scan(lambda c, x: (c, x), 1.0, length=2.5), ValueError, "2.5"),
    (lambda: lax.scan(lambda c, x: (c, x), "a", V), TypeError, "init must be an array"),
    (lambda: lax.scan(lambda c, x: (c, "a"), 1.0, V), TypeError, "returned a value of type str"),
    (lambda: lax.scan(3, 1.0, V), TypeError, "f must be a function, got 3"),
    (lambda: jax.jit(lambda n: lax.scan(lambda c, x: (c, x), 1.0, length=n))(3),
     TypeError, "fori_loop"),
    (lambda: lax.while_loop(lambda c: c < V, abs, 1.0), TypeError, "jnp.any"),
    (lambda: lax.while_loop(lambda c: c, abs, 1.0), TypeError, "x != 0"),
    (lambda: lax.while_loop(lambda c: (c > 1,), abs, 1.0), TypeError, "bool scalar"),
    (lambda: lax.while_loop(1, abs, 1.0), TypeError, "cond_fun must be a function"),
    (lambda: lax.fori_loop(0.0, 3, lambda i, c: c, 1), TypeError, "equal types"),
    (lambda: lax.fori_loop(0, V, lambda i, c: c, 1), TypeError, "upper must be"),
    (lambda: lax.fori_loop(0, 2**40, lambda i, c: c, 1), OverflowError, "fit int32"),
    (lambda: lax.fori_loop(jnp.int8(0), jnp.int16(3), lambda i, c: c, 1), TypeError,
     "equal types"),
    (lambda: jax.jit(lambda n: lax.fori_loop(0, n, lambda i, c: c, 1, unroll=2))(3),
     ValueError, "unroll"),
    (lambda: jax.grad(lambda x: lax.while_loop(lambda c: c < 9, lambda c: c * x, x))(2.),
     ValueError, "fori_loop.*Python integers"),
    (lambda: jax.jit(jax.grad(lambda x: lax.while_loop(
        lambda c: c < 9, lambda c: c * x, x)))(2.0), ValueError, "custom_root"),
    (lambda: lax.map(lambda x: x, ()), ValueError, "nothing to map over"),
    (lambda: lax.map(lambda x: x, V, batch_size=-1), ValueError, "negative"),
    (lambda: lax.map(lambda x: x, (V, XS)), ValueError, "lax.map.*\n.*\n.*\n.*\n.*not 5"),
    (lambda: lax.associative_scan(jnp.add, (V, C)), ValueError, "not 5"),
    (lambda: lax.associative_scan(jnp.add, V, axis=1), ValueError, "axis 1"),
    (lambda: lax.reduce(V, V, jnp.add, (0,)), ValueError, "non-scalar initial value"),
    (lambda: lax.reduce((V, V), 0.0, jnp.add, (0,)), TypeError, "structure of operands"),
    (lambda: lax.reduce(V, 0.0, lambda a, b: a > b, (0,)), TypeError, "got bool"),
    (lambda: lax.custom_root(lambda x: (x,), 1.0, lambda f, x: x, lambda g, y: y),
     TypeError, "`?f`? must return the structure"),
    (lambda: lax.custom_root(lambda x: V, 1.0, lambda f, x: x, lambda g, y: y),
     TypeError, "<- the shapes differ"),
    (lambda: lax.custom_linear_solve(lambda x: x, V, lambda f, b: b[0]), TypeError,
     "<- the shapes differ"),
    (lambda: lax.custom_linear_solve(lambda x: x, V, lambda f, b: b, has_aux=True),
     TypeError, "has_aux=True"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_wrong_arguments(number):
    call, error, words = WRONG[number]
    with pytest.raises(error, match=words):
        call()


def test_tracers_do_not_leak_out_of_loops():
    kept = []

    def step(c, x):
        kept.append(c)
        return c + x, None

    lax.scan(step, 1.0, V)
    with pytest.raises(jax.errors.UnexpectedTracerError, match="step"):
        kept[0] + 1


def test_an_error_inside_of_a_body_is_the_users_own():
    def step(c, x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        lax.scan(step, 1.0, V)
    close(lax.scan(lambda c, x: (c + x, None), 1.0, V)[0], 1 + jnp.sum(V))


# ------------------------------------------------------------------------- disabled jit


def test_without_jit_python_loops():
    seen = []

    def step(c, x):
        seen.append(float(c))
        return c + x, c

    with jax.disable_jit():
        last, ys = lax.scan(step, 0.0, jnp.arange(3.0))
        assert seen == [0, 0, 1]
        assert float(last) == 3 and ys.tolist() == [0, 0, 1]
        ys = lax.scan(step, 0.0, jnp.arange(3.0), reverse=True)[1]
        assert ys.tolist() == [3, 2, 0]
        assert lax.while_loop(lambda n: n < 10, lambda n: n * 2, 1) == 16
        assert lax.fori_loop(0, 3, lambda i, c: c + i, 0) == 3
        assert lax.cond(True, lambda: "text", lambda: 1) == "text"
        assert lax.switch(1, [lambda: "a", lambda: "b"]) == "b"
        close(lax.map(lambda x: x * 2, V), V * 2)
        to_five = jax.vmap(
            lambda x: lax.while_loop(lambda c: c < 5, lambda c: c + 1, x)
        )
        assert to_five(jnp.array([0, 7, 3])).tolist() == [5, 7, 5]
        cube = lambda x: lax.scan(lambda c, _: (c * x, None), x, length=2)[0]
        assert float(jax.grad(cube)(2.0)) == 12


def test_results_are_arrays():
    for out in jax.tree.leaves(
        [
            lax.scan(lambda c, x: (c, x), (1.0, V), np.arange(3.0)),
            lax.cond(True, lambda x: x, lambda x: x, 2.0),
            lax.while_loop(lambda c: c[0] < 0, lambda c: c, (1, np.ones(2))),
            lax.fori_loop(0, 2, lambda i, c: c, (1, 2.0)),
            lax.map(lambda x: x, np.arange(3)),
        ]
    ):
        assert isinstance(out, Value)


def test_loops_that_change_nothing_run():
    for start in ((), None, {}, 1.0):
        assert lax.while_loop(lambda x: False, lambda x: x, start) == start


def test_associative_scan_keeps_types():
    with pytest.raises(TypeError, match="the shapes differ"):
        lax.associative_scan(lambda a, b: jnp.ones(3), jnp.ones(5))
    with pytest.raises(TypeError, match="the dtypes differ"):
        lax.associative_scan(lambda a, b: a > b, jnp.ones(5))
