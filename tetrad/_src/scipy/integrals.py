"""Exponential, trigonometric and Fresnel integrals, Dawson's and Faddeeva's functions.

In: floats, for some functions complex numbers. Out: the same type. All is computed in
double precision and rounded once; each operation states `core`, a function of scalars in
the public language (see `lib/special.py`). Derivatives are those of the formulas where
that is the more accurate way, and otherwise written out.

Read `faddeeva` and what follows it, then the integrals, then the public functions.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tetrad import lax, numpy
from tetrad._src.core.bind import aval_of
from tetrad._src.lib.special import Loop
from tetrad._src.ops.convert import ConvertElementType
from tetrad._src.ops.families import Elementwise
from tetrad._src.scipy.arguments import apart, floats
from tetrad._src.util.config import enable_x64

jnp: Any = numpy  # arrays have methods that their type does not state

EPS = 2.0**-54
MOST_TURNS = 10_000
EULER = 0.57721566490153286061


def _sum(terms: Any) -> Any:
    total = None
    for term in terms:
        total = term if total is None else total + term
    return total


def _polynomial(x: Any, coefficients: Any) -> Any:
    """Σ cₖ xᵏ."""
    total = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        total = total * x + c
    return total


def real(x: Any, name: str) -> Any:
    """A float array; TypeError for complex numbers."""
    x = floats(x)
    if jnp.issubdtype(x.dtype, jnp.complexfloating):
        raise TypeError(
            f"scipy.special.{name} takes real numbers, got {x.aval.long_name()}"
        )
    return x


# ---------------------------------------------------- the scaled complementary error
#
# w(z) = e^(-z²) erfc(-iz) by sums over equidistant points, and what they miss by the pole
# near z. Source: Al Azah and Chandler-Wilde, SIAM J. Numer. Anal. 59 (2021)

_COUNT = 13
_STEP = math.sqrt(math.pi / _COUNT)
_MIDDLES = [(k + 0.5) * _STEP for k in range(_COUNT)]
_POINTS = [k * _STEP for k in range(1, _COUNT)]
_FAR = 1e7


def _quadrant(z: Any) -> Any:
    """w(z) for Re z >= 0 and Im z >= 0."""
    x, y = z.real, z.imag
    far = (x > _FAR) | (y > _FAR)
    z = jnp.where(far, 1 + 1j, z)
    square = z * z
    factor = 2j * _STEP / math.pi * z
    middle = factor * _sum([math.exp(-t * t) / (square - t * t) for t in _MIDDLES])
    points = factor * _sum([math.exp(-t * t) / (square - t * t) for t in _POINTS])
    place = z.real / _STEP
    phase = place - jnp.floor(place)
    low = jnp.minimum(z.imag, math.pi / _STEP)
    size, angle = jnp.exp(2 * math.pi / _STEP * low), -2 * math.pi * phase
    turned = size * lax.complex(jnp.cos(angle), jnp.sin(angle))
    pole = 2 * _gaussian(z)
    by_points = pole / (1 - turned) + 1j * _STEP / (math.pi * z) + points
    by_middles = pole / (1 + turned) + middle
    on_middle = (phase >= 0.25) & (phase <= 0.75) & (z.imag < z.real)
    high = z.imag >= jnp.maximum(z.real, math.pi / _STEP)
    near = jnp.where(high, middle, jnp.where(on_middle, by_points, by_middles))
    ended = jnp.isinf(x) | jnp.isinf(y)
    outer = lax.complex(
        jnp.where(ended | ~far, 1.0, x), jnp.where(far & ~ended, y, 0.0)
    )
    distant = jnp.where(ended, 0, 1j / math.sqrt(math.pi) / outer)
    return jnp.where(far, distant, near)


def _gaussian(z: Any) -> Any:
    """e^(-z²)."""
    x, y = z.real, z.imag
    size = jnp.exp((y - x) * (y + x))
    angle = -2 * x * y
    return lax.complex(size * jnp.cos(angle), size * jnp.sin(angle))


def faddeeva(z: Any) -> Any:
    """w(z) for complex128."""
    x, y = z.real, z.imag
    first = _quadrant(lax.complex(jnp.abs(x), jnp.abs(y)))
    # In the second and the fourth quadrant -z or its conjugate is meant.
    mirrored = (x < 0) != (y < 0)
    upper = jnp.where(mirrored, first.conj(), first)
    below = y < 0
    safe = lax.complex(jnp.where(below, x, 0.0), jnp.where(below, y, 0.0))
    value = jnp.where(below, 2 * _gaussian(safe) - upper, upper)
    unknown = jnp.isnan(x) | jnp.isnan(y)
    return jnp.where(unknown, jnp.nan + 1j * jnp.nan, value)


class ComplexWide(Elementwise):
    """An elementwise operation on complex numbers, computed in double precision."""

    accepts = "c"

    def core(self, z: Any) -> Any:
        raise NotImplementedError

    def expand(self, z: Any) -> Any:
        dtype = aval_of(z).dtype
        with enable_x64(True):
            wide = jnp.asarray(ConvertElementType(np.dtype(np.complex128))(z))
            return ConvertElementType(dtype)(self.core(wide))


class Wofz(ComplexWide):
    """Faddeeva's function."""

    def core(self, z: Any) -> Any:
        return faddeeva(z)

    def derivative(self, ans: Any, z: Any) -> tuple[Any, ...]:
        return (2j / math.sqrt(math.pi) - 2 * z * ans,)


def _exp_of_square(x: Any, factor: float = 1.0) -> Any:
    """e^(f·x²), with the part of x² that rounding drops; f is a power of 2."""
    moved = x * 134217729.0
    high = moved - (moved - x)
    return jnp.exp(factor * high * high) * jnp.exp(factor * ((x - high) * (x + high)))


class Erfcx(Loop):
    """e^(x²) erfc(x)."""

    def core(self, x: Any) -> Any:
        size = jnp.abs(x)
        far = size > _FAR
        a = jnp.where(far, 1.0, size)
        square = a * a
        terms = _sum([math.exp(-t * t) / (square + t * t) for t in _MIDDLES])
        low = jnp.minimum(a, math.pi / _STEP)
        pole = 2 * jnp.exp(low * low) / (1 + jnp.exp(2 * math.pi / _STEP * low))
        near = 2 * _STEP / math.pi * a * terms
        near = jnp.where(a < math.pi / _STEP, near + pole, near)
        outer = 1 / math.sqrt(math.pi) / jnp.where(far, size, 1.0)
        value = jnp.where(far, outer, near)
        below = x < 0
        mirrored = 2 * _exp_of_square(jnp.where(below, jnp.maximum(x, -27.0), 0.0))
        value = jnp.where(below, mirrored - value, value)
        return jnp.where(x < -26.7, jnp.inf, value)


class Dawsn(Loop):
    """e^(-x²) ∫₀ˣ e^(t²) dt, by a series of positive terms and by Rybicki's sum."""

    def core(self, x: Any) -> Any:
        size = jnp.abs(x)
        small = jnp.where(size < 2.5, size, 0.0)
        series = [1 / (math.factorial(k) * (2 * k + 1)) for k in range(42)]
        square = small * small
        near = small * _polynomial(square, series) * jnp.exp(-square)
        far = size > _FAR
        a = jnp.where((size < 2.5) | far, 3.0, size)
        even = lax.stop_gradient(2 * jnp.round(2 * a))
        rest = a - 0.25 * even
        up = jnp.exp(0.5 * rest)
        down = 1 / up
        total, above, under = jnp.zeros_like(a), up, down
        for n in range(1, 29, 2):
            weight = math.exp(-((0.25 * n) ** 2))
            total = total + weight * (above / (even + n) + under / (even - n))
            above, under = above * up * up, under * down * down
        middle = total * jnp.exp(-rest * rest) / math.sqrt(math.pi)
        outer = 0.5 / jnp.where(far, size, 1.0)
        value = jnp.where(size < 2.5, near, jnp.where(far, outer, middle))
        return jnp.where(jnp.isnan(x), x, jnp.where(x < 0, -value, value))


# ------------------------------------------------------------- exponential integrals


class Expn(Loop):
    """∫₁^∞ e^(-xt) t^(-n) dt, by a series up to x = 1 and a continued fraction after it."""

    def core(self, n: Any, x: Any) -> Any:
        whole = (n == jnp.floor(n)) & (n >= 0)
        inside = whole & (n >= 1) & (x > 0) & (x < jnp.inf)
        low = inside & (x <= 1)
        high = inside & (x > 1)
        value = jnp.where(low, self._series(n, x, low), self._fraction(n, x, high))
        value = jnp.where(whole & (n == 0), jnp.exp(-x) / x, value)
        at_zero = jnp.where(n > 1, 1 / jnp.where(n > 1, n - 1, 1.0), jnp.inf)
        value = jnp.where(x == 0, at_zero, jnp.where(x == jnp.inf, 0.0, value))
        return jnp.where(whole & (x >= 0), value, jnp.nan)

    def _series(self, n: Any, x: Any, meant: Any) -> Any:
        """Source: NIST DLMF 8.19.8."""
        x, n = jnp.where(meant, x, 1.0), jnp.where(meant, n, 1.0)
        least = n - 1
        logarithm = lax.digamma(n) - jnp.log(x)
        start = jnp.where(least == 0, logarithm, 1 / jnp.where(least == 0, 1.0, least))

        def turn(state: Any) -> Any:
            _, i, power, total = state
            power = power * (-x / i)
            other = -power / jnp.where(i == least, 1.0, i - least)
            term = jnp.where(i == least, power * logarithm, other)
            more = (jnp.abs(term) > EPS * jnp.abs(total + term)) & (i < MOST_TURNS)
            return more, i + 1, power, total + term

        one = jnp.ones_like(x)
        return lax.while_loop(lambda s: s[0], turn, (meant, one, one, start))[3]

    def _fraction(self, n: Any, x: Any, meant: Any) -> Any:
        """Source: NIST DLMF 8.19.17, from as far back as that x needs."""
        x, n = jnp.where(meant, x, 100.0), jnp.where(meant, n, 1.0)

        def turn(state: Any) -> Any:
            i, value = state
            below = x + n + 2 * (i - 1)
            return i - 1, below - i * (n - 1 + i) / value

        last = jnp.floor(100 / x) + 20
        start = jnp.where(meant, last, 0.0), x + n + 2 * last
        return jnp.exp(-x) / lax.while_loop(lambda s: s[0] > 0, turn, start)[1]

    def derivative(self, ans: Any, n: Any, x: Any) -> tuple[Any, ...]:
        before = Expn()(jnp.maximum(jnp.asarray(n) - 1, 0), x)
        first = jnp.exp(-x) / x * (1 + 1 / x)
        return jnp.zeros_like(ans), -jnp.where(n == 0, first, before)


# The zero of Ei, in two parts.
_ROOT, _ROOT_REST = 0.3725074107813666, 1.3140183414386028e-17


class Expi(Loop):
    """The principal value of ∫₋∞ˣ eᵗ/t dt."""

    def core(self, x: Any) -> Any:
        negative = -Expn().core(jnp.ones_like(x), jnp.where(x < 0, -x, 1.0))
        near, far = (x > 0) & (x <= 40), (x > 40) & (x < jnp.inf)
        value = jnp.where(near, self._series(x, near), self._asymptotic(x, far))
        value = jnp.where(x < 0, negative, value)
        value = jnp.where(x == 0, -jnp.inf, jnp.where(x == jnp.inf, jnp.inf, value))
        return jnp.where(jnp.isnan(x), x, value)

    def _series(self, x: Any, meant: Any) -> Any:
        """log(x/r) + Σ (xᵏ − rᵏ)/(k·k!), where r is the zero: nothing cancels."""
        x = jnp.where(meant, x, 1.0)
        distance = (x - _ROOT) - _ROOT_REST
        near = jnp.abs(distance) < 0.2
        close = jnp.log1p(jnp.where(near, distance, 0.0) / _ROOT)
        logarithm = jnp.where(near, close, jnp.log(x / _ROOT))

        def turn(state: Any) -> Any:
            _, k, powers, root, scale, total = state
            term = powers * scale / k
            more = (term > EPS * total) & (k < MOST_TURNS)
            root = root * _ROOT
            return more, k + 1, x * powers + root, root, scale / (k + 1), total + term

        one = jnp.ones_like(x)
        start = (meant, one, one, one, one, jnp.zeros_like(x))
        return logarithm + distance * lax.while_loop(lambda s: s[0], turn, start)[5]

    def _asymptotic(self, x: Any, meant: Any) -> Any:
        """eˣ/x Σ k!/xᵏ. Source: NIST DLMF 6.12.2."""
        x = jnp.where(meant, x, 50.0)

        def turn(state: Any) -> Any:
            _, k, term, total = state
            term = term * k / x
            return (term > EPS) & (k < x), k + 1, term, total + term

        one = jnp.ones_like(x)
        total = lax.while_loop(lambda s: s[0], turn, (meant, one, one, one))[3]
        half = jnp.exp(0.5 * x)
        return half * (half / x * total)

    def derivative(self, ans: Any, x: Any) -> tuple[Any, ...]:
        return (jnp.exp(x) / x,)


# ------------------------------------------------ sine, cosine and Fresnel integrals


def _rotated(x: Any, meant: Any) -> Any:
    """E₁(ix)·e^(ix) for x > 2. Source: NIST DLMF 6.9.1, from as far back as x needs."""
    x = jnp.where(meant, x, 100.0)

    def turn(state: Any) -> Any:
        i, value = state
        return i - 1, lax.complex(2 * i - 1, x) - i * i / value

    last = jnp.floor(200 / x) + 8
    start = jnp.where(meant, last, 0.0), lax.complex(2 * last + 1, x)
    return 1 / lax.while_loop(lambda s: s[0] > 0, turn, start)[1]


class SineIntegral(Loop):
    """∫₀ˣ sin(t)/t dt."""

    def core(self, x: Any) -> Any:
        size = jnp.abs(x)
        small = jnp.where(size <= 2, size, 0.0)
        series = [
            (-1) ** k / ((2 * k + 1) * math.factorial(2 * k + 1)) for k in range(14)
        ]
        near = small * _polynomial(small * small, series)
        meant = (size > 2) & (size < jnp.inf)
        outer = _rotated(size, meant)
        a = jnp.where(meant, size, 4.0)
        far = math.pi / 2 + (outer.imag * jnp.cos(a) - outer.real * jnp.sin(a))
        value = jnp.where(size <= 2, near, jnp.where(meant, far, math.pi / 2))
        return jnp.where(jnp.isnan(x), x, jnp.where(x < 0, -value, value))

    def derivative(self, ans: Any, x: Any) -> tuple[Any, ...]:
        return (jnp.sinc(x / math.pi),)


class CosineIntegral(Loop):
    """γ + log|x| + ∫₀ˣ (cos(t) − 1)/t dt."""

    def core(self, x: Any) -> Any:
        size = jnp.abs(x)
        small = jnp.where((size <= 2) & (size > 0), size, 1.0)
        series = [0.0] + [
            (-1) ** k / (2 * k * math.factorial(2 * k)) for k in range(1, 14)
        ]
        near = EULER + jnp.log(small) + _polynomial(small * small, series)
        meant = (size > 2) & (size < jnp.inf)
        outer = _rotated(size, meant)
        a = jnp.where(meant, size, 4.0)
        far = -(outer.real * jnp.cos(a) + outer.imag * jnp.sin(a))
        value = jnp.where(size <= 2, near, jnp.where(meant, far, 0.0))
        value = jnp.where(x == 0, -jnp.inf, value)
        return jnp.where(jnp.isnan(x) | (x == -jnp.inf), jnp.nan, value)

    def derivative(self, ans: Any, x: Any) -> tuple[Any, ...]:
        return (jnp.cos(x) / x,)


def _quarter_turns(x: Any) -> Any:
    """x² modulo 4, with the part of x² that rounding drops."""
    x = jnp.where(jnp.abs(x) < 1e8, x, 0.0)
    moved = x * 134217729.0
    high = moved - (moved - x)
    square = x * x
    rest = ((high * high - square) + 2 * high * (x - high)) + (x - high) ** 2
    return jnp.mod(square, 4.0) + rest


class FresnelIntegral(Loop):
    """∫₀ˣ sin(πt²/2) dt, or of the cosine."""

    cosine: bool

    def core(self, x: Any) -> Any:
        size = jnp.abs(x)
        small = jnp.where(size <= 1.5, size, 0.0)
        first = 0 if self.cosine else 1
        series = [
            (-1) ** k
            * (math.pi / 2) ** (2 * k + first)
            / (math.factorial(2 * k + first) * (4 * k + 1 + 2 * first))
            for k in range(16)
        ]
        square = small * small
        near = small * _polynomial(square * square, series)
        near = near if self.cosine else near * square
        far = size > 1e8
        a = jnp.where((size <= 1.5) | far, 2.0, size)
        slanted = math.sqrt(math.pi) / 2 * a
        w = _quadrant(lax.complex(slanted, slanted))
        angle = math.pi / 2 * _quarter_turns(a)
        c, s = jnp.cos(angle), jnp.sin(angle)
        p, q = c * w.real - s * w.imag, s * w.real + c * w.imag
        # (1 + i)/2 · (1 − (p + iq))
        outer = 0.5 + 0.5 * (q - p) if self.cosine else 0.5 - 0.5 * (p + q)
        value = jnp.where(size <= 1.5, near, jnp.where(far, 0.5, outer))
        return jnp.where(jnp.isnan(x), x, jnp.where(x < 0, -value, value))

    def derivative(self, ans: Any, x: Any) -> tuple[Any, ...]:
        return (FresnelSlope(self.cosine)(x),)


class FresnelSlope(Loop):
    """sin(πx²/2), or the cosine."""

    cosine: bool

    def core(self, x: Any) -> Any:
        angle = math.pi / 2 * _quarter_turns(x)
        return jnp.cos(angle) if self.cosine else jnp.sin(angle)

    def derivative(self, ans: Any, x: Any) -> tuple[Any, ...]:
        other = FresnelSlope(not self.cosine)(x)
        return ((-math.pi if self.cosine else math.pi) * x * other,)


# ------------------------------------------------------------------ Spence and Owen


class Spence(Loop):
    """−∫₁ˣ log(t)/(t − 1) dt. Source: NIST DLMF 25.12, and Bernoulli numbers."""

    def core(self, x: Any) -> Any:
        # Outside of [1/2, 2] by 1 − x, and by 1/x.
        low, high = x < 0.5, x > 2
        small = jnp.where(low, x, jnp.where(high, 1 / jnp.where(high, x, 3.0), 0.25))
        small = jnp.where(small > 0, small, 0.25)
        middle = jnp.where(low | high | jnp.isnan(x), 1.0, x)
        u = jnp.where(low | high, -jnp.log1p(-small), -jnp.log(middle))
        bernoulli = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6,
                     -3617 / 510, 43867 / 798, -174611 / 330)  # fmt: skip
        series = [1.0] + [
            b / math.factorial(2 * k + 3) for k, b in enumerate(bernoulli)
        ]
        value = u * (_polynomial(u * u, series) - 0.25 * u)
        turned = math.pi**2 / 6 + jnp.log(small) * u - value
        logarithm = jnp.log(jnp.where(high & (x < jnp.inf), x, 3.0))
        value = jnp.where(low, turned, value)
        value = jnp.where(high, -0.5 * logarithm**2 - turned, value)
        value = jnp.where(x == 0, math.pi**2 / 6, value)
        return jnp.where((x >= 0) & (x < jnp.inf), value, jnp.nan)

    def derivative(self, ans: Any, x: Any) -> tuple[Any, ...]:
        rest = jnp.asarray(x) - 1
        one = rest == 0
        safe = jnp.where(one, 1, rest)
        return (jnp.where(one, -1, -jnp.log1p(safe) / safe).astype(rest.dtype),)


_NODES, _WEIGHTS = [x.tolist() for x in np.polynomial.legendre.leggauss(40)]


class OwensT(Loop):
    """Owen's T, by Gauss's rule over the part where the integrand is not negligible."""

    def core(self, h: Any, a: Any) -> Any:
        height, slope = jnp.abs(h), jnp.abs(a)
        steep = slope > 1
        ended = jnp.isinf(slope)
        moved = jnp.where(ended, 0.0, height * jnp.where(ended, 1.0, slope))
        level = jnp.where(steep, moved, height)
        tilt = jnp.where(steep, 1 / jnp.where(steep, slope, 1.0), slope)
        level = jnp.minimum(level, 1e10)
        length = jnp.minimum(tilt, 8.7 / jnp.maximum(level, 1.0))
        total = jnp.zeros_like(length)
        for node, weight in zip(_NODES, _WEIGHTS):
            t = length * (0.5 * node + 0.5)
            total = total + weight * jnp.exp(-0.5 * (level * t) ** 2) / (1 + t * t)
        flat = total * length * _exp_of_square(level, -0.5) / (4 * math.pi)
        one = 0.5 * lax.erfc(height * math.sqrt(0.5))
        other = jnp.where(ended, jnp.where(height == 0, 0.5, 0.0),
                          0.5 * lax.erfc(moved * math.sqrt(0.5)))  # fmt: skip
        risen = 0.5 * (one + other) - one * other - jnp.where(ended, 0.0, flat)
        risen = jnp.where(ended, 0.5 * one, risen)
        value = jnp.where(steep, risen, flat)
        value = jnp.where(a < 0, -value, value)
        return jnp.where(jnp.isnan(h) | jnp.isnan(a), jnp.nan, value)

    def derivative(self, ans: Any, h: Any, a: Any) -> tuple[Any, ...]:
        h, a = jnp.asarray(h), jnp.asarray(a)
        scale = -0.5 / math.sqrt(2 * math.pi)
        by_h = scale * jnp.exp(-0.5 * h * h) * lax.erf(a * h * math.sqrt(0.5))
        rise = 1 + a * a
        return by_h, jnp.exp(-0.5 * h * h * rise) / (2 * math.pi * rise)


# ------------------------------------------------------------------ public functions


@apart
def wofz(z: Any) -> Any:
    """Faddeeva's function w(z) = e^(−z²) erfc(−iz), of complex numbers.

    Complex also for real z. The error is a few units in the last place of |w| for
    Im z ≥ 0; for Im z < 0, where w is 2e^(−z²) − w(−z), it grows with the error of z².

    >>> from tetrad.scipy import special
    >>> special.wofz(1j).round(4)
    Array(0.4276+0.j, dtype=complex64)
    """
    z = floats(z)
    if not jnp.issubdtype(z.dtype, jnp.complexfloating):
        z = lax.complex(z, jnp.zeros_like(z))
    return Wofz()(z)


@apart
def erfcx(x: Any) -> Any:
    """The scaled complementary error function e^(x²) erfc(x).

    Within 3 units in the last place for real numbers; complex ones by `wofz(1j·x)`.

    >>> from tetrad.scipy import special
    >>> special.erfcx(1.0).round(4)
    Array(0.4276, dtype=float32)
    """
    x = floats(x)
    if jnp.issubdtype(x.dtype, jnp.complexfloating):
        return Wofz()(1j * x)
    return Erfcx()(x)


@apart
def dawsn(x: Any) -> Any:
    """Dawson's integral e^(−x²) ∫₀ˣ e^(t²) dt.

    Within 4 units in the last place. TypeError for complex numbers.

    >>> from tetrad.scipy import special
    >>> special.dawsn(1.0).round(4)
    Array(0.5381, dtype=float32)
    """
    return Dawsn()(real(x, "dawsn"))


@apart
def exp1(x: Any) -> Any:
    """The exponential integral E₁(x) = ∫₁^∞ e^(−xt)/t dt; NaN for x < 0.

    Within 6 units in the last place. TypeError for complex numbers.

    >>> from tetrad.scipy import special
    >>> special.exp1(1.0).round(4)
    Array(0.2194, dtype=float32)
    """
    x = real(x, "exp1")
    return Expn()(jnp.ones_like(x), x)


@apart
def expi(x: Any) -> Any:
    """The exponential integral Ei(x) = −∫₋ₓ^∞ e^(−t)/t dt, its principal value for x > 0.

    Within 10 units in the last place, near its zero at 0.3725 too. −∞ at 0. TypeError for
    complex numbers.

    >>> from tetrad.scipy import special
    >>> special.expi(1.0).round(4)
    Array(1.8951, dtype=float32)
    """
    return Expi()(real(x, "expi"))


@apart
def expn(n: Any, x: Any) -> Any:
    """The exponential integrals Eₙ(x) = ∫₁^∞ e^(−xt) t^(−n) dt, for whole n ≥ 0 and x ≥ 0.

    NaN for other n and x. Within 8 units in the last place. Derivatives by x.

    >>> from tetrad.scipy import special
    >>> special.expn(2, 1.0).round(4)
    Array(0.1485, dtype=float32)
    """
    n, x = floats(lax.stop_gradient(n), x)
    return Expn()(n, real(x, "expn"))


@apart
def sici(x: Any) -> Any:
    """(Si, Ci): Si(x) = ∫₀ˣ sin(t)/t dt and Ci(x) = γ + log|x| + ∫₀ˣ (cos(t) − 1)/t dt.

    Within 4 units in the last place of the value or of 1/x, the larger one (Ci has
    zeros). Ci(0) is −∞, and that of −∞ NaN. TypeError for complex numbers.

    >>> from tetrad.scipy import special
    >>> [float(v.round(4)) for v in special.sici(1.0)]
    [0.9460999965667725, 0.33739998936653137]
    """
    x = real(x, "sici")
    return SineIntegral()(x), CosineIntegral()(x)


@apart
def fresnel(x: Any) -> Any:
    """(S, C): S(x) = ∫₀ˣ sin(πt²/2) dt and C(x) = ∫₀ˣ cos(πt²/2) dt.

    Within 4 units in the last place. TypeError for complex numbers.

    >>> from tetrad.scipy import special
    >>> [round(float(v), 4) for v in special.fresnel(1.0)]
    [0.4383, 0.7799]
    """
    x = real(x, "fresnel")
    return FresnelIntegral(False)(x), FresnelIntegral(True)(x)


@apart
def spence(x: Any) -> Any:
    """Spence's function −∫₁ˣ log(t)/(t − 1) dt, the dilogarithm of 1 − x.

    NaN for x < 0 and at ∞. Within 4 units in the last place. TypeError for complex numbers.

    >>> from tetrad.scipy import special
    >>> special.spence(0.0).round(4)
    Array(1.6449, dtype=float32)
    """
    return Spence()(real(x, "spence"))


@apart
def owens_t(h: Any, a: Any) -> Any:
    """Owen's T(h, a) = 1/2π ∫₀ᵃ exp(−h²(1 + x²)/2)/(1 + x²) dx.

    The probability of X > h and 0 < Y < aX for independent standard normals. Within 8
    units in the last place for h up to 5, and h² of them beyond.

    >>> from tetrad.scipy import special
    >>> special.owens_t(0.0, 1.0)
    Array(0.125, dtype=float32)
    """
    h, a = floats(h, a)
    return OwensT()(real(h, "owens_t"), a)
