"""Jaxprs and their parts."""

from tetrad._src.api.inspect import ClosedJaxpr as ClosedJaxpr
from tetrad._src.api.inspect import jaxpr_as_fun as jaxpr_as_fun
from tetrad._src.core.check import IllFormed as JaxprTypeError
from tetrad._src.core.check import check as check_jaxpr
from tetrad._src.core.jaxpr import Eqn as JaxprEqn
from tetrad._src.core.jaxpr import Jaxpr as Jaxpr
from tetrad._src.core.jaxpr import Literal as Literal
from tetrad._src.core.jaxpr import Var as Var
from tetrad.extend.core import primitives as primitives
