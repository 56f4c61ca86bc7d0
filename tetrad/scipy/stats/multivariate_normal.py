"""The multivariate normal distribution."""

from tetrad._src.scipy.stats.multivariate_normal import logpdf as logpdf
from tetrad._src.scipy.stats.multivariate_normal import pdf as pdf
