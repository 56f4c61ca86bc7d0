"""Element types: the lattice of promotion, names, limits, narrowing.

The laws are tested without an oracle; `test_lattice_against_jax` compares the whole
table of types, weak and strong, with JAX where it is installed.
"""

from __future__ import annotations

import copy
import itertools
import json
import pickle
import subprocess
import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tetrad._src.util import dtypes
from tetrad._src.util.config import enable_x64, numpy_dtype_promotion
from tetrad._src.util.dtypes import (
    KEY,
    KeyDtype,
    TypePromotionError,
    canonicalize_dtype,
    check_narrowing,
    float0,
    issubdtype,
    lattice_result,
    promote_types,
    result_type,
    short_name,
)

BOOL = np.dtype(np.bool_)
UNSIGNED = [np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)]
SIGNED = [np.dtype(f"int{bits}") for bits in (8, 16, 32, 64)]
FLOATS = [dtypes.bfloat16, *[np.dtype(f"float{bits}") for bits in (16, 32, 64)]]
COMPLEX = [np.dtype(np.complex64), np.dtype(np.complex128)]
ORDINARY = [BOOL, *UNSIGNED, *SIGNED, *FLOATS, *COMPLEX]
SMALL = [*dtypes.SMALL_INTEGERS.values(), *dtypes.SMALL_FLOATS.values()]
EVERY = ORDINARY + SMALL
NARROW = [
    d for d in EVERY if d.name not in ("int64", "uint64", "float64", "complex128")
]


def pairs(kinds: list[Any]) -> list[tuple[Any, bool]]:
    return [(d, weak) for d in kinds for weak in (False, True) if d != BOOL or not weak]


def join(*operands: tuple[Any, bool]) -> Any:
    try:
        return lattice_result(*operands)
    except TypePromotionError:
        return None


# --- The laws of the lattice -------------------------------------------------------------


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("mode", ["standard", "strict"])
def test_promotion_commutes(x64: bool, mode: str) -> None:
    with enable_x64(x64), numpy_dtype_promotion(mode):
        for a, b in itertools.combinations(pairs(EVERY), 2):
            assert join(a, b) == join(b, a), (a, b)


@pytest.mark.parametrize("x64", [False, True])
def test_promotion_of_a_type_with_itself(x64: bool) -> None:
    with enable_x64(x64):
        for dtype in EVERY if x64 else NARROW:
            assert lattice_result((dtype, False)) == (dtype, False)
            assert lattice_result((dtype, False), (dtype, False)) == (dtype, False)
            assert lattice_result((dtype, False), (dtype, True)) == (dtype, False)
            assert lattice_result((dtype, True)) == (dtype, dtype != BOOL)


def test_promotion_associates_for_strong_types() -> None:
    with enable_x64(True):
        for a, b, c in itertools.product(ORDINARY, repeat=3):
            left = join(join((a, False), (b, False)), (c, False))
            right = join((a, False), join((b, False), (c, False)))
            together = join((a, False), (b, False), (c, False))
            assert left == right == together, (a, b, c)


def test_promotion_gives_an_upper_bound() -> None:
    """Joining with one of the operands again changes nothing."""
    with enable_x64(True):
        for a, b in itertools.product(ORDINARY, repeat=2):
            top = join((a, False), (b, False))
            assert join(top, (a, False)) == top, (a, b)
            assert join(top, (b, False)) == top, (a, b)


def test_weak_types_yield() -> None:
    for dtype in ORDINARY:
        with enable_x64(True):
            number = {"b": 1, "i": 1, "u": 1, "f": 1.0, "c": 1j}[dtypes.kind(dtype)]
            if dtype != BOOL:
                assert result_type(dtype, number) == dtype
    assert result_type("bfloat16", 1.0) == dtypes.bfloat16
    assert result_type("int8", 1.0, return_weak_type_flag=True) == (np.float32, True)
    assert result_type(1, 2.0, return_weak_type_flag=True) == (np.float32, True)
    assert result_type(True, 1, return_weak_type_flag=True) == (np.int32, True)
    assert result_type("float16", 1j) == np.complex64


def test_some_known_results() -> None:
    with enable_x64(True):
        assert promote_types("uint64", "int8") == np.float64
        assert promote_types("uint32", "int8") == np.int64
        assert promote_types("float16", "bfloat16") == np.float32
        assert promote_types("int64", "float16") == np.float16
        assert promote_types("float64", "complex64") == np.complex128
    assert promote_types("uint64", "int8") == np.int32
    assert promote_types("uint8", "int8") == np.int16
    assert promote_types(int, "uint8") == np.uint8
    assert promote_types("float8_e4m3fn", "int8") == np.dtype(ml_dtypes.float8_e4m3fn)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("float8_e4m3fn", "float32"),
        ("float8_e4m3fn", "float8_e5m2"),
        ("int4", "uint4"),
        ("int4", "int8"),
        ("float4_e2m1fn", "int4"),
    ],
)
def test_small_types_do_not_convert(a: str, b: str) -> None:
    with pytest.raises(TypePromotionError, match=rf"{a}|{b}.*astype"):
        promote_types(a, b)


def test_strict_promotion() -> None:
    with numpy_dtype_promotion("strict"):
        assert promote_types("float32", "float32") == np.float32
        assert result_type("int8", 1) == np.int8
        assert result_type("float16", 1) == np.float16
        with pytest.raises(TypePromotionError, match=r"strict.*astype\('float32'\)"):
            promote_types("int32", "float32")
        with pytest.raises(TypePromotionError):
            result_type("int32", 1.0)


def test_types_without_a_place() -> None:
    for bad in (float0, np.dtype("S3"), np.dtype(object)):
        with pytest.raises(TypeError, match="arrays cannot have dtype"):
            promote_types(bad, "float32")


ORACLE_PROGRAM = """
import json, sys, warnings
warnings.simplefilter("ignore")
import jax, jax.numpy as jnp, numpy as np, ml_dtypes
from jax._src.lax import lax
names = json.loads(sys.argv[1])
table = {}
for x64 in (False, True):
    jax.config.update("jax_enable_x64", x64)
    values = {}
    for name in names:
        dtype = np.dtype(getattr(ml_dtypes, name, name))
        if not x64 and name in ("int64", "uint64", "float64", "complex128"):
            continue
        for weak in (False, True):
            if weak and name == "bool":
                continue
            try:
                made = lax._convert_element_type(jnp.zeros((), dtype), dtype, weak)
            except Exception:
                continue  # a type that this build of XLA cannot hold
            values[name, weak] = made
    for mode in ("standard", "strict"):
        with jax.numpy_dtype_promotion(mode):
            for a, x in values.items():
                for b, y in values.items():
                    try:
                        found = jax.dtypes.result_type(x, y, return_weak_type_flag=True)
                        result = [found[0].name, bool(found[1])]
                    except Exception as error:
                        result = type(error).__name__
                    table[json.dumps([x64, mode, *a, *b])] = result
json.dump(table, sys.stdout)
"""


@pytest.mark.oracle
def test_lattice_against_jax() -> None:
    names = json.dumps([dtype.name for dtype in EVERY])
    run = subprocess.run(
        [sys.executable, "-c", ORACLE_PROGRAM, names],
        capture_output=True,
        text=True,
        check=True,
    )
    table = json.loads(run.stdout)
    assert len(table) > 5000
    by_name = {dtype.name: dtype for dtype in EVERY}
    different = []
    for key, expected in table.items():
        x64, mode, a, a_weak, b, b_weak = json.loads(key)
        if expected == "KeyError":
            # JAX fails on two weak operands of one type below 8 bits.
            assert a == b and a in dtypes.SMALL_INTEGERS
            continue
        with enable_x64(x64), numpy_dtype_promotion(mode):
            found = join((by_name[a], a_weak), (by_name[b], b_weak))
        got = "TypePromotionError" if found is None else [found[0].name, found[1]]
        if got != expected:
            different.append((key, expected, got))
    assert not different


# --- Canonical types ---------------------------------------------------------------------


def test_canonical_types() -> None:
    wide = ["int64", "uint64", "float64", "complex128"]
    narrow = ["int32", "uint32", "float32", "complex64"]
    assert [canonicalize_dtype(name).name for name in wide] == narrow
    assert [canonicalize_dtype(t) for t in (bool, int, float, complex)] == [
        np.bool_,
        np.int32,
        np.float32,
        np.complex64,
    ]
    with enable_x64(True):
        assert [canonicalize_dtype(name).name for name in wide] == wide
        assert canonicalize_dtype(int) == np.int64
    assert canonicalize_dtype("int64") == np.int32
    assert canonicalize_dtype(None) == np.float32
    assert canonicalize_dtype(">f4") == np.dtype("=f4")
    assert canonicalize_dtype(KEY) is KEY
    with pytest.raises(TypeError, match="NumPy dtype is needed"):
        canonicalize_dtype(KEY, allow_extended_dtype=False)
    with pytest.raises(TypeError):
        canonicalize_dtype("no such type")


class FakeArray:
    """Something with a dtype, as an array or aval is."""

    def __init__(self, dtype: Any, weak_type: bool = False) -> None:
        self.dtype = np.dtype(dtype)
        self.weak_type = weak_type


def test_result_type_takes_arrays_scalars_and_types() -> None:
    assert result_type(np.zeros(3)) == np.float32
    assert result_type(np.int64(1)) == np.int32
    assert result_type(FakeArray("int16"), 3) == np.int16
    assert result_type(FakeArray("int32", True), FakeArray("int8")) == np.int8
    assert result_type("int8", np.uint8) == np.int16
    assert result_type(int) == np.int32
    assert dtypes.weak_result_type(int) == (np.int32, True)
    assert dtypes.weak_result_type(np.float64(1)) == (np.float32, False)
    with pytest.raises(ValueError, match="at least one"):
        result_type()


def test_python_scalars() -> None:
    assert dtypes.dtype_of_python_scalar(True) == np.bool_
    assert dtypes.dtype_of_python_scalar(1) == np.int32
    assert dtypes.dtype_of_python_scalar(1.0) == np.float32
    with enable_x64(True):
        assert dtypes.dtype_of_python_scalar(1j) == np.complex128
    with pytest.raises(TypeError, match="not a Python scalar"):
        dtypes.dtype_of_python_scalar("1")
    assert dtypes.scalar_type_of(np.float16(1)) is float
    assert dtypes.scalar_type_of(np.zeros(1, np.uint8)) is int
    assert dtypes.scalar_type_of(True) is bool
    assert dtypes.scalar_type_of(1j) is complex


# --- Names and questions -----------------------------------------------------------------


def test_names_in_jaxprs() -> None:
    names = {
        "bool": "bool",
        "int32": "i32",
        "uint8": "u8",
        "float32": "f32",
        "complex64": "c64",
    }
    for name, short in names.items():
        assert short_name(np.dtype(name)) == short
    assert short_name(dtypes.bfloat16) == "bf16"
    assert short_name(np.dtype(ml_dtypes.int4)) == "i4"
    assert short_name(np.dtype(ml_dtypes.float8_e4m3fn)) == "f8_e4m3fn"
    assert short_name(KEY) == "key<fry>"
    assert short_name(float0) == "float0"


def test_kinds() -> None:
    letters = {d.name: dtypes.kind(d) for d in EVERY}
    assert letters["bool"] == "b"
    assert {letters[n] for n in ("int4", "int8", "int64")} == {"i"}
    assert {letters[n] for n in ("uint4", "uint8", "uint64")} == {"u"}
    assert {letters[n] for n in ("bfloat16", "float8_e5m2", "float64")} == {"f"}
    assert {letters[n] for n in ("complex64", "complex128")} == {"c"}
    assert dtypes.kind(KEY) == "K"
    assert dtypes.kind(float0) == "V"


def test_issubdtype() -> None:
    true = [
        (KEY, dtypes.extended),
        (KEY, dtypes.prng_key),
        (KEY, np.generic),
        (KEY, KEY),
        (dtypes.prng_key, dtypes.extended),
        (ml_dtypes.bfloat16, np.inexact),
        ("bfloat16", np.floating),
        (ml_dtypes.bfloat16, np.generic),
        (ml_dtypes.bfloat16, ml_dtypes.bfloat16),
        (ml_dtypes.int4, np.signedinteger),
        ("uint4", np.unsignedinteger),
        (float, np.floating),
        (np.float32, np.dtype("float32")),
        (np.int32, np.integer),
        (np.floating, np.inexact),
    ]
    false = [
        (KEY, np.floating),
        (KEY, np.number),
        (KEY, np.float32),
        (np.float32, KEY),
        (float0, np.bool_),
        (np.bool_, np.integer),
        (int, np.int32),
        (np.dtype("float32"), float),
        (ml_dtypes.bfloat16, np.float16),
        (np.inexact, np.float32),
        (ml_dtypes.int4, np.unsignedinteger),
    ]
    assert all(issubdtype(a, b) for a, b in true)
    assert not any(issubdtype(a, b) for a, b in false)


def test_limits() -> None:
    assert dtypes.finfo("bfloat16").bits == 16
    assert float(dtypes.finfo("float8_e4m3fn").max) == 448
    assert dtypes.finfo("complex64").dtype == np.float32
    assert (dtypes.iinfo("int4").min, dtypes.iinfo("int4").max) == (-8, 7)
    assert dtypes.iinfo(np.uint64).max == 2**64 - 1
    with pytest.raises(ValueError, match="see iinfo"):
        dtypes.finfo("int32")
    with pytest.raises(ValueError, match="see finfo"):
        dtypes.iinfo("float32")
    bits = [dtypes.itemsize_bits(t) for t in ("bool", "int4", "bfloat16", "complex64")]
    assert bits == [1, 4, 16, 64]


def test_the_type_of_keys() -> None:
    assert repr(KEY) == str(KEY) == KEY.name == "key<fry>"
    assert KEY.itemsize == 8
    assert KEY.kind == "K"
    assert KEY.type is dtypes.prng_key
    assert dtypes.key_dtype("threefry2x32") is KEY and type(KEY) is KeyDtype
    assert [repr(d) for d in dtypes.KEYS.values()] == [
        "key<fry>",
        "key<rbg>",
        "key<urbg>",
    ]
    assert pickle.loads(pickle.dumps(KEY)) is KEY
    assert copy.deepcopy(KEY) is KEY
    assert dtypes.is_key(KEY)
    assert not dtypes.is_key(np.dtype(np.uint32))
    assert lattice_result((KEY, False), (KEY, False)) == (KEY, False)
    with pytest.raises(TypePromotionError, match="key_data"):
        lattice_result((KEY, False), (np.dtype("float32"), False))


# --- Narrowing ---------------------------------------------------------------------------


def test_narrowing_of_ints() -> None:
    check_narrowing(2**31 - 1, "int32")
    check_narrowing(-(2**31), np.int32)
    check_narrowing(255, np.uint8)
    check_narrowing(10**30, "float32")
    check_narrowing(True, "int8")
    for value, target in [
        (2**31, "int32"),
        (-1, "uint8"),
        (2**64, "uint64"),
        (8, "int4"),
    ]:
        with pytest.raises(OverflowError, match=rf"{value} does not fit {target}"):
            check_narrowing(value, target)


def test_narrowing_of_arrays() -> None:
    check_narrowing(np.arange(10), "int32")
    check_narrowing(np.zeros((0, 3), np.int64), "int8")
    check_narrowing(np.array([1e30]), "int32")
    check_narrowing(np.array([2**31], np.uint32), "uint32")
    with pytest.raises(OverflowError) as caught:
        check_narrowing(np.array([[0, 1], [2, 2**40]]), "int32", "jnp.array: element")
    message = str(caught.value)
    assert message.startswith("jnp.array: element 1099511627776 at index [1, 1]")
    assert "jax_enable_x64" in message
    with pytest.raises(OverflowError, match="4294967295"):
        check_narrowing(np.array(2**32 - 1, np.uint32), "int32")
    with pytest.raises(OverflowError, match="-1 at index"):
        check_narrowing([0, -1], "uint64")
    with pytest.raises(OverflowError, match="36893488147419103232"):
        check_narrowing([2**65], "int64")
