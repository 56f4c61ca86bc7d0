"""`tetrad.experimental`: what JAX keeps in `jax.experimental`."""

from tetrad._src.api.references import cur_qdd as cur_qdd
from tetrad._src.lib.callbacks import io_callback as io_callback
from tetrad.experimental import checkify as checkify
from tetrad.experimental import key_reuse as key_reuse

__all__ = ["checkify", "cur_qdd", "io_callback", "key_reuse"]
