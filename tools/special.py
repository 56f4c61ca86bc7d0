"""Compute the tables of the incomplete gamma and Bessel functions and print their module.

    python tools/special.py > tetrad/_src/lib/special_tables.py

Needs mpmath. The uniform expansion of the incomplete gamma functions (NIST DLMF 8.12) is
expanded in rational arithmetic; the Bessel functions are interpolated at Chebyshev nodes.
"""

from __future__ import annotations

from fractions import Fraction

import mpmath as mp
from fit import interpolate

mp.mp.dps = 60

TERMS = 20  # of the power series
ORDERS = (17, 14, 12, 10, 8, 6, 4, 3)  # terms that are kept of c_0, c_1, …
NEAR = 9  # where the Bessel functions change from the series to the polynomial

Series = list[Fraction]


def product(a: Series, b: Series, count: int) -> Series:
    return [
        sum((a[i] * b[n - i] for i in range(n + 1)), Fraction(0)) for n in range(count)
    ]


def reciprocal(a: Series, count: int) -> Series:
    out = [1 / a[0]]
    for n in range(1, count):
        rest = sum((a[i] * out[n - i] for i in range(1, n + 1)), Fraction(0))
        out.append(-rest / a[0])
    return out


def mu_over_eta(count: int) -> Series:
    """(λ - 1)/η in powers of η, from μ μ' = η (1 + μ) with μ = λ - 1."""
    m = [Fraction(0), Fraction(1)]
    for n in range(2, count + 1):
        # The coefficient of η^n: Σ i m_i m_(n+1-i) = m_(n-1).
        known = sum((i * m[i] * m[n + 1 - i] for i in range(2, n)), Fraction(0))
        m.append((m[n - 1] - known) / (n + 1))
    return m[1:]


def gamma_star(count: int) -> Series:
    """Γ(z) over √(2π/z) (z/e)^z, in powers of 1/z: the exponential of Stirling's sum."""
    log = [Fraction(0)] * count
    for k in range(1, count):
        if k % 2:
            numerator, denominator = mp.bernfrac(k + 1)
            log[k] = Fraction(int(numerator), int(denominator)) / (k * (k + 1))
    out = [Fraction(1)]
    for n in range(1, count):
        total = sum((j * log[j] * out[n - j] for j in range(1, n + 1)), Fraction(0))
        out.append(total / n)
    return out


def temme() -> list[list[float]]:
    count = TERMS + 2 * len(ORDERS) + 2
    inverse = reciprocal(mu_over_eta(count), count)  # η/μ
    stirling = gamma_star(len(ORDERS))
    current = inverse[1:]  # c_0 = 1/μ - 1/η
    table = []
    for order, kept in enumerate(ORDERS):
        if order:
            sign = (-1) ** order * stirling[order]
            slope = [n * c for n, c in enumerate(current)][1:]  # c_(k-1)'
            assert slope[0] + sign * inverse[0] == 0
            current = [
                s + sign * i for s, i in zip(slope[1:], inverse[1:], strict=False)
            ]
        table.append([float(c) for c in current[:kept]])
    return table


def bessel(order: int, terms: int) -> list[float]:
    """√x e⁻ˣ I(x) for x >= NEAR, as a polynomial of 2 NEAR / x - 1."""

    def value(t: mp.mpf) -> mp.mpf:
        x = 2 * NEAR / (t + 1) if t > -1 else mp.mpf(10) ** 30
        return mp.sqrt(x) * mp.exp(-x) * mp.besseli(order, x)

    return [float(c) for c in interpolate(value, mp.mpf(-1), mp.mpf(1), terms)]


def series(order: int, terms: int) -> list[float]:
    """I(x) in powers of (x/2)², over (x/2)^order."""
    return [
        float(1 / (mp.factorial(k) * mp.factorial(k + order))) for k in range(terms)
    ]


def log_gamma_near_one(terms: int) -> list[float]:
    """log Γ(1 + a) / a in powers of a."""
    powers = [(-1) ** k * mp.zeta(k) / k for k in range(2, terms + 1)]
    return [float(c) for c in (-mp.euler, *powers)]


def printed(name: str, numbers: list[float]) -> str:
    return f"{name} = (\n" + "".join(f"    {x!r},\n" for x in numbers) + ")\n"


def main() -> None:
    print('"""Tables of special functions; made by tools/special.py."""\n')
    print("TEMME = (")
    for row in temme():
        print("    (\n" + "".join(f"        {x!r},\n" for x in row) + "    ),")
    print(")\n")
    print(printed("LOG_GAMMA_NEAR_ONE", log_gamma_near_one(18)))
    print(f"BESSEL_NEAR = {float(NEAR)}\n")
    for order in (0, 1):
        print(printed(f"I{order}_SERIES", series(order, 32)))
        print(printed(f"I{order}_FAR", bessel(order, 30)))


if __name__ == "__main__":
    main()
