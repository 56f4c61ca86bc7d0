"""The exponential distribution."""

from tetrad._src.scipy.stats.expon import cdf as cdf
from tetrad._src.scipy.stats.expon import logcdf as logcdf
from tetrad._src.scipy.stats.expon import logpdf as logpdf
from tetrad._src.scipy.stats.expon import logsf as logsf
from tetrad._src.scipy.stats.expon import pdf as pdf
from tetrad._src.scipy.stats.expon import ppf as ppf
from tetrad._src.scipy.stats.expon import sf as sf

from tetrad._src.util.frames import hide_all as _hide_all

_hide_all(globals())
