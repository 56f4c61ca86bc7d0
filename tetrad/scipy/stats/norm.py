"""The normal distribution."""

from tetrad._src.scipy.stats.norm import cdf as cdf
from tetrad._src.scipy.stats.norm import isf as isf
from tetrad._src.scipy.stats.norm import logcdf as logcdf
from tetrad._src.scipy.stats.norm import logpdf as logpdf
from tetrad._src.scipy.stats.norm import logsf as logsf
from tetrad._src.scipy.stats.norm import pdf as pdf
from tetrad._src.scipy.stats.norm import ppf as ppf
from tetrad._src.scipy.stats.norm import sf as sf

from tetrad._src.util.frames import hide_all as _hide_all

_hide_all(globals())
