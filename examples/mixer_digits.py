"""An MLP-Mixer reads handwritten digits: patches, tokens, channels, and one scan an epoch.

The Mixer (Tolstikhin et al., 2021) cuts an image into patches and then only mixes: along
the patches, then along the channels of each, by small networks, without convolution or
attention. Here an 8×8 digit is sixteen patches of 2×2. The model is a function of one
image; `vmap` makes it one of a batch, and a `scan` takes all batches of an epoch in one
compiled loop, with AdamW's steps (Loshchilov & Hutter, 2019) inside of it. The blocks are
stacked and scanned, too.

The data are the 1,797 images that scikit-learn ships (Alpaydin & Kaynak, UCI).

    python -m tetrad examples/mixer_digits.py
"""

import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from sklearn.datasets import load_digits

PATCH = 2
TOKENS = 16
CHANNELS = 32
HIDDEN = 64
BLOCKS = 3
CLASSES = 10
EPOCHS = 25
BATCH = 64
RATE = 8e-3
DECAY = 1e-2


def dense(key, n_in, n_out):
    """Weights and bias of a linear layer."""
    weights = jax.random.truncated_normal(key, -2, 2, (n_in, n_out)) * n_in**-0.5
    return {"weights": weights, "bias": jnp.zeros(n_out)}


def mlp(key, n, hidden):
    first, second = jax.random.split(key)
    return {"in": dense(first, n, hidden), "out": dense(second, hidden, n)}


def init_block(key):
    over_tokens, over_channels = jax.random.split(key)
    return {
        "tokens": mlp(over_tokens, TOKENS, HIDDEN),
        "channels": mlp(over_channels, CHANNELS, HIDDEN),
        "scales": jnp.ones((2, CHANNELS)),
    }


def init(key):
    """The parameters; those of the blocks are stacked along a leading axis."""
    embed, blocks, head = jax.random.split(key, 3)
    return {
        "embed": dense(embed, PATCH * PATCH, CHANNELS),
        "blocks": jax.vmap(init_block)(jax.random.split(blocks, BLOCKS)),
        "scale": jnp.ones(CHANNELS),
        "head": dense(head, CHANNELS, CLASSES),
    }


def linear(layer, x):
    return x @ layer["weights"] + layer["bias"]


def mix(layers, x):
    """A network of one hidden layer along the last axis."""
    return linear(layers["out"], jax.nn.gelu(linear(layers["in"], x)))


def normalize(scale, x):
    return scale * jax.nn.standardize(x, axis=-1)


def patches_of(image):
    """An 8×8 image as 16 patches of 4 pixels."""
    side = image.shape[0] // PATCH
    split = image.reshape(side, PATCH, side, PATCH)
    return jnp.einsum("ipjq->ijpq", split).reshape(TOKENS, PATCH * PATCH)


def logits(params, image):
    """Scores of the ten digits for one image."""
    x = linear(params["embed"], patches_of(image))

    def block(x, layers):
        across = mix(layers["tokens"], normalize(layers["scales"][0], x).T)
        x = x + across.T
        x = x + mix(layers["channels"], normalize(layers["scales"][1], x))
        return x, None

    x, _ = lax.scan(block, x, params["blocks"])
    return linear(params["head"], normalize(params["scale"], x).mean(axis=0))


def loss(params, images, labels):
    """Cross entropy with labels that are a little soft."""
    scores = jax.vmap(logits, in_axes=(None, 0))(params, images)
    soft = 0.95 * jax.nn.one_hot(labels, CLASSES) + 0.05 / CLASSES
    return -jnp.mean(jnp.sum(soft * jax.nn.log_softmax(scores), axis=1))


def adamw(params, moments, grads, turn, rate):
    """One step; matrices decay, biases and scales do not."""
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, moments[0], grads)
    second = jax.tree.map(lambda v, g: 0.98 * v + 0.02 * g * g, moments[1], grads)

    def moved(path, p, m, v):
        m = m / (1 - 0.9**turn)
        v = v / (1 - 0.98**turn)
        decay = DECAY * p if path[-1].key == "weights" else 0.0
        return p - rate * (m / (jnp.sqrt(v) + 1e-6) + decay)

    params = jax.tree_util.tree_map_with_path(moved, params, first, second)
    return params, (first, second)


@jax.jit
def epoch(params, moments, turn, key, images, labels):
    """All batches, in a new order; images[batches, BATCH, 8, 8]."""
    count = len(images) * EPOCHS

    def step(state, batch):
        params, moments, turn = state
        images, labels = batch
        value, grads = jax.value_and_grad(loss)(params, images, labels)
        part = turn / count
        rate = RATE * jnp.minimum(part / 0.1, 0.5 + 0.5 * jnp.cos(jnp.pi * part))
        turn = turn + 1
        params, moments = adamw(params, moments, grads, turn, rate)
        return (params, moments, turn), value

    order = jax.random.permutation(key, labels.size)
    mixed = images.reshape(-1, 8, 8)[order].reshape(images.shape)
    answers = labels.reshape(-1)[order].reshape(labels.shape)
    state, values = lax.scan(step, (params, moments, turn), (mixed, answers))
    return *state, jnp.mean(values)


@jax.jit
def accuracy(params, images, labels):
    scores = jax.vmap(logits, in_axes=(None, 0))(params, images)
    return jnp.mean(jnp.argmax(scores, axis=1) == labels)


def main():
    digits = load_digits()
    images = (digits.images / 16).astype("float32")
    labels = digits.target.astype("int32")
    keys = jax.random.split(jax.random.key(0), 2 + EPOCHS)
    order = np.asarray(jax.random.permutation(keys[0], len(images)))
    count = 22 * BATCH
    train, test = order[:count], order[count:]
    train_images = jnp.array(images[train]).reshape(-1, BATCH, 8, 8)
    train_labels = jnp.array(labels[train]).reshape(-1, BATCH)
    test_set = jnp.array(images[test]), jnp.array(labels[test])

    params = init(keys[1])
    size = sum(leaf.size for leaf in jax.tree.leaves(params))
    print(f"{size} parameters, {len(train)} digits to learn from, {len(test)} to test")
    moments = (jax.tree.map(jnp.zeros_like, params),) * 2
    turn = jnp.zeros(())
    started = time.perf_counter()
    for number, key in enumerate(keys[2:], 1):
        params, moments, turn, mean = epoch(
            params, moments, turn, key, train_images, train_labels
        )
        if number % 5 == 0:
            right = accuracy(params, *test_set)
            print(f"epoch {number:2d}  loss {mean:.3f}  accuracy {right:.3f}")
    print(f"{time.perf_counter() - started:.1f} s", file=sys.stderr)
    if right < 0.97:
        sys.exit(f"the accuracy on unseen digits is {right:.4f}, below 0.97")


if __name__ == "__main__":
    main()
