"""Incomplete gamma and beta functions, and Bessel functions."""

import mpmath
import numpy as np
from scipy import special

from catalogue.precise import precise
from catalogue.row import Bad, Row, fixed, real

F32 = np.zeros((2, 3), np.float32)
I32 = np.zeros((2, 3), np.int32)
# Sums of a hundred terms in double precision.
SUMS = {"float64": 400.0}


def inside(*xs):
    """Leaves what is negative or vanishes to SciPy."""
    if min(xs) < 1e-30:
        raise ValueError


def lower(a, x):
    inside(a, x)
    return mpmath.gammainc(a, 0, x, regularized=True)


def upper(a, x):
    inside(a, x)
    return mpmath.gammainc(a, x, regularized=True)


def slope_by_a(a, x):
    return mpmath.diff(lambda a: lower(a, x), a)


def draw_slope(a, x):
    density = mpmath.exp((a - 1) * mpmath.log(x) - x - mpmath.loggamma(a))
    return -slope_by_a(a, x) / density


def never(*xs):
    return np.nan


def beta(a, b, x):
    inside(a, b, x)
    return mpmath.betainc(a, b, 0, x, regularized=True)


def bessel(order):
    return lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(order, x)


def gamma_row(name, reference, fallback, **more):
    return Row(
        f"lax.{name}",
        precise(reference, fallback),
        (real(0.3, 8), real(0.3, 8)),
        ulp=SUMS,
        errors=(
            Bad(TypeError, rf"lax.{name} .*shapes", (F32, F32.T)),
            Bad(TypeError, "int32", (I32, I32)),
        ),
        **more,
    )


TALL = {"jax grad": "JAX has no derivative of the derivative by a"}
BETA = {"jax grad": "JAX has no derivatives by a and b"}
# JAX gives 1 or 0 where both arguments are infinite.
INFINITE = TALL | {"jax values float32": "JAX has a value at (inf, inf)"}
LARGE = (fixed([150.0, 250.0, 1e4, 1e5]), fixed([160.0, 245.0, 1.01e4, 0.999e5]))

ROWS = [
    gamma_row("igamma", lower, special.gammainc, elementwise=True, broken=INFINITE),
    gamma_row("igammac", upper, special.gammaincc, elementwise=True,
              broken=INFINITE),
    Row("lax.igamma", special.gammainc, LARGE, id="large", wide=False,
        dtypes=("float32", "float64"), ulp=SUMS, tests="values jit vmap backend"),
    Row("lax.igammac", special.gammaincc, LARGE, id="large", wide=False,
        dtypes=("float32", "float64"), ulp=SUMS, tests="values jit vmap backend"),
    gamma_row("igamma_grad_a", slope_by_a, never, order=1, broken=TALL),
    gamma_row("random_gamma_grad", draw_slope, never, order=1, broken={
        "jax grad": "JAX has no derivative of random_gamma_grad"}),
    Row("lax.betainc", precise(beta, special.betainc),
        (real(0.3, 8), real(0.3, 8), real(0.05, 0.95)), ulp=SUMS, elementwise=True,
        broken=BETA, errors=(Bad(TypeError, "lax.betainc .*shapes", (F32, F32, F32.T)),)),
    Row("lax.bessel_i0e", precise(bessel(0), special.i0e), (real(-20, 20),),
        elementwise=True, errors=(Bad(TypeError, "int32", (I32,)),)),
    Row("lax.bessel_i1e", precise(bessel(1), special.i1e), (real(-20, 20),),
        elementwise=True, errors=(Bad(TypeError, "int32", (I32,)),),
        broken={"jax grad float32": "a slope of JAX is NaN"}),
]  # fmt: skip
