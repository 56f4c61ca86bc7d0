"""The limit of device memory: who respects it, what an overflow says, what it leaves."""

import contextlib
import gc
import os
import pickle
import re
import subprocess
import sys
import weakref

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax
from tetrad.errors import JaxRuntimeError, OutOfMemoryError

pytestmark = pytest.mark.usefixtures("few_objects")

MB = 1_000_000
HERE = os.path.basename(__file__)
OF_THE_MODULE = None


@pytest.fixture
def device():
    device = jax.devices("cpu")[0]
    gc.collect()
    jax.release_memory()
    before = device.memory_stats()["bytes_in_use"]
    device.ledger.reset_peak()
    yield device
    jax.set_memory_limit(None)
    gc.collect()
    assert device.memory_stats()["bytes_in_use"] == before


def in_use(device):
    return device.memory_stats()["bytes_in_use"]


def limit(device, nbytes):
    """Allows `nbytes` more than what is in use."""
    return jax.set_memory_limit(in_use(device) + nbytes)


def overflow(work):
    with pytest.raises(OutOfMemoryError) as caught:
        work()
    return caught.value


def line_of(words):
    """The number of the line of this file that ends with a mark."""
    with open(__file__, encoding="utf-8") as file:
        found = [n for n, line in enumerate(file, 1) if line.rstrip().endswith(words)]
    assert len(found) == 1
    return found[0]


# ------------------------------------------------------------------------ what is taken


@pytest.mark.parametrize(
    "value, nbytes",
    [
        (123, 123), ("123", 123), ("2KB", 2000), ("2kb", 2000), ("3 MB", 3 * MB),
        ("2GB", 2000 * MB), ("2KiB", 2048), ("1.5MiB", 3 << 19), ("1GiB", 1 << 30),
        ("1TB", 10**12), ("2_000", 2000), (np.int64(5000), 5000), (1e6, MB), (None, None),
    ],
)  # fmt: skip
def test_limits_are_numbers_or_texts(value, nbytes):
    with jax.set_memory_limit(value) as bound:
        assert bound.limit == nbytes
        assert jax.config.tetrad_memory_limit == nbytes


@pytest.mark.parametrize(
    "value, error, words",
    [
        (0, ValueError, "more than 0"),
        (-5, ValueError, "more than 0"),
        ("0GB", ValueError, "more than 0"),
        ("lots", ValueError, '"2GB"'),
        ("2XB", ValueError, "no unit 'XB'; the units are KB, MB"),
        ("-2GB", ValueError, "no number of bytes"),
        (True, TypeError, "no number of bytes"),
        (1.5, ValueError, "no whole number"),
        ([2], TypeError, "is a list"),
    ],
)
def test_what_is_no_number_of_bytes_is_refused(value, error, words):
    with pytest.raises(error, match=re.escape(words)):
        jax.set_memory_limit(value)
    with pytest.raises(error):
        jax.config.update("tetrad_memory_limit", value)
    assert jax.config.tetrad_memory_limit is None


def test_a_limit_says_what_was_before_and_restores_it():
    device = jax.devices("cpu")[0]
    free = device.ledger.limit
    first = jax.set_memory_limit("2GB")
    assert (first.limit, first.before) == (2000 * MB, None)
    assert "1.9 GiB" in repr(first) and "before: none" in repr(first)
    with jax.set_memory_limit("1GB", device) as second:
        assert second.before == 2000 * MB
        assert device.memory_stats()["bytes_limit"] == 1000 * MB
        with jax.set_memory_limit("500MB"), jax.set_memory_limit("100MB", "cpu"):
            assert device.memory_stats()["bytes_limit"] == 100 * MB
        assert device.memory_stats()["bytes_limit"] == 1000 * MB
    assert device.memory_stats()["bytes_limit"] == min(2000 * MB, free)
    assert jax.set_memory_limit(None).before == 2000 * MB
    assert device.ledger.limit == free
    with pytest.raises(TypeError, match="one of jax.devices"):
        jax.set_memory_limit("1GB", 3)


def test_a_limit_beyond_the_machine_changes_nothing():
    device = jax.devices("cpu")[0]
    free = device.ledger.limit
    with jax.set_memory_limit("900TB"):
        assert device.ledger.limit == free


def test_the_limit_is_of_the_process():
    with pytest.raises(ValueError, match="whole process"):
        jax.config.scope("tetrad_memory_limit", "1GB")


def test_the_environment_sets_the_limit():
    code = (
        "import tetrad as jax, tetrad.numpy as jnp\n"
        "print(jax.devices()[0].memory_stats()['bytes_limit'])\n"
        "try:\n"
        "    jnp.ones(1 << 20).block_until_ready()\n"
        "except MemoryError as error:\n"
        "    print(error.report.limit)\n"
    )
    env = {**os.environ, "TETRAD_MEMORY_LIMIT": "3MB"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=env
    )
    assert done.stdout.split() == ["3000000", "3000000"], done.stderr
    env["TETRAD_MEMORY_LIMIT"] = "3XB"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=env
    )
    assert "TETRAD_MEMORY_LIMIT='3XB'" in done.stderr and "no unit" in done.stderr


# ----------------------------------------------------------------------- who respects it


def test_eager_results_respect_it(device):
    x = jnp.ones(MB).block_until_ready()
    limit(device, 10 * MB)
    kept = [x * i for i in range(2)]
    jax.block_until_ready(kept)
    overflow(lambda: jax.block_until_ready([x + i for i in range(5)]))
    assert device.ledger.peak <= device.ledger.limit
    assert [float(k[0]) for k in kept] == [0, 1]


def test_intermediate_values_of_jit_respect_it(device):
    @jax.jit
    def f(x):
        y = jnp.outer(x, x)
        return jnp.linalg.inv(y + jnp.eye(x.size)).sum()

    x = jnp.ones(1000).block_until_ready()
    expected = float(f(x))
    limit(device, 3 * MB)
    device.ledger.reset_peak()
    error = overflow(lambda: f(x).block_until_ready())
    assert error.report.asked >= 4 * MB
    assert "computes on its way (the largest is float32[1000,1000]" in str(error)
    assert device.ledger.peak <= device.ledger.limit
    jax.set_memory_limit(None)
    assert float(f(x)) == expected


def test_loops_respect_it(device):
    def step(x, _):
        return x + 1, x

    x = jnp.ones(100_000).block_until_ready()
    limit(device, 10 * MB)
    overflow(lambda: lax.scan(step, x, None, length=50))
    carry, _ = lax.scan(step, x, None, length=5)
    assert float(carry[0]) == 6
    total = lax.fori_loop(0, 1000, lambda i, x: x + i, x)
    assert float(total[0]) == 1 + sum(range(1000))
    assert device.ledger.peak <= device.ledger.limit


def test_lanes_of_vmap_respect_it(device):
    x = jnp.ones((50, 300)).block_until_ready()
    limit(device, 5 * MB)

    def f(x):
        return jnp.cumsum(jnp.outer(x, x), axis=0).sort()

    overflow(lambda: jax.vmap(f)(x).block_until_ready())
    assert f(x[0]).shape == (300, 300)
    assert device.ledger.peak <= device.ledger.limit


def test_work_space_of_decompositions_respects_it(device):
    x = jnp.asarray(np.random.default_rng(0).normal(size=(400, 400)), jnp.float32)
    x.block_until_ready()
    jnp.linalg.svd(x)[1].block_until_ready()  # compiled now
    limit(device, MB)
    overflow(lambda: jax.block_until_ready(jnp.linalg.svd(x)))
    limit(device, 20 * MB)
    device.ledger.reset_peak()
    jax.block_until_ready(jnp.linalg.svd(x))
    assert device.ledger.peak <= device.ledger.limit


def test_copies_of_host_data_respect_it(device):
    limit(device, 3 * MB)
    host = np.ones(MB, np.float32)
    for make in (jnp.asarray, jnp.array, jax.device_put):
        error = overflow(lambda make=make: make(host))
        assert error.report.asked == 4 * MB
        assert "host data" in str(error)
    assert jnp.asarray(host[: MB // 2]).shape == (MB // 2,)


def test_callbacks_respect_it(device):
    @jax.jit
    def f(x):
        shape = jax.ShapeDtypeStruct((MB,), np.float32)
        return jax.pure_callback(lambda x: np.full(MB, x), shape, x).sum()

    assert float(f(1.0)) == MB
    limit(device, 3 * MB)
    overflow(lambda: f(1.0))
    eager = overflow(
        lambda: jax.pure_callback(
            lambda: np.ones(MB, np.float32), jax.ShapeDtypeStruct((MB,), np.float32)
        )
    )
    assert eager.report.asked == 4 * MB


def test_an_overflow_inside_of_a_callback_reaches_the_user_once(device):
    def host(x):
        big = jnp.ones(3 * MB) * 2
        return np.float32(big.sum() + x)

    @jax.jit
    def f(x):
        return jax.pure_callback(host, jax.ShapeDtypeStruct((), np.float32), x) + 1

    limit(device, 4 * MB)
    x = jnp.float32(1)
    big = jnp.arange(2 * MB)
    assert float(f(x)) == 6 * MB + 2  # fused: nothing large is ever made
    overflow(big.block_until_ready)


def test_a_limit_of_one_platform_binds_it_alone(device):
    with jax.set_memory_limit(in_use(device) + MB, "cpu"):
        overflow(jnp.ones(MB).block_until_ready)


def test_free_lists_count_under_the_limit(device):
    from tetrad._src.cpu import memory

    for size in range(1, 6):
        jnp.ones(size * 100_000).block_until_ready()
    assert memory.cached_bytes() > 2 * MB
    limit(device, 3 * MB)
    x = jnp.ones(700_000).block_until_ready()
    assert x.nbytes + memory.cached_bytes() <= 3 * MB


# ------------------------------------------------------------------ what is tried before


def test_pending_work_that_holds_arrays_is_finished_first(device):
    big = (jnp.ones(MB) * 2).block_until_ready()
    total = big.sum()
    del big
    limit(device, MB)
    host = np.ones(MB, np.float32)
    x = jnp.asarray(host)  # needs the room of `big`, which pending work still reads
    assert x.shape == (MB,)
    assert float(total) == 2 * MB


def test_dead_pending_work_is_dropped_first(device):
    big = jnp.ones(MB).block_until_ready()
    limit(device, MB)
    unread = big + 1
    del unread, big
    assert jnp.asarray(np.ones(MB, np.float32)).shape == (MB,)


def test_cycles_are_collected_first(device):
    class Node:
        pass

    gc.disable()
    try:
        node = Node()
        node.itself = node
        node.array = jnp.ones(MB).block_until_ready()
        limit(device, MB)
        del node
        y = (jnp.arange(MB) + 1).block_until_ready()
        assert int(y[5]) == 6
    finally:
        gc.enable()


def test_what_fits_only_one_after_the_other_is_computed_so(device):
    big = jnp.ones(MB).block_until_ready()
    small = big.sum()
    other = jnp.arange(MB) + 1
    del big
    limit(device, MB)
    assert int(other[0]) == 1  # `big` has to go before
    assert float(small) == MB


def test_only_what_is_asked_for_has_to_fit(device):
    x = jnp.ones(MB).block_until_ready()
    limit(device, 9 * MB)
    pending = [x * i for i in range(10)]
    assert float(pending[7][3]) == 7
    assert float(pending[3].sum()) == 3 * MB
    assert device.ledger.peak <= device.ledger.limit


def test_an_update_in_place_needs_no_room(device):
    x = jnp.zeros(MB).block_until_ready()
    others = [x * i for i in range(3)]
    limit(device, MB)
    x = x.at[3].set(5.0)
    overflow(lambda: jax.block_until_ready(others))
    others.clear()
    assert float(x[3]) == 5


# ------------------------------------------------------------------------- what is told


def test_the_list_that_grows_is_named(device):
    history = []
    x = jnp.ones(2_500_000).block_until_ready()
    limit(device, 200 * MB)

    def train():
        for i in range(100):
            history.append(x * i)  # grows

    error = overflow(train)
    text = str(error)
    assert f"{HERE}:{line_of('# grows')}" in text
    assert "history.append(x * i)" in text
    done = sum(h.buffer is not None for h in history)
    assert done == 20
    assert f"{done} × 9.5 MiB  float32[2500000]" in text
    assert "`history[0]` … `history[19]`" in text
    assert error.report.rule == "grows"
    assert f"`history` in train holds {done} arrays" in text
    assert len(text.splitlines()) <= 25
    assert "RESOURCE_EXHAUSTED" in text


def test_variables_are_named_where_a_process_has_very_many_objects(device, monkeypatch):
    monkeypatch.setattr("tetrad._src.util.owners.PATIENCE", 0)
    local = jnp.ones(MB).block_until_ready()
    monkeypatch.setitem(globals(), "OF_THE_MODULE", local + 1)
    jax.block_until_ready(OF_THE_MODULE)
    limit(device, 0)
    arrays = overflow(lambda: (local + 2).block_until_ready()).report.arrays
    names = {name for array in arrays for name in array.names}
    here = "test_variables_are_named_where_a_process_has_very_many_objects"
    assert names >= {"`OF_THE_MODULE`", f"`local` in {here}"}


def test_the_report_has_the_facts_as_data(device):
    kept = {"w": jnp.ones(MB).block_until_ready()}
    small = jnp.ones(1000).block_until_ready()
    pending = [small * i for i in range(3)]
    bound = limit(device, 2 * MB)
    error = overflow(lambda: (kept["w"] + 1).block_until_ready())
    report = error.report
    assert report.asked == 4 * MB
    assert report.in_use == in_use(device)
    assert report.limit == bound.limit
    assert report.device == str(device)
    assert HERE in report.where
    assert 'kept["w"] + 1' in report.source
    first = report.arrays[0]
    assert (first.nbytes, first.shape, first.dtype) == (4 * MB, (MB,), "float32")
    assert HERE in first.where
    assert any("kept['w']" in name for name in first.names)
    assert len(report.arrays) <= 10
    assert (report.pending_arrays, report.pending_bytes) == (1, 4 * MB)
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) and again.report.asked == 4 * MB
    del pending


class Model:
    def __init__(self):
        self.params = {"w": jnp.ones(MB).block_until_ready()}

    def step(self):
        return (self.params["w"] * 2).block_until_ready()


def test_attributes_are_named_as_the_method_sees_them(device):
    model = Model()
    limit(device, MB)
    error = overflow(model.step)
    assert "`self.params['w']` in step" in str(error)


HELD = []


def test_globals_closures_and_tracebacks_are_named(device):
    global HELD
    HELD = [(jnp.ones(MB) * 2).block_until_ready()]

    def remember():
        x = (jnp.ones(MB) * 3).block_until_ready()

        def closure():
            return x

        return closure

    def fails():
        inner = (jnp.ones(MB) * 4).block_until_ready()
        raise ValueError(inner.shape)

    try:
        fails()
    except ValueError as problem:
        saved = problem
    closure = remember()
    limit(device, MB)
    text = str(overflow(lambda: (jnp.ones(MB) * 5).block_until_ready()))
    assert "`HELD[0]`" in text
    assert "`x` that closure closes over" in text
    assert "`inner` of fails, kept by an error" in text
    HELD.clear()
    del saved, closure


def test_an_update_says_who_holds_the_old_array(device):
    a = jnp.zeros(MB).block_until_ready()
    b = a
    limit(device, 2 * MB)
    a = a.at[0].set(1.0)
    error = overflow(a.block_until_ready)
    assert error.report.rule == "update"
    assert "because `b` in" in error.report.hint and "`del b`" in error.report.hint
    del b
    assert float(a[0]) == 1


def test_an_update_of_an_array_that_is_kept_says_so(device):
    a = jnp.zeros(MB).block_until_ready()
    limit(device, 2 * MB)
    b = a.at[0].set(1.0)
    error = overflow(b.block_until_ready)
    assert error.report.rule == "update"
    assert "`a = a.at[0].set(1.0)`" in error.report.hint


def test_a_constant_that_jit_captured_is_named(device):
    tables = {"first": (jnp.ones(MB) * 2).block_until_ready()}

    @jax.jit
    def look_up(i):
        return tables["first"][i]

    assert float(look_up(3)) == 2
    tables.clear()
    limit(device, MB)
    error = overflow(lambda: jnp.asarray(np.ones(MB, np.float32)))
    assert error.report.rule == "captured"
    assert "the jitted function `look_up` closes over" in error.report.hint
    assert "captured by the jitted function look_up" in str(error)


def test_an_array_larger_than_the_limit_is_told_so(device):
    limit(device, MB)
    error = overflow(jnp.arange(10 * MB).block_until_ready)
    assert error.report.rule == "large"


def test_programs_that_expect_other_errors_catch_this_one(device):
    limit(device, MB)
    for kind in (MemoryError, RuntimeError, JaxRuntimeError, OutOfMemoryError):
        with pytest.raises(kind, match="RESOURCE_EXHAUSTED"):
            jnp.arange(MB).block_until_ready()


def test_messages():
    """All that is told, as in a fresh process; `UPDATE_GOLDEN=1` accepts changes."""
    here = os.path.dirname(os.path.abspath(__file__))
    env = {**os.environ, "TETRAD_CHECK": "1"}
    done = subprocess.run(
        [sys.executable, "full_device.py"],
        capture_output=True, text=True, env=env, cwd=here,
    )  # fmt: skip
    assert done.returncode == 0 and not done.stderr, done.stderr
    path = os.path.join(here, "golden", "out_of_memory.txt")
    if os.environ.get("UPDATE_GOLDEN"):
        with open(path, "w", encoding="utf-8") as file:
            file.write(done.stdout)
    with open(path, encoding="utf-8") as file:
        assert done.stdout == file.read()
    for message in done.stdout.split("## ")[1:]:
        assert len(message.strip().splitlines()) <= 26  # the name of the program, too
        assert "Hint: " in message
    assert "still in use" not in done.stdout


# -------------------------------------------------------------------- nothing is lost


def test_arrays_are_intact_and_memory_returns(device):
    x = jnp.arange(1000.0)
    kept = [(x + i).block_until_ready() for i in range(5)]
    before = in_use(device)
    limit(device, MB)

    def work(n):
        a = jnp.ones(n) * 2
        b = jnp.cumsum(a)
        return float((a + b).sum()), a, b

    def attempt():
        result = work(MB)
        return jax.block_until_ready(result)

    with pytest.raises(OutOfMemoryError) as caught:
        attempt()
    assert caught.value.report.asked >= MB
    del caught
    assert in_use(device) == before
    assert all(float(k[7]) == 7 + i for i, k in enumerate(kept))
    assert work(1000)[0] == 2 * 1000 + 2 * 1000 * 1001 / 2


def test_a_caught_error_keeps_nothing_of_ours_alive(device):
    limit(device, 6 * MB)

    def train():
        big = jnp.ones(MB).block_until_ready()
        alive.append(weakref.ref(big))
        return (big @ jnp.ones((MB, 4))).block_until_ready()

    alive = []
    try:
        train()
    except OutOfMemoryError as error:
        held = alive[0]() is not None  # a frame of the user's
        told = str(error)
    assert held and "`big` in train" in told
    assert alive[0]() is None
    saved = overflow(lambda: jnp.ones((MB, 4)).block_until_ready())
    assert saved.__traceback__ is not None
    import traceback

    frames = [f for f, _ in traceback.walk_tb(saved.__traceback__)]
    package = os.path.dirname(jax.__file__)
    for frame in frames:
        if frame.f_code.co_filename.startswith(package):
            assert not frame.f_locals


def test_variables_are_not_kept_by_the_look_at_frames(device):
    limit(device, 6 * MB)
    big = jnp.ones(MB).block_until_ready()
    alive = weakref.ref(big)
    overflow(lambda: (jnp.arange(MB) + 1).block_until_ready())
    del big
    assert alive() is None


def test_what_could_not_be_computed_can_be_asked_for_again(device):
    hold = jnp.ones(MB).block_until_ready()
    limit(device, MB)
    x = jnp.arange(MB)
    y = x * 2
    z = y + 1
    for _ in range(3):
        overflow(z.block_until_ready)
    after = jnp.arange(5) + 1
    assert after.tolist() == [1, 2, 3, 4, 5]
    del hold
    assert int(z[10]) == 21
    del z
    assert int(y[10]) == 20


def test_a_jitted_call_that_did_not_fit_donates_nothing(device):
    step = jax.jit(
        lambda s, x: (s + x.sum(), jnp.outer(x, x).cumsum()), donate_argnums=0
    )
    s = jnp.zeros(1000).block_until_ready()
    x = jnp.ones(1000).block_until_ready()
    limit(device, MB)
    overflow(lambda: step(s, x))
    jax.set_memory_limit(None)
    assert float(step(s, x)[0][0]) == 1000
    assert s.is_deleted()


def test_many_overflows_leave_the_process_healthy(device):
    many_overflows(device, 60)


@pytest.mark.slow
def test_a_thousand_overflows_leave_the_process_healthy(device):
    many_overflows(device, 1000)


def many_overflows(device, count):
    x = jnp.arange(1000.0).block_until_ready()
    before = in_use(device)
    limit(device, 200_000)
    pair = jax.jit(lambda x: (jnp.outer(x, x), x + 1))
    for i in range(count):
        with pytest.raises(OutOfMemoryError):
            if i % 3 == 0:
                pair(x)
            elif i % 3 == 1:
                jnp.asarray(np.ones(100_000, np.float32))
            else:
                y = jnp.cumsum(jnp.ones(100_000) + i)
                y.block_until_ready()
        y = None
        if i % 10 == 0:
            assert in_use(device) == before
            assert float((x + i)[1]) == 1 + i
    assert in_use(device) == before


def test_threads_overflow_apart(device):
    import threading

    limit(device, 8 * MB)
    values, overflows = [], []

    def work(i):
        for n in range(15):
            with contextlib.suppress(OutOfMemoryError):  # the others may fill it
                x = jnp.ones(MB // 2) * i + n
                values.append((float(x[3]), i + n))
            try:  # this never fits
                jnp.cumsum(jnp.ones(3 * MB)).block_until_ready()
            except OutOfMemoryError:
                overflows.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(overflows) == 3 * 15
    assert values and all([got == want for got, want in values])
