"""Special functions in SciPy's words, on arrays of real numbers.

Most have an operation in `lax`; the rest is put together here so that it keeps its
accuracy where a formula taken literally would not, and its derivatives where a branch
that is not taken is infinite.
"""

from __future__ import annotations

import math
from typing import Any

from tetrad import lax, nn, numpy
from tetrad._src.control.custom import custom_jvp
from tetrad._src.scipy.arguments import apart, floats

jnp: Any = numpy  # arrays have methods that their type does not state

softmax = nn.softmax
log_softmax = nn.log_softmax
logsumexp = nn.logsumexp


# ------------------------------------------------------------------ error and normal


@apart
def erf(x: Any) -> Any:
    """The error function: (2/√π) ∫₀ˣ exp(−t²) dt.

    >>> from tetrad.scipy import special
    >>> special.erf(jnp.array([0., 1.]))
    Array([0.       , 0.8427008], dtype=float32)
    """
    return lax.erf(floats(x))


@apart
def erfc(x: Any) -> Any:
    """1 − erf(x), without cancellation for large x.

    >>> from tetrad.scipy import special
    >>> special.erfc(0.0)
    Array(1., dtype=float32)
    """
    return lax.erfc(floats(x))


@apart
def erfinv(x: Any) -> Any:
    """The inverse of the error function, on (−1, 1).

    >>> from tetrad.scipy import special
    >>> special.erfinv(0.0)
    Array(0., dtype=float32)
    """
    return lax.erf_inv(floats(x))


@apart
def ndtr(x: Any) -> Any:
    """The distribution function of the standard normal: (1/√2π) ∫₋∞ˣ exp(−t²/2) dt.

    >>> from tetrad.scipy import special
    >>> special.ndtr(0.0)
    Array(0.5, dtype=float32)
    """
    x = floats(x)
    return 0.5 * lax.erfc(-x * math.sqrt(0.5))


@custom_jvp
def _log_ndtr(x: Any) -> Any:
    # Far on the left the tail is exp(−x²/2)/(−x√2π) times an alternating series; far on
    # the right 1 − tail, whose logarithm is log1p(−tail).
    left = -10.0 if x.dtype == jnp.float32 else -20.0
    y = jnp.minimum(x, left)
    series = jnp.ones_like(x)
    for k in reversed(range(1, 8)):
        series = 1 - (2 * k - 1) / (y * y) * series
    far = -0.5 * y * y - jnp.log(-y) - 0.5 * math.log(2 * math.pi) + jnp.log(series)
    middle = jnp.log(0.5 * lax.erfc(-jnp.clip(x, left, 0) * math.sqrt(0.5)))
    right = jnp.log1p(-0.5 * lax.erfc(jnp.maximum(x, 0) * math.sqrt(0.5)))
    return jnp.where(x < left, far, jnp.where(x < 0, middle, right))


@_log_ndtr.defjvp
def _log_ndtr_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    value = _log_ndtr(x)
    density = -0.5 * x * x - 0.5 * math.log(2 * math.pi)
    return value, t * jnp.exp(density - value)


@apart
def log_ndtr(x: Any, series_order: int = 3) -> Any:
    """log(ndtr(x)), accurate far on both sides.

    `series_order` is accepted as in JAX; the series here is always long enough.

    >>> from tetrad.scipy import special
    >>> special.log_ndtr(-30.0).round(2)
    Array(-454.32, dtype=float32)
    """
    return _log_ndtr(floats(x))


# Wichura, Algorithm AS 241 (1988): rational functions for the middle and the tails.
_MIDDLE = (
    (2509.0809287301226727, 33430.575583588128105, 67265.770927008700853,
     45921.953931549871457, 13731.693765509461125, 1971.5909503065514427,
     133.14166789178437745, 3.387132872796366608),
    (5226.495278852854561, 28729.085735721942674, 39307.89580009271061,
     21213.794301586595867, 5394.1960214247511077, 687.1870074920579083,
     42.313330701600911252, 1.0),
)  # fmt: skip
_TAIL = (
    (7.7454501427834140764e-4, 0.0227238449892691845833, 0.24178072517745061177,
     1.27045825245236838258, 3.64784832476320460504, 5.7694972214606914055,
     4.6303378461565452959, 1.42343711074968357734),
    (1.05075007164441684324e-9, 5.475938084995344946e-4, 0.0151986665636164571966,
     0.14810397642748007459, 0.68976733498510000455, 1.6763848301838038494,
     2.05319162663775882187, 1.0),
)  # fmt: skip
_FAR = (
    (2.01033439929228813265e-7, 2.71155556874348757815e-5, 0.0012426609473880784386,
     0.026532189526576123093, 0.29656057182850489123, 1.7848265399172913358,
     5.4637849111641143699, 6.6579046435011037772),
    (2.04426310338993978564e-15, 1.4215117583164458887e-7, 1.8463183175100546818e-5,
     7.868691311456132591e-4, 0.0148753612908506148525, 0.13692988092273580531,
     0.59983220655588793769, 1.0),
)  # fmt: skip


def _ratio(x: Any, coefficients: Any) -> Any:
    top, bottom = coefficients
    return _polynomial(x, top) / _polynomial(x, bottom)


def _polynomial(x: Any, coefficients: Any) -> Any:
    total = jnp.full_like(x, coefficients[0])
    for c in coefficients[1:]:
        total = total * x + c
    return total


@custom_jvp
def _ndtri(p: Any) -> Any:
    q = p - 0.5
    middle = q * _ratio(0.180625 - q * q, _MIDDLE)
    small = jnp.where(q < 0, p, 1 - p)
    inside = (small > 0) & (small <= 0.5)
    r = jnp.sqrt(-jnp.log(jnp.where(inside, small, 0.25)))
    tail = jnp.where(r <= 5, _ratio(r - 1.6, _TAIL), _ratio(r - 5, _FAR))
    tail = jnp.where(small == 0, jnp.inf, jnp.where(inside, tail, jnp.nan))
    tail = jnp.where(q < 0, -tail, tail)
    return jnp.where(jnp.abs(q) <= 0.425, middle, tail)


@_ndtri.defjvp
def _ndtri_jvp(primals: Any, tangents: Any) -> Any:
    (p,), (t,) = primals, tangents
    x = _ndtri(p)
    return x, t * (math.sqrt(2 * math.pi) * jnp.exp(0.5 * x * x))


@apart
def ndtri(p: Any) -> Any:
    """The inverse of `ndtr`, on (0, 1); NaN outside [0, 1].

    >>> from tetrad.scipy import special
    >>> special.ndtri(jnp.array([0.5, 0.975])).round(4)
    Array([0.  , 1.96], dtype=float32)
    """
    return _ndtri(floats(p))


# --------------------------------------------------------------------- gamma and beta


@apart
def gammaln(x: Any) -> Any:
    """log|Γ(x)|.

    >>> from tetrad.scipy import special
    >>> special.gammaln(3.0)
    Array(0.6931472, dtype=float32)
    """
    return lax.lgamma(floats(x))


@apart
def gammasgn(x: Any) -> Any:
    """The sign of Γ(x); NaN at negative integers, −∞ and NaN.

    >>> from tetrad.scipy import special
    >>> special.gammasgn(jnp.array([-0.5, 2.]))
    Array([-1.,  1.], dtype=float32)
    """
    x = floats(x)
    floor = jnp.floor(x)
    sign = jnp.where((x < 0) & (jnp.mod(floor, 2) != 0), -1.0, 1.0).astype(x.dtype)
    pole = (x < 0) & (x == floor) | jnp.isnan(x)
    sign = jnp.where(pole, jnp.nan, sign)
    return jnp.where((x == 0) & jnp.signbit(x), -1.0, sign).astype(x.dtype)


@apart
def gamma(x: Any) -> Any:
    """Γ(x) = ∫₀^∞ t^(x−1) exp(−t) dt, continued to negative x.

    >>> from tetrad.scipy import special
    >>> special.gamma(5.0).round(3)
    Array(24., dtype=float32)
    """
    x = floats(x)
    return gammasgn(x) * jnp.exp(lax.lgamma(x))


@apart
def factorial(n: Any, exact: bool = False) -> Any:
    """n! = Γ(n + 1), and 0 for negative n.

    >>> from tetrad.scipy import special
    >>> special.factorial(4).round(3)
    Array(24., dtype=float32)
    """
    if exact:
        raise NotImplementedError("factorial: exact=True needs Python's math.factorial")
    n = floats(n)
    value = jnp.exp(lax.lgamma(jnp.where(n < 0, 0.0, n) + 1))
    return jnp.where(n < 0, 0, value)


@apart
def digamma(x: Any) -> Any:
    """The derivative of log Γ(x).

    >>> from tetrad.scipy import special
    >>> special.digamma(1.0)
    Array(-0.5772157, dtype=float32)
    """
    return lax.digamma(floats(x))


@apart
def polygamma(n: Any, x: Any) -> Any:
    """The n-th derivative of `digamma`.

    >>> from tetrad.scipy import special
    >>> special.polygamma(1, 1.0).round(4)
    Array(1.6449, dtype=float32)
    """
    n, x = floats(n, x)
    return lax.polygamma(n, x)


@apart
def zeta(x: Any, q: Any = None) -> Any:
    """Hurwitz's zeta function: Σₖ (k + q)^(−x) for k = 0, 1, …; q = 1 is Riemann's.

    >>> from tetrad.scipy import special
    >>> special.zeta(2.0, 1.0).round(4)
    Array(1.6449, dtype=float32)
    """
    x, q = floats(x, 1.0 if q is None else q)
    return lax.zeta(x, q)


@apart
def betaln(a: Any, b: Any) -> Any:
    """log B(a, b) = log|Γ(a)Γ(b)/Γ(a + b)|.

    >>> from tetrad.scipy import special
    >>> special.betaln(1.0, 2.0).round(4)
    Array(-0.6931, dtype=float32)
    """
    a, b = floats(a, b)
    return lax.lgamma(a) + lax.lgamma(b) - lax.lgamma(a + b)


@apart
def beta(a: Any, b: Any) -> Any:
    """B(a, b) = Γ(a)Γ(b)/Γ(a + b).

    >>> from tetrad.scipy import special
    >>> special.beta(1.0, 2.0).round(4)
    Array(0.5, dtype=float32)
    """
    a, b = floats(a, b)
    sign = gammasgn(a) * gammasgn(b) * gammasgn(a + b)
    return sign * jnp.exp(betaln(a, b))


@apart
def betainc(a: Any, b: Any, x: Any) -> Any:
    """The regularised incomplete beta function, the integral from 0 to x over B(a, b).

    >>> from tetrad.scipy import special
    >>> special.betainc(1.0, 1.0, 0.25)
    Array(0.25, dtype=float32)
    """
    return lax.betainc(*floats(a, b, x))


@apart
def gammainc(a: Any, x: Any) -> Any:
    """The regularised lower incomplete gamma function.

    >>> from tetrad.scipy import special
    >>> special.gammainc(1.0, 0.0)
    Array(0., dtype=float32)
    """
    return lax.igamma(*floats(a, x))


@apart
def gammaincc(a: Any, x: Any) -> Any:
    """The regularised upper incomplete gamma function.

    >>> from tetrad.scipy import special
    >>> special.gammaincc(1.0, 0.0)
    Array(1., dtype=float32)
    """
    return lax.igammac(*floats(a, x))


@apart
def multigammaln(a: Any, d: int) -> Any:
    """log of the multivariate gamma function of dimension `d`.

    >>> from tetrad.scipy import special
    >>> special.multigammaln(2.0, 1).round(4)
    Array(0., dtype=float32)
    """
    a = floats(a)
    constant = 0.25 * d * (d - 1) * math.log(math.pi)
    halves = a[..., None] - jnp.arange(d, dtype=a.dtype) / 2
    return constant + jnp.sum(lax.lgamma(halves), -1)


@apart
def poch(z: Any, m: Any) -> Any:
    """Pochhammer's symbol Γ(z + m)/Γ(z).

    >>> from tetrad.scipy import special
    >>> special.poch(2.0, 3.0).round(3)
    Array(24., dtype=float32)
    """
    z, m = floats(z, m)
    sign = gammasgn(z + m) * gammasgn(z)
    return jnp.where(m == 0, 1, sign * jnp.exp(lax.lgamma(z + m) - lax.lgamma(z)))


@apart
def comb(N: Any, k: Any, exact: bool = False, repetition: bool = False) -> Any:
    """The number of ways to choose k of N things: N!/(k!(N − k)!), 0 where there is none.

    >>> from tetrad.scipy import special
    >>> special.comb(5, 2).round(3)
    Array(10., dtype=float32)
    """
    if exact:
        raise NotImplementedError("comb: exact=True needs Python's math.comb")
    N, k = floats(N, k)
    if repetition:
        return comb(N + k - 1, k)
    valid = (N >= 0) & (k >= 0) & (k <= N)
    n, r = jnp.where(valid, N, 1), jnp.where(valid, k, 0)
    size = lax.lgamma(n + 1) - lax.lgamma(r + 1) - lax.lgamma(n - r + 1)
    return jnp.where(valid, jnp.exp(size), 0)


# ---------------------------------------------------------------------------- Bessel


@apart
def i0e(x: Any) -> Any:
    """exp(−|x|)·I₀(x), the modified Bessel function of order 0, scaled.

    >>> from tetrad.scipy import special
    >>> special.i0e(0.0)
    Array(1., dtype=float32)
    """
    return lax.bessel_i0e(floats(x))


@apart
def i0(x: Any) -> Any:
    """I₀(x), the modified Bessel function of order 0.

    >>> from tetrad.scipy import special
    >>> special.i0(0.0)
    Array(1., dtype=float32)
    """
    return jnp.i0(floats(x))


@apart
def i1e(x: Any) -> Any:
    """exp(−|x|)·I₁(x), the modified Bessel function of order 1, scaled.

    >>> from tetrad.scipy import special
    >>> special.i1e(0.0)
    Array(0., dtype=float32)
    """
    return lax.bessel_i1e(floats(x))


@apart
def i1(x: Any) -> Any:
    """I₁(x), the modified Bessel function of order 1.

    >>> from tetrad.scipy import special
    >>> special.i1(0.0)
    Array(0., dtype=float32)
    """
    x = floats(x)
    return jnp.exp(jnp.abs(x)) * lax.bessel_i1e(x)


# --------------------------------------------------------------- logarithms and entropy


@apart
def expit(x: Any) -> Any:
    """The logistic function 1/(1 + exp(−x)).

    >>> from tetrad.scipy import special
    >>> special.expit(0.0)
    Array(0.5, dtype=float32)
    """
    return lax.logistic(floats(x))


@apart
def logit(p: Any) -> Any:
    """The inverse of `expit`: log(p/(1 − p)).

    >>> from tetrad.scipy import special
    >>> special.logit(0.5)
    Array(0., dtype=float32)
    """
    p = floats(p)
    return jnp.log(p / (1 - p))


def _quotient(x: Any, y: Any) -> Any:
    """x/y, where 0/0 is 0: the slope of 0·log y stays 0 up to y = 0."""
    none = (x == 0) & (y == 0)
    return jnp.where(none, 0, x / jnp.where(none, 1, y))


@custom_jvp
def _xlogy(x: Any, y: Any) -> Any:
    none = x == 0
    product = jnp.where(none, 0, x) * jnp.log(jnp.where(none, 1, y))
    return jnp.where(none & ~jnp.isnan(y), 0, jnp.where(none, y, product))


@_xlogy.defjvp
def _xlogy_jvp(primals: Any, tangents: Any) -> Any:
    (x, y), (dx, dy) = primals, tangents
    return _xlogy(x, y), dx * jnp.log(y) + dy * _quotient(x, y)


@apart
def xlogy(x: Any, y: Any) -> Any:
    """x·log y, and 0 where x is 0.

    >>> from tetrad.scipy import special
    >>> special.xlogy(0.0, 0.0)
    Array(0., dtype=float32)
    """
    return _xlogy(*floats(x, y))


@custom_jvp
def _xlog1py(x: Any, y: Any) -> Any:
    none = x == 0
    product = jnp.where(none, 0, x) * jnp.log1p(jnp.where(none, 1, y))
    return jnp.where(none & ~jnp.isnan(y), 0, jnp.where(none, y, product))


@_xlog1py.defjvp
def _xlog1py_jvp(primals: Any, tangents: Any) -> Any:
    (x, y), (dx, dy) = primals, tangents
    return _xlog1py(x, y), dx * jnp.log1p(y) + dy * _quotient(x, 1 + y)


@apart
def xlog1py(x: Any, y: Any) -> Any:
    """x·log(1 + y), and 0 where x is 0.

    >>> from tetrad.scipy import special
    >>> special.xlog1py(0.0, -1.0)
    Array(0., dtype=float32)
    """
    return _xlog1py(*floats(x, y))


@apart
def entr(x: Any) -> Any:
    """−x·log x, 0 at 0, and −∞ for negative x.

    >>> from tetrad.scipy import special
    >>> special.entr(jnp.array([0., 0.5]))
    Array([0.       , 0.3465736], dtype=float32)
    """
    x = floats(x)
    safe = jnp.where(x > 0, x, 1)
    value = jnp.where(jnp.isnan(x), x, jnp.where(x == 0, 0, -jnp.inf))
    return jnp.where(x > 0, -safe * jnp.log(safe), value)


@apart
def rel_entr(p: Any, q: Any) -> Any:
    """p·log(p/q), 0 where p = 0 ≤ q, and ∞ elsewhere outside p, q > 0.

    >>> from tetrad.scipy import special
    >>> special.rel_entr(1.0, 1.0)
    Array(0., dtype=float32)
    """
    p, q = floats(p, q)
    both, none = (p > 0) & (q > 0), (p == 0) & (q >= 0)
    a, b = jnp.where(both, p, 1), jnp.where(both, q, 1)
    value = a * (jnp.log(a) - jnp.log(b))
    return jnp.where(both, value, jnp.where(none, 0, jnp.inf)).astype(p.dtype)


@apart
def kl_div(p: Any, q: Any) -> Any:
    """p·log(p/q) − p + q, the terms of the Kullback–Leibler divergence.

    >>> from tetrad.scipy import special
    >>> special.kl_div(1.0, 1.0)
    Array(0., dtype=float32)
    """
    p, q = floats(p, q)
    return rel_entr(p, q) - p + q


@apart
def boxcox(x: Any, lmbda: Any) -> Any:
    """(x^λ − 1)/λ, and log x for λ = 0.

    >>> from tetrad.scipy import special
    >>> special.boxcox(4.0, 0.5)
    Array(2., dtype=float32)
    """
    x, power = floats(x, lmbda)
    none = power == 0
    safe = jnp.where(none, 1, power)
    return jnp.where(none, jnp.log(x), jnp.expm1(safe * jnp.log(x)) / safe)


@apart
def boxcox1p(x: Any, lmbda: Any) -> Any:
    """`boxcox` of 1 + x.

    >>> from tetrad.scipy import special
    >>> special.boxcox1p(3.0, 0.5)
    Array(2., dtype=float32)
    """
    x, power = floats(x, lmbda)
    none = power == 0
    safe = jnp.where(none, 1, power)
    return jnp.where(none, jnp.log1p(x), jnp.expm1(safe * jnp.log1p(x)) / safe)
