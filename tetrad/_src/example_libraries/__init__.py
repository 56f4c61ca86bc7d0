"""Small libraries for teaching, programs in the public language."""
