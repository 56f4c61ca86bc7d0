"""The types of mutable references."""

from tetrad._src.api.references import AbstractRef as AbstractRef
from tetrad._src.api.references import TransformedRef as TransformedRef
