"""`einsum`: sums of products named by letters.

Two operands are contracted at once by `dot_general`; more are taken in pairs, in the
order that opt_einsum finds. The first read of a formula is remembered with its shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import opt_einsum

from tetrad._src.core.bind import Value
from tetrad._src.numpy import lax
from tetrad._src.numpy.convert import describe, value
from tetrad._src.numpy.dtype import dtype_argument
from tetrad._src.numpy.elementwise import no_out, no_sharding, number
from tetrad._src.numpy.plan import Planner
from tetrad._src.numpy.promote import call, lattice
from tetrad._src.numpy.reduce import summed
from tetrad._src.util import dtypes
from tetrad._src.util.memo import memo

NAME = "jnp.einsum"
_SMALL_FLOATS = frozenset(dtypes.SMALL_FLOATS.values())

_plans = Planner(NAME)


def einsum(
    subscripts: Any,
    /,
    *operands: Any,
    out: None = None,
    optimize: Any = "auto",
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
    _dot_general: Any = None,
) -> Value:
    """The sum of products that `subscripts` names, such as "ij,jk->ik".

    Each operand has a letter for each axis. Letters that are missing behind the arrow
    are summed over; without an arrow, those that occur twice are, and the others come in
    alphabetical order. "..." stands for further axes, which broadcast. ValueError if
    letters and axes do not match. `_dot_general` is a function to use in place of
    `lax.dot_general`, with its arguments.

    >>> import tetrad.numpy as jnp
    >>> jnp.einsum("ij,j->i", jnp.array([[1, 2], [3, 4]]), jnp.array([1, 1]))
    Array([3, 7], dtype=int32)
    """
    no_sharding(NAME, out_sharding)
    no_out(NAME, out)
    given: Sequence[Any] = operands
    if not isinstance(subscripts, str):
        subscripts, given = _letters(subscripts, operands)
    xs = [value(x, NAME, f"operand {i}") for i, x in enumerate(given)]
    if not xs:
        raise ValueError(f"{NAME}: there is no operand")
    preferred = None
    if preferred_element_type is not None:
        preferred = dtype_argument(preferred_element_type, NAME)
    path = (
        optimize if isinstance(optimize, (str, bool)) else tuple(map(tuple, optimize))
    )
    key = (subscripts, tuple([x.aval for x in xs]), path, precision, preferred)
    dot = lax.dot_general if _dot_general is None else _dot_general

    def compute(*xs: Value) -> Any:
        return _einsum(subscripts, list(xs), path, precision, preferred, dot)

    if dot is not lax.dot_general:
        return compute(*xs)
    return _plans.run(key, compute, xs)


def einsum_path(
    subscripts: Any, /, *operands: Any, optimize: Any = "greedy"
) -> tuple[list[Any], Any]:
    """The order in which `einsum` would take its operands, and what it costs.

    >>> import tetrad.numpy as jnp
    >>> jnp.einsum_path("ij,jk->ik", jnp.ones((2, 3)), jnp.ones((3, 4)))[0]
    [(0, 1)]
    """
    if not isinstance(subscripts, str):
        raise TypeError(
            f"jnp.einsum_path: subscripts must be text such as 'ij,jk->ik', got"
            f" {subscripts!r}"
        )
    xs = [value(x, "jnp.einsum_path") for x in operands]
    shapes = [x.shape for x in xs]
    return opt_einsum.contract_path(subscripts, *shapes, shapes=True, optimize=optimize)


def _letters(first: Any, rest: Sequence[Any]) -> tuple[str, list[Any]]:
    """The form einsum(x, [0, 1], y, [1, 2], [0, 2]) as letters."""
    items = [first, *rest]
    operands = items[0 : len(items) // 2 * 2 : 2]
    names = items[1::2] + (items[-1:] if len(items) % 2 else [])

    def text(axes: Any) -> str:
        return "".join("..." if a is Ellipsis else chr(97 + int(a)) for a in axes)

    formula = ",".join(text(a) for a in names[: len(operands)])
    if len(items) % 2:
        formula += "->" + text(names[-1])
    return formula, list(operands)


# ------------------------------------------------------------------------------- reading


@memo(limit=4096)
def parse(formula: str, ranks: tuple[int, ...]) -> tuple[tuple[str, ...], str]:
    """The letters of each operand and of the result; "..." becomes capital letters."""
    text = formula.replace(" ", "")
    if text.count("->") > 1 or text.replace("->", "").strip(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ,.)"
    ):
        raise ValueError(f"{NAME}: {formula!r} is no formula such as 'ij,jk->ik'")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise ValueError(
            f"{NAME}: {formula!r} is for {len(terms)} operands, got {len(ranks)}"
        )
    dots = max(
        [r - len(t.replace("...", "")) for t, r in zip(terms, ranks) if "..." in t],
        default=0,
    )
    used = set(text)
    spare = [c for c in _SPARE if c not in used][: max(dots, 0)]
    result = []
    for i, (term, rank) in enumerate(zip(terms, ranks)):
        own = rank - len(term.replace("...", ""))
        if own < 0 or ("..." not in term and own != 0):
            raise ValueError(
                f"{NAME}: operand {i} has {rank} axes, but {term!r} names"
                f" {len(term.replace('...', ''))}"
            )
        result.append(
            term.replace("...", "".join(spare[len(spare) - own :]) if own else "")
        )
    everything = "".join(result)
    if arrow:
        out = right.replace("...", "".join(spare))
    else:
        once = [c for c in sorted(set(everything)) if everything.count(c) == 1]
        out = "".join(spare) + "".join(c for c in once if c not in spare)
    for letter in out:
        if letter not in everything:
            raise ValueError(f"{NAME}: {letter!r} of the result is in no operand")
    if len(set(out)) != len(out):
        raise ValueError(f"{NAME}: the result {out!r} names a letter twice")
    return tuple(result), out


_SPARE = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def _check_extents(terms: Sequence[str], xs: Sequence[Value]) -> dict[str, int]:
    """The extent of each letter; 1 gives way to others."""
    extents: dict[str, int] = {}
    for term, x in zip(terms, xs):
        for letter, n in zip(term, x.shape):
            known = extents.setdefault(letter, n)
            if known != n and 1 not in (known, n):
                raise ValueError(
                    f"{call(NAME)}: {letter!r} has extent {known} and {n}; the operands"
                    f" are {', '.join(describe(v) for v in xs)}"
                )
            extents[letter] = max(known, n) if 1 in (known, n) else known
            if 0 in (known, n):
                extents[letter] = 0
    return extents


# ----------------------------------------------------------------------------- computing


def _einsum(
    formula: str,
    xs: list[Value],
    path: Any,
    precision: Any,
    preferred: Any,
    dot: Callable[..., Any],
) -> Any:
    terms, out = parse(formula, tuple([x.ndim for x in xs]))
    extents = _check_extents(terms, xs)
    if preferred is not None and {x.dtype for x in xs} <= _SMALL_FLOATS:
        dtype, weak = np.dtype(np.float32), False  # holds all of them
    else:
        dtype, weak = lattice(NAME, [(x.dtype, x.weak_type) for x in xs])
    final = dtype if preferred is None else preferred
    weak = weak and preferred is None
    xs = [lax.convert_element_type(x, dtype, weak) for x in xs]
    items = [_thinned(x, term, extents) for x, term in zip(xs, terms)]
    for pair in _order(items, out, extents, path):
        taken = [items.pop(i) for i in sorted(pair, reverse=True)]
        taken.reverse()
        wanted = out + "".join(term for _, term in items)
        while len(taken) > 1:
            y, x = taken.pop(), taken.pop()
            still = wanted + "".join(term for _, term in taken)
            taken.append(_pair(x, y, still, precision, final, dot))
        items.append(_summed(*taken[0], wanted))
    x, term = _summed(*items[0], out)
    x = lax.convert_element_type(x, final, weak)
    missing = [c for c in out if c not in term]
    x = lax.transpose(x, tuple([term.index(c) for c in out if c in term]))
    axes = tuple([i for i, c in enumerate(out) if c not in missing])
    return lax.broadcast_in_dim(x, tuple([extents[c] for c in out]), axes)


Item = tuple[Any, str]


def _order(
    items: list[Item], out: str, extents: dict[str, int], path: Any
) -> list[tuple[int, ...]]:
    if len(items) <= 2 or path is False:
        return [tuple(range(len(items)))]
    if not isinstance(path, (str, bool)):
        return [tuple(p) for p in path if p and not isinstance(p[0], str)]
    formula = (
        ",".join(term for _, term in items)
        + "->"
        + "".join(c for c in out if any(c in term for _, term in items))
    )
    shapes = [tuple([extents[c] for c in term]) for _, term in items]
    kind = "auto" if path is True else path
    order, _ = opt_einsum.contract_path(formula, *shapes, shapes=True, optimize=kind)
    return [tuple(p) for p in order]


def _thinned(x: Value, term: str, extents: dict[str, int]) -> Item:
    """Without axes of extent 1 that broadcast, and on the diagonal of repeated letters."""
    gone = [i for i, c in enumerate(term) if x.shape[i] == 1 and extents[c] != 1]
    if gone:
        x = lax.squeeze(x, gone)
        term = "".join(c for i, c in enumerate(term) if i not in gone)
    for letter in sorted(set(term)):
        while term.count(letter) > 1:
            first = term.index(letter)
            second = term.index(letter, first + 1)
            x = _on_diagonal(x, first, second)
            term = term[:second] + term[second + 1 :]
    return x, term


def _on_diagonal(x: Value, first: int, second: int) -> Any:
    """The elements with equal indices along two axes, along the first of them."""
    rows = lax.broadcasted_iota(np.int32, x.shape, first)
    columns = lax.broadcasted_iota(np.int32, x.shape, second)
    masked = lax.select(lax.eq(rows, columns), x, number(x, 0))
    if x.aval.kind == "b":
        return lax.reduce_or(masked, (second,))
    return lax.reduce_sum(masked, (second,))


def _summed(x: Any, term: str, wanted: str) -> Item:
    """`x` summed over the letters that nobody wants any more."""
    gone = [i for i, c in enumerate(term) if c not in wanted]
    if not gone:
        return x, term
    if x.aval.kind == "b":
        x = lax.reduce_or(x, gone)
    else:
        x = summed(x, tuple(gone), x.dtype, name=NAME)
    return x, "".join(c for c in term if c in wanted)


def _pair(
    first: Item,
    second: Item,
    wanted: str,
    precision: Any,
    preferred: Any,
    dot: Callable[..., Any],
) -> Item:
    """The product of two operands, summed over what nobody else wants."""
    x, left = _summed(*first, wanted + second[1])
    y, right = _summed(*second, wanted + first[1])
    shared = [c for c in left if c in right]
    batch = [c for c in shared if c in wanted]
    contract = [c for c in shared if c not in wanted]
    numbers = (
        (
            tuple([left.index(c) for c in contract]),
            tuple([right.index(c) for c in contract]),
        ),
        (tuple([left.index(c) for c in batch]), tuple([right.index(c) for c in batch])),
    )
    product = dot(x, y, numbers, precision=precision, preferred_element_type=preferred)
    product = lax.convert_element_type(product, preferred)
    term = "".join(batch)
    term += "".join(c for c in left if c not in shared)
    term += "".join(c for c in right if c not in shared)
    return product, term
