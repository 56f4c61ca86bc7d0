"""The right-skewed Gumbel distribution, of maxima."""

from tetrad._src.scipy.stats.gumbel_r import cdf as cdf
from tetrad._src.scipy.stats.gumbel_r import logcdf as logcdf
from tetrad._src.scipy.stats.gumbel_r import logpdf as logpdf
from tetrad._src.scipy.stats.gumbel_r import logsf as logsf
from tetrad._src.scipy.stats.gumbel_r import pdf as pdf
from tetrad._src.scipy.stats.gumbel_r import ppf as ppf
from tetrad._src.scipy.stats.gumbel_r import sf as sf

from tetrad._src.util.frames import hide_all as _hide_all

_hide_all(globals())
