"""The binomial distribution: successes in n trials of probability p."""

from tetrad._src.scipy.stats.binom import logpmf as logpmf
from tetrad._src.scipy.stats.binom import pmf as pmf

from tetrad._src.util.frames import hide_all as _hide_all

_hide_all(globals())
