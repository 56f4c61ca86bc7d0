"""Derivatives, batching and their combinations: values, texts, messages, costs."""

import threading
import time

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax

pytestmark = pytest.mark.usefixtures("few_objects")

RNG = np.random.default_rng(0)


def sample(*shape):
    return jnp.asarray(RNG.standard_normal(shape).astype("float32"))


def close(got, want, tolerance=2e-5):
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


def slope(f, x, direction, step=1e-2):
    """The derivative of f at x along a direction, by central differences of order 4."""
    at = lambda k: np.asarray(f(x + k * step * direction), np.float64)
    return (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step)


def f(x):
    return jnp.sum(jnp.sin(x) * x + jnp.exp(x) * 2.0 - x / (x * x + 1.0))


X, Y = sample(4), sample(4)
M = sample(3, 4)


# ------------------------------------------------------------------------ derivatives


def test_gradient_agrees_with_differences():
    close(jnp.vdot(jax.grad(f)(X), Y), slope(f, X, Y), 2e-3)


def test_value_and_grad_of_several_arguments():
    value, (gx, gy) = jax.value_and_grad(lambda x, y: x * y**2, argnums=(0, 1))(
        2.0, 3.0
    )
    assert (float(value), float(gx), float(gy)) == (18.0, 9.0, 12.0)
    assert float(jax.grad(lambda x, y: x * y, argnums=-1)(2.0, 3.0)) == 2.0


def test_gradient_keeps_the_structure_of_the_argument():
    params = {"w": X, "b": (jnp.float32(2.0), None)}
    got = jax.grad(lambda p: jnp.sum(p["w"] * p["b"][0]))(params)
    assert list(got) == ["b", "w"] and got["b"][1] is None
    close(got["w"], np.full(4, 2.0))
    close(got["b"][0], jnp.sum(X))


def test_auxiliary_data_comes_back_as_values():
    def g(x):
        return jnp.sum(x * x), {"twice": 2 * x}

    (value, aux), gradient = jax.value_and_grad(g, has_aux=True)(X)
    close(value, jnp.sum(X * X))
    close(aux["twice"], 2 * X)
    close(gradient, 2 * X)
    assert jax.grad(g, has_aux=True)(X)[1].keys() == {"twice"}
    assert jax.jacfwd(g, has_aux=True)(X)[1].keys() == {"twice"}
    assert jax.hessian(g, has_aux=True)(X)[1].keys() == {"twice"}
    assert jax.vjp(g, X, has_aux=True)[2].keys() == {"twice"}
    assert jax.jvp(g, (X,), (Y,), has_aux=True)[2].keys() == {"twice"}


def test_python_control_flow_follows_the_value_under_grad():
    g = jax.grad(lambda x: x * x if x > 0 else -x)
    assert float(g(2.0)) == 4.0 and float(g(-2.0)) == -1.0
    assert float(jax.grad(lambda x: [x, 2 * x][int(x)])(1.0)) == 2.0


def test_unused_and_integer_arguments():
    close(jax.grad(lambda x, y: jnp.sum(y))(X, Y), np.zeros(4))
    gx, gn = jax.grad(lambda x, n: x * n, argnums=(0, 1), allow_int=True)(2.0, 3)
    assert float(gx) == 3.0 and gn.dtype == jax.float0 and gn.shape == ()
    cts = jax.vjp(lambda x, n: x * n, 2.0, 3)[1](1.0)
    assert cts[1].dtype == jax.float0


def test_weak_types_survive():
    assert jax.grad(lambda x: x * x)(2.0).weak_type
    assert not jax.grad(lambda x: x * x)(jnp.float32(2)).weak_type


def test_complex_gradients():
    z = jnp.asarray(np.complex64(1 + 2j))
    close(jax.grad(lambda z: jnp.abs(z) ** 2)(z), 2 - 4j)
    close(jax.grad(lambda z: z * z, holomorphic=True)(z), 2 + 4j)


def test_jvp_and_vjp_are_transposes():
    g = lambda x: jnp.sin(M @ x)
    out, tangent = jax.jvp(g, (X,), (Y,))
    same, pull = jax.vjp(g, X)
    close(out, same)
    ct = sample(3)
    close(jnp.vdot(ct, tangent), jnp.vdot(pull(ct)[0], Y))
    close(pull(2 * ct)[0], 2 * pull(ct)[0])


def test_linearize_evaluates_the_linear_part_only():
    calls = []

    def g(x):
        calls.append(1)
        return jnp.sin(x) * x

    out, push = jax.linearize(g, X)
    close(out, jnp.sin(X) * X)
    for t in (X, Y):
        close(push(t), jax.jvp(lambda x: jnp.sin(x) * x, (X,), (t,))[1])
    close(jax.vmap(push)(M), jnp.stack([push(row) for row in M]))
    assert len(calls) == 1


def test_linear_transpose():
    back = jax.linear_transpose(lambda x: M @ x, jax.ShapeDtypeStruct((4,), "float32"))
    ct = sample(3)
    close(back(ct)[0], M.T @ ct)


@pytest.mark.parametrize("jacobian", [jax.jacfwd, jax.jacrev])
def test_jacobians(jacobian):
    g = lambda x: jnp.sin(M @ x)
    want = np.cos(np.asarray(M @ X))[:, None] * np.asarray(M)
    close(jacobian(g)(X), want)
    trees = jacobian(lambda p: {"u": p["a"] * p["b"], "v": jnp.sum(p["b"])})
    got = trees({"a": X, "b": jnp.float32(2.0)})
    close(got["u"]["a"], 2 * np.eye(4))
    close(got["u"]["b"], X)
    close(got["v"]["a"], np.zeros(4))
    assert float(got["v"]["b"]) == 1.0
    left, right = jacobian(lambda x, y: x * y, argnums=(0, 1))(X, Y)
    close(left, np.diag(Y))
    close(right, np.diag(X))


def test_hessian_is_symmetric_and_right():
    got = jax.hessian(f)(X)
    close(got, got.T)
    want = [slope(jax.grad(f), X, jnp.eye(4)[i]) for i in range(4)]
    close(got, np.stack(want), 5e-3)
    blocks = jax.hessian(lambda p: jnp.sum(p["a"] ** 2 * p["b"]))({"a": X, "b": Y})
    close(blocks["a"]["b"], 2 * np.diag(X))


def test_stop_gradient_of_a_tree():
    g = lambda x: lax.stop_gradient({"a": x})["a"] * x
    assert float(jax.grad(g)(3.0)) == 3.0


def test_closure_convert_hoists_differentiated_values():
    def g(x, y):
        converted, values = jax.closure_convert(lambda t: t * jnp.sin(y), x)
        return converted(x, *values)

    close(jax.grad(g, argnums=1)(2.0, 3.0), 2.0 * np.cos(3.0))


# --------------------------------------------------------------------------- batching


def test_axes_in_and_out():
    got = jax.vmap(lambda x, y: (x * y, x, 3.0), in_axes=(-1, None), out_axes=(0, 1, 0))
    a, b, c = got(M, sample(3))
    assert a.shape == (4, 3) and b.shape == (3, 4)
    close(b, M)
    close(c, np.full(4, 3.0))
    close(jax.vmap(lambda x, y: x, in_axes=(None, 0), out_axes=None)(X, Y), X)
    close(jax.vmap(lambda x: 2 * x, in_axes=None, axis_size=3)(1.0), np.full(3, 2.0))


def test_axes_as_trees_and_keywords():
    g = jax.vmap(lambda p: p["a"] * p["b"], in_axes=({"a": 0, "b": None},))
    close(g({"a": M, "b": X}), M * X)
    close(jax.vmap(lambda x, *, k: x * k)(X, k=Y), X * Y)
    assert jax.vmap(lambda x, n: x, in_axes=(0, None))(X, None).shape == (4,)


def test_nested_maps_over_an_image():
    def pixel(x, y, color):
        return x + 2 * y * color

    inner = jax.vmap(pixel, in_axes=-1)
    got = jax.vmap(inner, in_axes=(0, 0, 0))(M, M + 1, M + 2)
    close(got, M + 2 * (M + 1) * (M + 2))


@pytest.mark.parametrize("ax", [None, 0, 1, 2, 3])
@pytest.mark.parametrize("ay", [None, 0, 1, 2, 3])
def test_products_under_vmap_and_derivatives(ax, ay):
    if ax is None and ay is None:
        return
    shape_x, shape_y = [2, 3, 4], [2, 4, 5]
    if ax is not None:
        shape_x.insert(ax, 6)
    if ay is not None:
        shape_y.insert(ay, 6)
    x, y = sample(*shape_x), sample(*shape_y)
    g = jax.vmap(jnp.matmul, in_axes=(ax, ay))
    lane = lambda a, at, i: a if at is None else jnp.take(a, i, axis=at)
    want = jnp.stack([jnp.matmul(lane(x, ax, i), lane(y, ay, i)) for i in range(6)])
    close(g(x, y), want)
    tx, ty = sample(*shape_x), sample(*shape_y)
    _, tangent = jax.jvp(g, (x, y), (tx, ty))
    ct = sample(*want.shape)
    gx, gy = jax.vjp(g, x, y)[1](ct)
    close(jnp.sum(ct * tangent), jnp.sum(gx * tx) + jnp.sum(gy * ty), 1e-3)


def test_lanes_of_different_rank_are_aligned():
    close(jax.vmap(lambda a, v: a * v + X * a, in_axes=(0, None))(Y, X),
          np.asarray(Y)[:, None] * np.asarray(2 * X))  # fmt: skip
    close(jax.vmap(lambda a, b: a * b, in_axes=(0, 1))(X, M),
          np.asarray(X)[:, None] * np.asarray(M).T)  # fmt: skip
    g = lambda a: jnp.sum(a * X / (a + X * X + 3.0))
    close(jax.vmap(jax.grad(g))(Y), jnp.stack([jax.grad(g)(y) for y in Y]))


def test_an_axis_that_stays_is_not_transposed():
    text = str(jax.make_jaxpr(jax.vmap(jnp.sin, in_axes=1, out_axes=1))(M))
    assert text == "{ lambda ; a:f32[3,4]. let b:f32[3,4] = sin a in (b,) }"


def test_eager_lanes_are_not_concrete():
    with pytest.raises(jax.errors.TracerBoolConversionError, match="all lanes"):
        jax.vmap(lambda x: x if x > 0 else -x)(X)


# ----------------------------------------------------------------------- named axes


def over_axis(f, x, **options):
    return jax.vmap(f, axis_name="i", **options)(x)


def test_collectives_against_whole_arrays():
    whole = np.asarray(X)
    close(over_axis(lambda x: x / lax.psum(x, "i"), X), whole / whole.sum())
    close(over_axis(lambda x: lax.pmean(x, "i"), X, out_axes=None), whole.mean())
    close(over_axis(lambda x: lax.pmax(x, "i"), X, out_axes=None), whole.max())
    close(over_axis(lambda x: lax.pmin(x, "i"), X, out_axes=None), whole.min())
    close(over_axis(lambda x: lax.psum(1, "i"), X), np.full(4, 4))
    close(
        over_axis(lambda x: lax.axis_index("i") * lax.axis_size("i"), X),
        np.arange(4) * 4,
    )
    close(over_axis(lambda x: lax.all_gather(x, "i"), X), np.tile(whole, (4, 1)))
    ring = [(i, (i + 1) % 4) for i in range(4)]
    close(over_axis(lambda x: lax.ppermute(x, "i", ring), X), np.roll(whole, 1))
    close(over_axis(lambda x: lax.ppermute(x, "i", [(0, 2)]), X), [0, 0, whole[0], 0])
    rows = sample(4, 4)
    close(over_axis(lambda x: lax.psum_scatter(x, "i"), rows), np.asarray(rows).sum(0))
    close(over_axis(lambda x: lax.all_to_all(x, "i", 0, 0), rows), rows.T)
    both = jax.vmap(
        lambda x: jax.vmap(lambda y: lax.psum(x * y, ("i", "j")), axis_name="j")(X),
        axis_name="i",
    )(X)
    close(both, np.full((4, 4), whole.sum() ** 2), 1e-4)


@pytest.mark.parametrize("wrap", [lambda g: g, jax.jit, jax.checkpoint])
def test_derivatives_of_collectives(wrap):
    g = wrap(lambda x: lax.psum(jnp.sin(x), "i") * x)
    total = lambda x: jnp.sum(over_axis(g, x))
    plain = lambda x: jnp.sum(jnp.sum(jnp.sin(x)) * x)
    close(jax.grad(total)(X), jax.grad(plain)(X))
    close(jax.jit(jax.grad(total))(X), jax.grad(plain)(X))
    inside = over_axis(jax.grad(g), X)
    close(inside, np.cos(X) * np.sum(X) + np.sum(np.sin(X)))


def test_names_that_nobody_maps():
    with pytest.raises(NameError, match="no axis is named 'j' .the axes here are i."):
        over_axis(lambda x: lax.psum(x, "j"), X)


# ----------------------------------------------------------------------- compositions


COMPOSED = {
    "jit of grad of jit": lambda g: jax.jit(jax.grad(jax.jit(g))),
    "grad of jit of jit": lambda g: jax.grad(jax.jit(jax.jit(g))),
    "grad of checkpoint": lambda g: jax.grad(jax.checkpoint(g)),
    "jit of grad of checkpoint of jit": lambda g: jax.jit(
        jax.grad(jax.checkpoint(jax.jit(g)))
    ),
    "jacfwd": jax.jacfwd,
    "jacrev": jax.jacrev,
    "vmap": lambda g: lambda x: jax.vmap(jax.grad(g))(x[None])[0],
    "vmap of jit of grad": lambda g: (
        lambda x: jax.vmap(jax.jit(jax.grad(g)))(x[None])[0]
    ),
    "grad of vmap": lambda g: jax.grad(lambda x: jnp.sum(jax.vmap(g)(x[None]))),
    "grad of vmap of checkpoint": lambda g: jax.grad(
        lambda x: jnp.sum(jax.vmap(jax.checkpoint(g))(x[None]))
    ),
    "linearize": lambda g: lambda x: jax.vmap(jax.linearize(g, x)[1])(jnp.eye(4)),
}


@pytest.mark.parametrize("name", COMPOSED)
def test_every_way_to_the_gradient(name):
    close(COMPOSED[name](f)(X), jax.grad(f)(X))


@pytest.mark.parametrize("outer", [jax.jacfwd, jax.jacrev])
@pytest.mark.parametrize("name", COMPOSED)
def test_every_way_to_the_hessian(name, outer):
    close(outer(COMPOSED[name](f))(X), jax.hessian(f)(X), 1e-4)


def test_closures_over_outer_tracers():
    def g(x):
        inner = jax.jit(lambda y: y * x)
        return inner(x) + jax.checkpoint(lambda y: jnp.sin(y) * x)(x)

    want = 2 * 3.0 + np.sin(3.0) + 3.0 * np.cos(3.0)
    for way in (jax.grad(g), jax.jit(jax.grad(g)), jax.grad(jax.jit(g))):
        close(way(3.0), want)
    close(jax.vmap(jax.grad(g))(jnp.full(2, 3.0)), np.full(2, want))


def test_mlp_per_example_gradients():
    params = [(sample(4, 6), sample(6)), (sample(6, 1), sample(1))]
    x, y = sample(5, 4), sample(5, 1)

    def loss(p, x, y):
        (w, b), (v, c) = p
        return jnp.sum((jnp.tanh(x @ w + b) @ v + c - y) ** 2)

    each = jax.vmap(jax.grad(loss), in_axes=(None, 0, 0))(params, x, y)
    together = jax.grad(loss)(params, x, y)
    for a, b in zip(jax.tree.leaves(each), jax.tree.leaves(together)):
        close(jnp.sum(a, axis=0), b, 1e-4)


# -------------------------------------------------------------------------------- texts


TEXTS = [
    (
        lambda: jax.make_jaxpr(lambda x: (x, 3.0, 2))(1.0),
        "{ lambda ; a:f32[]. let  in (a, 3.0:f32[], 2:i32[]) }",
    ),
    (
        lambda: jax.make_jaxpr(jax.grad(lambda x: jnp.sin(x) * x))(1.0),
        """\
{ lambda ; a:f32[]. let
    b:f32[] = sin a
    c:f32[] = cos a
    _:f32[] = mul b a
    d:f32[] = mul b 1.0:f32[]
    e:f32[] = mul 1.0:f32[] a
    f:f32[] = mul e c
    g:f32[] = add_any d f
  in (g,) }""",
    ),
    (
        lambda: jax.make_jaxpr(jax.jit(lambda x, y: (x * y + 1, y)))(1.0, X),
        """\
{ lambda ; a:f32[] b:f32[4]. let
    c:f32[4] d:f32[4] = jit[
      name=<lambda>
      jaxpr={ lambda ; a:f32[] b:f32[4]. let
          e:f32[] = convert_element_type[new_dtype=float32 weak_type=False] a
          f:f32[4] = mul e b
          c:f32[4] = add f 1.0:f32[]
        in (c, b) }
    ] a b
  in (c, d) }""",
    ),
]


@pytest.mark.parametrize("make, want", TEXTS)
def test_jaxpr_texts(make, want):
    assert str(make()) == want


def test_jaxprs_held_twice_are_written_once():
    @jax.jit
    def step(x):
        return lax.sin(x)

    assert str(jax.make_jaxpr(lambda x: step(step(x)))(X)) == (
        "let step = { lambda ; a:f32[4]. let b:f32[4] = sin a in (b,) } in\n"
        "{ lambda ; c:f32[4]. let\n"
        "    d:f32[4] = jit[name=step jaxpr=step] c\n"
        "    e:f32[4] = jit[name=step jaxpr=step] d\n"
        "  in (e,) }"
    )


def test_closed_jaxpr_has_its_parts():
    closed = jax.make_jaxpr(lambda x, n: x * Y + n, static_argnums=1)(X, 2.0)
    assert len(closed.consts) == 1
    assert [a.shape for a in closed.in_avals] == [(4,)]
    assert [a.shape for a in closed.out_avals] == [(4,)]
    assert [e.primitive.name for e in closed.eqns] == ["mul", "add"]
    _, shape = jax.make_jaxpr(lambda x: {"y": x}, return_shape=True)(X)
    assert shape["y"] == jax.ShapeDtypeStruct((4,), "float32")


def test_eval_shape_computes_nothing():
    struct = jax.ShapeDtypeStruct((10**6, 10**6), "float32")
    got = jax.eval_shape(lambda x, y: {"z": (x + 1) @ y}, struct, struct)
    assert got == {"z": struct}


# ----------------------------------------------------------------------------- messages


MISTAKES = [
    (lambda: jax.grad(lambda x: x)(X), TypeError, r"array float32\[4\].*jacrev"),
    (lambda: jax.grad(lambda x: x)(3), TypeError, r"`x`.*int32.*Write 3.0"),
    (lambda: jax.grad(lambda p: p["w"])({"w": 3}), TypeError, r"`p\['w'\]`"),
    (lambda: jax.grad(lambda x: (x, x))(1.0), TypeError, "has_aux=True"),
    (lambda: jax.grad(lambda x: "a")(1.0), TypeError, "'a' of type str"),
    (lambda: jax.grad(lambda x: x, argnums=2)(1.0), TypeError, "argnums=2"),
    (lambda: jax.grad(3), TypeError, r"grad\(f\)\(x\)"),
    (lambda: jax.grad(lambda s: s)("a"), TypeError, "argument `s` = 'a' of type"),
    (lambda: jax.jvp(lambda x: x, (1.0,), (1,)), TypeError, "decimal point"),
    (lambda: jax.jvp(lambda x: x, (X,), (M,)), ValueError, r"shape \(4,\)"),
    (lambda: jax.jvp(lambda x: x, 1.0, 1.0), TypeError, "tuple or list"),
    (lambda: jax.vjp(lambda x: x, 1.0)[1]((1.0,)), ValueError, "structure"),
    (lambda: jax.vmap(lambda x: x, in_axes=(0, 0))(X), ValueError, "in_axes=.0,."),
    (lambda: jax.vmap(lambda x: x, out_axes=None)(X), ValueError, "out_axes=0"),
    (lambda: jax.vmap(lambda x: x, in_axes=0.5), TypeError, "must be an int"),
    (lambda: jax.vmap(lambda: 1)(), ValueError, "axis_size"),
    (lambda: jax.vmap(lambda x: x)("a"), TypeError, "cannot be mapped over"),
    (lambda: jax.make_jaxpr(lambda x: float(x))(1.0), TypeError, r"`float\(x\)`"),
]


@pytest.mark.parametrize("number", range(len(MISTAKES)))
def test_messages(number):
    run, error, words = MISTAKES[number]
    with pytest.raises(error, match=words):
        run()


def test_sizes_that_differ_are_shown_in_a_table():
    def dot(x, y):
        return x @ y

    with pytest.raises(ValueError) as caught:
        jax.vmap(dot)(M, X)
    assert str(caught.value) == (
        "vmap: the arguments of `dot` do not fit together.\n"
        "    argument | shape  | in_axes | lane shape\n"
        "    ---------|--------|---------|-----------\n"
        "    x        | (3, 4) | 0       | (4,)\n"
        "  > y        | (4,)   | 0       | ()"
        "           <- axis 0 has size 4, not 3\n"
        "This works: vmap(dot, in_axes=(0, None)), which gives all of `y` to every lane."
    )
    close(jax.vmap(dot, in_axes=(0, None))(M, X), M @ X)


def test_leaked_values_are_named():
    kept = []
    jax.vmap(lambda x: kept.append(x) or x)(X)
    jax.grad(lambda x: kept.append(x) or x)(1.0)
    jax.jvp(lambda x: kept.append(x) or x, (1.0,), (1.0,))
    for leaked in kept:
        with pytest.raises(jax.errors.UnexpectedTracerError, match="test_transforms"):
            leaked + 1
        with pytest.raises(jax.errors.UnexpectedTracerError):
            jax.grad(lambda x: x * leaked)(1.0)
        with pytest.raises(jax.errors.UnexpectedTracerError):
            jax.jit(lambda x: x * leaked)(1.0)


def test_an_error_leaves_no_transformation_behind():
    for way in (jax.grad, jax.vmap, jax.jit):
        with pytest.raises(ZeroDivisionError):
            way(lambda x: 1 / 0)(X if way is not jax.grad else 1.0)
        assert float(jnp.float32(1) + 1) == 2.0


# ------------------------------------------------------------------- threads and costs


def test_threads_transform_at_the_same_time():
    want = np.asarray(jax.grad(f)(X))
    got = []

    def work():
        for _ in range(20):
            got.append(np.asarray(jax.jit(jax.grad(lambda x: f(x)))(X)))
            got.append(np.asarray(jax.vmap(jax.grad(f))(X[None])[0]))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(got) == 160
    for g in got:
        close(g, want)


def test_a_long_program_is_differentiated_without_recursion():
    def long(x):
        for _ in range(20_000):
            x = lax.sin(x)
        return x

    started = time.perf_counter()
    closed = jax.make_jaxpr(jax.grad(long))(1.0)
    assert time.perf_counter() - started < 10  # about 0.6 s on an idle machine
    assert len(closed.eqns) == 60_000


class Label:
    """Something that is no array."""


@pytest.mark.parametrize("extra", ["a word", 3, Label(), None, {"f": len, "n": [1.5]}])
def test_auxiliary_data_is_what_the_function_returned(extra):
    def f(x):
        return jnp.sum(x * x), (extra, x)

    x = jnp.array([1.0, 2.0])
    calls = [
        jax.grad(f, has_aux=True)(x)[1],
        jax.value_and_grad(f, has_aux=True)(x)[0][1],
        jax.vjp(f, x, has_aux=True)[2],
        jax.jvp(f, (x,), (x,), has_aux=True)[2],
        jax.linearize(f, x, has_aux=True)[2],
        jax.jacrev(f, has_aux=True)(x)[1],
        jax.jacfwd(f, has_aux=True)(x)[1],
        jax.hessian(f, has_aux=True)(x)[1],
    ]
    for got, same in calls:
        assert type(got) is type(extra) and got == extra
        close(same, x)


def test_a_forward_jacobian_of_a_function_from_real_to_complex_numbers():
    x = jnp.array([1.0, 2.0])
    close(jax.jacfwd(lambda x: x * (1 + 2j))(x), np.eye(2) * (1 + 2j))
    with pytest.raises(TypeError, match="jacrev needs real results"):
        jax.jacrev(lambda x: x * 1j)(x)
