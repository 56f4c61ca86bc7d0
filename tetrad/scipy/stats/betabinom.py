"""The binomial distribution whose probability is drawn from a beta distribution."""

from tetrad._src.scipy.stats.betabinom import logpmf as logpmf
from tetrad._src.scipy.stats.betabinom import pmf as pmf

from tetrad._src.util.frames import hide_all as _hide_all

_hide_all(globals())
