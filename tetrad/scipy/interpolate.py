"""Interpolation: `tetrad.scipy.interpolate`."""

from tetrad._src.scipy.interpolate import (
    RegularGridInterpolator as RegularGridInterpolator,
)
