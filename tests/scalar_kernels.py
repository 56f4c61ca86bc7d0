"""Compile expressions of the builder into functions of NumPy arrays, for tests."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from tetrad._src.cpu import engine
from tetrad._src.cpu.scalar import MEMORY_TYPE, Block
from tetrad._src.util.dtypes import SMALL_BY_SHORT_NAME

DTYPES: dict[str, Any] = {
    "i1": np.bool_,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "u8": np.uint8,
    "u16": np.uint16,
    "u32": np.uint32,
    "u64": np.uint64,
    "bf16": ml_dtypes.bfloat16,
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    "c64": np.complex64,
    "c128": np.complex128,
    **SMALL_BY_SHORT_NAME,
}

Build = Callable[..., Any]


def loop_text(block: Block, parameters: str, prologue: str = "") -> str:
    """A kernel whose block was written with the label `loop` and the index `%i`."""
    body = "\n".join(block.lines)
    declarations = "\n".join(sorted(block.declarations))
    return f"""
define dso_local void @kernel({parameters}, i64 %n) nounwind {{
entry:
{prologue}
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %{block.label} ]
{body}
  %next = add i64 %i, {block.lanes}
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}}
{declarations}
"""


def elementwise_text(
    build: Build, inputs: Sequence[str], lanes: int, fma: bool
) -> tuple[str, list[str]]:
    """(the text, the types of the results) of an elementwise kernel."""
    block = Block(lanes, "v", fma=fma, label="loop")
    values = []
    for k, type in enumerate(inputs):
        address = block.raw(f"getelementptr {MEMORY_TYPE[type]}, ptr %a{k}, i64 %i")
        values.append(block.load(address, type))
    results = build(block, *values)
    if not isinstance(results, (tuple, list)):
        results = [results]
    for k, value in enumerate(results):
        element = MEMORY_TYPE[value.type]
        block.store(value, block.raw(f"getelementptr {element}, ptr %o{k}, i64 %i"))
    pointers = [f"ptr %a{k}" for k in range(len(inputs))]
    pointers += [f"ptr %o{k}" for k in range(len(results))]
    return loop_text(block, ", ".join(pointers)), [value.type for value in results]


def call(text: str, arrays: Sequence[Any], count: int, opt: int = 2) -> None:
    """Compile a kernel and run it on the arrays' memory."""
    code = engine.assemble(text, ["kernel"], opt=opt)
    types = [ctypes.c_void_p] * len(arrays) + [ctypes.c_int64]
    function = ctypes.CFUNCTYPE(None, *types)(code["kernel"])
    function(*[array.ctypes.data for array in arrays], count)


def elementwise(
    build: Build,
    inputs: Sequence[str],
    *arrays: Any,
    lanes: int = 8,
    fma: bool = True,
    opt: int = 2,
) -> Any:
    """Apply an expression to arrays; one array, or a tuple of them, comes back."""
    text, types = elementwise_text(build, inputs, lanes, fma)
    count = max(np.size(array) for array in arrays)
    padded = -(-count // lanes) * lanes
    operands = [
        np.ascontiguousarray(np.resize(np.asarray(array, DTYPES[type]), padded))
        for array, type in zip(arrays, inputs, strict=True)
    ]
    results = [np.empty(padded, DTYPES[type]) for type in types]
    call(text, [*operands, *results], padded, opt)
    cut = tuple(result[:count] for result in results)
    return cut[0] if len(cut) == 1 else cut


def samples(type: str, rng: np.random.Generator, count: int = 200) -> Any:
    """Random elements of a type, its special values first."""
    dtype = DTYPES[type]
    if type == "i1":
        return rng.integers(0, 2, count).astype(bool)
    if type[0] in "iu":
        size = np.dtype(dtype).itemsize
        found = np.frombuffer(rng.bytes(count * size), dtype).copy()
        info = np.iinfo(dtype)
        found[: count // 2] = rng.integers(0, 12, count // 2)
        if type[0] == "i":
            found[: count // 4] -= dtype(6)
        found[:6] = [0, 1, info.max, info.min, info.max - 1, info.min + 1]
        return found
    if type[0] == "c":
        part = "f32" if type == "c64" else "f64"
        found = np.empty(count, dtype)
        found.real = samples(part, rng, count)
        found.imag = rng.permutation(samples(part, rng, count))
        return found
    exponents = rng.integers(-6, 7, count)
    found = (rng.standard_normal(count) * 10.0**exponents).astype(dtype)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, 2.5, -2.5, 1e-7]
    found[: len(special)] = np.array(special).astype(dtype)
    return found


def assert_same(got: Any, expected: Any) -> None:
    """Equal bits, but for the payload and sign of NaN."""
    assert got.dtype == expected.dtype
    if got.dtype.kind == "c":
        assert_same(got.real, expected.real)
        assert_same(got.imag, expected.imag)
        return
    both_nan = (got != got) & (expected != expected)
    unsigned = f"u{got.dtype.itemsize}"
    same = np.ascontiguousarray(got).view(unsigned) == np.ascontiguousarray(
        expected
    ).view(unsigned)
    wrong = np.nonzero(~(same | both_nan))[0]
    assert wrong.size == 0, (
        f"{wrong.size} differ, first at {wrong[0]}: "
        f"got {got[wrong[:5]]}, expected {expected[wrong[:5]]}"
    )
