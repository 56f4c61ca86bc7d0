"""The rare paths of the vector math library as functions of their own.

In: the name of a helper that a kernel declares; out: its address. Sines of huge arguments,
remainders with huge quotients and the like are seldom run, and long: compiled into every
kernel that may need them they would cost more than the kernel. Importing this module
makes kernels declare them only, and tells the engine to compile one when the first kernel
that names it is loaded.
"""

from __future__ import annotations

from tetrad._src.cpu import engine
from tetrad._src.cpu.registers import Helper

__all__ = ["resolve"]


def resolve(name: str) -> int | None:
    """The address of a helper, compiled now if need be; it stays for good."""
    found = Helper.find(name)
    if found is None:
        return None
    helper, lanes, fma = found
    definition, declarations = helper.definition(lanes, fma)
    text = "\n".join([definition, *sorted(declarations)])
    return engine.assemble(text, [name]).pin()[name]


engine.add_resolver(Helper.PREFIX, resolve)
# Where LLVM's own linker loads the code, nobody would ask the resolver.
Helper.linked = engine.OWN_LOADER
