"""Clusters: `tetrad.scipy.cluster`."""

from tetrad.scipy.cluster import vq as vq

from tetrad._src.util.frames import hide_all as _hide_all

_hide_all(globals())
