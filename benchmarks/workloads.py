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


@workload("dispatch", 10)
def update_an_element_of_40_mb(jax, jnp, np):
    arrays = [jnp.zeros(10_000_000)]
    arrays[0].block_until_ready()

    def run():
        for i in range(10):
            x = arrays.pop()
            x = x.at[i].set(i)
            x.block_until_ready()
            arrays.append(x)
            del x

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


# -- loops and branches -------------------------------------------------------------------


def normal(jnp, np, *shape, seed=0):
    return jnp.asarray(np.random.default_rng(seed).standard_normal(shape, "float32"))


@workload("flow")
def scan_of_numbers_1m(jax, jnp, np):
    def step(carry, x):
        return carry * 0.9 + x, carry

    run = jax.jit(lambda xs: jax.lax.scan(step, 0.0, xs))
    xs = normal(jnp, np, 1_000_000)
    return lambda: jax.block_until_ready(run(xs))


@workload("flow")
def scan_of_rnn_1000_steps(jax, jnp, np):
    weights, xs = normal(jnp, np, 64, 64) * 0.1, normal(jnp, np, 1000, 64)

    def step(h, x):
        return jnp.tanh(weights @ h + x), None

    run = jax.jit(lambda xs: jax.lax.scan(step, jnp.zeros(64), xs)[0])
    return lambda: jax.block_until_ready(run(xs))


@workload("flow")
def newton_for_each_lane_1m(jax, jnp, np):
    def root(a):
        def far(x):
            return jnp.abs(x * x - a) > 1e-5 * a

        return jax.lax.while_loop(far, lambda x: 0.5 * (x + a / x), a)

    run = jax.jit(jax.vmap(root))
    numbers = jnp.abs(normal(jnp, np, 1_000_000)) + 0.1
    return lambda: jax.block_until_ready(run(numbers))


@workload("flow")
def lorenz_by_runge_kutta_10k(jax, jnp, np):
    def slope(y):
        a, b, c = y
        return jnp.stack([10 * (b - a), a * (28 - c) - b, a * b - 8 / 3 * c])

    def step(_, y):
        h = 0.001
        k1 = slope(y)
        k2 = slope(y + h / 2 * k1)
        k3 = slope(y + h / 2 * k2)
        k4 = slope(y + h * k3)
        return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    run = jax.jit(lambda y: jax.lax.fori_loop(0, 10_000, step, y))
    return lambda: run(jnp.ones(3)).block_until_ready()


@workload("flow")
def mandelbrot_512(jax, jnp, np):
    x, y = jnp.linspace(-2, 1, 512), jnp.linspace(-1.5, 1.5, 512)
    plane = (x[None, :] + 1j * y[:, None]).astype("complex64")

    def count(c):
        def turn(_, state):
            z, turns = state
            inside = jnp.abs(z) < 2
            return jnp.where(inside, z * z + c, z), turns + inside

        start = jnp.zeros_like(c), jnp.zeros(c.shape, "int32")
        return jax.lax.fori_loop(0, 50, turn, start)[1]

    run = jax.jit(count)
    return lambda: run(plane).block_until_ready()


@workload("flow")
def life_1024_for_20_turns(jax, jnp, np):
    board = jnp.asarray(np.random.default_rng(0).integers(0, 2, (1024, 1024), "int32"))
    moves = [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1)]

    def turn(_, board):
        nine = sum(jnp.roll(board, move, (0, 1)) for move in moves)
        return ((nine == 3) | ((nine == 4) & (board == 1))).astype(board.dtype)

    run = jax.jit(lambda board: jax.lax.fori_loop(0, 20, turn, board))
    return lambda: run(board).block_until_ready()


@workload("flow")
def hmc_100_moves(jax, jnp, np):
    data = normal(jnp, np, 1000, 20)
    labels = (normal(jnp, np, 1000, seed=2) > 0).astype("float32")

    def log_density(w):
        scores = data @ w
        fit = jnp.sum(labels * scores - jnp.logaddexp(0.0, scores))
        return fit - 0.5 * jnp.sum(w**2)

    def move(w, key):
        for_momentum, for_choice = jax.random.split(key)
        momentum = jax.random.normal(for_momentum, w.shape)

        def leap(_, state):
            w, m = state
            m = m + 0.005 * jax.grad(log_density)(w)
            w = w + 0.01 * m
            return w, m + 0.005 * jax.grad(log_density)(w)

        new, final = jax.lax.fori_loop(0, 10, leap, (w, momentum))
        gain = log_density(new) - log_density(w)
        gain = gain + 0.5 * (momentum @ momentum - final @ final)
        accepted = jnp.log(jax.random.uniform(for_choice)) < gain
        return jnp.where(accepted, new, w), accepted

    run = jax.jit(
        lambda key: jax.lax.scan(move, jnp.zeros(20), jax.random.split(key, 100))
    )
    key = jax.random.PRNGKey(0)
    return lambda: jax.block_until_ready(run(key))


# -- networks, linear algebra, transforms ---------------------------------------------------


@workload("networks")
def training_step_of_mlp(jax, jnp, np):
    sizes = [784, 512, 256, 10]
    layers = [
        (normal(jnp, np, n, m) * 0.05, jnp.zeros(m)) for n, m in zip(sizes, sizes[1:])
    ]
    images = normal(jnp, np, 256, 784)
    labels = jnp.asarray(np.random.default_rng(1).integers(0, 10, 256))

    def loss(layers):
        h = images
        for w, b in layers[:-1]:
            h = jax.nn.relu(h @ w + b)
        w, b = layers[-1]
        log_p = jax.nn.log_softmax(h @ w + b)
        return -jnp.mean(log_p[jnp.arange(256), labels])

    def step(layers):
        slopes = jax.grad(loss)(layers)
        return jax.tree_util.tree_map(lambda p, g: p - 0.01 * g, layers, slopes)

    run = jax.jit(step)
    return lambda: jax.block_until_ready(run(layers))


LAYOUT = ("NHWC", "HWIO", "NHWC")


def convolution(jax, strides):
    return lambda x, w: jax.lax.conv_general_dilated(
        x, w, strides, "SAME", dimension_numbers=LAYOUT
    )


jitted(
    "convolution_3x3",
    lambda jax, jnp, np: (
        convolution(jax, (1, 1)),
        (normal(jnp, np, 16, 56, 56, 64), normal(jnp, np, 3, 3, 64, 64)),
    ),
)
jitted(
    "convolution_7x7_stride_2",
    lambda jax, jnp, np: (
        convolution(jax, (2, 2)),
        (normal(jnp, np, 8, 224, 224, 3), normal(jnp, np, 7, 7, 3, 64)),
    ),
)
jitted(
    "largest_of_2x2",
    lambda jax, jnp, np: (
        lambda x: jax.lax.reduce_window(
            x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"
        ),
        (normal(jnp, np, 16, 112, 112, 64),),
    ),
)
jitted(
    "fourier_1024x1024",
    lambda jax, jnp, np: (lambda x: jnp.fft.fft2(x), (normal(jnp, np, 1024, 1024),)),
)
jitted(
    "solve_512",
    lambda jax, jnp, np: (
        lambda a, b: jnp.linalg.solve(a, b),
        (normal(jnp, np, 512, 512), normal(jnp, np, 512, 8)),
    ),
)
jitted(
    "cholesky_512",
    lambda jax, jnp, np: (
        lambda a: jnp.linalg.cholesky(a @ a.T + 512 * jnp.eye(512)),
        (normal(jnp, np, 512, 512),),
    ),
)
jitted(
    "eigenvectors_256",
    lambda jax, jnp, np: (
        lambda a: jnp.linalg.eigh(a + a.T),
        (normal(jnp, np, 256, 256),),
    ),
)
jitted(
    "singular_vectors_256",
    lambda jax, jnp, np: (lambda a: jnp.linalg.svd(a), (normal(jnp, np, 256, 256),)),
)
