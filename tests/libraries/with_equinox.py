"""equinox: modules, filtered transformations, training, states, serialisation."""

import io

import equinox as eqx
import jax
import jax.numpy as jnp

KEY = jax.random.key(0)


class Linear(eqx.Module):
    weight: jax.Array
    bias: jax.Array
    rate: float = eqx.field(static=True)

    def __init__(self, n, m, key):
        a, b = jax.random.split(key)
        self.weight = jax.random.normal(a, (m, n))
        self.bias = jax.random.normal(b, (m,))
        self.rate = 0.5

    def __call__(self, x):
        return self.weight @ x * self.rate + self.bias


def modules():
    model = Linear(2, 3, KEY)
    x = jnp.arange(8.0).reshape(4, 2)

    @eqx.filter_jit
    @eqx.filter_value_and_grad
    def loss(model):
        return jnp.mean(jax.vmap(model)(x) ** 2)

    value, grads = loss(model)
    new = eqx.apply_updates(model, jax.tree.map(lambda g: -0.1 * g, grads))
    return value, grads.weight, new.bias, str(model)


def networks():
    x = jax.random.normal(KEY, (3, 8, 8))
    conv = eqx.nn.Conv2d(3, 4, 3, key=KEY)
    pool = eqx.nn.MaxPool2d(2)
    mlp = eqx.nn.MLP(100, 5, 16, 2, key=KEY)
    drop = eqx.nn.Dropout(0.5)
    norm = eqx.nn.LayerNorm(5)
    h = mlp(pool(conv(x)).ravel())
    cell = eqx.nn.GRUCell(5, 6, key=KEY)
    lstm = eqx.nn.LSTMCell(5, 6, key=KEY)
    attention = eqx.nn.MultiheadAttention(2, 8, key=KEY)
    seq = eqx.nn.Sequential([eqx.nn.Linear(5, 5, key=KEY), eqx.nn.Lambda(jax.nn.relu)])
    return (
        *(pool(conv(x)), h, drop(h, key=KEY), norm(h), seq(h)),
        cell(h, jnp.zeros(6)),
        lstm(h, (jnp.zeros(6), jnp.zeros(6))),
        attention(*[jax.random.normal(KEY, (7, 8))] * 3),
        eqx.nn.Embedding(3, 4, key=KEY)(1),
        eqx.nn.RMSNorm(5)(h),
        eqx.nn.GroupNorm(2, 4)(jax.random.normal(KEY, (4, 3, 3))),
        eqx.nn.ConvTranspose2d(3, 2, 3, key=KEY)(x),
    )


def states():
    norm, state = eqx.nn.make_with_state(eqx.nn.BatchNorm)(3, "batch")
    x = jax.random.normal(KEY, (10, 3))
    step = jax.vmap(norm, axis_name="batch", in_axes=(0, None), out_axes=(0, None))
    out, state = step(x, state)
    out, state = eqx.filter_jit(step)(x, state)
    test = eqx.nn.inference_mode(norm)
    return out, jax.vmap(test, axis_name="batch", in_axes=(0, None))(x, state)[0]


def surgery():
    model = eqx.nn.MLP(2, 1, 4, 1, key=KEY)
    where = lambda m: m.layers[0].weight
    new = eqx.tree_at(where, model, jnp.zeros((4, 2)))
    dynamic, static = eqx.partition(model, eqx.is_inexact_array)
    again = eqx.combine(dynamic, static)
    file = io.BytesIO()
    eqx.tree_serialise_leaves(file, model)
    file.seek(0)
    like = eqx.nn.MLP(2, 1, 4, 1, key=jax.random.key(1))
    read = eqx.tree_deserialise_leaves(file, like)
    x = jnp.ones(2)
    shapes = eqx.filter_eval_shape(model, x)
    return new(x), again(x), read(x), bool(eqx.tree_equal(read, model)), shapes.shape


def transformations():
    model = Linear(2, 3, KEY)
    ensemble = eqx.filter_vmap(lambda k: Linear(2, 3, k))(jax.random.split(KEY, 4))
    out = eqx.filter_vmap(lambda m, x: m(x), in_axes=(eqx.if_array(0), None))(
        ensemble, jnp.ones(2)
    )
    jac = eqx.filter_jacfwd(lambda m: m(jnp.ones(2)))(model).weight
    _, tangent = eqx.filter_jvp(lambda x: model(x), (jnp.ones(2),), (jnp.ones(2),))
    _, pull = eqx.filter_vjp(lambda m: m(jnp.ones(2)), model)
    (cotangent,) = pull(jnp.ones(3))
    jaxpr, _, _ = eqx.filter_make_jaxpr(model)(jnp.ones(2))
    kept = eqx.filter_checkpoint(lambda x: jnp.sum(model(x)))
    closed = eqx.filter_closure_convert(lambda x: model(x), jnp.ones(2))
    return (
        *(out, jac, tangent, cotangent.bias, len(jaxpr.eqns) > 0),
        *(jax.grad(kept)(jnp.ones(2)), closed(jnp.ones(2))),
    )


def errors():
    @eqx.filter_jit
    def f(x):
        return eqx.error_if(x, x < 0, "negative")

    good = f(jnp.array(1.0))
    try:
        f(jnp.array(-1.0)).block_until_ready()
        what = "passed"
    except Exception as error:
        what = "negative" in str(error)
    return good, what


def loops():
    def step(carry):
        i, x = carry
        return i + 1, x * 1.1

    def f(x, kind):
        _, y = eqx.internal.while_loop(
            lambda c: c[0] < 5, step, (0, x), max_steps=16, kind=kind
        )
        return y

    return [
        jax.value_and_grad(lambda x: f(x, k))(2.0) for k in ("checkpointed", "bounded")
    ]


def training():
    import optax

    data = jax.random.normal(KEY, (64, 2))
    target = jnp.sum(data**2, axis=1, keepdims=True)
    model = eqx.nn.MLP(2, 1, 32, 2, key=KEY)
    optimizer = optax.adam(1e-2)
    state = optimizer.init(eqx.filter(model, eqx.is_inexact_array))

    @eqx.filter_jit
    def step(model, state):
        def loss(m):
            return jnp.mean((jax.vmap(m)(data) - target) ** 2)

        value, grads = eqx.filter_value_and_grad(loss)(model)
        updates, state = optimizer.update(grads, state, model)
        return eqx.apply_updates(model, updates), state, value

    losses = []
    for _ in range(10):
        model, state, value = step(model, state)
        losses.append(value)
    return losses


CASES = {
    f.__name__: f
    for f in (
        modules,
        networks,
        states,
        surgery,
        transformations,
        errors,
        loops,
        training,
    )
}
