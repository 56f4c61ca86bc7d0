"""The same values, on another device.

In eager code the recorder moves the operand. A program runs on one device, so there it
states which, and is nothing besides: see `Entry.targets` of the runtime.
"""

from __future__ import annotations

from typing import Any

from tetrad._src.core.bind import Value
from tetrad._src.ops.families import Unary


class DevicePut(Unary):
    """The same values, on another device.

    `target` and `source` are placements of the runtime: where the operand goes, and where
    it was if that is known; its cotangent goes back there.
    """

    target: Any  # type: ignore[misc]
    source: Any = None
    accepts = "fcuibK"
    linear = ((0,),)
    hidden = ("source",)

    def transpose(self, ct: Any, x: Any) -> tuple[Any, ...]:
        if self.source is None:
            return (ct,)
        return (DevicePut(self.source, self.target)(ct),)

    def simplify(self, x: Any) -> Any:
        return x if isinstance(x, Value) else None

    def scalar(self, block: Any, x: Any) -> Any:
        return x

    def expand(self, x: Any) -> Any:
        return x
