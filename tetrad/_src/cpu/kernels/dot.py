"""Products of arrays summed over common axes, as matrix products.

In: the axes that are summed over (`contract`) and that run along together (`batch`), and
two operands. The remaining axes are free. If the axes of each kind can be walked with
one stride, an operand is a batch of matrices, plain or transposed, as BLAS wants them;
`order` says in which order of axes an operand must be copied otherwise. Products of
integers and bools, which BLAS lacks, have a plain vector kernel here.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

from tetrad._src.core.avals import Aval
from tetrad._src.cpu import blas, schedule
from tetrad._src.cpu.kernels import matvec
from tetrad._src.cpu.kernels.base import In, KernelCall, Launch, Operand, Out
from tetrad._src.cpu.literals import element_type
from tetrad._src.cpu.llvm import Writer, module
from tetrad._src.cpu.registers import NARROW_FLOATS
from tetrad._src.cpu.scalar import Value

Axes = tuple[int, ...]
BLAS_TYPES = ("f32", "f64", "c64", "c128")
TOGETHER = 4  # vectors of a row of an integer product
FLOPS_PER_NS = {"f32": 60.0, "f64": 30.0, "c64": 15.0, "c128": 8.0}


class Matrix(NamedTuple):
    """A batch of matrices: the extents and strides of batch, free and summed axes."""

    batch: int
    free: int
    depth: int
    batch_stride: int
    free_stride: int
    depth_stride: int


def groups(parameters: Any, position: int, ndim: int) -> tuple[Axes, Axes, Axes]:
    """Batch, free and contracting axes of an operand."""
    contract = tuple(parameters["contract"][position])
    batch = tuple(parameters["batch"][position])
    free = tuple([d for d in range(ndim) if d not in contract and d not in batch])
    return batch, free, contract


def _merged(shape: Axes, strides: Axes, axes: Axes) -> tuple[int, int] | None:
    """Extent and stride of `axes` walked as one; None if they cannot be."""
    extent, stride = 1, 0
    for d in axes:
        if shape[d] == 1:
            continue
        if extent != 1 and stride != strides[d] * shape[d]:
            return None
        extent *= shape[d]
        stride = strides[d]
    return extent, stride


def matrix(parameters: Any, position: int, shape: Axes, strides: Axes) -> Matrix | None:
    """The operand as matrices, if it can be seen as such."""
    if 0 in shape:
        strides = (0,) * len(shape)
    merged = [
        _merged(shape, strides, axes)
        for axes in groups(parameters, position, len(shape))
    ]
    if None in merged:
        return None
    (batch, a), (free, b), (depth, c) = merged  # type: ignore[misc]
    return Matrix(batch, free, depth, a, b, c)


def _fits(m: Matrix) -> bool:
    """Whether one axis of the matrices is contiguous and the other one wide enough."""
    if min(m.batch, m.free, m.depth) == 0:
        return True
    if m.depth == 1 or m.depth_stride == 1:
        return m.free == 1 or m.free_stride >= m.depth
    if m.free == 1 or m.free_stride == 1:
        return m.depth_stride >= m.free
    return False


def takes(parameters: Any, position: int, aval: Aval, strides: Axes) -> bool:
    """Whether the operand can be read where it is."""
    if not aval.shape:
        return True
    found = matrix(parameters, position, aval.shape, strides)
    if found is None:
        return False
    if position == 1 and element_type(aval.dtype) not in BLAS_TYPES:
        return found.free == 1 or found.free_stride == 1
    return _fits(found)


def order(parameters: Any, position: int, aval: Aval) -> Axes:
    """The order of axes in which an operand must be dense."""
    batch, free, contract = groups(parameters, position, aval.ndim)
    if position == 1 and element_type(aval.dtype) not in BLAS_TYPES:
        return batch + contract + free
    return batch + free + contract


def build(parameters: Any, operands: list[Operand], outs: list[Aval]) -> KernelCall:
    """The launch of a product."""
    left = matrix(parameters, 0, operands[0].aval.shape, operands[0].strides)
    right = matrix(parameters, 1, operands[1].aval.shape, operands[1].strides)
    assert left is not None and right is not None
    types = [element_type(x.aval.dtype) for x in operands]
    result = element_type(outs[0].dtype)
    rows, columns, depth, batch = left.free, right.free, left.depth, left.batch
    if outs[0].size == 0:
        return KernelCall("", (), ())
    if types[0] == types[1] == result and result in BLAS_TYPES:
        product = _product(left, right)
        if product is not None and matvec.fits(product, result):
            return matvec.build(product, result)
        return _blas(left, right, result, rows, columns, depth, batch)
    return _plain(left, right, types, result, rows, columns, depth, batch)


def _product(left: Matrix, right: Matrix) -> matvec.Product | None:
    """The product as one of a matrix and a vector, if it is."""
    if left.batch != 1 or min(left.free, right.free) != 1:
        return None
    number, m, v = (0, left, right) if right.free == 1 else (1, right, left)
    return matvec.Product(
        number, m.free, m.depth, m.free_stride, m.depth_stride, v.depth_stride
    )


def _blas(
    left: Matrix, right: Matrix, type: str, m: int, n: int, k: int, batch: int
) -> KernelCall:
    op_a, lda = _leading(left.free_stride, left.depth_stride, m, k)
    op_b, ldb = _leading(right.depth_stride, right.free_stride, k, n)
    plan = blas.plan_gemm(m, n, k, batch)
    words = (
        In(0),
        In(1),
        Out(0),
        m,
        n,
        k,
        lda,
        ldb,
        n,
        op_a,
        op_b,
        left.batch_stride,
        right.batch_stride,
        m * n,
        batch,
        plan.axis,
    )
    name = blas.gemm_name(type)
    work = 150.0 + 2.0 * m * n * k * batch / FLOPS_PER_NS[type]
    launch = Launch(name, words, plan.total, plan.chunk)
    return KernelCall(gemm_text(type), (name,), (launch,), (), work)


@functools.cache
def gemm_text(type: str) -> str:
    return blas.gemm_text(type)


def _leading(
    row_stride: int, column_stride: int, rows: int, columns: int
) -> tuple[int, int]:
    """(0, leading dimension) of a row-major matrix, (1, …) of a transposed one."""
    plain = columns == 1 or column_stride == 1
    if plain and (rows == 1 or row_stride >= columns):
        return 0, max(row_stride if rows > 1 else columns, columns, 1)
    return 1, max(column_stride if columns > 1 else rows, rows, 1)


# ----------------------------------------------------------------------- other types


def _plain(
    left: Matrix,
    right: Matrix,
    types: list[str],
    result: str,
    m: int,
    n: int,
    k: int,
    batch: int,
) -> KernelCall:
    dense = right.free_stride == 1 or n == 1
    name = f"dot_{types[0]}_{types[1]}_{result}" + "_dense" * dense
    words = (
        In(0),
        In(1),
        Out(0),
        m,
        n,
        k,
        left.batch_stride,
        left.free_stride,
        left.depth_stride,
        right.batch_stride,
        right.free_stride,
        right.depth_stride,
    )
    chunk = max(1, 65536 // max(n * k, 1))
    work = 50.0 + 0.08 * math.prod((m, n, k, batch))
    launch = Launch(name, words, batch * m, chunk)
    return KernelCall(
        _plain_text(name, *types, result, dense), (name,), (launch,), (), work
    )


def _sum_type(result: str) -> str:
    return "f32" if result in NARROW_FLOATS else result


@functools.cache
def _plain_text(name: str, left: str, right: str, result: str, dense: bool) -> str:
    """One row of the result per task: vectors run along its columns, some together."""
    total = _sum_type(result)
    w = Writer(schedule.lanes(total in ("i64", "u64", "f64", "c128")))
    a, b, c = w.word("ptr"), w.word("ptr"), w.word("ptr")
    m, n, k = w.word(), w.word(), w.word()
    a_batch, a_free, a_depth = w.word(), w.word(), w.word()
    b_batch, b_free, b_depth = w.word(), w.word(), w.word()
    task = w.begin("%lo", "%hi", 1)
    number = w.i("udiv", task.index, m)
    row = w.i("sub", task.index, w.i("mul", number, m))
    at = w.i("add", w.i("mul", number, a_batch), w.i("mul", row, a_free))
    line_a = w.point_to(a, at, left)
    base_b = w.point_to(b, w.i("mul", number, b_batch), right)
    line_c = w.point_to(c, w.i("mul", task.index, n), result)
    steps = w.binary("mul", w.broadcast(b_free, "i64"), w.lane_index("i64"))
    strip = w.begin("0", n, TOGETHER * w.lanes)
    columns = [w.i("add", strip.index, i * w.lanes) for i in range(TOGETHER)]
    masks = [w.mask(w.larger_index(w.i("sub", n, at), "0")) for at in columns]
    zero = w.constant(0, total)
    register = w.register(total)
    start = [(register, part) for _ in columns for part in zero.parts]
    inner = w.begin("0", k, 1, start)
    pointer = w.point_to(line_a, w.i("mul", inner.index, a_depth), left)
    x = w.convert(w.load_scalar_broadcast(pointer, left), total)
    line_b = w.point_to(base_b, w.i("mul", inner.index, b_depth), right)
    sums = _values(w, inner.carried, zero)
    new = []
    for at, mask, old in zip(columns, masks, sums):
        if dense:
            y = w.load(w.point_to(line_b, at, right), right, mask)
        else:
            y = w.gather(
                w.point_to(line_b, w.i("mul", at, b_free), right), steps, right, mask
            )
        new.append(w.add(old, w.mul(x, w.convert(y, total))))
    parts = w.end(inner, [part for value in new for part in value.parts])
    for at, mask, value in zip(columns, masks, _values(w, parts, zero)):
        w.store(w.convert(value, result), w.point_to(line_c, at, result), mask)
    w.end(strip)
    w.end(task)
    return module([(name, w)])


def _values(w: Writer, parts: list[str], like: Value) -> list[Value]:
    """Values of the type of `like` in these registers."""
    step = len(like.parts)
    return [
        Value(w, parts[i], like.type, *parts[i + 1 : i + step])
        for i in range(0, len(parts), step)
    ]
