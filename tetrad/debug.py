"""`tetrad.debug`: looking into programs while they run."""

from tetrad._src.core.effects import DebugEffect as DebugEffect
from tetrad._src.core.effects import OrderedDebugEffect as OrderedDebugEffect
from tetrad._src.lib.breakpoint import breakpoint_ as breakpoint
from tetrad._src.lib.debug import debug_callback as callback
from tetrad._src.lib.debug import debug_log as log
from tetrad._src.lib.debug import debug_print as print
from tetrad._src.see.shardings import inspect_array_sharding as inspect_array_sharding
from tetrad._src.see.shardings import (
    visualize_array_sharding as visualize_array_sharding,
)
from tetrad._src.see.shardings import visualize_sharding as visualize_sharding

__all__ = [
    "DebugEffect",
    "OrderedDebugEffect",
    "breakpoint",
    "callback",
    "inspect_array_sharding",
    "log",
    "print",
    "visualize_array_sharding",
    "visualize_sharding",
]
