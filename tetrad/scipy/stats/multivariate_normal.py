"""The multivariate normal distribution."""

from tetrad._src.scipy.stats.multivariate_normal import logpdf as logpdf
from tetrad._src.scipy.stats.multivariate_normal import pdf as pdf

from tetrad._src.util.frames import hide_all as _hide_all

_hide_all(globals())
