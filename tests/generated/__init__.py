"""Random programs that a user could have written.

`program.py` says what a program is: statements that print as Python source, which is what
runs. `scope.py` holds what a generator knows while it writes one; `steps.py` has the rules
for straight-line code, `flows.py` those for control flow, custom derivatives and random
numbers. `strategies.py` makes them strategies of hypothesis, `plain.py` is a library
without compilers, in which a loop is a loop of Python.
"""
