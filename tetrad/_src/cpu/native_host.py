"""What the code generator depends on, found out without loading LLVM.

`identity()` is a short text that changes whenever compiled code could: the processor,
the CPU asked for, the version of LLVM. It is part of the key of the disk cache, and a
process that finds all its code there never imports llvmlite. `flags()` and `machine()`
are the processor's own words.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import sys

CPU_VARIABLE = "TETRAD_CPU"

# Lines of /proc/cpuinfo that tell processors apart; the others vary with time or core.
_TELLING = frozenset(
    (
        "vendor_id",
        "cpu family",
        "model",
        "stepping",
        "flags",
        "CPU implementer",
        "CPU architecture",
        "CPU variant",
        "CPU part",
        "Features",
        "isa",
        "uarch",
    )
)


def machine() -> str:
    """The machine's architecture: "x86_64", "aarch64", "arm64", …"""
    if hasattr(os, "uname"):
        return os.uname().machine
    return (
        os.environ.get("PROCESSOR_ARCHITECTURE", "").lower().replace("amd64", "x86_64")
    )


def requested_cpu() -> str:
    """The CPU that TETRAD_CPU names, or "" for the host."""
    return os.environ.get(CPU_VARIABLE, "").strip()


@functools.cache
def _processor() -> dict[str, str]:
    """The telling lines of the first processor in /proc/cpuinfo."""
    lines = {}
    try:
        with open("/proc/cpuinfo", "rb", buffering=0) as file:
            text = b""
            while b"\n\n" not in text and len(text) < 1 << 16:
                part = file.read(8192)  # the first block; all blocks can take long
                if not part:
                    break
                text += part
    except OSError:
        return {}
    for line in text.split(b"\n\n", 1)[0].decode(errors="replace").splitlines():
        name, _, value = line.partition(":")
        if name.strip() in _TELLING:
            lines[name.strip()] = value.strip()
    return lines


@functools.cache
def flags() -> frozenset[str]:
    """The instruction set extensions that Linux names; empty on other systems."""
    lines = _processor()
    return frozenset((lines.get("flags") or lines.get("Features") or "").split())


@functools.cache
def _compiler() -> str:
    """Version of llvmlite and of the LLVM in it, from its files."""
    spec = importlib.util.find_spec("llvmlite")
    if spec is None or spec.origin is None:
        return "no llvmlite"
    directory = os.path.dirname(spec.origin)
    words = []
    try:
        with open(os.path.join(directory, "_version.py")) as file:
            words.append(file.read())
        binding = os.path.join(directory, "binding")
        for name in sorted(os.listdir(binding)):
            if "llvmlite" in name and not name.endswith(".py"):
                size = os.stat(os.path.join(binding, name)).st_size
                words.append(f"{name} {size}")
    except OSError:
        pass
    return "\n".join(words)


def identity() -> str | None:
    """A text that fixes the code generator; None where it cannot be told cheaply."""
    cpu = requested_cpu()
    if not cpu:
        lines = _processor()
        if not lines:
            return None
        cpu = repr(sorted(lines.items()))
    return f"{sys.platform} {machine()}\n{cpu}\n{_compiler()}"
