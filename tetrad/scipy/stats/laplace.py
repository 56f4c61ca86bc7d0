"""The Laplace distribution."""

from tetrad._src.scipy.stats.laplace import cdf as cdf
from tetrad._src.scipy.stats.laplace import logpdf as logpdf
from tetrad._src.scipy.stats.laplace import pdf as pdf

from tetrad._src.util.frames import hide_all as _hide_all

_hide_all(globals())
