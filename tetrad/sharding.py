"""How arrays are laid out over devices."""

from tetrad._src.api.placing import auto_axes as auto_axes
from tetrad._src.api.placing import explicit_axes as explicit_axes
from tetrad._src.api.placing import (
    make_single_device_sharding as make_single_device_sharding,
)
from tetrad._src.api.placing import reshard as reshard
from tetrad._src.runtime.device import SingleDeviceSharding as SingleDeviceSharding
from tetrad._src.core.mesh import AbstractDevice as AbstractDevice
from tetrad._src.core.mesh import AbstractMesh as AbstractMesh
from tetrad._src.core.mesh import Mesh as Mesh
from tetrad._src.core.mesh import NamedSharding as NamedSharding
from tetrad._src.core.mesh import get_abstract_mesh as get_abstract_mesh
from tetrad._src.core.mesh import get_mesh as get_mesh
from tetrad._src.core.mesh import set_mesh as set_mesh
from tetrad._src.core.mesh import use_abstract_mesh as use_abstract_mesh
from tetrad._src.core.sharding import AxisType as AxisType
from tetrad._src.core.sharding import PartitionSpec as PartitionSpec
from tetrad._src.core.sharding import Sharding as Sharding

__all__ = [
    "AbstractDevice",
    "AbstractMesh",
    "AxisType",
    "Mesh",
    "NamedSharding",
    "PartitionSpec",
    "Sharding",
    "SingleDeviceSharding",
    "auto_axes",
    "explicit_axes",
    "get_abstract_mesh",
    "get_mesh",
    "make_single_device_sharding",
    "reshard",
    "set_mesh",
    "use_abstract_mesh",
]
