"""`pjit`, which has become `jit`."""

from tetrad._src.api.jit import jit as pjit

__all__ = ["pjit"]
