"""The Cauchy distribution wrapped around the circle, on [0, 2π], 0 < c < 1."""

from tetrad._src.scipy.stats.wrapcauchy import logpdf as logpdf
from tetrad._src.scipy.stats.wrapcauchy import pdf as pdf

from tetrad._src.util.frames import hide_all as _hide_all

_hide_all(globals())
