"""Values of a StableHLO module, and the writer of its lines.

What comes in: names of operations, operands, types, attributes. What goes out: lines in
MLIR's generic form, which every version of the dialects reads:

    %2 = "stablehlo.add"(%0, %1) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.hlo import types
from tetrad._src.util import dtypes

Region = tuple[Sequence[Aval], Callable[..., Any]]

BYTE = np.dtype(np.uint8)


class Value:
    """A result of an operation, or an argument."""

    __slots__ = ("name", "aval")

    def __init__(self, name: str, aval: Aval) -> None:
        self.name = name
        self.aval = aval

    @property
    def type(self) -> str:
        """The element type as scalar rules name it: `f32`, `i1`, `u8`."""
        name = dtypes.short_name(self.aval.dtype)
        return "i1" if name == "bool" else name

    def __repr__(self) -> str:
        return f"{self.name}: {self.aval}"


class Writer:
    """Lines of one region; regions inside it have writers of their own."""

    def __init__(self, indent: str, counter: Any = None) -> None:
        self.indent = indent
        self.counter = itertools.count() if counter is None else counter
        self.lines: list[str] = []
        self._constants: dict[Any, Value] = {}

    def operation(
        self,
        name: str,
        operands: Sequence[Value],
        results: Sequence[Aval],
        attributes: Mapping[str, Any],
        regions: Sequence[Region] = (),
    ) -> list[Value]:
        """Writes one operation; gives its results."""
        values = [Value(f"%{next(self.counter)}", aval) for aval in results]
        left = ", ".join([value.name for value in values])
        names = ", ".join([value.name for value in operands])
        text = f'{left} = "{name}"({names})' if values else f'"{name}"({names})'
        if regions:
            bodies = ", ".join([self._region(*region) for region in regions])
            text += f" ({bodies})"
        if name == "stablehlo.compare":
            kind = types.comparison(operands[0].aval.dtype)
            attributes = {**attributes, "compare_type": kind}
        shown = [f"{k} = {types.attribute(v)}" for k, v in attributes.items()]
        if shown:
            text += " {" + ", ".join(shown) + "}"
        inputs = ", ".join([types.tensor(value.aval) for value in operands])
        outputs = ", ".join([types.tensor(aval) for aval in results])
        if len(results) != 1:
            outputs = f"({outputs})"
        self.lines.append(f"{self.indent}{text} : ({inputs}) -> {outputs}")
        return values

    def _region(self, avals: Sequence[Aval], function: Callable[..., Any]) -> str:
        inner = Writer(self.indent + "  ", self.counter)
        arguments = [Value(f"%{next(self.counter)}", aval) for aval in avals]
        results = function(inner, arguments)
        inner.operation("stablehlo.return", results, [], {})
        head = ", ".join([f"{v.name}: {types.tensor(v.aval)}" for v in arguments])
        label = [f"{self.indent}^bb0({head}):"] if arguments else []
        return "\n".join(["{", *label, *inner.lines, f"{self.indent}}}"])

    def constant(self, value: Any, aval: Aval) -> Value:
        """A number or array as a value; equal numbers are written once."""
        host = np.asarray(value)
        dtype = types.host_dtype(aval.dtype)
        if host.dtype != dtype:
            host = host.astype(dtype)
        if host.shape != aval.shape:
            host = np.broadcast_to(host, aval.shape)
        if host.ndim and aval.kind == "b":
            return self._mask(host, aval)
        key = (aval.dtype, host.tobytes()) if host.ndim == 0 else None
        found = self._constants.get(key)
        if found is not None:
            return found
        text = f"{types.dense(host)} : {types.tensor(aval)}"
        (made,) = self.operation("stablehlo.constant", [], [aval], {"value": text})
        if key is not None:
            self._constants[key] = made
        return made

    def _mask(self, host: np.ndarray[Any, Any], aval: Aval) -> Value:
        """An array of bools; MLIR packs their bits, so bytes are written instead."""
        plain = np.ascontiguousarray(host).view(BYTE)
        data = self.constant(plain, aval.update(dtype=BYTE))
        return self.operation("stablehlo.convert", [data], [aval], {})[0]

    def broadcast(self, x: Value, shape: tuple[int, ...]) -> Value:
        """A value of rank 0 everywhere in `shape`; others stay."""
        if x.aval.shape == shape or x.aval.shape:
            return x
        aval = x.aval.update(shape=shape)
        dims = {"broadcast_dimensions": ()}
        return self.operation("stablehlo.broadcast_in_dim", [x], [aval], dims)[0]
