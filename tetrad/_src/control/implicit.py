"""`custom_root` and `custom_linear_solve`: results given by an equation they satisfy.

How a solution is computed is the user's affair; its derivative follows from the
equation. For a root f(x, p) = 0 it is ẋ with (∂f/∂x) ẋ = −(∂f/∂p) ṗ; for a linear
system A x = b it is ẋ with A ẋ = ḃ − Ȧ x, and in reverse mode a solution with the
transpose of A. So neither mode looks into the solver, which may be any loop.

Read `Solution` (what both share), `Root`, `LinearSolve`, then the public functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

from tetrad._src.control import bodies
from tetrad._src.control.call import Mask, axis_names, nonzero_mask
from tetrad._src.control.flow import cut, same_types
from tetrad._src.control.pictures import called, differing_structures, to_return
from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import aval_of
from tetrad._src.core.jaxpr import Jaxpr, eval_jaxpr
from tetrad._src.core.op import Axis
from tetrad._src.core.stage import stage
from tetrad._src.ops.arithmetic import neg, sub
from tetrad._src.ops.convert import convert_element_type
from tetrad._src.ops.families import Call
from tetrad._src.ops.views import zeros
from tetrad._src.transforms.jvp import instantiate, jvp_flat
from tetrad._src.transforms.transpose import transpose_jaxpr
from tetrad._src.transforms.vmap import batch_jaxpr, spread
from tetrad._src.util import tree
from tetrad._src.util.tables import table

X = TypeVar("X")

Fun = Callable[..., Any]


class Solution(Call):
    """Computes what `solve` computes: over (its consts, a start) to (solution, aux).

    Operands are the consts of the jaxprs in order, then the start; `counts` says how
    many consts each has.
    """

    aligned = False
    inlined: ClassVar[bool] = True
    solve: Jaxpr
    counts: tuple[int, ...]

    @property
    def effects(self) -> frozenset[Any]:
        return self.solve.effects

    @property
    def axis_names(self) -> tuple[Any, ...]:
        names: dict[Any, None] = {}
        for jaxpr in self.jaxprs():
            names.update(dict.fromkeys(axis_names(jaxpr)))
        return tuple(names)

    def type(self, *avals: Aval) -> tuple[Aval, ...]:
        return self.solve.out_avals

    def solver_operands(self, args: Sequence[Any]) -> Sequence[Any]:
        """The consts of `solve` and the start."""
        raise NotImplementedError

    def expand(self, *args: Any) -> list[Any]:
        return eval_jaxpr(self.solve, self.solver_operands(args))

    def batched(self, axis: Axis, mapped: Mask) -> Solution:
        """The operation for all lanes; the start and all results are mapped."""
        raise NotImplementedError

    def batch(self, axis: Axis, mapped: Mask, *args: Any) -> list[Any]:
        count = sum(self.counts)
        start = [
            x if m else spread(axis, x) for x, m in zip(args[count:], mapped[count:])
        ]
        op = self.batched(axis, mapped[:count])
        results: list[Any] = op(*args[:count], *start)
        return results


def for_lanes(jaxpr: Jaxpr, axis: Axis, consts: Mask) -> Jaxpr:
    """A jaxpr for all lanes, where only its consts may be the same for all of them."""
    rest = (True,) * (len(jaxpr.ins) - len(consts))
    every = (True,) * len(jaxpr.outs)
    return batch_jaxpr(jaxpr, axis, (*consts, *rest), every)[0]


# -------------------------------------------------------------------------------- roots


class Root(Solution):
    """A root of `f`, from a start.

    f takes (its consts, x); `tangent_solve` takes (its consts, consts of f, x, y) and
    gives the solution v of (∂f/∂x) v = y.
    """

    f: Jaxpr
    tangent_solve: Jaxpr

    name = "custom_root"

    def jaxprs(self) -> tuple[Jaxpr, ...]:
        return self.f, self.solve, self.tangent_solve

    def solver_operands(self, args: Sequence[Any]) -> Sequence[Any]:
        _, consts, _, start = cut(args, *self.counts)
        return [*consts, *start]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        outs = self(*primals)
        consts, _, tangent_consts, _ = cut(primals, *self.counts)
        const_tangents = tangents[: len(consts)]
        x = outs[: len(self.f.outs)]
        none: list[Any] = [None] * len(outs)
        if not any(nonzero_mask(const_tangents)):
            return outs, none
        _, change = jvp_flat(
            lambda *args: eval_jaxpr(self.f, [*args, *x]), consts, const_tangents
        )
        if not any(nonzero_mask(change)):
            return outs, none
        y = [neg(instantiate(p, t)) for p, t in zip(x, change)]
        operands = [*tangent_consts, *consts, *x, *y]
        found = eval_jaxpr(self.tangent_solve, operands)
        return outs, [*found, *none[len(found) :]]

    def batched(self, axis: Axis, mapped: Mask) -> Root:
        f, solve, tangent, _ = cut(mapped, *self.counts)
        return Root(
            for_lanes(self.solve, axis, solve),
            self.counts,
            for_lanes(self.f, axis, f),
            for_lanes(self.tangent_solve, axis, tangent + f),
        )


# --------------------------------------------------------------------- linear equations


class LinearSolve(Solution):
    """The solution x of matvec(x) = b.

    `matvec` and its transpose `vecmat` take (consts, vector); `solve` and
    `transpose_solve`, which solves with `vecmat`, take (consts, right-hand side). The
    latter two also give the same number of further results.
    """

    matvec: Jaxpr
    vecmat: Jaxpr | None
    transpose_solve: Jaxpr | None

    name = "custom_linear_solve"

    def jaxprs(self) -> tuple[Jaxpr, ...]:
        own = (self.matvec, self.vecmat, self.solve, self.transpose_solve)
        return tuple([jaxpr for jaxpr in own if jaxpr is not None])

    def solver_operands(self, args: Sequence[Any]) -> Sequence[Any]:
        _, _, consts, _, b = cut(args, *self.counts)
        return [*consts, *b]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        outs = self(*primals)
        count = sum(self.counts)
        consts = primals[: self.counts[0]]
        matrix_tangents = tangents[: self.counts[0]]
        x = outs[: len(self.matvec.outs)]
        right = list(tangents[count:])
        if any(nonzero_mask(matrix_tangents)):
            _, change = jvp_flat(
                lambda *args: eval_jaxpr(self.matvec, [*args, *x]),
                consts,
                matrix_tangents,
            )
            right = [_difference(a, b) for a, b in zip(right, change)]
        none: list[Any] = [None] * len(outs)
        if not any(nonzero_mask(right)):
            return outs, none
        right = [instantiate(p, t) for p, t in zip(x, right)]
        found = self(*primals[:count], *right)[: len(x)]
        return outs, [*found, *none[len(x) :]]

    def transpose(self, cts: Sequence[Any], *args: Any) -> list[Any]:
        count = sum(self.counts)
        if self.transpose_solve is None or self.vecmat is None:
            raise TypeError(
                "lax.custom_linear_solve: reverse-mode differentiation (grad, vjp,"
                " jacrev) needs a solver for the transposed system. Give"
                " transpose_solve, or symmetric=True if matvec is symmetric."
            )
        matvec, vecmat, solve, transpose_solve = self.counts
        consts = cut(args[:count], matvec, vecmat, solve)
        op = LinearSolve(
            self.transpose_solve,
            (vecmat, matvec, transpose_solve, solve),
            self.vecmat,
            self.matvec,
            self.solve,
        )
        size = len(self.matvec.outs)
        right = [
            zeros(aval) if ct is None else ct
            for ct, aval in zip(cts, self.solve.out_avals[:size])
        ]
        order = (consts[1], consts[0], consts[3], consts[2])
        found = op(*[c for group in order for c in group], *right)[:size]
        return [*[None] * count, *found]

    def batched(self, axis: Axis, mapped: Mask) -> LinearSolve:
        matvec, vecmat, solve, transposed = cut(mapped, *self.counts[:3])
        back = self.transpose_solve
        return LinearSolve(
            for_lanes(self.solve, axis, solve),
            self.counts,
            for_lanes(self.matvec, axis, matvec),
            self.vecmat and for_lanes(self.vecmat, axis, vecmat),
            back and for_lanes(back, axis, transposed),
        )


def _difference(a: Any, b: Any) -> Any:
    """a - b, where None is zero."""
    if b is None:
        return a
    return neg(b) if a is None else sub(a, b)


# ------------------------------------------------------------------------------- public


def custom_root(
    f: Callable[[X], X],
    initial_guess: X,
    solve: Callable[[Callable[[X], X], X], Any],
    tangent_solve: Callable[[Callable[[X], X], X], X],
    has_aux: bool = False,
) -> Any:
    """A root of a function, with the derivative that the equation f(x) = 0 implies.

    Derivatives are taken with regard to what `f` closes over.

    Args:
      f: a function from a pytree to one of the same structure and types.
      initial_guess: where to start.
      solve: `solve(f, initial_guess)` returns a root. It may loop as it likes.
      tangent_solve: `tangent_solve(g, y)` returns the solution x of g(x) = y for a
        linear function g, such as `lambda g, y: y / g(1.0)` for scalars. For reverse
        mode it is linear in y itself, or uses `custom_linear_solve`.
      has_aux: whether `solve` returns a pair (root, further results), which is returned.

    Raises TypeError if structures or types differ.

    >>> import tetrad as jax
    >>> def sqrt(a):
    ...     def solve(f, x):
    ...         return jax.lax.fori_loop(0, 10, lambda i, x: x - f(x) / (2 * x), x)
    ...     return jax.lax.custom_root(
    ...         lambda x: x * x - a, a, solve, lambda g, y: y / g(1.0))
    >>> float(jax.grad(sqrt)(4.0))
    0.25
    """
    what = "custom_root"
    for role, fun in (("f", f), ("solve", solve), ("tangent_solve", tangent_solve)):
        bodies.check_function(what, role, fun)
    leaves, in_tree = bodies.flat_values(what, "initial_guess", initial_guess)
    avals = [aval_of(x) for x in leaves]
    equation = bodies.staged(what, "f", f, (in_tree,), avals)
    _check_like(what, "f", equation, "initial_guess", in_tree, avals)
    solver = _solver(what, "solve", solve, f, in_tree, avals, has_aux, "initial_guess")
    size = len(avals)
    count = len(equation.consts)

    def tangent(*args: Any) -> list[Any]:
        consts, x, y = cut(args, count, size)

        def linear(v: Any) -> Any:
            given, v_tree = tree.flatten(v)
            if v_tree != in_tree:
                picture = differing_structures(
                    ("initial_guess", in_tree, avals), ("the argument", v_tree, given)
                )
                raise TypeError(
                    f"lax.custom_root: {called(tangent_solve, 'tangent_solve')} called"
                    f" its function with another structure than initial_guess.\n{picture}"
                )
            given = [_as_type(what, v, aval) for v, aval in zip(given, avals)]
            outs, found = jvp_flat(
                lambda *x: eval_jaxpr(equation.jaxpr, [*consts, *x]), x, given
            )
            return in_tree.unflatten([instantiate(o, t) for o, t in zip(outs, found)])

        outs, out_tree = tree.flatten(tangent_solve(linear, in_tree.unflatten(y)))
        if out_tree != in_tree:
            name = called(tangent_solve, "tangent_solve")
            raise _unlike(what, name, "initial_guess", in_tree, avals, out_tree, outs)
        return [_as_type(what, out, aval) for out, aval in zip(outs, avals)]

    every = [*[aval_of(c) for c in equation.consts], *avals, *avals]
    tangent_jaxpr, tangent_consts = stage(tangent, every, "tangent_solve")
    counts = (count, len(solver.consts), len(tangent_consts))
    op = Root(solver.jaxpr, counts, equation.jaxpr, tangent_jaxpr)
    outs = op(*equation.consts, *solver.consts, *tangent_consts, *leaves)
    return solver.out_tree.unflatten(outs)


def _as_type(what: str, x: Any, aval: Aval) -> Any:
    """A vector as a value of the type of the solution."""
    got = aval_of(bodies.as_operand(what, x))
    if got.shape == aval.shape and got.weak_type and got.dtype != aval.dtype:
        return convert_element_type(x, aval.dtype)
    if not same_types([got], [aval]):
        raise TypeError(
            f"lax.{what}: tangent_solve works with vectors like initial_guess, which is"
            f" {aval.long_name()}, got {got.long_name()}"
        )
    return x


def _solver(
    what: str,
    role: str,
    solve: Fun,
    equation: Fun,
    in_tree: Any,
    avals: Sequence[Aval],
    has_aux: bool,
    argument: str,
) -> bodies.Body:
    """`solve(equation, start)` staged; its result is (solution, aux) if `has_aux`."""

    def run(start: Any) -> Any:
        return solve(equation, start)

    def check(result: Any) -> None:
        if has_aux and not (isinstance(result, (tuple, list)) and len(result) == 2):
            raise TypeError(
                f"lax.{what}: {name} must return a pair (solution, aux) because of"
                f" has_aux=True, got {bodies.shortened(result)}"
            )

    name = called(solve, role)
    body = bodies.staged(what, role, run, (in_tree,), avals, check)
    body.fun = solve
    out_tree = body.out_tree.children()[0] if has_aux else body.out_tree
    whole, body.out_tree = body.out_tree, out_tree
    _check_like(what, role, body, argument, in_tree, avals)
    body.out_tree = whole
    return body


def _check_like(
    what: str,
    role: str,
    body: bodies.Body,
    argument: str,
    in_tree: Any,
    avals: Sequence[Aval],
) -> None:
    """TypeError unless a function returns something like its argument."""
    name = called(body.fun, role)
    outs = body.out_avals[: body.out_tree.num_leaves]
    if body.out_tree != in_tree:
        raise _unlike(what, name, argument, in_tree, avals, body.out_tree, outs)
    if same_types(outs, avals):
        return
    rows: list[tuple[str, ...]] = [(argument, "takes", "returns", "")]
    for i, (a, b) in enumerate(zip(avals, outs)):
        path = bodies.path_text(in_tree, i)
        differ = "shapes" if a.shape != b.shape else "dtypes"
        note = "" if a.strong() is b.strong() else f"<- the {differ} differ"
        rows.append((path or "(all of it)", a.long_name(), b.long_name(), note))
    raise TypeError(
        f"lax.{what}: {name} must return the types of {argument}.\n{table(rows)}\n"
        f"Return something that can stand for {argument}, or give {argument} the types"
        " that come out."
    )


def _unlike(
    what: str,
    name: str,
    argument: str,
    in_tree: Any,
    avals: Sequence[Aval],
    out_tree: Any,
    outs: Sequence[Any],
) -> TypeError:
    """The error about a function that returns other containers than its argument has."""
    picture = differing_structures(
        (argument, in_tree, avals), (f"the result of {name}", out_tree, outs)
    )
    return TypeError(
        f"lax.{what}: {name} must return the structure of {argument}.\n{picture}\n"
        f"{to_return(in_tree).strip()}"
    )


def custom_linear_solve(
    matvec: Callable[[X], X],
    b: X,
    solve: Callable[[Callable[[X], X], X], Any],
    transpose_solve: Callable[[Callable[[X], X], X], Any] | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> Any:
    """The solution x of matvec(x) = b, with the derivatives that this equation implies.

    Derivatives are taken with regard to `b` and what `matvec` closes over.

    Args:
      matvec: a linear function from a pytree to one of the same structure and types.
      b: the right-hand side.
      solve: `solve(matvec, b)` returns the solution. It may loop as it likes.
      transpose_solve: `transpose_solve(vecmat, b)` returns the solution of
        vecmat(x) = b, where vecmat is the transpose of `matvec`; for reverse mode.
      symmetric: whether `matvec` is its own transpose, so that `solve` serves both.
      has_aux: whether the solvers return a pair (solution, further results).

    Raises TypeError if structures or types differ.

    >>> import tetrad as jax
    >>> def divide(a, b):
    ...     return jax.lax.custom_linear_solve(
    ...         lambda x: a * x, b, lambda matvec, b: b / a, symmetric=True)
    >>> float(jax.grad(divide)(2.0, 3.0))
    -0.75
    """
    what = "custom_linear_solve"
    for role, fun in (("matvec", matvec), ("solve", solve)):
        bodies.check_function(what, role, fun)
    leaves, in_tree = bodies.flat_values(what, "b", b)
    avals = [aval_of(x) for x in leaves]
    forward = bodies.staged(what, "matvec", matvec, (in_tree,), avals)
    _check_like(what, "matvec", forward, "b", in_tree, avals)
    solver = _solver(what, "solve", solve, matvec, in_tree, avals, has_aux, "b")
    consts = [forward.consts, [], solver.consts, []]
    vecmat: Jaxpr | None = None
    backward: Jaxpr | None = None
    if symmetric:
        vecmat, backward = forward.jaxpr, solver.jaxpr
        consts[1], consts[3] = forward.consts, solver.consts
    elif transpose_solve is not None:
        linear = (False,) * len(forward.consts) + (True,) * len(avals)
        every = (True,) * len(avals)
        vecmat = transposed = transpose_jaxpr(forward.jaxpr, linear, every)

        def transposed_fun(x: Any) -> Any:
            operands = [*forward.consts, *tree.leaves(x)]
            return in_tree.unflatten(eval_jaxpr(transposed, operands))

        bodies.check_function(what, "transpose_solve", transpose_solve)
        other = _solver(
            what,
            "transpose_solve",
            transpose_solve,
            transposed_fun,
            in_tree,
            avals,
            has_aux,
            "b",
        )
        backward = other.jaxpr
        consts[1], consts[3] = forward.consts, other.consts
    counts = tuple([len(group) for group in consts])
    op = LinearSolve(solver.jaxpr, counts, forward.jaxpr, vecmat, backward)
    outs = op(*[c for group in consts for c in group], *leaves)
    return solver.out_tree.unflatten(outs)
