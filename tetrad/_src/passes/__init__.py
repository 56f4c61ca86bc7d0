"""From a jaxpr to a plan of kernels, and from a plan to the memory it needs."""
