"""Sums of tangents and of cotangents, which jaxprs show under a name of their own."""

from __future__ import annotations

from typing import Any

from tetrad._src.ops.arithmetic import Add


class AddAny(Add):
    """x + y, of two contributions to one derivative."""


_ADD = AddAny()


def add_any(x: Any, y: Any) -> Any:
    return _ADD(x, y)
