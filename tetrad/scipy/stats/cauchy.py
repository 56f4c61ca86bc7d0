"""The Cauchy distribution."""

from tetrad._src.scipy.stats.cauchy import cdf as cdf
from tetrad._src.scipy.stats.cauchy import isf as isf
from tetrad._src.scipy.stats.cauchy import logcdf as logcdf
from tetrad._src.scipy.stats.cauchy import logpdf as logpdf
from tetrad._src.scipy.stats.cauchy import logsf as logsf
from tetrad._src.scipy.stats.cauchy import pdf as pdf
from tetrad._src.scipy.stats.cauchy import ppf as ppf
from tetrad._src.scipy.stats.cauchy import sf as sf

from tetrad._src.util.frames import hide_all as _hide_all

_hide_all(globals())
