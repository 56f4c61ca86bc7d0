"""Our threads as threadpoolctl sees and limits them.

That package looks for shared libraries by their file names; our threads run code that
was made in memory. So we introduce ourselves by a library that every process has
loaded, the C library's mathematics, and say then who we are. The package is never
imported here: whoever has imported it gets to see us.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from tetrad._src.api import threads
from tetrad._src.runtime import threads as setting
from tetrad.version import tetrad_version

# "libm.so.6" of Linux, "libsystem_m.dylib" of macOS.
LIBRARIES = ("libm.so", "libsystem_m.")
HERE = Path(__file__).parents[2] / "__init__.py"

_known: set[int] = set()  # modules that know us


def introduce() -> None:
    """Registers us with threadpoolctl, if somebody has imported it."""
    module: Any = sys.modules.get("threadpoolctl")
    if module is None or id(module) in _known or not hasattr(module, "register"):
        return
    _known.add(id(module))
    module.register(_controller(module.LibController))


def _controller(base: Any) -> Any:
    class TetradController(base):  # type: ignore[misc]
        """The threads of tetrad."""

        user_api = "tetrad"
        internal_api = "tetrad"
        filename_prefixes = LIBRARIES

        def set_additional_attributes(self) -> None:
            self.prefix = "tetrad"
            self.filepath = str(HERE)

        def get_num_threads(self) -> int:
            return threads.num_threads()

        def set_num_threads(self, num_threads: int) -> None:
            threads.set_num_threads(min(num_threads, setting.MOST))

        def get_version(self) -> str:
            return tetrad_version

    return TetradController
