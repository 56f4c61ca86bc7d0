"""What programs look into: types of arrays, tracers, jaxprs that are replayed."""

from tetrad._src.api.inspect import replay as eval_jaxpr
from tetrad._src.api.looking import find_top_trace as find_top_trace
from tetrad._src.api.looking import get_opaque_trace_state as get_opaque_trace_state
from tetrad._src.api.transforms import (
    ensure_compile_time_eval as ensure_compile_time_eval,
)
from tetrad._src.core.avals import Aval as AbstractValue
from tetrad._src.core.avals import Aval as ShapedArray
from tetrad._src.core.bind import Trace as Trace
from tetrad._src.core.bind import Tracer as Tracer
from tetrad._src.core.bind import Value as Value
from tetrad._src.core.bind import base_trace as _base_trace
from tetrad._src.core.bind import at as _at
from tetrad._src.core.jaxpr import Atom as Atom


def eval_context() -> _at:
    """Inside of `with eval_context():` operations run, also while a function is traced."""
    return _at(_base_trace())
