"""Kernels made by hand: products, sorts, scans, factorisations.

Each module of this package states one or several (`base` says what one consists of) and
is listed here under the name that operations give in their `kernel` rule.
"""

from __future__ import annotations

from tetrad._src.cpu.kernels import (
    cumulative,
    dot,
    exchanges,
    fft,
    lapack,
    patches,
    sort,
    topk,
)
from tetrad._src.cpu.kernels.base import (
    In,
    Kernel,
    KernelCall,
    Launch,
    Operand,
    Out,
    Tmp,
)

registry: dict[str, Kernel] = {
    "cumulative": Kernel(cumulative.build, cumulative.takes, cumulative.order),
    "dot": Kernel(dot.build, dot.takes, dot.order),
    "exchanges": Kernel(exchanges.build),
    "fft": Kernel(fft.build),
    "lapack": Kernel(lapack.build),
    "patches": Kernel(patches.build),
    "roots": Kernel(fft.build_roots),
    "sort": Kernel(sort.build, sort.takes, sort.order),
    "top_k": Kernel(topk.build, topk.takes, topk.order),
}


def find(name: str) -> Kernel:
    """The kernel of a name."""
    found = registry.get(name)
    if found is None:
        raise NotImplementedError(
            f"the CPU backend has no kernel {name!r}; it has"
            f" {', '.join(sorted(registry)) or 'none'}"
        )
    return found


__all__ = [
    "In",
    "Kernel",
    "KernelCall",
    "Launch",
    "Operand",
    "Out",
    "Tmp",
    "find",
    "registry",
]
