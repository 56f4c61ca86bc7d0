"""Vector quantisation: `tetrad.scipy.cluster.vq`."""

from tetrad._src.scipy.cluster import vq as vq

from tetrad._src.util.frames import hide_all as _hide_all

_hide_all(globals())
