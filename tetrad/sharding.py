"""How arrays are laid out over devices."""

from tetrad._src.core.sharding import AbstractMesh as AbstractMesh
from tetrad._src.core.sharding import AxisType as AxisType
from tetrad._src.core.sharding import Mesh as Mesh
from tetrad._src.core.sharding import NamedSharding as NamedSharding
from tetrad._src.core.sharding import PartitionSpec as PartitionSpec
from tetrad._src.core.sharding import Sharding as Sharding
from tetrad._src.core.sharding import get_abstract_mesh as get_abstract_mesh
from tetrad._src.runtime.device import SingleDeviceSharding as SingleDeviceSharding
