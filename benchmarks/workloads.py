"""The workloads: plain JAX programs, run on any package with JAX's API.

A workload builds what it needs once and returns a function of no arguments that does
`repeats` units of work and leaves the result computed.
"""

import dataclasses
import itertools
from collections.abc import Callable
from typing import Any


@dataclasses.dataclass
class Workload:
    group: str
    repeats: int
    build: Callable[[Any, Any, Any], Callable[[], Any]]


WORKLOADS: dict[str, Workload] = {}


def workload(group, repeats=1):
    def register(build):
        WORKLOADS[build.__name__] = Workload(group, repeats, build)
        return build

    return register


def matrix(jnp, np, n):
    return jnp.asarray(np.random.default_rng(0).random((n, n), dtype="float32"))


# -- the cost of small operations and calls -------------------------------------------


@workload("dispatch", 1000)
def add_chain(jax, jnp, np):
    x, y = jnp.ones(4), jnp.ones(4)

    def run():
        z = x
        for _ in range(1000):
            z = z + y
        z.block_until_ready()

    return run


@workload("dispatch", 200)
def add_and_wait(jax, jnp, np):
    x, y = jnp.ones(4), jnp.ones(4)

    def run():
        for _ in range(200):
            (x + y).block_until_ready()

    return run


@workload("dispatch", 200)
def read_an_element(jax, jnp, np):
    x = jnp.arange(100.0)

    def run():
        for i in range(200):
            x[i % 100].block_until_ready()

    return run


@workload("dispatch", 200)
def update_elements(jax, jnp, np):
    def run():
        x = jnp.zeros(10_000)
        for i in range(200):
            x = x.at[i].set(i)
        x.block_until_ready()

    return run


@workload("dispatch", 1000)
def call_jitted(jax, jnp, np):
    f = jax.jit(lambda a, b: jnp.sin(a) * b + 1)
    x, y = jnp.ones(4), jnp.ones(4)

    def run():
        z = x
        for _ in range(1000):
            z = f(z, y)
        z.block_until_ready()

    return run


@workload("dispatch", 300)
def call_jitted_with_20_arrays(jax, jnp, np):
    params = {f"w{i}": jnp.ones(4) for i in range(20)}
    f = jax.jit(lambda p: {k: v * 2 for k, v in p.items()})

    def run():
        p = params
        for _ in range(300):
            p = f(p)
        jax.block_until_ready(p)

    return run


@workload("dispatch", 50)
def split_and_draw(jax, jnp, np):
    def run():
        key = jax.random.PRNGKey(0)
        for _ in range(50):
            key, sub = jax.random.split(key)
            v = jax.random.normal(sub, (3,))
        v.block_until_ready()

    return run


@workload("dispatch", 20)
def map_eagerly(jax, jnp, np):
    x = jnp.arange(6.0).reshape(2, 3)

    def run():
        for _ in range(20):
            r = jax.vmap(lambda v: v**2 + 2 * v + 1)(x)
        r.block_until_ready()

    return run


@workload("dispatch", 20)
def differentiate_eagerly(jax, jnp, np):
    x = jnp.arange(6.0)

    def run():
        for _ in range(20):
            r = jax.grad(lambda v: (v**2 + jnp.sin(v)).sum())(x)
        r.block_until_ready()

    return run


# -- large arrays without jit -----------------------------------------------------------


@workload("eager")
def sum_of_squares_16m(jax, jnp, np):
    x = matrix(jnp, np, 4096)
    return lambda: jnp.sum(x**2).block_until_ready()


@workload("eager")
def chain_of_10_on_4m(jax, jnp, np):
    x = matrix(jnp, np, 2048)

    def run():
        y = x
        for _ in range(5):
            y = y * 1.01 + 0.5
        y.block_until_ready()

    return run


@workload("eager")
def standardise_4m(jax, jnp, np):
    x = matrix(jnp, np, 2048)
    return lambda: ((x - x.mean(0)) / (x.std(0) + 1e-6)).block_until_ready()


# -- kernels under jit --------------------------------------------------------------------


def jitted(name, make):
    def build(jax, jnp, np):
        fun, args = make(jax, jnp, np)
        compiled = jax.jit(fun)
        return lambda: jax.block_until_ready(compiled(*args))

    WORKLOADS[name] = Workload("jit", 1, build)


jitted(
    "exp_sin_tanh_16m",
    lambda jax, jnp, np: (
        lambda x: jnp.exp(x) * jnp.sin(x) + jnp.tanh(x),
        (matrix(jnp, np, 4096),),
    ),
)
jitted(
    "transpose_add_16m",
    lambda jax, jnp, np: (lambda x: x.T + 1, (matrix(jnp, np, 4096),)),
)
jitted("matmul_512", lambda jax, jnp, np: (lambda x: x @ x, (matrix(jnp, np, 512),)))
jitted("matmul_2048", lambda jax, jnp, np: (lambda x: x @ x, (matrix(jnp, np, 2048),)))
jitted(
    "uniform_4m",
    lambda jax, jnp, np: (
        lambda k: jax.random.uniform(k, (2048, 2048)),
        (jax.random.PRNGKey(0),),
    ),
)
jitted(
    "normal_4m",
    lambda jax, jnp, np: (
        lambda k: jax.random.normal(k, (2048, 2048)),
        (jax.random.PRNGKey(0),),
    ),
)
jitted(
    "bernoulli_4m",
    lambda jax, jnp, np: (
        lambda k: jax.random.bernoulli(k, 0.3, (2048, 2048)),
        (jax.random.PRNGKey(0),),
    ),
)
jitted(
    "categorical_2048",
    lambda jax, jnp, np: (
        lambda k, x: jax.random.categorical(k, x),
        (jax.random.PRNGKey(0), matrix(jnp, np, 2048)),
    ),
)
jitted(
    "permutation_1m",
    lambda jax, jnp, np: (
        lambda k: jax.random.permutation(k, 1_000_000),
        (jax.random.PRNGKey(0),),
    ),
)
jitted(
    "gamma_100k",
    lambda jax, jnp, np: (
        lambda k: jax.random.gamma(k, 2.0, (100_000,)),
        (jax.random.PRNGKey(0),),
    ),
)
jitted(
    "poisson_100k",
    lambda jax, jnp, np: (
        lambda k: jax.random.poisson(k, 30.0, (100_000,)),
        (jax.random.PRNGKey(0),),
    ),
)
jitted(
    "softmax_rows_16m",
    lambda jax, jnp, np: (lambda x: jax.nn.softmax(x), (matrix(jnp, np, 4096),)),
)
jitted(
    "sort_1m",
    lambda jax, jnp, np: (lambda x: jnp.sort(x.ravel()), (matrix(jnp, np, 1024),)),
)


# -- time to the first result ----------------------------------------------------------------


@workload("compile")
def compile_a_small_function(jax, jnp, np):
    x = jnp.ones((32, 32))
    fresh = itertools.count()

    def run():
        c = float(next(fresh))
        jax.jit(lambda v: jnp.tanh(v @ v).sum() + c)(x).block_until_ready()

    return run


@workload("compile", 20)
def new_shapes_eagerly(jax, jnp, np):
    sizes = itertools.count(1000)

    def run():
        for _ in range(20):
            r = jnp.sum(jnp.sin(jnp.arange(float(next(sizes)))) ** 2 + 1)
        r.block_until_ready()

    return run


@workload("compile", 10)
def new_shapes_under_jit(jax, jnp, np):
    sizes = itertools.count(1000)
    f = jax.jit(lambda x: jnp.sum(jnp.sin(x) ** 2 + 1))

    def run():
        for _ in range(10):
            r = f(np.ones(next(sizes), "float32"))
        r.block_until_ready()

    return run


def unrolled(steps, gradient):
    """The first call of a function of so many steps, with a number of its own."""

    def build(jax, jnp, np):
        x = jnp.arange(8.0)
        fresh = itertools.count()

        def run():
            c = float(next(fresh))

            def f(x):
                for i in range(steps):
                    x = jnp.sin(x) * 1.01 + c if i % 2 else x * x - 0.5
                return jnp.sum(x)

            jax.jit(jax.grad(f) if gradient else f)(x).block_until_ready()

        return run

    kind = "gradient_of_" if gradient else ""
    WORKLOADS[f"compile_{kind}{steps}_steps"] = Workload("compile", 1, build)


for steps in (200, 400):
    unrolled(steps, False)
    unrolled(steps, True)


@workload("compile")
def compile_50_nested_calls(jax, jnp, np):
    fresh = itertools.count()

    def run():
        c = float(next(fresh))
        f = jnp.sin
        for _ in range(50):
            f = jax.jit(lambda x, f=f: f(x) * 1.01 + c)
        jax.grad(f)(1.0).block_until_ready()

    return run
