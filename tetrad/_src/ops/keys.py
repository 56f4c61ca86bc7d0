"""Which random keys are used where: families of keys, and the uses of each key.

In: what the operations on keys of `random.py` tell when they run outside transformations.
Out: a call of `report` whenever a key is used that was used before.

A key is known by where it came from, never by its value. What one operation makes is a
`Family`: one key from a seed, `n` keys from a split. An array of keys carries a *note*,
the pair (family, which of its keys), in its slot `note`; whatever only moves keys hands
the note on, so all copies of a key are one key. A use is written down in the family.

`control/keys.py` follows keys through jaxprs with the same families and uses.

Read `Family`, `use` (has a key been used before?), `note_of` (whose key is this?), then
what operations call: `drawn`, `divided`, `folded`, `made`, `same`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import STATE, Trace, Tracer, Value, base_trace
from tetrad._src.core.op import Op
from tetrad._src.core.stage import StageTracer, where
from tetrad._src.ops.identity import Copy, StopGradient
from tetrad._src.ops.slices import Concatenate
from tetrad._src.util import dtypes
from tetrad._src.util.config import config
from tetrad._src.util.frames import Place
from tetrad._src.util.memo import Cache

WHOLE = -1  # all keys of a family
LONGEST_LINE = 64  # ancestors that a family remembers
FOLDS = 1024  # keys folded from one key that are remembered
JOINED = 1024  # elements of arrays put together up to which we know whose they are
MOST = 65_536  # elements of arrays up to which we know which key is where
MANY = 32  # uses of parts of a family that are kept apart

Note = tuple[Any, Any]  # (Family, which)
is_key = dtypes.is_key
_UINT32 = np.dtype(np.uint32)
_COPIES = (Copy, StopGradient)


class Use(NamedTuple):
    """One use of a key: the line, the operation, and what a split made.

    What eager code writes down in passing are plain tuples of the same parts.
    """

    place: Place | None
    op: Any
    made: Family | None = None
    inside: Place | None = None  # where, if `place` calls a function that does it


class Family:
    """Keys that one operation made together, and what each was used for.

    `how` says which: "seed", "split", "inner" (split by a sampler), "fold", "clone",
    "words" (given as numbers), "joined" (put together from others, whose notes are in
    `data`), "result" (of a compiled function) or "array" (unknown); `parent` is the note of the key that they were made from. `used`
    has the use of each key by its number, of all by `WHOLE`; uses of several stand in
    `parts`. `mixed`: numbers alone do not tell whether a key was used.
    """

    __slots__ = (
        "how", "place", "parent", "aval", "used", "parts", "folds", "mixed", "depth",
        "data", "lanes", "again", "same",
    )  # fmt: skip

    def __init__(
        self,
        how: str,
        place: Place | None,
        parent: Note | None,
        aval: Aval,
        data: Any = None,
    ) -> None:
        self.how = how
        self.place = place
        self.parent = parent
        self.aval = aval
        self.used: dict[Any, Any] = {}
        self.mixed = False
        self.data = data
        self.parts: list[tuple[Any, Any]] | None = None
        self.folds: dict[Any, Note] | None = None
        self.lanes: Any = None  # the `vmap` inside of which it was made
        self.same: Note | None = None  # the note under which its one key is known
        self.again: list[tuple[Any, Use]] | None = None  # uses that were reuses
        if parent is None:
            self.depth = 0
        else:
            self.depth = depth = parent[0].depth + 1
            if not depth % LONGEST_LINE:
                _shorten(parent[0])

    @property
    def shape(self) -> tuple[int, ...]:
        return key_shape(self.aval)

    @property
    def size(self) -> int:
        """How many keys there are."""
        aval = self.aval
        return aval.size if is_key(aval.dtype) else aval.size // 2

    @property
    def note(self) -> Note:
        """The note of an array with all its keys."""
        return self, 0 if self.size == 1 else WHOLE


recent: deque[Family] = deque(maxlen=4096)  # what eager code made, for people to see


def _shorten(family: Family) -> None:
    """Forgets ancestors far back, lest a loop that splits on and on keeps them all.

    The last one that is kept becomes a child of the first of all.
    """
    first = family
    for _ in range(LONGEST_LINE - 2):
        if family.parent is None:
            return
        family = family.parent[0]
    first = family
    while first.parent is not None:
        first = first.parent[0]
    if first is not family:
        family.parent = first.note


# --------------------------------------------------------------------------------- uses


def use(note: Note, this: Any) -> Any:
    """Writes down a use; gives an earlier use of one of the keys, if there is one."""
    family, which = note
    if not family.size:
        return None
    if family.same is not None:
        return use(family.same, this)
    if family.how == "joined":
        return _use_each(each(note), this)
    used: dict[Any, Any] = family.used
    if isinstance(which, np.ndarray):
        return _use_part(family, which, this)
    earlier = used.get(which)
    if earlier is None and family.mixed:
        earlier = _earlier(family, which)
    if earlier is None and which == WHOLE:
        earlier = next(iter(used.values()), None)
        if earlier is None and family.parts:
            earlier = family.parts[0][1]
    if earlier is None:
        used[which] = this
        if type(which) is not int or which == WHOLE:
            family.mixed = True
    return earlier


def _use_each(members: Sequence[Note], this: Any) -> Any:
    """Writes down a use of several keys: of all, or of none if there is an earlier use."""
    for i, member in enumerate(members):
        earlier = use(member, this)
        if earlier is not None:
            for written in members[:i]:
                forget(written)
            return earlier
    return None


def _earlier(family: Family, which: Any) -> Any:
    """An earlier use of key number `which` together with others."""
    if WHOLE in family.used:
        return family.used[WHOLE]
    if type(which) is int and which >= 0 and family.parts:
        for part, earlier in family.parts:
            if which in part:
                return earlier
    return None


def _use_part(family: Family, which: np.ndarray[Any, Any], this: Any) -> Any:
    if not which.size:
        return None
    which = np.sort(which, axis=None)
    if (which[1:] == which[:-1]).any():
        return this  # a key that stands in two places
    if family.mixed and WHOLE in family.used:
        return family.used[WHOLE]
    for number, earlier in family.used.items():
        if type(number) is int and number in which:
            return earlier
    parts = family.parts
    if parts is None:
        parts = family.parts = []
    for part, earlier in parts:
        if np.isin(which, part, assume_unique=True).any():
            return earlier
    parts.append((which, this))
    if len(parts) > MANY:
        together = np.unique(np.concatenate([part for part, _ in parts]))
        parts[:] = [(together, parts[0][1])]
    family.mixed = True
    return None


def forget(note: Note) -> Any:
    """Takes back the last use that was written down under this note."""
    family, which = note
    if family.same is not None:
        return forget(family.same)
    if not isinstance(which, np.ndarray):
        return family.used.pop(which)
    assert family.parts
    return family.parts.pop()[1]


# -------------------------------------------------------------------------------- notes


def is_raw(aval: Aval) -> bool:
    """Whether an array may hold keys as words."""
    return aval.dtype == _UINT32 and aval.shape[-1:] == (2,)


def may_hold(aval: Aval) -> bool:
    """Whether an array holds keys, or words that may be keys."""
    return is_key(aval.dtype) or is_raw(aval)


def key_shape(aval: Aval) -> tuple[int, ...]:
    """The shape of the keys that an array holds."""
    return aval.shape if is_key(aval.dtype) else aval.shape[:-1]


def note_of(x: Any) -> Note | None:
    """Whose keys the array `x` holds; a family of its own if that is not known.

    Arrays that are pending know what they come from.
    """
    if not isinstance(x, Value) or not may_hold(x.aval):
        return None
    found: Note | None = getattr(x, "note", None)
    if found is None and not isinstance(x, Tracer):
        found = _followed(x)
        if found is None:
            place = getattr(x, "where", None)
            found = Family("array", place, None, x.aval).note
        x.note = found  # type: ignore[attr-defined]
    return found


def moves_keys(op: Any, avals: Sequence[Aval], out: Aval) -> bool:
    """Whether the result of an operation may hold the keys of its operands."""
    moves = op.restride is not None or op.starts is not None
    return (
        (moves or type(op) is Concatenate or type(op) in _COPIES)
        and may_hold(out)
        and may_hold(avals[0])
    )


def note_origin(x: Value) -> None:
    """Notes whose keys a pending array holds, as long as that can be known."""
    if getattr(x, "note", None) is None:
        found = _followed(x)
        if found is not None:
            x.note = found  # type: ignore[attr-defined]


def _followed(x: Value) -> Note | None:
    """The note of a pending array that consists of the keys of others."""
    chain = []
    origin = base_trace().origin
    note: Note | None = None
    while note is None:
        found = origin(x)
        if found is None:
            return None
        op, args = found
        if not args or not isinstance(args[0], Value) or not may_hold(args[0].aval):
            return None
        if type(op) is Concatenate:
            note = joined(
                op, [note_of(a) for a in args], [a.aval for a in args], x.aval
            )
            break
        chain.append((op, args, x.aval))
        x = args[0]
        note = getattr(x, "note", None)
    for op, args, out in reversed(chain):
        if note is None:
            return None
        note = moved(op, note, args[0].aval, args[1:], out)
    return note


def moved(
    op: Any, note: Note, source: Aval, others: Sequence[Any], out: Aval
) -> Note | None:
    """The note of the result of an operation that moves keys; None if it is not known.

    `others` are the operands behind the keys: the starts of a slice.
    """
    if type(op) in _COPIES:
        return note
    family, which = note
    if op.restride is None and op.starts is None:
        return None
    same = out.dtype is source.dtype
    if same and is_key(out.dtype) or is_raw(source) and is_raw(out):
        if source.size == out.size and (family.size == 1 or source.shape == out.shape):
            return note
        if type(which) is int and which == WHOLE:
            number = _the_one(op, source, others)
            if number >= 0:
                return one(family, number)
        if out.size > MOST:
            return None
        table = _places(op, source, others)
        return None if table is None else chosen(note, source, table)
    return None


_ones: Cache = Cache("keys taken from arrays", limit=4096)


def _the_one(op: Any, source: Aval, others: Sequence[Any]) -> int:
    """The number of the one key that an operation takes from an array; -1 if not one."""
    try:
        found: int | None = _ones.get((op, source, *others))
    except TypeError:  # a start that is an array
        return -1
    if found is not None:
        return found
    table = _places(op, source, others)
    found = -1
    if table is not None and is_key(source.dtype):
        if table.size == 1:
            found = int(table.reshape(()))
    elif table is not None and table.size == 2 and table.shape[-1:] == (2,):
        first, second = table.reshape(-1).tolist()
        if first % 2 == 0 and second == first + 1:
            found = first // 2
    return int(_ones.setdefault((op, source, *others), found))


def joined(
    op: Any, notes: Sequence[Note | None], avals: Sequence[Aval], out: Aval
) -> Note | None:
    """The note of arrays of keys that were put together; None if it is not known."""
    if type(op) is not Concatenate or out.size > JOINED or not may_hold(out):
        return None
    if is_raw(out) and op.dimension == out.ndim - 1:
        return None
    parts = []
    for note, aval in zip(notes, avals):
        if note is None:
            return None
        members = each(note)
        part = np.empty(len(members), object)
        for i, member in enumerate(members):
            part[i] = member
        parts.append(part.reshape(key_shape(aval)))
    together = np.concatenate(parts, op.dimension)
    family = Family("joined", None, None, out, together.reshape(-1).tolist())
    family.mixed = True
    return family.note


def each(note: Note) -> list[Note]:
    """The notes of the single keys of an array."""
    family, which = note
    if isinstance(which, np.ndarray):
        numbers = which.reshape(-1).tolist()
    elif type(which) is int and which == WHOLE:
        numbers = list(range(family.size))
    else:
        numbers = [which]
    return [one(family, number) for number in numbers]


def one(family: Family, number: Any) -> Note:
    """The note of one key of a family."""
    if family.how == "joined" and type(number) is int:
        note: Note = family.data[number]
        return note
    return family, number


def _places(op: Any, source: Aval, others: Sequence[Any]) -> Any:
    """For each element of the result, its number in the operand; None if not known."""
    if source.size > MOST:
        return None
    numbers = np.arange(source.size, dtype=np.int64).reshape(source.shape)
    if op.starts is None:
        out, strides, offset = op.restride(source, source.strides, 0)
        flat = numbers.reshape(-1)[offset:]
        steps = [s * flat.itemsize for s in strides]
        if 0 in out.shape:
            return np.zeros(out.shape, np.int64)
        return np.lib.stride_tricks.as_strided(flat, out.shape, steps)
    sizes = getattr(op, "slice_sizes", None)
    if sizes is None or not all(isinstance(s, (int, np.integer)) for s in others):
        return None
    starts = [
        min(max(0, int(s)), n - size) for s, n, size in zip(others, source.shape, sizes)
    ]
    return numbers[tuple([slice(s, s + n) for s, n in zip(starts, sizes)])]


def chosen(note: Note, source: Aval, table: Any) -> Note | None:
    """The note of an array whose elements are those of `source` that `table` numbers."""
    family, which = note
    if not is_key(source.dtype):
        if table.shape[-1:] != (2,):
            return None
        first, second = table[..., 0], table[..., 1]
        if (first % 2).any() or (second - first != 1).any():
            return None
        table = first // 2
    if isinstance(which, np.ndarray):
        table = which.reshape(-1)[table]
    elif which != WHOLE:
        table = np.full(table.shape, 0) if type(which) is int else None
        if table is None or table.size == 1:
            return note
        return family, np.full(table.shape, which)
    if table.size == 1:
        return one(family, int(table.reshape(())))
    if (
        table.shape == family.shape
        and (table.reshape(-1) == np.arange(family.size)).all()
    ):
        return family, WHOLE
    return family, np.array(table)


# ------------------------------------------------------- what operations on keys tell


class Reuse(NamedTuple):
    """A key that is used again.

    `kind` is "twice"; "loop" if each step of a loop uses it; "lanes" if each lane of a
    `vmap` does (there is no earlier use then); "seed" if one seed is built in two places.
    `origin` says how a compiled function came by the key, if it was given to it.
    """

    kind: str
    keys: Any
    note: Note
    earlier: Use
    again: Use
    origin: str = ""


def report(reuse: Reuse) -> None:
    """Tells whoever listens."""
    family, which = reuse.note
    if family.again is None:
        family.again = []
    if len(family.again) < MANY:
        family.again.append((which, reuse.again))
    for listener in listeners:
        listener(reuse)


listeners: list[Callable[[Reuse], None]] = []


class KeyOp(Op):
    """An operation on keys: what it does with them is written down."""

    def __call__(self, *args: Any) -> Any:
        trace = STATE.trace
        out = trace.process(self, args)
        if trace.eager:
            if config.key_check != "off":
                self.tell(out, *args)
        elif trace.lanes > 1:
            self.tell_lanes(trace, out, *args)
        return out

    def tell(self, out: Any, *args: Any) -> None:
        """Writes down what became of keys; `out` is an array.

        Here: those that the operation consumes were drawn from.
        """
        for position in self.consumes:
            drawn(args[position], out, self)

    def tell_lanes(self, trace: Trace, out: Any, *args: Any) -> None:
        """The same in lanes of a `vmap`, which may all work with one key."""
        for position in self.consumes:
            drawn_in_lanes(trace, args[position], self)


def drawn(keys: Any, out: Any, op: Any, inside: Place | None = None) -> None:
    """Random numbers were drawn from `keys`, as `out`."""
    try:
        note = keys.note
    except AttributeError:
        note = note_of(keys)
        if note is None:
            return
    family, which = note
    this = (out.where, op, None, inside)
    if family.mixed or type(which) is not int or which < 0:
        earlier = use(note, this)
    else:
        earlier = family.used.setdefault(which, this)
        if earlier is this:
            return
    if earlier is not None:
        report(Reuse("twice", keys, note, Use._make(earlier), Use._make(this)))


def divided(keys: Any, out: Any, op: Any, how: str = "split") -> None:
    """`keys` were split into `out`."""
    try:
        note = keys.note
    except AttributeError:
        note = note_of(keys)
        if note is None:
            return
    place = out.where
    aval = out.aval
    family = Family(how, place, note, aval)
    this = (place, op, family, None)
    parent, which = note
    if parent.mixed or type(which) is not int or which < 0:
        earlier = use(note, this)
    else:
        earlier = parent.used.setdefault(which, this)
        if earlier is this:
            earlier = None
    if earlier is not None:
        if earlier[:2] == this[:2] and earlier[2] is not None:
            # The same line splits the same key again: these are the same children.
            out.note = earlier[2].note
            return
        report(Reuse("twice", keys, note, Use._make(earlier), Use._make(this)))
    if parent.folds is not None and how == "split":
        unite(note, family)
    recent.append(family)
    single = aval.size == (1 if is_key(aval.dtype) else 2)
    out.note = family, 0 if single else WHOLE


def folded(keys: Any, data: Any, out: Any) -> None:
    """`out` are keys folded from `keys` and `data`; the same data gives the same keys."""
    try:
        note = keys.note
    except AttributeError:
        note = note_of(keys)
        if note is None:
            return
    number = int(data) if isinstance(data, (int, np.integer)) else None
    out.note = found = fold(note, number, out.where, out.aval)
    recent.append(found[0])


def fold(note: Note, number: Any, place: Any, aval: Aval) -> Note:
    """The note of keys folded from a key and a number, which is None if not known.

    Child number n of a split is the key with n folded in: both are the cipher of n.
    """
    family, which = note
    if number is None or isinstance(which, np.ndarray):
        return Family("fold", place, note, aval).note
    folds = family.folds
    if folds is None:
        folds = family.folds = {}
    found: Note | None = folds.get((which, number))
    if found is None:
        single = aval.size == (1 if is_key(aval.dtype) else 2)
        found = Family("fold", place, note, aval, number), 0 if single else WHOLE
        split = family.used.get(which)
        if split is not None and split[2] is not None and type(number) is int:
            children = split[2]
            if numbered(children) and number < children.size:
                found = one(children, number)
        folds[which, number] = found
        if len(folds) > FOLDS:
            del folds[next(iter(folds))]
    return found


def numbered(children: Family) -> bool:
    """Whether these are children of a split which are the keys with numbers folded in:
    so it is with Threefry, whose children are the cipher of 0, 1, …
    """
    kind = children.aval.dtype
    return (
        children.how == "split"
        and config.jax_threefry_partitionable
        and (kind is dtypes.KEY or not is_key(kind))
    )


def unite(note: Note, children: Family) -> None:
    """The keys that were folded from a key which is now split are among its children."""
    family, which = note
    if isinstance(which, np.ndarray) or not numbered(children):
        return
    for (parent, number), (folded, _) in family.folds.items():
        if parent != which or type(number) is not int or folded.how != "fold":
            continue
        if number < children.size:
            if folded.used:
                children.used[number] = next(iter(folded.used.values()))
            folded.same = one(children, number)
            folded.mixed = True


def made(out: Any, how: str, data: Any = None, parent: Note | None = None) -> None:
    """New keys `out` came from seeds or, if `how` is "clone", are meant to be new."""
    data = data if isinstance(data, (int, np.integer)) else None
    family = Family(how, out.where, parent, out.aval, data)
    recent.append(family)
    out.note = family.note
    if how == "seed" and config.key_check == "strict":
        _compare_seeds(family)


def given_back(out: Any, keys: Any) -> None:
    """`out` are new keys that a call gave back, made from `keys` if that is not None."""
    parent = None if keys is None else getattr(keys, "note", None)
    family = Family("result", out.where, parent, out.aval)
    recent.append(family)
    out.note = family.note


def picked(keys: Value, number: int, out: Any) -> None:
    """`out` is `keys[number]`."""
    aval = keys.aval
    note: Note | None = getattr(keys, "note", None)
    if note is None:
        if not is_key(aval.dtype):
            return  # numbers like others, unless they are used as keys
        note = note_of(keys)
    family, which = note  # type: ignore[misc]
    if aval is family.aval and aval.ndim == (1 if is_key(aval.dtype) else 2):
        out.note = one(family, number) if type(which) is int and which < 0 else note
        return
    if aval.size > MOST:
        return
    numbers = np.arange(aval.size, dtype=np.int64).reshape(aval.shape)
    found = chosen(note, aval, numbers[number])  # type: ignore[arg-type]
    if found is not None:
        out.note = found


def same(keys: Any, out: Any) -> None:
    """`out` are the same keys in another form."""
    note = getattr(keys, "note", None) or note_of(keys)
    if note is None:
        made(out, "words")
    else:
        out.note = note


_seeds: Cache = Cache("random seeds", limit=4096)


def _compare_seeds(family: Family) -> None:
    """Reports a seed that was built in another place before."""
    if not isinstance(family.data, (int, np.integer)):
        return
    first = _seeds.setdefault(int(family.data), family)
    if first.place != family.place:
        earlier, again = Use(first.place, None), Use(family.place, None)
        report(Reuse("seed", None, family.note, earlier, again))


# ------------------------------------------------------------------------------- lanes


def drawn_in_lanes(trace: Trace, keys: Any, op: Any) -> None:
    """Each lane of `trace` draws from `keys`: are they mapped, or made for the lanes?"""
    if getattr(keys, "_trace", None) is trace or config.key_check == "off":
        return
    if made_inside(trace, keys):
        return
    this = Use(where(), op)
    note = getattr(keys, "note", None)
    if note is None:
        note = Family("array", getattr(keys, "where", None), None, keys.aval).note
    report(Reuse("lanes", keys, note, this, this))


def enter_lanes(trace: Trace, out: Any) -> None:
    """Keys `out` were made from a seed, or cloned, inside the lanes of `trace`."""
    if type(out) is StageTracer:
        trace.inside = {*trace.inside, out.variable}
        return
    note = getattr(out, "note", None)
    if note is not None:
        note[0].lanes = trace


def made_inside(trace: Trace, keys: Any) -> bool:
    """Whether keys that are not mapped were made, or cloned, inside the lanes."""
    if type(keys) is StageTracer:
        return _staged_inside(trace, keys)
    note = getattr(keys, "note", None)
    while note is not None:
        if note[0].lanes is trace:
            return True
        note = note[0].parent
    return False


def _staged_inside(trace: Trace, tracer: StageTracer) -> bool:
    """As `made_inside`, for a key that is being staged around the lanes."""
    if not trace.inside:
        return False
    source = {out: eqn for eqn in tracer._trace.eqns for out in eqn.outs}  # type: ignore[attr-defined]
    variable: Any = tracer.variable
    while variable not in trace.inside:
        if variable not in source or not source[variable].ins:
            return False
        variable = source[variable].ins[0]
    return True
