"""From a jaxpr to a program that the native runner executes.

`compile(jaxpr, by_value)` runs the passes (simplify, fuse), lowers each step to
launches, lets `plan.allocate` place the values, finds the machine code of every kernel
(all that are missing are assembled in one module), and writes the arrays of the job:
argument words, fixes, instructions. The format is `native_pool.JOB`'s.

A `Program` is data: nothing in it refers to the buffers of a run. A run packs `fields`:
the pointers of inputs by reference, of outputs, of the arena if there is one, and then
the scalars passed by value, each in a word of its own.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Container, Sequence
from typing import Any

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.jaxpr import Jaxpr
from tetrad._src.core.text import jaxpr_text
from tetrad._src.cpu import engine, host, kernels, schedule
from tetrad._src.cpu.costs import COSTS
from tetrad._src.cpu.find import write_find
from tetrad._src.cpu.job import JobWriter, Launches
from tetrad._src.cpu.kernels import In, KernelCall, Operand, Out, Tmp
from tetrad._src.cpu.launch import SCRATCH, VALUE, Launch
from tetrad._src.cpu.literals import element_type, scalar_format
from tetrad._src.cpu.llvm import Writer, module
from tetrad._src.cpu.loops import (
    FIND_ROWS,
    FIND_SHORT,
    FLAT,
    FOLD_COLUMNS,
    FOLD_ROWS,
    FOLD_WHOLE,
    ROWS,
    SCATTER,
    TILES,
    TURNS,
    Loops,
)
from tetrad._src.cpu.loops import text as loops_text
from tetrad._src.cpu.lower import lower, lower_band
from tetrad._src.cpu.map import write_map
from tetrad._src.cpu.reduce import write_columns, write_rows
from tetrad._src.cpu.scalar import SIZE
from tetrad._src.cpu.scatter import write_scatter
from tetrad._src.cpu.transpose import write_tiles
from tetrad._src.cpu.turns import write_turns
from tetrad._src.passes.check import check_memory, check_plan
from tetrad._src.passes.cost import cost as count_cost
from tetrad._src.passes.donation import marked
from tetrad._src.passes.fuse import fuse
from tetrad._src.passes.ir import (
    HOST,
    Band,
    Call,
    Copy,
    Kernel,
    Plan,
    Step,
    leaves,
    loops_of,
)
from tetrad._src.passes.plan import Memory, UpdateCopy, allocate
from tetrad._src.passes.simplify import simplify
from tetrad._src.passes.text import plan_text, program_text
from tetrad._src.runtime import threads
from tetrad._src.util.config import config
from tetrad._src.util.locks import make_lock
from tetrad._src.util.memo import Cache

CHECKED = os.environ.get("TETRAD_CHECK", "") not in ("", "0")
COPY_NS = 0.04  # a byte
COPY_CHUNK = 1 << 18
GROUP = 20_000  # characters of kernels that are worth a thread of their own

TEMPLATES = {
    FLAT: write_map,
    ROWS: write_map,
    SCATTER: write_scatter,
    TILES: write_tiles,
    TURNS: write_turns,
    FOLD_ROWS: write_rows,
    FOLD_WHOLE: write_rows,
    FIND_ROWS: write_find,
    FIND_SHORT: write_find,
    FOLD_COLUMNS: write_columns,
}

_code: Cache = Cache(
    "kernels", limit=8192
)  # Loops or (text, symbol) -> (address, Code)
_lock = make_lock()

_COPY_TEXT = """
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define dso_local void @tetrad_copy(ptr %args, i64 %lo, i64 %hi) nounwind {
entry:
  %source = load ptr, ptr %args
  %next = getelementptr i64, ptr %args, i64 1
  %target = load ptr, ptr %next
  %same = icmp eq ptr %source, %target
  br i1 %same, label %leave, label %copy
copy:
  %from = getelementptr i8, ptr %source, i64 %lo
  %to = getelementptr i8, ptr %target, i64 %lo
  %length = sub i64 %hi, %lo
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %length, i1 false)
  br label %leave
leave:
  ret void
}
"""


_BAND_TEXT = """
define dso_local void @tetrad_band(ptr %args, i64 %lo, i64 %hi) nounwind {
entry:
  %step = load i64, ptr %args
  %p_count = getelementptr i64, ptr %args, i64 1
  %count = load i64, ptr %p_count
  %table = getelementptr i64, ptr %args, i64 2
  br label %rows
rows:
  %at = phi i64 [ %lo, %entry ], [ %end, %next ]
  %wanted = add i64 %at, %step
  %inside = icmp slt i64 %wanted, %hi
  %end = select i1 %inside, i64 %wanted, i64 %hi
  %some = icmp slt i64 %at, %hi
  br i1 %some, label %kernel, label %leave
kernel:
  %number = phi i64 [ 0, %rows ], [ %after, %kernel ]
  %twice = shl i64 %number, 1
  %entry_at = getelementptr i64, ptr %table, i64 %twice
  %function = load ptr, ptr %entry_at
  %p_words = getelementptr i64, ptr %entry_at, i64 1
  %offset = load i64, ptr %p_words
  %words = getelementptr i64, ptr %args, i64 %offset
  call void %function(ptr %words, i64 %at, i64 %end)
  %after = add i64 %number, 1
  %more = icmp slt i64 %after, %count
  br i1 %more, label %kernel, label %next
next:
  br label %rows
leave:
  ret void
}
"""


class Program:
    """A compiled jaxpr; see the module's docstring."""

    __slots__ = (
        "in_avals",
        "out_avals",
        "by_value",
        "donors",
        "copies",
        "work",
        "work_in_place",
        "arena",
        "fields",
        "fix",
        "code",
        "args",
        "codes",
        "new_kernels",
        "loops",
        "sites",
        "apart",
        "image",
        "launch",
        "jaxpr",
        "used",
        "__weakref__",
    )

    in_avals: tuple[Aval, ...]
    out_avals: tuple[Aval, ...]
    by_value: tuple[bool, ...]
    donors: tuple[int | None, ...]
    copies: tuple[UpdateCopy, ...]
    work: int
    work_in_place: int
    arena: int
    fields: struct.Struct
    fix: np.ndarray[Any, Any]
    code: np.ndarray[Any, Any]
    args: np.ndarray[Any, Any]
    codes: list[Any] | None  # None: given back, see `residence.py`
    loops: bool  # may run long, and can be cancelled
    sites: list[Any]  # where it calls Python
    apart: bool  # has kernels that Ctrl-C cannot reach but through the cancel flag
    new_kernels: int  # machine code that did not exist before
    image: Any  # how the client keeps the program in memory
    launch: Any  # its short way to run it, see `short.py`
    jaxpr: Jaxpr
    used: int  # the clock of its last run

    def cost(self) -> dict[str, float]:
        """Operations and bytes of a run, counted on the plan."""
        return cost(self.jaxpr, self.by_value)

    def memory(self) -> dict[str, int]:
        """Bytes of the arena, and of machine code (which programs share)."""
        codes = {id(code): code.size for code in self.codes or ()}
        return {"temp": self.arena, "code": sum(codes.values())}

    def text(self, stage: str) -> str:
        """A stage of the compilation: jaxpr, plan, program, loops or llvm."""
        if stage == "jaxpr":
            return jaxpr_text(simplify(self.jaxpr), lines=True, scopes=True)
        plan = fuse(simplify(self.jaxpr), self.by_value, COSTS)
        if stage == "plan":
            return plan_text(plan)
        lowered = lower_steps(plan)
        if stage == "program":
            memory = allocate(plan, scratch(lowered), marked(self.jaxpr))
            return program_text(plan, memory)
        loops = []
        for launches, _ in lowered.values():
            for launch in launches:
                for key in [launch.loops, *[key for _, key in launch.calls]]:
                    if type(key) is Loops and key not in loops:
                        loops.append(key)
        if stage == "loops":
            return "\n".join([loops_text(x, f"k{i}") for i, x in enumerate(loops)])
        if stage == "llvm":
            return module([(f"k{i}", write(x)) for i, x in enumerate(loops)])
        raise ValueError(
            f"there is no stage {stage!r}; the stages are jaxpr, plan, program, loops, llvm"
        )


def write(loops: Loops) -> Writer:
    """The machine-independent text of a kernel."""
    return TEMPLATES[loops.template](loops)


def cost(jaxpr: Jaxpr, by_value: tuple[bool, ...]) -> dict[str, float]:
    """What a run of the program of `jaxpr` costs."""
    smaller = simplify(jaxpr)
    found = count_cost(smaller, fuse(smaller, by_value, COSTS), COSTS)
    return {
        "flops": found.flops,
        "transcendentals": found.transcendentals,
        "bytes accessed": found.read + found.written,
        "bytes read": found.read,
        "bytes written": found.written,
    }


def compile(jaxpr: Jaxpr, by_value: tuple[bool, ...]) -> Program:
    """The program of `jaxpr`, whose inputs marked in `by_value` are scalars."""
    plan = fuse(simplify(jaxpr), by_value, COSTS)
    lowered = lower_steps(plan)
    memory = allocate(plan, scratch(lowered), marked(jaxpr))
    if CHECKED or config.jax_enable_checks:
        check_plan(plan)
        check_memory(plan, memory)
    settle_copies(plan, memory, lowered)
    program = Program()
    program.jaxpr = jaxpr
    program.in_avals = jaxpr.in_avals
    program.out_avals = jaxpr.out_avals
    program.by_value = by_value
    program.donors = tuple(memory.donors)
    program.copies = tuple(memory.copies)
    program.arena = memory.arena
    program.image = program.launch = None
    program.used = 0
    program.fields = _fields(plan, memory)
    _assemble(program, plan, memory, lowered)
    return program


def assemble_again(program: Program) -> None:
    """Finds the machine code of a program anew, after it was given back."""
    fresh = compile(program.jaxpr, program.by_value)
    for name in (
        "arena", "fields", "fix", "code", "args", "codes", "new_kernels", "sites"
    ):  # fmt: skip
        setattr(program, name, getattr(fresh, name))


def drop_kernels(kept: Container[int]) -> None:
    """Forgets the kernels whose machine code is not among the kept (by identity)."""
    for key, (_, code) in list(_code.items()):
        if id(code) not in kept:
            _code.pop(key, None)


def kernel_count() -> int:
    """How many kernels are known."""
    return len(_code)


def copies(jaxpr: Jaxpr, by_value: tuple[bool, ...]) -> tuple[UpdateCopy, ...]:
    """The updates of a program that may copy, as its `copies`; compiles nothing."""
    plan = fuse(simplify(jaxpr), by_value, COSTS)
    memory = allocate(plan, scratch(lower_steps(plan)), marked(jaxpr))
    return tuple(memory.copies)


def lower_steps(plan: Plan) -> dict[Step, Launches]:
    """The launches of all steps that are no blocks."""
    return {step: lower_step(step, plan) for step in leaves(plan.steps)}


def scratch(lowered: dict[Step, Launches]) -> dict[Step, list[int]]:
    """The scratch memory of the steps that need some."""
    return {step: scratch for step, (_, scratch) in lowered.items() if scratch}


def settle_copies(plan: Plan, memory: Memory, lowered: dict[Step, Launches]) -> None:
    """Drops copies of a buffer to itself; adds those at the end of turns and loops."""
    for step in lowered:
        if type(step) is not Copy:
            continue
        if memory.place(plan, step.source) == memory.place(plan, step.target):
            lowered[step] = ([], [])
    swapped = {
        pair for swap in memory.swaps for pair in zip(swap.values[1:], swap.values)
    }
    for loop in loops_of(plan.steps):
        copies = [
            _copy(after, before, plan)
            for after, before in loop.carries
            if memory.place(plan, after) != memory.place(plan, before)
            and (after, before) not in swapped
        ]
        lowered[loop] = (copies, [])
    for swap in memory.swaps:
        for copy in swap.copies:
            lowered[copy] = ([_copy(copy.source, copy.target, plan)], [])


_structs: Cache = Cache("formats of runs", limit=1024)


def _fields(plan: Plan, memory: Memory) -> struct.Struct:
    count = memory.arena_slot + bool(memory.arena)
    text = f"={count}q" if count else "="
    for position in range(plan.inputs):
        if plan.by_value[position]:
            text += scalar_format(plan.avals[position].dtype)
    found = _structs.get(text)
    if found is None:
        found = _structs.setdefault(text, struct.Struct(text))
    return found  # type: ignore[no-any-return]


# ------------------------------------------------------------------- steps to launches


def lower_step(step: Any, plan: Plan) -> Launches:
    """The launches of a step, and the bytes of its scratch memory."""
    if type(step) is Call and step.name == HOST:
        return [host.launch(step)], []
    if type(step) is Kernel:
        return lower(step, plan.avals, _exact(step, plan))
    if type(step) is Band:
        return [_band(step, plan)], []
    if type(step) is Copy:
        return [_copy(step.source, step.target, plan)], []
    return _call(step, plan)


def _exact(kernel: Kernel, plan: Plan) -> bool:
    """Whether whole vectors would reach into what stands behind a part.

    Vectors have up to 64 elements, whose width may differ from that of others beside them.
    """
    return any(
        write.value in plan.parts and plan.avals[write.value].size % 64
        for write in kernel.writes
    )


def _band(band: Band, plan: Plan) -> Launch:
    """One launch for the kernels of a band: their words follow a table of calls."""
    parts = lower_band(band, plan.avals)
    launch = Launch()
    words = launch.words
    words.extend((0, len(parts)))
    for part in parts:
        launch.calls.append((len(words), part.loops))
        words.extend((0, 0))
        launch.work += part.work
    for number, part in enumerate(parts):
        base = len(words)
        words[3 + 2 * number] = base
        words.extend(part.words)
        launch.fixes.extend(
            [(base + at, what, which, offset) for at, what, which, offset in part.fixes]
        )
    launch.total = band.rows
    ns = launch.work / (band.rows * band.length)
    step, launch.chunk = schedule.band_rows(band.length, ns)
    words[0] = step
    launch.loops = (_BAND_TEXT, "tetrad_band", ("tetrad_band",))
    return launch


def _copy(source: int, target: int, plan: Plan) -> Launch:
    launch = Launch()
    launch.pointer(VALUE, source, 0)
    launch.pointer(VALUE, target, 0)
    launch.total = plan.avals[target].nbytes
    launch.chunk = COPY_CHUNK
    launch.work = COPY_NS * launch.total
    launch.loops = (_COPY_TEXT, "tetrad_copy", ("tetrad_copy",))
    return launch


def _call(step: Call, plan: Plan) -> tuple[list[Launch], list[int]]:
    operands = [
        Operand(aval, read.strides, read.offset)
        for aval, read in zip(step.in_avals, step.reads)
    ]
    call: KernelCall = kernels.find(step.name).build(
        step.parameters, operands, step.out_avals
    )
    launches = []
    for made in call.launches:
        launch = Launch()
        for word in made.words:
            if type(word) is In:
                read = step.reads[word.number]
                size = SIZE[element_type(read.dtype)]
                launch.pointer(VALUE, read.value, read.offset * size + word.bytes)
            elif type(word) is Out:
                launch.pointer(VALUE, step.values[word.number], word.bytes)
            elif type(word) is Tmp:
                launch.pointer(SCRATCH, word.number, word.bytes)
            else:
                launch.words.append(int(word))  # type: ignore[arg-type]
        launch.total, launch.chunk = made.total, made.chunk
        launch.work = call.work / len(call.launches)
        launch.loops = (call.text, made.symbol, tuple(call.symbols))
        launches.append(launch)
    return launches, list(call.temporaries)


# ------------------------------------------------------------------------- the job


def _assemble(
    program: Program,
    plan: Plan,
    memory: Memory,
    lowered: dict[Step, Launches],
) -> None:
    """Writes the arrays of the job."""
    launches = [
        launch for made, _ in lowered.values() for launch in made if launch.total > 0
    ]
    program.sites = [x.site for x in launches if x.site is not None]
    program.apart = any([x.flags for x in launches if x.site is None])
    calls = [(launch, at, loops) for launch in launches for at, loops in launch.calls]
    keys = [launch.loops for launch in launches] + [loops for _, _, loops in calls]
    if program.sites:
        keys.append(host.TICK)
    found, program.codes, program.new_kernels = _machine_code(keys)
    for (launch, at, _), address in zip(calls, found[len(launches) :]):
        launch.words[at] = address
    writer = JobWriter(plan, memory, lowered, dict(zip(launches, found)))
    writer.tick = found[-1] if program.sites else 0
    work, in_place = writer.program()
    program.args = np.array(writer.words, np.int64)
    program.fix = np.array(writer.fix, np.int64)
    program.code = np.array(writer.code, np.int64)
    program.work = int(work)
    program.work_in_place = int(in_place)
    program.loops = bool(writer.moves or writer.flags)


def _machine_code(keys: Sequence[Any]) -> tuple[list[int], list[Any], int]:
    """The address of each function, the code to keep alive, how much is new.

    The cache may drop what was found in it while the rest is compiled.
    """
    fresh = 0
    found: dict[Any, Any] = {key: _code.get(key) for key in keys}
    missing = [key for key, entry in found.items() if entry is None]
    if missing:
        with _lock:
            made, fresh = _compile_missing(missing)
        found |= made
    entries = [found[key] for key in keys]
    return [entry[0] for entry in entries], [entry[1] for entry in entries], fresh


def _compile_missing(keys: Sequence[Any]) -> tuple[dict[Any, Any], int]:
    """The kernels, compiled unless another thread was faster; how many were not there."""
    found: dict[Any, Any] = {}
    wanted: list[Loops] = []
    fresh = 0
    for key in keys:
        entry = _code.get(key)
        if entry is None:
            fresh += 1
            if type(key) is Loops:
                wanted.append(key)
                continue
            text, symbol, symbols = key
            code = engine.assemble(text, symbols)
            entry = _code[key] = (code.symbols[symbol], code)
        found[key] = entry
    if not wanted:
        return found, fresh
    groups = _groups([(loops, write(loops)) for loops in wanted])
    modules = []
    for group in groups:
        names = [f"k{number}" for number in range(len(group))]
        text = module([(name, writer) for name, (_, writer) in zip(names, group)])
        modules.append((text, names))
    codes = engine.assemble_all(modules)
    for group, (_, names), code in zip(groups, modules, codes):
        for name, (loops, _) in zip(names, group):
            found[loops] = _code[loops] = (code.symbols[name], code)
    return found, fresh


Written = tuple[Loops, Writer]


def _groups(kernels: Sequence[Written]) -> list[list[Written]]:
    """Kernels for one module each, of about the same length, one for each processor."""
    sizes = [sum(map(len, writer.lines)) for _, writer in kernels]
    count = min(threads.count(), 1 + sum(sizes) // GROUP, len(kernels))
    groups: list[list[Written]] = [[] for _ in range(count)]
    totals = [0] * count
    for number in sorted(range(len(kernels)), key=lambda n: -sizes[n]):
        least = totals.index(min(totals))
        groups[least].append(kernels[number])
        totals[least] += sizes[number]
    return groups
