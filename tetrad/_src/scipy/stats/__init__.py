"""SciPy's distributions, a module each, and statistics of samples.

A distribution is a module of functions. `loc` moves it and `scale` stretches it. What is
not computed by a branch of `where` is computed at a harmless value, so that derivatives
stay finite.
"""
