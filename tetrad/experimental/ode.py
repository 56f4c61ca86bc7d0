"""Ordinary differential equations: `tetrad.experimental.ode`."""

from tetrad._src.scipy.ode import odeint as odeint
