"""What processes made by tests do; a module of its own, so that spawn can import it."""

import os

import numpy as np


def tasks():
    """Threads of this process."""
    return len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 1


def compute(n):
    """Something of everything: fused work, a product on the stream, a jitted loop."""
    import tetrad as jax
    import tetrad.numpy as jnp
    from tetrad import lax

    x = jnp.linspace(0.0, 1.0, 90_000).reshape(300, 300) + n
    y = jnp.sin(x) @ x
    z = jax.jit(lambda v: lax.fori_loop(0, 5, lambda i, v: jnp.cos(v), v))(y)
    return float(z.sum() + jnp.sort(x[:, 0])[3])


def double(x):
    """Gets and gives arrays: they are pickled."""
    return x * 2


def host(x):
    return np.asarray(x)
