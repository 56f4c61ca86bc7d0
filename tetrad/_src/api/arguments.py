"""Which arguments of a jitted function are static, and which are donated.

In: what the user wrote (`static_argnums`, `static_argnames`, `donate_…`) and the
signature of the function. Out: `ArgumentRules`, which takes one call apart into static
values and the arrays to trace.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tetrad._src.api.flat import shortened
from tetrad._src.control.signature import (
    argument_numbers,
    name_of,
    parameter_names,
    signature_of,
)
from tetrad._src.core.bind import Value
from tetrad._src.util import tree

Fun = Callable[..., Any]


class Static:
    """A static value as part of a key: equal if type and value are."""

    __slots__ = ("value", "hash")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.hash = hash(value)

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        return (
            type(other) is Static
            and type(self.value) is type(other.value)
            and bool(self.value == other.value)
        )


class Same(Static):
    """A static value without a hash: equal to itself alone."""

    __slots__ = ()

    def __init__(self, value: Any) -> None:
        self.value = value
        self.hash = id(value)

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        return type(other) is Same and self.value is other.value


class ArgumentRules:
    """Positions and names of static and donated arguments of one function."""

    def __init__(
        self,
        what: str,
        fun: Fun,
        static_argnums: Any,
        static_argnames: Any,
        donate_argnums: Any,
        donate_argnames: Any,
    ) -> None:
        self.what = what
        self.fun = fun
        self.signature = signature_of(fun)
        self.static_numbers, self.static_names = self._both(
            static_argnums, static_argnames, "static"
        )
        self.donated_numbers, self.donated_names = self._both(
            donate_argnums, donate_argnames, "donate"
        )
        both = set(self.static_numbers) & set(self.donated_numbers)
        if both or set(self.static_names) & set(self.donated_names):
            raise ValueError(
                f"{self.what}: static_argnames and donate_argnames cannot intersect, but an"
                f" argument of `{name_of(fun)}` is in both; only arrays can be donated"
            )
        self.donates = bool(self.donated_numbers or self.donated_names)
        self.plain = not (self.static_numbers or self.static_names)

    def key(self) -> tuple[Any, ...]:
        return (
            self.static_numbers,
            self.static_names,
            self.donated_numbers,
            self.donated_names,
        )

    def _both(
        self, numbers: Any, names: Any, kind: str
    ) -> tuple[tuple[int, ...], tuple[str, ...]]:
        """Numbers and names; if only one is given the signature tells the other."""
        if isinstance(numbers, Iterable) and not isinstance(numbers, (tuple, list)):
            numbers = tuple(numbers)
        positional = self._positional()
        count = len(positional) if self._closed() else None
        places = argument_numbers(
            numbers, f"{self.what}: {kind}_argnums", count, f"`{name_of(self.fun)}`"
        )
        labels = self._names(names, kind)
        if self.signature is None:
            return places, labels
        if numbers is not None and names is None:
            labels = tuple([positional[n] for n in places if 0 <= n < len(positional)])
        elif names is not None and numbers is None:
            places = tuple([positional.index(n) for n in labels if n in positional])
        return places, labels

    def _positional(self) -> list[str]:
        """Names of the parameters that can be given by position."""
        if self.signature is None:
            return []
        kinds = (
            inspect.Parameter.POSITIONAL_ONLY,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
        )
        parameters = self.signature.parameters.values()
        return [p.name for p in parameters if p.kind in kinds]

    def _closed(self) -> bool:
        """Whether the signature limits the number of positional arguments."""
        if self.signature is None:
            return False
        kinds = [p.kind for p in self.signature.parameters.values()]
        return inspect.Parameter.VAR_POSITIONAL not in kinds

    def _names(self, names: Any, kind: str) -> tuple[str, ...]:
        if names is None:
            return ()
        listed = (names,) if isinstance(names, str) else names
        labels = tuple(listed) if isinstance(listed, (list, tuple, set)) else (listed,)
        for label in labels:
            if not isinstance(label, str):
                raise TypeError(
                    f"{self.what}: {kind}_argnames must be a string or a tuple of strings, got"
                    f" {names!r}"
                )
        if labels and self.signature is None:
            raise ValueError(
                f"{self.what}: {kind}_argnames={names!r} needs the signature of"
                f" `{name_of(self.fun)}`, which it does not tell: use {kind}_argnums"
            )
        if labels:
            self._check_names(labels, f"{kind}_argnames={names!r}")
        return labels

    def _check_names(self, labels: Sequence[str], given: str) -> None:
        assert self.signature is not None
        parameters = self.signature.parameters
        kinds = {name: p.kind for name, p in parameters.items()}
        open_ended = inspect.Parameter.VAR_KEYWORD in kinds.values()
        for label in labels:
            kind = kinds.get(label)
            if kind is None and not open_ended:
                raise ValueError(
                    f"{self.what}: {given} names {label!r}, but `{name_of(self.fun)}` has the"
                    f" parameters {', '.join(parameters)}"
                )
            if kind is inspect.Parameter.POSITIONAL_ONLY or (
                kind is inspect.Parameter.VAR_POSITIONAL
            ):
                raise ValueError(
                    f"{self.what}: {given} names {label!r}, which `{name_of(self.fun)}` takes by"
                    " position only: give its number instead"
                )

    def static_places(self, args: Sequence[Any]) -> tuple[int, ...]:
        """Positions of static arguments in this call: those named so, and those that
        can be nothing else (text, functions).
        """
        count = len(args)
        places = {n % count for n in self.static_numbers if -count <= n < count}
        for i, arg in enumerate(args):
            if isinstance(arg, (str, bytes)) or (
                callable(arg)
                and not isinstance(arg, Value)
                and not tree.is_tree_node(type(arg))
                and not hasattr(arg, "__jax_array__")
            ):
                places.add(i)
        return tuple(sorted(places))

    def static_value(self, value: Any, where: int | str) -> Static:
        """A static value as part of a key; an error if it has no hash or is traced."""
        try:
            if isinstance(value, Value):
                raise TypeError
            return Static(value)
        except TypeError:
            if self.what == "checkpoint" and not isinstance(value, Value):
                return Same(value)
        name = where
        if isinstance(where, int):
            name = parameter_names(self.fun, where + 1)[where]
        if isinstance(value, Value):
            instead = (
                "Static arguments are part of the program, so they cannot be arrays."
                f" Leave `{name}` out of static_argnums and static_argnames."
            )
        else:
            better: dict[type, str] = {
                list: "a tuple",
                dict: "a tuple of pairs",
                set: "a frozenset",
            }
            instead = (
                "Static arguments need a hash, by which a compiled program is found"
                f" again. Pass {better.get(type(value), 'a hashable value')} instead"
                f" of {shortened(value)}, or leave `{name}` out of static_argnums and"
                " static_argnames if its leaves are arrays."
            )
        raise ValueError(
            f"{self.what}: Non-hashable static arguments are not supported, but"
            f" `{name}` of `{name_of(self.fun)}` has type {type(value).__name__}."
            f" {instead}"
        )

    def donated_mask(
        self, args: Sequence[Any], static: Sequence[int], kwargs: dict[str, Any]
    ) -> tuple[bool, ...]:
        """For each leaf of the traced arguments, whether its memory is given away."""
        count = len(args)
        numbers = {n % count for n in self.donated_numbers if -count <= n < count}
        mask: list[bool] = []
        for i, arg in enumerate(args):
            if i not in static:
                mask.extend([i in numbers] * len(tree.leaves(arg)))
        for name in sorted(kwargs):
            given = name in self.donated_names
            mask.extend([given] * len(tree.leaves(kwargs[name])))
        return tuple(mask)
