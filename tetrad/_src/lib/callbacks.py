"""Calls of Python from programs: `pure_callback`, `io_callback`, and what they share.

In: a function of pytrees of arrays, and the types of its results. Out: the operation
`HostCall`, which every machine knows by the fact `Op.host`: it hands over arrays and
gets host arrays. A pure call may be dropped, joined with an equal one or repeated; one
with effects happens exactly where it stands.

Read `Callback` (the function over flat arrays), `EachLane` (the same for a whole axis),
`HostCall` and its two kinds, then the public functions. `debug.py` has the calls that
only look on.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from tetrad._src.control.signature import name_of
from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import STATE, Value, aval_of, base_trace
from tetrad._src.core.bind import at as at_trace
from tetrad._src.core.effects import IO, ORDERED_IO
from tetrad._src.core.op import Axis
from tetrad._src.numpy import convert
from tetrad._src.ops.families import PYTHON_NUMBERS, Call
from tetrad._src.ops.views import expand_dims
from tetrad._src.transforms.vmap import spread
from tetrad._src.util import dtypes, tree

Mask = tuple[bool, ...]

METHODS = (
    "sequential",
    "sequential_unrolled",
    "expand_dims",
    "broadcast_all",
    "legacy_vectorized",
)
SEQUENTIAL = ("sequential", "sequential_unrolled")


def is_array(x: Any) -> bool:
    """Whether a leaf of the arguments travels as an array."""
    if isinstance(x, (Value, *PYTHON_NUMBERS)):
        return True
    if isinstance(x, (np.ndarray, np.generic)):
        return x.dtype.kind not in "OSUMm"
    return hasattr(x, "__jax_array__")


class Callback:
    """A function of the user over flat arrays; equal if it is the same function.

    `static` are the leaves of its arguments that are no arrays, with their places.
    """

    __slots__ = ("fun", "in_tree", "static", "key")

    def __init__(
        self, fun: Callable[..., Any], in_tree: Any, static: Sequence[tuple[int, Any]]
    ) -> None:
        self.fun = fun
        self.in_tree = in_tree
        self.static = tuple(static)
        leaves = tuple([(place, _known_as(leaf)) for place, leaf in self.static])
        self.key = (_known_as(fun), in_tree, leaves)

    def __call__(self, *arrays: Any) -> Any:
        leaves = list(arrays)
        for place, leaf in self.static:
            leaves.insert(place, leaf)
        args, kwargs = self.in_tree.unflatten(leaves)
        return self.fun(*args, **kwargs)

    def __eq__(self, other: object) -> bool:
        return type(other) is Callback and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"Callback({self.fun!r})"

    @property
    def name(self) -> str:
        return name_of(self.fun)


def _known_as(x: Any) -> Any:
    """A hashable that is equal for what is the same; whoever has it must keep `x`."""
    if hasattr(x, "known_as"):
        return x.known_as
    if isinstance(x, types.MethodType):
        return (id(x.__self__), id(x.__func__))
    if isinstance(x, (str, int, float, np.dtype, type(None))):
        return (type(x), x)
    return id(x)


class EachLane:
    """A callback for all lanes of a mapped axis: called once for each, in order.

    `mapped` says which of the arrays have a leading axis of lanes; `avals` are the
    types of the results of one lane.
    """

    __slots__ = ("callback", "mapped", "size", "avals", "what")

    def __init__(
        self,
        callback: Any,
        mapped: Mask,
        size: int,
        avals: tuple[Aval, ...],
        what: str,
    ) -> None:
        self.callback = callback
        self.mapped = mapped
        self.size = size
        self.avals = avals
        self.what = what

    def __call__(self, *arrays: Any) -> list[np.ndarray[Any, Any]]:
        lanes = [_lanes(x) if m else None for x, m in zip(arrays, self.mapped)]
        rows = []
        for i in range(self.size):
            args = [x if of is None else of(i) for x, of in zip(arrays, lanes)]
            rows.append(checked(self.callback(*args), self.avals, self))
        return [
            np.stack([row[k] for row in rows])
            if rows
            else np.zeros((0, *aval.shape), aval.dtype)
            for k, aval in enumerate(self.avals)
        ]

    def __eq__(self, other: object) -> bool:
        return type(other) is EachLane and self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash(self._fields())

    def _fields(self) -> tuple[Any, ...]:
        return (self.callback, self.mapped, self.size, self.avals)

    def __repr__(self) -> str:
        return f"EachLane({self.callback!r}, size={self.size})"

    @property
    def name(self) -> str:
        name: str = self.callback.name
        return name


def _lanes(x: Any) -> Callable[[int], Any]:
    """Lane number `i` of an array of lanes."""
    if dtypes.is_key(x.dtype):
        return lambda i: x[i]
    host = np.asarray(x)
    weak = x.aval.weak_type
    return lambda i: convert.device_array(host[i], weak)


def checked(
    results: Any, avals: Sequence[Aval], call: Any
) -> list[np.ndarray[Any, Any]]:
    """What a callback returned, as host arrays of the promised types."""
    leaves = tree.leaves(results)
    who = f"{call.what}: the callback `{call.name}`"
    if len(leaves) != len(avals):
        raise RuntimeError(
            f"{who} returned {len(leaves)} arrays, but result_shape_dtypes promises"
            f" {len(avals)}"
        )
    arrays = []
    for number, (leaf, aval) in enumerate(zip(leaves, avals)):
        host = np.asarray(leaf)
        if host.dtype.kind in "OSUMm":
            raise RuntimeError(
                f"{who} returned something that is no array: result {number} is a"
                f" {type(leaf).__name__}"
            )
        dtype = dtypes.canonicalize_dtype(host.dtype)
        if host.shape != aval.shape or dtype != aval.dtype:
            kind = "shape" if host.shape != aval.shape else "dtype"
            raise RuntimeError(
                f"{who} gave a wrong result. Incorrect output {kind} for return value"
                f" #{number}: Expected: {aval.long_name()}, as result_shape_dtypes"
                f" promises, Actual: {Aval(host.shape, dtype).long_name()}"
            )
        arrays.append(np.ascontiguousarray(host, aval.dtype).reshape(aval.shape))
    return arrays


class HostCall(Call):
    """A call of Python with arrays; equal to another one if it does the same."""

    aligned = False
    vectorized = False  # whether one call may serve all lanes of a mapped axis

    @property
    def what(self) -> str:
        """The public function, for messages."""
        return self.name

    @property
    def function(self) -> Any:
        """What is called with the arrays."""
        return self.callback  # type: ignore[attr-defined]

    @property
    def avals(self) -> tuple[Aval, ...]:
        """The types of the results."""
        return ()

    def type(self, *avals: Aval) -> tuple[Aval, ...]:
        return self.avals

    def host(self, *arrays: Value) -> list[np.ndarray[Any, Any]]:
        """Calls the function; runs outside every transformation."""
        outside = STATE.where
        STATE.where = None
        function = self.function
        try:
            with at_trace(base_trace()):
                results = function(*arrays)
                if type(function) is EachLane:
                    return results  # type: ignore[no-any-return]
                return self.take(results)
        finally:
            STATE.where = outside

    def constant(self) -> bool:
        """Whether there is no result that could have a derivative."""
        return not any([aval.inexact for aval in self.avals])

    def take(self, results: Any) -> list[np.ndarray[Any, Any]]:
        """What the function returned, checked."""
        call = _Named(self.what, self.function.name)
        return checked(results, self.avals, call)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.structural() == other.structural()  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash(self.structural())


class _Named:
    """Who is to be named in a message."""

    __slots__ = ("what", "name")

    def __init__(self, what: str, name: str) -> None:
        self.what = what
        self.name = name


class PureCallback(HostCall):
    """A call whose results depend on its arguments alone."""

    callback: Any
    result_avals: tuple[Aval, ...]
    sharding: Any = None
    vmap_method: str | None = None

    name = "pure_callback"

    @property
    def avals(self) -> tuple[Aval, ...]:
        return self.result_avals

    @property
    def vectorized(self) -> bool:  # type: ignore[override]
        return self.vmap_method not in (None, *SEQUENTIAL)

    def batch(self, axis: Axis, mapped: Mask, *args: Any) -> list[Any]:
        method = self.vmap_method
        if method is None:
            raise NotImplementedError(
                "vmap is only supported for pure_callback with a vmap_method, and"
                f" pure_callback({self.callback.name}, ...) was given none. Say how the"
                " callback takes lanes: vmap_method='sequential' calls it once for each,"
                " 'expand_dims' or 'broadcast_all' once with a leading axis"
            )
        avals = tuple([a.mapped(axis.size) for a in self.result_avals])
        callback = self.callback
        if method in SEQUENTIAL:
            callback = EachLane(
                callback, mapped, axis.size, self.result_avals, self.name
            )
        elif method == "expand_dims":
            args = tuple(
                [a if m else expand_dims(a, (0,)) for a, m in zip(args, mapped)]
            )
        elif method == "broadcast_all":
            args = tuple([a if m else spread(axis, a) for a, m in zip(args, mapped)])
        results: list[Any] = PureCallback(callback, avals, self.sharding, method)(*args)
        return results

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        if self.constant():
            return self(*primals), [None] * len(self.avals)
        raise ValueError(
            "Pure callbacks do not support JVP. Nothing is known about the derivative of"
            f" `{self.callback.name}`; state it with `jax.custom_jvp` or"
            " `jax.custom_vjp` around the function that calls pure_callback"
        )

    def transpose(self, cts: Sequence[Any], *args: Any) -> NoReturn:
        raise ValueError(
            "Pure callbacks do not support transpose. Give the function that calls"
            " pure_callback its derivative with `jax.custom_vjp`"
        )


class IOCallback(HostCall):
    """A call that acts on the world outside; it happens once, wherever it stands."""

    callback: Any
    result_avals: tuple[Aval, ...]
    ordered: bool = False
    sharding: Any = None

    name = "io_callback"

    @property
    def effects(self) -> frozenset[Any]:  # type: ignore[override]
        return _ORDERED if self.ordered else _UNORDERED

    @property
    def avals(self) -> tuple[Aval, ...]:
        return self.result_avals

    def batch(self, axis: Axis, mapped: Mask, *args: Any) -> list[Any]:
        if self.ordered:
            raise ValueError(
                "Cannot `vmap` ordered IO callback: lanes have no order. Leave out"
                f" ordered=True of io_callback({self.callback.name}, ...), or loop over"
                " the lanes with jax.lax.map"
            )
        avals = tuple([a.mapped(axis.size) for a in self.result_avals])
        each = EachLane(self.callback, mapped, axis.size, self.result_avals, self.name)
        results: list[Any] = IOCallback(each, avals, False, self.sharding)(*args)
        return results

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        if self.constant():
            return self(*primals), [None] * len(self.avals)
        raise ValueError(
            "IO callbacks do not support JVP. Nothing is known about the derivative of"
            f" `{self.callback.name}`; give it values that are not differentiated"
            " (`jax.lax.stop_gradient`), or state the derivative of the function around"
            " it with `jax.custom_jvp`"
        )

    def transpose(self, cts: Sequence[Any], *args: Any) -> NoReturn:
        raise ValueError(
            "IO callbacks do not support transpose. Give the function that calls"
            " io_callback its derivative with `jax.custom_vjp`"
        )


_ORDERED = frozenset({ORDERED_IO})
_UNORDERED = frozenset({IO})


# ------------------------------------------------------------------------------ public


def flat_callback(
    what: str, callback: Callable[..., Any], args: Any, kwargs: Any, static: bool
) -> tuple[Callback, list[Any]]:
    """`callback` over the arrays among the leaves of its arguments, and these arrays.

    Other leaves are part of the callback if `static` allows it.
    """
    if not callable(callback):
        raise TypeError(
            f"{what}: the first argument must be callable, got"
            f" {callback!r} of type {type(callback).__name__}"
        )
    leaves, in_tree = tree.flatten((args, kwargs))
    arrays: list[Any] = []
    fixed: list[tuple[int, Any]] = []
    for place, leaf in enumerate(leaves):
        if is_array(leaf):
            convert_self = getattr(leaf, "__jax_array__", None)
            arrays.append(leaf if convert_self is None else convert_self())
        elif static:
            fixed.append((place, leaf))
        else:
            raise TypeError(
                f"{what}: the callback `{name_of(callback)}` is called with arrays, but"
                f" one of its arguments is {leaf!r} of type {type(leaf).__name__}. Bind"
                " it beforehand: functools.partial(callback, ...), or a lambda"
            )
    return Callback(callback, in_tree, fixed), arrays


def _result_types(what: str, spec: Any) -> tuple[tuple[Aval, ...], Any]:
    """The types of the results, and the structure in which they are returned."""
    leaves, out_tree = tree.flatten(spec)
    avals = []
    for leaf in leaves:
        if not hasattr(leaf, "shape") or not hasattr(leaf, "dtype"):
            if not isinstance(leaf, PYTHON_NUMBERS):
                raise TypeError(
                    f"{what}: result_shape_dtypes takes a tree of"
                    " jax.ShapeDtypeStruct(shape, dtype), or of arrays that stand for"
                    f" their shape and dtype; got {leaf!r}"
                )
            avals.append(aval_of(leaf).strong())
            continue
        dtype = dtypes.as_dtype(leaf.dtype)
        if dtypes.is_key(dtype):
            raise TypeError(
                f"{what}: a callback cannot return typed random keys; return their words"
                " (uint32) and wrap these with jax.random.wrap_key_data"
            )
        if dtypes.canonicalize_dtype(dtype) != dtype:
            raise ValueError(
                f"{what}: result_shape_dtypes cannot specify 64-bit types while"
                f" jax_enable_x64 is off, got {dtype.name}. Ask for"
                f" {dtypes.canonicalize_dtype(dtype).name}, or switch on 64-bit types"
                " with jax.config.update('jax_enable_x64', True)"
            )
        avals.append(Aval(tuple(leaf.shape), dtype))
    return tuple(avals), out_tree


def _check_sharding(what: str, sharding: Any) -> None:
    if sharding is not None:
        raise NotImplementedError(
            f"{what}(sharding=...) is not available: the callback runs in the process"
            " that calls the program, with whole arrays. Leave it out"
        )


def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    vmap_method: str | None = None,
    **kwargs: Any,
) -> Any:
    """Calls a pure Python function of arrays, also from compiled code.

    The call may be left out if nobody uses its results, happen once for several equal
    ones, or happen again; use `io_callback` for functions that do something.

    Args:
      callback: a function of arrays that returns arrays (NumPy's, too).
      result_shape_dtypes: a tree of `jax.ShapeDtypeStruct`s, the types of the results.
      *args: trees of arrays for the callback.
      sharding: must be None.
      vmap_method: how `vmap` calls it: "sequential" for each lane, "expand_dims" once
        with a leading axis of lanes (of size 1 where an argument is not mapped),
        "broadcast_all" once with all arguments broadcast to all lanes,
        "legacy_vectorized" once with unmapped arguments as they are. None: not at all.
      **kwargs: further arguments.

    Raises RuntimeError if the results have other shapes or dtypes than was promised.

    >>> import numpy as np, tetrad as jax
    >>> shape = jax.ShapeDtypeStruct((), "float32")
    >>> float(jax.jit(lambda x: jax.pure_callback(np.sqrt, shape, x))(4.0))
    2.0
    """
    what = "pure_callback"
    if vmap_method is not None and vmap_method not in METHODS:
        raise ValueError(
            f"{what}: vmap_method must be one of"
            f" {', '.join(map(repr, METHODS))} or None, got {vmap_method!r}"
        )
    _check_sharding(what, sharding)
    flat, arrays = flat_callback(what, callback, args, kwargs, static=False)
    avals, out_tree = _result_types(what, result_shape_dtypes)
    return out_tree.unflatten(PureCallback(flat, avals, None, vmap_method)(*arrays))


def io_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    ordered: bool = False,
    **kwargs: Any,
) -> Any:
    """Calls a Python function that acts on the world outside, also from compiled code.

    It happens once for each time that the program reaches it, whether its results are
    used or not.

    Args:
      callback: a function of arrays that returns arrays.
      result_shape_dtypes: a tree of `jax.ShapeDtypeStruct`s, or None for no results.
      *args: trees of arrays for the callback.
      sharding: must be None.
      ordered: whether it keeps its place among other ordered calls; `vmap` refuses it.
      **kwargs: further arguments.

    Raises RuntimeError if the results have other shapes or dtypes than was promised.

    >>> import tetrad as jax
    >>> from tetrad.experimental import io_callback
    >>> seen = []
    >>> jax.jit(lambda x: io_callback(lambda v: seen.append(int(v)), None, x))(3)
    >>> seen
    [3]
    """
    what = "io_callback"
    _check_sharding(what, sharding)
    flat, arrays = flat_callback(what, callback, args, kwargs, static=False)
    avals, out_tree = _result_types(what, result_shape_dtypes)
    outs = IOCallback(flat, avals, bool(ordered), None)(*arrays)
    return out_tree.unflatten(outs)
