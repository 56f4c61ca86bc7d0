"""`jnp.vectorize`: a function of elements, or of small arrays, becomes one of batches.

A signature such as `"(m,n),(n)->(m)"` names the core axes of arguments and results. All
axes before them are loop axes: they broadcast against each other, and the function is
mapped over them with `vmap`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from tetrad._src.api.batching import vmap
from tetrad._src.core.bind import aval_of
from tetrad._src.numpy import convert, shape
from tetrad._src.util.frames import hide_frames

Core = tuple[str, ...]

_ARGUMENT = r"\((?:\w+(?:,\w+)*)?\)"
_SIGNATURE = re.compile(
    rf"^{_ARGUMENT}(?:,{_ARGUMENT})*->{_ARGUMENT}(?:,{_ARGUMENT})*$"
)


def parse(signature: str) -> tuple[list[Core], list[Core]]:
    """The core axes of arguments and of results that a signature names."""
    text = re.sub(r"\s+", "", signature)
    if not _SIGNATURE.match(text):
        raise ValueError(
            f"jnp.vectorize: {signature!r} is not a signature; write the core axes of"
            " arguments and results like '(m,n),(n)->(m)', and () for scalars"
        )

    def cores(side: str) -> list[Core]:
        found = re.findall(_ARGUMENT, side)
        return [tuple(filter(None, core[1:-1].split(","))) for core in found]

    arguments, results = text.split("->")
    return cores(arguments), cores(results)


def vectorize(
    pyfunc: Callable[..., Any],
    *,
    excluded: Collection[int | str] = frozenset(),
    signature: str | None = None,
) -> Callable[..., Any]:
    """A function that maps `pyfunc` over the broadcast leading axes of its arguments.

    Args:
      pyfunc: a function of scalars, or of arrays with the core axes of `signature`.
      excluded: positions and names of arguments that are passed on as they are.
      signature: core axes of arguments and results, like `"(n),(n)->()"`.

    Raises ValueError for malformed signatures, core axes of different size, and loop
    axes that do not broadcast.

    >>> import tetrad.numpy as jnp
    >>> dot = jnp.vectorize(lambda a, b: (a * b).sum(), signature="(n),(n)->()")
    >>> dot(jnp.ones((4, 3)), jnp.arange(3.0))
    Array([3., 3., 3., 3.], dtype=float32)
    """
    cores = None if signature is None else parse(signature)

    @functools.wraps(pyfunc)
    @hide_frames
    def mapped(*args: Any, **kwargs: Any) -> Any:
        kept = {i for i in excluded if isinstance(i, int)}
        named = {k: v for k, v in kwargs.items() if k in excluded}
        unnamed = [k for k in kwargs if k not in excluded]
        moving = [i for i in range(len(args)) if i not in kept]
        arrays = [_array(args[i]) for i in moving]
        arrays += [_array(kwargs[k]) for k in unnamed]

        def fun(*values: Any) -> Any:
            full = list(args)
            for i, value in zip(moving, values):
                full[i] = value
            rest = dict(zip(unnamed, values[len(moving) :]))
            return pyfunc(*full, **rest, **named)

        return _apply(fun, arrays, cores)

    return mapped


def _array(x: Any) -> Any:
    return convert.asarray(convert.operand(x, "vectorize"))


def _apply(
    fun: Callable[..., Any],
    arrays: Sequence[Any],
    cores: tuple[list[Core], list[Core]] | None,
) -> Any:
    """Maps `fun` over the loop axes, the innermost first."""
    ins = [()] * len(arrays) if cores is None else cores[0]
    if len(ins) != len(arrays):
        raise TypeError(
            f"jnp.vectorize: the signature names {len(ins)} arguments, got {len(arrays)}"
        )
    shapes = [aval_of(x).shape for x in arrays]
    sizes = _sizes(shapes, ins)
    loops = [s[: len(s) - len(core)] for s, core in zip(shapes, ins)]
    try:
        full = np.broadcast_shapes(*loops) if loops else ()
    except ValueError:
        raise ValueError(
            f"jnp.vectorize: the loop axes {loops} do not broadcast against each other"
        ) from None
    if cores is not None:
        fun = _checked(fun, cores[1], sizes)
    squeezed = []
    axes: list[list[int | None]] = []  # per loop axis, outermost first: in_axes
    for x, loop in zip(arrays, loops):
        gone = tuple([i for i, n in enumerate(loop) if n == 1])
        squeezed.append(shape.squeeze(x, gone) if gone else x)
    for axis in range(len(full)):
        row: list[int | None] = []
        for loop in loops:
            own = axis - (len(full) - len(loop))
            row.append(0 if own >= 0 and loop[own] != 1 else None)
        axes.append(row)
    lone = [i for i, row in enumerate(axes) if all([a is None for a in row])]
    for row in reversed([r for i, r in enumerate(axes) if i not in lone]):
        fun = vmap(fun, in_axes=tuple(row))
    out = fun(*squeezed)
    if not lone:
        return out
    results = out if isinstance(out, tuple) else (out,)
    grown = tuple([shape.expand_dims(r, tuple(lone)) for r in results])
    return grown if isinstance(out, tuple) else grown[0]


def _sizes(shapes: Sequence[tuple[int, ...]], ins: Sequence[Core]) -> dict[str, int]:
    """The size of each core axis; all arguments must agree."""
    sizes: dict[str, int] = {}
    for number, (extents, core) in enumerate(zip(shapes, ins)):
        if len(extents) < len(core):
            raise ValueError(
                f"jnp.vectorize: argument {number} has shape {extents}, but the"
                f" signature gives it the core axes ({','.join(core)})"
            )
        for name, size in zip(core, extents[len(extents) - len(core) :]):
            if sizes.setdefault(name, size) != size:
                raise ValueError(
                    f"jnp.vectorize: core axis {name} has size {sizes[name]} in one"
                    f" argument and {size} in argument {number}"
                )
    return sizes


def _checked(
    fun: Callable[..., Any], outs: Sequence[Core], sizes: dict[str, int]
) -> Callable[..., Any]:
    """`fun`, whose results must have the core axes that the signature promises."""

    def check(*args: Any) -> Any:
        out = fun(*args)
        results = out if isinstance(out, tuple) else (out,)
        if len(results) != len(outs):
            raise TypeError(
                f"jnp.vectorize: the signature promises {len(outs)} results, the"
                f" function gave {len(results)}"
            )
        for result, core in zip(results, outs):
            got = aval_of(result).shape
            known = [sizes.get(name, n) for name, n in zip(core, got)]
            if len(got) != len(core) or list(got) != known:
                raise ValueError(
                    f"jnp.vectorize: the function gave a result of shape {got}, the"
                    f" signature promises ({','.join(core)})"
                )
        return out

    return check
