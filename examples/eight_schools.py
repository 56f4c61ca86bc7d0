"""Samples a hierarchical model with Hamiltonian Monte Carlo: scan, grad and vmap.

Eight schools coached their pupils for a test; each reports an effect and its standard
error (Rubin, 1981). How much do the schools really differ? The leapfrog steps of a
trajectory are one `fori_loop`, the chain is one `scan`, and `vmap` runs all chains
together in one compiled program.
"""

import sys
import time

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax

EFFECT = jnp.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERROR = jnp.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
SCHOOLS = len(EFFECT)

CHAINS = 16
WARMUP = 500
SAMPLES = 1000
LEAPFROG_STEPS = 10
WANTED_ACCEPTANCE = 0.8


def unpack(position):
    """The mean effect, its spread between schools, and the effect of each school."""
    mean, log_spread, offsets = position[0], position[1], position[2:]
    spread = jnp.exp(log_spread)
    return mean, spread, mean + spread * offsets


def log_density(position):
    """Log of prior × likelihood, with the effects written as mean + spread·offset.

    Priors: mean ~ N(0, 5), spread ~ half-Cauchy(5), offsets ~ N(0, 1).
    """
    mean, spread, effects = unpack(position)
    offsets = position[2:]
    prior = -0.5 * (mean / 5) ** 2 - jnp.log1p((spread / 5) ** 2) + position[1]
    prior = prior - 0.5 * jnp.sum(offsets**2)
    return prior - 0.5 * jnp.sum(((EFFECT - effects) / ERROR) ** 2)


def leapfrog(position, momentum, step):
    """Follows the Hamiltonian flow for LEAPFROG_STEPS steps of size `step`."""
    slope = jax.grad(log_density)

    def turn(_, state):
        position, momentum = state
        momentum = momentum + 0.5 * step * slope(position)
        position = position + step * momentum
        return position, momentum + 0.5 * step * slope(position)

    return lax.fori_loop(0, LEAPFROG_STEPS, turn, (position, momentum))


def transition(position, step, key):
    """One move of the chain, and the probability with which it was accepted."""
    for_momentum, for_choice = jax.random.split(key)
    momentum = jax.random.normal(for_momentum, position.shape)
    proposed, final = leapfrog(position, momentum, step)
    energy = log_density(position) - 0.5 * jnp.sum(momentum**2)
    new_energy = log_density(proposed) - 0.5 * jnp.sum(final**2)
    probability = jnp.exp(jnp.minimum(new_energy - energy, 0))
    probability = jnp.where(jnp.isnan(probability), 0, probability)
    accepted = jax.random.uniform(for_choice) < probability
    return jnp.where(accepted, proposed, position), probability


def chain(key):
    """Samples of one chain, after a warm-up that finds the size of its steps."""
    start, warm, sample = jax.random.split(key, 3)
    position = 0.1 * jax.random.normal(start, (SCHOOLS + 2,))

    def adapt(state, key):
        position, log_step, turn = state
        position, probability = transition(position, jnp.exp(log_step), key)
        log_step = log_step + (probability - WANTED_ACCEPTANCE) / jnp.sqrt(turn)
        return (position, log_step, turn + 1), None

    def move(position, key):
        position, probability = transition(position, jnp.exp(log_step), key)
        return position, (position, probability)

    keys = jax.random.split(warm, WARMUP)
    (position, log_step, _), _ = lax.scan(adapt, (position, jnp.log(0.1), 1.0), keys)
    _, results = lax.scan(move, position, jax.random.split(sample, SAMPLES))
    return results


@jax.jit
def run(key):
    positions, probabilities = jax.vmap(chain)(jax.random.split(key, CHAINS))
    return jax.vmap(jax.vmap(unpack))(positions), jnp.mean(probabilities)


def r_hat(draws):
    """Gelman and Rubin's R̂ of draws[chain, turn]: near 1 once the chains agree."""
    within = jnp.mean(jnp.var(draws, axis=1, ddof=1))
    between = jnp.var(jnp.mean(draws, axis=1), ddof=1)
    return jnp.sqrt((draws.shape[1] - 1) / draws.shape[1] + between / within)


def main():
    started = time.perf_counter()
    (mean, spread, effects), acceptance = run(jax.random.key(0))
    worst = max(float(r_hat(draws)) for draws in (mean, spread, effects[:, :, 0]))
    seconds = time.perf_counter() - started
    print(f"{CHAINS} chains × {WARMUP + SAMPLES} moves in {seconds:.2f} s")
    print(f"accepted {100 * float(acceptance):.0f} %, worst R̂ {worst:.3f}\n")
    print("             mean   5 %   95 %")
    rows = [("all schools", mean), ("spread", spread)]
    rows += [(f"school {'ABCDEFGH'[i]}", effects[:, :, i]) for i in range(SCHOOLS)]
    for name, draws in rows:
        low, high = jnp.percentile(draws, jnp.array([5, 95]))
        print(
            f"{name:12} {float(draws.mean()):4.1f} {float(low):5.1f} {float(high):6.1f}"
        )
    result = {
        "mean": float(mean.mean()),
        "spread": float(spread.mean()),
        "school A": float(effects[:, :, 0].mean()),
        "acceptance": float(acceptance),
        "r_hat": worst,
    }
    if worst > 1.05:
        sys.exit(f"the chains do not agree: R̂ is {worst:.3f}")
    return result


if __name__ == "__main__":
    main()
