"""Calls of Python from programs: what is called, when, with what, and what comes back."""

from __future__ import annotations

import functools
import gc
import io as io_module
import subprocess
import sys
import textwrap
import threading
import weakref

import numpy as np
import pytest
from plugin import needs_plugin, on_plugin

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax
from tetrad._src.cpu import host
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


@pytest.fixture(params=["here", "apart"])
def place(request, monkeypatch):
    """Programs with callbacks run on this thread, or all of them on another one."""
    if request.param == "apart":
        monkeypatch.setattr(host.HostRun, "run_here", host.HostRun.run_apart)


anyplace = pytest.mark.usefixtures("place")
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
        return x

    f(jnp.ones(3))
    assert seen.count == 2
    f(jnp.ones(3))
    assert seen.count == 4


@anyplace
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


@anyplace
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


@anyplace
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
        jax.debug.print("x {}", 1, 2)
    with pytest.raises(ValueError, match="Unused keyword arguments.*f-string"):
        jax.debug.print("x", y=1)


# ------------------------------------------------------------------------------ failures


@anyplace
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


@anyplace
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


@anyplace
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


@anyplace
def test_callbacks_run_on_the_thread_that_calls():
    threads = []

    @jax.jit
    def f(x):
        return jax.pure_callback(
            lambda v: (threads.append(threading.get_ident()), v)[1], TRIPLE, x
        )

    f(jnp.ones(3))
    assert threads == [threading.get_ident()]


@anyplace
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


# --------------------------------------------------------------------------- many lanes


@everywhere
@pytest.mark.parametrize(
    ("method", "shapes"),
    [
        ("sequential", [((), ())] * 4),
        ("sequential_unrolled", [((), ())] * 4),
        ("expand_dims", [((4,), (1,))]),
        ("broadcast_all", [((4,), (4,))]),
        ("legacy_vectorized", [((4,), ())]),
    ],
)
def test_vmap_methods(run, method, shapes):
    got = []

    def callback(x, y):
        got.append((x.shape, y.shape))
        return np.asarray(x) + np.asarray(y)

    def f(x, y):
        return jax.pure_callback(callback, F32, x, y, vmap_method=method)

    out = run(jax.vmap(f, in_axes=(0, None)))(jnp.arange(4.0), 1.0)
    np.testing.assert_array_equal(out, np.arange(4.0) + 1)
    assert got == shapes
    if method == "legacy_vectorized":
        return  # such a callback cannot know which axis is which
    nested = jax.vmap(jax.vmap(f, (None, 0)), (0, None))
    out = run(nested)(jnp.arange(2.0), jnp.arange(3.0))
    np.testing.assert_array_equal(out, np.arange(2.0)[:, None] + np.arange(3.0))


def test_vmap_without_a_method_is_an_error():
    with pytest.raises(NotImplementedError, match="vmap_method='sequential'"):
        jax.vmap(lambda x: jax.pure_callback(np.sin, F32, x))(jnp.ones(3))
    with pytest.raises(ValueError, match="vmap_method must be one of"):
        jax.pure_callback(np.sin, F32, 1.0, vmap_method="all")


def test_a_lane_that_returns_the_wrong_shape_is_an_error():
    def f(x):
        return jax.pure_callback(
            lambda v: np.ones(2, np.float32), F32, x, vmap_method="sequential"
        )

    with pytest.raises(RuntimeError, match="Incorrect output shape"):
        jax.vmap(f)(jnp.ones(3))


@everywhere
def test_vmap_of_io_and_debug(run, seen):
    run(jax.vmap(lambda x, y: io_callback(seen, F32, x + y), (0, None)))(
        jnp.arange(3.0), 1
    )
    assert seen.values == [1, 2, 3]
    run(jax.vmap(lambda x: jax.debug.callback(seen, x, ordered=True)))(jnp.arange(3.0))
    assert seen.values == [1, 2, 3, 0, 1, 2]
    with pytest.raises(ValueError, match="Cannot `vmap` ordered IO callback"):
        run(jax.vmap(lambda x: io(seen, F32, x)))(jnp.arange(3.0))
    seen.values.clear()
    assert run(jax.vmap(lambda x: io_callback(seen, F32, x)))(jnp.zeros(0)).shape == (
        0,
    )
    assert seen.count == 0


@everywhere
def test_lanes_take_their_own_branch(run):
    rare, often = Seen(), Seen()

    def f(x):
        return lax.cond(
            x == 7,
            lambda x: jax.pure_callback(rare, F32, x),
            lambda x: jax.pure_callback(often, F32, -x),
            x,
        )

    out = run(jax.vmap(f))(jnp.arange(100.0))
    np.testing.assert_array_equal(
        out, np.where(np.arange(100) == 7, 7.0, -np.arange(100.0))
    )
    assert rare.values == [7]
    assert often.count == 99


def test_a_rare_dear_branch_costs_in_proportion(seen):
    def dear(x):
        def step(i, x):
            return jax.pure_callback(seen, F32, x) + 1

        return lax.fori_loop(0, 20, step, x)

    f = jax.jit(jax.vmap(lambda x: lax.cond(x % 50 == 0, dear, lambda x: x, x)))
    out = f(jnp.arange(200.0))
    assert seen.count == 4 * 20
    x = np.arange(200.0)
    np.testing.assert_array_equal(out, np.where(x % 50 == 0, x + 20, x))


@everywhere
def test_lanes_take_their_own_branch_of_a_switch(run, seen):
    def f(k, x):
        branches = [
            lambda x, k=k: jax.debug.callback(seen, x * 10 + k) for k in range(3)
        ]
        return lax.switch(k, branches, x)

    run(jax.vmap(f))(jnp.array([2, 0, 2]), jnp.arange(3))
    assert seen.values == [2, 10, 22]


def test_an_untaken_branch_that_never_ends_is_not_entered(seen):
    def endless(x):
        return lax.while_loop(
            lambda c: c > -1, lambda c: jax.pure_callback(seen, F32, c), x
        )

    f = jax.jit(jax.vmap(lambda x: lax.cond(x < 0, endless, lambda x: x + 1, x)))
    np.testing.assert_array_equal(f(jnp.arange(5.0)), np.arange(5.0) + 1)
    assert seen.count == 0


@everywhere
def test_lanes_loop_for_themselves(run, seen):
    def f(n):
        def body(c):
            i, total = c
            return i + 1, total + jax.pure_callback(seen, F32, i + 0.0)

        return lax.while_loop(lambda c: c[0] < n, body, (0, 0.0))[1]

    n = jnp.array([3, 0, 1])
    np.testing.assert_array_equal(run(jax.vmap(f))(n), [3.0, 0.0, 0.0])
    assert seen.values == [0, 1, 2, 0]


def test_a_vectorized_callback_serves_all_lanes_of_a_loop(seen):
    def f(n):
        def body(c):
            return c[0] + 1, jax.pure_callback(
                seen, F32, c[1], vmap_method="expand_dims"
            )

        return lax.while_loop(lambda c: c[0] < n, body, (0, 1.0))[1]

    assert jax.vmap(f)(jnp.array([3, 0, 1])).tolist() == [1.0, 1.0, 1.0]
    assert [len(x) for x in seen.values] == [3, 3, 3]


def test_lanes_that_go_their_own_ways_have_no_order():
    def f(x):
        return lax.cond(x > 0, lambda: io(lambda: None, None), lambda: None)

    with pytest.raises(ValueError, match="Cannot `vmap` ordered IO callback"):
        jax.vmap(f)(jnp.arange(3))


# -------------------------------------------------------------------------- derivatives


def test_callbacks_state_no_derivative():
    for call in (jax.pure_callback, io_callback):
        with pytest.raises(ValueError, match=r"callbacks do not support JVP"):
            jax.grad(lambda x, call=call: call(np.sin, F32, x))(1.0)
        with pytest.raises(ValueError, match=r"callbacks do not support transpose"):
            jax.linear_transpose(lambda x, call=call: call(np.sin, F32, x), 1.0)(1.0)
    with pytest.raises(
        ValueError, match="Transpose doesn't support debugging callbacks"
    ):
        jax.linear_transpose(lambda x: (jax.debug.print("{}", x), x)[1], 1.0)(1.0)


def test_callbacks_without_results_to_differentiate(seen):
    def f(x):
        io_callback(lambda v: seen.values.append(float(v)), None, x)
        size = jax.pure_callback(
            lambda v: np.int32(v.size), jax.ShapeDtypeStruct((), np.int32), x
        )
        return x * size

    assert jax.jit(jax.grad(f))(2.0) == 1
    assert jax.jvp(f, (2.0,), (3.0,))[1] == 3
    assert seen.values == [2, 2]


def test_custom_derivatives_of_callbacks(seen):
    @jax.custom_jvp
    def sin(x):
        return jax.pure_callback(np.sin, x, x)

    @sin.defjvp
    def sin_jvp(primals, tangents):
        (x,), (t,) = primals, tangents
        return sin(x), jax.pure_callback(np.cos, x, x) * t

    np.testing.assert_allclose(jax.jit(jax.grad(sin))(2.0), np.cos(2.0), rtol=1e-6)

    @jax.custom_vjp
    def g(x):
        return x * 2

    g.defvjp(
        lambda x: (x * 2, x), lambda x, ct: (jax.debug.callback(seen, ct), ct * 2)[1:]
    )
    assert jax.grad(lambda x: g(x) * 3)(1.0) == 6
    assert seen.values == [3]


def test_effects_happen_once_under_derivatives(seen):
    def f(x):
        scale = io_callback(seen, F32, lax.stop_gradient(x))
        return jnp.sin(x) * scale

    for g in (f, jax.jit(f), jax.checkpoint(f), jax.checkpoint(jax.jit(f))):
        for run in (plain, jax.jit):
            seen.values.clear()
            np.testing.assert_allclose(
                run(jax.grad(g))(2.0), 2 * np.cos(2.0), rtol=1e-6
            )
            assert seen.values == [2]


def test_effects_of_loops_happen_once_under_linearize(seen):
    def f(x):
        def body(c):
            jax.debug.callback(seen, c[0])
            return c[0] + 1, c[1] * x

        return lax.while_loop(lambda c: c[0] < 3, body, (0, x))[1]

    y, linear = jax.linearize(f, 2.0)
    assert (float(y), float(linear(1.0))) == (16.0, 32.0)
    assert seen.values == [0, 1, 2]


# ------------------------------------------------------------------------------- jaxprs


def test_jaxprs_show_names_and_effects():
    def f(x):
        jax.debug.print("{}", x)
        jax.debug.callback(print, x, ordered=True)
        io_callback(print, None, x)
        return jax.pure_callback(np.sin, x, x)

    jaxpr = jax.make_jaxpr(f)(1.0)
    names = [eqn.primitive.name for eqn in jaxpr.eqns]
    assert names == ["debug_print", "debug_callback", "io_callback", "pure_callback"]
    assert sorted(map(str, jaxpr.effects)) == ["Debug", "IO", "OrderedDebug"]
    assert "vmap_method=None" in str(jaxpr)
    looped = jax.make_jaxpr(lambda x: lax.scan(lambda c, _: (f(c), None), x, None, 2))(
        1.0
    )
    assert looped.effects == jaxpr.effects


def test_jaxprs_with_callbacks_can_be_evaluated(printed):
    jaxpr = jax.make_jaxpr(lambda x: jax.debug.print("x {}", x))(1.0)
    jax.core.eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, 3.0)
    assert printed() == ["x 3.0"]


def test_the_same_call_again_compiles_nothing():
    @jax.jit
    def f(x, flag):
        jax.debug.print("x {}", x)
        return x

    x = jnp.ones(3)
    with jax.see.compiles() as compiles:
        for _ in range(3):
            jax.jit(lambda x: (jax.debug.print("x {}", x), x)[1])(x)
    assert len(compiles) <= 1


# ---------------------------------------------------------------------------- breakpoint


@everywhere
def test_breakpoint(run):
    out = io_module.StringIO()

    def g(y):
        z = y + 1
        commands = io_module.StringIO("p z\nu\np n, y\nd\nz * n\np nothing\nbt\nc\n")
        jax.debug.breakpoint(stdin=commands, stdout=out)
        return z

    def f(x):
        n = 2
        y = x * n
        return g(y)

    assert run(f)(jnp.arange(2.0)).tolist() == [1.0, 3.0]
    text = out.getvalue()
    assert text.startswith("Entering jdb:\n(jdb) Array([1., 3.], dtype=float32)\n")
    assert "(2, Array([0., 2.], dtype=float32))" in text
    assert "->          return g(y)" in text
    assert "*** NameError: name 'n' is not defined" in text
    assert "*** NameError: name 'nothing' is not defined" in text
    assert "Traceback:" in text


def test_breakpoint_ends_the_program_when_there_are_no_commands():
    with pytest.raises(SystemExit):
        jax.jit(
            lambda x: jax.debug.breakpoint(
                stdin=io_module.StringIO(), stdout=io_module.StringIO()
            )
        )(1)


# --------------------------------------------------------------- processes and interrupts


def script(text, **options):
    code = "import tetrad as jax, tetrad.numpy as jnp, numpy as np\n" + textwrap.dedent(
        text
    )
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        **options,
    )


def test_ctrl_c_in_callbacks_between_them_and_in_kernels():
    done = script(
        """
        import os, signal, time, threading
        from tetrad import lax

        def interrupt():
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()

        def slow():
            interrupt()
            while True:
                time.sleep(0.01)

        @jax.jit
        def waits():
            jax.debug.callback(slow)

        @jax.jit
        def loops(x):
            def body(c):
                lax.cond(c == 10, lambda: jax.debug.callback(interrupt), lambda: None)
                return c + 1
            return lax.while_loop(lambda c: c > -1, body, x)

        @jax.jit
        def loops_in_a_kernel(x):
            jax.debug.callback(interrupt, ordered=True)
            return lax.while_loop(lambda c: c > -1.0, lambda c: c * 1.0, x)

        calls = [waits, lambda: loops(0), lambda: loops_in_a_kernel(jnp.ones(2)[0])]
        for call in [*calls, *calls]:
            start = time.monotonic()
            try:
                call()
                print("not interrupted")
            except KeyboardInterrupt:
                print("interrupted", time.monotonic() - start < 1.5)
        print(jax.jit(lambda x: jax.pure_callback(np.sin, x, x))(0.0))
        """
    )
    assert done.stdout.splitlines() == ["interrupted True"] * 6 + ["0.0"], done
    assert done.stderr == "", done


def test_arguments_live_where_the_program_runs():
    done = script(
        """
        jax.set_cpu_devices(2)
        x = jax.device_put(jnp.ones(3), jax.devices()[1])
        show = lambda v: print(v.device.id, v.committed)

        def f(x):
            jax.debug.callback(show, x)
            return jax.pure_callback(lambda v: v + 1, x, x)

        for y in (f(x), jax.jit(f)(x)):
            print(y.device.id, y.committed)
        """
    )
    assert done.stdout.split("\n")[1:4] == ["1 False", "1 True", "1 True"], done


def test_processes_may_be_forked_in_callbacks_and_after_them():
    done = script(
        """
        import os

        f = jax.jit(lambda x: jax.lax.fori_loop(
            0, 3, lambda i, x: jax.pure_callback(lambda v: v + 1, x, x), x))

        def child(work):
            process = os.fork()
            if not process:
                work()
                os._exit(0)
            print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)

        def use():
            assert f(1.0) == 4.0

        use()
        child(use)
        jax.jit(lambda: jax.debug.callback(lambda: child(use)))()
        use()
        print("done")
        """
    )
    assert done.stdout.split() == ["0", "0", "done"], done


def test_a_program_without_a_reader_of_exceptions_ends_well():
    done = script(
        """
        f = jax.jit(lambda x: jax.debug.print("printed {}", x))
        f(1)
        raise SystemExit(3)
        """
    )
    assert (done.stdout, done.returncode) == ("printed 1\n", 3)


# ------------------------------------------------------------------- with other features


def test_programs_compiled_ahead(seen):
    @jax.jit
    def f(x):
        jax.debug.callback(seen, x)
        return jax.pure_callback(lambda v: v + 1, x, x)

    compiled = f.lower(jnp.ones(2)).compile()
    assert compiled(jnp.ones(2)).tolist() == [2.0, 2.0]
    assert seen.count == 1
    assert "call" in jax.see.program(f)(jnp.ones(2)).text("plan")


@anyplace
def test_donated_arguments(seen):
    @functools.partial(jax.jit, donate_argnums=0)
    def f(x, y):
        jax.debug.callback(seen, x[0])
        z = x + y
        jax.debug.callback(seen, x[0])
        return jax.pure_callback(lambda v: v * 2, z, z)

    x = jnp.zeros(1000)
    y = x + 1
    for _ in range(3):
        x = f(x, y)
    assert x[0] == 14
    assert seen.values == [0, 0, 2, 2, 6, 6]


@anyplace
def test_callbacks_with_threads_that_compute():
    def callback(x):
        results = [None, None]

        def work(k):
            results[k] = jnp.sum(jnp.sin(x) * k) + inner(x)

        threads = [threading.Thread(target=work, args=(k,)) for k in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return results[0] + results[1]

    inner = jax.jit(lambda x: jax.pure_callback(lambda v: jnp.max(v), F32, x))
    out = jax.jit(lambda x: jax.pure_callback(callback, F32, x))(jnp.ones(3))
    np.testing.assert_allclose(out, 3 * np.sin(1.0) + 2, rtol=1e-5)


@anyplace
def test_callbacks_that_call_each_other_deeply():
    def depth(n):
        if n == 0:
            return lambda v: v
        inner = jax.jit(lambda x: jax.pure_callback(depth(n - 1), F32, x) + 1)
        return inner

    assert depth(8)(0.0) == 8


@anyplace
def test_an_exception_comes_out_of_nested_callbacks():
    inner = jax.jit(lambda x: jax.pure_callback(lambda v: 1 // 0, F32, x))
    outer = jax.jit(lambda x: jax.pure_callback(lambda v: inner(v), F32, x))
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            outer(1.0)


def test_looking_for_a_nan_repeats_no_effects(seen):
    @jax.jit
    def f(x):
        jax.debug.callback(seen, x)
        return jnp.log(x)

    with jax.debug_nans(True), pytest.raises(FloatingPointError, match=r"jnp.log"):
        f(-1.0)
    assert seen.values == [-1]


def test_values_that_differ_do_not_compile_again():
    def run(x):
        for k in range(3):
            jax.jit(lambda x: jax.pure_callback(np.sin, F32, x))(x + k)

    run(jnp.float32(1))
    with jax.see.compiles() as compiles:
        run(jnp.float32(2))
    assert len(compiles) == 0


@anyplace
def test_no_memory_is_kept():
    f = jax.jit(lambda x: jax.pure_callback(lambda v: v, x, x * 2) + 1)
    f(jnp.ones(1000))
    gc.collect()
    stats = jax.devices()[0].memory_stats
    before = stats()["bytes_in_use"]
    for _ in range(5):
        f(jnp.ones(1000))
        with pytest.raises(ZeroDivisionError):
            jax.jit(lambda x: jax.pure_callback(lambda v: 1 // 0, x, x * 2))(
                jnp.ones(1000)
            )
    assert stats()["bytes_in_use"] <= before


@needs_plugin
def test_on_a_device_that_cannot_call_python(seen):
    def f(x):
        jax.debug.callback(seen, x[0], ordered=True)

        def step(c, v):
            return c + jax.pure_callback(lambda u: u * 2, F32, v), v + 1

        total, more = lax.scan(step, 0.0, x)
        return lax.cond(
            total > 5, lambda: io_callback(seen, F32, total), lambda: -total
        ), more

    with on_plugin():
        total, more = jax.jit(f)(jnp.arange(3.0))
        assert total == 6 and total.device.platform == "xla_cpu"
        assert more.tolist() == [1.0, 2.0, 3.0]
        assert seen.values == [0, 6]
        y = jax.jit(
            jax.vmap(
                lambda n: lax.while_loop(
                    lambda c: c < n,
                    lambda c: jax.pure_callback(lambda v: v + 1, c, c),
                    0,
                )
            )
        )
        assert y(jnp.array([2, 0, 3])).tolist() == [2, 0, 3]
        with pytest.raises(NotImplementedError, match="runs in pieces"):
            jax.jit(f).lower(jnp.arange(3.0)).compile()


def test_closures_of_old_callbacks_are_let_go():
    class Big:
        pass

    alive = []
    for _ in range(160):
        big = Big()
        alive.append(weakref.ref(big))
        jax.jit(lambda x, big=big: jax.pure_callback(lambda v: (big, v)[1], x, x))(1.0)
        del big
    gc.collect()
    assert sum([ref() is not None for ref in alive]) < 140
