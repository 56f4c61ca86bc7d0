"""The multinomial distribution: counts of n draws among the last axis."""

from tetrad._src.scipy.stats.multinomial import logpmf as logpmf
from tetrad._src.scipy.stats.multinomial import pmf as pmf
