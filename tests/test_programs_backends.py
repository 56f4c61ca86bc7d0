"""Random programs on a PJRT plugin: each backend is the other's oracle."""

import numpy as np
from generated import strategies
from generated.program import is_inexact
from generated.properties import property_of
from generated.scope import Style
from plugin import needs_plugin, on_plugin

import tetrad as jax

pytestmark = needs_plugin


def results(program, decorate=lambda f: f):
    arguments = program.arguments(jax, program.numbers(0))
    return [np.asarray(x) for x in decorate(program.load(jax))(*arguments)]


def compare(program, got, want, note):
    assert got.shape == want.shape and got.dtype == want.dtype, note
    limit = 1e-8 if program.precise else 2e-3
    limit = limit if is_inexact(str(got.dtype)) else 0
    np.testing.assert_allclose(got, want, limit, limit, err_msg=note)


@property_of(strategies.programs(Style(reverse=False, products=False)), 12)
def test_values_on_the_plugin(program):
    here = results(program)
    with on_plugin():
        there = results(program, jax.jit)
    for got, want, (name, _, _) in zip(there, here, program.results):
        compare(program, got, want, name)
