"""A row of the catalogue: one operation, the samples it gets, and what it must give.

Read `Row` first. `Arg` says what an operand looks like; `real`, `whole` and `mask` make
the usual ones. `Row.samples` makes operands for a dtype, `Row.expected` computes what
NumPy gives for them in a wider type and rounds once.
"""

from __future__ import annotations

import dataclasses
import functools
import zlib
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
SIGNED = ("int8", "int16", "int32", "int64")
COMPLEX = ("complex64", "complex128")
BOOL = ("bool",)
SMALL_INTS = ("int2", "int4", "uint2", "uint4")
SMALL_FLOATS = ("float4_e2m1fn", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz",
                "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
                "float8_e8m0fnu")  # fmt: skip
SMALL = (
    SMALL_INTS + SMALL_FLOATS
)  # what a row takes of their kind; see test_small_rows.py
NUMBERS = FLOATS + INTS + COMPLEX
REALS = FLOATS + INTS
EVERYTHING = NUMBERS + BOOL

DOUBLE = {"float64", "complex128", "int64", "uint64"}  # exist only with x64 on

# What `Row.broken` says of minima and maxima on a PJRT plugin.
FAST_EXTREMA = {"plugin values": "XLA's CPU compiler drops NaN unless told not to"}

WIDER = {
    "float16": np.float64,
    "bfloat16": np.float64,
    "float32": np.float64,
    "float64": np.longdouble,
    "complex64": np.complex128,
    "complex128": np.clongdouble,
    **dict.fromkeys(SMALL_FLOATS, np.float64),
}
REAL_OF = {"complex64": "float32", "complex128": "float64"}
COMPLEX_OF = {"float32": "complex64", "float64": "complex128"}


def dtype_of(name: str) -> Any:
    return np.dtype(getattr(ml_dtypes, name, name))


def is_inexact(dtype: Any) -> bool:
    return str(dtype) in WIDER


@dataclasses.dataclass(frozen=True)
class Arg:
    """An operand: its shape and where its elements lie. Smooth between low and high."""

    shape: tuple[int, ...] = (3, 4)
    low: float = -3.0
    high: float = 3.0
    dtype: str | None = None  # None: the dtype under test
    values: Any = None  # these values instead of random ones
    mapped: bool = True  # may vmap map it
    smooth: bool = True  # is there a derivative by it
    distinct: bool = False  # no two elements are equal (orders, extrema)

    def sample(self, dtype: str, rng: Any, shape: Any = None) -> Any:
        """An array of this kind; `shape` instead of its own if given."""
        dtype = self.dtype or dtype
        shape = self.shape if shape is None else shape
        if self.values is not None:
            return np.broadcast_to(np.asarray(self.values, dtype_of(dtype)), shape)
        if self.distinct:
            return self._distinct(dtype, rng, shape)
        return self._random(dtype, rng, shape).astype(dtype_of(dtype))

    def _distinct(self, dtype: str, rng: Any, shape: Any) -> Any:
        size = int(np.prod(shape))
        low = 0 if dtype.startswith("uint") else -(size // 2)
        numbers = rng.permutation(size) + low
        if is_inexact(dtype):
            numbers = numbers * ((self.high - self.low) / max(size, 1)) + 0.1
        if dtype in REAL_OF:
            numbers = numbers + 1j * numbers[::-1]
        return numbers.astype(dtype_of(dtype)).reshape(shape)

    def _random(self, dtype: str, rng: Any, shape: Any) -> Any:
        if dtype == "bool":
            return rng.random(shape) < 0.5
        if dtype.startswith("complex"):
            parts = rng.uniform(self.low, self.high, (2, *shape))
            return parts[0] + 1j * parts[1]
        if is_inexact(dtype):
            return rng.uniform(self.low, self.high, shape)
        low = int(np.ceil(self.low))
        if dtype.startswith("uint"):
            low = max(low, 0)
        return rng.integers(low, max(int(self.high), low) + 1, shape)


ANY = Arg()


def real(low: float = -3.0, high: float = 3.0, **more: Any) -> Arg:
    return Arg(low=low, high=high, **more)


def whole(low: int, high: int, shape: Any = (3, 4), dtype: str = "int32") -> Arg:
    """Integers of one dtype, whatever dtype is under test."""
    return Arg(shape=shape, low=low, high=high, dtype=dtype, smooth=False)


def mask(shape: Any = (3, 4)) -> Arg:
    return Arg(shape=shape, dtype="bool", smooth=False)


def fixed(values: Any, dtype: str | None = None, **more: Any) -> Arg:
    """These very values."""
    return Arg(np.shape(values), values=values, dtype=dtype, **more)


@dataclasses.dataclass(frozen=True)
class Bad:
    """Arguments that must be refused, and words that the message must contain."""

    error: type[Exception]
    message: str
    args: tuple[Any, ...]
    params: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Row:
    """One operation and all that its tests need to know."""

    name: str  # where it is: "lax.sin"
    reference: Callable[..., Any]  # of wide NumPy arrays
    args: tuple[Arg, ...] = (Arg(),)
    params: dict[str, Any] = dataclasses.field(default_factory=dict)
    dtypes: tuple[str, ...] = FLOATS
    call: Callable[..., Any] | None = None  # (jax, *args), if not name(*args, **params)
    id: str = ""  # tells rows of one function apart
    elementwise: bool = False  # also edges, rank 0 and empty operands
    edges: Any = True  # False, or the dtypes that have them, only with a comment why
    ulp: dict[str, float] | float | None = None  # only with a comment why
    absolute: Any = 0.0  # likewise: an absolute error that is allowed, or one by dtype
    out: Any = None  # result dtype (name, rule, or one for each output), if not by kind
    weak: bool = False  # the results are weakly typed
    wide: bool = True  # the reference knows types wider than float64
    order: int = 2  # of the derivatives that are tested
    tests: str = "values jit vmap grad backend oracle"
    bits: bool = True  # vmap gives the bits of the loop
    errors: tuple[Bad, ...] = ()
    broken: dict[str, str] = dataclasses.field(default_factory=dict)  # test: reason

    def __str__(self) -> str:
        return f"{self.name}:{self.id}" if self.id else self.name

    def run(self, jax: Any, *args: Any) -> Any:
        """The operation under test; `jax` is the library to look it up in."""
        if self.call is not None:
            return self.call(jax, *args)
        function = functools.reduce(getattr, self.name.split("."), jax)
        return function(*args, **self.params)

    def function(self, jax: Any) -> Callable[..., Any]:
        return functools.partial(self.run, jax)

    def rng(self, dtype: str) -> Any:
        return np.random.default_rng(zlib.crc32(f"{self}/{dtype}".encode()))

    def sample(self, dtype: str, shape: Any = None) -> list[Any]:
        """One set of operands."""
        rng = self.rng(dtype)
        return [arg.sample(dtype, rng, shape) for arg in self.args]

    def samples(self, dtype: str) -> dict[str, list[Any]]:
        """All sets of operands for the test of values."""
        sets = {"main": self.sample(dtype)}
        if self.elementwise:
            sets["rank 0"] = self.sample(dtype, ())
            sets["empty"] = self.sample(dtype, (0, 3))
            if self.has_edges(dtype):
                sets["edges"] = self._edges(dtype)
        return sets

    def has_edges(self, dtype: str) -> bool:
        if isinstance(self.edges, tuple):
            return self.elementwise and dtype in self.edges
        return self.elementwise and bool(self.edges)

    def _edges(self, dtype: str) -> list[Any]:
        """Every combination of the ends of the types."""
        ends = [edges_of(arg.dtype or dtype) for arg in self.args]
        if len(ends) > 2:
            ends = [e[:7] for e in ends]
        return [grid.ravel() for grid in np.meshgrid(*ends, indexing="ij")]

    def expected(self, args: list[Any]) -> list[Any]:
        """What the reference gives, in its own wide types."""
        wide = [self.widened(a) for a in args]
        with np.errstate(all="ignore"):
            out = self.reference(*wide)
        return list(out) if isinstance(out, (tuple, list)) else [out]

    def widened(self, x: Any) -> Any:
        x = np.asarray(x)
        name = str(x.dtype)
        if name in SMALL_INTS:
            return x.astype(np.int64)
        if name not in WIDER:
            return x
        if not self.wide and name in ("float64", "complex128"):
            return x
        return x.astype(WIDER[name])

    def rounded(self, outs: list[Any], dtype: str, x64: bool) -> list[Any]:
        """Wide results in the dtypes that the results must have."""
        rules = self.out if isinstance(self.out, tuple) else [self.out] * len(outs)
        names = [
            self.result_dtype(np.asarray(out), rule, dtype, x64)
            for out, rule in zip(outs, rules, strict=True)
        ]
        with np.errstate(all="ignore"):
            return [np.asarray(o).astype(dtype_of(n)) for o, n in zip(outs, names)]

    def result_dtype(self, wide: Any, rule: Any, dtype: str, x64: bool) -> str:
        """The rule: as the operands, with the kind (bool, real, complex) of the result."""
        index = "int64" if x64 else "int32"
        if rule is not None:
            name = rule(dtype) if callable(rule) else rule
            return index if name == "index" else str(name)
        kind = wide.dtype.kind
        if kind == "b":
            return "bool"
        if kind == "c":
            return COMPLEX_OF.get(dtype, dtype)
        if kind == "f":
            inexact = "float64" if x64 else "float32"
            return REAL_OF.get(dtype, dtype) if is_inexact(dtype) else inexact
        return dtype if not is_inexact(dtype) and dtype != "bool" else index

    def limit(self, dtype: str) -> float | None:
        if isinstance(self.ulp, dict):
            return self.ulp.get(dtype)
        return self.ulp

    def margin(self, dtype: str) -> float:
        if isinstance(self.absolute, dict):
            return float(self.absolute.get(dtype, 0.0))
        return float(self.absolute)

    def small_dtypes(self) -> list[str]:
        """The dtypes of less than 16 bits of the kinds that this operation takes."""
        kinds = {
            "float32": SMALL_FLOATS,
            "int8": SMALL_INTS[:2],
            "uint8": SMALL_INTS[2:],
        }
        return [
            d for like, names in kinds.items() if like in self.dtypes for d in names
        ]

    def light_dtypes(self) -> list[str]:
        """Few dtypes for the tests of transformations: one float, one integer."""
        chosen = []
        for wanted in (("float32", "complex64"), ("int32", "uint32"), ("bool",)):
            found = [d for d in wanted if d in self.dtypes]
            if found and (wanted != ("bool",) or not chosen):
                chosen.append(found[0])
        return chosen

    def smooth_dtypes(self) -> list[str]:
        """The dtypes for derivatives: the widest of their kinds."""
        smooth = any(arg.smooth and not arg.dtype for arg in self.args)
        if not smooth or "grad" not in self.tests:
            return []
        kinds = {"float64": FLOATS, "complex128": COMPLEX}
        return [wide for wide, kind in kinds.items() if set(kind) & set(self.dtypes)]


@functools.cache
def edges_of(dtype: str) -> Any:
    """Zeros, ones, extremes, infinities and NaN."""
    if dtype == "bool":
        return np.array([False, True])
    kind = dtype_of(dtype)
    if not is_inexact(dtype):
        limits = ml_dtypes.iinfo(kind)
        low = [0, 1, 2, limits.max, limits.max - 1, limits.max // 2, 7]
        signed = [limits.min, -1, limits.min + 1, -2]
        return np.array(low + (signed if limits.min else []), kind)
    if dtype in REAL_OF:
        # Products of infinite parts are undefined, those of huge ones too.
        parts = np.array([0.0, -0.0, 1.0, -1.0, 0.5, 3.0], REAL_OF[dtype])
        grid = parts[:, None].astype(kind)
        grid = np.tile(grid, len(parts))
        grid.imag = parts[None]
        return grid.ravel()
    limits = ml_dtypes.finfo(kind)
    ends = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan]
    more = [limits.max, limits.min, limits.tiny, -limits.tiny, limits.eps, 0.5]
    return np.array([kind.type(x) for x in (*ends, *more)], kind)
