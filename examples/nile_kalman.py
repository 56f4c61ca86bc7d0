"""When did the Nile change? A Kalman filter and smoother as scans, fitted by gradients.

The yearly flow of the Nile at Aswan, 1871 to 1970 (Cobb, Biometrika 65, 1978; public
domain), is taken for a level that wanders, seen through noise (Durbin & Koopman, Time
Series Analysis by State Space Methods, 2001, chapter 2):

    flow[t] = level[t] + noise of variance e,   level[t + 1] = level[t] + step of variance n

The filter is a `scan` over the years, the smoother a `scan` backwards over what the filter
found. The variances make the record as likely as possible: `jax.grad` goes through the
filter, Newton's method through `jax.hessian`. The filter is also an `associative_scan`
(Särkkä & García-Fernández, 2021), which computes the same in log2(100) rounds. Last, the
year of the dam at Aswan is found by comparing a hundred models at once, with `vmap`.

    python -m tetrad examples/nile_kalman.py
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

jax.config.update("jax_enable_x64", True)

FIRST = 1871
FLOWS = np.array(
    [
        1120, 1160, 963, 1210, 1160, 1160, 813, 1230, 1370, 1140, 995, 935, 1110, 994,
        1020, 960, 1180, 799, 958, 1140, 1100, 1210, 1150, 1250, 1260, 1220, 1030, 1100,
        774, 840, 874, 694, 940, 833, 701, 916, 692, 1020, 1050, 969, 831, 726, 456, 824,
        702, 1120, 1100, 832, 764, 821, 768, 845, 864, 862, 698, 845, 744, 796, 1040, 759,
        781, 865, 845, 944, 984, 897, 822, 1010, 771, 676, 649, 846, 812, 742, 801, 1040,
        860, 874, 848, 890, 744, 749, 838, 1050, 918, 986, 797, 923, 975, 815, 1020, 906,
        901, 1170, 912, 746, 919, 718, 714, 740,
    ],
    float,
)  # fmt: skip
YEARS = len(FLOWS)
VAGUE = 1e7  # the variance of the level before anything is seen


def kalman_filter(variances, flows, drops=0.0):
    """Mean and variance of each year's level given the flows up to it.

    `drops` is added to the level from one year to the next. Also returns the logarithm
    of the density of all flows but the first, of which a vague level knows nothing.
    """
    noise, step = variances
    drops = jnp.broadcast_to(drops, flows.shape)

    def year(state, seen):
        mean, variance = state
        flow, drop = seen
        mean, variance = mean + drop, variance + step
        surprise = flow - mean
        spread = variance + noise
        gain = variance / spread
        log_density = -0.5 * (jnp.log(2 * jnp.pi * spread) + surprise**2 / spread)
        new = mean + gain * surprise, (1 - gain) * variance
        return new, (new[0], new[1], log_density)

    start = jnp.zeros(()), jnp.asarray(VAGUE)
    _, (means, variances, densities) = lax.scan(year, start, (flows, drops))
    return means, variances, jnp.sum(densities[1:])


def smoother(variances, means, spreads):
    """Mean and variance of each year's level given all flows (Rauch, Tung & Striebel)."""
    step = variances[1]

    def year(later, now):
        mean, spread = now
        gain = spread / (spread + step)
        smooth = mean + gain * (later[0] - mean)
        width = spread + gain**2 * (later[1] - spread - step)
        return (smooth, width), (smooth, width)

    last = means[-1], spreads[-1]
    _, (smooth, width) = lax.scan(year, last, (means[:-1], spreads[:-1]), reverse=True)
    return jnp.append(smooth, last[0]), jnp.append(width, last[1])


def parallel_filter(variances, flows):
    """The means and variances of `kalman_filter`, by an associative scan.

    The element of a year says: level = a · (earlier level) + b with variance c, and what
    its flow says about that earlier level, as a precision j and a precision times mean h.
    """
    noise, step = variances

    def element(flow, first):
        spread = jnp.where(first, VAGUE + step, step)
        gain = spread / (spread + noise)
        kept = jnp.where(first, 0.0, 1 - gain)
        informs = jnp.where(first, 0.0, 1 / (spread + noise))
        return kept, gain * flow, (1 - gain) * spread, informs * flow, informs

    def combine(early, late):
        a1, b1, c1, h1, j1 = early
        a2, b2, c2, h2, j2 = late
        weight = 1 / (1 + c1 * j2)
        return (
            a2 * weight * a1,
            a2 * weight * (b1 + c1 * h2) + b2,
            a2 * weight * c1 * a2 + c2,
            a1 * weight * (h2 - j2 * b1) + h1,
            a1 * weight * j2 * a1 + j1,
        )

    elements = jax.vmap(element)(flows, jnp.arange(len(flows)) == 0)
    _, means, variances, _, _ = lax.associative_scan(jax.vmap(combine), elements)
    return means, variances


def surprise_of(log_variances):
    """What is made small: minus the logarithm of the density of the flows."""
    return -kalman_filter(jnp.exp(log_variances), FLOWS)[2]


@jax.jit
def fit(log_variances):
    """Newton's method, each step at most 1 long; the curvature's sign is kept positive."""

    def turn(at, _):
        slope = jax.grad(surprise_of)(at)
        values, vectors = jnp.linalg.eigh(jax.hessian(surprise_of)(at))
        move = -vectors @ (vectors.T @ slope / jnp.maximum(jnp.abs(values), 1e-3))
        move = move / jnp.maximum(1.0, jnp.linalg.norm(move))
        return at + move, surprise_of(at)

    return lax.scan(turn, log_variances, None, length=25)


@jax.jit
def change_points(variances):
    """For each year: how likely is the record if the level drops once, then?

    The best drop is known in closed form, since the density is Gaussian in it: one step
    of Newton's method from 0 is exact.
    """

    def drop_in(year):
        at = jnp.arange(YEARS) == year

        def score(drop):
            return kalman_filter(variances, FLOWS, drop * at)[2]

        drop = -jax.grad(score)(0.0) / jax.grad(jax.grad(score))(0.0)
        return drop, score(drop)

    return jax.vmap(drop_in)(jnp.arange(1, YEARS))


def chart(values, widths):
    """The record as text: flows are dots, the smoothed level is a bar."""
    for at in range(0, YEARS, 6):
        flow = int((FLOWS[at] - 400) / 20)
        level = int((values[at] - 400) / 20)
        row = [" "] * 52
        low, high = [int((values[at] + s * widths[at] - 400) / 20) for s in (-2, 2)]
        row[low : high + 1] = "─" * (high - low + 1)
        row[level] = "┼"
        row[flow] = "●"
        print(f"  {FIRST + at} {''.join(row)}".rstrip())


def main():
    start = jnp.log(jnp.full(2, np.var(FLOWS)))
    log_variances, history = fit(start)
    noise, step = variances = jnp.exp(log_variances)
    print(f"variance of the noise {noise:.0f}, of the steps {step:.0f}")
    print(f"log likelihood {-surprise_of(log_variances):.2f}, from {-history[0]:.2f}")

    means, spreads, _ = kalman_filter(variances, FLOWS)
    others = parallel_filter(variances, FLOWS)
    apart = max(
        jnp.max(jnp.abs(others[0] - means)), jnp.max(jnp.abs(others[1] - spreads))
    )
    print(f"sequential and parallel filters agree: {bool(apart < 1e-6)}")
    level, width = smoother(variances, means, spreads)
    print("\nflows, and the level with two standard deviations:")
    chart(np.asarray(level), np.sqrt(np.asarray(width)))

    drops, scores = change_points(jnp.array([noise, step]))
    best = int(jnp.argmax(scores))
    gain = scores[best] - kalman_filter(variances, FLOWS)[2]
    year = FIRST + 1 + best
    print(
        f"\nthe level drops by {-drops[best]:.0f} in {year}: log likelihood +{gain:.2f}"
    )
    if year != 1899:
        sys.exit("the flow changed in 1899, when building the dam at Aswan began")


if __name__ == "__main__":
    main()
