"""StableHLO: a whole jaxpr as the text of one module.

What comes in: a jaxpr. What goes out: a module whose function `@main` takes the inputs
in order and gives the outputs in order.

An operation says itself how it is written, by its member `hlo`:

    "stablehlo.sine"            the name of an operation on the same operands
    hlo(emit, *operands)        a method that writes it with `emit`, see `Rule`

For a reduction a name is that of its combiner; one without a name is written from its
`initial`, `step`, `merge` and `finish`. What has no `hlo` is expanded into other
operations, and calls are written in line. Nothing is optimised here: the compiler behind
the plugin does that.

Read `Value`, `Writer` (lines of text), `Rule` (what an operation's method gets),
`Emitter` (from equations to lines), `emit`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import STATE
from tetrad._src.core.jaxpr import Atom, Eqn, Jaxpr, Literal, Var
from tetrad._src.core.op import Kind, Op
from tetrad._src.core.stage import restage
from tetrad._src.hlo import flow, types
from tetrad._src.hlo.block import Block
from tetrad._src.hlo.value import Region, Value, Writer
from tetrad._src.util.frames import format_where
from tetrad._src.util.memo import Cache

_expansions: Cache = Cache("expansions for StableHLO", limit=1024)

I64 = np.dtype(np.int64)
F32 = np.dtype(np.float32)


class Rule:
    """What the `hlo` method of an operation gets first: it writes StableHLO operations.

    `rule(name, *operands, **attributes)` writes one operation and gives its result, or
    the list of its results. `result` is the aval (or avals) if not those of the equation.
    `regions` are pairs (avals of the arguments, function): the function gets a `Block`
    and the arguments and gives what the region returns.
    """

    __slots__ = ("writer", "outs", "multiple")

    def __init__(self, writer: Writer, outs: Sequence[Aval], multiple: bool) -> None:
        self.writer = writer
        self.outs = outs
        self.multiple = multiple

    def __call__(
        self,
        name: str,
        *operands: Value,
        result: Aval | Sequence[Aval] | None = None,
        regions: Sequence[Region] = (),
        **attributes: Any,
    ) -> Any:
        if result is None:
            avals, single = self.outs, not self.multiple
        elif isinstance(result, Aval):
            avals, single = (result,), True
        else:
            avals, single = tuple(result), False
        bodies = [self._body(inputs, function) for inputs, function in regions]
        values = self.writer.operation(name, operands, avals, attributes, bodies)
        return values[0] if single else values

    def _body(
        self, avals: Sequence[Aval], function: Callable[..., Any]
    ) -> tuple[Sequence[Aval], Callable[[Writer, Sequence[Value]], Sequence[Value]]]:
        def write(writer: Writer, arguments: Sequence[Value]) -> Sequence[Value]:
            results = function(Block(writer), *arguments)
            return results if isinstance(results, (tuple, list)) else [results]

        return avals, write

    @property
    def block(self) -> Block:
        """The scalar builder, for the elements of an elementwise operation."""
        return Block(self.writer)

    def inline(self, jaxpr: Jaxpr, *operands: Value) -> list[Value]:
        """Writes the equations of `jaxpr` here; gives its outputs."""
        return Emitter(self.writer).jaxpr(jaxpr, operands)


class Emitter:
    """Writes equations into a writer."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer

    def jaxpr(self, jaxpr: Jaxpr, operands: Sequence[Value]) -> list[Value]:
        """The equations in order; gives the values of the outputs."""
        env: dict[Var, Value] = dict(zip(jaxpr.ins, operands))

        def read(atom: Atom) -> Value:
            if type(atom) is Literal:
                return self.writer.constant(atom.val, atom.aval)
            return env[atom]  # type: ignore[index]

        outside = STATE.where
        try:
            for eqn in jaxpr.eqns:
                STATE.where = eqn.where or outside
                env.update(zip(eqn.outs, self.equation(eqn, [*map(read, eqn.ins)])))
        finally:
            STATE.where = outside
        return [read(atom) for atom in jaxpr.outs]

    def equation(self, eqn: Eqn, operands: list[Value]) -> Sequence[Value]:
        op = eqn.op
        if op.kind is Kind.CALL and getattr(op, "inlined", False):
            return self.jaxpr(op.jaxprs()[0], operands)
        outs = [var.aval for var in eqn.outs]
        if op.flow is not None:
            return flow.write(self, op, operands, outs)
        hlo = op.hlo
        if op.kind is Kind.REDUCE:
            return self.reduce(op, operands, outs)
        if hlo is None:
            return self.jaxpr(_expansion(op, eqn), operands)
        if op.kind is Kind.ELEMENTWISE:
            operands = [self.writer.broadcast(x, outs[0].shape) for x in operands]
        rule = Rule(self.writer, outs, op.multiple)
        result = rule(hlo, *operands) if isinstance(hlo, str) else hlo(rule, *operands)
        return result if op.multiple else [result]

    # -- reductions ------------------------------------------------------------------

    def reduce(
        self, op: Any, operands: Sequence[Value], outs: Sequence[Aval]
    ) -> Sequence[Value]:
        (x,) = operands
        block = Block(self.writer)
        if isinstance(op.hlo, str) and x.aval.kind != "c":
            short = x.aval.kind == "f" and x.aval.dtype.itemsize <= 2
            wide = block.convert(x, "f32") if short else x
            # The state may have more parts, of which the mnemonic knows nothing.
            start = op.initial(block, wide.type)[:1]
            (result,) = self._fold(op, start, [wide], _combiner(op.hlo))
            return [block.convert(result, x.type)]
        start = op.initial(block, x.type)
        states = op.step(block, start, x, self._places(x, op.axes))
        width = len(start)

        def merge(inner: Block, *values: Value) -> Sequence[Value]:
            merged: Sequence[Value] = op.merge(inner, values[:width], values[width:])
            return merged

        finished = op.finish(block, tuple(self._fold(op, start, states, merge)))
        return list(finished) if op.multiple else [finished]

    def _fold(
        self,
        op: Any,
        start: Sequence[Value],
        states: Sequence[Value],
        merge: Callable[..., Sequence[Value]],
    ) -> list[Value]:
        """Folds the axes of `op` of several arrays of one shape together."""
        results = [state.aval.drop(op.axes) for state in states]
        scalars = [Aval((), state.aval.dtype) for state in states]
        rule = Rule(self.writer, results, multiple=True)
        values: list[Value] = rule(
            "stablehlo.reduce",
            *states,
            *start,
            regions=[([*scalars, *scalars], merge)],
            dimensions=tuple(sorted(op.axes)),
        )
        return values

    def _places(self, x: Value, axes: Sequence[int]) -> Value:
        """The row-major number of each element among those of its fold."""
        rule = Rule(self.writer, [Aval(x.aval.shape, I64)], multiple=False)
        block = Block(self.writer)
        number: Any = block.constant(0, "i64")
        for axis in sorted(axes):
            place = rule("stablehlo.iota", iota_dimension=axis)
            number = block.add(block.mul(number, x.aval.shape[axis]), place)
        return self.writer.broadcast(number, x.aval.shape)


def _combiner(name: str) -> Callable[..., Sequence[Value]]:
    def combine(block: Block, x: Value, y: Value) -> Sequence[Value]:
        return block.writer.operation(name, [x, y], [x.aval], {})

    return combine


def _expansion(op: Op, eqn: Eqn) -> Jaxpr:
    """The operation in terms of others, as a jaxpr over its operands."""
    if op.host is not None:
        raise NotImplementedError(
            f"{op.name}, called at {format_where(eqn.where)}, cannot be part of a"
            " StableHLO program, which cannot call Python. Call the function itself: on"
            " a PJRT device it runs in pieces, with the callbacks between them. To"
            " compile it ahead of the call, put it on the CPU:"
            " jax.device_put(x, jax.devices('cpu')[0])."
        )
    if op.expand is None:
        raise NotImplementedError(
            f"{op.name}, called at {format_where(eqn.where)}, cannot run on a PJRT"
            " device yet. Move its operands to the CPU first:"
            " jax.device_put(x, jax.devices('cpu')[0])."
        )
    avals = tuple([atom.aval for atom in eqn.ins])

    def expand(*args: Any) -> Sequence[Any]:
        outs = op.expand(*args)
        return outs if op.multiple else [outs]  # type: ignore[no-any-return]

    if op.kind is Kind.CALL:
        return restage(expand, avals, op.name)
    found = _expansions.get((op, avals))
    if found is None:
        found = _expansions.setdefault((op, avals), restage(expand, avals, op.name))
    return found  # type: ignore[no-any-return]


def emit(jaxpr: Jaxpr, donors: Mapping[int, int] | None = None) -> str:
    """The module of `jaxpr`; `donors[j]` is the input whose memory output `j` may take."""
    takers = {i: j for j, i in (donors or {}).items()}
    writer = Writer(indent="    ")
    arguments = []
    for i, aval in enumerate(jaxpr.in_avals):
        alias = f" {{tf.aliasing_output = {takers[i]} : i32}}" if i in takers else ""
        arguments.append(f"%arg{i}: {types.tensor(aval)}{alias}")
    inputs = [Value(f"%arg{i}", aval) for i, aval in enumerate(jaxpr.in_avals)]
    outs = Emitter(writer).jaxpr(jaxpr, inputs)
    results = ", ".join([types.tensor(aval) for aval in jaxpr.out_avals])
    names = ", ".join([value.name for value in outs])
    ending = f"func.return {names} : {results}" if outs else "func.return"
    lines = [
        "module @tetrad {",
        f"  func.func public @main({', '.join(arguments)}) -> ({results}) {{",
        *writer.lines,
        f"    {ending}",
        "  }",
        "}",
        "",
    ]
    return "\n".join(lines)
