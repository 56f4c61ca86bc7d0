"""`jit`: when it traces, what is static, what is donated, what users can look at."""

import functools
import inspect
import pickle
import threading

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad._src.api import jit as jit_module

X = jnp.arange(4.0)


@pytest.fixture
def reasons():
    """Why functions are traced during the test."""
    seen = []
    hook = lambda function, reason: seen.append(reason)
    jit_module.on_compile.append(hook)
    yield seen
    jit_module.on_compile.remove(hook)


def counted(fun):
    """The function, and a list that grows by one for each time Python runs it."""
    runs = []

    @functools.wraps(fun)
    def counting(*args, **kwargs):
        runs.append(1)
        return fun(*args, **kwargs)

    return counting, runs


# ---------------------------------------------------------------------------- tracing


def test_it_traces_once_for_each_kind_of_arguments(reasons):
    def scale(x, y):
        return x * y

    g = jax.jit(scale)
    g(X, X)
    g(X + 1, X)
    g(jnp.arange(5.0), jnp.arange(5.0))
    g(X, 2.0)
    g(X, 3.0)
    g(X, y=3.0)
    g(X, jnp.int32(3))
    assert reasons == [
        "first call",
        "argument `x` was float32[4], now float32[5]",
        "argument `x` was float32[5], now float32[4]",
        "the arguments were (*, *), now (*, y=*)",
        "the arguments were (*, y=*), now (*, *)",
    ]
    assert g._cache_size() == 5
    g.clear_cache()
    assert g._cache_size() == 0


def test_weak_types_and_widths_are_part_of_the_key(reasons):
    g = jax.jit(lambda x: x + 1)
    assert g(1.0).weak_type and not g(jnp.float32(1)).weak_type
    assert reasons[-1] == ("argument `x` was a Python float, now float32[]")
    with jax.enable_x64(True):
        assert g(1.0).dtype == "float64"
    assert g(1.0).dtype == "float32"


def test_the_same_function_shares_its_traces():
    g, runs = counted(lambda x: x + 1)
    for _ in range(5):
        jax.jit(g)(X)
    assert len(runs) == 1
    jax.jit(g, static_argnums=())(X)
    assert len(runs) == 1


def test_a_fresh_function_compiles_nothing_new():
    jax.jit(lambda x: jnp.sin(x) * 3 + 1)(X).block_until_ready()
    with jax.see.compiles() as seen:
        for _ in range(10):
            jax.jit(lambda x: jnp.sin(x) * 3 + 1)(X).block_until_ready()
            g = jax.jit(jax.grad(lambda x: jnp.sum(jnp.sin(x) * 3 + 1)))
            g(X).block_until_ready()
    assert len(seen) <= 2  # one for the value, one for the gradient


def test_gradients_of_a_jitted_function_compile_once():
    step = jax.grad(jax.jit(lambda x: jnp.sum(jnp.tanh(x) ** 2)))
    step(X).block_until_ready()
    with jax.see.compiles() as seen:
        for _ in range(20):
            step(X).block_until_ready()
    assert len(seen) == 0


# ---------------------------------------------------------------- arguments and results


def test_pytrees_in_and_out():
    g = jax.jit(lambda p: {"a": p["x"], "b": (3, p["y"], None), "c": []})
    got = g({"x": 1, "y": X})
    assert list(got) == ["a", "b", "c"] and got["b"][2] is None and got["c"] == []
    assert int(got["a"]) == 1 and int(got["b"][0]) == 3
    np.testing.assert_array_equal(got["b"][1], X)


def test_constants_and_arguments_as_results():
    assert float(jax.jit(lambda: 3.0)()) == 3.0
    assert jax.jit(lambda x: None)(1.0) is None
    same = jax.jit(lambda x: x)(X)
    np.testing.assert_array_equal(same, X)
    twice = jax.jit(lambda x: (x, x))(X)
    np.testing.assert_array_equal(twice[0], twice[1])
    assert jax.jit(lambda x, y: y)(X, 2.0).weak_type


def test_numpy_arguments_are_copied():
    host = np.ones(4, np.float32)
    got = jax.jit(lambda x: x + 0)(host)
    host[:] = 7
    np.testing.assert_array_equal(got, np.ones(4))
    assert jax.jit(lambda x: x)(np.arange(3, dtype="int64")).dtype == "int32"


def test_closed_over_arrays_are_operands():
    big = jnp.ones(1000)
    g = jax.jit(lambda x: x + big)
    closed = g.trace(big).jaxpr
    assert closed.consts[0] is big
    host = np.arange(4, dtype=np.float32)
    h = jax.jit(lambda x: x * host)
    np.testing.assert_array_equal(h(X), np.arange(4.0) ** 2)
    np.testing.assert_array_equal(h(X), np.arange(4.0) ** 2)


def test_traced_constants_are_never_kept():
    inner, runs = counted(lambda y, c=None: y)

    def outer(x):
        g = jax.jit(lambda y: y * x)
        assert g._cache_size() == 0
        first = g(2.0)
        assert g._cache_size() == 0
        return first + g(3.0)

    assert float(jax.jit(outer)(2.0)) == 10.0
    assert float(jax.grad(outer)(2.0)) == 5.0
    np.testing.assert_array_equal(jax.vmap(outer)(X), 5 * X)


def test_methods_partials_and_decorators():
    class Model:
        def __init__(self):
            self.weight = X

        @functools.partial(jax.jit, static_argnums=0)
        def apply(self, x):
            return self.weight * x

        @jax.jit
        def wrong(self, x):
            return x

    np.testing.assert_array_equal(Model().apply(X), X * X)
    with pytest.raises(TypeError, match="argument `self`.*static_argnames"):
        Model().wrong(X)
    add = functools.partial(lambda x, y: x + y, 1.0)
    assert float(jax.jit(add)(2.0)) == 3.0

    @jax.jit(static_argnames="n")
    def power(x, n):
        """x to the n."""
        return x**n

    assert power.__name__ == "power" and power.__doc__ == "x to the n."
    assert float(power.__wrapped__(2.0, 3)) == 8.0 == float(power(2.0, n=3))


@jax.jit
def module_level(x):
    return x + 1


def test_jitted_functions_pickle_by_name():
    assert pickle.loads(pickle.dumps(module_level)) is module_level


# ----------------------------------------------------------------------- static values


def test_static_arguments_select_the_program(reasons):
    @functools.partial(jax.jit, static_argnums=1)
    def power(x, n):
        return x**n

    assert float(power(2.0, 3)) == 8.0
    assert float(power(2.0, 4)) == 16.0
    assert float(power(2.0, n=5)) == 32.0
    assert reasons[:2] == ["first call", "static argument `n` was 3, now 4"]
    assert float(power(2.0, True)) == 2.0
    assert power._cache_size() == 4
    last = jax.jit(lambda x, n: x * n, static_argnums=-1)
    assert float(last(2.0, 3)) == 6.0


def test_text_and_functions_are_static():
    g = jax.jit(lambda mode, f, x: f(x) if mode == "apply" else x)
    np.testing.assert_array_equal(g("apply", jnp.sin, X), jnp.sin(X))
    np.testing.assert_array_equal(g("keep", jnp.sin, X), X)


def test_keyword_only_static_arguments():
    @functools.partial(jax.jit, static_argnames=("flag",))
    def g(x, *, flag=True):
        return x + 1 if flag else x

    assert float(g(1.0)) == 2.0
    assert float(g(1.0, flag=False)) == 1.0


# ------------------------------------------------------------------------------ donation


def test_donated_arrays_are_gone():
    g = jax.jit(lambda x, y: x + y, donate_argnums=0)
    x = jnp.arange(1000.0)
    x.block_until_ready()
    got = g(x, 1.0)
    np.testing.assert_array_equal(got, np.arange(1000.0) + 1)
    assert x.is_deleted()
    with pytest.raises(RuntimeError, match="donated"):
        x + 1
    named = jax.jit(lambda x, y: x + y["a"], donate_argnames="y")
    y = {"a": jnp.arange(1000.0)}
    named(jnp.float32(1), y=y).block_until_ready()
    assert y["a"].is_deleted()


def test_donation_is_no_matter_to_transformations():
    g = jax.jit(lambda x: jnp.sum(x * x), donate_argnums=0)
    x = jnp.arange(4.0)
    np.testing.assert_array_equal(jax.grad(g)(x), 2 * np.arange(4.0))
    np.testing.assert_array_equal(x, np.arange(4.0))


# ------------------------------------------------------------------------------- options


def test_inline_becomes_part_of_the_surrounding_jaxpr():
    g = jax.jit(lambda x: jnp.sin(x), inline=True)
    text = str(jax.make_jaxpr(lambda x: g(x) + 1)(1.0))
    assert "jit" not in text and "sin a" in text
    assert float(g(0.0)) == 0.0


def test_disable_jit_runs_python():
    g = jax.jit(lambda x: x if x > 0 else -x)
    with jax.disable_jit():
        assert float(g(-2.0)) == 2.0
    with pytest.raises(jax.errors.TracerBoolConversionError):
        g(-2.0)


@pytest.mark.parametrize("option", ["abstracted_axes", "compiler_options"])
def test_unavailable_options_say_so(option):
    with pytest.raises(NotImplementedError, match=option):
        jax.jit(lambda x: x, **{option: "cpu"})


# -------------------------------------------------------------------------------- stages


def test_the_steps_to_a_program():
    def double(x, y):
        return {"r": 2 * x + y}

    struct = jax.ShapeDtypeStruct((4,), "float32")
    lowered = jax.jit(double).lower(struct, 1.0)
    assert lowered.as_text("jaxpr").startswith("{ lambda ; a:f32[4] b:f32[]. let")
    assert "stablehlo.multiply" in lowered.as_text()
    assert lowered.out_info == {"r": struct}
    assert lowered.in_avals[0][0].shape == (4,)
    compiled = lowered.compile()
    np.testing.assert_array_equal(compiled(X, 1.0)["r"], 2 * X + 1)
    assert compiled.out_avals["r"].shape == (4,)
    assert "define" in compiled.as_text()
    assert "mul" in compiled.as_text("jaxpr")
    with pytest.raises(TypeError, match="`x`: compiled for float32.4., got float32.5."):
        compiled(jnp.arange(5.0), 1.0)
    with pytest.raises(TypeError, match="structure"):
        compiled(X)
    traced = jax.jit(double).trace(X, 1.0)
    assert traced.fun_name == "double" and len(traced.jaxpr.eqns) == 3
    assert jax.jit(double).eval_shape(struct, 1.0) == {"r": struct}


# ------------------------------------------------------------------------------ messages


MISTAKES = [
    (lambda: jax.jit(3), TypeError, r"jit\(f\)\(x\)"),
    (lambda: jax.jit(lambda x: x)(object()), TypeError, "argument `x`.*object"),
    (lambda: jax.jit(lambda p: p)({"a": [{1}]}), TypeError, r"`p\['a'\]\[0\]`"),
    (lambda: jax.jit(lambda x: x)(np.array(["a"])), TypeError, "no array"),
    (lambda: jax.jit(lambda x: {1})(1.0), TypeError, "returned a value of type set"),
    (lambda: jax.jit(lambda x: {"a": {1}})(1.0), TypeError, r"at result\['a'\]"),
    (
        lambda: jax.jit(lambda x, n: x, static_argnums=1)(1.0, [1]),
        ValueError,
        "static arguments .* `n` .* a tuple instead of .1.",
    ),
    (
        lambda: jax.jit(lambda x, n: x, static_argnums=1)(1.0, X),
        ValueError,
        "static arguments .*`n`.*cannot be arrays",
    ),
    (lambda: jax.jit(lambda x: x, static_argnums=3), ValueError, "static_argnums=3"),
    (lambda: jax.jit(lambda x: x, static_argnames="q"), ValueError, "parameters x"),
    (lambda: jax.jit(lambda x: x, static_argnums="x"), TypeError, "tuple of ints"),
    (
        lambda: jax.jit(lambda x: x, static_argnums=0, donate_argnums=0),
        ValueError,
        "static_argnames and donate_argnames",
    ),
    (
        lambda: jax.jit(lambda x: 1 if x > 0 else 2)(1.0),
        jax.errors.TracerBoolConversionError,
        r"`x > 0` at .*test_jit.py.*\n.*jnp.where",
    ),
    (
        lambda: jax.jit(lambda x: np.sin(np.asarray(x)))(1.0),
        jax.errors.TracerArrayConversionError,
        r"`np.asarray\(x\)`",
    ),
    (
        lambda: jax.jit(lambda i: [1, 2][i])(0),
        jax.errors.TracerIntegerConversionError,
        r"`\[1, 2\]\[i\]`",
    ),
    (
        lambda: jax.jit(lambda x: float(x))(1.0),
        jax.errors.ConcretizationTypeError,
        r"`float\(x\)`",
    ),
    (
        lambda: jax.jit(lambda x: x.item())(1.0),
        jax.errors.ConcretizationTypeError,
        r"`x.item\(\)`",
    ),
]


@pytest.mark.parametrize("number", range(len(MISTAKES)))
def test_messages(number):
    run, error, words = MISTAKES[number]
    with pytest.raises(error, match=words):
        run()


def test_leaked_values_name_their_line():
    kept = []
    jax.jit(lambda x: kept.append(x * 2) or x)(1.0)
    with pytest.raises(
        jax.errors.UnexpectedTracerError, match="created on line .*test_jit"
    ):
        kept[0] + 1
    with pytest.raises(
        jax.errors.UnexpectedTracerError, match="created on line .*test_jit"
    ):
        jax.jit(lambda x: x + kept[0])(1.0)


def test_errors_show_few_frames_of_ours():
    import traceback

    with pytest.raises(TypeError) as caught:
        jax.jit(lambda x: x + "a")(1.0)
    frames = traceback.extract_tb(caught.value.__traceback__)
    ours = [f for f in frames if "_src" in f.filename]
    assert len(ours) <= 2


def test_an_error_while_tracing_is_not_remembered():
    fail = [True]

    @jax.jit
    def g(x):
        if fail[0]:
            raise ZeroDivisionError
        return x

    with pytest.raises(ZeroDivisionError):
        g(1.0)
    fail[0] = False
    assert float(g(1.0)) == 1.0


def test_threads_call_one_jitted_function():
    g, runs = counted(lambda x: jnp.sum(jnp.sin(x)))
    h = jax.jit(g)
    got = []

    def work():
        for n in range(1, 30):
            got.append((n, float(h(jnp.arange(float(n))))))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(got) == 4 * 29
    for n, value in got:
        assert value == pytest.approx(np.sum(np.sin(np.arange(float(n)))), abs=1e-4)


def test_compiled_functions_look_like_functions():
    def f(x, y=2, *, z):
        return x

    compiled = jax.jit(f)
    want = inspect.signature(f)
    assert inspect.signature(compiled) == want
    assert inspect.signature(compiled, follow_wrapped=False) == want
    assert "PjitFunction" in str(type(compiled))
    assert str(inspect.signature(type(compiled))).startswith("(fun")
    with pytest.raises(ValueError, match="no signature found"):
        inspect.signature(jax.jit(max))  # as of `max` itself


# ------------------------------------------------ calls that are known by their arguments


def test_known_calls_tell_numbers_names_and_static_values_apart(reasons):
    @functools.partial(jax.jit, static_argnames=("n", "act"))
    def f(x, y=1.0, *, n=2, act=None):
        out = x * y + n
        return out if act is None else act(out)

    host = np.arange(3.0, dtype=np.float32)
    x = jnp.arange(3.0)

    def double(v):
        return 2 * v

    for turn in range(3):
        for given in (x, host):
            same = np.arange(3.0)
            np.testing.assert_array_equal(f(given), same + 2)
            np.testing.assert_array_equal(f(given, 3.0), same * 3 + 2)
            np.testing.assert_array_equal(f(given, 3), same * 3 + 2)
            np.testing.assert_array_equal(f(given, y=4.0), same * 4 + 2)
            np.testing.assert_array_equal(f(given, y=x), same * same + 2)
            np.testing.assert_array_equal(f(given, n=5), same + 5)
            np.testing.assert_array_equal(f(given, n=5.5), same + 5.5)
            np.testing.assert_array_equal(f(given, n=True), same + 1)
            np.testing.assert_array_equal(f(given, n=1), same + 1)
            np.testing.assert_array_equal(f(given, act=double), 2 * same + 4)
        if turn == 0:
            traced = len(reasons)
    assert len(reasons) == traced


def test_known_calls_tell_named_arguments_from_a_dictionary():
    @jax.jit
    def f(*args, **kwargs):
        return sum(jax.tree.leaves(args)) * (10 if kwargs else 1)

    for _ in range(3):
        assert float(f((jnp.float32(2),), {"y": jnp.float32(1)})) == 3
        assert float(f(jnp.float32(2), y=jnp.float32(1))) == 20


def test_known_calls_take_the_newest_host_values():
    f = jax.jit(lambda x, scale: x * scale)
    host = np.ones(4, np.float32)
    results = []
    for i in range(4):
        host[:] = i
        results.append(f(host, 2.0))
    host[:] = -1
    for i, result in enumerate(results):
        np.testing.assert_array_equal(result, np.full(4, 2.0 * i))
    with pytest.raises(OverflowError):
        f(np.array([1 << 40]), 2)
    with pytest.raises(OverflowError):
        f(host, 1 << 40)


def test_a_negative_static_position_counts_from_the_end():
    f = jax.jit(lambda *xs: xs[0] * xs[-1], static_argnums=-1)
    for _ in range(3):
        assert float(f(jnp.float32(3), 2)) == 6
        assert float(f(jnp.float32(3), jnp.float32(7), 4)) == 12
