"""The same values: as a copy, or as constants to differentiation."""

from __future__ import annotations

from typing import Any

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import Value, aval_of
from tetrad._src.core.effects import Effect
from tetrad._src.core.op import Kind, Op, Whole
from tetrad._src.ops.families import Unary, check_operand
from tetrad._src.ops.functions import unary
from tetrad._src.util import tree


class Copy(Unary):
    """The same values, as an array of its own.

    >>> from tetrad import lax
    >>> lax.full((), 1.0).copy()
    Array(1., dtype=float32, weak_type=True)
    """

    accepts = "fcuibK"
    linear = ((0,),)

    def transpose(self, ct: Any, x: Any) -> tuple[Any, ...]:
        return (ct,)

    def scalar(self, block: Any, x: Any) -> Any:
        return x

    def expand(self, x: Any) -> Any:
        return x


class StopGradient(Unary):
    """The same values, with derivative zero."""

    accepts = "fcuibK"

    def derivative(self, ans: Any, x: Any) -> tuple[Any, ...]:
        return (None,)

    def simplify(self, x: Any) -> Any:
        return x if isinstance(x, Value) else None

    def scalar(self, block: Any, x: Any) -> Any:
        return x

    def expand(self, x: Any) -> Any:
        return x


class OptimizationBarrier(Op):
    """Its operands, computed before anything that uses the results; all are needed.

    Compilers do not move work across it, nor find it twice.
    """

    name = "optimization_barrier"
    multiple = True
    linear = "all"
    aligned = False

    def type(self, *avals: Aval) -> tuple[Aval, ...]:
        return avals

    def transpose(self, cts: Any, *args: Any) -> list[Any]:
        live = iter(self(*[ct for ct in cts if ct is not None]))
        return [None if ct is None else next(live) for ct in cts]

    def batch(self, axis: Any, mapped: Any, *args: Any) -> list[Any]:
        outs = self(*args)
        return [out if m else Whole(out) for out, m in zip(outs, mapped)]

    def expand(self, *args: Any) -> list[Any]:
        return list(args)

    def hlo(self, emit: Any, *operands: Any) -> Any:
        avals = [x.aval for x in operands]
        return emit("stablehlo.optimization_barrier", *operands, result=avals)


def optimization_barrier(operand: Any) -> Any:
    """The arrays in `operand` (a pytree), which compilers compute before what follows.

    >>> from tetrad import lax
    >>> lax.optimization_barrier((1.0, 2))
    (Array(1., dtype=float32, weak_type=True), Array(2, dtype=int32, weak_type=True))
    """
    leaves, treedef = tree.flatten(operand)
    leaves = [
        check_operand(leaf, "optimization_barrier", i) for i, leaf in enumerate(leaves)
    ]
    return treedef.unflatten(OptimizationBarrier()(*leaves) if leaves else [])


class Sinks(Effect):
    """Something is computed although nobody reads it."""

    __slots__ = ()
    name = "NoDCE"


class DceSink(Op):
    """Nothing, but the operand is computed."""

    name = "dce_sink"
    kind = Kind.CALL
    multiple = True
    aligned = False
    effects = frozenset((Sinks(),))

    def type(self, x: Aval) -> tuple[Aval, ...]:
        return ()

    def jvp(self, primals: Any, tangents: Any) -> tuple[list[Any], list[Any]]:
        return self(*primals), []

    def batch(self, axis: Any, mapped: Any, x: Any) -> list[Any]:
        return list(self(x))

    def expand(self, x: Any) -> list[Any]:
        return []


def dce_sink(x: Any) -> None:
    """Has `x` stay in the jaxpr of a function, although nobody uses it.

    >>> import tetrad as jax
    >>> jax.make_jaxpr(lambda x: jax.lax.dce_sink(x + 1))(2)
    { lambda ; a:i32[]. let b:i32[] = add a 1:i32[]; dce_sink b in () }
    """
    tree.map(DceSink(), x)


copy = unary(Copy)


def stop_gradient(x: Any) -> Any:
    """The arrays in `x` (a pytree), as constants to differentiation.

    >>> import tetrad as jax
    >>> jax.grad(lambda x: x * jax.lax.stop_gradient(x))(3.0)
    Array(3., dtype=float32, weak_type=True)
    """

    def stop(leaf: Any) -> Any:
        inexact = aval_of(check_operand(leaf, "stop_gradient")).inexact
        return StopGradient()(leaf) if inexact else leaf

    return tree.map(stop, x)
