"""The binomial distribution: successes in n trials of probability p."""

from tetrad._src.scipy.stats.binom import logpmf as logpmf
from tetrad._src.scipy.stats.binom import pmf as pmf
