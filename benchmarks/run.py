"""Runs the tables of benchmarks: tetrad against JAX, alternating, in one run.

    python benchmarks/run.py [--only REGEX] [--rounds N] [--budget SECONDS] [--markdown]
    python benchmarks/run.py --everyday     # many small calls (everyday.py), summed up

Each package runs in a process of its own. A ratio below 1 means that tetrad is faster.
Run nothing else meanwhile. JAX comes with the extra `conformance`.
"""

import argparse
import json
import math
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import everyday  # noqa: E402
from workloads import WORKLOADS  # noqa: E402


class Runner:
    """A process that times workloads of one package on request."""

    def __init__(self, package):
        self.package = package
        self.process = subprocess.Popen(
            [sys.executable, os.path.join(HERE, "worker.py"), package],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.import_seconds = json.loads(self.process.stdout.readline())

    def time(self, name, budget):
        self.process.stdin.write(f"{name} {budget}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"error": "the process died"}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=".")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--budget", type=float, default=0.4)
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--everyday", action="store_true")
    options = parser.parse_args()
    ours, theirs = Runner("tetrad"), Runner("jax")
    if options.everyday:
        everyday_calls(ours, theirs, options)
        return
    row = (
        "| {:26} | {:>11} | {:>11} | {:>6} |"
        if options.markdown
        else "{:28}{:>12}{:>12}{:>9}"
    )
    print(row.format("workload", "tetrad, ms", "JAX, ms", "ratio"))
    if options.markdown:
        print("|---|---:|---:|---:|")
    ratios = []
    for name, workload in WORKLOADS.items():
        if not re.search(options.only, f"{workload.group}/{name}"):
            continue
        best = [math.inf, math.inf]
        problem = ""
        for _ in range(options.rounds):
            for i, runner in enumerate((ours, theirs)):
                answer = runner.time(name, options.budget)
                problem = problem or answer.get("error", "")
                best[i] = min(best[i], answer.get("seconds", math.inf))
        if problem:
            print(name, problem)
            continue
        ratios.append(best[0] / best[1])
        cells = [f"{1e3 * s:.4f}" for s in best] + [f"{ratios[-1]:.3f}"]
        print(row.format(name, *cells), flush=True)
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"\ngeometric mean of {len(ratios)} ratios: {mean:.3f}")
    print(
        f"import on top of NumPy: tetrad {ours.import_seconds:.3f} s,"
        f" JAX {theirs.import_seconds:.3f} s"
    )


def everyday_calls(ours, theirs, options):
    """Times the calls of everyday.py: a row a group, then the calls that are slower."""
    budget = min(options.budget, 0.03)
    row = (
        "| {:20} | {:>5} | {:>10} | {:>10} | {:>6} |"
        if options.markdown
        else "{:22}{:>6}{:>12}{:>12}{:>9}"
    )
    print(row.format("calls", "rows", "tetrad, µs", "JAX, µs", "ratio"))
    if options.markdown:
        print("|---|---:|---:|---:|---:|")
    groups = {}
    for group, expression in everyday.expressions():
        if not re.search(options.only, f"{group}/{expression}"):
            continue
        best = [math.inf, math.inf]
        for _ in range(options.rounds):
            for i, runner in enumerate((ours, theirs)):
                answer = runner.time(expression, budget)
                if "error" in answer:
                    print(runner.package, expression, answer["error"])
                best[i] = min(best[i], answer.get("seconds", math.inf))
        if max(best) < math.inf:
            groups.setdefault(group, {})[expression] = best
    rows = {}
    for group, found in groups.items():
        cells = [1e6 * mean(b[i] for b in found.values()) for i in (0, 1)]
        print(row.format(group, len(found), *[f"{c:.1f}" for c in cells],
                         f"{cells[0] / cells[1]:.3f}"))  # fmt: skip
        rows |= found
    ratios = {name: a / b for name, (a, b) in rows.items()}
    slower = sorted([name for name, r in ratios.items() if r > 1], key=ratios.get)[::-1]
    print(f"\ngeometric mean of {len(ratios)} ratios: {mean(ratios.values()):.3f}")
    print(f"{len(slower)} of them above 1:")
    for name in slower:
        a, b = rows[name]
        print(f"  {ratios[name]:.2f}  {name}: {1e6 * a:.1f} and {1e6 * b:.1f} µs")


def mean(values):
    """The geometric mean."""
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / max(len(logs), 1))


if __name__ == "__main__":
    main()
