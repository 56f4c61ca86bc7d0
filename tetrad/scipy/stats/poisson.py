"""The Poisson distribution of mean mu."""

from tetrad._src.scipy.stats.poisson import cdf as cdf
from tetrad._src.scipy.stats.poisson import entropy as entropy
from tetrad._src.scipy.stats.poisson import logpmf as logpmf
from tetrad._src.scipy.stats.poisson import pmf as pmf

from tetrad._src.util.frames import hide_all as _hide_all

_hide_all(globals())
