"""How many threads the CPU computes with, as users set it."""

from __future__ import annotations

from types import TracebackType

from tetrad._src.runtime import lazy
from tetrad._src.runtime import threads as setting


def num_threads() -> int:
    """How many threads share one operation on the CPU.

    What `set_num_threads` says; otherwise the environment variable TETRAD_NUM_THREADS
    or OMP_NUM_THREADS; otherwise the processors that this process may use, by its
    affinity mask and the quota of its cgroup.

    >>> import tetrad
    >>> tetrad.num_threads() >= 1
    True
    """
    return setting.count()


def set_num_threads(count: int) -> None:
    """Has `count` threads share one operation on the CPU, in the whole process.

    Elementwise work, reductions, sorts, products and batches of decompositions are
    divided between them. With 1 no thread is started at all: the caller computes, and
    has waited when a call returns. Results have the same bits for any number. What has
    been recorded so far is computed before the number changes.

    Args:
      count: a number from 1 to 1024; the calling thread is one of them.

    Raises:
      TypeError: if `count` is no integer.
      ValueError: if it does not lie in 1..1024.

    >>> import tetrad
    >>> before = tetrad.num_threads()
    >>> tetrad.set_num_threads(1)
    >>> tetrad.num_threads()
    1
    >>> tetrad.set_num_threads(before)
    """
    setting.checked(count)
    lazy.flush_all()
    setting.set_count(count)


class threads:
    """`with tetrad.threads(n):` computes the block with `n` threads; see
    `set_num_threads`.

    What the block records is computed before it ends. The number holds for the whole
    process while the block runs.

    >>> import tetrad
    >>> with tetrad.threads(1):
    ...     print(tetrad.num_threads())
    1
    """

    __slots__ = ("count", "before")

    def __init__(self, count: int) -> None:
        self.count = setting.checked(count)
        self.before: list[int] = []

    def __enter__(self) -> threads:
        self.before.append(num_threads())
        set_num_threads(self.count)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        set_num_threads(self.before.pop())
