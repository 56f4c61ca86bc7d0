"""blackjax: kernels of Markov chains, adaptation, sequential and variational methods."""

import blackjax
import jax
import jax.numpy as jnp

KEY = jax.random.key(0)


def density(x):
    return -0.5 * jnp.sum((x["a"] - 1.0) ** 2) - 0.5 * jnp.sum(x["b"] ** 2) / 4


START = {"a": jnp.zeros(2), "b": jnp.ones(1)}
ONES = jnp.ones(3)


def chain(kernel, steps=30):
    state = kernel.init(START)

    @jax.jit
    def one(state, key):
        state, _ = kernel.step(key, state)
        return state, state.position

    return jax.lax.scan(one, state, jax.random.split(KEY, steps))[1]


def hmc():
    return chain(blackjax.hmc(density, 0.1, ONES, 10))


def nuts():
    return chain(blackjax.nuts(density, 0.1, ONES), 10)


def mala():
    return chain(blackjax.mala(density, 0.1))


def rmh():
    return chain(
        blackjax.additive_step_random_walk(
            density, blackjax.mcmc.random_walk.normal(0.3)
        )
    )


def slice():
    sigma = jnp.eye(3)
    return chain(
        blackjax.elliptical_slice(
            lambda x: -jnp.sum((x["a"] - 1) ** 2), mean=jnp.zeros(3), cov=sigma
        ),
        5,
    )


def window():
    warmup = blackjax.window_adaptation(blackjax.nuts, density)
    (state, parameters), _ = warmup.run(KEY, START, num_steps=100)
    return jax.tree.map(jnp.shape, state.position), bool(parameters["step_size"] > 0)


def smc():
    tempered = blackjax.adaptive_tempered_smc(
        lambda x: -0.5 * jnp.sum(x**2),
        lambda x: -jnp.sum((x - 1) ** 2),
        blackjax.hmc.build_kernel(),
        blackjax.hmc.init,
        blackjax.smc.extend_params(
            {
                "step_size": 0.1,
                "inverse_mass_matrix": jnp.ones(2),
                "num_integration_steps": 5,
            }
        ),
        blackjax.smc.resampling.systematic,
        0.9,
        num_mcmc_steps=2,
    )
    state = tempered.init(jax.random.normal(KEY, (50, 2)))
    state, info = jax.jit(tempered.step)(KEY, state)
    return state.tempering_param, state.particles


def variational():
    import optax

    fit = blackjax.meanfield_vi(density, optax.sgd(1e-2), 8)
    state = fit.init(START)
    for key in jax.random.split(KEY, 5):
        state, info = jax.jit(fit.step)(key, state)
    return state.mu, info.elbo


def diagnostics():
    x = jax.random.normal(KEY, (4, 100))
    return blackjax.diagnostics.effective_sample_size(x), blackjax.rhat(x)


CASES = {
    f.__name__: f
    for f in (hmc, nuts, mala, rmh, slice, window, smc, variational, diagnostics)
}
