"""Finds where a comet is, and how that depends on its orbit, with `custom_root`.

Kepler's equation E − e·sin E = M gives the eccentric anomaly E of a body whose mean
anomaly is M, on an orbit of eccentricity e. It has no closed solution: Newton's method
solves it, in a `while_loop` that under `vmap` ends for each date by itself. The
derivatives do not go through the iterations: `custom_root` takes them from the equation
(the implicit function theorem), so they are exact and cost one division.
"""

import sys

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax

# Halley's comet: semi-major axis in astronomical units, eccentricity, period in years,
# and the year of its last passage of the perihelion.
AXIS, ECCENTRICITY, PERIOD, PERIHELION = 17.834, 0.96714, 75.32, 1986.11


def newton(f, guess):
    """A root of the scalar function `f` by Newton's method with a bounded step."""

    def going_on(state):
        x, step, turn = state
        return (jnp.abs(step) > 1e-6) & (turn < 50)

    def turn(state):
        x, _, turn = state
        value, slope = jax.jvp(f, (x,), (jnp.ones_like(x),))
        step = jnp.clip(value / slope, -1.0, 1.0)
        return x - step, step, turn + 1

    x, _, _ = lax.while_loop(going_on, turn, (guess, jnp.ones_like(guess), 0))
    return x


def linear(g, y):
    """Solves g(x) = y for a linear scalar function g."""
    return y / g(jnp.ones_like(y))


def eccentric_anomaly(eccentricity, mean_anomaly):
    def kepler(e):
        return e - eccentricity * jnp.sin(e) - mean_anomaly

    start = jnp.pi * jnp.ones_like(mean_anomaly)
    return lax.custom_root(kepler, start, newton, linear)


def distance(eccentricity, year):
    """Distance of the comet from the sun in astronomical units."""
    mean_anomaly = jnp.mod(2 * jnp.pi * (year - PERIHELION) / PERIOD, 2 * jnp.pi)
    anomaly = eccentric_anomaly(eccentricity, mean_anomaly)
    return AXIS * (1 - eccentricity * jnp.cos(anomaly))


@jax.jit
def table(years):
    over_years = jax.vmap(distance, (None, 0))
    speed = jax.vmap(jax.grad(distance, argnums=1), (None, 0))
    by_orbit = jax.vmap(jax.grad(distance), (None, 0))
    args = (ECCENTRICITY, years)
    return over_years(*args), speed(*args), by_orbit(*args)


def main():
    years = jnp.array([1986.11, 1990, 1995, 2000, 2010, 2023.77, 2040, 2055, 2061])
    far, speed, by_orbit = table(years)
    print("Halley's comet\nyear      au from the sun   au/year   change per 0.001 of e")
    for year, r, v, d in zip(years, far, speed, by_orbit):
        print(f"{float(year):7.2f} {r:17.3f} {v:9.3f} {d / 1000:23.4f}")

    # The same derivative by hand: dE/de = sin E / (1 − e·cos E).
    mean_anomaly, e = 1.0, 0.5
    got = jax.grad(eccentric_anomaly)(e, mean_anomaly)
    anomaly = eccentric_anomaly(e, mean_anomaly)
    wanted = jnp.sin(anomaly) / (1 - e * jnp.cos(anomaly))
    print(f"\ndE/de at e = 0.5, M = 1: {got:.6f}, by hand {wanted:.6f}")
    if abs(float(got - wanted)) > 1e-5:
        sys.exit("the implicit derivative is wrong")
    return {
        "perihelion": float(far[0]),
        "aphelion": float(jnp.max(far)),
        "derivative error": abs(float(got - wanted)),
    }


if __name__ == "__main__":
    main()
