"""The Plan: what runs, in which order, before anybody decides where values live.

    Plan      ::= inputs Block outputs                 values are numbered; inputs first
    Block     ::= Step*
    Step      ::= Kernel | Band | Call | Copy | Branch | Loop
    Band      ::= Kernel*                              all on one row, then on the next
    Kernel    ::= space Entry* Write* Reduction* Scatter* Inner?
    Entry     ::= read Read | scalar Scalar | coordinate Coordinate
                | Op ref*                              out[i] = op(x[i], …)
                | pick ref n                           output n of an op with several
                | point Op Read ref* Coordinate*       a read at computed coordinates
    Read      ::= value strides offset Start*          element offset + Σ strides·i
    Scalar    ::= input n | literal x
    Write     ::= ref value strides offset Start*
    Reduction ::= Op refs axes values
    Scatter   ::= Op ref Write ref* Coordinate*        writes at computed coordinates
    Inner     ::= Form ref* Read* Write*               control flow at every point
    Form      ::= kind Turn*                           the jaxprs that it runs
    Turn      ::= TurnEntry* ref*                      entries count from the operands on
    TurnEntry ::= Op ref* | pick ref n | Form ref* | Access ref*
    Call      ::= name parameters Read* values         a kernel made by hand
    Copy      ::= value value                          unless both are one buffer
    Branch    ::= value Block*                         the block that the value names
    Loop      ::= length Block Carry* value*           that many turns; or
                | Block value Block Carry*             turns while the value is true
    Carry     ::= value value                          the former becomes the latter
    Part      ::= value offset stride Loop             an element of a stacked value

A kernel visits every point of its space (a tuple of extents) once and evaluates its
entries there; `ref` is the position of an entry. Strides and offsets count elements.
Start terms add run-time offsets: the value of a scalar, clamped to 0..limit, times a
stride. What is read or written at computed coordinates moves with the point like any
Read or Write along the axes that the computation leaves alone; the refs are the entries
that hold index vectors, the coordinates those that the computation asks for (or None).
Two kernels of one plan may touch the same value only in the order of steps.

Values are numbered through all blocks, and a block sees what was written before it. A
value is written once, with two exceptions: every block of a branch writes the results
of the branch, and what a loop carries is written before it and, by its `Carry`s, after
each turn, all at the same time. A value that is a `Part` has no memory of its own: in
turn t of its loop it is the bytes `offset + t·stride` and following of another value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from tetrad._src.core.avals import Aval, dense_strides
from tetrad._src.core.op import Op

Strides = tuple[int, ...]
Shape = tuple[int, ...]


class Scalar(NamedTuple):
    """A rank-0 operand that travels as a word: input `position`, or a literal."""

    position: int  # input number, or -1 for a literal
    literal: Any
    dtype: Any


class Term(NamedTuple):
    """Part of a run-time offset: clamp(source, 0, limit) · stride elements.

    `source` is a Scalar, or the number of a rank-0 value in memory.
    """

    source: Any
    dtype: Any
    limit: int
    stride: int


class Read(NamedTuple):
    """An affine view of a value in memory."""

    value: Any  # a number; in kernels that lowering adds, also ("scratch", n)
    dtype: Any
    strides: Strides
    offset: int
    terms: tuple[Term, ...]
    step: int = 0  # elements from one turn of the kernel's inner loop to the next


class Coordinate(NamedTuple):
    """An affine function of the point: offset + Σ strides·i, as numbers of `dtype`."""

    strides: Strides
    offset: int
    dtype: Any  # None: an i64 coordinate of a point
    terms: tuple[Term, ...]


class Write(NamedTuple):
    """Entry `ref` goes to elements offset + Σ strides·i of a value.

    What inner control flow writes is no entry; it states its `dtype`.
    """

    ref: int
    value: int
    strides: Strides
    offset: int
    terms: tuple[Term, ...]
    step: int = 0  # elements from one turn of the kernel's inner loop to the next
    dtype: Any = None


class Reduction(NamedTuple):
    """A fold of entries over `axes` of the space, giving `values`."""

    op: Any
    refs: tuple[int, ...]
    axes: tuple[int, ...]
    values: tuple[int, ...]
    dtypes: tuple[Any, ...]  # of the values


class Scatter(NamedTuple):
    """Entry `ref` is combined into `value` at the point that `op` computes."""

    op: Op
    ref: int
    value: int
    rank: int  # of the target
    strides: Strides
    refs: tuple[int, ...]
    coordinates: tuple[Coordinate | None, ...]


class Where(NamedTuple):
    """Which element an INDEXED or UPDATE operation means, in an array of rank `rank`.

    It is that of element `index` of the outer array (the result, or the updates) of
    shape `outer`; the indices have the shape `vectors`.
    """

    op: Any
    rank: int
    index: Shape  # type: ignore[assignment]
    outer: Shape
    vectors: Shape


class Access(NamedTuple):
    """An element that a turn fetches from an array in memory, or stores there.

    Without `where` the operands are starts, limits and strides, and an offset; `starts`
    says of each start whether its stride is 1. Otherwise they are the elements of the
    indices, the extents and the strides of the array. What is stored comes last.
    """

    array: int  # a number into `Inner.arrays`
    starts: tuple[bool, ...]
    steady: bool  # nothing is ever stored in that array
    store: bool
    where: Where | None = None


class Turn(NamedTuple):
    """A jaxpr inside of a kernel, as entries.

    References from 0 on are first the operands, then the entries; `~n` is number n of
    the values that are the same in all turns (`Inner.lifted`). `wide` says of operands
    and entries whether they differ from point to point; the others are scalars.
    """

    wide: tuple[bool, ...]
    entries: tuple[tuple[Any, ...], ...]
    outs: tuple[int, ...]


class Form(NamedTuple):
    """Control flow inside of a kernel, without its operands.

    `kind` is the name of a `Flow`, or "lanes": a while whose first carry says which
    points go on. Operands are `consts` and carries; of a branch, its index and the
    rest. `length` refers to the number of turns of a scan. `wide` is about the results
    that are carried, or are those of a branch.
    """

    kind: str
    consts: int
    wide: tuple[bool, ...]
    length: int
    turns: tuple[Turn, ...]


class Inner(NamedTuple):
    """A form with what it works on, in a kernel.

    `refs` are the entries of the lifted values, then of the operands. `reads` are the
    numbers of the kernel's reads that move with the turns, `results` and `stores` those
    of its writes, -1 where nobody wants the result: what is carried at the end, and
    what each turn gives. `arrays` are the reads of arrays that accesses go to.
    """

    form: Form
    lifted: int
    refs: tuple[int, ...]
    reads: tuple[int, ...]
    results: tuple[int, ...]
    stores: tuple[int, ...]
    arrays: tuple[int, ...]


READ = "read"
SCALAR = "scalar"
COORDINATE = "coordinate"
PICK = "pick"
POINT = "point"


class Kernel:
    """One fused loop over a space."""

    __slots__ = (
        "space",
        "entries",
        "dtypes",
        "reads",
        "scalars",
        "writes",
        "walks",
        "reductions",
        "scatters",
        "axes",
        "flat",
        "ragged",
        "memo",
        "splat",
        "wide",
        "cost",
        "places",
        "inner",
        "turns",
        "updated",
    )

    def __init__(self, space: Shape) -> None:
        self.space = space
        self.entries: list[tuple[Any, ...]] = []
        self.dtypes: list[Any] = []  # of the entries
        self.reads: list[Read] = []
        self.scalars: list[Scalar] = []
        self.writes: list[Write] = []
        self.walks: list[Strides] = []  # of reads and coordinates
        self.reductions: list[Reduction] = []
        self.scatters: list[Scatter] = []
        self.axes: Shape | None = None  # reduced axes, if there are reductions
        self.flat = False  # must be walked as one flat range
        self.ragged = False  # writes parts of values; takes no reductions
        self.memo: dict[Any, int] = {}
        self.places: dict[Any, int] = {}  # Read or Scalar -> its number
        self.splat: tuple[Any, ...] = ()
        self.wide = False  # some entry has 64-bit registers
        self.cost = 0.0
        self.inner: Inner | None = None
        self.updated: list[int] = []  # values that the inner loop changes
        self.turns = 1.0  # of the inner loop; `cost` is that of one

    def write_type(self, write: Write) -> Any:
        """The dtype of what a write stores."""
        return self.dtypes[write.ref] if write.dtype is None else write.dtype

    def enter(self, entry: tuple[Any, ...], dtype: Any) -> int:
        """Appends an entry; its number."""
        self.entries.append(entry)
        self.dtypes.append(dtype)
        return len(self.entries) - 1

    def add_states(
        self,
        op: Any,
        places: list[Any],
        dtypes: list[Any],
        axes: Shape,
        reduction: Reduction,
    ) -> None:
        """A second fold over dense states of the first one."""
        refs = []
        for place, dtype in zip(places, dtypes):
            self.reads.append(Read(place, dtype, dense_strides(self.space), 0, ()))
            refs.append(self.enter((READ, len(self.reads) - 1), dtype))
        self.reductions.append(
            Reduction(op, tuple(refs), axes, reduction.values, reduction.dtypes)
        )


class Band:
    """Kernels that visit the same `rows`, of `length` elements along axes `inner`.

    Each one visits a row as soon as the one before it has. They share a space, but for
    those over one element for each row.
    """

    __slots__ = ("kernels", "inner", "rows", "length")

    def __init__(
        self, kernels: list[Kernel], inner: Shape, rows: int, length: int
    ) -> None:
        self.kernels = kernels
        self.inner = inner
        self.rows = rows
        self.length = length


HOST = "host"  # the name of a call of Python, whose parameter is the operation `op`


class Call:
    """A kernel made by hand, called on views of memory."""

    __slots__ = ("name", "parameters", "reads", "in_avals", "values", "out_avals")

    def __init__(
        self,
        name: str,
        parameters: dict[str, Any],
        reads: list[Read],
        in_avals: list[Aval],
        values: list[int],
        out_avals: list[Aval],
    ) -> None:
        self.name = name
        self.parameters = parameters
        self.reads = reads
        self.in_avals = in_avals
        self.values = values
        self.out_avals = out_avals


class Copy:
    """`target` becomes a copy of `source`; nothing if both have one buffer."""

    __slots__ = ("source", "target")

    def __init__(self, source: int, target: int) -> None:
        self.source = source
        self.target = target


class Branch:
    """One of `blocks`: the one whose number value `index` (i32) holds."""

    __slots__ = ("index", "blocks")

    def __init__(self, index: int, blocks: list[list[Step]]) -> None:
        self.index = index
        self.blocks = blocks


class Loop:
    """`body`, a number of times or while a value is true.

    With a `length` there are that many turns. Without, `test` runs before each turn,
    and the turn follows if it leaves `condition` true. `carries` says which values of
    one turn (first) are which of the next one. `stacked` lists the values that the
    turns fill part by part.
    """

    __slots__ = ("length", "test", "condition", "body", "carries", "stacked")

    def __init__(self, length: int | None) -> None:
        self.length = length
        self.test: list[Step] = []
        self.condition = -1
        self.body: list[Step] = []
        self.carries: list[tuple[int, int]] = []
        self.stacked: list[int] = []


class Swap(NamedTuple):
    """After each turn of `loop`, each of `values` takes the buffer of the next one.

    The last one, which is new in every turn, takes the buffer of the first. `copies`
    follow the loop and bring the values back to where they were.
    """

    loop: Loop
    values: tuple[int, ...]
    copies: tuple[Copy, ...]


class Update(NamedTuple):
    """Value `target` is what an update at the user's line `where` makes of `source`."""

    source: int
    target: int
    where: Any


MANY = 1_000_000.0  # the turns of a loop that nobody can count beforehand


class Part(NamedTuple):
    """What a value is that a loop moves along another one."""

    whole: int
    offset: int  # bytes, in the first turn
    stride: int  # bytes from one turn to the next
    loop: Loop


Step = Kernel | Band | Call | Copy | Branch | Loop


def leaves(steps: list[Step]) -> Iterator[Kernel | Band | Call | Copy]:
    """The steps of a block that are no blocks themselves, in order."""
    for step in steps:
        if type(step) is Branch:
            for block in step.blocks:
                yield from leaves(block)
        elif type(step) is Loop:
            yield from leaves(step.test)
            yield from leaves(step.body)
        else:
            yield step  # type: ignore[misc]


def loops_of(steps: list[Step]) -> Iterator[Loop]:
    """The loops of a block, inner ones first."""
    for step in steps:
        if type(step) is Branch:
            for block in step.blocks:
                yield from loops_of(block)
        elif type(step) is Loop:
            yield from loops_of(step.test)
            yield from loops_of(step.body)
            yield step


class Plan:
    """Steps over numbered values.

    Beside the steps it notes for reports which values updates make of others, and (in
    `starts`) which values loops carry first.
    """

    __slots__ = (
        "by_value",
        "avals",
        "steps",
        "outs",
        "inputs",
        "parts",
        "updates",
        "starts",
    )

    def __init__(self, in_avals: tuple[Aval, ...], by_value: tuple[bool, ...]) -> None:
        self.inputs = len(in_avals)
        self.by_value = by_value
        self.avals: list[Aval] = list(in_avals)
        self.steps: list[Step] = []
        self.outs: list[int] = []
        self.parts: dict[int, Part] = {}
        self.updates: list[Update] = []
        self.starts: list[tuple[int, int]] = []

    def new_value(self, aval: Aval) -> int:
        self.avals.append(aval)
        return len(self.avals) - 1

    def memory_of(self, value: int) -> int:
        """The value in whose memory `value` lies."""
        while value in self.parts:
            value = self.parts[value].whole
        return value


def is_wide(dtype: Any) -> bool:
    """Whether registers of this type have 64 bits."""
    if dtype.itemsize == 8:
        return bool(getattr(dtype, "kind", "K") != "c")
    return bool(dtype.itemsize == 16)
