"""What the passes ask of the machine that a program is compiled for."""

from __future__ import annotations

from typing import Any, Protocol

from tetrad._src.core.avals import Aval
from tetrad._src.core.op import Op
from tetrad._src.passes.ir import Strides


class Machine(Protocol):
    """What fusion asks of the machine it compiles for."""

    def cost(self, op: Op, dtypes: tuple[Any, ...]) -> float:
        """Instructions per vector of `op.scalar` or `op.step`."""
        ...

    def takes(
        self, name: str, parameters: Any, position: int, aval: Aval, strides: Strides
    ) -> bool:
        """Whether a hand-made kernel reads operand `position` with these strides."""
        ...

    def order(
        self, name: str, parameters: Any, position: int, aval: Aval
    ) -> tuple[int, ...]:
        """The order of axes in which operand `position` must be dense otherwise."""
        ...
