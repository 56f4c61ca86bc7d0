"""Least values of functions: `tetrad.scipy.optimize`."""

from tetrad._src.scipy.optimize import OptimizeResults as OptimizeResults
from tetrad._src.scipy.optimize import minimize as minimize

from tetrad._src.util.frames import hide_all as _hide_all

_hide_all(globals())
