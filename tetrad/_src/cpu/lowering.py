"""What all templates of loops share: a kernel's axes, accesses and words.

Axes of extent 1 vanish, and axes that all accesses walk alike are merged, so that most
kernels end up with one or two. `Lowering` finds for a kernel how each access walks along
the axes, and writes the words that every function of the kernel reads first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tetrad._src.cpu.launch import SCRATCH, VALUE, Launch
from tetrad._src.cpu.literals import element_type
from tetrad._src.cpu.loops import (
    ACROSS,
    CONTIGUOUS,
    STRIDED,
    UNIFORM,
    Access,
    Comb,
    PointRead,
)
from tetrad._src.cpu.scalar import SIZE
from tetrad._src.passes.ir import COORDINATE, POINT, Kernel, Scalar, Term

INT32 = 2**31 - 1
STEPS = (2, 3, 4)  # strides at which all elements are read and the wanted ones kept


def _term_types(terms: tuple[Term, ...]) -> tuple[str, ...]:
    return tuple(
        [
            element_type(t.dtype)
            if type(t.source) is Scalar
            else "*" + element_type(t.dtype)
            for t in terms
        ]
    )


class Lowering:
    """The parts of a kernel that all templates share."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.launch = Launch()
        self.size = 1
        for extent in kernel.space:
            self.size *= extent
        self.points = {e[2] for e in kernel.entries if e[0] == POINT}
        self.narrow = False
        self.coordinates = _coordinates(kernel)
        self.maps: list[Any] = [
            place.strides
            for places in (
                kernel.reads,
                kernel.writes,
                kernel.scatters,
                self.coordinates,
            )
            for place in places
        ]

    def collapse(self, axes: Sequence[int]) -> tuple[list[int], list[int]]:
        """Merges neighbouring `axes` where all maps allow; extents and last axes."""
        space, maps = self.kernel.space, self.maps
        extents: list[int] = []
        last: list[int] = []
        for d in axes:
            extent = space[d]
            if extent == 1:
                continue
            if extents:
                before = last[-1]
                for strides in maps:
                    if strides[before] != strides[d] * extent:
                        break
                else:
                    extents[-1] *= extent
                    last[-1] = d
                    continue
            extents.append(extent)
            last.append(d)
        return extents, last

    def accesses(
        self, vector: int, length: int
    ) -> tuple[
        tuple[Access, ...],
        tuple[tuple[int, Access], ...],
        tuple[Access, ...],
    ]:
        """The classes of all accesses along axis `vector` (-1: extent 1)."""
        kernel = self.kernel
        one = vector < 0 or length == 1
        reads = []
        for number, read in enumerate(kernel.reads):
            dtype = kernel_read_type(kernel, number)
            stride = 1 if one else read.strides[vector]
            reads.append(Access(dtype, _class(stride), _term_types(read.terms)))
        if not one:
            _comb(kernel.reads, reads, vector, self.points)
        writes = []
        for write in kernel.writes:
            stride = 1 if one else write.strides[vector]
            type = element_type(kernel.write_type(write))
            access = Access(type, _class(stride), _term_types(write.terms))
            writes.append((write.ref, access))
        if not one and any(access.kind == STRIDED for _, access in writes):
            targets = [access for _, access in writes]
            _comb(kernel.writes, targets, vector, set(), whole=True)
            writes = [(ref, access) for (ref, _), access in zip(writes, targets)]
        for scatter in kernel.scatters:
            stride = 1 if one else scatter.strides[vector]
            type = element_type(kernel.dtypes[scatter.ref])
            writes.append((-1, Access(type, _class(stride), ())))
        counts = []
        for coordinate in self.coordinates:
            stride = 0 if one else coordinate.strides[vector]
            type = "i64" if coordinate.dtype is None else element_type(coordinate.dtype)
            if type == "i64" and coordinate.dtype is None and self.narrow:
                type = "i32"
            counts.append(Access(type, _class(stride), _term_types(coordinate.terms)))
        return tuple(reads), tuple(writes), tuple(counts)

    def common_words(
        self,
        avals: Sequence[Any],
        reads: tuple[Access, ...],
        writes: tuple[tuple[int, Access], ...],
    ) -> None:
        kernel, launch = self.kernel, self.launch
        for read, access in zip(kernel.reads, reads):
            offset = read.offset - _phase(access)
            launch.pointer(*place_of(read.value), offset * SIZE[access.type])
            launch.terms(read.terms)
        for scalar in kernel.scalars:
            launch.scalar(scalar)
        for write, (_, access) in zip(kernel.writes, writes):
            offset = write.offset - _phase(access)
            launch.pointer(*place_of(write.value), offset * SIZE[access.type])
            launch.terms(write.terms)
        for scatter in kernel.scatters:
            launch.pointer(VALUE, scatter.value, 0)
        for coordinate in self.coordinates:
            launch.words.append(coordinate.offset)
            launch.terms(coordinate.terms)
        for number in sorted(self.points):
            launch.words.extend(avals[kernel.reads[number].value].shape)
            launch.words.extend(avals[kernel.reads[number].value].strides)
        for scatter in kernel.scatters:
            launch.words.extend(avals[scatter.value].shape)
            launch.words.extend(avals[scatter.value].strides)
            launch.words.extend(kernel.space)

    def strides(self, axes: Sequence[int], vector: int, accesses: list[Access]) -> None:
        words = self.launch.words
        for strides, access in zip(self.maps, accesses):
            for d in axes:
                words.append(strides[d])
            if access.kind == STRIDED or access.kind == ACROSS:
                words.append(strides[vector])

    def entries(self, avals: Sequence[Any]) -> tuple[tuple[Any, ...], ...]:
        """Entries with numbers of coordinates in place of the coordinates."""
        found = []
        number = 0
        for entry in self.kernel.entries:
            if entry[0] == COORDINATE:
                entry = (COORDINATE, number)
                number += 1
            elif entry[0] == POINT:
                _, op, read, refs, coordinates = entry
                taken = numbered(coordinates, number)
                number += len(coordinates) - coordinates.count(None)
                rank = len(avals[self.kernel.reads[read].value].shape)
                point = PointRead(op, read, rank, refs, taken, self.narrow)
                entry = (POINT, point)
            found.append(entry)
        return tuple(found)

    def find_narrow(self, avals: Sequence[Any]) -> None:
        """Whether 32 bits hold all coordinates, and what they are computed from."""
        kernel = self.kernel
        places: list[tuple[int, tuple[int, ...]]] = [
            (kernel.reads[e[2]].value, e[3]) for e in kernel.entries if e[0] == POINT
        ]
        places.extend([(scatter.value, scatter.refs) for scatter in kernel.scatters])
        for value, refs in places:
            dtypes = [kernel.dtypes[ref] for ref in refs]
            wide = [d.itemsize > 4 or d.name == "uint32" for d in dtypes]
            if avals[value].size > INT32 or any(wide):
                return
        self.narrow = True


def place_of(value: Any) -> tuple[int, int]:
    """Values are numbers; scratch memory of a kernel is written ("scratch", n)."""
    if type(value) is int:
        return VALUE, value
    return SCRATCH, value[1]


def kernel_read_type(kernel: Kernel, number: int) -> str:
    return element_type(kernel.reads[number].dtype)


def _class(stride: int) -> str:
    return CONTIGUOUS if stride == 1 else UNIFORM if stride == 0 else STRIDED


def _comb(
    places: Sequence[Any],  # Reads or Writes
    accesses: list[Access],
    vector: int,
    points: set[int],
    whole: bool = False,
) -> None:
    """Marks strided accesses that are better made as contiguous ones.

    Accesses of one value that differ by less than a stride share what is between them.
    Those in `points` have offsets of their own. `whole`: only groups that leave no
    element out.
    """
    found: dict[Any, list[int]] = {}
    for number, (place, access) in enumerate(zip(places, accesses)):
        if access.kind != STRIDED or number in points:
            continue
        step = place.strides[vector]
        if step in STEPS:
            key = (place.value, access.type, place.strides, place.terms)
            found.setdefault(key, []).append(number)
        elif step == -1 and not whole:
            accesses[number] = access._replace(comb=Comb(-1, 0, number))
    for (_, _, strides, _), numbers in found.items():
        step = strides[vector]
        numbers.sort(key=lambda n: places[n].offset)
        while numbers:
            base = places[numbers[0]].offset
            group = [n for n in numbers if places[n].offset < base + step]
            numbers = numbers[len(group) :]
            if whole and len({places[n].offset for n in group}) < step:
                continue
            leader = min(group)
            for n in group:
                comb = Comb(step, places[n].offset - base, leader)
                accesses[n] = accesses[n]._replace(comb=comb)


def _phase(access: Access) -> int:
    return 0 if access.comb is None else access.comb.phase


def numbered(coordinates: Sequence[Any], number: int) -> tuple[int, ...]:
    """The numbers, from `number` on, of coordinates that are needed; -1 for others."""
    taken = []
    for coordinate in coordinates:
        taken.append(-1 if coordinate is None else number)
        number += coordinate is not None
    return tuple(taken)


def _coordinates(kernel: Kernel) -> list[Any]:
    found: list[Any] = []
    for entry in kernel.entries:
        if entry[0] == COORDINATE:
            found.append(entry[1])
        elif entry[0] == POINT:
            found.extend([c for c in entry[4] if c is not None])
    for scatter in kernel.scatters:
        found.extend([c for c in scatter.coordinates if c is not None])
    return found
