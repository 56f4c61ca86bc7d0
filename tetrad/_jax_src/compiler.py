"""JAX's way to XLA: a module that libraries import, of which nothing exists here."""
