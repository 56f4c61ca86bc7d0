"""Functions that are wrapped step by step: what `jax.extend.linear_util` offers.

A `WrappedFun` is a function over flat values with wrappers around it, the outermost
first. A wrapper may leave something beside the result (the structure of the output, for
example) in a `Store`, which is read after the call. Nothing in the library is built on
this; libraries that write their own transformations are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tetrad._src.control.signature import name_of, parameter_names
from tetrad._src.util import tree
from tetrad._src.util.memo import Cache

Fun = Callable[..., Any]


class StoreException(Exception):
    """A result beside the result is read before there is one, or written twice."""


class Store:
    """A place for one value."""

    __slots__ = ("_value", "_full")

    def __init__(self) -> None:
        self._value: Any = None
        self._full = False

    def store(self, value: Any) -> None:
        if self._full:
            raise StoreException("something is stored already: the function ran twice")
        self._value = value
        self._full = True

    def reset(self) -> None:
        self._value = None
        self._full = False

    @property
    def val(self) -> Any:
        if not self._full:
            raise StoreException("nothing is stored yet: the function did not run")
        return self._value

    def __bool__(self) -> bool:
        return self._full


class DebugInfo(NamedTuple):
    """How a function that is traced is called in messages."""

    traced_for: str
    func_name: str
    arg_names: tuple[str, ...] | None = None
    result_paths: Any = None


def debug_info(
    traced_for: str,
    fun: Fun,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    **options: Any,
) -> DebugInfo:
    """The names of a function and its arguments."""
    names = tuple(parameter_names(fun, len(args))) + tuple(kwargs)
    return DebugInfo(traced_for, name_of(fun), names)


Wrapper = tuple[Fun, tuple[Any, ...], Store | None]


class WrappedFun:
    """`fun` inside of wrappers, the outermost first."""

    __slots__ = ("f", "transforms", "params", "debug_info")

    def __init__(
        self,
        fun: Fun,
        transforms: tuple[Wrapper, ...] = (),
        params: tuple[tuple[str, Any], ...] = (),
        debug_info: Any = None,
    ) -> None:
        self.f = fun
        self.transforms = transforms
        self.params = params
        self.debug_info = debug_info

    @property
    def __name__(self) -> str:
        return name_of(self.f)

    @property
    def stores(self) -> tuple[Store | None, ...]:
        return tuple([store for _, _, store in self.transforms])

    def wrap(self, wrapper: Fun, static: tuple[Any, ...], store: Store | None) -> Any:
        """This function inside one more wrapper."""
        transforms = ((wrapper, static, store), *self.transforms)
        return WrappedFun(self.f, transforms, self.params, self.debug_info)

    def call_wrapped(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function through all its wrappers."""
        fun = self.f
        if self.params:
            fun = functools.partial(fun, **dict(self.params))
        for wrapper, static, store in reversed(self.transforms):
            places = static if store is None else (store, *static)
            fun = functools.partial(wrapper, fun, *places)
        return fun(*args, **kwargs)

    def populate_stores(self, stores: Sequence[Store | None]) -> None:
        """Stores what the wrappers of an equal function stored."""
        for own, other in zip(self.stores, stores):
            if own is not None and other is not None and not own:
                own.store(other.val)

    def _key(self) -> Any:
        wrappers = tuple([(w, static) for w, static, _ in self.transforms])
        return self.f, wrappers, self.params

    def __hash__(self) -> int:
        return hash(self._key())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WrappedFun) and self._key() == other._key()

    def __repr__(self) -> str:
        names = [name_of(wrapper) for wrapper, _, _ in self.transforms]
        return " of ".join([*names, name_of(self.f)])


def wrap_init(
    fun: Fun, params: dict[str, Any] | None = None, *, debug_info: Any = None
) -> WrappedFun:
    """`fun`, ready to be wrapped; `params` are keyword arguments of every call."""
    given = tuple(sorted((params or {}).items()))
    return WrappedFun(fun, (), given, debug_info)


def transformation2(wrapper: Fun) -> Fun:
    """Makes a transformation of `wrapper(fun, *static, *args)`, which calls `fun`."""

    @functools.wraps(wrapper)
    def transform(fun: WrappedFun, *static: Any) -> WrappedFun:
        made: WrappedFun = fun.wrap(wrapper, static, None)
        return made

    return transform


def transformation_with_aux2(wrapper: Fun) -> Fun:
    """As `transformation2`, of `wrapper(fun, store, *static, *args)`.

    The transformation gives a pair: the wrapped function, and a function that reads what
    the wrapper put into `store`.
    """

    @functools.wraps(wrapper)
    def transform(fun: WrappedFun, *static: Any) -> tuple[WrappedFun, Fun]:
        store = Store()
        return fun.wrap(wrapper, static, store), lambda: store.val

    return transform


def _resumed(generator: Any, result: Any) -> Any:
    """What a wrapper yields after it got the result of the function inside."""
    out = generator.send(result)
    generator.close()
    return out


def transformation(wrapper: Fun) -> Fun:
    """Makes a transformation of a generator: it yields arguments, then the result.

    `wrapper(*static, *args)` yields (args, kwargs) for the function inside, is sent its
    result, and yields what takes its place.
    """

    def around(fun: Fun, *args: Any, **kwargs: Any) -> Any:
        generator = wrapper(*args, **kwargs)
        inner, options = next(generator)
        return _resumed(generator, fun(*inner, **options))

    return transformation2(functools.wraps(wrapper)(around))


def transformation_with_aux(wrapper: Fun) -> Fun:
    """As `transformation`, of a generator whose second value is a pair (result, aux)."""

    def around(fun: Fun, store: Store, *args: Any, **kwargs: Any) -> Any:
        generator = wrapper(*args, **kwargs)
        inner, options = next(generator)
        out, aux = _resumed(generator, fun(*inner, **options))
        store.store(aux)
        return out

    return transformation_with_aux2(functools.wraps(wrapper)(around))


def cache(call: Fun, *, explain: Any = None) -> Fun:
    """`call(fun, *args)`, remembered for equal wrapped functions and arguments."""
    known = Cache(f"{name_of(call)} of wrapped functions", limit=4096)

    @functools.wraps(call)
    def cached(fun: WrappedFun, *args: Any) -> Any:
        key = (fun, *args)
        found = known.get(key)
        if found is None:
            found = known.setdefault(key, (call(fun, *args), fun.stores))
        result, stores = found
        fun.populate_stores(stores)
        return result

    return cached


def merge_linear_aux(first: Fun, second: Fun) -> tuple[bool, Any]:
    """What was stored by whichever of two functions ran: (whether the first, value)."""
    try:
        value = first()
    except StoreException:
        return False, second()
    try:
        second()
    except StoreException:
        return True, value
    raise StoreException("both functions ran")


# ------------------------------------------------------------------- flat and not flat


@transformation_with_aux2
def flatten_fun(fun: Fun, store: Store, in_tree: Any, *leaves: Any) -> list[Any]:
    """The function of the leaves of (args, kwargs); stores the structure it returns."""
    args, kwargs = in_tree.unflatten(leaves)
    outs, out_tree = tree.flatten(fun(*args, **kwargs))
    store.store(out_tree)
    return outs


@transformation_with_aux2
def flatten_fun_nokwargs(
    fun: Fun, store: Store, in_tree: Any, *leaves: Any
) -> list[Any]:
    """As `flatten_fun`, of the leaves of args."""
    outs, out_tree = tree.flatten(fun(*in_tree.unflatten(leaves)))
    store.store(out_tree)
    return outs


def argnums_partial(
    fun: WrappedFun,
    dynamic: int | Sequence[int],
    args: Sequence[Any],
    require_static_args_hashable: bool = True,
) -> tuple[WrappedFun, tuple[Any, ...]]:
    """The function of the arguments with numbers `dynamic`, and these arguments."""
    numbers = (dynamic,) if isinstance(dynamic, int) else tuple(dynamic)
    places = tuple([n % len(args) for n in numbers])
    fixed = tuple([None if i in places else a for i, a in enumerate(args)])

    def around(inner: Fun, *values: Any, **kwargs: Any) -> Any:
        full = list(fixed)
        for place, value in zip(places, values):
            full[place] = value
        return inner(*full, **kwargs)

    return fun.wrap(around, (), None), tuple([args[i] for i in places])


def safe_map(fun: Fun, *sequences: Sequence[Any]) -> list[Any]:
    """`map` as a list, of sequences that must have one length."""
    return [fun(*row) for row in zip(*sequences, strict=True)]


def flatten_axes(name: str, in_tree: Any, axes: Any) -> list[Any]:
    """One entry for each leaf of `in_tree`, from a tree prefix whose leaves are axes."""
    found: list[Any] = []
    marker = object()
    full = in_tree.unflatten([marker] * in_tree.num_leaves)
    try:
        tree.map(
            lambda axis, part: found.extend([axis] * tree.structure(part).num_leaves),
            axes,
            full,
            is_leaf=lambda x: x is None,
        )
    except ValueError as error:
        raise ValueError(
            f"{name} must be a tree prefix of the structure {in_tree}, got {axes}"
        ) from error
    return found
