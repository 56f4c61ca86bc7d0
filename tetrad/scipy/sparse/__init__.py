"""Sparse systems: `tetrad.scipy.sparse`."""

from tetrad.scipy.sparse import linalg as linalg
