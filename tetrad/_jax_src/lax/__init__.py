"""Operations, as JAX's own modules find them."""

from tetrad._jax_src.lax import lax as lax
