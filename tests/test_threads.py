"""How many threads compute: who says so, and that no result depends on it."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad._src.runtime import threads as setting

LINUX = sys.platform == "linux"
TASKS = """
import os, sys
def tasks():
    return len(os.listdir("/proc/self/task"))
"""


def run_script(script, **variables):
    """What a fresh process prints; warnings are errors there, too."""
    kept = {k: v for k, v in os.environ.items() if k not in setting.VARIABLES}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=100,
        env={**kept, "OPENBLAS_NUM_THREADS": "1", **variables},
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr, done.stderr
    return done.stdout.strip()


@pytest.fixture
def count():
    """Gives back the number of threads."""
    before = jax.num_threads()
    yield before
    jax.set_num_threads(before)


# ------------------------------------------------------------------- who says how many


def test_set_and_get(count):
    for n in (1, 3, 2):
        jax.set_num_threads(n)
        assert jax.num_threads() == n
    with jax.threads(1) as block:
        assert jax.num_threads() == 1
        with block:
            assert jax.num_threads() == 1
        with jax.threads(np.int64(3)):
            assert jax.num_threads() == 3
        assert jax.num_threads() == 1
    assert jax.num_threads() == 2
    with pytest.raises(KeyError), jax.threads(1):
        raise KeyError
    assert jax.num_threads() == 2


@pytest.mark.parametrize("wrong", [0, -1, 1025, 10**9])
def test_numbers_that_are_none(wrong):
    message = rf"number of threads must lie in 1\.\.1024, got {wrong}"
    with pytest.raises(ValueError, match=message):
        jax.set_num_threads(wrong)
    with pytest.raises(ValueError, match=message):
        jax.threads(wrong)


@pytest.mark.parametrize("wrong", ["2", 2.0, None])
def test_other_types(wrong):
    with pytest.raises(TypeError, match="must be an integer"):
        jax.set_num_threads(wrong)


def test_environment(monkeypatch):
    monkeypatch.delenv("TETRAD_NUM_THREADS", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert 1 <= setting.default_threads() <= (os.cpu_count() or 1)
    monkeypatch.setenv("OMP_NUM_THREADS", "3,2")
    assert setting.default_threads() == 3
    monkeypatch.setenv("TETRAD_NUM_THREADS", "7")
    assert setting.default_threads() == 7
    for wrong in ("many", "0", "-2", "1.5"):
        monkeypatch.setenv("TETRAD_NUM_THREADS", wrong)
        with pytest.raises(ValueError, match=f"TETRAD_NUM_THREADS must .*{wrong!r}"):
            setting.default_threads()


def test_environment_is_read_at_first_use():
    script = """
    import os
    import tetrad
    os.environ["TETRAD_NUM_THREADS"] = "5"
    print(tetrad.num_threads())
    os.environ["TETRAD_NUM_THREADS"] = "6"
    print(tetrad.num_threads(), (tetrad.numpy.ones(3) + 1).sum())
    from tetrad._src.cpu.pool import native
    print(native().num_threads)
    """
    assert run_script(script, TETRAD_NUM_THREADS="4").split() == ["5", "5", "6.0", "5"]


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity masks")
def test_affinity():
    script = """
    import os
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    import tetrad
    print(tetrad.num_threads())
    """
    assert run_script(script) == "1"


CGROUPS = {
    "v2": (
        {
            "/proc/self/cgroup": "0::/a/b\n",
            "/sys/fs/cgroup/a/b/cpu.max": "max 100000\n",
            "/sys/fs/cgroup/a/cpu.max": "250000 100000\n",
        },
        3,
    ),
    "v2 at the root": (
        {
            "/proc/self/cgroup": "0::/\n",
            "/sys/fs/cgroup/cpu.max": "50000 100000\n",
        },
        1,
    ),
    "v1": (
        {
            "/proc/self/cgroup": "4:cpu,cpuacct:/job\n2:memory:/job\n",
            "/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us": "150000\n",
            "/sys/fs/cgroup/cpu/job/cpu.cfs_period_us": "100000\n",
        },
        2,
    ),
    "v1 without a limit": (
        {
            "/proc/self/cgroup": "4:cpu,cpuacct:/\n",
            "/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
            "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
        },
        64,
    ),
    "none": ({}, 64),
}


@pytest.mark.parametrize("kind", CGROUPS)
def test_cgroup_quota(monkeypatch, kind):
    files, expected = CGROUPS[kind]
    monkeypatch.setattr(setting, "_read", lambda path: files.get(path, ""))
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(64)))
    monkeypatch.delenv("TETRAD_NUM_THREADS", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert setting.default_threads() == expected


# -------------------------------------------------------------------------- one thread

WORK = """
import tetrad as jax, tetrad.numpy as jnp
from tetrad import lax, random
def work():
    key = random.key(0)
    x = random.normal(key, (700, 700))
    y = jnp.sort(jnp.sin(x) @ x, axis=1)                  # BLAS, a sort
    s = jnp.linalg.svd(x[:120, :120], compute_uv=False)   # LAPACK
    b = jnp.linalg.cholesky(x[:8, None, :60] * jnp.eye(60) + 9 * jnp.eye(60))
    turn = lambda c: (c[0] + 1, jnp.tanh(c[1] @ c[1] / 700))
    z = jax.jit(lambda x: lax.while_loop(lambda c: c[0] < 9, turn, (0, x)))(x)[1]
    many = sum(jnp.exp(x + i).mean() for i in range(200))
    return [y, s, b, z, jnp.fft.fft(x).real, jnp.cumsum(x), many, x.sum(), x.var(0)]
"""


@pytest.mark.skipif(not LINUX, reason="reads /proc")
@pytest.mark.parametrize("how", ["environment", "function", "back"])
def test_one_thread_starts_none(how, tmp_path):
    """Not for programs on the stream, products, callbacks or compilation either."""
    script = TASKS + WORK
    if how == "function":
        script += "jax.set_num_threads(1)\n"
    if how == "back":
        script += "jax.set_num_threads(3)\njax.block_until_ready(work())\n"
        script += "print(tasks() > 1)\njax.set_num_threads(1)\n"
    script += """
jax.block_until_ready(work())
jax.block_until_ready(work())
sines = lambda x: lax.fori_loop(0, 9, lambda i, y: jnp.sin(y), x)
f = lambda x: jax.pure_callback(lambda y: y, x, x) + sines(x)
jax.jit(lambda x: lax.fori_loop(0, 3, lambda i, y: f(y), x))(jnp.ones(4))
print(tasks())
"""
    variables = {"TETRAD_NUM_THREADS": "1"} if how == "environment" else {}
    cache = {"TETRAD_CACHE_DIR": str(tmp_path)}  # so that everything is compiled
    answer = run_script(script, **variables, **cache).split()
    assert answer == (["True", "1"] if how == "back" else ["1"])


@pytest.mark.skipif(not LINUX, reason="reads /proc")
def test_importing_and_asking_start_nothing():
    script = (
        TASKS
        + """
import tetrad
tetrad.num_threads()
tetrad.set_num_threads(4)
print(tasks(), "llvmlite" in sys.modules)
"""
    )
    assert run_script(script).split() == ["1", "False"]


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="POSIX signals")
@pytest.mark.parametrize("body", ["c[1] @ c[1]", "jnp.sin(c[1])"])
def test_interrupt_with_one_thread(body):
    """Ctrl-C ends a loop that never ends, though nobody but it runs."""
    script = f"""
    import os, signal, threading, time
    import tetrad as jax, tetrad.numpy as jnp
    from tetrad import lax
    jax.set_num_threads(1)
    x = jnp.ones((300, 300))
    step = jax.jit(lambda x: lax.while_loop(lambda c: c[0] >= 0,
                   lambda c: (c[0] * 1, {body}), (1, x))[1])
    before = jnp.cos(x)
    child = os.fork()
    if child == 0:
        time.sleep(1.5)
        os.kill(os.getppid(), signal.SIGINT)
        os._exit(0)
    try:
        y = step(x)
        y.block_until_ready()
    except KeyboardInterrupt:
        print("interrupted", float(before[0, 0]) == float(jnp.cos(1.0)))
    os.waitpid(child, 0)
    """
    assert run_script(script) == "interrupted True"


# ------------------------------------------------------------- the same bits for any n


def test_results_do_not_depend_on_threads(count):
    names = {}
    exec(WORK, names)
    wanted = None
    for n in (1, 2, 3, 5):
        with jax.threads(n):
            found = [np.asarray(x) for x in names["work"]()]
        if wanted is None:
            wanted = found
        for got, want in zip(found, wanted):
            np.testing.assert_array_equal(got, want)


def test_pending_work_survives_a_change(count):
    x = jnp.arange(1000.0)
    y = x * 2
    jax.set_num_threads(1 + count % 2)
    z = y + x
    with jax.threads(1):
        w = z + y
    np.testing.assert_array_equal(w, np.arange(1000.0) * 5)


def test_changes_while_others_compute(count):
    """The number may change at any time, from any thread."""
    x = jnp.ones((300, 300))
    f = jax.jit(lambda x: jnp.sin(x) @ x + 1)
    want = np.asarray(f(x))
    stop = threading.Event()
    errors = []

    def compute():
        try:
            while not stop.is_set():
                np.testing.assert_array_equal(f(x), want)
        except BaseException as error:
            errors.append(error)

    others = [threading.Thread(target=compute) for _ in range(3)]
    for other in others:
        other.start()
    end = time.monotonic() + 1.0
    n = 0
    while time.monotonic() < end:
        n += 1
        jax.set_num_threads(1 + n % 4)
        np.testing.assert_array_equal(f(x), want)
    stop.set()
    for other in others:
        other.join()
    assert not errors


# ------------------------------------------------------------------------- threadpoolctl

POOLS = """
def ours():
    return [lib for lib in threadpoolctl.threadpool_info() if lib["user_api"] == "tetrad"]
"""


@pytest.mark.skipif(not LINUX, reason="needs a C library with a part for mathematics")
@pytest.mark.parametrize("first", ["threadpoolctl", "tetrad"])
def test_threadpoolctl_sees_us(first):
    pytest.importorskip("threadpoolctl")
    second = {"threadpoolctl": "tetrad", "tetrad": "threadpoolctl"}[first]
    script = f"""
import {first}
import {second}
import tetrad.numpy as jnp
tetrad.set_num_threads(3)
{POOLS}
(lib,) = ours()
assert lib["internal_api"] == "tetrad" and lib["num_threads"] == 3
assert lib["filepath"] == tetrad.__file__ and lib["version"] == tetrad.version.tetrad_version
x = jnp.ones((600, 600))
with threadpoolctl.threadpool_limits(1):
    assert tetrad.num_threads() == 1
    want = (jnp.sin(x) @ x).sum()
with threadpoolctl.threadpool_limits(limits={{"tetrad": 2}}):
    assert tetrad.num_threads() == 2
    assert (jnp.sin(x) @ x).sum() == want
assert tetrad.num_threads() == 3
with tetrad.threads(5):
    assert ours()[0]["num_threads"] == 5
print("ok")
"""
    assert run_script(script) == "ok"


@pytest.mark.skipif(not LINUX, reason="needs a C library with a part for mathematics")
def test_threadpoolctl_sees_our_openblas():
    """It runs one thread, since ours call it; a limit on it changes no result."""
    pytest.importorskip("threadpoolctl")
    script = """
import threadpoolctl
import tetrad, tetrad.numpy as jnp
x = jnp.sin(jnp.arange(250_000.0)).reshape(500, 500) + 9 * jnp.eye(500)
def work():
    return [(x @ x).sum(), jnp.linalg.inv(x[:90, :90]), jnp.linalg.svd(x[:80, :80])[1]]
want = tetrad.block_until_ready(work())
import numpy as np
(blas,) = [lib for lib in threadpoolctl.threadpool_info()
           if "scipy_openblas32" in lib["filepath"]]
assert blas["num_threads"] == 1 and blas["user_api"] == "blas", blas
for limit in (1, 2):
    with threadpoolctl.threadpool_limits(limit, user_api="blas"):
        for got, expected in zip(work(), want):
            np.testing.assert_allclose(got, expected, 1e-3, 1e-5)
print("ok")
"""
    assert run_script(script) == "ok"
