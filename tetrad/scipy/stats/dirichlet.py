"""The Dirichlet distribution on the simplex."""

from tetrad._src.scipy.stats.dirichlet import logpdf as logpdf
from tetrad._src.scipy.stats.dirichlet import pdf as pdf

from tetrad._src.util.frames import hide_all as _hide_all

_hide_all(globals())
