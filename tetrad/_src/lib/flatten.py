"""Pytrees of arrays as vectors, and back."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tetrad._src.core.bind import aval_of
from tetrad._src.numpy import assemble, convert, create
from tetrad._src.numpy import dtype as dtype_functions
from tetrad._src.numpy import shape as shape_functions
from tetrad._src.ops.convert import convert_element_type
from tetrad._src.ops.slices import slice as slice_of
from tetrad._src.util import tree


class Unravel:
    """What makes a pytree of a vector again.

    Two of them are equal if they make the same pytree, so that one can be a static
    argument of a jitted function.
    """

    def __init__(self, treedef: Any, shapes: Any, dtypes: Any, dtype: Any) -> None:
        self._parts = treedef, shapes, dtypes, dtype

    def __call__(self, vector: Any) -> Any:
        treedef, shapes, dtypes, dtype = self._parts
        vector = convert.asarray(vector)
        sizes = [math.prod(shape) for shape in shapes]
        if vector.shape != (sum(sizes),):
            raise ValueError(
                f"unravel: this pytree has {sum(sizes)} elements, so it takes a vector of"
                f" shape ({sum(sizes)},); got {vector.aval.long_name()}"
            )
        mixed = any(each != dtype for each in dtypes)
        if mixed and vector.dtype != dtype:
            raise TypeError(
                f"unravel: got a vector of {vector.dtype.name}, but expected dtype"
                f" {dtype.name}: the leaves of this pytree have several dtypes"
            )
        leaves, start = [], 0
        for size, shape, each in zip(sizes, shapes, dtypes):
            part = slice_of(vector, (start,), (start + size,))
            start += size
            leaf = shape_functions.reshape(part, shape)
            leaves.append(convert_element_type(leaf, each) if mixed else leaf)
        return tree.unflatten(treedef, leaves)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unravel) and self._parts == other._parts

    def __hash__(self) -> int:
        return hash(self._parts)

    def __repr__(self) -> str:
        return f"<unravel to {self._parts[0]}>"


def ravel_pytree(pytree: Any) -> tuple[Any, Unravel]:
    """All elements of a pytree as one vector, and the function that undoes it.

    Leaves of several dtypes are promoted to one.

    >>> import tetrad.numpy as jnp
    >>> from tetrad.flatten_util import ravel_pytree
    >>> vector, unravel = ravel_pytree({"a": jnp.ones(2), "b": jnp.zeros((1, 2))})
    >>> vector
    Array([1., 1., 0., 0.], dtype=float32)
    >>> unravel(2 * vector)["a"]
    Array([2., 2.], dtype=float32)
    """
    leaves, treedef = tree.flatten(pytree)
    if not leaves:
        return create.zeros(0), Unravel(treedef, (), (), np.dtype("float32"))
    values = [convert.asarray(leaf) for leaf in leaves]
    dtype = dtype_functions.result_type(*values)
    flat = [
        shape_functions.reshape(convert_element_type(x, dtype), (-1,)) for x in values
    ]
    shapes = tuple([aval_of(x).shape for x in values])
    dtypes = tuple([aval_of(x).dtype for x in values])
    return assemble.concatenate(flat), Unravel(treedef, shapes, dtypes, dtype)
