"""Special functions that are loops: incomplete gamma and beta functions, their slopes.

In: floats. Out: floats of the same type; all is computed in double precision, element by
element, in loops that a machine keeps in registers. Each operation here states `core`, a
function of double scalars; what a user calls widens, runs the core in every lane, and
rounds once. `Slope` is the derivative of another operation by one operand: it runs the
core of that one forwards, so that derivatives exist to any order and in both modes.

Read `Wide`, `Loop` and `Slope`, then the incomplete gamma functions from `_parts` on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tetrad._src.control.loop import while_loop
from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import aval_of
from tetrad._src.core.op import Axis
from tetrad._src.lib import special_tables as tables
from tetrad._src.ops import elementwise as ops
from tetrad._src.ops import special
from tetrad._src.ops.convert import ConvertElementType
from tetrad._src.ops.families import Elementwise
from tetrad._src.ops.functions import binary, operands, unary
from tetrad._src.ops.identity import stop_gradient
from tetrad._src.ops.views import full, reshape
from tetrad._src.transforms.jvp import jvp_flat
from tetrad._src.transforms.vmap import vmap_flat
from tetrad._src.util.config import enable_x64

F64 = np.dtype(np.float64)
EPS = 2.0**-56  # terms below this part of a sum do not count
MOST_TURNS = 100_000


# -------------------------------------------------------- arithmetic of double scalars


def _number(value: float) -> Any:
    return F64.type(value)


def _all(*masks: Any) -> Any:
    found = masks[0]
    for mask in masks[1:]:
        found = ops.bitwise_and(found, mask)
    return found


def _some(*masks: Any) -> Any:
    found = masks[0]
    for mask in masks[1:]:
        found = ops.bitwise_or(found, mask)
    return found


def _pick(mask: Any, yes: Any, no: Any) -> Any:
    yes, no = [_number(x) if isinstance(x, (int, float)) else x for x in (yes, no)]
    return ops.select_n(mask, no, yes)


def _plus(x: Any, y: Any) -> Any:
    return ops.add(x, _number(y) if isinstance(y, (int, float)) else y)


def _times(x: Any, y: Any) -> Any:
    return ops.mul(x, _number(y) if isinstance(y, (int, float)) else y)


def _polynomial(x: Any, coefficients: Sequence[float]) -> Any:
    """Σ cₖ xᵏ."""
    total: Any = _number(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        total = _plus(ops.mul(total, x), c)
    return total


def _clear(x: Any) -> Any:
    """x, kept away from 0, by which continued fractions divide."""
    return _pick(ops.lt(ops.abs(x), _number(1e-300)), 1e-300, x)


# --------------------------------------------------------------- operations with a core


class Wide(Elementwise):
    """An elementwise operation that is `core`, a function of doubles."""

    accepts = "f"

    def core(self, *xs: Any) -> Any:
        raise NotImplementedError

    def expand(self, *xs: Any) -> Any:
        out = self.type(*[aval_of(x) for x in xs])
        wide = [ConvertElementType(F64)(x) for x in xs]
        with enable_x64(True):
            found = self.doubles(out.shape, wide)
            return ConvertElementType(out.dtype)(found)

    def doubles(self, shape: tuple[int, ...], xs: list[Any]) -> Any:
        """The results in double precision."""
        return self.core(*xs)


class Loop(Wide):
    """The same for a `core` of scalars, which each element goes through by itself."""

    def derivative(self, ans: Any, *xs: Any) -> tuple[Any, ...]:
        return tuple([Slope(self, i)(*xs) for i in range(len(xs))])

    def doubles(self, shape: tuple[int, ...], xs: list[Any]) -> Any:
        if not shape:
            return self.core(*xs)
        size = math.prod(shape)
        if not size:
            return full(shape, 0, F64)
        xs = [reshape(x, (size,)) if aval_of(x).ndim else x for x in xs]
        axes = [0 if aval_of(x).ndim else None for x in xs]
        (found,), _ = vmap_flat(lambda *lane: [self.core(*lane)], Axis(size), xs, axes)
        return reshape(found, shape)


class Slope(Loop):
    """The derivative of an operation by its operand `by`."""

    of: Loop
    by: int

    def type(self, *avals: Aval) -> Aval:
        found: Aval = self.of.type(*avals)
        return found

    def core(self, *xs: Any) -> Any:
        tangents = [_number(1) if i == self.by else None for i in range(len(xs))]
        (out,), (slope,) = jvp_flat(lambda *ys: [self.of.core(*ys)], xs, tangents)
        return _times(out, 0) if slope is None else slope


# ------------------------------------------------------------ incomplete gamma functions
#
# With D = xᵃ e⁻ˣ / Γ(a + 1): P = D·S with a series S, Q = D·a·C with a continued fraction
# C, and for large a near x, Q = ½ erfc(y) + e^(-y²) R with a double series R.

_FEW = 1.1  # up to here Q has a formula of its own for a < 1
_LARGE = 200.0
_NEAR = 0.3
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)


def _stirling_rest(a: Any) -> Any:
    """log Γ(a + 1) - (½ log 2πa + a log a - a)."""
    large = ops.ge(a, _number(10))
    safe = _pick(large, a, 10.0)
    inverse = ops.div(_number(1), safe)
    series = ops.mul(inverse, _polynomial(ops.mul(inverse, inverse), _STIRLING))
    logarithm = ops.log(a)
    direct = ops.sub(
        special.lgamma(_plus(a, 1)),
        ops.add(
            _times(_plus(logarithm, math.log(2 * math.pi)), 0.5),
            ops.mul(a, _plus(logarithm, -1)),
        ),
    )
    return _pick(large, series, direct)


def _excess_over_square(t: Any) -> Any:
    """(t - log(1 + t)) / t², for |t| <= ½: smooth at 0."""
    below = _plus(t, 2)
    u = ops.div(t, below)
    series = _polynomial(ops.mul(u, u), [1 / k for k in range(3, 37, 2)])
    inner = ops.div(
        _times(ops.mul(t, series), 2), ops.mul(below, ops.mul(below, below))
    )
    return ops.sub(ops.div(_number(1), below), inner)


def _excess(t: Any, ratio: Any) -> Any:
    """ratio - 1 - log(ratio), where t = ratio - 1 is known better."""
    near = ops.lt(ops.abs(t), _number(0.5))
    small = _pick(near, t, 0.0)
    direct = ops.sub(t, ops.log(ratio))
    return _pick(
        near, ops.mul(ops.mul(small, small), _excess_over_square(small)), direct
    )


class _Parts(NamedTuple):
    """Where (a, x) lies, and the sums that are meant there; the others are 1."""

    low: Any  # the series is for here,
    high: Any  # the continued fraction here,
    wide: Any  # and the uniform expansion here
    series: Any
    fraction: Any


def _parts(a: Any, x: Any) -> _Parts:
    t = ops.div(ops.sub(x, a), a)
    wide = _all(ops.ge(a, _number(_LARGE)), ops.le(ops.abs(t), _number(_NEAR)))
    below = ops.lt(x, _pick(ops.lt(a, _number(1)), _FEW, _plus(a, 1)))
    low = _all(below, ops.bitwise_not(wide))
    high = _all(
        ops.bitwise_not(below),
        ops.bitwise_not(wide),
        ops.lt(x, _number(math.inf)),
    )
    return _Parts(
        low, high, wide, _gamma_series(a, x, low), _gamma_fraction(a, x, high)
    )


def _gamma_series(a: Any, x: Any, meant: Any) -> Any:
    """S = Σ xⁿ / ((a + 1)…(a + n)). Source: NIST DLMF 8.11.4."""

    def turn(carry: Any) -> Any:
        _, n, term, total = carry
        term = ops.mul(term, ops.div(x, ops.add(a, n)))
        total = ops.add(total, term)
        more = ops.gt(term, _times(total, EPS))
        return _all(more, ops.lt(n, _number(MOST_TURNS))), _plus(n, 1), term, total

    one = _number(1)
    start = (meant, one, one, one)
    return while_loop(lambda carry: carry[0], turn, start)[3]


def _gamma_fraction(a: Any, x: Any, meant: Any) -> Any:
    """C = Γ(a, x) eˣ / xᵃ. Source: NIST DLMF 8.9.2, by the method of Lentz.

    For a whole a it ends early, but its derivative by a does not: another fraction, of
    a - ½, says how long that takes.
    """

    def step(a: Any, n: Any, c: Any, d: Any) -> tuple[Any, Any, Any]:
        numerator = ops.mul(n, ops.sub(a, n))
        b = ops.add(ops.sub(_plus(x, 1), a), _times(n, 2))
        d = ops.div(_number(1), _clear(ops.add(ops.mul(numerator, d), b)))
        c = _clear(ops.add(b, ops.div(numerator, c)))
        return c, d, ops.mul(c, d)

    def turn(carry: Any) -> Any:
        _, n, c, d, value, c_half, d_half = carry
        c, d, change = step(a, n, c, d)
        c_half, d_half, other = step(half, n, c_half, d_half)
        more = _all(
            _some(_moves(change), _moves(other)), ops.lt(n, _number(MOST_TURNS))
        )
        return more, _plus(n, 1), c, d, ops.mul(value, change), c_half, d_half

    half = stop_gradient(_plus(a, -0.5))
    far = _number(1e300)
    first, first_half = [
        ops.div(_number(1), _clear(ops.sub(_plus(x, 1), z))) for z in (a, half)
    ]
    start = (meant, _number(1), far, first, first, far, first_half)
    return while_loop(lambda carry: carry[0], turn, start)[4]


def _moves(change: Any) -> Any:
    """Whether a factor of a continued fraction is not 1 yet."""
    return ops.gt(ops.abs(_plus(change, -1)), _number(EPS * 4))


def _upper_of_few(a: Any, x: Any, meant: Any) -> Any:
    """Q for a < 1 and x <= 1.1, where P may be almost 1. Source: NIST DLMF 8.7.1."""

    def turn(carry: Any) -> Any:
        _, n, power, total = carry
        power = ops.div(ops.mul(power, ops.neg(x)), n)
        total = ops.add(total, ops.div(power, ops.add(a, n)))
        return ops.gt(ops.abs(power), _number(EPS)), _plus(n, 1), power, total

    start = (meant, _number(1), _number(1), _number(0))
    rest = while_loop(lambda carry: carry[0], turn, start)[3]
    small = ops.lt(a, _number(0.125))
    series = ops.mul(a, _polynomial(_pick(small, a, 0.0), tables.LOG_GAMMA_NEAR_ONE))
    log_gamma = _pick(small, series, special.lgamma(_plus(a, 1)))
    exponent = ops.sub(ops.mul(a, ops.log(x)), log_gamma)
    rest = ops.mul(ops.mul(ops.exp(exponent), a), rest)
    return ops.neg(ops.add(ops.expm1(exponent), rest))


def _front(a: Any, x: Any) -> Any:
    """D = xᵃ e⁻ˣ / Γ(a + 1)."""
    direct = ops.sub(ops.sub(ops.mul(a, ops.log(x)), x), special.lgamma(_plus(a, 1)))
    ratio = ops.div(x, a)
    excess = _excess(ops.div(ops.sub(x, a), a), ratio)
    exponent = ops.neg(ops.add(ops.mul(a, excess), _stirling_rest(a)))
    large = ops.gt(a, _number(10))
    root = ops.sqrt(_times(_pick(large, a, 1.0), 2 * math.pi))
    return _pick(large, ops.div(ops.exp(exponent), root), ops.exp(direct))


def _uniform(a: Any, x: Any) -> tuple[Any, Any]:
    """y and R of the uniform expansion. Source: NIST DLMF 8.12.

    y² = a (λ - 1 - log λ) with λ = x/a, y of the sign of λ - 1.
    """
    t = ops.div(ops.sub(x, a), a)
    t = ops.clamp(_number(-0.5), t, _number(0.5))
    eta = ops.mul(t, ops.sqrt(_times(_excess_over_square(t), 2)))
    a = ops.max(a, _number(1))
    inverse = ops.div(_number(1), a)
    total: Any = _number(0)
    for row in reversed(tables.TEMME):
        total = ops.add(ops.mul(total, inverse), _polynomial(eta, row))
    rest = ops.div(total, ops.sqrt(_times(a, 2 * math.pi)))
    return ops.mul(eta, ops.sqrt(_times(a, 0.5))), rest


def _gamma_pair(a: Any, x: Any) -> tuple[Any, Any]:
    """P and Q, each accurate where it is small."""
    parts = _parts(a, x)
    front = _front(a, x)
    lower = ops.mul(front, parts.series)
    upper = ops.mul(ops.mul(front, a), parts.fraction)
    p = _pick(parts.high, ops.sub(_number(1), upper), lower)
    q = _pick(parts.high, upper, ops.sub(_number(1), lower))
    few = _all(parts.low, ops.lt(a, _number(1)), ops.gt(x, _number(0)))
    q = _pick(few, _upper_of_few(a, x, few), q)
    y, rest = _uniform(a, x)
    rest = ops.mul(ops.exp(ops.neg(ops.mul(y, y))), rest)
    p = _pick(parts.wide, ops.sub(_times(special.erfc(ops.neg(y)), 0.5), rest), p)
    q = _pick(parts.wide, ops.add(_times(special.erfc(y), 0.5), rest), q)
    return _gamma_edges(a, x, p, q)


def _gamma_edges(a: Any, x: Any, p: Any, q: Any) -> tuple[Any, Any]:
    zero, infinity = _number(0), _number(math.inf)
    none = _some(ops.eq(x, zero), ops.eq(a, infinity))
    every = _some(ops.eq(x, infinity), ops.eq(a, zero))
    wrong = _some(
        ops.lt(a, zero),
        ops.lt(x, zero),
        ops.ne(a, a),
        ops.ne(x, x),
        _all(none, every),
    )
    p = _pick(wrong, math.nan, _pick(none, 0.0, _pick(every, 1.0, p)))
    q = _pick(wrong, math.nan, _pick(none, 1.0, _pick(every, 0.0, q)))
    return p, q


class Igamma(Loop):
    """The regularised lower incomplete gamma function, elementwise.

    P(a, x) = 1/Γ(a) ∫₀ˣ tᵃ⁻¹ e⁻ᵗ dt. NaN for a < 0 or x < 0. Raises TypeError for all
    dtypes but floats, and different dtypes or shapes. Source: NIST DLMF 8.2.4.

    >>> from tetrad import lax
    >>> lax.igamma(1.0, 1.0)
    Array(0.63212055, dtype=float32, weak_type=True)
    """

    def core(self, a: Any, x: Any) -> Any:
        return _gamma_pair(a, x)[0]

    def derivative(self, ans: Any, a: Any, x: Any) -> tuple[Any, ...]:
        return igamma_grad_a(a, x), GammaDensity()(a, x)


class Igammac(Loop):
    """The regularised upper incomplete gamma function, elementwise.

    Q(a, x) = 1 - P(a, x), accurate where it is small; see `igamma`. NaN for a < 0 or
    x < 0. Raises TypeError for all dtypes but floats, and different dtypes or shapes.

    >>> from tetrad import lax
    >>> lax.igammac(1.0, 1.0)
    Array(0.36787945, dtype=float32, weak_type=True)
    """

    def core(self, a: Any, x: Any) -> Any:
        return _gamma_pair(a, x)[1]

    def derivative(self, ans: Any, a: Any, x: Any) -> tuple[Any, ...]:
        return ops.neg(igamma_grad_a(a, x)), ops.neg(GammaDensity()(a, x))


class GammaDensity(Loop):
    """xᵃ⁻¹ e⁻ˣ / Γ(a), elementwise: the derivative of P by x."""

    def core(self, a: Any, x: Any) -> Any:
        density = ops.div(ops.mul(_front(a, x), a), x)
        at_zero = _pick(ops.lt(a, _number(1)), math.inf, 0.0)
        at_zero = _pick(ops.eq(a, _number(1)), 1.0, at_zero)
        density = _pick(ops.eq(x, _number(0)), at_zero, density)
        return _pick(ops.eq(x, _number(math.inf)), 0.0, density)


class IgammaGradA(Loop):
    """∂P(a, x)/∂a of the regularised lower incomplete gamma function, elementwise.

    NaN for a <= 0 or x < 0. Raises TypeError for all dtypes but floats, and different
    dtypes or shapes.

    >>> from tetrad import lax
    >>> lax.igamma_grad_a(1.0, 1.0)
    Array(-0.4317297, dtype=float32, weak_type=True)
    """

    def core(self, a: Any, x: Any) -> Any:
        density = GammaDensity().core(a, x)
        slope = ops.neg(ops.mul(ops.mul(density, x), _log_slope(a, ops.log(x))))
        ends = _some(ops.eq(x, _number(0)), ops.eq(x, _number(math.inf)))
        slope = _pick(ends, 0.0, slope)
        return _pick(
            _some(ops.lt(x, _number(0)), ops.le(a, _number(0))), math.nan, slope
        )


def _log_slope(a: Any, log_x: Any) -> Any:
    """∂ log x/∂a at constant P(a, x): how a gamma draw moves with its concentration.

    -∂P/∂a over x·∂P/∂x, in which the factors that underflow have been cancelled.
    """
    x = ops.exp(log_x)
    (low, high, wide, series, fraction), (*_, by_series, by_fraction) = _with_slopes(
        a, x
    )
    # By the series: -(S (log x - ψ(a + 1)) + S') / a.
    centred = ops.sub(log_x, special.digamma(_plus(a, 1)))
    below = ops.div(ops.add(ops.mul(series, centred), by_series), ops.neg(a))
    # By the continued fraction: C (log x - ψ(a)) + C'.
    centred = ops.sub(log_x, special.digamma(a))
    above = ops.add(ops.mul(fraction, centred), by_fraction)
    found = _pick(high, above, below)

    def uniform(a: Any) -> list[Any]:
        return list(_uniform(a, x))

    (y, rest), (y_slope, rest_slope) = jvp_flat(uniform, [a], [_number(1)])
    # d/da of Q = ½ erfc(y) + e^(-y²) R, over e^(-y²).
    slope = ops.sub(rest_slope, _times(ops.mul(ops.mul(y, y_slope), rest), 2))
    slope = ops.sub(slope, _times(y_slope, 1 / math.sqrt(math.pi)))
    # x·∂P/∂x over e^(-y²).
    density = ops.mul(
        ops.sqrt(_times(ops.max(a, _number(1)), 1 / (2 * math.pi))),
        ops.exp(ops.neg(_stirling_rest(ops.max(a, _number(10))))),
    )
    return _pick(wide, ops.div(slope, density), found)


def _with_slopes(a: Any, x: Any) -> tuple[_Parts, list[Any]]:
    """The parts, and their derivatives by a."""
    outs, slopes = jvp_flat(lambda a: list(_parts(a, x)), [a], [_number(1)])
    zero = _number(0)
    return _Parts(*outs), [zero if slope is None else slope for slope in slopes]


class RandomGammaGrad(Loop):
    """How a gamma draw x moves with its concentration: ∂x/∂a at constant P(a, x).

    0 where x is 0; NaN for a <= 0 or x < 0. Raises TypeError for all dtypes but floats,
    and different dtypes or shapes. Source: Figurnov, Mohamed and Mnih, "Implicit
    reparameterization gradients", 2018.

    >>> from tetrad import lax
    >>> lax.random_gamma_grad(1.0, 1.0)
    Array(1.173563, dtype=float32, weak_type=True)
    """

    def core(self, a: Any, x: Any) -> Any:
        slope = ops.mul(x, _log_slope(a, ops.log(x)))
        slope = _pick(ops.eq(x, _number(0)), 0.0, slope)
        wrong = _some(ops.lt(x, _number(0)), ops.le(a, _number(0)))
        return _pick(wrong, math.nan, slope)


class LogGammaGrad(Loop):
    """How the logarithm of a gamma draw moves with its concentration."""

    def core(self, a: Any, log_x: Any) -> Any:
        slope = _log_slope(a, log_x)
        return _pick(ops.le(a, _number(0)), math.nan, slope)


# ------------------------------------------------------------- incomplete beta function


class Betainc(Loop):
    """The regularised incomplete beta function, elementwise.

    I(a, b, x) = 1/B(a, b) ∫₀ˣ tᵃ⁻¹ (1 - t)ᵇ⁻¹ dt. NaN for negative a or b, and x outside
    [0, 1]. Raises TypeError for all dtypes but floats, and different dtypes or shapes.
    Source: NIST DLMF 8.17.2.

    >>> from tetrad import lax
    >>> lax.betainc(2.0, 2.0, 0.5)
    Array(0.5, dtype=float32, weak_type=True)
    """

    name = "regularized_incomplete_beta"
    public = "betainc"

    def core(self, a: Any, b: Any, x: Any) -> Any:
        y = ops.sub(_number(1), x)
        zero, one, infinity = _number(0), _number(1), _number(math.inf)
        centre = ops.div(_plus(a, 1), _plus(ops.add(a, b), 2))
        turned = ops.gt(x, centre)
        inside = _all(ops.gt(x, zero), ops.lt(x, one), ops.gt(a, zero), ops.gt(b, zero))
        inside = _all(inside, ops.lt(a, infinity), ops.lt(b, infinity))
        a1, b1 = _pick(turned, b, a), _pick(turned, a, b)
        x1, y1 = _pick(turned, y, x), _pick(turned, x, y)
        fraction = _beta_fraction(a1, b1, x1, inside)
        part = ops.div(ops.mul(_beta_front(a1, b1, x1, y1), fraction), a1)
        value = _pick(turned, ops.sub(one, part), part)
        return self._edges(a, b, x, value)

    def _edges(self, a: Any, b: Any, x: Any, value: Any) -> Any:
        """All of the mass is at 0 for a = 0 or b = ∞, at 1 for b = 0 or a = ∞."""
        zero, one, infinity = _number(0), _number(1), _number(math.inf)
        left = _some(ops.eq(a, zero), ops.eq(b, infinity))
        right = _some(ops.eq(b, zero), ops.eq(a, infinity))
        value = _pick(left, 1.0, _pick(right, 0.0, value))
        value = _pick(ops.eq(x, zero), 0.0, _pick(ops.eq(x, one), 1.0, value))
        wrong = _some(ops.lt(a, zero), ops.lt(b, zero), ops.lt(x, zero), ops.gt(x, one))
        wrong = _some(wrong, ops.ne(a, a), ops.ne(b, b), ops.ne(x, x))
        return _pick(_some(wrong, _all(left, right)), math.nan, value)

    def derivative(self, ans: Any, a: Any, b: Any, x: Any) -> tuple[Any, ...]:
        return Slope(self, 0)(a, b, x), Slope(self, 1)(a, b, x), BetaDensity()(a, b, x)


class BetaDensity(Loop):
    """xᵃ⁻¹ (1 - x)ᵇ⁻¹ / B(a, b), elementwise: the derivative of I by x."""

    def core(self, a: Any, b: Any, x: Any) -> Any:
        y = ops.sub(_number(1), x)
        one = _number(1)
        density = ops.div(_beta_front(a, b, x, y), ops.mul(x, y))
        for at, power, other in ((x, a, b), (y, b, a)):
            end = _pick(ops.lt(power, one), math.inf, 0.0)
            end = _pick(ops.eq(power, one), other, end)
            density = _pick(ops.eq(at, _number(0)), end, density)
        return density


def _beta_front(a: Any, b: Any, x: Any, y: Any) -> Any:
    """xᵃ yᵇ / B(a, b) with y = 1 - x, by the distances of x and y from their means."""
    total = ops.add(a, b)
    difference = ops.sub(ops.mul(x, b), ops.mul(y, a))
    at_x = _excess(ops.div(difference, a), ops.div(ops.mul(x, total), a))
    at_y = _excess(ops.div(ops.neg(difference), b), ops.div(ops.mul(y, total), b))
    exponent = ops.sub(
        _stirling_rest(total), ops.add(_stirling_rest(a), _stirling_rest(b))
    )
    exponent = ops.sub(exponent, ops.add(ops.mul(a, at_x), ops.mul(b, at_y)))
    scale = ops.mul(_times(a, 1 / (2 * math.pi)), ops.div(b, total))
    return ops.mul(ops.exp(exponent), ops.sqrt(scale))


def _beta_fraction(a: Any, b: Any, x: Any, meant: Any) -> Any:
    """The continued fraction, two steps a turn. Source: NIST DLMF 8.17.22, by Lentz.

    For a whole b it ends early, but its derivatives do not; see `_gamma_fraction`.
    """
    one = _number(1)

    def step(numerator: Any, c: Any, d: Any, value: Any) -> tuple[Any, ...]:
        d = ops.div(one, _clear(_plus(ops.mul(numerator, d), 1)))
        c = _clear(_plus(ops.div(numerator, c), 1))
        change = ops.mul(c, d)
        return c, d, ops.mul(value, change), change

    def steps(b: Any, m: Any, c: Any, d: Any, value: Any) -> tuple[Any, ...]:
        place = ops.add(a, _times(m, 2))
        top = ops.mul(ops.mul(m, ops.sub(b, m)), x)
        even = ops.div(top, ops.mul(_plus(place, -1), place))
        c, d, value, _ = step(even, c, d, value)
        total = ops.add(ops.add(a, b), m)
        top = ops.mul(ops.mul(ops.add(a, m), total), x)
        odd = ops.div(ops.neg(top), ops.mul(place, _plus(place, 1)))
        return step(odd, c, d, value)

    def turn(carry: Any) -> Any:
        _, m, c, d, value, c_half, d_half = carry
        c, d, value, change = steps(b, m, c, d, value)
        c_half, d_half, _, other = steps(half, m, c_half, d_half, one)
        more = _all(
            _some(_moves(change), _moves(other)), ops.lt(m, _number(MOST_TURNS))
        )
        return more, _plus(m, 1), c, d, value, c_half, d_half

    half = stop_gradient(_plus(b, -0.5))
    # The first step, of numerator -(a + b) x / (a + 1).
    d, d_half = [
        ops.div(
            one,
            _clear(_plus(ops.div(ops.mul(ops.add(a, z), ops.neg(x)), _plus(a, 1)), 1)),
        )
        for z in (b, half)
    ]
    start = (meant, one, one, d, d, one, d_half)
    return while_loop(lambda carry: carry[0], turn, start)[4]


# --------------------------------------------------------------------- Bessel functions


class _Bessel(Wide):
    order: ClassVar[int]
    series: ClassVar[tuple[float, ...]]
    far: ClassVar[tuple[float, ...]]

    def core(self, x: Any) -> Any:
        """e^(-|x|) I(x): a power series, or a polynomial of 1/x over √x."""
        size = ops.abs(x)
        near = ops.le(size, _number(tables.BESSEL_NEAR))
        inner = _pick(near, size, 0.0)
        half = _times(inner, 0.5)
        small = ops.mul(
            _polynomial(ops.mul(half, half), self.series), ops.exp(ops.neg(inner))
        )
        if self.order:
            small = ops.mul(small, half)
        outer = _pick(near, tables.BESSEL_NEAR, size)
        place = _plus(ops.div(_number(2 * tables.BESSEL_NEAR), outer), -1)
        large = ops.div(_polynomial(place, self.far), ops.sqrt(outer))
        value = _pick(near, small, large)
        if self.order:
            value = ops.mul(ops.sign(x), value)
        return _pick(ops.ne(x, x), math.nan, value)


class BesselI0e(_Bessel):
    """e^(-|x|) I₀(x), the scaled modified Bessel function of order 0, elementwise.

    Raises TypeError for all dtypes but floats. Source: NIST DLMF 10.25.2.

    >>> from tetrad import lax
    >>> lax.bessel_i0e(1.0)
    Array(0.4657596, dtype=float32, weak_type=True)
    """

    name = "bessel_i0e"
    order = 0
    series = tables.I0_SERIES
    far = tables.I0_FAR

    def derivative(self, ans: Any, x: Any) -> tuple[Any, ...]:
        return (ops.sub(bessel_i1e(x), ops.mul(ops.sign(x), ans)),)


class BesselI1e(_Bessel):
    """e^(-|x|) I₁(x), the scaled modified Bessel function of order 1, elementwise.

    Raises TypeError for all dtypes but floats. Source: NIST DLMF 10.25.2.

    >>> from tetrad import lax
    >>> lax.bessel_i1e(1.0)
    Array(0.20791042, dtype=float32, weak_type=True)
    """

    name = "bessel_i1e"
    order = 1
    series = tables.I1_SERIES
    far = tables.I1_FAR

    def derivative(self, ans: Any, x: Any) -> tuple[Any, ...]:
        """I₀e - I₁e (sign(x) + 1/x), and ½ at 0."""
        dtype = aval_of(x).dtype
        zero = ops.eq(x, dtype.type(0))
        safe = ops.select_n(zero, x, ops.add(x, dtype.type(1)))
        inverse = ops.add(ops.sign(x), ops.div(dtype.type(1), safe))
        slope = ops.sub(bessel_i0e(x), ops.mul(ans, inverse))
        half = ops.add(ops.mul(ans, dtype.type(0)), dtype.type(0.5))
        return (ops.select_n(zero, slope, half),)


# ------------------------------------------------------------------ public functions

igamma = binary(Igamma)
igammac = binary(Igammac)
igamma_grad_a = binary(IgammaGradA)
random_gamma_grad = binary(RandomGammaGrad)
bessel_i0e = unary(BesselI0e)
bessel_i1e = unary(BesselI1e)


def betainc(a: Any, b: Any, x: Any) -> Any:
    return Betainc()(*operands("betainc", [a, b, x]))


betainc.__doc__ = Betainc.__doc__
