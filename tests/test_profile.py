"""`see.profile`: what it attributes to which line, what it counts, what it writes.

Lines, calls, bytes and operations are exact. No test asserts a time, only that times add
up.
"""

import functools
import gzip
import json
import re
import threading

import numpy as np
import profile_program as program
import pytest
from generated import strategies
from generated.properties import property_of
from plugin import needs_plugin, on_plugin
from profile_program import line, lines
from support import Page

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax
from tetrad._src.cpu import timed
from tetrad._src.ops import bounds
from tetrad._src.runtime import events
from tetrad._src.see import collect
from tetrad._src.see.profile import _label, _ranges

N = 300
X = None  # ones, while a test runs
FLOAT = 4


@pytest.fixture(autouse=True)
def attributed(monkeypatch):
    """A program that cannot be attributed part by part fails the test."""

    def whole(*args):
        raise AssertionError("the passes did not give the same program again")

    global X
    monkeypatch.setattr(timed, "whole", whole)
    X = jnp.ones((N, N))
    yield
    X = None
    bounds._told.clear()  # warnings that are given once


def numbers(row):
    """The numbers of the lines of a row, which must be of one file."""
    file, _, text = row.where.removesuffix(" (backward)").rpartition(":")
    assert file.endswith(".py"), row.where
    found = set()
    for part in text.split(", "):
        first, _, last = part.partition("–")
        found |= set(range(int(first), int(last or first) + 1))
    return found


@functools.partial(jax.jit, static_argnames="turns")
def slow(x, turns):
    """So long that Python has to wait."""
    return lax.fori_loop(0, turns, lambda i, x: x @ x / N, x)


def profiled(fun, *args):
    with jax.see.profile() as p:
        jax.block_until_ready(fun(*args))
    return p


def row_of(p, *names):
    """The one row of just these lines."""
    (found,) = [row for row in p.rows if numbers(row) == lines(*names)]
    return found


def kernel_of(p, name):
    (found,) = [kernel for kernel in p.kernels if name in kernel.name.split(", ")]
    return found


def check_sums(p):
    assert p.device == pytest.approx(sum(row.seconds for row in p.rows))
    assert p.device == pytest.approx(sum(row.seconds for row in p.kernels))
    assert sum(r.calls for r in p.rows) == sum(k.calls for k in p.kernels)
    parts = p.python + p.compiling + p.running + p.waiting
    assert parts >= p.wall * 0.999
    assert p.waiting <= p.wall * 1.001 and p.running <= p.wall * 1.001
    if p.rows:
        assert sum(row.share for row in p.rows) == pytest.approx(1)
        assert p.rows == sorted(p.rows, key=lambda r: -r.seconds)
    for row in (*p.rows, *p.kernels):
        assert row.seconds > 0 and row.calls > 0 and row.nbytes >= 0


# ----------------------------------------------------------------- lines, calls, numbers


def test_eager_code():
    p = profiled(program.eager, X)
    check_sums(p)
    assert p.programs == 1
    (row,) = p.rows  # one kernel, fused from three lines
    assert numbers(row) == lines("sin", "double", "sum")
    assert row.source == "y = jnp.sin(x)  # mark sin"
    (kernel,) = p.kernels
    assert kernel.name == "sin, mul, reduce_sum"
    assert kernel.types == f"float32[{N},{N}]"
    assert kernel.nbytes == N * N * FLOAT + FLOAT
    assert kernel.operations == 3 * N * N
    assert kernel.gigaflops > 0 and kernel.gigabytes_per_second > 0


def test_jit():
    p = profiled(program.jitted, X, X)
    check_sums(p)
    product = row_of(p, "product")
    assert product.calls == 1 and product.operations == 2 * N**3
    assert product.nbytes == 3 * N * N * FLOAT
    assert kernel_of(p, "dot_general").where == product.where
    assert row_of(p, "tanh").calls == 1
    assert row_of(p, "sort").calls >= 1
    again = profiled(lambda: [program.jitted(X, X) for _ in range(4)])
    assert row_of(again, "product").calls == 4
    assert row_of(again, "product").operations == 8 * N**3
    assert again.compiling == 0


def test_loops():
    """The lines of the body, with the number of turns."""
    p = profiled(program.looped, X, X)
    check_sums(p)
    product = kernel_of(p, "dot_general")
    assert numbers(product) == lines("loop product")
    assert product.calls == 7 and product.operations == 7 * 2 * N**3
    assert kernel_of(p, "cos").calls == 7
    assert numbers(kernel_of(p, "cos")) == lines("loop cosine")


def test_a_loop_that_is_one_kernel():
    p = profiled(program.scanned, jnp.ones(1000))
    check_sums(p)
    kernel = kernel_of(p, "exp")
    assert kernel.calls == 1
    assert numbers(kernel) == lines("step", "step result")
    assert kernel.operations == 3 * 1000


def test_while_loops():
    p = profiled(program.searched, X)
    check_sums(p)
    assert kernel_of(p, "dot_general").calls == 5
    assert numbers(kernel_of(p, "sinh")) == lines("while body")


def test_branches():
    for flag, here, other in (
        (True, "branch taken", "branch not taken"),
        (False, "branch not taken", "branch taken"),
    ):
        p = profiled(program.chosen, flag, X)
        check_sums(p)
        found = set().union(*[numbers(row) for row in p.rows])
        assert line(here) in found and line(other) not in found


def test_gradients():
    """The lines of the function, not that of `grad`; backward parts say so."""
    p = profiled(program.slope, X, X)
    check_sums(p)
    assert all([numbers(row) == lines("loss") for row in p.rows])
    assert any([row.where.endswith(" (backward)") for row in p.rows])


def test_callbacks():
    p = profiled(jax.jit(program.called), X)
    check_sums(p)
    assert numbers(kernel_of(p, "pure_callback")) == lines("callback")
    assert numbers(kernel_of(p, "mul")) == lines("callback")


def test_one_program_at_two_lines():
    """Code of one structure is one program; its time goes to the line that ran."""
    with jax.see.profile() as p:
        for _ in range(3):
            a = jnp.cosh(X).block_until_ready()
        b = jnp.cosh(a).block_until_ready()
    calls = {row.source.split(" = ")[0]: row.calls for row in p.rows}
    assert calls == {"a": 3, "b": 1} and b.shape == (N, N)


def test_small_programs():
    """They run on the thread of Python, in an order of their own."""
    with jax.see.profile() as p:
        c = jnp.zeros(())
        for i in range(50):
            c = c + i
            assert float(c) >= 0
    check_sums(p)
    (row,) = [row for row in p.rows if row.source == "c = c + i"]
    assert row.calls == 50 and p.running >= row.seconds * 0.999


def test_pending_work_of_before_is_not_counted():
    x = jnp.ones(1000)
    y = jnp.arctan(x)
    with jax.see.profile() as p:
        z = y * 2
    check_sums(p)
    assert [kernel.name for kernel in p.kernels] == ["mul"]
    assert z.is_ready()


def test_empty_block():
    with jax.see.profile() as p:
        pass
    check_sums(p)
    assert (p.rows, p.kernels, p.device, p.programs) == ([], [], 0, 0)
    assert "0 kernels in 0 programs" in str(p)


def test_other_threads():
    def work():
        jnp.tan(X).block_until_ready()

    with jax.see.profile() as p:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    check_sums(p)
    assert kernel_of(p, "tan").calls == 1
    assert all([w.where for w in p.waits if w.reason == "block_until_ready"])


def test_one_thread_of_computation():
    with jax.threads(1):
        p = profiled(program.jitted, X, X)
    check_sums(p)
    assert row_of(p, "product").operations == 2 * N**3
    assert p.running >= row_of(p, "product").seconds


def test_waits_name_line_and_reason():
    slow(X, turns=150).block_until_ready()
    acts = {
        "float()": lambda y: float(y[0, 0]),
        "np.asarray": np.asarray,
        "block_until_ready": lambda y: y.block_until_ready(),
        "device_get": jax.device_get,
        "print": str,
        "bool()": lambda y: bool(y[0, 0]),
    }
    for reason, act in acts.items():
        with jax.see.profile() as p:
            act(slow(X, turns=150))
        (wait,) = [w for w in p.waits if w.where]
        assert wait.reason == reason and wait.times == 1
        assert re.fullmatch(r".*test_profile\.py:\d+", wait.where)
        assert wait.seconds <= p.waiting
        assert re.search(rf"waited  times  line\n .* {re.escape(reason)}$", str(p))


def test_nested_profiles_and_failures():
    with jax.see.profile() as outer, jax.see.profile() as inner:
        jnp.sinh(X).block_until_ready()
    for p in (outer, inner):
        assert kernel_of(p, "sinh").calls == 1
    with pytest.raises(ZeroDivisionError), jax.see.profile() as p:
        jnp.sinh(X).block_until_ready()
        1 / 0
    assert kernel_of(p, "sinh").calls == 1
    assert not (events.runs.listeners or events.waits.listeners)
    with pytest.raises(RuntimeError, match="of one block"):
        p.__enter__()
    with pytest.raises(RuntimeError, match="complete at the end of its block"):
        jax.see.profile().rows
    assert str(jax.see.profile()) == "a profile whose block has not ended"


def test_programs_are_left_as_they_are():
    """Timing changes neither a program nor its image: later runs do without."""
    x = jnp.ones((N, N))
    f = jax.jit(lambda x: jnp.log1p(x) @ x)
    f(x).block_until_ready()
    compiled = f.lower(x).compile().executable
    code = np.array(compiled.code)
    profiled(f, x)
    np.testing.assert_array_equal(compiled.code, code)
    assert compiled.image is None or compiled.image.times is None


# ----------------------------------------------------------------------- any program


@pytest.mark.filterwarnings("ignore::tetrad.errors.OutOfBoundsWarning")
@property_of(strategies.any_programs(), 25)
def test_any_program(case):
    """The same bits, and every launch belongs to a step with a line."""
    f = case.load(jax)
    arguments = case.arguments(jax, case.numbers(0))
    plain = [np.asarray(x) for x in jax.block_until_ready(f(*arguments))]
    with jax.see.profile() as p:
        got = jax.block_until_ready([f(*arguments), jax.jit(f)(*arguments)])
    check_sums(p)
    for x, want in zip(got[0], plain):
        np.testing.assert_array_equal(np.asarray(x), want)
    for key, sums in p.record.sums.items():
        of, origins = p.record.origins(key)
        for number in sums:
            assert origins[of[number]].places or origins[of[number]].name == "copy"


# ------------------------------------------------------------------------- what it prints


def test_text():
    p = profiled(program.jitted, X, X)
    text = str(p)
    assert re.match(
        r"[\d.e+]+ \S+: Python [\d.]+ \S+, compiling [\d.]+ \S+, running short programs"
        r" [\d.]+ \S+, waiting [\d.]+ \S+\ndevices computed [\d.e+]+ \S+:"
        r" \d+ kernels in 1 program\n",
        text,
    )
    for words in ("time  share", "calls", "moved", "GB/s", "GFLOP/s"):
        assert words in text
    assert re.search(
        rf"profile_program.py:{line('product')}  h = x @ w  # mark product\n", text
    )
    assert re.search(rf"dot_general float32\[{N},{N}\] float32\[{N},{N}\]  ", text)
    assert repr(p) == text


def test_labels():
    assert _ranges([3]) == "3"
    assert _ranges([1, 2, 3, 7, 9, 10]) == "1–3, 7, 9–10"
    assert _ranges([1, 3, 5, 7, 9]) == "1, 3, 5, 7, …"
    assert _label([("a.py", 3), ("a.py", 4), ("b.py", 1)]) == "a.py:3–4 and b.py:1"
    assert _label([]) == "an unknown line"


# -------------------------------------------------------------------------- what it saves


def check_trace(data):
    """What Perfetto and chrome://tracing ask of a trace."""
    assert set(data) == {"traceEvents", "displayTimeUnit", "otherData"}
    tracks = {}
    for event in data["traceEvents"]:
        assert event["ph"] in "XM"
        assert isinstance(event["pid"], int) and isinstance(event["tid"], int)
        assert isinstance(event["name"], str) and event["name"]
        if event["ph"] == "X":
            assert event["dur"] >= 0 and event["ts"] >= -1e-3
            tracks.setdefault((event["pid"], event["tid"]), []).append(event)
    for track in tracks.values():  # entries of one track lie beside or inside of others
        open_until = []
        for event in sorted(track, key=lambda e: (e["ts"], -e["dur"])):
            end = event["ts"] + event["dur"]
            while open_until and open_until[-1] <= event["ts"] + 1e-2:
                open_until.pop()
            assert not open_until or end <= open_until[-1] + 1e-2
            open_until.append(end)
    return [e for e in data["traceEvents"] if e["ph"] == "X"]


def test_trace(tmp_path):
    with jax.see.profile() as p:
        with jax.profiler.TraceAnnotation("first part", epoch=3):
            program.looped(X, X).block_until_ready()
            float(jnp.tan(X).sum())
        program.jitted(X, X).block_until_ready()
        program.searched(X).block_until_ready()
        slow(X, turns=150).block_until_ready()
    path = p.save(tmp_path / "profile.json")
    assert path == tmp_path / "profile.json"
    found = check_trace(json.loads(path.read_text()))
    (part,) = [e for e in found if e["cat"] == "user"]
    assert part["name"] == "first part" and part["args"] == {"epoch": "3"}
    kernels = [e for e in found if e["cat"] == "kernel"]
    (loop,) = [e for e in kernels if e["name"].startswith("loop of 7: ")]
    details = loop["args"][f"dot_general float32[{N},{N}] float32[{N},{N}]"]
    assert details["calls"] == 7
    assert details["lines"].endswith(f"profile_program.py:{line('loop product')}")
    programs = [e for e in found if e["cat"] == "program"]
    assert len(programs) == p.programs
    waits = [e for e in found if e["cat"] == "wait"]
    assert "wait: block_until_ready" in {e["name"] for e in waits}
    names = {
        e["args"]["name"]
        for e in json.loads(path.read_text())["traceEvents"]
        if e["ph"] == "M"
    }
    assert {"Python", "MainThread", "device cpu:0", "programs"} <= names


def test_the_timeline_is_bounded(monkeypatch):
    monkeypatch.setattr(collect, "MOST", 10)
    monkeypatch.setattr(collect, "TOGETHER", 4)
    with jax.see.profile() as p:
        for i in range(30):
            (X[0] + i).block_until_ready()
    assert len(p.record.timeline) == 10 and p.record.left_out == 20
    assert sum([row.calls for row in p.rows]) == 30


def test_page(tmp_path):
    p = profiled(program.jitted, X, X)
    path = p.save(str(tmp_path / "profile.html"))
    text = path.read_text()
    words = Page(text).words
    assert any([w.endswith(f"profile_program.py:{line('product')}") for w in words])
    assert "h = x @ w  # mark product" in words
    assert "http" not in text and "<script" not in text
    Page(p._repr_html_())
    Page(profiled(lambda: None)._repr_html_())


def test_other_endings(tmp_path):
    p = profiled(program.eager, X)
    with pytest.raises(ValueError, match=r"saved as \.json or \.html, got 'p\.svg'"):
        p.save("p.svg")


# --------------------------------------------------------------------- the other backend


@needs_plugin
def test_plugin(tmp_path):
    """There it is programs that are timed, one after the other."""
    with on_plugin():
        x = jnp.ones((N, N))
        with jax.see.profile() as p:
            y = program.jitted(x, x)
            float(program.eager(x))
    check_sums(p)
    assert y.is_ready() and p.programs >= 2
    found = set().union(*[numbers(row) for row in p.rows])
    assert lines("product", "tanh", "sort", "sin", "double", "sum") <= found
    check_trace(json.loads(p.save(tmp_path / "p.json").read_text()))


# -------------------------------------------------------------------------- jax.profiler


def traces(directory):
    found = []
    for path in sorted(directory.rglob("*.json.gz")):
        with gzip.open(path, "rt") as file:
            found.append((path, check_trace(json.load(file))))
    return found


def test_trace_into_a_directory(tmp_path):
    with jax.profiler.trace(tmp_path / "logs"):
        jnp.tan(X).block_until_ready()
    ((path, found),) = traces(tmp_path)
    assert path.name.endswith(".trace.json.gz")
    assert path.parent.parent == tmp_path / "logs" / "plugins" / "profile"
    assert "tan" in [e["name"] for e in found if e["cat"] == "kernel"]


def test_start_and_stop(tmp_path):
    with pytest.raises(RuntimeError, match=r"no trace is being taken; jax\.profiler"):
        jax.profiler.stop_trace()
    jax.profiler.start_trace(str(tmp_path), create_perfetto_trace=True)
    with pytest.raises(RuntimeError, match="being taken already, into"):
        jax.profiler.start_trace(tmp_path)
    y = jnp.tan(X) + 1  # pending
    jax.profiler.stop_trace()
    assert y.is_ready()
    names = [path.name for path, found in traces(tmp_path) if found]
    assert len(names) == 2 and "perfetto_trace.json.gz" in names
    with pytest.raises(NotImplementedError, match=r"ui\.perfetto\.dev"):
        jax.profiler.start_trace(tmp_path, create_perfetto_link=True)


def test_a_trace_of_a_block_that_fails(tmp_path):
    with pytest.raises(KeyError), jax.profiler.trace(tmp_path):
        jnp.tan(X).block_until_ready()
        raise KeyError
    assert traces(tmp_path)
    with pytest.raises(RuntimeError):
        jax.profiler.stop_trace()


def test_options(tmp_path):
    options = jax.profiler.ProfileOptions()
    options.host_tracer_level = 0
    options.python_tracer_level = 0
    with jax.profiler.trace(tmp_path / "a", profiler_options=options):
        jnp.tan(X).block_until_ready()
    ((_, found),) = traces(tmp_path / "a")
    assert {e["cat"] for e in found} == {"program", "kernel"}
    options = jax.profiler.ProfileOptions()
    options.device_tracer_level = 0
    with jax.profiler.trace(tmp_path / "b", profiler_options=options):
        jnp.tan(X).block_until_ready()
    ((_, found),) = traces(tmp_path / "b")
    assert {e["cat"] for e in found} <= {"wait", "compile"}
    with pytest.raises(NotImplementedError, match="cProfile"):
        options.python_tracer_level = 1
    with pytest.raises(AttributeError):
        options.duration_ms = 3
    with pytest.raises(TypeError, match="must be a jax.profiler.ProfileOptions"):
        jax.profiler.start_trace(tmp_path, profiler_options={})


def test_annotations():
    @jax.profiler.annotate_function
    def load(n):
        """Doc."""
        return n + 1

    named = jax.profiler.annotate_function(load, name="again", part=2)
    assert load.__name__ == "load" and load.__doc__ == "Doc."
    assert not jax.profiler.TraceAnnotation.is_enabled()
    with jax.profiler.TraceAnnotation("nobody sees this"):
        load(0)
    with jax.see.profile() as p:
        assert jax.profiler.TraceAnnotation.is_enabled()
        assert load(1) == 2 and named(2) == 3
        with jax.profiler.StepTraceAnnotation("train", step_num=7) as step:
            step.set_metadata(loss=0.5)
        with pytest.raises(KeyError), jax.profiler.TraceAnnotation("fails"):
            raise KeyError
    marks = [(mark.name, mark.details) for mark in p.record.marks]
    name = load.__qualname__
    assert marks == [
        (name, {}),
        (name, {}),
        ("again", {"part": 2}),
        ("train 7", {"step_num": 7, "loss": 0.5}),
        ("fails", {}),
    ]
    for mark in p.record.marks:
        assert mark.thread == threading.get_ident() and mark.begin <= mark.end


def test_servers():
    with pytest.raises(NotImplementedError, match=r"jax\.profiler\.trace\(directory\)"):
        jax.profiler.start_server(9999)
    with pytest.raises(ValueError, match="no profiler server"):
        jax.profiler.stop_server()
