"""Differentiation rules of declared operations."""

from tetrad._src.api.primitives import JVPS as primitive_jvps
from tetrad._src.api.primitives import TRANSPOSES as primitive_transposes
from tetrad._src.api.primitives import UndefinedPrimal as UndefinedPrimal
from tetrad._src.api.primitives import Zero as Zero
from tetrad._src.api.rules import add_tangents as add_tangents
from tetrad._src.api.rules import defbilinear as defbilinear
from tetrad._src.api.rules import defjvp as defjvp
from tetrad._src.api.rules import defjvp2 as defjvp2
from tetrad._src.api.rules import deflinear as deflinear
from tetrad._src.api.rules import deflinear2 as deflinear2
from tetrad._src.api.rules import get_primitive_transpose as get_primitive_transpose
from tetrad._src.api.rules import instantiate_zeros as instantiate_zeros
from tetrad._src.api.rules import is_undefined_primal as is_undefined_primal
from tetrad._src.api.rules import zeros_like_aval as zeros_like_aval
from tetrad._src.transforms.jvp import JVP as JVPTrace
from tetrad._src.transforms.jvp import JVPTracer as JVPTracer
from tetrad._src.transforms.sums import AddAny as add_jaxvals_p
from tetrad._src.transforms.sums import add_any as add_jaxvals
