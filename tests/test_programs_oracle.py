"""Random programs in tetrad and in JAX: the same values, types and derivatives."""

from __future__ import annotations

import contextlib
import warnings

import numpy as np
import pytest
from generated import strategies
from generated.program import is_inexact, keys
from generated.properties import property_of

import tetrad
import tetrad.numpy

pytestmark = pytest.mark.oracle


@contextlib.contextmanager
def oracle(program):
    """JAX, at the width of types that the program wants."""
    import jax
    import jax.numpy

    with warnings.catch_warnings(), jax.enable_x64(program.x64):
        warnings.simplefilter("ignore")
        yield jax


def arguments(library, program, seed):
    return [
        keys(library, n) if x.dtype == "key" else library.numpy.asarray(n)
        for x, n in zip(program.inputs, program.numbers(seed))
    ]


def tolerance(program):
    return 1e-8 if program.precise else 2e-3


def compare(program, got, want, note):
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape, f"{note}: shape {got.shape}, in JAX {want.shape}"
    assert got.dtype == want.dtype, f"{note}: dtype {got.dtype}, in JAX {want.dtype}"
    limit = tolerance(program) if is_inexact(str(got.dtype)) else 0
    np.testing.assert_allclose(got, want, limit, limit, err_msg=note)


@property_of(strategies.any_programs(), 100)
def test_values(program):
    ours = program.load(tetrad)(*arguments(tetrad, program, 0))
    with oracle(program) as jax:
        theirs = jax.jit(program.load(jax))(*arguments(jax, program, 0))
        theirs = [np.asarray(x) for x in theirs]
    for one, other, (name, _, _) in zip(ours, theirs, program.results):
        compare(program, one, other, name)


def derivatives(library, program):
    """A directional derivative of the results, and a gradient of their sum."""
    jnp = library.numpy
    f = program.load(library)
    given = arguments(library, program, 2)
    places, kept = program.inexact(), program.smooth_results()
    rng = np.random.default_rng(3)

    def numbers(x):
        made = rng.standard_normal(x.shape)
        return jnp.asarray(made, x.dtype)

    def run(*xs):
        full = list(given)
        for place, x in zip(places, xs):
            full[place] = x
        outs = f(*full)
        return [outs[i] for i in kept]

    xs = [given[i] for i in places]
    ts = [numbers(x) for x in xs]
    outs = library.eval_shape(run, *xs)
    cts = [numbers(x) for x in outs]
    slopes = library.jit(lambda xs, ts: library.jvp(run, xs, ts)[1])
    gradients = library.jit(lambda xs, cts: library.vjp(run, *xs)[1](cts))
    return [np.asarray(x) for x in (*slopes(tuple(xs), tuple(ts)), *gradients(xs, cts))]


@property_of(strategies.rough_programs(), 40)
def test_derivatives(program):
    ours = derivatives(tetrad, program)
    with oracle(program) as jax:
        theirs = derivatives(jax, program)
    for k, (one, other) in enumerate(zip(ours, theirs)):
        compare(program, one, other, f"derivative {k}")


@property_of(strategies.any_programs(), 40)
def test_vmap(program):
    """JAX's own vmap agrees, out-of-bounds indices and branches by lanes included."""

    def mapped(library):
        numbers = program.numbers(1, lanes=2)
        given = [
            keys(library, n) if x.dtype == "key" else library.numpy.asarray(n)
            for x, n in zip(program.inputs, numbers)
        ]
        return [
            np.asarray(x)
            for x in library.jit(library.vmap(program.load(library)))(*given)
        ]

    ours = mapped(tetrad)
    with oracle(program) as jax:
        theirs = mapped(jax)
    for one, other, (name, _, _) in zip(ours, theirs, program.results):
        compare(program, one, other, name)
