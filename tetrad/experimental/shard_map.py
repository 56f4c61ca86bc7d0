"""`shard_map` with the mesh and the specifications by position, as it once was."""

from tetrad._src.api.named_axes import old_shard_map as shard_map

__all__ = ["shard_map"]
