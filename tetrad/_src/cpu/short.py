"""The short way to run a small program: what `CpuBackend.execute` does in its commonest case.

That is a program of microseconds with small results, on operands that are computed. All that
does not depend on the operands is found once, so that little more is left than to take a
block of memory, write the words of the program, and call its code.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

from tetrad._src.cpu import memory
from tetrad._src.cpu.buffers import Buffer, reused
from tetrad._src.cpu.native_pool import JOB
from tetrad._src.cpu.pool import DONE, INLINE
from tetrad._src.cpu.runs import Runs
from tetrad._src.runtime.device import Device

_STATUS = JOB["STATUS"]

Launch = Callable[
    [Sequence[Buffer], Sequence[Any], Device, Sequence[Any]], list[Buffer] | None
]


def short_way(
    program: Any, image: Any, allocate: Callable[..., Buffer], runs: Runs
) -> Launch | None:
    """Runs `program` on buffers and scalars, see `Executable.launch`; None if it is not
    such a program."""
    sizes = image.sizes
    if not sizes or program.sites or program.work > INLINE:
        return None
    arena, arena_size = program.arena, memory.size_class(program.arena)
    if max([arena_size, *[size for _, _, size in sizes]]) >= memory.MAP_FROM:
        return None
    values, header, address = image.values, image.header, image.address
    count = program.by_value.count(False) + len(sizes) + bool(arena)
    words = memoryview(values).cast("B")[: 8 * count].cast("q")
    rest = program.fields.format.removeprefix(f"={count}q")
    pack = struct.Struct("=" + rest).pack_into
    run, tickets = image.runner.run_inline, image.runner.tickets

    def launch(
        buffers: Sequence[Buffer],
        scalars: Sequence[Any],
        device: Device,
        lines: Sequence[Any],
    ) -> list[Buffer] | None:
        done = tickets[DONE]
        number = 0
        for buffer in buffers:
            if buffer.made > done:
                return None
            words[number] = buffer.pointer
            number += 1
        if runs.lost:
            return None
        ledger = device.ledger
        outs = []
        for (aval, nbytes, size), line in zip(sizes, lines):
            made = reused(nbytes, size, ledger, line, done, aval, runs)
            if made is None:
                made = allocate(nbytes, size, device, line, done, aval)
            words[number] = made.pointer
            number += 1
            outs.append(made)
        if arena:
            scratch = allocate(
                arena, arena_size, device, lines[0], done, None, "intermediates"
            )
            words[number] = scratch.pointer
        if scalars:
            pack(values, 8 * count, *scalars)
        header[_STATUS] = 0
        program.used = ledger.count
        run(address)
        return outs

    return launch
