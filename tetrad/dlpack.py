"""Exchange of arrays with other libraries through DLPack."""

from tetrad._src.numpy.dlpack import from_dlpack as from_dlpack
