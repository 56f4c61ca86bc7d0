"""SciPy's functions, written in the public language of the library itself.

These modules are programs as users write them: they import `tetrad.numpy` and
`tetrad.lax`, and nothing private.
"""
