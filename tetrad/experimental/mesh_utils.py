"""Devices in the shape of a mesh."""

from tetrad._src.runtime.mesh import create_device_mesh as create_device_mesh
from tetrad._src.runtime.mesh import (
    create_hybrid_device_mesh as create_hybrid_device_mesh,
)

__all__ = ["create_device_mesh", "create_hybrid_device_mesh"]
