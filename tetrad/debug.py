"""`tetrad.debug`: looking into programs while they run."""

from tetrad._src.core.effects import DebugEffect as DebugEffect
from tetrad._src.core.effects import OrderedDebugEffect as OrderedDebugEffect
from tetrad._src.lib.breakpoint import breakpoint_ as breakpoint
from tetrad._src.lib.debug import debug_callback as callback
from tetrad._src.lib.debug import debug_log as log
from tetrad._src.lib.debug import debug_print as print

__all__ = [
    "DebugEffect",
    "OrderedDebugEffect",
    "breakpoint",
    "callback",
    "log",
    "print",
]
