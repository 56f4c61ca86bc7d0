"""Routines of LAPACK over a batch of problems, one task a problem.

In: operands whose problems lie densely one after another, matrices in the order of
Fortran. A `Recipe` says which operands are copied to where the routine works, and what
it is called with. Lengths are words of the launch, so that one function serves every
shape; routines that need memory for themselves are asked once how much. Many small
problems of some routines are solved by `small` instead.

Read `Recipe` and the arguments of a call; `build`; `_function`, which writes the text;
and then the recipes, in the order of their names.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from typing import Any, NamedTuple

from tetrad._src.core.avals import Aval
from tetrad._src.cpu import blas
from tetrad._src.cpu.kernels import small
from tetrad._src.cpu.kernels.base import (
    GRAIN,
    In,
    KernelCall,
    Launch,
    Operand,
    Out,
    Tmp,
)
from tetrad._src.cpu.literals import element_type
from tetrad._src.cpu.llvm import Writer, module
from tetrad._src.util.memo import Cache

LETTERS = {"f32": "s", "f64": "d", "c64": "c", "c128": "z"}
SIZES = {"f32": 4, "f64": 8, "c64": 8, "c128": 16, "i32": 4}
NAN = {4: 0x7FC00000, 8: 0x7FF8 << 48}

_texts: Cache = Cache("LAPACK kernels", limit=512)
_answers: Cache = Cache("LAPACK work sizes", limit=4096)


# ------------------------------------------------------------ the arguments of a call


class Char(NamedTuple):
    """A letter that chooses what a routine does."""

    letter: str


class Int(NamedTuple):
    """An extent or a leading dimension."""

    value: int


class Number(NamedTuple):
    """The number one, of the type of the elements."""


class Given(NamedTuple):
    """An operand, which the routine only reads."""

    number: int


class Result(NamedTuple):
    """A result, which the routine fills or, if it was copied there, replaces."""

    number: int


class Work(NamedTuple):
    """Memory of a problem, by name. `bytes` of None: as much as the routine asks for.

    `unit` is the size of what the routine counts.
    """

    name: str
    bytes: int | None
    unit: int


class Length(NamedTuple):
    """How many units a piece of work has."""

    name: str


class Info(NamedTuple):
    """Where the routine says whether it succeeded."""


Argument = Char | Int | Number | Given | Result | Work | Length | Info
Place = Result | Work


class Call(NamedTuple):
    """A call of a routine; `name` has its full name with the type's letter."""

    name: str
    arguments: tuple[Argument, ...]


class Recipe(NamedTuple):
    """Copies of operands, then calls. `strict`: what fails gives NaN everywhere.

    `finite`: operands with infinities or NaN are not given to the routine, which might
    never end, and count as failed. `cost` is in nanoseconds a problem.
    """

    copies: tuple[tuple[int, Place], ...]
    calls: tuple[Call, ...]
    cost: float
    strict: bool = True
    finite: bool = False


class Problem(NamedTuple):
    """What a recipe is made for: type, options, and the shapes of one problem."""

    type: str
    options: tuple[Any, ...]
    shapes: tuple[tuple[int, ...], ...]

    @property
    def letter(self) -> str:
        return LETTERS[self.type]

    @property
    def is_complex(self) -> bool:
        return self.type[0] == "c"

    @property
    def size(self) -> int:
        return SIZES[self.type]

    @property
    def real_size(self) -> int:
        return self.size // 2 if self.is_complex else self.size

    def name(self, real: str, complex: str | None = None) -> str:
        """The full name of a routine, which may differ for complex types."""
        stem = complex if complex is not None and self.is_complex else real
        return self.letter + stem

    def work(self, name: str = "work", count: int | None = None) -> Work:
        """Memory for elements."""
        return Work(name, None if count is None else count * self.size, self.size)

    def real_work(self, name: str = "rwork", count: int | None = None) -> Work:
        """Memory for real numbers."""
        unit = self.real_size
        return Work(name, None if count is None else count * unit, unit)

    def flops(self, count: float) -> float:
        """Nanoseconds for so many multiplications."""
        speed = {"f32": 8.0, "f64": 4.0, "c64": 2.0, "c128": 1.0}[self.type]
        return 400.0 + count / speed


def _int_work(name: str = "iwork", count: int | None = None) -> Work:
    return Work(name, None if count is None else count * 4, 4)


# ------------------------------------------------------------------------- a launch


def build(parameters: Any, operands: list[Operand], results: list[Aval]) -> KernelCall:
    """The kernel `lapack`."""
    ranks = parameters["ranks"]
    first = operands[0].aval
    batch = math.prod(first.shape[: first.ndim - ranks[0]])
    cores = [x.aval.shape[x.aval.ndim - rank :] for x, rank in zip(operands, ranks)]
    for shape in cores:
        if any(extent > blas.INT_LIMIT for extent in shape):
            raise NotImplementedError(
                f"decompositions take matrices of at most 2^31 - 1 rows, got {shape}"
            )
    type = element_type(first.dtype)
    routine = parameters["routine"]
    if small.fits(routine, type, tuple(cores), batch):
        return small.build(routine, type, parameters["options"], cores, batch)
    problem = Problem(type, parameters["options"], tuple(cores))
    recipe = RECIPES[routine](problem)
    work = _sizes(recipe)
    offsets, scratch = {}, 0
    for name, (size, _) in work.items():
        offsets[name] = scratch
        scratch += size + 127 & -128
    chunk = max(1, min(int(GRAIN / recipe.cost), -(-batch // 4)))
    places: dict[Any, Any] = {}
    words: list[Any] = [chunk, Tmp(0), scratch]
    for number, (operand, shape) in enumerate(zip(operands, cores)):
        size = SIZES[element_type(operand.aval.dtype)] * math.prod(shape)
        words += [In(number), size]
        places[Given(number)] = size
    nan = []
    for number, (aval, (shape, _)) in enumerate(zip(results, parameters["results"])):
        kind = element_type(aval.dtype)
        words += [Out(number), SIZES[kind] * math.prod(shape)]
        nan.append(0 if kind == "i32" else problem.real_size)
    words += [offsets[name] for name in work]
    words += [work[name][1] for name in work]
    words += [a.value for c in recipe.calls for a in c.arguments if isinstance(a, Int)]
    text = _text(type, _structure(recipe), len(operands), tuple(nan), tuple(work))
    total = batch if any(math.prod(shape) for shape, _ in parameters["results"]) else 0
    launch = Launch("lapack", tuple(words), total, chunk)
    space = scratch * max(1, -(-batch // chunk))
    return KernelCall(text, ("lapack",), [launch], [space], batch * recipe.cost + 300.0)


def _structure(recipe: Recipe) -> Recipe:
    """The recipe without what differs between shapes."""

    def bare(argument: Any) -> Any:
        if isinstance(argument, Int):
            return Int(0)
        if isinstance(argument, Work):
            return Work(argument.name, 0, argument.unit)
        return argument

    return Recipe(
        tuple([(number, bare(place)) for number, place in recipe.copies]),
        tuple([Call(c.name, tuple(map(bare, c.arguments))) for c in recipe.calls]),
        0.0,
        recipe.strict,
        recipe.finite,
    )


def _sizes(recipe: Recipe) -> dict[str, tuple[int, int]]:
    """Bytes and units of each piece of work."""
    sizes: dict[str, tuple[int, int]] = {}
    works = [place for _, place in recipe.copies if isinstance(place, Work)]
    for call in recipe.calls:
        asked: dict[str, int] = {}
        if any(isinstance(a, Work) and a.bytes is None for a in call.arguments):
            asked = _ask(call)
        for argument in [*works, *call.arguments]:
            if not isinstance(argument, Work):
                continue
            size = argument.bytes
            if size is None:
                size = asked[argument.name] * argument.unit
            size = max(size, sizes.get(argument.name, (0, 0))[0], argument.unit)
            sizes[argument.name] = size, size // argument.unit
    return sizes


def _ask(call: Call) -> dict[str, int]:
    """The units that a routine wants for the pieces of work it gives no size."""
    key = repr(call)  # tuples of different classes may be equal
    found: dict[str, int] | None = _answers.get(key)
    if found is None:
        found = _answers[key] = _asked(call)
    return found


def _asked(call: Call) -> dict[str, int]:
    function = ctypes.CFUNCTYPE(None)(blas.symbol(call.name))
    kept: list[Any] = []
    answers = {}
    letters = 0
    for argument in call.arguments:
        if isinstance(argument, Char):
            letters += 1
            kept.append(ctypes.c_char(argument.letter.encode()))
        elif isinstance(argument, Int):
            kept.append(ctypes.c_int(argument.value))
        elif isinstance(argument, Length):
            kept.append(ctypes.c_int(-1))
        else:
            room = (ctypes.c_double * 4)()
            kept.append(room)
            if isinstance(argument, Work) and argument.bytes is None:
                answers[argument.name] = room, call.name[0]
    pointers = [ctypes.c_void_p(ctypes.addressof(item)) for item in kept]
    function(*pointers, *[ctypes.c_size_t(1)] * letters)
    return {name: _answer(name, *found) for name, found in answers.items()}


def _answer(name: str, room: Any, letter: str) -> int:
    if name == "iwork":
        return ctypes.c_int.from_buffer(room).value
    if letter in "sc":
        # The length is a float32, which may have rounded it down.
        found = ctypes.c_float.from_buffer(room).value
        return int(math.ceil(found * (1 + 2**-22)))
    return int(ctypes.c_double.from_buffer(room).value)


# ------------------------------------------------------------------------- the text


def _text(
    type: str,
    recipe: Recipe,
    operands: int,
    nan: tuple[int, ...],
    work: tuple[str, ...],
) -> str:
    key = (type, repr(recipe), nan, work)  # tuples of different classes may be equal
    found: str | None = _texts.get(key)
    if found is None:
        function = _function(type, recipe, operands, nan, work)
        found = _texts.setdefault(key, module([("lapack", function)]))
    return found


def _function(
    type: str,
    recipe: Recipe,
    operands: int,
    nan: tuple[int, ...],
    work: tuple[str, ...],
) -> Writer:
    """Words: chunk, scratch and its bytes a chunk, (address, bytes a problem) of every
    operand and result, offsets and units of the work, the integers of the calls."""
    w = Writer(1)
    chunk, scratch, stride = w.word(), w.word("ptr"), w.word()
    given = [(w.word("ptr"), w.word()) for _ in range(operands)]
    made = [(w.word("ptr"), w.word()) for _ in nan]
    offsets = {name: w.word() for name in work}
    units = {name: w.word() for name in work}
    slots: list[list[str]] = []
    for call in recipe.calls:
        slots.append(
            [_constant(w, type, argument, units) for argument in call.arguments]
        )
    info = w.raw("alloca i32")
    own = w.point_to(scratch, w.i("mul", w.i("udiv", "%lo", chunk), stride), "u8")
    places = {name: w.point_to(own, offset, "u8") for name, offset in offsets.items()}
    loop = w.begin("%lo", "%hi", 1)

    def address(argument: Any) -> str:
        if isinstance(argument, Work):
            return places[argument.name]
        base, size = (given if isinstance(argument, Given) else made)[argument.number]
        return w.point_to(base, w.i("mul", loop.index, size), "u8")

    w.declarations.add("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
    for number, place in recipe.copies:
        w.line(
            f"call void @llvm.memcpy.p0.p0.i64(ptr {address(place)},"
            f" ptr {address(Given(number))}, i64 {given[number][1]}, i1 false)"
        )
    w.line(f"store i32 0, ptr {info}")
    if recipe.finite:
        _check_finite(w, type, address(Given(0)), given[0][1], info)
        good = w.raw(f"icmp eq i32 {w.raw(f'load i32, ptr {info}')}, 0")
        with w.when(good):
            _write_calls(w, recipe, slots, address, info)
    else:
        _write_calls(w, recipe, slots, address, info)
    if recipe.strict:
        bad = w.raw(f"icmp ne i32 {w.raw(f'load i32, ptr {info}')}, 0")
        with w.when(bad):
            for number, size in enumerate(nan):
                if size:
                    _fill(w, address(Result(number)), made[number][1], size)
    w.end(loop)
    return w


def _constant(w: Writer, type: str, argument: Any, units: dict[str, str]) -> str:
    """The address of an argument that is the same for all problems; "" for others."""
    if isinstance(argument, Char):
        slot = w.raw("alloca i8")
        w.line(f"store i8 {ord(argument.letter)}, ptr {slot}")
    elif isinstance(argument, (Int, Length)):
        value = w.word() if isinstance(argument, Int) else units[argument.name]
        slot = w.raw("alloca i32")
        w.line(f"store i32 {w.raw(f'trunc i64 {value} to i32')}, ptr {slot}")
    elif isinstance(argument, Number):
        real = "float" if type in ("f32", "c64") else "double"
        slot = w.raw(f"alloca [2 x {real}]")
        w.line(f"store [2 x {real}] [{real} 1.0, {real} 0.0], ptr {slot}")
    else:
        slot = ""
    return slot


def _write_calls(
    w: Writer,
    recipe: Recipe,
    slots: list[list[str]],
    address: Callable[[Any], str],
    info: str,
) -> None:
    for call, constants in zip(recipe.calls, slots):
        pointers = []
        for argument, slot in zip(call.arguments, constants):
            if isinstance(argument, Info):
                pointers.append(info)
            else:
                pointers.append(slot or address(argument))
        letters = sum(isinstance(argument, Char) for argument in call.arguments)
        name = f"{blas.PREFIX}{call.name}"
        kinds = ", ".join(["ptr"] * len(pointers) + ["i64"] * letters)
        w.declarations.add(f"declare void @{name}({kinds})")
        passed = [f"ptr {pointer}" for pointer in pointers] + ["i64 1"] * letters
        w.line(f"call void @{name}({', '.join(passed)})")


def _check_finite(w: Writer, type: str, pointer: str, size: str, info: str) -> None:
    """Sets info if one of the numbers is infinite or NaN."""
    single = type in ("f32", "c64")
    bits, unit = ("u32", 4) if single else ("u64", 8)
    mask = 0x7F800000 if single else 0x7FF << 52
    loop = w.begin("0", w.i("udiv", size, unit), 1)
    word = w.load(w.point_to(pointer, loop.index, bits), bits) & mask
    with w.when(w.compare("eq", word, mask).ref):
        w.line(f"store i32 1, ptr {info}")
    w.end(loop)


def _fill(w: Writer, pointer: str, size: str, unit: int) -> None:
    """Fills a result with NaN."""
    loop = w.begin("0", w.i("udiv", size, unit), 1)
    at = w.point_to(pointer, loop.index, "u32" if unit == 4 else "u64")
    w.line(f"store i{8 * unit} {NAN[unit]}, ptr {at}")
    w.end(loop)


# ---------------------------------------------------------------------- the recipes


def _potrf(p: Problem) -> Recipe:
    """Cholesky: the triangle `options[0]` of the operand."""
    ((n, _),) = p.shapes
    call = Call(
        p.name("potrf"),
        (Char(p.options[0]), Int(n), Result(0), Int(max(n, 1)), Info()),
    )
    return Recipe(((0, Result(0)),), (call,), p.flops(n**3 / 3))


def _getrf(p: Problem) -> Recipe:
    """LU with row exchanges: the factors in one matrix, and the pivots from 1."""
    ((n, m),) = p.shapes
    call = Call(
        p.name("getrf"),
        (Int(m), Int(n), Result(0), Int(max(m, 1)), Result(1), Info()),
    )
    cost = p.flops(m * n * min(m, n))
    return Recipe(((0, Result(0)),), (call,), cost, strict=False)


def _geqrf(p: Problem) -> Recipe:
    """QR: R above, Householder's vectors below the diagonal, and their factors."""
    ((n, m),) = p.shapes
    call = Call(
        p.name("geqrf"),
        (
            *(Int(m), Int(n), Result(0), Int(max(m, 1)), Result(1)),
            *(p.work(), Length("work"), Info()),
        ),
    )
    return Recipe(((0, Result(0)),), (call,), p.flops(2 * m * n * min(m, n)))


def _geqp3(p: Problem) -> Recipe:
    """QR with column exchanges; the third result numbers the columns from 1."""
    ((n, m), _) = p.shapes
    real = (p.real_work(count=2 * n),) if p.is_complex else ()
    call = Call(
        p.name("geqp3"),
        (
            *(Int(m), Int(n), Result(0), Int(max(m, 1)), Result(2), Result(1)),
            *(p.work(), Length("work"), *real, Info()),
        ),
    )
    copies = ((0, Result(0)), (1, Result(2)))
    return Recipe(copies, (call,), p.flops(3 * m * n * min(m, n)))


def _orgqr(p: Problem) -> Recipe:
    """The columns of Q from Householder's vectors and their factors."""
    ((n, m), (k,)) = p.shapes
    call = Call(
        p.name("orgqr", "ungqr"),
        (
            *(Int(m), Int(n), Int(k), Result(0), Int(max(m, 1)), Given(1)),
            *(p.work(), Length("work"), Info()),
        ),
    )
    return Recipe(((0, Result(0)),), (call,), p.flops(2 * m * n * k))


def _ormqr(p: Problem) -> Recipe:
    """Q or its (conjugate) transpose times a matrix; options: side and form."""
    ((k, rows), _, (n, m)) = p.shapes
    side, form = p.options
    call = Call(
        p.name("ormqr", "unmqr"),
        (
            *(Char(side), Char(form), Int(m), Int(n), Int(k)),
            *(Given(0), Int(max(rows, 1)), Given(1), Result(0), Int(max(m, 1))),
            *(p.work(), Length("work"), Info()),
        ),
    )
    return Recipe(((2, Result(0)),), (call,), p.flops(2 * m * n * k))


def _syevd(p: Problem) -> Recipe:
    """Eigenvalues and, for the option "V", vectors of a triangle of a Hermitian matrix."""
    ((n, _),) = p.shapes
    job, triangle = p.options
    real = (p.real_work(), Length("rwork")) if p.is_complex else ()
    call = Call(
        p.name("syevd", "heevd"),
        (
            *(Char(job), Char(triangle), Int(n), Result(0), Int(max(n, 1)), Result(1)),
            *(p.work(), Length("work"), *real, _int_work(), Length("iwork"), Info()),
        ),
    )
    cost = p.flops((9 if job == "V" else 3) * n**3)
    return Recipe(((0, Result(0)),), (call,), cost, finite=True)


def _gesdd(p: Problem) -> Recipe:
    """Singular values and vectors; options: "A" all, "S" as many as values, "N" none."""
    ((n, m),) = p.shapes
    (job,) = p.options
    small, large = min(m, n), max(m, n)
    a = p.work("a", m * n)
    real: tuple[Argument, ...] = ()
    if p.is_complex:
        count = small * max(5 * small + 7, 2 * large + 2 * small + 1)
        real = (p.real_work(count=max(count, 1)),)
    if job == "N":
        nothing = p.work("none", 1)
        vectors: tuple[Argument, ...] = (nothing, Int(1), nothing, Int(1))
    else:
        rows = n if job == "A" else small
        vectors = (Result(1), Int(max(m, 1)), Result(2), Int(max(rows, 1)))
    call = Call(
        p.name("gesdd"),
        (
            *(Char(job), Int(m), Int(n), a, Int(max(m, 1)), Result(0), *vectors),
            *(p.work(), Length("work"), *real, _int_work(count=8 * small), Info()),
        ),
    )
    return Recipe(((0, a),), (call,), p.flops(12 * m * n * small), finite=True)


def _geev(p: Problem) -> Recipe:
    """Eigenvalues and vectors of any square matrix; options: "V" or "N", left and right.

    Results: the values (real types: real and imaginary parts), left and right vectors.
    """
    ((n, _),) = p.shapes
    left, right = p.options
    a = p.work("a", n * n)
    values: tuple[Argument, ...] = (
        (Result(0),) if p.is_complex else (Result(0), Result(1))
    )
    real = (p.real_work(count=2 * n),) if p.is_complex else ()
    vectors: list[Argument] = []
    number = len(values)
    for job in (left, right):
        if job == "V":
            vectors += [Result(number), Int(max(n, 1))]
            number += 1
        else:
            vectors += [p.work("none", 1), Int(1)]
    call = Call(
        p.name("geev"),
        (
            *(Char(left), Char(right), Int(n), a, Int(max(n, 1)), *values, *vectors),
            *(p.work(), Length("work"), *real, Info()),
        ),
    )
    return Recipe(((0, a),), (call,), p.flops(25 * n**3), finite=True)


def _gees(p: Problem) -> Recipe:
    """Schur: the triangular factor and the vectors, without an order of values."""
    ((n, _),) = p.shapes
    w = p.work("values", n)
    values = (w,) if p.is_complex else (w, p.work("imaginary", n))
    real = (p.real_work(count=n),) if p.is_complex else ()
    unused = Work("flags", 4 * n, 4)
    call = Call(
        p.name("gees"),
        (
            *(Char("V"), Char("N"), unused, Int(n), Result(0), Int(max(n, 1))),
            *(_int_work("found", 1), *values, Result(1), Int(max(n, 1))),
            *(p.work(), Length("work"), *real, unused, Info()),
        ),
    )
    return Recipe(((0, Result(0)),), (call,), p.flops(25 * n**3), finite=True)


def _gehrd(p: Problem) -> Recipe:
    """Hessenberg's form with Householder's vectors below it, and their factors."""
    ((n, _),) = p.shapes
    call = Call(
        p.name("gehrd"),
        (
            *(Int(n), Int(1), Int(max(n, 1) if n else 0), Result(0), Int(max(n, 1))),
            *(Result(1), p.work(), Length("work"), Info()),
        ),
    )
    return Recipe(((0, Result(0)),), (call,), p.flops(3 * n**3))


def _sytrd(p: Problem) -> Recipe:
    """Tridiagonal form: the matrix with vectors, diagonal, side diagonal, factors."""
    ((n, _),) = p.shapes
    (triangle,) = p.options
    call = Call(
        p.name("sytrd", "hetrd"),
        (
            *(Char(triangle), Int(n), Result(0), Int(max(n, 1))),
            *(Result(1), Result(2), Result(3), p.work(), Length("work"), Info()),
        ),
    )
    return Recipe(((0, Result(0)),), (call,), p.flops(2 * n**3))


def _gtsv(p: Problem) -> Recipe:
    """Solves tridiagonal systems: lower, main and upper diagonal, right sides."""
    ((_,), (n,), _, (count, _)) = p.shapes
    lower, main, upper = (
        p.work(name, max(n, 1)) for name in ("lower", "main", "upper")
    )
    call = Call(
        p.name("gtsv"),
        (Int(n), Int(count), lower, main, upper, Result(0), Int(max(n, 1)), Info()),
    )
    copies = ((0, lower), (1, main), (2, upper), (3, Result(0)))
    return Recipe(copies, (call,), p.flops(8 * n * (count + 1)))


def _trsm(p: Problem) -> Recipe:
    """Solves triangular systems; options: side, triangle, form, diagonal."""
    ((order, _), (n, m)) = p.shapes
    side, triangle, form, diagonal = p.options
    call = Call(
        p.name("trsm"),
        (
            *(Char(side), Char(triangle), Char(form), Char(diagonal)),
            *(Int(m), Int(n), Number(), Given(0), Int(max(order, 1))),
            *(Result(0), Int(max(m, 1))),
        ),
    )
    return Recipe(((1, Result(0)),), (call,), p.flops(m * n * order), strict=False)


RECIPES: dict[str, Callable[[Problem], Recipe]] = {
    "gees": _gees,
    "geev": _geev,
    "gehrd": _gehrd,
    "geqp3": _geqp3,
    "geqrf": _geqrf,
    "gesdd": _gesdd,
    "getrf": _getrf,
    "gtsv": _gtsv,
    "orgqr": _orgqr,
    "ormqr": _ormqr,
    "potrf": _potrf,
    "syevd": _syevd,
    "sytrd": _sytrd,
    "trsm": _trsm,
}
