"""Times the workloads of one package: reads a name a line, answers JSON a line."""

import importlib
import json
import os
import sys
import time

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import everyday
from workloads import WORKLOADS


def main():
    package = sys.argv[1]
    started = time.perf_counter()
    jax = importlib.import_module(package)
    jnp = importlib.import_module(package + ".numpy")
    print(json.dumps(time.perf_counter() - started), flush=True)
    ready = {}
    for line in sys.stdin:
        name, budget = line.rstrip("\n").rsplit(" ", 1)
        workload = WORKLOADS.get(name)
        try:
            if workload is None:
                answer = {"seconds": everyday_seconds(name, float(budget), jax, jnp)}
                print(json.dumps(answer), flush=True)
                continue
            if name not in ready:
                ready[name] = workload.build(jax, jnp, np)
                ready[name]()
                ready[name]()
            run = ready[name]
            times = []
            end = time.perf_counter() + float(budget)
            while len(times) < 3 or (time.perf_counter() < end and len(times) < 50):
                started = time.perf_counter()
                run()
                times.append(time.perf_counter() - started)
            answer = {"seconds": min(times) / workload.repeats}
        except Exception as problem:
            answer = {"error": f"{type(problem).__name__}: {str(problem)[:200]}"}
        print(json.dumps(answer), flush=True)


def everyday_seconds(expression, budget, jax, jnp):
    """The least time of an everyday call, from several stretches of many."""
    run = everyday.build(expression, jax, jnp, np)
    run()
    started = time.perf_counter()
    run()
    once = time.perf_counter() - started
    repeats = max(3, min(300, int(budget / 8 / max(once, 1e-6))))
    best = float("inf")
    for _ in range(8):
        started = time.perf_counter()
        for _ in range(repeats):
            run()
        best = min(best, (time.perf_counter() - started) / repeats)
    return best


if __name__ == "__main__":
    main()
