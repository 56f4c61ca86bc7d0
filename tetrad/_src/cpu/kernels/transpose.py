"""Transposing matrices of any element size, as a stage of other kernels.

A launch moves `batch` matrices of `rows` × `columns` elements to `columns` × `rows`.
"""

from __future__ import annotations

from tetrad._src.cpu.kernels.base import In, Launch, Out, Tmp
from tetrad._src.cpu.llvm import Writer

Word = int | In | Out | Tmp

TILE = 16  # columns that a task takes along
BY_SIZE = {1: "u8", 2: "u16", 4: "u32", 8: "u64", 16: "c128"}


def write(size: int) -> Writer:
    """The function for elements of `size` bytes.

    Words: source, target, rows, columns, tasks per matrix.
    """
    type = BY_SIZE[size]
    w = Writer(1)
    source, target = w.word("ptr"), w.word("ptr")
    rows, columns, strips = w.word(), w.word(), w.word()
    area = w.i("mul", rows, columns)
    task = w.begin("%lo", "%hi", 1)
    matrix = w.i("udiv", task.index, strips)
    strip = w.i("sub", task.index, w.i("mul", matrix, strips))
    start = w.i("mul", matrix, area)
    first = w.i("mul", strip, TILE)
    last = w.smaller_index(w.i("add", first, TILE), columns)
    from_matrix = w.point_to(source, start, type)
    to_matrix = w.point_to(target, start, type)
    row = w.begin("0", rows, 1)
    from_row = w.point_to(from_matrix, w.i("mul", row.index, columns), type)
    to_column = w.point_to(to_matrix, row.index, type)
    column = w.begin(first, last, 1)
    x = w.load(w.point_to(from_row, column.index, type), type)
    w.store(x, w.point_to(to_column, w.i("mul", column.index, rows), type))
    w.end(column)
    w.end(row)
    w.end(task)
    return w


def launch(
    size: int, source: Word, target: Word, batch: int, rows: int, columns: int
) -> Launch:
    """A launch of the function, under the name `transpose<size>`."""
    strips = -(-columns // TILE)
    chunk = max(1, 16384 // max(rows * TILE, 1))
    return Launch(
        f"transpose{size}",
        (source, target, rows, columns, strips),
        batch * strips,
        chunk,
    )
