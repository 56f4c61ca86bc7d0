"""Profiles for other tools: memory by source line in the format of pprof."""

from tetrad._src.see.pprof import device_memory_profile as device_memory_profile
from tetrad._src.see.pprof import (
    save_device_memory_profile as save_device_memory_profile,
)
