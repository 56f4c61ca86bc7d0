"""The binomial distribution whose probability is drawn from a beta distribution."""

from tetrad._src.scipy.stats.betabinom import logpmf as logpmf
from tetrad._src.scipy.stats.betabinom import pmf as pmf
