"""Linear algebra in SciPy's words: `tetrad.scipy.linalg`."""

from tetrad._src.scipy.linalg import cho_factor as cho_factor
from tetrad._src.scipy.linalg import cho_solve as cho_solve
from tetrad._src.scipy.linalg import cholesky as cholesky
from tetrad._src.scipy.linalg import det as det
from tetrad._src.scipy.linalg import eigh as eigh
from tetrad._src.scipy.linalg import eigh_tridiagonal as eigh_tridiagonal
from tetrad._src.scipy.linalg import expm as expm
from tetrad._src.scipy.linalg import expm_frechet as expm_frechet
from tetrad._src.scipy.linalg import funm as funm
from tetrad._src.scipy.linalg import hessenberg as hessenberg
from tetrad._src.scipy.linalg import inv as inv
from tetrad._src.scipy.linalg import lu as lu
from tetrad._src.scipy.linalg import lu_factor as lu_factor
from tetrad._src.scipy.linalg import lu_solve as lu_solve
from tetrad._src.scipy.linalg import polar as polar
from tetrad._src.scipy.linalg import qr as qr
from tetrad._src.scipy.linalg import qr_multiply as qr_multiply
from tetrad._src.scipy.linalg import rsf2csf as rsf2csf
from tetrad._src.scipy.linalg import schur as schur
from tetrad._src.scipy.linalg import solve as solve
from tetrad._src.scipy.linalg import solve_sylvester as solve_sylvester
from tetrad._src.scipy.linalg import solve_triangular as solve_triangular
from tetrad._src.scipy.linalg import sqrtm as sqrtm
from tetrad._src.scipy.linalg import svd as svd
from tetrad._src.scipy.special_matrices import block_diag as block_diag
from tetrad._src.scipy.special_matrices import circulant as circulant
from tetrad._src.scipy.special_matrices import companion as companion
from tetrad._src.scipy.special_matrices import convolution_matrix as convolution_matrix
from tetrad._src.scipy.special_matrices import dft as dft
from tetrad._src.scipy.special_matrices import fiedler as fiedler
from tetrad._src.scipy.special_matrices import fiedler_companion as fiedler_companion
from tetrad._src.scipy.special_matrices import hadamard as hadamard
from tetrad._src.scipy.special_matrices import hankel as hankel
from tetrad._src.scipy.special_matrices import helmert as helmert
from tetrad._src.scipy.special_matrices import hilbert as hilbert
from tetrad._src.scipy.special_matrices import invhilbert as invhilbert
from tetrad._src.scipy.special_matrices import invpascal as invpascal
from tetrad._src.scipy.special_matrices import leslie as leslie
from tetrad._src.scipy.special_matrices import pascal as pascal
from tetrad._src.scipy.special_matrices import toeplitz as toeplitz

from tetrad._src.util.frames import hide_all as _hide_all

_hide_all(globals())
