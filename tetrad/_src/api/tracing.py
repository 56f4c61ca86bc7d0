"""Tracing a user's function once for each kind of arguments, and finding it again.

In: a function of pytrees and the rules for its arguments. Out: for each call an `Entry`,
the operation that the trace became with what it closes over. The keys are structures,
types, static values and settings; functions that are given twice with the same options
share what was traced. A trace that closes over values of a surrounding transformation is
not kept, for these values must not outlive it.

Read `TracedFunction`, then `Call` (one call taken apart), `Key`, `Entry`.
"""

from __future__ import annotations

import functools
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from tetrad._src.api.arguments import ArgumentRules, Static
from tetrad._src.api.flat import FlatFunction, as_value, leaf_aval, shortened
from tetrad._src.api.inspect import ShapeDtypeStruct, abstract
from tetrad._src.control import keys
from tetrad._src.control.call import JaxprCall
from tetrad._src.control.custom_ops import check_forward
from tetrad._src.control.signature import name_of, parameter_names
from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import Tracer, Value, at, aval_of, base_trace
from tetrad._src.core.jaxpr import Jaxpr, Why
from tetrad._src.core.stage import stage
from tetrad._src.runtime import device as registry
from tetrad._src.runtime import lazy
from tetrad._src.runtime.array import Array
from tetrad._src.transforms.vmap import named_axes
from tetrad._src.util import frames, log, monitoring, tree
from tetrad._src.util.config import COMPILED, config
from tetrad._src.util.memo import Cache

Fun = Callable[..., Any]

# Called as hook(function, reason) when a jitted function is traced.
on_compile: list[Callable[[Any, str], None]] = []

_functions: weakref.WeakKeyDictionary[Any, dict[Any, Traces]] = (
    weakref.WeakKeyDictionary()
)


# The last function that was traced of each piece of code.
_codes: weakref.WeakKeyDictionary[Any, Callable[[], Any]] = weakref.WeakKeyDictionary()


class TracedFunction:
    """A function that is traced; subclasses say which operation a trace becomes."""

    what = "trace"  # the public name, for messages
    hooked = False  # whether `on_compile` hears of its traces

    def __init__(self, fun: Fun, rules: ArgumentRules, options: Any) -> None:
        functools.update_wrapper(self, fun)  # type: ignore[arg-type]
        self._fun = fun
        self._rules = rules
        self._traces = traces_of(fun, (type(self), rules.key(), options))

    def _operation(self, jaxpr: Jaxpr, closed: int, call: Call) -> JaxprCall:
        """The operation on `jaxpr`, whose first `closed` inputs are closed-over."""
        raise NotImplementedError

    def _entry(self, call: Call) -> Entry:
        traces = self._traces
        entry: Entry | None = traces.entries.get(call.key)
        if entry is None:
            if config.jax_no_tracing:
                raise RuntimeError(
                    f"{self.what}: `{name_of(self._fun)}` would be traced, because"
                    f" {self._reason(traces.last, call)}; jax.no_tracing forbids that"
                )
            reason = ""
            if self.hooked:
                reason = self._reason(traces.last, call)
                self._tell(reason)
            call.key.words = call.words()
            traces.last = call.key
            started = time.perf_counter()
            entry = self._trace(call)
            seconds = time.perf_counter() - started
            if self.hooked:
                entry.explain(name_of(self._fun), reason)
            if monitoring.durations.all:
                monitoring.record_event_duration_secs(
                    "/jax/core/compile/jaxpr_trace_duration",
                    seconds,
                    fun_name=name_of(self._fun),
                )
            log.progress(
                "Finished tracing %s for %s in %.6f sec",
                name_of(self._fun),
                self.what,
                seconds,
            )
            # A tracer must not outlive the transformation that it belongs to.
            if not entry.closes_over_tracers():
                traces.entries[call.key] = entry
        return entry

    def _trace(self, call: Call) -> Entry:
        flat = FlatFunction(call.function(), call.key.in_tree, self.what)
        jaxpr, consts = stage(flat, call.key.avals, name_of(self._fun))
        check_forward(jaxpr)
        held = tuple(consts)
        if not all([isinstance(c, Value) for c in consts]):
            with at(base_trace()):
                held = tuple([as_value(c, self.what) for c in consts])
        op = self._operation(jaxpr, len(held), call)
        uses = keys.check(jaxpr, lambda: call.leaf_names(call.key.in_tree))
        return Entry(op, held, flat.out_tree, uses)

    def _tell(self, reason: str) -> None:
        """Tells hooks and the log why the function is traced."""
        for hook in on_compile:
            hook(self, reason)
        if config.jax_explain_cache_misses:
            where = frames.user_frame()
            at_line = f" at {frames.format_where(where)}" if where else ""
            name = name_of(self._fun)
            log.explain(
                "TRACING CACHE MISS%s: %s of `%s`: %s", at_line, self.what, name, reason
            )

    def _reason(self, last: Key | None, call: Call) -> str:
        """Why a call needs a new trace, in the user's words."""
        key = call.key
        if last is None:
            return "first call" + self._twin()
        if last.in_tree != key.in_tree:
            return f"the arguments were {_shape(last)}, now {_shape(key)}"
        for i, (before, now) in enumerate(zip(last.avals, key.avals)):
            if before is not now:
                name = call.leaf_names(key.in_tree)[i]
                was, new = last.words[i], call.words()[i]
                if was == new:
                    was = f"{was} ({before.long_name()})"
                    new = f"{new} ({now.long_name()})"
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
            changed = [
                f"{name} was {before!r}, now {now!r}"
                for name, before, now in zip(COMPILED, last.state, key.state)
                if before != now
            ]
            return f"the setting {', '.join(changed)}"
        if last.axes != key.axes:
            return "the named axes around the call changed"
        return "it was traced before, but the trace has been dropped"

    def _twin(self) -> str:
        """Words about another function of the same code, if one was traced before."""
        fun = getattr(self._fun, "__func__", self._fun)
        code = getattr(fun, "__code__", None)
        if code is None:
            return ""
        other = _codes.get(code)
        _codes[code] = weakref.ref(fun)
        if other is None or other() is fun:
            return ""
        return (
            " of this function, but another function defined on the same line was traced"
            " before: make it once, outside of the loop or function that makes it anew"
        )


class Call:
    """One call of a traced function, taken apart."""

    __slots__ = ("owner", "args", "kwargs", "places", "static", "leaves", "key")

    def __init__(
        self, owner: TracedFunction, args: tuple[Any, ...], kwargs: dict[str, Any]
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
                self.leaves[index] = as_value(leaf, self.owner.what)
                return aval_of(self.leaves[index])
            return leaf_aval(leaf)
        except TypeError:
            raise TypeError(self.no_array(index, leaf, in_tree)) from None

    def no_array(self, index: int, leaf: Any, in_tree: Any) -> str:
        """Why a leaf cannot be traced, and what to write."""
        fun = self.owner._fun
        what = self.owner.what
        path = self.leaf_names(in_tree)[index]
        top = path.split("[")[0].split(".")[0]
        static = f'static_argnames="{top}"'
        instead = (
            f"If its value selects the program, write {what}(f, {static})"
            if top.isidentifier()
            else "If its value selects the program, name it in static_argnums"
        )
        return (
            f"{what}: argument `{path}` of `{name_of(fun)}` is {shortened(leaf)} of type"
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

    def words(self) -> list[str]:
        """The traced leaves as a user thinks of them: `float32[3]`, `a Python float`."""
        return [_word(x, aval) for x, aval in zip(self.leaves, self.key.avals)]

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


class Key:
    """The key of one trace. `words` describe the leaves, once it was traced."""

    __slots__ = ("in_tree", "avals", "static", "state", "axes", "hash", "words")

    words: list[str]

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


def _word(leaf: Any, aval: Aval) -> str:
    if type(leaf) in (bool, int, float, complex):
        return f"a Python {type(leaf).__name__}"
    return aval.long_name() + (" (weakly typed)" if aval.weak_type else "")


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
    """One trace of a function: the operation, what it closes over, its result.

    `program` is the operation outside of every transformation; it takes the operands
    `kept` of all (consts and leaves), or all if that is None. `warning` is told when it
    is used so for the first time. `keys` says what it does with random keys, if anything.
    """

    __slots__ = (
        "op", "consts", "out_tree", "single", "program", "kept", "warning", "keys",
        "copies",
    )  # fmt: skip

    def __init__(
        self,
        op: JaxprCall,
        consts: tuple[Any, ...],
        out_tree: Any,
        uses: keys.Summary | None,
    ) -> None:
        self.op = op
        self.keys = uses
        self.consts = consts
        self.out_tree = out_tree
        self.program: Any = op
        self.kept: tuple[int, ...] | None = None
        self.warning: str | None = None
        self.copies: dict[Any, tuple[Any, ...]] = {}  # of consts, by device
        self.single = tree.treedef_is_leaf(out_tree) and out_tree.num_leaves == 1

    def operands(self, leaves: Sequence[Any]) -> tuple[Any, ...]:
        """What `program` takes."""
        if self.kept is None and not self.consts:
            return tuple(leaves)
        consts = self.consts
        if consts and registry.several():
            consts = self._beside(leaves)
        both = (*consts, *leaves)
        if self.kept is None:
            return both
        return tuple([both[i] for i in self.kept])

    def _beside(self, leaves: Sequence[Any]) -> tuple[Any, ...]:
        """What the function closes over, where its arguments are committed.

        It is part of the program, so it follows, wherever it was placed; copies are kept.
        """
        placed = [x for x in leaves if type(x) is Array and x.placement.is_committed]
        if not placed:
            return self.consts
        device = placed[0].placement.device
        found = self.copies.get(device)
        if found is None:
            found = tuple(
                [
                    lazy.copy_on(c, device) if type(c) is Array else c
                    for c in self.consts
                ]
            )
            self.copies[device] = found
        return found

    def explain(self, function: str, reason: str) -> None:
        """Notes why there is this trace, for those who ask why a program is compiled."""
        why = Why(function, reason)
        self.op.jaxpr.memo[Why] = why
        self.program.jaxpr.memo[Why] = why

    def closes_over_tracers(self) -> bool:
        return any(isinstance(c, Tracer) for c in self.consts)


class Traces:
    """The traces of one function under one set of options."""

    __slots__ = ("entries", "fast", "last", "reasons", "__weakref__")

    def __init__(self, name: str) -> None:
        self.entries = Cache(f"traces of {name}", limit=4096)
        self.fast = Cache(f"recent calls of {name}", limit=1024)
        self.last: Key | None = None
        self.reasons: list[str] = []  # of traces, where they are counted

    def clear(self) -> None:
        self.entries.clear()
        self.fast.clear()


def captured() -> dict[int, str]:
    """The arrays that traced functions close over, by identity: the functions' names."""
    found = {}
    for fun, shared in list(_functions.items()):
        for traces in list(shared.values()):
            for entry in list(traces.entries.values()):
                for value in entry.consts:
                    found[id(value)] = name_of(fun)
    return found


def traces_of(fun: Fun, options: Any) -> Traces:
    """The traces of `fun`, shared by all that jit the same function the same way."""
    try:
        shared = _functions.setdefault(fun, {})
        found = shared.get(options)
    except TypeError:  # not hashable, or not weakly referable
        return Traces(name_of(fun))
    if found is None:
        found = shared.setdefault(options, Traces(name_of(fun)))
    return found
