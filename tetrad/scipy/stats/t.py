"""Student's t distribution of df degrees of freedom."""

from tetrad._src.scipy.stats.t import logpdf as logpdf
from tetrad._src.scipy.stats.t import pdf as pdf
