"""`jit`: a function is traced once for each kind of arguments, then called as a program.

In: a function of pytrees. Out: a `JitFunction`, which finds the trace for the types of
its arguments (`tracing.py`), or traces the function, and calls it as one `Jit` operation.
What a function closes over becomes leading operands of that operation. Compiled programs
are found by structure further down, so a fresh function with the same jaxpr compiles
nothing.

Read `JitFunction.__call__` (the fast path), `_slow`, then `jit`.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tetrad._src.api import devices
from tetrad._src.api.arguments import ArgumentRules
from tetrad._src.api.budget import check_budget, check_limit
from tetrad._src.api.flat import shortened
from tetrad._src.api.inspect import struct_of
from tetrad._src.api.operands import (
    donor_names,
    program_of,
    pruned,
    unusable_message,
    usable,
)
from tetrad._src.api.placing import Shardings, shardings_of
from tetrad._src.api.stages import Function, Lowered, Traced
from tetrad._src.api.tracing import Call, Entry, TracedFunction
from tetrad._src.api.tracing import on_compile as on_compile
from tetrad._src.control.call import JaxprCall, Jit
from tetrad._src.control.signature import name_of
from tetrad._src.core.bind import STATE, Value, aval_of, base_trace, making_at
from tetrad._src.core.jaxpr import DONOR_NAMES, Jaxpr, eval_jaxpr
from tetrad._src.runtime import lazy
from tetrad._src.runtime.device import Placement
from tetrad._src.util import frames, tree
from tetrad._src.util.config import config

Fun = Callable[..., Any]


def _types_of(args: Sequence[Any], state: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The key of arguments that are all arrays; None if some are not.

    The recorder refuses values of transformations that are over.
    """
    try:
        return (state, *[x.aval for x in args])
    except AttributeError:
        return None


_BY_VALUE = frozenset([bool, int, float])
_STATIC = frozenset([bool, int, float, str, type(None), types.FunctionType])


def _kinds_of(leaves: Sequence[Any], state: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The key of arrays, Python numbers and arrays of the host; None for others."""
    parts: list[Any] = [state]
    for x in leaves:
        if isinstance(x, Value):
            parts.append(x.aval)
        elif type(x) in _BY_VALUE:
            parts.append(type(x))
        elif type(x) is np.ndarray and x.dtype.kind in "biufc":
            parts.append(aval_of(x))
        else:
            return None
    return tuple(parts)


def _is_static(value: Any) -> bool:
    """Whether a static argument goes into a key as it is."""
    kind = type(value)
    return kind in _STATIC or kind is tuple and all([type(v) in _STATIC for v in value])


class _Signature:
    """What `inspect.signature` finds at a compiled function: that of the function.

    Without it, an object that binds to instances like a function counts as a builtin.
    """

    def __get__(self, function: Any, owner: type | None = None) -> inspect.Signature:
        if function is None:
            raise AttributeError("__signature__")  # the class has the usual one
        try:
            return inspect.signature(function.__wrapped__)
        except ValueError:
            raise AttributeError("__signature__") from None  # a builtin without


class JitFunction(TracedFunction):
    """A function under `jit`; call it like the function itself."""

    __qualname__ = "PjitFunction"  # by which libraries tell compiled functions
    __signature__ = _Signature()

    what = "jit"
    hooked = True

    def __init__(
        self,
        fun: Fun,
        rules: ArgumentRules,
        inline: bool = False,
        keep_unused: bool = False,
        max_compiles: int | None = None,
    ) -> None:
        super().__init__(fun, rules, (inline, keep_unused, max_compiles))
        self._inline = inline
        self._keep_unused = keep_unused
        self._max_compiles = max_compiles
        self._fast: Any = self._traces.fast
        self._plain = rules.plain

    def _tell(self, reason: str) -> None:
        if self._max_compiles is not None:
            check_budget(name_of(self._fun), self._max_compiles, self._traces, reason)
        super()._tell(reason)

    def _trace(self, call: Call) -> Entry:
        entry = super()._trace(call)
        op = entry.op
        assert isinstance(op, Jit)
        if self._rules.donates:
            op, entry.warning = self._giving(op, len(entry.consts), call)
            entry.op = op
        entry.program, entry.kept = program_of(op, self._keep_unused)
        if entry.program.donated:
            names = call.leaf_names(call.key.in_tree)
            entry.program.jaxpr.memo[DONOR_NAMES] = donor_names(entry, names)
        return entry

    def _operation(self, jaxpr: Jaxpr, closed: int, call: Call) -> Jit:
        return Jit(jaxpr)

    def _giving(self, op: Jit, closed: int, call: Call) -> tuple[Jit, str | None]:
        """The operation that gives donated arguments away, and what to warn of."""
        jaxpr = op.jaxpr
        mask = self._rules.donated_mask(call.args, call.places, call.kwargs)
        mask = (False,) * closed + mask
        if not self._keep_unused:
            _, used = pruned(jaxpr)
            mask = tuple([given and needed for given, needed in zip(mask, used)])
        given, left = usable(mask, jaxpr.in_avals, jaxpr.out_avals)
        names = ["a constant"] * closed + call.leaf_names(call.key.in_tree)
        warning = None
        if left:
            warning = unusable_message(
                name_of(self._fun), names, jaxpr.in_avals, jaxpr.out_avals, left
            )
        return Jit(jaxpr, given if any(given) else ()), warning

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if self._fast is None or STATE.trace is not base_trace():
                return self._slow(args, kwargs)
            state = config.key
            if self._plain and not kwargs:
                # Arguments that are all arrays: their types are the whole key.
                key = _types_of(args, state)
                if key is not None:
                    entry = self._fast.get(key)
                    if entry is None:
                        return self._slow(args, kwargs, key)
                    return self._known(entry, args)
            return self._call_tree(args, kwargs, state)
        except BaseException as error:
            frames.trim_traceback(error)
            del args, kwargs  # which the frame that raised leads to
            raise

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    @property
    def donates(self) -> bool:
        """Whether it takes over the memory of arguments."""
        return bool(self._rules.donates)

    def __repr__(self) -> str:
        try:
            return f"<PjitFunction of {self._fun!r}>"
        except Exception:  # what is not made in full yet, or says nothing of itself
            return "<PjitFunction>"

    def __reduce__(self) -> str:
        """Pickled like a function: by the name under which its module holds it."""
        name = getattr(self._fun, "__qualname__", None)
        return name if isinstance(name, str) else name_of(self._fun)

    def _call_tree(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], state: tuple[Any, ...]
    ) -> Any:
        """The fast path for containers and numbers: the key has structure and types, and
        the values of static arguments."""
        static: Any = ()
        dynamic, named = args, kwargs
        if not self._plain:
            dynamic, named, static = self._apart(args, kwargs)
        leaves, in_tree = tree.flatten((dynamic, named) if named else dynamic)
        key = None
        if static is not None:
            key = _kinds_of(leaves, (state, in_tree, static, bool(named)))
        entry = None if key is None else self._fast.get(key)
        if entry is None:
            return self._slow(args, kwargs, key)
        for i in [i for i, x in enumerate(leaves) if type(x) is np.ndarray]:
            leaves[i] = lazy.passed(leaves[i], key[i + 1])  # type: ignore[index]
        return self._known(entry, leaves)

    def _apart(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any], tuple[Any, ...] | None]:
        """Arguments without the static ones, and these as a part of the key, if they are
        of plain types."""
        rules = self._rules
        count = len(args)
        places = [n % count for n in rules.static_numbers if -count <= n < count]
        static = [(n, type(args[n]), args[n]) for n in places]
        names = [n for n in kwargs if n in rules.static_names]
        static += [(n, type(kwargs[n]), kwargs[n]) for n in names]  # type: ignore[misc]
        if not all([_is_static(value) for _, _, value in static]):
            return args, kwargs, None
        dynamic = tuple([a for i, a in enumerate(args) if i not in places])
        named = {n: v for n, v in kwargs.items() if n not in names} if names else kwargs
        return dynamic, named, tuple(static)

    def _known(self, entry: Entry, leaves: Sequence[Any]) -> Any:
        """The result of a call that has been traced."""
        outs = STATE.trace.process(entry.program, entry.operands(leaves))
        if entry.keys is not None:
            entry.keys.tell(entry.op, (*entry.consts, *leaves), outs)
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
        if STATE.trace is base_trace():
            if entry.warning is not None:
                frames.warn(entry.warning)
                entry.warning = None
            outs = self._run(entry.program, entry.operands(call.leaves))
            if entry.keys is not None:
                entry.keys.tell(entry.op, (*entry.consts, *call.leaves), outs)
        elif self._inline:
            outs = eval_jaxpr(entry.op.jaxpr, [*entry.consts, *call.leaves])
        else:
            outs = self._inside(entry.op, (*entry.consts, *call.leaves))
        if key is not None and not (call.key.axes or entry.closes_over_tracers()):
            self._fast[key] = entry
        return entry.out_tree.unflatten(outs)

    def _run(self, program: Jit, operands: Sequence[Any]) -> Any:
        """The results of the program."""
        return STATE.trace.process(program, operands)

    def _inside(self, op: JaxprCall, operands: Sequence[Any]) -> Any:
        """The call under a transformation."""
        return op(*operands)

    # -- what users can ask ------------------------------------------------------------

    @frames.hide_frames
    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """Traces the function for these arguments, without running it."""
        call = Call(self, args, kwargs)
        entry = self._entry(call)
        if entry.warning is not None:
            frames.warn(entry.warning)
            entry.warning = None
        in_tree = call.key.in_tree
        donated = self._rules.donated_mask(call.args, call.places, call.kwargs)
        return Traced(
            Function(
                name_of(self._fun),
                call.leaf_names(in_tree),
                entry,
                in_tree,
                call.key.avals,
                donated,
            )
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


class PlacedFunction(JitFunction):
    """A function under `jit` that says how its arguments and results are laid out."""

    def __init__(
        self, *args: Any, arguments: Shardings | None, results: Shardings | None
    ) -> None:
        super().__init__(*args)
        self._arguments = arguments
        self._results = results

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if self._arguments is not None:
                args = self._laid_out(args, kwargs)
            result = super().__call__(*args, **kwargs)
            return result if self._results is None else self._results.place(result)
        except BaseException as error:
            frames.trim_traceback(error)
            del args, kwargs  # which the frame that raised leads to
            raise

    def _laid_out(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, ...]:
        assert self._arguments is not None
        if kwargs:
            raise ValueError(
                "jit: pjit does not support kwargs when in_shardings is specified; give"
                f" {', '.join(kwargs)} by position"
            )
        static = self._rules.static_places(args)
        dynamic = tuple([a for i, a in enumerate(args) if i not in static])
        placed = iter(self._arguments.place(dynamic))
        return tuple([a if i in static else next(placed) for i, a in enumerate(args)])


class DeviceFunction(JitFunction):
    """A function under `jit(device=...)` or `jit(backend=...)`: it runs there."""

    def __init__(self, *args: Any, device: Any, backend: str | None) -> None:
        super().__init__(*args)
        self._device = device
        self._backend = backend
        self._fast = None

    def _place(self) -> Placement:
        device = self._device
        if device is None:
            device = devices.devices(self._backend)[0]
        where = STATE.where or frames.user_frame()
        return devices.placement_of(device, "jax.jit(device=...)", where)

    def _run(self, program: Jit, operands: Sequence[Any]) -> Any:
        place = self._place()
        with making_at(place):
            return super()._run(program, [_moved(x, place) for x in operands])

    def _inside(self, op: JaxprCall, operands: Sequence[Any]) -> Any:
        place = self._place()
        return super()._inside(op, [_moved(x, place) for x in operands])

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        raise NotImplementedError(
            "jit(device=...) and jit(backend=...) cannot be traced or lowered ahead of"
            " time: leave the argument out, and compile under jax.default_device(device)"
        )


def _moved(x: Any, place: Placement) -> Any:
    """An operand at a place; numbers are arguments of the program."""
    return devices.put_leaf(x, place) if isinstance(x, (Value, np.ndarray)) else x


def _check_available(**instead: tuple[Any, str]) -> None:
    for option, (value, advice) in instead.items():
        if value is not None:
            raise NotImplementedError(f"jit({option}=...) is not available: {advice}")


def _check_place(device: Any, backend: Any, shardings: Sequence[Any]) -> None:
    """Warns of `device` and `backend`; ValueError if something else says the place."""
    if device is not None and backend is not None:
        raise ValueError(
            f"jit: give device or backend, not both; got {device!r} and {backend!r}"
        )
    if any([sharding is not None for sharding in shardings]):
        raise ValueError("jit: give device or backend, or shardings, not both")
    frames.warn(
        "jit(device=...) and jit(backend=...) are deprecated: a program runs where its"
        " arguments are, so move them with jax.device_put before the call",
        DeprecationWarning,
    )


def _check_function(function: Any) -> None:
    if isinstance(function, (staticmethod, classmethod)):
        kind = type(function).__name__
        raise TypeError(
            f"jit: {kind} arguments are not supported. Expected a callable value: write"
            f" @{kind} above @jax.jit, so that jit gets the plain function."
        )
    if not callable(function):
        raise TypeError(
            f"jit: Expected a callable value, got {shortened(function)} of type"
            f" {type(function).__name__}. Write jit(f)(x), not jit(f(x))."
        )
    if inspect.isgeneratorfunction(function):
        raise TypeError(
            f"jit: Expected a function, got a generator function: `{name_of(function)}`"
            " has a `yield`. Return a list of the values instead."
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
    max_compiles: int | None = None,
    in_shardings: Any = None,
    out_shardings: Any = None,
    device: Any = None,
    backend: str | None = None,
    abstracted_axes: Any = None,
    compiler_options: dict[str, Any] | None = None,
) -> Any:
    """Compiles `fun` as one program for each kind of arguments it meets.

    Python runs the function once for each new combination of structures, shapes, dtypes
    and static values; later calls run the program.

    Args:
      fun: a function of pytrees. Without it `jit` is a decorator with options.
      static_argnums: positional arguments whose values select the program; they need a
        hash. Text and functions are static in any case.
      static_argnames: the same by name.
      donate_argnums: arguments whose memory the results take over; they are gone then.
      donate_argnames: the same by name.
      keep_unused: whether the program takes arguments that nothing reads. Without it
        they are not moved to the device, not waited for, and not given away.
      inline: whether a surrounding jaxpr contains the equations instead of a call.
      max_compiles: how often the function may be traced. One more is an error that
        lists what changed each time.
      in_shardings: how arguments are laid out over devices: a sharding of one device, a
        `PartitionSpec` over the mesh in force, or a tuple with one entry an argument,
        whose entries may be pytrees of these. None stands for "as they are".
      out_shardings: the same for the result.
      device: where the program runs, wherever its arguments are. Deprecated: move the
        arguments instead.
      backend: the same by the name of a platform.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> double = jax.jit(lambda x: 2 * x)
    >>> double(jnp.array([1.0, 2.0])).tolist()
    [2.0, 4.0]
    """
    _check_available(
        abstracted_axes=(abstracted_axes, "each shape has a program of its own"),
        compiler_options=(compiler_options, "settings are in jax.config"),
    )
    check_limit(max_compiles)
    made: Callable[..., JitFunction] = JitFunction
    if device is not None or backend is not None:
        _check_place(device, backend, (in_shardings, out_shardings))
        made = functools.partial(DeviceFunction, device=device, backend=backend)
    elif in_shardings is not None or out_shardings is not None:
        made = functools.partial(
            PlacedFunction,
            arguments=shardings_of("in_shardings", in_shardings),
            results=shardings_of("out_shardings", out_shardings),
        )

    def decorate(function: Fun) -> JitFunction:
        _check_function(function)
        rules = ArgumentRules(
            "jit",
            function,
            static_argnums,
            static_argnames,
            donate_argnums,
            donate_argnames,
        )
        return made(function, rules, inline, keep_unused, max_compiles)

    return decorate if fun is None else decorate(fun)
