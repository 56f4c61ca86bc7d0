"""NumPy's functions, methods and indexing, in terms of operations."""
