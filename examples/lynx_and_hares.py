"""Fits the equations of predator and prey to a century-old record of furs.

Lotka and Volterra wrote dh/dt = a·h − b·h·l, dl/dt = c·h·l − d·l for hares h and lynxes l.
The Hudson's Bay Company's records of 1900 to 1920 (in thousands of pelts) are matched by
finding a, b, c, d and the numbers of 1900. The solver is a Runge–Kutta method of order
five that chooses its own steps in a `while_loop`; such a loop has no reverse derivative, so
`custom_vjp` gives it one: the adjoint equation, solved backwards in constant memory.
"""

import sys
import time

import numpy as np

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax

HARES = [30, 47.2, 70.2, 77.4, 36.3, 20.6, 18.1, 21.4, 22, 25.4, 27.1]
HARES += [40.3, 57, 76.6, 52.3, 19.5, 11.2, 7.6, 14.6, 16.2, 24.7]
LYNXES = [4, 6.1, 9.8, 35.2, 59.4, 41.7, 19, 13, 8.3, 9.1, 7.4]
LYNXES += [8, 12.3, 19.5, 45.7, 51.1, 29.7, 15.8, 9.7, 10.1, 8.6]
RECORD = jnp.log(jnp.array([HARES, LYNXES]).T)
YEARS = jnp.arange(21.0)

# Dormand and Prince's coefficients: the stages, and the error of the fifth order.
STAGES = (
    (),
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
ERROR = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)
RELATIVE, ABSOLUTE = 1e-5, 1e-6


def combine(weights, slopes):
    return sum(w * s for w, s in zip(weights, slopes) if w)


def advance(f, y, start, end):
    """Solves dy/dt = f(y) from `start` to `end` with steps of the size that it needs."""

    def attempt(state):
        y, t, step = state
        step = jnp.minimum(step, end - t)
        slopes = []
        for weights in STAGES:
            at = y + step * combine(weights, slopes) if slopes else y
            slopes.append(f(at))
        error = step * combine(ERROR, slopes)
        allowed = ABSOLUTE + RELATIVE * jnp.maximum(jnp.abs(y), jnp.abs(at))
        size = jnp.sqrt(jnp.mean((error / allowed) ** 2))
        good = size <= 1
        factor = jnp.clip(0.9 * size**-0.2, 0.2, 5.0)
        return jnp.where(good, at, y), jnp.where(good, t + step, t), step * factor

    def unfinished(state):
        return state[1] < end - 1e-6

    return lax.while_loop(unfinished, attempt, (y, start, 0.1))[0]


def solve(f, params, y, times):
    """The solution of dy/dt = f(params, y) at `times`, from y at times[0]."""

    @jax.custom_vjp
    def solution(params, y):
        def interval(y, ends):
            y = advance(lambda y: f(params, y), y, ends[0], ends[1])
            return y, y

        _, ys = lax.scan(interval, y, jnp.stack([times[:-1], times[1:]], 1))
        return jnp.concatenate([y[None], ys])

    def forward(params, y):
        ys = solution(params, y)
        return ys, (params, ys)

    def backward(saved, cotangents):
        params, ys = saved
        states = len(ys[0])
        flat, unflatten = jax.flatten_util.ravel_pytree(params)

        def slopes(augmented):
            """Backwards in time: the state, its adjoint and the parameters' gradient."""
            y, adjoint = augmented[:states], augmented[states : 2 * states]
            dy, pull = jax.vjp(lambda p, y: f(unflatten(p), y), flat, y)
            by_params, by_state = pull(adjoint)
            return jnp.concatenate([-dy, by_state, by_params])

        def interval(carry, x):
            adjoint, gradient = carry
            y, cotangent, start, end = x
            adjoint = adjoint + cotangent
            whole = jnp.concatenate([y, adjoint, gradient])
            whole = advance(slopes, whole, start, end)
            return (whole[states : 2 * states], whole[2 * states :]), None

        backwards = (ys[1:], cotangents[1:], -times[1:], -times[:-1])
        start = (jnp.zeros_like(ys[0]), jnp.zeros_like(flat))
        (adjoint, gradient), _ = lax.scan(interval, start, backwards, reverse=True)
        return unflatten(gradient), adjoint + cotangents[0]

    solution.defvjp(forward, backward)
    return solution(params, y)


def predator_and_prey(log_rates, log_numbers):
    """The equations for the logarithms of hares and lynxes, which stay positive."""
    a, b, c, d = jnp.exp(log_rates)
    hares, lynxes = jnp.exp(log_numbers)
    return jnp.stack([a - b * lynxes, c * hares - d])


def misfit(guess):
    """Mean squared difference of the logarithms, of the record and the solution."""
    log_rates, start = guess
    return jnp.mean((solve(predator_and_prey, log_rates, start, YEARS) - RECORD) ** 2)


@jax.jit
def fit(guess, turns, rate):
    """Follows the gradient with Adam's steps; everything is one compiled loop."""

    def turn(i, state):
        guess, first, second = state
        grads = jax.grad(misfit)(guess)
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, grads)
        second = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g**2, second, grads)
        count = i + 1.0
        guess = jax.tree.map(
            lambda x, m, v: (
                x
                - rate * m / (1 - 0.9**count) / (jnp.sqrt(v / (1 - 0.99**count)) + 1e-8)
            ),
            guess,
            first,
            second,
        )
        return guess, first, second

    zeros = jax.tree.map(jnp.zeros_like, guess)
    return lax.fori_loop(0, turns, turn, (guess, zeros, zeros))[0]


def main():
    guess = (jnp.log(jnp.array([0.5, 0.02, 0.02, 0.8])), RECORD[0])
    before = float(misfit(guess))
    # Before the fit: the adjoint's gradient against a difference of two solutions.
    slope = jax.grad(misfit)(guess)
    direction = jax.tree.map(jnp.ones_like, guess)
    along = sum(float(jnp.sum(s)) for s in jax.tree.leaves(slope))
    ahead, behind = (
        float(misfit(jax.tree.map(lambda x, d, s=s: x + s * d, guess, direction)))
        for s in (2e-3, -2e-3)
    )
    difference = (ahead - behind) / 4e-3
    print(f"slope along (1, …, 1): adjoint {along:.3f}, difference {difference:.3f}")
    started = time.perf_counter()
    guess = fit(guess, 400, 0.02)
    after = float(misfit(guess))
    seconds = time.perf_counter() - started
    rates = np.exp(np.asarray(guess[0]))
    print(f"misfit {before:.3f} → {after:.3f} in {seconds:.1f} s")
    print("a {:.3f}  b {:.4f}  c {:.4f}  d {:.3f}\n".format(*rates))

    solution = jnp.exp(solve(predator_and_prey, *guess, YEARS))
    print("year   hares  model   lynxes  model")
    for year in range(0, 21, 2):
        hares, lynxes = solution[year]
        print(
            f"{1900 + year}  {HARES[year]:6.1f} {hares:6.1f}"
            f"   {LYNXES[year]:6.1f} {lynxes:6.1f}"
        )

    if after > 0.1 or not abs(along - difference) < 0.05 * max(1, abs(difference)):
        sys.exit("the fit or its gradient is off")
    return {"misfit": after, "rates": rates, "along": along, "difference": difference}


if __name__ == "__main__":
    main()
