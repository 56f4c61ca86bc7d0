"""Pytrees of arrays as vectors, and back."""

from tetrad._src.lib.flatten import ravel_pytree as ravel_pytree
