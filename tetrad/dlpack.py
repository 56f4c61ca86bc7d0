"""Exchange of arrays with other libraries through DLPack."""

from tetrad._src.numpy.dlpack import from_dlpack as from_dlpack
from tetrad._src.numpy.dlpack import is_supported_dtype as is_supported_dtype
