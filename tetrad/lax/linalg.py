"""`tetrad.lax.linalg`: decompositions of matrices; names and meanings as in JAX."""

from tetrad._src.ops.factor import cholesky as cholesky
from tetrad._src.ops.spectral import eig as eig
from tetrad._src.ops.spectral import eigh as eigh
from tetrad._src.ops.spectral import hessenberg as hessenberg
from tetrad._src.ops.factor import householder_product as householder_product
from tetrad._src.ops.factor import lu as lu
from tetrad._src.ops.factor import lu_pivots_to_permutation as lu_pivots_to_permutation
from tetrad._src.ops.factor import ormqr as ormqr
from tetrad._src.ops.factor import qr as qr
from tetrad._src.ops.spectral import schur as schur
from tetrad._src.ops.spectral import svd as svd
from tetrad._src.ops.factor import triangular_solve as triangular_solve
from tetrad._src.ops.spectral import tridiagonal as tridiagonal
from tetrad._src.ops.spectral import tridiagonal_solve as tridiagonal_solve
