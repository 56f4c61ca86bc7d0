"""Integrals: `tetrad.scipy.integrate`."""

from tetrad.numpy import trapezoid as trapezoid

from tetrad._src.util.frames import hide_all as _hide_all

_hide_all(globals())
