"""What JAX has for state inside of programs, and this library has not.

`Ref`, `new_ref` and `freeze` are JAX's mutable arrays; the classes are its new kinds of
types (`jax.experimental.hijax`). Programs and libraries import the names and ask whether
something is one, which nothing is; what would make one raises NotImplementedError and
says what to write instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

CARRIED = (
    "Hand the value in and give the new one back, and let lax.scan, fori_loop or"
    " while_loop carry it; x.at[...].set(...) is in place where nobody else holds x"
)


def _no_references(name: str) -> NoReturn:
    raise NotImplementedError(f"{name}: arrays that change are not here. {CARRIED}.")


TYPES = (
    "Register the class as a pytree (jax.tree_util.register_dataclass), and give it"
    " derivatives with jax.custom_vjp or operations with jax.extend.core.Primitive"
)


def _no_types(name: str) -> NoReturn:
    raise NotImplementedError(
        f"{name}: types of your own inside of programs are not here. {TYPES}."
    )


class AbstractRef:
    """The type of a reference; no value has it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _no_references("AbstractRef")


class Ref:
    """An array that can change; none can be made, and no value is one."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _no_references("Ref")


TransformedRef = AbstractRef


def new_ref(init_val: Any, *, memory_space: Any = None, kind: Any = None) -> NoReturn:
    """Raises NotImplementedError: values that change are carried by loops.

    >>> import tetrad as jax
    >>> try:
    ...     jax.new_ref(0.0)
    ... except NotImplementedError as error:
    ...     print(str(error)[:40])
    new_ref: arrays that change are not here
    """
    _no_references("new_ref")


def freeze(ref: Any) -> NoReturn:
    """Raises NotImplementedError, as `new_ref` does."""
    _no_references("freeze")


class HiPrimitive:
    """An operation on values of new types: it can be declared, and not be called."""

    multiple_results = False

    def __init__(self, name: str) -> None:
        self.name = name

    def bind(self, *args: Any, **params: Any) -> NoReturn:
        _no_types(self.name)


class VJPHiPrimitive:
    """An operation with rules of its own: it can be declared, and not be made."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _no_types(type(self).__name__)


class HiType:
    """A type of your own: it can be declared, and not be made."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _no_types(type(self).__name__)


class MutableHiType(HiType):
    """A type of values that change: it can be declared, and not be made."""


class AvalQDD(HiType):
    """A type together with what its value holds now: none can be made."""


class AvalMutableQDD(HiType):
    """The same of a value that changes: none can be made."""


class aval_method:
    """Marks a function that tracers of a type have as a method."""

    def __init__(self, fun: Callable[..., Any]) -> None:
        self.fun = fun


class aval_property:
    """Marks a function that tracers of a type have as a property."""

    def __init__(self, fget: Callable[..., Any]) -> None:
        self.fget = fget


def register_hitype(value_class: type, typeof: Callable[[Any], Any]) -> None:
    """Notes the class of the values of a declared type. Its values cannot be operands."""
    hitypes[value_class] = typeof


hitypes: dict[type, Callable[[Any], Any]] = {}


def cur_qdd(value: Any) -> NoReturn:
    """Raises NotImplementedError: no value has a type that changes."""
    _no_types("cur_qdd")


class EffectTypes:
    """The kinds of effects that loops and branches may have."""

    def __init__(self) -> None:
        self.types: set[type] = set()

    def add_type(self, effect_type: type) -> None:
        """Adds a kind of effects."""
        self.types.add(effect_type)

    def contains(self, effect: Any) -> bool:
        """Whether an effect is of one of the kinds."""
        return isinstance(effect, tuple(self.types))


control_flow_allowed_effects = EffectTypes()

_refusals: dict[Any, str] = {Ref: CARRIED, new_ref: CARRIED, freeze: CARRIED}
_refusals |= dict.fromkeys((HiPrimitive, VJPHiPrimitive, HiType, cur_qdd), TYPES)
for _name, _words in _refusals.items():
    _name.__refuses__ = _words  # what tools/coverage.py reads
