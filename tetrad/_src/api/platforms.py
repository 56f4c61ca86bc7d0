"""Code that depends on the platform: `lax.platform_dependent`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from tetrad._src.api.devices import default_backend

Result = TypeVar("Result")


def platform_dependent(
    *args: Any,
    default: Callable[..., Result] | None = None,
    **per_platform: Callable[..., Result],
) -> Result:
    """Calls the function for the platform on which programs run.

    Args:
      *args: pytrees of arrays for the function.
      default: the function for platforms that are not named.
      **per_platform: functions by platform: cpu, cuda, …

    The choice is made when the function is traced, by the default device. Raises
    NotImplementedError if there is no function for its platform.

    >>> from tetrad import lax
    >>> lax.platform_dependent(1.0, cpu=lambda x: x + 1, default=lambda x: x)
    2.0
    """
    for name, function in per_platform.items():
        if name == "gpu":
            raise ValueError(
                "lax.platform_dependent: write cuda or rocm instead of gpu"
            )
        if not callable(function):
            raise TypeError(
                f"lax.platform_dependent: {name} must be a function, got {function!r} of"
                f" type {type(function).__name__}"
            )
    here = default_backend()
    chosen = per_platform.get(here, default)
    if chosen is None:
        raise NotImplementedError(
            f"lax.platform_dependent: there is a function for {', '.join(per_platform)},"
            f" but none for {here}. Add {here}=... or default=..."
        )
    return chosen(*args)
