"""The multinomial distribution: counts of n draws among the last axis."""

from tetrad._src.scipy.stats.multinomial import logpmf as logpmf
from tetrad._src.scipy.stats.multinomial import pmf as pmf

from tetrad._src.util.frames import hide_all as _hide_all

_hide_all(globals())
