"""Draws docs/random-keys.svg, the picture of a tree of random keys, with `see.keys()`.

python tools/key_tree.py
"""

from __future__ import annotations

import warnings
from pathlib import Path

import tetrad as jax

FILE = Path(__file__).parent.parent / "docs" / "random-keys.svg"


def init(key):  # type: ignore[no-untyped-def]
    key_w, key_b = jax.random.split(key)
    w = jax.random.normal(key_w, (3, 2))
    b = jax.random.uniform(key_b, (2,))
    return w, b


def picture() -> str:
    """The SVG text of the tree of a small program, which uses one key twice."""
    with jax.see.keys() as tree, warnings.catch_warnings(), jax.key_check("warn"):
        warnings.simplefilter("ignore")
        root = jax.random.key(42)
        key_init, key_train, key_test = jax.random.split(root, 3)
        init(key_init)
        for step in range(100):
            key_step = jax.random.fold_in(key_train, step)
            jax.random.bernoulli(key_step, 0.9, (4, 3))
        jax.random.normal(key_test, (4, 3))
        jax.random.uniform(key_test, (4,))
    return tree.svg()


if __name__ == "__main__":
    FILE.write_text(picture(), encoding="utf-8")
