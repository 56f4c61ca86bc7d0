"""Answers to private names that JAX's own tests touch, with what this library has.

A runner that puts the library in JAX's place asks `PRIVATE` for names under `jax._src`
that have no public spelling. Only names are translated here: every answer is a function
of the library, or a counter of what it traced and compiled.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from tetrad._src.api import jacobians, linear_util, partial_eval, residuals
from tetrad._src.api.derivatives import NotNeeded
from tetrad._src.api.tracing import on_compile
from tetrad._src.control.call import ClosedCall
from tetrad._src.core.bind import aval_of
from tetrad._src.runtime import execute
from tetrad._src.util import tree

_traced = [0]


def _count(function: Any, reason: str) -> None:
    _traced[0] += 1


on_compile.append(_count)


def _counter(now: Callable[[], int]) -> Callable[[], Any]:
    @contextlib.contextmanager
    def counting() -> Iterator[Callable[[], int]]:
        before = now()
        yield lambda: now() - before

    return counting


traces = _counter(lambda: _traced[0])
programs = _counter(lambda: execute.compile_count)


def _standard_basis(example: Any) -> Any:
    """The unit directions of all elements of a pytree of arrays, stacked."""
    leaves, treedef = tree.flatten(example)
    return treedef.unflatten(jacobians._basis([aval_of(leaf) for leaf in leaves])[0])


class _EvalJaxpr:
    """A call of a jaxpr under the name that the tests give its parameter."""

    @staticmethod
    def bind(*args: Any, jaxpr: Any) -> Any:
        return ClosedCall.bind(*args, call_jaxpr=jaxpr)


PRIVATE: dict[str, Any] = {
    "jax._src.ad_checkpoint.saved_residuals": residuals.saved_residuals,
    "jax._src.lax.eval_jaxpr.eval_jaxpr_p": _EvalJaxpr,
    "jax._src.api.NotNeeded": NotNeeded,
    "jax._src.api._std_basis": _standard_basis,
    "jax._src.interpreters.partial_eval.dce_jaxpr": partial_eval.dce_jaxpr,
    "jax._src.api_util.debug_info": linear_util.debug_info,
    "jax._src.test_util.count_jit_tracing_cache_miss": traces,
    "jax._src.test_util.count_pjit_cpp_cache_miss": traces,
    "jax._src.test_util.count_jit_and_pmap_lowerings": programs,
    "jax._src.test_util.count_jit_compilation_cache_miss": programs,
    "jax._src.test_util.count_primitive_compiles": programs,
}
