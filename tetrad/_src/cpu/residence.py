"""Which machine code stays loaded: what was used last, up to a number of bytes.

A `Program` refers to the `Code` of its kernels. While more is loaded than the setting
`tetrad_code_limit` allows, the programs whose last run is longest ago give theirs back:
the code is unmapped, unless another program has it too, or a job runs in it, which keeps
it by its `Image`. Such a program finds its code again, on disk or by compiling, when it
runs the next time.

Read `admit` (a new program), `wake` (a program that runs), `shrink`.
"""

from __future__ import annotations

import os
import time
import weakref
from typing import Any

from tetrad._src.cpu import compile as compiler
from tetrad._src.cpu import engine
from tetrad._src.runtime import execute as execution
from tetrad._src.util.config import config
from tetrad._src.util.locks import make_lock

_programs: weakref.WeakSet[Any] = weakref.WeakSet()
_lock = make_lock()


def admit(program: Any, clock: int) -> None:
    """A program was compiled: others make room for its code."""
    program.used = clock
    with _lock:
        _programs.add(program)
    if engine.loaded_bytes() > config.tetrad_code_limit:
        shrink(config.tetrad_code_limit * 3 // 4, program)


def codes_of(program: Any, clock: int) -> list[Any]:
    """The code of a program that is going to run: found again if it was given back.

    Whoever holds the list keeps the code loaded.
    """
    codes: list[Any] | None = program.codes
    if codes is None:
        started = time.perf_counter()
        compiler.assemble_again(program)
        seconds = time.perf_counter() - started
        where = program.jaxpr.eqns[-1].where if program.jaxpr.eqns else None
        execution.note(where, program.jaxpr, seconds, program, GIVEN_BACK)
        codes = program.codes
        admit(program, clock)
    assert codes is not None
    return codes


GIVEN_BACK = "its machine code had been given back (tetrad_code_limit, clear_caches)"


def shrink(goal: int, keep: Any = None) -> int:
    """Gives code back until `goal` bytes are left, if nothing runs in it; the bytes.

    What `keep`, a program, needs stays.
    """
    before = engine.loaded_bytes()
    with _lock:
        _shrink(goal, keep)
    return before - engine.loaded_bytes()


def _shrink(goal: int, keep: Any) -> None:
    resident = [program for program in _programs if program.codes is not None]
    resident.sort(key=lambda program: (program is keep, program.used), reverse=True)
    kept: dict[int, Any] = {}
    total = 0
    full = False
    for program in resident:
        codes = {id(code): code for code in program.codes if id(code) not in kept}
        total += sum([code.size for code in codes.values()])
        full = full or (total > goal and program is not keep)
        if full:
            program.codes = None
            program.image = program.launch = None
        else:
            kept |= codes
    compiler.drop_kernels(kept)
    engine.drop(kept)


def resident_programs() -> int:
    """How many programs have their code."""
    with _lock:
        return len([program for program in _programs if program.codes is not None])


def _after_fork_in_child() -> None:
    global _lock
    _lock = make_lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
