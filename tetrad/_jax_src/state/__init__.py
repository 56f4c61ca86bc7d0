"""Mutable references."""

from tetrad._jax_src.state import types as types
from tetrad._jax_src.state.types import AbstractRef as AbstractRef
from tetrad._jax_src.state.types import TransformedRef as TransformedRef
