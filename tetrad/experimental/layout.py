"""How arrays lie in memory: whole and row-major."""

from tetrad._src.api.formats import Format as Format
from tetrad._src.api.formats import Layout as Layout

__all__ = ["Format", "Layout"]
