"""The port of the machines: what the runtime asks of a backend.

A backend owns devices of one platform. It compiles jaxprs whose inputs are arrays, or
scalars passed by value, into an `Executable`, and runs it on buffers. The runtime keeps
the ledger, decides what is donated and when work is submitted; it never looks inside a
buffer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.jaxpr import Jaxpr
from tetrad._src.passes.origins import Origin
from tetrad._src.runtime.events import Timing


class Executable(Protocol):
    """A compiled jaxpr."""

    in_avals: tuple[Aval, ...]
    out_avals: tuple[Aval, ...]
    by_value: tuple[bool, ...]  # inputs that are Python or NumPy scalars
    donors: tuple[int | None, ...]  # input whose buffer an output may take over
    copies: tuple[Any, ...]  # updates that may copy: see `passes.plan.UpdateCopy`
    work: int  # estimated nanoseconds on the device

    # A short way to `execute` what takes nothing over: gives a buffer an output for
    # (buffers, scalars, device, lines), or None if it cannot now.
    launch: Callable[..., list[Any] | None] | None

    def text(self, stage: str) -> str:
        """A stage of the compilation as text."""
        ...

    def cost(self) -> dict[str, float]:
        """What a run costs: "flops", "transcendentals", "bytes accessed", …."""
        ...

    def memory(self) -> dict[str, int]:
        """Bytes besides inputs and outputs: "temp" of a run, "code" of the program."""
        ...


class Backend(Protocol):
    """One platform: `cpu`, or a PJRT plugin."""

    platform: str
    version: str
    calls_host: bool  # whether its programs can call Python, see `host.py`
    shares_host: bool  # whether `get` gives a view of the memory of the device

    def devices(self) -> Sequence[Any]: ...

    def compile(self, jaxpr: Jaxpr, by_value: tuple[bool, ...]) -> Executable: ...

    def copies(self, jaxpr: Jaxpr, by_value: tuple[bool, ...]) -> tuple[Any, ...]:
        """The `copies` of the program of `jaxpr`, with the lines of this very jaxpr."""
        ...

    def cost(self, jaxpr: Jaxpr) -> dict[str, float]:
        """The cost of a program that need not exist yet; see `Executable.cost`."""
        ...

    def execute(
        self,
        executable: Executable,
        buffers: Sequence[Any],
        scalars: Sequence[Any],
        takeovers: Sequence[int | None],
        device: Any,
        lines: Sequence[Any],
        timing: Timing | None = None,
    ) -> list[Any]:
        """Runs on buffers, then scalars; gives one buffer an output.

        `takeovers[j]` is the input whose buffer output `j` becomes now, or None.
        `lines[j]` is the user line that the ledger notes for output `j`. If there is a
        `timing`, the run is measured and its results go in there.
        """
        ...

    def origins(
        self, executable: Executable, places: Sequence[Any]
    ) -> tuple[dict[int, int], list[Origin]]:
        """What the parts are whose times are measured.

        `places` are the lines of the operations in the executable. Gives for the number
        of a `Span` which of the origins it belongs to.
        """
        ...

    def put(
        self, host: np.ndarray[Any, Any], aval: Aval, device: Any, line: Any
    ) -> Any:
        """A buffer with a copy of `host`."""
        ...

    def get(self, buffer: Any, aval: Aval) -> np.ndarray[Any, Any]:
        """A host array with a copy of the buffer; waits for it."""
        ...

    def wait(self, buffer: Any) -> None: ...

    def finish(self) -> None:
        """Waits for all that has been submitted."""
        ...

    def make_room(self) -> int:
        """Waits for all work, if memory depends on it; gives free memory back to the
        system, and says how many bytes."""
        ...

    def caches(self) -> dict[str, tuple[int, int, int | None]]:
        """What the backend keeps for later: entries, bytes, their limit, by name."""
        ...

    def forget(self) -> int:
        """Drops compiled code and free memory; returns the bytes."""
        ...
