"""Element types: which there are, how they are called, and how they promote.

Dtypes are NumPy dtypes (with those of ml_dtypes), or `KEY`, the type of random keys.
A type may be *weak*: the type of a Python scalar, which yields to the array it meets.
Promotion is the least upper bound in the lattice of types drawn at `_ABOVE`.

With 64-bit types switched off (the default) every 64-bit type is read as its 32-bit
counterpart; `canonicalize_dtype` does that.

Reading order: names, keys, canonical types, the lattice, questions about types.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from typing import Any, Final, TypeAlias

import ml_dtypes
import numpy as np

from tetrad._src.util.config import config
from tetrad._src.util.memo import Cache, memo

__all__ = [
    "KEY",
    "KEYS",
    "KeyDtype",
    "TypePromotionError",
    "bfloat16",
    "canonicalize_dtype",
    "check_narrowing",
    "dtype_of_python_scalar",
    "extended",
    "extremes",
    "finfo",
    "float0",
    "iinfo",
    "is_key",
    "key_dtype",
    "issubdtype",
    "itemsize_bits",
    "kind",
    "lattice_result",
    "prng_key",
    "promote_types",
    "python_scalar_dtype",
    "result_type",
    "scalar_type_of",
    "short_name",
    "weak_result_type",
]


class TypePromotionError(ValueError):
    """Operands whose types have no common type were combined.

    Why: small types (integers below 8 bits, floats of 8 bits and fewer) do not convert
    by themselves, since the result would surprise in one way or another; and under
    `numpy_dtype_promotion("strict")` no two different types do.

    Wrong:

        jnp.float8_e4m3fn(1) + jnp.float32(1)

    Right:

        jnp.float8_e4m3fn(1).astype(jnp.float32) + jnp.float32(1)
    """


# --- Names -------------------------------------------------------------------------------

_SMALL_INTEGERS: Final = ("uint1", "uint2", "uint4", "int1", "int2", "int4")
_SMALL_FLOATS: Final = (
    "float4_e2m1fn",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e8m0fnu",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
)


def _foreign(names: tuple[str, ...]) -> dict[str, np.dtype[Any]]:
    """The dtypes of ml_dtypes among `names`; older releases lack some."""
    present = [name for name in names if hasattr(ml_dtypes, name)]
    return {name: np.dtype(getattr(ml_dtypes, name)) for name in present}


SMALL_INTEGERS: Final = _foreign(_SMALL_INTEGERS)
SMALL_FLOATS: Final = _foreign(_SMALL_FLOATS)
bfloat16: Final = np.dtype(ml_dtypes.bfloat16)

# The type of the tangents of integers: an empty record, of which there is one value.
float0: Final = np.dtype([("float0", np.void, 0)])

_BOOL: Final = np.dtype(np.bool_)
_FOREIGN_FLOATS: Final = frozenset([bfloat16, *SMALL_FLOATS.values()])
_FOREIGN_SIGNED: Final = frozenset(
    [dtype for name, dtype in SMALL_INTEGERS.items() if not name.startswith("u")]
)
_FOREIGN_UNSIGNED: Final = frozenset(
    [dtype for name, dtype in SMALL_INTEGERS.items() if name.startswith("u")]
)


# --- Keys --------------------------------------------------------------------------------


class extended(np.generic):
    """Abstract scalar type of the element types that NumPy does not have."""


class prng_key(extended):
    """Abstract scalar type of random keys."""


class KeyDtype:
    """The element type of typed random keys: opaque bits for one generator.

    There is one instance for each generator; see `KEYS`.
    """

    __slots__ = ("impl", "tag", "name", "words", "itemsize", "held")

    kind: Final = "K"
    type: Final = prng_key

    def __init__(self, impl: str, tag: str, words: int) -> None:
        self.impl = impl
        self.tag = tag
        self.name = f"key<{tag}>"
        self.words = words
        self.itemsize = 4 * words
        # How NumPy and compiled code hold an element: they only move it.
        self.held = np.dtype(np.uint64 if words == 2 else np.complex128)

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return key_dtype, (self.impl,)

    def __copy__(self) -> KeyDtype:
        return self

    def __deepcopy__(self, memo: Any) -> KeyDtype:
        return self


KEY: Final = KeyDtype("threefry2x32", "fry", 2)
KEYS: Final = {
    dtype.impl: dtype
    for dtype in (KEY, KeyDtype("rbg", "rbg", 4), KeyDtype("unsafe_rbg", "urbg", 4))
}


def key_dtype(impl: str) -> KeyDtype:
    """The element type of the keys of a generator."""
    return KEYS[impl]


Dtype: TypeAlias = Any  # a np.dtype or a KeyDtype


def is_key(dtype: Dtype) -> bool:
    """Whether this is the element type of random keys."""
    return type(dtype) is KeyDtype


# --- Canonical types ---------------------------------------------------------------------

_NARROWED: Final = {
    np.dtype(np.int64): np.dtype(np.int32),
    np.dtype(np.uint64): np.dtype(np.uint32),
    np.dtype(np.float64): np.dtype(np.float32),
    np.dtype(np.complex128): np.dtype(np.complex64),
}
_PYTHON_SCALARS: Final[dict[Any, np.dtype[Any]]] = {
    bool: _BOOL,
    int: np.dtype(np.int64),
    float: np.dtype(np.float64),
    complex: np.dtype(np.complex128),
}


def as_dtype(dtype: Any) -> Dtype:
    """The dtype that a name, class or dtype means, 64-bit types kept, in native order."""
    if type(dtype) is KeyDtype:
        return dtype
    try:
        found = np.dtype(dtype)
    except TypeError:
        inner = getattr(dtype, "dtype", None)
        if type(inner) is KeyDtype:
            return inner
        raise TypeError(f"{dtype!r} is not a dtype") from None
    return found if found.isnative else found.newbyteorder("=")


# What was asked for, by whether 64-bit types exist.
_canonical: Final = {
    x64: Cache(f"canonical dtypes, {x64=}", limit=1024) for x64 in (False, True)
}


def canonicalize_dtype(dtype: Any, allow_extended_dtype: bool = True) -> Dtype:
    """The dtype that arrays asked for as `dtype` have: 32-bit where x64 is off."""
    x64 = config.x64
    try:
        found = _canonical[x64].get(dtype)
    except TypeError:  # not hashable
        return canonicalized(dtype, x64)
    if found is None:
        found = canonicalized(dtype, x64)
        _canonical[x64][dtype] = found
    if not allow_extended_dtype and type(found) is KeyDtype:
        raise TypeError(f"a NumPy dtype is needed here, got {found}")
    return found


def canonicalized(dtype: Any, x64: bool) -> Dtype:
    """The same where x64 is `x64`."""
    wide = as_dtype(dtype)
    return wide if x64 else _NARROWED.get(wide, wide)


def python_scalar_dtype(cls: type, x64: bool) -> np.dtype[Any]:
    """The dtype of Python's bool, int, float or complex."""
    wide = _PYTHON_SCALARS[cls]
    return wide if x64 else _NARROWED.get(wide, wide)


def dtype_of_python_scalar(value: Any) -> np.dtype[Any]:
    """The dtype that a Python scalar has as an array (weak unless a bool)."""
    for cls in (bool, int, float, complex):
        if isinstance(value, cls):
            return python_scalar_dtype(cls, config.x64)
    raise TypeError(f"{value!r} is not a Python scalar")


# --- The lattice -------------------------------------------------------------------------

# Each type and the types directly above it.  A star marks the weak types.
_ABOVE: Final[dict[str, tuple[str, ...]]] = {
    "bool": ("int*",),
    "int*": ("uint8", "int8", *SMALL_INTEGERS),
    "uint8": ("uint16", "int16"),
    "uint16": ("uint32", "int32"),
    "uint32": ("uint64", "int64"),
    "uint64": ("float*",),
    "int8": ("int16",),
    "int16": ("int32",),
    "int32": ("int64",),
    "int64": ("float*",),
    "float*": ("bfloat16", "float16", "complex*", *SMALL_FLOATS),
    "bfloat16": ("float32",),
    "float16": ("float32",),
    "float32": ("float64", "complex64"),
    "float64": ("complex128",),
    "complex*": ("complex64",),
    "complex64": ("complex128",),
    "complex128": (),
    **dict.fromkeys(SMALL_INTEGERS, ()),
    **dict.fromkeys(SMALL_FLOATS, ()),
}


def _ups(name: str, above: dict[str, tuple[str, ...]]) -> frozenset[str]:
    found = {name}
    for upper in above[name]:
        found |= _ups(upper, above)
    return frozenset(found)


_UPPER: Final = {name: _ups(name, _ABOVE) for name in _ABOVE}
# Without implicit conversion only the weak types have something above them.
_STRICT_UPPER: Final = {
    name: upper if name.endswith("*") else frozenset([name])
    for name, upper in _UPPER.items()
}
_DTYPES: Final = {
    name: SMALL_INTEGERS.get(name) or SMALL_FLOATS.get(name) or np.dtype(name)
    for name in _ABOVE
    if not name.endswith("*") and name != "bfloat16"
} | {"bfloat16": bfloat16}
_NAMES: Final[dict[Any, str]] = {dtype: name for name, dtype in _DTYPES.items()}
_WEAK_NODES: Final = {"i": "int*", "u": "int*", "f": "float*", "c": "complex*"}
_WEAK_DTYPES: Final = {"int*": int, "float*": float, "complex*": complex}


def _node(dtype: np.dtype[Any], weak: bool) -> str:
    """The place of a type in the lattice."""
    name = _NAMES.get(dtype)
    if name is None:
        raise TypeError(
            f"arrays cannot have dtype {dtype}: it has no place in type promotion"
        )
    if not weak or name == "bool":
        return name
    return _WEAK_NODES[kind(dtype)]


def _least_upper_bound(nodes: frozenset[str], strict: bool) -> str | None:
    table = _STRICT_UPPER if strict else _UPPER
    common = frozenset.intersection(*[table[node] for node in nodes])
    if common & nodes:
        # One of the types is above all the others.
        return next(iter(common & nodes))
    least = [node for node in common if common <= _UPPER[node]]
    return least[0] if least else None


Pair: TypeAlias = tuple[Dtype, bool]


def lattice_result(*pairs: Pair) -> Pair:
    """The common (dtype, weak) of (dtype, weak) pairs.

    Raises:
      TypePromotionError: if the types have no common type.
    """
    return _lattice_result(pairs, config.key)


def _single_result(pair: Pair, x64: bool) -> Pair:
    dtype, weak = pair
    if is_key(dtype):
        return pair
    _node(dtype, False)
    return (dtype if x64 else _NARROWED.get(dtype, dtype)), weak and dtype != _BOOL


@memo(limit=16384)
def _lattice_result(operands: tuple[Pair, ...], settings: tuple[Any, ...]) -> Pair:
    x64 = config.x64
    strict = config.jax_numpy_dtype_promotion == "strict"
    if len(operands) == 1:
        return _single_result(operands[0], x64)
    pairs = frozenset(operands)
    if any(is_key(dtype) for dtype, _ in pairs):
        return _key_result(pairs)
    if not x64:
        pairs = frozenset(
            [(_NARROWED.get(dtype, dtype), weak) for dtype, weak in pairs]
        )
    pairs = frozenset([(dtype, weak and dtype != _BOOL) for dtype, weak in pairs])
    if all(weak for _, weak in pairs):
        result = _weak_result(pairs, strict)
        return (result if x64 else _NARROWED.get(result, result)), True
    dtypes = {dtype for dtype, _ in pairs}
    if len(dtypes) == 1:
        # An array with a scalar of its own type, or arrays of one type.
        dtype = next(iter(dtypes))
        _node(dtype, False)
        return dtype, False
    top = _least_upper_bound(frozenset([_node(*pair) for pair in pairs]), strict)
    if top is None:
        raise TypePromotionError(_promotion_message(pairs, strict))
    weak = top in _WEAK_DTYPES
    result = python_scalar_dtype(_WEAK_DTYPES[top], x64) if weak else _DTYPES[top]
    return (result if x64 else _NARROWED.get(result, result)), weak


def _weak_result(pairs: frozenset[Pair], strict: bool) -> np.dtype[Any]:
    """The dtype that weak operands share: the widest of the kind they promote to.

    A weak type carries no width of its own, so none is kept.
    """
    nodes = frozenset([_node(dtype, strict) for dtype, _ in pairs])
    top = _least_upper_bound(nodes, strict)
    if top is None:
        raise TypePromotionError(_promotion_message(pairs, strict))
    if top in _WEAK_DTYPES:
        return _PYTHON_SCALARS[_WEAK_DTYPES[top]]
    if top in SMALL_INTEGERS:
        return SMALL_INTEGERS[top]
    return _WIDEST[kind(_DTYPES[top])]


_WIDEST: Final = {
    "b": _BOOL,
    "i": np.dtype(np.int64),
    "u": np.dtype(np.uint64),
    "f": np.dtype(np.float64),
    "c": np.dtype(np.complex128),
}


def _key_result(pairs: frozenset[Pair]) -> Pair:
    keys = {dtype for dtype, _ in pairs if is_key(dtype)}
    if len(pairs) == len(keys) == 1:
        return next(iter(keys)), False
    if len(keys) > 1:
        raise TypePromotionError(
            "random keys of different generators do not combine, got"
            f" {' and '.join(sorted(map(str, keys)))}"
        )
    others = sorted({str(dtype) for dtype, _ in pairs if not is_key(dtype)})
    raise TypePromotionError(
        f"random keys do not combine with other types, got {next(iter(keys))} and "
        f"{', '.join(others)}; random.key_data(key) gives the numbers behind a key"
    )


def _promotion_message(pairs: frozenset[Pair], strict: bool) -> str:
    names = sorted(f"weak {d.name}" if weak else d.name for d, weak in pairs)
    listed = ", ".join(names)
    wider = max(
        [d for d, _ in pairs],
        key=lambda d: ("buifc".find(kind(d)), itemsize_bits(d), d.name),
    )
    if strict:
        why = "jax_numpy_dtype_promotion is 'strict', so different types do not combine"
    else:
        why = (
            f"{_small_in_words(d for d, _ in pairs)} do not support implicit promotion"
        )
    return (
        f"{listed} have no common type: {why}. Convert one of them first, for example "
        f"with x.astype('{wider.name}')"
    )


def _small_in_words(found: Iterable[Dtype]) -> str:
    """Why there is no promotion: "8-bit floats", "4-bit integers"."""
    words = [
        f"{itemsize_bits(d)}-bit {'floats' if kind(d) == 'f' else 'integers'}"
        for d in found
        if d.name in SMALL_FLOATS or d.name in SMALL_INTEGERS
    ]
    return " and ".join(sorted(set(words)))


def promote_types(a: Any, b: Any) -> Dtype:
    """The common dtype of two dtypes (`int`, `float`, `complex` are the weak types)."""
    return lattice_result(_pair_of(a), _pair_of(b))[0]


_SCALAR_CLASSES: Final = (bool, int, float, complex)


# (dtype, weak) of the Python scalars, by whether 64-bit types exist.
_SCALAR_PAIRS: Final[dict[bool, dict[type, Pair]]] = {
    x64: {
        cls: (python_scalar_dtype(cls, x64), cls is not bool) for cls in _SCALAR_CLASSES
    }
    for x64 in (False, True)
}


def _pair_of(value: Any) -> Pair:
    """(dtype, weak) of an array, an aval, a Python scalar, or something like a dtype."""
    cls = type(value)
    scalar = _SCALAR_PAIRS[config.x64].get(cls)
    if scalar is not None:
        return scalar
    dtype = getattr(value, "dtype", None)
    if dtype is not None and cls is not type:
        weak = getattr(value, "weak_type", None)
        if weak is None:
            weak = getattr(getattr(value, "aval", None), "weak_type", False)
        return canonicalize_dtype(dtype), bool(weak)
    if cls is type and value in _PYTHON_SCALARS:
        return _SCALAR_PAIRS[config.x64][value]
    if isinstance(value, _SCALAR_CLASSES) and not isinstance(value, np.generic):
        return dtype_of_python_scalar(value), not isinstance(value, bool)
    return canonicalize_dtype(value), False


def weak_result_type(*args: Any) -> Pair:
    """The common (dtype, weak) of arrays, avals, Python scalars and dtypes."""
    if not args:
        raise ValueError("result_type needs at least one array or dtype")
    return lattice_result(*[_pair_of(arg) for arg in args])


def result_type(*args: Any, return_weak_type_flag: bool = False) -> Any:
    """The dtype that an operation on these arrays, scalars and dtypes computes in."""
    dtype, weak = weak_result_type(*args)
    return (dtype, weak) if return_weak_type_flag else dtype


# --- Questions about types ---------------------------------------------------------------


@functools.cache
def kind(dtype: Dtype) -> str:
    """One letter: f float, c complex, i and u integers, b bool, K key, V other."""
    if type(dtype) is KeyDtype or dtype == float0:
        return "K" if type(dtype) is KeyDtype else "V"
    if dtype in _FOREIGN_FLOATS:
        return "f"
    if dtype in _FOREIGN_SIGNED:
        return "i"
    if dtype in _FOREIGN_UNSIGNED:
        return "u"
    return str(dtype.kind)


_ABSTRACT_PARENTS: Final = {
    "f": (np.floating, np.inexact, np.number, np.generic),
    "c": (np.complexfloating, np.inexact, np.number, np.generic),
    "i": (np.signedinteger, np.integer, np.number, np.generic),
    "u": (np.unsignedinteger, np.integer, np.number, np.generic),
}


def issubdtype(a: Any, b: Any) -> bool:
    """Whether type `a` is `b` or, for an abstract class `b`, lies below it.

    >>> issubdtype(bfloat16, np.floating), issubdtype(KEY, prng_key)
    (True, True)
    """
    try:
        return _issubdtype(a, b)
    except TypeError:
        return _issubdtype.__wrapped__(a, b)  # type: ignore[attr-defined, no-any-return]


@memo(limit=4096)
def _issubdtype(a: Any, b: Any) -> bool:
    one = a if _is_abstract(a) else as_dtype(a)
    if _is_abstract(b):
        if _is_abstract(one):
            return issubclass(one, b)
        if type(one) is KeyDtype:
            return issubclass(prng_key, b)
        if one in _FOREIGN_FLOATS | _FOREIGN_SIGNED | _FOREIGN_UNSIGNED:
            return b in _ABSTRACT_PARENTS[kind(one)]
        return bool(np.issubdtype(one, b))
    if _is_abstract(one):
        return False
    other = as_dtype(b)
    return type(one) is type(other) and bool(one == other)


_CONCRETE_GENERICS: Final = frozenset(
    [np.dtype(letter).type for letter in np.typecodes["All"]]
)


def _is_abstract(value: Any) -> bool:
    return (
        isinstance(value, type)
        and issubclass(value, np.generic)
        and value not in _CONCRETE_GENERICS
        and not issubclass(value, _FOREIGN_SCALARS)
    )


_FOREIGN_SCALARS: Final = tuple(
    dtype.type for dtype in _FOREIGN_FLOATS | _FOREIGN_SIGNED | _FOREIGN_UNSIGNED
)


def finfo(dtype: Any) -> Any:
    """The limits of a floating type (for complex types, of its parts)."""
    found = as_dtype(dtype)
    if kind(found) not in "fc":
        raise ValueError(f"finfo is about floating types, got {found}; see iinfo")
    return ml_dtypes.finfo(found)


def iinfo(dtype: Any) -> Any:
    """The limits of an integer type."""
    found = as_dtype(dtype)
    if kind(found) not in "iu":
        raise ValueError(f"iinfo is about integer types, got {found}; see finfo")
    return _iinfo(found)


_iinfo = functools.cache(ml_dtypes.iinfo)  # asked for by eager operations


@functools.cache
def extremes(dtype: Dtype) -> tuple[Any, Any]:
    """The least and the greatest number: -∞ and ∞ where the type has them.

    >>> extremes(np.dtype(ml_dtypes.float8_e4m3fn))
    (-448.0, 448.0)
    """
    letter = kind(dtype)
    if letter == "b":
        return False, True
    if letter in "iu":
        limits = _iinfo(dtype)
        return int(limits.min), int(limits.max)
    if letter == "c":
        return complex(-math.inf, -math.inf), complex(math.inf, math.inf)
    if dtype in _WITHOUT_INFINITY:
        info = ml_dtypes.finfo(dtype)
        return float(info.min), float(info.max)
    return -math.inf, math.inf


_WITHOUT_INFINITY: Final = frozenset(
    [d for n, d in SMALL_FLOATS.items() if n.endswith(("fn", "fnu", "fnuz"))]
)


def itemsize_bits(dtype: Any) -> int:
    """The bits that a value carries: 4 for int4, which occupies a byte in memory."""
    found = as_dtype(dtype)
    if found == _BOOL:
        return 1
    letter = kind(found)
    if letter in "iu":
        return int(_iinfo(found).bits)
    if letter == "f":
        return int(ml_dtypes.finfo(found).bits)
    return 8 * int(found.itemsize)


def scalar_type_of(x: Any) -> type:
    """The Python scalar class of the kind of `x`: bool, int, float or complex."""
    letter = kind(_pair_of(x)[0])
    classes: dict[str, type] = {"b": bool, "i": int, "u": int, "f": float, "c": complex}
    if letter not in classes:
        raise TypeError(f"no Python scalar corresponds to {x!r}")
    return classes[letter]


_SHORT_PREFIXES: Final = (
    ("bfloat", "bf"),
    ("float", "f"),
    ("uint", "u"),
    ("int", "i"),
    ("complex", "c"),
)


@functools.cache
def short_name(dtype: Dtype) -> str:
    """The name that jaxprs print.

    >>> [short_name(np.dtype(t)) for t in (np.float32, np.uint8, np.bool_)]
    ['f32', 'u8', 'bool']
    """
    if dtype == float0:
        return "float0"
    name = str(dtype.name)
    for prefix, short in _SHORT_PREFIXES:
        if name.startswith(prefix):
            return short + name[len(prefix) :]
    return name


SMALL_BY_SHORT_NAME: Final = {
    short_name(dtype): dtype
    for name, dtype in (SMALL_INTEGERS | SMALL_FLOATS).items()
    if not name.endswith("int1")  # "i1" is what compilers call bool
}


# --- Narrowing ---------------------------------------------------------------------------


def check_narrowing(value: Any, target: Any, what: str = "the value") -> None:
    """Raises unless the integers in `value` fit the integer type `target`.

    `value` is an int or something NumPy takes; values of other kinds pass.

    Raises:
      OverflowError: naming the first value that does not fit, and what to do.
    """
    dtype = as_dtype(target)
    if kind(dtype) not in "iu":
        return
    limits = _iinfo(dtype)
    low, high = int(limits.min), int(limits.max)
    if type(value) is int or isinstance(value, int):
        if low <= value <= high:
            return
        raise OverflowError(_narrowing_message(what, f"{int(value)}", dtype, low, high))
    array = np.asarray(value)
    if array.dtype.kind not in "iuO" or array.size == 0:
        return
    if array.dtype.kind != "O":
        if _contains(dtype, array.dtype):
            return
        if low <= array.min() and array.max() <= high:
            return
    outside = (array < low) | (array > high)
    if not outside.any():
        return
    place = tuple(int(i) for i in np.argwhere(outside)[0])
    shown = f"{int(array[place])}"
    if place:
        shown += f" at index [{', '.join(map(str, place))}]"
    raise OverflowError(_narrowing_message(what, shown, dtype, low, high))


def _contains(dtype: np.dtype[Any], other: np.dtype[Any]) -> bool:
    """Whether every value of one integer type is one of another."""
    outer, inner = _iinfo(dtype), _iinfo(other)
    return bool(outer.min <= inner.min and inner.max <= outer.max)


def _narrowing_message(
    what: str, shown: str, dtype: np.dtype[Any], low: int, high: int
) -> str:
    advice = f"convert it on purpose, for example with NumPy: x.astype('{dtype.name}')"
    wide = _wide_enough(int(shown.partition(" ")[0]))
    if wide is not None and wide.itemsize == 8 and not config.x64:
        if kind(wide) == kind(dtype) or dtype.itemsize == 4:
            advice = (
                "switch 64-bit types on (config.update('jax_enable_x64', True)) or "
                + advice
            )
    elif wide is not None:
        advice = f"take a dtype that holds it, as {wide.name} does, or {advice}"
    return f"{what} {shown} does not fit {dtype.name} ({low} to {high}): {advice}"


def _wide_enough(value: int) -> np.dtype[Any] | None:
    """The narrowest of the usual integer types that holds a value."""
    for name in ("int32", "uint32", "int64", "uint64"):
        limits = np.iinfo(name)
        if limits.min <= value <= limits.max:
            return np.dtype(name)
    return None
