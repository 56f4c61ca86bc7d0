"""Jaxprs of functions of which some arguments are known."""

from tetrad._src.api.partial_eval import PartialVal as PartialVal
from tetrad._src.api.partial_eval import (
    convert_constvars_jaxpr as convert_constvars_jaxpr,
)
from tetrad._src.api.partial_eval import dce_jaxpr as dce_jaxpr
from tetrad._src.api.partial_eval import (
    trace_to_jaxpr_dynamic as trace_to_jaxpr_dynamic,
)
from tetrad._src.api.partial_eval import (
    trace_to_jaxpr_nounits as trace_to_jaxpr_nounits,
)
from tetrad._src.core.stage import StageTracer as DynamicJaxprTracer
from tetrad._src.core.stage import StageTracer as JaxprTracer
