"""Images of any rank: `tetrad.scipy.ndimage`."""

from tetrad._src.scipy.ndimage import map_coordinates as map_coordinates
