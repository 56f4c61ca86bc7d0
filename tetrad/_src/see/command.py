"""Reports of the command line: `python -m tetrad --memory --report out.html script.py`.

They look at the whole run of a program and speak when it ends, also if it ends with an
exception. Text goes to the standard error, where it does not mix with what the program
prints.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from tetrad._src.api.run import Option, options
from tetrad._src.see.doctor import doctor
from tetrad._src.see.memory import FORMATS, Memory, memory


@contextmanager
def _reported(tell: Callable[[Memory], None]) -> Iterator[None]:
    """Looks at the memory of what runs inside, and tells of it however that ends.

    A forked child that comes back here is another program, of which nobody asked.
    """
    process = os.getpid()
    report = memory()
    try:
        with report:
            yield
    finally:
        if os.getpid() == process:
            tell(report)


def _memory(argument: str) -> AbstractContextManager[None]:
    """Prints the table of memory by source line at the end."""

    def tell(report: Memory) -> None:
        sys.stdout.flush()
        print(f"\nmemory by source line\n{report}", file=sys.stderr)

    return _reported(tell)


def _report(argument: str) -> AbstractContextManager[None]:
    """Saves the report of memory at the end."""
    path = Path(argument)
    if path.suffix.lower() not in FORMATS:
        raise ValueError(
            f"--report {argument}: the name of the file must end in {FORMATS[0]},"
            f" {FORMATS[1]} or {FORMATS[2]}"
        )
    if not path.absolute().parent.is_dir():
        raise ValueError(f"--report {argument}: there is no folder {path.parent}")
    path = path.absolute()  # programs may change the directory

    def tell(report: Memory) -> None:
        report.save(path)
        print(f"saved {path}", file=sys.stderr)

    return _reported(tell)


@contextmanager
def _doctor(argument: str) -> Iterator[None]:
    """Prints the report of the environment."""
    print(doctor(), flush=True)
    yield


def install() -> None:
    """Adds the reports to the options of the command line."""
    options["--doctor"] = Option(
        "", "print what is installed, and what is wrong with it", _doctor, alone=True
    )
    options["--memory"] = Option(
        "", "print memory by source line at the end (on standard error)", _memory
    )
    options["--report"] = Option(
        "FILE", "save memory over time as .html, .svg or .json at the end", _report
    )
