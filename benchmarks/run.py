"""Runs the tables of benchmarks: tetrad against JAX, alternating, in one run.

    python benchmarks/run.py [--only REGEX] [--rounds N] [--budget SECONDS] [--markdown]

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
    options = parser.parse_args()
    ours, theirs = Runner("tetrad"), Runner("jax")
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


if __name__ == "__main__":
    main()
