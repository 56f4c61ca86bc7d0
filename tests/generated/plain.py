"""A library in which control flow is Python's: the meaning of `lax.scan` and its kin.

`plain(tetrad)` has the names of the package, except that loops are loops, branches are
branches, a mapped function is called for each lane, `jit` and `checkpoint` do nothing,
and a custom rule is forgotten.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from generated.program import library


def plain(package: types.ModuleType) -> types.SimpleNamespace:
    jnp, tree = package.numpy, package.tree_util

    def rows(xs: Any) -> int:
        return int(tree.tree_leaves(xs)[0].shape[0])

    def row(xs: Any, i: int) -> Any:
        return tree.tree_map(lambda x: x[i], xs)

    def stack(made: list[Any], like: Callable[[], Any]) -> Any:
        if made:
            return tree.tree_map(lambda *leaves: jnp.stack(leaves), *made)
        return tree.tree_map(lambda x: jnp.zeros((0, *x.shape), x.dtype), like())

    def scan(f: Any, init: Any, xs: Any = None, length: int | None = None,
             reverse: bool = False, unroll: int = 1) -> Any:  # fmt: skip
        count = rows(xs) if length is None else length
        carry, made = init, [None] * count
        for i in reversed(range(count)) if reverse else range(count):
            carry, made[i] = f(carry, row(xs, i))

        def turn() -> Any:
            blank = tree.tree_map(lambda x: jnp.zeros(x.shape[1:], x.dtype), xs)
            return f(init, blank)[1]

        return carry, stack(made, turn)

    def fori_loop(low: Any, high: Any, f: Any, init: Any) -> Any:
        for i in range(int(low), int(high)):
            init = f(i, init)
        return init

    def while_loop(going: Any, f: Any, init: Any) -> Any:
        while bool(going(init)):
            init = f(init)
        return init

    def cond(p: Any, yes: Any, no: Any, *args: Any) -> Any:
        return yes(*args) if bool(p) else no(*args)

    def switch(i: Any, functions: list[Any], *args: Any) -> Any:
        return functions[min(max(int(i), 0), len(functions) - 1)](*args)

    def map(f: Any, xs: Any, batch_size: int | None = None) -> Any:
        return stack([f(row(xs, i)) for i in range(rows(xs))], lambda: None)

    def vmap(f: Any, out_axes: int = 0) -> Any:
        def run(*args: Any) -> Any:
            made = [f(*row(args, i)) for i in range(rows(args))]
            return jnp.stack(made, axis=out_axes)

        return run

    def same(f: Any, **options: Any) -> Any:
        return f

    class Custom:
        def __init__(self, f: Any) -> None:
            self.f = f

        def __call__(self, *args: Any) -> Any:
            return self.f(*args)

        def defjvp(self, rule: Any) -> None:
            pass

        def defvjp(self, forward: Any, backward: Any) -> None:
            pass

    lax = library(package.lax, scan=scan, fori_loop=fori_loop, while_loop=while_loop,
                  cond=cond, switch=switch, map=map)  # fmt: skip
    return library(package, lax=lax, vmap=vmap, jit=same, checkpoint=same,
                   custom_jvp=Custom, custom_vjp=Custom)  # fmt: skip
