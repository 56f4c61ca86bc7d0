"""A small transformer learns to write, letter by letter, and writes with a cache.

The text is real and on every machine: the language reference that comes with Python. The
model (Vaswani et al., 2017, in the form of GPT-2) reads passages of 64 letters: embeddings,
blocks of causal attention and a network of one hidden layer, in each of which a rotation
tells positions apart (RoPE: Su et al., 2021). The blocks are stacked and scanned. Writing
keeps the keys and values of what was read, so that a letter costs one step of a `scan`.

    python -m tetrad examples/char_transformer.py
"""

import sys
import time
from pydoc_data.topics import topics

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

WIDTH = 96
HEADS = 4
BLOCKS = 2
CONTEXT = 64
BATCH = 24
STEPS = 250
RATE = 6e-3
SHARE = 0.9  # of the text that is learned; the rest is a test


def read():
    """The text as numbers, and the letters that the numbers stand for."""
    text = "\n".join(topics[name] for name in sorted(topics))
    text = "".join(c for c in text if c == "\n" or " " <= c <= "~")
    letters = sorted(set(text))
    number = {letter: i for i, letter in enumerate(letters)}
    return np.array([number[c] for c in text], np.int32), letters


def init(key, letters):
    """Weights; those of the blocks are stacked along a leading axis."""
    keys = iter(jax.random.split(key, 6))

    def normal(*shape, scale=None):
        scale = shape[-2] ** -0.5 if scale is None else scale
        return scale * jax.random.normal(next(keys), shape)

    return {
        "embed": normal(letters, WIDTH, scale=0.1),
        "blocks": {
            "scales": jnp.ones((BLOCKS, 2, WIDTH)),
            "qkv": normal(BLOCKS, WIDTH, 3 * WIDTH),
            "mix": normal(BLOCKS, WIDTH, WIDTH) / (2 * BLOCKS) ** 0.5,
            "in": normal(BLOCKS, WIDTH, 4 * WIDTH),
            "out": normal(BLOCKS, 4 * WIDTH, WIDTH) / (2 * BLOCKS) ** 0.5,
        },
        "scale": jnp.ones(WIDTH),
    }


def normalize(scale, x):
    """Each vector scaled to length √width (RMSNorm: Zhang & Sennrich, 2019)."""
    return scale * x * lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6)


def rotated(x, positions):
    """x[time, head, n] with pairs of channels turned by angles that grow with time."""
    half = x.shape[-1] // 2
    angles = positions[:, None, None] * 100.0 ** -(jnp.arange(half) / half)
    first, second = x[..., :half], x[..., half:]
    cos, sin = jnp.cos(angles), jnp.sin(angles)
    return jnp.concatenate([first * cos - second * sin, second * cos + first * sin], -1)


def attention(weights, x, positions, past=None):
    """Each position looks at itself and the CONTEXT letters that end with it.

    `past` holds keys and values of all positions; those of `x` are entered into it.
    Returns the result and the keys and values.
    """
    qkv = (x @ weights["qkv"]).reshape(len(x), 3, HEADS, WIDTH // HEADS)
    query = rotated(qkv[:, 0], positions)
    key, value = rotated(qkv[:, 1], positions), qkv[:, 2]
    if past is not None:
        key = lax.dynamic_update_slice(past[0], key, (positions[0], 0, 0))
        value = lax.dynamic_update_slice(past[1], value, (positions[0], 0, 0))
    scores = jnp.einsum("qhn,khn->hqk", query, key) * (WIDTH // HEADS) ** -0.5
    behind = positions[:, None] - jnp.arange(len(key))
    seen = (behind >= 0) & (behind < CONTEXT)
    shares = jax.nn.softmax(jnp.where(seen, scores, -jnp.inf))
    mixed = jnp.einsum("hqk,khn->qhn", shares, value).reshape(len(x), WIDTH)
    return mixed @ weights["mix"], (key, value)


def logits(params, letters, positions, past=None):
    """Scores of the next letter after each of letters[time], and the new cache."""
    x = params["embed"][letters]

    def block(x, inputs):
        weights, past = inputs
        seen, kept = attention(
            weights, normalize(weights["scales"][0], x), positions, past
        )
        x = x + seen
        hidden = jax.nn.silu(normalize(weights["scales"][1], x) @ weights["in"])
        return x + hidden @ weights["out"], kept

    x, kept = lax.scan(block, x, (params["blocks"], past))
    return normalize(params["scale"], x) @ params["embed"].T, kept


def loss(params, passages):
    """Mean surprise, in nats a letter, over passages[batch, CONTEXT + 1]."""
    positions = jnp.arange(CONTEXT)

    def surprise(passage):
        scores, _ = logits(params, passage[:-1], positions)
        log_p = jax.nn.log_softmax(scores)
        return -jnp.mean(jnp.take_along_axis(log_p, passage[1:, None], axis=1))

    return jnp.mean(jax.vmap(surprise)(passages))


@jax.jit
def step(params, moments, turn, passages):
    """One step of Adam, with the gradient clipped to length 1; the rate falls to 0."""
    value, grads = jax.value_and_grad(loss)(params, passages)
    length = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(grads)))
    grads = jax.tree.map(lambda g: g / jnp.maximum(length, 1.0), grads)
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, moments[0], grads)
    second = jax.tree.map(lambda v, g: 0.98 * v + 0.02 * g * g, moments[1], grads)
    rate = RATE * jnp.minimum(turn / 25, (1 + jnp.cos(jnp.pi * turn / STEPS)) / 2)

    def moved(p, m, v):
        return p - rate * m / (1 - 0.9**turn) / (jnp.sqrt(v / (1 - 0.98**turn)) + 1e-8)

    return jax.tree.map(moved, params, first, second), (first, second), value


@jax.jit
def write(params, prompt, keys):
    """Reads the prompt, then draws a letter for each key; a letter is the next input."""
    shape = BLOCKS, len(prompt) + len(keys), HEADS, WIDTH // HEADS
    past = jnp.zeros(shape), jnp.zeros(shape)
    scores, past = logits(params, prompt, jnp.arange(len(prompt)), past)

    def draw(state, key):
        past, scores, position = state
        letter = jax.random.categorical(key, scores / 0.7)
        scores, past = logits(params, letter[None], position[None], past)
        return (past, scores[0], position + 1), letter

    start = past, scores[-1], jnp.asarray(len(prompt))
    return lax.scan(draw, start, keys)[1]


def cut(text, starts):
    """Passages of CONTEXT + 1 letters."""
    return text[np.asarray(starts)[:, None] + np.arange(CONTEXT + 1)]


def main():
    text, letters = read()
    end = int(SHARE * len(text))
    print(f"{len(text)} letters, {len(letters)} different")
    for_params, for_text, for_test, for_writing = jax.random.split(jax.random.key(0), 4)
    params = init(for_params, len(letters))
    print(f"{sum(leaf.size for leaf in jax.tree.leaves(params))} weights")
    moments = (jax.tree.map(jnp.zeros_like, params),) * 2
    starts = jax.random.randint(for_text, (STEPS, BATCH), 0, end - CONTEXT - 1)
    unseen = cut(
        text, jax.random.randint(for_test, (256,), end, len(text) - CONTEXT - 1)
    )
    test = jax.jit(loss)
    print(f"before: {test(params, unseen):.2f} nats a letter")
    started = time.perf_counter()
    values = []
    for turn, start in enumerate(np.asarray(starts), 1):
        params, moments, value = step(params, moments, float(turn), cut(text, start))
        values.append(value)
        if turn % 50 == 0:
            print(f"step {turn}: {np.mean(values[-50:]):.2f} nats a letter")
    surprise = float(test(params, unseen))
    print(f"unseen text: {surprise:.2f} nats a letter")
    seconds = time.perf_counter() - started
    prompt = "The "
    numbers = jnp.array([letters.index(c) for c in prompt])
    drawn = np.asarray(write(params, numbers, jax.random.split(for_writing, 300)))
    # What it writes hangs on the last bits of 250 steps, so it is no result to compare.
    print(f"{seconds:.1f} s", file=sys.stderr)
    print(prompt + "".join(letters[i] for i in drawn), file=sys.stderr)
    if surprise > 2.4:
        sys.exit(f"the transformer learned too little: {surprise:.2f} nats a letter")


if __name__ == "__main__":
    main()
