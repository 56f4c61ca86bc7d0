"""Lowering of declared operations: by functions that are written in jax.numpy."""

from tetrad._src.api.primitives import LoweringContext as LoweringRuleContext
from tetrad._src.api.rules import emit_python_callback as emit_python_callback
from tetrad._src.api.rules import lower_fun as lower_fun
from tetrad._src.api.rules import register_lowering as register_lowering
