"""Dtypes."""

import numpy as np

from tetrad._src.util.dtypes import TypePromotionError as TypePromotionError
from tetrad.dtypes import *  # noqa: F403
from tetrad.numpy import finfo as finfo

DType = np.dtype


class ExtendedDType:
    """What libraries derive element types from that NumPy does not have.

    Arrays of such types cannot be made here: what would make one says so.
    """
