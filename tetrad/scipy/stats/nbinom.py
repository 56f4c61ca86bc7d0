"""The negative binomial distribution: failures before the n-th success."""

from tetrad._src.scipy.stats.nbinom import logpmf as logpmf
from tetrad._src.scipy.stats.nbinom import pmf as pmf
