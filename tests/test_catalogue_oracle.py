"""Every operation of the catalogue beside JAX: shapes, types, values, derivatives."""

import numpy as np
import pytest
from support import assert_close, is_inexact
from test_catalogue import cases, leaves

import tetrad as jax

pytestmark = pytest.mark.oracle

# JAX's CPU compiler allows itself more than we do; gross differences are what we seek.
ULP = {"float16": 4, "bfloat16": 4, "float32": 64, "float64": 64, "complex64": 256,
       "complex128": 256}  # fmt: skip


def operands(row, dtype):
    return row.samples(dtype)["edges" if row.has_edges(dtype) else "main"]


def without_extremes(args):
    """The lanes whose numbers have finite squares: no library promises the others."""
    if len({x.shape for x in args}) > 1 or args[0].ndim != 1:
        return args
    with np.errstate(all="ignore"):
        sizes = [np.abs(x).astype(np.float64) for x in args]
    kept = [~np.isfinite(s) | (s == 0) | ((s > 1e-6) & (s < 1e6)) for s in sizes]
    return [x[np.logical_and.reduce(kept)] for x in args]


def weak(x):
    return bool(getattr(x, "weak_type", False))


@pytest.mark.parametrize(
    "row, dtype", cases("oracle", lambda row: row.light_dtypes(), "jax values")
)
def test_values_and_types_are_those_of_jax(row, dtype):
    import jax as oracle

    args = operands(row, dtype)
    ours = leaves(row.run(jax, *[jax.numpy.asarray(a) for a in args]))
    theirs = leaves(row.run(oracle, *[oracle.numpy.asarray(a) for a in args]))
    for one, other in zip(ours, theirs, strict=True):
        assert weak(one) == weak(other)
        other = np.asarray(other)
        assert_close(one, other, ULP.get(str(other.dtype)), row.margin(dtype) + 1e-30)


def first_inexact(row):
    found = [d for d in row.light_dtypes() if is_inexact(d)]
    return found[:1] if "oracle" in row.tests else []


@pytest.mark.parametrize("row, dtype", cases("grad", first_inexact, "jax grad"))
def test_derivatives_are_those_of_jax(row, dtype):
    import jax as oracle

    args = without_extremes(operands(row, dtype))
    where = [
        i for i, (arg, x) in enumerate(zip(row.args, args))
        if arg.smooth and is_inexact(x.dtype)
    ]  # fmt: skip
    if not where:
        return
    ours, theirs = [pulled_back(row, lib, args, where) for lib in (jax, oracle)]
    for one, other in zip(ours, theirs, strict=True):
        other = np.asarray(other)
        # Where JAX has no number, it is no oracle.
        one = np.where(np.isnan(other), other, one)
        assert_close(one, other, ULP.get(str(other.dtype)), 1e-5)


def pulled_back(row, lib, args, where):
    """The cotangents of the operands `where`, ones coming in."""

    def fun(*xs):
        full = list(map(lib.numpy.asarray, args))
        for i, x in zip(where, xs):
            full[i] = x
        return [o for o in leaves(row.run(lib, *full)) if is_inexact(o.dtype)]

    outs, back = lib.vjp(fun, *[lib.numpy.asarray(args[i]) for i in where])
    return back([lib.numpy.ones_like(o) for o in outs])
