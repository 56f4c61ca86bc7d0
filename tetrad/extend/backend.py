"""Platforms, as libraries ask for them."""

from tetrad._src.api.platform_clients import get_backend as get_backend
