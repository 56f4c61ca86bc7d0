"""What Python knows of a user's function: its name, its parameters, where arguments go."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Sequence
from typing import Any


def name_of(fun: Any) -> str:
    """The name that messages and jaxprs use for a function."""
    while isinstance(fun, functools.partial):
        fun = fun.func
    name = getattr(fun, "__name__", None)
    return name if isinstance(name, str) else type(fun).__name__


def check_callable(fun: Any, caller: str, write: str = "") -> None:
    """TypeError unless `fun` is a function; `write` is how `caller` is written."""
    if callable(fun):
        return
    text = repr(fun)
    if " at 0x" in text:  # where it lies tells nobody anything
        text = f"<{type(fun).__name__} object>"
    elif len(text) > 40:
        text = f"{text[:37]}…"
    instead = write or f"{caller}(f)(x), not {caller}(f(x))"
    raise TypeError(
        f"{caller} takes a function, got {text} of type {type(fun).__name__}. Write"
        f" {instead}."
    )


def signature_of(fun: Callable[..., Any]) -> inspect.Signature | None:
    """The signature, or None for callables that have none (some built-ins)."""
    try:
        return inspect.signature(fun)
    except (ValueError, TypeError):
        return None


def parameter_names(fun: Callable[..., Any], count: int) -> list[str]:
    """Names for `count` positional arguments, as far as the signature tells them."""
    names = []
    signature = signature_of(fun)
    if signature is not None:
        for parameter in signature.parameters.values():
            if parameter.kind in (
                parameter.POSITIONAL_ONLY,
                parameter.POSITIONAL_OR_KEYWORD,
            ):
                names.append(parameter.name)
            elif parameter.kind is parameter.VAR_POSITIONAL:
                more = range(count - len(names))
                names.extend([f"{parameter.name}[{i}]" for i in more])
    return names[:count] + [f"argument {i}" for i in range(len(names), count)]


class Arguments:
    """Turns keyword arguments and defaults into positional arguments."""

    def __init__(self, fun: Callable[..., Any]) -> None:
        self.fun = fun
        self.signature = signature_of(fun)
        parameters = self.signature.parameters.values() if self.signature else ()
        self.plain = all(p.default is p.empty for p in parameters)
        # How many arguments can be given by position; None if any number can.
        self.count: int | None = None
        if self.signature is not None:
            kinds = [p.kind for p in parameters]
            if inspect.Parameter.VAR_POSITIONAL not in kinds:
                named = kinds.count(inspect.Parameter.KEYWORD_ONLY)
                named += kinds.count(inspect.Parameter.VAR_KEYWORD)
                self.count = len(kinds) - named

    def positional(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Sequence[Any]:
        """All arguments by position; TypeError for arguments that only have a name."""
        if self.signature is None or (self.plain and not kwargs):
            if kwargs:
                raise TypeError(
                    f"`{name_of(self.fun)}` tells no signature, so its arguments must be"
                    f" given by position; got {', '.join(kwargs)} by keyword"
                )
            return args
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"`{name_of(self.fun)}`: {error}") from None
        given = tuple(bound.kwargs)
        bound.apply_defaults()
        if given:
            raise TypeError(
                f"`{name_of(self.fun)}` has keyword-only parameters"
                f" ({', '.join(given)}), which a function with a custom"
                " derivative cannot have: make them positional"
            )
        return bound.args


def argument_numbers(
    value: Any, what: str, count: int | None = None, function: str = "the function"
) -> tuple[int, ...]:
    """An int or a sequence of ints as a tuple; negative ones count from the end."""
    if value is None:
        return ()
    items = value if isinstance(value, (tuple, list)) else (value,)
    try:
        if any(isinstance(item, bool) for item in items):
            raise TypeError
        numbers = [operator.index(item) for item in items]
    except TypeError:
        raise TypeError(
            f"{what} must be an int or a tuple of ints, got {value!r}"
        ) from None
    if count is not None:
        for number in numbers:
            if not -count <= number < count:
                raise ValueError(
                    f"{what}={value!r} refers to argument {number}, but {function}"
                    f" takes {count} positional argument{'s' if count != 1 else ''}"
                )
        numbers = [number % count for number in numbers]
    return tuple(dict.fromkeys(numbers))
