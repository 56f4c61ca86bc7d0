"""Carbon dioxide on Mauna Loa: a Gaussian process whose kernel is learned by gradients.

Monthly means from 1958 to 2001 (Keeling & Whorf, 2004; the file says where from). The
model is that of Rasmussen & Williams, Gaussian Processes for Machine Learning (2006,
chapter 5.4): a slow rise, a season that changes its shape slowly, a middle-sized wiggle
and noise. Its ten numbers make the record until 1987 as likely as possible; the gradient
goes through a Cholesky factor. The fourteen years after that are predicted, and
compared. (Eruptions are not foreseen: in 1991 Pinatubo slowed the rise for two years.)

    python -m tetrad examples/co2_gaussian_process.py
"""

import sys
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jax.scipy.linalg import cho_solve, solve_triangular
from jax.scipy.optimize import minimize

jax.config.update("jax_enable_x64", True)

DATA = Path(__file__).with_name("data") / "mauna_loa_co2.txt"
SPLIT = 1988.0  # what is later is predicted
STEP = 3  # a number for each quarter of a year

# What the kernel starts from, in the units of the axes: ppm and years.
START = {
    "rise": 60.0,  # how far the slow rise goes ...
    "rise_years": 70.0,  # ... and over which time
    "season": 2.5,
    "season_years": 90.0,  # the time in which the season changes its shape
    "season_shape": 1.3,  # how smooth it is within a year
    "wiggle": 0.7,
    "wiggle_years": 1.2,
    "wiggle_tails": 0.8,  # of the mixture of time scales
    "noise": 0.2,
    "offset": 1.0,  # of the mean, in standard deviations of the record
}


def read():
    """Times in years and means in ppm, of the middle of each quarter that has data."""
    table = np.loadtxt(DATA)
    years, months = table[:, 0], table[:, 1:]
    times = (years[:, None] + (np.arange(12) + 0.5) / 12).reshape(-1, STEP)
    quarters = months.reshape(-1, STEP)
    seen = ~np.isnan(quarters)
    kept = seen.all(axis=1)
    return times[kept].mean(axis=1), quarters[kept].mean(axis=1)


def kernel(p, s, t):
    """The covariance of two months, at times s and t."""
    apart = s - t
    rise = p["rise"] ** 2 * jnp.exp(-0.5 * (apart / p["rise_years"]) ** 2)
    season = p["season"] ** 2 * jnp.exp(
        -0.5 * (apart / p["season_years"]) ** 2
        - 2 * (jnp.sin(jnp.pi * apart) / p["season_shape"]) ** 2
    )
    tails = p["wiggle_tails"]
    scaled = apart**2 / (2 * tails * p["wiggle_years"] ** 2)
    wiggle = p["wiggle"] ** 2 * (1 + scaled) ** -tails
    return rise + season + wiggle


def covariance(p, s, t):
    """The matrix of `kernel` for times s[m] and t[n]."""
    row = jax.vmap(kernel, in_axes=(None, None, 0))
    return jax.vmap(row, in_axes=(None, 0, None))(p, s, t)


def factor(p, times):
    """The lower Cholesky factor of the covariance of the record."""
    noise = (p["noise"] ** 2 + 1e-6) * jnp.eye(len(times))
    return jnp.linalg.cholesky(covariance(p, times, times) + noise)


def log_likelihood(log_p, times, values):
    """The logarithm of the density of the record."""
    p = jax.tree.map(jnp.exp, log_p)
    lower = factor(p, times)
    white = solve_triangular(lower, values - p["offset"], lower=True)
    log_det = 2 * jnp.sum(jnp.log(jnp.diag(lower)))
    return -0.5 * (white @ white + log_det + len(times) * jnp.log(2 * jnp.pi))


def predict(log_p, times, values, new):
    """Mean and standard deviation of the process at new times."""
    p = jax.tree.map(jnp.exp, log_p)
    lower = factor(p, times)
    across = covariance(p, new, times)
    mean = p["offset"] + across @ cho_solve((lower, True), values - p["offset"])
    inner = solve_triangular(lower, across.T, lower=True)
    alone = jax.vmap(kernel, in_axes=(None, 0, 0))(p, new, new)
    return mean, jnp.sqrt(alone - jnp.sum(inner**2, axis=0) + p["noise"] ** 2)


@jax.jit
def fit(flat, times, values):
    """BFGS (Broyden, Fletcher, Goldfarb & Shanno, 1970) on the logarithms."""
    unravel = ravel_pytree(START)[1]

    def loss(flat):
        return -log_likelihood(unravel(flat), times, values) / len(times)

    found = minimize(loss, flat, method="BFGS", options={"maxiter": 40})
    return found.x, found.fun, jnp.linalg.norm(jax.grad(loss)(found.x))


def sizes(log_p, times, values):
    """How much of the record each part of the kernel explains: posterior deviations."""
    p = jax.tree.map(jnp.exp, log_p)
    weights = cho_solve((factor(p, times), True), values - p["offset"])
    parts = {}
    for part in ("rise", "season", "wiggle"):
        only = dict(p)
        for other in {"rise", "season", "wiggle"} - {part}:
            only[other] = jnp.zeros(())
        parts[part] = jnp.std(covariance(only, times, times) @ weights)
    return parts


def chart(times, values, means, deviations):
    """Each second summer and winter that was predicted."""
    print("  year     measured   predicted")
    for at in range(0, len(times), 6):
        print(
            f"  {times[at]:.2f}   {values[at]:7.2f}   {means[at]:7.2f}"
            f" ± {2 * deviations[at]:.2f}"
        )


def main():
    times, values = read()
    middle = values[times < SPLIT].mean()
    past = times < SPLIT
    args = times[past], values[past] - middle
    started = time.perf_counter()
    log_start = jax.tree.map(jnp.log, START)
    flat, unravel = ravel_pytree(log_start)
    before = log_likelihood(log_start, *args)
    flat, loss, steepness = fit(flat, *args)
    log_p = unravel(flat)
    after = log_likelihood(log_p, *args)
    print(f"{past.sum()} quarters until {SPLIT:.0f}, {(~past).sum()} after it")
    print(f"log likelihood {before:.1f} at the start, {after:.1f} when fitted")
    print(
        f"mean loss {loss:.3f}, length of its gradient below 0.01: {steepness < 0.01}"
    )
    print(f"noise {jnp.exp(log_p['noise']):.3f} ppm", end="")
    for part, size in sizes(log_p, *args).items():
        print(f", {part} {size:.2f} ppm", end="")
    print()

    new = times[~past]
    means, deviations = jax.jit(predict)(log_p, *args, new)
    means = np.asarray(means) + middle
    errors = values[~past] - means
    error = np.sqrt(np.mean(errors**2))
    within = np.mean(np.abs(errors) < 2 * np.asarray(deviations))
    chart(new, values[~past], means, np.asarray(deviations))
    print(
        f"error of the predictions {error:.2f} ppm; within two deviations: {within:.2f}"
    )
    slope = jax.vmap(jax.grad(lambda t: predict(log_p, *args, t[None])[0][0]))
    months = 2000 + (jnp.arange(12) + 0.5) / 12
    print(f"predicted rise in 2000: {jnp.mean(slope(months)):.2f} ppm a year")
    print(f"{time.perf_counter() - started:.1f} s", file=sys.stderr)
    if error > 1.5:
        sys.exit(f"the predictions are {error:.2f} ppm off")


if __name__ == "__main__":
    main()
