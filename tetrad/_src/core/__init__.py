"""The shared base of both towers: avals, operations, jaxprs and binding."""
