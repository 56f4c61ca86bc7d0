"""Contexts and small functions around tracing: what may run, what is kept, on what
compiled functions depend."""

import threading

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax
from tetrad.extend import core


def test_functions_depend_on_the_contexts_of_the_user():
    context, traced = jax.make_user_context("a"), []

    @jax.jit
    def f(x):
        traced.append(context.value)
        return x

    f(1.0)
    with context("b"):
        f(1.0)
        with context("c"):
            f(1.0)
        f(1.0)
    f(1.0)
    assert traced == ["a", "b", "c"]


def test_contexts_for_the_whole_process():
    context, other = jax.make_user_context(), jax.make_user_context(1)
    context.set_global(2)
    seen = []
    thread = threading.Thread(target=lambda: seen.append(context.value))
    with context(3), other(5):
        thread.start()
        thread.join()
        assert (context.value, context.get_global(), other.value) == (3, 2, 5)
    assert seen == [2]
    assert other.value == 1
    context.set_global(None)


def test_nothing_runs_where_that_is_forbidden():
    f = jax.jit(lambda: jnp.ones(3))
    f()
    with jax.no_execution():
        assert jax.make_jaxpr(f)().eqns
        assert jax.eval_shape(f).shape == (3,)
        with pytest.raises(RuntimeError, match="`jit` would run here.*no_execution"):
            f()
        with pytest.raises(RuntimeError, match="would run here"):
            jnp.ones(3) + 1
    f()


def test_jaxprs_inside_named_axes():
    def f(x):
        return x / lax.psum(x, "i") + lax.axis_index("j")

    text = str(jax.make_jaxpr(f, axis_env=[("i", 4), ("j", 2)])(1.0))
    assert "psum[axes=('i',)]" in text
    with pytest.raises(NameError):
        jax.make_jaxpr(f)(1.0)


def test_values_that_nobody_uses_can_stay():
    def f(x):
        lax.dce_sink({"a": x + 1, "b": x})
        return x

    closed = jax.make_jaxpr(f)(2.0)
    smaller, _ = jax.interpreters.partial_eval.dce_jaxpr(closed.jaxpr, True)
    assert [str(e.primitive) for e in smaller.eqns] == ["add", "dce_sink", "dce_sink"]
    np.testing.assert_array_equal(jax.jit(jax.vmap(f))(jnp.ones(2)), [1, 1])
    assert jax.grad(f)(2.0) == 1


def test_tokens_have_no_content():
    token = lax.after_all(lax.create_token(), lax.create_token())
    x, out = jax.jit(lambda x, t: (x, t))(1.0, token)
    assert isinstance(out, core.Token)
    assert isinstance(jax.jit(lax.create_token)(1.0), core.Token)
    with pytest.raises(TypeError, match="argument 1 is 3 of type int"):
        lax.after_all(token, 3)


def test_what_happens_where_64_bits_are_asked_for():
    with pytest.warns(UserWarning, match="Explicitly requested dtype float64 in jnp"):
        jnp.zeros(3, "float64")
    jax.config.update("jax_explicit_x64_dtypes", "error")
    try:
        with pytest.raises(ValueError, match="Explicitly requested dtype int64"):
            jnp.ones(3).astype("int64")
        jax.config.update("jax_explicit_x64_dtypes", "allow")
        assert jnp.zeros(3, "float64").dtype == "float32"
    finally:
        jax.config.update("jax_explicit_x64_dtypes", "warn")


@pytest.mark.parametrize("fun", [lambda x: x, lambda x: x + 0])
def test_python_integers_that_a_function_closes_over(fun):
    with pytest.raises(OverflowError, match="2147483648 does not fit int32"):
        jax.jit(lambda: fun(2**31))()


def test_lanes_of_rules_that_only_know_the_axis():
    @jax.custom_jvp
    def total(x):
        return lax.psum(x, "i")

    @total.defjvp
    def rule(primals, tangents):
        return total(*primals), tangents[0]

    staged = jax.make_jaxpr(total, axis_env=[("i", 4)])(2.0)

    def lane(_, x):
        return jax.core.eval_jaxpr(staged.jaxpr, (), x)[0]

    mapped = jax.vmap(lane, axis_name="i", in_axes=(0, None), out_axes=None)
    assert mapped(jnp.arange(4.0), 2.0) == 8


def test_traced_values_say_where_to_ask():
    with pytest.raises(AttributeError, match="no sharding.*jax.typeof"):
        jax.jit(lambda x: x.sharding)(1.0)
    assert jax.vmap(jnp.sin).__doc__.startswith("Vectorized version of sin: maps it")


def test_shards_of_an_array():
    x = jnp.ones((2, 3))
    (shard,) = x.addressable_shards
    assert shard.device == x.device
    assert shard.index == (slice(None), slice(None))
    assert (shard.replica_id, shard.data is x) == (0, True)
    assert x.addressable_data(0) is x


def test_platforms_of_a_lowered_function():
    traced = jax.jit(lambda x: x + 1).trace(1.0)
    assert "stablehlo.add" in traced.lower(lowering_platforms=("tpu",)).as_text()
    assert traced.lower(lowering_platforms=("tpu", "cpu")).compile()(2.0) == 3
    with pytest.raises(ValueError, match="lowered for tpu, but it would run on cpu"):
        traced.lower(lowering_platforms=("tpu",)).compile()


def test_environment_info(capsys):
    text = jax.print_environment_info(return_string=True)
    assert f"numpy:  {np.__version__}" in text
    assert "cpu:0" in text
    assert jax.print_environment_info() is None
    assert capsys.readouterr().out == text + "\n"


def test_what_is_known_runs_now():
    @jax.jit
    def f(x):
        with jax.ensure_compile_time_eval():
            n = int(jnp.arange(4).sum())
            y = jax.jit(jnp.sin)(x) + n
            assert not isinstance(
                jax.vmap(lambda v: v + 1)(jnp.ones(2)), jax.core.Tracer
            )
        return y * n

    assert f(0.0) == 36
    assert jax.grad(f)(0.0) == 6


def test_checkpoints_of_static_values_without_a_hash():
    f = jax.checkpoint(lambda scale, x: x * scale["a"], static_argnums=0)
    assert jax.grad(f, argnums=1)({"a": 3.0}, 2.0) == 3


def test_swapping_an_axis_with_that_of_the_lanes():
    x = jnp.arange(18).reshape(3, 2, 3)
    got = jax.vmap(lambda v: lax.pswapaxes(v, "i", 1), axis_name="i")(x)
    np.testing.assert_array_equal(got, np.swapaxes(x, 0, 2))
    with pytest.raises(ValueError, match="all_to_all"):
        jax.vmap(lambda v: lax.pswapaxes(v, "i", 0), axis_name="i")(x)
