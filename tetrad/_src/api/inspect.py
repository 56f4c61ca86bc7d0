"""Looking at functions without running them: `make_jaxpr`, `eval_shape`.

In: a function and arguments (or `ShapeDtypeStruct`s in their place). Out: its jaxpr, as
a `ClosedJaxpr` with the arrays it closed over; or the shapes and dtypes of its results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tetrad._src.api.flat import (
    FlatFunction,
    argument_name,
    leaf_aval,
    shortened,
    without_static,
    wraps_of,
)
from tetrad._src.control.signature import argument_numbers, check_callable, name_of
from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import STATE, Trace, Value, at
from tetrad._src.core.jaxpr import Eqn, Jaxpr, OpenJaxpr, eval_jaxpr
from tetrad._src.core.op import Axis
from tetrad._src.core.stage import stage
from tetrad._src.core.text import jaxpr_text, pretty_print
from tetrad._src.transforms.vmap import Batch
from tetrad._src.util import dtypes, frames, tree

Fun = Callable[..., Any]


class ShapeDtypeStruct:
    """The shape and dtype of an array, without its contents.

    Takes the place of an array in `eval_shape`, `make_jaxpr`, `jit(f).lower` and
    `linear_transpose`.

    >>> import tetrad as jax
    >>> jax.ShapeDtypeStruct((2, 3), "float32")
    ShapeDtypeStruct(shape=(2, 3), dtype=float32)
    """

    __slots__ = ("shape", "dtype", "sharding", "weak_type")

    def __init__(
        self,
        shape: Iterable[int],
        dtype: Any,
        *,
        sharding: Any = None,
        weak_type: bool = False,
    ) -> None:
        if dtype is None:
            raise ValueError("ShapeDtypeStruct: dtype must be specified, got None")
        self.shape = tuple([int(extent) for extent in shape])
        self.dtype = dtypes.as_dtype(dtype)
        self.sharding = sharding
        self.weak_type = weak_type

    @classmethod
    def like(cls, x: Any) -> ShapeDtypeStruct:
        """The shape and dtype of `x`, an array or a number.

        >>> import tetrad as jax, tetrad.numpy as jnp
        >>> jax.ShapeDtypeStruct.like(jnp.ones(3))
        ShapeDtypeStruct(shape=(3,), dtype=float32)
        """
        return struct_of(abstract(x))

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return Aval(self.shape, self.dtype).size

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError(
                "len() of unsized object: this ShapeDtypeStruct has no axes"
            )
        return self.shape[0]

    def update(self, **changes: Any) -> ShapeDtypeStruct:
        """The same with some of shape, dtype, sharding, weak_type changed."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        fields.update(changes)
        return ShapeDtypeStruct(**fields)

    def _key(self) -> tuple[Any, ...]:
        return self.shape, self.dtype, self.sharding, self.weak_type

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ShapeDtypeStruct):
            return False
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        where = f", sharding={self.sharding}" if self.sharding is not None else ""
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype.name}{where}{weak})"


def struct_of(aval: Aval) -> ShapeDtypeStruct:
    return ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type)


def abstract(leaf: Any) -> Aval:
    """The aval of an array, or of anything that has a shape and a dtype."""
    if isinstance(leaf, Value):
        return leaf.aval
    if isinstance(leaf, Aval):
        return leaf
    if isinstance(leaf, ShapeDtypeStruct):
        dtype = dtypes.canonicalize_dtype(leaf.dtype)
        return Aval(leaf.shape, dtype, leaf.weak_type)
    if isinstance(leaf, (np.ndarray, np.generic)) or not hasattr(leaf, "shape"):
        return leaf_aval(leaf)
    weak = bool(getattr(leaf, "weak_type", False))
    return Aval(leaf.shape, dtypes.canonicalize_dtype(leaf.dtype), weak)


def abstract_leaves(
    what: str, fun: Fun, in_tree: Any, leaves: Sequence[Any]
) -> list[Aval]:
    """The avals of the leaves of (args, kwargs); TypeError for what is no array."""
    avals = []
    for i, leaf in enumerate(leaves):
        try:
            avals.append(abstract(leaf))
        except (TypeError, ValueError):
            raise TypeError(
                f"{what}: argument `{argument_name(fun, in_tree, i)}` of"
                f" `{name_of(fun)}` must be an array, a number or a ShapeDtypeStruct,"
                f" got {shortened(leaf)} of type {type(leaf).__name__}"
            ) from None
    return avals


class ClosedJaxpr:
    """A jaxpr together with the arrays that it closes over.

    Its first inputs are these `consts`; `in_avals` are the types of the others.
    """

    __slots__ = ("jaxpr", "consts")

    def __init__(self, jaxpr: Jaxpr, consts: Sequence[Any]) -> None:
        self.jaxpr = OpenJaxpr(jaxpr, len(consts)) if consts else jaxpr
        self.consts = list(consts)

    @property
    def in_avals(self) -> list[Aval]:
        return list(self.jaxpr.in_avals[len(self.consts) :])

    @property
    def out_avals(self) -> list[Aval]:
        return list(self.jaxpr.out_avals)

    @property
    def eqns(self) -> list[Eqn]:
        return self.jaxpr.eqns

    @property
    def effects(self) -> frozenset[Any]:
        return self.jaxpr.effects

    @property
    def literals(self) -> list[Any]:
        return self.consts

    def __call__(self, *args: Any) -> list[Any]:
        """The results for flat arguments."""
        return eval_jaxpr(self.jaxpr, [*self.consts, *args])

    def replace(
        self, *, jaxpr: Jaxpr | None = None, consts: Sequence[Any] | None = None
    ) -> ClosedJaxpr:
        """The same with another jaxpr, other arrays, or both."""
        return ClosedJaxpr(
            self.jaxpr if jaxpr is None else jaxpr,
            self.consts if consts is None else consts,
        )

    pretty_print = pretty_print

    def __str__(self) -> str:
        return jaxpr_text(self.jaxpr, len(self.consts))

    __repr__ = __str__


def jaxpr_as_fun(closed: ClosedJaxpr) -> Callable[..., list[Any]]:
    """The function from flat arguments to flat results that a jaxpr is."""
    return closed.__call__


def replay(
    jaxpr: Jaxpr, consts: Sequence[Any], *args: Any, propagate_source_info: bool = True
) -> list[Any]:
    """The outputs of `jaxpr`, with `consts` for what it closes over, for flat arguments.

    >>> import tetrad as jax
    >>> closed = jax.make_jaxpr(lambda x: x + 1.0)(2.0)
    >>> jax.core.eval_jaxpr(closed.jaxpr, closed.consts, 3.0)
    [Array(4., dtype=float32, weak_type=True)]
    """
    given = [*consts, *args]
    if len(given) != len(jaxpr.ins):
        raise TypeError(
            f"eval_jaxpr: the jaxpr takes {len(jaxpr.ins)} values, got {len(consts)}"
            f" constants and {len(args)} arguments"
        )
    return eval_jaxpr(jaxpr, given)


def typeof(x: Any) -> Aval:
    """The type of an array or number: its shape, dtype and whether it is weak.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> jax.typeof(jnp.ones((2, 3))), jax.typeof(1.5)
    (ShapedArray(float32[2,3]), ShapedArray(float32[], weak_type=True))
    """
    if isinstance(x, Aval):
        raise TypeError(
            f"typeof takes an array or a number, got {x!r}, which is a type"
        )
    return leaf_aval(x)


def _inside_axes(axes: Iterable[tuple[Any, int]]) -> Trace:
    """A trace in which axes of these names and sizes are mapped."""
    trace = STATE.trace
    for name, size in axes:
        trace = Batch(trace, Axis(size, name))
    return trace


def make_jaxpr(
    fun: Fun,
    static_argnums: int | Iterable[int] = (),
    axis_env: Sequence[tuple[Any, int]] | None = None,
    return_shape: bool = False,
) -> Fun:
    """The function that gives the jaxpr of `fun` for given arguments.

    Args:
      fun: a function of pytrees.
      static_argnums: positional arguments that are not arrays.
      axis_env: names and sizes of axes that `fun` may refer to, outermost first.
      return_shape: whether to return a pair (jaxpr, shapes and dtypes of the result).

    >>> import tetrad as jax
    >>> jax.make_jaxpr(lambda x: x + 1.0)(2.0)
    { lambda ; a:f32[]. let b:f32[] = add a 1.0:f32[] in (b,) }
    """
    if not callable(fun):
        raise TypeError(
            f"make_jaxpr takes a function, got {shortened(fun)} of type"
            f" {type(fun).__name__}. Write make_jaxpr(f)(x), not make_jaxpr(f(x))."
        )
    given = static_argnums
    numbers = argument_numbers(
        tuple(given) if isinstance(given, Iterable) else given,
        "make_jaxpr: static_argnums",
    )

    def jaxpr_of(*args: Any, **kwargs: Any) -> Any:
        call, dynamic = without_static(fun, args, numbers)
        leaves, in_tree = tree.flatten((dynamic, kwargs))
        avals = abstract_leaves("make_jaxpr", fun, in_tree, leaves)
        flat = FlatFunction(call, in_tree, "make_jaxpr")
        with at(_inside_axes(axis_env or ())):
            jaxpr, consts = stage(flat, avals, name_of(fun))
        closed = ClosedJaxpr(jaxpr, consts)
        if return_shape:
            structs = [struct_of(a) for a in jaxpr.out_avals]
            return closed, flat.out_tree.unflatten(structs)
        return closed

    return wraps_of(fun, "make_jaxpr({fun})")(frames.hide_frames(jaxpr_of))


def eval_shape(fun: Fun, *args: Any, **kwargs: Any) -> Any:
    """The shapes and dtypes of `fun(*args, **kwargs)`, without computing anything.

    Arguments may be arrays or `ShapeDtypeStruct`s, and so may the results of `fun`; the
    result is a pytree of the latter.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> jax.eval_shape(jnp.dot, jnp.ones((3, 4)), jnp.ones((4,)))
    ShapeDtypeStruct(shape=(3,), dtype=float32)
    """
    with frames.hidden_frames():
        check_callable(fun, "eval_shape", "eval_shape(f, x), not eval_shape(f(x))")
        leaves, in_tree = tree.flatten((args, kwargs))
        avals = abstract_leaves("eval_shape", fun, in_tree, leaves)
        flat = _ShapeFunction(fun, in_tree, "eval_shape")
        jaxpr, _ = stage(flat, avals, name_of(fun))
        structs = [struct_of(a) for a in jaxpr.out_avals]
        for place, struct in flat.structs.items():
            structs[place] = struct
        return flat.out_tree.unflatten(structs)


class _ShapeFunction(FlatFunction):
    """A function whose results may be ShapeDtypeStructs: these are its answer."""

    __slots__ = ("structs",)

    structs: dict[int, ShapeDtypeStruct]

    def checked(self, outs: list[Any]) -> list[Any]:
        self.structs = {
            i: out for i, out in enumerate(outs) if isinstance(out, ShapeDtypeStruct)
        }
        known = [0 if i in self.structs else out for i, out in enumerate(outs)]
        return super().checked(known)
