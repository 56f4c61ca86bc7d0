"""The Bernoulli distribution: 1 with probability p, else 0."""

from tetrad._src.scipy.stats.bernoulli import cdf as cdf
from tetrad._src.scipy.stats.bernoulli import logpmf as logpmf
from tetrad._src.scipy.stats.bernoulli import pmf as pmf
from tetrad._src.scipy.stats.bernoulli import ppf as ppf

from tetrad._src.util.frames import hide_all as _hide_all

_hide_all(globals())
