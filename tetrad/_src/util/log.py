"""What the library tells Python's `logging`, under the name "tetrad".

Traces and compilations are told at level DEBUG, or as warnings if `jax_log_compiles` is
on; why a function is traced is told, as a warning, if `jax_explain_cache_misses` is.
"""

from __future__ import annotations

import logging
from typing import Any

from tetrad._src.util.config import config

logger = logging.getLogger("tetrad")


def progress(text: str, *values: Any) -> None:
    """Tells of a trace or a compilation; `text` has places for `values`."""
    level = logging.WARNING if config.jax_log_compiles else logging.DEBUG
    if logger.isEnabledFor(level):
        logger.log(level, text, *values)


def explain(text: str, *values: Any) -> None:
    """Tells why something that takes long had to be done, if users want to know."""
    if config.jax_explain_cache_misses:
        logger.warning(text, *values)
