"""The geometric distribution: the first success in trials of probability p."""

from tetrad._src.scipy.stats.geom import logpmf as logpmf
from tetrad._src.scipy.stats.geom import pmf as pmf
