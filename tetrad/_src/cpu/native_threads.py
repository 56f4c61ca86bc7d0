"""How native threads sleep, spin and start, as LLVM IR: a part of `native_pool`.

Four pieces of text, each chosen for the system: `parking` (a thread sleeps while a
word holds a value; futexes on Linux, one mutex and condition elsewhere), `pause` (the
hint that a thread spins), `clock`, and `threads` (thread start, and stopping the
workers).
Words in angle brackets are filled in by `native_pool.pool_text`.
"""

from __future__ import annotations

import signal
import sys

from tetrad._src.cpu import native_host


def parking(kind: str) -> str:
    """The functions park, park_for, unpark; `kind` is "futex" or "posix"."""
    return _futex_parking() if kind == "futex" else _POSIX_PARKING


def _futex_parking() -> str:
    number = 202 if native_host.machine() == "x86_64" else 98
    return _FUTEX_PARKING.replace("<FUTEX>", str(number))


# park: sleep while the word holds the value. park_for: the same with a time limit in
# nanoseconds. unpark: wake up to `count` sleepers. All may return early.
_FUTEX_PARKING = """
declare i64 @syscall(i64, ...)

define dso_local void @park_initialise() nounwind {
  ret void
}

define internal void @park(ptr %word, i32 %value) nounwind {
  %r = call i64 (i64, ...) @syscall(
    i64 <FUTEX>, ptr %word, i64 128, i32 %value, ptr null, ptr null, i64 0)
  ret void
}

define internal void @park_for(ptr %word, i32 %value, i64 %limit) nounwind {
  %time = alloca { i64, i64 }
  %seconds = udiv i64 %limit, 1000000000
  %rest = urem i64 %limit, 1000000000
  store i64 %seconds, ptr %time
  %nanoseconds = getelementptr i64, ptr %time, i64 1
  store i64 %rest, ptr %nanoseconds
  %r = call i64 (i64, ...) @syscall(
    i64 <FUTEX>, ptr %word, i64 128, i32 %value, ptr %time, ptr null, i64 0)
  ret void
}

define internal void @unpark(ptr %word, i32 %count) nounwind {
  %r = call i64 (i64, ...) @syscall(
    i64 <FUTEX>, ptr %word, i64 129, i32 %count, ptr null, ptr null, i64 0)
  ret void
}
"""

_POSIX_PARKING = """
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_timedwait(ptr, ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)

@park_mutex = internal global [128 x i8] zeroinitializer, align 64
@park_condition = internal global [128 x i8] zeroinitializer, align 64

define dso_local void @park_initialise() nounwind {
  %m = call i32 @pthread_mutex_init(ptr @park_mutex, ptr null)
  %c = call i32 @pthread_cond_init(ptr @park_condition, ptr null)
  ret void
}

define internal void @park(ptr %word, i32 %value) nounwind {
entry:
  %l = call i32 @pthread_mutex_lock(ptr @park_mutex)
  %now = load atomic i32, ptr %word seq_cst, align 4
  %same = icmp eq i32 %now, %value
  br i1 %same, label %sleep, label %leave
sleep:
  %w = call i32 @pthread_cond_wait(ptr @park_condition, ptr @park_mutex)
  br label %leave
leave:
  %u = call i32 @pthread_mutex_unlock(ptr @park_mutex)
  ret void
}

define internal void @park_for(ptr %word, i32 %value, i64 %limit) nounwind {
entry:
  %time = alloca { i64, i64 }
  %g = call i32 @clock_gettime(i32 0, ptr %time)
  %fraction = getelementptr i64, ptr %time, i64 1
  %s0 = load i64, ptr %time
  %n0 = load i64, ptr %fraction
  %n1 = add i64 %n0, %limit
  %carry = udiv i64 %n1, 1000000000
  %n2 = urem i64 %n1, 1000000000
  %s1 = add i64 %s0, %carry
  store i64 %s1, ptr %time
  store i64 %n2, ptr %fraction
  %l = call i32 @pthread_mutex_lock(ptr @park_mutex)
  %now = load atomic i32, ptr %word seq_cst, align 4
  %same = icmp eq i32 %now, %value
  br i1 %same, label %sleep, label %leave
sleep:
  %w = call i32 @pthread_cond_timedwait(
    ptr @park_condition, ptr @park_mutex, ptr %time)
  br label %leave
leave:
  %u = call i32 @pthread_mutex_unlock(ptr @park_mutex)
  ret void
}

define internal void @unpark(ptr %word, i32 %count) nounwind {
  %l = call i32 @pthread_mutex_lock(ptr @park_mutex)
  %b = call i32 @pthread_cond_broadcast(ptr @park_condition)
  %u = call i32 @pthread_mutex_unlock(ptr @park_mutex)
  ret void
}
"""


def pause() -> str:
    """The hint that a thread spins."""
    machine = native_host.machine()
    if machine == "x86_64":
        return """
declare void @llvm.x86.sse2.pause()
define internal void @pause() alwaysinline nounwind {
  call void @llvm.x86.sse2.pause()
  ret void
}
"""
    if machine in ("aarch64", "arm64"):
        return """
declare void @llvm.aarch64.hint(i32)
define internal void @pause() alwaysinline nounwind {
  call void @llvm.aarch64.hint(i32 1)
  ret void
}
"""
    return """
define internal void @pause() alwaysinline nounwind {
  ret void
}
"""


def clock() -> str:
    """Nanoseconds on the clock of `time.perf_counter`."""
    number = 1 if sys.platform == "linux" else 8  # CLOCK_MONOTONIC, CLOCK_UPTIME_RAW
    return _CLOCK.replace("<CLOCK>", str(number))


_CLOCK = """
declare i32 @clock_gettime(i32, ptr)

define internal i64 @now() nounwind {
  %time = alloca { i64, i64 }
  %g = call i32 @clock_gettime(i32 <CLOCK>, ptr %time)
  %rest = getelementptr i64, ptr %time, i64 1
  %seconds = load i64, ptr %time
  %fraction = load i64, ptr %rest
  %whole = mul i64 %seconds, 1000000000
  %sum = add i64 %whole, %fraction
  ret i64 %sum
}
"""


def threads() -> str:
    """Thread start. New threads block every signal except faults, so that a Ctrl-C
    goes to a Python thread."""
    faults = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)
    mask = (1 << 64) - 1
    for number in faults:
        mask &= ~(1 << (number - 1))
    # pthread_sigmask's constants and the C type of a mask differ between systems.
    block, restore = (0, 2) if sys.platform == "linux" else (1, 3)
    text = _THREADS.replace("<MASK>", str(mask - (1 << 64)))
    return text.replace("<SIG_BLOCK>", str(block)).replace(
        "<SIG_SETMASK>", str(restore)
    )


_THREADS = """
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)

; 1 if a thread was started; its pthread_t goes to %handle
define internal i1 @start_thread(ptr %handle, ptr %fn, ptr %arg) nounwind {
  %mask = alloca [16 x i64]
  %old = alloca [16 x i64]
  store [16 x i64] zeroinitializer, ptr %mask
  store i64 <MASK>, ptr %mask
  %b = call i32 @pthread_sigmask(i32 <SIG_BLOCK>, ptr %mask, ptr %old)
  %r = call i32 @pthread_create(ptr %handle, ptr null, ptr %fn, ptr %arg)
  %s = call i32 @pthread_sigmask(i32 <SIG_SETMASK>, ptr %old, ptr null)
  %ok = icmp eq i32 %r, 0
  ret i1 %ok
}

; called with LOCK held
define internal void @start_workers(ptr %p) nounwind {
entry:
  %started = getelementptr i8, ptr %p, i64 <STARTED>
  store atomic i32 1, ptr %started monotonic, align 4
  %pwanted = getelementptr i8, ptr %p, i64 <WANTED>
  %wanted = load i32, ptr %pwanted
  %handles = getelementptr i8, ptr %p, i64 <THREADS>
  br label %next
next:
  %i = phi i32 [ 0, %entry ], [ %i1, %start ]
  %more = icmp slt i32 %i, %wanted
  br i1 %more, label %start, label %leave
start:
  %handle = getelementptr i64, ptr %handles, i32 %i
  %i1 = add i32 %i, 1
  %ok = call i1 @start_thread(ptr %handle, ptr @pool_worker, ptr %p)
  br i1 %ok, label %next, label %leave
leave:
  %n = phi i32 [ %i, %next ], [ %i, %start ]
  %alive = getelementptr i8, ptr %p, i64 <ALIVE>
  store i32 %n, ptr %alive
  ret void
}

; Stop the workers; the next parallel_for starts `wanted` new ones. 0: pool is busy.
define dso_local i32 @resize_pool(ptr %p, i32 %wanted) nounwind {
entry:
  %lock = getelementptr i8, ptr %p, i64 <LOCK>
  %x = cmpxchg ptr %lock, i32 0, i32 1 acquire monotonic
  %got = extractvalue { i32, i1 } %x, 1
  br i1 %got, label %stop, label %busy
busy:
  ret i32 0
stop:
  %pstop = getelementptr i8, ptr %p, i64 <STOP>
  store atomic i32 1, ptr %pstop seq_cst, align 4
  ; a new epoch without chunks takes the spinning and sleeping workers out of their wait
  %word = load atomic i64, ptr %p monotonic, align 8
  %closed = or i64 %word, 4294967295
  store atomic i64 %closed, ptr %p seq_cst, align 8
  %pcount = getelementptr i8, ptr %p, i64 <COUNT>
  store atomic i64 0, ptr %pcount seq_cst, align 8
  %fresh = add i64 %closed, 1
  store atomic i64 %fresh, ptr %p seq_cst, align 8
  %epoch = getelementptr i8, ptr %p, i64 <EPOCH>
  call void @unpark(ptr %epoch, i32 2147483647)
  %palive = getelementptr i8, ptr %p, i64 <ALIVE>
  %alive = load i32, ptr %palive
  %handles = getelementptr i8, ptr %p, i64 <THREADS>
  br label %next
next:
  %i = phi i32 [ 0, %stop ], [ %i1, %join ]
  %more = icmp slt i32 %i, %alive
  br i1 %more, label %join, label %done
join:
  %phandle = getelementptr i64, ptr %handles, i32 %i
  %handle = load i64, ptr %phandle
  %j = call i32 @pthread_join(i64 %handle, ptr null)
  %i1 = add i32 %i, 1
  br label %next
done:
  store i32 0, ptr %palive
  %pstarted = getelementptr i8, ptr %p, i64 <STARTED>
  store i32 0, ptr %pstarted
  %pwanted = getelementptr i8, ptr %p, i64 <WANTED>
  store i32 %wanted, ptr %pwanted
  store atomic i32 0, ptr %pstop seq_cst, align 4
  store atomic i32 0, ptr %lock release, align 4
  ret i32 1
}
"""
