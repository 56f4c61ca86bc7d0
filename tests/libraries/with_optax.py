"""Every optimizer of optax and optax.contrib: parameters after twenty steps."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
from optax import contrib

STEPS = 20

# What each needs besides a learning rate.
ALIASES = {
    "adabelief": {},
    "adadelta": {},
    "adafactor": {"min_dim_size_to_factor": 4},
    "adagrad": {},
    "adam": {},
    "adamax": {},
    "adamaxw": {},
    "adamw": {},
    "adan": {},
    "amsgrad": {},
    "fromage": {},
    "lamb": {},
    "lars": {},
    "lion": {},
    "nadam": {},
    "nadamw": {},
    "noisy_sgd": {},
    "novograd": {},
    "optimistic_adam": {},
    "optimistic_adam_v2": {},
    "optimistic_gradient_descent": {},
    "radam": {},
    "rmsprop": {"centered": True, "momentum": 0.5},
    "rprop": {},
    "sgd": {"momentum": 0.9, "nesterov": True},
    "sign_sgd": {},
    "signum": {},
    "sm3": {},
    "yogi": {},
}

CONTRIB = {
    "acprop": lambda: contrib.acprop(0.01),
    "ademamix": lambda: contrib.ademamix(0.01),
    "adopt": lambda: contrib.adopt(0.01),
    "cocob": lambda: contrib.cocob(),
    "dadapt_adamw": lambda: contrib.dadapt_adamw(1.0),
    "dog": lambda: contrib.dog(1.0),
    "dowg": lambda: contrib.dowg(1.0),
    "galore": lambda: contrib.galore(0.01, rank=2),
    "madgrad": lambda: contrib.madgrad(0.01),
    "mechanize": lambda: contrib.mechanize(optax.sgd(0.1)),
    "momo": lambda: contrib.momo(0.1),
    "momo_adam": lambda: contrib.momo_adam(0.1),
    "muon": lambda: contrib.muon(0.01),
    "prodigy": lambda: contrib.prodigy(1.0),
    "sam": lambda: contrib.sam(
        optax.sgd(0.05), optax.chain(contrib.normalize(), optax.sgd(0.05))
    ),
    "schedule_free": lambda: contrib.schedule_free(optax.sgd(0.05), 0.05),
    "schedule_free_adamw": lambda: contrib.schedule_free_adamw(0.05),
    "schedule_free_sgd": lambda: contrib.schedule_free_sgd(0.05),
    "simplified_ademamix": lambda: contrib.simplified_ademamix(0.01, alpha=0.5),
    "split_real_and_imaginary": lambda: contrib.split_real_and_imaginary(
        optax.adam(0.05)
    ),
}


@functools.cache
def data():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(32, 6)).astype(np.float32)
    y = np.sin(x @ rng.normal(size=(6, 3))).astype(np.float32)
    return x, y


def start():
    rng = np.random.default_rng(1)
    return {
        "first": jnp.asarray(rng.normal(size=(6, 8)) / 3, jnp.float32),
        "bias": jnp.zeros(8),
        "second": jnp.asarray(rng.normal(size=(8, 3)) / 3, jnp.float32),
    }


def loss(params):
    x, y = data()
    hidden = jnp.tanh(x @ params["first"] + params["bias"])
    return optax.losses.squared_error(hidden @ params["second"], y).mean()


def train(make, **extra):
    """The parameters after some steps with the gradient transformation of `make`."""
    optimizer = optax.with_extra_args_support(make())
    params = start()
    state = optimizer.init(params)

    @jax.jit
    def step(params, state):
        value, grads = jax.value_and_grad(loss)(params)
        more = {name: fun(value) for name, fun in extra.items()}
        updates, state = optimizer.update(grads, state, params, **more)
        return optax.apply_updates(params, updates), state, value

    values = []
    for _ in range(STEPS):
        params, state, value = step(params, state)
        values.append(value)
    return {**params, "losses": jnp.stack(values)}


def alias(name):
    return lambda: getattr(optax, name)(0.01, **ALIASES[name])


def polyak_sgd():
    return train(lambda: optax.polyak_sgd(0.1), value=lambda value: value)


def lbfgs():
    optimizer = optax.lbfgs()
    params = start()
    state = optimizer.init(params)
    value_and_grad = optax.value_and_grad_from_state(loss)

    @jax.jit
    def step(params, state):
        value, grads = value_and_grad(params, state=state)
        updates, state = optimizer.update(
            grads, state, params, value=value, grad=grads, value_fn=loss
        )
        return optax.apply_updates(params, updates), state

    for _ in range(STEPS):
        params, state = step(params, state)
    # The path of a line search amplifies rounding; where it arrives does not.
    return {"small": loss(params) < 0.5 * loss(start())}


def sophia():
    optimizer = contrib.sophia(0.01)
    params = start()
    state = optimizer.init(params)

    @jax.jit
    def step(params, state):
        grads = jax.grad(loss)(params)
        updates, state = optimizer.update(grads, state, params, obj_fn=loss)
        return optax.apply_updates(params, updates), state

    for _ in range(STEPS):
        params, state = step(params, state)
    return params


def dpsgd():
    optimizer = contrib.dpsgd(0.05, l2_norm_clip=1.0, noise_multiplier=0.5, seed=0)
    params = start()
    state = optimizer.init(params)
    x, y = data()

    def one(params, x, y):
        hidden = jnp.tanh(x @ params["first"] + params["bias"])
        return jnp.mean((hidden @ params["second"] - y) ** 2)

    @jax.jit
    def step(params, state):
        grads = jax.vmap(jax.grad(one), (None, 0, 0))(params, x, y)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state

    for _ in range(STEPS):
        params, state = step(params, state)
    return params


def momo(make):
    return lambda: train(make, value=lambda value: value)


def whole_list():
    """The names that optax has, so that none is missing above."""
    from optax._src import alias as module

    names = [
        name
        for name, fun in vars(module).items()
        if getattr(fun, "__module__", "") == module.__name__ and name[0].islower()
    ]
    known = {*ALIASES, "polyak_sgd", "lbfgs"}
    return {"missing": sorted(set(names) - known)}


def schedules():
    steps = jnp.arange(0, 120, 7)
    made = {
        "cosine": optax.cosine_decay_schedule(0.1, 100, alpha=0.01),
        "exponential": optax.exponential_decay(0.1, 10, 0.9, staircase=True),
        "linear": optax.linear_schedule(0.1, 0.01, 100, 10),
        "piecewise": optax.piecewise_constant_schedule(0.1, {20: 0.5, 60: 0.1}),
        "polynomial": optax.polynomial_schedule(0.1, 0.01, 2, 100),
        "warmup": optax.warmup_cosine_decay_schedule(0.0, 0.1, 20, 100),
        "one_cycle": optax.cosine_onecycle_schedule(100, 0.1),
        "sgdr": optax.sgdr_schedule(
            [
                {
                    "init_value": 0.0,
                    "peak_value": 0.1,
                    "decay_steps": 50,
                    "warmup_steps": 5,
                    "end_value": 0.01,
                }
            ]
            * 2
        ),
    }
    return {name: jax.vmap(fun)(steps) for name, fun in made.items()}


def losses():
    rng = np.random.default_rng(2)
    logits = jnp.asarray(rng.normal(size=(5, 4)), jnp.float32)
    labels = jnp.asarray([0, 3, 1, 2, 2])
    hot = jax.nn.one_hot(labels, 4)
    signs = 2.0 * hot - 1
    found = {
        "cross": optax.softmax_cross_entropy(logits, hot),
        "integer": optax.softmax_cross_entropy_with_integer_labels(logits, labels),
        "sigmoid": optax.sigmoid_binary_cross_entropy(logits, hot),
        "focal": optax.sigmoid_focal_loss(logits, hot),
        "hinge": optax.losses.hinge_loss(logits, signs),
        "huber": optax.huber_loss(logits, hot, delta=0.5),
        "log_cosh": optax.log_cosh(logits, hot),
        "cosine": optax.cosine_similarity(logits, hot),
        "kl": optax.kl_divergence(jax.nn.log_softmax(logits), hot),
        "poly": optax.losses.poly_loss_cross_entropy(logits, hot),
        "smooth": optax.smooth_labels(hot, 0.1),
        "ranking": optax.losses.ranking_softmax_loss(logits, hot),
    }
    logs = jax.nn.log_softmax(jnp.asarray(rng.normal(size=(2, 8, 5)), jnp.float32))
    paddings = jnp.zeros((2, 8)).at[1, 6:].set(1.0)
    words = jnp.asarray([[1, 2, 2, 4], [3, 1, 0, 0]])
    word_paddings = jnp.asarray([[0.0, 0, 0, 0], [0, 0, 1, 1]])
    ctc = lambda logs: optax.ctc_loss(logs, paddings, words, word_paddings).sum()
    found["ctc"], found["ctc_grad"] = jax.value_and_grad(ctc)(logs)
    return found


def wrappers():
    """Transformations around optimizers, one after the other."""
    clipped = lambda: optax.chain(
        optax.clip_by_global_norm(0.1), optax.add_decayed_weights(1e-3), optax.adam(0.1)
    )
    decay = optax.exponential_decay(0.1, 5, 0.5)
    return {
        "chain": train(clipped),
        "schedule": train(lambda: optax.adam(decay)),
        "multi_steps": train(lambda: optax.MultiSteps(optax.adam(0.1), 3)),
        "masked": train(
            lambda: optax.masked(
                optax.sgd(0.1), {"first": True, "bias": False, "second": True}
            )
        ),
        "partition": train(
            lambda: optax.partition(
                {"a": optax.adam(0.1), "b": optax.sgd(0.1)},
                {"first": "a", "bias": "b", "second": "a"},
            )
        ),
        "lookahead_free": train(
            lambda: optax.apply_if_finite(optax.adam(0.1), max_consecutive_errors=2)
        ),
        "injected": train(lambda: optax.inject_hyperparams(optax.adam)(0.1)),
        "centred": train(lambda: optax.chain(optax.centralize(), optax.sgd(0.1))),
        "agc": train(lambda: optax.adaptive_grad_clip(0.01)),
        "noise": train(
            lambda: optax.chain(optax.add_noise(0.1, 0.5, 3), optax.sgd(0.1))
        ),
        "ema": train(lambda: optax.chain(optax.sgd(0.1), optax.ema(0.9))),
    }


def trees():
    tree = start()
    return {
        "norm": optax.global_norm(tree),
        "vdot": optax.tree.vdot(tree, tree),
        "sum": optax.tree.sum(tree),
        "add": optax.tree.add_scale(tree, 2.0, tree),
        "random": optax.tree.random_like(jax.random.key(0), tree),
        "l1": optax.tree.norm(tree, ord=1),
    }


def projections():
    x = jnp.asarray([0.3, -1.2, 2.0, 0.5])
    p = optax.projections
    return {
        "simplex": p.projection_simplex(x),
        "l1": p.projection_l1_ball(x, 1.0),
        "l2": p.projection_l2_ball(x, 1.0),
        "linf": p.projection_linf_ball(x, 1.0),
        "box": p.projection_box(x, -1.0, 1.0),
        "slope": jax.jacobian(p.projection_simplex)(x),
    }


def perturbations():
    x = jnp.asarray([0.3, -1.2, 2.0, 0.5])
    hard = lambda x: jax.nn.one_hot(jnp.argmax(x), 4)
    soft = optax.perturbations.make_perturbed_fun(hard, num_samples=100, sigma=0.5)
    return {"value": soft(jax.random.key(0), x)}


def second_order():
    x, y = data()
    w = jnp.full(6, 0.1)
    loss = lambda w, x, y: jnp.mean((jnp.tanh(x @ w) - y[:, 0]) ** 2)
    return {
        "hvp": optax.second_order.hvp(loss, jnp.ones(6), w, x, y),
        "diagonal": optax.second_order.hessian_diag(loss, w, x, y),
        "fisher": optax.second_order.fisher_diag(loss, w, x, y),
    }


def assignment():
    cost = jnp.asarray(np.random.default_rng(3).normal(size=(6, 5)), jnp.float32)
    return optax.assignment.hungarian_algorithm(cost)


CASES = {
    **{name: functools.partial(train, alias(name)) for name in ALIASES},
    **{
        f"contrib.{name}": functools.partial(train, make)
        for name, make in CONTRIB.items()
        if "momo" not in name
    },
    "contrib.momo": momo(CONTRIB["momo"]),
    "contrib.momo_adam": momo(CONTRIB["momo_adam"]),
    "contrib.sophia": sophia,
    "contrib.dpsgd": dpsgd,
    "polyak_sgd": polyak_sgd,
    "lbfgs": lbfgs,
    "whole_list": whole_list,
    "schedules": schedules,
    "losses": losses,
    "wrappers": wrappers,
    "trees": trees,
    "projections": projections,
    "perturbations": perturbations,
    "second_order": second_order,
    "assignment": assignment,
}
