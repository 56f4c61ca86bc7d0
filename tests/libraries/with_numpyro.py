"""numpyro: distributions, handlers, chains, variational inference, prediction."""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro import handlers, infer

KEY = jax.random.PRNGKey(0)
J = 8
Y = jnp.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
S = jnp.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def eight_schools(y=None):
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfCauchy(5))
    with numpyro.plate("J", J):
        with handlers.reparam(config={"theta": infer.reparam.TransformReparam()}):
            theta = numpyro.sample(
                "theta",
                dist.TransformedDistribution(
                    dist.Normal(0.0, 1.0), dist.transforms.AffineTransform(mu, tau)
                ),
            )
        numpyro.sample("obs", dist.Normal(theta, S), obs=y)


def nuts():
    mcmc = infer.MCMC(
        infer.NUTS(eight_schools), num_warmup=100, num_samples=100, progress_bar=False
    )
    mcmc.run(KEY, y=Y)
    samples = mcmc.get_samples()
    predictive = infer.Predictive(eight_schools, samples)(KEY)
    return (
        {k: v.shape for k, v in samples.items()},
        predictive["obs"].shape,
        bool(jnp.abs(samples["mu"].mean() - 4.4) < 3),
    )


def variational():
    guide = infer.autoguide.AutoNormal(eight_schools)
    svi = infer.SVI(eight_schools, guide, numpyro.optim.Adam(0.02), infer.Trace_ELBO())
    found = svi.run(KEY, 50, y=Y, progress_bar=False)
    return found.losses


def effects():
    trace = handlers.trace(handlers.seed(eight_schools, KEY)).get_trace(y=Y)
    density, _ = infer.util.log_density(
        eight_schools, (Y,), {}, {"mu": 1.0, "tau": 2.0, "theta_base": jnp.zeros(J)}
    )
    return {k: v["value"] for k, v in trace.items() if k != "J"}, density


def distributions():
    ds = {
        "beta": dist.Beta(2.0, 3.0),
        "gamma": dist.Gamma(2.0, 3.0),
        "mvn": dist.MultivariateNormal(jnp.zeros(2), jnp.eye(2)),
        "categorical": dist.Categorical(jnp.array([0.2, 0.8])),
        "dirichlet": dist.Dirichlet(jnp.ones(3)),
        "student": dist.StudentT(3.0),
        "poisson": dist.Poisson(3.0),
        "lkj": dist.LKJCholesky(3),
        "binomial": dist.Binomial(10, 0.3),
        "laplace": dist.Laplace(0.0, 1.0),
        "mixture": dist.MixtureSameFamily(
            dist.Categorical(jnp.array([0.5, 0.5])), dist.Normal(jnp.arange(2.0), 1.0)
        ),
        "negative": dist.NegativeBinomial2(3.0, 2.0),
        "gumbel": dist.Gumbel(0.0, 1.0),
        "truncated": dist.TruncatedNormal(low=0.0),
        "mises": dist.VonMises(0.0, 2.0),
        "gompertz": dist.Gompertz(1.0, 1.0),
    }
    out = {}
    for name, d in ds.items():
        x = d.sample(KEY, (4,))
        out[name] = x, d.log_prob(x)
    return out


def hmc_others():
    out = {}
    for name in ("HMC", "SA", "BarkerMH"):
        kernel = getattr(infer, name)(eight_schools)
        mcmc = infer.MCMC(kernel, num_warmup=20, num_samples=20, progress_bar=False)
        mcmc.run(KEY, y=Y)
        out[name] = mcmc.get_samples()["mu"].shape
    return out


def gibbs():
    def model():
        p = numpyro.sample("p", dist.Dirichlet(jnp.ones(3)))
        z = numpyro.sample("z", dist.Categorical(p))
        numpyro.sample("x", dist.Normal(jnp.arange(3.0)[z], 1.0), obs=1.4)

    mcmc = infer.MCMC(
        infer.DiscreteHMCGibbs(infer.NUTS(model)),
        num_warmup=20,
        num_samples=20,
        progress_bar=False,
    )
    mcmc.run(KEY)
    return mcmc.get_samples()["z"].shape


def scans():
    from numpyro.contrib.control_flow import scan

    def model(ys):
        def step(carry, y):
            x = numpyro.sample("x", dist.Normal(carry, 1.0))
            numpyro.sample("y", dist.Normal(x, 0.5), obs=y)
            return x, x

        return scan(step, 0.0, ys)[1]

    trace = handlers.trace(handlers.seed(model, KEY)).get_trace(jnp.arange(5.0))
    return trace["x"]["value"]


CASES = {
    f.__name__: f
    for f in (distributions, effects, nuts, variational, hmc_others, gibbs, scans)
}
