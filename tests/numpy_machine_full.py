"""The NumPy machine for tests with every kind of operation.

Adds to `numpy_machine`: results in lists, reads and writes at computed points (element by
element, by the `point` rules), views and updates at run-time starts, and NumPy's
versions of the kernels. An operation without any of these is expanded.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy_machine
from numpy_machine import (
    NAMES,
    TYPES,
    Known,
    Lanes,
    NumpyBlock,
    NumpyTrace,
    lanes,
    run,
)

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import at, aval_of
from tetrad._src.core.op import Kind, Op, infer
from tetrad._src.runtime import lazy
from tetrad._src.util import dtypes

U64 = np.dtype(np.uint64)


def plain(dtype: Any) -> Any:
    """How NumPy holds the dtype: keys are 64 bits."""
    return U64 if dtype is dtypes.KEY else dtype


class Block(NumpyBlock):
    """The builder with keys, the cipher and extents."""

    index = "i64"

    def __init__(self, arrays: Sequence[np.ndarray[Any, Any]] = ()) -> None:
        self.arrays = arrays

    def type_of(self, dtype: Any) -> str:
        return NAMES[plain(np.dtype(dtype) if dtype is not dtypes.KEY else dtype)]

    def extent(self, operand: int, axis: int) -> Lanes:
        return lanes(self.arrays[operand].shape[axis], np.int64)

    def threefry2x32(self, k0: Lanes, k1: Lanes, x0: Lanes, x1: Lanes) -> Any:
        turns = ((13, 15, 26, 6), (17, 29, 16, 24))
        mask = np.uint64(0xFFFFFFFF)
        k0, k1, x0, x1 = [np.asarray(v).astype(U64) for v in (k0, k1, x0, x1)]
        keys = (k0, k1, k0 ^ k1 ^ np.uint64(0x1BD11BDA))
        x0, x1 = (x0 + k0) & mask, (x1 + k1) & mask
        for group in range(5):
            for turn in turns[group % 2]:
                x0 = (x0 + x1) & mask
                left, right = np.uint64(turn), np.uint64(32 - turn)
                x1 = (((x1 << left) | (x1 >> right)) & mask) ^ x0
            x0 = (x0 + keys[(group + 1) % 3]) & mask
            x1 = (x1 + keys[(group + 2) % 3] + np.uint64(group + 1)) & mask
        return lanes(x0, np.uint32), lanes(x1, np.uint32)


class FullTrace(NumpyTrace):
    """Runs each operation at once, whatever its kind."""

    def process(self, op: Op, args: Sequence[Any]) -> Any:
        inferred = infer(op, tuple([aval_of(a) for a in args]))
        avals = list(inferred) if op.multiple else [inferred]
        held = [_held(a) for a in args]
        results = self.compute(op, avals, held)
        if results is None:
            results = op.expand(*args)
            return list(results) if op.multiple else results
        outs = []
        for aval, result in zip(avals, results):
            result = np.asarray(result)
            assert result.shape == aval.shape, (op, result.shape, aval)
            assert result.dtype == plain(aval.dtype), (op, result.dtype, aval)
            outs.append(Known(aval, result))
        return outs if op.multiple else outs[0]

    def compute(self, op: Op, avals: list[Aval], arrays: Any) -> Any:
        if op.kind is Kind.ELEMENTWISE:
            if op.scalar is None:
                return None
            out = op.scalar(Block(), *[lanes(a, a.dtype) for a in arrays])
            outs = out if op.multiple else [out]
            return [
                np.array(np.broadcast_to(np.asarray(o), a.shape))
                for o, a in zip(outs, avals)
            ]
        if op.starts is not None:
            return [_with_starts(op, arrays)]
        if op.kind is Kind.INDEXED:
            return [_indexed(op, avals[0], arrays)]
        if op.kind is Kind.UPDATE:
            return [_updated(op, arrays)]
        if op.kernel is not None:
            name, parameters = op.kernel(*[Aval(a.shape, a.dtype) for a in arrays])
            if name not in KERNELS and op.expand is not None:
                return None
            return KERNELS[name](arrays, avals, **parameters)
        if op.kind in (Kind.REARRANGE, Kind.REDUCE):
            stand_in = [a.update(dtype=plain(a.dtype)) for a in avals]
            return [run(op, stand_in[0], arrays)]
        return None


def _held(x: Any) -> Any:
    return x.array if isinstance(x, Known) else numpy_machine.array_of(x)


def _with_starts(op: Op, arrays: Any) -> Any:
    own = [Aval(a.shape, a.dtype) for a in arrays]
    window = [0] * arrays[0].ndim
    for start in op.starts(*own):
        window[start.axis] = min(max(int(arrays[start.operand]), 0), start.limit)
    if op.kind is Kind.UPDATE:
        out = arrays[0].copy()
        sizes = arrays[1].shape
        out[tuple([slice(s, s + n) for s, n in zip(window, sizes)])] = arrays[1]
        return out
    view, strides, _ = op.restride(own[0], own[0].strides, 0)
    assert strides == own[0].strides
    sizes = view.shape
    return arrays[0][tuple([slice(s, s + n) for s, n in zip(window, sizes)])].copy()


def _loader(arrays: Any) -> Any:
    def load(operand: int, coords: Sequence[Any]) -> Lanes:
        at = tuple([int(c) for c in coords])
        return lanes(arrays[operand][at], arrays[operand].dtype)

    return load


def _indexed(op: Op, aval: Aval, arrays: Any) -> Any:
    block = Block(arrays)
    load = _loader(arrays)
    out = np.zeros(aval.shape, arrays[0].dtype)
    for index in itertools.product(*map(range, aval.shape)):
        coords = [lanes(i, np.int64) for i in index]
        point = op.point(block, coords, load)
        if point.inside is None or bool(point.inside):
            out[index] = load(0, point.coords)
        else:
            out[index] = point.fill
    return out


def _updated(op: Op, arrays: Any) -> Any:
    block = Block(arrays)
    load = _loader(arrays)
    out = arrays[0].copy()
    updates = arrays[-1]
    for index in itertools.product(*map(range, updates.shape)):
        coords = [lanes(i, np.int64) for i in index]
        point = op.point(block, coords, load)
        if point.inside is None or bool(point.inside):
            at = tuple([int(c) for c in point.coords])
            assert all(0 <= c < n for c, n in zip(at, out.shape)), (at, out.shape)
            old = lanes(out[at], out.dtype)
            out[at] = op.combine(block, old, lanes(updates[index], out.dtype))
    return out


# ----------------------------------------------------------------------------- kernels


def _dot(arrays: Any, avals: Any, contract: Any, batch: Any) -> Any:
    lhs, rhs = [a.astype(np.float32) if a.dtype.itemsize == 2 else a for a in arrays]
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    left, right = [""] * lhs.ndim, [""] * rhs.ndim
    for i, j in (*zip(*contract), *zip(*batch)):
        left[i] = right[j] = next(letters)
    left = [c or next(letters) for c in left]
    right = [c or next(letters) for c in right]
    shared = [left[i] for i in batch[0]]
    free = [c for i, c in enumerate(left) if i not in (*contract[0], *batch[0])]
    free += [c for j, c in enumerate(right) if j not in (*contract[1], *batch[1])]
    text = f"{''.join(left)},{''.join(right)}->{''.join(shared + free)}"
    return [np.einsum(text, lhs, rhs).astype(avals[0].dtype)]


def _sort(
    arrays: Any, avals: Any, dimension: int, is_stable: bool, num_keys: int
) -> Any:
    order = np.broadcast_to(
        np.expand_dims(
            np.arange(arrays[0].shape[dimension]),
            [i for i in range(arrays[0].ndim) if i != dimension],
        ),
        arrays[0].shape,
    )
    for key in reversed(arrays[:num_keys]):
        now = np.take_along_axis(key, order, dimension)
        step = np.argsort(now, axis=dimension, kind="stable")
        order = np.take_along_axis(order, step, dimension)
    return [np.take_along_axis(a, order, dimension) for a in arrays]


_FOLDS = {
    "add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum,
    "logaddexp": np.logaddexp,
}  # fmt: skip


def _cumulative(arrays: Any, avals: Any, fold: str, axis: int, reverse: bool) -> Any:
    x = np.flip(arrays[0], axis) if reverse else arrays[0]
    out = _FOLDS[fold].accumulate(x, axis=axis, dtype=x.dtype)
    return [np.flip(out, axis) if reverse else out]


KERNELS = {"dot": _dot, "sort": _sort, "cumulative": _cumulative}


# ------------------------------------------------------------------ this machine or ours

_on_numpy = True


@contextlib.contextmanager
def machine(name: str) -> Iterator[None]:
    """Within it, operations run on this machine ("numpy") or on a device of ours."""
    global _on_numpy
    before = _on_numpy
    _on_numpy = name == "numpy"
    try:
        with at(FullTrace()) if _on_numpy else contextlib.nullcontext():
            yield
    finally:
        _on_numpy = before


def known(x: Any) -> Any:
    """An array of the current machine."""
    if _on_numpy:
        return numpy_machine.known(x)
    host = np.asarray(x)
    return lazy.put(host.astype(aval_of(host).dtype), aval_of(host))


def array_of(x: Any) -> np.ndarray[Any, Any]:
    """The NumPy array that a value of the current machine is."""
    if _on_numpy or isinstance(x, Known):
        return numpy_machine.array_of(x)
    return np.asarray(x).astype(aval_of(x).dtype)


__all__ = ["TYPES", "Block", "FullTrace", "array_of", "known", "machine"]
