"""What fusion asks of the CPU: how dear an operation is, which views kernels take.

The cost of an operation is counted, not listed: its scalar rule is written once into a
builder of its own and the instructions are weighed.
"""

from __future__ import annotations

from typing import Any

from tetrad._src.core.avals import Aval
from tetrad._src.core.op import Op
from tetrad._src.cpu import kernels
from tetrad._src.cpu.literals import element_type
from tetrad._src.cpu.llvm import Writer
from tetrad._src.util.memo import Cache

HEAVY = ("fdiv ", "llvm.sqrt", "udiv ", "sdiv ", "urem ", "srem ", "gather")
HEAVY_COST = 6.0

_costs: Cache = Cache("operation costs", limit=8192)


class Costs:
    """The machine of `passes.fuse`."""

    def cost(self, op: Op, dtypes: tuple[Any, ...]) -> float:
        key = (op, dtypes)
        found = _costs.get(key)
        if found is None:
            found = _costs.setdefault(key, self.measure(op, dtypes))
        return found  # type: ignore[no-any-return]

    def measure(self, op: Op, dtypes: tuple[Any, ...]) -> float:
        """Instructions for one vector."""
        writer = Writer(1)
        if op.scalar is None:
            return 4.0 if op.step is not None else 1.0
        types = [element_type(dtype) for dtype in dtypes]
        operands = [
            writer.value(f"%x{i}", type, f"%y{i}" if type[0] == "c" else "")
            for i, type in enumerate(types)
        ]
        op.scalar(writer, *operands)
        total = 0.0
        for line in writer.lines:
            heavy = any(word in line for word in HEAVY)
            total += HEAVY_COST if heavy else 1.0
        return total

    def takes(
        self,
        name: str,
        parameters: Any,
        position: int,
        aval: Aval,
        strides: tuple[int, ...],
    ) -> bool:
        return kernels.find(name).takes(parameters, position, aval, strides)

    def order(
        self, name: str, parameters: Any, position: int, aval: Aval
    ) -> tuple[int, ...]:
        return kernels.find(name).order(parameters, position, aval)


COSTS = Costs()
