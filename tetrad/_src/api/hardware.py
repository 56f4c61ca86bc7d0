"""What the machine has, and what is missing for a platform: `require`.

In: the name of a platform. Out: its devices, or an error that says what was looked for,
what was found of the hardware and of the software, and what to install.
"""

from __future__ import annotations

import glob
import importlib.util
import os
import platform as system
from collections.abc import Sequence

from tetrad._src.runtime import device as registry
from tetrad._src.runtime.device import Device
from tetrad._src.util import frames

# Files that appear where a driver has found hardware, by platform.
DRIVERS: dict[str, tuple[tuple[str, str], ...]] = {
    "gpu": (
        ("/dev/nvidia[0-9]*", "NVIDIA GPU"),
        ("/proc/driver/nvidia/version", "driver of NVIDIA"),
        ("/dev/dxg", "GPU of Windows (WSL)"),
        ("/dev/kfd", "AMD GPU"),
    ),
    "tpu": (("/dev/accel[0-9]*", "TPU"), ("/dev/vfio/[0-9]*", "TPU")),
}


def require(platform: str, count: int = 1) -> list[Device]:
    """The devices of a platform, or an error that says what is missing for it.

    Write it at the beginning of a program that is of no use elsewhere.

    Args:
      platform: "cpu", "gpu" ("cuda" and "rocm" mean the same), "tpu", "metal", or the
        name of a plugin.
      count: how many devices there must be at least.

    Raises:
      RuntimeError: if the platform or some of the devices are missing: what was looked
        for, what hardware and software is there, and what to install.

    >>> import tetrad
    >>> tetrad.require("cpu")[0]
    CpuDevice(id=0)
    """
    if not isinstance(platform, str):
        raise TypeError(
            "tetrad.require takes the name of a platform, such as 'gpu', got"
            f" {platform!r} of type {type(platform).__name__}"
        )
    try:
        found = registry.devices(platform)
    except Exception as problem:  # of whatever kind a vendor's plugin has
        message = str(problem)
    else:
        if len(found) >= count:
            return found
        have = f"{len(found)} device" + ("" if len(found) == 1 else "s")
        message = f"it has {have}: {', '.join(map(str, found))}"
        if platform == "cpu":
            message += (
                f". Call tetrad.set_cpu_devices({count}) before the first array, or set"
                f" JAX_NUM_CPU_DEVICES={count}"
            )
    wanted = f"{platform!r}" if count == 1 else f"{count} devices of {platform!r}"
    place = frames.user_frame()
    line = f" at {frames.format_where(place)}" if place is not None else ""
    told = [f"{wanted} required{line}, but missing: {message}"]
    told += [f"  * {fact}" for fact in circumstances(platform)]
    raise RuntimeError("\n".join(told))


def circumstances(platform: str) -> list[str]:
    """What of the machine bears on a platform that is missing."""
    name = registry.canonical(platform)
    facts = []
    if name in DRIVERS:
        seen = hardware(name)
        if seen:
            facts.append(
                f"hardware: {', '.join(seen)}; so the plugin is what is missing"
            )
        else:
            files = " or ".join([pattern for pattern, _ in DRIVERS[name]])
            facts.append(
                f"hardware: none is visible to this process (no {files}); in a container,"
                " let it in, as with --gpus all"
            )
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES")
    if name == "gpu" and hidden is not None and hidden.strip() in ("", "-1"):
        facts.append(f"CUDA_VISIBLE_DEVICES={hidden!r} hides every GPU: unset it")
    if name != "cpu" and importlib.util.find_spec("pypjrt") is None:
        facts.append(
            "the package pypjrt, which speaks to plugins, is missing: pip install"
            " 'tetrad[pjrt]'"
        )
    if name in ("gpu", "tpu") and system.system() != "Linux":
        facts.append(f"plugins for it exist for Linux; this is {system.system()}")
    return facts


def hardware(platform: str) -> list[str]:
    """The hardware of a platform that drivers show to this process."""
    found: Sequence[tuple[str, str]] = DRIVERS.get(platform, ())
    seen = [f"{words} ({pattern})" for pattern, words in found if glob.glob(pattern)]
    return list(dict.fromkeys(seen))
