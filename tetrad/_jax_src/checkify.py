"""Checks in compiled programs."""

from tetrad.experimental.checkify import *  # noqa: F403
