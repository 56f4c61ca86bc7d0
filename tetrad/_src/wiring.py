"""Where the two towers meet: the ports are filled here, once, at import.

1. What `bind` does when no transformation is active: the recorder.
2. How the language tower makes arrays, and the methods of arrays and tracers.
3. Who is told how random keys were made, and of indices out of range.
4. The platforms. No backend is imported before one of its devices is needed.
5. What the command line can report.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from tetrad._src.api import devices, plugins, threadpools
from tetrad._src.control import bounds, key_reports
from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import STATE, making_at
from tetrad._src.numpy import convert, methods, text
from tetrad._src.ops import keys
from tetrad._src.runtime import device, guards, lazy, nonfinite, threads
from tetrad._src.runtime.array import Array
from tetrad._src.runtime.entry import Origins
from tetrad._src.see import command, exhausted
from tetrad._src.transforms import tracer_methods
from tetrad._src.util import dtypes, errors, frames
from tetrad._src.util.config import Config, config, cpu_device_count, scoped


def _cpu() -> Any:
    """The CPU backend; LLVM itself loads when something new is compiled."""
    client = importlib.import_module("tetrad._src.cpu.client")
    config.lock("jax_num_cpu_devices", "the CPU devices are in use")
    return client.CpuBackend(cpu_device_count(), reclaim=lazy.prune_all)


# What of `Array` users reach, by name or through Python, where errors may come up.
_METHODS = (
    "block_until_ready", "copy_to_host_async", "delete", "unsafe_buffer_pointer",
    "item", "tolist", "tobytes", "__array__", "__bool__", "__float__", "__int__",
    "__complex__", "__index__", "__format__", "__dlpack__", "__reduce__", "__repr__",
    "__str__",
)  # fmt: skip


def install() -> None:
    lazy.install()
    nonfinite.install()
    guards.install()
    convert.install(_device_array, _passing_array, _move, _placing)
    methods.install()
    lazy.Recorder.told = staticmethod(bounds.run)  # type: ignore[method-assign]
    keys.listeners.append(key_reports.report)
    errors.OutOfMemoryError.describe = exhausted.describe
    Origins.wanted = keys.moves_keys
    Origins.note = keys.note_origin
    Array.__repr__ = _array_text  # type: ignore[method-assign]
    Array.__str__ = _elements_text  # type: ignore[method-assign]
    Config.update = frames.hide_frames(Config.update)  # type: ignore[method-assign]
    kinds: list[Any] = [scoped, *scoped.__subclasses__()]
    for kind in kinds:
        kind.__call__ = frames.hide_frames(kind.__call__)
    for name in _METHODS:
        setattr(Array, name, frames.hide_frames(getattr(Array, name)))
    tracer_methods.install()
    device.register_platform("cpu", _cpu, first=False)
    plugins.install()
    command.install()
    threads.listeners.append(threadpools.introduce)
    threadpools.introduce()


def _array_text(x: Any) -> str:
    if dtypes.is_key(x.dtype):
        return _keys_text(x)
    return text.format_array(np.asarray(x), x.aval.weak_type)


def _elements_text(x: Any) -> str:
    if dtypes.is_key(x.dtype):
        return _keys_text(x)
    return text.format_elements(np.asarray(x))


def _keys_text(keys: Any) -> str:
    words = np.ascontiguousarray(keys._host()).view(np.uint32)
    return (
        f"Array({keys.shape}, dtype={keys.dtype.name}) overlaying:\n"
        f"{words.reshape(*keys.shape, keys.dtype.words)}"
    )


def _device_array(host: np.ndarray[Any, Any], weak_type: bool) -> Any:
    """A host array as an array of the default device."""
    return lazy.put(host, Aval(host.shape, host.dtype, weak_type))


def _passing_array(host: np.ndarray[Any, Any], weak_type: bool) -> Any:
    """A host array as an array of whichever device an operation runs on."""
    return lazy.float_in(host, Aval(host.shape, host.dtype, weak_type))


def _move(x: Any, target: Any) -> Any:
    """`x` on the device that a `device=` argument names."""
    place = devices.placement_of(target, "device=", _line(), x)
    if type(x) is Array and x.placement is place:  # it was made there
        return x
    return devices.put_leaf(x, place)


def _line() -> Any:
    return STATE.where or frames.user_frame()


def _placing(target: Any) -> making_at:
    """A block in which new arrays are made on the device of a `device=` argument."""
    return making_at(devices.placement_of(target, "device=", _line()))


install()
