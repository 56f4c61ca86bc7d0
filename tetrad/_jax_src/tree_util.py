"""Pytrees."""

from __future__ import annotations

from typing import Any

from tetrad._src.util.tree import default_registry
from tetrad.tree_util import *  # noqa: F403


class _Registry:
    """The classes whose values are containers, as far as `in` asks for them."""

    def __contains__(self, cls: Any) -> bool:
        return isinstance(cls, type) and default_registry.is_node(cls)


_registry = _Registry()
