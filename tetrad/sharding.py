"""How arrays are laid out over devices."""

from tetrad._src.runtime.device import SingleDeviceSharding as SingleDeviceSharding
