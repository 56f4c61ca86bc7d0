"""The left-skewed Gumbel distribution, of minima."""

from tetrad._src.scipy.stats.gumbel_l import cdf as cdf
from tetrad._src.scipy.stats.gumbel_l import logcdf as logcdf
from tetrad._src.scipy.stats.gumbel_l import logpdf as logpdf
from tetrad._src.scipy.stats.gumbel_l import logsf as logsf
from tetrad._src.scipy.stats.gumbel_l import pdf as pdf
from tetrad._src.scipy.stats.gumbel_l import ppf as ppf
from tetrad._src.scipy.stats.gumbel_l import sf as sf

from tetrad._src.util.frames import hide_all as _hide_all

_hide_all(globals())
