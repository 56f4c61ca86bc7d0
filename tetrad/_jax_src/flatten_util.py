"""Pytrees as vectors."""

from tetrad.flatten_util import ravel_pytree as ravel_pytree
