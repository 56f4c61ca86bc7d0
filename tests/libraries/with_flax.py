"""flax: linen modules and their states, nnx modules, training, lifted transformations."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from flax import nnx

KEY = jax.random.key(0)
ROWS = jax.random.normal(jax.random.key(1), (6, 3))
WORDS = jax.random.normal(jax.random.key(2), (2, 5, 8))
IMAGES = jax.random.normal(jax.random.key(3), (2, 8, 8, 3))


class Net(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        x = nn.relu(nn.Conv(4, (3, 3))(x))
        x = nn.BatchNorm(use_running_average=not train)(x)
        x = nn.avg_pool(x, (2, 2), (2, 2))
        x = nn.Dropout(0.5, deterministic=not train)(x)
        return nn.Dense(3)(nn.LayerNorm()(x.reshape(x.shape[0], -1)))


def linen_convolutions():
    net = Net()
    state = net.init(KEY, IMAGES, False)
    rngs = {"dropout": jax.random.key(5)}
    trained = net.apply(state, IMAGES, True, rngs=rngs, mutable=["batch_stats"])

    def loss(params):
        return net.apply({**state, "params": params}, IMAGES, False).sum()

    return state, trained, jax.grad(loss)(state["params"])


def linen_sequences():
    out = []
    for module in (
        nn.RNN(nn.LSTMCell(5)),
        nn.RNN(nn.GRUCell(5)),
        nn.MultiHeadDotProductAttention(num_heads=2),
    ):
        state = module.init(KEY, WORDS)
        out.append(module.apply(state, WORDS))
    return out


def linen_scan():
    class Layer(nn.Module):
        @nn.compact
        def __call__(self, x, _):
            return nn.tanh(nn.Dense(3)(x)), None

    layers = nn.scan(
        Layer, variable_axes={"params": 0}, split_rngs={"params": True}, length=4
    )()
    state = layers.init(KEY, ROWS, None)
    return state, layers.apply(state, ROWS, None)[0]


class Model(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(3, 8, rngs=rngs)
        self.norm = nnx.BatchNorm(8, rngs=rngs)
        self.drop = nnx.Dropout(0.2, rngs=rngs)
        self.last = nnx.Linear(8, 1, rngs=rngs)

    def __call__(self, x):
        return self.last(self.drop(nnx.relu(self.norm(self.first(x)))))


def nnx_training():
    model = Model(nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.sgd(1e-2), wrt=nnx.Param)

    @nnx.jit
    def step(model, optimizer, x, y):
        loss, grads = nnx.value_and_grad(lambda m: ((m(x) - y) ** 2).mean())(model)
        optimizer.update(model, grads)
        return loss

    losses = [step(model, optimizer, ROWS, ROWS[:, :1]) for _ in range(5)]
    model.eval()
    graph, state = nnx.split(model)
    return losses, model(ROWS), nnx.merge(graph, state)(ROWS)


def nnx_layers():
    attention = nnx.MultiHeadAttention(
        num_heads=2, in_features=8, qkv_features=8, decode=False, rngs=nnx.Rngs(3)
    )
    recurrent = nnx.RNN(nnx.LSTMCell(8, 4, rngs=nnx.Rngs(2)))
    conv = nnx.Conv(3, 4, (3, 3), rngs=nnx.Rngs(5))
    return attention(WORDS), recurrent(WORDS), conv(IMAGES)


def nnx_lifted():
    @nnx.vmap(in_axes=0, out_axes=0)
    def make(key):
        return nnx.Linear(3, 3, rngs=nnx.Rngs(key))

    @nnx.scan(in_axes=(nnx.Carry, 0), out_axes=nnx.Carry)
    def forward(x, layer):
        return jnp.tanh(layer(x))

    layers = make(jax.random.split(KEY, 4))
    return layers.kernel.shape, forward(ROWS, layers)


def nnx_counter():
    class Counter(nnx.Module):
        def __init__(self):
            self.count = nnx.Variable(jnp.array(0))

        def __call__(self):
            self.count[...] += 1

    counter = Counter()
    nnx.jit(lambda c: c())(counter)
    counter()
    return counter.count[...]


CASES = {
    "linen_convolutions": linen_convolutions,
    "linen_sequences": linen_sequences,
    "linen_scan": linen_scan,
    "nnx_training": nnx_training,
    "nnx_layers": nnx_layers,
    "nnx_lifted": nnx_lifted,
    "nnx_counter": nnx_counter,
}
