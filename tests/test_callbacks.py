"""Calls of Python from programs: what is called, when, with what, and what comes back."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax
from tetrad.experimental import io_callback

F32 = jax.ShapeDtypeStruct((), np.float32)
TRIPLE = jax.ShapeDtypeStruct((3,), np.float32)


class Seen:
    """A callback that remembers what it was called with, and gives it back."""

    def __init__(self) -> None:
        self.values = []

    def __call__(self, x):
        self.values.append(np.array(x).tolist())
        return x

    @property
    def count(self):
        return len(self.values)


def io(callback, spec, *args):
    return io_callback(callback, spec, *args, ordered=True)


@pytest.fixture
def seen():
    return Seen()


@pytest.fixture
def printed(capsys):
    return lambda: capsys.readouterr().out.splitlines()


def plain(f):
    return f


everywhere = pytest.mark.parametrize("run", [plain, jax.jit])


# ---------------------------------------------------------------------- what comes back


@everywhere
@pytest.mark.parametrize("call", [jax.pure_callback, io_callback, io])
def test_results_of_a_callback(run, call):
    out = run(lambda x: call(np.sin, TRIPLE, 2 * x) + 1)(jnp.arange(3.0))
    np.testing.assert_allclose(out, np.sin(2 * np.arange(3.0)) + 1, rtol=1e-6)
    assert isinstance(out, jax.Array) and out.dtype == np.float32


@everywhere
def test_trees_go_in_and_come_out(run):
    def callback(x, *, more):
        return {"sum": x[0] + more["y"], "none": None}

    def f(x):
        spec = {"sum": F32, "none": None}
        return jax.pure_callback(callback, spec, (x,), more={"y": 2.0})

    assert run(f)(1.0) == {"sum": 3.0, "none": None}


@everywhere
def test_callbacks_get_arrays(run):
    def callback(x, n):
        assert type(x) is jax.Array and type(n) is jax.Array
        assert x.shape == (3,) and n.shape == ()
        return jnp.sum(x) * n + 1

    assert run(lambda x: jax.pure_callback(callback, F32, x, 2))(jnp.ones(3)) == 7


@everywhere
def test_arguments_stay_as_they_were(run):
    kept = []

    def f(x):
        for k in range(3):
            jax.debug.callback(kept.append, x + k)
            x = x * 2
        return x

    run(f)(jnp.ones(4))
    assert [x.tolist() for x in kept] == [[1.0] * 4, [3.0] * 4, [6.0] * 4]


@everywhere
def test_empty_arrays_keys_and_short_floats(run):
    def f(x, key, half):
        jax.debug.callback(lambda *args: got.extend(args), x, key, half)

    got = []
    run(f)(jnp.zeros((2, 0)), jax.random.key(3), jnp.ones(2, jnp.bfloat16))
    assert [x.shape for x in got] == [(2, 0), (), (2,)]
    assert (jax.random.key_data(got[1]) == jax.random.key_data(jax.random.key(3))).all()
    assert got[2].dtype == jnp.bfloat16


@everywhere
@pytest.mark.parametrize(
    ("returned", "words"),
    [
        (np.ones(2, np.float32), "Incorrect output shape for return value #0"),
        (np.ones(3, np.int32), "Incorrect output dtype for return value #0"),
        ((np.ones(3), np.ones(3)), "returned 2 arrays.*promises 1"),
        (None, "returned 0 arrays"),
    ],
)
def test_wrong_results_are_errors(run, returned, words):
    def wrong(x):
        return returned

    with pytest.raises(RuntimeError, match=words) as error:
        run(lambda x: jax.pure_callback(wrong, TRIPLE, x))(jnp.ones(3))
    assert "`wrong`" in str(error.value)


def test_results_of_64_bits_become_those_of_the_session():
    assert (
        jax.jit(lambda: jax.pure_callback(lambda: 42, F32.update(dtype=np.int32)))()
        == 42
    )
    with pytest.raises(ValueError, match="cannot specify 64-bit types"):
        jax.pure_callback(lambda: 1.0, jax.ShapeDtypeStruct((), np.float64))


# ------------------------------------------------------------------------ what is called


def test_pure_callbacks_nobody_needs_are_not_called(seen):
    @jax.jit
    def f(x):
        jax.pure_callback(seen, TRIPLE, x)
        return x

    f(jnp.ones(3))
    assert seen.count == 0


def test_equal_pure_callbacks_are_called_once(seen):
    @jax.jit
    def f(x):
        return jax.pure_callback(seen, TRIPLE, x) + jax.pure_callback(seen, TRIPLE, x)

    np.testing.assert_array_equal(f(jnp.ones(3)), 2.0)
    assert seen.count == 1


def test_callbacks_with_effects_are_all_called(seen):
    @jax.jit
    def f(x):
        for _ in range(2):
            io_callback(seen, TRIPLE, x)
            io_callback(lambda v: None, None, seen_later(x))
        return x

    def seen_later(x):
        return x + 1

    f(jnp.ones(3))
    assert seen.count == 2
    f(jnp.ones(3))
    assert seen.count == 4


def test_scan_while_and_cond_call_in_order(seen):
    def step(c, x):
        jax.debug.callback(seen, x)
        return c + x, lax.cond(
            x > 1, lambda: jax.debug.callback(seen, -x), lambda: None
        )

    jax.jit(lambda xs: lax.scan(step, 0.0, xs))(jnp.arange(4.0))
    assert seen.values == [0, 1, 2, -2, 3, -3]
    seen.values.clear()

    def body(i):
        jax.debug.callback(seen, i)
        return i + 1

    assert lax.while_loop(lambda i: i < 4, body, 1) == 4
    assert seen.values == [1, 2, 3]


def test_callbacks_in_conditions_and_carries():
    def cond(x):
        return jax.pure_callback(lambda v: np.asarray(v) < 5, F32.update(dtype=bool), x)

    def body(x):
        return jax.pure_callback(lambda v: v + 1, F32, x)

    assert jax.jit(lambda x: lax.while_loop(cond, body, x))(0.0) == 5


def test_loops_with_parts(seen):
    def f(xs):
        def step(c, x):
            y = jax.pure_callback(lambda v: v * 2, TRIPLE, x)
            return c + y, y

        return lax.scan(step, jnp.zeros(3), xs, reverse=True)

    xs = jnp.arange(12.0).reshape(4, 3)
    total, ys = jax.jit(f)(xs)
    np.testing.assert_array_equal(ys, 2 * xs)
    np.testing.assert_array_equal(total, 2 * xs.sum(0))


def test_recorded_work_and_callbacks_keep_their_order(seen):
    x = jnp.ones(3)
    for _ in range(3):
        x = x + 1
        jax.debug.callback(seen, x[0])
        x = jax.jit(lambda x: (jax.debug.callback(seen, -x[0]), x * 2)[1])(x)
    assert seen.values == [2, -2, 5, -5, 11, -11]
    jax.effects_barrier()


# ------------------------------------------------------------------------------ printing


@everywhere
def test_print(run, printed):
    def f(x):
        jax.debug.print("x: {} {y:.2f} {dtype}", x, y=2 * x[0], dtype=x.dtype)
        jax.debug.print("no placeholders")
        jax.debug.print(ordered=True)("{{}} {}", [x])

    run(f)(jnp.ones(2))
    assert printed() == [
        "x: [1. 1.] 2.00 float32",
        "no placeholders",
        "{} [Array([1., 1.], dtype=float32)]",
    ]


@everywhere
def test_print_uses_the_options_of_numpy(run, printed):
    def f(x):
        with np.printoptions(precision=2, suppress=True):
            jax.debug.print("{}", x)

    run(f)(np.array([1.2345, 2.3456, 1e-7], np.float32))
    assert printed() == ["[1.23 2.35 0.  ]"]


def test_print_under_transformations(printed):
    def f(x):
        y = jnp.sin(x)
        jax.debug.print("{:.1f} {:.2f}", x, y)
        return y

    jax.grad(f)(1.0)
    assert printed() == ["1.0 0.84"]
    jax.jit(jax.grad(jax.checkpoint(f)))(1.0)
    assert printed() == ["1.0 0.84"]
    jax.vmap(f)(jnp.arange(2.0))
    assert printed() == ["0.0 0.00", "1.0 0.84"]
    jax.grad(lambda x: lax.scan(lambda c, _: (f(c), None), x, None, 2)[0])(1.0)
    assert printed() == ["1.0 0.84", "0.8 0.75"]
    with jax.disable_jit():
        jax.jit(f)(1.0)
    assert printed() == ["1.0 0.84"]


def test_print_refuses_what_it_would_not_print():
    with pytest.raises(ValueError, match="Unused positional arguments.*f-string"):
        jax.debug.print("x", 1, 2) if False else jax.debug.print("x {}", 1, 2)
    with pytest.raises(ValueError, match="Unused keyword arguments.*f-string"):
        jax.debug.print("x", y=1)


# ------------------------------------------------------------------------------ failures


@everywhere
def test_the_exception_of_a_callback_comes_out(run):
    class Mine(Exception):
        pass

    def fail(x):
        raise Mine("here")

    with pytest.raises(Mine, match="here") as error:
        run(lambda x: jax.pure_callback(fail, TRIPLE, x))(jnp.ones(3))
    names = [entry.name for entry in error.traceback]
    assert "fail" in names
    assert run(lambda x: jax.pure_callback(lambda x: x, TRIPLE, x))(jnp.ones(3))[0] == 1


def test_an_exception_stops_a_loop(seen):
    def callback(i):
        seen(i)
        if i == 3:
            raise KeyError("three")

    @jax.jit
    def f(n):
        return lax.fori_loop(
            0, n, lambda i, c: (io_callback(callback, None, i), c)[1], n
        )

    with pytest.raises(KeyError, match="three"):
        f(1000)
    assert seen.values == [0, 1, 2, 3]


def test_a_callback_may_use_arrays_and_programs():
    later = jnp.arange(1000.0) * 2

    @jax.jit
    def inner(x):
        return jax.pure_callback(lambda v: jnp.cos(v) + later[1], TRIPLE, x)

    def callback(x):
        y = jnp.sin(inner(x))
        return y.block_until_ready() + jnp.zeros(3).at[1].set(1.0)

    out = jax.jit(lambda x: jax.pure_callback(callback, TRIPLE, x * 2) + 1)(jnp.ones(3))
    expected = np.sin(np.cos(2 * np.ones(3)) + 2) + [0, 1, 0] + 1
    np.testing.assert_allclose(out, expected, rtol=1e-5)


def test_callbacks_run_on_the_thread_that_calls():
    threads = []

    @jax.jit
    def f(x):
        return jax.pure_callback(
            lambda v: (threads.append(threading.get_ident()), v)[1], TRIPLE, x
        )

    f(jnp.ones(3))
    assert threads == [threading.get_ident()]


def test_many_threads_with_callbacks():
    f = jax.jit(lambda x: jax.pure_callback(lambda v: v + 1, TRIPLE, x) * 2)
    results = {}

    def work(k):
        x = jnp.full(3, float(k))
        for _ in range(20):
            results[k] = f(x)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [results[k].tolist() for k in range(4)] == [
        [2.0 * k + 2] * 3 for k in range(4)
    ]
