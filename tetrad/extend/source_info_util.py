"""Lines that messages name."""

from tetrad._src.util.frames import register_exclusion as register_exclusion
