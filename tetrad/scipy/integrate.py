"""Integrals: `tetrad.scipy.integrate`."""

from tetrad.numpy import trapezoid as trapezoid
