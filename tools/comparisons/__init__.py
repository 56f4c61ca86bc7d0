"""Generated comparisons with JAX: `python -m comparisons --help` (from tools/)."""
