"""Derivatives for users: `grad`, `jvp`, `vjp`, `linearize` and what is made of them.

In: a function of pytrees. Out: a function that checks its arguments, flattens them, runs
a transformation of `transforms/` on flat values, and puts the results into pytrees. What
can be wrong with the arguments is said here, in the user's words.

Read `value_and_grad`, `jvp`, `vjp`, `linearize`; the Jacobians are in
`jacobians.py`, the transpose of linear functions in `linear.py`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from tetrad._src.api.fitting import cotangent, direction, out_tangent
from tetrad._src.api.flat import (
    FlatFunction,
    argument_name,
    as_value,
    float0_zeros,
    leaf_aval,
    leaf_values,
    shortened,
    wraps_of,
)
from tetrad._src.api.jit import jit
from tetrad._src.control.pictures import differing_structures, skeleton
from tetrad._src.control.signature import (
    argument_numbers,
    check_callable,
    name_of,
    parameter_names,
)
from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import aval_of
from tetrad._src.core.jaxpr import Jaxpr, eval_jaxpr
from tetrad._src.numpy.create import ones_like
from tetrad._src.ops.views import zeros
from tetrad._src.transforms.jvp import jvp_flat
from tetrad._src.transforms.linearize import Tape, linearize_flat
from tetrad._src.transforms.transpose import transpose_tape
from tetrad._src.util import frames, tree

Fun = Callable[..., Any]

# --------------------------------------------------------------------------------- grad


def grad(
    fun: Fun,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Fun:
    """The function that gives the gradient of the scalar function `fun`.

    Args:
      fun: a function that returns one real number (or a pair of it and anything, with
        `has_aux`).
      argnums: which positional arguments to differentiate; an int or a tuple of ints.
      has_aux: whether `fun` returns a pair (value, auxiliary data).
      holomorphic: whether `fun` is a holomorphic function of complex arguments.
      allow_int: whether arguments may be integers; their gradients have dtype float0.

    Returns the gradient in the structure of the argument, a tuple of them if `argnums`
    is a tuple; with `has_aux`, a pair (gradient, auxiliary data).

    Raises TypeError if `fun` does not return a real number, or an argument has no
    derivative.

    >>> import tetrad as jax
    >>> float(jax.grad(lambda x: x ** 3)(2.0))
    12.0
    """
    both = value_and_grad(
        fun, argnums, has_aux, holomorphic, allow_int, reduce_axes, _caller="grad"
    )

    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, result = both(*args, **kwargs)
        return (result, value[1]) if has_aux else result

    return wraps_of(fun)(frames.hide_frames(gradient))


def value_and_grad(
    fun: Fun,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
    *,
    _caller: str = "value_and_grad",
) -> Fun:
    """The function that gives both the value and the gradient of `fun`; see `grad`.

    >>> import tetrad as jax
    >>> value, gradient = jax.value_and_grad(lambda x: x ** 3)(2.0)
    >>> float(value), float(gradient)
    (8.0, 12.0)
    """
    if reduce_axes:
        raise NotImplementedError(
            f"{_caller}(reduce_axes=...) is not available: sum the gradients over the"
            " axis with lax.psum"
        )
    check_callable(fun, _caller)
    several = isinstance(argnums, (tuple, list))
    numbers = argument_numbers(argnums, f"{_caller}: argnums")
    options = GradOptions(_caller, fun, has_aux, holomorphic, allow_int)

    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        places = checked_places(options, numbers, args)
        active = [args[i] for i in places]
        leaves, in_tree = tree.flatten(active)
        values = active_values(options, active, places, leaves)
        live = [v.aval.inexact for v in values]
        found = _Outputs()

        def flat(*xs: Any) -> list[Any]:
            full = list(args)
            for i, x in zip(places, in_tree.unflatten(xs)):
                full[i] = x
            out = fun(*full, **kwargs)
            if has_aux:
                out, found.aux = value_and_aux(options, out)
            found.value = out
            aux, found.aux_tree = tree.flatten(found.aux) if has_aux else ([], None)
            return [_scalar_result(options, out), *aux]

        outs, tape = linearize_flat(flat, values, live)
        seed = _seed(outs[0])
        cts = transpose_tape(tape, [seed] + [None] * (len(outs) - 1))
        gradients = _in_places(cts, live, values)
        result = in_tree.unflatten(gradients)
        value: Any = as_value(outs[0], _caller)
        if has_aux:
            value = (value, found.aux_tree.unflatten(outs[1:]))
        return value, tuple(result) if several else result[0]

    return wraps_of(fun)(frames.hide_frames(value_and_gradient))


class GradOptions:
    __slots__ = ("caller", "fun", "has_aux", "holomorphic", "allow_int")

    def __init__(
        self, caller: str, fun: Fun, has_aux: bool, holomorphic: bool, allow_int: bool
    ) -> None:
        self.caller = caller
        self.fun = fun
        self.has_aux = has_aux
        self.holomorphic = holomorphic
        self.allow_int = allow_int


class _Outputs:
    __slots__ = ("value", "aux", "aux_tree")

    value: Any
    aux: Any
    aux_tree: Any


def checked_places(
    options: Any, numbers: Sequence[int], args: Sequence[Any]
) -> list[int]:
    count = len(args)
    for number in numbers:
        if not -count <= number < count:
            raise TypeError(
                f"{options.caller}: argnums={number} needs at least"
                f" {number + 1 if number >= 0 else -number} positional"
                f" argument{'s' if number not in (0, -1) else ''}, but"
                f" `{name_of(options.fun)}` was called with {count or 'none'}."
                + (f" The first is argnums=0{_last(count)}." if count else "")
                + " Arguments given by keyword are not differentiated."
            )
    return [number % count for number in numbers]


def active_values(
    options: Any, active: Sequence[Any], places: Sequence[int], leaves: Sequence[Any]
) -> list[Any]:
    """The leaves to differentiate, as arrays that have a derivative."""
    values = []
    for i, leaf in enumerate(leaves):
        try:
            value = as_value(leaf, options.caller)
        except TypeError:
            name = _active_name(options, active, places, i)
            raise TypeError(
                f"{options.caller} differentiates with respect to arrays and numbers,"
                f" but argument `{name}` = {shortened(leaf)} of type {type(leaf)} is not a"
                " valid JAX type. Choose the arguments to differentiate with argnums,"
                f" as in {options.caller}(f, argnums=1)."
            ) from None
        values.append(value)
        kind = value.aval.kind
        if options.holomorphic:
            if kind != "c":
                name = _active_name(options, active, places, i)
                raise TypeError(
                    f"{options.caller} with holomorphic=True requires inputs with complex"
                    f" dtype, but got {value.aval.dtype.name}: `{name}` is"
                    f" {value.aval.long_name()}. Convert it:"
                    f" {name}.astype(complex)."
                )
        elif kind == "c":
            continue
        elif kind != "f" and not options.allow_int:
            name = _active_name(options, active, places, i)
            raise TypeError(_integer_message(options, name, leaf, value.aval))
    return values


def _integer_message(options: Any, name: str, leaf: Any, aval: Aval) -> str:
    if type(leaf) is int:
        instead = f"Write {float(leaf)} instead of {leaf}"
    elif aval.kind == "K":
        return (
            f"{options.caller}: argument `{name}` is a random key, which has no"
            " derivative. Choose the arguments to differentiate with argnums, as in"
            f" {options.caller}(f, argnums=1)."
        )
    else:
        instead = f"Convert it with {name}.astype(float)"
    return (
        f"{options.caller} requires real- or complex-valued inputs (input dtype that is a"
        f" sub-dtype of np.inexact), but got {aval.dtype.name}. `{name}` of"
        f" `{name_of(options.fun)}` is {aval.long_name()}, and integers have no derivative."
        f" {instead}, choose other arguments with"
        " argnums, or pass allow_int=True to get a gradient of dtype float0."
    )


def _active_name(
    options: Any, active: Sequence[Any], places: Sequence[int], index: int
) -> str:
    path, _ = tree.leaves_with_path(list(active))[index]
    position = places[path[0].idx]
    names = parameter_names(options.fun, position + 1)
    return f"{names[position]}{tree.keystr(tuple(path[1:]))}"


def value_and_aux(options: Any, out: Any) -> tuple[Any, Any]:
    if not isinstance(out, (tuple, list)) or len(out) != 2:
        raise TypeError(
            f"{options.caller}(has_aux=True): `{name_of(options.fun)}` must return a"
            f" two-element tuple (value, auxiliary data), got {_kind_of_result(out)}. Write"
            " `return value, aux`, or leave has_aux out."
        )
    return out[0], out[1]


def _last(count: int) -> str:
    return f", the last argnums={count - 1}" if count > 1 else ""


def _scalar_result(options: Any, out: Any) -> Any:
    """The result of a function whose gradient is taken; TypeError if it has none."""
    name = name_of(options.fun)
    try:
        aval = leaf_aval(out)
    except TypeError:
        aval = None
    if aval is None:
        advice = (
            f" If the rest is auxiliary data, {options.caller}(f, has_aux=True)."
            if isinstance(out, (tuple, list)) and len(out) == 2
            else " Does it lack a return statement?"
            if out is None
            else f" Return one of them, as in `return result[{next(iter(out))!r}]`."
            if isinstance(out, dict) and out
            else ""
        )
        raise TypeError(
            f"Gradient only defined for scalar-output functions. {options.caller}: `{name}`"
            f" returned {_kind_of_result(out)}.{advice}"
        )
    if aval.shape:
        raise TypeError(
            f"Gradient only defined for scalar-output functions. {options.caller}: `{name}`"
            f" returned an array {aval.long_name()}. Reduce it to a number, as in `{name}(x).sum()`, or use jax.jacrev(f) for all its derivatives."
        )
    if aval.kind == "c" and not options.holomorphic:
        raise TypeError(
            f"{options.caller} requires real-valued outputs (output dtype that is a"
            f" sub-dtype of np.floating), but got {aval.dtype.name} from `{name}`. Return a real one,"
            " such as its .real or abs, or pass holomorphic=True if the function is"
            " holomorphic."
        )
    if options.holomorphic and aval.kind != "c":
        raise TypeError(
            f"{options.caller}(holomorphic=True): `{name}` must return a complex number,"
            f" got {aval.long_name()}"
        )
    if aval.kind not in "fc":
        raise TypeError(
            f"{options.caller} differentiates functions that return one real number, but"
            f" `{name}` returned {aval.long_name()}, which has no derivative. Return a"
            " float, or use jax.vjp."
        )
    return out


def _kind_of_result(out: Any) -> str:
    if isinstance(out, (tuple, list, dict)):
        count = f"{len(out)} value{'' if len(out) == 1 else 's'}"
        return f"a {type(out).__name__} of {count}"
    if hasattr(out, "aval"):
        return f"an array {out.aval.long_name()}"
    if out is None:
        return "None"
    return f"{shortened(out)} of type {type(out).__name__}"


def _seed(out: Any) -> Any:
    """The cotangent 1 of a scalar result, in its dtype."""
    if getattr(out, "committed", False):
        return ones_like(out)  # there, so that the gradient stays there
    aval = aval_of(out)
    if aval.weak_type and aval_of(1.0) is aval:
        return 1.0
    return aval.dtype.type(1)


def _in_places(
    cts: Sequence[Any], live: Sequence[bool], values: Sequence[Any]
) -> list[Any]:
    """A cotangent for every value: zeros where none came, float0 for integers."""
    given = iter(cts)
    result: list[Any] = []
    for value, on in zip(values, live):
        if not on:
            result.append(float0_zeros(value.aval))
            continue
        ct = next(given)
        result.append(as_value(zeros(aval_of(value)) if ct is None else ct, "grad"))
    return result


# ---------------------------------------------------------------------------- jvp, vjp


def jvp(
    fun: Fun, primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False
) -> Any:
    """The value of `fun` at `primals` and its derivative in the direction `tangents`.

    Args:
      fun: a function of pytrees.
      primals: its arguments, a tuple or list.
      tangents: the direction, in the same structure, shapes and dtypes; float0 for
        integer arguments.
      has_aux: whether `fun` returns a pair (value, auxiliary data).

    Returns (value, derivative), and the auxiliary data as third with `has_aux`.

    >>> import tetrad as jax
    >>> value, derivative = jax.jvp(lambda x: x ** 2, (3.0,), (1.0,))
    >>> float(value), float(derivative)
    (9.0, 6.0)
    """
    with frames.hidden_frames():
        return _jvp(fun, primals, tangents, has_aux)


def _jvp(fun: Fun, primals: Any, tangents: Any, has_aux: bool) -> Any:
    check_callable(fun, "jvp")
    for what, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, (tuple, list)):
            raise TypeError(
                f"jvp: {what} must be a tuple or list with one entry an argument, got"
                f" {_kind_of_result(given)}. Write ({what[0]},) for one argument."
            )
    leaves, in_tree = tree.flatten((tuple(primals), {}))
    directions, tangent_tree = tree.flatten((tuple(tangents), {}))
    if tangent_tree != in_tree:
        picture = tree.difference_text("primals", primals, "tangents", tangents)
        raise TypeError(
            f"jvp: primals and tangents must have one structure.\n{picture}\n"
            "jax.tree.map(jnp.ones_like, primals) is a tangent that fits."
        )
    values = leaf_values("jvp", fun, in_tree, leaves)
    given = [
        direction("jvp", fun, in_tree, i, v.aval, t)
        for i, (v, t) in enumerate(zip(values, directions))
    ]
    flat = _AuxFunction(fun, in_tree, "jvp", has_aux)
    outs, out_tangents = jvp_flat(flat, values, given)
    count = flat.count
    results = [as_value(o, "jvp") for o in outs[:count]]
    derivative = flat.out_tree.unflatten(
        [out_tangent(aval_of(o), t) for o, t in zip(outs[:count], out_tangents)]
    )
    value = flat.out_tree.unflatten(results)
    if has_aux:
        return value, derivative, flat.aux_tree.unflatten(outs[count:])
    return value, derivative


class _AuxFunction(FlatFunction):
    """A flat function that may return auxiliary data after its `count` results."""

    __slots__ = ("aux_tree", "count", "has_aux")

    def __init__(self, fun: Fun, in_tree: Any, what: str, has_aux: bool) -> None:
        super().__init__(fun, in_tree, what)
        self.has_aux = has_aux

    def __call__(self, *leaves: Any) -> list[Any]:
        args, kwargs = self.in_tree.unflatten(leaves)
        out = self.fun(*args, **kwargs)
        aux: list[Any] = []
        if self.has_aux:
            if not isinstance(out, (tuple, list)) or len(out) != 2:
                raise TypeError(
                    f"{self.what}(has_aux=True): `{name_of(self.fun)}` must return a"
                    f" pair (value, auxiliary data), got {_kind_of_result(out)}"
                )
            aux, self.aux_tree = tree.flatten(out[1])
            out = out[0]
        outs, self.out_tree = tree.flatten(out)
        self.count = len(outs)
        return self.checked(outs) + aux


def vjp(
    fun: Fun, *primals: Any, has_aux: bool = False, reduce_axes: Sequence[Any] = ()
) -> Any:
    """The value of `fun` at `primals`, and the function that pulls cotangents back.

    Args:
      fun: a function of pytrees.
      *primals: its arguments.
      has_aux: whether `fun` returns a pair (value, auxiliary data).

    Returns (value, pull_back), and the auxiliary data as third with `has_aux`.
    `pull_back(ct)` takes a cotangent in the structure of the value and gives a tuple
    with one cotangent an argument; it can be called more than once.

    >>> import tetrad as jax
    >>> value, pull_back = jax.vjp(lambda x, y: x * y, 2.0, 3.0)
    >>> [float(ct) for ct in pull_back(1.0)]
    [3.0, 2.0]
    """
    if reduce_axes:
        raise NotImplementedError(
            "vjp(reduce_axes=...) is not available: sum the cotangents over the axis"
            " with lax.psum"
        )
    with frames.hidden_frames():
        return _vjp(fun, primals, has_aux)


def _vjp(fun: Fun, primals: Sequence[Any], has_aux: bool) -> Any:
    check_callable(fun, "vjp")
    leaves, in_tree = tree.flatten((tuple(primals), {}))
    values = leaf_values("vjp", fun, in_tree, leaves)
    live = [v.aval.inexact for v in values]
    flat = _AuxFunction(fun, in_tree, "vjp", has_aux)
    outs, tape = linearize_flat(flat, values, live)
    count = flat.count
    results = [as_value(o, "vjp") for o in outs[:count]]
    program = PullProgram(
        fun,
        in_tree,
        flat.out_tree,
        [v.aval for v in values],
        [o.aval for o in results],
        tape,
    )
    pull_back = program.pull_back(leaves, values, [v for _, v in tape.consts])
    value = flat.out_tree.unflatten(results)
    if has_aux:
        return value, pull_back, flat.aux_tree.unflatten(outs[count:])
    return value, pull_back


class NotNeeded:
    """Stands in `PullBack.args_res` for an argument that no derivative depends on."""

    def __repr__(self) -> str:
        return "NotNeeded"


tree.register_pytree_node(NotNeeded, lambda _: ((), None), lambda _, __: NotNeeded())


class PullProgram:
    """All of a pull-back but its residuals: what calls of one trace share."""

    def __init__(
        self,
        fun: Fun,
        in_tree: Any,
        out_tree: Any,
        in_avals: Sequence[Aval],
        out_avals: Sequence[Aval],
        tape: Tape,
    ) -> None:
        self.fun = fun
        self.in_tree = in_tree
        self.out_tree = out_tree
        self.in_avals = in_avals
        self.out_avals = out_avals
        self.residuals = [var for var, _ in tape.consts]
        self.ins = tape.ins
        self.eqns = tape.eqns
        self.outs = tape.outs
        self.sources: list[int | None] = []  # which residual is which argument

    def pull_back(
        self, given: Sequence[Any], values: Sequence[Any], residuals: Sequence[Any]
    ) -> PullBack:
        """The pull-back of a call; `given` are the leaves of the arguments as passed."""
        position = {id(value): i for i, value in enumerate(values)}
        self.sources = [position.get(id(value)) for value in residuals]
        needed = {i for i in self.sources if i is not None}
        kept = [x if i in needed else NotNeeded() for i, x in enumerate(given)]
        others = [x for x, i in zip(residuals, self.sources) if i is None]
        return PullBack(self, others, list(self.in_tree.unflatten(kept)[0]))

    def join(self, others: Sequence[Any], args: Sequence[Any]) -> list[Any]:
        """The residuals in order: `others`, and those that are arguments."""
        rest = iter(others)
        needed = {i for i in self.sources if i is not None}
        if not needed:
            return list(rest)
        leaves = self.in_tree.flatten_up_to((tuple(args), {}))
        for i in needed:
            aval = self.in_avals[i]
            if leaves[i] is None or isinstance(leaves[i], NotNeeded):
                raise ValueError(
                    f"vjp: the pull-back of `{name_of(self.fun)}` needs its argument"
                    f" `{argument_name(self.fun, self.in_tree, i)}`, but args_res has"
                    " none: set it again before the call"
                )
            leaves[i] = as_value(leaves[i], "vjp")
            if leaves[i].shape != aval.shape or leaves[i].dtype != aval.dtype:
                raise ValueError(
                    f"vjp: args_res has {leaves[i].aval.long_name()} for"
                    f" `{argument_name(self.fun, self.in_tree, i)}` of"
                    f" `{name_of(self.fun)}`, which was {aval.long_name()}"
                )
        return [next(rest) if i is None else leaves[i] for i in self.sources]


class PullBack:
    """The function that `vjp` gives: from a cotangent of the value to those of the
    arguments. It is a pytree, whose leaves are the residuals.

    Residuals that are arguments themselves are in `args_res`, a list of the arguments
    with `NotNeeded` for what no derivative depends on; a program can drop them (set
    None) and give them again before the call. The others are `opaque_residuals`.
    """

    __slots__ = ("program", "opaque_residuals", "args_res", "__weakref__")

    def __init__(
        self, program: PullProgram, residuals: Sequence[Any], args: list[Any]
    ) -> None:
        self.program = program
        self.opaque_residuals = residuals
        self.args_res = args

    @frames.hide_frames
    def __call__(self, *cts: Any) -> tuple[Any, ...]:
        program = self.program
        if len(cts) != 1:
            raise TypeError(
                f"vjp: the pull-back of `{name_of(program.fun)}` takes one cotangent, in"
                f" the structure of the result, but was called with {len(cts)} arguments."
                f" Write f_vjp({skeleton(program.out_tree)})."
            )
        (ct,) = cts
        leaves, ct_tree = tree.flatten(ct)
        if ct_tree != program.out_tree:
            source = f"the result of `{name_of(program.fun)}`"
            picture = differing_structures(
                (source, program.out_tree, program.out_avals),
                ("the cotangent", ct_tree, leaves),
            )
            raise ValueError(
                "vjp: the cotangent has an unexpected tree structure: it must be that of"
                f" {source}.\n{picture}\nWrite f_vjp({skeleton(program.out_tree)})."
            )
        given = [
            cotangent("vjp", program.fun, program.out_tree, i, aval, leaf)
            for i, (aval, leaf) in enumerate(zip(program.out_avals, leaves))
        ]
        residuals = program.join(self.opaque_residuals, self.args_res)
        consts = list(zip(program.residuals, residuals))
        tape = Tape(consts, program.ins, program.eqns, program.outs)
        found = iter(transpose_tape(tape, given))
        flat = [
            out_tangent(aval, next(found) if aval.inexact else None)
            for aval in program.in_avals
        ]
        result: tuple[Any, ...] = program.in_tree.unflatten(flat)[0]
        return result


tree.register_pytree_node(
    PullBack,
    lambda f: ((f.opaque_residuals, f.args_res), f.program),
    lambda program, parts: PullBack(program, *parts),
)


def fwd_and_bwd(
    fun: Fun,
    argnums: int | Sequence[int],
    has_aux: bool = False,
    jitted: bool = True,
) -> tuple[Fun, Fun]:
    """The two passes of `vjp` as two functions that may compile apart.

    Args:
      fun: a function of pytrees.
      argnums: the arguments that are differentiated.
      has_aux: whether `fun` returns a pair (value, auxiliary data).
      jitted: whether both are put under `jit`.

    Returns (fwd, bwd). `fwd(*args)` gives (value, residuals), and the auxiliary data as
    third with `has_aux`; `bwd(residuals, ct)` a tuple with one cotangent per argument in
    `argnums`. Unlike pull-backs, `bwd` compiles once for many calls.

    >>> import tetrad as jax
    >>> fwd, bwd = jax.fwd_and_bwd(lambda x, y: x * y, argnums=(0, 1))
    >>> value, residuals = fwd(2.0, 3.0)
    >>> [float(ct) for ct in bwd(residuals, 1.0)]
    [3.0, 2.0]
    """
    check_callable(fun, "fwd_and_bwd")
    chosen = (argnums,) if isinstance(argnums, int) else tuple(argnums)

    def fwd(*args: Any, **kwargs: Any) -> Any:
        def of_chosen(*some: Any) -> Any:
            full = list(args)
            for i, x in zip(chosen, some):
                full[i] = x
            return fun(*full, **kwargs)

        return vjp(of_chosen, *[args[i] for i in chosen], has_aux=has_aux)

    def bwd(residuals: Any, ct: Any) -> Any:
        return residuals(ct)

    return (jit(fwd), jit(bwd)) if jitted else (fwd, bwd)


# ---------------------------------------------------------------------------- linearize


def linearize(fun: Fun, *primals: Any, has_aux: bool = False) -> Any:
    """The value of `fun` at `primals`, and its derivative there as a linear function.

    Args:
      fun: a function of pytrees.
      *primals: its arguments.
      has_aux: whether `fun` returns a pair (value, auxiliary data).

    Returns (value, derivative), and the auxiliary data as third with `has_aux`.
    `derivative(*tangents)` can be called for many directions at the cost of the linear
    part alone.

    >>> import tetrad as jax
    >>> value, derivative = jax.linearize(lambda x: x ** 2, 3.0)
    >>> float(derivative(1.0)), float(derivative(2.0))
    (6.0, 12.0)
    """
    with frames.hidden_frames():
        return _linearize(fun, primals, has_aux)


def _linearize(fun: Fun, primals: Sequence[Any], has_aux: bool) -> Any:
    check_callable(fun, "linearize")
    leaves, in_tree = tree.flatten((tuple(primals), {}))
    values = leaf_values("linearize", fun, in_tree, leaves)
    live = [v.aval.inexact for v in values]
    flat = _AuxFunction(fun, in_tree, "linearize", has_aux)
    outs, tape = linearize_flat(flat, values, live)
    count = flat.count
    results = [as_value(o, "linearize") for o in outs[:count]]
    del tape.outs[count:]
    jaxpr, residuals = tape.close()
    program = PushProgram(
        fun,
        in_tree,
        flat.out_tree,
        [v.aval for v in values],
        [o.aval for o in results],
        [out is not None for out in tape.outs],
        jaxpr,
    )
    derivative = PushForward(program, residuals)
    value = flat.out_tree.unflatten(results)
    if has_aux:
        return value, derivative, flat.aux_tree.unflatten(outs[count:])
    return value, derivative


class PushProgram:
    """All of a push-forward but its residuals: what calls of one trace share."""

    def __init__(
        self,
        fun: Fun,
        in_tree: Any,
        out_tree: Any,
        in_avals: Sequence[Aval],
        out_avals: Sequence[Aval],
        nonzero: Sequence[bool],
        jaxpr: Jaxpr,
    ) -> None:
        self.fun = fun
        self.in_tree = in_tree
        self.out_tree = out_tree
        self.in_avals = in_avals
        self.out_avals = out_avals
        self.nonzero = nonzero
        self.jaxpr = jaxpr


class PushForward:
    """The function that `linearize` gives: from tangents of the arguments to that of
    the value. It is a pytree, whose leaves are the residuals.
    """

    __slots__ = ("program", "residuals", "__weakref__")

    def __init__(self, program: PushProgram, residuals: Sequence[Any]) -> None:
        self.program = program
        self.residuals = residuals

    @property
    def func(self) -> functools.partial[Any]:
        """What is applied to [*residuals, *tangents]: the jaxpr of the derivative."""
        return functools.partial(eval_jaxpr, self.program.jaxpr)

    @frames.hide_frames
    def __call__(self, *tangents: Any) -> Any:
        program = self.program
        leaves, tangent_tree = tree.flatten((tuple(tangents), {}))
        if tangent_tree != program.in_tree:
            arguments = f"the tuple of arguments of `{name_of(program.fun)}`"
            picture = differing_structures(
                (arguments, program.in_tree.children()[0], program.in_avals),
                ("the tangents", tangent_tree.children()[0], leaves),
            )
            raise TypeError(
                f"linearize: the tangents must have the structure of {arguments}.\n"
                f"{picture}"
            )
        given = [
            direction("linearize", program.fun, program.in_tree, i, aval, t)
            for i, (aval, t) in enumerate(zip(program.in_avals, leaves))
        ]
        live = [t for t in given if t is not None]
        found = iter(eval_jaxpr(program.jaxpr, [*self.residuals, *live]))
        outs = [
            out_tangent(aval, next(found) if on else None)
            for aval, on in zip(program.out_avals, program.nonzero)
        ]
        return program.out_tree.unflatten(outs)


tree.register_pytree_node(
    PushForward,
    lambda f: (f.residuals, f.program),
    lambda program, values: PushForward(program, values),
)
