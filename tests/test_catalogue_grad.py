"""Every operation of the catalogue: derivatives to second order, in double precision.

Forward mode against differences, reverse mode against forward mode by inner products,
then both again for the derivatives themselves.
"""

import numpy as np
import pytest
from support import direction, inner, is_inexact, slopes
from test_catalogue import cases, leaves

import tetrad as jax
import tetrad.numpy as jnp


def inexact_outputs(row):
    """The row as a function that returns the list of its outputs that have a slope."""

    def fun(*args):
        outs = leaves(row.run(jax, *map(jnp.asarray, args)))
        return [x for x in outs if is_inexact(x.dtype)]

    return fun


class Smooth:
    """A function of the operands that have a derivative, the others held fixed."""

    def __init__(self, fun, args, smooth):
        self.fun = fun
        self.args = args
        self.where = [
            i for i, on in enumerate(smooth) if on and is_inexact(args[i].dtype)
        ]

    def __call__(self, *xs):
        full = list(self.args)
        for i, x in zip(self.where, xs):
            full[i] = x
        return self.fun(*full)

    @property
    def primals(self):
        return [self.args[i] for i in self.where]


def close(got, want):
    got = np.asarray(got)
    assert got.shape == want.shape and got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-7)


def check(fun, xs, ts, order):
    """Forward against differences and reverse against forward, `order` times."""
    outs, found = jax.jvp(fun, tuple(xs), tuple(ts))
    for out, got, want in zip(outs, found, slopes(fun, xs, ts), strict=True):
        # What was read outside of an array is NaN, and constant.
        close(got, np.where(np.isnan(out), 0, want))
    cts = [direction(np.asarray(out), 7 + i) for i, out in enumerate(outs)]
    _, back = jax.vjp(fun, *xs)
    grads = back(cts)
    for x, g in zip(xs, grads):
        assert g.shape == x.shape and g.dtype == x.dtype
    left, right = inner(cts, found), inner(grads, ts)
    np.testing.assert_allclose(left, right, rtol=1e-9, atol=1e-9)
    if order > 1:
        check(lambda *x: jax.jvp(fun, x, tuple(ts))[1], xs, ts, order - 1)
        check(lambda *x: list(jax.vjp(fun, *x)[1](cts)), xs, ts, order - 1)


@pytest.mark.parametrize("row, dtype", cases("grad", lambda row: row.smooth_dtypes()))
def test_derivatives(row, dtype):
    with jax.enable_x64(True):
        smooth = [arg.smooth and not arg.dtype for arg in row.args]
        fun = Smooth(inexact_outputs(row), row.sample(dtype), smooth)
        xs = fun.primals
        ts = [direction(x, i) for i, x in enumerate(xs)]
        check(fun, xs, ts, row.order)
