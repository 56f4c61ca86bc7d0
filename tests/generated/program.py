"""A program: inputs, statements, results; it prints as Python source and runs as such.

The source is the truth. `Program.load(library)` executes it with the names `jax`, `jnp`,
`lax` of a library, so that one program runs in tetrad, in JAX and in `plain`, and a
failure can be pasted into a file.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes  # noqa: F401  (gives NumPy the name bfloat16)
import numpy as np

Array = np.ndarray[Any, Any]
INDENT = "    "


@dataclasses.dataclass(frozen=True)
class Input:
    """An argument of a program: a key, or numbers drawn from `low` to `high`."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    low: float = -2
    high: float = 2

    def sample(self, rng: np.random.Generator, lanes: int | None = None) -> Array:
        """Numbers, for one call or for several lanes; keys as their 64-bit seeds."""
        shape = self.shape if lanes is None else (lanes, *self.shape)
        if self.dtype == "key":
            return rng.integers(0, 2**31, shape)
        if self.dtype == "bool":
            return rng.random(shape) < 0.5
        if "int" in self.dtype:
            made = rng.integers(int(self.low), int(self.high) + 1, shape)
            return made.astype(self.dtype)
        numbers = rng.uniform(self.low, self.high, shape)
        if self.dtype.startswith("complex"):
            numbers = numbers + 1j * rng.uniform(self.low, self.high, shape)
        return np.asarray(numbers).astype(self.dtype)


@dataclasses.dataclass(frozen=True)
class Let:
    """names = expression."""

    names: tuple[str, ...]
    expression: str

    def lines(self, wrap: str) -> Iterator[str]:
        value = f"{wrap}({self.expression})" if wrap else self.expression
        yield f"{', '.join(self.names).strip()} = {value}"


@dataclasses.dataclass(frozen=True)
class Do:
    """A line of its own: `del x`, `f.defjvp(g)`."""

    line: str

    def lines(self, wrap: str) -> Iterator[str]:
        yield self.line


@dataclasses.dataclass(frozen=True)
class Def:
    """A function; nothing inside is wrapped, since it may be traced."""

    name: str
    params: tuple[str, ...]
    body: tuple[Statement, ...]
    result: str
    decorator: str | None = None

    def lines(self, wrap: str) -> Iterator[str]:
        if self.decorator:
            yield f"@{self.decorator}"
        yield f"def {self.name}({', '.join(self.params)}):"
        for statement in self.body:
            for line in statement.lines(""):
                yield INDENT + line
        yield f"{INDENT}return {self.result}"


Statement = Let | Do | Def


@dataclasses.dataclass(frozen=True, repr=False)
class Program:
    """A function of arrays with several results, and what is known of it."""

    inputs: tuple[Input, ...]
    body: tuple[Statement, ...]
    results: tuple[tuple[str, tuple[int, ...], str], ...]  # name, shape, dtype
    x64: bool = False
    exact: bool = True  # a vmap of it gives the bits of a loop
    loops: bool = False  # has a loop that only runs forward

    def source(self, wrap: str = "") -> str:
        params = tuple(x.name for x in self.inputs)
        names = "".join(f"{name}, " for name, _, _ in self.results)
        function = Def("f", params, (), f"({names})")
        lines = list(function.lines(""))
        lines[1:1] = [
            INDENT + line for statement in self.body for line in statement.lines(wrap)
        ]
        return "\n".join(lines) + "\n"

    def load(self, library: Any, wrap: Callable[[Any], Any] | None = None) -> Any:
        """The function, in a library; `wrap` receives the value of each statement."""
        names = {"jax": library, "jnp": library.numpy, "lax": library.lax}
        names.update(np=np, step=wrap, partial=__import__("functools").partial)
        code = compile(self.source("step" if wrap else ""), "<program>", "exec")
        space: dict[str, Any] = {**names, "__name__": "program"}
        exec(code, space)
        return space["f"]

    def numbers(self, seed: int, lanes: int | None = None) -> list[Array]:
        """NumPy arguments (keys as seeds); with `lanes`, one more leading axis."""
        rng = np.random.default_rng(seed)
        return [x.sample(rng, lanes) for x in self.inputs]

    def arguments(self, library: Any, numbers: list[Array]) -> list[Any]:
        """The arguments as arrays of a library."""
        return [
            keys(library, n) if x.dtype == "key" else library.numpy.asarray(n)
            for x, n in zip(self.inputs, numbers)
        ]

    def inexact(self) -> list[int]:
        """The positions of the arguments that have derivatives."""
        return [i for i, x in enumerate(self.inputs) if is_inexact(x.dtype)]

    def smooth_results(self) -> list[int]:
        return [i for i, (_, _, dtype) in enumerate(self.results) if is_inexact(dtype)]

    @property
    def precise(self) -> bool:
        """Whether every step is in double precision."""
        text = self.source()
        return self.x64 and "float32" not in text and "complex64" not in text

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))

    def __repr__(self) -> str:
        """What to paste: the numbers come from `numbers(seed)`."""
        about = ", ".join(f"{x.name}: {x.dtype}{list(x.shape)}" for x in self.inputs)
        wide = "  # under jax.enable_x64()" if self.x64 else ""
        return f"\n{self.source()}# {about}{wide}\n"


def keys(library: Any, seeds: Array) -> Any:
    """Keys from seeds of any shape."""
    make = library.random.key
    for _ in range(seeds.ndim):
        make = library.vmap(make)
    return make(library.numpy.asarray(seeds, "uint32"))


def is_inexact(dtype: str) -> bool:
    return dtype.startswith(("float", "complex", "bfloat"))


def library(package: types.ModuleType, **changes: Any) -> types.SimpleNamespace:
    """A package whose names can be changed."""
    names = {name: getattr(package, name) for name in dir(package)}
    return types.SimpleNamespace(**{**names, **changes})
