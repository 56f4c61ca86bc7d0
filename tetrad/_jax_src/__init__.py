"""Private names of JAX that libraries import, answered with what this library has.

With `install_as_jax`, `import jax._src.dtypes` finds the module `dtypes` here. Only names
that widely used libraries need are given; each is another spelling of a public one.
"""
