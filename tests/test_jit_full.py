"""`jit` in full: operands that are dropped or given away, programs compiled ahead, what
they cost, why there are so many."""

import functools
import gc
import warnings
import weakref

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp

X = jnp.arange(8.0)


def big(value=1.0):
    """An array that is computed, and large enough to be worth a program of its own."""
    return (jnp.zeros(1 << 16) + value).block_until_ready()


# ------------------------------------------------------------------- unused arguments


def test_unused_arguments_are_not_part_of_the_program():
    f = jax.jit(lambda x, y: x + 1)
    gone = jnp.ones(4)
    gone.delete()
    assert float(f(1.0, gone)) == 2.0
    host = np.ones(1 << 20, np.float32)
    before = jax.devices()[0].memory_stats()["bytes_in_use"]
    kept = f(X, host)
    assert jax.devices()[0].memory_stats()["bytes_in_use"] - before < host.nbytes
    del kept
    compiled = f.lower(X, host).compile()
    assert compiled.memory_analysis().argument_size_in_bytes == X.nbytes
    assert compiled.input_formats[0][1] is None
    assert compiled.input_shardings[0][0].device_set == {X.device}
    np.testing.assert_array_equal(compiled(X, host), X + 1)


def test_what_only_dead_code_reads_is_unused():
    def f(x, y):
        jnp.sin(y)
        return x + 1

    gone = jnp.ones(4)
    gone.delete()
    np.testing.assert_array_equal(jax.jit(f)(X, gone), X + 1)


def test_keep_unused_keeps_them():
    f = jax.jit(lambda x, y: x + 1, keep_unused=True)
    gone = jnp.ones(4)
    gone.delete()
    with pytest.raises(jax.errors.DeletedArrayError):
        f(1.0, gone)
    compiled = f.lower(X, X).compile()
    assert compiled.memory_analysis().argument_size_in_bytes == 2 * X.nbytes
    assert compiled.input_formats[0][1] is not None


def test_unused_arguments_stay_in_jaxprs_and_under_transformations():
    f = jax.jit(lambda x, y: x + 1)
    text = str(jax.make_jaxpr(lambda x, y: f(x, y))(1.0, 2.0))
    assert text.count("] a b") == 1
    _, y_bar = jax.grad(f, argnums=(0, 1))(1.0, 2.0)
    assert float(y_bar) == 0.0
    np.testing.assert_array_equal(jax.vmap(f)(X, X), X + 1)


def test_a_function_of_nothing_that_matters():
    f = jax.jit(lambda x: 3.0)
    assert float(f(X)) == 3.0 == float(f(np.ones(3)))
    assert f.lower(X).compile()(X) == 3.0


# ----------------------------------------------------------------------------- donation


def test_a_donated_array_gives_its_memory_rather_than_another_one():
    f = jax.jit(lambda x, y: jnp.sin(x) + y, donate_argnums=1)
    x, y = big(), big()
    place = y.unsafe_buffer_pointer()
    assert f(x, y).unsafe_buffer_pointer() == place
    assert y.is_deleted() and not x.is_deleted()
    assert f.lower(x, x).compile().memory_analysis().alias_size_in_bytes == x.nbytes


def test_the_error_names_the_line_that_donated():
    f = jax.jit(lambda x: x + 1, donate_argnums=0)
    x = big()
    f(x)
    with pytest.raises(
        jax.errors.DeletedArrayError,
        match=r"donated to `<lambda>` as `x` at .*test_jit_full",
    ):
        x + 1


def test_one_array_donated_twice_is_used_once():
    f = jax.jit(lambda x, p: (x + p["w"], x - p["w"]), donate_argnums=(0, 1))
    x = big()
    twice, zero = f(x, {"w": x})
    assert x.is_deleted()
    assert float(twice[0]) == 2.0 and float(zero[0]) == 0.0
    assert twice.unsafe_buffer_pointer() != zero.unsafe_buffer_pointer()


def test_donated_and_read_in_one_call():
    f = jax.jit(lambda x, y: x + 2 * y, donate_argnums=0)
    x = big()
    got = f(x, x)
    assert float(got[0]) == 3.0 and x.is_deleted()


def test_donation_that_no_result_can_use_says_why():
    f = jax.jit(lambda x, y: (jnp.sum(x) + y, x.astype(int)), donate_argnums=(0, 1))
    x = big()
    with pytest.warns(UserWarning) as caught:
        f(x, 1.0)
    (warning,) = caught
    words = str(warning.message)
    assert words.startswith("Some donated buffers were not usable")
    assert "`x`, float32[65536]: no result is float32[65536]" in words
    assert "results are float32[], int32[65536]" in words
    assert warning.filename == __file__
    assert not x.is_deleted()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f(x, 1.0)  # told once


def test_two_donations_for_one_result():
    f = jax.jit(lambda x, y: x + y, donate_argnums=(0, 1))
    with pytest.warns(UserWarning, match="`y`.*take the memory of other arguments"):
        f.lower(X, X)


def test_unused_donated_arguments_stay():
    f = jax.jit(lambda x, y: x + 1, donate_argnums=1)
    y = big()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f(y, y)
    assert not y.is_deleted()
    assert f.lower(y, y).args_info[0][1].donated


def test_donation_by_name_in_positional_and_keyword_calls():
    f = jax.jit(lambda x, y: (x + 1, y + 1), donate_argnames="y")
    for call in (lambda y: f(1.0, y), lambda y: f(1.0, y=y)):
        y = big()
        call(y)
        assert y.is_deleted()
    _, named = f.lower(1.0, y=X).args_info
    assert named["y"].donated


# ------------------------------------------------------------------- static arguments


def test_static_numbers_and_names_tell_each_other():
    def f(x, n=2, *, flag=False):
        assert isinstance(n, int) and isinstance(flag, bool)
        return x * n if flag else x + n

    by_name = jax.jit(f, static_argnames=("n", "flag"))
    assert float(by_name(1.0)) == 3.0
    assert float(by_name(1.0, 4)) == 5.0
    assert float(by_name(1.0, n=4, flag=True)) == 4.0
    by_number = jax.jit(lambda x, n=2: x + n, static_argnums=(1,))
    assert float(by_number(1.0)) == 3.0
    assert float(by_number(1.0, n=5)) == 6.0
    last = jax.jit(lambda x, n=2: x + n, static_argnums=-1)
    assert float(last(1.0, 3)) == 4.0 and float(last(1.0)) == 3.0


def test_static_arguments_are_not_given_to_the_compiled_function():
    compiled = jax.jit(lambda x, n: x**n, static_argnums=1).lower(2.0, 3).compile()
    assert float(compiled(2.0)) == 8.0
    with pytest.raises(TypeError, match="Static arguments are part of the compiled"):
        compiled(2.0, 3)


# ------------------------------------------------------- what can be given to jit


def test_methods_classes_partials_and_callables():
    class Model:
        def __init__(self, weight):
            self.weight = weight

        @functools.partial(jax.jit, static_argnames="power")
        def raised(weight, power=2):  # called on the class
            return weight**power

        @classmethod
        @jax.jit
        def from_class(cls, x):
            return x + 1

        @staticmethod
        @jax.jit
        def alone(x):
            return x + 2

        def method(self, x):
            return self.weight * x

        def __call__(self, x):
            return self.weight + x

    model = Model(3.0)
    assert float(Model.raised(2.0)) == 4.0
    assert float(Model.alone(1.0)) == 3.0 == float(model.alone(1.0))
    assert float(jax.jit(model.method)(2.0)) == 6.0
    assert float(jax.jit(model)(2.0)) == 5.0
    nested = functools.partial(functools.partial(lambda x, y, n: x + y + n, 1.0), n=2)
    assert float(jax.jit(nested)(3.0)) == 6.0
    assert float(jax.jit(jax.jit(lambda x: x))(3.0)) == 3.0
    with pytest.raises(TypeError, match="returned a value of type Model"):
        jax.jit(Model)(1.0)

    @jax.jit(donate_argnums=0, inline=True)
    def decorated(x):
        return x + 1

    assert float(decorated(1.0)) == 2.0


def test_arguments_with_a_broken_repr():
    class Broken:
        def __repr__(self):
            raise ValueError("no repr")

    with pytest.raises(TypeError, match="argument `x`.*Broken"):
        jax.jit(lambda x: x)(Broken())


def test_arguments_are_not_kept_alive():
    f = jax.jit(lambda x: x + 1)
    x = big()
    watch = weakref.ref(x)
    f(x).block_until_ready()
    del x
    gc.collect()
    assert watch() is None


# ------------------------------------------------------------------------- the stages


def mlp(params, x):
    for w in params:
        x = jnp.tanh(x @ w)
    return jnp.sum(x)


def test_what_lowered_functions_know():
    params = [jnp.ones((8, 8)), jnp.ones((8, 8))]
    lowered = jax.jit(mlp, donate_argnums=1).trace(params, jnp.ones((4, 8))).lower()
    assert lowered.in_tree.num_leaves == 3 and lowered.out_tree.num_leaves == 1
    assert lowered.out_info == jax.ShapeDtypeStruct((), "float32")
    assert lowered.args_info[0][0][0].shape == (8, 8)
    assert lowered.args_info[0][1].dtype == "float32"
    assert "stablehlo.dot_general" in lowered.as_text()
    assert "dot_general" in lowered.as_text(dialect="jaxpr")
    assert "test_jit_full.py" in lowered.as_text("jaxpr", debug_info=True)
    assert "test_jit_full.py" in lowered.as_text(debug_info=True)
    assert lowered.compiler_ir() == lowered.as_text()
    with pytest.raises(NotImplementedError, match="'stablehlo' and 'jaxpr'"):
        lowered.as_text("hlo")
    with pytest.raises(NotImplementedError, match="compiler_options"):
        lowered.compile(compiler_options={"opt": 1})


test_what_lowered_functions_know = pytest.mark.filterwarnings(
    "ignore:Some donated buffers"
)(test_what_lowered_functions_know)


def test_costs_are_counted_on_the_plan():
    x = jnp.ones((16, 16))
    cost = jax.jit(lambda x: x @ x + 1).lower(x).cost_analysis()
    assert cost["flops"] == 2 * 16**3 + 16**2
    assert cost["transcendentals"] == 0
    fused = jax.jit(lambda x: jnp.sum(jnp.sin(x) * 2 + x)).lower(x).compile()
    cost = fused.cost_analysis()
    assert cost["transcendentals"] == 256
    assert cost["flops"] == 256 + 256 + 255
    assert cost["bytes accessed"] == x.nbytes + 4  # nothing in between is written
    assert (
        cost == jax.jit(lambda x: jnp.sum(jnp.sin(x) * 2 + x)).lower(x).cost_analysis()
    )


def test_costs_of_loops_and_branches():
    def loop(x):
        return jax.lax.scan(lambda c, _: (c @ c, None), x, length=10)[0]

    x = jnp.ones((16, 16))
    assert jax.jit(loop).lower(x).cost_analysis()["flops"] == 10 * 2 * 16**3

    def branch(i, x):
        return jax.lax.cond(i, lambda x: x @ x, lambda x: x + 1, x)

    flops = jax.jit(branch).lower(True, x).cost_analysis()["flops"]
    assert 2 * 16**3 <= flops < 2 * 16**3 + 4  # and the index


def test_memory_is_that_of_the_plan():
    def f(x):
        y = x @ x
        return jnp.sum(y @ y)

    x = jnp.ones((64, 64))
    memory = jax.jit(f).lower(x).compile().memory_analysis()
    assert memory.argument_size_in_bytes == x.nbytes
    assert memory.output_size_in_bytes == 4
    assert memory.alias_size_in_bytes == 0
    assert memory.temp_size_in_bytes >= 2 * x.nbytes
    assert memory.generated_code_size_in_bytes > 0
    assert memory.peak_memory_in_bytes == x.nbytes + 4 + memory.temp_size_in_bytes
    assert "temp_size_in_bytes=" in repr(memory)


def test_compiled_functions_never_compile():
    @jax.jit
    def f(x, y):
        return x * y + jnp.flip(x)

    compiled = f.lower(X, 2.0).compile()
    with jax.see.compiles() as seen:
        np.testing.assert_array_equal(compiled(X, 3.0), X * 3 + X[::-1])
        compiled(X, jnp.float32(3))
        compiled(np.ones(8, np.float32), 3.0)
    ahead = jax.jit(lambda a, b: a + 2 * b).lower(X, X).compile()
    with jax.see.compiles() as again:
        result = ahead(X, X)
    np.testing.assert_array_equal(result, np.arange(8.0) * 3)
    assert [c for c in [*seen, *again] if "`" in c.reason] == []


def test_compiled_functions_close_over_arrays():
    table = jnp.arange(8.0)
    compiled = jax.jit(lambda x: x + table).lower(X).compile()
    np.testing.assert_array_equal(compiled(X), 2 * X)


def test_compiled_functions_can_take_memory_over():
    compiled = jax.jit(lambda x: x + 1, donate_argnums=0).lower(big()).compile()
    x = big()
    place = x.unsafe_buffer_pointer()
    assert compiled(x).unsafe_buffer_pointer() == place
    assert x.is_deleted()


def test_all_wrong_types_are_listed():
    compiled = jax.jit(lambda x, p: x + p["a"]).lower(X, {"a": X}).compile()
    with pytest.raises(TypeError) as caught:
        compiled(jnp.arange(3.0), {"a": jnp.arange(8)})
    words = str(caught.value)
    assert "`x`: compiled for float32[8], got float32[3]" in words
    assert "`p['a']`: compiled for float32[8], got int32[8]" in words
    with pytest.raises(TypeError, match="another structure"):
        compiled(X, {"b": X})


def test_compiled_functions_know_no_transformations():
    compiled = jax.jit(jnp.sin).lower(X).compile()
    for transform in (jax.jit, jax.vmap):
        with pytest.raises(TypeError, match="call the jitted function itself"):
            transform(lambda x: compiled(x))(X if transform is jax.jit else X[None])


def test_formats_and_devices():
    compiled = jax.jit(lambda x: {"y": x.T}).lower(jnp.ones((2, 3))).compile()
    assert compiled.output_formats["y"].layout.major_to_minor == (0, 1)
    assert compiled.output_shardings["y"].device_set == {X.device}
    assert compiled.runtime_executable() is compiled.executable
    assert compiled.as_text().count("define")
    assert "kernel" in compiled.as_text("plan")


# ----------------------------------------------------------- why something is compiled


def test_compilations_tell_why():
    def step(x, lr):
        return x - lr * jnp.cos(x) / 17

    f = jax.jit(step)
    (X + 0).block_until_ready()  # and whatever else is pending
    with jax.see.compiles() as seen:
        f(X, 0.1).block_until_ready()
        f(X, jnp.float32(0.1)).block_until_ready()
        f(X, np.ones(8, np.float32)).block_until_ready()
    assert [c.reason for c in seen] == [
        "`step`: first call",
        "`step`: argument `lr` was a Python float, now float32[]",
        "`step`: argument `lr` was float32[], now float32[8]",
    ]
    assert [t.reason for t in seen.traced] == [
        c.reason.removeprefix("`step`: ") for c in seen
    ]
    assert "because of `step`: first call" in str(seen)


def test_eager_code_tells_why_too():
    with jax.see.compiles() as seen:
        (jnp.cosh(X) * 31 - jnp.sinh(X) / 7).block_until_ready()
    if len(seen):
        assert "operations" in next(iter(seen)).reason


def test_python_numbers_of_other_kinds_and_widths():
    f = jax.jit(lambda x: x + 1)
    with jax.see.compiles() as seen:
        f(1)
        f(1.0)
        f(True)
        with jax.enable_x64(True):
            f(True)
            f(1.5)
    assert [t.reason for t in seen.traced][1:3] == [
        "argument `x` was a Python int, now a Python float",
        "argument `x` was a Python float, now a Python bool",
    ]


def test_at_most_so_many_compiles():
    @jax.jit(max_compiles=2)
    def f(x):
        return x + 1

    f(X)
    f(X)
    f(1.0)
    f(2.0)
    with pytest.raises(jax.errors.TooManyCompilesError) as caught:
        f(jnp.ones((2, 2)))
    words = str(caught.value)
    assert "3rd time, but max_compiles=2" in words
    assert "1. first call" in words
    assert "2. argument `x` was float32[8], now a Python float" in words
    assert "3. argument `x` was a Python float, now float32[2,2]" in words
    f(X)  # what is compiled goes on working
    for wrong in (0, True, "x"):
        with pytest.raises(ValueError, match="max_compiles"):
            jax.jit(lambda x: x, max_compiles=wrong)
