"""Long and deep programs: what tracing, passes and code generation do grows with the
program and no faster, arrays that are closed over are not copied, and Ctrl-C gets through.

Work is counted in calls of Python functions and in characters of emitted text, which do
not depend on the machine.
"""

import subprocess
import sys

import numpy as np
import pytest
from support import calls_of

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax
from tetrad._src.cpu import compile as compiler
from tetrad._src.cpu.llvm import module
from tetrad._src.passes.fuse import FOLDS, MOST, fuse
from tetrad._src.passes.ir import Kernel, leaves
from tetrad._src.passes.lives import read_values
from tetrad._src.passes.simplify import simplify

X = jnp.arange(8.0)
MATRIX = 0.9 * jnp.eye(8)


def elementwise(n):
    def f(x):
        for i in range(n):
            x = jnp.sin(x) * 1.01 + 0.1 if i % 2 else x * x - 0.5
        return jnp.sum(x)

    return f


def products(n):
    def f(x):
        for _ in range(n):
            x = jnp.tanh(x @ MATRIX)
        return jnp.sum(x)

    return f


def folds(n):
    def f(x):
        for _ in range(n):
            x = x / jnp.sum(x * x)
        return jnp.sum(x)

    return f


def updates(n):
    def f(x):
        for i in range(n):
            x = x.at[i % 8].set(x[(i + 1) % 8] * 0.5)
        return jnp.sum(x)

    return f


def branches(n):
    def f(x):
        for i in range(n):
            x = lax.cond(x[0] > i, jnp.sin, jnp.cos, x)
        return jnp.sum(x)

    return f


def loops(n):
    def f(x):
        for _ in range(n):
            x = lax.fori_loop(0, 3, lambda i, y: y * 0.9 + 1, x)
        return jnp.sum(x)

    return f


def wide(n):
    def f(x):
        return jnp.sum(jnp.concatenate([jnp.sin(x * i) for i in range(n)]))

    return f


def stacked(n):
    def f(x):
        return jnp.sum(jnp.stack([jnp.sum(x * i) ** 2 for i in range(n)]))

    return f


def nested(n):
    f = jnp.sin
    for _ in range(n):
        f = jax.jit(lambda x, f=f: f(x) * 1.01)
    return lambda x: jnp.sum(f(x))


PROGRAMS = [elementwise, products, folds, updates, branches, loops, wide, stacked]


def plan_of(f, *args):
    jaxpr = jax.jit(f).lower(*args)._function.entry.program.jaxpr
    smaller = simplify(jaxpr)
    return fuse(smaller, (False,) * len(jaxpr.ins), compiler.COSTS)


def work(f):
    """Calls to trace `f`, to plan it, and to write its kernels."""

    def run():
        plan = plan_of(f, X)
        lowered = compiler.lower_steps(plan)
        compiler.allocate(plan, compiler.scratch(lowered))

    return calls_of(run)


# ------------------------------------------------------------------------------- growth


@pytest.mark.parametrize("gradient", [False, True], ids=["value", "gradient"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_work_grows_with_the_program(program, gradient):
    make = (lambda n: jax.grad(program(n))) if gradient else program
    work(make(20))  # what is done once
    assert work(make(80)) < 2.5 * work(make(40))


@pytest.mark.parametrize("gradient", [False, True], ids=["value", "gradient"])
def test_work_grows_with_the_depth_of_calls(gradient):
    make = (lambda n: jax.grad(nested(n))) if gradient else nested
    work(make(10))
    assert work(make(60)) < 2.8 * work(make(30))


def test_steps_of_long_programs_do_not_nest():
    """Neither the program nor its gradient is walked by recursion."""
    depth, frame = 0, sys._getframe()
    while frame is not None:
        depth, frame = depth + 1, frame.f_back
    jax.jit(jax.grad(elementwise(4)))(X).block_until_ready()
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(depth + 120)
    try:
        jax.jit(jax.grad(elementwise(1000)))(X).block_until_ready()
    finally:
        sys.setrecursionlimit(limit)


def test_kernels_stay_short():
    """Compilers take more than linear time for one function."""
    for f in (jax.grad(elementwise(200)), wide(200), stacked(200), updates(200)):
        plan = plan_of(f, X)
        for step in leaves(plan.steps):
            if type(step) is Kernel:
                assert len(step.reductions) <= FOLDS
                assert len(step.reads) + len(step.writes) <= 2 * MOST
        kernels = {}
        for launches, _ in compiler.lower_steps(plan).values():
            for launch in launches:
                if type(launch.loops) is compiler.Loops:
                    kernels[launch.loops] = None
        texts = [len(module([("k", compiler.write(x))])) for x in kernels]
        assert max(texts) < 250_000


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_what_nobody_reads_is_not_stored(program):
    for f in (program(100), jax.grad(program(100))):
        plan = plan_of(f, X)
        read = set(plan.outs) | {part.whole for part in plan.parts.values()}
        written = set()
        for step in leaves(plan.steps):
            read.update(read_values(step))
            if type(step) is Kernel and step.inner is None:
                written.update([write.value for write in step.writes])
        protected = set(plan.parts) | {v for s in plan.steps for v in _carried(s)}
        assert written <= read | protected


def _carried(step):
    if hasattr(step, "carries"):
        yield from [v for pair in step.carries for v in pair]
        yield step.condition
        yield from step.stacked
        for inner in (*step.test, *step.body):
            yield from _carried(inner)
    if hasattr(step, "blocks"):
        yield step.index
        for block in step.blocks:
            for inner in block:
                yield from _carried(inner)


def test_results_of_long_programs_are_those_of_short_steps():
    for program in PROGRAMS:
        f = program(24)
        got = jax.jit(jax.grad(f))(X)
        np.testing.assert_allclose(got, jax.grad(f)(X), rtol=2e-5, atol=1e-6)


def test_a_long_program_of_nothing():
    """Its arguments do not matter, and its results are stored on the way."""
    f = jax.jit(
        jax.grad(lambda x: jnp.sum(jnp.stack([jnp.sum(x * i) for i in range(400)])))
    )
    np.testing.assert_array_equal(f(X), np.full(8, 399 * 400 / 2))


# --------------------------------------------------------------------------- eager loops


def test_a_long_eager_loop_is_few_programs():
    y = X
    with jax.see.compiles() as seen:
        for _ in range(10_000):
            y = jnp.sin(y) * 1.01 + 0.1
        y.block_until_ready()
    assert len(seen) <= 4
    stats = jax.devices()[0].memory_stats()
    before = stats["bytes_in_use"]
    for _ in range(2_000):
        y = y + 1
    assert jax.devices()[0].memory_stats()["bytes_in_use"] - before < 1 << 16


# ---------------------------------------------------------------------- closing over arrays


def test_arrays_that_are_closed_over_are_not_copied():
    device = jax.devices()[0]
    big = (jnp.zeros(25_000_000) + 1).block_until_ready()
    before = device.memory_stats()["bytes_in_use"]

    def moved():
        stats = device.memory_stats()
        return max(stats["peak_bytes_in_use"], stats["bytes_in_use"]) - before

    device.ledger.reset_peak()
    f = jax.jit(lambda i: big[i] + 1)
    compiled = f.lower(3).compile()
    assert moved() < 1 << 20
    assert float(compiled(3)) == 2.0 == float(f(3))
    scanned = jax.jit(
        lambda x: lax.scan(lambda c, i: (c + big[i], None), x, jnp.arange(10))[0]
    )
    assert float(scanned(0.0)) == 10.0
    either = jax.jit(lambda x: lax.cond(x > 0, lambda: big[0], lambda: -big[1]))
    assert float(either(-1.0)) == -1.0
    total = jax.jit(jax.value_and_grad(lambda x: jnp.sum(big[:10] * x)))
    assert float(total(2.0)[1]) == 10.0
    assert moved() < 1 << 20
    nbytes = compiled.memory_analysis().argument_size_in_bytes
    assert big.nbytes <= nbytes <= big.nbytes + 64
    assert str(f.trace(3).jaxpr).count("\n") < 30


# ------------------------------------------------------------------------------- Ctrl-C

INTERRUPTED = """
import ctypes, os, signal, sys, threading, time
import numpy as np
import tetrad as jax, tetrad.numpy as jnp
from tetrad import lax
from tetrad._src.cpu import engine, native_llvm

other = (jnp.arange(1000.0) * 2).block_until_ready()
sent = threading.Event()

def interrupt():
    sent.set()
    os.kill(os.getpid(), signal.SIGINT)

def after(seconds):
    threading.Timer(seconds, interrupt).start()

def healthy():
    assert float(jnp.sum(other)) == 999000.0
    assert float((jnp.ones((50, 50)) @ jnp.ones((50, 50)))[0, 0]) == 50.0
"""

COMPILING = """
engine.SHORT = 0
os.environ["TETRAD_CACHE"] = "0"
usleep = ctypes.CDLL(None).usleep
compile_object = native_llvm.compile_object
slow = [True]

def slowly(text, **options):
    if slow:  # a library that Python cannot interrupt
        interrupt()
        usleep(3_000_000)
    return compile_object(text, **options)

native_llvm.compile_object = slowly
f = jax.jit(lambda x: jnp.sin(x) * 1.37 + jnp.flip(x))
try:
    f(other).block_until_ready()
    print("not interrupted")
except KeyboardInterrupt:
    print("in work", len(engine._in_work))
slow.clear()
healthy()
np.testing.assert_allclose(f(other)[0], 1998.0)
print("healthy")
"""

LOOPS = """
def endless(x):
    return lax.while_loop(lambda c: c[0] < 1e30, lambda c: c * 1.0, x)

def in_lanes(x):
    one = lambda s: lax.while_loop(lambda c: c < 1e30, lambda c: c * 1.0, s)
    return jax.vmap(one)(x)

def of_products(x):
    y = jnp.ones((300, 300)) * 1e-3
    return lax.fori_loop(0, 1 << 30, lambda i, c: jnp.tanh(c @ y), y)

def of_branches(x):
    step = lambda i, c: lax.cond(c[0] > 1, jnp.sin, jnp.cos, c)
    return lax.fori_loop(0, 1 << 30, step, x)

def nested(x):
    inner = lambda i, c: lax.fori_loop(0, 1 << 30, lambda j, d: d * 0.5 + c, c)
    return lax.fori_loop(0, 1 << 30, inner, x)

for endless_one in (endless, in_lanes, of_products, of_branches, nested):
    after(0.3)
    try:
        jax.block_until_ready(jax.jit(endless_one)(other))
        print("ended")
    except KeyboardInterrupt:
        healthy()
print("healthy")
"""

# Ctrl-C after so many calls of Python functions and returns from them, so that it strikes
# at every place of recording, submitting and launching.
EVERYWHERE = """
import itertools

def strike(number, run):
    seen = itertools.count()

    def look(frame, event, argument):
        if event == "call" and next(seen) == number:
            sys.setprofile(None)
            raise KeyboardInterrupt

    sys.setprofile(look)
    try:
        run()
        return False
    except KeyboardInterrupt:
        return True
    finally:
        sys.setprofile(None)

kept = {}

def eager():
    y = kept["y"]
    for _ in range(2):
        kept["y"] = y = jnp.sin(y) * 2
        float(y[0])

step = jax.jit(lambda y: (jnp.sin(y) * 2 + y[::-1], y.at[3].set(1.0)))
large = jnp.ones(1 << 18).block_until_ready()

def jitted():
    kept["y"] = step(kept["y"])[1]
    kept["z"] = step(large)
    jax.block_until_ready(kept)

def traced():
    shift = next(shifts)
    f = lambda x: jnp.sum(jax.vmap(lambda s: s * jnp.sin(s) + shift)(x))
    jax.jit(jax.grad(f))(kept["y"])

shifts = iter(range(1, 1 << 20))
from tetrad._src.core import bind
base = bind.STATE.trace
for run, stride in ((eager, 1), (jitted, 1), (traced, 17)):
    kept = {"y": (other + 0).block_until_ready()}
    run()
    number = 0
    while strike(number, run):
        number += stride
        assert bind.STATE.trace is base, number
        assert np.isfinite(np.asarray(kept["y"])).all(), number
        assert float(other[999]) == 1998.0, number
    assert number > 20, number
healthy()
print("healthy")
"""


def run_interrupted(code):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", INTERRUPTED + code],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")


def test_interrupt_of_a_compilation():
    assert run_interrupted(COMPILING)[:2] == ["in work 1", "healthy"]


def test_interrupt_of_loops():
    assert run_interrupted(LOOPS)[:1] == ["healthy"]


def test_interrupts_at_every_place():
    assert run_interrupted(EVERYWHERE)[:1] == ["healthy"]
