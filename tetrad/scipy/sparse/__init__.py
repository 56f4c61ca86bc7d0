"""Sparse systems: `tetrad.scipy.sparse`."""

from tetrad.scipy.sparse import linalg as linalg

from tetrad._src.util.frames import hide_all as _hide_all

_hide_all(globals())
