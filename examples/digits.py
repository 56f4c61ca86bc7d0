"""Trains a small network on handwritten digits: jit, grad, vmap and random at work.

The data are the 1,797 8×8 images that scikit-learn ships (Alpaydin & Kaynak, UCI).
A run takes seconds; the network must classify at least 96 % of unseen digits right.
"""

import sys
import time

import numpy as np
from sklearn.datasets import load_digits

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import see

SIZES = [64, 128, 64, 10]
EPOCHS = 40
BATCH = 64


def init(key):
    """Weights of every layer, scaled so that signals keep their size."""
    params = []
    for n_in, n_out in zip(SIZES, SIZES[1:]):
        key, sub = jax.random.split(key)
        scale = (2 / n_in) ** 0.5
        weights = scale * jax.random.normal(sub, (n_in, n_out))
        params.append((weights, jnp.zeros(n_out)))
    return params


def logits(params, image):
    """Scores of the ten digits for one image; vmap makes it work on a batch."""
    h = image
    for weights, bias in params[:-1]:
        h = jnp.maximum(h @ weights + bias, 0)
    weights, bias = params[-1]
    return h @ weights + bias


batched_logits = jax.vmap(logits, in_axes=(None, 0))


def loss(params, images, labels):
    scores = batched_logits(params, images)
    log_p = scores - jax.nn.logsumexp(scores, axis=1, keepdims=True)
    return -jnp.mean(jnp.take_along_axis(log_p, labels[:, None], axis=1))


@jax.jit
def step(params, momentum, images, labels, rate):
    value, grads = jax.value_and_grad(loss)(params, images, labels)
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, grads)
    params = jax.tree.map(lambda p, m: p - rate * m, params, momentum)
    return params, momentum, value


@jax.jit
def accuracy(params, images, labels):
    return jnp.mean(jnp.argmax(batched_logits(params, images), axis=1) == labels)


def main():
    digits = load_digits()
    images = (digits.data / 16).astype("float32")
    labels = digits.target.astype("int32")
    order = np.asarray(jax.random.permutation(jax.random.key(0), len(images)))
    train, test = order[:1437], order[1437:]
    test_images, test_labels = jnp.array(images[test]), jnp.array(labels[test])

    key = jax.random.key(1)
    key, sub = jax.random.split(key)
    params = init(sub)
    momentum = jax.tree.map(jnp.zeros_like, params)
    started = time.perf_counter()
    for epoch in range(EPOCHS):
        key, sub = jax.random.split(key)
        shuffled = train[np.asarray(jax.random.permutation(sub, len(train)))]
        rate = 0.05 * 0.5 ** (epoch // 12)
        total = 0.0
        for at in range(0, len(shuffled) - BATCH + 1, BATCH):
            batch = shuffled[at : at + BATCH]
            params, momentum, value = step(
                params, momentum, images[batch], labels[batch], rate
            )
            total = total + value
        right = float(accuracy(params, test_images, test_labels))
        mean = float(total) / (len(shuffled) // BATCH)
        done = "█" * (epoch + 1) + "·" * (EPOCHS - epoch - 1)
        print(
            f"\r{done} epoch {epoch + 1:2d}/{EPOCHS}  loss {mean:.4f}"
            f"  test accuracy {100 * right:.2f} %",
            end="",
            flush=True,
        )
    print(f"\ntrained in {time.perf_counter() - started:.1f} s\n")
    print("Memory:", see.memory(), sep="\n")
    print("\nCompiled:", see.compiles(), sep="\n")
    if right < 0.96:
        sys.exit(f"the accuracy on unseen digits is {right:.4f}, below 0.96")


if __name__ == "__main__":
    main()
