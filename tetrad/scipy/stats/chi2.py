"""The χ² distribution of df degrees of freedom: gamma of shape df/2 and scale 2."""

from tetrad._src.scipy.stats.chi2 import cdf as cdf
from tetrad._src.scipy.stats.chi2 import logcdf as logcdf
from tetrad._src.scipy.stats.chi2 import logpdf as logpdf
from tetrad._src.scipy.stats.chi2 import logsf as logsf
from tetrad._src.scipy.stats.chi2 import pdf as pdf
from tetrad._src.scipy.stats.chi2 import sf as sf

from tetrad._src.util.frames import hide_all as _hide_all

_hide_all(globals())
