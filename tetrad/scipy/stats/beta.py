"""The beta distribution of shapes a and b."""

from tetrad._src.scipy.stats.beta import cdf as cdf
from tetrad._src.scipy.stats.beta import logcdf as logcdf
from tetrad._src.scipy.stats.beta import logpdf as logpdf
from tetrad._src.scipy.stats.beta import logsf as logsf
from tetrad._src.scipy.stats.beta import pdf as pdf
from tetrad._src.scipy.stats.beta import sf as sf

from tetrad._src.util.frames import hide_all as _hide_all

_hide_all(globals())
