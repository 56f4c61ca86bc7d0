"""The steps from a jitted function to a program, each to look at: traced, lowered,
compiled.

In: one trace of a function. Out: objects that print what they are and lead to the next
step; the last one can be called. What they say about cost and memory comes from the plan
that the machine makes, not from running anything.

Read `Function`, `Stage`, then the steps in order.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from tetrad._src.api.flat import as_value
from tetrad._src.api.formats import MemoryStats, format_of
from tetrad._src.api.inspect import ClosedJaxpr, struct_of
from tetrad._src.api.tracing import Entry
from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import Tracer, aval_of, base_trace
from tetrad._src.core.effects import BOUNDS
from tetrad._src.core.jaxpr import Jaxpr
from tetrad._src.core.rewrite import lift_arrays
from tetrad._src.core.text import jaxpr_text
from tetrad._src.runtime.ahead import Ahead
from tetrad._src.runtime.device import SingleDeviceSharding, default_placement
from tetrad._src.util import frames, tree

DIALECTS = ("stablehlo", "jaxpr")


# Options of a compiler by name, for annotations.
CompilerOptions = dict[str, str | bool]


class ArgInfo:
    """What is known of one argument of a lowered function."""

    __slots__ = ("aval", "donated")

    def __init__(self, aval: Aval, donated: bool) -> None:
        self.aval = aval
        self.donated = donated

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        return self.aval.dtype

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ArgInfo)
            and self.aval is other.aval
            and self.donated == other.donated
        )

    def __hash__(self) -> int:
        return hash((self.aval, self.donated))

    def __repr__(self) -> str:
        return f"ArgInfo({self.aval.long_name()}, donated={self.donated})"


class Function:
    """One trace of a user's function, with the names by which the user knows it."""

    __slots__ = ("name", "leaf_names", "entry", "in_tree", "in_avals", "donated")

    def __init__(
        self,
        name: str,
        leaf_names: Sequence[str],
        entry: Entry,
        in_tree: Any,
        in_avals: Sequence[Aval],
        donated: Sequence[bool],
    ) -> None:
        self.name = name
        self.leaf_names = leaf_names
        self.entry = entry
        self.in_tree = in_tree
        self.in_avals = tuple(in_avals)
        self.donated = donated  # what the user said, leaf by leaf


class Stage:
    """What every step knows of the function."""

    def __init__(self, function: Function) -> None:
        self._function = function

    @property
    def fun_name(self) -> str:
        return self._function.name

    @property
    def in_tree(self) -> Any:
        """The structure of the arguments, (args, kwargs)."""
        return self._function.in_tree

    @property
    def out_tree(self) -> Any:
        """The structure of the result."""
        return self._function.entry.out_tree

    @property
    def in_avals(self) -> Any:
        """The types of the arguments, as (args, kwargs)."""
        return self.in_tree.unflatten(self._function.in_avals)

    @property
    def out_avals(self) -> Any:
        """The types of the result, in its structure."""
        return self.out_tree.unflatten(self._out_avals)

    @property
    def args_info(self) -> Any:
        """Types of the arguments and whether they are donated, as (args, kwargs)."""
        pairs = zip(self._function.in_avals, self._function.donated)
        return self.in_tree.unflatten([ArgInfo(a, given) for a, given in pairs])

    @property
    def out_info(self) -> Any:
        """Shapes and dtypes of the result, in its structure."""
        return self.out_tree.unflatten([struct_of(a) for a in self._out_avals])

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """Positions of donated leaves among all leaves of the arguments."""
        return tuple([i for i, given in enumerate(self._function.donated) if given])

    @property
    def _out_avals(self) -> tuple[Aval, ...]:
        return self._function.entry.op.jaxpr.out_avals

    @property
    def _program(self) -> Jaxpr:
        """What is compiled: without the operands that nothing reads."""
        jaxpr: Jaxpr = self._function.entry.program.jaxpr
        return jaxpr

    def _kept_leaves(self) -> set[int]:
        """The leaves of the arguments that the program takes."""
        entry = self._function.entry
        closed = len(entry.consts)
        kept = entry.kept
        if kept is None:
            return set(range(len(self._function.in_avals)))
        return {i - closed for i in kept if i >= closed}


class Traced(Stage):
    """A function traced for arguments of given types."""

    @property
    def jaxpr(self) -> ClosedJaxpr:
        entry = self._function.entry
        return ClosedJaxpr(entry.op.jaxpr, entry.consts)

    def lower(self, *, lowering_platforms: Sequence[str] | None = None) -> Lowered:
        """Ready to be compiled; what is lowered is the same for all platforms."""
        return Lowered(self._function, lowering_platforms)


class Lowered(Stage):
    """A function ready to be compiled for arguments of given types."""

    def __init__(
        self, function: Function, platforms: Sequence[str] | None = None
    ) -> None:
        super().__init__(function)
        self._platforms = platforms

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """The program before compilation, in dialect "stablehlo" (default) or "jaxpr".

        With `debug_info` the source line of every equation and the scopes of
        `named_scope` around it stand beside it.
        """
        if dialect == "jaxpr":
            closed = len(self._function.entry.consts)
            jaxpr = self._function.entry.op.jaxpr
            return jaxpr_text(jaxpr, closed, lines=debug_info, scopes=debug_info)
        if dialect in (None, "stablehlo"):
            emitter = importlib.import_module("tetrad._src.hlo.emit")
            text = str(emitter.emit(lift_arrays(self._program)[0]))
            return text + _lines(self._program, "//") if debug_info else text
        raise NotImplementedError(
            f"as_text(dialect={dialect!r}) is not available: there are"
            f" {' and '.join(map(repr, DIALECTS))} here, and .compile().as_text(dialect)"
            " shows plan, program, loops and llvm"
        )

    def compiler_ir(self, dialect: str | None = None) -> Any:
        """The program before compilation; the same as `as_text`."""
        return self.as_text(dialect)

    @frames.hide_frames
    def cost_analysis(self) -> dict[str, float]:
        """Operations and bytes of one run: "flops", "transcendentals", "bytes accessed".

        Bytes are those that the plan moves: values inside of a fused kernel are free.
        """
        device = _placement(self._function.entry).device
        found: dict[str, float] = device.backend.cost(lift_arrays(self._program)[0])
        return found

    @frames.hide_frames
    def compile(self, compiler_options: dict[str, Any] | None = None) -> Compiled:
        """Compiles now, for the default device or the device of closed-over arrays."""
        if compiler_options:
            raise NotImplementedError(
                "compile(compiler_options=...) is not available: the compiler has no"
                " options by program; settings are in jax.config"
            )
        platform = _placement(self._function.entry).device.platform
        if self._platforms is not None and platform not in self._platforms:
            raise ValueError(
                f"compile: the function was lowered for {', '.join(self._platforms)}, but"
                f" it would run on {platform}. Leave lowering_platforms out, or choose"
                " another default device"
            )
        return Compiled(self._function)


class Compiled(Stage):
    """A compiled function; call it with arguments of the types it was compiled for."""

    def __init__(self, function: Function) -> None:
        super().__init__(function)
        entry = function.entry
        place = _placement(entry)
        self._ahead = Ahead(entry.program, self._program.in_avals, place)
        self._place = self._ahead.place

    @property
    def executable(self) -> Any:
        """The program as the machine knows it."""
        return self._ahead.executable

    def runtime_executable(self) -> Any:
        """The program as the machine knows it."""
        return self._ahead.executable

    @frames.hide_frames
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the program; TypeError if arguments have other types or structures."""
        function = self._function
        leaves, in_tree = tree.flatten((args, kwargs))
        if in_tree != function.in_tree:
            raise TypeError(_other_structure(function, (args, kwargs), in_tree))
        self._check_types(leaves)
        kept = self._kept_leaves()
        leaves = [
            as_value(x, f"compiled `{function.name}`") if i in kept else x
            for i, x in enumerate(leaves)
        ]
        operands = function.entry.operands(leaves)
        if BOUNDS in function.entry.program.effects:  # it has to tell what it finds
            outs = base_trace().process(function.entry.program, operands)
        else:
            outs = self._ahead.call(operands)
        return function.entry.out_tree.unflatten(outs)

    call = __call__

    def _check_types(self, leaves: Sequence[Any]) -> None:
        function = self._function
        wrong = []
        for name, leaf, aval in zip(function.leaf_names, leaves, function.in_avals):
            if isinstance(leaf, Tracer):
                raise TypeError(
                    f"the compiled `{function.name}` is a program for"
                    f" {aval.long_name()} and knows no transformations, but argument"
                    f" `{name}` is a traced value: inside of jit, grad or vmap call the"
                    " jitted function itself"
                )
            got = aval_of(leaf)
            if got.shape != aval.shape or got.dtype != aval.dtype:
                wrong.append(
                    f"  `{name}`: compiled for {aval.long_name()}, got {got.long_name()}"
                )
        if wrong:
            lines = "\n".join(wrong)
            raise TypeError(
                f"Argument types differ from those that `{function.name}` was compiled"
                f" for:\n{lines}\nCall the jitted function itself, which compiles for new"
                " types."
            )

    def as_text(self, dialect: str | None = None) -> str:
        """The program in "llvm" (default on the CPU), or in "jaxpr", "plan", "program",
        "loops"; on other platforms "stablehlo" or "jaxpr".
        """
        if dialect is None:
            dialect = "llvm" if self._place.device.platform == "cpu" else "stablehlo"
        return str(self.executable.text(dialect))

    def cost_analysis(self) -> dict[str, float]:
        """Operations and bytes of one run: "flops", "transcendentals", "bytes accessed"."""
        found: dict[str, float] = self.executable.cost()
        return found

    def memory_analysis(self) -> MemoryStats:
        """Bytes of arguments, results, temporaries and code, and the planned peak."""
        executable = self.executable
        sizes = executable.memory()
        avals = executable.in_avals
        outs = executable.out_avals
        given = self._function.entry.program.donated or (False,) * len(avals)
        extra = len(avals) - len(given)  # arrays inside of the jaxpr come first
        shared = [
            outs[j].nbytes
            for j, donor in enumerate(executable.donors)
            if donor is not None and donor >= extra and given[donor - extra]
        ]
        return MemoryStats(
            argument_size_in_bytes=sum([a.nbytes for a in avals]),
            output_size_in_bytes=sum([a.nbytes for a in outs]),
            alias_size_in_bytes=sum(shared),
            temp_size_in_bytes=sizes["temp"],
            generated_code_size_in_bytes=sizes["code"],
        )

    @property
    def input_formats(self) -> Any:
        """Layouts and devices of the arguments, (args, kwargs); empty where dropped."""
        kept = self._kept_leaves()
        device = self._place.device
        formats = [
            format_of(aval, device) if i in kept else None
            for i, aval in enumerate(self._function.in_avals)
        ]
        return self.in_tree.unflatten(formats)

    @property
    def output_formats(self) -> Any:
        """Layouts and devices of the result, in its structure."""
        device = self._place.device
        return self.out_tree.unflatten([format_of(a, device) for a in self._out_avals])

    @property
    def input_shardings(self) -> Any:
        """The devices of the arguments, (args, kwargs); empty where dropped."""
        kept = self._kept_leaves()
        sharding = SingleDeviceSharding(self._place.device)
        count = len(self._function.in_avals)
        return self.in_tree.unflatten(
            [sharding if i in kept else None for i in range(count)]
        )

    @property
    def output_shardings(self) -> Any:
        """The devices of the result, in its structure."""
        sharding = SingleDeviceSharding(self._place.device)
        return self.out_tree.unflatten([sharding] * len(self._out_avals))


def _placement(entry: Entry) -> Any:
    """Where the program runs: where the closed-over arrays are, or by default."""
    placements = [getattr(c, "placement", None) for c in entry.consts]
    held = [p for p in placements if p is not None and p.is_committed]
    return held[0] if held else default_placement()


def _other_structure(function: Function, given: Any, in_tree: Any) -> str:
    """The message for arguments of another structure, with the first differences."""
    expected = function.in_tree.unflatten(function.in_avals)
    shown = tree.difference_text("compiled", expected, "given", given)
    shown = shown or f"{in_tree} instead of {function.in_tree}"
    return (
        f"`{function.name}` was compiled for arguments of another structure, (args,"
        f" kwargs):\n{shown}\nStatic arguments are part of the compiled program: leave"
        " them out. For another structure call the jitted function itself."
    )


def _lines(jaxpr: Jaxpr, mark: str) -> str:
    """The source line and the scopes of each equation, as comments behind a text."""
    found = []
    for eqn in jaxpr.eqns:
        scopes = eqn.source_info.name_stack
        line = f"{mark} {eqn.op.name}: {frames.format_where(eqn.where)}"
        found.append(f"{line} [{scopes}]" if scopes else line)
    return "\n" + "\n".join(found) if found else ""
