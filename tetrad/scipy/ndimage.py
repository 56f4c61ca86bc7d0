"""Images of any rank: `tetrad.scipy.ndimage`."""

from tetrad._src.scipy.ndimage import map_coordinates as map_coordinates

from tetrad._src.util.frames import hide_all as _hide_all

_hide_all(globals())
