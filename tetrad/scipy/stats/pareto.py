"""The Pareto distribution of shape b."""

from tetrad._src.scipy.stats.pareto import cdf as cdf
from tetrad._src.scipy.stats.pareto import logcdf as logcdf
from tetrad._src.scipy.stats.pareto import logpdf as logpdf
from tetrad._src.scipy.stats.pareto import logsf as logsf
from tetrad._src.scipy.stats.pareto import pdf as pdf
from tetrad._src.scipy.stats.pareto import ppf as ppf
from tetrad._src.scipy.stats.pareto import sf as sf

from tetrad._src.util.frames import hide_all as _hide_all

_hide_all(globals())
