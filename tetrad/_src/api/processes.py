"""Computing with several processes: here there is one, and that makes it simple.

What programs for many processes call (`jax.distributed`, `multihost_utils`) gives what it
gives in JAX when one process runs. To ask for more raises NotImplementedError.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tetrad._src.api.placing import place
from tetrad._src.api.prefixes import map_prefix
from tetrad._src.core.mesh import NamedSharding
from tetrad._src.core.sharding import PartitionSpec
from tetrad._src.util import tree

_joined = [False]


def initialize(
    coordinator_address: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    local_device_ids: int | Sequence[int] | None = None,
    cluster_detection_method: str | None = None,
    initialization_timeout: int = 300,
    heartbeat_timeout_seconds: int = 100,
    shutdown_timeout_seconds: int = 300,
    coordinator_bind_address: str | None = None,
    slice_index: int | None = None,
    partition_index: int | None = None,
) -> None:
    """Joins the processes of a program; there is one, so nothing has to be joined.

    Args:
      num_processes: how many processes compute together: 1.
      process_id: the number of this process: 0.

    The other arguments say how many processes find each other; one needs none of them.

    Raises NotImplementedError for several processes, RuntimeError if called twice.

    >>> import tetrad as jax
    >>> jax.distributed.initialize(num_processes=1, process_id=0)
    >>> jax.process_count()
    1
    >>> jax.distributed.shutdown()
    """
    if num_processes not in (None, 1) or process_id not in (None, 0):
        raise NotImplementedError(
            f"jax.distributed.initialize: num_processes={num_processes},"
            f" process_id={process_id}, but one process computes here. Leave both out, or"
            " start independent programs"
        )
    if _joined[0]:
        raise RuntimeError("distributed.initialize should only be called once.")
    _joined[0] = True


def is_initialized() -> bool:
    """Whether `initialize` was called.

    >>> import tetrad as jax
    >>> jax.distributed.is_initialized()
    False
    """
    return _joined[0]


def shutdown() -> None:
    """Leaves what `initialize` joined."""
    _joined[0] = False


# ----------------------------------------------------------------------- multihost_utils


def process_allgather(in_tree: Any, tiled: bool = False) -> Any:
    """What all processes have in the pytree `in_tree`, as NumPy arrays.

    Args:
      tiled: joins the arrays of the processes along axis 0; otherwise along a new axis 0.

    >>> import numpy as np
    >>> from tetrad.experimental import multihost_utils
    >>> multihost_utils.process_allgather(np.ones(2)).shape
    (1, 2)
    """

    def gathered(x: Any) -> Any:
        host = np.asarray(x)
        return host if tiled and host.ndim else host[np.newaxis]

    return tree.map(gathered, in_tree)


def broadcast_one_to_all(in_tree: Any, is_source: bool | None = None) -> Any:
    """What process 0 has in the pytree `in_tree`, as NumPy arrays.

    >>> from tetrad.experimental import multihost_utils
    >>> int(multihost_utils.broadcast_one_to_all(3))
    3
    """
    if is_source is not None and not is_source:
        raise ValueError(
            "broadcast_one_to_all: is_source=False, but this is the only process"
        )
    return tree.map(np.asarray, in_tree)


def sync_global_devices(name: str) -> None:
    """Waits until every process is here; the only one is."""


def assert_equal(in_tree: Any, fail_message: str = "") -> None:
    """AssertionError unless all processes have the same; one agrees with itself."""


def reached_preemption_sync_point(step_id: int) -> bool:
    """Whether to save now, since processes are about to be stopped: False.

    >>> from tetrad.experimental import multihost_utils
    >>> multihost_utils.reached_preemption_sync_point(3)
    False
    """
    return False


def _over(mesh: Any, pspecs: Any, values: Any, what: str) -> Any:
    def laid_out(leaf: Any, spec: Any) -> Any:
        spec = PartitionSpec() if spec is None else spec
        return place(leaf, NamedSharding(mesh, spec), what)

    return map_prefix(laid_out, values, pspecs, f"{what} pspecs")


def host_local_array_to_global_array(
    local_inputs: Any, global_mesh: Any, pspecs: Any
) -> Any:
    """Arrays over a mesh of all processes from what each of them has.

    >>> import numpy as np, tetrad as jax
    >>> from tetrad.experimental import multihost_utils
    >>> mesh = jax.make_mesh((1,), ("x",), devices=jax.devices()[:1])
    >>> multihost_utils.host_local_array_to_global_array(np.ones(2), mesh, jax.P("x")).shape
    (2,)
    """
    return _over(global_mesh, pspecs, local_inputs, "host_local_array_to_global_array")


def global_array_to_host_local_array(
    global_inputs: Any, global_mesh: Any, pspecs: Any
) -> Any:
    """What this process has of arrays over a mesh of all processes: everything."""
    return _over(global_mesh, pspecs, global_inputs, "global_array_to_host_local_array")
