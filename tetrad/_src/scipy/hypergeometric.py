"""Hypergeometric functions, log Γ of complex numbers, Bessel functions, harmonics.

In: floats (for `loggamma` complex numbers as well). Out: the same type. All is computed
in double precision by series and recurrences, element by element, and rounded once; see
`lib/special.py` for what an operation states.

Read `_kummer` and `_gauss` with what calls them, then the public functions.
"""

from __future__ import annotations

import fractions
import math
import operator
from typing import Any

import numpy as np

from tetrad import lax, numpy
from tetrad._src.lib.special import Loop, Slope
from tetrad._src.scipy.arguments import apart, floats
from tetrad._src.scipy.integrals import EPS, ComplexWide, real

jnp: Any = numpy  # arrays have methods that their type does not state

MOST_TURNS = 500_000


def _is_pole(x: Any) -> Any:
    """Whether Γ(x) is infinite."""
    return (x <= 0) & (x == jnp.floor(x))


def _gamma(x: Any) -> Any:
    """Γ(x), infinite at its poles."""
    odd = (x < 0) & (jnp.mod(jnp.floor(x), 2) != 0)
    size = jnp.exp(lax.lgamma(x))
    return jnp.where(odd, -size, size)


def _over_gamma(x: Any) -> Any:
    """1/Γ(x), 0 at the poles of Γ."""
    pole = _is_pole(x)
    return jnp.where(pole, 0.0, 1 / _gamma(jnp.where(pole, 1.0, x)))


# ------------------------------------------------------------------- Kummer's function


def _kummer(a: Any, b: Any, x: Any, meant: Any) -> Any:
    """Σ (a)ₖ/(b)ₖ xᵏ/k!. It ends where another series, of larger terms, would.

    For a whole a <= 0 it ends early, but its derivative by a does not.
    """
    a, b = jnp.where(meant, a, 1.0), jnp.where(meant, b, 1.0)
    x = jnp.where(meant, x, 0.0)
    size = lax.stop_gradient(jnp.abs(a)) + 0.5

    def turn(state: Any) -> Any:
        _, k, term, bound, total = state
        term = term * ((a + k) / ((b + k) * (k + 1))) * x
        bound = bound * jnp.abs((size + k) / ((b + k) * (k + 1)) * x)
        total = total + term
        more = (bound > EPS * jnp.abs(total)) & (k < MOST_TURNS) & (bound < jnp.inf)
        more = more | (jnp.abs(b) + jnp.abs(a) > k) & (k < 1000) & (x != 0)
        return more, k + 1, term, bound, total

    one = jnp.ones_like(x)
    start = (meant, jnp.zeros_like(x), one, one, one)
    return lax.while_loop(lambda s: s[0], turn, start)[4]


class Hyp1f1(Loop):
    """Kummer's function."""

    def core(self, a: Any, b: Any, x: Any) -> Any:
        finite = (jnp.abs(x) < jnp.inf) & ~_is_pole(b)
        polynomial = _is_pole(a)
        below = (x < 0) & ~polynomial
        far = finite & below & ~_is_pole(b - a) & (-x > 60 + 2 * (a * a + b * b))
        series = finite & ~far
        first = jnp.where(below, b - a, a)
        found = _kummer(first, b, jnp.where(below, -x, x), series)
        value = jnp.where(below, found * jnp.exp(jnp.minimum(x, 0.0)), found)
        value = jnp.where(far, self._asymptotic(a, b, x, far), value)
        value = jnp.where((x == 0) | (a == 0), 1.0, value)
        value = jnp.where(_is_pole(b), jnp.inf, value)
        unknown = jnp.isnan(a) | jnp.isnan(b) | jnp.isnan(x)
        return jnp.where(unknown, jnp.nan, value)

    def _asymptotic(self, a: Any, b: Any, x: Any, meant: Any) -> Any:
        """Source: NIST DLMF 13.7.1, with Kummer's transformation."""
        z = jnp.where(meant, -x, 100.0)

        def turn(state: Any) -> Any:
            _, k, term, total = state
            term = term * (a + k) * (a - b + 1 + k) / ((k + 1) * z)
            more = (jnp.abs(term) > EPS * jnp.abs(total)) & (k < 50)
            return more, k + 1, term, total + term

        one = jnp.ones_like(z)
        start = (meant, jnp.zeros_like(z), one, one)
        total = lax.while_loop(lambda s: s[0], turn, start)[3]
        return _gamma(b) * _over_gamma(b - a) * jnp.exp(-a * jnp.log(z)) * total

    def derivative(self, ans: Any, a: Any, b: Any, x: Any) -> tuple[Any, ...]:
        a1, b1 = jnp.asarray(a), jnp.asarray(b)
        by_x = a1 / b1 * Hyp1f1()(a1 + 1, b1 + 1, x)
        return Slope(self, 0)(a, b, x), Slope(self, 1)(a, b, x), by_x


# -------------------------------------------------------------------- Gauss's function


def _gauss(a: Any, b: Any, c: Any, x: Any, meant: Any) -> Any:
    """Σ (a)ₖ(b)ₖ/(c)ₖ xᵏ/k!, which ends as `_kummer` does."""
    a, b, c = [jnp.where(meant, v, 1.0) for v in (a, b, c)]
    x = jnp.where(meant, x, 0.0)
    first, second = [lax.stop_gradient(jnp.abs(v)) + 0.5 for v in (a, b)]
    largest = jnp.abs(a) + jnp.abs(b) + jnp.abs(c)

    def turn(state: Any) -> Any:
        _, k, term, bound, total = state
        below = x / ((c + k) * (k + 1))
        term = term * ((a + k) * (b + k) * below)
        bound = bound * jnp.abs((first + k) * (second + k) * below)
        total = total + term
        more = (bound > EPS * jnp.abs(total)) & (k < MOST_TURNS)
        ended = (term == 0) & (k > largest)  # a polynomial, where bounds may grow
        more = (more | (largest > k) & (k < 1000) & (x != 0)) & ~ended
        return more & (bound < jnp.inf), k + 1, term, bound, total

    one = jnp.ones_like(x)
    start = (meant, jnp.zeros_like(x), one, one, one)
    return lax.while_loop(lambda s: s[0], turn, start)[4]


class Hyp2f1(Loop):
    """Gauss's hypergeometric function."""

    def core(self, a: Any, b: Any, c: Any, x: Any) -> Any:
        polynomial = _is_pole(a) | _is_pole(b)
        sound = ~_is_pole(c) & (jnp.abs(x) < jnp.inf)
        inside = sound & (polynomial | (x < 1))
        # Left of −1/2, by x/(x − 1).
        left = inside & ~polynomial & (x < -0.5)
        z = jnp.where(left, x / (x - 1), x)
        rest = jnp.where(left, 1 / (1 - x), 1 - x)
        second = jnp.where(left, c - b, b)
        excess = c - a - second
        parted = jnp.abs(excess - jnp.round(excess)) > 0.1
        near = inside & ~polynomial & (z > 0.9) & parted
        direct = _gauss(a, second, c, z, inside & ~near)
        value = jnp.where(near, self._near_one(a, second, c, rest, near), direct)
        value = jnp.where(left, value * jnp.exp(a * jnp.log(rest)), value)
        at_one = _gamma(c) * _gamma(c - a - b) * _over_gamma(c - a) * _over_gamma(c - b)
        at_one = jnp.where(c - a - b > 0, at_one, jnp.inf)
        value = jnp.where((x == 1) & ~polynomial, at_one, value)
        value = jnp.where((x > 1) & ~polynomial, jnp.nan, value)
        value = jnp.where(_is_pole(c), jnp.inf, value)
        value = jnp.where(x == 0, 1.0, value)
        unknown = jnp.isnan(a) | jnp.isnan(b) | jnp.isnan(c) | jnp.isnan(x)
        return jnp.where(unknown, jnp.nan, value)

    def _near_one(self, a: Any, b: Any, c: Any, rest: Any, meant: Any) -> Any:
        """Of 1 − x. Source: NIST DLMF 15.8.4."""
        s = jnp.where(meant, c - a - b, 0.5)
        rest = jnp.where(meant, rest, 0.5)
        one = _gauss(a, b, 1 - s, rest, meant)
        other = _gauss(c - a, c - b, 1 + s, rest, meant)
        first = _gamma(s) * _over_gamma(c - a) * _over_gamma(c - b) * one
        power = jnp.exp(s * jnp.log(rest))
        second = power * _gamma(-s) * _over_gamma(a) * _over_gamma(b) * other
        return _gamma(c) * (first + second)

    def derivative(self, ans: Any, *operands: Any) -> tuple[Any, ...]:
        a, b, c = [jnp.asarray(v) for v in operands[:3]]
        by_x = a * b / c * Hyp2f1()(a + 1, b + 1, c + 1, operands[3])
        return *[Slope(self, i)(*operands) for i in range(3)], by_x


# ------------------------------------------------------------------ the gamma function

_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156,
             -3617 / 122400)  # fmt: skip
_SHIFT = 10


def _right(z: Any) -> Any:
    """log Γ(z) for Re z >= 1/2, by Stirling's series of a number further right."""
    near = jnp.abs(z) < 12
    moved = jnp.where(near, z + _SHIFT, z)
    product, logarithm = jnp.ones_like(z), jnp.zeros_like(z)
    for k in range(_SHIFT):
        product = product * (jnp.where(near, z, 1.0) + k)
        if k % 2:  # the angle of two factors stays below π
            logarithm, product = logarithm + jnp.log(product), jnp.ones_like(z)
    inverse = 1 / moved
    square = inverse * inverse
    rest = jnp.zeros_like(z)
    for c in reversed(_STIRLING):
        rest = rest * square + c
    whole = (moved - 0.5) * jnp.log(moved) - moved + 0.5 * math.log(2 * math.pi)
    whole = whole + rest * inverse
    return jnp.where(near, whole - logarithm, whole)


class LogGamma(ComplexWide):
    """log Γ of complex numbers, continued from the positive ones; cut at the negative."""

    def core(self, z: Any) -> Any:
        x, y = z.real, z.imag
        upper = lax.complex(x, jnp.abs(y))
        left = x < 0.5
        right = _right(jnp.where(left, 1 - upper, upper))
        angle = 2 * math.pi * (x - jnp.round(x))
        height = -2 * math.pi * jnp.abs(y)
        # 1 − e^(2πiz), where nothing cancels near whole numbers.
        rest = lax.complex(
            2 * jnp.exp(height) * jnp.sin(0.5 * angle) ** 2 - jnp.expm1(height),
            -jnp.exp(height) * jnp.sin(angle),
        )
        # log sin(πz) in the upper half plane, without the constant log 2.
        sine = jnp.log(rest) - 1j * math.pi * (upper - 0.5)
        mirrored = math.log(2 * math.pi) - sine - right
        value = jnp.where(left, mirrored, right)
        value = jnp.where(jnp.signbit(y), value.conj(), value)
        pole = (y == 0) & _is_pole(x)
        return jnp.where(pole, jnp.inf + 0j, value)

    def derivative(self, ans: Any, z: Any) -> tuple[Any, ...]:
        return (ComplexDigamma()(z),)


class ComplexDigamma(ComplexWide):
    """The derivative of log Γ, of complex numbers."""

    def core(self, z: Any) -> Any:
        left = z.real < 0.5
        moved = jnp.where(left, 1 - z, z)
        total = jnp.zeros_like(z)
        for k in range(_SHIFT):
            total = total + 1 / (moved + k)
        far = moved + _SHIFT
        square = 1 / (far * far)
        rest = jnp.zeros_like(z)
        for k, c in reversed(list(enumerate(_STIRLING))):
            rest = rest * square - (2 * k + 1) * c
        right = jnp.log(far) - 0.5 / far + rest * square - total
        return jnp.where(left, right - math.pi / jnp.tan(math.pi * z), right)

    def derivative(self, ans: Any, z: Any) -> tuple[Any, ...]:
        raise NotImplementedError(
            "scipy.special.loggamma has first derivatives for complex numbers, and"
            " second ones for real numbers alone"
        )


# ------------------------------------------------------------------ Bessel functions


class BesselJ(Loop):
    """J of one whole order, from the recurrence downwards, and by Hankel's series."""

    order: int
    start: int

    def core(self, x: Any) -> Any:
        size = jnp.abs(x)
        far = size > 30 + 0.5 * self.order**2
        near = ~far & (size > 0)
        value = jnp.where(far, self._hankel(size, far), self._downwards(size, near))
        value = jnp.where(size == 0, float(self.order == 0), value)
        value = jnp.where(jnp.isinf(x), 0.0, jnp.where(jnp.isnan(x), x, value))
        return jnp.where(x < 0, (-1) ** self.order * value, value)

    def _downwards(self, x: Any, meant: Any) -> Any:
        """Miller's algorithm: J_(k-1) = 2k/x J_k - J_(k+1), and 1 = J₀ + 2(J₂ + …)."""
        x = jnp.where(meant, x, 1.0)
        first = jnp.ceil(jnp.maximum(x + 16 * jnp.cbrt(x), float(self.order)))
        first = jnp.maximum(first + 24, float(self.start))
        first = 2 * jnp.ceil(0.5 * first)

        def turn(state: Any) -> Any:
            k, above, value, total, found = state
            even = jnp.mod(k, 2) == 0
            total = total + jnp.where(even, 2 * value, 0.0)
            found = jnp.where(k == self.order, value, found)
            new = 2 * k / x * value - above
            scale = jnp.where(jnp.abs(new) > 1e200, 1e-200, 1.0)
            return k - 1, value * scale, new * scale, total * scale, found * scale

        none = jnp.zeros_like(x)
        start = (jnp.where(meant, first, 0.0), none, none + 1e-300, none, none)
        _, _, value, total, found = lax.while_loop(lambda s: s[0] > 0, turn, start)
        found = value if self.order == 0 else found
        return found / jnp.where(meant, total + value, 1.0)

    def _hankel(self, x: Any, meant: Any) -> Any:
        """Source: NIST DLMF 10.17.3."""
        x = jnp.where(meant & (x < jnp.inf), x, 30.0 + 0.5 * self.order**2)
        square = 4.0 * self.order**2

        def turn(state: Any) -> Any:
            _, k, term, p, q = state
            term = term * (square - (2 * k - 1) ** 2) / (8 * k * x)
            part = jnp.mod(k, 4)
            p = p + jnp.where(part == 0, term, jnp.where(part == 2, -term, 0.0))
            q = q + jnp.where(part == 1, term, jnp.where(part == 3, -term, 0.0))
            return (jnp.abs(term) > EPS) & (k < 60), k + 1, term, p, q

        one = jnp.ones_like(x)
        start = (meant, one, one, one, jnp.zeros_like(x))
        _, _, _, p, q = lax.while_loop(lambda s: s[0], turn, start)
        # cos and sin of x − (order/2 + 1/4)·π, without rounding the difference.
        c, s = jnp.cos(x), jnp.sin(x)
        for _ in range(self.order % 4):
            c, s = s, -c
        root = math.sqrt(0.5)
        c, s = root * (c + s), root * (s - c)
        return jnp.sqrt(2 / math.pi / x) * (p * c - q * s)

    def derivative(self, ans: Any, x: Any) -> tuple[Any, ...]:
        after = BesselJ(self.order + 1, self.start)(x)
        if not self.order:
            return (-after,)
        return (0.5 * (BesselJ(self.order - 1, self.start)(x) - after),)


# ---------------------------------------------------------------- spherical harmonics


class Legendre(Loop):
    """P(cos θ) of degree n and order m >= 0, normalised on the sphere."""

    def core(self, n: Any, m: Any, theta: Any) -> Any:
        n, m = lax.stop_gradient(n), lax.stop_gradient(m)
        x, y = jnp.cos(theta), jnp.sin(theta)

        def diagonal(state: Any) -> Any:
            k, value = state
            return k + 1, -value * y * jnp.sqrt((2 * k + 1) / (2 * k))

        one = jnp.ones_like(x)
        first = one / math.sqrt(4 * math.pi)
        _, value = lax.while_loop(lambda s: s[0] <= m, diagonal, (one, first))

        def upwards(state: Any) -> Any:
            k, before, value = state
            scale = jnp.sqrt((4 * k * k - 1) / (k * k - m * m))
            back = jnp.sqrt(((k - 1) ** 2 - m * m) / (4 * (k - 1) ** 2 - 1))
            return k + 1, value, scale * (x * value - back * before)

        start = (m + 1, jnp.zeros_like(x), value)
        value = lax.while_loop(lambda s: s[0] <= n, upwards, start)[2]
        valid = (n >= 0) & (m <= n) & (n == jnp.floor(n)) & (m == jnp.floor(m))
        return jnp.where(valid, value, jnp.nan)

    def derivative(self, ans: Any, n: Any, m: Any, theta: Any) -> tuple[Any, ...]:
        none = jnp.zeros_like(ans)
        return none, none, Slope(self, 2)(n, m, theta)


# ------------------------------------------------------------------ public functions


@apart
def hyp1f1(a: Any, b: Any, x: Any) -> Any:
    """Kummer's confluent hypergeometric function ₁F₁(a; b; x) = Σₖ (a)ₖ/(b)ₖ xᵏ/k!.

    ∞ where b is 0, −1, …. Within 1e-13 of the value for positive a and b − a; series
    with terms of both signs lose what cancels. TypeError for complex numbers.

    >>> from tetrad.scipy import special
    >>> special.hyp1f1(1.0, 2.0, 1.0).round(4)
    Array(1.7183, dtype=float32)
    """
    a, b, x = floats(a, b, x)
    return Hyp1f1()(real(a, "hyp1f1"), b, x)


@apart
def hyp2f1(a: Any, b: Any, c: Any, x: Any) -> Any:
    """Gauss's hypergeometric function ₂F₁(a, b; c; x) = Σₖ (a)ₖ(b)ₖ/(c)ₖ xᵏ/k!, for x ≤ 1.

    Continued to all x < 1; NaN for x > 1 unless a or b is 0, −1, …; ∞ where c is. Within
    1e-12 of the value where the terms of the series have one sign. TypeError for complex
    numbers.

    >>> from tetrad.scipy import special
    >>> special.hyp2f1(1.0, 1.0, 2.0, 0.5).round(4)
    Array(1.3863, dtype=float32)
    """
    a, b, c, x = floats(a, b, c, x)
    return Hyp2f1()(real(a, "hyp2f1"), b, c, x)


@apart
def loggamma(x: Any) -> Any:
    """log Γ(x), for complex numbers continued from the positive ones; NaN for real x < 0.

    For complex numbers its imaginary part is not bounded by π: it has no jumps but at the
    negative numbers. Within 1e-14 of max(1, |log Γ|) in double precision.

    >>> from tetrad.scipy import special
    >>> special.loggamma(3.0), special.loggamma(1 + 1j).round(4)
    (Array(0.6931472, dtype=float32), Array(-0.6509-0.3016j, dtype=complex64))
    """
    x = floats(x)
    if jnp.issubdtype(x.dtype, jnp.complexfloating):
        return LogGamma()(x)
    below = x < 0
    return jnp.where(below, jnp.nan, lax.lgamma(jnp.where(below, 1, x)))


def bernoulli(n: int) -> Any:
    """Bernoulli's numbers B₀, …, Bₙ, with B₁ = −1/2.

    x/(eˣ − 1) = Σ Bₖ xᵏ/k!. ValueError for a negative n.

    >>> from tetrad.scipy import special
    >>> special.bernoulli(4).round(4)
    Array([ 1.    , -0.5   ,  0.1667,  0.    , -0.0333], dtype=float32)
    """
    n = operator.index(n)
    if n < 0:
        raise ValueError(f"scipy.special.bernoulli: n must not be negative, got {n}")
    known = [fractions.Fraction(1)]
    for k in range(1, n + 1):
        total = sum(
            (math.comb(k + 1, i) * b for i, b in enumerate(known)), 0 * known[0]
        )
        known.append(-total / (k + 1))
    largest = float(np.finfo(np.float64).max)
    numbers = [float(b) if abs(b) < largest else math.inf * (1 if b > 0 else -1)
               for b in known]  # fmt: skip
    return jnp.asarray(np.array(numbers), dtype=jnp.result_type(float))


@apart
def bessel_jn(z: Any, *, v: int, n_iter: int = 50) -> Any:
    """J₀(z), …, Jᵥ(z), the Bessel functions of the first kind, stacked along a new first axis.

    Args:
      z: real numbers.
      v: the largest order.
      n_iter: the order from which the recurrence starts at least; it starts higher where
        `z` needs it.

    Within 1e-14 of max(|J|, √(2/πz)) in double precision. ValueError for a negative v.

    >>> from tetrad.scipy import special
    >>> special.bessel_jn(1.0, v=1).round(4)
    Array([0.7652, 0.4401], dtype=float32)
    """
    z = real(z, "bessel_jn")
    highest, start = operator.index(v), operator.index(n_iter)
    if highest < 0:
        raise ValueError(f"scipy.special.bessel_jn: v must not be negative, got {v}")
    return jnp.stack([BesselJ(k, start)(z) for k in range(highest + 1)])


@apart
def sph_harm_y(
    n: Any,
    m: Any,
    theta: Any,
    phi: Any,
    diff_n: int | None = None,
    n_max: int | None = None,
) -> Any:
    """The spherical harmonics Y(θ, φ) of degree n and order m, complex numbers.

    Y = √((2n + 1)/4π · (n − m)!/(n + m)!) · P(cos θ) · e^(imφ), P with the sign (−1)ᵐ.

    Args:
      n, m: whole numbers, n ≥ 0 and |m| ≤ n; NaN for others.
      theta: the angle from the pole, in [0, π].
      phi: the angle around it.
      diff_n: not available; differentiate the function.
      n_max: degrees above it count as it.

    Arguments broadcast. Derivatives by the angles.

    >>> from tetrad.scipy import special
    >>> special.sph_harm_y(1, 0, 0.0, 0.0).round(4)
    Array(0.4886+0.j, dtype=complex64)
    """
    if diff_n:
        raise NotImplementedError(
            "scipy.special.sph_harm_y: diff_n is not available; use jax.jvp or jax.grad"
            " of its real and imaginary part"
        )
    if n_max is not None:
        n = jnp.minimum(n, n_max)
    theta, phi, n, m = floats(theta, phi, n, m)
    size = jnp.abs(m)
    odd = (m < 0) & (jnp.mod(size, 2) != 0)
    value = Legendre()(lax.stop_gradient(n), lax.stop_gradient(size), theta)
    value = jnp.where(odd, -value, value)
    angle = lax.stop_gradient(m) * phi
    return lax.complex(value * jnp.cos(angle), value * jnp.sin(angle))
