"""Compares this library with JAX, case by case, and prints where they disagree.

    python -m comparisons [--only REGEX] [--sample 0.1] [--rest] [--processes 2] [--verbose]

The exit status is 1 if a disagreement is left that `known.py` does not explain. A case
that does not come back counts as one, and the rest goes on behind it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

PATIENCE = 120.0  # seconds for one case
FLAGS = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"


def main() -> int:
    parser = argparse.ArgumentParser(prog="comparisons", description=__doc__)
    parser.add_argument("--only", default="", help="functions whose name this matches")
    parser.add_argument("--sample", type=float, default=1.0, help="part of the cases")
    parser.add_argument("--rest", action="store_true", help="what --sample leaves out")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--verbose", action="store_true", help="every disagreement")
    parser.add_argument("--part", default="", help=argparse.SUPPRESS)
    parser.add_argument("--begin", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--out", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        return _part(options)
    return _all(options)


def _all(options: Any) -> int:
    """Runs the parts in processes of their own and adds up what they found."""
    started = time.monotonic()
    environment = dict(os.environ)
    environment["XLA_FLAGS"] = f"{environment.get('XLA_FLAGS', '')} {FLAGS}"
    environment["JAX_PLATFORMS"] = "cpu"
    counts: Counter[str] = Counter()
    known: Counter[str] = Counter()
    left: list[list[str]] = []
    with tempfile.TemporaryDirectory() as folder:
        outs = [Path(folder) / f"{number}.json" for number in range(options.processes)]

        def start(number: int, begin: int) -> subprocess.Popen[bytes]:
            outs[number].unlink(missing_ok=True)
            command = [sys.executable, "-m", "comparisons", *sys.argv[1:]]
            command += ["--part", f"{number}/{options.processes}"]
            command += ["--begin", str(begin), "--out", str(outs[number])]
            return subprocess.Popen(command, env=environment)

        running = [start(number, 0) for number in range(options.processes)]
        for number, process in enumerate(running):
            while True:
                process.wait()
                if not outs[number].exists():
                    print("a part of the comparisons did not end well", file=sys.stderr)
                    return 2
                found = json.loads(outs[number].read_text())
                counts.update(found["counts"])
                known.update(found["known"])
                left += found["left"]
                if found["next"] is None:
                    break
                process = start(number, found["next"])
    _report(counts, known, left, options.verbose)
    print(f"{time.monotonic() - started:.0f} s")
    return 1 if left else 0


def _report(
    counts: Counter[str], known: Counter[str], left: list[list[str]], verbose: bool
) -> None:
    total = counts.total()
    same = counts["same"]
    refused = counts["both refuse"]
    print(f"{total} comparisons: {same} agree, {refused} refused by both,")
    print(f"{known.total()} differ on purpose, {len(left)} differ.")
    for reason, count in known.most_common():
        print(f"{count:7}  {reason}")
    groups: dict[tuple[str, str], list[list[str]]] = defaultdict(list)
    for entry in left:
        groups[entry[0], entry[2]].append(entry)
    for (function, kind), entries in sorted(groups.items()):
        print(f"{function}: {kind}, {len(entries)}")
        for _, what, _, detail in entries if verbose else entries[:2]:
            print(f"    {what}: {detail}")


def _part(options: Any) -> int:
    """Every n-th case."""
    import jax as theirs  # noqa: PLC0415 - here, so that the parent needs no JAX

    import tetrad as ours  # noqa: PLC0415
    from comparisons import cases, compare, known  # noqa: PLC0415

    for lib in (ours, theirs):
        lib.config.update("jax_numpy_rank_promotion", "allow")
    number, parts = map(int, options.part.split("/"))
    chooser = random.Random(17)
    counts: Counter[str] = Counter()
    meant: Counter[str] = Counter()
    left: list[list[str]] = []

    def write(next: int | None) -> None:
        found = {"counts": counts, "known": meant, "left": left, "next": next}
        Path(options.out).write_text(json.dumps(found))

    def give_up(case: Any, position: int) -> None:
        """Ends this process, in which nothing else can be done any more."""
        kind = f"no answer in {PATIENCE:.0f} s"
        left.append([case.function, case.what, kind, ""])
        write(position + 1)
        os._exit(3)

    wanted = (c for c in cases.every() if re.search(options.only, c.function))
    chosen = (c for c in wanted if (chooser.random() < options.sample) != options.rest)
    for position, case in enumerate(chosen):
        if position % parts != number or position < options.begin:
            continue
        guard = threading.Timer(PATIENCE, give_up, (case, position))
        guard.start()
        mine, other = compare.outcome(case, ours), compare.outcome(case, theirs)
        found = compare.verdict(case, mine, other)
        guard.cancel()
        if found is None:
            counts["both refuse" if mine.error is not None else "same"] += 1
            continue
        counts["differ"] += 1
        reason = known.reason_for(case, found)
        if reason is not None:
            meant[reason] += 1
        else:
            left.append([case.function, case.what, found.kind, found.detail])
        if position % 500 == 0:
            theirs.clear_caches()
    write(None)
    return 0


if __name__ == "__main__":
    sys.exit(main())
