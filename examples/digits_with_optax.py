"""Trains a convolutional network on handwritten digits with optax, a library for JAX.

Optax (DeepMind) has the optimizers, the schedule of the learning rate and the loss; it
imports `jax`, which is tetrad when the program is started so:

    python -m tetrad examples/digits_with_optax.py

The data are the 1,797 8×8 images that scikit-learn ships (Alpaydin & Kaynak, UCI). The
network must classify at least 97 % of unseen digits right.
"""

import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from sklearn.datasets import load_digits

try:
    import optax
except ImportError:
    print(
        "optax is not installed, so this example has nothing to show: pip install optax"
    )
    sys.exit(0)

EPOCHS = 20
BATCH = 64
CHANNELS = [1, 16, 32]
CLASSES = 10


def init(key):
    """Kernels of two convolutions and the weights of a linear layer."""
    initial = jax.nn.initializers.he_normal()
    keys = jax.random.split(key, 3)
    params = {}
    for i, (n_in, n_out) in enumerate(zip(CHANNELS, CHANNELS[1:])):
        params[f"kernel{i}"] = initial(keys[i], (3, 3, n_in, n_out))
        params[f"bias{i}"] = jnp.zeros(n_out)
    params["weights"] = initial(keys[2], (4 * CHANNELS[-1], CLASSES))
    params["bias"] = jnp.zeros(CLASSES)
    return params


def logits(params, images):
    """Scores of the ten digits for images[batch, 8, 8]."""
    h = images[..., None]
    for i in range(2):
        h = lax.conv_general_dilated(
            h,
            params[f"kernel{i}"],
            (1, 1),
            "SAME",
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
        )
        h = jax.nn.relu(h + params[f"bias{i}"])
        h = lax.reduce_window(h, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "SAME")
    return h.reshape(len(h), -1) @ params["weights"] + params["bias"]


def loss(params, images, labels):
    scores = logits(params, images)
    each = optax.softmax_cross_entropy_with_integer_labels(scores, labels)
    return each.mean()


def make_optimizer(steps):
    """AdamW with clipped gradients; the rate rises, then falls along a cosine."""
    rate = optax.warmup_cosine_decay_schedule(1e-3, 1e-2, steps // 10, steps)
    decayed = {"kernel0": True, "kernel1": True, "weights": True}

    def mask(params):
        return {name: decayed.get(name, False) for name in params}

    return optax.chain(
        optax.clip_by_global_norm(1.0), optax.adamw(rate, weight_decay=1e-3, mask=mask)
    )


def main():
    digits = load_digits()
    images = (digits.images / 16).astype("float32")
    labels = digits.target.astype("int32")
    order = np.random.default_rng(0).permutation(len(images))
    train, test = order[:1437], order[1437:]
    test_images, test_labels = jnp.array(images[test]), jnp.array(labels[test])
    batches = len(train) // BATCH
    optimizer = make_optimizer(EPOCHS * batches)
    params = init(jax.random.key(0))
    state = optimizer.init(params)

    @jax.jit
    def step(params, state, images, labels):
        value, grads = jax.value_and_grad(loss)(params, images, labels)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state, value

    @jax.jit
    def accuracy(params):
        scores = logits(params, test_images)
        return jnp.mean(jnp.argmax(scores, axis=1) == test_labels)

    started = time.perf_counter()
    shuffle = np.random.default_rng(1)
    for epoch in range(EPOCHS):
        shuffled = shuffle.permutation(train)
        total = 0.0
        for at in range(0, batches * BATCH, BATCH):
            batch = shuffled[at : at + BATCH]
            params, state, value = step(params, state, images[batch], labels[batch])
            total = total + value
        if epoch % 4 == 3:
            mean = float(total) / batches
            right = float(accuracy(params))
            print(f"epoch {epoch + 1:2d}: loss {mean:.4f}, accuracy {right:.4f}")
    print(f"{time.perf_counter() - started:.1f} s", file=sys.stderr)
    if right < 0.97:
        sys.exit(f"the accuracy on unseen digits is {right:.4f}, below 0.97")


if __name__ == "__main__":
    main()
