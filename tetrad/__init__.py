"""tetrad: JAX's programming model that a person can see through.

Immutable arrays that know where they live; operations recorded and fused before they
run; device memory you can see and bound; explicit random keys; `vmap` of anything; and
on these `jit`, `grad` and their family. `import tetrad as jax` is all a JAX program
needs to change.
"""

import importlib as _importlib

from tetrad._src import wiring as _wiring  # fills the ports; must come first

from tetrad import api_util as api_util
from tetrad import core as core
from tetrad import custom_batching as custom_batching
from tetrad import custom_derivatives as custom_derivatives
from tetrad import debug as debug
from tetrad import distributed as distributed
from tetrad import dlpack as dlpack
from tetrad import dtypes as dtypes
from tetrad import errors as errors
from tetrad import experimental as experimental
from tetrad import extend as extend
from tetrad import flatten_util as flatten_util
from tetrad import interpreters as interpreters
from tetrad import lax as lax
from tetrad import monitoring as monitoring
from tetrad import nn as nn
from tetrad import numpy as numpy
from tetrad import ops as ops
from tetrad import profiler as profiler
from tetrad import random as random
from tetrad import see as see
from tetrad import sharding as sharding
from tetrad import stages as stages
from tetrad import test_util as test_util
from tetrad import tree as tree
from tetrad import tree_util as tree_util
from tetrad import typing as typing
from tetrad._src.api.copies import no_copies as no_copies
from tetrad._src.api.devices import block_until_ready as block_until_ready
from tetrad._src.api.devices import clear_caches as clear_caches
from tetrad._src.api.devices import copy_to_host_async as copy_to_host_async
from tetrad._src.api.devices import default_backend as default_backend
from tetrad._src.api.devices import device_count as device_count
from tetrad._src.api.devices import device_get as device_get
from tetrad._src.api.devices import device_put as device_put
from tetrad._src.api.devices import devices as devices
from tetrad._src.api.devices import effects_barrier as effects_barrier
from tetrad._src.api.devices import host_count as host_count
from tetrad._src.api.devices import host_id as host_id
from tetrad._src.api.devices import host_ids as host_ids
from tetrad._src.api.devices import live_arrays as live_arrays
from tetrad._src.api.devices import local_device_count as local_device_count
from tetrad._src.api.devices import local_devices as local_devices
from tetrad._src.api.devices import process_count as process_count
from tetrad._src.api.devices import process_index as process_index
from tetrad._src.api.devices import process_indices as process_indices
from tetrad._src.api.devices import register_pjrt_plugin as register_pjrt_plugin
from tetrad._src.api.devices import set_cpu_devices as set_cpu_devices
from tetrad._src.api.environment import (
    print_environment_info as print_environment_info,
)
from tetrad._src.api.hardware import require as require
from tetrad._src.api.inspect import ShapeDtypeStruct as ShapeDtypeStruct
from tetrad._src.api.inspect import eval_shape as eval_shape
from tetrad._src.api.inspect import make_jaxpr as make_jaxpr
from tetrad._src.api.inspect import typeof as typeof
from tetrad._src.api.jit import jit as jit
from tetrad._src.api.memory import cache_info as cache_info
from tetrad._src.api.memory import forget_last_error as forget_last_error
from tetrad._src.api.memory import release_memory as release_memory
from tetrad._src.api.memory import set_memory_limit as set_memory_limit
from tetrad._src.api.named_axes import pmap as pmap
from tetrad._src.api.named_axes import shard_map as shard_map
from tetrad._src.api.named_axes import smap as smap
from tetrad._src.api.names import named_call as named_call
from tetrad._src.api.names import named_scope as named_scope
from tetrad._src.api.references import Ref as Ref
from tetrad._src.api.references import freeze as freeze
from tetrad._src.api.references import new_ref as new_ref
from tetrad._src.api.placing import (
    make_array_from_callback as make_array_from_callback,
)
from tetrad._src.api.placing import (
    make_array_from_process_local_data as make_array_from_process_local_data,
)
from tetrad._src.api.placing import (
    make_array_from_single_device_arrays as make_array_from_single_device_arrays,
)
from tetrad._src.api.placing import reshard as reshard
from tetrad._src.api.run import install_as_jax as install_as_jax
from tetrad._src.api.threads import num_threads as num_threads
from tetrad._src.api.threads import set_num_threads as set_num_threads
from tetrad._src.api.threads import threads as threads
from tetrad._src.api.transforms import checkpoint as checkpoint
from tetrad._src.api.transforms import checkpoint_policies as checkpoint_policies
from tetrad._src.api.transforms import closure_convert as closure_convert
from tetrad._src.api.transforms import custom_gradient as custom_gradient
from tetrad._src.api.transforms import custom_jvp as custom_jvp
from tetrad._src.api.transforms import custom_vjp as custom_vjp
from tetrad._src.api.transforms import (
    ensure_compile_time_eval as ensure_compile_time_eval,
)
from tetrad._src.api.transforms import fwd_and_bwd as fwd_and_bwd
from tetrad._src.api.transforms import grad as grad
from tetrad._src.api.transforms import hessian as hessian
from tetrad._src.api.transforms import jacfwd as jacfwd
from tetrad._src.api.transforms import jacobian as jacobian
from tetrad._src.api.transforms import jacrev as jacrev
from tetrad._src.api.transforms import jvp as jvp
from tetrad._src.api.transforms import linear_transpose as linear_transpose
from tetrad._src.api.transforms import linearize as linearize
from tetrad._src.api.transforms import no_execution as no_execution
from tetrad._src.api.transforms import remat as remat
from tetrad._src.api.transforms import value_and_grad as value_and_grad
from tetrad._src.api.transforms import vjp as vjp
from tetrad._src.api.transforms import vmap as vmap
from tetrad._src.core.mesh import NamedSharding as NamedSharding
from tetrad._src.core.mesh import set_mesh as set_mesh
from tetrad._src.core.sharding import PartitionSpec as P
from tetrad._src.lib.callbacks import pure_callback as pure_callback
from tetrad._src.runtime.array import Array as Array
from tetrad._src.runtime.array import Shard as Shard
from tetrad._src.runtime.device import Device as Device
from tetrad._src.see.program import estimate_memory as estimate_memory
from tetrad._src.see.timeit import timeit as timeit
from tetrad._src.runtime.mesh import make_mesh as make_mesh
from tetrad._src.util.config import check_tracer_leaks as check_tracer_leaks
from tetrad._src.util.config import checking_leaks as checking_leaks
from tetrad._src.util.config import config as config
from tetrad._src.util.config import debug_infs as debug_infs
from tetrad._src.util.config import debug_key_reuse as debug_key_reuse
from tetrad._src.util.config import debug_nans as debug_nans
from tetrad._src.util.config import default_device as default_device
from tetrad._src.util.config import default_matmul_precision as default_matmul_precision
from tetrad._src.util.config import default_prng_impl as default_prng_impl
from tetrad._src.util.config import disable_jit as disable_jit
from tetrad._src.util.config import enable_checks as enable_checks
from tetrad._src.util.config import enable_custom_prng as enable_custom_prng
from tetrad._src.util.config import enable_x64 as enable_x64
from tetrad._src.util.config import bounds as bounds
from tetrad._src.util.config import key_check as key_check
from tetrad._src.util.config import legacy_prng_key as legacy_prng_key
from tetrad._src.util.config import explain_cache_misses as explain_cache_misses
from tetrad._src.util.config import log_compiles as log_compiles
from tetrad._src.util.config import make_user_context as make_user_context
from tetrad._src.util.config import no_tracing as no_tracing
from tetrad._src.util.config import numpy_dtype_promotion as numpy_dtype_promotion
from tetrad._src.util.config import numpy_rank_promotion as numpy_rank_promotion
from tetrad._src.util.config import softmax_custom_jvp as softmax_custom_jvp
from tetrad._src.util.config import threefry_partitionable as threefry_partitionable
from tetrad._src.util.config import transfer_guard as transfer_guard
from tetrad._src.util.config import (
    transfer_guard_device_to_device as transfer_guard_device_to_device,
)
from tetrad._src.util.config import (
    transfer_guard_device_to_host as transfer_guard_device_to_host,
)
from tetrad._src.util.config import (
    transfer_guard_host_to_device as transfer_guard_host_to_device,
)
from tetrad._src.util.dtypes import float0 as float0
from tetrad._src.util.frames import hide_all as _hide_all
from tetrad.version import __version__ as __version__
from tetrad.version import __version_info__ as __version_info__

DeviceArray = Array

# Modules that are loaded when they are first used.
_LATER = ("example_libraries", "image", "scipy")


def __getattr__(name: str) -> object:
    """The modules that `import tetrad` does not load."""
    if name in _LATER:
        return _importlib.import_module(f"tetrad.{name}")
    raise AttributeError(f"module 'tetrad' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})


# An exception that leaves a public function loses the frames of our inside.
for _module in (
    core,
    custom_batching,
    custom_derivatives,
    debug,
    distributed,
    dlpack,
    experimental,
    flatten_util,
    lax,
    lax.linalg,
    monitoring,
    nn,
    nn.initializers,
    numpy,
    numpy.fft,
    numpy.linalg,
    ops,
    profiler,
    random,
    sharding,
    tree,
    tree_util,
):
    _hide_all(vars(_module))
_hide_all(globals())
