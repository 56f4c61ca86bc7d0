"""Versions: `__version__` is that of the JAX release whose behaviour we follow."""

from tetrad._src.api.run import FOLLOWED_VERSION as __version__

__version_info__ = tuple(int(part) for part in __version__.split("."))
tetrad_version = "0.1.0"
