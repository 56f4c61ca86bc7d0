"""The logistic distribution."""

from tetrad._src.scipy.stats.logistic import cdf as cdf
from tetrad._src.scipy.stats.logistic import isf as isf
from tetrad._src.scipy.stats.logistic import logpdf as logpdf
from tetrad._src.scipy.stats.logistic import pdf as pdf
from tetrad._src.scipy.stats.logistic import ppf as ppf
from tetrad._src.scipy.stats.logistic import sf as sf

from tetrad._src.util.frames import hide_all as _hide_all

_hide_all(globals())
