"""The von Mises distribution of angles, concentrated about 0 by kappa."""

from tetrad._src.scipy.stats.vonmises import logpdf as logpdf
from tetrad._src.scipy.stats.vonmises import pdf as pdf

from tetrad._src.util.frames import hide_all as _hide_all

_hide_all(globals())
