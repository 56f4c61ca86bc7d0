"""Transformations."""

from tetrad import *  # noqa: F403
