"""Functions whose behaviour under `vmap` the user states: `custom_vmap`.

In: a function over pytrees and a rule for all lanes at once. `CustomVmap` is the
operation: a call of the staged function with a batching rule of its own. Differentiated
forward it is the derivative of the function with the derivative of the rule; reverse
differentiation takes the function apart, and with it the rule.

Read `custom_vmap`, then `CustomVmap`, then `_differentiated`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from tetrad._src.control.call import (
    JaxprCall,
    Mask,
    expand_mask,
    jit_of,
    nonzero_mask,
)
from tetrad._src.control.custom import forwarded
from tetrad._src.control.pictures import skeleton
from tetrad._src.control.scan import scan
from tetrad._src.control.signature import Arguments, check_callable, name_of
from tetrad._src.core.bind import STATE, aval_of, base_trace
from tetrad._src.core.jaxpr import Jaxpr
from tetrad._src.core.op import Axis, Whole
from tetrad._src.core.stage import stage
from tetrad._src.ops.views import moveaxis
from tetrad._src.transforms.jvp import instantiate, jvp_flat, jvp_jaxpr
from tetrad._src.transforms.vmap import spread, vmap_flat
from tetrad._src.util import tree

Result = TypeVar("Result")

# A rule over flat values: it takes the axis, which operands carry it (at 0), and the
# operands; results that do not carry it are wrapped in `Whole`.
Rule = Callable[[Axis, Mask, Sequence[Any]], list[Any]]


class custom_vmap(Generic[Result]):
    """A function with its own rule for `vmap`.

    Args:
      fun: the function; arguments and results are pytrees of arrays.

    Raises AttributeError when it is called before `def_vmap`.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> @jax.custom_batching.custom_vmap
    ... def total(x):
    ...     return x.sum()
    >>> @total.def_vmap
    ... def total_of_lanes(axis_size, in_batched, x):
    ...     return x.sum(axis=1), True
    >>> jax.vmap(total)(jnp.ones((2, 3)))
    Array([3., 3.], dtype=float32)
    """

    def __init__(self, fun: Callable[..., Result]) -> None:
        check_callable(fun, "custom_vmap")
        functools.update_wrapper(self, fun, updated=())  # type: ignore[arg-type]
        self.fun = fun
        self.arguments = Arguments(fun)
        self.vmap_rule: Callable[..., Any] | None = None

    def __repr__(self) -> str:
        return f"<custom_vmap function {name_of(self.fun)}>"

    def __getattr__(self, name: str) -> Any:
        return forwarded(self, name)

    def def_vmap(self, vmap_rule: Callable[..., Any]) -> Callable[..., Any]:
        """Sets the rule `vmap_rule(axis_size, in_batched, *args)`.

        `in_batched` is a list with a pytree of bools for each argument: whether its
        leaves carry the mapped axis, which is then their first. The rule returns the
        result and a pytree of bools that says the same of its leaves.
        """
        check_callable(vmap_rule, "def_vmap", "f.def_vmap(rule)")
        self.vmap_rule = vmap_rule
        return vmap_rule

    def __call__(self, *args: Any, **kwargs: Any) -> Result:
        if self.vmap_rule is None:
            raise AttributeError(
                f"No batching rule defined for custom_vmap function {name_of(self.fun)}."
                f" State one with @{name_of(self.fun)}.def_vmap"
            )
        args = tuple(self.arguments.positional(args, kwargs))
        if STATE.trace is base_trace():
            return self.fun(*args)
        leaves, in_tree = tree.flatten(args)
        out_tree: Any = None

        def flat_fun(*values: Any) -> list[Any]:
            nonlocal out_tree
            outs, out_tree = tree.flatten(self.fun(*in_tree.unflatten(values)))
            return outs

        avals = [aval_of(leaf) for leaf in leaves]
        jaxpr, consts = stage(flat_fun, avals, name_of(self.fun))
        rule = self.flat_rule(len(consts), in_tree, out_tree)
        outs = CustomVmap(jaxpr, rule, name_of(self.vmap_rule))(*consts, *leaves)
        result: Result = out_tree.unflatten(outs)
        return result

    def flat_rule(self, consts: int, in_tree: Any, out_tree: Any) -> Rule:
        """The rule over flat values, after `consts` values that the function closes over."""
        user = self.vmap_rule
        assert user is not None
        fun, name = self.fun, name_of(user)

        def run(axis: Axis, mapped: Mask, args: Sequence[Any]) -> list[Any]:
            if any(mapped[:consts]):
                raise NotImplementedError(
                    f"the custom_vmap function `{name_of(fun)}` closes over a mapped"
                    " value, of which its rule knows nothing. Pass the value to"
                    f" `{name_of(fun)}` as an argument."
                )
            in_batched = list(in_tree.unflatten(mapped[consts:]))
            found = user(axis.size, in_batched, *in_tree.unflatten(args[consts:]))
            if not isinstance(found, (tuple, list)) or len(found) != 2:
                raise TypeError(
                    f"the rule `{name}` must return a pair (result, which of its leaves"
                    f" carry the mapped axis), got a value of type {type(found).__name__}"
                )
            outs, got_tree = tree.flatten(found[0])
            flags, flag_tree = tree.flatten(found[1])
            if flag_tree != got_tree:
                picture = tree.difference_text(
                    "the result", found[0], "the bools", found[1]
                )
                raise ValueError(
                    f"the rule `{name}` must return its result and its bools in one"
                    f" structure.\n{picture}"
                )
            if got_tree != out_tree:
                raise ValueError(
                    f"the rule `{name}` must return a result in the structure of that of"
                    f" `{name_of(fun)}`, which is {skeleton(out_tree)}, got"
                    f" {skeleton(got_tree)}"
                )
            return [o if flag else Whole(o) for o, flag in zip(outs, flags)]

        return run


class CustomVmap(JaxprCall):
    """A call with a batching rule of its own."""

    jaxpr: Jaxpr
    rule: Rule
    rule_name: str

    name = "custom_vmap_call"
    inlined = True

    @property
    def params(self) -> dict[str, Any]:
        return {"call": self.jaxpr, "rule": self.rule_name}

    def structural(self) -> Any:
        """The rule does not change what is computed."""
        return (CustomVmap, self.jaxpr.structural_key())

    def like(self, jaxpr: Jaxpr) -> JaxprCall:
        return jit_of(jaxpr)

    def batch(self, axis: Axis, mapped: Mask, *args: Any) -> list[Any]:
        outs = self.rule(axis, mapped, args)
        for out, want in zip(outs, self.jaxpr.out_avals):
            whole = type(out) is Whole
            got = aval_of(out.value if whole else out)
            shape = want.shape if whole else (axis.size, *want.shape)
            if got.shape != shape or got.dtype != want.dtype:
                raise ValueError(
                    f"the rule `{self.rule_name}` must return {want.dtype.name} of shape"
                    f" {shape} where the function returns {want.long_name()}"
                    f" {'in' if whole else 'for'} each of {axis.size} lanes, got"
                    f" {got.long_name()}"
                )
        return outs

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        nonzero = nonzero_mask(tangents)
        force = (True,) * len(self.jaxpr.outs)
        jaxpr, mask = jvp_jaxpr(self.jaxpr, nonzero, force)
        rule = _differentiated(self.rule, nonzero, mask)
        live = [t for t in tangents if t is not None]
        results = CustomVmap(jaxpr, rule, self.rule_name)(*primals, *live)
        count = len(mask)
        return results[:count], expand_mask(results[count:], mask)

    def dce(self, used: Mask) -> Any:
        return self, (True,) * len(self.jaxpr.ins), (True,) * len(used)


def _differentiated(rule: Rule, nonzero: Mask, out_mask: Mask) -> Rule:
    """The rule of (primals, tangents) that differentiates `rule`.

    Where primals and tangents are mapped alike, `rule` is given mapped primals. Where
    only one of the two is mapped, `rule` is run for one lane, if there is nothing else,
    and lanes are mapped over as usual; so a linear rule gives tangents for all lanes at
    once. Otherwise what is not mapped is repeated.
    """
    count = len(nonzero)

    def run(axis: Axis, mapped: Mask, args: Sequence[Any]) -> list[Any]:
        primals, live = list(args[:count]), iter(args[count:])
        tangents = [next(live) if on else None for on in nonzero]
        of_primals = list(mapped[:count])
        of_tangents = expand_mask(mapped[count:], nonzero)
        both = [p and (t is None or t) for p, t in zip(of_primals, of_tangents)]
        if not any(both):
            return alone(axis, args, mapped)
        for i in range(count):
            if of_primals[i] == bool(of_tangents[i]) or of_tangents[i] is None:
                continue
            if of_primals[i]:
                tangents[i] = spread(axis, tangents[i])
            else:
                primals[i] = spread(axis, primals[i])
        carried = tuple([p or bool(t) for p, t in zip(of_primals, of_tangents)])
        outs, found, whole = both_of(axis, carried, primals, tangents)
        results = [Whole(o) if w else o for o, w in zip(outs, whole)]
        for o, t, w, on in zip(outs, found, whole, out_mask):
            if on:
                t = instantiate(o, t)
                results.append(Whole(t) if w else t)
        return results

    def both_of(
        axis: Axis, carried: Mask, primals: Sequence[Any], tangents: Sequence[Any]
    ) -> tuple[list[Any], list[Any], list[bool]]:
        whole: list[bool] = []

        def flat(*xs: Any) -> list[Any]:
            outs = rule(axis, carried, xs)
            whole[:] = [type(o) is Whole for o in outs]
            return [o.value if type(o) is Whole else o for o in outs]

        outs, found = jvp_flat(flat, primals, tangents)
        return outs, found, whole

    def alone(axis: Axis, args: Sequence[Any], mapped: Mask) -> list[Any]:
        def flat(*xs: Any) -> list[Any]:
            tangents = expand_mask(xs[count:], nonzero)
            none = (False,) * count
            outs, found, _ = both_of(axis, none, xs[:count], tangents)
            return outs + [
                instantiate(o, t) for o, t, on in zip(outs, found, out_mask) if on
            ]

        axes = [0 if m else None for m in mapped]
        outs, at = vmap_flat(flat, axis, args, axes)
        return [
            Whole(o) if place is None else moveaxis(o, place, 0)
            for o, place in zip(outs, at)
        ]

    return run


def sequential_vmap(fun: Callable[..., Result]) -> custom_vmap[Result]:
    """A function whose lanes `vmap` runs one after the other, as `lax.scan` does.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> square = jax.custom_batching.sequential_vmap(lambda x: x * x)
    >>> jax.vmap(square)(jnp.arange(3))
    Array([0, 1, 4], dtype=int32)
    """
    mapped = custom_vmap(fun)

    def one_by_one(axis_size: int, in_batched: list[Any], *args: Any) -> Any:
        leaves, in_tree = tree.flatten(args)
        flags = tree.leaves(in_batched)
        lanes = [leaf for leaf, flag in zip(leaves, flags) if flag]

        def step(carry: None, xs: Any) -> Any:
            rest = iter(xs)
            values = [next(rest) if flag else leaf for leaf, flag in zip(leaves, flags)]
            return carry, mapped(*in_tree.unflatten(values))

        _, out = scan(step, None, lanes, length=axis_size)
        return out, tree.map(lambda _: True, out)

    one_by_one.__name__ = f"sequential_vmap of {name_of(fun)}"
    mapped.def_vmap(one_by_one)
    return mapped
