"""Distributions and statistics of samples against SciPy."""

import importlib

import numpy as np
import pytest
import scipy.special
import scipy.stats

import tetrad as jax
import tetrad.numpy as jnp
from tetrad.scipy import stats

X = np.array([-7.0, -2.5, -1, -0.3, 0, 1e-3, 0.4, 1, 1.7, 3, 6.2, 30, np.nan])
Q = np.array([0.0, 1e-6, 0.1, 0.5, 0.9, 1, -0.5, 1.5, np.nan])
K = np.array([-2.0, -1, 0, 1, 2, 3, 5, 9, 2.5, 20])
LOC, SCALE = 0.3, 1.7

# Parameters of shape; whether it takes loc, and scale.
CONTINUOUS = {
    "norm": (), "uniform": (), "expon": (), "laplace": (), "cauchy": (),
    "logistic": (), "gumbel_l": (), "gumbel_r": (), "gamma": (2.3,), "beta": (1.5, 0.7),
    "chi2": (3.0,), "t": (4.0,), "pareto": (2.5,), "truncnorm": (-1.2, 2.0),
}  # fmt: skip
BARE = {"gennorm": (1.7,), "vonmises": (2.0,), "wrapcauchy": (0.4,)}
DISCRETE = {
    "bernoulli": (0.3,), "binom": (9, 0.3), "geom": (0.3,), "nbinom": (4, 0.3),
    "betabinom": (9, 1.5, 2.5), "poisson": (3.2,),
}  # fmt: skip
NAMES = ("logpdf", "pdf", "logcdf", "cdf", "logsf", "sf", "ppf", "isf")


@pytest.fixture(autouse=True)
def wide():
    with jax.enable_x64(True):
        yield


def compare(got, wanted, rtol=1e-10, atol=1e-300):
    np.testing.assert_allclose(got, wanted, rtol=rtol, atol=atol)


@pytest.mark.parametrize("name", [*CONTINUOUS, *BARE])
def test_continuous_distributions(name):
    ours, theirs = getattr(stats, name), getattr(scipy.stats, name)
    bare = name in BARE
    shapes = BARE[name] if bare else CONTINUOUS[name]
    places = [()] if bare else [(), (LOC, SCALE)]
    for function in NAMES:
        if not hasattr(ours, function):
            continue
        x = Q if function in ("ppf", "isf") else X
        for place in places:
            if name == "logistic" and function in ("ppf", "isf"):
                x = Q[:6]
            if "gumbel" in name and function == "ppf":
                x = Q[1:5]
            with np.errstate(all="ignore"):
                wanted = getattr(theirs, function)(x, *shapes, *place)
            got = getattr(ours, function)(jnp.array(x), *shapes, *place)
            assert got.dtype == np.float64
            compare(got, wanted, 1e-9, 1e-14)


@pytest.mark.parametrize("name", DISCRETE)
def test_discrete_distributions(name):
    ours, theirs = getattr(stats, name), getattr(scipy.stats, name)
    for loc in (0, 1):
        for function in ("logpmf", "pmf"):
            wanted = getattr(theirs, function)(K, *DISCRETE[name], loc)
            got = getattr(ours, function)(jnp.array(K), *DISCRETE[name], loc)
            compare(got, wanted, 1e-9)
    if hasattr(ours, "cdf"):
        compare(ours.cdf(K, *DISCRETE[name]), theirs.cdf(K, *DISCRETE[name]))
    assert np.isnan(ours.logpmf(jnp.nan, *DISCRETE[name]))


def test_discrete_edges():
    compare(stats.bernoulli.ppf(Q, 0.3), scipy.stats.bernoulli.ppf(Q, 0.3))
    mu = np.array([0.0, 0.1, 1, 20, 99, 101, 400])
    counts = np.arange(2000)[:, None]
    terms = scipy.special.entr(scipy.stats.poisson.pmf(counts, mu))
    compare(stats.poisson.entropy(mu), terms.sum(0), 1e-8)
    for name in ("bernoulli", "binom", "geom"):
        with jax.enable_x64(False):
            shapes = DISCRETE[name]
            assert getattr(stats, name).logpmf(1, *shapes).dtype == np.float32
    slope = jax.grad(lambda p: stats.binom.logpmf(0, 3, p))(0.0)
    assert slope == -3


def test_densities_of_several_variables():
    rng = np.random.default_rng(0)
    x = rng.dirichlet(np.ones(3), 5).T
    alpha = np.array([0.5, 1.0, 2.5])
    wanted = scipy.stats.dirichlet.logpdf(x, alpha)
    compare(stats.dirichlet.logpdf(x, alpha), wanted)
    compare(stats.dirichlet.pdf(x[:2], alpha), np.exp(wanted))
    assert stats.dirichlet.logpdf(np.array([0.5, 0.1, 0.1]), alpha) == -np.inf
    counts = np.array([[2, 1, 3], [6, 0, 0], [1, 1, 1]])
    p = np.array([0.2, 0.3, 0.5])
    wanted = scipy.stats.multinomial.logpmf(counts, 6, p)
    compare(stats.multinomial.logpmf(counts, 6, p), wanted)
    compare(stats.multinomial.pmf(counts, 6, p), np.exp(wanted))
    with pytest.raises(ValueError, match="first axis of x must have 3"):
        stats.dirichlet.logpdf(np.ones(5), alpha)


def test_multivariate_normal():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(4, 3, 3))
    cov = root @ root.transpose(0, 2, 1) + np.eye(3)
    x, mean = rng.normal(size=(4, 3)), rng.normal(size=3)
    normal = stats.multivariate_normal
    wanted = scipy.stats.multivariate_normal.logpdf(x, mean, cov[0])
    compare(normal.logpdf(x, mean, cov[0]), wanted)
    compare(normal.pdf(x, mean, cov[0]), np.exp(wanted))
    each = [scipy.stats.multivariate_normal.logpdf(x, mean, c) for c in cov]
    compare(normal.logpdf(x, mean, cov[:, None]), each)
    compare(jax.vmap(lambda c: normal.logpdf(x, mean, c))(cov), each)
    wanted = scipy.stats.multivariate_normal.logpdf(x, mean, 2)
    compare(normal.logpdf(x, mean, 2.0), wanted)
    compare(normal.logpdf(x, 0.5, 4.0), scipy.stats.norm.logpdf(x, 0.5, 2))
    slope = jax.grad(lambda m: normal.logpdf(x[0], m, cov[0]))(mean)
    compare(slope, np.linalg.solve(cov[0], x[0] - mean))
    with pytest.raises(ValueError, match="must have the same size"):
        normal.logpdf(x, np.ones(2), np.eye(2))
    with pytest.raises(ValueError, match=r"end in \(3, 3\)"):
        normal.logpdf(x, mean, np.eye(2))
    with pytest.raises(NotImplementedError, match="allow_singular"):
        normal.logpdf(x, mean, cov[0], True)


@pytest.mark.parametrize("name", [*CONTINUOUS, *BARE, *DISCRETE])
def test_derivatives_are_finite_outside_of_the_support(name):
    module = getattr(stats, name)
    known = CONTINUOUS | BARE | DISCRETE
    f = module.logpmf if name in DISCRETE else module.logpdf
    for x in (-50.0, 0.5, 50.0):
        slopes = jax.grad(f, tuple(range(1 + len(known[name]))))(
            x, *map(float, known[name])
        )
        assert np.isfinite(slopes).all(), (x, slopes)
    if name in CONTINUOUS:
        slopes = [jax.grad(module.cdf)(x, *known[name]) if hasattr(module, "cdf") else 0.0
                  for x in (-50.0, 0.5, 50.0)]  # fmt: skip
        assert np.isfinite(slopes).all()


@pytest.mark.parametrize(
    "name", ["norm", "gamma", "beta", "cauchy", "expon", "logistic"]
)
def test_slopes_of_distribution_functions_are_densities(name):
    module, shapes = getattr(stats, name), CONTINUOUS[name]
    x = jnp.array([0.1, 0.4, 0.9])
    slopes = jax.vmap(jax.grad(lambda x: module.cdf(x, *shapes)))(x)
    compare(slopes, module.pdf(x, *shapes), 1e-8)


def test_mode():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 4, (6, 7))
    for axis in (0, 1, -1, None):
        for keepdims in (False, True):
            got = stats.mode(a, axis, keepdims=keepdims)
            wanted = scipy.stats.mode(a, axis, keepdims=keepdims)
            np.testing.assert_array_equal(got.mode, wanted.mode)
            np.testing.assert_array_equal(got.count, wanted.count)
    with pytest.raises(NotImplementedError, match="'omit' is not supported"):
        stats.mode(a, nan_policy="omit")
    with pytest.raises(ValueError, match="nan_policy must be"):
        stats.mode(a, nan_policy="skip")


def test_rankdata_and_sem():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 5, (4, 9)).astype(float)
    for method in ("average", "min", "max", "dense", "ordinal"):
        for axis in (None, 0, 1):
            got = stats.rankdata(a, method, axis=axis)
            wanted = scipy.stats.rankdata(a, method, axis=axis)
            np.testing.assert_array_equal(np.ravel(got), np.ravel(wanted))
    hole = a.copy()
    hole[1, 2] = np.nan
    compare(stats.rankdata(hole, axis=1), scipy.stats.rankdata(hole, axis=1))
    for axis in (None, 0, 1):
        compare(stats.sem(a, axis), scipy.stats.sem(a, axis))
        got = stats.sem(hole, axis, nan_policy="omit")
        compare(got, scipy.stats.sem(hole, axis, nan_policy="omit"))
    with pytest.raises(ValueError, match="method must be one of"):
        stats.rankdata(a, "median")


@pytest.mark.parametrize("d", [1, 2])
def test_gaussian_kde(d):
    rng = np.random.default_rng(0)
    data, weights = rng.normal(size=(d, 30)), rng.uniform(size=30)
    points = rng.normal(size=(d, 8))
    for method in (None, "silverman", 0.4, lambda kde: kde.n ** (-0.3)):
        for w in (None, weights):
            ours = stats.gaussian_kde(data, method, w)
            theirs = scipy.stats.gaussian_kde(data, method, w)
            compare(ours(points), theirs(points))
            compare(ours.logpdf(points), theirs.logpdf(points))
            mean, cov = np.ones(d), np.eye(d)
            wanted = theirs.integrate_gaussian(mean, cov)
            compare(ours.integrate_gaussian(mean, cov), wanted)
            compare(ours.integrate_kde(ours), theirs.integrate_kde(theirs))
            if d == 1:
                wanted = theirs.integrate_box_1d(-1, 0.5)
                compare(ours.integrate_box_1d(-1, 0.5), wanted)
    draws = ours.resample(jax.random.key(0), (5000,))
    assert draws.shape == (d, 5000)
    assert np.abs(np.mean(draws, 1) - np.average(data, 1, weights)).max() < 0.1
    compare(jax.jit(lambda k, x: k(x))(ours, points), ours(points))
    with pytest.raises(AttributeError, match="immutable"):
        ours.neff = 3
    with pytest.raises(NotImplementedError, match="resample"):
        ours.integrate_box(0, 1)


def test_distributions_are_modules():
    for name in [*CONTINUOUS, *BARE, *DISCRETE, "dirichlet", "multivariate_normal"]:
        module = importlib.import_module(f"tetrad.scipy.stats.{name}")
        assert module is getattr(jax.scipy.stats, name)


def test_nothing_inside_promotes_ranks():
    data = jnp.asarray(np.random.default_rng(0).normal(size=(2, 20)))
    with jax.numpy_rank_promotion("raise"):
        kde = stats.gaussian_kde(data)
        assert kde.logpdf(data[:, :5]).shape == (5,)
        assert kde.evaluate(data[:, :5]).shape == (5,)
        x = jnp.zeros((4, 3))
        found = stats.multivariate_normal.logpdf(x, jnp.zeros(3), jnp.eye(3))
        assert found.shape == (4,)
