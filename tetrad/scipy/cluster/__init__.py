"""Clusters: `tetrad.scipy.cluster`."""

from tetrad.scipy.cluster import vq as vq
