"""What a program will need is known before it runs, and is what it then needs."""

import gc

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax

pytestmark = pytest.mark.usefixtures("no_collection")


def arrays(*shapes):
    rng = np.random.default_rng(0)
    return [jnp.asarray(rng.normal(size=s), "float32") for s in shapes]


def loss(weights, x, y):
    for w in weights[:-1]:
        x = jnp.tanh(x @ w)
    return jnp.mean((x @ weights[-1] - y) ** 2)


def mlp_step(w1, w2, w3, x, y):
    slopes = jax.grad(loss)([w1, w2, w3], x, y)
    return [w - 0.1 * g for w, g in zip([w1, w2, w3], slopes)]


def rnn(w, xs):
    def cell(h, x):
        h = jnp.tanh(h @ w + x)
        return h, h.sum(0)

    return lax.scan(cell, jnp.zeros(xs.shape[1:]), xs)


def convolved(x, w):
    return jnp.maximum(lax.conv(x, w, (1, 1), "SAME"), 0)


def standardised(x):
    return (x - x.mean(0)) / x.std(0)


PROGRAMS = {
    "elementwise": (lambda x: jnp.sin(x) * 2, [(500, 500)]),
    "mlp_step": (mlp_step, [(300, 256), (256, 128), (128, 10), (512, 300), (512, 10)]),
    "scan": (rnn, [(256, 256), (40, 32, 256)]),
    "gradient_of_scan": (
        jax.grad(lambda w, xs: rnn(w, xs)[1].sum()),
        [(256, 256), (40, 32, 256)],
    ),
    "convolution": (convolved, [(4, 8, 64, 64), (16, 8, 3, 3)]),
    "gradient_of_convolution": (
        jax.grad(lambda w, x: (convolved(x, w) ** 2).sum()),
        [(16, 8, 3, 3), (4, 8, 64, 64)],
    ),
    "standardise": (standardised, [(1000, 500)]),
    "softmax": (lambda x: jax.nn.softmax(x @ x.T), [(600, 300)]),
    "sort": (lambda x: jnp.sort(x)[::2], [(200_000,)]),
    "cholesky": (
        lambda x: jnp.linalg.cholesky(x @ x.T + 9 * jnp.eye(300)),
        [(300, 300)],
    ),
    "solve": (jnp.linalg.solve, [(300, 300), (300, 40)]),
    "singular_values": (jnp.linalg.svd, [(200, 120)]),
    "fourier": (lambda x: jnp.abs(jnp.fft.fft2(x)), [(256, 256)]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_plan_and_measured_peak_agree(name):
    function, shapes = PROGRAMS[name]
    args = jax.block_until_ready(arrays(*shapes))
    plan = jax.jit(function).lower(*args).compile().memory_analysis()
    run = jax.jit(function)
    jax.block_until_ready(run(*args))  # what is kept from compiling does not count
    gc.collect()
    others = jax.see.memory().current - sum(x.nbytes for x in args)
    with jax.see.memory() as m:
        out = jax.block_until_ready(run(*args))
    measured = m.peak - others
    assert abs(plan.peak_memory_in_bytes - measured) <= 0.05 * measured
    assert plan.argument_size_in_bytes == sum(x.nbytes for x in args)
    assert plan.output_size_in_bytes == sum(x.nbytes for x in jax.tree.leaves(out))
    assert jax.see.program(function)(*args).peak_bytes == plan.peak_memory_in_bytes
    assert jax.estimate_memory(function, *args) == plan.peak_memory_in_bytes


def test_the_peak_is_what_one_counts_by_hand():
    x = jnp.ones((1000, 2000)).block_until_ready()

    def f(x):  # the products exist: each is read in another order
        a = x @ x.T
        b = a @ a
        return b @ a

    plan = jax.jit(f).lower(x).compile().memory_analysis()
    assert plan.argument_size_in_bytes == 8_000_000
    assert plan.output_size_in_bytes == 4_000_000
    assert plan.temp_size_in_bytes == pytest.approx(8_000_000, rel=0.01)
    assert plan.peak_memory_in_bytes == pytest.approx(20_000_000, rel=0.01)


def test_the_plan_is_printed_before_the_stages_and_runs_nothing():
    x = jax.ShapeDtypeStruct((1 << 40,), "float32")
    before = jax.see.memory().allocated
    text = str(jax.see.program(lambda x: x.sum())(x))
    assert text.splitlines()[0].startswith("planned peak: 4.0 TiB = inputs 4.0 TiB +")
    assert jax.see.memory().allocated == before
    assert jax.estimate_memory(lambda x: x + 1, x) == 8 << 40


def test_a_donated_argument_makes_room_for_the_result():
    step = jax.jit(lambda x: x * 2, donate_argnums=0)
    x = jnp.ones(1000)
    shown = jax.see.program(step)(x)
    assert shown.memory.alias_size_in_bytes == 4000
    assert shown.peak_bytes == jax.estimate_memory(step, x) == 4000
    assert "in the place of donated inputs 3.9 KiB" in str(shown)


def test_the_fields_of_memory_analysis():
    memory = jax.jit(jnp.sin).lower(jnp.ones(3)).compile().memory_analysis()
    for part in ("argument", "output", "alias", "temp", "generated_code"):
        assert getattr(memory, f"{part}_size_in_bytes") >= 0
        assert getattr(memory, f"host_{part}_size_in_bytes") == 0
    assert memory.generated_code_size_in_bytes > 0
    assert "peak_memory_in_bytes=24" in repr(memory)
