"""Whether two libraries agree about a case: both refuse it, or both give the same.

`outcome` runs a case; `verdict` compares two outcomes and says in which way they differ:
"ours refuses", "only JAX refuses", "structure", "shape", "dtype", "weak type", "values".
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from catalogue.row import SMALL_FLOATS, is_inexact
from support import ulp_distance

from comparisons.cases import Case

# JAX's CPU compiler allows itself more than we do; what is sought are differences.
ULP = {"float16": 4, "bfloat16": 4, "float32": 64, "float64": 64, "complex64": 256,
       "complex128": 256}  # fmt: skip
RELATIVE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 2e-5, "float64": 1e-12,
            "complex64": 4e-5, "complex128": 1e-12}  # fmt: skip


# Small floats: one step, or two where functions are made of others.
for _name in SMALL_FLOATS:
    ULP[_name] = 2
    RELATIVE[_name] = 2.0 ** -int(ml_dtypes.finfo(_name).nmant)


class Outcome(NamedTuple):
    """What a library makes of a case."""

    error: Exception | None
    arrays: list[Any]
    weak: list[bool]


class Difference(NamedTuple):
    """How two outcomes differ, and the details."""

    kind: str
    detail: str


def outcome(case: Case, lib: Any) -> Outcome:
    """Runs a case."""
    try:
        with warnings.catch_warnings(), lib.enable_x64(case.x64):
            warnings.simplefilter("ignore")
            leaves = lib.tree.leaves(case.call(lib))
            weak = [bool(getattr(x, "weak_type", False)) for x in leaves]
            return Outcome(None, [_host(x) for x in leaves], weak)
    except Exception as error:
        return Outcome(error, [], [])


def _host(x: Any) -> Any:
    try:
        return np.asarray(x)
    except TypeError:  # a key, which has no form in NumPy
        return np.asarray(0)


def verdict(case: Case, ours: Outcome, theirs: Outcome) -> Difference | None:
    """How the outcomes differ, or None."""
    if ours.error is not None and theirs.error is not None:
        return None
    if ours.error is not None:
        return Difference("ours refuses", _say(ours.error))
    if theirs.error is not None:
        return Difference("only JAX refuses", _say(theirs.error))
    if len(ours.arrays) != len(theirs.arrays):
        counts = f"{len(ours.arrays)} results, JAX {len(theirs.arrays)}"
        return Difference("structure", counts)
    for one, other in zip(ours.arrays, theirs.arrays):
        if one.shape != other.shape:
            return Difference("shape", f"{one.shape}, JAX {other.shape}")
        if one.dtype != other.dtype:
            return Difference("dtype", f"{one.dtype}, JAX {other.dtype}")
    if ours.weak != theirs.weak:
        return Difference("weak type", f"{ours.weak}, JAX {theirs.weak}")
    for one, other in zip(ours.arrays, theirs.arrays):
        found = _values(case, one, other)
        if found is not None:
            return Difference("values", found)
    return None


def _values(case: Case, one: Any, other: Any) -> str | None:
    """Where the numbers differ by more than both libraries may err."""
    if not one.size:
        return None
    if not is_inexact(one.dtype):
        bad = one != other
    else:
        bad = ~_near(case, one, other)
    if not bad.any():
        return None
    at = np.unravel_index(int(np.argmax(bad)), bad.shape)
    place = ", ".join(map(str, at))
    return (
        f"at [{place}] {one[at]!r}, JAX {other[at]!r} ({int(bad.sum())} of {bad.size})"
    )


def _near(case: Case, one: Any, other: Any) -> Any:
    name = str(one.dtype)
    wide = np.complex128 if one.dtype.kind == "c" else np.float64
    a, b = one.astype(wide), other.astype(wide)
    with np.errstate(all="ignore"):
        finite = np.abs(b[np.isfinite(b)])
        allowed = RELATIVE[name] * (finite.max() if finite.size else 0.0)
        if case.row is not None and case.row.elementwise and not case.slope:
            allowed = 0.0  # each element for itself
        if case.row is not None:
            allowed = allowed + case.row.margin(case.dtype)
        small = 0.0 if one.dtype.itemsize <= 2 else _smallest(one.dtype)
        near = np.abs(a - b) <= allowed + small  # JAX flushes denormal numbers
        same = (a == b) | (np.isnan(a) & np.isnan(b))
    return same | near | (ulp_distance(one, other) <= ULP[name])


def _smallest(dtype: Any) -> float:
    return float(ml_dtypes.finfo(dtype).tiny)


def _say(error: Exception) -> str:
    first = (str(error).strip().splitlines() or [""])[0]
    return f"{type(error).__name__}: {first[:150]}"
