"""The negative binomial distribution: failures before the n-th success."""

from tetrad._src.scipy.stats.nbinom import logpmf as logpmf
from tetrad._src.scipy.stats.nbinom import pmf as pmf

from tetrad._src.util.frames import hide_all as _hide_all

_hide_all(globals())
