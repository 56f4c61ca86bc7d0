"""`tetrad.experimental`: what JAX keeps in `jax.experimental`."""

from tetrad._src.lib.callbacks import io_callback as io_callback

__all__ = ["io_callback"]
