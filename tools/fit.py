"""Fit the polynomials of the vector math library and print its coefficient module.

    python tools/fit.py > tetrad/_src/cpu/coefficients.py

Needs mpmath. Two methods. `minimax` minimises the largest weighted error by reweighted
least squares (Lawson's algorithm), rounding the coefficients to the format one at a time,
lowest power first, and fitting the rest again around each. `interpolate` takes the
polynomial through the Chebyshev nodes, in 60 digits; it serves long polynomials in double
precision, for which least squares in extended precision are too coarse.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import mpmath as mp
import numpy as np

mp.mp.dps = 60

Function = Callable[[Any], Any]


def nodes(low: Any, high: Any, count: int) -> list[Any]:
    """The Chebyshev nodes of an interval."""
    middle, radius = (high + low) / 2, (high - low) / 2
    return [
        middle + radius * mp.cos(mp.pi * (k + mp.mpf("0.5")) / count)
        for k in range(count)
    ]


def interpolate(f: Function, low: Any, high: Any, count: int) -> list[Any]:
    """Coefficients of the polynomial through `count` Chebyshev nodes."""
    points = nodes(low, high, count)
    # Newton's divided differences, then expansion into powers.
    table = [f(x) for x in points]
    for step in range(1, count):
        for k in range(count - 1, step - 1, -1):
            table[k] = (table[k] - table[k - 1]) / (points[k] - points[k - step])
    powers = [mp.mpf(0)] * count
    for value, point in zip(reversed(table), reversed(points), strict=True):
        shifted = [mp.mpf(0), *powers[:-1]]
        powers = [s - point * p for s, p in zip(shifted, powers, strict=True)]
        powers[0] += value
    return powers


def least_squares(columns: Any, target: Any) -> Any:
    """Least squares in extended precision by Gram-Schmidt, twice for accuracy."""
    count = columns.shape[1]
    basis = columns.copy()
    triangle = np.zeros((count, count), np.longdouble)
    for i in range(count):
        for _ in range(2):
            for j in range(i):
                overlap = (basis[:, j] * basis[:, i]).sum()
                triangle[j, i] += overlap
                basis[:, i] -= overlap * basis[:, j]
        triangle[i, i] = np.sqrt((basis[:, i] ** 2).sum())
        basis[:, i] /= triangle[i, i]
    projected = (basis * target[:, None]).sum(0)
    solution = np.zeros(count, np.longdouble)
    for i in range(count - 1, -1, -1):
        known = (triangle[i, i + 1 :] * solution[i + 1 :]).sum()
        solution[i] = (projected[i] - known) / triangle[i, i]
    return solution


def lawson(points: Any, target: Any, weights: Any, powers: Sequence[int]) -> Any:
    """The polynomial with the smallest largest weighted error."""
    emphasis = np.ones(len(points), np.longdouble)
    best, best_error = None, None
    for _ in range(60):
        scale = np.sqrt(emphasis) * weights
        columns = np.stack([points**p for p in powers], 1)
        found = least_squares(columns * scale[:, None], target * scale)
        error = np.abs(weights * (target - columns @ found))
        if best_error is None or error.max() < best_error:
            best, best_error = found, error.max()
        emphasis = emphasis * (error + 1e-3 * error.max())
        emphasis /= emphasis.sum()
    return best


def extended(values: Sequence[Any]) -> Any:
    return np.array([np.longdouble(mp.nstr(v, 30)) for v in values])


def minimax(
    f: Function, low: Any, high: Any, count: int, weight: Function, format: Any
) -> list[float]:
    """Coefficients of a format (np.float32 or np.float64), rounded one at a time."""
    where = nodes(low, high, 400)
    points, target = extended(where), extended([f(x) for x in where])
    weights = extended([weight(x) for x in where])
    done: list[float] = []
    for power in range(count):
        found = lawson(points, target, weights, range(power, count))
        rounded = float(format(found[0]))
        done.append(rounded)
        target = target - np.longdouble(rounded) * points**power
    return done


@dataclass(frozen=True)
class Fit:
    """One table of the module: a name, a comment, and how to compute it."""

    name: str
    comment: str
    function: Function
    low: Any
    high: Any
    count: int
    method: str = "f64"
    weight: Function = lambda x: mp.mpf(1)

    def coefficients(self) -> list[float]:
        low, high = mp.mpf(self.low), mp.mpf(self.high)
        if self.method == "interpolate":
            return [float(c) for c in interpolate(self.function, low, high, self.count)]
        format = np.float32 if self.method == "f32" else np.float64
        return minimax(self.function, low, high, self.count, self.weight, format)

    def bits(self, coefficients: Sequence[float]) -> float:
        """The largest weighted error, as a number of correct bits."""
        low, high = mp.mpf(self.low), mp.mpf(self.high)
        worst = mp.mpf(0)
        exact = [mp.mpf(c) for c in reversed(coefficients)]
        for x in nodes(low, high, 301):
            error = self.weight(x) * (self.function(x) - mp.polyval(exact, x))
            worst = max(worst, abs(error))
        return float(-mp.log(worst, 2))


def smooth(f: Function, at_zero: Any, slope: Any = 0) -> Function:
    """`f`, replaced near 0, where its formula is 0/0, by its Taylor polynomial."""
    return lambda x: f(x) if abs(x) > 1e-15 else mp.mpf(at_zero) + slope * x


def exp_tail(r: Any) -> Any:
    return (mp.exp(r) - 1 - r) / r**2


def log_tail(f: Any) -> Any:
    return (mp.log(1 + f) - f + f * f / 2) / f**3


def atanh_tail(z: Any) -> Any:
    s = mp.sqrt(z)
    return (2 * mp.atanh(s) - 2 * s) / s**3


def odd_tail(f: Function) -> Function:
    """(f(√z)/√z − 1)/z for an odd function with slope 1."""
    return lambda z: (f(mp.sqrt(z)) / mp.sqrt(z) - 1) / z


def cos_tail(z: Any) -> Any:
    return ((mp.cos(mp.sqrt(z)) - 1) / z + mp.mpf(1) / 2) / z


def relative_to(f: Function) -> Function:
    """The weight that makes the error of an odd function's tail relative."""
    return lambda z: z * mp.sqrt(z) / f(mp.sqrt(z)) if z > 0 else mp.mpf(0)


def erf_tail(z: Any) -> Any:
    return mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1


def log2_erfc(t: Any) -> Any:
    return mp.log(mp.erfc(t), 2)


ERFC_CENTRE = mp.mpf(2)


def scaled_erfc(q: Any) -> Any:
    """erfc(x)·exp(x²)·(x + K) for q = (x − K)/(x + K)."""
    x = ERFC_CENTRE * (1 + q) / (1 - q)
    return mp.erfc(x) * mp.exp(x * x) * (x + ERFC_CENTRE)


def erfc_argument(x: Any) -> Any:
    return (mp.mpf(x) - ERFC_CENTRE) / (mp.mpf(x) + ERFC_CENTRE)


def erf_inv_from_tail(w: Any) -> tuple[Any, Any]:
    """(x, erf⁻¹(x)) with −log(1 − x²) = w."""
    x = mp.sqrt(-mp.expm1(-w))
    complement = -mp.expm1(mp.log1p(-mp.exp(-w)) / 2)
    y = x if w < 3 else mp.sqrt(w)
    if w >= 3:
        # erfc(y) is close to exp(−y²) / (y √π), and 1 − x to exp(−w) / 2.
        for _ in range(8):
            y = mp.sqrt(w + mp.log(2) - mp.log(y * mp.sqrt(mp.pi)))
    for _ in range(60):
        miss = x - mp.erf(y) if w < 3 else mp.erfc(y) - complement
        step = miss / (2 / mp.sqrt(mp.pi) * mp.exp(-y * y))
        y += step / (1 - y * step)
        if abs(step) < mp.mpf(10) ** -45 * abs(y):
            return x, y
    raise ArithmeticError(f"no convergence at w = {w}")


def erf_inv_ratio(w: Any) -> Any:
    if w < mp.mpf(10) ** -20:
        return mp.sqrt(mp.pi) / 2
    x, y = erf_inv_from_tail(w)
    return y / x


def erf_inv_around(centre: str) -> Function:
    """erf⁻¹(x)/x as a function of √w − centre."""
    return lambda v: erf_inv_ratio((v + mp.mpf(centre)) ** 2)


def lgamma_ratio(t: Any) -> Any:
    return mp.loggamma(2 + t) / t


LN2_HALF = mp.log(2) / 2 * mp.mpf("1.01")
SQRT_LOW, SQRT_HIGH = mp.sqrt(0.5) - 1, mp.sqrt(2) - 1
ATANH_HIGH = (SQRT_HIGH / (2 + SQRT_HIGH) * mp.mpf("1.01")) ** 2
QUARTER = (mp.pi / 4 * mp.mpf("1.01")) ** 2
HALF = (mp.pi / 2 * mp.mpf("1.02")) ** 2
TAN_EIGHTH = mp.mpf("0.1717")

exp_smooth = smooth(exp_tail, 0.5, mp.mpf(1) / 6)
atanh_smooth = smooth(atanh_tail, mp.mpf(2) / 3, mp.mpf(2) / 5)
sin_smooth = smooth(odd_tail(mp.sin), -mp.mpf(1) / 6, mp.mpf(1) / 120)
cos_smooth = smooth(cos_tail, mp.mpf(1) / 24, -mp.mpf(1) / 720)
asin_smooth = smooth(odd_tail(mp.asin), mp.mpf(1) / 6, mp.mpf(3) / 40)
atan_smooth = smooth(odd_tail(mp.atan), -mp.mpf(1) / 3, mp.mpf(1) / 5)
erf_smooth = smooth(erf_tail, 2 / mp.sqrt(mp.pi) - 1, -2 / (3 * mp.sqrt(mp.pi)))

lgamma_smooth = smooth(lgamma_ratio, 1 - mp.euler, (mp.zeta(2) - 1) / 2)

# fmt: off
FITS = [
    Fit("EXP_F32", "(eʳ − 1 − r) / r²,  |r| ≤ log(2)/2", exp_smooth,
        -LN2_HALF, LN2_HALF, 5, "f32", lambda r: r * r),
    Fit("EXP_F64", "the same", exp_smooth, -LN2_HALF, LN2_HALF, 11,
        weight=lambda r: r * r),
    Fit("EXP_SHORT", "the same for single precision in double", exp_smooth,
        -LN2_HALF, LN2_HALF, 7, weight=lambda r: r * r),
    Fit("EXP2_F32", "(2ʳ − 1) / r,  |r| ≤ 1/2",
        smooth(lambda r: (mp.mpf(2) ** r - 1) / r, mp.log(2), mp.log(2) ** 2 / 2),
        -0.505, 0.505, 6, "f32", lambda r: r),
    Fit("LOG_F32", "(log(1 + f) − f + f²/2) / f³,  √½ ≤ 1 + f ≤ √2",
        smooth(log_tail, mp.mpf(1) / 3, -mp.mpf(1) / 4),
        SQRT_LOW, SQRT_HIGH, 8, "f32", lambda f: f * f),
    Fit("LOG_F64", "(2 atanh(s) − 2s) / s³ in s²,  s = f / (2 + f)", atanh_smooth,
        0, ATANH_HIGH, 7, weight=lambda z: z),
    Fit("LOG_SHORT", "the same for single precision in double", atanh_smooth,
        0, ATANH_HIGH, 5, weight=lambda z: z),
    Fit("LOG_PAIR", "(2 atanh(s)/s − 2 − 2s²/3) / s⁴ in s²",
        smooth(lambda z: (atanh_smooth(z) - mp.mpf(2) / 3) / z, mp.mpf(2) / 5,
               mp.mpf(2) / 7),
        0, ATANH_HIGH, 8, weight=lambda z: z * z),
    Fit("SIN_F32", "(sin(r) − r) / r³ in r²,  |r| ≤ π/2", sin_smooth,
        0, HALF, 5, "f32", relative_to(mp.sin)),
    Fit("SIN_F64", "the same,  |r| ≤ π/4", sin_smooth, 0, QUARTER, 6,
        weight=relative_to(mp.sin)),
    Fit("COS_F64", "(cos(r) − 1 + r²/2) / r⁴ in r²,  |r| ≤ π/4", cos_smooth,
        0, QUARTER, 6, weight=lambda z: z * z),
    Fit("SIN_SHORT", "as SIN_F64, for single precision in double", sin_smooth,
        0, QUARTER, 4, weight=relative_to(mp.sin)),
    Fit("COS_SHORT", "as COS_F64, for single precision in double", cos_smooth,
        0, QUARTER, 4, weight=lambda z: z * z),
    Fit("ASIN_F32", "(asin(s) − s) / s³ in s²,  |s| ≤ 1/2", asin_smooth,
        0, 0.25, 5, "f32", relative_to(mp.asin)),
    Fit("ASIN_F64", "the same", asin_smooth, 0, 0.25, 13,
        "interpolate", weight=relative_to(mp.asin)),
    Fit("ATAN_F32", "(atan(t) − t) / t³ in t²,  |t| ≤ tan(π/8)", atan_smooth,
        0, TAN_EIGHTH, 5, "f32", relative_to(mp.atan)),
    Fit("ATAN_F64", "the same", atan_smooth, 0, TAN_EIGHTH, 11,
        weight=relative_to(mp.atan)),
    Fit("ERF_F32", "erf(x) / x − 1 in x²,  |x| ≤ 1", erf_smooth, 0, 1.01, 7, "f32",
        lambda z: 1 / (1 + erf_smooth(z))),
    Fit("ERF_F64", "the same", erf_smooth, 0, 1.01, 13, "interpolate",
        weight=lambda z: 1 / (1 + erf_smooth(z))),
    Fit("ERFC_LOG2_F32", "log₂ erfc(x),  1 ≤ x ≤ 4", log2_erfc, 0.99, 4, 7, "f32",
        mp.erfc),
    Fit("ERFC_F64", "erfc(x)·exp(x²)·(x + 2) in (x − 2)/(x + 2),  1/2 ≤ x ≤ 28",
        scaled_erfc, erfc_argument("0.499"), erfc_argument("28"), 26, "interpolate",
        weight=lambda q: 1 / scaled_erfc(q)),
    Fit("ERFC_SHORT", "the same for single precision in double", scaled_erfc,
        erfc_argument("0.499"), erfc_argument("11"), 12, "interpolate",
        weight=lambda q: 1 / scaled_erfc(q)),
    Fit("ERF_INV_F64_CENTRE",
        "erf⁻¹(x) / x in w − 2.5,  0 ≤ w ≤ 5,  w = −log(1 − x²)",
        lambda u: erf_inv_ratio(u + mp.mpf("2.5")), -2.5, 2.5, 23, "interpolate",
        weight=lambda u: 1 / erf_inv_ratio(u + mp.mpf("2.5"))),
    Fit("ERF_INV_F64_TAIL", "erf⁻¹(x) / x in √w − 3.125,  5 ≤ w ≤ 16",
        erf_inv_around("3.125"), mp.sqrt("4.99") - mp.mpf("3.125"), 0.88, 20,
        "interpolate", weight=lambda v: 1 / erf_inv_around("3.125")(v)),
    Fit("ERF_INV_F64_FAR", "erf⁻¹(x) / x in √w − 5,  16 ≤ w ≤ 36.1",
        erf_inv_around("5"), -1, 1.01, 20,
        "interpolate", weight=lambda v: 1 / erf_inv_around("5")(v)),
    Fit("LGAMMA_F64", "lgamma(2 + t) / t,  |t| ≤ 1/2",
        lgamma_smooth, -0.5, 0.5, 19, "interpolate",
        weight=lambda t: 1 / lgamma_smooth(t)),
]

# fmt: on

HEADER = '''"""Polynomial coefficients of the vector math library, lowest power first.

Written by `tools/fit.py`: change that, and write this file again. The comment above each
table says what it approximates, and to how many bits (relative to the function's value).
"""

from __future__ import annotations
'''

FOOTER = """
# erf⁻¹(x) / x in w − 2.5 for w < 5 and in √w − 3 beyond, w = −log(1 − x²).
# M. Giles, "Approximating the erfinv function", GPU Computing Gems, 2011.
ERF_INV_F32_CENTRE = (
    1.50140941,
    0.246640727,
    -0.00417768164,
    -0.00125372503,
    0.00021858087,
    -4.39150654e-06,
    -3.5233877e-06,
    3.43273939e-07,
    2.81022636e-08,
)
ERF_INV_F32_TAIL = (
    2.83297682,
    1.00167406,
    0.00943887047,
    -0.0076224613,
    0.00573950773,
    -0.00367342844,
    0.00134934322,
    0.000100950558,
    -0.000200214257,
)"""


def main() -> None:
    """Print the module."""
    print(HEADER)
    comment = ""
    for fit in FITS:
        coefficients = fit.coefficients()
        if fit.comment.startswith("the same"):
            text = comment.split(",  |")[0] if "|" in fit.comment else comment
            text += fit.comment.removeprefix("the same")
        else:
            text = comment = fit.comment
        print(f"# {text}")
        print(f"# ({fit.bits(coefficients):.1f} bits)")
        print(f"{fit.name} = (")
        for coefficient in coefficients:
            print(f"    {coefficient!r},")
        print(")")
    print(FOOTER)


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    main()
