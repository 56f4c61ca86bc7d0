"""`no_copies`: a block in which an update that copies its array is an error."""

from __future__ import annotations

from typing import Any

from tetrad._src.runtime.flush import flush
from tetrad._src.util import frames
from tetrad._src.util.config import Block, scoped


class NoCopies(Block):
    """The block. What is recorded when it ends is submitted then, so that its updates are
    checked no later; and what is recorded when it begins, if these are not to be.
    """

    __slots__ = ()

    @frames.hide_frames
    def __enter__(self) -> None:
        if self.value:
            flush()
        super().__enter__()

    @frames.hide_frames
    def __exit__(self, *error: object) -> None:
        try:
            if error[0] is None:
                flush()
        finally:
            super().__exit__(*error)


class _NoCopies(scoped):
    """`with no_copies():` makes updates that copy their array a `CopyError`.

    An update, `x.at[i].set(v)` and its kin, works in place unless somebody else holds
    the array: a variable, a NumPy view, or a later line that reads the old value. Then
    it copies, which the block forbids. The error names the line of the update and who
    holds the array, and comes before anything has changed: inside the block, where a
    value is needed, or at its end.

    Updates of all elements (`x.at[:]`) and expressions such as `x + y` make new arrays
    and are no copies.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> x = jnp.zeros(3)
    >>> with jax.no_copies():
    ...     x = x.at[0].set(1)
    >>> x.tolist()
    [1.0, 0.0, 0.0]
    """

    __slots__ = ()

    def __call__(self, value: Any = True) -> NoCopies:
        return NoCopies(self.name, value)


no_copies = _NoCopies("tetrad_no_copies", True)
