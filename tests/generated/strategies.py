"""Strategies of hypothesis that draw programs."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from generated.flows import ALL, CALLS, LOOPS
from generated.program import Input, Program
from generated.scope import LARGE, SMALL, Facts, Known, Scope, Style
from generated.steps import STRAIGHT, UPDATES, Rule

SHAPES = ((3,), (3, 4), (), (4, 3), (2, 3, 4), (1,), (3, 1), (0,), (2, 0), (5,), (17,))
LARGE_SHAPES = ((40_000,), (150, 300), (7, 6000), (300,), ())
EVERYTHING = Style()


@st.composite
def programs(
    draw: Any,
    style: Style = EVERYTHING,
    rules: Sequence[Rule] = ALL,
    steps: tuple[int, int] = (3, 9),
    shapes: Sequence[tuple[int, ...]] = SHAPES,
    x64: bool | None = None,
    integer: str = "int32",
) -> Program:
    """Programs of two or three numeric inputs, an integer, and a key."""
    wide = draw(st.booleans()) if x64 is None else x64
    style = dataclasses.replace(style, x64=wide)
    inputs = [
        Input(f"x{k}", shape, style.float)
        for k, shape in enumerate(draw(st.lists(st.sampled_from(shapes), min_size=1,
                                                max_size=3)))
    ]  # fmt: skip
    inputs.append(Input("i", draw(st.sampled_from(((), (3,)))), integer, -3, 6))
    if style.x64:
        inputs[-1] = dataclasses.replace(inputs[-1], dtype="int64")
    if style.random:
        inputs.append(Input("k", (), "key"))
    facts = Facts()
    known = [Known(x.shape, x.dtype, x.name) for x in inputs]
    scope = Scope(draw, style, known, facts)
    scope.run(rules, draw(st.integers(*steps)))
    made = [v for v in scope.values if v.is_array]
    picked = made[-draw(st.integers(1, 3)) :]
    other = draw(st.sampled_from(made))
    if other not in picked:
        picked.append(other)
    results = tuple((v.name, v.shape, v.dtype) for v in picked)
    return Program(
        tuple(inputs), tuple(scope.body), results, wide, facts.exact, facts.loops
    )


@st.composite
def narrow_programs(draw: Any) -> Program:
    """Half precision and small integers."""
    half = draw(st.sampled_from(("float16", "bfloat16")))
    small = draw(st.sampled_from(("int8", "uint8", "int16")))
    style = Style(half=half, products=False, random=False, reverse=False)
    return draw(programs(style, x64=False, integer=small))


def looping_programs() -> st.SearchStrategy[Program]:
    """Forward derivatives of all loops."""
    return programs(Style(forward=True, reverse=False))


def any_programs() -> st.SearchStrategy[Program]:
    """Everything; loops that only run forward, too."""
    return programs(Style(reverse=False))


def large_programs() -> st.SearchStrategy[Program]:
    """Arrays that occupy several threads."""
    style = Style(limit=LARGE, flows=False, products=False, random=False)
    return programs(style, STRAIGHT, (3, 7), LARGE_SHAPES)


def long_programs() -> st.SearchStrategy[Program]:
    """Many statements: what fusion, the arena and the cuts of the tape have to bear."""
    return programs(Style(reverse=False), steps=(20, 50))


def large_loops() -> st.SearchStrategy[Program]:
    """Loops over arrays that occupy several threads."""
    style = Style(limit=LARGE, products=False, reverse=False, random=False)
    rules = (*STRAIGHT, *LOOPS, *LOOPS, *CALLS)
    return programs(style, rules, (2, 6), LARGE_SHAPES)


def updating_programs() -> st.SearchStrategy[Program]:
    """Mostly `.at[...]` and `del`: what may happen in place."""
    style = Style(updates=True, flows=False, random=False, limit=SMALL)
    return programs(style, UPDATES, (5, 14))


def rough_programs() -> st.SearchStrategy[Program]:
    """All that has first derivatives, forward and reverse."""
    return programs(Style(forward=True))


def smooth_programs() -> st.SearchStrategy[Program]:
    """Derivatives of every order, in double precision."""
    return programs(Style(smooth=True, forward=True), x64=True)
