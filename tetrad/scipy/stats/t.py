"""Student's t distribution of df degrees of freedom."""

from tetrad._src.scipy.stats.t import logpdf as logpdf
from tetrad._src.scipy.stats.t import pdf as pdf

from tetrad._src.util.frames import hide_all as _hide_all

_hide_all(globals())
