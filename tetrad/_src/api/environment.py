"""What a report about a problem should say of the machine: `print_environment_info`."""

from __future__ import annotations

import os
import platform
import sys

import numpy as np

from tetrad._src.api.devices import devices
from tetrad.version import __version__, tetrad_version

PREFIXES = ("JAX_", "XLA_", "TETRAD_")


def print_environment_info(return_string: bool = False) -> str | None:
    """Prints the versions, devices and settings that a report should name.

    Args:
      return_string: whether to return the text instead.

    >>> import tetrad as jax
    >>> jax.print_environment_info(return_string=True).splitlines()[1].split()[0]
    'tetrad:'
    """
    python = sys.version.replace("\n", " ")
    kinds = ", ".join(map(str, devices()))
    lines = [
        f"jax:    {__version__} (the release whose behaviour is followed)",
        f"tetrad: {tetrad_version}",
        f"numpy:  {np.__version__}",
        f"python: {python}",
        f"devices: {kinds}",
        f"platform: {platform.platform()}",
        *[f"{k}={v}" for k, v in sorted(os.environ.items()) if k.startswith(PREFIXES)],
    ]
    text = "\n".join(lines)
    if return_string:
        return text
    print(text)
    return None
