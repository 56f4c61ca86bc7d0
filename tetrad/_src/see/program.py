"""`tetrad.see.program(f)(*args)`: every stage of a compilation, as text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tetrad._src.api.jit import jit
from tetrad._src.runtime.ledger import human

STAGES = ("jaxpr", "plan", "program", "loops", "llvm")


class Program:
    """The stages of one compiled function: `.jaxpr`, `.plan`, …, or all by printing."""

    def __init__(self, executable: Any) -> None:
        self.executable = executable

    def text(self, stage: str) -> str:
        """One stage as text; `STAGES` names them in order."""
        return str(self.executable.text(stage))

    def __getattr__(self, stage: str) -> str:
        if stage in STAGES:
            return self.text(stage)
        raise AttributeError(f"a program has the stages {', '.join(STAGES)}")

    @property
    def temporary_bytes(self) -> int:
        """Bytes that the program needs besides its inputs and outputs."""
        return int(self.executable.arena)

    def __str__(self) -> str:
        parts = [f"temporary memory: {human(self.temporary_bytes)}"]
        for stage in STAGES:
            parts.append(f"\n== {stage} ==\n{self.text(stage)}")
        return "\n".join(parts)

    __repr__ = __str__


def program(fun: Callable[..., Any]) -> Callable[..., Program]:
    """Compiles `fun` for the arguments given, and shows how; runs nothing.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> shown = jax.see.program(lambda x: jnp.sum(jnp.sin(x) ** 2))(jnp.ones(8))
    >>> "sin" in shown.jaxpr
    True
    """

    def look(*args: Any, **kwargs: Any) -> Program:
        compiled = jit(fun).lower(*args, **kwargs).compile()
        return Program(compiled.executable)

    return look
