"""What settings change: promotion rules, raw keys, planned calls under another setting."""

import warnings

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp

pytestmark = pytest.mark.usefixtures("few_objects")


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


# -------------------------------------------------------------------------------- leaks


LEAKS = [
    ("jit", lambda f: jax.jit(f)(1.0)),
    ("vmap", lambda f: jax.vmap(f)(jnp.ones(3))),
    ("grad", lambda f: jax.grad(f)(1.0)),
    ("jvp", lambda f: jax.jvp(f, (1.0,), (1.0,))),
    ("scan", lambda f: jax.lax.scan(lambda c, x: (f(c), x), 1.0, jnp.ones(3))),
]


@pytest.mark.parametrize("name, transform", LEAKS)
def test_values_that_outlive_their_transformation_are_found(name, transform):
    def leaky(x):
        kept.append(x)
        return jnp.sin(x)

    kept = []
    transform(leaky)
    del kept[:]
    with (
        jax.checking_leaks(),
        pytest.raises(
            jax.errors.UnexpectedTracerError, match=r"Leaked trace: .*kept\[0\]"
        ),
    ):
        transform(lambda x: leaky(x))


def test_nothing_leaks_where_nothing_is_kept():
    @jax.custom_jvp
    def f(x):
        return jnp.sin(x)

    f.defjvp(lambda p, t: (f(*p), t[0]))
    x = jnp.ones(3)
    with jax.check_tracer_leaks():
        for _, transform in LEAKS:
            transform(lambda x: f(jax.nn.relu(x)))
        jax.hessian(jax.jit(jnp.sin))(1.0)
        jax.jit(lambda x: jax.vjp(jax.checkpoint(jnp.sin), x))(x)
        jax.vmap(jax.grad(lambda x: jax.lax.cond(x > 0, f, jnp.cos, x)))(x)
        jax.lax.while_loop(lambda c: c < 3, lambda c: c + 1, 0)


# ------------------------------------------------------------------------------ logging


def test_traces_and_compilations_are_logged_if_asked_for(caplog):
    @jax.jit
    def doubled(x):
        return x * 2

    doubled(jnp.ones(2))
    assert not caplog.records
    with jax.log_compiles():
        doubled(jnp.arange(8)).block_until_ready()
    text = caplog.text
    assert "WARNING" in text and "Finished tracing doubled for jit in" in text
    assert "Finished compilation of 2 operations for" in text
    caplog.clear()
    with caplog.at_level("DEBUG"):
        doubled(jnp.arange(9))
    assert "DEBUG" in caplog.text and "Finished tracing doubled" in caplog.text


def test_reasons_of_traces_are_logged_if_asked_for(caplog):
    @jax.jit
    def f(x):
        return x

    with jax.explain_cache_misses():
        f(jnp.float32(1))
        f(jnp.float32(2))
        f(jnp.int32(2))
        with jax.numpy_rank_promotion("warn"):
            f(jnp.int32(2))
        for _ in range(2):
            jax.jit(lambda x: 2 * x)(3)
    texts = [record.getMessage() for record in caplog.records]
    assert len(texts) == 5
    assert all(t.startswith("TRACING CACHE MISS at ") for t in texts)
    assert "test_settings.py" in texts[0] and texts[0].endswith("`f`: first call")
    assert texts[1].endswith("argument `x` was float32[], now int32[]")
    assert texts[2].endswith("jax_numpy_rank_promotion was 'allow', now 'warn'")
    assert texts[3].endswith("first call")
    assert "another function defined on the same line" in texts[4]
    caplog.clear()
    with jax.explain_cache_misses():
        for i in range(2):
            jnp.sin(jnp.arange(i + 1, dtype=np.float32))
    assert not caplog.records


# ---------------------------------------------------------------------------- precision


def precisions(x):
    outs = x @ x, jnp.dot(x, x), jnp.einsum("ij,jk", x, x)
    found = {eqn.params["precision"] for eqn in jax.make_jaxpr(jnp.dot)(x, x).eqns}
    return found | {out.entry.op.precision for out in outs}


def test_products_have_the_precision_of_the_setting():
    x = jnp.ones((2, 2)).block_until_ready()
    Precision = jax.lax.Precision
    for _ in range(4):  # the calls are planned by now
        assert precisions(x) == {None}
    for name, want in (
        ("tensorfloat32", Precision.HIGH),
        ("float32", Precision.HIGHEST),
    ):
        with jax.default_matmul_precision(name):
            for _ in range(4):
                assert precisions(x) == {(want, want)}
        assert precisions(x) == {None}
    try:
        jax.config.update("jax_default_matmul_precision", "bfloat16")
        for _ in range(4):
            assert precisions(x) == {(Precision.DEFAULT, Precision.DEFAULT)}
        with jax.default_matmul_precision(None):
            assert precisions(x) == {None}
        assert jax.default_matmul_precision.get_global() == "bfloat16"
        text = jax.make_jaxpr(lambda x: jnp.dot(x, x, precision="highest"))(x)
        assert "HIGHEST" in str(text)
    finally:
        jax.config.update("jax_default_matmul_precision", None)
    assert precisions(x) == {None}
