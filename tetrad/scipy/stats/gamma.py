"""The gamma distribution of shape a."""

from tetrad._src.scipy.stats.gamma import cdf as cdf
from tetrad._src.scipy.stats.gamma import logcdf as logcdf
from tetrad._src.scipy.stats.gamma import logpdf as logpdf
from tetrad._src.scipy.stats.gamma import logsf as logsf
from tetrad._src.scipy.stats.gamma import pdf as pdf
from tetrad._src.scipy.stats.gamma import sf as sf

from tetrad._src.util.frames import hide_all as _hide_all

_hide_all(globals())
