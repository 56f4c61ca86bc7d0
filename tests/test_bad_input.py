"""Wrong arguments, one at a time, to every public function: errors about the call.

A valid call comes from the example in the docstring of each function. Each argument in
turn is replaced by what makes no sense there: another rank or dtype, None, text, lists of
arrays, an axis that does not exist. Whatever is refused must be refused on purpose: the
exception was raised by a `raise` of the library, not by Python under way.
"""

import ast
import dis
import doctest
import importlib
import inspect
import os
import random
import signal
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax

PACKAGE = os.path.dirname(jax.__file__) + os.sep
MODULES = [
    "numpy", "numpy.linalg", "numpy.fft", "lax", "lax.linalg", "nn", "nn.initializers",
    "random", "ops", "image", "scipy.special", "scipy.linalg", "scipy.stats",
    "scipy.signal", "scipy.ndimage", "scipy.fft", "scipy.integrate",
    "scipy.interpolate", "scipy.sparse.linalg", "scipy.cluster.vq",
]  # fmt: skip
SKIPPED = {"save", "savez", "load", "fromfile", "set_printoptions", "printoptions"}
CLASSES = {"RegularGridInterpolator"}  # that are called like functions
CALLS = 90  # for each module; TETRAD_BAD_INPUT=1 makes all
SECONDS = 10

WRONG = [
    "None", "'text'", "[1, 2]", "[jnp.ones(2), jnp.ones(2)]", "{}", "object()",
    "np.array(['a'])", "jnp.float32(2.5)", "jnp.ones((2, 3))", "jnp.ones((2, 3, 4))",
    "jnp.zeros((0, 3))", "jnp.zeros(0)", "jnp.ones(3, bool)", "jnp.ones(3, complex)",
    "jnp.arange(3)", "jax.random.key(0)", "-1", "5", "1.5", "(5,)", "(1, 'a')",
    "(lambda x: x)", "slice(1)", "True", "...", "np.datetime64('2020')", "(0, 0)",
    "[[1], [2, 3]]", "jnp.ones(3, jnp.uint8)",
]  # fmt: skip
WRONG_OPTIONS = {
    "axis": ["7", "'rows'", "1.5", "(0, 0)", "jnp.arange(2)", "[0]"],
    "dtype": ["'nope'", "3", "object", "'U3'", "jnp.ones(2)"],
    "mode": ["'nope'", "3"],
    "keepdims": ["'a'"],
    "precision": ["'nope'"],
    "ord": ["'nope'", "{}"],
    "method": ["'nope'", "3"],
    "norm": ["'nope'"],
    "where": ["'a'", "jnp.ones(77, bool)", "3"],
    "initial": ["'a'", "jnp.ones(3)"],
    "size": ["-1", "1.5", "'a'"],
    "fill_value": ["'a'", "jnp.ones((2, 2))"],
    "weights": ["'a'", "jnp.ones(77)"],
    "num_segments": ["-1", "1.5", "'a'"],
}


class Valid(NamedTuple):
    """A call that works, as text."""

    module: str
    name: str
    setup: list[str]
    args: list[str]
    kwargs: dict[str, str]
    options: list[str]


def valid(module: str, name: str, function: Callable[..., Any]) -> Valid | None:
    """The first call of a function in its docstring."""
    before: list[str] = []
    text = inspect.getdoc(function) or ""
    for example in doctest.DocTestParser().get_examples(text):
        for node in ast.walk(ast.parse(example.source)):
            if not isinstance(node, ast.Call):
                continue
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if called != name or any(isinstance(a, ast.Starred) for a in node.args):
                continue
            kwargs = {k.arg: ast.unparse(k.value) for k in node.keywords if k.arg}
            parameters = [*inspect.signature(function).parameters]
            options = [p for p in parameters[len(node.args) :] if p not in kwargs]
            args = [ast.unparse(a) for a in node.args]
            return Valid(module, name, before, args, kwargs, options)
        before = [*before, example.source]
    return None


def public(module: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name, member in sorted(
        vars(importlib.import_module(f"tetrad.{module}")).items()
    ):
        if name.startswith("_") or name in SKIPPED:
            continue
        wanted = inspect.isfunction(member) or name in CLASSES
        if wanted or type(member).__name__ in ("Unary", "Binary"):
            yield name, member


def variants(call: Valid) -> Iterator[tuple[int | str, str]]:
    """Which argument to replace by what."""
    for wrong in WRONG:
        yield from [(i, wrong) for i in range(len(call.args))]
        yield from [(name, wrong) for name in call.kwargs]
    for name in call.options:
        yield from [(name, wrong) for wrong in WRONG_OPTIONS.get(name, [])]


def run(call: Valid, where: int | str, wrong: str) -> BaseException | None:
    names: dict[str, Any] = {"jax": jax, "jnp": jnp, "np": np, "lax": lax}
    for source in call.setup:
        exec(source, names)
    function = getattr(importlib.import_module(f"tetrad.{call.module}"), call.name)
    try:
        args = [eval(text, names) for text in call.args]
        kwargs = {name: eval(text, names) for name, text in call.kwargs.items()}
    except NameError:  # arguments of a function inside of the example
        return None
    value = eval(wrong, names)
    if isinstance(where, int):
        args[where] = value
    else:
        kwargs[where] = value
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function(*args, **kwargs)
    except Exception as error:
        return error
    return None


def complaint(error: BaseException) -> str:
    """What is wrong with an error, or nothing."""
    steps = list(traceback.walk_tb(error.__traceback__))
    frames = [f for f, _ in steps if f.f_code.co_filename.startswith(PACKAGE)]
    if not frames:
        return ""
    if steps[-1][0] is not frames[-1]:
        return "raised in another library"
    tb = error.__traceback__
    while tb is not None and tb.tb_next is not None:
        tb = tb.tb_next
    assert tb is not None
    code = tb.tb_frame.f_code.co_code[tb.tb_lasti]
    if code not in (dis.opmap["RAISE_VARARGS"], dis.opmap["RERAISE"]):
        return "raised by Python"
    return ""


def stop(number: int, frame: Any) -> None:
    raise TimeoutError("a call took too long")


@pytest.mark.parametrize("module", MODULES)
def test_wrong_arguments_are_refused_on_purpose(module):
    generator = random.Random(module)
    calls = []
    for name, function in public(module):
        call = valid(module, name, function)
        if call is not None:
            calls += [(call, where, wrong) for where, wrong in variants(call)]
    assert calls, "the examples of this module were not found"
    if not os.environ.get("TETRAD_BAD_INPUT"):
        calls = generator.sample(calls, min(CALLS, len(calls)))
    found = []
    before = signal.signal(signal.SIGALRM, stop)
    try:
        with jax.bounds("off"), jax.key_check("off"), np.errstate(all="ignore"):
            for call, where, wrong in calls:
                signal.alarm(SECONDS)
                error = run(call, where, wrong)
                signal.alarm(0)
                said = "" if error is None else complaint(error)
                if said:
                    text = f"{call.module}.{call.name}, argument {where} = {wrong}"
                    found.append(f"{text}: {said}: {type(error).__name__}: {error}")
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    assert not found, "\n".join(found)
