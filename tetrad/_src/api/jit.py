"""`jit`: a function is traced once for each kind of arguments, then called as a program.

In: a function of pytrees. Out: a `JitFunction`, which looks up the jaxpr for the types of
its arguments (and the static values), or traces the function, and calls it as one `Jit`
operation. What a function closes over becomes leading operands of that operation.

The keys are structures, types, static values and settings; functions that were given to
`jit` twice share what was traced. Compiled programs are found by structure further down,
so a fresh function with the same jaxpr compiles nothing.

Read `JitFunction.__call__` (the fast path), `_slow`, `Entry`, then `jit`.
"""

from __future__ import annotations

import functools
import inspect
import types
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tetrad._src.api.arguments import ArgumentRules, Static
from tetrad._src.api.flat import (
    FlatFunction,
    as_value,
    leaf_aval,
    shortened,
)
from tetrad._src.api.inspect import ShapeDtypeStruct, abstract, struct_of
from tetrad._src.api.stages import Lowered, Traced
from tetrad._src.control.call import Jit
from tetrad._src.control.custom_ops import check_forward
from tetrad._src.control.signature import name_of, parameter_names
from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import STATE, Tracer, Value, at, aval_of, base_trace
from tetrad._src.core.jaxpr import Jaxpr, eval_jaxpr
from tetrad._src.core.stage import stage
from tetrad._src.transforms.vmap import named_axes
from tetrad._src.util import frames, tree
from tetrad._src.util.config import config
from tetrad._src.util.memo import Cache

Fun = Callable[..., Any]

# Called as hook(function, reason) when a jitted function is traced.
on_compile: list[Callable[[JitFunction, str], None]] = []

_functions: weakref.WeakKeyDictionary[Any, dict[Any, Traces]] = (
    weakref.WeakKeyDictionary()
)


class Key:
    """The key of one trace, and the names by which a user knows its parts."""

    __slots__ = ("in_tree", "avals", "static", "state", "axes", "hash")

    def __init__(
        self,
        in_tree: Any,
        avals: tuple[Aval, ...],
        static: tuple[tuple[int | str, Static], ...],
        state: tuple[Any, ...],
        axes: tuple[tuple[Any, int], ...],
    ) -> None:
        self.in_tree = in_tree
        self.avals = avals
        self.static = static
        self.state = state
        self.axes = axes
        self.hash = hash((in_tree, avals, static, state, axes))

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        return (
            type(other) is Key
            and self.avals == other.avals
            and self.in_tree == other.in_tree
            and self.static == other.static
            and self.state == other.state
            and self.axes == other.axes
        )


def _shape(key: Key) -> str:
    """The structures of the arguments, as in `(*, y={'a': *})`."""
    args, kwargs = key.in_tree.children()
    example = kwargs.unflatten(range(kwargs.num_leaves))
    named = dict(zip(sorted(example), kwargs.children()))
    words = [_plain(child) for child in args.children()]
    words += [f"{name}={_plain(child)}" for name, child in named.items()]
    return f"({', '.join(words)})"


def _plain(treedef: Any) -> str:
    return str(treedef).removeprefix("PyTreeDef(").removesuffix(")")


class Entry:
    """One trace of a function: the operation, what it closes over, its result."""

    __slots__ = ("op", "consts", "out_tree", "single")

    def __init__(self, op: Jit, consts: tuple[Any, ...], out_tree: Any) -> None:
        self.op = op
        self.consts = consts
        self.out_tree = out_tree
        self.single = tree.treedef_is_leaf(out_tree) and out_tree.num_leaves == 1

    def closes_over_tracers(self) -> bool:
        return any(isinstance(c, Tracer) for c in self.consts)


class Traces:
    """The traces of one function under one set of options."""

    __slots__ = ("entries", "fast", "last", "__weakref__")

    def __init__(self, name: str) -> None:
        self.entries = Cache(f"traces of {name}", limit=4096)
        self.fast = Cache(f"recent calls of {name}", limit=1024)
        self.last: Key | None = None

    def clear(self) -> None:
        self.entries.clear()
        self.fast.clear()


def _traces_of(fun: Fun, options: Any) -> Traces:
    """The traces of `fun`, shared by all that jit the same function the same way."""
    try:
        shared = _functions.setdefault(fun, {})
        found = shared.get(options)
    except TypeError:  # not hashable, or not weakly referable
        return Traces(name_of(fun))
    if found is None:
        found = shared.setdefault(options, Traces(name_of(fun)))
    return found


def _types_of(args: Sequence[Any], state: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The key of arguments that are all arrays; None if some are not."""
    try:
        return (state, *map(type, args), *[x.aval for x in args])
    except AttributeError:
        return None


class JitFunction:
    """A function under `jit`; call it like the function itself."""

    def __init__(self, fun: Fun, rules: ArgumentRules, keep_unused: bool, inline: bool):
        functools.update_wrapper(self, fun)
        self._fun = fun
        self._rules = rules
        self._inline = inline
        self._keep_unused = keep_unused
        self._traces = _traces_of(fun, (rules.key(), inline))
        self._fast = self._traces.fast if rules.plain else None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            trace = STATE.trace
            if self._fast is not None and not kwargs and trace is base_trace():
                # Arguments that are all arrays: their types are the whole key.
                state = config.key
                key = _types_of(args, state)
                if key is None:
                    return self._call_tree(args, state)
                entry = self._fast.get(key)
                if entry is not None:
                    outs = trace.process(entry.op, (*entry.consts, *args))
                    return outs[0] if entry.single else entry.out_tree.unflatten(outs)
            return self._slow(args, kwargs)
        except BaseException as error:
            frames.trim_traceback(error)
            raise

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<PjitFunction of {self._fun!r}>"

    def __reduce__(self) -> str:
        """Pickled like a function: by the name under which its module holds it."""
        name = getattr(self._fun, "__qualname__", None)
        return name if isinstance(name, str) else name_of(self._fun)

    def _call_tree(self, args: tuple[Any, ...], state: tuple[Any, ...]) -> Any:
        """The fast path for containers of arrays: structure and types are the key."""
        leaves, in_tree = tree.flatten(args)
        key = _types_of(leaves, (state, in_tree))
        if key is None:
            return self._slow(args, {})
        entry = self._fast.get(key)  # type: ignore[union-attr]
        if entry is None:
            return self._slow(args, {}, key)
        outs = STATE.trace.process(entry.op, (*entry.consts, *leaves))
        return outs[0] if entry.single else entry.out_tree.unflatten(outs)

    # -- the whole way --------------------------------------------------------------

    def _slow(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], key: Any = None
    ) -> Any:
        """Any call; it goes by the fast path from now on, under `key`, if it can."""
        if config.jax_disable_jit:
            return self._fun(*args, **kwargs)
        call = Call(self, args, kwargs)
        entry = self._entry(call)
        if self._inline and STATE.trace is not base_trace():
            outs = eval_jaxpr(entry.op.jaxpr, [*entry.consts, *call.leaves])
        else:
            outs = entry.op(*entry.consts, *call.leaves)
        if (
            self._fast is not None
            and not kwargs
            and not call.static
            and not call.key.axes
            and not entry.closes_over_tracers()
            and all(isinstance(x, Value) for x in call.leaves)
        ):
            if key is None:
                key = _types_of(args, config.key)
            if key is not None:
                self._fast[key] = entry
        return entry.out_tree.unflatten(outs)

    def _entry(self, call: Call) -> Entry:
        traces = self._traces
        entry: Entry | None = traces.entries.get(call.key)
        if entry is None:
            reason = self._reason(traces.last, call)
            traces.last = call.key
            for hook in on_compile:
                hook(self, reason)
            entry = self._trace(call)
            # A tracer must not outlive the transformation that it belongs to.
            if not entry.closes_over_tracers():
                traces.entries[call.key] = entry
        return entry

    def _trace(self, call: Call) -> Entry:
        flat = FlatFunction(call.function(), call.key.in_tree, "jit")
        jaxpr, consts = stage(flat, call.key.avals, name_of(self._fun))
        check_forward(jaxpr)
        with at(base_trace()):
            held = tuple([as_value(c, "jit") for c in consts])
        donated: tuple[bool, ...] = ()
        if self._rules.donates:
            mask = self._rules.donated_mask(call.args, call.places, call.kwargs)
            donated = (False,) * len(held) + mask
        return Entry(Jit(jaxpr, donated), held, flat.out_tree)

    def _reason(self, last: Key | None, call: Call) -> str:
        """Why a call needs a new trace, in the user's words."""
        key = call.key
        if last is None:
            return "first call"
        if last.in_tree != key.in_tree:
            return f"the arguments were {_shape(last)}, now {_shape(key)}"
        for i, (before, now) in enumerate(zip(last.avals, key.avals)):
            if before is not now:
                name = call.leaf_names(key.in_tree)[i]
                weak = " (weakly typed)"
                was = before.long_name() + (weak if before.weak_type else "")
                new = now.long_name() + (weak if now.weak_type else "")
                return f"argument `{name}` was {was}, now {new}"
        values = dict(last.static)
        for where, value in key.static:
            old = values.get(where)
            if old != value:
                name = call.name(where)
                if old is None:
                    return f"static argument `{name}` is new"
                return (
                    f"static argument `{name}` was {shortened(old.value)}, now"
                    f" {shortened(value.value)}"
                )
        if last.state != key.state:
            return "a setting changed"
        if last.axes != key.axes:
            return "the named axes around the call changed"
        return "it was traced before, but the trace has been dropped"

    # -- what users can ask ------------------------------------------------------------

    @frames.hide_frames
    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """Traces the function for these arguments, without running it."""
        call = Call(self, args, kwargs)
        entry = self._entry(call)
        return Traced(
            name_of(self._fun),
            call.leaf_names(call.key.in_tree),
            entry.op,
            entry.consts,
            call.key.in_tree,
            call.key.avals,
            entry.out_tree,
        )

    @frames.hide_frames
    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Traces the function for these arguments, ready to be compiled.

        Arguments may be arrays or `ShapeDtypeStruct`s.
        """
        return self.trace(*args, **kwargs).lower()

    @frames.hide_frames
    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """The shapes and dtypes of the result, without computing anything."""
        call = Call(self, args, kwargs)
        entry = self._entry(call)
        structs = [struct_of(a) for a in entry.op.jaxpr.out_avals]
        return entry.out_tree.unflatten(structs)

    def clear_cache(self) -> None:
        """Forgets all traces of this function."""
        self._traces.clear()

    def _cache_size(self) -> int:
        return len(self._traces.entries)


class Call:
    """One call of a jitted function, taken apart."""

    __slots__ = ("owner", "args", "kwargs", "places", "static", "leaves", "key")

    def __init__(
        self, owner: JitFunction, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        rules = owner._rules
        self.owner = owner
        self.args = args
        self.places = rules.static_places(args)
        static: list[tuple[int | str, Static]] = [
            (i, rules.static_value(args[i], i)) for i in self.places
        ]
        dynamic = args
        if static:
            dynamic = tuple([a for i, a in enumerate(args) if i not in self.places])
        if rules.static_names and kwargs:
            names = [n for n in sorted(kwargs) if n in rules.static_names]
            static += [(n, rules.static_value(kwargs[n], n)) for n in names]
            kwargs = {n: v for n, v in kwargs.items() if n not in names}
        self.kwargs = kwargs
        self.static = tuple(static)
        self.leaves, in_tree = tree.flatten((dynamic, kwargs))
        avals = tuple([self.aval(i, x, in_tree) for i, x in enumerate(self.leaves)])
        self.key = Key(in_tree, avals, self.static, config.state_key(), named_axes())

    def aval(self, index: int, leaf: Any, in_tree: Any) -> Aval:
        if isinstance(leaf, Value):
            return leaf.aval
        try:
            if isinstance(leaf, (ShapeDtypeStruct, Aval)):
                return abstract(leaf)
            if hasattr(leaf, "__jax_array__"):
                self.leaves[index] = as_value(leaf, "jit")
                return aval_of(self.leaves[index])
            return leaf_aval(leaf)
        except TypeError:
            raise TypeError(self.no_array(index, leaf, in_tree)) from None

    def no_array(self, index: int, leaf: Any, in_tree: Any) -> str:
        """Why a leaf cannot be traced, and what to write."""
        fun = self.owner._fun
        path = self.leaf_names(in_tree)[index]
        top = path.split("[")[0].split(".")[0]
        instead = (
            f'If its value selects the program, write jit(f, static_argnames="{top}")'
            if top.isidentifier()
            else "If its value selects the program, name it in static_argnums"
        )
        return (
            f"jit: argument `{path}` of `{name_of(fun)}` is {shortened(leaf)} of type"
            f" {type(leaf).__name__}, which is no array. {instead}; if it is a container"
            " of arrays, register its type with jax.tree_util.register_dataclass."
        )

    def leaf_names(self, in_tree: Any) -> list[str]:
        """What a user calls the traced leaves: `x`, `params['w'][0]`."""
        others = [i for i in range(len(self.args)) if i not in self.places]
        names = parameter_names(self.owner._fun, len(self.args))
        numbered = in_tree.unflatten(range(in_tree.num_leaves))
        found = []
        for path, _ in tree.leaves_with_path(numbered):
            named = path[0].idx == 1
            top = path[1].key if named else names[others[path[1].idx]]
            found.append(f"{top}{tree.keystr(tuple(path[2:]))}")
        return found

    def name(self, where: int | str) -> str:
        if isinstance(where, str):
            return where
        return parameter_names(self.owner._fun, where + 1)[where]

    def function(self) -> Fun:
        """The function of the traced arguments alone."""
        fun = self.owner._fun
        if not self.static:
            return fun
        by_place = {w: s.value for w, s in self.static if isinstance(w, int)}
        by_name = {w: s.value for w, s in self.static if isinstance(w, str)}
        count = len(self.args)

        def of_traced(*others: Any, **kwargs: Any) -> Any:
            rest = iter(others)
            full = [by_place[i] if i in by_place else next(rest) for i in range(count)]
            return fun(*full, **kwargs, **by_name)

        of_traced.__name__ = name_of(fun)
        return of_traced


def _check_function(function: Any) -> None:
    if isinstance(function, (staticmethod, classmethod)):
        kind = type(function).__name__
        raise TypeError(
            f"jit takes a function, got a {kind}. Write @{kind} above @jax.jit, so that"
            " jit gets the plain function."
        )
    if not callable(function):
        raise TypeError(
            f"jit takes a function, got {shortened(function)} of type"
            f" {type(function).__name__}. Write jit(f)(x), not jit(f(x))."
        )
    if inspect.isgeneratorfunction(function):
        raise TypeError(
            f"jit takes a function that returns arrays, but `{name_of(function)}` is a"
            " generator (it has a `yield`). Return a list of the values instead."
        )


def jit(
    fun: Fun | None = None,
    /,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    keep_unused: bool = False,
    inline: bool = False,
    in_shardings: Any = None,
    out_shardings: Any = None,
    device: Any = None,
    backend: str | None = None,
    abstracted_axes: Any = None,
    compiler_options: dict[str, Any] | None = None,
) -> Any:
    """Compiles `fun` as one program for each kind of arguments it meets.

    The function runs in Python once, on traced values, for each new combination of
    structures, shapes, dtypes and static values; later calls run the program.

    Args:
      fun: a function of pytrees. Without it `jit` is a decorator with options.
      static_argnums: positional arguments that are Python values which select the
        program; they need a hash. Text and functions are static in any case.
      static_argnames: the same by name.
      donate_argnums: positional arguments whose memory the results may take over; they
        cannot be used afterwards.
      donate_argnames: the same by name.
      keep_unused: accepted because programs say it; arguments are never dropped.
      inline: whether the function becomes part of the jaxpr of a surrounding function,
        instead of a call in it.

    Returns a function with the methods `lower`, `trace`, `eval_shape`, `clear_cache`.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> double = jax.jit(lambda x: 2 * x)
    >>> double(jnp.array([1.0, 2.0])).tolist()
    [2.0, 4.0]
    """
    unavailable = {
        "in_shardings": in_shardings,
        "out_shardings": out_shardings,
        "device": device,
        "backend": backend,
        "abstracted_axes": abstracted_axes,
        "compiler_options": compiler_options,
    }
    for option, value in unavailable.items():
        if value is not None:
            raise NotImplementedError(
                f"jit({option}=...) is not available: a program runs where its arguments"
                " are, so move them with jax.device_put before the call"
            )

    def decorate(function: Fun) -> JitFunction:
        _check_function(function)
        rules = ArgumentRules(
            function, static_argnums, static_argnames, donate_argnums, donate_argnames
        )
        return JitFunction(function, rules, keep_unused, inline)

    return decorate if fun is None else decorate(fun)
