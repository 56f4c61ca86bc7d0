"""What programs for many processes call, for the one that there is."""

from tetrad._src.api.processes import assert_equal as assert_equal
from tetrad._src.api.processes import broadcast_one_to_all as broadcast_one_to_all
from tetrad._src.api.processes import (
    global_array_to_host_local_array as global_array_to_host_local_array,
)
from tetrad._src.api.processes import (
    host_local_array_to_global_array as host_local_array_to_global_array,
)
from tetrad._src.api.processes import process_allgather as process_allgather
from tetrad._src.api.processes import (
    reached_preemption_sync_point as reached_preemption_sync_point,
)
from tetrad._src.api.processes import sync_global_devices as sync_global_devices

__all__ = [
    "assert_equal",
    "broadcast_one_to_all",
    "global_array_to_host_local_array",
    "host_local_array_to_global_array",
    "process_allgather",
    "reached_preemption_sync_point",
    "sync_global_devices",
]
