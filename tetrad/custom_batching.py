"""Functions that say themselves what `vmap` does with them."""

from tetrad._src.control.custom_vmap import custom_vmap as custom_vmap
from tetrad._src.control.custom_vmap import sequential_vmap as sequential_vmap
