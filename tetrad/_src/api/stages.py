"""The steps from a jitted function to a program, each to look at: traced, lowered,
compiled.

In: the operation that a trace made, with what it closes over. Out: objects that print
what they are and lead to the next step; the last one can be called.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from tetrad._src.api.inspect import ClosedJaxpr, struct_of
from tetrad._src.control.call import Jit
from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import aval_of
from tetrad._src.core.text import jaxpr_text
from tetrad._src.core.rewrite import lift_arrays
from tetrad._src.runtime.device import default_placement
from tetrad._src.util import frames, tree


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


class Stage:
    """What every step knows of the function."""

    def __init__(
        self,
        fun_name: str,
        leaf_names: Sequence[str],
        op: Jit,
        consts: Sequence[Any],
        in_tree: Any,
        in_avals: Sequence[Aval],
        out_tree: Any,
    ) -> None:
        self.fun_name = fun_name
        self.leaf_names = leaf_names
        self.op = op
        self.consts = tuple(consts)
        self.in_tree = in_tree
        self.in_avals_flat = tuple(in_avals)
        self.out_tree = out_tree

    @property
    def in_avals(self) -> Any:
        """The types of the arguments, as (args, kwargs)."""
        return self.in_tree.unflatten(self.in_avals_flat)

    @property
    def out_avals(self) -> Any:
        """The types of the result, in its structure."""
        return self.out_tree.unflatten(self.op.jaxpr.out_avals)

    @property
    def args_info(self) -> Any:
        """Types of the arguments and whether they are donated, as (args, kwargs)."""
        donated = set(self.donate_argnums)
        return self.in_tree.unflatten(
            [ArgInfo(a, i in donated) for i, a in enumerate(self.in_avals_flat)]
        )

    @property
    def out_info(self) -> Any:
        """Shapes and dtypes of the result, in its structure."""
        return self.out_tree.unflatten([struct_of(a) for a in self.op.jaxpr.out_avals])

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """Positions of donated leaves among all leaves of the arguments."""
        mask = self.op.donated[len(self.consts) :]
        return tuple([i for i, given in enumerate(mask) if given])

    def _next(self, step: type[Any]) -> Any:
        return step(
            self.fun_name,
            self.leaf_names,
            self.op,
            self.consts,
            self.in_tree,
            self.in_avals_flat,
            self.out_tree,
        )


class Traced(Stage):
    """A function traced for arguments of given types."""

    @property
    def jaxpr(self) -> ClosedJaxpr:
        return ClosedJaxpr(self.op.jaxpr, self.consts)

    def lower(self) -> Lowered:
        lowered: Lowered = self._next(Lowered)
        return lowered


class Lowered(Stage):
    """A function ready to be compiled for arguments of given types."""

    def as_text(self, dialect: str | None = None) -> str:
        """The program before compilation, as a jaxpr or in dialect "stablehlo"."""
        if dialect in (None, "jaxpr"):
            return jaxpr_text(self.op.jaxpr, len(self.consts))
        if dialect == "stablehlo":
            emitter = importlib.import_module("tetrad._src.hlo.emit")
            return str(emitter.emit(lift_arrays(self.op.jaxpr)[0]))
        raise NotImplementedError(
            f"as_text(dialect={dialect!r}) is not available; there are 'jaxpr' and"
            " 'stablehlo'"
        )

    def compiler_ir(self, dialect: str | None = None) -> Any:
        return self.as_text(dialect)

    @frames.hide_frames
    def compile(self, compiler_options: dict[str, Any] | None = None) -> Compiled:
        """Compiles now, for the default device or the device of closed-over arrays."""
        if compiler_options:
            raise NotImplementedError("compile(compiler_options=...) is not available")
        compiled: Compiled = self._next(Compiled)
        return compiled


class Compiled(Stage):
    """A compiled function; call it with arguments of the types it was compiled for."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        placements = [getattr(c, "placement", None) for c in self.consts]
        held = [p for p in placements if p is not None]
        device = (held[0] if held else default_placement()).device
        jaxpr = lift_arrays(self.op.jaxpr)[0]
        self.executable = device.backend.compile(jaxpr, (False,) * len(jaxpr.ins))

    @frames.hide_frames
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves, in_tree = tree.flatten((args, kwargs))
        if in_tree != self.in_tree:
            raise TypeError(
                f"`{self.fun_name}` was compiled for arguments of the structure"
                f" {self.in_tree}, got {in_tree}"
            )
        for i, (leaf, aval) in enumerate(zip(leaves, self.in_avals_flat)):
            got = aval_of(leaf)
            if got.shape != aval.shape or got.dtype != aval.dtype:
                raise TypeError(
                    f"`{self.fun_name}` was compiled for {aval.long_name()} as argument"
                    f" `{self.leaf_names[i]}`, got {got.long_name()}. Call the jitted"
                    " function itself, which compiles for new types."
                )
        outs = self.op(*self.consts, *leaves)
        return self.out_tree.unflatten(outs)

    def as_text(self, stage: str = "llvm") -> str:
        """A stage of the compilation: jaxpr, plan, program, loops or llvm."""
        return str(self.executable.text(stage))

    def memory_analysis(self) -> Any:
        """Bytes of temporaries the program needs besides inputs and outputs."""
        return {"temp_size_in_bytes": int(self.executable.arena)}
