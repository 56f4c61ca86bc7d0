"""Every example in a docstring runs and prints what it says."""

import doctest
import importlib
import pkgutil

import numpy as np
import pytest

import tetrad

OPTIONAL = ("tetrad._src.hlo",)


def modules():
    for info in pkgutil.walk_packages(tetrad._src.__path__, "tetrad._src."):
        if not info.name.startswith(OPTIONAL):
            yield info.name


@pytest.mark.parametrize("name", sorted(modules()))
def test_examples(name):
    module = importlib.import_module(name)
    finder = doctest.DocTestFinder(exclude_empty=True)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    with np.printoptions(legacy=False):
        for test in finder.find(module, module=module):
            test.globs.setdefault("jax", tetrad)
            test.globs.setdefault("jnp", tetrad.numpy)
            test.globs.setdefault("lax", tetrad.lax)
            runner.run(test)
    assert runner.failures == 0, f"{runner.failures} examples of {name} are wrong"
