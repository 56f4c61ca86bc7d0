"""Names for parts of programs: `named_scope`, `named_call`.

Every operation knows the user's line that asked for it, and that is what messages and
`tetrad.see` show; so these names are checked, and change nothing.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

from tetrad._src.api.derivatives import check_callable
from tetrad._src.api.flat import shortened
from tetrad._src.control.signature import name_of


class named_scope(contextlib.ContextDecorator):
    """Names the operations of a block or function: `with named_scope("layer"): ...`.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> @jax.named_scope("layer")
    ... def layer(w, x):
    ...     return jax.nn.relu(w @ x)
    >>> layer(jnp.ones((1, 2)), jnp.ones(2))
    Array([2.], dtype=float32)
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(
                f"named_scope takes the name of the part as a string, got"
                f" {shortened(name)} of type {type(name).__name__}"
            )
        self.name = name

    def __enter__(self) -> named_scope:
        return self

    def __exit__(self, *error: object) -> None:
        pass


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
