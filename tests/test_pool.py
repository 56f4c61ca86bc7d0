"""The pool, the stream and the program runner; memory blocks and their free lists."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from tetrad._src.cpu import engine, memory, native_pool, pool
from tetrad._src.cpu.native_pool import Opcode, Status

KERNELS = """
; arguments: array; adds 1 to [low, high)
define dso_local void @increment(ptr %w, i64 %low, i64 %high) nounwind {
entry:
  %array = load ptr, ptr %w
  br label %next
next:
  %i = phi i64 [ %low, %entry ], [ %i1, %one ]
  %more = icmp slt i64 %i, %high
  br i1 %more, label %one, label %leave
one:
  %p = getelementptr i64, ptr %array, i64 %i
  %v = load i64, ptr %p
  %v1 = add i64 %v, 1
  store i64 %v1, ptr %p
  %i1 = add i64 %i, 1
  br label %next
leave:
  ret void
}

; arguments: array; writes low to array[2 * k] and high to array[2 * k + 1], k = low / 10
define dso_local void @bounds(ptr %w, i64 %low, i64 %high) nounwind {
  %array = load ptr, ptr %w
  %k = udiv i64 %low, 10
  %k2 = mul i64 %k, 2
  %p = getelementptr i64, ptr %array, i64 %k2
  store i64 %low, ptr %p
  %q = getelementptr i64, ptr %p, i64 1
  store i64 %high, ptr %q
  ret void
}

; arguments: array, pointer to a flag; takes about 50 microseconds, then counts in array
define dso_local void @slow(ptr %w, i64 %low, i64 %high) nounwind {
entry:
  %array = load ptr, ptr %w
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i1, %next ]
  %p = getelementptr i64, ptr %array, i64 1
  store volatile i64 %i, ptr %p
  %i1 = add i64 %i, 1
  %more = icmp slt i64 %i1, 50000
  br i1 %more, label %next, label %leave
leave:
  %b = atomicrmw add ptr %array, i64 1 seq_cst
  ret void
}

; arguments: array, counter, limit, pointer to truth: array[counter] = counter;
; truth = counter + 1 < limit
define dso_local void @step(ptr %w, i64 %low, i64 %high) nounwind {
  %array = load ptr, ptr %w
  %p1 = getelementptr i64, ptr %w, i64 1
  %counter = load i64, ptr %p1
  %p2 = getelementptr i64, ptr %w, i64 2
  %limit = load i64, ptr %p2
  %p3 = getelementptr i64, ptr %w, i64 3
  %truth = load ptr, ptr %p3
  %q = getelementptr i64, ptr %array, i64 %counter
  store i64 %counter, ptr %q
  %c1 = add i64 %counter, 1
  %less = icmp slt i64 %c1, %limit
  %byte = zext i1 %less to i8
  store i8 %byte, ptr %truth
  ret void
}

@tetrad_pool = external global i8
declare void @tetrad_parallel_for(ptr, ptr, ptr, i64)

define internal void @inner(ptr %context, i64 %i) nounwind {
  %b = atomicrmw add ptr %context, i64 1 seq_cst
  ret void
}

; arguments: counter; every chunk runs a parallel_for of 10 of its own
define dso_local void @nested(ptr %w, i64 %low, i64 %high) nounwind {
  %counter = load ptr, ptr %w
  call void @tetrad_parallel_for(ptr @tetrad_pool, ptr @inner, ptr %counter, i64 10)
  ret void
}
"""
NAMES = ("increment", "bounds", "slow", "step", "nested")


@pytest.fixture(scope="module")
def native() -> pool.Native:
    return pool.native()


@pytest.fixture(scope="module")
def kernels(native: pool.Native) -> engine.Code:
    return engine.assemble(KERNELS, NAMES)


@pytest.fixture(params=[1, 2, 4])
def threads(request: pytest.FixtureRequest, native: pool.Native) -> int:
    native.set_num_threads(request.param)
    return int(request.param)


def address(array: np.ndarray) -> int:
    return int(array.ctypes.data)


def launch(function: int, total: int, chunk: int, offset: int = 0) -> tuple[int, ...]:
    return (Opcode.LAUNCH, function, offset, total, chunk)


@pytest.mark.parametrize("how", ["inline", "blocking", "stream"])
@pytest.mark.parametrize(("total", "chunk"), [(1000, 1000), (10007, 100), (7, 1)])
def test_launch(
    native: pool.Native,
    kernels: engine.Code,
    threads: int,
    how: str,
    total: int,
    chunk: int,
) -> None:
    array = np.zeros(total + 1, np.int64)
    job = pool.make_job(
        [launch(kernels["increment"], total, chunk)],
        [0],
        fix=[(0, 1, 8)],
        values=[0, address(array) - 8],
    )
    for _ in range(20):
        job.reset()
        if how == "inline":
            native.run_inline(job.address)
        elif how == "blocking":
            native.run_blocking(job.address)
        else:
            native.wait(native.submit(job.address))
        assert job.status is Status.DONE
    assert (array[:-1] == 20).all()
    assert array[-1] == 0


def test_chunks_do_not_depend_on_threads(
    native: pool.Native, kernels: engine.Code, threads: int
) -> None:
    bounds = np.full(2 * 11, -1, np.int64)
    job = pool.make_job([launch(kernels["bounds"], 103, 10)], [address(bounds)])
    native.run_inline(job.address)
    low = np.arange(0, 103, 10)
    assert (
        bounds.tolist()
        == np.stack([low, np.minimum(low + 10, 103)], 1).ravel().tolist()
    )


def test_done_jobs_and_empty_launches_do_nothing(
    native: pool.Native, kernels: engine.Code
) -> None:
    array = np.zeros(4, np.int64)
    job = pool.make_job([launch(kernels["increment"], 4, 4)], [address(array)])
    native.run_inline(job.address)
    native.run_inline(job.address)
    assert array.tolist() == [1, 1, 1, 1]
    empty = pool.make_job([launch(kernels["increment"], 0, 4)], [0])
    native.run_inline(empty.address)
    assert empty.status is Status.DONE
    unknown = pool.make_job([(99,)], [0])
    native.run_inline(unknown.address)
    assert unknown.status is Status.INVALID


def test_loop_by_truth_value(native: pool.Native, kernels: engine.Code) -> None:
    array = np.full(50, -1, np.int64)
    truth = np.ones(1, np.int8)
    words = [address(array), 0, 50, address(truth)]
    code = [
        launch(kernels["step"], 1, 1),
        (Opcode.ADD, 1, 1),
        (Opcode.JUMP_UNLESS, 3, 4),
        (Opcode.JUMP, 0),
    ]
    job = pool.make_job(code, words)
    native.run_blocking(job.address)
    assert array.tolist() == list(range(50))
    assert job.arguments[1] == 50


def test_loop_by_counter_with_swap(native: pool.Native, kernels: engine.Code) -> None:
    first, second = np.zeros(100, np.int64), np.zeros(100, np.int64)
    # words: buffer, other buffer, spare, counter, limit
    words = [address(first), address(second), 0, 0, 7]
    code = [
        launch(kernels["increment"], 100, 30),
        (Opcode.COPY, 2, 0),
        (Opcode.COPY, 0, 1),
        (Opcode.COPY, 1, 2),
        (Opcode.ADD, 3, 1),
        (Opcode.JUMP_IF_LESS, 3, 4, 0),
    ]
    job = pool.make_job(code, words)
    native.wait(native.submit(job.address))
    assert (first == 4).all()
    assert (second == 3).all()


def test_nested_and_concurrent_loops(
    native: pool.Native, kernels: engine.Code, threads: int
) -> None:
    counters = np.zeros(4, np.int64)

    def user(number: int) -> None:
        counter = address(counters) + 8 * number
        job = pool.make_job([launch(kernels["nested"], 20, 1)], [counter])
        for _ in range(50):
            job.reset()
            if number % 2:
                native.run_blocking(job.address)
            else:
                native.wait(native.submit(job.address))

    users = [threading.Thread(target=user, args=(i,)) for i in range(4)]
    for user_ in users:
        user_.start()
    for user_ in users:
        user_.join()
    assert counters.tolist() == [50 * 20 * 10] * 4


def test_tickets_and_order(native: pool.Native, kernels: engine.Code) -> None:
    array = np.zeros(64, np.int64)
    truth = np.zeros(1, np.int8)
    jobs = [
        pool.make_job(
            [launch(kernels["step"], 1, 1)], [address(array), i % 64, 0, address(truth)]
        )
        for i in range(3 * native_pool.RING)
    ]
    before = native.last
    tickets = [native.submit(job.address) for job in jobs]
    assert tickets == list(range(before + 1, before + 1 + len(jobs)))
    assert native.last == tickets[-1]
    native.wait(tickets[5])
    assert native.done >= tickets[5]
    native.drain()
    assert native.done == native.last == tickets[-1]
    assert all(job.status is Status.DONE for job in jobs)
    assert array.tolist() == list(range(64))
    with pytest.raises(ValueError, match="never given out"):
        native.wait(native.last + 1)


def test_cancel(native: pool.Native, kernels: engine.Code, threads: int) -> None:
    array = np.zeros(8, np.int64)
    flag = ctypes.c_int64(0)
    job = pool.make_job(
        [launch(kernels["slow"], 1_000_000, 1)],
        [address(array)],
        cancel_flag=ctypes.addressof(flag),
    )
    ticket = native.submit(job.address)
    while not array[0]:
        time.sleep(0.001)
    native.cancel(job.address)
    native.wait(ticket)
    assert job.status is Status.CANCELLED
    assert 0 < array[0] < 100_000
    plain = pool.make_job([], [])
    with pytest.raises(ValueError, match="cancel flag"):
        native.cancel(plain.address)


def test_set_num_threads(native: pool.Native, kernels: engine.Code) -> None:
    array = np.zeros(1000, np.int64)
    job = pool.make_job([launch(kernels["increment"], 1000, 10)], [address(array)])
    stream = native._get("STREAM_STARTED")
    for round_, count in enumerate([1, 3, 2, 1, 5]):
        native.set_num_threads(count)
        assert native.num_threads == count
        stream = 0 if count == 1 else stream  # one thread means no other
        assert native.threads_alive == stream  # workers start with the next launch
        job.reset()
        native.run_blocking(job.address)
        assert native.threads_alive == stream + count - 1
        assert (array == round_ + 1).all()
    for wrong in (0, -1, 10**6):
        with pytest.raises(ValueError, match="number of threads"):
            native.set_num_threads(wrong)


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX threads")
def test_parking_without_futexes(kernels: engine.Code) -> None:
    """The parking of systems without futexes runs here too, in a process of its own."""
    script = f"""
import sys
from tetrad._src.cpu import native_pool
text = native_pool.pool_text
native_pool.pool_text = lambda: text("posix")
{SMOKE}
"""
    assert run_script(script) == "ok"


SMOKE = f"""
import os, time
import numpy as np
from tetrad._src.cpu import engine, pool
native = pool.native()
code = engine.assemble('''{KERNELS}''', {NAMES})
native.set_num_threads(3)
array = np.zeros(1000, np.int64)
job = pool.make_job([(0, code["increment"], 0, 1000, 10)], [array.ctypes.data])
def use(rounds):
    array[:] = 0
    for i in range(rounds):
        job.reset()
        if i % 2:
            native.run_blocking(job.address)
        else:
            native.wait(native.submit(job.address))
        if i % 50 == 0:
            time.sleep(0.002)
    assert (array == rounds).all(), array
use(200)
if hasattr(os, "fork"):
    last = native.last
    child = os.fork()
    if child == 0:
        status = 1
        try:
            assert native.threads_alive == 0
            assert native.last == native.done == last
            use(100)
            assert native.last > last and native.threads_alive == 3
            grandchild = os.fork()
            if grandchild == 0:
                use(10)
                os._exit(0)
            assert os.waitstatus_to_exitcode(os.waitpid(grandchild, 0)[1]) == 0
            use(10)
            status = 0
        finally:
            os._exit(status)
    use(100)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
print("ok")
"""


def run_script(script: str, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **variables},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_fork() -> None:
    assert run_script(SMOKE) == "ok"


def test_fork_with_work_pending(native: pool.Native, kernels: engine.Code) -> None:
    if not hasattr(os, "fork"):
        pytest.skip("no fork")
    array = np.zeros(2, np.int64)
    job = pool.make_job([launch(kernels["slow"], 400, 1)], [address(array)])
    ticket = native.submit(job.address)
    child = os.fork()
    if child == 0:
        good = native.done >= ticket and array[0] == 400
        os._exit(0 if good else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    native.wait(ticket)
    assert array[0] == 400


START_LONG_JOB = f"""
import os, sys, time
import numpy as np
from tetrad._src.cpu import engine, pool
native = pool.native()
code = engine.assemble('''{KERNELS}''', {NAMES})
array = np.zeros(2, np.int64)
job = pool.make_job(
    [(0, code["slow"], 0, 20000, 1)], [array.ctypes.data])
ticket = native.submit(job.address)
while not array[0]:
    time.sleep(0.001)
"""


def test_interrupt_of_a_long_wait() -> None:
    script = (
        START_LONG_JOB
        + """
import signal, threading
sent = []
def send():
    sent.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)
threading.Timer(0.1, send).start()
try:
    native.wait(ticket)
except KeyboardInterrupt:
    took = time.perf_counter() - sent[0]
    running = native.done < ticket
    print("interrupted", running, took < 0.2, took)
sys.stdout.flush()
os._exit(0)  # rather than wait for the job
"""
    )
    answer = run_script(script)
    assert answer.startswith("interrupted True True"), answer


def test_native_threads_take_no_signals() -> None:
    script = (
        START_LONG_JOB
        + """
for task in os.listdir("/proc/self/task"):
    words = dict(
        line.split(":", 1)
        for line in open(f"/proc/self/task/{task}/status").read().splitlines())
    blocked = int(words["SigBlk"], 16)
    print(int(task) == os.getpid(), bool(blocked & 2))
sys.stdout.flush()
os._exit(0)
"""
    )
    if sys.platform != "linux":
        pytest.skip("reads /proc")
    lines = run_script(
        script, TETRAD_NUM_THREADS="3", OPENBLAS_NUM_THREADS="1"
    ).splitlines()
    assert lines.count("True False") == 1
    # A thread that compiled may be about to end.
    assert lines.count("False True") == len(lines) - 1 in (3, 4)


@pytest.mark.parametrize("ending", ["", "raise SystemExit(0)"])
def test_exit_with_work_pending(ending: str) -> None:
    """Work that holds its memory finishes before the process ends."""
    script = START_LONG_JOB.replace("20000", "2000")
    script += """
import atexit, ctypes
flag = ctypes.c_int64.from_address(job.address + 8)
_kept = [job, array, code]
"""
    # registered before the pool's hook, so it runs after it
    script = (
        "import atexit\n"
        "atexit.register(lambda: print('finished', flag.value))\n" + script + ending
    )
    assert run_script(script) == "finished 1"


def test_nothing_starts_at_import() -> None:
    script = """
import sys, threading
from tetrad._src.cpu import blas, engine, memory, pool
threads = 1
if sys.platform == "linux":
    import os
    threads = len(os.listdir("/proc/self/task"))
print(threads, "llvmlite" in sys.modules)
"""
    threads, llvm = run_script(script, OPENBLAS_NUM_THREADS="1").split()
    assert (threads, llvm) == ("1", "False")


def test_one_thread_starts_no_worker() -> None:
    script = SMOKE.replace("set_num_threads(3)", "set_num_threads(1)").replace(
        "threads_alive == 3", "threads_alive == 1"
    )
    assert run_script(script) == "ok"


# ---- memory ----


def test_size_classes() -> None:
    for exponent in range(6, 40):
        power = 1 << exponent
        assert memory.size_class(power) == power + memory.PADDING
        assert memory.size_class(power + 1) > memory.size_class(power)
    previous = 0
    for nbytes in range(5000):
        size = memory.size_class(nbytes)
        assert size % memory.ALIGNMENT == 0
        assert previous <= size
        assert size >= nbytes + memory.PADDING
        assert size <= 1.26 * nbytes + memory.PADDING + memory.ALIGNMENT
        previous = size


@pytest.mark.parametrize("nbytes", [1, 64, 1000, 1 << 20, 4 << 20, (40 << 20) + 5])
def test_blocks(nbytes: int) -> None:
    blocks = [memory.allocate(nbytes) for _ in range(9)]
    assert len(set(blocks)) == 9
    for number, block in enumerate(blocks):
        assert block % memory.ALIGNMENT == 0
        view = memory.view(block, nbytes)
        view[0] = view[nbytes - 1] = number
    for number, block in enumerate(blocks):
        array = np.frombuffer(memory.view(block, nbytes, writable=False), np.uint8)
        assert array.ctypes.data == block
        assert array[0] == array[-1] == number
        assert not array.flags.writeable
        memory.release(block, nbytes)


def test_impossible_allocation() -> None:
    with pytest.raises(memory.AllocationFailed) as caught:
        memory.allocate(1 << 60)
    assert caught.value.nbytes == 1 << 60
    assert isinstance(caught.value, MemoryError)


def test_free_lists_follow_tickets() -> None:
    memory.trim()
    size = memory.size_class(12_345)
    blocks = [memory.allocate(size) for _ in range(3)]
    for ticket, block in enumerate(blocks, start=5):
        memory.give(block, size, ticket)
    assert memory.cached_bytes() == 3 * size
    assert memory.take(size, 4) is None
    assert memory.take(memory.size_class(20_000), 100) is None
    assert memory.take(size, 5) == (blocks[0], 5)
    assert memory.take(size, 6) == (blocks[1], 6)
    assert memory.take(size, 6) is None
    assert memory.take(size, 1 << 60) == (blocks[2], 7)
    assert memory.cached_bytes() == 0
    for block in blocks:
        memory.release(block, size)


def test_pending_blocks_are_never_released(monkeypatch: pytest.MonkeyPatch) -> None:
    memory.trim()
    done = [10]
    monkeypatch.setattr(memory._free, "done", lambda: done[0])
    size = memory.size_class(1 << 16)
    for ticket in range(8, 14):
        memory.give(memory.allocate(size), size, ticket)
    assert memory.trim() == 3 * size
    assert memory.cached_bytes() == 3 * size
    done[0] = 20
    assert memory.trim() == 3 * size
    assert memory.cached_bytes() == 0


def test_cache_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    memory.trim()
    monkeypatch.setattr(memory._free, "limit", memory._free.limit)
    size = memory.size_class(1 << 16)
    memory.set_cache_limit(10 * size)
    for _ in range(50):
        memory.give(memory.allocate(size), size, 0)
        assert memory.cached_bytes() <= 10 * size
    memory.set_cache_limit(0)
    assert memory.cached_bytes() == 0
    with pytest.raises(ValueError, match="negative"):
        memory.set_cache_limit(-1)


def test_clock_is_the_stream(native: pool.Native) -> None:
    assert memory._free.done() == native.done


def test_many_threads_share_the_lists() -> None:
    memory.trim()
    size = memory.size_class(3000)

    def work() -> None:
        for _ in range(500):
            block = memory.take(size, 0)
            address_ = memory.allocate(size) if block is None else block[0]
            memory.give(address_, size, 0)

    users = [threading.Thread(target=work) for _ in range(4)]
    for user in users:
        user.start()
    for user in users:
        user.join()
    count = memory.cached_bytes() // size
    assert memory.cached_bytes() == count * size
    assert 1 <= count <= 4
    assert memory.trim() == count * size
