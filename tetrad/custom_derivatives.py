"""Functions that say themselves how they are differentiated."""

from tetrad._src.api.transforms import closure_convert as closure_convert
from tetrad._src.api.transforms import custom_gradient as custom_gradient
from tetrad._src.control.custom import custom_jvp as custom_jvp
from tetrad._src.control.custom import custom_vjp as custom_vjp
from tetrad._src.control.custom_ops import CustomJvp as custom_jvp_call_p
from tetrad._src.control.custom_ops import CustomVjp as custom_vjp_call_p
from tetrad._src.control.linear_call import linear_call as linear_call
from tetrad._src.control.symbolic import CustomVJPPrimal as CustomVJPPrimal
from tetrad._src.control.symbolic import SymbolicZero as SymbolicZero
from tetrad._src.control.symbolic import (
    custom_vjp_primal_tree_values as custom_vjp_primal_tree_values,
)
from tetrad._src.control.symbolic import zero_from_primal as zero_from_primal
