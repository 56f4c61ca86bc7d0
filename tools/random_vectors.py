"""Draw the numbers that tests compare ours with, by JAX, and keep them.

    python tools/random_vectors.py [--all]

Needs jax 0.10.2. Adds to tests/data/random_vectors.npz what it lacks of
tests/random_cases.py; with --all it draws everything again.
"""

from __future__ import annotations

import sys
from pathlib import Path

import jax
import numpy as np

TESTS = Path(__file__).parent.parent / "tests"


def main() -> None:
    sys.path.insert(0, str(TESTS))
    from random_cases import CASES  # noqa: PLC0415

    path = TESTS / "data" / "random_vectors.npz"
    kept = {} if "--all" in sys.argv or not path.exists() else dict(np.load(path))
    found = {
        case.name: kept[case.name] if case.name in kept else case.draw(jax)
        for case in CASES
    }
    np.savez_compressed(path, **found)
    print(f"{len(set(found) - set(kept))} draws by jax {jax.__version__}")


if __name__ == "__main__":
    main()
