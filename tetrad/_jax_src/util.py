"""Small functions on sequences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tetrad._src.api.linear_util import safe_map as safe_map


def safe_zip(*sequences: Sequence[Any]) -> list[tuple[Any, ...]]:
    """`zip` as a list, of sequences that must have one length."""
    return list(zip(*sequences, strict=True))


def unzip2(pairs: Iterable[tuple[Any, Any]]) -> tuple[tuple[Any, ...], ...]:
    """The first and the second entries of pairs."""
    rows = list(pairs)
    return tuple([a for a, _ in rows]), tuple([b for _, b in rows])


def unzip3(triples: Iterable[tuple[Any, Any, Any]]) -> tuple[tuple[Any, ...], ...]:
    """The first, the second and the third entries of triples."""
    rows = list(triples)
    return tuple([tuple([row[i] for row in rows]) for i in range(3)])


def split_list(values: Sequence[Any], sizes: Sequence[int]) -> list[list[Any]]:
    """The sequence cut into pieces of the given sizes and a piece with the rest."""
    rest = list(values)
    pieces = []
    for size in sizes:
        pieces.append(rest[:size])
        rest = rest[size:]
    return [*pieces, rest]


def partition_list(
    chosen: Sequence[bool], values: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """The values where `chosen` is false, and those where it is true."""
    rows = safe_zip(chosen, values)
    return [v for c, v in rows if not c], [v for c, v in rows if c]


def concatenate(sequences: Iterable[Iterable[Any]]) -> list[Any]:
    """The entries of all sequences, one sequence after the other."""
    return [entry for sequence in sequences for entry in sequence]


def curry(f: Callable[..., Any]) -> Callable[..., Any]:
    """`curry(f)(x)(y)` is `f(x, y)`."""
    return lambda *first: lambda *then, **names: f(*first, *then, **names)
