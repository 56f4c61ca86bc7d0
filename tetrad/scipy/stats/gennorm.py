"""The generalised normal distribution of shape beta: 2 is normal, 1 is Laplace."""

from tetrad._src.scipy.stats.gennorm import cdf as cdf
from tetrad._src.scipy.stats.gennorm import logpdf as logpdf
from tetrad._src.scipy.stats.gennorm import pdf as pdf
