"""SciPy's functions: `tetrad.scipy`."""

from tetrad.scipy import linalg as linalg
from tetrad.scipy import special as special
