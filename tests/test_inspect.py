"""What programs look into: jaxprs that are replayed, types, residuals, names."""

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax
from tetrad.extend import core


def replayed(closed, *args):
    """An interpreter as users write it."""
    env = {}

    def read(atom):
        return atom.val if isinstance(atom, core.Literal) else env[atom]

    jaxpr = closed.jaxpr
    env.update(zip(jaxpr.invars, args))
    env.update(zip(jaxpr.constvars, closed.consts))
    for eqn in jaxpr.eqns:
        functions, params = eqn.primitive.get_bind_params(eqn.params)
        outs = eqn.primitive.bind(*functions, *map(read, eqn.invars), **params)
        outs = outs if eqn.primitive.multiple_results else [outs]
        env.update(zip(eqn.outvars, outs))
    return [read(v) for v in jaxpr.outvars]


@jax.custom_jvp
def cube(x):
    return x**3


cube.defjvp(lambda p, t: (cube(*p), 3 * p[0] ** 2 * t[0]))


def program(x):
    y = jax.jit(jnp.cos)(x) + cube(x)
    y += jax.lax.scan(lambda c, _: (jnp.sin(c), None), x, None, 3)[0]
    n = jax.lax.while_loop(lambda c: c < 9, lambda c: c * 2, 1)
    y += n * x
    return y + jax.lax.cond(x > 0, jnp.exp, jnp.tan, x) + jax.checkpoint(jnp.sin)(x)


def test_users_replay_jaxprs():
    closed = jax.make_jaxpr(program)(1.0)
    want = float(program(1.5))
    assert float(replayed(closed, 1.5)[0]) == pytest.approx(want)
    assert float(core.jaxpr_as_fun(closed)(1.5)[0]) == pytest.approx(want)
    (derivative,) = replayed(jax.make_jaxpr(jax.grad(program))(1.0), 1.5)
    assert float(derivative) == pytest.approx(float(jax.grad(program)(1.5)))


def test_a_jaxpr_keeps_apart_what_it_closes_over():
    held = jnp.arange(3.0)
    closed = jax.make_jaxpr(lambda x: jnp.sin(x) * held)(jnp.ones(3))
    assert (len(closed.jaxpr.constvars), len(closed.jaxpr.invars)) == (1, 1)
    assert str(closed) == str(closed.jaxpr)
    assert str(closed).startswith("{ lambda a:f32[3]; b:f32[3]. let")
    x = jnp.ones(3)
    (want,) = jax.core.eval_jaxpr(closed.jaxpr, closed.consts, x)
    (got,) = replayed(closed, x)
    assert got.tolist() == want.tolist()
    (zero,) = closed.replace(consts=[0 * held])(x)
    assert zero.tolist() == [0, 0, 0]
    with pytest.raises(TypeError, match="takes 2 values, got 1 constants and 0"):
        jax.core.eval_jaxpr(closed.jaxpr, closed.consts)


def test_types_of_arrays_and_numbers():
    assert jax.typeof(jnp.ones((2, 3))) == jax.core.ShapedArray(
        (2, 3), np.dtype("float32")
    )
    assert jax.typeof(1).weak_type
    seen = []
    jax.jit(lambda x: seen.append(jax.typeof(x)) or x)(jnp.ones(2))
    assert str(seen[0]) == "f32[2]"
    with pytest.raises(TypeError):
        jax.typeof("x")


def test_tracers_have_a_type():
    seen = []
    jax.vmap(lambda x: seen.append(isinstance(x, jax.core.Tracer)) or x)(jnp.ones(2))
    assert seen == [True] and not isinstance(jnp.ones(2), jax.core.Tracer)


def test_operations_run_at_once_in_an_eval_context():
    @jax.jit
    def f(x):
        with jax.core.eval_context():
            assert isinstance(jnp.ones(2) * 2, jax.Array)
            assert not isinstance(jnp.ones(2) * 2, jax.core.Tracer)
        return x

    f(1.0)


def test_names_of_parts_change_nothing():
    f = jax.named_call(lambda x, y: y if x else None, name="choose")
    assert int(jax.jit(f, static_argnums=0)(True, 5)) == 5

    @jax.named_scope("twice")
    def twice(x):
        with jax.named_scope("inner"):
            return 2 * x

    assert twice.__name__ == "twice"
    assert float(jax.grad(twice)(3.0)) == 2
    with pytest.raises(TypeError, match="named_scope takes the name"):
        jax.named_scope(twice)
    with pytest.raises(TypeError, match="named_call takes a function"):
        jax.named_call(3)


def test_tracing_can_be_forbidden():
    f = jax.jit(lambda x: x + 1)
    f(jnp.arange(3))
    with jax.no_tracing():
        f(jnp.arange(3))
        with pytest.raises(
            RuntimeError, match=r"int32\[3\], now int32\[4\].*no_tracing"
        ):
            f(jnp.arange(4))
    f(jnp.arange(4))


# ---------------------------------------------------------------------------- residuals


def test_residuals_that_are_arguments_can_be_dropped_and_given_again():
    def f(x, w):
        return 2.0 * ((1.0 * x) @ w)

    x, w = jnp.ones((3, 4)), jnp.arange(16.0).reshape(4, 4)
    y, pull_back = jax.vjp(f, x, w)
    want = pull_back(y)
    assert pull_back.args_res[1] is w
    pull_back.args_res[1] = None
    with pytest.raises(
        ValueError, match="needs its argument `w`, but args_res has none"
    ):
        pull_back(y)
    pull_back.args_res[1] = jnp.ones((2, 2))
    with pytest.raises(ValueError, match=r"float32\[2,2\] for `w`.*float32\[4,4\]"):
        pull_back(y)
    pull_back.args_res[1] = w
    for got, right in zip(pull_back(y), want):
        np.testing.assert_array_equal(got, right)


def test_residuals_pass_through_jit():
    primals = [2.0, {"y": 3.0}]

    @jax.jit
    def forth():
        y, pull_back = jax.vjp(lambda x, y: x * y["y"], *primals)
        pull_back.args_res = [None, {"y": None}]
        return y, pull_back

    @jax.jit
    def back(pull_back):
        pull_back.args_res = primals
        return pull_back(1.0)

    y, pull_back = forth()
    x, y = back(pull_back)
    assert (float(x), float(y["y"])) == (3, 2)


def test_residuals_tell_what_is_not_needed():
    _, pull_back = jax.vjp(jnp.sin, 3.0)
    assert repr(pull_back.args_res) == "[NotNeeded]"
    assert pull_back.opaque_residuals
    _, pull_back = jax.vjp(lambda x, y: x * y, 2.0, 3.0)
    assert not pull_back.opaque_residuals


def test_two_passes_compile_apart():
    traced = []

    def f(x, w, scale=1.0):
        traced.append(1)
        return scale * (x @ w), {"aux": x.sum()}

    x = w = jnp.ones((4, 4))
    fwd, bwd = jax.fwd_and_bwd(f, argnums=(1,), has_aux=True)
    for _ in range(3):
        y, residuals, aux = fwd(x, w, scale=2.0)
        (ct,) = bwd(residuals, y)
    assert len(traced) == 1 and float(aux["aux"]) == 16
    np.testing.assert_array_equal(ct, np.full((4, 4), 64.0))
    with jax.no_tracing():
        bwd(fwd(x, w, scale=2.0)[1], y)
    fwd, bwd = jax.fwd_and_bwd(lambda x: x * x, 0, jitted=False)
    y, residuals = fwd(3.0)
    assert float(bwd(residuals, 1.0)[0]) == 6


def test_transposed_functions_pass_through_jit():
    def transpose(f, x):
        return jax.linear_transpose(f, x)

    w = jnp.arange(3.0)
    transposed = jax.jit(transpose, static_argnums=0)(lambda x: x @ w, w)
    (got,) = jax.jit(lambda f, ct: f(ct))(transposed, 2.0)
    assert got.tolist() == [0, 2, 4]


def test_integers_have_linear_functions_too():
    assert int(jax.linear_transpose(lambda x: 2 * x, 1)(3)[0]) == 6
    with pytest.raises(TypeError, match="`x` of `<lambda>` is int32"):
        jax.linear_transpose(lambda x: 2.0 * x, 1)


def test_results_of_transposed_functions_have_the_types_of_the_arguments():
    struct = jax.ShapeDtypeStruct((), "float32")
    x, y = jax.linear_transpose(lambda x, y: 0.5 * x - 0.5 * y, struct, struct)(1.0)
    assert (x.weak_type, y.weak_type) == (False, False)


def test_jaxprs_have_no_equations_for_nothing():
    x = np.arange(3, dtype="float32")
    assert not jax.make_jaxpr(lambda: lax.convert_element_type(x, "float32"))().eqns
    assert not jax.make_jaxpr(lambda: lax.broadcast(np.float32(3), ()))().eqns
    closed = jax.make_jaxpr(lambda: lax.convert_element_type(3.5, "float16"))()
    assert str(closed) == "{ lambda ; . let  in (3.5:f16[],) }"
    closed = jax.make_jaxpr(lambda: lax.convert_element_type(3.5, "int32"))()
    assert len(closed.eqns) == 1
    assert jax.core.eval_jaxpr(closed.jaxpr, ()) == [3]


def test_shapes_of_shapes():
    struct = jax.ShapeDtypeStruct((2,), "float32")
    assert jax.eval_shape(lambda: struct) == struct
    found = jax.eval_shape(lambda x: {"a": (struct, x + 1)}, 1)
    assert found["a"][0] == struct
    assert found["a"][1].dtype == "int32"
    with pytest.raises(TypeError, match="ShapeDtypeStruct"):
        jax.jit(lambda: struct)()
