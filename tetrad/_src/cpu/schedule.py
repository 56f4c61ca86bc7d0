"""How kernels are cut into pieces of work, and what they do with the caches.

Everything here follows from extents and from what a kernel does, never from the number
of threads: a chunk is what one thread takes at a time.
"""

from __future__ import annotations

from tetrad._src.cpu import engine

CHUNK = 32768  # elements of a light kernel in one chunk
TASK_NS = 10_000.0  # a chunk should take about this long
WHOLE_NS = 20_000.0  # what a fold may take in one task, to save others and their states
FIND_FROM = 320  # elements of a row that is not looked through to its end
FIND_COST = 8.0  # of elements that are computed again to find one of them
MOST_CHUNKS = 1024  # of loops whose turns nobody can count beforehand
POINT_NS = 1.0  # an element read at computed coordinates
SCATTER_NS = 1.0  # an element written at computed coordinates
SCATTER_ROW_NS = 0.2  # the same, in whole rows
SCATTER_LEAST = 1 << 16  # updates that are worth splitting
SCATTER_PARTS = 16
COLUMN_VECTORS = 4  # vectors side by side down columns, at most
COLUMNS = 64  # elements at least of a piece of such rows
STREAM_BYTES = 4 << 20  # prefetch from here on
AROUND_BYTES = 48 << 20  # outputs from here on are stored around the caches
TILED_AROUND_BYTES = 16 << 20  # the same, where rows are written in tiles
BAND_ELEMENTS = 8192  # elements of a few rows that stay in the caches
BAND = 256  # rows of a band of tiles, and columns of a block
LINE = 128  # elements: chunks of a flat range are multiples of this


def lanes(wide: bool) -> int:
    """Elements per vector of a kernel, `wide` if it has 64-bit registers."""
    bits = engine.vector_bits()
    return bits // 64 if wide else bits // 32


def nanoseconds(cost: float, streams: int) -> float:
    """Estimated time of one element on one thread."""
    return 0.03 * streams + 0.011 * cost


def flat_chunk(ns: float) -> int:
    """Elements per chunk of a flat range."""
    wanted = int(TASK_NS / ns)
    return max(2048, min(CHUNK, wanted // LINE * LINE))


def task_chunk(elements: int, ns: float) -> int:
    """Tasks of `elements` elements per chunk."""
    return max(1, flat_chunk(ns) // max(elements, 1))


def segment(length: int) -> int:
    """Elements of one piece of a long row of a map."""
    return CHUNK if length > 2 * CHUNK else length


def band_rows(length: int, ns: float) -> tuple[int, int]:
    """Rows that the kernels of a band visit one after the other; rows of a chunk."""
    step = max(1, BAND_ELEMENTS // length)
    return step, step * max(1, flat_chunk(ns) // (step * length))


def column_segment(length: int) -> int:
    """Elements of one piece of rows whose pieces are written by different threads."""
    return max(COLUMNS, -(-length // 8 // COLUMNS) * COLUMNS)


def column_vectors(length: int, lanes: int) -> int:
    """Vectors side by side down columns: no more than there are elements for."""
    return 1 if length <= lanes else 2 if length <= 2 * lanes else COLUMN_VECTORS


def scatter_segment(updates: int, targets: int) -> int:
    """Updates of a scatter that go to an array of their own; all, if they are few."""
    if updates < SCATTER_LEAST:
        return updates
    parts = min(SCATTER_PARTS, updates // max(4 * targets, SCATTER_LEAST // 2))
    return updates if parts < 2 else -(-updates // (parts * LINE)) * LINE


def tile_band(rows: int) -> int:
    """Rows of one band of tiles."""
    return BAND if rows >= 8 * BAND else BAND // 4


def turn_lanes(wide: bool, length: int) -> int:
    """Elements that go through the turns of a loop together.

    What is carried waits for itself, so two vectors at a time hardly take longer.
    """
    one = lanes(wide)
    return 2 * one if length > one else one


def turn_nanoseconds(cost: float, streams: int, lanes: int) -> float:
    """Estimated time of one turn of one element."""
    return max(0.03 * streams + 0.011 * cost, (1.0 + 0.3 * cost) / lanes)


def turn_tasks(rows: int, length: int, ns: float, lanes: int) -> tuple[int, int]:
    """Elements of one piece of a row, and pieces in a chunk.

    How long a loop takes may be unknown; more than `MOST_CHUNKS` chunks cost more than
    an uneven end does.
    """
    wanted = max(int(TASK_NS / ns), rows * length // MOST_CHUNKS)
    if wanted >= length or length * ns <= 2 * TASK_NS:
        return length, max(1, wanted // max(length, 1))
    return max(1, wanted // lanes) * lanes, 1
