"""Types, jaxprs, and what surrounds the code."""

from tetrad._src.api.looking import trace_state_clean as trace_state_clean
from tetrad.core import *  # noqa: F403
from tetrad.core import ShapedArray as ShapedArray
from tetrad.extend.core import *  # noqa: F403
from tetrad.extend.core import Primitive as Primitive
