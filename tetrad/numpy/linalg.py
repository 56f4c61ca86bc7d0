"""Linear algebra on arrays: `tetrad.numpy.linalg`."""

from tetrad._src.numpy.linalg import cross as cross
from tetrad._src.numpy.linalg import diagonal as diagonal
from tetrad._src.numpy.linalg import matmul as matmul
from tetrad._src.numpy.linalg import matrix_norm as matrix_norm
from tetrad._src.numpy.linalg import matrix_power as matrix_power
from tetrad._src.numpy.linalg import matrix_transpose as matrix_transpose
from tetrad._src.numpy.linalg import multi_dot as multi_dot
from tetrad._src.numpy.linalg import norm as norm
from tetrad._src.numpy.linalg import outer as outer
from tetrad._src.numpy.linalg import tensordot as tensordot
from tetrad._src.numpy.linalg import trace as trace
from tetrad._src.numpy.linalg import vecdot as vecdot
from tetrad._src.numpy.linalg import vector_norm as vector_norm
