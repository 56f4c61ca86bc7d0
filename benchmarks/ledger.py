"""What source lines and the ledger cost: the same work with them and without, alternating.

    python benchmarks/ledger.py [rounds]

Prints, for a chain of recorded operations and for an operation that is waited for, the
time of one operation with everything, the least of many rounds, and how much of it goes
when the parts are taken out. Then what a report of 100,000 arrays takes.
"""

import sys
import time
from contextlib import contextmanager

import numpy as np

import tetrad as jax
import tetrad.numpy as jnp
from tetrad._src.runtime import lazy
from tetrad._src.runtime.ledger import Ledger

ARRAYS = 100_000

forget = Ledger.forget
kept = {}  # what is noted while nothing is noted


def no_line(depth=1):
    return None


def no_note(self, address, nbytes, line, keep=None, aval=None):
    kept[id(self), address] = keep  # the backend needs that


def no_forget(self, address):
    if kept.pop((id(self), address), None) is None:
        forget(self, address)


@contextmanager
def without(lines, ledger):
    """Takes parts out; what was noted without the ledger must be dropped inside."""
    usual = lazy.user_frame, Ledger.note, Ledger.forget
    if lines:
        lazy.user_frame = no_line
    if ledger:
        Ledger.note, Ledger.forget = no_note, no_forget
    try:
        yield
    finally:
        lazy.user_frame, Ledger.note, Ledger.forget = usual


def chain(x, y, count=100):
    z = x
    for _ in range(count):
        z = z + y
    z.block_until_ready()
    return count


def waited(x, y, count=50):
    for _ in range(count):
        (x + y).block_until_ready()
    return count


def once(work, x, y):
    started = time.perf_counter()
    count = work(x, y)
    return (time.perf_counter() - started) / count


def compare(work, rounds):
    """Seconds of one operation: with all, without lines, without lines and ledger."""
    x, y = [jnp.asarray(np.ones(100, np.float32)) for _ in range(2)]
    best = [float("inf")] * 3
    for _ in range(rounds):
        for i, (lines, ledger) in enumerate([(0, 0), (1, 0), (1, 1)]):
            with without(lines, ledger):
                work(x, y)  # what was made before is gone now
                best[i] = min(best[i], *[once(work, x, y) for _ in range(3)])
    return best


def timed(words, work):
    started = time.perf_counter()
    result = work()
    print(f"{words:32} {1e3 * (time.perf_counter() - started):8.0f} ms")
    return result


def main(rounds="300"):
    for words, work in (("recorded in a chain", chain), ("waited for", waited)):
        full, no_lines, neither = compare(work, int(rounds))
        print(
            f"x + y, {words:20} {1e6 * full:6.2f} µs;  source line"
            f" {100 * (1 - no_lines / full):4.1f} %,  ledger"
            f" {100 * (no_lines - neither) / full:4.1f} %"
        )
    many = [jnp.asarray(np.float32(i)) for i in range(ARRAYS)]
    print(f"with {len(many)} arrays alive")
    timed("  see.memory(), printed", lambda: str(jax.see.memory()))
    timed("  jax.live_arrays()", jax.live_arrays)
    timed("  device_memory_profile()", jax.profiler.device_memory_profile)


if __name__ == "__main__":
    main(*sys.argv[1:2])
