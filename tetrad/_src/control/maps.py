"""`map`, `associative_scan` and `reduce`: what users build from loops and folds.

`map` is a scan without a carry, of one element or of a batch of elements at a time.
`associative_scan` combines neighbours in pairs, so that few operations on long arrays
give all prefixes. `reduce` folds axes by any function of two scalars; the functions that
have an operation of their own use it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from tetrad._src.control import bodies
from tetrad._src.control.pictures import (
    call,
    called,
    differing_structures,
    to_return,
)
from tetrad._src.control.scan import looped, scan
from tetrad._src.control.signature import name_of
from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import aval_of
from tetrad._src.core.jaxpr import Jaxpr, eval_jaxpr
from tetrad._src.core.op import Axis
from tetrad._src.ops.axes import check_axes, check_axis
from tetrad._src.ops.convert import convert_element_type
from tetrad._src.ops.reduce import fold_of
from tetrad._src.ops.slices import concatenate, slice_in_dim, stack
from tetrad._src.ops.views import broadcast_in_dim, reshape, rev, transpose
from tetrad._src.transforms.vmap import batch_jaxpr, move_mapped, vmap_flat
from tetrad._src.util import tree
from tetrad._src.util.tables import table

X = TypeVar("X")
Y = TypeVar("Y")


# ---------------------------------------------------------------------------------- map


def map(f: Callable[[X], Y], xs: X, *, batch_size: int | None = None) -> Y:
    """Applies a function to the elements along the leading axis, one after the other.

        def map(f, xs):
            return stack([f(x) for x in xs])

    It gives what `vmap(f)(xs)` gives, in the memory that one element needs.

    Args:
      f: a function of a pytree.
      xs: a pytree of arrays with leading axes of one length.
      batch_size: how many elements to take at a time, by `vmap` (0: one); the last batch may be
        smaller.

    Raises ValueError if the lengths of `xs` differ, or `batch_size` is negative.

    >>> import tetrad.numpy as jnp
    >>> from tetrad import lax
    >>> lax.map(lambda x: x * x, jnp.array([1, 2, 3])).tolist()
    [1, 4, 9]
    """
    bodies.check_function("map", "f", f)
    leaves, in_tree = bodies.flat_values("map", "xs", xs)
    if not leaves:
        raise ValueError(
            "lax.map: xs holds no array, so there is nothing to map over. Write"
            " lax.scan(f, None, length=n) to repeat something."
        )
    if batch_size is None:
        return _one_by_one(f, xs)  # type: ignore[no-any-return]
    try:
        size = -1 if isinstance(batch_size, bool) else operator.index(batch_size)
    except TypeError:
        raise TypeError(
            f"lax.map: batch_size must be an integer, got {bodies.shortened(batch_size)}"
            f" of type {type(batch_size).__name__}"
        ) from None
    if size < 0:
        raise ValueError(
            f"lax.map: batch_size must not be negative, got {batch_size!r}"
        )
    if size == 0:
        return _one_by_one(f, xs)  # type: ignore[no-any-return]
    return _in_batches(f, xs, leaves, in_tree, size)  # type: ignore[no-any-return]


def _one_by_one(f: Any, xs: Any) -> Any:
    def step(carry: Any, x: Any) -> Any:
        return (), call("map", "f", f, (x,), "x")

    step.__name__ = name_of(f)
    return looped("map", step, (), xs)[1]


def _in_batches(f: Any, xs: Any, leaves: Sequence[Any], in_tree: Any, size: int) -> Any:
    """Whole batches in a loop, then what is left."""
    counts = {aval_of(leaf).shape[:1] for leaf in leaves}
    if len(counts) != 1 or () in counts:
        return _one_by_one(f, xs)  # which says what is wrong
    ((count,),) = counts
    batches, rest = divmod(count, size)
    whole = batches * size

    def of_batch(*parts: Any) -> Any:
        return mapped(f, in_tree, parts)

    results = []
    if batches:
        heads = [
            reshape(slice_in_dim(x, 0, whole), (batches, size, *aval_of(x).shape[1:]))
            for x in leaves
        ]
        outs = _one_by_one(lambda parts: of_batch(*parts), heads)
        results.append(tree.map(lambda y: _flat_lanes(y, whole), outs))
    if rest or not batches:
        results.append(of_batch(*[slice_in_dim(x, whole, count) for x in leaves]))
    if len(results) == 1:
        return results[0]
    return tree.map(lambda a, b: concatenate([a, b], 0), *results)


def _flat_lanes(y: Any, count: int) -> Any:
    return reshape(y, (count, *aval_of(y).shape[2:]))


def mapped(f: Any, in_tree: Any, leaves: Sequence[Any]) -> Any:
    """`f` for all elements along the leading axes of `leaves`."""
    found: dict[str, Any] = {}

    def flat(*values: Any) -> list[Any]:
        outs, found["tree"] = tree.flatten(f(in_tree.unflatten(values)))
        return outs

    axis = Axis(aval_of(leaves[0]).shape[0])
    outs, axes = vmap_flat(flat, axis, leaves, [0] * len(leaves))
    wide = [move_mapped(axis, out, at, 0) for out, at in zip(outs, axes)]
    return found["tree"].unflatten(wide)


# --------------------------------------------------------------------- associative scans


def associative_scan(
    fn: Callable[[X, X], X], elems: X, reverse: bool = False, axis: int = 0
) -> X:
    """All prefixes of an axis, combined by an associative function.

        out[0] = elems[0]; out[i] = fn(out[i - 1], elems[i])

    `fn` is applied to long slices, a number of times that grows with the logarithm of
    the length.

    Args:
      fn: a function of two pytrees like `elems`, which combines them elementwise along
        `axis` and is associative: fn(a, fn(b, c)) = fn(fn(a, b), c).
      elems: a pytree of arrays whose `axis` has one length.
      reverse: whether to combine suffixes instead.
      axis: which axis to go along.

    Raises ValueError if the lengths differ or the axis does not exist.

    >>> import tetrad.numpy as jnp
    >>> from tetrad import lax
    >>> lax.associative_scan(jnp.add, jnp.array([1, 2, 3, 4])).tolist()
    [1, 3, 6, 10]
    """
    bodies.check_function("associative_scan", "fn", fn)
    leaves, in_tree = bodies.flat_values("associative_scan", "elems", elems)
    if not leaves:
        return elems
    axes = [check_axis(axis, aval_of(x).ndim, "associative_scan") for x in leaves]
    at = axes[0]
    counts = [aval_of(x).shape[a] for x, a in zip(leaves, axes)]
    if len(set(counts)) > 1 or len(set(axes)) > 1:
        rows: list[tuple[str, ...]] = [("elems", "shape", f"axis {axis}", "")]
        for i, (x, n) in enumerate(zip(leaves, counts)):
            note = "" if n == counts[0] else f"<- not {counts[0]}"
            path = bodies.path_text(in_tree, i)
            rows.append((f"elems{path}", str(aval_of(x).shape), str(n), note))
        raise ValueError(
            "lax.associative_scan: all arrays must have one length along the axis.\n"
            f"{table(rows)}"
        )

    def combine(left: Sequence[Any], right: Sequence[Any]) -> list[Any]:
        if reverse:
            left, right = right, left
        pair = in_tree.unflatten(left), in_tree.unflatten(right)
        result = call("associative_scan", "fn", fn, pair, "left, right")
        outs, out_tree = tree.flatten(result)
        if out_tree != in_tree:
            name = called(fn, "fn")
            picture = differing_structures(
                ("elems", in_tree, [aval_of(x) for x in left]),
                (f"the result of {name}", out_tree, outs),
            )
            raise TypeError(
                f"lax.associative_scan: {name} must combine two values like elems into"
                f" one more.\n{picture}\n{to_return(in_tree).strip()}"
            )
        _check_combined(fn, in_tree, left, outs)
        return outs

    if reverse:
        leaves = [rev(x, (at,)) for x in leaves]
    outs = _prefixes(combine, leaves, at)
    if reverse:
        outs = [rev(x, (at,)) for x in outs]
    result: X = in_tree.unflatten(outs)
    return result


def _check_combined(
    fn: Any, in_tree: Any, given: Sequence[Any], outs: Sequence[Any]
) -> None:
    """TypeError unless what was combined has the types of what was given."""
    types = [aval_of(x) for x in given]
    found = [aval_of(x) for x in outs]
    if all(a.shape == b.shape and a.dtype == b.dtype for a, b in zip(types, found)):
        return
    rows: list[tuple[str, ...]] = [("elems", "takes", "returns", "")]
    for i, (a, b) in enumerate(zip(types, found)):
        which = "shapes" if a.shape != b.shape else "dtypes"
        same = a.shape == b.shape and a.dtype == b.dtype
        path = bodies.path_text(in_tree, i)
        note = "" if same else f"<- the {which} differ"
        rows.append((path or "(all of it)", a.long_name(), b.long_name(), note))
    raise TypeError(
        f"lax.associative_scan: {called(fn, 'fn')} must return the types of elems.\n"
        f"{table(rows)}\nIt gets slices with many elements along the axis, and combines"
        " them elementwise, as jnp.add does."
    )


def _prefixes(combine: Any, elems: list[Any], axis: int) -> list[Any]:
    """Prefixes of pairs give the odd ones; one more step each gives the even ones."""
    count = aval_of(elems[0]).shape[axis]
    if count < 2:
        return elems

    def every_second(xs: Sequence[Any], start: int, end: int) -> list[Any]:
        return [slice_in_dim(x, start, end, 2, axis) for x in xs]

    pairs = combine(every_second(elems, 0, count - 1), every_second(elems, 1, count))
    odd = _prefixes(combine, pairs, axis)
    before = odd if count % 2 else [slice_in_dim(x, 0, -1, axis=axis) for x in odd]
    first = [slice_in_dim(x, 0, 1, axis=axis) for x in elems]
    if count > 2:
        later = combine(before, every_second(elems, 2, count))
        even = [concatenate([a, b], axis) for a, b in zip(first, later)]
    else:
        even = first
    return [_interleaved(a, b, axis) for a, b in zip(even, odd)]


def _interleaved(even: Any, odd: Any, axis: int) -> Any:
    """a[0], b[0], a[1], b[1], … along an axis; `even` may have one element more."""
    shape = aval_of(odd).shape
    count = shape[axis]
    extra = aval_of(even).shape[axis] - count
    heads = slice_in_dim(even, 0, count, axis=axis) if extra else even
    both = stack([heads, odd], axis + 1)
    both = reshape(both, (*shape[:axis], 2 * count, *shape[axis + 1 :]))
    if not extra:
        return both
    return concatenate([both, slice_in_dim(even, count, None, axis=axis)], axis)


# ------------------------------------------------------------------------------- reduce


def reduce(
    operands: Any,
    init_values: Any,
    computation: Callable[[Any, Any], Any],
    dimensions: Sequence[int],
) -> Any:
    """Folds axes of arrays with a function: out[i] = init ∘ x[i, 0] ∘ x[i, 1]….

    Args:
      operands: a pytree of arrays of one shape.
      init_values: a pytree of scalars like `operands`, with which the fold starts.
      computation: a function of two pytrees of scalars like `operands`. Elements are
        taken in order, so it need not be associative.
      dimensions: the axes to fold.

    Sums, products, extrema and the folds of bits, such as `lax.add`, are recognised and
    computed by their own operations. Raises ValueError if shapes differ or an axis does
    not exist, TypeError if `computation` changes structures or types.
    Source: https://openxla.org/stablehlo/spec#reduce

    >>> import tetrad.numpy as jnp
    >>> from tetrad import lax
    >>> lax.reduce(jnp.array([1, 2, 3]), 0, lax.add, (0,))
    Array(6, dtype=int32)
    >>> int(lax.reduce(jnp.array([1, 2, 3]), 0, lambda a, b: 10 * a + b, (0,)))
    123
    """
    bodies.check_function("reduce", "computation", computation)
    leaves, in_tree = bodies.flat_values("reduce", "operands", operands)
    starts, start_tree = bodies.flat_values("reduce", "init_values", init_values)
    avals, starts = _checked(leaves, in_tree, starts, start_tree)
    if not leaves:
        return operands
    shape = avals[0].shape
    axes = check_axes(dimensions, len(shape), "reduce")
    scalars = [a.update(shape=(), weak_type=False) for a in avals]
    body = bodies.staged(
        "reduce", "computation", computation, (in_tree, in_tree), scalars * 2
    )
    _check_fold(body, in_tree, scalars)
    if len(leaves) == 1:
        out = fold_of(body.jaxpr, len(body.consts), leaves[0], starts[0], axes)
        if out is not None:
            return in_tree.unflatten([out])
    outs = _folded(body.jaxpr, body.consts, leaves, starts, axes)
    return in_tree.unflatten(outs)


def _checked(
    leaves: Sequence[Any], in_tree: Any, starts: Sequence[Any], start_tree: Any
) -> tuple[list[Aval], list[Any]]:
    """The avals of the operands, and the starts in their dtypes."""
    if start_tree != in_tree:
        picture = differing_structures(
            ("operands", in_tree, [aval_of(x) for x in leaves]),
            ("init_values", start_tree, [aval_of(x) for x in starts]),
        )
        raise TypeError(
            "lax.reduce: init_values must have the structure of operands, a scalar for"
            f" each array.\n{picture}"
        )
    avals = [aval_of(x) for x in leaves]
    for aval in avals:
        if aval.shape != avals[0].shape:
            raise ValueError(
                "lax.reduce: all operands must have one shape, got"
                f" {avals[0].long_name()} and {aval.long_name()}"
            )
    converted = []
    for start, aval in zip(starts, avals):
        given = aval_of(start)
        if given.shape:
            raise ValueError(
                f"lax.reduce: reduce found non-scalar initial value {given.long_name()}"
            )
        if given.dtype != aval.dtype and aval.kind == "K":
            raise TypeError(
                f"lax.reduce: init_values is {given.long_name()}, but the operand is"
                f" {aval.long_name()}"
            )
        if given.dtype != aval.dtype:
            start = convert_element_type(start, aval.dtype)
        converted.append(start)
    return avals, converted


def _check_fold(body: bodies.Body, in_tree: Any, scalars: Sequence[Aval]) -> None:
    name = called(body.fun, "computation")
    if body.out_tree != in_tree:
        picture = differing_structures(
            ("operands", in_tree, scalars),
            (f"the result of {name}", body.out_tree, body.out_avals),
        )
        raise TypeError(
            f"lax.reduce: {name} must return the structure of operands.\n{picture}"
            f"\n{to_return(in_tree).strip()}"
        )
    for aval, out in zip(scalars, body.out_avals):
        if aval is not out.strong():
            raise TypeError(
                f"lax.reduce: {name} combines two {aval.long_name()} and must return"
                f" another, got {out.long_name()}"
            )


def _folded(
    jaxpr: Jaxpr,
    consts: Sequence[Any],
    leaves: Sequence[Any],
    starts: Sequence[Any],
    axes: Sequence[int],
) -> list[Any]:
    """Folds the elements in order, for all that is kept at once."""
    shape = aval_of(leaves[0]).shape
    kept = [i for i in range(len(shape)) if i not in axes]
    kept_shape = tuple([shape[i] for i in kept])
    lanes = int(np.prod(kept_shape))
    steps = int(np.prod([shape[i] for i in axes]))
    rows = [
        reshape(transpose(x, (*sorted(axes), *kept)), (steps, lanes)) for x in leaves
    ]
    wide = [broadcast_in_dim(start, (lanes,), ()) for start in starts]
    mask = (False,) * len(consts) + (True,) * (2 * len(leaves))
    every = (True,) * len(leaves)
    lanes_jaxpr = batch_jaxpr(jaxpr, Axis(lanes), mask, every)[0]

    def step(carry: list[Any], x: list[Any]) -> tuple[list[Any], None]:
        return eval_jaxpr(lanes_jaxpr, [*consts, *carry, *x]), None

    outs, _ = scan(step, wide, rows)
    return [reshape(out, kept_shape) for out in outs]
