"""Dtypes."""

from tetrad._src.util.dtypes import TypePromotionError as TypePromotionError
from tetrad.dtypes import *  # noqa: F403
from tetrad.numpy import finfo as finfo
