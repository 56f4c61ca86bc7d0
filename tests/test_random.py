"""Random keys and draws: deterministic, the right support, JAX's bits."""

import pickle

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp

random = jax.random

# What JAX 0.10.2 gives for these programs; `test_random_oracle` computes many more.
KNOWN = {
    "split": [[1797259609, 2579123966], [928981903, 3453687069]],
    "bits": [4070199207, 4202968722, 1427181096],
    "uniform": [0.947667, 0.9785799, 0.33229148],
    "normal": [1.6226422, 2.0252647, -0.43359444],
    "randint": [9, 0, 2, 3, 1],
}


def test_known_bits():
    key = random.PRNGKey(0)
    np.testing.assert_array_equal(key, [0, 0])
    np.testing.assert_array_equal(random.split(key), KNOWN["split"])
    np.testing.assert_array_equal(random.bits(key, (3,)), KNOWN["bits"])
    np.testing.assert_allclose(random.uniform(key, (3,)), KNOWN["uniform"], rtol=1e-7)
    np.testing.assert_allclose(random.normal(key, (3,)), KNOWN["normal"], rtol=4e-7)
    np.testing.assert_array_equal(random.randint(key, (5,), 0, 10), KNOWN["randint"])


def test_typed_and_raw_keys_draw_the_same():
    raw, typed = random.PRNGKey(5), random.key(5)
    assert raw.dtype == jnp.uint32 and raw.shape == (2,)
    assert jnp.issubdtype(typed.dtype, jax.dtypes.prng_key) and typed.shape == ()
    np.testing.assert_array_equal(random.key_data(typed), raw)
    for draw in (random.normal, random.uniform, random.bits):
        np.testing.assert_array_equal(draw(raw, (4,)), draw(typed, (4,)))
    np.testing.assert_array_equal(
        random.key_data(random.split(typed, 3)), random.split(raw, 3)
    )
    np.testing.assert_array_equal(
        random.key_data(random.fold_in(typed, 9)), random.fold_in(raw, 9)
    )
    again = random.wrap_key_data(raw)
    np.testing.assert_array_equal(random.key_data(again), raw)


def test_seeds_do_not_collide():
    seeds = [2**40, 2**32, -1, 0, 1, 2**32 - 1]
    keys = {tuple(np.asarray(random.PRNGKey(s)).tolist()) for s in seeds}
    assert len(keys) >= len(seeds) - 1  # -1 and 2**32 - 1 are the same 32 bits


def test_draws_depend_on_key_and_shape_prefix_only():
    key = random.key(1)
    long = random.uniform(key, (100,))
    np.testing.assert_array_equal(random.uniform(key, (10, 10)), long.reshape(10, 10))
    jitted = jax.jit(lambda k: random.uniform(k, (100,)))
    np.testing.assert_array_equal(jitted(key), long)


def test_vmap_over_keys():
    keys = random.split(random.key(2), 4)
    got = jax.vmap(lambda k: random.normal(k, (3,)))(keys)
    want = jnp.stack([random.normal(k, (3,)) for k in keys])
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_uniform_stays_in_range(dtype):
    u = random.uniform(random.key(0), (20_000,), dtype, minval=-2, maxval=3)
    u = np.asarray(u, "float32")
    assert u.min() >= -2 and u.max() < 3 + (0.05 if dtype != "float32" else 0)
    assert abs(u.mean() - 0.5) < 0.05


def test_normal_moments():
    z = np.asarray(random.normal(random.key(3), (200_000,)))
    assert abs(z.mean()) < 0.01 and abs(z.std() - 1) < 0.01
    assert abs((z**3).mean()) < 0.03 and abs((z**4).mean() - 3) < 0.1
    c = np.asarray(random.normal(random.key(3), (50_000,), "complex64"))
    assert abs((abs(c) ** 2).mean() - 1) < 0.02


def test_randint_bounds_and_broadcasting():
    d = random.randint(random.key(4), (10_000,), -3, 4)
    assert int(d.min()) == -3 and int(d.max()) == 3
    counts = np.bincount(np.asarray(d) + 3)
    assert counts.min() > 1200
    low, high = jnp.array([0, 10]), jnp.array([5, 20])
    d = np.asarray(random.randint(random.key(4), (1000, 2), low, high))
    assert d[:, 0].max() < 5 and d[:, 1].min() >= 10 and d[:, 1].max() < 20
    assert int(random.randint(random.key(0), (), 7, 7)) == 7
    full = random.randint(random.key(0), (5000,), 0, 256, "uint8")
    assert int(full.max()) == 255


def test_permutation():
    p = np.asarray(random.permutation(random.key(5), 1000))
    assert sorted(p) == list(range(1000)) and (p != np.arange(1000)).any()
    x = jnp.arange(12).reshape(4, 3)
    rows = np.asarray(random.permutation(random.key(5), x))
    assert sorted(map(tuple, rows)) == sorted(map(tuple, np.asarray(x)))
    each = np.asarray(random.permutation(random.key(5), x, axis=1, independent=True))
    assert (np.sort(each, axis=1) == np.asarray(x)).all()


def test_choice():
    key = random.key(6)
    got = np.asarray(
        random.choice(key, 5, (2000,), p=jnp.array([0, 0.1, 0.2, 0.3, 0.4]))
    )
    share = np.bincount(got, minlength=5) / 2000
    np.testing.assert_allclose(share, [0, 0.1, 0.2, 0.3, 0.4], atol=0.05)
    distinct = np.asarray(random.choice(key, jnp.arange(10.0), (10,), replace=False))
    assert sorted(distinct) == list(range(10))
    weighted = random.choice(key, 4, (4,), replace=False, p=jnp.ones(4) / 4)
    assert sorted(np.asarray(weighted)) == [0, 1, 2, 3]
    rows = random.choice(key, jnp.eye(3), (5,), axis=0)
    assert rows.shape == (5, 3)
    with pytest.raises(ValueError):
        random.choice(key, 3, (4,), replace=False)


def test_bernoulli_and_categorical():
    b = random.bernoulli(random.key(7), 0.3, (10_000,))
    assert b.dtype == bool and abs(float(b.mean()) - 0.3) < 0.02
    logits = jnp.log(jnp.array([0.1, 0.2, 0.7]))
    c = np.asarray(random.categorical(random.key(8), logits, shape=(10_000,)))
    np.testing.assert_allclose(np.bincount(c) / 1e4, [0.1, 0.2, 0.7], atol=0.02)
    batch = random.categorical(random.key(8), jnp.zeros((4, 3)), axis=-1)
    assert batch.shape == (4,)


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda: random.normal(0), TypeError),
        (lambda: random.split(jnp.ones(2)), TypeError),
        (lambda: random.normal(random.split(random.key(0))), ValueError),
        (lambda: random.PRNGKey(1.5), TypeError),
        (lambda: random.uniform(random.key(0), (2.5,)), TypeError),
        (lambda: random.uniform(random.key(0), (-1,)), ValueError),
        (lambda: random.uniform(random.key(0), (3,), "int32"), ValueError),
        (lambda: random.randint(random.key(0), (3,), 0, 1.5), TypeError),
        (lambda: random.fold_in(random.key(0), 2**40), OverflowError),
        (lambda: random.uniform(random.key(0), (3,), minval=jnp.ones(2)), ValueError),
    ],
)
def test_wrong_calls(call, error):
    with pytest.raises(error, match="random\\."):
        call()


@pytest.mark.oracle
@pytest.mark.parametrize("seed", [0, 1, 42, 2**31, -7])
def test_random_oracle(seed):
    import jax as rival

    key, other = random.PRNGKey(seed), rival.random.PRNGKey(seed)
    np.testing.assert_array_equal(key, other)
    exact = [
        lambda r, k: r.split(k, 5),
        lambda r, k: r.fold_in(k, 123),
        lambda r, k: r.bits(k, (7,)),
        lambda r, k: r.bits(k, (7,), "uint8"),
        lambda r, k: r.bits(k, (7,), "uint16"),
        lambda r, k: r.uniform(k, (1001,)),
        lambda r, k: r.uniform(k, (101,), "float16"),
        lambda r, k: r.uniform(k, (101,), "bfloat16").astype("float32"),
        lambda r, k: r.uniform(k, (5, 3), minval=-2.0, maxval=5.0),
        lambda r, k: r.randint(k, (1000,), 0, 10),
        lambda r, k: r.randint(k, (1000,), -5, 100, "int8"),
        lambda r, k: r.randint(k, (1000,), 0, 256, "uint8"),
        lambda r, k: r.permutation(k, 100),
        lambda r, k: r.permutation(k, np.arange(12.0).reshape(4, 3)),
        lambda r, k: r.bernoulli(k, 0.3, (100,)),
        lambda r, k: r.choice(k, 50, (20,)),
        lambda r, k: r.choice(k, 50, (20,), replace=False),
        lambda r, k: r.categorical(k, np.linspace(-1, 1, 30, dtype="f").reshape(3, 10)),
    ]
    for draw in exact:
        np.testing.assert_array_equal(
            np.asarray(draw(random, key)), np.asarray(draw(rival.random, other))
        )
    ours = np.asarray(random.normal(key, (20_000,)))
    theirs = np.asarray(rival.random.normal(other, (20_000,)))
    ulp = np.abs(ours.view(np.int32).astype(np.int64) - theirs.view(np.int32))
    assert ulp.max() <= 3


# ------------------------------------------------------------------------- generators


@pytest.mark.parametrize("impl", ["threefry2x32", "rbg", "unsafe_rbg"])
def test_keys_of_every_generator(impl):
    key = random.key(3, impl=impl)
    assert random.key_impl(key) == impl and key.dtype == random.key_dtype(impl)
    words = random.key_data(key)
    assert words.shape == ((2,) if impl == "threefry2x32" else (4,))
    assert (random.wrap_key_data(words, impl=impl) == key).all()
    assert (random.wrap_key_data(words, dtype=key.dtype) == key).all()
    keys = random.split(key, 6).reshape(2, 3)
    assert keys.shape == (2, 3) and keys.T.shape == (3, 2)
    assert jnp.issubdtype(keys.dtype, jax.dtypes.prng_key)
    stacked = jnp.stack([keys[0, 0], keys[1, 2]])
    assert (stacked == keys[jnp.array([0, 1]), jnp.array([0, 2])]).all()
    assert not bool(keys[0, 0] == keys[0, 1])
    assert random.key_data(pickle.loads(pickle.dumps(keys))).tolist() == (
        random.key_data(keys).tolist()
    )
    moved = jax.device_put(keys, jax.devices()[0])
    assert (moved == keys).all() and str(keys.dtype) in repr(keys)


@pytest.mark.parametrize("impl", ["threefry2x32", "rbg", "unsafe_rbg"])
def test_transformations_of_keys_of_every_generator(impl):
    key = random.key(4, impl=impl)
    keys = random.split(key, 3)
    draw = lambda k: random.normal(random.fold_in(random.clone(k), 1), (4,))
    want = np.stack([draw(keys[i]) for i in range(3)])
    np.testing.assert_array_equal(jax.vmap(draw)(random.clone(keys)), want)
    np.testing.assert_array_equal(jax.jit(jax.vmap(draw))(random.clone(keys)), want)
    _, scanned = jax.lax.scan(lambda c, k: (c, draw(k)), 0, random.clone(keys))
    np.testing.assert_array_equal(scanned, want)
    picked = jax.lax.cond(True, lambda k: k[1], lambda k: k[0], random.clone(keys))
    np.testing.assert_array_equal(draw(picked), want[1])
    last = jax.lax.fori_loop(
        0, 3, lambda i, k: random.split(k)[0], random.key(5, impl=impl)
    )
    by_hand = random.key(5, impl=impl)
    for _ in range(3):
        by_hand = random.split(by_hand)[0]
    assert bool(last == by_hand)


def test_settings_of_generators():
    with jax.default_prng_impl("rbg"):
        assert random.key(0).dtype == random.key_dtype("rbg")
        raw = random.PRNGKey(0)
        assert raw.shape == (4,) and random.split(raw, 3).shape == (3, 4)
        np.testing.assert_array_equal(
            random.bits(raw, (3,)), random.bits(random.key(0), (3,))
        )
    before = jax.config.jax_random_seed_offset
    jax.config.update("jax_random_seed_offset", 3)
    try:
        np.testing.assert_array_equal(random.PRNGKey(4), [0, 7])
        np.testing.assert_array_equal(jax.jit(random.PRNGKey)(4), [0, 7])
    finally:
        jax.config.update("jax_random_seed_offset", before)
    np.testing.assert_array_equal(random.PRNGKey(4), [0, 4])
    new = jax.jit(lambda k: random.bits(k, (3,)))
    first = new(random.key(1))
    with jax.threefry_partitionable(False):
        assert (new(random.key(1)) != first).any()
    np.testing.assert_array_equal(new(random.key(1)), first)


def test_seeds_beyond_their_range():
    with pytest.raises(OverflowError, match="64 bits"):
        random.key(2**64)
    with pytest.raises(TypeError, match="integer"):
        random.key(1.5)
    with pytest.raises(TypeError, match="scalar seed"):
        random.key(jnp.arange(3))
    assert not bool((random.key(2**40) == random.key(0)).all())


def test_numbers_too_wide_for_a_compiled_function_are_named():
    for seed in (2**31 + 5, -(2**40)):
        with pytest.raises(OverflowError, match="does not fit int32"):
            jax.jit(random.PRNGKey)(np.int64(seed))


def test_samplers_do_not_rely_on_rank_promotion():
    with jax.numpy_rank_promotion("raise"):
        logits = jnp.zeros(4)
        assert random.categorical(random.key(0), logits, shape=(5,)).shape == (5,)
        mean, cov = jnp.zeros(2), jnp.eye(2)
        drawn = random.multivariate_normal(random.key(0), mean, cov, (7, 3))
        assert drawn.shape == (7, 3, 2)
        assert random.dirichlet(random.key(0), jnp.ones(3), (2,)).shape == (2, 3)
        assert random.beta(random.key(0), jnp.ones(3), 2.0, (4, 3)).shape == (4, 3)


def test_keys_without_numbers():
    for impl in ("threefry2x32", "rbg"):
        dtype = random.key_dtype(impl)
        for blank in (jnp.zeros((2,), dtype), jnp.empty((2,), dtype)):
            assert blank.dtype == dtype and not random.key_data(blank).any()
    key = random.key(3)
    assert (jnp.full((2,), key) == random.clone(key)).all()


def test_custom_vjp_around_a_key():
    @jax.custom_vjp
    def f(x, state):
        return state

    def backward(_, state_bar):
        assert state_bar[1].dtype == jax.dtypes.float0
        return state_bar[0], state_bar

    f.defvjp(lambda x, state: (state, None), backward)
    state = (8.0, random.key(123))
    assert float(jax.grad(lambda x: f(x, state)[0])(3.0)) == 1.0
