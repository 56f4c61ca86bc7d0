"""What settings change: promotion rules, raw keys, planned calls under another setting."""

import warnings

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp


def test_ranks_that_differ_are_noticed():
    row, table, number = jnp.ones(2), jnp.ones((1, 2)), jnp.ones(())
    for _ in range(4):  # the calls are planned by now
        row + table
    with jax.numpy_rank_promotion("raise"):
        with pytest.raises(ValueError, match=r"row \+ table.*ranks.*\(2,\), \(1, 2\)"):
            row + table
        with pytest.raises(ValueError, match=r"a \* b"):
            jax.jit(lambda a, b: a * b)(row, table)
        np.testing.assert_array_equal(row + number + 1, [3, 3])
        jnp.broadcast_arrays(row, table)
        jnp.where(row > 0, row, 0)
    with jax.numpy_rank_promotion("warn"):
        with pytest.warns(UserWarning, match="ranks") as seen:
            jnp.maximum(row, table)
        assert seen[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            row + 3
    row + table


def test_strict_promotion_holds_for_calls_planned_before():
    whole, half = jnp.arange(2), jnp.ones(2)
    for _ in range(4):
        whole + half
        jnp.hypot(whole, half)
    with jax.numpy_dtype_promotion("strict"):
        with pytest.raises(ValueError, match="strict"):
            whole + half
        with pytest.raises(ValueError, match="strict"):
            jnp.hypot(whole, half)
        jnp.broadcast_arrays(whole, half)
    whole + half


def test_raw_keys_are_noticed_on_request():
    raw = jax.random.PRNGKey(0)
    with jax.legacy_prng_key("error"):
        with pytest.raises(ValueError, match=r"normal was given a raw key"):
            jax.random.normal(raw, (2,))
        jax.random.normal(jax.random.key(0), (2,))
    with (
        jax.legacy_prng_key("warn"),
        pytest.warns(UserWarning, match="raw key") as seen,
    ):
        jax.random.split(raw)
    assert seen[0].filename == __file__


def test_typed_keys_on_request():
    with jax.enable_custom_prng():
        key = jax.random.PRNGKey(3)
        assert jnp.issubdtype(key.dtype, jax.dtypes.prng_key)
        assert jax.random.split(np.array([0, 3], np.uint32)).shape == (2,)
    assert jax.random.PRNGKey(3).dtype == np.uint32
    np.testing.assert_array_equal(jax.random.key_data(key), jax.random.PRNGKey(3))


def test_choices_that_this_library_does_not_have_are_accepted():
    for name in ("jax_remat3", "jax_custom_vjp3", "jax_scan3", "jax_pprint_use_color"):
        for value in (True, False):
            jax.config.update(name, value)
        jax.config.update(name, name == "jax_pprint_use_color")
