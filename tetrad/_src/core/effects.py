"""Effects: what an operation does besides giving results.

An effect is a fact of an operation (`Op.effects`); a jaxpr has those of its equations.
Nobody drops, joins, moves out of a loop or repeats an operation that has effects, and
equations with effects run in the order in which they stand.

Effects are compared by their class. The names are those that JAX gives them.
"""

from __future__ import annotations


class Effect:
    """Something that happens outside: Python code runs."""

    __slots__ = ()
    ordered = False  # relative to all other ordered effects of the thread
    repeats = False  # whether it may happen twice
    name = ""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def __str__(self) -> str:
        return self.name or type(self).__name__

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class DebugEffect(Effect):
    """Code that only looks on, as `jax.debug.print` does."""

    __slots__ = ()
    name = "Debug"


class OrderedDebugEffect(Effect):
    """The same, in the order of the program."""

    __slots__ = ()
    name = "OrderedDebug"
    ordered = True


class IOEffect(Effect):
    """Code that acts on the world outside: `io_callback`."""

    __slots__ = ()
    name = "IO"


class OrderedIOEffect(Effect):
    """The same, in the order of the program."""

    __slots__ = ()
    name = "OrderedIO"
    ordered = True


class BoundsEffect(Effect):
    """The program is told if an index is out of range."""

    __slots__ = ()
    name = "Bounds"
    repeats = True


DEBUG = DebugEffect()
ORDERED_DEBUG = OrderedDebugEffect()
IO = IOEffect()
ORDERED_IO = OrderedIOEffect()
BOUNDS = BoundsEffect()
