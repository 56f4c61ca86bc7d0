"""Pytrees."""

from tetrad.tree_util import *  # noqa: F403
