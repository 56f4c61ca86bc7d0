"""Programs that use libraries written for JAX; `record.py` runs one of them."""
