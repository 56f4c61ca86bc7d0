"""The text of the program runner, as LLVM IR: `run`, which interprets a job.

Part of the module that `native_pool.pool_text` puts together; words of the job and
numbers of instructions stand in angle brackets there. `GUARD` is what runs a program on
the thread that asks, and lets Ctrl-C through.
"""

from __future__ import annotations

RUN = """
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)

@never = internal global i64 0

; a word other than 0 at %flag asks to stop; %flag may be null
define internal i1 @cancelled(ptr %flag) nounwind {
entry:
  %none = icmp eq ptr %flag, null
  br i1 %none, label %no, label %look
look:
  %v = load atomic i64, ptr %flag monotonic, align 8
  %set = icmp ne i64 %v, 0
  ret i1 %set
no:
  ret i1 false
}

; One chunk of a launch. Context: function, arguments, total, chunk, cancel flag.
define internal void @run_chunk(ptr %context, i64 %i) nounwind {
entry:
  %q4 = getelementptr i64, ptr %context, i64 4
  %flag = load ptr, ptr %q4
  %stop = call i1 @cancelled(ptr %flag)
  br i1 %stop, label %leave, label %go
go:
  %function = load ptr, ptr %context
  %q1 = getelementptr i64, ptr %context, i64 1
  %arguments = load ptr, ptr %q1
  %q2 = getelementptr i64, ptr %context, i64 2
  %total = load i64, ptr %q2
  %q3 = getelementptr i64, ptr %context, i64 3
  %chunk = load i64, ptr %q3
  %low = mul i64 %i, %chunk
  %end = add i64 %low, %chunk
  %high = call i64 @llvm.smin.i64(i64 %end, i64 %total)
  call void %function(ptr %arguments, i64 %low, i64 %high)
  br label %leave
leave:
  ret void
}

define internal void @launch(
    ptr %pool, ptr %function, ptr %arguments, i64 %total, i64 %chunk, ptr %flag)
    nounwind {
entry:
  %context = alloca [5 x i64]
  %some = icmp sgt i64 %total, 0
  br i1 %some, label %size, label %leave
size:
  %small = icmp sle i64 %total, %chunk
  br i1 %small, label %one, label %many
one:
  call void %function(ptr %arguments, i64 0, i64 %total)
  br label %leave
many:
  store ptr %function, ptr %context
  %q1 = getelementptr i64, ptr %context, i64 1
  store ptr %arguments, ptr %q1
  %q2 = getelementptr i64, ptr %context, i64 2
  store i64 %total, ptr %q2
  %q3 = getelementptr i64, ptr %context, i64 3
  %step = call i64 @llvm.smax.i64(i64 %chunk, i64 1)
  store i64 %step, ptr %q3
  %q4 = getelementptr i64, ptr %context, i64 4
  store ptr %flag, ptr %q4
  %t = sub i64 %total, 1
  %u = udiv i64 %t, %step
  %n = add i64 %u, 1
  call void @tetrad_parallel_for(ptr %pool, ptr @run_chunk, ptr %context, i64 %n)
  br label %leave
leave:
  ret void
}

; A launch whose times are added to those of instruction %i.
define internal void @timed_launch(
    ptr %job, ptr %function, ptr %arguments, i64 %total, i64 %chunk, i64 %i)
    nounwind noinline {
entry:
  %pool = load ptr, ptr %job
  %qflag = getelementptr i64, ptr %job, i64 <JOB.CANCEL>
  %flag = load ptr, ptr %qflag
  %qtimes = getelementptr i64, ptr %job, i64 <JOB.TIMES>
  %times = load ptr, ptr %qtimes
  %begin = call i64 @now()
  call void @launch(
    ptr %pool, ptr %function, ptr %arguments, i64 %total, i64 %chunk, ptr %flag)
  %end = call i64 @now()
  %at = mul i64 %i, <TIME_WORDS>
  %q0 = getelementptr i64, ptr %times, i64 %at
  %q1 = getelementptr i64, ptr %q0, i64 1
  %q2 = getelementptr i64, ptr %q0, i64 2
  %q3 = getelementptr i64, ptr %q0, i64 3
  %count = load i64, ptr %q0
  %more = add i64 %count, 1
  store i64 %more, ptr %q0
  %sum = load i64, ptr %q1
  %took = sub i64 %end, %begin
  %longer = add i64 %sum, %took
  store i64 %longer, ptr %q1
  %fresh = icmp eq i64 %count, 0
  %before = load i64, ptr %q2
  %first = select i1 %fresh, i64 %begin, i64 %before
  store i64 %first, ptr %q2
  store i64 %end, ptr %q3
  ret void
}

define internal void @fix_arguments(ptr %job) nounwind {
entry:
  %qn = getelementptr i64, ptr %job, i64 <JOB.FIX_COUNT>
  %n = load i64, ptr %qn
  %qfix = getelementptr i64, ptr %job, i64 <JOB.FIX>
  %fix = load ptr, ptr %qfix
  %qvalues = getelementptr i64, ptr %job, i64 <JOB.VALUES>
  %values = load ptr, ptr %qvalues
  %qarguments = getelementptr i64, ptr %job, i64 <JOB.ARGUMENTS>
  %arguments = load ptr, ptr %qarguments
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i1, %one ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %one, label %leave
one:
  %row = mul i64 %i, 3
  %r0 = getelementptr i64, ptr %fix, i64 %row
  %r1 = getelementptr i64, ptr %r0, i64 1
  %r2 = getelementptr i64, ptr %r0, i64 2
  %destination = load i64, ptr %r0
  %source = load i64, ptr %r1
  %offset = load i64, ptr %r2
  %psource = getelementptr i64, ptr %values, i64 %source
  %value = load i64, ptr %psource
  %sum = add i64 %value, %offset
  %pdestination = getelementptr i64, ptr %arguments, i64 %destination
  store i64 %sum, ptr %pdestination
  %i1 = add i64 %i, 1
  br label %next
leave:
  ret void
}

; Run a pending job to its end, or until its cancel flag is seen.
define dso_local void @tetrad_run(ptr %job) nounwind {
entry:
  %pstatus = getelementptr i64, ptr %job, i64 <JOB.STATUS>
  %status = load atomic i64, ptr %pstatus acquire, align 8
  %pending = icmp eq i64 %status, <PENDING>
  br i1 %pending, label %start, label %leave
start:
  call void @fix_arguments(ptr %job)
  %pool = load ptr, ptr %job
  %qcount = getelementptr i64, ptr %job, i64 <JOB.INSTRUCTION_COUNT>
  %count = load i64, ptr %qcount
  %qarguments = getelementptr i64, ptr %job, i64 <JOB.ARGUMENTS>
  %arguments = load ptr, ptr %qarguments
  %qcode = getelementptr i64, ptr %job, i64 <JOB.CODE>
  %code = load ptr, ptr %qcode
  %qflag = getelementptr i64, ptr %job, i64 <JOB.CANCEL>
  %flag = load ptr, ptr %qflag
  br label %step
step:
  %i = phi i64 [ 0, %start ],
             [ %next, %is_launch ], [ %a, %is_jump ], [ %unless_to, %is_unless ],
             [ %next, %is_copy ], [ %next, %is_add ], [ %less_to, %is_less ],
             [ %switch_to, %is_switch ],
             [ %next, %is_flag ], [ %next, %is_timed ]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %poll, label %done
poll:
  %stop = call i1 @cancelled(ptr %flag)
  br i1 %stop, label %halt, label %decode
decode:
  %next = add i64 %i, 1
  %at = mul i64 %i, 5
  %p0 = getelementptr i64, ptr %code, i64 %at
  %p1 = getelementptr i64, ptr %p0, i64 1
  %p2 = getelementptr i64, ptr %p0, i64 2
  %p3 = getelementptr i64, ptr %p0, i64 3
  %p4 = getelementptr i64, ptr %p0, i64 4
  %opcode = load i64, ptr %p0
  %a = load i64, ptr %p1
  %b = load i64, ptr %p2
  %c = load i64, ptr %p3
  %d = load i64, ptr %p4
  switch i64 %opcode, label %invalid [
    i64 <LAUNCH>, label %is_launch
    i64 <JUMP>, label %is_jump
    i64 <JUMP_UNLESS>, label %is_unless
    i64 <COPY>, label %is_copy
    i64 <ADD>, label %is_add
    i64 <JUMP_IF_LESS>, label %is_less
    i64 <SWITCH>, label %is_switch
    i64 <FLAG>, label %is_flag
    i64 <TIMED>, label %is_timed
  ]
is_launch:
  %function = inttoptr i64 %a to ptr
  %block = getelementptr i64, ptr %arguments, i64 %b
  call void @launch(
    ptr %pool, ptr %function, ptr %block, i64 %c, i64 %d, ptr %flag)
  br label %step
is_timed:
  %timed_function = inttoptr i64 %a to ptr
  %timed_block = getelementptr i64, ptr %arguments, i64 %b
  call void @timed_launch(
    ptr %job, ptr %timed_function, ptr %timed_block, i64 %c, i64 %d, i64 %i)
  br label %step
is_jump:
  br label %step
is_unless:
  %punless = getelementptr i64, ptr %arguments, i64 %a
  %condition = load ptr, ptr %punless
  %truth = load i8, ptr %condition
  %false = icmp eq i8 %truth, 0
  %unless_to = select i1 %false, i64 %b, i64 %next
  br label %step
is_copy:
  %copy_to = getelementptr i64, ptr %arguments, i64 %a
  %copy_from = getelementptr i64, ptr %arguments, i64 %b
  %copied = load i64, ptr %copy_from
  %copied_sum = add i64 %copied, %c
  store i64 %copied_sum, ptr %copy_to
  br label %step
is_add:
  %padd = getelementptr i64, ptr %arguments, i64 %a
  %addend = load i64, ptr %padd
  %sum = add i64 %addend, %b
  store i64 %sum, ptr %padd
  br label %step
is_less:
  %pleft = getelementptr i64, ptr %arguments, i64 %a
  %pright = getelementptr i64, ptr %arguments, i64 %b
  %left = load i64, ptr %pleft
  %right = load i64, ptr %pright
  %less = icmp slt i64 %left, %right
  %less_to = select i1 %less, i64 %c, i64 %next
  br label %step
is_switch:
  %pswitch = getelementptr i64, ptr %arguments, i64 %a
  %pchoice = load ptr, ptr %pswitch
  %choice = load i32, ptr %pchoice
  %choice64 = zext i32 %choice to i64
  %last_choice = sub i64 %b, 1
  %skipped = call i64 @llvm.umin.i64(i64 %choice64, i64 %last_choice)
  %switch_to = add i64 %next, %skipped
  br label %step
is_flag:
  %pflag = getelementptr i64, ptr %arguments, i64 %a
  %flagless = icmp eq ptr %flag, null
  %shown = select i1 %flagless, ptr @never, ptr %flag
  store ptr %shown, ptr %pflag
  br label %step
done:
  ; chunks that were skipped leave the last launch incomplete
  %late = call i1 @cancelled(ptr %flag)
  br i1 %late, label %halt, label %finish
finish:
  store atomic i64 <DONE>, ptr %pstatus seq_cst, align 8
  br label %leave
invalid:
  store atomic i64 <INVALID>, ptr %pstatus seq_cst, align 8
  br label %leave
halt:
  store atomic i64 <CANCELLED>, ptr %pstatus seq_cst, align 8
  br label %leave
leave:
  ret void
}
"""

GUARD = """
declare i32 @sigaction(i32, ptr, ptr)

@guard_flag = internal global ptr null
@guard_before = internal global ptr null

; Ctrl-C while a job runs on the main thread: ask the job to stop, tell Python.
define internal void @guard(i32 %number, ptr %information, ptr %context) nounwind {
entry:
  %flag = load atomic ptr, ptr @guard_flag monotonic, align 8
  %none = icmp eq ptr %flag, null
  br i1 %none, label %tell, label %stop
stop:
  store atomic i64 1, ptr %flag monotonic, align 8
  br label %tell
tell:
  %handler = load ptr, ptr @guard_before
  call void %handler(i32 %number, ptr %information, ptr %context)
  ret void
}

; Run a job on the main thread. A `sigaction` begins with the address of its handler; 0
; and 1 stand for the system's ways to handle a signal, which stay as they are. A job
; may run inside of another one's call of Python.
define dso_local void @run_guarded(ptr %job) nounwind {
entry:
  %old = alloca [32 x i64]
  %new = alloca [32 x i64]
  %a = call i32 @sigaction(i32 <SIGINT>, ptr null, ptr %old)
  %handler = load ptr, ptr %old
  %number = ptrtoint ptr %handler to i64
  %real = icmp ugt i64 %number, 1
  br i1 %real, label %watch, label %plain
plain:
  call void @tetrad_run(ptr %job)
  ret void
watch:
  %qflag = getelementptr i64, ptr %job, i64 <JOB.CANCEL>
  %flag = load ptr, ptr %qflag
  %outer = load atomic ptr, ptr @guard_flag monotonic, align 8
  store atomic ptr %flag, ptr @guard_flag seq_cst, align 8
  %inside = icmp eq ptr %handler, @guard
  br i1 %inside, label %nested, label %install
nested:
  call void @tetrad_run(ptr %job)
  store atomic ptr %outer, ptr @guard_flag seq_cst, align 8
  ret void
install:
  %bytes = load [32 x i64], ptr %old
  store [32 x i64] %bytes, ptr %new
  store ptr @guard, ptr %new
  store ptr %handler, ptr @guard_before
  %b = call i32 @sigaction(i32 <SIGINT>, ptr %new, ptr null)
  call void @tetrad_run(ptr %job)
  %c = call i32 @sigaction(i32 <SIGINT>, ptr %old, ptr null)
  store atomic ptr %outer, ptr @guard_flag seq_cst, align 8
  ret void
}
"""
