"""Exceptions, source locations and tracebacks."""

from __future__ import annotations

import ast
import pickle
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad._src.util import errors, frames
from tetrad._src.util.config import config
from tetrad._src.util.errors import (
    expression_at,
    format_where,
    hidden_frames,
    hide_frames,
    line_of,
    source_line,
    user_frame,
)

EXCEPTIONS = [
    value
    for value in vars(errors).values()
    if isinstance(value, type) and issubclass(value, Exception)
]

# Code that counts as the library's own, for its file lies in the package.
LIBRARY = """
def operation(*args):
    return user_frame()

class Value:
    __matmul__ = __getitem__ = operation
    def __add__(self, other):
        return self @ other
    def sum(self, **kwargs):
        return user_frame()

def fail():
    raise ValueError("no")

def inside(function):
    if function is not None:
        function()
    fail()

@hide_frames
def border(function=None):
    '''The public function.'''
    inside(function)

def part(function=None):
    with hidden_frames():
        inside(function)

@hide_frames
def chained():
    try:
        fail()
    except ValueError as error:
        raise TypeError("because") from error
"""


@pytest.fixture(scope="module")
def library() -> dict[str, Any]:
    names: dict[str, Any] = {
        "user_frame": user_frame,
        "hide_frames": hide_frames,
        "hidden_frames": hidden_frames,
    }
    exec(compile(LIBRARY, frames._PACKAGE + "_src/made_for_a_test.py", "exec"), names)
    return names


# --- Exceptions --------------------------------------------------------------------------


@pytest.mark.parametrize("exception", EXCEPTIONS)
def test_exceptions_are_documented_public_and_pickle(
    exception: type[Exception],
) -> None:
    import tetrad.errors

    assert getattr(tetrad.errors, exception.__name__) is exception
    assert exception.__module__ == "tetrad.errors"
    assert exception.__doc__
    again = pickle.loads(pickle.dumps(exception("why")))
    assert type(again) is exception
    assert str(again) == "why"


def test_pages_show_what_fails_and_what_works() -> None:
    bases = {"JAXTypeError", "JAXIndexError", "JaxRuntimeError", "JaxprTypeError"}
    bases.add("KeyReuseWarning")  # its page is that of KeyReuseError
    for exception in EXCEPTIONS:
        page = exception.__doc__ or ""
        if exception.__name__ in bases:
            continue
        for part in ("**Why.**", "**Fails.**", "**Works.**"):
            assert part in page, (exception.__name__, part)


def test_base_classes() -> None:
    assert issubclass(errors.ConcretizationTypeError, TypeError)
    assert issubclass(errors.TracerBoolConversionError, errors.ConcretizationTypeError)
    assert issubclass(errors.TracerIntegerConversionError, errors.JAXTypeError)
    assert issubclass(errors.TracerArrayConversionError, errors.JAXTypeError)
    assert issubclass(errors.NonConcreteBooleanIndexError, IndexError)
    assert issubclass(errors.UnexpectedTracerError, TypeError)
    assert issubclass(errors.KeyReuseError, TypeError)
    assert issubclass(errors.DeletedArrayError, RuntimeError)
    assert issubclass(errors.OutOfMemoryError, MemoryError)
    assert issubclass(errors.OutOfMemoryError, errors.JaxRuntimeError)


@pytest.mark.oracle
def test_base_classes_against_jax() -> None:
    import jax.errors

    for exception in EXCEPTIONS:
        theirs = getattr(jax.errors, exception.__name__, None)
        if theirs is None:
            continue
        hidden = {"_JAXErrorMixin"}
        names = {base.__name__ for base in theirs.__mro__} - hidden
        assert names <= {base.__name__ for base in exception.__mro__}


# --- Places ------------------------------------------------------------------------------


def test_user_frame_passes_over_the_library(library: dict[str, Any]) -> None:
    place = library["operation"]()
    location = line_of(place)
    assert location.file == __file__
    assert location.function == "test_user_frame_passes_over_the_library"
    assert source_line(*location[:2]) == 'place = library["operation"]()'
    assert format_where(place).endswith(f"test_errors.py:{location.line}")
    assert format_where(location) == format_where(place)
    assert format_where(None) == "an unknown line"


def test_expressions(library: dict[str, Any]) -> None:
    a = b = library["Value"]()
    assert expression_at(*(a @ b)) == "a @ b"
    assert expression_at(*(a + b)) == "a + b"
    assert expression_at(*a[1:2]) == "a[1:2]"
    assert expression_at(*[a @ b for _ in range(1)][0]) == "a @ b"
    # fmt: off
    long = library["operation"](a,
                                "ü", b)
    # fmt: on
    assert expression_at(*long) == 'library["operation"](a, "ü", b)'


def test_expression_without_source(library: dict[str, Any]) -> None:
    names = {"operation": library["operation"]}
    exec("place = operation()", names)
    place: Any = names["place"]
    assert expression_at(*place) is None
    assert line_of(place).file == "<string>"


def test_numpy_is_passed_over(library: dict[str, Any]) -> None:
    place = np.sum(library["Value"]())
    assert line_of(place).function == "test_numpy_is_passed_over"


# --- Tracebacks --------------------------------------------------------------------------


def frames_of(call: Callable[[], Any]) -> list[str]:
    try:
        call()
    except Exception as error:
        return [entry.name for entry in traceback.extract_tb(error.__traceback__)]
    raise AssertionError("nothing was raised")


def user_function() -> None:
    raise KeyError("mine")


@pytest.mark.parametrize("name", ["border", "part"])
def test_inner_frames_are_hidden(library: dict[str, Any], name: str) -> None:
    found = frames_of(lambda: library[name]())
    assert found[-1] == "fail"
    assert not {"border", "inside", "part"} & set(found)
    assert len(found) == 3


def test_the_users_own_frames_stay(library: dict[str, Any]) -> None:
    found = frames_of(lambda: library["border"](user_function))
    assert found[-1] == "user_function"
    assert not {"border", "inside"} & set(found)
    nested = frames_of(
        lambda: library["border"](lambda: library["border"](user_function))
    )
    assert nested.count("<lambda>") == 2
    assert not {"border", "inside"} & set(nested)


def test_causes_are_trimmed_and_kept(library: dict[str, Any]) -> None:
    with pytest.raises(TypeError) as caught:
        library["chained"]()
    cause = caught.value.__cause__
    assert isinstance(cause, ValueError)
    assert [e.name for e in traceback.extract_tb(cause.__traceback__)] == ["fail"]


def test_all_frames_on_request(
    library: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TETRAD_FULL_TRACEBACK", "1")
    assert {"border", "inside", "fail"} <= set(frames_of(library["border"]))
    monkeypatch.delenv("TETRAD_FULL_TRACEBACK")
    with config.scope("jax_traceback_filtering", "off"):
        assert {"border", "inside", "fail"} <= set(frames_of(library["border"]))
    assert "inside" not in frames_of(library["border"])


def test_hide_frames_keeps_the_function(library: dict[str, Any]) -> None:
    assert library["border"].__name__ == "border"
    assert library["border"].__doc__ == "The public function."

    @hide_frames
    def add(a: int, b: int = 2) -> int:
        return a + b

    assert add(1) == 3
    assert add(1, b=5) == 6


def test_reductions_and_grids_are_called_by_their_names():
    """What a function is made of is not what the user wrote."""
    mask = jnp.ones(3, "int32")
    for name in ("nansum", "nanprod"):
        with pytest.raises(ValueError, match=f"^jnp.{name}"):
            getattr(jnp, name)(jnp.ones(3), where=mask)
    for name in ("mgrid", "ogrid", "r_", "c_"):
        with pytest.raises(jax.errors.ConcretizationTypeError, match=f"jnp.{name}"):
            jax.jit(lambda n, name=name: getattr(jnp, name)[:n])(3)
    with pytest.raises(jax.errors.ConcretizationTypeError, match="one_hot"):
        jax.jit(jax.nn.one_hot)(1, 3)
    with pytest.raises(jax.errors.ConcretizationTypeError, match="tobytes"):
        jax.jit(lambda x: x.tobytes())(jnp.ones(2))
    nothing = jax.grad(lambda n: n * 1.0, allow_int=True)(3)
    with pytest.raises(TypeError, match="float0s .* derivatives of integers"):
        nothing + jnp.zeros(())
    with pytest.raises(TypeError, match="float0s .* derivatives of integers"):
        jax.lax.add(nothing, jnp.zeros(()))


def test_forward_jacobians_by_complex_numbers():
    with pytest.raises(TypeError, match="jacfwd requires real-valued inputs"):
        jax.jacfwd(jnp.sin)(1 + 2j)
    assert jax.jacfwd(jnp.sin, holomorphic=True)(1 + 2j).dtype == "complex64"
    assert jax.jacfwd(lambda x: x * 1j)(1.0) == 1j


def test_a_file_is_taken_apart_once(monkeypatch):
    parsed = []
    parse = ast.parse

    def counted(text, *args, **kwargs):
        parsed.append(len(text))
        return parse(text, *args, **kwargs)

    monkeypatch.setattr(ast, "parse", counted)
    number = jnp.float32(3)
    for _ in range(50):  # as libraries that draw ask each element
        with pytest.raises(TypeError, match="0-d|scalar|iterat"):
            iter(number)
    long = [length for length in parsed if length > 1000]
    assert len(long) <= 1
