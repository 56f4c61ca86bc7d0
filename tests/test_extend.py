"""Operations that programs declare, and what `jax.extend` and `jax.interpreters` tell."""

import numpy as np
import pytest
from plugin import needs_plugin, on_plugin

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import api_util, lax
from tetrad._jax_src import ad_util
from tetrad.ad_checkpoint import checkpoint_name, print_saved_residuals
from tetrad.core import ShapedArray
from tetrad.extend import core, source_info_util
from tetrad.extend import linear_util as lu
from tetrad.interpreters import ad, batching, mlir, xla
from tetrad.interpreters import partial_eval as pe


def same_type(*avals, **params):
    return ShapedArray(avals[0].shape, avals[0].dtype)


def lowered_as(name, f, derivatives=()):
    """An operation that is computed by `f`, elementwise."""
    p = core.Primitive(name)
    p.def_impl(lambda *args, **params: xla.apply_primitive(p, *args, **params))
    p.def_abstract_eval(same_type)
    mlir.register_lowering(p, mlir.lower_fun(f, multiple_results=False))
    batching.defbroadcasting(p)
    if derivatives:
        ad.defjvp(p, *derivatives)
    return p


def multiply_add():
    """As the tutorial on operations builds it, rule by rule."""
    p = core.Primitive("multiply_add")
    p.def_impl(lambda x, y, z: np.add(np.multiply(x, y), z))
    p.def_abstract_eval(same_type)

    def jvp(primals, tangents):
        x, y, z = primals
        dx, dy, dz = (
            lax.full_like(x, 0) if type(t) is ad.Zero else t for t in tangents
        )
        return p.bind(x, y, z), p.bind(dx, y, p.bind(x, dy, dz))

    def transpose(ct, x, y, z):
        if not ad.is_undefined_primal(x):
            return None, p.bind(x, ct, lax.full_like(x, 0)), ct
        return p.bind(ct, y, lax.full_like(y, 0)), None, ct

    ad.primitive_jvps[p] = jvp
    ad.primitive_transposes[p] = transpose
    batching.primitive_batchers[p] = lambda args, dims: (p.bind(*args), dims[0])
    lower = mlir.lower_fun(lambda x, y, z: x * y + z, multiple_results=False)
    mlir.register_lowering(p, lower, platform="cpu")
    return p


def test_the_tutorial():
    p = multiply_add()

    def square_add(a, b):
        return p.bind(a, a, b)

    assert square_add(2.0, 10.0) == 14
    assert jax.jit(square_add)(2.0, 10.0) == 14
    assert jax.jvp(square_add, (2.0, 10.0), (1.0, 1.0)) == (14, 5)
    both = jax.jit(lambda args, dirs: jax.jvp(square_add, args, dirs))
    assert both((2.0, 10.0), (1.0, 1.0)) == (14, 5)
    assert jax.grad(square_add)(2.0, 10.0) == 4
    assert jax.jit(jax.grad(square_add))(2.0, 10.0) == 4
    xs, ys = np.array([2.0, 3.0]), np.array([10.0, 20.0])
    np.testing.assert_array_equal(jax.vmap(square_add)(xs, ys), [14, 29])
    np.testing.assert_array_equal(jax.jit(jax.vmap(square_add))(xs, ys), [14, 29])
    text = str(jax.make_jaxpr(square_add)(2.0, 10.0))
    assert "c:f32[] = multiply_add a a b" in text


def test_programs_call_what_only_evaluates():
    p = core.Primitive("on_host")
    p.def_abstract_eval(lambda x, *, by: ShapedArray(x.shape, x.dtype))
    seen = []

    def impl(x, *, by):
        seen.append(type(x))
        return np.multiply(x, np.float64(by))

    p.def_impl(impl)
    x = jnp.arange(3.0)
    np.testing.assert_array_equal(jax.jit(lambda x: p.bind(x, by=2) + 1)(x), [1, 3, 5])
    assert len(seen) == 1
    q = core.Primitive("two_on_host")
    q.multiple_results = True
    q.def_abstract_eval(lambda x: [x, x])
    q.def_impl(lambda x: [-np.asarray(x), 2 * np.asarray(x)])
    got = lax.fori_loop(0, 3, lambda i, x: jnp.add(*q.bind(x)), x)
    np.testing.assert_array_equal(got, x)


def test_a_primitive_is_one_of_the_library():
    p = multiply_add()
    assert isinstance(p, core.Primitive)
    assert isinstance(lax.sin_p, core.Primitive)
    assert (p.name, str(p), p.multiple_results) == (
        "multiply_add",
        "multiply_add",
        False,
    )
    closed = jax.make_jaxpr(lambda x: p.bind(x, x, 1.0))(2.0)
    (eqn,) = closed.eqns
    assert eqn.primitive is p
    assert eqn.primitive.bind(1.0, 2.0, 3.0, **eqn.params) == 5
    assert jax.core.eval_jaxpr(closed.jaxpr, closed.consts, 3.0) == [10]


@pytest.mark.parametrize("transform", [lambda f: f, jax.jit])
def test_parameters_reach_every_rule(transform):
    p = lowered_as(
        "scale",
        lambda x, *, by, shift: x * by + shift[0],
        [lambda t, x, *, by, shift: t * by],
    )

    def f(x):
        return p.bind(x, by=3.0, shift=[1.0])

    x = jnp.arange(3.0)
    np.testing.assert_array_equal(transform(f)(x), [1, 4, 7])
    np.testing.assert_array_equal(transform(jax.vmap(f))(x), [1, 4, 7])
    assert transform(jax.grad(f))(2.0) == 3
    assert "scale[by=3.0 shift=[1.0]]" in str(jax.make_jaxpr(f)(x))


def test_parameters_tell_programs_apart():
    p = lowered_as("plus", lambda x, *, n: x + n)
    one, two = (jax.jit(lambda x, n=n: p.bind(x, n=n)) for n in (1, 2))
    assert (one(1.0), two(1.0), one(1.0)) == (2, 3, 2)
    assert jax.jit(lambda x: p.bind(x, n=1.5))(1.0) == 2.5


def test_several_results():
    p = core.Primitive("divide")
    p.multiple_results = True
    p.def_impl(lambda x, y: [x // y, x % y])
    p.def_abstract_eval(lambda x, y: [x, x])
    mlir.register_lowering(p, mlir.lower_fun(lambda x, y: (x // y, x % y)))

    def batch(args, dims):
        return p.bind(*args), [0, 0]

    batching.primitive_batchers[p] = batch
    assert p.bind(7, 2) == [3, 1]
    assert jax.jit(lambda x: tuple(p.bind(x, 2)))(7) == (3, 1)
    outs = jax.vmap(lambda x, y: p.bind(x, y))(np.arange(4), np.full(4, 3))
    np.testing.assert_array_equal(outs, [[0, 0, 0, 1], [0, 1, 2, 0]])


def test_rules_with_the_result():
    p = lowered_as("power_of_e", jnp.exp)
    ad.defjvp2(p, lambda t, ans, x: t * ans)
    assert float(jax.grad(p.bind)(1.0)) == pytest.approx(np.e)
    assert float(jax.grad(jax.grad(p.bind))(1.0)) == pytest.approx(np.e)


def test_linear_operations():
    p = lowered_as("twice", lambda x: 2 * x)
    ad.deflinear2(p, lambda ct, x: [2 * ct])
    q = lowered_as("thrice", lambda x: 3 * x)
    ad.deflinear(q, lambda ct: [3 * ct])
    f = jax.jit(lambda x: q.bind(p.bind(x)))
    assert jax.grad(f)(1.0) == 6
    assert jax.linear_transpose(f, 1.0)(2.0) == (12,)
    assert jax.jvp(f, (1.0,), (3.0,)) == (6, 18)


def test_bilinear_operations():
    p = lowered_as("product", lambda x, y: x * y)
    ad.defbilinear(p, lambda ct, x, y: ct * y, lambda ct, x, y: x * ct)
    assert jax.grad(p.bind, (0, 1))(2.0, 3.0) == (3, 2)
    assert jax.hessian(lambda x: p.bind(x, x))(2.0) == 2


def test_operations_that_fold():
    p = core.Primitive("fold")
    p.def_abstract_eval(lambda x, *, axes: x.drop(axes))
    mlir.register_lowering(p, mlir.lower_fun(lambda x, *, axes: x.sum(axes), False))
    batching.defreducer(p)
    x = jnp.arange(24.0).reshape(2, 3, 4)
    for at in range(3):
        got = jax.vmap(lambda v: p.bind(v, axes=(1,)), in_axes=at)(x)
        np.testing.assert_array_equal(got, jax.vmap(lambda v: v.sum(1), at)(x))


def test_operands_of_different_rank_in_lanes():
    p = lowered_as("sum_of_both", lambda x, y: x + y)
    x = jnp.arange(6.0).reshape(2, 3)
    got = jax.vmap(lambda row, k: p.bind(row, k))(x, jnp.arange(2.0))
    np.testing.assert_array_equal(got, x + jnp.arange(2.0)[:, None])


def test_a_lowering_may_look_at_types():
    p = core.Primitive("typed")
    p.def_abstract_eval(same_type)

    def lower(context, x):
        (aval,) = context.avals_in
        assert context.avals_out == [aval]
        return mlir.lower_fun(lambda x: x + aval.ndim, multiple_results=False)(
            context, x
        )

    mlir.register_lowering(p, lower)
    np.testing.assert_array_equal(jax.jit(p.bind)(jnp.zeros((1, 1))), [[2]])


def test_a_lowering_may_call_python():
    p = core.Primitive("outside")
    p.def_abstract_eval(same_type)

    def lower(context, x):
        outs, token, _ = mlir.emit_python_callback(
            context,
            lambda v: [np.asarray(v) + 1],
            None,
            [x],
            context.avals_in,
            context.avals_out,
            has_side_effect=False,
        )
        assert token is None
        context.module_context.add_keepalive(token)
        assert context.module_context.platforms == ("cpu",)
        return outs

    mlir.register_lowering(p, lower)
    np.testing.assert_array_equal(jax.jit(p.bind)(jnp.zeros(2)), [1, 1])


def test_in_control_flow():
    p = lowered_as("half", lambda x: x / 2, [lambda t, x: t / 2])

    def f(x):
        x = lax.fori_loop(0, 3, lambda i, x: p.bind(x), x)
        return lax.cond(x > 0, p.bind, lambda x: x, x)

    assert f(16.0) == 1
    assert jax.grad(f)(16.0) == 1 / 16
    assert jax.grad(jax.checkpoint(lambda x: jnp.sin(p.bind(x))))(0.0) == 0.5


def test_subclasses_state_their_own_bind():
    calls = []

    class Counted(core.Primitive):
        multiple_results = True

        def bind(self, *args, **params):
            calls.append(self.name)
            return super().bind(*args, **params)

        def impl(self, x):
            return [x, x]

    p = Counted("pair")
    p.def_abstract_eval(lambda x: [x, x])
    assert p.bind(1.0) == [1.0, 1.0]
    closed = jax.make_jaxpr(lambda x: p.bind(x))(1.0)
    assert len(closed.out_avals) == 2
    assert calls == ["pair", "pair"]


def test_effects_of_declared_operations():
    class Spends(core.Effect):
        pass

    spends = Spends()
    p = core.Primitive("spend")
    p.def_effectful_abstract_eval(lambda x: (x, {spends}))
    closed = jax.make_jaxpr(lambda x: p.bind(x) * 0)(1.0)
    assert closed.effects == {spends}
    assert core.Primitive("pure").abstract_eval.__self__.multiple_results is False


def test_tables_answer_for_the_library():
    x = ShapedArray((), np.float32)
    assert lax.sin_p in ad.primitive_jvps
    out, tangent = ad.primitive_jvps[lax.mul_p]((2.0, 3.0), (1.0, ad.Zero(x)))
    assert (out, tangent) == (6, 3)
    cts = ad.primitive_transposes[lax.neg_p](1.0, ad.UndefinedPrimal(x))
    assert cts == [-1]
    out, at = batching.primitive_batchers[lax.add_p]((jnp.arange(3.0), 1.0), (0, None))
    assert at == 0
    np.testing.assert_array_equal(out, [1, 2, 3])
    assert lax.sin_p.abstract_eval(x) == (x, frozenset())
    assert lax.cos_p.impl(0.0) == 1
    with pytest.raises(TypeError, match="differentiation rule of `sin` is part of"):
        ad.defjvp(lax.sin_p, lambda t, x: t)


def test_what_is_missing_is_said():
    p = core.Primitive("bare")
    with pytest.raises(NotImplementedError, match="Evaluation rule for 'bare' not"):
        p.bind(1.0)
    with pytest.raises(NotImplementedError, match="what type its results have"):
        jax.jit(p.bind)(1.0)
    with pytest.raises(
        NotImplementedError, match="Differentiation rule for 'bare' not implemented"
    ):
        jax.grad(p.bind)(1.0)
    p.def_abstract_eval(lambda x: x)
    with pytest.raises(NotImplementedError, match="`bare` has no lowering"):
        jax.jit(p.bind)(1.0)
    with pytest.raises(NotImplementedError, match="`bare` has no batching rule"):
        jax.vmap(p.bind)(jnp.ones(2))
    with pytest.raises(TypeError, match="operand 0 is 'a' of type str"):
        jax.jit(lambda: p.bind("a"))()
    p.def_impl(lambda x: x)
    ad.defjvp(p, lambda t, x: p.bind(t))
    with pytest.raises(NotImplementedError, match="`bare` has no transposition rule"):
        jax.grad(p.bind)(1.0)


def test_wrong_rules_are_explained():
    p = core.Primitive("odd")
    p.def_abstract_eval(lambda x: [x])
    with pytest.raises(ValueError, match="must give one type"):
        jax.jit(p.bind)(1.0)
    p.multiple_results = True
    assert jax.eval_shape(p.bind, 1.0) == [
        jax.ShapeDtypeStruct((), "float32", weak_type=True)
    ]
    mlir.register_lowering(p, mlir.lower_fun(lambda x: [x, x]))
    with pytest.raises(
        TypeError, match=r"must give \['float32\[\]'\], as its abstract"
    ):
        jax.jit(p.bind)(1.0)
    mlir.register_lowering(p, lambda context, x: context.module_context.ip)
    with pytest.raises(NotImplementedError, match="asks for ctx.module_context.ip"):
        jax.jit(p.bind)(1.0)
    with pytest.raises(AttributeError, match="cannot change"):
        lax.sin_p.multiple_results = True


def test_zeros_of_rules():
    zero = ad.Zero.from_primal_value(jnp.ones(2))
    np.testing.assert_array_equal(ad.instantiate_zeros(zero), [0, 0])
    assert ad.instantiate_zeros(1.0) == 1.0
    assert ad.add_tangents(zero, 1.0) == 1.0
    assert ad.Zero.from_primal_value(3).aval.dtype == jax.float0
    assert jax.tree.leaves(zero) == []
    assert repr(zero) == "Zero(f32[2])"


def test_types_of_lanes():
    aval = ShapedArray((2, 3), np.float32)
    assert core.mapped_aval(3, 1, aval).shape == (2,)
    assert core.unmapped_aval(4, 1, aval).shape == (2, 4, 3)
    assert core.mapped_aval(3, None, aval) is aval


def test_what_surrounds_the_code():
    assert core.trace_state_clean()
    states = [core.get_opaque_trace_state()]

    def f(x):
        states.append(core.get_opaque_trace_state())
        assert not core.trace_state_clean()
        assert core.unsafe_am_i_under_a_jit_DO_NOT_USE()
        with core.take_current_trace():
            assert core.trace_state_clean()
        return x

    def lane(x):
        assert core.unsafe_am_i_under_a_vmap_DO_NOT_USE()
        assert core.unsafe_get_axis_names_DO_NOT_USE() == ["i"]
        return x

    jax.jit(f)(1.0)
    jax.vmap(lane, axis_name="i")(jnp.ones(2))
    assert states[0] == core.get_opaque_trace_state()
    assert states[0] != states[1]


def test_walking_jaxprs():
    closed = jax.make_jaxpr(lambda x: lax.cond(x > 0, jnp.sin, jnp.cos, x))(1.0)
    held = list(core.subjaxprs(closed.jaxpr))
    assert sorted(e.primitive.name for j in held for e in j.eqns) == ["cos", "sin"]
    x, y = map(core.gensym(), [ShapedArray((), np.float32)] * 2)
    eqn = core.new_jaxpr_eqn([x], [y], lax.sin_p, {})
    made = core.Jaxpr([x], [eqn], [y])
    assert float(jax.core.eval_jaxpr(made, (), 0.0)[0]) == 0
    assert core.valid_jaxtype(1.0)
    assert not core.valid_jaxtype("a")
    assert core.concrete_or_error(int, 2.0) == 2


def test_what_is_stored_for_the_backward_pass(capsys):
    def f(x, y):
        named = checkpoint_name(jnp.sin(x["a"]), "s")
        return named * np.arange(3.0) * y * jax.jit(jnp.cos)(y)

    print_saved_residuals(f, {"a": 1.0}, 2.0)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "f32[3] from a constant"
    assert any(s.startswith("f32[] output of cos from ") for s in lines)
    assert any("output of jitted function 'cos' from" in s for s in lines)
    policy = jax.checkpoint_policies.save_only_these_names("s")
    print_saved_residuals(jax.checkpoint(f, policy=policy), {"a": 1.0}, 2.0)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [
        "f32[3] from a constant",
        "f32[] from the argument x['a']",
        "f32[] from the argument y",
    ]
    assert lines[3].startswith("f32[] named 's' from ")
    assert len(lines) == 4


def test_functions_that_are_wrapped_step_by_step():
    @lu.transformation_with_aux
    def doubled(factor, *args):
        out = yield [factor * a for a in args], {}
        yield 2 * out, "aux"

    @lu.transformation2
    def negated(fun, *args):
        return -fun(*args)

    fun = lu.wrap_init(lambda x, y, z=1: x + y + z, {"z": 5})
    wrapped, aux = doubled(fun, 3)
    with pytest.raises(lu.StoreException):
        aux()
    assert negated(wrapped).call_wrapped(1, 2) == -28
    assert aux() == "aux"
    other, unused = doubled(fun, 3)
    assert lu.merge_linear_aux(unused, aux) == (False, "aux")
    calls = []
    cached = lu.cache(lambda f, x: (calls.append(x), f.call_wrapped(x, x))[1])
    for _ in range(2):
        again, read = doubled(fun, 3)
        assert cached(again, 1) == 22
        assert read() == "aux"
    assert calls == [1]


def test_flat_functions():
    in_tree = jax.tree.structure((({"a": 0},), {"b": 0}))
    info = api_util.debug_info("test", dict, (), {})
    flat, out_tree = api_util.flatten_fun(
        lu.wrap_init(lambda d, b: (d["a"], [b]), debug_info=info), in_tree
    )
    assert flat.call_wrapped(1, 2) == [1, 2]
    assert out_tree() == jax.tree.structure((0, [0]))
    part, args = api_util.argnums_partial(lu.wrap_init(lambda x, y: x - y), 1, (5, 3))
    assert args == (3,)
    assert part.call_wrapped(1) == 4
    tree = jax.tree.structure({"a": (0, 1), "b": 2})
    assert api_util.flatten_axes("axes", tree, {"a": None, "b": 1}) == [None, None, 1]
    with pytest.raises(ValueError, match="axes must be a tree prefix"):
        api_util.flatten_axes("axes", tree, {"a": None})


def test_partial_evaluation():
    fun = lu.wrap_init(lambda x, y: (jnp.sin(x), jnp.cos(x) * y))
    unknown = pe.PartialVal.unknown(ShapedArray((), np.float32))
    known = pe.PartialVal.known(jnp.float32(0))
    jaxpr, outs, consts = pe.trace_to_jaxpr_nounits(fun, [known, unknown])
    assert [out.is_known() for out in outs] == [True, False]
    assert (outs[0].get_known(), outs[1].get_aval().shape) == (0, ())
    assert jax.core.eval_jaxpr(jaxpr, consts, 3.0) == [3]
    jaxpr, types, consts = pe.trace_to_jaxpr_dynamic(fun, [known.get_aval()] * 2)
    smaller, used = pe.dce_jaxpr(jaxpr, [True, False])
    assert (len(types), len(jaxpr.eqns), len(smaller.eqns), used) == (2, 3, 1, [1, 0])
    _, used = pe.dce_jaxpr(jaxpr, False, instantiate=[False, True])
    assert used == [False, True]


def test_calls_that_programs_bind():
    closed = jax.make_jaxpr(lambda x: [jnp.ones(2) * x])(1.0)

    def f(x):
        return core.primitives.closed_call_p.bind(x, call_jaxpr=closed)[0].sum()

    assert (f(2.0), jax.jit(jax.grad(f))(2.0)) == (4, 2)
    assert "closed_call[" in str(jax.make_jaxpr(f)(1.0))


def test_types_of_tangents():
    x = ShapedArray((2,), np.float32)
    assert x.to_tangent_aval() is x
    assert ShapedArray((2,), np.int32).to_tangent_aval().dtype == jax.float0


def test_a_transposition_that_the_library_lacks():
    stop = ad_util.stop_gradient_p
    assert stop not in ad.primitive_transposes
    ad.primitive_transposes[stop] = lambda ct, x: [ct]
    try:
        assert jax.linear_transpose(lambda x: stop.bind(2 * x), 1.0)(3.0) == (6,)
    finally:
        stop.transpose = None


def test_libraries_that_pass_a_call_on(tmp_path):
    path = tmp_path / "wrapper.py"
    path.write_text("def call(f, x):\n    return f(x)\n")
    space = {}
    exec(compile(path.read_text(), str(path), "exec"), space)
    source_info_util.register_exclusion(str(path))
    closed = jax.make_jaxpr(lambda x: space["call"](jnp.sin, x))(1.0)
    assert "wrapper.py" not in str(closed.eqns[0].where)


def test_rules_that_know_the_axis():
    p = core.Primitive("lanes")
    p.def_abstract_eval(same_type)
    mlir.register_lowering(p, mlir.lower_fun(lambda x, *, n=1: x * n, False))
    seen = []

    def rule(size, name, _, operands, dims):
        seen.append((size, name, dims))
        return p.bind(*operands, n=size), dims[0]

    batching.axis_primitive_batchers[p] = rule
    assert p in batching.axis_primitive_batchers
    got = jax.vmap(p.bind, axis_name="i")(jnp.ones(3))
    np.testing.assert_array_equal(got, [3, 3, 3])
    assert seen == [(3, "i", [0])]


def test_zeros_among_tangents():
    zeros = jax.custom_derivatives.zero_from_primal({"a": jnp.ones(2), "b": 3})
    np.testing.assert_array_equal(zeros["a"], [0, 0])
    assert zeros["b"].dtype == jax.float0
    (zero,) = jax.custom_derivatives.zero_from_primal([1.0], symbolic_zeros=True)
    assert isinstance(zero, jax.custom_derivatives.SymbolicZero)


@needs_plugin
def test_on_another_platform():
    p = lowered_as("affine", lambda x, *, n: x * n + 1, [lambda t, x, *, n: t * n])
    with on_plugin():
        x = jnp.arange(3.0)
        np.testing.assert_array_equal(jax.jit(lambda x: p.bind(x, n=2))(x), [1, 3, 5])
        slope = jax.jit(jax.grad(lambda x: p.bind(x, n=2).sum()))
        np.testing.assert_array_equal(slope(x), [2, 2, 2])
