"""Vector quantisation: `tetrad.scipy.cluster.vq`."""

from tetrad._src.scipy.cluster import vq as vq
