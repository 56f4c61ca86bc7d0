"""The standard normal distribution cut to [a, b], then scaled and moved."""

from tetrad._src.scipy.stats.truncnorm import cdf as cdf
from tetrad._src.scipy.stats.truncnorm import logcdf as logcdf
from tetrad._src.scipy.stats.truncnorm import logpdf as logpdf
from tetrad._src.scipy.stats.truncnorm import logsf as logsf
from tetrad._src.scipy.stats.truncnorm import pdf as pdf
from tetrad._src.scipy.stats.truncnorm import sf as sf

from tetrad._src.util.frames import hide_all as _hide_all

_hide_all(globals())
