"""Errors of Python or NumPy deep inside become errors about the arguments of a call.

In: an exception that leaves a public function, and the arguments of the call. Out: the
exception to raise instead, or None. It is for what no check of ours has foreseen: where
the innermost frame of ours did not raise the exception itself, and no code of the user
ran in between, the arguments are to blame, and the message says which there were:

    TypeError: lax.top_k(operand, k): k cannot be 'three' ('str' object cannot be …)

Read `instead_of`, then `_culprits`.
"""

from __future__ import annotations

import inspect
import opcode
import os
import re
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, TracebackType
from typing import Any, Final

import numpy as np

_RAISES: Final = frozenset([opcode.opmap["RAISE_VARARGS"], opcode.opmap["RERAISE"]])
_OURS: Final = os.path.dirname(os.path.dirname(os.path.dirname(__file__))) + os.sep
_MACHINE: Final = tuple(
    [
        os.path.join(_OURS, "_src", layer, "")
        for layer in ("passes", "runtime", "cpu", "hlo")
    ]
)
_HELPERS: Final = (
    os.path.dirname(np.__file__),
    os.path.dirname(os.__file__),
    "<frozen ",
    "<__array_function__",
)
# Exceptions that say something of our code, not of the arguments.
_INWARD: Final = (
    AttributeError,
    KeyError,
    AssertionError,
    UnboundLocalError,
    StopIteration,
)
_OUTWARD: Final = (TypeError, ValueError, IndexError, OverflowError, BufferError)
_LONGEST: Final = 40  # characters of an argument in a message
_MOST: Final = 6  # arguments in a message

# Where functions are, and where users find them; the first that fits.
_MODULES: Final = {
    "tetrad.numpy": "jnp",
    "tetrad.lax": "lax",
    "tetrad._src.numpy.fft": "jnp.fft",
    "tetrad._src.numpy.decompositions": "jnp.linalg",
    "tetrad._src.numpy.determinants": "jnp.linalg",
    "tetrad._src.numpy.systems": "jnp.linalg",
    "tetrad._src.numpy": "jnp",
    "tetrad._src.ops": "lax",
    "tetrad._src.lib.random": "jax.random",
    "tetrad._src.scipy": "jax.scipy",
    "tetrad": "jax",
}


def instead_of(
    error: BaseException,
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> Exception | None:
    """The error about the arguments to raise in place of `error`, if it says too little."""
    kind = type(error)
    if not isinstance(error, (*_INWARD, *_OUTWARD)):
        return None
    if kind.__module__ != "builtins" and not kind.__module__.startswith("numpy"):
        return None  # one of ours, or of the user's
    name = getattr(function, "__name__", "")
    if name.startswith("_") or not _unforeseen(error.__traceback__):
        return None
    made: type[Exception] = TypeError
    if isinstance(error, _OUTWARD):
        made = next(known for known in _OUTWARD if isinstance(error, known))
    given = _named(function, args, kwargs)
    words = str(error) if not isinstance(error, KeyError) else f"no entry {error}"
    culprits = _mentioned(words, given) or _culprits(function, given)
    shown = ", ".join([f"{n}: {described(v)}" for n, v in given[:_MOST]])
    call = f"{_public_name(function)}"
    if len(culprits) == 1:
        who, value = culprits[0]
        problem = f"{who} cannot be {described(value)}"
    else:
        problem = "these arguments do not go together"
    return made(
        f"{call}: {problem}: {_plainly(words)}. Got {shown}; it takes {_takes(function)}"
    )


# What Python and NumPy say, and what that means to whoever made the call.
_MEANINGS: Final = [
    (re.compile(pattern), meaning)
    for pattern, meaning in (
        (r"object is not callable", "a function is needed"),
        (r"object is not iterable|has no len\(\)|non-iterable", "a tuple is needed"),
        (
            r"interpreted as an integer|indices must be integers|invalid literal for int"
            r"|int\(\) argument must be|converted to a scalar index|__index__",
            "an integer is needed",
        ),
        (r"tuple index out of range", "an array has fewer axes than are needed"),
        (r"values to unpack", "it must have another number of elements"),
        (r"unhashable type", "one value is needed, no container"),
        (r"too large to convert|Maximum allowed size", "a number is too large"),
        (r"inhomogeneous", "the rows of a list must have one length"),
        (
            r"multiply sequence|unsupported operand|must be real number|could not convert"
            r"|did not contain a loop|cannot use operands|not supported between|bad operand"
            r"|can only concatenate",
            "a number or an array is needed",
        ),
        (r"has no attribute", "it is of another kind than is needed"),
        (r"bytes-like object is required", "bytes are needed"),
    )
]


def _plainly(words: str) -> str:
    """The meaning of Python's words for an error, or these words."""
    for pattern, meaning in _MEANINGS:
        if pattern.search(words):
            return meaning
    return words.rstrip(".").replace("NoneType", "None")


def _unforeseen(traceback: TracebackType | None) -> bool:
    """Whether our code did not raise it, and the user's code had no part in it."""
    deepest: TracebackType | None = None
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if file.startswith(_OURS):
            deepest = traceback
        elif not _is_helper(traceback.tb_frame.f_code):
            return False
        traceback = traceback.tb_next
    if deepest is None:
        return False
    if deepest.tb_frame.f_code.co_filename.startswith(_MACHINE):
        return False  # which sees no arguments: the fault is ours
    code = deepest.tb_frame.f_code.co_code
    return code[deepest.tb_lasti] not in _RAISES


def _is_helper(code: CodeType) -> bool:
    """Whether code is NumPy's, Python's or a library's, not the user's.

    What users type has no file, and neither have the methods that Python makes for
    tuples with names and for data classes.
    """
    file = code.co_filename
    made = file == "<string>" and code.co_name.startswith("__")
    return made or file.startswith(_HELPERS) or "site-packages" in file


def _named(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> list[tuple[str, Any]]:
    """The arguments with the names of their parameters."""
    try:
        bound = inspect.signature(function).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        return [*[(f"argument {i}", a) for i, a in enumerate(args)], *kwargs.items()]
    return [*bound.items()]


def _mentioned(words: str, given: Sequence[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """The one argument that the words of an error speak of, by value or by type."""
    by_value = [(n, v) for n, v in given if f"'{v}'" in words and isinstance(v, _SHORT)]
    if len(by_value) == 1:
        return by_value
    kinds = set(_KIND.findall(words))
    by_type = [(n, v) for n, v in given if type(v).__name__ in kinds]
    if "callable" in words:
        by_type = [(n, v) for n, v in by_type if n.startswith("f")] or by_type
    return by_type if len(by_type) == 1 else []


_SHORT: Final = (str, int, float)
_KIND: Final = re.compile(r"'?(\w+)'? object")


def _culprits(
    function: Callable[..., Any], given: Sequence[tuple[str, Any]]
) -> list[tuple[str, Any]]:
    """The arguments of a kind that their parameters do not have by default."""
    if len(given) == 1:
        return [given[0]]
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return []
    found = []
    for name, value in given:
        parameter = parameters.get(name)
        default = parameter.default if parameter is not None else None
        usual = _is_number_or_array(value) or value is None
        if usual and isinstance(default, str):
            usual = False
        if isinstance(value, str) and default is inspect.Parameter.empty:
            continue  # many of these are named by text
        if not usual and type(value) is not type(default):
            found.append((name, value))
    return found


def _is_number_or_array(x: Any) -> bool:
    if isinstance(x, np.ndarray):
        return x.dtype.kind in "biufc"
    return hasattr(x, "aval") or isinstance(x, (bool, int, float, complex, np.number))


def described(x: Any) -> str:
    """An argument in a message: its type if it is an array, else what it prints."""
    aval = getattr(x, "aval", None)
    if aval is not None and hasattr(aval, "long_name"):
        return str(aval.long_name())
    if isinstance(x, np.ndarray):
        return f"a NumPy array {x.dtype}{[*x.shape]}"
    if isinstance(x, (list, tuple)) and any([hasattr(v, "aval") for v in x]):
        return f"a {type(x).__name__} of arrays"
    text = repr(x)
    if " at 0x" in text:
        return f"a {type(x).__name__}"
    return text if len(text) <= _LONGEST else f"a {type(x).__name__}"


def _public_name(function: Callable[..., Any]) -> str:
    module = getattr(function, "__module__", "") or ""
    name = getattr(function, "__name__", "the function")
    for prefix, short in _MODULES.items():
        if module == prefix or module.startswith(prefix + "."):
            rest = module[len(prefix) :]
            if "._" in rest or "._" in prefix:
                rest = ""
            return f"{short}{rest}.{name}"
    return name


def _takes(function: Callable[..., Any]) -> str:
    """The parameters, without defaults and annotations."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return "other arguments"
    names = []
    for p in parameters:
        star = "*" * ((p.kind is p.VAR_POSITIONAL) + 2 * (p.kind is p.VAR_KEYWORD))
        optional = "=" if p.default is not p.empty else ""
        names.append(f"{star}{p.name}{optional}")
    return f"({', '.join(names)})"
