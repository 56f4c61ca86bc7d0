"""`tetrad.see.device(x)`: where an array lives, and which line brought it there."""

from __future__ import annotations

from typing import Any

from tetrad._src.core.bind import Tracer
from tetrad._src.runtime.array import Array, Deleted
from tetrad._src.runtime.device import Device, default_placement
from tetrad._src.util import tree
from tetrad._src.util.config import config
from tetrad._src.util.frames import expression_at, format_where, line_of

LONGEST = 60  # characters of the user's words


class Whereabouts:
    """Where one value lives.

    `device` is its device, or None; `committed` says whether the user chose it; `where`
    is the line that brought it there, `file:line`, or None; `reason` says how.
    """

    def __init__(
        self,
        device: Device | None,
        committed: bool,
        where: str | None,
        reason: str,
    ) -> None:
        self.device = device
        self.committed = committed
        self.where = where
        self.reason = reason

    def __str__(self) -> str:
        if self.device is None:
            return self.reason
        kind = "committed" if self.committed else "uncommitted"
        return f"{self.device}, {kind}: {self.reason}"

    __repr__ = __str__


class Places(dict[str, Whereabouts]):
    """Where the leaves of a pytree live, by their path."""

    def __str__(self) -> str:
        return "\n".join([f"{path}: {place}" for path, place in self.items()])

    __repr__ = __str__


def device(x: Any) -> Whereabouts | Places:
    """Where `x` lives, whether the user chose that, and which line put it there.

    An array is *committed* if the user placed it, or one of the arrays that it was
    computed from: `device_put(x, device)`, `device=`, a sharding. What is computed from
    it stays there. Other arrays lie where the default device was when they were made,
    and what is computed from them goes where it is then.

    Args:
      x: an array, or a pytree of arrays, which gives an answer for each.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> x = jax.device_put(jnp.ones(3), jax.devices("cpu")[0])
    >>> place = jax.see.device(2 * x)
    >>> place.device, place.committed
    (CpuDevice(id=0), True)
    >>> print(jax.see.device(1.5))
    a float lives in Python, on no device
    """
    leaves, _ = tree.flatten(x)
    if len(leaves) == 1 and leaves[0] is x:
        return _one(x)
    paths, _ = tree.flatten_with_path(x)
    return Places({tree.keystr(path) or "x": _one(leaf) for path, leaf in paths})


def _one(x: Any) -> Whereabouts:
    if isinstance(x, Tracer):
        below: Any = x
        while isinstance(below, Tracer):
            below = getattr(below, "primal", getattr(below, "value", None))
        if type(below) is Array:
            return _one(below)
        return Whereabouts(
            None,
            False,
            None,
            f"{x.aval.long_name()} is traced: the program will run where its arguments"
            " are",
        )
    if type(x) is not Array:
        kind = type(x).__name__
        owner = "NumPy" if type(x).__module__ == "numpy" else "Python"
        article = "an" if kind[0] in "aeiou" or kind == "ndarray" else "a"
        reason = f"{article} {kind} lives in {owner}, on no device"
        return Whereabouts(None, False, None, reason)
    if type(x.buffer) is Deleted:
        why = f"its memory is gone: it was {x.buffer.why}"
        return Whereabouts(x.device, x.committed, format_where(x.where), why)
    return _committed(x) if x.committed else _uncommitted(x)


def _committed(x: Array) -> Whereabouts:
    place = x.placement
    if place.where is None:
        return Whereabouts(x.device, True, None, "placed there by the library")
    words = expression_at(*place.where)
    line = format_where(place.where)
    put = f"put there at {line}"
    if words is not None and len(words) <= LONGEST:
        put += f" by {words}"
    if x.where is None or line_of(x.where)[:2] == line_of(place.where)[:2]:
        return Whereabouts(x.device, True, line, put)
    reason = f"computed at {format_where(x.where)} from an operand {put}"
    return Whereabouts(x.device, True, line, reason)


def _uncommitted(x: Array) -> Whereabouts:
    made = format_where(x.where)
    here = default_placement().device
    if x.device is not here:
        reason = (
            f"made at {made}, while {x.device} was the default device; what is computed"
            f" from it goes to {here}, the default device now"
        )
    elif config.jax_default_device is not None:
        reason = f"made at {made} on the default device, which jax_default_device says"
    else:
        reason = f"made at {made} on the default device, since nobody chose another"
    return Whereabouts(x.device, False, made, reason)
