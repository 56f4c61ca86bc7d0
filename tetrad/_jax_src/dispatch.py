"""Waiting for what is under way."""

from tetrad import effects_barrier as wait_for_tokens
from tetrad._src.api.rules import apply_primitive as apply_primitive
