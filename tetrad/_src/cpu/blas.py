"""BLAS and LAPACK for compiled code, and the matrix product as a launchable kernel.

The functions are those of OpenBLAS as the wheel scipy-openblas32 ships it: 32-bit
integers, every name behind the prefix `scipy_`. The library is loaded when the first
of its functions is needed; compiled text simply declares, say, `@scipy_cblas_sgemm`,
and the engine asks `resolve` here. OpenBLAS runs one thread: the pool splits the rows.

`gemm_text(dtype)` is the text of a kernel with the signature of every launch,
`(ptr arguments, i64 low, i64 high)`, whose argument words `GEMM_WORDS` names.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import os
import threading
from typing import NamedTuple

import numpy as np

from tetrad._src.cpu import engine
from tetrad._src.runtime import threads

PREFIX = "scipy_"
PACKAGE = "scipy_openblas32"
THREADS_VARIABLE = "OPENBLAS_NUM_THREADS"

# Row-major C[b, i, j] = sum over p of op(A)[b, i, p] op(B)[b, p, j]. op is none (0),
# transpose (1) or conjugate transpose (2); leading dimensions and batch strides count
# elements. A launch covers rows b * m + i (axis 0) or columns b * n + j (axis 1).
GEMM_WORDS = (
    "a",
    "b",
    "c",
    "m",
    "n",
    "k",
    "lda",
    "ldb",
    "ldc",
    "op_a",
    "op_b",
    "stride_a",
    "stride_b",
    "stride_c",
    "batch",
    "axis",
)
CHUNK_BITS = 26  # chunks of 2^26 multiplications are long enough to share
LOWEST = 64  # rows of a chunk, or half of all
DOT_PART = 8192  # elements of two vectors that BLAS multiplies and adds up at once
SMALL = 8  # products up to this in every extent are computed without OpenBLAS
INT_LIMIT = 2**31 - 1  # extents and leading dimensions must not exceed this

_LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
_SHORT = {
    "f32": "float32",
    "f64": "float64",
    "c64": "complex64",
    "c128": "complex128",
}

_lock = threading.Lock()
_library: ctypes.CDLL | None = None


def symbol(name: str) -> int:
    """The address of a BLAS or LAPACK function: "cblas_dgemm", "dgetrf", "dgetrf_"."""
    stem = name.removeprefix(PREFIX)
    library = _load()
    for spelling in (PREFIX + stem, PREFIX + stem + "_"):
        try:
            entry = library[spelling]
        except AttributeError:
            continue
        address = ctypes.cast(entry, ctypes.c_void_p).value
        if address:
            engine.define_symbol(PREFIX + stem, address)
            return address
    raise KeyError(f"OpenBLAS has no function {name!r}")


def resolve(name: str) -> int | None:
    """What the engine asks for names that start with the prefix."""
    try:
        return symbol(name)
    except KeyError:
        return None


engine.add_resolver(PREFIX, resolve)


def _load() -> ctypes.CDLL:
    global _library
    with _lock:
        if _library is None:
            _library = _open()
        return _library


def describe() -> dict[str, str]:
    """The library: its "path", and its "config", in which its version stands."""
    library = _load()
    told = library[PREFIX + "openblas_get_config"]
    told.restype = ctypes.c_char_p
    return {"path": str(library._name), "config": told().decode(errors="replace")}


def _open() -> ctypes.CDLL:
    # Importing the package would load the library into the global namespace.
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise ImportError("matrix products need OpenBLAS: pip install scipy-openblas32")
    folder = os.path.join(os.path.dirname(spec.origin), "lib")
    endings = (".so", ".dylib", ".dll")
    for name in sorted(os.listdir(folder)):
        if "scipy_openblas" in name and name.endswith(endings):
            break
    else:
        raise ImportError(f"{PACKAGE} has no shared library in {folder}")
    # OpenBLAS starts its threads while it loads, unless the environment says one.
    before = os.environ.get(THREADS_VARIABLE)
    os.environ[THREADS_VARIABLE] = "1"
    try:
        library = ctypes.CDLL(os.path.join(folder, name))
    finally:
        if before is None:
            del os.environ[THREADS_VARIABLE]
        else:
            os.environ[THREADS_VARIABLE] = before
    library[PREFIX + "openblas_set_num_threads"](ctypes.c_int(1))
    return library


def _after_fork_in_child() -> None:
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


def dtype_name(dtype: object) -> str:
    """The NumPy name of a dtype that has a matrix product here."""
    name = _SHORT.get(dtype) if isinstance(dtype, str) else None
    if name is None:
        name = np.dtype(dtype).name  # type: ignore[call-overload]
    if name not in _LETTERS:
        raise NotImplementedError(
            f"no BLAS product for {name}; convert to one of {', '.join(_LETTERS)}"
        )
    return name


def gemm_name(dtype: object) -> str:
    """The name of the function in `gemm_text(dtype)`."""
    return f"gemm_{dtype_name(dtype)}"


@functools.cache
def _gemm_code(name: str) -> engine.Code:
    function = f"gemm_{name}"
    return engine.assemble(gemm_text(name), [function], passes=True).pin()


def gemm_kernel(dtype: object) -> int:
    """The address of the kernel of `gemm_text(dtype)`, compiled once."""
    name = dtype_name(dtype)
    return _gemm_code(name)[f"gemm_{name}"]


class GemmPlan(NamedTuple):
    """How to launch a product: the axis word, the total and the chunk of the launch."""

    axis: int
    total: int
    chunk: int


def plan_gemm(m: int, n: int, k: int, batch: int = 1) -> GemmPlan:
    """Split a product; a function of the extents and the machine, not of the threads.

    Every chunk packs the matrix that is not split again, so the longer axis is split,
    into few chunks, each of which may keep a processor busy; products too small to
    share are one chunk.
    """
    axis = 1 if n > m else 0
    extent = max(m, n)
    work = m * n * k
    if work <= 1 << 20:
        # whole matrices, a million multiplications or so at a time
        together = (1 << 20) // max(work, 1)
        return GemmPlan(axis, extent * batch, extent * max(together, 1))
    parts = min(max(work >> CHUNK_BITS, 2), _pieces())
    rows = max(_ceil(extent, parts), min(_ceil(extent, 2), LOWEST))
    rows = min(_ceil(rows, 16) * 16, extent)
    return GemmPlan(axis, extent * batch, rows)


@functools.cache
def _pieces() -> int:
    """Pieces of one product: enough to even out what else the processors do."""
    return max(2, 2 * threads.processors())


def _ceil(value: int, divisor: int) -> int:
    return -(-value // divisor)


def gemm_text(dtype: object) -> str:
    """The text of the kernel that multiplies rows [low, high) of a batch of matrices."""
    name = dtype_name(dtype)
    letter = _LETTERS[name]
    scalar = "float" if letter in "sc" else "double"
    size = {"s": 4, "d": 8, "c": 8, "z": 16}[letter]
    if letter in "sd":
        element = scalar
        constants = (
            f"declare {scalar} @scipy_cblas_{letter}dot(i32, ptr, i32, ptr, i32)\n"
        )
        alpha_type, alpha, beta = scalar, "1.0", "0.0"
        sums, inner, store = _REAL_SUMS, _REAL_INNER, _REAL_STORE
        narrow, dot = "dot_or_not", _REAL_DOT
    else:
        element = f"{{ {scalar}, {scalar} }}"
        constants = (
            f"@one = internal constant [2 x {scalar}] [{scalar} 1.0, {scalar} 0.0]\n"
            f"@zero = internal constant [2 x {scalar}] zeroinitializer\n"
        )
        alpha_type, alpha, beta = "ptr", "@one", "@zero"
        sums, inner, store = _COMPLEX_SUMS, _COMPLEX_INNER, _COMPLEX_STORE
        narrow, dot = "matrix_vector", ""
    loads = "".join(
        f"  %p_{word} = getelementptr i64, ptr %w, i64 {index}\n"
        f"  %{word} = load {'ptr' if word in 'abc' else 'i64'}, ptr %p_{word}\n"
        for index, word in enumerate(GEMM_WORDS)
        if word != "batch"
    )
    text = constants + _GEMM
    for mark, value in (
        ("<NARROW>", narrow),
        ("<DOT>\n", dot),
        ("<DOT_PART>", str(DOT_PART)),
        ("<SUMS>", sums),
        ("<INNER>", inner),
        ("<STORE>", store),
        ("<NAME>", name),
        ("<LOADS>", loads),
        ("<LETTER>", letter),
        ("<ELEMENT>", element),
        ("<SCALAR>", scalar),
        ("<SHORT>", "f32" if scalar == "float" else "f64"),
        ("<SIZE>", str(size)),
        ("<ALPHA_TYPE>", alpha_type),
        ("<ALPHA>", alpha),
        ("<BETA>", beta),
        ("<SMALL>", str(SMALL)),
    ):
        text = text.replace(mark, value)
    return text


_GEMM = """
declare void @scipy_cblas_<LETTER>gemm(i32, i32, i32, i32, i32, i32, <ALPHA_TYPE>,
  ptr, i32, ptr, i32, <ALPHA_TYPE>, ptr, i32)
declare void @scipy_cblas_<LETTER>gemv(i32, i32, i32, i32, <ALPHA_TYPE>, ptr, i32,
  ptr, i32, <ALPHA_TYPE>, ptr, i32)
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare <SCALAR> @llvm.fmuladd.<SHORT>(<SCALAR>, <SCALAR>, <SCALAR>)

define dso_local void @gemm_<NAME>(ptr %w, i64 %low, i64 %high) nounwind {
entry:
<LOADS>
  %trans_a = icmp ne i64 %op_a, 0
  %trans_b = icmp ne i64 %op_b, 0
  %empty = icmp eq i64 %k, 0
  %by_column = icmp ne i64 %axis, 0
  %extent = select i1 %by_column, i64 %n, i64 %m
  ; element strides of op(A) along its rows and columns, and of op(B)
  %row_a = select i1 %trans_a, i64 1, i64 %lda
  %column_a = select i1 %trans_a, i64 %lda, i64 1
  %row_b = select i1 %trans_b, i64 1, i64 %ldb
  %column_b = select i1 %trans_b, i64 %ldb, i64 1
  %mn = call i64 @llvm.smax.i64(i64 %m, i64 %n)
  %mnk = call i64 @llvm.smax.i64(i64 %mn, i64 %k)
  %tiny = icmp sle i64 %mnk, <SMALL>
  ; BLAS insists on leading dimensions of at least a row, even for a single row
  %width_a = select i1 %trans_a, i64 %m, i64 %k
  %width_b = select i1 %trans_b, i64 %k, i64 %n
  %lda_1 = call i64 @llvm.smax.i64(i64 %lda, i64 %width_a)
  %ldb_1 = call i64 @llvm.smax.i64(i64 %ldb, i64 %width_b)
  %ldc_1 = call i64 @llvm.smax.i64(i64 %ldc, i64 %n)
  %lda_i = trunc i64 %lda_1 to i32
  %ldb_i = trunc i64 %ldb_1 to i32
  %ldc_i = trunc i64 %ldc_1 to i32
  %k_i = trunc i64 %k to i32
  %op_a_i = trunc i64 %op_a to i32
  %op_b_i = trunc i64 %op_b to i32
  %flag_a = add i32 %op_a_i, 111
  %flag_b = add i32 %op_b_i, 111
  ; matrix times vector and vector times matrix, where no vector is conjugated
  %one_column = icmp eq i64 %n, 1
  %plain_b = icmp ne i64 %op_b, 2
  %down = and i1 %one_column, %plain_b
  %one_row = icmp eq i64 %m, 1
  %plain_a = icmp ne i64 %op_a, 2
  %across = and i1 %one_row, %plain_a
  ; op(B)^T of a row-major B: transposed, plain or conjugated
  %flip_b = icmp eq i64 %op_b, 0
  %flip_or_conj = select i1 %flip_b, i32 112, i32 114
  %is_trans_b = icmp eq i64 %op_b, 1
  %flag_bt = select i1 %is_trans_b, i32 111, i32 %flip_or_conj
  %cells = mul i64 %m, %n
  %no_cells = icmp eq i64 %cells, 0
  %no_range = icmp sge i64 %low, %high
  %nothing = or i1 %no_cells, %no_range
  br i1 %nothing, label %leave, label %block
block:
  ; the part of the range that lies in one matrix of the batch
  %at = phi i64 [ %low, %entry ], [ %stop, %next ]
  %index = udiv i64 %at, %extent
  %base = mul i64 %index, %extent
  %end = add i64 %base, %extent
  %stop = call i64 @llvm.smin.i64(i64 %end, i64 %high)
  %start = sub i64 %at, %base
  %count = sub i64 %stop, %at
  %row = select i1 %by_column, i64 0, i64 %start
  %column = select i1 %by_column, i64 %start, i64 0
  %rows = select i1 %by_column, i64 %m, i64 %count
  %columns = select i1 %by_column, i64 %count, i64 %n
  %rows_i = trunc i64 %rows to i32
  %columns_i = trunc i64 %columns to i32
  %skip_a = mul i64 %index, %stride_a
  %skip_b = mul i64 %index, %stride_b
  %skip_c = mul i64 %index, %stride_c
  %move_a = mul i64 %row, %row_a
  %move_b = mul i64 %column, %column_b
  %move_c = mul i64 %row, %ldc
  %offset_a = add i64 %skip_a, %move_a
  %offset_b = add i64 %skip_b, %move_b
  %offset_c0 = add i64 %skip_c, %move_c
  %offset_c = add i64 %offset_c0, %column
  %block_a = getelementptr <ELEMENT>, ptr %a, i64 %offset_a
  %block_b = getelementptr <ELEMENT>, ptr %b, i64 %offset_b
  %block_c = getelementptr <ELEMENT>, ptr %c, i64 %offset_c
  br i1 %empty, label %zero_row, label %sized
sized:
  br i1 %tiny, label %small, label %large
large:
  br i1 %down, label %<NARROW>, label %not_down
not_down:
  br i1 %across, label %vector_matrix, label %matrix_matrix
matrix_matrix:
  call void @scipy_cblas_<LETTER>gemm(i32 101, i32 %flag_a, i32 %flag_b,
    i32 %rows_i, i32 %columns_i, i32 %k_i, <ALPHA_TYPE> <ALPHA>,
    ptr %block_a, i32 %lda_i, ptr %block_b, i32 %ldb_i,
    <ALPHA_TYPE> <BETA>, ptr %block_c, i32 %ldc_i)
  br label %next
<DOT>
matrix_vector:
  %height_a = select i1 %trans_a, i32 %k_i, i32 %rows_i
  %breadth_a = select i1 %trans_a, i32 %rows_i, i32 %k_i
  %step_b_i = select i1 %trans_b, i32 1, i32 %ldb_i
  call void @scipy_cblas_<LETTER>gemv(i32 101, i32 %flag_a,
    i32 %height_a, i32 %breadth_a, <ALPHA_TYPE> <ALPHA>, ptr %block_a, i32 %lda_i,
    ptr %block_b, i32 %step_b_i, <ALPHA_TYPE> <BETA>, ptr %block_c, i32 %ldc_i)
  br label %next
vector_matrix:
  %height_b = select i1 %trans_b, i32 %columns_i, i32 %k_i
  %breadth_b = select i1 %trans_b, i32 %k_i, i32 %columns_i
  %step_a_i = select i1 %trans_a, i32 %lda_i, i32 1
  call void @scipy_cblas_<LETTER>gemv(i32 101, i32 %flag_bt,
    i32 %height_b, i32 %breadth_b, <ALPHA_TYPE> <ALPHA>, ptr %block_b, i32 %ldb_i,
    ptr %block_a, i32 %step_a_i, <ALPHA_TYPE> <BETA>, ptr %block_c, i32 1)
  br label %next
small:
  %conjugate_a = icmp eq i64 %op_a, 2
  %conjugate_b = icmp eq i64 %op_b, 2
  call void @small_product(ptr %block_a, i64 %row_a, i64 %column_a, i1 %conjugate_a,
    ptr %block_b, i64 %row_b, i64 %column_b, i1 %conjugate_b,
    ptr %block_c, i64 %ldc, i64 %rows, i64 %columns, i64 %k)
  br label %next
zero_row:
  %z = phi i64 [ 0, %block ], [ %z1, %zero_row ]
  %down_z = mul i64 %z, %ldc
  %row_z = getelementptr <ELEMENT>, ptr %block_c, i64 %down_z
  %bytes = mul i64 %columns, <SIZE>
  call void @llvm.memset.p0.i64(ptr %row_z, i8 0, i64 %bytes, i1 false)
  %z1 = add i64 %z, 1
  %more_z = icmp slt i64 %z1, %rows
  br i1 %more_z, label %zero_row, label %next
next:
  %more = icmp slt i64 %stop, %high
  br i1 %more, label %block, label %leave
leave:
  ret void
}

; k, n and rows are at least 1
define internal void @small_product(
    ptr %a, i64 %row_a, i64 %column_a, i1 %conjugate_a,
    ptr %b, i64 %row_b, i64 %column_b, i1 %conjugate_b,
    ptr %c, i64 %ldc, i64 %rows, i64 %n, i64 %k) nounwind {
entry:
  br label %row
row:
  %i = phi i64 [ 0, %entry ], [ %i1, %row_end ]
  %down_a = mul i64 %i, %row_a
  %down_c = mul i64 %i, %ldc
  %line_a = getelementptr <ELEMENT>, ptr %a, i64 %down_a
  %line_c = getelementptr <ELEMENT>, ptr %c, i64 %down_c
  br label %column
column:
  %j = phi i64 [ 0, %row ], [ %j1, %column_end ]
  %across_b = mul i64 %j, %column_b
  %line_b = getelementptr <ELEMENT>, ptr %b, i64 %across_b
  %cell = getelementptr <ELEMENT>, ptr %line_c, i64 %j
  br label %inner
inner:
  %p = phi i64 [ 0, %column ], [ %p1, %inner ]
<SUMS>  %p1 = add i64 %p, 1
  %step_a = mul i64 %p, %column_a
  %step_b = mul i64 %p, %row_b
  %at_a = getelementptr <ELEMENT>, ptr %line_a, i64 %step_a
  %at_b = getelementptr <ELEMENT>, ptr %line_b, i64 %step_b
<INNER>
column_end:
<STORE>
  %j1 = add i64 %j, 1
  %more_j = icmp slt i64 %j1, %n
  br i1 %more_j, label %column, label %row_end
row_end:
  %i1 = add i64 %i, 1
  %more_i = icmp slt i64 %i1, %rows
  br i1 %more_i, label %row, label %leave
leave:
  ret void
}
"""

# In parts, so that the errors of long sums do not add up. k is at least 1.
_REAL_DOT = """dot_or_not:
  br i1 %one_row, label %dot, label %matrix_vector
dot:
  %dot_step_a = trunc i64 %column_a to i32
  %dot_step_b = trunc i64 %row_b to i32
  br label %dot_part
dot_part:
  %dot_at = phi i64 [ 0, %dot ], [ %dot_next, %dot_part ]
  %dot_sum = phi <SCALAR> [ 0.0, %dot ], [ %dot_more, %dot_part ]
  %dot_left = sub i64 %k, %dot_at
  %dot_count = call i64 @llvm.smin.i64(i64 %dot_left, i64 <DOT_PART>)
  %dot_count_i = trunc i64 %dot_count to i32
  %dot_skip_a = mul i64 %dot_at, %column_a
  %dot_skip_b = mul i64 %dot_at, %row_b
  %dot_a = getelementptr <ELEMENT>, ptr %block_a, i64 %dot_skip_a
  %dot_b = getelementptr <ELEMENT>, ptr %block_b, i64 %dot_skip_b
  %dotted = call <SCALAR> @scipy_cblas_<LETTER>dot(i32 %dot_count_i,
    ptr %dot_a, i32 %dot_step_a, ptr %dot_b, i32 %dot_step_b)
  %dot_more = fadd <SCALAR> %dot_sum, %dotted
  %dot_next = add i64 %dot_at, <DOT_PART>
  %dot_goes_on = icmp slt i64 %dot_next, %k
  br i1 %dot_goes_on, label %dot_part, label %dot_end
dot_end:
  store <SCALAR> %dot_more, ptr %block_c
  br label %next
"""

_REAL_SUMS = """  %s = phi <SCALAR> [ 0.0, %column ], [ %s1, %inner ]
"""

_REAL_INNER = """  %x = load <SCALAR>, ptr %at_a
  %y = load <SCALAR>, ptr %at_b
  %s1 = call <SCALAR> @llvm.fmuladd.<SHORT>(<SCALAR> %x, <SCALAR> %y, <SCALAR> %s)
  %more_p = icmp slt i64 %p1, %k
  br i1 %more_p, label %inner, label %column_end
"""

_REAL_STORE = "  store <SCALAR> %s1, ptr %cell"

_COMPLEX_INNER = """  %xr = load <SCALAR>, ptr %at_a
  %yr = load <SCALAR>, ptr %at_b
  %at_ai = getelementptr <SCALAR>, ptr %at_a, i64 1
  %at_bi = getelementptr <SCALAR>, ptr %at_b, i64 1
  %xi0 = load <SCALAR>, ptr %at_ai
  %yi0 = load <SCALAR>, ptr %at_bi
  %xin = fneg <SCALAR> %xi0
  %yin = fneg <SCALAR> %yi0
  %xi = select i1 %conjugate_a, <SCALAR> %xin, <SCALAR> %xi0
  %yi = select i1 %conjugate_b, <SCALAR> %yin, <SCALAR> %yi0
  %xi_minus = fneg <SCALAR> %xi
  %r0 = call <SCALAR> @llvm.fmuladd.<SHORT>(<SCALAR> %xr, <SCALAR> %yr, <SCALAR> %sr)
  %sr1 = call <SCALAR> @llvm.fmuladd.<SHORT>(
    <SCALAR> %xi_minus, <SCALAR> %yi, <SCALAR> %r0)
  %i0 = call <SCALAR> @llvm.fmuladd.<SHORT>(<SCALAR> %xr, <SCALAR> %yi, <SCALAR> %si)
  %si1 = call <SCALAR> @llvm.fmuladd.<SHORT>(<SCALAR> %xi, <SCALAR> %yr, <SCALAR> %i0)
  %more_p = icmp slt i64 %p1, %k
  br i1 %more_p, label %inner, label %column_end
"""

_COMPLEX_SUMS = """  %sr = phi <SCALAR> [ 0.0, %column ], [ %sr1, %inner ]
  %si = phi <SCALAR> [ 0.0, %column ], [ %si1, %inner ]
"""

_COMPLEX_STORE = """  store <SCALAR> %sr1, ptr %cell
  %cell_i = getelementptr <SCALAR>, ptr %cell, i64 1
  store <SCALAR> %si1, ptr %cell_i"""
