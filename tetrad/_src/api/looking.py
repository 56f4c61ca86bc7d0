"""What libraries ask about types, jaxprs, and the transformations around the code.

In: types, jaxprs, values. Out: answers. These are the small functions and classes of
`jax.extend.core`; nothing in the library is built on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from tetrad._src.api.flat import leaf_aval
from tetrad._src.api.inspect import ClosedJaxpr
from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import STATE, Trace, Tracer, Value, at, base_trace
from tetrad._src.core.effects import Effect as Effect
from tetrad._src.core.jaxpr import Atom, Eqn, Jaxpr, Var
from tetrad._src.core.op import Primitive
from tetrad._src.core.stage import Stage
from tetrad._src.transforms.vmap import Batch, named_axes
from tetrad._src.util import dtypes

no_effects: frozenset[Any] = frozenset()
Effects = frozenset

array_types = {Value, np.ndarray, np.generic}


class DropVarType(type):
    """Answers `isinstance(v, DropVar)`."""

    def __instancecheck__(cls, instance: object) -> bool:
        return False


class DropVar(Var, metaclass=DropVarType):
    """A result that nobody reads. Here every result has a variable of its own."""


# -------------------------------------------------------------------------------- types


def mapped_aval(size: int, axis: int | None, aval: Aval) -> Aval:
    """The type of one lane of an array of type `aval` that is mapped along `axis`."""
    return aval if axis is None else aval.drop((axis,))


def unmapped_aval(size: int, axis: int | None, aval: Aval, *unused: Any) -> Aval:
    """The type of an array whose lanes along `axis` have type `aval`."""
    if axis is None:
        return aval
    shape = list(aval.shape)
    shape.insert(axis, size)
    return aval.update(shape=shape)


def valid_jaxtype(x: Any) -> bool:
    """Whether `x` is an array or a number."""
    try:
        leaf_aval(x)
    except (TypeError, ValueError):
        return False
    return True


def primal_dtype_to_tangent_dtype(dtype: Any) -> Any:
    """The dtype of tangents of arrays of `dtype`."""
    return dtype if dtypes.kind(dtype) in "fc" else dtypes.float0


def concrete_or_error(force: Any, x: Any, context: str = "") -> Any:
    """`force(x)`, or `x` if `force` is None; an error, with `context`, if it is traced."""
    if not isinstance(x, Tracer):
        return x if force is None else force(x)
    try:
        return np.asarray(x) if force is None else force(x)
    except TypeError as error:
        error.add_note(context)
        raise


# ------------------------------------------------------------------------------- jaxprs


def jaxprs_in_params(params: dict[str, Any]) -> Iterator[Jaxpr]:
    """The jaxprs among the parameters of an equation."""
    for value in params.values():
        for item in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(item, Jaxpr):
                yield item
            elif isinstance(item, ClosedJaxpr):
                yield item.jaxpr


def subjaxprs(jaxpr: Jaxpr) -> Iterator[Jaxpr]:
    """The jaxprs that the equations of `jaxpr` hold."""
    for eqn in jaxpr.eqns:
        yield from jaxprs_in_params(eqn.params)


def new_jaxpr_eqn(
    invars: Sequence[Atom],
    outvars: Sequence[Var],
    primitive: Primitive,
    params: dict[str, Any],
    effects: Iterable[Any] = (),
    source_info: Any = None,
    ctx: Any = None,
) -> Eqn:
    """The equation `outvars = primitive[params](invars)`."""
    op = getattr(params, "op", None)
    op = op if type(op) is primitive else primitive.of(params)
    return Eqn(op, list(invars), list(outvars), source_info)


def gensym(suffix: str = "") -> Callable[[Aval], Var]:
    """A function that makes a new variable of a given type."""
    return Var


# ------------------------------------------------------------- transformations around


class TraceState:
    """Stands for the transformations around the code; equal while they are the same."""

    __slots__ = ("trace",)

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TraceState) and self.trace is other.trace

    def __hash__(self) -> int:
        return id(self.trace)


def get_opaque_trace_state(convention: str = "nnx") -> TraceState:
    """What tells whether two pieces of code run in the same transformations."""
    return TraceState(STATE.trace)


def trace_state_clean() -> bool:
    """Whether no transformation is being traced."""
    return STATE.trace is base_trace()


def find_top_trace(values: Iterable[Any] = ()) -> Trace:
    """The transformation that receives the next operation."""
    return STATE.trace


class take_current_trace:
    """`with take_current_trace() as trace:` operations inside run outside of `trace`."""

    def __enter__(self) -> Trace:
        self.trace = STATE.trace
        STATE.trace = base_trace()
        return self.trace

    def __exit__(self, *exc: object) -> None:
        STATE.trace = self.trace


set_current_trace = at


def under_jit() -> bool:
    """Whether the code is being staged, by `jit` or control flow."""
    return any(isinstance(trace, Stage) for trace in _around())


def under_vmap() -> bool:
    """Whether the code is being mapped."""
    return any(isinstance(trace, Batch) for trace in _around())


def axis_names_around() -> list[Any]:
    """The names of the mapped axes around the code."""
    return [name for name, _ in named_axes()]


def some_named_axes() -> bool:
    """Whether a named axis is mapped around the code."""
    return bool(named_axes())


def _around() -> Iterator[Trace]:
    trace: Trace | None = STATE.trace
    while trace is not None:
        yield trace
        trace = trace.parent
