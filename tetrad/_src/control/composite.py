"""`lax.composite`: an operation with a name, defined by other operations.

In: a function, a name, a version. Out: a function whose call stands in jaxprs as one
equation under that name, with the keyword arguments as attributes. What runs, batches and
has derivatives is the decomposition.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tetrad._src.control.call import JaxprCall
from tetrad._src.control.signature import check_callable, name_of
from tetrad._src.core.bind import Tracer, Value, aval_of
from tetrad._src.core.jaxpr import Jaxpr
from tetrad._src.core.stage import stage
from tetrad._src.ops.families import check_operand
from tetrad._src.util import errors, frames, tree

Attributes = tuple[tuple[str, Any], ...]


class Composite(JaxprCall):
    """The call of a decomposition under the name that users gave it."""

    jaxpr: Jaxpr
    label: str
    attributes: Attributes = ()
    version: int = 0

    name = "composite"
    inlined = True

    @property
    def params(self) -> dict[str, Any]:
        return {
            "attributes": self.attributes,
            "jaxpr": self.jaxpr,
            "name": self.label,
            "version": self.version,
        }


class _Frozen:
    """A NumPy array as an attribute: compared by contents."""

    __slots__ = ("array",)

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def _key(self) -> tuple[Any, ...]:
        return self.array.shape, str(self.array.dtype), self.array.tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Frozen) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return repr(self.array)


def composite(
    decomposition: Callable[..., Any], name: str, version: int = 0
) -> Callable[..., Any]:
    """A function that stands in jaxprs as one operation with the name `name`.

    Args:
      decomposition: a function of arrays, and of attributes by keyword.
      name: the name, as in "my.softmax".
      version: a number that goes with the name.

    Attributes are numbers, text, dtypes and NumPy arrays. UnexpectedTracerError for
    traced values as attributes or closed over: pass them as arguments.

    >>> from functools import partial
    >>> import tetrad as jax
    >>> from tetrad import lax
    >>> @partial(lax.composite, name="my.square")
    ... def square(x):
    ...     return x * x
    >>> square(3.0)
    Array(9., dtype=float32, weak_type=True)
    """
    check_callable(decomposition, "lax.composite", 'lax.composite(f, name="my.f")(x)')

    def call(*args: Any, **attributes: Any) -> Any:
        leaves, in_tree = tree.flatten(args)
        leaves = [check_operand(x, name, i) for i, x in enumerate(leaves)]
        shown = tuple(
            [(k, _attribute(name, k, v)) for k, v in sorted(attributes.items())
             if v is not None]
        )  # fmt: skip
        structure: list[Any] = []

        def flat(*xs: Any) -> list[Any]:
            out = decomposition(*in_tree.unflatten(xs), **attributes)
            outs, out_tree = tree.flatten(out)
            structure.append(out_tree)
            return outs

        jaxpr, consts = stage(
            flat, [aval_of(x) for x in leaves], name_of(decomposition)
        )
        if any([isinstance(c, Tracer) for c in consts]):
            raise errors.UnexpectedTracerError(
                "Found a JAX Tracer as a constant in the decomposition for the composite"
                f" op {name!r}. A composite stands for itself: pass the value as an"
                " argument of the function instead of closing over it."
            )
        outs = Composite(jaxpr, name, shown, version)(*consts, *leaves)
        return structure[-1].unflatten(outs)

    functools.update_wrapper(call, decomposition)
    return frames.hide_frames(call)


def _attribute(name: str, key: str, value: Any) -> Any:
    if isinstance(value, Value):
        raise errors.UnexpectedTracerError(
            f"lax.composite: the attribute {key!r} of {name!r} is a jax array. Attributes"
            " are known when the function is traced. Note: If you are passing jax arrays"
            " as attributes, use numpy arrays instead."
        )
    return _Frozen(value) if isinstance(value, np.ndarray) else value
