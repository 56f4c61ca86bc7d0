"""Whole Jacobians: `jacfwd`, `jacrev`, `hessian`.

In: a function of pytrees. Out: a function that gives, for each leaf of the result and
each leaf of the differentiated argument, an array of shape (*result, *argument). The
columns (or rows) are computed together: one `vmap` over the directions of a basis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tetrad._src.api.derivatives import (
    GradOptions,
    active_values,
    checked_places,
    value_and_aux,
)
from tetrad._src.api.flat import path_of_leaf, wraps_of
from tetrad._src.control.signature import argument_numbers, check_callable, name_of
from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import aval_of
from tetrad._src.core.op import Axis
from tetrad._src.ops.arithmetic import add
from tetrad._src.ops.compare import eq
from tetrad._src.ops.convert import convert_element_type
from tetrad._src.ops.slices import slice_in_dim
from tetrad._src.ops.views import broadcasted_iota, moveaxis, reshape, zeros
from tetrad._src.transforms.jvp import jvp_flat
from tetrad._src.transforms.linearize import linearize_flat
from tetrad._src.transforms.transpose import transpose_tape
from tetrad._src.transforms.vmap import move_mapped, vmap_flat
from tetrad._src.util import frames, tree
from tetrad._src.util.dtypes import float0

Fun = Callable[..., Any]


class _Call:
    """One call of a function to differentiate: which leaves are active, what came."""

    def __init__(
        self, options: GradOptions, numbers: Sequence[int], args: Any, kwargs: Any
    ) -> None:
        self.options = options
        self.args = args
        self.kwargs = kwargs
        self.places = checked_places(options, numbers, args)
        active = [args[i] for i in self.places]
        leaves, self.in_tree = tree.flatten(active)
        self.values = active_values(options, active, self.places, leaves)
        self.count = 0
        self.out_tree: Any = None
        self.aux_tree: Any = None

    def flat(self, *xs: Any) -> list[Any]:
        full = list(self.args)
        for i, x in zip(self.places, self.in_tree.unflatten(xs)):
            full[i] = x
        out = self.options.fun(*full, **self.kwargs)
        aux: list[Any] = []
        if self.options.has_aux:
            out, extra = value_and_aux(self.options, out)
            aux, self.aux_tree = tree.flatten(extra)
        outs, self.out_tree = tree.flatten(out)
        self.count = len(outs)
        return [*outs, *aux]

    def check_results(self, outs: Sequence[Any]) -> list[Aval]:
        """The avals of the results; TypeError if one has no derivative."""
        avals = []
        for i, out in enumerate(outs):
            aval = aval_of(out)
            wanted = "c" if self.options.holomorphic else "f"
            if self.options.caller == "jacfwd" and not self.options.holomorphic:
                wanted = "fc"  # a column is a derivative by one real number
            if aval.kind not in wanted:
                path = tree.keystr(path_of_leaf(self.out_tree, i))
                where = f" at {path}" if path else ""
                kind = "complex" if self.options.holomorphic else "real"
                raise TypeError(
                    f"{self.options.caller} needs {kind} results, but"
                    f" `{name_of(self.options.fun)}` returned {aval.long_name()}{where}."
                    + (
                        " Pass holomorphic=True if the function is holomorphic."
                        if aval.kind == "c"
                        else " Convert it with .astype(float)."
                    )
                )
            avals.append(aval)
        return avals


def _basis(avals: Sequence[Aval]) -> tuple[list[Any], int]:
    """For leaves of `avals`, the unit directions of all their elements, stacked."""
    total = sum([aval.size for aval in avals])
    stacks = []
    start = 0
    for aval in avals:
        rows = broadcasted_iota("int32", (total, aval.size), 0)
        columns = broadcasted_iota("int32", (total, aval.size), 1)
        if start:
            columns = add(columns, start)
        unit = convert_element_type(eq(rows, columns), aval.dtype, aval.weak_type)
        stacks.append(reshape(unit, (total, *aval.shape)))
        start += aval.size
    return stacks, total


def _pieces(stacked: Any, avals: Sequence[Aval], last: bool) -> list[Any]:
    """A stack over all elements of `avals` (axis 0), cut into one array a leaf.

    The axes of the leaf go last, or stay first.
    """
    pieces = []
    start = 0
    rest = aval_of(stacked).shape[1:]
    for aval in avals:
        piece = stacked
        if aval.size != aval_of(stacked).shape[0]:
            piece = slice_in_dim(stacked, start, start + aval.size)
        if last:
            piece = reshape(moveaxis(piece, 0, len(rest)), (*rest, *aval.shape))
        else:
            piece = reshape(piece, (*aval.shape, *rest))
        pieces.append(piece)
        start += aval.size
    return pieces


def jacfwd(
    fun: Fun,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Fun:
    """The Jacobian of `fun` column by column, by forward differentiation.

    Args:
      fun: a function of pytrees.
      argnums: which positional arguments to differentiate; an int or a tuple of ints.
      has_aux: whether `fun` returns a pair (value, auxiliary data).
      holomorphic: whether `fun` is a holomorphic function of complex arguments.

    Returns for each leaf of the result, in its place, the structure of the argument
    with arrays of shape (*result, *argument). Best if arguments have fewer elements
    than results.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> jax.jacfwd(lambda x: x ** 2)(jnp.array([1.0, 2.0])).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    check_callable(fun, "jacfwd")
    numbers = argument_numbers(argnums, "jacfwd: argnums")
    several = isinstance(argnums, (tuple, list))
    options = GradOptions("jacfwd", fun, has_aux, holomorphic, False)

    def jacobian(*args: Any, **kwargs: Any) -> Any:
        call = _Call(options, numbers, args, kwargs)
        avals = [v.aval for v in call.values]
        for aval in avals:
            if aval.kind == "c" and not holomorphic:
                raise TypeError(
                    "jacfwd requires real-valued inputs (input dtype that is a sub-dtype of"
                    f" np.floating), but got {aval.dtype.name}: a complex one has a"
                    " derivative in every direction. Pass holomorphic=True if the function"
                    " is holomorphic."
                )
        directions, total = _basis(avals)
        axis = Axis(total)
        results: list[Any] = []

        def push(*tangents: Any) -> list[Any]:
            outs, out_tangents = jvp_flat(call.flat, call.values, tangents)
            results[:] = outs
            count = call.count
            call.check_results(outs[:count])
            return [
                zeros(aval_of(o)) if t is None else t
                for o, t in zip(outs[:count], out_tangents)
            ]

        columns, places = vmap_flat(push, axis, directions, [0] * len(directions))
        rows = []
        for column, at in zip(columns, places):
            stacked = move_mapped(axis, column, at, 0)
            row = call.in_tree.unflatten(_pieces(stacked, avals, last=True))
            rows.append(tuple(row) if several else row[0])
        jac = call.out_tree.unflatten(rows)
        if has_aux:
            return jac, call.aux_tree.unflatten(results[call.count :])
        return jac

    return wraps_of(fun)(frames.hide_frames(jacobian))


def jacrev(
    fun: Fun,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Fun:
    """The Jacobian of `fun` row by row, by reverse differentiation; see `jacfwd`.

    Best if results have fewer elements than arguments. With `allow_int` arguments may be
    integers; their Jacobians have dtype float0.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> jax.jacrev(lambda x: x ** 2)(jnp.array([1.0, 2.0])).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    check_callable(fun, "jacrev")
    numbers = argument_numbers(argnums, "jacrev: argnums")
    several = isinstance(argnums, (tuple, list))
    options = GradOptions("jacrev", fun, has_aux, holomorphic, allow_int)

    def jacobian(*args: Any, **kwargs: Any) -> Any:
        call = _Call(options, numbers, args, kwargs)
        live = [v.aval.inexact for v in call.values]
        in_avals = [v.aval for v, on in zip(call.values, live) if on]
        outs, tape = linearize_flat(call.flat, call.values, live)
        count = call.count
        out_avals = call.check_results(outs[:count])
        directions, total = _basis(out_avals)
        axis = Axis(total)

        def pull(*cts: Any) -> list[Any]:
            found = transpose_tape(tape, cts)
            return [zeros(a) if f is None else f for a, f in zip(in_avals, found)]

        rows, places = vmap_flat(pull, axis, directions, [0] * len(directions))
        found = iter(zip(rows, places))
        by_argument: list[list[Any]] = []
        for value, on in zip(call.values, live):
            if on:
                row, at = next(found)
                stacked = move_mapped(axis, row, at, 0)
                by_argument.append(_pieces(stacked, out_avals, last=False))
            else:
                shapes = [(*out.shape, *value.aval.shape) for out in out_avals]
                by_argument.append([np.zeros(shape, float0) for shape in shapes])
        results = []
        for i in range(count):
            row = call.in_tree.unflatten([pieces[i] for pieces in by_argument])
            results.append(tuple(row) if several else row[0])
        jac = call.out_tree.unflatten(results)
        if has_aux:
            return jac, call.aux_tree.unflatten(outs[count:])
        return jac

    return wraps_of(fun)(frames.hide_frames(jacobian))


jacobian = jacrev


def hessian(
    fun: Fun,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Fun:
    """The second derivatives of `fun`: the forward Jacobian of its reverse Jacobian.

    Returns for each leaf of the result the structure of the argument twice, with arrays
    of shape (*result, *argument, *argument); with `has_aux` a pair of that and the
    auxiliary data.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> jax.hessian(lambda x: (x ** 3).sum())(jnp.array([1.0, 2.0])).tolist()
    [[6.0, 0.0], [0.0, 12.0]]
    """
    first = jacrev(fun, argnums, has_aux, holomorphic)
    return wraps_of(fun)(jacfwd(first, argnums, has_aux, holomorphic))
