"""What a generator knows while it writes a program: the values in reach, their types.

A rule is a function of a `Scope`. It picks values that fit, draws what it needs, and
writes statements with `let`; it raises `Unfit` where nothing fits, and then wrote nothing.
`bound` is a crude bound of a value's magnitude, which keeps programs well conditioned.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st

from generated.program import Def, Do, Let, Statement, is_inexact

LIMIT = 30.0  # of bounds
SMALL = 600  # elements
LARGE = 70_000

Shape = tuple[int, ...]
Draw = Callable[[st.SearchStrategy[Any]], Any]


class Unfit(Exception):
    """A rule finds nothing to work with."""


@dataclasses.dataclass(frozen=True)
class Type:
    shape: Shape
    dtype: str

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def is_float(self) -> bool:
        return self.dtype.startswith(("float", "bfloat"))

    @property
    def is_int(self) -> bool:
        return self.dtype.startswith(("int", "uint"))

    @property
    def is_bool(self) -> bool:
        return self.dtype == "bool"

    @property
    def is_complex(self) -> bool:
        return self.dtype.startswith("complex")

    @property
    def is_key(self) -> bool:
        return self.dtype == "key"

    @property
    def is_number(self) -> bool:
        return self.is_array and self.dtype != "bool"

    @property
    def is_array(self) -> bool:
        """Not a key, nor the number of a turn."""
        return self.dtype not in ("key", "raw")

    def like(self, shape: Shape) -> Type:
        return Type(tuple(shape), self.dtype)


@dataclasses.dataclass(frozen=True)
class Known(Type):
    """A value in reach."""

    name: str
    bound: float = 2.0

    @property
    def type(self) -> Type:
        return Type(self.shape, self.dtype)


@dataclasses.dataclass(frozen=True)
class Style:
    """What a program may contain."""

    smooth: bool = False  # derivatives exist to every order
    reverse: bool = True  # no loops that only run forward
    forward: bool = False  # no custom rules that only run backwards
    flows: bool = True
    random: bool = True
    products: bool = True
    updates: bool = False  # mostly updates in place
    x64: bool = False
    half: str = ""  # a narrow float type instead of float32
    depth: int = 2
    limit: int = SMALL

    @property
    def float(self) -> str:
        if self.half:
            return self.half
        return "float64" if self.x64 else "float32"

    @property
    def int(self) -> str:
        return "int64" if self.x64 else "int32"


RANKS = (
    "bool",
    "int8",
    "uint8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
)


def promoted(one: str, other: str) -> str:
    """The dtype of an operation between two arrays."""
    if {one, other} == {"float64", "complex64"}:
        return "complex128"
    return max(one, other, key=RANKS.index)


def joint(one: Shape, other: Shape) -> Shape | None:
    """The shape of an operation between two arrays, or None."""
    shape = []
    for k in range(-max(len(one), len(other)), 0):
        a = one[k] if -k <= len(one) else 1
        b = other[k] if -k <= len(other) else 1
        if a != b and 1 not in (a, b):
            return None
        shape.append(b if a == 1 else a)
    return tuple(shape)


@dataclasses.dataclass
class Facts:
    """What the whole program turned out to contain."""

    count: int = 0
    exact: bool = True
    loops: bool = False


class Scope:
    """A function being written."""

    def __init__(
        self,
        draw: Draw,
        style: Style,
        values: Sequence[Known],
        facts: Facts,
        outer: Sequence[Known] = (),
    ) -> None:
        self._draw = draw
        self.style = style
        self.values = list(values)
        self.outer = list(outer)
        self.facts = facts
        self.body: list[Statement] = []

    # ----------------------------------------------------------------------- drawing

    def one_of(self, choices: Sequence[Any]) -> Any:
        return self._draw(st.sampled_from(list(choices)))

    def number(self, low: int, high: int) -> int:
        return int(self._draw(st.integers(low, high)))

    def flip(self) -> bool:
        return bool(self._draw(st.booleans()))

    def rarely(self) -> bool:
        return self.number(0, 4) == 4

    def constant(self) -> str:
        """A float that no sum of others equals by accident."""
        return self.one_of(("0.7", "-1.3", "0.37", "1.9", "-0.43"))

    def pick(self, fits: Callable[[Known], Any] = lambda v: v.is_number) -> Known:
        """A value that fits; recent ones first, those of outer functions last."""
        found = [v for v in reversed(self.values) if v.is_array and fits(v)]
        if not found or self.number(0, 5) == 5:
            found += [v for v in self.outer if v.is_array and fits(v)]
        if not found:
            raise Unfit
        return self.one_of(found)

    def key(self) -> str:
        """The name of a key, which is used up."""
        found = [v for v in self.values if v.is_key and not v.shape]
        if not found:
            raise Unfit
        self.values.remove(found[-1])
        return found[-1].name

    # ----------------------------------------------------------------------- writing

    def name(self, stem: str = "v") -> str:
        self.facts.count += 1
        return f"{stem}{self.facts.count}"

    def unpack(self, expression: str, made: Sequence[tuple[Type, float]]) -> None:
        """Writes `a, b = expression`."""
        if sum(want.size for want, _ in made) > self.style.limit:
            raise Unfit
        names = [self.name() for _ in made]
        self.body.append(Let(tuple(names), expression))
        for name, (want, bound) in zip(names, made):
            self.values.append(Known(want.shape, want.dtype, name, bound))

    def let(
        self, expression: str, shape: Shape, dtype: str, bound: float = 2.0
    ) -> Known:
        """Writes `name = expression`, which may take over the name of a value."""
        made = Type(tuple(shape), dtype)
        if made.size > self.style.limit:
            raise Unfit
        if is_inexact(dtype) and bound > LIMIT:
            expression, bound = (
                f"jnp.sin({expression})",
                3.0 if made.is_complex else 1.0,
            )
            if made.is_complex:
                raise Unfit
        name = self._again() or self.name()
        self.body.append(Let((name,), expression))
        value = Known(made.shape, dtype, name, bound)
        self.values.append(value)
        return value

    def _again(self) -> str | None:
        """Sometimes the name of an earlier value, which is lost."""
        again = self.number(0, 9)
        mine = [v for v in self.values if v.is_array]
        if len(mine) < 3 or again < (4 if self.style.updates else 8):
            return None
        lost = mine[-1] if again == 9 else self.one_of(mine)
        self.values.remove(lost)
        return lost.name

    def forget(self) -> None:
        """del x."""
        mine = [v for v in self.values if v.is_array]
        if len(mine) < 4:
            raise Unfit
        lost = self.one_of(mine)
        self.values.remove(lost)
        self.body.append(Do(f"del {lost.name}"))

    def run(self, rules: Sequence[Callable[[Scope], Any]], steps: int) -> None:
        """Applies rules that are drawn."""
        for _ in range(steps):
            rule = self.one_of(rules)
            mark = len(self.body), list(self.values)
            try:
                rule(self)
            except Unfit:
                del self.body[mark[0] :]
                self.values = mark[1]

    def fit(self, want: Type, bound: float | None = None) -> str:
        """An expression of a given type from the values of this function."""
        kin = [v for v in reversed(self.values) if v.is_array]
        kin = kin or [v for v in self.outer if v.is_array]
        same = [v for v in kin if v.type == want]
        if same:
            made = self.one_of(same)
            text, size = made.name, made.bound
        else:
            made = self.one_of(kin)
            text, size = cast_to(made, want)
        if is_inexact(want.dtype) and bound is not None and size > bound:
            if want.is_complex:
                return f"{text} * 0"
            text = f"{self.one_of(('jnp.sin', 'jnp.tanh'))}({text})"
        return text

    def function(
        self,
        stem: str,
        groups: Sequence[Known | Sequence[Known]],
        results: Sequence[tuple[Type, float | None]],
        rules: Sequence[Callable[[Scope], Any]],
        tail: Callable[[list[str]], str] | None = None,
        style: Style | None = None,
        prelude: Sequence[Statement] = (),
        closed: bool = False,
    ) -> str:
        """Writes a function with results of given types; gives its name.

        Each group is a parameter; a sequence of values is one that is taken apart. `tail`
        makes the returned expression of those of the results. A `closed` function reads
        nothing but its arguments.
        """
        style = dataclasses.replace(style or self.style, depth=self.style.depth - 1)
        params = []
        body: list[Statement] = list(prelude)
        values: list[Known] = []
        for group in groups:
            if isinstance(group, Known):
                params.append(group.name)
                values.append(group)
                continue
            params.append(self.name("s"))
            values += group
            if group:
                body.append(Let((*[v.name for v in group], ""), params[-1]))
        outer = [] if closed else [*self.outer, *self.values]
        inner = Scope(self._draw, style, values, self.facts, outer)
        inner.body = body
        inner.run(rules, self.number(1, 3))
        texts = [inner.fit(want, bound) for want, bound in results]
        name = self.name(stem)
        result = (tail or tuple_text)(texts)
        self.body.append(Def(name, tuple(params), tuple(inner.body), result))
        return name

    def param(self, like: Type, bound: float = 2.0) -> Known:
        return Known(like.shape, like.dtype, self.name("p"), bound)


def tuple_text(texts: Sequence[str]) -> str:
    if len(texts) == 1:
        return texts[0]
    return "(" + "".join(f"{t}, " for t in texts) + ")"


def cast_to(value: Known, want: Type) -> tuple[str, float]:
    """An expression of another type, and its bound."""
    text, size = value.name, value.bound
    if value.shape != want.shape:
        if value.ndim:
            text = f"jnp.sum({text})" if not value.is_bool else f"jnp.any({text})"
            size *= max(value.size, 1)
        shape = want.shape
        text = f"jnp.broadcast_to({text}, {shape})" if shape else text
    if value.dtype == want.dtype and not value.is_int and not value.is_bool:
        return text, size
    if want.is_bool:
        real = f"jnp.real({text})" if value.is_complex else text
        return (text, 1.0) if value.is_bool else (f"({real} > 0.37)", 1.0)
    if want.is_int:
        if value.is_complex:
            text = f"jnp.real({text})"
        if value.is_float or value.is_complex:
            text = f"jnp.floor({text} * 2.7 + 0.31)"
        return f"jnp.asarray({text}, {want.dtype!r})", 1.0
    if value.is_int:
        text, size = f"({text} % 5)", 5.0
    if value.is_complex and want.is_float:
        text = f"jnp.real({text})"
    return f"jnp.asarray({text}, {want.dtype!r})", size
