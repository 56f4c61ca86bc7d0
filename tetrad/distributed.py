"""`tetrad.distributed`: joining the processes of a program, of which there is one."""

from tetrad._src.api.processes import initialize as initialize
from tetrad._src.api.processes import is_initialized as is_initialized
from tetrad._src.api.processes import shutdown as shutdown

__all__ = ["initialize", "is_initialized", "shutdown"]
