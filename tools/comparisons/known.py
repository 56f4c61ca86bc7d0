"""Disagreements that are meant, with reasons; `docs/differences.md` repeats them.

Each entry says for which functions, which kind of difference and which calls it holds
(patterns that must match from the start), and why.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from typing import NamedTuple

from comparisons.cases import Case
from comparisons.compare import Difference


class Known(NamedTuple):
    """A difference on purpose."""

    functions: str
    kinds: str
    what: str  # found anywhere in the description of the call
    reason: str


KNOWN: tuple[Known, ...] = ()


def reason_for(case: Case, found: Difference) -> str | None:
    """Why this difference is meant; None if it is not."""
    for known in KNOWN:
        if (
            _pattern(known.functions).fullmatch(case.function)
            and _pattern(known.kinds).fullmatch(found.kind)
            and _pattern(known.what).search(f"{case.what} | {found.detail}")
        ):
            return known.reason
    return None


def reasons() -> Iterable[str]:
    """All reasons, each once."""
    return dict.fromkeys(known.reason for known in KNOWN)


@functools.cache
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text)
