"""Functions whose derivatives the user states: `custom_jvp` and `custom_vjp`.

In: a function over pytrees with rules over pytrees. Out: a callable that flattens its
arguments and calls an operation of `custom_ops.py` with the rules over flat values.
What a rule returns is checked here, where the user's words for it are known.

Read `_Custom`, then `custom_jvp`, then `custom_vjp`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from tetrad._src.control.custom_ops import CustomJvp, CustomVjp, JvpRule, VjpRules
from tetrad._src.control.pictures import (
    described,
    differing_structures,
    skeleton,
    to_return,
)
from tetrad._src.control.signature import (
    Arguments,
    argument_numbers,
    check_callable,
    name_of,
)
from tetrad._src.control.symbolic import (
    CustomVJPPrimal,
    SymbolicZero,
    is_zero,
    tangent_aval,
    zero_from_primal,
)
from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import STATE, aval_of, base_trace
from tetrad._src.ops.arithmetic import add
from tetrad._src.ops.convert import convert_element_type
from tetrad._src.transforms.jvp import instantiate
from tetrad._src.util import tree

Result = TypeVar("Result")


def forwarded(custom: Any, name: str) -> Any:
    """A method that states a rule, of the function inside `custom`, itself a custom one."""
    if name in ("def_vmap", "defjvp", "defjvps", "defvjp"):
        return getattr(custom.fun, name)
    raise AttributeError(f"{custom!r} has no attribute {name!r}")


class _Custom(Generic[Result]):
    """What both kinds share: arguments, and which of them are not differentiated."""

    def __init__(
        self,
        fun: Callable[..., Result],
        nondiff_argnums: Sequence[int] = (),
        nondiff_argnames: Sequence[str] = (),
    ) -> None:
        check_callable(fun, type(self).__name__)
        functools.update_wrapper(self, fun, updated=())  # type: ignore[arg-type]
        self.fun = fun
        self.arguments = Arguments(fun)
        numbers = list(argument_numbers(nondiff_argnums, "nondiff_argnums"))
        if nondiff_argnames:
            signature = self.arguments.signature
            names = list(signature.parameters) if signature is not None else []
            for name in nondiff_argnames:
                if name not in names:
                    raise ValueError(
                        f"nondiff_argnames: `{name_of(fun)}` has no parameter {name!r}"
                    )
                numbers.append(names.index(name))
        count = self.arguments.count
        if count is not None and any(n >= count for n in numbers):
            number = max(numbers)
            raise ValueError(
                f"nondiff_argnums={tuple(numbers)} refers to argument {number}, but"
                f" `{name_of(fun)}` takes {count} positional"
                f" argument{'' if count == 1 else 's'}; the first is number 0"
            )
        if any(n < 0 for n in numbers):
            raise ValueError(
                f"nondiff_argnums={tuple(numbers)}: count arguments from the front,"
                " starting with 0"
            )
        self.nondiff_argnums = tuple(sorted(set(numbers)))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} function {name_of(self.fun)}>"

    def __getattr__(self, name: str) -> Any:
        return forwarded(self, name)

    def taken_apart(
        self, args: Sequence[Any]
    ) -> tuple[list[Any], list[Any], Callable[[Sequence[Any]], list[Any]]]:
        """The static arguments, the others, and how to put them together again."""
        numbers = self.nondiff_argnums
        if not numbers:
            return [], list(args), list
        if numbers[-1] >= len(args):
            raise ValueError(
                f"nondiff_argnums={numbers} of `{name_of(self.fun)}` refers to argument"
                f" {numbers[-1]}, but it was called with {len(args)}"
            )
        static = [args[i] for i in numbers]
        others = [a for i, a in enumerate(args) if i not in numbers]

        def together(values: Sequence[Any]) -> list[Any]:
            rest = iter(values)
            fixed = dict(zip(numbers, static))
            return [
                fixed[i] if i in fixed else next(rest)
                for i in range(len(static) + len(values))
            ]

        return static, others, together


class _Trees:
    """Structures that become known when a function has run."""

    __slots__ = ("avals", "out", "out_avals", "residuals")

    out: Any
    residuals: Any
    avals: list[Aval]
    out_avals: list[Aval]


class custom_jvp(_Custom[Result]):
    """A function with its own rule for forward (and thus reverse) differentiation.

    Args:
      fun: the function; arguments and results are pytrees of arrays.
      nondiff_argnums: arguments that are not arrays, or are not differentiated. The
        rule takes them first.

    Raises AttributeError when it is called before `defjvp`.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> @jax.custom_jvp
    ... def log1pexp(x):
    ...     return jnp.log(1.0 + jnp.exp(x))
    >>> @log1pexp.defjvp
    ... def log1pexp_jvp(primals, tangents):
    ...     (x,), (t,) = primals, tangents
    ...     return log1pexp(x), (1 - 1 / (1 + jnp.exp(x))) * t
    >>> float(jax.grad(log1pexp)(100.0))
    1.0
    """

    rule: Callable[..., Any] | None = None
    symbolic_zeros = False

    def defjvp(
        self, jvp: Callable[..., Any], symbolic_zeros: bool = False
    ) -> Callable[..., Any]:
        """Sets the rule `jvp(*nondiff, primals, tangents) -> (result, its tangent)`.

        With `symbolic_zeros`, tangents that are zero are `SymbolicZero` objects, and
        the rule may return such.
        """
        check_callable(jvp, "defjvp", "f.defjvp(rule)")
        self.rule = jvp
        self.symbolic_zeros = symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Sets one rule `jvp(tangent, ans, *primals)` an argument; None is zero."""
        if self.nondiff_argnums:
            raise TypeError(
                f"defjvps of `{name_of(self.fun)}` cannot be used with nondiff_argnums;"
                " use defjvp"
            )

        def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
            ans = self(*primals)
            terms = [
                jvp(tangent, ans, *primals)
                for jvp, tangent in zip(jvps, tangents)
                if jvp is not None
            ]
            total = tree.map(lambda y: instantiate(y, None), ans)
            for term in terms:
                total = tree.map(add, total, term)
            return ans, total

        self.rule = rule
        self.symbolic_zeros = False

    def __call__(self, *args: Any, **kwargs: Any) -> Result:
        if self.rule is None:
            raise AttributeError(
                f"No JVP defined for custom_jvp function {name_of(self.fun)} using defjvp."
                f" State one with @{name_of(self.fun)}.defjvp"
            )
        args = tuple(self.arguments.positional(args, kwargs))
        if STATE.trace is base_trace():
            return self.fun(*args)
        static, others, together = self.taken_apart(args)
        leaves, in_tree = tree.flatten(tuple(others))
        trees = _Trees()
        symbolic = self.symbolic_zeros

        def flat_fun(*values: Any) -> list[Any]:
            out = self.fun(*together(in_tree.unflatten(values)))
            outs, trees.out = tree.flatten(out)
            return outs

        def flat_rule(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
            result = self.rule(  # type: ignore[misc]
                *static,
                in_tree.unflatten(primals),
                in_tree.unflatten(_user_tangents(primals, tangents, symbolic)),
            )
            outs, found, trees.out = self.checked(result)
            return outs, found

        rule = JvpRule(self.fun, self.rule, flat_rule, symbolic)
        outs = CustomJvp(flat_fun, rule)(*leaves)
        result: Result = trees.out.unflatten(outs)
        return result

    def checked(self, result: Any) -> tuple[list[Any], list[Any], Any]:
        """What the rule returned as flat results and tangents, and the structure."""
        name = name_of(self.rule)
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise TypeError(
                f"Custom JVP rule {name} for function {name_of(self.fun)} must produce a"
                " pair (list or tuple of length two) representing primal and tangent"
                f" outputs, but got {described(result)}. Write `return f(x), derivative * x_dot`."
            )
        outs, out_tree = tree.flatten(result[0])
        tangents, tangent_tree = tree.flatten(result[1])
        if tangent_tree != out_tree:
            picture = differing_structures(
                ("the result", out_tree, outs), ("its tangent", tangent_tree, tangents)
            )
            raise TypeError(
                f"the rule `{name}` must return a result and a tangent of one structure."
                f"\n{picture}\nWrite `return out, tangent`, with tangent ="
                f" {skeleton(out_tree)}."
            )
        found = [_fitting_tangent(name, o, t) for o, t in zip(outs, tangents)]
        return outs, found, out_tree


def _user_tangents(
    primals: Sequence[Any], tangents: Sequence[Any], symbolic: bool
) -> list[Any]:
    """Tangents as a rule sees them: zeros are values or symbols, integers have float0."""
    return [
        zero_from_primal(p, symbolic) if t is None else t
        for p, t in zip(primals, tangents)
    ]


def _fitting_tangent(name: str, out: Any, tangent: Any) -> Any:
    """The tangent in the dtype of the result; TypeError if it cannot be one."""
    aval = aval_of(out)
    if not aval.inexact or is_zero(tangent):
        return None
    got = aval_of(tangent)
    if got.shape == aval.shape and got.dtype == aval.dtype:
        return tangent
    if got.shape == aval.shape and got.weak_type:
        return convert_element_type(tangent, aval.dtype)
    raise TypeError(
        f"the rule `{name}` must return a tangent like the result, which is"
        f" {aval.long_name()}, but the tangent is {got.long_name()}"
    )


class custom_vjp(_Custom[Result]):
    """A function with its own rule for reverse differentiation.

    Args:
      fun: the function; arguments and results are pytrees of arrays.
      nondiff_argnums: arguments that are not arrays, or are not differentiated. `fwd`
        takes all arguments as `fun` does; `bwd` takes these first.

    Raises AttributeError when it is called before `defvjp`.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> @jax.custom_vjp
    ... def clip_gradient(x):
    ...     return x
    >>> clip_gradient.defvjp(lambda x: (x, None), lambda _, g: (jnp.clip(g, -1, 1),))
    >>> float(jax.grad(lambda x: 5.0 * clip_gradient(x))(2.0))
    1.0
    """

    fwd: Callable[..., Any] | None = None
    bwd: Callable[..., Any]
    symbolic_zeros = False
    optimize_remat = False

    def defvjp(
        self,
        fwd: Callable[..., Any],
        bwd: Callable[..., Any],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """Sets `fwd(*args) -> (result, residuals)` and
        `bwd(*nondiff, residuals, cotangent) -> tuple of cotangents`, None for zero.

        With `symbolic_zeros`, `fwd` takes `CustomVJPPrimal` objects, which say what is
        differentiated, and cotangents that are zero are `SymbolicZero` objects. With
        `optimize_remat`, results that are needed without residuals, as under
        `jax.checkpoint`, come from the function itself and not from `fwd`.
        """
        for rule in (fwd, bwd):
            check_callable(rule, "defvjp", "f.defvjp(fwd, bwd)")
        self.fwd = fwd
        self.bwd = bwd
        self.symbolic_zeros = symbolic_zeros
        self.optimize_remat = optimize_remat

    def __call__(self, *args: Any, **kwargs: Any) -> Result:
        if self.fwd is None:
            raise AttributeError(
                f"No VJP defined for custom_vjp function {name_of(self.fun)} using defvjp."
                f" State the rules with {name_of(self.fun)}.defvjp(fwd, bwd)"
            )
        args = tuple(self.arguments.positional(args, kwargs))
        if STATE.trace is base_trace():
            return self.fun(*args)
        static, others, together = self.taken_apart(args)
        leaves, in_tree = tree.flatten(tuple(others))
        trees = _Trees()
        symbolic = self.symbolic_zeros

        def flat_fun(*values: Any) -> list[Any]:
            out = self.fun(*together(in_tree.unflatten(values)))
            outs, trees.out = tree.flatten(out)
            return outs

        def flat_fwd(
            values: Sequence[Any], perturbed: Sequence[bool]
        ) -> tuple[list[Any], list[Any]]:
            trees.avals = [aval_of(v) for v in values]
            if symbolic:
                values = [CustomVJPPrimal(v, p) for v, p in zip(values, perturbed)]
            result = self.fwd(*together(in_tree.unflatten(values)))  # type: ignore[misc]
            if not isinstance(result, (tuple, list)) or len(result) != 2:
                raise TypeError(
                    f"Custom VJP fwd rule {name_of(self.fwd)} for function"
                    f" {name_of(self.fun)} must produce a pair (result, residuals), got"
                    f" {described(result)}"
                )
            outs, trees.out = tree.flatten(result[0])
            trees.out_avals = [aval_of(out) for out in outs]
            residuals, trees.residuals = tree.flatten(result[1])
            return outs, residuals

        def flat_bwd(residuals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
            given = [
                ct
                if ct is not None and aval.inexact
                else _zero_cotangent(aval, symbolic)
                for ct, aval in zip(cts, trees.out_avals)
            ]
            found = self.bwd(
                *static,
                trees.residuals.unflatten(residuals),
                trees.out.unflatten(given),
            )
            return self.checked(found, in_tree, trees.avals)

        user = self.fwd, self.bwd
        rules = VjpRules(
            self.fun, user, flat_fwd, flat_bwd, symbolic, self.optimize_remat
        )
        outs = CustomVjp(flat_fun, rules)(*leaves)
        result: Result = trees.out.unflatten(outs)
        return result

    def checked(self, found: Any, in_tree: Any, avals: Sequence[Aval]) -> list[Any]:
        """What `bwd` returned as a flat list: a cotangent or None for each leaf."""
        name = name_of(self.bwd)
        count = len(in_tree.children())
        if isinstance(found, list):
            found = tuple(found)
        if not isinstance(found, tuple) or len(found) != count:
            each = "the argument" if count == 1 else f"each of the {count} arguments"
            written = ", ".join(["..."] * count) + ("," if count == 1 else "")
            raise TypeError(
                f"Custom VJP bwd rule {name} must produce a tuple with one cotangent for"
                f" {each} of `{name_of(self.fun)}`, got {described(found)}. Write `return"
                f" ({written})`."
            )
        values, prefix = tree.flatten(found, is_leaf=lambda x: x is None)
        places = in_tree.unflatten(range(len(avals)))
        try:
            subtrees = prefix.flatten_up_to(places)
        except ValueError:
            arguments = f"the tuple of arguments of `{name_of(self.fun)}`"
            picture = differing_structures(
                (arguments, in_tree, avals),
                ("the cotangents", *tree.flatten(found)[::-1]),
            )
            raise TypeError(
                f"Custom VJP bwd rule {name} must produce cotangents in the structure of"
                f" {arguments}; None stands for zero.\n{picture}\n{to_return(in_tree).strip()}"
            ) from None
        flat: list[Any] = [None] * len(avals)
        for value, subtree in zip(values, subtrees):
            for i in tree.leaves(subtree):
                flat[i] = _fitting_cotangent(name, i, avals[i], value)
        return flat


def _zero_cotangent(aval: Aval, symbolic: bool) -> Any:
    zero = SymbolicZero(tangent_aval(aval))
    return zero if symbolic else zero.instantiate()


def _fitting_cotangent(name: str, index: int, aval: Aval, value: Any) -> Any:
    """The cotangent in the dtype of the argument; ValueError if it cannot be one."""
    if not aval.inexact:
        return None
    if is_zero(value) and (
        type(value) is not SymbolicZero or value.shape == aval.shape
    ):
        return None
    got = aval_of(value)
    if got.shape == aval.shape and got.dtype == aval.dtype:
        return value
    if got.shape == aval.shape and (got.weak_type or got.kind == aval.kind):
        return convert_element_type(value, aval.dtype)
    raise ValueError(
        f"`{name}` must return cotangents like the arguments: at output[{index}] the bwd"
        f" rule produced an output of type {got.long_name()}, but the argument is"
        f" {aval.long_name()}. Consider just returning a None here if the cotangent is zero"
    )
