"""The text of the worker pool, the stream and the program runner, as LLVM IR.

`pool_text()` gives one module whose parts are, in reading order: parking (how a thread
sleeps on a word: futexes on Linux, one mutex and condition elsewhere), thread start,
the pool (`parallel_for`), the runner (`run`, which interprets a job), the stream
(`submit`, `wait`, a thread that runs jobs in order). `FIELDS` names the words of the
state block that all of them share; `pool.py` reads and writes the same words.

A job is a block of int64 words; see `JOB` for their order and `Opcode` for the
instructions. Chunk boundaries depend on the job alone, never on the number of threads.
"""

from __future__ import annotations

import enum
import signal
import sys

from tetrad._src.cpu import native_run, native_threads
from tetrad._src.runtime import threads

MAX_WORKERS = threads.MOST
RING = 1024  # jobs that the stream can hold; a power of two

# Offsets in bytes into the state block. Words written by different threads lie in
# different cache lines.
FIELDS = {
    "WORD": 0,  # i64: epoch << 32 | index of the next chunk
    "EPOCH": 4,  # i32: upper half of WORD, on which idle workers sleep
    "FUNCTION": 64,  # ptr: what the current parallel_for calls
    "CONTEXT": 72,  # ptr: its first argument
    "COUNT": 80,  # i64: number of chunks handed out
    "FIRST": 88,  # i64: index of the first of them
    "FINISHED": 128,  # i64: chunks finished
    "SLEEPERS": 192,  # i32: workers asleep
    "CALLER_SLEEPS": 196,  # i32: the caller of parallel_for is asleep
    "LOCK": 200,  # i32: a parallel_for is running
    "WORKER_SPIN": 204,  # i32: pauses before a worker sleeps
    "STOP": 208,  # i32: workers are to return
    "CALLER_SPIN": 212,  # i32: pauses before the caller sleeps
    "WANTED": 216,  # i32: number of workers to start
    "STARTED": 220,  # i32: workers have been started
    "ALIVE": 224,  # i32: workers that could be started
    "HEAD": 256,  # i64: ticket of the last job submitted
    "TAIL": 320,  # i64: ticket of the last job finished
    "STREAM_ASLEEP": 384,  # i32: the stream thread is asleep
    "WAITERS": 388,  # i32: threads asleep in wait
    "STREAM_SPIN": 392,  # i32: pauses before the stream thread sleeps
    "WAIT_SPIN": 396,  # i32: pauses before a waiter sleeps
    "SUBMIT_LOCK": 400,  # i32: a submit is running
    "FROZEN": 404,  # i32: a fork is under way, nothing may be submitted
    "STREAM_STARTED": 408,  # i32: the stream thread has been started
    "STREAM_STOP": 412,  # i32: the stream thread is to return
    "STREAM_THREAD": 416,  # pthread_t of the stream
    "SLOTS": 448,  # RING addresses of jobs
    "THREADS": 448 + 8 * RING,  # MAX_WORKERS words pthread_t
}
STATE_BYTES = FIELDS["THREADS"] + 8 * MAX_WORKERS

JOB = {
    "POOL": 0,
    "STATUS": 1,
    "FIX_COUNT": 2,
    "INSTRUCTION_COUNT": 3,
    "FIX": 4,
    "VALUES": 5,
    "ARGUMENTS": 6,
    "CODE": 7,
    "CANCEL": 8,
    "TIMES": 9,  # of a job with TIMED instructions: TIME_WORDS for each instruction
}
TIME_WORDS = 4  # how often, nanoseconds, first start, last end
JOB_WORDS = len(JOB)
INSTRUCTION_WORDS = 5


class Status(enum.IntEnum):
    """The second word of a job."""

    PENDING = 0
    DONE = 1
    CANCELLED = 2
    INVALID = 3  # an unknown instruction


class Opcode(enum.IntEnum):
    """First word of an instruction; the comment names the four that follow."""

    LAUNCH = 0  # function, argument offset, total, chunk
    JUMP = 1  # target instruction
    JUMP_UNLESS = 2  # argument holding a pointer to an i8, target
    COPY = 3  # destination argument, source argument, constant that is added
    ADD = 4  # argument, constant
    JUMP_IF_LESS = 5  # left argument, right argument, target
    FLAG = 7  # argument: the address of the cancel flag, or of a word that is 0
    SWITCH = 6  # argument holding a pointer to an i32 n, count: skip min(n, count - 1)
    TIMED = 8  # like LAUNCH, and notes its times


def pool_text(parking: str | None = None) -> str:
    """The whole module; `parking` is "futex" or "posix", by default the system's."""
    if parking is None:
        parking = "futex" if sys.platform == "linux" else "posix"
    if sys.platform == "win32":
        raise NotImplementedError(
            "the CPU backend's thread pool needs POSIX threads; on Windows use WSL"
        )
    state = f"[{STATE_BYTES} x i8] zeroinitializer, align 64"
    parts = [
        f"@tetrad_pool = dso_local global {state}\n",
        native_threads.parking(parking),
        native_threads.pause(),
        native_threads.clock(),
        native_threads.threads(),
        _POOL,
        _PARALLEL_FOR,
        native_run.RUN,
        native_run.GUARD,
        _STREAM,
    ]
    text = "".join(parts).replace("<TIME_WORDS>", str(TIME_WORDS))
    for name, offset in FIELDS.items():
        text = text.replace(f"<{name}>", str(offset))
    for name, index in JOB.items():
        text = text.replace(f"<JOB.{name}>", str(index))
    for opcode in Opcode:
        text = text.replace(f"<{opcode.name}>", str(opcode.value))
    for status in Status:
        text = text.replace(f"<{status.name}>", str(status.value))
    text = text.replace("<SIGINT>", str(int(signal.SIGINT)))
    return text.replace("<RING>", str(RING)).replace("<RING-1>", str(RING - 1))


_POOL = """
; Take chunks and run them until none is left or the epoch has moved on.
define internal void @work(ptr %p) nounwind {
entry:
  %pfunction = getelementptr i8, ptr %p, i64 <FUNCTION>
  %pcontext = getelementptr i8, ptr %p, i64 <CONTEXT>
  %pcount = getelementptr i8, ptr %p, i64 <COUNT>
  %pfirst = getelementptr i8, ptr %p, i64 <FIRST>
  %pfinished = getelementptr i8, ptr %p, i64 <FINISHED>
  br label %again
again:
  %word = load atomic i64, ptr %p acquire, align 8
  %index = and i64 %word, 4294967295
  %count = load atomic i64, ptr %pcount monotonic, align 8
  %left = icmp ult i64 %index, %count
  br i1 %left, label %take, label %leave
take:
  %function = load atomic ptr, ptr %pfunction monotonic, align 8
  %context = load atomic ptr, ptr %pcontext monotonic, align 8
  %first = load atomic i64, ptr %pfirst monotonic, align 8
  %next = add i64 %word, 1
  %x = cmpxchg ptr %p, i64 %word, i64 %next acq_rel monotonic
  %ok = extractvalue { i64, i1 } %x, 1
  br i1 %ok, label %run, label %again
run:
  %chunk = add i64 %first, %index
  call void %function(ptr %context, i64 %chunk)
  %before = atomicrmw add ptr %pfinished, i64 1 seq_cst
  %after = add i64 %before, 1
  %last = icmp eq i64 %after, %count
  br i1 %last, label %finish, label %again
finish:
  %psleeps = getelementptr i8, ptr %p, i64 <CALLER_SLEEPS>
  %sleeps = load atomic i32, ptr %psleeps seq_cst, align 4
  %wake = icmp ne i32 %sleeps, 0
  br i1 %wake, label %wakeup, label %again
wakeup:
  call void @unpark(ptr %pfinished, i32 1)
  br label %again
leave:
  ret void
}

define internal ptr @pool_worker(ptr %p) nounwind {
entry:
  %pepoch = getelementptr i8, ptr %p, i64 <EPOCH>
  %pstop = getelementptr i8, ptr %p, i64 <STOP>
  %pspin = getelementptr i8, ptr %p, i64 <WORKER_SPIN>
  %psleepers = getelementptr i8, ptr %p, i64 <SLEEPERS>
  %pcount = getelementptr i8, ptr %p, i64 <COUNT>
  br label %top
top:
  call void @work(ptr %p)
  %old = load atomic i32, ptr %pepoch acquire, align 4
  ; the order matters: whoever sets STOP moves the epoch afterwards
  %stop = load atomic i32, ptr %pstop seq_cst, align 4
  %stopped = icmp ne i32 %stop, 0
  br i1 %stopped, label %leave, label %recheck
recheck:
  ; chunks published between work and the load of the epoch
  %word = load atomic i64, ptr %p acquire, align 8
  %index = and i64 %word, 4294967295
  %count = load atomic i64, ptr %pcount acquire, align 8
  %left = icmp ult i64 %index, %count
  br i1 %left, label %top, label %idle
idle:
  %limit = load i32, ptr %pspin
  br label %spin
spin:
  %k = phi i32 [ 0, %idle ], [ %k1, %hold ]
  %epoch = load atomic i32, ptr %pepoch acquire, align 4
  %moved = icmp ne i32 %epoch, %old
  br i1 %moved, label %top, label %hold
hold:
  call void @pause()
  %k1 = add i32 %k, 1
  %go_on = icmp ult i32 %k1, %limit
  br i1 %go_on, label %spin, label %sleep
sleep:
  %a = atomicrmw add ptr %psleepers, i32 1 seq_cst
  call void @park(ptr %pepoch, i32 %old)
  %b = atomicrmw sub ptr %psleepers, i32 1 seq_cst
  br label %top
leave:
  ret ptr null
}
"""

_PARALLEL_FOR = """
declare i64 @llvm.umin.i64(i64, i64)

define internal i1 @try_pool(ptr %p) nounwind {
entry:
  %pwanted = getelementptr i8, ptr %p, i64 <WANTED>
  %wanted = load i32, ptr %pwanted
  %none = icmp eq i32 %wanted, 0
  br i1 %none, label %no, label %look
look:
  %lock = getelementptr i8, ptr %p, i64 <LOCK>
  %held = load atomic i32, ptr %lock monotonic, align 4
  %taken = icmp ne i32 %held, 0
  br i1 %taken, label %no, label %try
try:
  %x = cmpxchg ptr %lock, i32 0, i32 1 acquire monotonic
  %ok = extractvalue { i32, i1 } %x, 1
  ret i1 %ok
no:
  ret i1 false
}

; function(context, i) for every i in [0, n), in any order, on this and other threads.
; Where the pool is busy (another thread's loop, or this is nested in a chunk), chunks
; run here until the pool becomes free.
define dso_local void @tetrad_parallel_for(
    ptr %p, ptr %function, ptr %context, i64 %n) nounwind {
entry:
  br label %serial
serial:
  %i = phi i64 [ 0, %entry ], [ %i1, %here ]
  %left = sub i64 %n, %i
  %some = icmp sgt i64 %left, 0
  br i1 %some, label %choose, label %leave
choose:
  %several = icmp sgt i64 %left, 1
  br i1 %several, label %ask, label %here
ask:
  %got = call i1 @try_pool(ptr %p)
  br i1 %got, label %open, label %here
here:
  call void %function(ptr %context, i64 %i)
  %i1 = add i64 %i, 1
  br label %serial
open:
  call void @share(ptr %p, ptr %function, ptr %context, i64 %i, i64 %left)
  br label %leave
leave:
  ret void
}

; Hand out chunks [first, first + n) with LOCK held; wait for all; unlock.
define internal void @share(
    ptr %p, ptr %function, ptr %context, i64 %first, i64 %n) nounwind {
entry:
  %pstarted = getelementptr i8, ptr %p, i64 <STARTED>
  %started = load i32, ptr %pstarted
  %ready = icmp ne i32 %started, 0
  br i1 %ready, label %publish, label %start
start:
  call void @start_workers(ptr %p)
  br label %publish
publish:
  %pfinished = getelementptr i8, ptr %p, i64 <FINISHED>
  %pfunction = getelementptr i8, ptr %p, i64 <FUNCTION>
  %pcontext = getelementptr i8, ptr %p, i64 <CONTEXT>
  %pcount = getelementptr i8, ptr %p, i64 <COUNT>
  %pfirst = getelementptr i8, ptr %p, i64 <FIRST>
  ; close the old epoch, so that no worker can take a chunk of a half-written one
  %word = load atomic i64, ptr %p monotonic, align 8
  %closed = or i64 %word, 4294967295
  store atomic i64 %closed, ptr %p seq_cst, align 8
  store atomic i64 0, ptr %pfinished monotonic, align 8
  store atomic ptr %function, ptr %pfunction monotonic, align 8
  store atomic ptr %context, ptr %pcontext monotonic, align 8
  store atomic i64 %first, ptr %pfirst monotonic, align 8
  store atomic i64 %n, ptr %pcount release, align 8
  %fresh = add i64 %closed, 1
  store atomic i64 %fresh, ptr %p seq_cst, align 8
  %psleepers = getelementptr i8, ptr %p, i64 <SLEEPERS>
  %sleepers = load atomic i32, ptr %psleepers seq_cst, align 4
  %asleep = icmp ne i32 %sleepers, 0
  br i1 %asleep, label %wake, label %join
wake:
  %epoch = getelementptr i8, ptr %p, i64 <EPOCH>
  %others = sub i64 %n, 1
  %enough = call i64 @llvm.umin.i64(i64 %others, i64 2147483647)
  %woken = trunc i64 %enough to i32
  call void @unpark(ptr %epoch, i32 %woken)
  br label %join
join:
  call void @work(ptr %p)
  %pspin = getelementptr i8, ptr %p, i64 <CALLER_SPIN>
  %limit = load i32, ptr %pspin
  br label %spin
spin:
  %k = phi i32 [ 0, %join ], [ %k1, %hold ]
  %d = load atomic i64, ptr %pfinished acquire, align 8
  %all = icmp uge i64 %d, %n
  br i1 %all, label %unlock, label %hold
hold:
  call void @pause()
  %k1 = add i32 %k, 1
  %go_on = icmp ult i32 %k1, %limit
  br i1 %go_on, label %spin, label %bed
bed:
  %psleeps = getelementptr i8, ptr %p, i64 <CALLER_SLEEPS>
  store atomic i32 1, ptr %psleeps seq_cst, align 4
  br label %look
look:
  %d2 = load atomic i64, ptr %pfinished seq_cst, align 8
  %all2 = icmp uge i64 %d2, %n
  br i1 %all2, label %awake, label %sleep
sleep:
  %low = trunc i64 %d2 to i32
  call void @park(ptr %pfinished, i32 %low)
  br label %look
awake:
  store atomic i32 0, ptr %psleeps seq_cst, align 4
  br label %unlock
unlock:
  %lock = getelementptr i8, ptr %p, i64 <LOCK>
  store atomic i32 0, ptr %lock release, align 4
  ret void
}
"""

_STREAM = """
define internal void @acquire(ptr %lock) nounwind {
entry:
  br label %try
try:
  %x = cmpxchg ptr %lock, i32 0, i32 1 acquire monotonic
  %got = extractvalue { i32, i1 } %x, 1
  br i1 %got, label %leave, label %hold
hold:
  call void @pause()
  br label %try
leave:
  ret void
}

; The ticket of the job, or 0 if the stream is full or frozen, or -1 if no thread could
; be started.
define dso_local i64 @stream_submit(ptr %s, ptr %job) nounwind {
entry:
  %lock = getelementptr i8, ptr %s, i64 <SUBMIT_LOCK>
  call void @acquire(ptr %lock)
  br label %check
check:
  %pfrozen = getelementptr i8, ptr %s, i64 <FROZEN>
  %frozen = load atomic i32, ptr %pfrozen acquire, align 4
  %ice = icmp ne i32 %frozen, 0
  %phead = getelementptr i8, ptr %s, i64 <HEAD>
  %head = load atomic i64, ptr %phead monotonic, align 8
  %ptail = getelementptr i8, ptr %s, i64 <TAIL>
  %tail = load atomic i64, ptr %ptail acquire, align 8
  %used = sub i64 %head, %tail
  %full = icmp uge i64 %used, <RING>
  %refuse = or i1 %ice, %full
  br i1 %refuse, label %leave, label %thread
thread:
  %pstarted = getelementptr i8, ptr %s, i64 <STREAM_STARTED>
  %started = load i32, ptr %pstarted
  %ready = icmp ne i32 %started, 0
  br i1 %ready, label %put, label %start
start:
  %handle = getelementptr i8, ptr %s, i64 <STREAM_THREAD>
  %ok = call i1 @start_thread(ptr %handle, ptr @stream_worker, ptr %s)
  br i1 %ok, label %mark, label %leave
mark:
  store i32 1, ptr %pstarted
  br label %put
put:
  %slot = and i64 %head, <RING-1>
  %slots = getelementptr i8, ptr %s, i64 <SLOTS>
  %pslot = getelementptr i64, ptr %slots, i64 %slot
  store ptr %job, ptr %pslot
  %ticket = add i64 %head, 1
  store atomic i64 %ticket, ptr %phead seq_cst, align 8
  %pasleep = getelementptr i8, ptr %s, i64 <STREAM_ASLEEP>
  %asleep = load atomic i32, ptr %pasleep seq_cst, align 4
  %sleeping = icmp ne i32 %asleep, 0
  br i1 %sleeping, label %wake, label %leave
wake:
  call void @unpark(ptr %phead, i32 1)
  br label %leave
leave:
  %result = phi i64
    [ 0, %check ], [ -1, %start ], [ %ticket, %put ], [ %ticket, %wake ]
  store atomic i32 0, ptr %lock release, align 4
  ret i64 %result
}

define internal ptr @stream_worker(ptr %s) nounwind {
entry:
  %phead = getelementptr i8, ptr %s, i64 <HEAD>
  %ptail = getelementptr i8, ptr %s, i64 <TAIL>
  %pasleep = getelementptr i8, ptr %s, i64 <STREAM_ASLEEP>
  %pwaiters = getelementptr i8, ptr %s, i64 <WAITERS>
  %pspin = getelementptr i8, ptr %s, i64 <STREAM_SPIN>
  %slots = getelementptr i8, ptr %s, i64 <SLOTS>
  %pstop = getelementptr i8, ptr %s, i64 <STREAM_STOP>
  br label %top
top:
  %stop = load atomic i32, ptr %pstop seq_cst, align 4
  %stopped = icmp ne i32 %stop, 0
  br i1 %stopped, label %leave, label %look
leave:
  store atomic i32 0, ptr %pstop seq_cst, align 4
  ret ptr null
look:
  %tail = load atomic i64, ptr %ptail monotonic, align 8
  %limit = load i32, ptr %pspin
  br label %spin
spin:
  %k = phi i32 [ 0, %look ], [ %k1, %hold ]
  %head = load atomic i64, ptr %phead acquire, align 8
  %work = icmp ne i64 %head, %tail
  br i1 %work, label %run, label %hold
hold:
  call void @pause()
  %k1 = add i32 %k, 1
  %go_on = icmp ult i32 %k1, %limit
  br i1 %go_on, label %spin, label %bed
bed:
  store atomic i32 1, ptr %pasleep seq_cst, align 4
  %head2 = load atomic i64, ptr %phead seq_cst, align 8
  %work2 = icmp ne i64 %head2, %tail
  br i1 %work2, label %awake, label %sleep
sleep:
  %low = trunc i64 %tail to i32
  call void @park(ptr %phead, i32 %low)
  br label %awake
awake:
  store atomic i32 0, ptr %pasleep seq_cst, align 4
  br label %top
run:
  %slot = and i64 %tail, <RING-1>
  %pslot = getelementptr i64, ptr %slots, i64 %slot
  %job = load ptr, ptr %pslot
  call void @tetrad_run(ptr %job)
  %ticket = add i64 %tail, 1
  store atomic i64 %ticket, ptr %ptail seq_cst, align 8
  %waiters = load atomic i32, ptr %pwaiters seq_cst, align 4
  %any = icmp ne i32 %waiters, 0
  br i1 %any, label %wake, label %top
wake:
  call void @unpark(ptr %ptail, i32 2147483647)
  br label %top
}

; End the stream's thread; the next submit starts a new one. 0: there is work to do.
define dso_local i32 @stop_stream(ptr %s) nounwind {
entry:
  %lock = getelementptr i8, ptr %s, i64 <SUBMIT_LOCK>
  call void @acquire(ptr %lock)
  br label %check
check:
  %pstarted = getelementptr i8, ptr %s, i64 <STREAM_STARTED>
  %started = load i32, ptr %pstarted
  %none = icmp eq i32 %started, 0
  br i1 %none, label %leave, label %look
look:
  %phead = getelementptr i8, ptr %s, i64 <HEAD>
  %head = load atomic i64, ptr %phead monotonic, align 8
  %ptail = getelementptr i8, ptr %s, i64 <TAIL>
  %tail = load atomic i64, ptr %ptail acquire, align 8
  %idle = icmp eq i64 %head, %tail
  br i1 %idle, label %stop, label %leave
stop:
  %pstop = getelementptr i8, ptr %s, i64 <STREAM_STOP>
  store atomic i32 1, ptr %pstop seq_cst, align 4
  br label %wake
wake:
  ; again and again: it may be on its way to sleep
  call void @unpark(ptr %phead, i32 1)
  call void @pause()
  %left = load atomic i32, ptr %pstop seq_cst, align 4
  %there = icmp ne i32 %left, 0
  br i1 %there, label %wake, label %join
join:
  %phandle = getelementptr i8, ptr %s, i64 <STREAM_THREAD>
  %handle = load i64, ptr %phandle
  %j = call i32 @pthread_join(i64 %handle, ptr null)
  store i32 0, ptr %pstarted
  br label %leave
leave:
  %result = phi i32 [ 1, %check ], [ 0, %look ], [ 1, %join ]
  store atomic i32 0, ptr %lock release, align 4
  ret i32 %result
}

; 1 if the ticket is finished, 0 after about %limit nanoseconds or a signal.
define dso_local i32 @stream_wait(ptr %s, i64 %ticket, i64 %limit) nounwind {
entry:
  %ptail = getelementptr i8, ptr %s, i64 <TAIL>
  %pwaiters = getelementptr i8, ptr %s, i64 <WAITERS>
  %pspin = getelementptr i8, ptr %s, i64 <WAIT_SPIN>
  %spins = load i32, ptr %pspin
  br label %spin
spin:
  %k = phi i32 [ 0, %entry ], [ %k1, %hold ]
  %tail = load atomic i64, ptr %ptail acquire, align 8
  %there = icmp sge i64 %tail, %ticket
  br i1 %there, label %yes, label %hold
hold:
  call void @pause()
  %k1 = add i32 %k, 1
  %go_on = icmp ult i32 %k1, %spins
  br i1 %go_on, label %spin, label %bed
bed:
  %a = atomicrmw add ptr %pwaiters, i32 1 seq_cst
  %tail2 = load atomic i64, ptr %ptail seq_cst, align 8
  %there2 = icmp sge i64 %tail2, %ticket
  br i1 %there2, label %up, label %sleep
sleep:
  %low = trunc i64 %tail2 to i32
  call void @park_for(ptr %ptail, i32 %low, i64 %limit)
  br label %up
up:
  %b = atomicrmw sub ptr %pwaiters, i32 1 seq_cst
  %tail3 = load atomic i64, ptr %ptail acquire, align 8
  %there3 = icmp sge i64 %tail3, %ticket
  %answer = zext i1 %there3 to i32
  ret i32 %answer
yes:
  ret i32 1
}
"""
