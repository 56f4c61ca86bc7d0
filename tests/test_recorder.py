"""Eager operations are recorded: when they run, what they compute, what they cost."""

import gc
import os
import resource
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad._src.runtime import flush, lazy

NAME = os.path.basename(__file__)
pytestmark = pytest.mark.usefixtures("few_objects")


def rss_bytes():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * resource.getpagesize()


def test_a_million_unread_increments_keep_memory_flat():
    c = jnp.zeros(())
    for _ in range(1000):
        c = c + 1
    c.block_until_ready()
    before = rss_bytes()
    with jax.see.compiles() as seen:
        c = jnp.zeros(())
        for _ in range(1_000_000):
            c = c + 1
        assert float(c) == 1_000_000
    assert rss_bytes() - before < 30 << 20
    assert seen.kernels <= 3


def test_a_thousand_lengths_compile_two_kernels():
    with jax.see.compiles() as seen:
        for n in range(1, 1001):
            x = jnp.arange(float(n))
            got = jnp.sum(jnp.sin(x) ** 2 + 1)
    want = np.sum(np.sin(np.arange(1000.0)) ** 2 + 1)
    assert float(got) == pytest.approx(want, rel=1e-5)
    assert seen.kernels <= 2


def test_python_scalars_are_arguments():
    x = jnp.arange(5.0)
    (x * 0.5 + 0.25).block_until_ready()
    with jax.see.compiles() as seen:
        for i in range(100):
            y = x * float(i) + i
            np.testing.assert_array_equal(y, np.arange(5.0, dtype="f") * i + i)
    assert len(seen) <= 2 and seen.kernels <= 2


def test_static_indices_are_arguments():
    x = jnp.arange(1000.0)
    x[3].block_until_ready()
    with jax.see.compiles() as seen:
        for i in range(0, 1000, 7):
            assert float(x[i]) == i
    assert seen.kernels <= 1
    assert len(seen) <= 1


def test_updates_happen_in_place_when_nobody_else_looks():
    x = jnp.zeros(10_000_000).block_until_ready()
    x = x.at[0].set(1)
    x.block_until_ready()
    address = x.unsafe_buffer_pointer()
    for i in range(1000):
        x = x.at[i].set(i)
    x.block_until_ready()
    assert x.unsafe_buffer_pointer() == address
    np.testing.assert_array_equal(np.asarray(x)[:1001], [*range(1000), 0])


def test_an_update_leaves_other_holders_alone():
    x = jnp.zeros(1000)
    x.block_until_ready()
    b = x
    for i in range(100):
        x = x.at[i].set(5)
    x.block_until_ready()
    np.testing.assert_array_equal(b, np.zeros(1000))
    assert float(x.sum()) == 500


def test_numpy_views_keep_their_values():
    x = jnp.zeros(100)
    view = np.asarray(x)
    x = x.at[3].set(7)
    x.block_until_ready()
    assert view[3] == 0 and float(x[3]) == 7
    with pytest.raises(ValueError):
        view[0] = 1


def test_the_array_does_not_follow_a_numpy_buffer():
    host = np.zeros(4096, "float32")
    x = jnp.asarray(host)
    y = x + 1
    host[:] = 9
    np.testing.assert_array_equal(x, np.zeros(4096))
    np.testing.assert_array_equal(y, np.ones(4096))


def test_dead_work_costs_nothing():
    device = jax.devices()[0]
    x = jnp.ones(1 << 20).block_until_ready()
    allocations = device.memory_stats()["num_allocs"]
    for _ in range(50):
        x * 2 + 1
    lazy.flush_all()
    assert device.memory_stats()["num_allocs"] == allocations


def test_deleting_operands_of_dead_work_frees_them():
    device = jax.devices()[0]
    gc.collect()
    start = device.memory_stats()["bytes_in_use"]
    big = jnp.ones(1 << 20).block_until_ready()
    assert device.memory_stats()["bytes_in_use"] == start + (4 << 20)
    y = big + 1
    del y, big
    assert device.memory_stats()["bytes_in_use"] == start


def test_a_long_chain_needs_no_recursion():
    x = jnp.ones(3)
    for _ in range(20_000):
        x = x * 1.0001
    want = np.float32(1)
    for _ in range(20_000):
        want = np.float32(want * np.float32(1.0001))
    np.testing.assert_allclose(x, want, rtol=1e-5)


def test_diamonds_are_visited_once():
    x = jnp.ones(3)
    for _ in range(200):
        x = x * 0.5 + x * 0.5
    np.testing.assert_allclose(x, 1)


def test_repetition_gives_one_program():
    w = jnp.ones((8, 8)) * 0.1
    x = jnp.ones((4, 8))
    for _ in range(300):
        x = jnp.tanh(x @ w + x)
    x.block_until_ready()
    with jax.see.compiles() as seen:
        for _ in range(300):
            x = jnp.tanh(x @ w + x)
        x.block_until_ready()
    assert len(seen) <= 2


def test_values_are_right_at_any_length_of_a_loop():
    for n in (1, 2, 63, 64, 65, 127, 128, 129, 300):
        x = jnp.arange(4.0)
        want = np.arange(4.0, dtype="f")
        for i in range(n):
            x = x * 0.5 + i
            want = want * np.float32(0.5) + np.float32(i)
        np.testing.assert_allclose(x, want, rtol=1e-6)


def test_threads_have_their_own_tapes():
    results = {}

    def work(seed):
        x = jnp.full(100, float(seed))
        for _ in range(500):
            x = x * 0.5 + seed
        results[seed] = np.asarray(x)

    threads = [threading.Thread(target=work, args=(s,)) for s in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for seed in range(4):
        np.testing.assert_allclose(results[seed], 2.0 * seed, rtol=1e-5)


def test_pending_arrays_cross_threads():
    x = jnp.arange(10.0) * 3
    box = []

    def work():
        box.append(x + 1)

    t = threading.Thread(target=work)
    t.start()
    t.join()
    np.testing.assert_array_equal(box[0], np.arange(10.0) * 3 + 1)
    np.testing.assert_array_equal(x, np.arange(10.0) * 3)


def test_pending_arrays_are_weakly_referable_and_freed():
    x = jnp.ones(4) + 1
    r = weakref.ref(x)
    assert r() is x
    del x
    lazy.flush_all()
    assert r() is None


def test_errors_in_recording_leave_the_tape_usable():
    x = jnp.ones(3)
    y = x + 1
    with pytest.raises((TypeError, ValueError)):
        y + jnp.ones(4)
    np.testing.assert_array_equal(y * 2, [4, 4, 4])


def test_out_of_memory_names_the_line_and_a_retry_works():
    device = jax.devices()[0]
    gc.collect()
    history = [jnp.ones(1 << 20).block_until_ready() for _ in range(3)]
    limit = device.ledger.limit
    device.ledger.limit = device.ledger.now + (1 << 20)
    try:
        big = jnp.ones(1 << 20) * 2
        with pytest.raises(jax.errors.OutOfMemoryError, match="test_recorder.py"):
            big.block_until_ready()
        history.clear()
        assert float(big[5]) == 2
    finally:
        device.ledger.limit = limit


def test_asking_for_more_than_the_machine_has_is_an_error():
    with pytest.raises(jax.errors.OutOfMemoryError, match="GiB|TiB"):
        jnp.zeros((1 << 20, 1 << 20)).block_until_ready()


@pytest.mark.parametrize("n", [0, 1, 5])
def test_empty_and_tiny_arrays(n):
    x = jnp.zeros((n, 3))
    np.testing.assert_array_equal(x + 1, np.ones((n, 3)))
    assert (x.T @ x).shape == (3, 3)


def run_script(code, **kwargs):
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ},
        **kwargs,
    )


def test_import_starts_nothing():
    code = (
        "import sys, os, numpy\n"
        "before = len(os.listdir('/proc/self/task'))\n"
        "import tetrad, tetrad.numpy\n"
        "assert 'llvmlite' not in sys.modules and 'pypjrt' not in sys.modules\n"
        "assert len(os.listdir('/proc/self/task')) == before\n"
        "print('fine')\n"
    )
    done = run_script(code)
    assert done.stdout.strip() == "fine", done.stderr


def test_exit_with_work_pending_is_clean():
    code = (
        "import tetrad.numpy as jnp\n"
        "x = jnp.ones((1500, 1500))\n"
        "for _ in range(3): x = x @ x\n"
        "y = x + 1\n"
    )
    done = run_script(code)
    assert done.returncode == 0 and done.stderr == ""


def test_fork_after_use_works_in_the_child():
    code = (
        "import os, numpy as np, tetrad.numpy as jnp\n"
        "x = jnp.ones((300, 300)); y = (x @ x).block_until_ready()\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    z = (y @ x + 1).block_until_ready()\n"
        "    os._exit(0 if float(z[0, 0]) == 90001 else 1)\n"
        "status = os.waitpid(pid, 0)[1]\n"
        "assert os.waitstatus_to_exitcode(status) == 0\n"
        "assert float((y + 1)[0, 0]) == 301\n"
        "print('fine')\n"
    )
    done = run_script(code)
    assert done.stdout.strip() == "fine", done.stderr


def test_interrupting_a_long_computation():
    code = (
        "import os, signal, threading, time, numpy as np, tetrad.numpy as jnp\n"
        "x = jnp.ones((4000, 4000)).block_until_ready()\n"
        "threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "sent = time.perf_counter() + 0.3\n"
        "try:\n"
        "    y = x @ x @ x @ x @ x @ x @ x @ x\n"
        "    y.block_until_ready()\n"
        "    print('too fast')\n"
        "except KeyboardInterrupt:\n"
        "    print('late' if time.perf_counter() - sent > 0.5 else 'fine')\n"
        "assert float(x[0, 0]) == 1\n"
    )
    done = run_script(code)
    assert done.stdout.strip() in ("fine", "too fast"), done.stdout + done.stderr


def test_a_long_function_is_recorded_as_one_operation():
    table, x = jnp.arange(1000.0), jnp.linspace(-1.0, 1001.0, 50)
    for _ in range(2):  # it is planned from now on
        jnp.searchsorted(table, x).block_until_ready()
    nodes = lazy._threads.tape.nodes
    before = len(nodes)
    found = jnp.searchsorted(table, x)
    recorded = len(nodes) - before
    assert recorded <= 1  # 0 if it was worth a program of its own
    np.testing.assert_array_equal(found, np.searchsorted(table, x))


def test_one_large_operation_takes_over_what_nobody_else_holds():
    for _ in range(3):
        x = jnp.arange(100_000.0).block_until_ready()
        place = x.unsafe_buffer_pointer()
        y = x + 1
        del x
        assert y.block_until_ready().unsafe_buffer_pointer() == place
        z = y * 2
        assert z.block_until_ready().unsafe_buffer_pointer() != place
        view = np.asarray(y)
        w = y - 1
        del y
        assert w.block_until_ready().unsafe_buffer_pointer() != place
        assert float(z[7]) == 16 and view[7] == 8 and float(w[7]) == 7


def test_large_operations_and_calls_take_one_array_twice():
    x, y = jnp.arange(70_000.0), jnp.full(70_000, 3.0)
    call = jax.jit(lambda a, b: a * a - b)
    several = jax.jit(lambda a, b: (a - b, {"sum": jnp.sum(a + b), "a": a}))
    for a, b in [(x, y), (x, x), (y, x), (y, y), (x, y)] * 2:
        host_a, host_b = np.asarray(a), np.asarray(b)
        np.testing.assert_array_equal(a - b, host_a - host_b)
        np.testing.assert_array_equal(call(a, b), host_a * host_a - host_b)
        difference, rest = several(a, b)
        np.testing.assert_array_equal(difference, host_a - host_b)
        np.testing.assert_allclose(rest["sum"], (host_a + host_b).sum(dtype="f8"), 1e-6)
        np.testing.assert_array_equal(rest["a"], host_a)


def test_an_operation_alone_and_a_call_run_again_when_there_is_room():
    device = jax.devices()[0]
    x = jnp.zeros(1 << 20)
    double = jax.jit(lambda x: x * 2)
    float(double(x)[0] + (x + 1)[0])
    with jax.see.memory():
        jax.set_memory_limit(device.memory_stats()["bytes_in_use"] + (1 << 20))
        try:
            y = x + 1
            with pytest.raises(jax.errors.OutOfMemoryError):
                y.block_until_ready()
            with pytest.raises(jax.errors.OutOfMemoryError):
                double(x)
        finally:
            jax.set_memory_limit(None)
    assert float(y[5]) == 1 and float(double(y)[5]) == 2


# What is awaited operation by operation goes the short way (`cpu/short.py`).


def test_one_result_after_the_other_keeps_the_account():
    x = jnp.arange(1000.0)
    x.block_until_ready()
    ledger = x.device.ledger
    before, count = ledger.now, ledger.count
    kept = []
    for i in range(20):
        y = (x + i).block_until_ready()
        assert float(jnp.max(y)) == 999 + i
        kept.append(y)
    assert ledger.now - before == 20 * x.nbytes
    assert ledger.count - count == 40
    for i, y in enumerate(kept):
        np.testing.assert_array_equal(np.asarray(y), np.arange(1000.0) + i)
    del kept, y
    assert ledger.now == before


def test_the_short_way_waits_for_operands_on_the_stream():
    big = jnp.ones(5_000_000)
    for _ in range(5):
        total = (big * 2.0 + 1.0).sum()  # goes to the stream
        assert float((total + 1.0).block_until_ready()) == 15_000_001.0


def test_the_short_way_obeys_the_limit():
    x = jnp.ones(1000)
    (x + 1.0).block_until_ready()
    (x + 1.0).block_until_ready()
    gc.collect()
    limit = x.device.memory_stats()["bytes_in_use"] + 100
    with jax.set_memory_limit(limit), pytest.raises(jax.errors.OutOfMemoryError):
        (x + 1.0).block_until_ready()
    np.testing.assert_array_equal((x + 1.0).block_until_ready(), np.full(1000, 2.0))


def test_machine_code_given_back_is_found_again_by_the_short_way():
    x = jnp.ones(1000)
    for _ in range(3):
        assert float(jnp.max(x + 1.0).block_until_ready()) == 2.0
        x.device.backend.forget()


def test_two_threads_await_single_operations():
    x = jnp.arange(100.0)
    wrong = []

    def work(start):
        for i in range(start, start + 300):
            y = (x + float(i)).block_until_ready()
            if float(y[7]) != 7 + i:
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(1000 * k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("weak", [False, True])
@pytest.mark.parametrize("bounds", [(-1, 1), (-0.5, 1), (0.1, float("nan")), (2, 1)])
def test_clip_with_numbers_is_clip_with_arrays(dtype, weak, bounds):
    values = [-2.0, -0.0, 0.3, 5.0, np.nan]
    for value in values:
        x = jnp.asarray(value) if weak else jnp.asarray(value, dtype)
        want = float(jnp.clip(x, *[jnp.asarray(b, x.dtype) for b in bounds]))
        for _ in range(3):
            out = jnp.clip(x, *bounds)
            assert (out.dtype, out.weak_type) == (x.dtype, x.weak_type)
            assert float(out) == want or np.isnan(out) and np.isnan(want)


@pytest.mark.parametrize("count", [2, 3, 12])
def test_a_call_with_several_results_alone(count):
    call = jax.jit(lambda x, y: [x * i + y for i in range(count)])
    x, y = jnp.arange(50.0), jnp.ones(50)
    for turn in range(4):
        outs = call(x, y)
        np.testing.assert_array_equal(outs[turn % count].block_until_ready(),
                                      np.arange(50.0) * (turn % count) + 1)  # fmt: skip
        for i, out in enumerate(outs):
            np.testing.assert_array_equal(out, np.arange(50.0) * i + 1)
        only = call(x, y)[1]
        np.testing.assert_array_equal(only, np.arange(50.0) + 1)
        np.testing.assert_array_equal(call(x, x)[1], np.arange(50.0) * 2)
        x + y  # what nobody needs, before the call on the tape
        first, *_ = call(x, y)
        np.testing.assert_array_equal(first, np.ones(50))
        pending = x + 1.0
        np.testing.assert_array_equal(call(pending, y)[1], np.arange(50.0) + 2)
        x, y = x + 0.0, y + 0.0


def test_a_call_gives_its_operands_back_unchanged():
    call = jax.jit(lambda x, y: (x, y, x + y))
    x, y = jnp.arange(50.0), jnp.ones(50)
    for _ in range(3):
        a, b, c = call(x, y)
        c.block_until_ready()
        np.testing.assert_array_equal(a, np.arange(50.0))
        np.testing.assert_array_equal(b, np.ones(50))
        np.testing.assert_array_equal(c, np.arange(50.0) + 1)


def test_results_that_nobody_needs_are_left_out_if_large():
    large = jnp.full(50_000, 2.5)
    for _ in range(4):
        fraction = jnp.modf(large)[0].block_until_ready()
    ledger = large.device.ledger
    before = ledger.total
    fraction = jnp.modf(large)[0].block_until_ready()
    assert ledger.total - before == large.nbytes
    assert float(fraction[7]) == 0.5


def test_results_that_are_awaited_together_know_their_own_lines():
    x = jnp.arange(10.0)
    for _ in range(4):
        a = x + 1.0
        b = a * 2.0
        c = x - 1.0
        b.block_until_ready()
        for y, want in ((a, x + 1), (b, (x + 1) * 2), (c, x - 1)):
            np.testing.assert_array_equal(y, want)
    lines = [line for line, _, _ in x.device.ledger.by_line() if NAME in line]
    base = test_results_that_are_awaited_together_know_their_own_lines.__code__
    first = base.co_firstlineno
    assert {int(line.rsplit(":", 1)[1]) - first for line in lines} >= {1, 3, 4, 5}


def test_a_few_results_and_what_nobody_needs():
    x = jnp.arange(10.0)
    for turn in range(4):
        a, dead, b = x + 1.0, x * 5.0, x * 2.0
        del dead
        np.testing.assert_array_equal(b, np.arange(10.0) * 2)
        np.testing.assert_array_equal(a, np.arange(10.0) + 1)
        a, b = x + 1.0, x * float(turn)
        c = a + b
        del a
        np.testing.assert_array_equal(c, np.arange(10.0) * (turn + 1) + 1)
        np.testing.assert_array_equal(b, np.arange(10.0) * turn)


def test_a_call_whose_results_were_dropped_is_not_taken_for_a_whole_one():
    call = jax.jit(lambda x: (x + 1.0, x * 2.0, x - 3.0))
    x = jnp.arange(5.0)
    for _ in range(3):
        a, b, c = call(x)
        jax.block_until_ready((a, b, c))
    for kept in range(3):
        outs = call(x)
        one = outs[kept]
        del outs
        jax.live_arrays()  # drops what nobody holds
        lazy.prune_all()
        y = x * 7.0
        z = y + 0.5
        np.testing.assert_array_equal(z, np.arange(5.0) * 7 + 0.5)
        np.testing.assert_array_equal(y, np.arange(5.0) * 7)
        want = [np.arange(5.0) + 1, np.arange(5.0) * 2, np.arange(5.0) - 3][kept]
        np.testing.assert_array_equal(one, want)


def test_a_call_with_several_results_of_what_another_thread_has_pending(monkeypatch):
    # Nothing fails on the way, after which it would be computed in another one.
    monkeypatch.setattr(flush, "_detach", None)
    for k in range(3):
        made = []
        thread = threading.Thread(
            target=lambda m=made, k=k: m.append(jnp.arange(5.0) + k)
        )
        thread.start()
        thread.join()
        call = jax.jit(lambda x, k=k: (x + 1.0 + k, x * (2.0 + k)))
        low, high = call(made[0])
        np.testing.assert_array_equal(high, (np.arange(5.0) + k) * (2 + k))
        np.testing.assert_array_equal(low, np.arange(5.0) + 1 + 2 * k)
        later = made[0] * 1.0
        np.testing.assert_array_equal(later, np.arange(5.0) + k)
