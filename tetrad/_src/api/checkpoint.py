"""`checkpoint` for users: trade computation for memory in reverse differentiation.

In: a function of pytrees and a policy. Out: a function that calls its trace as a `Remat`
operation. `checkpoint_policies` holds the common policies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from tetrad._src.api.arguments import ArgumentRules
from tetrad._src.api.flat import shortened, wraps_of
from tetrad._src.api.tracing import Call, TracedFunction
from tetrad._src.control import checkpoint as control
from tetrad._src.control.checkpoint import Policy, Remat
from tetrad._src.core.jaxpr import Jaxpr
from tetrad._src.util import frames, tree

Fun = Callable[..., Any]

checkpoint_policies = SimpleNamespace(
    everything_saveable=control.everything_saveable,
    nothing_saveable=control.nothing_saveable,
    dots_saveable=control.dots_saveable,
    checkpoint_dots=control.dots_saveable,
    dots_with_no_batch_dims_saveable=control.dots_with_no_batch_dims_saveable,
    checkpoint_dots_with_no_batch_dims=control.dots_with_no_batch_dims_saveable,
    save_only_these_names=control.save_only_these_names,
    save_any_names_but_these=control.save_any_names_but_these,
    save_anything_except_these_names=control.save_anything_except_these_names,
    offload_dot_with_no_batch_dims=control.offload_dot_with_no_batch_dims,
    save_and_offload_only_these_names=control.save_and_offload_only_these_names,
    save_from_both_policies=control.save_from_both_policies,
)


class CheckpointFunction(TracedFunction):
    """A function under `checkpoint`."""

    what = "checkpoint"

    def __init__(
        self, fun: Fun, rules: ArgumentRules, policy: Policy | None, prevent_cse: bool
    ) -> None:
        super().__init__(fun, rules, (policy, prevent_cse))
        self._policy = policy
        self._prevent_cse = prevent_cse

    def _operation(self, jaxpr: Jaxpr, closed: int, call: Call) -> Remat:
        return Remat(jaxpr, False, self._policy, self._prevent_cse)

    def call(self, *args: Any, **kwargs: Any) -> Any:
        call = Call(self, args, kwargs)
        entry = self._entry(call)
        outs = entry.op(*entry.consts, *call.leaves)
        return entry.out_tree.unflatten(outs)


def checkpoint(
    fun: Fun | None = None,
    *,
    prevent_cse: Any = True,
    policy: Policy | None = None,
    static_argnums: int | Sequence[int] = (),
) -> Any:
    """`fun`, which reverse differentiation computes a second time instead of storing
    its intermediate values.

    Args:
      fun: a function of pytrees. Without it `checkpoint` is a decorator with options.
      policy: chooses values that are stored nevertheless, for example
        `jax.checkpoint_policies.dots_saveable`; a function of the primitive, the types
        of its operands and its parameters.
      prevent_cse: whether the second computation is kept apart from the first, as it
        must be under `jit`; inside `scan` it can be False. In a pytree of bools one
        that is True is enough.
      static_argnums: positional arguments that are not arrays.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> float(jax.grad(jax.checkpoint(jnp.sin))(0.0))
    1.0
    """

    def decorate(function: Fun) -> Fun:
        if not callable(function):
            raise TypeError(
                f"checkpoint takes a function, got {shortened(function)} of type"
                f" {type(function).__name__}. Write checkpoint(f)(x), not"
                " checkpoint(f(x))."
            )
        if policy is not None and not callable(policy):
            raise TypeError(
                f"checkpoint: policy must be a function, such as"
                f" jax.checkpoint_policies.dots_saveable, got {shortened(policy)} of type"
                f" {type(policy).__name__}"
            )
        rules = ArgumentRules("checkpoint", function, static_argnums, None, None, None)
        apart = any(tree.leaves(prevent_cse))
        traced = CheckpointFunction(function, rules, policy, apart)

        def rematerialized(*args: Any, **kwargs: Any) -> Any:
            return traced.call(*args, **kwargs)

        return wraps_of(function)(frames.hide_frames(rematerialized))

    return decorate if fun is None else decorate(fun)


remat = checkpoint
