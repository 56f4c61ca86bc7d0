"""Teaches a recurrent network to write, letter by letter: one `scan` over time.

The text is real and on every machine: the language reference that comes with Python.
The network is a gated recurrent unit (Cho et al., 2014). The loss is one `scan` over the
letters of a batch of passages; its gradient is the same loop run backwards. Writing is
a `scan` too: each letter that is drawn is the next input.
"""

import sys
import time
from pydoc_data.topics import topics

import numpy as np

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax

STATE = 128
PASSAGES = 32
LENGTH = 64
STEPS = 400
RATE = 4e-3


def read():
    """The text as numbers, and the letters that the numbers stand for."""
    text = "\n".join(topics[name] for name in sorted(topics))
    text = "".join(c for c in text if c == "\n" or " " <= c <= "~")
    letters = sorted(set(text))
    number = {letter: i for i, letter in enumerate(letters)}
    return np.array([number[c] for c in text], np.int32), letters


def init(key, letters):
    keys = jax.random.split(key, 3)
    scale = STATE**-0.5
    return {
        "embed": scale * jax.random.normal(keys[0], (letters, 3 * STATE)),
        "gates": scale * jax.random.normal(keys[1], (STATE, 3 * STATE)),
        "bias": jnp.zeros(3 * STATE),
        "out": scale * jax.random.normal(keys[2], (STATE, letters)),
    }


def cell(params, state, letter):
    """The state after one more letter; letter[...] and state[..., STATE]."""
    seen = params["embed"][letter] + params["bias"]
    kept = state @ params["gates"]
    update = jax.nn.sigmoid(seen[..., :STATE] + kept[..., :STATE])
    reset = jax.nn.sigmoid(seen[..., STATE : 2 * STATE] + kept[..., STATE : 2 * STATE])
    new = jnp.tanh(seen[..., 2 * STATE :] + reset * kept[..., 2 * STATE :])
    return update * state + (1 - update) * new


def loss(params, passages):
    """Mean surprise, in nats a letter, over passages[time, batch]."""

    def read_letter(state, letter):
        state = cell(params, state, letter)
        return state, state

    start = jnp.zeros((passages.shape[1], STATE))
    _, states = lax.scan(read_letter, start, passages[:-1])
    log_p = jax.nn.log_softmax(states @ params["out"])
    return -jnp.mean(jnp.take_along_axis(log_p, passages[1:, :, None], axis=2))


@jax.jit
def step(params, moments, turn, passages):
    """One step of Adam (Kingma & Ba, 2015), with the gradient clipped to length 1."""
    value, grads = jax.value_and_grad(loss)(params, passages)
    length = jnp.sqrt(sum(jnp.sum(g**2) for g in jax.tree.leaves(grads)))
    grads = jax.tree.map(lambda g: g / jnp.maximum(length, 1.0), grads)
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, moments[0], grads)
    second = jax.tree.map(lambda m, g: 0.99 * m + 0.01 * g**2, moments[1], grads)

    def moved(p, m, v):
        m = m / (1 - 0.9**turn)
        v = v / (1 - 0.99**turn)
        return p - RATE * m / (jnp.sqrt(v) + 1e-8)

    return jax.tree.map(moved, params, first, second), (first, second), value


@jax.jit
def write(params, prompt, keys):
    """Reads the prompt, then draws a letter for each key; a letter is the next input."""
    state, _ = lax.scan(
        lambda state, letter: (cell(params, state, letter), None),
        jnp.zeros(STATE),
        prompt,
    )

    def draw(state, key):
        letter = jax.random.categorical(key, state @ params["out"] / 0.7)
        return cell(params, state, letter), letter

    return lax.scan(draw, state, keys)[1]


def main(steps=STEPS):
    text, letters = read()
    print(f"{len(text):,} letters, {len(letters)} different")
    key = jax.random.key(0)
    for_params, for_text, for_writing = jax.random.split(key, 3)
    params = init(for_params, len(letters))
    moments = (jax.tree.map(jnp.zeros_like, params),) * 2
    starts = jax.random.randint(for_text, (steps, PASSAGES), 0, len(text) - LENGTH - 1)
    started = time.perf_counter()
    values = []
    for turn, start in enumerate(np.asarray(starts), 1):
        passages = text[start + np.arange(LENGTH + 1)[:, None]]
        params, moments, value = step(params, moments, float(turn), passages)
        values.append(value)
        if turn % 20 == 0:
            mean = float(np.mean(values[-20:]))
            print(f"\rstep {turn}  {mean:.3f} nats a letter", end="", flush=True)
    seconds = time.perf_counter() - started
    prompt = "The "
    numbers = jnp.array([letters.index(c) for c in prompt])
    drawn = write(params, numbers, jax.random.split(for_writing, 200))
    written = prompt + "".join(letters[i] for i in np.asarray(drawn))
    print(f"\n{seconds:.1f} s, {1000 * seconds / steps:.1f} ms a step\n\n{written}")
    first, last = float(values[0]), float(np.mean(values[-20:]))
    if steps == STEPS and last > 1.8:
        sys.exit(f"the network learned too little: {last:.3f} nats a letter")
    return {"first": first, "last": last, "written": written}


if __name__ == "__main__":
    main()
