"""The uniform distribution on [loc, loc + scale]."""

from tetrad._src.scipy.stats.uniform import cdf as cdf
from tetrad._src.scipy.stats.uniform import logpdf as logpdf
from tetrad._src.scipy.stats.uniform import pdf as pdf
from tetrad._src.scipy.stats.uniform import ppf as ppf

from tetrad._src.util.frames import hide_all as _hide_all

_hide_all(globals())
