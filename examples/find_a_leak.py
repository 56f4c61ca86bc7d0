"""A training loop whose memory grows, and how to find the line that makes it grow.

The loop keeps every loss "for a plot later". What it keeps are arrays on the device, and
by mistake not one number a step but the errors of a whole batch. Nothing fails; the
memory in use just grows with every step, until one day it does not fit.

`see.memory()` around a few steps shows it: the column `change` says by how much each
source line has grown. What a line makes and lets go has no change, however much it is.
Then the same loop with the mistake mended, looked at again.

    python examples/find_a_leak.py [page.html]
"""

import sys

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import random, see

STEPS = 30
ROWS, INPUTS, HIDDEN = 20_000, 16, 32


def predict(weights, x):
    hidden = jnp.tanh(x @ weights["first"])
    return hidden @ weights["second"]


def errors(weights, x, y):
    return (predict(weights, x) - y) ** 2


@jax.jit
def step(weights, x, y):
    slopes = jax.grad(lambda w: errors(w, x, y).mean())(weights)
    weights = jax.tree.map(lambda w, g: w - 0.05 * g, weights, slopes)
    return weights, errors(weights, x, y)


def data():
    key_w, key_v, key_x, key_y = random.split(random.key(0), 4)
    weights = {
        "first": random.normal(key_w, (INPUTS, HIDDEN)) / 4,
        "second": random.normal(key_v, (HIDDEN,)) / 6,
    }
    x = random.normal(key_x, (ROWS, INPUTS))
    y = jnp.sin(x[:, 0]) + 0.1 * random.normal(key_y, (ROWS,))
    return weights, x, y


def train_and_leak(weights, x, y, history):
    for _ in range(STEPS):
        weights, loss = step(weights, x, y)
        history.append(loss)
    return weights


def train(weights, x, y, history):
    for _ in range(STEPS):
        weights, loss = step(weights, x, y)
        history.append(float(loss.mean()))
    return weights


def looked_at(loop):
    """A report of the memory over the steps of `loop`, and what it kept."""
    weights, x, y = jax.block_until_ready(data())
    loop(weights, x, y, [])  # compiles, which would take most of the picture
    history = []
    with see.memory() as seen:
        loop(weights, x, y, history)
    return seen, history


def main(path=None):
    seen, history = looked_at(train_and_leak)
    print(f"{STEPS} steps of the loop that leaks:\n")
    print(seen)

    # The leak in one line: where memory grew most.
    worst = max(seen.devices[0].by_line, key=lambda line: line.change)
    print(
        f"\n{worst.place} grew by {worst.change / 2**20:.1f} MiB,"
        f" {worst.change / STEPS / 1024:.0f} KiB a step:\n"
        f"    {worst.source}\n"
        f"It holds {worst.what()}. A list of numbers would do.\n"
    )
    if path is not None:
        seen.save(path)
        print(f"The picture of it is in {path}.\n")
    losses = [float(x.mean()) for x in history]
    del history

    mended, kept = looked_at(train)
    print(f"{STEPS} steps of the loop that keeps numbers:\n")
    print(mended)
    return {
        "line": worst.source,
        "grew": worst.change,
        "arrays": worst.arrays,
        "mended": mended.delta,
        "same losses": max(abs(a - b) for a, b in zip(losses, kept)),
    }


if __name__ == "__main__":
    main(*sys.argv[1:2])
