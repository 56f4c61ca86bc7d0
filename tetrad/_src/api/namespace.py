"""What `tetrad.numpy` says about itself by the Python array API standard (2024.12).

`__array_namespace_info__()` tells programs that work with arrays of any library which
devices and dtypes there are, and what can be done with arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tetrad._src.api.devices import devices
from tetrad._src.api.looking import trace_state_clean
from tetrad._src.runtime.device import Device
from tetrad._src.util import dtypes

VERSION = "2024.12"

_KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_KINDS["integral"] = _KINDS["signed integer"] + _KINDS["unsigned integer"]
_KINDS["numeric"] = (
    _KINDS["integral"] + _KINDS["real floating"] + _KINDS["complex floating"]
)


class ArrayNamespaceInfo:
    """The devices, dtypes and capabilities of `tetrad.numpy`.

    >>> import tetrad.numpy as jnp
    >>> info = jnp.__array_namespace_info__()
    >>> info.default_dtypes()["real floating"], info.dtypes(kind="bool")
    (dtype('float32'), {'bool': dtype('bool')})
    """

    def capabilities(self) -> dict[str, Any]:
        """What arrays can do here: less in a function that is traced than outside."""
        values_known = trace_state_clean()
        return {
            "boolean indexing": values_known,
            "data-dependent shapes": values_known,
            "max dimensions": 64,
        }

    def default_device(self) -> None:
        """None: arrays go where `jax_default_device` says, and follow their operands."""
        return None

    def devices(self) -> list[Device | None]:
        """What a `device` argument can be: None for the default, or a device."""
        return [None, *devices()]

    def default_dtypes(self, *, device: Device | None = None) -> dict[str, np.dtype]:
        """The dtypes of arrays made without one; 64 bits wide where these are on."""
        _check_device(device, "default_dtypes")
        return {
            "real floating": dtypes.canonicalize_dtype(float),
            "complex floating": dtypes.canonicalize_dtype(complex),
            "integral": dtypes.canonicalize_dtype(int),
            "indexing": dtypes.canonicalize_dtype(int),
        }

    def dtypes(
        self,
        *,
        device: Device | None = None,
        kind: str | tuple[str, ...] | None = None,
    ) -> dict[str, np.dtype]:
        """The dtypes of the standard that arrays can have now, by name.

        Args:
          device: where the arrays are to live; it makes no difference.
          kind: "bool", "signed integer", "unsigned integer", "integral",
            "real floating", "complex floating", "numeric", or a tuple of these.
        """
        _check_device(device, "dtypes")
        kinds: tuple[str, ...]
        if kind is None:
            kinds = ("bool", "numeric")
        elif isinstance(kind, tuple):
            kinds = kind
        else:
            kinds = (kind,)
        found = {}
        for one in kinds:
            if one not in _KINDS:
                raise ValueError(
                    f"dtypes: kind must be one of {', '.join(map(repr, _KINDS))} or a"
                    f" tuple of these, got {one!r}"
                )
            for name in _KINDS[one]:
                if dtypes.canonicalize_dtype(name) == np.dtype(name):
                    found[name] = np.dtype(name)
        return found


def _check_device(device: Any, name: str) -> None:
    if device is not None and not isinstance(device, Device):
        raise ValueError(
            f"{name}: device must be None or one of jax.devices(), got {device!r}"
        )


def __array_namespace_info__() -> ArrayNamespaceInfo:
    """What `tetrad.numpy` tells about itself to programs for arrays of any library.

    >>> import tetrad.numpy as jnp
    >>> jnp.__array_namespace_info__().capabilities()["boolean indexing"]
    True
    """
    return ArrayNamespaceInfo()
