"""`tetrad.timeit(f, *args)`: how long a call takes, at first and later.

In: a function and its arguments. Out: a `Timing`. Every run is waited for, and what it
returns is kept until the clock has stopped, so nothing is left out as unneeded. Runs go on
until they have taken `SECONDS` together.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any, NamedTuple

from tetrad._src.api.devices import block_until_ready
from tetrad._src.api.jit import JitFunction
from tetrad._src.control.signature import check_callable, name_of
from tetrad._src.numpy.create import copy as array_copy
from tetrad._src.runtime import flush
from tetrad._src.runtime.array import Array
from tetrad._src.see.compiles import Compiles, compiles
from tetrad._src.util import tree
from tetrad._src.util.sizes import duration

SECONDS = 0.3
FEWEST, MOST = 5, 10_000  # runs


class Steady(NamedTuple):
    """What runs take after the first one, in seconds."""

    median: float
    low: float  # a quarter of the runs took less
    high: float  # a quarter took more
    best: float
    runs: int

    @property
    def spread(self) -> float:
        """Half the distance between the quarters, relative to the median."""
        return (self.high - self.low) / 2 / self.median if self.median else 0.0


class Timing:
    """What `tetrad.timeit` found; prints as one line. All times are in seconds.

    `first` is the first run, `compile` what of it was spent on tracing and compiling,
    `steady` says what later ones took. `recompiled` counts the programs that were
    compiled, and the functions that were traced, in runs after the first one, which
    should be none; `reasons` says why. `notes` are remarks about how it was measured.
    """

    def __init__(
        self,
        name: str,
        first: float,
        times: list[float],
        new: bool,
        again: Compiles,
        notes: list[str],
    ) -> None:
        self.name = name
        self.first = first
        times = sorted(times)
        count = len(times)
        low, high = times[count // 4], times[-1 - count // 4]
        self.steady = Steady(median(times), low, high, times[0], count)
        self.compile = max(first - self.steady.median, 0.0) if new else 0.0
        self.reasons = [traced.reason for traced in again.traced]
        self.recompiled = max(len(again), len(self.reasons))
        if not self.reasons:
            self.reasons = [program.reason for program in again]
        self.notes = notes

    def __str__(self) -> str:
        steady = self.steady
        line = (
            f"{self.name}: {duration(steady.median)} ± {100 * steady.spread:.0f} %"
            f" ({steady.runs} runs), first {duration(self.first)},"
            f" compile {duration(self.compile)}"
        )
        notes = list(self.notes)
        if self.recompiled:
            times = "once" if self.recompiled == 1 else f"{self.recompiled} times"
            notes.insert(0, f"compiled again {times}: {self.reasons[0]}")
        return "; ".join([line, *notes])

    __repr__ = __str__


def timeit(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Timing:
    """How long `fun(*args, **kwargs)` takes: to compile, at first, and from then on.

    Runs it until that has taken 0.3 seconds, at least six times. Every run is waited
    for, and its results are kept until the clock stops. Arguments that a function under
    `jit` takes over (donates) are copied before each run, outside of the time, and the
    line that is printed says so.

    Returns:
      A `Timing` with `compile`, `first`, `steady` (`median`, `low`, `high`, `best`,
      `spread`, `runs`) and `recompiled`; it prints as one line.

    Raises:
      TypeError: if `fun` is no function.
      ValueError: if `fun` deletes an array that is handed to it.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> t = jax.timeit(jax.jit(lambda x: jnp.sin(x).sum()), jnp.arange(1000.0))
    >>> t.steady.runs >= 5 and t.steady.median <= t.first and t.recompiled == 0
    True
    """
    check_callable(fun, "tetrad.timeit", "tetrad.timeit(f, x)")
    notes = []
    donates = isinstance(fun, JitFunction) and fun.donates
    if donates:
        notes.append("donated arguments were copied before each run")
    flush.flush_all()
    block_until_ready((args, kwargs))

    def run() -> tuple[float, Any]:
        given, named = _copies((args, kwargs)) if donates else (args, kwargs)
        begin = time.perf_counter()
        result = block_until_ready(fun(*given, **named))
        return time.perf_counter() - begin, result

    with compiles() as seen:
        first, result = run()
    new = bool(len(seen) or seen.traced)
    _check_arguments(fun, args, kwargs)
    if not any([isinstance(leaf, Array) for leaf in tree.leaves(result)]):
        notes.append("it returned no arrays, and what is not returned may not run")
    times: list[float] = []
    with compiles() as again:
        end = time.perf_counter() + SECONDS
        while len(times) < FEWEST or len(times) < MOST and time.perf_counter() < end:
            seconds, result = run()
            times.append(seconds)
    return Timing(name_of(fun), first, times, new, again, notes)


def _copies(values: Any) -> Any:
    """The values with arrays of their own, which are there."""

    def copy(x: Any) -> Any:
        return array_copy(x) if type(x) is Array else x

    return block_until_ready(tree.map(copy, values))


def _check_arguments(
    fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """ValueError if the first run has used arguments up."""
    for leaf in tree.leaves((args, kwargs)):
        if type(leaf) is Array and leaf.is_deleted():
            raise ValueError(
                f"tetrad.timeit: `{name_of(fun)}` deletes an argument, the"
                f" {leaf.aval.long_name()}, so it cannot run again: {leaf.buffer.why}."
                " Time the function under jit that donates it: that one is given copies"
            )
