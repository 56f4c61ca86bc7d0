"""Names of JAX's declared types: they can be declared here, and not be used."""

from tetrad._src.api.references import AbstractRef as AbstractRef
from tetrad._src.api.references import AvalMutableQDD as AvalMutableQDD
from tetrad._src.api.references import AvalQDD as AvalQDD
from tetrad._src.api.references import HiPrimitive as HiPrimitive
from tetrad._src.api.references import HiType as HiType
from tetrad._src.api.references import MutableHiType as MutableHiType
from tetrad._src.api.references import TransformedRef as TransformedRef
from tetrad._src.api.references import VJPHiPrimitive as VJPHiPrimitive
from tetrad._src.api.references import aval_method as aval_method
from tetrad._src.api.references import aval_property as aval_property
from tetrad._src.api.references import (
    control_flow_allowed_effects as control_flow_allowed_effects,
)
from tetrad._src.api.references import register_hitype as register_hitype
from tetrad.core import AbstractValue as AbstractValue
from tetrad.core import ShapedArray as ShapedArray
from tetrad.interpreters.ad import Zero as Zero
from tetrad.interpreters.ad import instantiate_zeros as instantiate_zeros
from tetrad.interpreters.ad import is_undefined_primal as is_undefined_primal
