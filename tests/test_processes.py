"""Processes: fork, spawn, pools of them. The child works; nothing warns or hangs.

Each case runs in a fresh process, in which all warnings are errors. Python 3.12 warns
about forks of processes with threads: ours end before a fork.
"""

import os
import sys
from pathlib import Path

import pytest
from test_threads import run_script

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")

HERE = str(Path(__file__).parent)
START = """
import os, sys, time, warnings
import numpy as np
import tetrad as jax, tetrad.numpy as jnp
from tetrad import lax
from fork_programs import compute, double, host, tasks

def wait(child):
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

def in_child(act):
    child = os.fork()
    if child == 0:
        status = 1
        try:
            act()
            status = 0
        finally:
            os._exit(status)
    return child

def check(condition):
    assert condition

want = compute(1)
"""


def run(script, **variables):
    path = os.pathsep.join([HERE, os.environ.get("PYTHONPATH", "")])
    return run_script(START + script, PYTHONPATH=path, **variables)


@pytest.mark.parametrize("threads", ["1", "3"])
def test_fork_twice(threads):
    script = """
    for _ in range(2):
        wait(in_child(lambda: check(compute(1) == want)))
        assert compute(1) == want
    wait(in_child(lambda: wait(in_child(lambda: check(compute(1) == want)))))
    print("ok")
    """
    assert run(dedented(script), TETRAD_NUM_THREADS=threads) == "ok"


def dedented(script):
    lines = script.split("\n")
    return "\n".join(line[4:] for line in lines)


def test_pending_and_running_work():
    """Arrays that were recorded, and jobs that were on the stream, when it forked."""
    script = """
    x = jnp.ones((500, 500))
    slow = jax.jit(lambda x: lax.fori_loop(0, 40, lambda i, x: x @ x / 500, x))
    for turn in range(3):
        running = slow(x)                 # on the stream
        pending = jnp.sin(x[0]) + turn    # recorded
        both = running[0] * pending
        def act():
            assert float(running[0, 0]) == 1.0
            assert np.allclose(pending, np.sin(1.0) + turn)
            assert np.allclose(both, np.sin(1.0) + turn)
            assert compute(1) == want
        child = in_child(act)
        act()
        wait(child)
    print("ok")
    """
    assert run(dedented(script)) == "ok"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_no_native_thread_is_alive_at_a_fork():
    """So that nothing warns, in later versions of Python either."""
    script = """
    from tetrad._src.cpu.pool import native
    jax.set_num_threads(3)
    compute(1)
    jnp.ones((2000, 2000)).sum().block_until_ready()
    assert native().threads_alive > 0
    child = in_child(lambda: check(tasks() == 1 and compute(1) == want))
    assert native().threads_alive == 0 and tasks() == 1
    wait(child)
    compute(1)
    assert native().threads_alive > 0
    print("ok")
    """
    assert run(dedented(script)) == "ok"


def test_fork_while_other_threads_compute():
    """Whatever the other threads of Python are in: recording, submitting, compiling."""
    script = """
    import threading
    x = jnp.ones((64, 64))
    stop = threading.Event()
    def busy(seed):
        n = 0
        while not stop.is_set():
            n += 1
            y = jnp.sin(x + n) @ x
            if n % 5 == 0:  # a new program
                z = jax.jit(lambda v: v * seed + jnp.ones(n % 97 + 1).sum())(y)
                z.block_until_ready()
    others = [threading.Thread(target=busy, args=(k,)) for k in range(4)]
    warnings.simplefilter("ignore", DeprecationWarning)  # of Python 3.12: these threads
    for other in others:
        other.start()
    for turn in range(12):
        time.sleep(0.01)
        wait(in_child(lambda: check(compute(1) == want)))
    stop.set()
    for other in others:
        other.join()
    assert compute(1) == want
    print("ok")
    """
    assert run(dedented(script)) == "ok"


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(method):
    script = """
    import multiprocessing
    if __name__ == "__main__":
        context = multiprocessing.get_context("<METHOD>")
        pending = jnp.arange(5.0) + 1
        with context.Pool(2) as pool:
            assert pool.map(compute, [1, 2, 1]) == [want, compute(2), want]
            assert np.array_equal(pool.apply(double, (pending,)), [2, 4, 6, 8, 10])
        assert compute(1) == want
        print("ok")
    """.replace("<METHOD>", method)
    assert run(dedented(script)) == "ok"


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_process_pool_executor(method):
    script = """
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor
    if __name__ == "__main__":
        context = multiprocessing.get_context("<METHOD>")
        warnings.simplefilter("ignore", DeprecationWarning)  # of Python 3.12: its own
        with ProcessPoolExecutor(2, mp_context=context) as pool:
            pending = jnp.arange(5.0) + 1
            assert list(pool.map(compute, [1, 2, 1])) == [want, compute(2), want]
            assert np.array_equal(pool.submit(host, pending).result(), [1, 2, 3, 4, 5])
        assert compute(1) == want
        print("ok")
    """.replace("<METHOD>", method)
    assert run(dedented(script)) == "ok"


@pytest.mark.parametrize("backend", ["loky", "multiprocessing", "threading"])
def test_joblib(backend):
    pytest.importorskip("joblib")
    script = """
    from joblib import Parallel, delayed
    if __name__ == "__main__":
        jobs = Parallel(n_jobs=2, backend="<BACKEND>")
        found = jobs(delayed(compute)(n) for n in (1, 2, 1))
        assert found == [want, compute(2), want]
        x = jnp.arange(4.0)
        assert [float(y[3]) for y in jobs(delayed(double)(x + n) for n in (0, 1))] == [
            6.0, 8.0]
        print("ok")
    """.replace("<BACKEND>", backend)
    assert run(dedented(script)) == "ok"


def test_fork_with_a_limit_of_threads():
    script = """
    with jax.threads(1):
        wait(in_child(lambda: check(jax.num_threads() == 1 and compute(1) == want)))
    def act():
        jax.set_num_threads(2)
        assert compute(1) == want and jax.num_threads() == 2
    jax.set_num_threads(3)
    wait(in_child(act))
    assert jax.num_threads() == 3
    print("ok")
    """
    assert run(dedented(script)) == "ok"
