"""Jaxprs and their parts; operations that programs declare."""

from tetrad._src.api.inspect import ClosedJaxpr as ClosedJaxpr
from tetrad._src.api.inspect import jaxpr_as_fun as jaxpr_as_fun
from tetrad._src.api.looking import DropVar as DropVar
from tetrad._src.api.looking import Effect as Effect
from tetrad._src.api.looking import Effects as Effects
from tetrad._src.api.looking import array_types as array_types
from tetrad._src.api.looking import (
    axis_names_around as unsafe_get_axis_names_DO_NOT_USE,
)
from tetrad._src.api.looking import concrete_or_error as concrete_or_error
from tetrad._src.api.looking import find_top_trace as find_top_trace
from tetrad._src.api.looking import gensym as gensym
from tetrad._src.api.looking import get_opaque_trace_state as get_opaque_trace_state
from tetrad._src.api.looking import jaxprs_in_params as jaxprs_in_params
from tetrad._src.api.looking import mapped_aval as mapped_aval
from tetrad._src.api.looking import new_jaxpr_eqn as new_jaxpr_eqn
from tetrad._src.api.looking import no_effects as no_effects
from tetrad._src.api.looking import (
    primal_dtype_to_tangent_dtype as primal_dtype_to_tangent_dtype,
)
from tetrad._src.api.looking import set_current_trace as set_current_trace
from tetrad._src.api.looking import some_named_axes as nonempty_axis_env_DO_NOT_USE
from tetrad._src.api.looking import subjaxprs as subjaxprs
from tetrad._src.api.looking import take_current_trace as take_current_trace
from tetrad._src.api.looking import trace_state_clean as trace_state_clean
from tetrad._src.api.looking import under_jit as unsafe_am_i_under_a_jit_DO_NOT_USE
from tetrad._src.api.looking import under_vmap as unsafe_am_i_under_a_vmap_DO_NOT_USE
from tetrad._src.api.looking import unmapped_aval as unmapped_aval
from tetrad._src.api.looking import valid_jaxtype as valid_jaxtype
from tetrad._src.api.primitives import Primitive as Primitive
from tetrad._src.core.check import IllFormed as JaxprTypeError
from tetrad._src.core.check import check as check_jaxpr
from tetrad._src.core.jaxpr import Eqn as JaxprEqn
from tetrad._src.core.jaxpr import Jaxpr as Jaxpr
from tetrad._src.core.jaxpr import Literal as Literal
from tetrad._src.core.jaxpr import Var as Var
from tetrad._src.ops.token import Token as Token
from tetrad.extend.core import primitives as primitives
