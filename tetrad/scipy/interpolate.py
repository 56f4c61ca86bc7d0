"""Interpolation: `tetrad.scipy.interpolate`."""

from tetrad._src.scipy.interpolate import (
    RegularGridInterpolator as RegularGridInterpolator,
)

from tetrad._src.util.frames import hide_all as _hide_all

_hide_all(globals())
