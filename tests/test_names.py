"""`named_scope` and `named_call`: names of operations, in jaxprs and what is printed."""

import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax


def names(fun, *args):
    eqns = jax.make_jaxpr(fun)(*args).eqns
    return [f"{eqn.op.name} {eqn.source_info.name_stack}".strip() for eqn in eqns]


def inner(eqn):
    return [e.source_info.name_stack for j in eqn.op.jaxprs() for e in j.eqns]


def layer(x):
    with jax.named_scope("layer"):
        y = jnp.sin(x)
        with jax.named_scope("relu"):
            y = lax.max(y, 0.0)
    return lax.neg(y)


def test_scopes_nest_and_end():
    assert names(layer, 1.0) == ["sin layer", "max layer/relu", "neg"]
    again = jax.named_scope("model")(layer)
    assert names(again, 1.0) == ["sin model/layer", "max model/layer/relu", "neg model"]


def test_named_call():
    def square(x):
        return x * x

    assert names(jax.named_call(square), 1.0) == ["mul square"]
    assert names(jax.named_call(square, name="sq"), 1.0) == ["mul sq"]


def test_functions_may_call_themselves():
    @jax.named_scope("f")
    def f(x, n):
        return lax.sin(f(x, n - 1)) if n else lax.cos(x)

    assert names(lambda x: f(x, 2), 1.0) == ["cos f/f/f", "sin f/f", "sin f"]


def test_errors_end_scopes():
    def f(x):
        with pytest.raises(ZeroDivisionError), jax.named_scope("bad"):
            1 / 0
        return lax.sin(x)

    assert names(f, 1.0) == ["sin"]


def test_transformations_stand_around_names():
    f = jax.named_scope("o")(jax.vmap(layer))
    assert names(f, jnp.ones(2))[0] == "sin o/vmap(layer)"
    assert names(f, jnp.ones(2))[-1] == "neg o/vmap()"
    slope = names(jax.grad(lambda x: layer(x)), 1.0)
    assert slope[0] == "sin jvp(layer)"
    assert slope[-1] == "mul transpose(jvp(layer))"
    both = names(jax.named_scope("o")(jax.vmap(jax.grad(layer))), jnp.ones(2))
    assert both[0] == "sin o/vmap(jvp(layer))"
    assert both[-1] == "mul o/vmap(transpose(jvp(layer)))"
    forward = names(lambda x: jax.jvp(layer, (x,), (x,)), 1.0)
    assert forward[0] == "sin jvp(layer)"


def test_bodies_have_their_own_names():
    @jax.named_scope("outside")
    def f(x):
        x = jax.jit(jax.named_scope("inside")(lax.sin))(x)
        step = jax.named_scope("step")(lambda c, _: (lax.cos(c), None))
        return lax.scan(step, x, length=3)[0]

    call, loop = jax.make_jaxpr(f)(1.0).eqns
    assert call.source_info.name_stack == loop.source_info.name_stack == "outside"
    assert inner(call) == ["inside"]
    assert inner(loop) == ["step"]
    call, loop = jax.make_jaxpr(jax.vmap(f))(jnp.ones(2)).eqns
    assert call.source_info.name_stack == "vmap(outside)"
    assert inner(call) == ["inside"]


def test_printed_programs_show_lines_and_names():
    def f(x):
        return jax.named_scope("out")(jax.jit(layer))(x)

    closed = jax.make_jaxpr(f)(1.0)
    assert "#" not in closed.pretty_print()
    text = closed.pretty_print(name_stack=True)
    assert "# [out]" in text and "# [layer/relu]" in text
    text = closed.pretty_print(source_info=True, name_stack=True)
    assert "test_names.py" in text and "(layer) [layer]" in text
    assert closed.jaxpr.pretty_print(name_stack=True) == closed.pretty_print(
        name_stack=True
    )
    shown = jax.see.program(f)(1.0).jaxpr
    assert "[out/layer]" in shown and "[out/layer/relu]" in shown
    assert "test_names.py" in shown
    lowered = jax.jit(layer).lower(1.0)
    assert "[layer/relu]" in lowered.as_text("jaxpr", debug_info=True)
    assert "[layer/relu]" in lowered.as_text(debug_info=True)


def test_names_are_text():
    with pytest.raises(TypeError, match="named_scope takes the name of the part"):
        jax.named_scope(3)
