"""What the compiler's tests share: staging a function, compiling it, running the job."""

import ctypes

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import Trace, set_base
from tetrad._src.core.stage import restage
from tetrad._src.cpu.compile import compile as compile_jaxpr
from tetrad._src.cpu.compile import lower_steps
from tetrad._src.cpu.costs import COSTS
from tetrad._src.cpu.native_pool import JOB, JOB_WORDS
from tetrad._src.cpu.pool import native
from tetrad._src.passes.check import check_memory, check_plan
from tetrad._src.passes.fuse import fuse
from tetrad._src.passes.plan import allocate
from tetrad._src.passes.simplify import simplify

PADDING = 128
GUARD = 64


def ensure_base():
    """A base trace, if the recorder has not been installed."""
    from tetrad._src.core import bind

    if not hasattr(bind._State, "trace"):
        set_base(Trace())


def block(shape, dtype):
    """Zeroed memory as the allocator gives it: aligned, padded."""
    nbytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(nbytes + PADDING + GUARD, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + nbytes].view(dtype).reshape(shape)


def jaxpr_of(fun, args):
    ensure_base()

    def flat(*xs):
        out = fun(*xs)
        return list(out) if isinstance(out, (tuple, list)) else [out]

    return restage(flat, [Aval(np.shape(a), np.asarray(a).dtype) for a in args])


def compiled(fun, args, by_value=None):
    """The program of `fun` for arguments like `args`; its plan is checked."""
    by_value = tuple(by_value or [False] * len(args))
    return checked(jaxpr_of(fun, args), by_value)


def checked(jaxpr, by_value):
    """The program of a jaxpr, after its plan and its memory were checked."""
    plan = check_plan(fuse(simplify(jaxpr), by_value, COSTS))
    scratch = {step: scratch for step, (_, scratch) in lower_steps(plan).items()}
    check_memory(plan, allocate(plan, scratch))
    return compile_jaxpr(jaxpr, by_value)


def execute(program, args, takeovers=None):
    """Runs a program on NumPy arrays; gives the outputs."""
    ins, scalars = [], []
    for x, by_value in zip(args, program.by_value):
        if by_value:
            scalars.append(x)
        else:
            ins.append(block(np.shape(x), np.asarray(x).dtype))
            ins[-1][...] = x
    outs = [
        block(aval.shape, aval.dtype)
        if takeovers is None or takeovers[j] is None
        else ins[takeovers[j]].view(aval.dtype).reshape(aval.shape)
        for j, aval in enumerate(program.out_avals)
    ]
    arena = block((max(program.arena, 1),), np.uint8)
    pointers = [x.ctypes.data for x in (*ins, *outs)]
    if program.arena:
        pointers.append(arena.ctypes.data)
    values = ctypes.create_string_buffer(max(program.fields.size, 8))
    program.fields.pack_into(values, 0, *pointers, *scalars)
    words = program.args.copy() if program.args.size else np.zeros(1, np.int64)
    header = np.zeros(JOB_WORDS, np.int64)
    header[JOB["POOL"]] = native().address
    header[JOB["FIX_COUNT"]] = program.fix.size // 3
    header[JOB["INSTRUCTION_COUNT"]] = program.code.size // 5
    header[JOB["FIX"]] = program.fix.ctypes.data
    header[JOB["VALUES"]] = ctypes.addressof(values)
    header[JOB["ARGUMENTS"]] = words.ctypes.data
    header[JOB["CODE"]] = program.code.ctypes.data
    native().run_blocking(header.ctypes.data)
    return outs


def run(fun, args, by_value=None):
    return execute(compiled(fun, args, by_value), args)
