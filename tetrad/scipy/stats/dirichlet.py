"""The Dirichlet distribution on the simplex."""

from tetrad._src.scipy.stats.dirichlet import logpdf as logpdf
from tetrad._src.scipy.stats.dirichlet import pdf as pdf
