"""Operations that programs declare by name: `jax.extend.core.Primitive("axpy")`.

In: a name, and rules that a program states one by one: how to evaluate (`def_impl`), how
to type (`def_abstract_eval`), and, in the tables here, how to differentiate, transpose,
batch and lower. Out: an operation like all others (a subclass of `Declared`), whose
rules translate between what `core/op.py` asks and what these functions take and give:
`Zero` for a derivative that is zero, `UndefinedPrimal` for a linear operand.

The tables answer for the operations of the library, too, with functions made of their
rules. Read `Declared`, then `Rules`; `rules.py` has the functions that fill the tables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NoReturn

import numpy as np

from tetrad._src.api.devices import default_backend
from tetrad._src.api.inspect import abstract, struct_of
from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import STATE, Value, aval_of, base_trace
from tetrad._src.core.jaxpr import Jaxpr, eval_jaxpr
from tetrad._src.core.op import Axis, Kind, Linear, Op, Primitive, Whole, infer
from tetrad._src.core.stage import restage
from tetrad._src.lib.callbacks import io_callback, pure_callback
from tetrad._src.numpy import convert
from tetrad._src.ops.views import moveaxis, zeros
from tetrad._src.transforms.jvp import differentiate
from tetrad._src.transforms.vmap import vmap_flat
from tetrad._src.util import dtypes, tree

Rule = Callable[..., Any]


# ------------------------------------------------------------ what rules take and give


class Zero:
    """A tangent or cotangent that is zero: it has a type, and no elements."""

    __slots__ = ("aval",)

    def __init__(self, aval: Aval) -> None:
        self.aval = aval

    @staticmethod
    def from_primal_value(value: Any) -> Zero:
        """The zero among the tangents of `value`."""
        return Zero(tangent_type(aval_of(value)))

    def instantiate(self) -> Any:
        """The zeros as an array."""
        return zeros_of(self.aval)

    def __repr__(self) -> str:
        return f"Zero({self.aval.short_name()})"


class UndefinedPrimal:
    """Stands for a linear operand in a transposition rule: only its type is known."""

    __slots__ = ("aval",)

    def __init__(self, aval: Aval) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"UndefinedPrimal({self.aval.short_name()})"


tree.register_pytree_node(Zero, lambda z: ((), z.aval), lambda aval, _: Zero(aval))
tree.register_pytree_node(
    UndefinedPrimal, lambda u: ((), u.aval), lambda aval, _: UndefinedPrimal(aval)
)


def tangent_type(aval: Aval) -> Aval:
    """The type of the tangents of values of type `aval`."""
    return aval.to_tangent_aval()


def zeros_of(aval: Aval) -> Any:
    """Zeros of a type, which may be one of tangents."""
    if aval.dtype == dtypes.float0:
        return np.zeros(aval.shape, dtypes.float0)
    return zeros(aval)


def _given_tangent(primal: Any, tangent: Any) -> Any:
    return Zero.from_primal_value(primal) if tangent is None else tangent


def _found_tangent(tangent: Any) -> Any:
    """What a rule gave as derivative, as the library has it: None is zero."""
    if tangent is None or type(tangent) is Zero:
        return None
    if getattr(tangent, "dtype", None) == dtypes.float0:
        return None
    return tangent if isinstance(tangent, Value) else convert.value(tangent, "a rule")


# ------------------------------------------------------------------------------- tables


class Rules(dict[Any, Any]):
    """A table of rules by operation; those of the library's own operations are made."""

    def __init__(self, what: str, derive: Callable[[Any], Rule | None]) -> None:
        super().__init__()
        self.what = what
        self.derive = derive

    def __missing__(self, primitive: Any) -> Rule:
        rule = None if _is_declared(primitive) else self.derive(primitive)
        if rule is None:
            raise KeyError(primitive)
        return rule

    def __contains__(self, primitive: object) -> bool:
        return self.get(primitive) is not None

    def get(self, primitive: Any, default: Any = None) -> Any:
        try:
            return self[primitive]
        except KeyError:
            return default

    def __setitem__(self, primitive: Any, rule: Any) -> None:
        if isinstance(primitive, Primitive) and not _is_declared(primitive):
            if self.what == "transposition rule" and self.derive(primitive) is None:
                _add_transpose(primitive, rule)
                return
            raise TypeError(
                f"the {self.what} of `{primitive.name}` is part of the library and cannot"
                " be replaced. Write a function of your own, and give it its derivative"
                " with custom_jvp or its lanes with custom_vmap."
            )
        super().__setitem__(primitive, rule)


def _is_declared(primitive: Any) -> bool:
    return isinstance(primitive, type) and issubclass(primitive, Declared)


def _derived_jvp(primitive: Any) -> Rule | None:
    def rule(primals: Any, tangents: Any, **params: Any) -> Any:
        op = primitive.of(params)
        given = [None if type(t) is Zero else t for t in tangents]
        out, found = differentiate(op, primals, given)
        if op.multiple:
            return out, [_given_tangent(o, t) for o, t in zip(out, found)]
        return out, _given_tangent(out, found)

    return rule if isinstance(primitive, Primitive) else None


def _derived_transpose(primitive: Any) -> Rule | None:
    def rule(ct: Any, *args: Any, **params: Any) -> Any:
        op = primitive.of(params)
        given = [Linear(a.aval) if type(a) is UndefinedPrimal else a for a in args]
        if op.multiple:
            ct = [None if type(c) is Zero else c for c in ct]
        elif type(ct) is Zero:
            return [None] * len(args)
        return list(op.transpose(ct, *given))

    if not isinstance(primitive, Primitive):
        return None
    return rule if getattr(primitive, "transpose", None) is not None else None


def _add_transpose(primitive: Any, rule: Rule) -> None:
    """Gives an operation of the library a transposition rule, which it lacks."""

    def transpose(self: Op, ct: Any, *args: Any) -> list[Any]:
        return _transposed(self, rule, ct, args)

    primitive.transpose = transpose


def _transposed(op: Op, rule: Rule, ct: Any, args: Sequence[Any]) -> list[Any]:
    """The cotangents that a rule of a program gives for the operands of `op`."""
    given = [UndefinedPrimal(a.aval) if type(a) is Linear else a for a in args]
    if op.multiple:
        types = infer(op, tuple([aval_of_operand(a) for a in args]))
        ct = [Zero(t) if c is None else c for c, t in zip(ct, types)]
    found = rule(ct, *given, **op.params)
    if len(found) != len(args):
        raise TypeError(
            f"the transposition rule of `{op.name}` must give a cotangent, or None, for"
            f" each of its {len(args)} operands, got {len(found)}"
        )
    return [_found_tangent(c) for c in found]


def _derived_batcher(primitive: Any) -> Rule | None:
    def rule(args: Any, dims: Any, **params: Any) -> Any:
        op = primitive.of(params)
        sizes = [aval_of(a).shape[d] for a, d in zip(args, dims) if d is not None]

        def flat(*xs: Any) -> list[Any]:
            outs = op(*xs)
            return list(outs) if op.multiple else [outs]

        outs, at = vmap_flat(flat, Axis(sizes[0] if sizes else 1), args, dims)
        return (outs, at) if op.multiple else (outs[0], at[0])

    return rule if isinstance(primitive, Primitive) else None


def _none(primitive: Any) -> None:
    return None


JVPS = Rules("differentiation rule", _derived_jvp)
TRANSPOSES = Rules("transposition rule", _derived_transpose)
BATCHERS = Rules("batching rule", _derived_batcher)
AXIS_BATCHERS = Rules("batching rule", _none)  # rules that are given the axis, too


class AxisRules:
    """Rules `rule(size, name, None, operands, dims, **params)`, as a view of the table
    whose rules get the axis in one piece."""

    def __setitem__(self, primitive: Any, rule: Rule) -> None:
        def batch(axis: Axis, args: Any, dims: Any, **params: Any) -> Any:
            return rule(axis.size, axis.name, None, args, dims, **params)

        AXIS_BATCHERS[primitive] = batch

    def __contains__(self, primitive: object) -> bool:
        return primitive in AXIS_BATCHERS


NAMED_AXIS_BATCHERS = AxisRules()
LOWERINGS = Rules("lowering", _none)  # primitive -> {platform or None: rule}


# --------------------------------------------------------------------------- operations


class Identical:
    """A parameter without a hash, as a part of keys: equal to itself alone."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return type(other) is Identical and self.value is other.value


def _key_of(value: Any) -> Any:
    """A hashable that is equal for parameters that mean the same."""
    if hasattr(value, "structural_key"):
        return value.structural_key()
    if type(value) in (tuple, list):
        return type(value), *[_key_of(item) for item in value]
    if type(value) is dict:
        return dict, *[(key, _key_of(item)) for key, item in value.items()]
    try:
        hash(value)
    except TypeError:
        return Identical(value)
    return type(value), value


class Declared(Op):
    """The base of operations that a program declares; parameters are what it binds."""

    kind = Kind.CALL
    aligned = False
    call_primitive: ClassVar[bool] = False
    map_primitive: ClassVar[bool] = False

    typing: ClassVar[Any] = None  # (*avals, **params) -> (result types, effects)

    def __init__(self, **params: Any) -> None:
        self.__dict__["given"] = params

    def __call__(self, *args: Any) -> Any:
        trace = STATE.trace
        if trace is base_trace():
            return self._evaluated(args)
        operands = [self._operand(i, a) for i, a in enumerate(args)]
        self._find_effects(operands)
        return trace.process(self, operands)

    def _operand(self, position: int, x: Any) -> Any:
        try:
            return convert.operand(x, self.name)
        except TypeError:
            raise TypeError(
                f"`{self.name}` takes arrays and numbers, but operand {position} is"
                f" {x!r} of type {type(x).__name__}"
            ) from None

    def _evaluated(self, args: Sequence[Any]) -> Any:
        if states_impl(type(self)):
            return type(self).impl(*args, **self.params)
        if not LOWERINGS.get(type(self)):
            raise NotImplementedError(
                f"Evaluation rule for '{self.name}' not implemented: state how it is"
                " evaluated with def_impl, or register a lowering"
            )
        operands = [self._operand(i, a) for i, a in enumerate(args)]
        return self.expand(*operands)

    def _find_effects(self, operands: Sequence[Any]) -> None:
        if getattr(self.typing, "effectful", False):
            _, effects = self._typed([aval_of(x) for x in operands])
            self.__dict__["effects"] = frozenset(effects)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"`{self.name}` is declared by a program, and cannot be pickled with a jaxpr"
        )

    @property
    def params(self) -> dict[str, Any]:
        return dict(self.__dict__["given"])

    def structural(self) -> Any:
        given = self.__dict__["given"]
        rules = tuple(LOWERINGS.get(type(self), {}).values())
        params = [(name, _key_of(given[name])) for name in sorted(given)]
        return type(self), rules, *params

    def jaxprs(self) -> tuple[Any, ...]:
        values = self.__dict__["given"].values()
        return tuple([value for value in values if isinstance(value, Jaxpr)])

    @property
    def stands_for(self) -> tuple[Jaxpr, ...]:  # type: ignore[override]
        return tuple(self.__dict__.get("_lowered", {}).values())

    # -- what a program states -----------------------------------------------------

    @classmethod
    def def_impl(cls, impl: Rule) -> Rule:
        """Sets how the operation is evaluated: `impl(*arrays, **params)`."""
        cls.impl = staticmethod(impl)  # type: ignore[attr-defined, method-assign]
        return impl

    @classmethod
    def def_abstract_eval(cls, abstract_eval: Rule) -> Rule:
        """Sets how results are typed: `abstract_eval(*avals, **params)`."""

        def typing(*avals: Aval, **params: Any) -> tuple[Any, frozenset[Any]]:
            return abstract_eval(*avals, **params), frozenset()

        cls.typing = staticmethod(typing)
        return abstract_eval

    @classmethod
    def def_effectful_abstract_eval(cls, abstract_eval: Rule) -> Rule:
        """As `def_abstract_eval`, of a function that gives (types, effects)."""

        def typing(*avals: Aval, **params: Any) -> Any:
            return abstract_eval(*avals, **params)

        typing.effectful = True  # type: ignore[attr-defined]
        cls.typing = staticmethod(typing)
        return abstract_eval

    # -- what the library asks -------------------------------------------------------

    def _typed(self, avals: Sequence[Aval]) -> Any:
        if self.typing is None:
            raise NotImplementedError(
                f"Abstract evaluation for '{self.name}' not implemented: state with"
                " def_abstract_eval what type its results have"
            )
        return self.typing(*avals, **self.params)

    def type(self, *avals: Aval) -> Any:
        found, _ = self._typed(avals)
        several = isinstance(found, (tuple, list))
        if several != self.multiple:
            want = "a list of types" if self.multiple else "one type"
            raise ValueError(
                f"the abstract evaluation of `{self.name}` must give {want}, as its"
                f" multiple_results is {self.multiple}, got {found!r}"
            )
        return tuple([abstract(a) for a in found]) if several else abstract(found)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        rule = JVPS.get(type(self))
        if rule is None:
            raise NotImplementedError(
                f"Differentiation rule for '{self.name}' not implemented: state one with"
                " ad.defjvp, or in ad.primitive_jvps"
            )
        given = [_given_tangent(p, t) for p, t in zip(primals, tangents)]
        out, found = rule(list(primals), given, **self.params)
        if self.multiple:
            return list(out), [_found_tangent(t) for t in found]
        return out, _found_tangent(found)

    def transpose(self, ct: Any, *args: Any) -> list[Any]:
        rule = TRANSPOSES.get(type(self))
        if rule is None:
            raise NotImplementedError(
                f"`{self.name}` has no transposition rule, so it cannot be differentiated"
                " in reverse mode: state one in ad.primitive_transposes, or with"
                " ad.deflinear2"
            )
        return _transposed(self, rule, ct, args)

    def batch(self, axis: Axis, mapped: Sequence[bool], *args: Any) -> Any:
        dims = [0 if m else None for m in mapped]
        with_axis = AXIS_BATCHERS.get(type(self))
        rule = BATCHERS.get(type(self))
        if with_axis is not None:
            outs, at = with_axis(axis, args, dims, **self.params)
        elif rule is not None:
            outs, at = rule(args, dims, **self.params)
        else:
            raise NotImplementedError(
                f"`{self.name}` has no batching rule, so it cannot run under `vmap`:"
                " state one in batching.primitive_batchers, or with"
                " batching.defvectorized"
            )
        if not self.multiple:
            return _lanes(outs, at)
        if at is None or isinstance(at, int):
            at = [at] * len(outs)
        return [_lanes(out, place) for out, place in zip(outs, at)]

    def require(self, *avals: Aval) -> None:
        _lowered_jaxpr(self, avals)

    def expand(self, *args: Any) -> Any:
        outs = eval_jaxpr(_lowered_jaxpr(self, tuple(map(aval_of, args))), args)
        return outs if self.multiple else outs[0]


Primitive.declared = Declared


def states_impl(primitive: Any) -> bool:
    """Whether a program says how the operation that it declares is evaluated."""
    own = any("impl" in base.__dict__ for base in primitive.__mro__)
    return own or type(primitive).impl is not Primitive.impl


def aval_of_operand(x: Any) -> Aval:
    return x.aval if type(x) is Linear else aval_of(x)


def _lanes(out: Any, at: int | None) -> Any:
    if at is None:
        return Whole(out)
    return moveaxis(out, at, 0) if at else out


# ---------------------------------------------------------------------------- lowering


class ModuleContext:
    """What a lowering is told of the program."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.kept: list[Any] = []

    @property
    def platforms(self) -> tuple[str, ...]:
        """The platforms that the program is for."""
        return (default_backend(),)

    def add_keepalive(self, value: Any) -> None:
        """Keeps a value alive as long as the lowering is known."""
        self.kept.append(value)

    def __getattr__(self, name: str) -> NoReturn:
        raise _no_builder(self.name, f"asks for ctx.module_context.{name}")


class LoweringContext:
    """What a lowering is told of the equation that it replaces."""

    def __init__(self, op: Declared, args: Sequence[Any]) -> None:
        self.primitive = type(op)
        self.effects = op.effects
        self.module_context = ModuleContext(op.name)
        self.avals_in = [aval_of(x) for x in args]
        types = op.type(*self.avals_in)
        self.avals_out = list(types) if op.multiple else [types]

    def __getattr__(self, name: str) -> NoReturn:
        raise _no_builder(self.primitive.name, f"asks for ctx.{name}")


def _no_builder(name: str, why: str) -> NotImplementedError:
    return NotImplementedError(
        f"the lowering of `{name}` {why}, and there is no MLIR builder here. Register"
        " mlir.lower_fun(f) with f written in jax.numpy, or no lowering but def_impl, which"
        " programs then call."
    )


def _lowered_jaxpr(op: Declared, avals: tuple[Aval, ...]) -> Jaxpr:
    """What takes the place of `op` in programs; made once."""
    rule = _lowering_of(op)
    known: dict[Any, Jaxpr] = op.__dict__.setdefault("_lowered", {})
    key = (rule, avals)
    if key not in known:
        known[key] = restage(lambda *args: _lower(op, rule, args), avals, op.name)
    return known[key]


def _lowering_of(op: Declared) -> Rule:
    rules = LOWERINGS.get(type(op), {})
    rule: Rule | None = rules.get(None) or next(iter(rules.values()), None)
    if rule is not None:
        return rule
    if states_impl(type(op)):
        return _evaluate_on_host
    raise NotImplementedError(
        f"`{op.name}` has no lowering, so no program can contain it: register one"
        " with mlir.register_lowering(primitive, mlir.lower_fun(f)), or state def_impl,"
        " which programs then call"
    )


def _evaluate_on_host(context: LoweringContext, *args: Any, **params: Any) -> Any:
    """The lowering of an operation that only says how it is evaluated: Python runs it."""
    impl, several = context.primitive.impl, context.primitive.multiple_results
    want = context.avals_out

    def evaluate(*arrays: Any) -> list[Any]:
        out = impl(*arrays, **params)
        outs = list(out) if several else [out]
        return [np.asarray(o, aval.dtype) for o, aval in zip(outs, want)]

    evaluate.__name__ = context.primitive.name
    call = io_callback if context.effects else pure_callback
    return call(evaluate, [struct_of(aval) for aval in want], *args)


def _lower(op: Declared, rule: Rule, args: Sequence[Any]) -> list[Any]:
    """Has the rule compute the results in terms of other operations."""
    context = LoweringContext(op, args)
    found = rule(context, *args, **op.params)
    outs: list[Any] = []
    for out in found if isinstance(found, (tuple, list)) else [found]:
        outs += out if isinstance(out, (tuple, list)) else [out]
    if not all(isinstance(out, Value) for out in outs):
        raise _no_builder(op.name, "gives what is no array")
    got = [aval_of(out).strong() for out in outs]
    if got != [aval.strong() for aval in context.avals_out]:
        raise TypeError(
            f"the lowering of `{op.name}` must give"
            f" {[a.long_name() for a in context.avals_out]}, as its abstract evaluation"
            f" says, got {[a.long_name() for a in got]}"
        )
    return outs
