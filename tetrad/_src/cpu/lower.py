"""Lowering: a kernel of a plan becomes launches of shape-erased loops.

In: a `Kernel` with its space. Out: `Launch`es: a `Loops`, the words that its function
reads, and how many tasks it has. What all templates share is in `lowering.py`. A word
that is a pointer or a run-time scalar is listed in `fixes` and filled in by the program.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tetrad._src.cpu import scatter_parts, schedule
from tetrad._src.cpu.body import uniform_entries
from tetrad._src.cpu.launch import SCRATCH, Launch
from tetrad._src.cpu.literals import element_type
from tetrad._src.cpu.loops import (
    ACROSS,
    CONTIGUOUS,
    FIND_ROWS,
    FIND_SHORT,
    FLAT,
    FOLD_COLUMNS,
    FOLD_ROWS,
    FOLD_WHOLE,
    ROWS,
    SCATTER,
    STRIDED,
    TILES,
    TURNS,
    Access,
    Fold,
    Loops,
    PointWrite,
)
from tetrad._src.cpu.lowering import (
    Lowering,
    numbered,
    place_of,
)
from tetrad._src.cpu.points import by_rows
from tetrad._src.cpu.reduce import (
    MOST_STATES,
    MergeStates,
    any_order,
    merge_states,
    state_types,
)
from tetrad._src.cpu.registers import SMALL_FLOATS
from tetrad._src.cpu.scalar import SIZE
from tetrad._src.passes import trees
from tetrad._src.passes.ir import Band, Kernel


def lower(
    kernel: Kernel, avals: Sequence[Any], exact: bool = False
) -> tuple[list[Launch], list[int]]:
    """The launches of a kernel, and the bytes of each piece of scratch memory.

    If `exact`, nothing may be written behind a result, not even for a moment.
    """
    low = Lowering(kernel)
    if low.points or kernel.scatters:
        low.find_narrow(avals)
    if kernel.inner is not None:
        return [_lower_turns(low, avals)], []
    if kernel.reductions:
        return _lower_fold(low, avals)
    if low.size == 0:
        return [], []
    launch = _lower_map(low, avals, exact)
    if kernel.scatters and launch.loops.split:
        return scatter_parts.around(launch, kernel.scatters[0], avals)
    return [launch], []


def lower_band(band: Band, avals: Sequence[Any]) -> list[Launch]:
    """The launches of the kernels of a band, each counting rows."""
    launches = []
    for kernel in band.kernels:
        low = Lowering(kernel)
        if low.points:
            low.find_narrow(avals)
        if kernel.reductions:
            made, scratch = _lower_fold(low, avals)
            assert len(made) == 1 and not scratch and not made[0].loops.split
            launches += made
        else:
            length = band.length if low.size > band.rows else 1
            launches.append(_lower_row(low, avals, band.inner, length))
        assert launches[-1].total == band.rows, (launches[-1].total, band.rows)
    return launches


def _lower_row(
    low: Lowering, avals: Sequence[Any], inner: Sequence[int], length: int
) -> Launch:
    """A map over given rows; over single elements if the length is 1."""
    kernel, launch = low.kernel, low.launch
    if length > 1:
        kept, last = low.collapse(range(min(inner)))
        vector = inner[-1]
    else:
        kept, last = low.collapse(range(len(kernel.space)))
        length = low.size
        vector = last.pop() if last else -1
        kept = []
    reads, writes, counts = low.accesses(vector, length)
    ns = schedule.nanoseconds(kernel.cost, len(reads) + len(writes))
    if low.points:
        ns += schedule.POINT_NS
    launch.work = ns * low.size
    low.common_words(avals, reads, writes)
    flat = length == low.size
    if flat:
        launch.total = length
    else:
        launch.words.extend((*kept, length))
        launch.total = low.size // length
    low.strides(last, vector, [*reads, *[a for _, a in writes], *counts])
    launch.loops = Loops(
        FLAT if flat else ROWS,
        schedule.lanes(kernel.wide),
        len(kept),
        0,
        reads,
        tuple([element_type(s.dtype) for s in kernel.scalars]),
        writes,
        counts,
        low.entries(avals),
        (),
        None,
        flat,
        0,
    )
    return launch


def _lower_map(low: Lowering, avals: Sequence[Any], exact: bool) -> Launch:
    kernel, launch = low.kernel, low.launch
    extents, last = low.collapse(range(len(kernel.space)))
    vector = last[-1] if last else -1
    length = extents[-1] if extents else 1
    reads, writes, counts = low.accesses(vector, length)
    if len(extents) > 1 and not kernel.scatters and not low.points:
        across = _across(low, extents, last, reads, writes)
        if across >= 0:
            return _lower_tiles(
                low, avals, extents, last, across, (reads, writes, counts)
            )
    ns = schedule.nanoseconds(kernel.cost, len(reads) + len(writes))
    if low.points:
        ns += schedule.POINT_NS
    launch.work = ns * low.size
    low.common_words(avals, reads, writes)
    if kernel.scatters:
        return _lower_scatter(low, avals, extents, last, (reads, writes, counts))
    flat = len(extents) <= 1 and not (kernel.ragged or exact)
    template = FLAT if flat else ROWS
    split = False
    stream = 0
    if template == FLAT:
        launch.total, launch.chunk = length, schedule.flat_chunk(ns)
        stream = _stream(reads, writes, length)
    else:
        launch.words.extend(extents[:-1])
        launch.words.append(length)
        split = _row_tasks(launch, low.size // length, length, ns)
    accesses = [*reads, *[a for _, a in writes], *counts]
    low.strides(last[:-1] if template != FLAT else (), vector, accesses)
    launch.loops = Loops(
        template,
        schedule.lanes(kernel.wide),
        0 if template == FLAT else max(len(extents) - 1, 0),
        0,
        reads,
        tuple([element_type(s.dtype) for s in kernel.scalars]),
        writes,
        counts,
        low.entries(avals),
        (),
        None,
        split,
        stream,
    )
    return launch


def _lower_turns(low: Lowering, avals: Sequence[Any]) -> Launch:
    """A map whose points run control flow: rows, cut into pieces of equal work."""
    kernel, launch, inner = low.kernel, low.launch, low.kernel.inner
    assert inner is not None
    extents, last = low.collapse(range(len(kernel.space)))
    vector = last[-1] if last else -1
    length = extents[-1] if extents else 1
    reads, writes, counts = low.accesses(vector, length)
    lanes = schedule.turn_lanes(kernel.wide, length) if low.size > 1 else 1
    low.common_words(avals, reads, writes)
    ns = schedule.turn_nanoseconds(kernel.cost, len(inner.reads + inner.stores), lanes)
    ns *= kernel.turns
    launch.work = ns * low.size
    words = launch.words
    words.extend(extents[:-1])
    words.append(length)
    rows = low.size // length
    segment, launch.chunk = schedule.turn_tasks(rows, length, ns, lanes)
    pieces = -(-length // segment)
    if pieces > 1:
        words.extend((pieces, segment))
    launch.total = rows * pieces
    accesses = [*reads, *[a for _, a in writes], *counts]
    low.strides(last[:-1], vector, accesses)
    words.extend([kernel.reads[number].step for number in inner.reads])
    words.extend([kernel.writes[n].step for n in inner.stores if n >= 0])
    launch.flags.append(len(words))
    words.append(0)
    launch.loops = Loops(
        TURNS,
        lanes,
        max(len(extents) - 1, 0),
        0,
        reads,
        tuple([element_type(s.dtype) for s in kernel.scalars]),
        writes,
        counts,
        low.entries(avals),
        (),
        None,
        pieces > 1,
        0,
        inner,
    )
    return launch


def _lower_scatter(
    low: Lowering,
    avals: Sequence[Any],
    extents: list[int],
    last: list[int],
    accesses: tuple[Any, Any, Any],
) -> Launch:
    """A map that writes at computed coordinates."""
    launch = low.launch
    reads, writes, counts = accesses
    launch.loops = Loops(
        SCATTER,
        schedule.lanes(low.kernel.wide),
        max(len(extents) - 1, 0),
        0,
        reads,
        tuple([element_type(s.dtype) for s in low.kernel.scalars]),
        writes,
        counts,
        low.entries(avals),
        (),
        _point_write(low),
        False,
        0,
    )
    length = extents[-1] if extents else 1
    segment, ns = length, schedule.SCATTER_NS
    scatter = low.kernel.scatters[0]
    targets = avals[scatter.value].size
    if by_rows(launch.loops, uniform_entries(launch.loops)):
        # Threads may share the rows of the target, if every thread sees all updates.
        segment, ns = schedule.column_segment(length), schedule.SCATTER_ROW_NS
    elif length == low.size and scatter.op.initial is not None:
        segment = schedule.scatter_segment(length, targets)
        launch.loops = launch.loops._replace(split=segment < length)
    launch.work = ns * low.size
    launch.total = -(-length // segment)
    launch.words.extend((*extents[:-1], length, segment))
    if launch.loops.split:
        launch.words.append(targets)
    moving = [*reads, *[a for _, a in writes], *counts]
    low.strides(last[:-1], last[-1] if last else -1, moving)
    return launch


def _stream(
    reads: tuple[Access, ...], writes: tuple[tuple[int, Access], ...], length: int
) -> int:
    """How a flat range treats the caches: see `Loops.stream`."""
    outputs = sum([SIZE[access.type] for _, access in writes]) * length
    inputs = sum([SIZE[access.type] for access in reads]) * length
    if outputs >= schedule.AROUND_BYTES:
        return 2
    return int(inputs + outputs > schedule.STREAM_BYTES)


def _row_tasks(launch: Launch, rows: int, length: int, ns: float) -> bool:
    """Sets the tasks of a kernel over rows; whether rows are cut into segments."""
    launch.total = rows
    launch.chunk = schedule.task_chunk(length, ns)
    segment = schedule.segment(length)
    if segment == length:
        return False
    pieces = -(-length // segment)
    launch.words.extend((pieces, segment))
    launch.total = rows * pieces
    launch.chunk = schedule.task_chunk(segment, ns)
    return True


def _across(
    low: Lowering,
    extents: list[int],
    last: list[int],
    reads: tuple[Access, ...],
    writes: tuple[tuple[int, Access], ...],
) -> int:
    """The number of the axis along which strided reads are contiguous, or -1."""
    lanes = schedule.lanes(low.kernel.wide)
    if extents[-1] < lanes // 2:
        return -1
    if any(access.kind != CONTIGUOUS for _, access in writes):
        return -1
    for read, access in zip(low.kernel.reads, reads):
        if access.kind != STRIDED or access.type == "c128" or access.comb is not None:
            continue
        for number in range(len(last) - 1):
            if read.strides[last[number]] == 1 and extents[number] >= lanes // 2:
                return number
    return -1


def _lower_tiles(
    low: Lowering,
    avals: Sequence[Any],
    extents: list[int],
    last: list[int],
    across: int,
    accesses: tuple[Any, Any, Any],
) -> Launch:
    """A map that is walked in square tiles."""
    kernel, launch = low.kernel, low.launch
    reads, writes, counts = accesses
    axis = last[across]
    reads = tuple(
        [
            Access(a.type, ACROSS, a.terms)
            if a.kind == STRIDED
            and read.strides[axis] == 1
            and a.type != "c128"
            and a.comb is None
            else a
            for read, a in zip(kernel.reads, reads)
        ]
    )
    ns = schedule.nanoseconds(kernel.cost + 2.0, len(reads) + len(writes))
    launch.work = ns * low.size
    low.common_words(avals, reads, writes)
    outer = [n for n in range(len(extents) - 1) if n != across]
    rows, columns = extents[across], extents[-1]
    band = schedule.tile_band(rows)
    bands = -(-rows // band)
    words = launch.words
    words.extend([extents[n] for n in outer])
    words.extend((rows, columns, band, bands, schedule.BAND))
    launch.total = low.size // (rows * columns) * bands
    launch.chunk = schedule.task_chunk(min(band, rows) * columns, ns)
    axes = [*[last[n] for n in outer], axis]
    low.strides(axes, last[-1], [*reads, *[a for _, a in writes], *counts])
    launch.loops = Loops(
        TILES,
        schedule.lanes(kernel.wide),
        len(outer),
        0,
        reads,
        tuple([element_type(s.dtype) for s in kernel.scalars]),
        writes,
        counts,
        low.entries(avals),
        (),
        None,
        False,
        2 if _stores_around(low, writes, columns) else 0,
    )
    return launch


def _stores_around(
    low: Lowering, writes: tuple[tuple[int, Access], ...], columns: int
) -> bool:
    """Whether rows of results are aligned, and too many to stay in the caches."""
    if low.kernel.ragged:
        return False
    sizes = [SIZE[access.type] for _, access in writes]
    if sum(sizes) * low.size < schedule.TILED_AROUND_BYTES:
        return False
    return all(columns * size % 64 == 0 for size in sizes)


def _point_write(low: Lowering) -> PointWrite:
    scatter = low.kernel.scatters[0]
    count = len(scatter.coordinates) - scatter.coordinates.count(None)
    taken = numbered(scatter.coordinates, len(low.coordinates) - count)
    updates = len(low.kernel.space)
    return PointWrite(
        scatter.op, scatter.ref, scatter.rank, scatter.refs, taken, low.narrow, updates
    )


# ---------------------------------------------------------------------------- folds


def _lower_fold(
    low: Lowering, avals: Sequence[Any], taken: int = 0
) -> tuple[list[Launch], list[int]]:
    """Launches of a fold. Its scratch memory is numbered from `taken` on."""
    kernel, launch = low.kernel, low.launch
    axes = kernel.reductions[0].axes
    form = trees.tree(kernel.space, axes)
    if form.outputs == 0:
        return [], []
    rows = form.kind == trees.ROWS
    vector, length = form.inner[-1] if form.inner else -1, form.length
    if rows:
        kept, kept_last = low.collapse(form.kept)
    else:
        # Lanes are independent: vectors may run on into neighbouring kept axes.
        kept, kept_last = low.collapse([*form.kept, vector])
        length = kept.pop()
        kept_last.pop()
    folded, folded_last = low.collapse(form.outer)
    reads, writes, counts = low.accesses(vector, length)
    folds = _folds(kernel)
    ns = schedule.nanoseconds(kernel.cost, len(reads) + len(writes))
    launch.work = ns * low.size
    low.common_words(avals, reads, writes)
    template = FOLD_COLUMNS
    if rows:
        template, form = _row_template(kernel, folds, form, ns)
    split = form.blocks > 1 or (rows and not form.kept)
    blocks = 1 if template == FOLD_WHOLE else form.blocks
    scratch, states = _fold_words(low, folds, blocks * form.outputs, blocks, taken)
    launch.words.extend((*kept, *folded, length, form.rows))
    by_output = rows and form.outputs < 16
    lanes = schedule.lanes(kernel.wide)
    vectors = 1 if rows else schedule.column_vectors(length, lanes)
    width = vectors * lanes
    per_task = _fold_tasks(launch, form, length, split, by_output, width)
    if template == FOLD_WHOLE:
        launch.total = form.outputs
    launch.chunk = schedule.task_chunk(per_task, ns)
    accesses = [*reads, *[a for _, a in writes], *counts]
    low.strides([*kept_last, *folded_last], vector, accesses)
    launch.loops = Loops(
        template,
        lanes,
        len(kept),
        len(folded),
        reads,
        tuple([element_type(s.dtype) for s in kernel.scalars]),
        writes,
        counts,
        low.entries(avals),
        folds,
        None,
        split,
        0,
        None,
        vectors,
    )
    launches = [launch]
    if blocks > 1:
        merging = _merging(kernel, folds, form, by_output, states)
        after, more = _lower_fold(Lowering(merging), (), taken + len(scratch))
        launches += after
        scratch += more
    return launches, scratch


def _row_template(
    kernel: Kernel, folds: tuple[Fold, ...], form: trees.Tree, ns: float
) -> tuple[str, trees.Tree]:
    """How rows are visited. What is short is not worth several tasks."""
    template = FOLD_ROWS
    if _finds(kernel, folds):
        template = FIND_SHORT if form.length < schedule.FIND_FROM else FIND_ROWS
    if form.blocks == 1:
        return template, form
    small = ns * form.length * form.rows <= schedule.WHOLE_NS
    if all([any_order(fold) for fold in folds]):
        # Then blocks may be cut anywhere.
        segment = max(form.segment, schedule.flat_chunk(ns))
        if small or (segment >= form.length and form.rows == 1):
            segment = max(form.length, 1)
            form = form._replace(run=form.rows, segment=segment, blocks=1)
        elif form.rows == 1:
            blocks = -(-form.length // segment)
            form = form._replace(segment=segment, blocks=blocks)
    elif small and form.outputs == 1 and form.blocks <= MOST_STATES:
        template = FOLD_WHOLE
    return template, form


def _finds(kernel: Kernel, folds: tuple[Fold, ...]) -> bool:
    """Whether to find the index of an element after the element itself."""
    op, types = folds[0].op, folds[0].types
    return (
        len(folds) == 1
        and not (kernel.writes or kernel.scatters)
        and kernel.cost <= schedule.FIND_COST
        and type(op) is not MergeStates
        and op.peak is not None
        and types[0] not in SMALL_FLOATS
        and op.peak(types[0]) is not None
    )


def _fold_tasks(
    launch: Launch,
    form: trees.Tree,
    length: int,
    split: bool,
    by_output: bool,
    width: int,
) -> int:
    """Sets the tasks of a fold, and the words about blocks; the elements of a task."""
    words = launch.words
    if form.kind == trees.ROWS:
        launch.total = form.outputs * form.blocks
        if split:
            segments = max(1, -(-form.length // form.segment))
            words.extend((form.run, form.segment, segments, form.blocks))
            words.extend((form.blocks, 1) if by_output else (1, form.outputs))
        return min(form.run, form.rows) * min(form.segment, form.length)
    strips = -(-length // width)
    words.append(strips)
    launch.total = form.outputs // length * strips * form.blocks
    if split:
        words.extend((form.run, form.blocks, form.outputs))
    return min(form.run, form.rows) * width


def _folds(kernel: Kernel) -> tuple[Fold, ...]:
    found = []
    for reduction in kernel.reductions:
        types = tuple([element_type(kernel.dtypes[ref]) for ref in reduction.refs])
        results = tuple([element_type(dtype) for dtype in reduction.dtypes])
        found.append(Fold(reduction.op, reduction.refs, types, results))
    return tuple(found)


def _fold_words(
    low: Lowering, folds: tuple[Fold, ...], count: int, blocks: int, taken: int
) -> tuple[list[int], list[list[int]]]:
    """Pointers of results and of `count` stored states; scratch memory for these."""
    launch = low.launch
    scratch: list[int] = []
    states: list[list[int]] = []
    for reduction, fold in zip(low.kernel.reductions, folds):
        for value in reduction.values:
            launch.pointer(*place_of(value), 0)
        numbers = []
        for type in state_types(fold):
            if blocks > 1:
                numbers.append(taken + len(scratch))
                launch.pointer(SCRATCH, numbers[-1], 0)
                scratch.append(count * SIZE[type])
            else:
                launch.words.append(0)
        states.append(numbers)
    return scratch, states


def _merging(
    kernel: Kernel,
    folds: tuple[Fold, ...],
    form: trees.Tree,
    by_output: bool,
    states: list[list[int]],
) -> Kernel:
    """The second fold, over the states of blocks."""
    if by_output:
        space, axes = (form.outputs, form.blocks), (1,)
    else:
        space, axes = (form.blocks, form.outputs), (0,)
    merging = Kernel(space)
    merging.axes = axes
    for reduction, fold, numbers in zip(kernel.reductions, folds, states):
        merging.add_states(
            merge_states(fold.op, fold.types),
            [("scratch", n) for n in numbers],
            list(state_types(fold)),
            axes,
            reduction,
        )
    merging.wide = kernel.wide
    merging.cost = kernel.cost
    return merging
