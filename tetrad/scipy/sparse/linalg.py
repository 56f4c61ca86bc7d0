"""Linear systems solved by iteration: `tetrad.scipy.sparse.linalg`."""

from tetrad._src.scipy.iterative import bicgstab as bicgstab
from tetrad._src.scipy.iterative import cg as cg
from tetrad._src.scipy.iterative import gmres as gmres

from tetrad._src.util.frames import hide_all as _hide_all

_hide_all(globals())
