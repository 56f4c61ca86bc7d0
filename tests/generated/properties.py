"""Properties as tests: a few programs by default, always the same; many in the slow run."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import tetrad as jax
from generated.program import Program
from generated.reduce import reduced

Check = Callable[[Program], object]

PARTS = [0, *[pytest.param(n, marks=pytest.mark.slow) for n in range(1, 11)]]


def property_of(strategy: st.SearchStrategy[Program], count: int) -> Any:
    """A test of `count` programs, and ten more of as many in the slow run."""

    def decorate(check: Check) -> Any:
        @functools.wraps(check)
        def run(program: Program) -> None:
            wide = jax.enable_x64(True) if program.x64 else contextlib.nullcontext()
            with wide, jax.key_check("off"):  # one program runs several times
                check(program)

        @pytest.mark.parametrize("part", PARTS)
        def test(part: int) -> None:
            options = settings(
                max_examples=count,
                deadline=None,
                database=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            seed(part)(options(given(strategy)(explained(run))))()

        test.__name__ = check.__name__
        vars(test).update(check=run, strategy=strategy, count=count)
        return test

    return decorate


def explained(check: Check) -> Check:
    """The check; if it fails, of a program that is as small as may be."""

    def run(program: Program) -> None:
        try:
            check(program)
        except Exception:
            small = reduced(program, check)
            print(small)
            check(small)
            raise

    return run
