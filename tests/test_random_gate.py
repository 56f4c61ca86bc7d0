"""Whether the numbers of every sampler are from its distribution.

Each row gives a sampler, its parameters and the distribution in SciPy. A hundred thousand
draws from one key must pass a test of Kolmogorov and Smirnov (or chi-square for counts)
at a level that the fixed key passes once and for all; a million must lie in the support,
and as many as expected in the tails. The fast tests at the end belong to every run.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import stats

import tetrad as jax
import tetrad.numpy as jnp

MANY = 100_000
LEVEL = 1e-4
WIDTHS = {"float32": 24, "float64": 53, "float16": 11, "bfloat16": 8}


class Row(NamedTuple):
    sampler: str
    args: tuple[Any, ...]
    distribution: Any

    def draw(self, seed: int, count: int, dtype: str = "float32") -> Any:
        function = getattr(jax.random, self.sampler)
        kwargs = {} if self.sampler == "binomial" else {"dtype": dtype}
        drawn = function(jax.random.key(seed), *self.args, shape=(count,), **kwargs)
        return np.asarray(drawn).astype(np.float64)

    def __str__(self) -> str:
        return f"{self.sampler}{self.args}"


def row(sampler: str, *args: Any, of: Any) -> Row:
    return Row(sampler, args, of)


SMOOTH = [
    row("uniform", of=stats.uniform()),
    row("normal", of=stats.norm()),
    row("exponential", of=stats.expon()),
    row("gumbel", of=stats.gumbel_r()),
    row("laplace", of=stats.laplace()),
    row("logistic", of=stats.logistic()),
    row("cauchy", of=stats.cauchy()),
    row("maxwell", of=stats.maxwell()),
    *[row("gamma", a, of=stats.gamma(a)) for a in (0.1, 0.9, 1.0, 3.5, 100.0, 1e6)],
    *[row("beta", a, b, of=stats.beta(a, b))
      for a, b in ((0.5, 0.5), (0.2, 3.0), (2.0, 5.0), (300.0, 700.0))],
    *[row("chisquare", k, of=stats.chi2(k)) for k in (1.0, 4.0, 250.0)],
    *[row("t", k, of=stats.t(k)) for k in (0.7, 2.0, 30.0)],
    row("f", 3.0, 7.0, of=stats.f(3, 7)),
    row("f", 50.0, 20.0, of=stats.f(50, 20)),
    *[row("pareto", b, of=stats.pareto(b)) for b in (0.5, 3.0)],
    row("rayleigh", 2.0, of=stats.rayleigh(scale=2)),
    *[row("lognormal", s, of=stats.lognorm(s)) for s in (0.3, 2.0)],
    *[row("wald", m, of=stats.invgauss(m)) for m in (0.2, 1.0, 50.0)],
    row("triangular", -1.0, 0.5, 3.0, of=stats.triang(0.375, -1, 4)),
    row("triangular", 0.0, 0.0, 1.0, of=stats.triang(0, 0, 1)),
    *[row("weibull_min", 2.0, c, of=stats.weibull_min(c, scale=2)) for c in (0.6, 3.0)],
    *[row("generalized_normal", p, of=stats.gennorm(p)) for p in (0.5, 1.0, 4.0)],
    *[row("truncated_normal", a, b, of=stats.truncnorm(a, b))
      for a, b in ((-1.0, 2.0), (-10.0, 0.0), (2.0, 3.0), (-3.5, -3.0))],
]  # fmt: skip

COUNTS = [
    *[row("poisson", m, of=stats.poisson(m))
      for m in (0.01, 1.0, 9.9, 10.0, 40.0, 1e3, 1e5)],
    *[row("binomial", n, p, of=stats.binom(n, p))
      for n, p in ((1, 0.5), (10, 0.05), (40, 0.5), (40, 0.9), (1000, 0.3), (10**5, 0.7))],
    *[row("geometric", p, of=stats.geom(p)) for p in (0.05, 0.5, 0.99)],
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("row", SMOOTH, ids=str)
def test_the_distribution(row, dtype):
    with jax.enable_x64(dtype == "float64"):
        drawn = row.draw(11, MANY, dtype)
        assert np.isfinite(drawn).all()
        assert stats.kstest(drawn, row.distribution.cdf).pvalue > LEVEL
        check_tails(row.draw(12, 10 * MANY, dtype), row.distribution, dtype)


def check_tails(drawn: Any, distribution: Any, dtype: str) -> None:
    """The support, and as many numbers as expected beyond the outer quantiles."""
    low, high = distribution.support()
    slack = 4 * 2.0 ** -WIDTHS[dtype]
    assert not np.isnan(drawn).any()
    assert drawn.min() >= low - slack * abs(low)
    assert drawn.max() <= high + slack * abs(high)
    for share in (1e-4, 1e-3):
        count = len(drawn) * share
        for beyond in (
            (drawn < distribution.ppf(share)).sum(),
            (drawn > distribution.isf(share)).sum(),
        ):
            # Float32 cannot tell the last numbers below 1 from 1.
            rounded = high == 1 and high - distribution.isf(share) < slack
            assert rounded or abs(beyond - count) < 6 * np.sqrt(count)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(
    "row", [r for r in SMOOTH if r.distribution.std() < 1e3], ids=str
)
def test_the_distribution_of_halves(row, dtype):
    """Up to the spacing of the type, which is all that the numbers can show."""
    if "1000000.0" in str(row):
        pytest.skip("above the largest float16")
    drawn = row.draw(13, MANY, dtype)
    drawn = drawn[np.isfinite(drawn)]
    assert len(drawn) > 0.99 * MANY
    quantiles = np.quantile(drawn, [0.1, 0.3, 0.5, 0.7, 0.9])
    for share, q in zip((0.1, 0.3, 0.5, 0.7, 0.9), quantiles, strict=True):
        room = 2.0 ** -(WIDTHS[dtype] - 2) * max(abs(q), 1)
        low, high = row.distribution.cdf([q - room, q + room])
        # The uniform numbers that quantiles are made of have steps, too.
        slack = 0.01 + 4 * 2.0 ** -WIDTHS[dtype]
        assert low - slack < share < high + slack


@pytest.mark.slow
@pytest.mark.parametrize("row", COUNTS, ids=str)
def test_the_counts(row):
    drawn = row.draw(14, MANY, "int32")
    assert (drawn == np.floor(drawn)).all()
    low, high = row.distribution.support()
    assert drawn.min() >= low and drawn.max() <= high
    assert chi_square(drawn, row.distribution) > LEVEL


def chi_square(drawn: Any, distribution: Any) -> float:
    """The p-value of the counts in about fifty cells of equal probability."""
    edges = np.unique(distribution.ppf(np.linspace(0, 1, 52)[1:-1]))
    levels = np.concatenate([[0], distribution.cdf(edges), [1]])
    expected = np.diff(levels) * len(drawn)
    cells = np.searchsorted(edges, drawn, side="left")
    seen = np.bincount(cells, minlength=len(expected))
    kept = expected > 5
    rest = (seen[~kept].sum(), expected[~kept].sum())
    seen, expected = seen[kept], expected[kept]
    if rest[1] > 5:
        seen, expected = np.append(seen, rest[0]), np.append(expected, rest[1])
    else:
        seen[-1] += rest[0]
        expected[-1] += rest[1]
    if len(seen) == 1:
        return 1.0
    return float(stats.chisquare(seen, expected).pvalue)


@pytest.mark.slow
@pytest.mark.parametrize("a", [1e-4, 1e-2, 0.3])
def test_loggamma_of_small_concentrations(a):
    drawn = np.asarray(jax.random.loggamma(jax.random.key(1), a, (MANY,)))
    assert np.isfinite(drawn).all()
    # log X = log G/a + log Y with G uniform: nearly exponential with rate a below 0.
    grid = np.quantile(drawn, [0.1, 0.3, 0.5, 0.7])
    with np.errstate(under="ignore"):
        wanted = np.exp(a * grid.astype(np.float64) - stats_log_gamma(a + 1))
    shown = [0.1, 0.3, 0.5, 0.7]
    if a < 0.1:
        np.testing.assert_allclose(wanted, shown, atol=0.01)
    else:
        exact = stats.gamma(a).cdf(np.exp(grid.astype(np.float64)))
        np.testing.assert_allclose(exact, shown, atol=0.01)


def stats_log_gamma(x: float) -> float:
    return float(np.log(stats.gamma(x).pdf(1.0)) * -1 - 1)


@pytest.mark.slow
def test_no_concentration_gives_nan():
    key = jax.random.key(2)
    for a in (0.0, 1e-38, 1e-30, 1e-6, 1e6, 1e30, 3e38):
        for name in ("gamma", "loggamma"):
            drawn = np.asarray(getattr(jax.random, name)(key, a, (1000,)))
            assert not np.isnan(drawn).any(), (name, a)
        assert not np.isnan(np.asarray(jax.random.beta(key, a, a + 1, (1000,)))).any()
        weights = jnp.array([a, a, 1.0])
        drawn = np.asarray(jax.random.dirichlet(key, weights, (1000,)))
        np.testing.assert_allclose(drawn.sum(1), 1, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["int8", "uint8", "int16", "uint16", "int32", "uint32"]
)
def test_randint_of_every_width(name):
    info = np.iinfo(name)
    low, high = int(info.min), int(info.max)
    for minval, maxval in (
        (low, high),
        (low, high + 1),
        (0, 7),
        (3, 5),
        (high - 9, high),
    ):
        if maxval > 2**31 - 1 and name == "int32":
            continue
        drawn = jax.random.randint(jax.random.key(3), (MANY,), minval, maxval, name)
        drawn = np.asarray(drawn).astype(np.int64)
        assert (
            drawn.dtype == np.int64 and drawn.min() >= minval and drawn.max() < maxval
        )
        cells = min(maxval - minval, 50)
        counts = np.histogram(drawn, cells, (minval, maxval))[0]
        edges = np.linspace(minval, maxval, cells + 1)
        share = np.diff(np.ceil(edges)) / (maxval - minval)
        assert stats.chisquare(counts, share * MANY).pvalue > LEVEL


@pytest.mark.slow
def test_children_of_split_share_no_words():
    words = np.asarray(jax.random.key_data(jax.random.split(jax.random.key(4), 10**6)))
    both = words[:, 0].astype(np.uint64) << np.uint64(32) | words[:, 1]
    assert len(np.unique(both)) == 10**6
    first, second = jax.random.split(jax.random.key(5))
    x, y = [np.asarray(jax.random.normal(k, (10**6,))) for k in (first, second)]
    assert abs(np.corrcoef(x, y)[0, 1]) < 5e-3


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_uniform_reaches_both_ends(dtype):
    drawn = np.asarray(jax.random.uniform(jax.random.key(6), (20 * 10**6,), dtype))
    step = 2.0 ** -(WIDTHS[dtype] - 1)
    assert 1 - 4 * step <= float(drawn.max()) < 1 and float(drawn.min()) <= 4 * step
    assert float(drawn[drawn > 0].min()) <= 4 * step


@pytest.mark.slow
def test_vectors():
    cov = np.array([[2.0, 1.0, 0.5], [1.0, 2.0, 0.3], [0.5, 0.3, 1.0]])
    mean = np.array([1.0, -2.0, 0.0])
    for method in ("cholesky", "eigh", "svd"):
        drawn = np.asarray(
            jax.random.multivariate_normal(
                jax.random.key(7), jnp.asarray(mean), jnp.asarray(cov), (MANY,),
                method=method,
            )
        )  # fmt: skip
        np.testing.assert_allclose(drawn.mean(0), mean, atol=0.02)
        np.testing.assert_allclose(np.cov(drawn.T), cov, atol=0.04)
    for p in (1.0, 2.0, 3.5):
        ball = np.asarray(jax.random.ball(jax.random.key(8), 3, p, (MANY,)))
        radius = (np.abs(ball.astype(np.float64)) ** p).sum(1) ** (1 / p)
        assert stats.kstest(radius**3, "uniform").pvalue > LEVEL
    q = np.asarray(jax.random.orthogonal(jax.random.key(9), 3, (20_000,)))
    np.testing.assert_allclose(q @ q.swapaxes(1, 2), np.tile(np.eye(3), (20_000, 1, 1)),
                               atol=1e-5)  # fmt: skip
    # A column of a uniform rotation is uniform on the sphere.
    assert stats.kstest((q[:, 0, 0] + 1) / 2, "uniform").pvalue > LEVEL
    assert abs((np.linalg.det(q) > 0).mean() - 0.5) < 0.02


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["low", "high"])
def test_choices(mode):
    p = np.array([0.05, 0.15, 0.3, 0.5])
    logits = jnp.log(jnp.asarray(p))
    drawn = jax.random.categorical(jax.random.key(10), logits, shape=(MANY,), mode=mode)
    counts = np.bincount(np.asarray(drawn), minlength=4)
    assert stats.chisquare(counts, p * MANY).pvalue > LEVEL
    drawn = jax.random.choice(
        jax.random.key(11), 4, (MANY,), p=jnp.asarray(p), mode=mode
    )
    counts = np.bincount(np.asarray(drawn), minlength=4)
    assert stats.chisquare(counts, p * MANY).pvalue > LEVEL
    rare = jax.random.bernoulli(jax.random.key(12), 1e-3, (10**6,), mode=mode)
    assert abs(int(rare.sum()) - 1000) < 200


@pytest.mark.slow
def test_permutations_are_uniform():
    draw = jax.vmap(lambda key: jax.random.permutation(key, 4))
    orders = np.asarray(draw(jax.random.split(jax.random.key(13), 24_000)))
    code = orders @ (4 ** np.arange(4))
    counts = np.unique(code, return_counts=True)[1]
    assert len(counts) == 24 and stats.chisquare(counts).pvalue > LEVEL


@pytest.mark.slow
def test_multinomial():
    p = np.array([0.1, 0.2, 0.7])
    drawn = np.asarray(jax.random.multinomial(
        jax.random.key(14), 50, jnp.asarray(p), shape=(20_000, 3)))  # fmt: skip
    assert (drawn.sum(1) == 50).all()
    for i in range(3):
        assert chi_square(drawn[:, i], stats.binom(50, p[i])) > LEVEL


# ------------------------------------------------------------------- in every run


@pytest.mark.parametrize(
    "row",
    [row("normal", of=stats.norm()), row("gamma", 0.7, of=stats.gamma(0.7)),
     row("beta", 2.0, 5.0, of=stats.beta(2, 5)),
     row("truncated_normal", -1.0, 2.0, of=stats.truncnorm(-1, 2))],
    ids=str,
)  # fmt: skip
def test_a_few_distributions(row):
    assert stats.kstest(row.draw(15, 20_000), row.distribution.cdf).pvalue > LEVEL


def test_a_few_counts():
    for r in (row("poisson", 12.0, of=stats.poisson(12)),
              row("binomial", 60, 0.4, of=stats.binom(60, 0.4))):  # fmt: skip
        assert chi_square(r.draw(16, 20_000, "int32"), r.distribution) > LEVEL


def test_truncation_far_in_the_tail():
    drawn = np.asarray(
        jax.random.truncated_normal(jax.random.key(17), 6.0, 7.0, (MANY,))
    )
    assert drawn.min() > 6 and drawn.max() < 7
    assert abs(drawn.mean() - 6.157) < 0.01
    assert stats.kstest(drawn.astype(float), stats.truncnorm(6, 7).cdf).pvalue > LEVEL
