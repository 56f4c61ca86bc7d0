"""Sparse arrays, written in the public language of the library itself."""
