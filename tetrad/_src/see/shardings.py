"""A picture of how an array is laid out over devices, in text.

In: a shape and a sharding. Out: a grid of boxes, one for each part of the array, with the
numbers of the devices that hold it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from tetrad._src.core.bind import Value
from tetrad._src.core.sharding import Sharding
from tetrad._src.lib.debug import debug_callback
from tetrad._src.runtime.array import Array
from tetrad._src.util import tree

HEIGHT = 10  # lines of a picture at scale 1
WIDER = 2.5  # how many characters are as wide as a line is high

# Backgrounds that dark text is read on, as red, green, blue.
_COLOURS = (
    (166, 206, 227),
    (178, 223, 138),
    (251, 154, 153),
    (253, 191, 111),
    (202, 178, 214),
    (255, 255, 153),
    (141, 211, 199),
    (217, 217, 217),
)


def visualize_sharding(
    shape: Sequence[int],
    sharding: Sharding,
    *,
    use_color: bool = True,
    scale: float = 1.0,
    min_width: int = 9,
    max_width: int = 80,
    color_map: Callable[[float], Sequence[float]] | None = None,
) -> None:
    """Prints which device holds which part of an array.

    Args:
      shape: the shape of the array, of one or two axes.
      sharding: how it is laid out.
      use_color: gives parts colours where the output is a terminal.
      scale: makes the picture larger or smaller.
      min_width: the least width of a part, in characters.
      max_width: the largest width of the picture.
      color_map: a function of numbers from 0 to 1 to red, green and blue from 0 to 1, for
        other colours.

    Raises ValueError for other numbers of axes.

    >>> import tetrad as jax
    >>> mesh = jax.make_mesh((1,), ("x",), devices=jax.devices()[:1])
    >>> jax.debug.visualize_sharding((4,), jax.NamedSharding(mesh, jax.P("x")))
    ┌─────────────────────────┐
    │          CPU 0          │
    └─────────────────────────┘
    """
    shape = tuple(shape)
    if len(shape) not in (1, 2):
        raise ValueError(
            "`visualize_sharding` only works for shapes with 1 and 2 dimensions, got"
            f" {shape}"
        )
    rows, columns, held = _parts(shape, sharding)
    lines, width = _sizes(shape, len(rows), len(columns), scale, min_width, max_width)
    colours = _colours(len(held), use_color, color_map)
    print(_border("┌┬┐", len(columns), width))
    for number, row in enumerate(rows):
        if number:
            print(_border("├┼┤", len(columns), width))
        for line in range(lines):
            cells = []
            for column in columns:
                part = (row, column)
                text = held[part] if line == lines // 2 else ""
                cells.append(colours(list(held).index(part), text.center(width)))
            print(f"│{'│'.join(cells)}│")
    print(_border("└┴┘", len(columns), width))


def _parts(
    shape: tuple[int, ...], sharding: Sharding
) -> tuple[list[int], list[int], dict[tuple[int, int], str]]:
    """Where parts begin, by rows and columns, and who holds each."""
    holders: dict[tuple[int, int], list[int]] = {}
    platform = ""
    for device, index in sharding.devices_indices_map(shape).items():
        platform = device.platform.upper()
        starts = [part.start or 0 for part in index]
        row, column = starts if len(starts) == 2 else (0, starts[0])
        holders.setdefault((row, column), []).append(device.id)
    rows = sorted({row for row, _ in holders})
    columns = sorted({column for _, column in holders})
    held = {
        (row, column): f"{platform} {','.join(map(str, holders[row, column]))}"
        for row in rows
        for column in columns
    }
    return rows, columns, held


def _sizes(
    shape: tuple[int, ...],
    rows: int,
    columns: int,
    scale: float,
    min_width: int,
    max_width: int,
) -> tuple[int, int]:
    """Lines and characters of one box."""
    high = max(1.0, HEIGHT * scale)
    if len(shape) == 1:
        return 1, _between(high * WIDER / columns, min_width, max_width // columns - 1)
    ratio = max(shape[1], 1) / max(shape[0], 1)
    width = _between(
        high * ratio * WIDER / columns, min_width, max_width // columns - 1
    )
    return max(1, round(high / rows)), width


def _between(wanted: float, least: int, most: int) -> int:
    return max(least, min(round(wanted), most))


def _border(corners: str, columns: int, width: int) -> str:
    left, middle, right = tuple(corners)
    return left + middle.join(["─" * width] * columns) + right


def _colours(count: int, wanted: bool, color_map: Any) -> Callable[[int, str], str]:
    """A function of the number of a part and its text."""
    if not wanted or not sys.stdout.isatty():
        return lambda number, text: text

    def coloured(number: int, text: str) -> str:
        red, green, blue = _COLOURS[number % len(_COLOURS)]
        if color_map is not None:
            parts = color_map(number / max(1, count - 1))
            red, green, blue = (round(255 * part) for part in tuple(parts)[:3])
        return f"\x1b[30;48;2;{red};{green};{blue}m{text}\x1b[0m"

    return coloured


def inspect_array_sharding(value: Any, *, callback: Callable[[Sharding], None]) -> None:
    """Calls `callback` with the sharding of each array of a pytree, when it is computed.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> jax.debug.inspect_array_sharding(
    ...     jnp.ones(2), callback=lambda sharding: print(sharding.num_devices)
    ... )
    1
    """
    for leaf in tree.leaves(value):
        if type(leaf) is Array:
            callback(leaf.sharding)
        elif isinstance(leaf, Value):
            debug_callback(lambda array: callback(array.sharding), leaf)


def visualize_array_sharding(arr: Any, **kwargs: Any) -> None:
    """Prints which device holds which part of `arr`, when it is computed.

    Args:
      arr: an array of one or two axes.
      **kwargs: as for `visualize_sharding`.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> jax.debug.visualize_array_sharding(jnp.ones((2, 2)), scale=0.3)
    ┌─────────┐
    │         │
    │  CPU 0  │
    │         │
    └─────────┘
    """
    shape = arr.shape

    def show(sharding: Sharding) -> None:
        visualize_sharding(shape, sharding, **kwargs)

    inspect_array_sharding(arr, callback=show)
