"""Which leaves of a call are donated, for libraries that count them themselves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def donation_vector(
    donate_argnums: Iterable[int],
    donate_argnames: Iterable[str],
    in_tree: Any,
    kws: bool = True,
) -> tuple[bool, ...]:
    """For each leaf of the arguments, whether it is donated.

    Args:
      donate_argnums: positions of donated arguments.
      donate_argnames: names of donated keyword arguments.
      in_tree: the structure of (args, kwargs); of args alone without `kws`.
      kws: whether there are keyword arguments.

    >>> import tetrad as jax
    >>> from tetrad.api_util import donation_vector
    >>> donation_vector((1,), (), jax.tree.structure(((1, (2, 3)), {"k": 4})))
    (False, True, True, False)
    """
    numbers, names = set(donate_argnums), set(donate_argnames)
    positional, by_name = in_tree.children() if kws else (in_tree, None)
    given: list[bool] = []
    for i, argument in enumerate(positional.children()):
        given += [i in numbers] * argument.num_leaves
    if by_name is not None:
        _, keys = by_name.node_data()
        for key, argument in zip(keys, by_name.children()):
            given += [key in names] * argument.num_leaves
    return tuple(given)


def rebase_donate_argnums(
    donate_argnums: Iterable[int], static_argnums: Iterable[int]
) -> tuple[int, ...]:
    """Positions of donated arguments among those that are not static.

    ValueError if an argument is both.

    >>> from tetrad.api_util import rebase_donate_argnums
    >>> rebase_donate_argnums((3, 4), (0, 1))
    (1, 2)
    """
    donated, static = set(donate_argnums), set(static_argnums)
    if donated & static:
        raise ValueError(
            "rebase_donate_argnums: arguments cannot be static and donated, but"
            f" {sorted(donated & static)} are in both"
        )
    return tuple([n - sum(s < n for s in static) for n in sorted(donated)])
