"""Names for parts of programs: `named_scope`, `named_call`.

In: a name and a block of the program. Out: every operation that is written down in the
block knows it, as it knows the user's line. `see.program` and `pretty_print` of jaxprs
show both. Operations that run at once, outside of every transformation, have lines only.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

from tetrad._src.api.flat import shortened
from tetrad._src.control.signature import check_callable, name_of
from tetrad._src.core.bind import STATE


class named_scope(contextlib.ContextDecorator):
    """Names the operations of a block or function: `with named_scope("layer"): ...`.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> @jax.named_scope("layer")
    ... def layer(w, x):
    ...     return jax.nn.relu(w @ x)
    >>> layer(jnp.ones((1, 2)), jnp.ones(2))
    Array([2.], dtype=float32)
    >>> print(jax.make_jaxpr(layer)(jnp.ones((1, 2)), jnp.ones(2)).eqns[0].source_info.name_stack)
    layer
    """

    __slots__ = ("name", "outside")

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(
                f"named_scope takes the name of the part as a string, got"
                f" {shortened(name)} of type {type(name).__name__}"
            )
        self.name = name

    def _recreate_cm(self) -> named_scope:
        return named_scope(self.name)  # a decorated function may call itself

    def __enter__(self) -> named_scope:
        self.outside = STATE.scopes
        STATE.scopes = (*STATE.scopes, (self.name, STATE.trace))
        return self

    def __exit__(self, *error: object) -> None:
        STATE.scopes = self.outside


def named_call(
    fun: Callable[..., Any], *, name: str | None = None
) -> Callable[..., Any]:
    """`fun`, whose operations are named `name`, or like the function.

    >>> import tetrad as jax
    >>> float(jax.named_call(lambda x: x * x, name="square")(3.0))
    9.0
    """
    check_callable(fun, "named_call")
    scope = named_scope(name_of(fun) if name is None else name)

    @functools.wraps(fun, updated=())
    def named(*args: Any, **kwargs: Any) -> Any:
        with scope:
            return fun(*args, **kwargs)

    return named
