"""How many threads compute: what the user asked for, or what this process may have.

In: environment variables, the process's affinity and the quota of its cgroup; or a
number from the user. Out: `count()`. The machine that has threads installs `resize`
here, and asks `count()` when it starts. Nothing here starts a thread.

Read `default_threads`, `processors`, then `set_count`.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable

MOST = 1024  # threads
VARIABLES = ("TETRAD_NUM_THREADS", "OMP_NUM_THREADS")

_count = 0  # 0: nobody has asked yet


def _nothing_to_resize(count: int) -> None:
    return None


resize: Callable[[int], None] = _nothing_to_resize  # the port of the machine
listeners: list[Callable[[], None]] = []  # called when numbers are asked for or used


def count() -> int:
    """Threads that share one operation, the caller's included."""
    global _count
    if not _count:
        _count = default_threads()
    _told()
    return _count


def _told() -> None:
    for listener in listeners:
        listener()


def set_count(wanted: int) -> None:
    """Has `wanted` threads share one operation from now on."""
    global _count
    number = checked(wanted)
    resize(number)
    _count = number
    _told()


def checked(wanted: int) -> int:
    """A number of threads from the user, as an int."""
    try:
        number = operator.index(wanted)
    except TypeError:
        raise TypeError(
            f"the number of threads must be an integer, got {wanted!r}"
        ) from None
    if not 1 <= number <= MOST:
        raise ValueError(f"the number of threads must lie in 1..{MOST}, got {number}")
    return number


def default_threads() -> int:
    """TETRAD_NUM_THREADS, else OMP_NUM_THREADS, else the processors we may use."""
    for variable in VARIABLES:
        text = os.environ.get(variable, "").split(",")[0].strip()
        if text:
            if not text.isdigit() or int(text) < 1:
                raise ValueError(f"{variable} must be a positive number, not {text!r}")
            return min(int(text), MOST)
    return max(1, min(processors(), MOST))


def processors() -> int:
    """Processors this process may use: its affinity, bounded by its cgroup's quota."""
    if hasattr(os, "sched_getaffinity"):
        found = len(os.sched_getaffinity(0))
    else:
        found = os.cpu_count() or 1
    quota = _cgroup_quota()
    return found if quota is None else max(1, min(found, quota))


def _cgroup_quota() -> int | None:
    """The smallest quota on the way from this process's cgroup to the root, rounded up
    to whole processors; None where there is no limit."""
    lines = _read("/proc/self/cgroup").splitlines()
    quotas = []
    for line in lines:
        number, controllers, path = line.split(":", 2)
        if number == "0" and not controllers:
            base, read = "/sys/fs/cgroup", _quota_v2
        elif "cpu" in controllers.split(","):
            base, read = "/sys/fs/cgroup/cpu", _quota_v1
        else:
            continue
        while True:
            quota = read(base + path.rstrip("/"))
            if quota is not None:
                quotas.append(quota)
            if path in ("", "/"):
                break
            path = os.path.dirname(path)
    return min(quotas, default=None)


def _quota_v2(directory: str) -> int | None:
    words = _read(f"{directory}/cpu.max").split()
    if len(words) != 2 or words[0] == "max":
        return None
    return -(-int(words[0]) // int(words[1]))


def _quota_v1(directory: str) -> int | None:
    quota = _read(f"{directory}/cpu.cfs_quota_us").strip()
    period = _read(f"{directory}/cpu.cfs_period_us").strip()
    if not quota or not period or int(quota) <= 0:
        return None
    return -(-int(quota) // int(period))


def _read(path: str) -> str:
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""
