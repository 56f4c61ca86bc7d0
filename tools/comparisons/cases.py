"""What is compared: calls made from the catalogue, from signatures and from dtypes.

A case is a call that takes the library. It is made from NumPy arrays, so both libraries
get the same bits. Read `Case`, then the generators: `catalogue` (every row, every dtype,
edges and specials), `small` (rows with floats of 8 bits and fewer and integers of 4
bits), `axes` (functions of an axis, each axis and some that do not exist,
shapes with extents 0 and 1), `pairs` (functions of two operands: every pair of dtypes,
Python numbers, broadcasting), `slopes` (derivatives of first and second order).
"""

from __future__ import annotations

import functools
import inspect
import itertools
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from catalogue import ROWS
from catalogue.row import (
    DOUBLE,
    EVERYTHING,
    REAL_OF,
    SMALL_FLOATS,
    Row,
    dtype_of,
    is_inexact,
)

import tetrad

SHAPES = [(), (0,), (1,), (3,), (2, 0), (2, 3), (1, 1), (2, 1, 3)]
PAIRS = [
    ((), (3,)), ((0,), (1,)), ((1,), (3,)), ((3,), (3,)), ((2, 0), (1,)), ((2, 1), (3,)),
    ((2, 3), (2, 1)), ((3,), (2,)), ((0,), (3,)), ((2, 3), (3, 2)), ((1, 1), ()),
]  # fmt: skip
SINGLE = tuple(d for d in EVERYTHING if d not in DOUBLE)
SPECIALS = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e30]
DENORMALS = {"float16": 3e-7, "bfloat16": 1e-40, "float32": -3e-42, "float64": 2e-310}
# JAX does not come back from large operands.
ENDLESS = {"lax.igamma", "lax.igammac", "lax.random_gamma_grad"}
SCALARS = [True, 2, -1, 0.5, 1j, np.float32(1.5), np.int8(3)]


class Case(NamedTuple):
    """One comparison."""

    function: str  # "numpy.sum"
    what: str  # how this call differs from the others of the function
    x64: bool
    call: Callable[[Any], Any]
    row: Row | None = None  # whose margins hold
    dtype: str = ""
    slope: bool = False  # a derivative, in which digits may cancel


def every() -> Iterator[Case]:
    """All cases, in an order that does not change."""
    yield from catalogue()
    yield from small()
    yield from slopes()
    yield from axes()
    yield from pairs()


def _rng(*names: Any) -> Any:
    return np.random.default_rng(zlib.crc32("/".join(map(str, names)).encode()))


def _run_row(row: Row, args: list[Any], lib: Any) -> Any:
    return row.run(lib, *[lib.numpy.asarray(a) for a in args])


# -------------------------------------------------------------------------- catalogue


def catalogue() -> Iterator[Case]:
    """Every row with every dtype, whether it is made for it or not."""
    for row in ROWS:
        if "oracle" not in row.tests:
            continue
        own = any(arg.dtype is None and arg.values is None for arg in row.args)
        dtypes = EVERYTHING if own else row.dtypes
        for dtype in dtypes:
            if dtype == "bool" and any(arg.distinct for arg in row.args):
                continue
            for name, args in row.samples(dtype).items():
                if name != "edges" or row.name not in ENDLESS:
                    yield _row_case(row, dtype, name, args)
            if row.name in ENDLESS:
                continue
            if dtype in row.dtypes and is_inexact(dtype) and dtype not in REAL_OF:
                args = [_with_specials(row, dtype, a) for a in row.sample(dtype)]
                yield _row_case(row, dtype, "specials", args)
                if row.elementwise:
                    args = [np.full_like(a, DENORMALS[dtype]) for a in args]
                    yield _row_case(row, dtype, "denormals", args)


SMALL = ("int4", "uint4", "float8_e4m3fn", "float8_e5m2")  # XLA has no sound int2


def small() -> Iterator[Case]:
    """Every row with some small dtypes, and one more of the floats."""
    for row in ROWS:
        if "oracle" not in row.tests or row.name in {*ENDLESS, "lax.while_loop"}:
            continue  # counted in 4 bits, loops do not end
        if not any(arg.dtype is None and arg.values is None for arg in row.args):
            continue
        more = SMALL_FLOATS[int(_rng(row, "small").integers(len(SMALL_FLOATS)))]
        for dtype in dict.fromkeys((*SMALL, more)):
            for name, args in row.samples(dtype).items():
                if name in ("main", "edges"):
                    yield _row_case(row, dtype, name, args)


def _row_case(row: Row, dtype: str, name: str, args: list[Any]) -> Case:
    call = functools.partial(_run_row, row, args)
    return Case(row.name, f"{row.id} {dtype} {name}", dtype in DOUBLE, call, row, dtype)


def _with_specials(row: Row, dtype: str, x: Any) -> Any:
    """Some elements become NaN, infinite, zero, denormal or large."""
    if not is_inexact(x.dtype) or not x.size:
        return x
    rng = _rng(row, dtype, "specials")
    x = np.array(x)
    places = rng.permutation(x.size)[: max(1, x.size // 3)]
    with np.errstate(all="ignore"):
        x.reshape(-1)[places] = rng.choice(SPECIALS, places.size).astype(x.dtype)
    return x


# ----------------------------------------------------------------------------- slopes


def slopes() -> Iterator[Case]:
    """Directional derivatives of order one and two, and pullbacks."""
    for row in ROWS:
        if not {"oracle", "grad"} <= set(row.tests.split()):
            continue
        for dtype in [d for d in ("float32", "float64") if d in row.dtypes]:
            args = row.sample(dtype)
            where = [
                i
                for i, (arg, x) in enumerate(zip(row.args, args))
                if arg.smooth and is_inexact(x.dtype)
            ]
            if not where:
                continue
            kinds: dict[str, Any] = {"jvp": _jvp, "vjp": _vjp}
            if row.order > 1:
                kinds["second jvp"] = _second
            for kind, rule in kinds.items():
                call = functools.partial(rule, row, args, where)
                what = f"{row.id} {dtype} {kind}"
                yield Case(row.name, what, dtype in DOUBLE, call, row, dtype, True)


def _smooth(row: Row, args: list[Any], where: list[int], lib: Any) -> Any:
    def function(*xs: Any) -> Any:
        full = [lib.numpy.asarray(a) for a in args]
        for i, x in zip(where, xs):
            full[i] = x
        outs = lib.tree.leaves(row.run(lib, *full))
        return [o for o in outs if is_inexact(o.dtype)]

    return function, tuple([lib.numpy.asarray(args[i]) for i in where])


def _directions(lib: Any, xs: Sequence[Any]) -> tuple[Any, ...]:
    made = []
    for number, x in enumerate(xs):
        direction = _rng("direction", number, x.shape).uniform(0.5, 1.5, x.shape)
        made.append(lib.numpy.asarray(direction.astype(x.dtype)))
    return tuple(made)


def _jvp(row: Row, args: list[Any], where: list[int], lib: Any) -> Any:
    function, xs = _smooth(row, args, where, lib)
    return lib.jvp(function, xs, _directions(lib, xs))[1]


def _second(row: Row, args: list[Any], where: list[int], lib: Any) -> Any:
    function, xs = _smooth(row, args, where, lib)
    directions = _directions(lib, xs)

    def slope(*xs: Any) -> Any:
        return lib.jvp(function, xs, directions)[1]

    return lib.jvp(slope, xs, directions)[1]


def _vjp(row: Row, args: list[Any], where: list[int], lib: Any) -> Any:
    function, xs = _smooth(row, args, where, lib)
    outs, back = lib.vjp(function, *xs)
    return back(list(_directions(lib, outs)))


# ------------------------------------------------------------------------------- axes


def axes() -> Iterator[Case]:
    """Functions of one array and an axis: all axes of all shapes, and wrong ones."""
    for name in sorted(dir(tetrad.numpy)):
        function = getattr(tetrad.numpy, name)
        keywords = _axis_keywords(function)
        if name.startswith("_") or keywords is None:
            continue
        for shape, dtype in itertools.product(SHAPES, ("float32", "int32", "bool")):
            if dtype != "float32" and shape not in ((0,), (2, 3)):
                continue
            x = _values(name, shape, dtype)
            chosen: list[Any] = [*range(-len(shape) - 1, len(shape) + 1), None]
            if len(shape) > 1 and name not in _ONE_AXIS:
                chosen += [(0, 1), (-1, 0), (0, 0), (0, 7), ()]
            for axis in chosen:
                call = functools.partial(_of_axis, name, x, {"axis": axis})
                what = f"{dtype}{list(shape)} axis={axis}"
                yield Case(f"numpy.{name}", what, False, call, None, dtype)
            if "keepdims" in keywords and dtype == "float32":
                options = {"keepdims": True}
                call = functools.partial(_of_axis, name, x, options)
                what = f"{dtype}{list(shape)} keepdims"
                yield Case(f"numpy.{name}", what, False, call, None, dtype)


_ONE_AXIS = {"argmax", "argmin", "nanargmax", "nanargmin", "cumsum", "cumprod"}


def _axis_keywords(function: Any) -> list[str] | None:
    """The parameters of a function of one array that has an axis; None for others."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return None
    required = [
        p.name
        for p in parameters.values()
        if p.default is p.empty and p.kind is not p.VAR_KEYWORD
    ]
    if "axis" not in parameters or isinstance(function, type):
        return None
    return list(parameters) if len(required) == 1 and required != ["axis"] else None


def _of_axis(name: str, x: Any, options: dict[str, Any], lib: Any) -> Any:
    return getattr(lib.numpy, name)(lib.numpy.asarray(x), **options)


def _values(name: str, shape: tuple[int, ...], dtype: str) -> Any:
    rng = _rng(name, shape, dtype)
    if dtype == "bool":
        return rng.random(shape) < 0.5
    low = 0 if dtype.startswith("uint") else -4
    numbers = np.asarray(rng.integers(low, 5, shape))
    if is_inexact(dtype):
        numbers = numbers + rng.uniform(0.1, 0.4, shape)
    return np.asarray(numbers).astype(dtype_of(dtype))


# ------------------------------------------------------------------------------ pairs


def pairs() -> Iterator[Case]:
    """Elementwise functions of two operands: dtypes, numbers of Python, shapes."""
    seen: set[tuple[str, str]] = set()
    for case in _pairs():
        if case[:2] not in seen:  # some functions have several rows
            seen.add(case[:2])
            yield case


def _pairs() -> Iterator[Case]:
    for row in ROWS:
        if not row.elementwise or len(row.args) != 2 or row.call is not None:
            continue
        if row.params or "oracle" not in row.tests:
            continue
        for one, other in itertools.product(SINGLE, SINGLE):
            if one != other and (one < other) == bool(_rng(row.name, one).integers(2)):
                xs = (_values(row.name, (2, 3), one), _values(row.name, (3,), other))
                yield _pair(row, f"{one}, {other}", xs)
        for dtype, scalar in itertools.product(SINGLE, SCALARS):
            x = _values(row.name, (3,), dtype)
            number = f"{type(scalar).__name__} {scalar}"
            yield _pair(row, f"{dtype}, {number}", (x, scalar))
            yield _pair(row, f"{number}, {dtype}", (scalar, x))
        dtype = "float32" if "float32" in row.dtypes else row.dtypes[0]
        for left, right in PAIRS:
            xs = (_values(row.name, left, dtype), _values(row.name, right, dtype))
            yield _pair(row, f"{dtype} {left}, {right}", xs)


def _pair(row: Row, what: str, xs: tuple[Any, Any]) -> Case:
    return Case(row.name, what, False, functools.partial(_of_pair, row.name, xs), row)


def _of_pair(name: str, xs: tuple[Any, Any], lib: Any) -> Any:
    function = functools.reduce(getattr, name.split("."), lib)
    return function(
        *[lib.numpy.asarray(x) if isinstance(x, np.ndarray) else x for x in xs]
    )
