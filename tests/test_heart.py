"""The behaviours at the heart of tetrad, as a user meets them."""

import gc

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp


def test_a_function_of_one_vector_maps_over_a_batch():
    def normalise(v):
        return v / jnp.sqrt(jnp.sum(v**2))

    batch = jnp.array([[3.0, 4.0], [0.0, 2.0], [5.0, 12.0]])
    got = jax.vmap(normalise)(batch)
    np.testing.assert_allclose(got, [[0.6, 0.8], [0, 1], [5 / 13, 12 / 13]], rtol=1e-6)
    with pytest.raises(TypeError):
        normalise("a word")


@pytest.mark.parametrize("height, width", [(4, 5), (1, 3), (7, 1)])
def test_a_pixel_function_mapped_twice_over_an_image(height, width):
    def gray(red, green, blue):
        assert red.shape == ()
        return 0.3 * red + 0.59 * green + 0.11 * blue

    image = np.random.default_rng(0).random((3, height, width), dtype="float32")
    columns = jax.vmap(gray, in_axes=-1)
    pixels = jax.vmap(columns, in_axes=(0, 0, 0))
    got = pixels(*map(jnp.asarray, image))
    assert got.shape == (height, width)
    want = 0.3 * image[0] + 0.59 * image[1] + 0.11 * image[2]
    np.testing.assert_allclose(got, want, rtol=1e-5)


def draws(seed, count, split):
    key = jax.random.PRNGKey(seed)
    values = []
    for _ in range(count):
        if split:
            key, sub = jax.random.split(key)
        else:
            sub = key
        values.append(float(jax.random.normal(sub)))
    return values


def test_a_loop_that_splits_draws_anew_and_repeats_on_a_second_run():
    first = draws(7, 6, split=True)
    assert len(set(first)) == 6
    assert draws(7, 6, split=True) == first
    assert draws(8, 6, split=True) != first


def test_a_loop_that_forgets_to_split_draws_the_same_and_is_told():
    with pytest.warns(jax.errors.KeyReuseWarning, match="`key` is used twice"):
        assert len(set(draws(7, 6, split=False))) == 1


@pytest.mark.parametrize("tidy", ["nothing", "del", "clear_caches"])
def test_a_loop_of_large_arrays_stays_within_two_of_them(tidy):
    device = jax.devices("cpu")[0]
    one = 1000 * 1000 * 4
    jax.clear_caches()  # what other tests left there would be freed on the way
    gc.collect()
    with jax.see.memory() as seen:
        start = device.memory_stats()["bytes_in_use"]
        for i in range(1000):
            x = jnp.ones((1000, 1000)) * i
            if i % 100 == 0:
                x.block_until_ready()
            if tidy == "del":
                del x
            elif tidy == "clear_caches" and i % 250 == 0:
                jax.clear_caches()
        x = jnp.ones((1000, 1000)) * 3
        assert float(x[0, 0]) == 3
    assert seen.peak - start <= 2 * one + 4096
    del x
    assert device.memory_stats()["bytes_in_use"] == start


def test_a_sum_of_squares_never_makes_the_squares():
    big = jnp.ones((10_000, 10_000)).block_until_ready()
    with jax.see.memory() as seen:
        total = jnp.sum(big**2).block_until_ready()
    assert float(total) == 1e8
    assert seen.peak < 1.05 * big.nbytes


def test_device_get_blocks_until_the_result_is_there():
    x = jnp.ones((1500, 1500))
    y = x
    for _ in range(3):
        y = (y @ x) / 1500
    host = jax.device_get(y)
    assert type(host) is np.ndarray
    np.testing.assert_allclose(host, 1, rtol=1e-5)
    assert y.is_ready()
