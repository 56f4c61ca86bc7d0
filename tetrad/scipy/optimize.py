"""Least values of functions: `tetrad.scipy.optimize`."""

from tetrad._src.scipy.optimize import OptimizeResults as OptimizeResults
from tetrad._src.scipy.optimize import minimize as minimize
