"""Calls public functions with arguments that make no sense.

    python wrong_arguments.py MODULE SEED ROUNDS

Every outcome must be an array or an exception that is meant for users; the program ends
with a line that counts both, and prints the calls that came out otherwise. It is run in
a process of its own, because a crash would end it: the last line of the file named by
WRONG_ARGUMENTS_LOG is the call that did.
"""

from __future__ import annotations

import inspect
import os
import random as python_random
import resource
import signal
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax, nn, random

MODULES = {"jnp": jnp, "lax": lax, "random": random, "nn": nn, "linalg": jnp.linalg}
SECONDS = 10  # for one call
BYTES = 16 << 30  # of address space
LARGEST = 10**6  # elements of results that are computed

# Functions that write files or change the process.
SKIPPED = {
    "save", "savez", "savetxt", "load", "fromfile", "genfromtxt", "loadtxt", "fromregex",
    "set_printoptions", "get_printoptions", "printoptions", "array_repr", "array_str",
}  # fmt: skip

# What must not reach a user: mistakes of ours.
INTERNAL = (
    AttributeError, KeyError, AssertionError, RecursionError, UnboundLocalError,
    SystemError, StopIteration,
)  # fmt: skip


class Odd:
    """An object that is nothing in particular."""

    def __repr__(self) -> str:
        return "Odd()"


class TooSlow(BaseException):
    """A call took too long."""


def values() -> dict[str, Any]:
    """Arguments by the text that stands for them."""
    key = random.key(0)
    plain: list[Any] = [
        None, "text", [1, 2], [[1], [2, 3]], Odd(), {}, -1, 3, 0, 10**30, 1.5, 2j, True,
        float("nan"), (10**12,), (-3, 2), (), (2, 3), slice(1, 2), ..., abs, float,
        np.datetime64("2020"), np.arange(6).reshape(2, 3), np.array([None, 1], object),
        np.array(["a"]),
    ]  # fmt: skip
    arrays = {
        "scalar": jnp.float32(2.5), "ints": jnp.arange(3), "floats": jnp.arange(3.0),
        "matrix": jnp.ones((2, 3)), "square": jnp.eye(3), "empty": jnp.zeros((0, 3)),
        "bools": jnp.array([True, False, True]), "complex": jnp.ones(3, complex),
        "bytes": jnp.ones(3, jnp.uint8), "cube": jnp.ones((2, 3, 4)),
        "halves": jnp.ones(3, jnp.bfloat16), "key": key, "keys": random.split(key, 3),
        "nans": jnp.full(3, jnp.nan), "largest": jnp.int32(2**31 - 1),
    }  # fmt: skip
    return {**{repr(v): v for v in plain}, **arrays}


def functions(module: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name, member in sorted(vars(module).items()):
        if name.startswith("_") or name in SKIPPED or not callable(member):
            continue
        if not inspect.isclass(member) and not isinstance(member, type):
            yield name, member


def counts(function: Callable[..., Any]) -> tuple[int, int]:
    """The least and the largest number of positional arguments to try."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 1, 2
    positional = [
        p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    needed = len([p for p in positional if p.default is p.empty])
    several = any(p.kind == p.VAR_POSITIONAL for p in parameters)
    return needed, min(len(positional), needed + 2) + 2 * several


def outcome(function: Callable[..., Any], args: list[Any]) -> tuple[str, str]:
    """What came of a call, in a word, and what there is to say about it."""
    signal.alarm(SECONDS)
    try:
        result = function(*args)
        for leaf in jax.tree.leaves(result):
            if isinstance(leaf, jax.Array) and leaf.size <= LARGEST:
                leaf.block_until_ready()
    except TooSlow:
        return "slow", traceback.format_exc()
    except INTERNAL as error:
        return "internal", f"{type(error).__name__}: {error}"
    except Exception as error:
        package = os.path.dirname(jax.__file__) + os.sep
        shown = traceback.extract_tb(error.__traceback__)
        if len([f for f in shown if f.filename.startswith(package)]) > 2:
            return "frames", f"{type(error).__name__}: {error}"
        return "told", ""
    finally:
        signal.alarm(0)
    return "worked", ""


def stop(number: int, frame: Any) -> None:
    raise TooSlow


def main(module: str, seed: int, rounds: int) -> None:
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    signal.signal(signal.SIGALRM, stop)
    generator = python_random.Random(seed)
    pool = values()
    found: Counter[str] = Counter()
    with open(os.environ.get("WRONG_ARGUMENTS_LOG", os.devnull), "w") as log:
        for _ in range(rounds):
            for name, function in functions(MODULES[module]):
                least, most = counts(function)
                count = generator.randint(least, max(least, most))
                texts = [generator.choice(list(pool)) for _ in range(count)]
                if module == "random" and texts and generator.random() < 0.7:
                    texts[0] = "key"
                call = f"{module}.{name}({', '.join(texts)})"
                print(call, file=log, flush=True)
                word, words = outcome(function, [pool[t] for t in texts])
                found[word] += 1
                if word not in ("told", "worked", "slow"):
                    print(f"{word}: {call} => {words}", flush=True)
    print("counts:", dict(found))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
