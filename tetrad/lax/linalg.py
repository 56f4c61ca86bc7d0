"""`tetrad.lax.linalg`: decompositions of matrices; names and meanings as in JAX."""

from tetrad._src.ops.factor import cholesky as cholesky
from tetrad._src.ops.spectral import EighImplementation as EighImplementation
from tetrad._src.ops.spectral import EigImplementation as EigImplementation
from tetrad._src.ops.spectral import SvdAlgorithm as SvdAlgorithm
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
from tetrad._src.lib.polar import qdwh as qdwh
from tetrad._src.lib.updates import cholesky_update as cholesky_update
from tetrad._src.lib.updates import symmetric_product as symmetric_product

# Primitives: the classes of the operations
from tetrad._src.ops.factor import Cholesky as cholesky_p
from tetrad._src.ops.factor import HouseholderProduct as householder_product_p
from tetrad._src.ops.factor import Lu as lu_p
from tetrad._src.ops.factor import Ormqr as ormqr_p
from tetrad._src.ops.factor import PivotsToPermutation as lu_pivots_to_permutation_p
from tetrad._src.ops.factor import Qr as qr_p
from tetrad._src.ops.factor import TriangularSolve as triangular_solve_p
from tetrad._src.ops.spectral import Eig as eig_p
from tetrad._src.ops.spectral import Eigh as eigh_p
from tetrad._src.ops.spectral import Hessenberg as hessenberg_p
from tetrad._src.ops.spectral import Schur as schur_p
from tetrad._src.ops.spectral import Svd as svd_p
from tetrad._src.ops.spectral import Tridiagonal as tridiagonal_p
from tetrad._src.ops.spectral import TridiagonalSolve as tridiagonal_solve_p
