"""Between pytrees and flat lists: what every public transformation does first.

In: a user's function and its arguments. Out: a function of flat values, which remembers
the structure of what it returned, and checked leaves.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from tetrad._src.control.signature import name_of, parameter_names
from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import Value, aval_of
from tetrad._src.numpy import convert
from tetrad._src.util import dtypes, tree

F = TypeVar("F", bound=Callable[..., Any])


class Float0:
    """A leaf of dtype float0 in a result: known from its shape, so it is no output."""

    __slots__ = ("shape",)

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape


tree.register_pytree_node(
    Float0, lambda x: ((), x.shape), lambda shape, _: np.zeros(shape, dtypes.float0)
)


def flatten_result(result: Any) -> tuple[list[Any], Any]:
    """Leaves and structure of a result; leaves of dtype float0 go to the structure."""
    outs, out_tree = tree.flatten(result)
    if any(isinstance(out, np.ndarray) and is_float0(out) for out in outs):
        result = out_tree.unflatten(
            [Float0(o.shape) if is_float0(o) else o for o in outs]
        )
        return tree.flatten(result)
    return outs, out_tree


class FlatFunction:
    """`fun` over flat values; `out_tree` is the structure of its last result.

    `in_tree` is the structure of (args, kwargs).
    """

    __slots__ = ("fun", "in_tree", "out_tree", "what")

    out_tree: Any

    def __init__(self, fun: Callable[..., Any], in_tree: Any, what: str) -> None:
        self.fun = fun
        self.in_tree = in_tree
        self.what = what

    def __call__(self, *leaves: Any) -> list[Any]:
        args, kwargs = self.in_tree.unflatten(leaves)
        outs, self.out_tree = flatten_result(self.fun(*args, **kwargs))
        return self.checked(outs)

    def checked(self, outs: list[Any]) -> list[Any]:
        """Results as values; TypeError for what is no array."""
        for i, out in enumerate(outs):
            if not isinstance(out, Value):
                outs[i] = self.converted(i, out)
        return outs

    def converted(self, index: int, out: Any) -> Any:
        if type(out) in _NUMBERS:
            return out
        try:
            return convert.operand(out, name_of(self.fun))
        except TypeError:
            place = tree.keystr(path_of_leaf(self.out_tree, index))
            where = f" at result{place}" if place else ""
            raise TypeError(
                f"{self.what}: `{name_of(self.fun)}` returned a value of type"
                f" {type(out).__name__}{where}, {shortened(out)}, but results must be"
                " arrays, numbers, or containers of these"
            ) from None


_NUMBERS = frozenset((bool, int, float, complex))


def without_static(
    fun: Callable[..., Any], args: Sequence[Any], numbers: Sequence[int]
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """`fun` of its other arguments, and these, when arguments `numbers` are fixed."""
    if not numbers:
        return fun, tuple(args)
    static = {n % len(args) for n in numbers} if args else set()

    def of_others(*others: Any, **kwargs: Any) -> Any:
        rest = iter(others)
        full = [a if i in static else next(rest) for i, a in enumerate(args)]
        return fun(*full, **kwargs)

    of_others.__name__ = name_of(fun)
    return of_others, tuple([a for i, a in enumerate(args) if i not in static])


def shortened(value: Any) -> str:
    try:
        text = repr(value)
    except Exception:  # of the user's class: the message is about something else
        text = " at 0x"
    if " at 0x" in text:  # where it lies tells nobody anything
        return f"<{type(value).__name__} object>"
    return text if len(text) <= 40 else f"{text[:37]}…"


def path_of_leaf(treedef: Any, index: int) -> Any:
    """The key path of leaf `index`."""
    numbered = treedef.unflatten(range(treedef.num_leaves))
    return tree.leaves_with_path(numbered)[index][0]


def argument_name(
    fun: Callable[..., Any], in_tree: Any, index: int, first: int = 0
) -> str:
    """What a user calls leaf `index` of (args, kwargs): `x`, `params['w'][0]`."""
    path = path_of_leaf(in_tree, index)
    kind, *rest = path
    if kind.idx == 1:
        return f"{rest[0].key}" + tree.keystr(tuple(rest[1:]))
    position: int = rest[0].idx + first
    return parameter_names(fun, position + 1)[position] + tree.keystr(tuple(rest[1:]))


def leaf_aval(x: Any) -> Aval:
    """The aval of an array or number; TypeError for everything else."""
    if isinstance(x, Value):
        return x.aval
    if type(x) in _NUMBERS or isinstance(x, (bool, int, float, complex)):
        return aval_of(x)
    if isinstance(x, (np.ndarray, np.generic)):
        if x.dtype.kind in "OSUMm":
            raise TypeError(f"arrays hold numbers, not {x.dtype}")
        if isinstance(x, np.ma.MaskedArray):
            raise ValueError(
                "numpy masked arrays are not supported, for they would lose their mask: pass x.data and x.mask, and choose"
                " with jnp.where"
            )
        return aval_of(x)
    raise TypeError(f"no array: {type(x).__name__}")


def as_value(x: Any, what: str, argument: str = "") -> Value:
    """A leaf as an array; TypeError in the user's words if it is none."""
    if isinstance(x, Value):
        return x
    value: Value = convert.value(x, what, argument)
    return value


def leaf_values(
    what: str, fun: Callable[..., Any], in_tree: Any, leaves: Sequence[Any]
) -> list[Any]:
    """The leaves of (args, kwargs) as arrays."""
    values = list(leaves)
    for i, leaf in enumerate(leaves):
        if not isinstance(leaf, Value):
            try:
                values[i] = convert.value(leaf, what)
            except TypeError:
                raise TypeError(
                    f"{what}: argument `{argument_name(fun, in_tree, i)}` of"
                    f" `{name_of(fun)}` must be an array or a number, got"
                    f" {shortened(leaf)} of type {type(leaf).__name__}"
                ) from None
    return values


def float0_zeros(aval: Aval) -> np.ndarray[Any, Any]:
    """The tangent of what has none: integers, bools, keys."""
    return np.zeros(aval.shape, dtypes.float0)


def is_float0(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype == dtypes.float0


def wraps_of(
    fun: Callable[..., Any], name: str = "{fun}", doc: str = ""
) -> Callable[[F], F]:
    """Decorator: the name, documentation and signature of `fun`, as far as it has any."""

    def decorate(wrapper: F) -> F:
        label = name_of(fun)
        try:
            functools.update_wrapper(wrapper, fun)
            wrapper.__name__ = name.format(fun=label)
            qualified = getattr(fun, "__qualname__", label)
            wrapper.__qualname__ = name.format(fun=qualified)
            if doc:
                wrapper.__doc__ = doc.format(fun=label, doc=fun.__doc__ or "")
        except (AttributeError, TypeError):
            pass
        return wrapper

    return decorate
