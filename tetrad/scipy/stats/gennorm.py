"""The generalised normal distribution of shape beta: 2 is normal, 1 is Laplace."""

from tetrad._src.scipy.stats.gennorm import cdf as cdf
from tetrad._src.scipy.stats.gennorm import logpdf as logpdf
from tetrad._src.scipy.stats.gennorm import pdf as pdf

from tetrad._src.util.frames import hide_all as _hide_all

_hide_all(globals())
