"""Rotations in three dimensions: `tetrad.scipy.spatial.transform`."""

from tetrad._src.scipy.rotation import Rotation as Rotation
from tetrad._src.scipy.rotation import Slerp as Slerp

from tetrad._src.util.frames import hide_all as _hide_all

_hide_all(globals())
