"""Operations: one class states everything about one operation.

An operation is an interned immutable instance whose fields are the annotations of its
class, as in a frozen dataclass. The class is the operation (and what JAX calls its
primitive), the fields are its static parameters, the methods are its
rules. An equation is `outs = op(*operands)`.

Read `Op` from top to bottom: identity and facts, typing, differentiation, batching,
partial evaluation, then what the machines need. Rules for the machines are written
against the builder protocols at the end, so operations import no backend.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, dataclass_transform

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import STATE, base_trace
from tetrad._src.util.dtypes import float0
from tetrad._src.util.memo import Cache


class Kind(enum.Enum):
    """What passes may assume of an operation."""

    ELEMENTWISE = "elementwise"  # out[i] = scalar(x[i], y[i], …)
    REDUCE = "reduce"  # folds axes with an associative combiner
    REARRANGE = "rearrange"  # moves elements by an index map; computes nothing
    INDEXED = "indexed"  # out[i] = x[point(i)]: the index map reads memory
    UPDATE = "update"  # x with some elements replaced or combined
    CONTRACT = "contract"  # products summed over axes
    OPAQUE = "opaque"  # a named kernel
    CALL = "call"  # holds jaxprs or functions


class Flow(enum.Enum):
    """How a CALL operation runs the jaxprs that it holds.

    BRANCH  `branches[index](*args)` for operands (index:i32[], *args); the index is in
            range, and all branches have the same types.
    WHILE   operands (*cond_consts, *body_consts, *init), jaxprs (cond, body), fields
            `cond_nconsts` and `body_nconsts`: while cond(*cond_consts, *carry) gives
            true, carry = body(*body_consts, *carry); the results are the last carry.
            If `by_lane`, the condition is whether any element of the first carry is
            true, and the body leaves as they are the lanes whose element is false.
    SCAN    operands (*consts, *init, *xs), jaxprs (body,), fields `length`, `reverse`,
            `num_consts`, `num_carry`: for each i, from the end if `reverse`,
            (*carry, *y) = body(*consts, *carry, *x[i]); the results are the last carry,
            then the ys, stacked at their places.
    """

    BRANCH = "branch"
    WHILE = "while"
    SCAN = "scan"


class Parameters(dict[str, Any]):
    """The parameters of an operation as JAX names them, and the operation."""

    op: Any = None


class Primitive(type):
    """The metaclass of operations: interns instances, answers as JAX's primitive."""

    pool: Cache = Cache("operations", limit=65536)
    kind: Kind
    multiple: bool
    name: str
    fixed: dict[str, Any]
    hidden: tuple[str, ...]
    __match_args__: tuple[str, ...]
    declared: Any = None  # the base of operations that programs name

    def __new__(
        mcs,
        name: str,
        bases: tuple[type, ...] | None = None,
        namespace: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """A class of operations; `Primitive(name)` declares one without a body."""
        if bases is None or namespace is None:
            assert Primitive.declared is not None
            bases, namespace = (Primitive.declared,), {"name": name, "__module__": ""}
            if mcs.multiple_results is not Primitive.multiple_results:
                namespace["multiple"] = bool(mcs.multiple_results)
        return super().__new__(mcs, name, bases, namespace, **kwargs)

    def __init__(cls, name: str, *args: Any, **kwargs: Any) -> None:
        pass

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls.kind is Kind.CALL or kwargs:
            made = super().__call__(*args, **kwargs)
            if cls.kind is Kind.CALL:
                return made
            args = made.fields()
        key = (cls, args, tuple(map(type, args)))
        found = Primitive.pool.get(key)
        if found is None:
            made = super().__call__(*args)
            full = made.fields()
            exact = (cls, full, tuple(map(type, full)))
            found = Primitive.pool.setdefault(exact, made)
            Primitive.pool.setdefault(key, found)
        return found

    def bind(cls, *args: Any, **params: Any) -> Any:
        """`primitive.bind(*operands, **params)`, as replayed jaxprs call it."""
        return cls.of(params)(*args)

    def of(cls, params: dict[str, Any]) -> Any:
        """The operation that has `params`, as its equations show them."""
        if type(params.get("op")) is cls:
            return params["op"]
        params = dict(params)
        for name in cls.hidden:
            if name not in cls.__match_args__:
                params.pop(name, None)
        for name, value in cls.fixed.items():
            if params.pop(name, value) != value:
                raise TypeError(f"{cls.name} takes no {name}, leave it {value}")
        return cls(**params)

    def get_bind_params(cls, params: Parameters) -> tuple[list[Any], dict[str, Any]]:
        """What `bind` takes besides operands: no functions, and the operation itself."""
        op = getattr(params, "op", None)
        return [], dict(params) if op is None else {"op": op}

    def impl(cls, *args: Any, **params: Any) -> Any:
        """The result for arrays, computed whatever is being traced."""
        outside = STATE.trace
        STATE.trace = base_trace()
        try:
            return cls.bind(*args, **params)
        finally:
            STATE.trace = outside

    def abstract_eval(cls, *avals: Aval, **params: Any) -> tuple[Any, frozenset[Any]]:
        """The type of the result for types of operands, and the effects."""
        op = cls.of(params)
        out = infer(op, avals)
        return (list(out) if cls.multiple else out), op.effects

    def __str__(cls) -> str:
        return cls.name

    @property
    def multiple_results(cls) -> bool:
        return cls.multiple

    @multiple_results.setter
    def multiple_results(cls, several: bool) -> None:
        if cls.declared is None or not issubclass(cls, cls.declared):
            raise AttributeError(f"how many results {cls.name} has cannot change")
        cls.multiple = several


class Linear:
    """Stands for a linear operand in `transpose`: only its aval is known."""

    __slots__ = ("aval",)

    def __init__(self, aval: Aval) -> None:
        self.aval = aval


class Whole:
    """Wraps an output of a batch rule that is the same for every lane."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class Axis(NamedTuple):
    """A mapped axis: its size, and its name if it has one."""

    size: int
    name: Any = None


class Split(NamedTuple):
    """An operation taken apart by partial evaluation.

    `known` runs now on the operands `known_in`; its outputs are the known outputs, then
    residuals. `unknown` runs later; `unknown_in` lists operands (`i >= 0`) and
    residuals (`~j`). `unknown_out` marks which outputs the later part gives.
    """

    known: Op | None
    known_in: tuple[int, ...]
    unknown: Op | None
    unknown_in: tuple[int, ...]
    unknown_out: tuple[bool, ...]


LinearGroups = tuple[tuple[int, ...], ...] | str


@dataclass_transform(eq_default=False, frozen_default=True)
class Op(metaclass=Primitive):
    """The base of all operations. Members come in this order in every class."""

    # -- facts ---------------------------------------------------------------
    kind: ClassVar[Kind] = Kind.OPAQUE
    flow: ClassVar[Flow | None] = None  # CALL: how the jaxprs are run; None is once
    applies: ClassVar[bool] = False  # CALL: does what its one jaxpr does to operands
    name: ClassVar[str] = "op"
    multiple: ClassVar[bool] = False  # returns a list
    accepts: ClassVar[str] = "fcuibK"  # aval kinds, for every operand
    linear: ClassVar[LinearGroups] = ()  # groups jointly linear; multilinear across
    signs: ClassVar[tuple[int, ...]] = ()  # op = sum of +1 or -1 times each operand
    aligned: ClassVar[bool] = True  # `batch` wants every operand mapped at 0
    sets_weak: ClassVar[bool] = False  # `type` decides the weak type itself
    consumes: ClassVar[tuple[int, ...]] = ()  # operands that are keys being used up
    commutes: ClassVar[bool] = False
    cheap: ClassVar[bool] = False  # computing it again beats reading it from memory
    updates: ClassVar[int | None] = None  # the operand that it changes elements of
    hidden: ClassVar[tuple[str, ...]] = ()  # fields that jaxpr text leaves out
    fixed: ClassVar[dict[str, Any]] = {}  # JAX's parameters that have one value here
    effects: ClassVar[frozenset[Any]] = frozenset()  # see `effects.py`
    axis_names: ClassVar[tuple[Any, ...]] = ()
    target: ClassVar[Any] = None  # where the operand goes, in words of the runtime

    # -- rules that are absent unless a class gives them -----------------------
    derivative: ClassVar[Any] = None  # (ans, *xs) -> coefficients or None
    jvp: ClassVar[Any] = None  # (primals, tangents) -> (out, tangent)
    transpose: ClassVar[Any] = None  # (ct, *args) -> cts for the Linear args
    batch: ClassVar[Any] = None  # (axis, *args) | (axis, mapped, *args)
    split: ClassVar[Any] = None  # (unknown) -> Split | None
    stage: ClassVar[Any] = None  # (*args) -> outs | NotImplemented
    elide: ClassVar[Any] = None  # (x: Var | Literal, out aval) -> the same, or None
    dce: ClassVar[Any] = None  # (used) -> (op, used operands[, the results it gives])
    expand: ClassVar[Any] = None  # (*args) -> outs, in terms of other operations
    lift: ClassVar[Any] = None  # (jaxprs, count) -> (op, places): see `rewrite.lifted`
    simplify: ClassVar[Any] = None  # (*args) -> outs | None
    require: ClassVar[Any] = None  # (*avals): raises if no machine can run it
    stands_for: ClassVar[tuple[Any, ...]] = ()  # after `require`: what programs run

    # -- the machines: see the protocols at the end of this file ------------------
    scalar: ClassVar[Any] = None  # ELEMENTWISE: (block, *xs) -> value(s)
    restride: ClassVar[Any] = None  # REARRANGE: (aval, strides, offset) -> same | None
    coordinates: ClassVar[Any] = None  # REARRANGE: () -> (coefficients, offset)
    regions: ClassVar[Any] = None  # REARRANGE: (*avals) -> [Region]
    starts: ClassVar[Any] = None  # dynamic offsets: (*avals) -> [Start]
    point: ClassVar[Any] = None  # INDEXED, UPDATE: (block, coords, load) -> Point
    along: ClassVar[Any] = None  # the same: (rank) -> Along
    combine: ClassVar[Any] = None  # UPDATE: (block, old, new) -> value
    initial: ClassVar[Any] = None  # REDUCE, UPDATE: (block, type) -> state
    step: ClassVar[Any] = None  # REDUCE: (block, state, x, index) -> state
    any_order: ClassVar[Any] = None  # REDUCE: (type) -> may elements be folded so?
    pair: ClassVar[Any] = None  # REDUCE in any order: (block, state, x, y) -> state
    peak: ClassVar[Any] = (
        None  # REDUCE to an index: (type) -> the fold to what is there
    )
    merge: ClassVar[Any] = None  # REDUCE: (block, state, state) -> state
    finish: ClassVar[Any] = None  # REDUCE: (block, state) -> value(s)
    kernel: ClassVar[Any] = None  # OPAQUE: (*avals) -> (name, parameters)
    flops: ClassVar[Any] = None  # (*avals) -> operations, if the kind does not tell
    host: ClassVar[Any] = None  # CALL of Python: (*arrays) -> host arrays
    hlo: ClassVar[Any] = None  # StableHLO mnemonic, or (emit, *operands) -> value

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = [
            name
            for name, kind in cls.__dict__.get("__annotations__", {}).items()
            if "ClassVar" not in str(kind)
        ]
        inherited = cls.__match_args__
        fields = (*inherited, *[n for n in own if n not in inherited])
        cls.__match_args__ = fields  # type: ignore[misc]
        if "name" not in cls.__dict__:
            words = "".join("_" + c.lower() if c.isupper() else c for c in cls.__name__)
            cls.name = words.lstrip("_")

    __match_args__: ClassVar[tuple[str, ...]] = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # What dataclass() would write; writing it for every class costs import time.
        names = self.__match_args__
        values = self.__dict__
        if len(args) > len(names):
            raise TypeError(f"{self.name} has {len(names)} fields, got {len(args)}")
        values.update(zip(names, args))
        for name in names[len(args) :]:
            if name in kwargs:
                values[name] = kwargs.pop(name)
            elif not hasattr(type(self), name):
                raise TypeError(f"{self.name} misses its field {name!r}")
            else:
                values[name] = getattr(type(self), name)
        if kwargs:
            raise TypeError(f"{self.name} has no field {next(iter(kwargs))!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"operations are immutable: {self.name}.{name}")

    def __call__(self, *args: Any) -> Any:
        return STATE.trace.process(self, args)

    def type(self, *avals: Aval) -> Any:
        """The aval(s) of the result; raises TypeError or ValueError in user's words."""
        raise NotImplementedError(f"{self.name} states no typing rule")

    def __repr__(self) -> str:
        params = ", ".join(f"{k}={v}" for k, v in self.params.items())
        return f"{self.name}[{params}]" if params else self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self.fields()

    def __copy__(self) -> Op:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Op:
        return self

    @property
    def params(self) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in self.__match_args__}
        return {**own, **self.fixed} if self.fixed else own

    def fields(self) -> tuple[Any, ...]:
        return tuple([getattr(self, name) for name in self.__match_args__])

    @property
    def memo(self) -> dict[Any, Any]:
        """What has been derived from this operation."""
        found: dict[Any, Any] = self.__dict__.setdefault("_memo", {})
        return found

    def jaxprs(self) -> tuple[Any, ...]:
        """The jaxprs that this operation holds."""
        return ()

    def structural(self) -> Any:
        """A hashable that is equal for operations that do the same."""
        if self.kind is not Kind.CALL:
            return self
        return (type(self), *[_structural(field) for field in self.fields()])

    def linear_groups(self, count: int) -> tuple[tuple[int, ...], ...]:
        """The linear groups for `count` operands."""
        if self.linear == "all":
            return (tuple(range(count)),)
        return self.linear  # type: ignore[return-value]


def _structural(field: Any) -> Any:
    if hasattr(field, "structural_key"):
        return field.structural_key()
    if type(field) is tuple:
        return tuple([_structural(item) for item in field])
    return field


# ---------------------------------------------------------------------------- typing

_inferred: Cache = Cache("type inference", limit=65536)


def infer(op: Op, avals: tuple[Aval, ...]) -> Any:
    """The result aval(s) of `op` on operands of `avals`; cached.

    Checks the operand kinds, asks `op.type`, then applies the one rule of weak types:
    a result is weak when all operands are.
    """
    if op.kind is Kind.CALL:
        return op.type(*avals)
    key = (op, avals)
    found = _inferred.get(key)
    if found is not None:
        return found
    for position, aval in enumerate(avals):
        if aval.kind not in op.accepts:
            raise _refused(op, aval, position)
    out = op.type(*avals)
    if not op.sets_weak:
        weak = bool(avals) and all(a.weak_type for a in avals)
        if op.multiple:
            out = tuple([a.update(weak_type=weak) for a in out])
        else:
            out = out.update(weak_type=weak)
    _inferred.setdefault(key, out)
    return out


def _refused(op: Op, aval: Aval, position: int) -> TypeError:
    if aval.dtype == float0:
        return TypeError(
            f"{op.name}: float0s do not support any operations by design (operand"
            f" {position}): they are the derivatives of integers and bools, of which there"
            " are none"
        )
    return TypeError(
        f"{op.name} does not accept dtype {aval.dtype.name} (operand {position} is"
        f" {aval.long_name()})"
    )


# ------------------------------------------------------------- builder protocols


class Region(NamedTuple):
    """A part of an output that a REARRANGE operation fills from one operand.

    Operand `operand` (all of it, or a scalar that fills the region) goes to the output
    elements `offset + sum(strides[d] * i[d])`, counted in elements of the dense output.
    `shape` is the region's extents. Regions are written in order: later ones win.
    """

    operand: int
    shape: tuple[int, ...]
    offset: int
    strides: tuple[int, ...]


class Start(NamedTuple):
    """A run-time offset: clamp(operand, 0, limit) along one axis of the source."""

    operand: int
    axis: int
    limit: int


class Point(NamedTuple):
    """Where an INDEXED or UPDATE operation touches its source, in scalar code.

    A rule gets the coordinates of an element, as values of the builder's type `index`,
    and `load(1, (*coords, n))`, which gives number n of an index vector. `coords` are
    such values, too, one per axis of the operand; `inside` is an i1 value, or None if
    the coordinates are always in range (clamped). `fill` is the value that a read
    outside gives.
    """

    coords: Sequence[Any]
    inside: Any = None
    fill: Any = None


class Along(NamedTuple):
    """What is known about a `Point` before anything is computed.

    The outer array is the result of a read, the updates of a write.
    """

    vectors: tuple[int, ...]  # the axes of the outer array that the index vectors have
    fixed: tuple[tuple[int, int], ...]  # (outer, operand) axes with equal coordinates
    length: int  # of the index vectors


class Emit(Protocol):
    """Writes one StableHLO operation; what an `hlo` rule gets first.

    Operands and results are values of the emitter, which know their `aval`. Elementwise
    operands of rank 0 are broadcast to the others before the rule sees them. `result` is
    the type of the result if it is not that of the equation; an operation with several
    results gives a list. `regions` are pairs (avals of the arguments, function): the
    function gets a scalar builder and the arguments, and gives what the region returns.
    Attributes are ints, bools, tuples of ints, or MLIR text.
    """

    def __call__(
        self,
        name: str,
        *operands: Any,
        result: Aval | Sequence[Aval] | None = None,
        regions: Sequence[Any] = (),
        **attributes: Any,
    ) -> Any: ...

    def inline(self, jaxpr: Any, *operands: Any) -> list[Any]:
        """Writes the equations of a jaxpr; gives its outputs."""
        ...
