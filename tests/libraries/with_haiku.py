"""haiku: transformed functions, modules, states, recurrent cores, lifted control flow."""

import haiku as hk
import jax
import jax.numpy as jnp

KEY = jax.random.PRNGKey(0)
X = jax.random.normal(jax.random.PRNGKey(1), (4, 8, 8, 3))


def both(fun, *args):
    pair = hk.transform_with_state(fun)
    params, state = pair.init(KEY, *args)
    out, state = jax.jit(pair.apply)(params, state, KEY, *args)
    return params, state, out


def mlp():
    return both(lambda x: hk.nets.MLP([5, 3])(x.reshape(4, -1)), X)


def convolutions():
    def net(x):
        x = hk.Conv2D(4, 3)(x)
        x = hk.BatchNorm(True, True, 0.9)(x, is_training=True)
        x = hk.max_pool(jax.nn.relu(x), 2, 2, "VALID")
        x = hk.Conv2DTranspose(2, 3)(x)
        return hk.Linear(3)(hk.dropout(hk.next_rng_key(), 0.1, hk.Flatten()(x)))

    return both(net, X)


def recurrent():
    def net(x):
        x = x.reshape(4, 8, 24)
        out = []
        for kind in (hk.LSTM, hk.GRU, hk.VanillaRNN):
            core = kind(5)
            ys, _ = hk.dynamic_unroll(core, x, core.initial_state(8))
            out.append(ys)
        return out

    return both(net, X)


def attention():
    def net(x):
        x = x.reshape(4, 8, 24)
        x = hk.LayerNorm(-1, True, True)(x)
        return hk.MultiHeadAttention(2, 4, w_init=hk.initializers.TruncatedNormal())(
            x, x, x
        )

    return both(net, X)


def gradients():
    net = hk.without_apply_rng(
        hk.transform(lambda x: hk.nets.MLP([5, 1])(x.reshape(4, -1)))
    )
    params = net.init(KEY, X)
    return jax.grad(lambda p: jnp.mean(net.apply(p, X) ** 2))(params)


def lifted():
    def net(x):
        x = x.reshape(4, -1)
        layer = hk.Linear(2)
        layer(x)  # makes the parameters, which a scan may not
        y = hk.scan(lambda c, a: (c + a.sum(), layer(a)), 0.0, x)[1]
        z = hk.vmap(hk.Linear(3), split_rng=False)(x)
        stack = hk.experimental.layer_stack(2)(lambda a: hk.Linear(192)(a))(x)
        return y, z, stack, hk.remat(hk.Linear(2))(x)

    return both(net, X)


def resnet():
    def net(x):
        return hk.nets.ResNet18(10)(x, is_training=True)

    return both(net, X)[2]


def summary():
    f = lambda x: hk.nets.MLP([5, 3])(x.reshape(4, -1))
    pair = hk.transform(f)
    rows = hk.experimental.eval_summary(pair)(X)
    return len(rows), hk.data_structures.tree_size(pair.init(KEY, X))


CASES = {
    f.__name__: f
    for f in (
        mlp,
        convolutions,
        recurrent,
        attention,
        gradients,
        lifted,
        resnet,
        summary,
    )
}
