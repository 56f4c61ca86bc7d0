"""`tetrad.see.program(f)(*args)`: what a function will need, and every stage of its
compilation, as text. Nothing runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tetrad._src.api.formats import MemoryStats
from tetrad._src.api.jit import jit
from tetrad._src.runtime.ledger import human

STAGES = ("jaxpr", "plan", "program", "loops", "llvm")


class Program:
    """The stages of one compiled function: `.jaxpr`, `.plan`, …, or all by printing.

    `memory` says in bytes what a run takes, as planned; see `memory_analysis`.
    """

    def __init__(self, compiled: Any) -> None:
        self.executable = compiled.executable
        self.memory: MemoryStats = compiled.memory_analysis()

    def text(self, stage: str) -> str:
        """One stage as text; `STAGES` names them in order."""
        return str(self.executable.text(stage))

    def __getattr__(self, stage: str) -> str:
        if stage in STAGES:
            return self.text(stage)
        raise AttributeError(f"a program has the stages {', '.join(STAGES)}")

    @property
    def peak_bytes(self) -> int:
        """The most bytes that a run has in use at once, its arguments included."""
        return self.memory.peak_memory_in_bytes

    @property
    def temporary_bytes(self) -> int:
        """Bytes that the program needs besides its inputs and outputs."""
        return self.memory.temp_size_in_bytes

    def __str__(self) -> str:
        memory = self.memory
        parts = [
            f"planned peak: {human(memory.peak_memory_in_bytes)}"
            f" = inputs {human(memory.argument_size_in_bytes)}"
            f" + outputs {human(memory.output_size_in_bytes)}"
            f" + temporaries {human(memory.temp_size_in_bytes)}"
        ]
        if memory.alias_size_in_bytes:
            shared = human(memory.alias_size_in_bytes)
            parts[0] += f" − outputs in the place of donated inputs {shared}"
        for stage in STAGES:
            parts.append(f"\n== {stage} ==\n{self.text(stage)}")
        return "\n".join(parts)

    __repr__ = __str__


def _compiled(fun: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    lower = getattr(fun, "lower", None) or jit(fun).lower
    return lower(*args, **kwargs).compile()


def program(fun: Callable[..., Any]) -> Callable[..., Program]:
    """Compiles `fun` for the arguments given, and shows how; runs nothing.

    The first line says how much memory a run will take at its peak. The arguments may be
    arrays or `ShapeDtypeStruct`s; a function under `jit` keeps its donations.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> shown = jax.see.program(lambda x: jnp.sum(jnp.sin(x) ** 2))(jnp.ones(8))
    >>> "sin" in shown.jaxpr
    True
    >>> shown.peak_bytes
    36
    """

    def look(*args: Any, **kwargs: Any) -> Program:
        return Program(_compiled(fun, args, kwargs))

    return look


def estimate_memory(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> int:
    """The most bytes that `fun(*args)` under `jit` will have in use, planned, not run.

    It counts the arguments, the results and what is needed in between. The arguments may
    be `ShapeDtypeStruct`s, so that nothing large needs to exist.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> x = jax.ShapeDtypeStruct((1000, 1000), "float32")
    >>> jax.estimate_memory(lambda x: jnp.tanh(x) + x, x)
    8000000
    """
    found: int = _compiled(fun, args, kwargs).memory_analysis().peak_memory_in_bytes
    return found
