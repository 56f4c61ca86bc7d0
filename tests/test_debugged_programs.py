"""Random programs under `checkify` and `debug_nans`: what they give stays, and what is
said about it is true."""

from __future__ import annotations

import numpy as np
from generated import strategies
from generated.properties import property_of
from support import assert_bits

import tetrad as jax
from tetrad.errors import NonFiniteError
from tetrad.experimental import checkify


def run(program, fun):
    return jax.jit(fun)(*program.arguments(jax, program.numbers(0)))


def has_nan(outs):
    arrays = [np.asarray(x) for x in outs]
    return any([np.isnan(x).any() for x in arrays if x.dtype.kind in "fc"])


def same(got, want, note):
    assert len(got) == len(want)
    for one, other in zip(got, want):
        assert_bits(one, other, note)


@property_of(strategies.any_programs(), 12)
def test_checks_change_nothing_and_find_nans(program):
    fun, numbers = program.load(jax), program.numbers(0)
    want = run(program, fun)
    checked = jax.jit(checkify.checkify(fun, checkify.all_checks))
    try:
        error, got = checked(*program.arguments(jax, numbers))
    except ValueError as problem:
        assert "vmap-of-checkify" in str(problem)
        return
    if program.exact:
        same(got, want, "checkify")
    if has_nan(want) and not has_nan(numbers):
        assert error.get() is not None
    none, got = run(program, checkify.checkify(fun))
    assert none.get() is None
    same(got, want, "checkify without checks")


@property_of(strategies.any_programs(), 12)
def test_an_error_comes_exactly_if_there_is_a_nan(program):
    fun = program.load(jax)
    want = run(program, fun)
    try:
        with jax.debug_nans(True):
            got = run(program, fun)
    except NonFiniteError as problem:
        assert has_nan(want), problem
    else:
        assert not has_nan(want)
        same(got, want, "debug_nans")
