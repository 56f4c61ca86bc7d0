"""What programs still take from here."""

from tetrad._src.api.rules import apply_primitive as apply_primitive
