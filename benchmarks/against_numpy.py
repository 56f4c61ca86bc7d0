"""Times everyday functions against NumPy on the same job, in one process, alternating.

    python benchmarks/against_numpy.py [--only REGEX] [--rounds N] [--markdown]

The same expression runs on NumPy's arrays and, uncompiled, on ours: what a user who
changes the import sees. The result is awaited. Run nothing else meanwhile.
"""

import argparse
import math
import re
import time

import numpy as np

import tetrad.numpy as jnp

SMALL, LARGE = 100_000, 4_000_000


def arrays(n, dtype="float32", *shape):
    rng = np.random.default_rng(n)
    x = rng.normal(size=shape or n).astype("float32")
    return (100 * x).astype(dtype) if dtype != "float32" else x


def flat(function, n, dtype="float32"):
    return function, (arrays(n, dtype), arrays(n + 1, dtype, n))


def matrices(function, n, *batch):
    x = arrays(n, "float32", *batch, n, n)
    return function, (
        x + n * np.eye(n, dtype="float32"),
        arrays(n, "float32", *batch, n, n),
    )


def both(name, function, dtype="float32"):
    """A row of small arrays and one of large ones."""
    return {
        f"{name} of 100k": flat(function, SMALL, dtype),
        f"{name} of 4m": flat(function, LARGE, dtype),
    }


ROWS = {
    **both("x + y", lambda n, x, y: x + y),
    **both("x * 2 + y / 3 - 1", lambda n, x, y: x * 2 + y / 3 - 1),
    **both("x + y of int32", lambda n, x, y: x + y, "int32"),
    **both("x > y", lambda n, x, y: x > y),
    **both("where", lambda n, x, y: n.where(x > y, x, y)),
    **both("sqrt(abs)", lambda n, x, y: n.sqrt(n.abs(x))),
    **both("exp", lambda n, x, y: n.exp(x)),
    **both("sin", lambda n, x, y: n.sin(x)),
    **both("tanh", lambda n, x, y: n.tanh(x)),
    **both("sum", lambda n, x, y: n.sum(x)),
    **both("mean and std", lambda n, x, y: (x.mean(), x.std())),
    **both("max", lambda n, x, y: n.max(x)),
    **both("argmax", lambda n, x, y: n.argmax(x)),
    **both("any", lambda n, x, y: n.any(x > 9)),
    **both("cumsum", lambda n, x, y: n.cumsum(x)),
    **both("sort", lambda n, x, y: n.sort(x)),
    **both("argsort", lambda n, x, y: n.argsort(x)),
    **both("median", lambda n, x, y: n.median(x)),
    **both("dot", lambda n, x, y: n.dot(x, y)),
    **both("clip", lambda n, x, y: n.clip(x, -1, 1)),
    **both("x[::-1] + y", lambda n, x, y: x[::-1] + y),
    **both("concatenate", lambda n, x, y: n.concatenate([x, y])),
    **both("roll", lambda n, x, y: n.roll(x, 7)),
    **both("diff", lambda n, x, y: n.diff(x)),
    **both("searchsorted", lambda n, x, y: n.searchsorted(x[:1000], y)),
    **both("take", lambda n, x, y: n.take(x, y % x.shape[0]), "int32"),
    **both("bincount", lambda n, x, y: n.bincount(x % 100, length=100)
           if n is jnp else np.bincount(x % 100, minlength=100), "int32"),
    "sum over rows of 2000 x 2000": matrices(lambda n, x, y: x.sum(0), 2000),
    "sum over columns of 2000 x 2000": matrices(lambda n, x, y: x.sum(1), 2000),
    "x + x.T of 2000 x 2000": matrices(lambda n, x, y: x + x.T, 2000),
    "sort rows of 2000 x 2000": matrices(lambda n, x, y: n.sort(x, 1), 2000),
    "rows x[i] of 2000 x 2000": matrices(lambda n, x, y: x[np.arange(0, 2000, 3)], 2000),
    "cumsum over rows of 2000 x 2000": matrices(lambda n, x, y: n.cumsum(x, 0), 2000),
    "x @ y of 32": matrices(lambda n, x, y: x @ y, 32),
    "x @ y of 512": matrices(lambda n, x, y: x @ y, 512),
    "x @ y of 2000": matrices(lambda n, x, y: x @ y, 2000),
    "x @ y of 1000 x 16": matrices(lambda n, x, y: x @ y, 16, 1000),
    "einsum of 64 x 128": matrices(
        lambda n, x, y: n.einsum("bij,bjk->bik", x, y, optimize=True), 128, 64),
    "solve of 200": matrices(lambda n, x, y: n.linalg.solve(x, y), 200),
    "solve of 1000 x 8": matrices(lambda n, x, y: n.linalg.solve(x, y), 8, 1000),
    "inv of 200": matrices(lambda n, x, y: n.linalg.inv(x), 200),
    "det of 200": matrices(lambda n, x, y: n.linalg.det(x / 200), 200),
    "cholesky of 200": matrices(
        lambda n, x, y: n.linalg.cholesky(x @ x.T), 200),
    "qr of 200": matrices(lambda n, x, y: n.linalg.qr(x), 200),
    "eigh of 200": matrices(lambda n, x, y: n.linalg.eigh(x + x.T), 200),
    "svd of 200": matrices(lambda n, x, y: n.linalg.svd(x), 200),
    "fft of 2^16": (lambda n, x, y: n.fft.fft(x), (arrays(1 << 16), arrays(4))),
    "fft2 of 512": matrices(lambda n, x, y: n.fft.fft2(x), 512),
}  # fmt: skip


def wait(out):
    for x in out if isinstance(out, (tuple, list)) else (out,):
        if hasattr(x, "block_until_ready"):
            x.block_until_ready()


def seconds(function, library, args, budget):
    """The least time of a call, of several."""
    wait(function(library, *args))
    started = time.perf_counter()
    wait(function(library, *args))
    once = time.perf_counter() - started
    repeats = max(1, min(1000, int(budget / 10 / max(once, 1e-7))))
    best = math.inf
    end = time.perf_counter() + budget
    while time.perf_counter() < end or best == math.inf:
        started = time.perf_counter()
        for _ in range(repeats):
            wait(function(library, *args))
        best = min(best, (time.perf_counter() - started) / repeats)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=".")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--budget", type=float, default=0.1)
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    row = (
        "| {:32} | {:>11} | {:>11} | {:>6} |"
        if options.markdown
        else "{:34}{:>12}{:>12}{:>9}"
    )
    print(row.format("the same job", "tetrad, ms", "NumPy, ms", "ratio"))
    if options.markdown:
        print("|---|---:|---:|---:|")
    ratios = {}
    for name, (function, args) in ROWS.items():
        if not re.search(options.only, name):
            continue
        ours = [jnp.asarray(x) for x in args]
        best = [math.inf, math.inf]
        for _ in range(options.rounds):
            best[0] = min(best[0], seconds(function, jnp, ours, options.budget))
            best[1] = min(best[1], seconds(function, np, args, options.budget))
        ratios[name] = best[0] / best[1]
        cells = [f"{1e3 * s:.4f}" for s in best]
        print(row.format(name, *cells, f"{ratios[name]:.3f}"), flush=True)
    mean = math.exp(sum(map(math.log, ratios.values())) / max(len(ratios), 1))
    slow = [name for name, ratio in ratios.items() if ratio > 1.2]
    print(f"\ngeometric mean of {len(ratios)} ratios: {mean:.3f}")
    print(f"above 1.2: {', '.join(slow) or 'none'}")


if __name__ == "__main__":
    main()
