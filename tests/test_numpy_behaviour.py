"""How NumPy's functions behave beyond their values: programs, plans, words of errors."""

import doctest
import inspect

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp

X = np.arange(12, dtype="float32").reshape(3, 4)


def program(function, *args):
    return str(jax.make_jaxpr(function)(*args))


# ------------------------------------------------------------------------------ programs


def test_a_row_is_broadcast_once_and_numbers_stay_literals():
    x, y = jnp.asarray(X), jnp.ones(4)
    assert program(lambda x, y: x + y, x, y) == (
        "{ lambda ; a:f32[3,4] b:f32[4]. let\n"
        "    c:f32[3,4] = broadcast_in_dim[broadcast_dimensions=(1,)] b\n"
        "    d:f32[3,4] = add a c\n"
        "  in (d,) }"
    )
    want = "{ lambda ; a:f32[3,4]. let b:f32[3,4] = add a 1.0:f32[] in (b,) }"
    assert program(lambda x: x + 1, x) == want
    assert program(lambda x: x + 1.0, x) == want
    assert "add a 1:i32[]" in program(lambda x: x + 1, jnp.arange(3))
    assert "integer_pow[y=2] a" in program(lambda x: x**2, x)
    assert "pow a 2.0:f32[]" in program(lambda x: x**2.0, x)


def test_a_mean_is_a_sum_and_a_division():
    text = program(lambda x: x.mean(), jnp.asarray(X))
    assert "reduce_sum[axes=(0, 1) out_sharding=None] a" in text
    assert "div b 12.0:f32[]" in text


def test_an_index_is_static_in_a_program_and_an_argument_outside():
    x = jnp.asarray(X)
    text = program(lambda x: x[1], x)
    assert "slice[limit_indices=(2, 4) start_indices=(1, 0) strides=None] a" in text
    assert "squeeze[dimensions=(0,)]" in text
    for i in range(3):
        for j in range(4):
            assert x[i, j] == X[i, j]
            assert x[i - 3, j - 4] == X[i, j]


def test_a_masked_update_is_a_choice_even_where_the_mask_is_traced():
    x, mask = jnp.asarray(X), jnp.asarray(X > 5)
    text = program(lambda x, m: x.at[m].set(0.0), x, mask)
    assert "select_n b a 0.0:f32[]" in text
    got = jax.jit(lambda x, m: x.at[:, m].add(1.0))(x, mask[1])
    np.testing.assert_array_equal(got, X + (X > 5)[1])


# ---------------------------------------------------------------------------------- plans


@pytest.mark.parametrize(
    "function",
    [
        lambda x: jnp.sum(x, axis=0),
        lambda x: jnp.mean(x, keepdims=True),
        lambda x: x[1],
        lambda x: x[:, 1:3],
        lambda x: x[jnp.array([0, 2])],
        lambda x: x.at[1].set(7.0),
        lambda x: x.at[jnp.array([0, 0])].add(1.0),
        lambda x: x @ x.T,
        lambda x: jnp.where(x > 3, x, 0),
        lambda x: x + x[0],
        lambda x: jnp.einsum("ij,kj->ik", x, x),
        lambda x: jnp.var(x, axis=1),
        lambda x: jnp.sort(x, axis=0),
        lambda x: x**3 - x % 2,
    ],
)
def test_a_planned_call_is_the_same_everywhere(function):
    x = jnp.asarray(X)
    want = np.asarray(function(x))
    for _ in range(3):
        np.testing.assert_array_equal(function(x), want)
        np.testing.assert_array_equal(jax.jit(function)(x), want)
        lanes = jax.vmap(function)(jnp.stack([x, x]))
        np.testing.assert_allclose(lanes, np.stack([want, want]), rtol=1e-6)
        slope = jax.grad(lambda x: (function(x) ** 2).sum())(x)
        assert slope.shape == x.shape


def test_one_and_one_point_zero_and_true_have_different_plans():
    x = jnp.asarray(X)
    for _ in range(3):
        assert jnp.max(x, initial=100).dtype == np.float32
        assert jnp.sum(x, 1).shape == (3,)
        with pytest.raises(TypeError):
            jnp.sum(x, 1.0)
        with pytest.raises(TypeError):
            jnp.zeros(3.0)
        assert jnp.zeros(3).shape == (3,)


def test_plans_do_not_outlive_the_width_of_numbers():
    for _ in range(3):
        assert jnp.sum(jnp.ones(3, bool)).dtype == np.int32
        assert (jnp.ones(3) + 1.0).dtype == np.float32
        with jax.enable_x64(True):
            assert jnp.sum(jnp.ones(3, bool)).dtype == np.int64
            assert (jnp.ones(3) + 1.0).dtype == np.float64


# --------------------------------------------------------------------------------- numbers


def test_integers_that_do_not_fit_are_refused():
    for wrong in (
        lambda: jnp.arange(3) + 300_000_000_000,
        lambda: jnp.arange(3, dtype="int8") + 300,
        lambda: jnp.array([1, 2**40]),
        lambda: jnp.asarray(np.array([2**40])),
        lambda: jnp.uint8(-1),
    ):
        with pytest.raises(OverflowError):
            wrong()
    assert (jnp.uint32(1) & 0xFFFFFFFF) == 1
    with jax.enable_x64(True):
        assert jnp.asarray(np.array([2**40])).dtype == np.int64


def test_an_array_does_not_change_with_the_host_array_it_was_made_of():
    host = X.copy()
    x = jnp.asarray(host)
    host[0, 0] = 99
    assert x[0, 0] == 0


def test_integer_powers_of_integers():
    base = np.array([3, -1, 1, 0, -2, 7], "int32")
    power = np.array([13, 101, 77, 0, 31, 64], "int32")
    np.testing.assert_array_equal(jnp.asarray(base) ** jnp.asarray(power), base**power)


def test_keys_are_indexed_joined_and_compared_but_not_added():
    keys = jax.random.split(jax.random.key(0), 4)
    assert keys[0].shape == ()
    assert keys[jnp.array([0, 2])].shape == (2,)
    assert jnp.stack([keys, keys]).shape == (2, 4)
    assert keys.at[0].set(keys[1]).shape == (4,)
    assert jnp.zeros_like(keys).dtype == keys.dtype
    np.testing.assert_array_equal(keys == keys[0], [True, False, False, False])
    for wrong in (
        lambda: keys + 1,
        lambda: jnp.sum(keys),
        lambda: keys.astype(int),
    ):
        with pytest.raises((TypeError, ValueError), match="random keys"):
            wrong()


# ---------------------------------------------------------------------------------- errors


def test_an_assignment_is_rewritten_in_the_words_of_the_user():
    x = jnp.asarray(X)
    with pytest.raises(TypeError, match=r"x = x\.at\[0, 1\]\.set\(3\)"):
        x[0, 1] = 3
    with pytest.raises(TypeError, match=r"x = x\.at\[0\]\.add\(3\)"):
        x[0] += 3


def test_messages_name_shapes_and_what_to_write():
    a, b = jnp.ones((3, 2)), jnp.ones((3, 2))
    with pytest.raises(
        TypeError, match=r"a @ b.*float32\[3,2\].*did you mean a @ b\.T\?"
    ):
        a @ b
    with pytest.raises(ValueError, match=r"a \+ c.*c\[:, None\]"):
        c = jnp.ones(3)
        a + c
    with jax.bounds("error"):
        with pytest.raises(IndexError, match="index 5 is out of range for axis 0"):
            a[5]
        with pytest.raises(IndexError, match="index 2 is out of range for axis 1"):
            a.at[0, 2].set(1)
    with pytest.raises(TypeError, match=r"jnp\.array"):
        jnp.sum([1, 2])
    with pytest.raises(IndexError, match=r"dynamic_slice_in_dim"):
        jax.jit(lambda x, n: x[:n])(a, 1)
    with pytest.raises(jax.errors.NonConcreteBooleanIndexError, match=r"jnp\.where"):
        jax.jit(lambda x, m: x[m])(c, c > 0)
    with pytest.raises(ValueError, match="needs at least 2 axes"):
        c.mT


# ----------------------------------------------------------------------------------- docs


def documented():
    seen = set()
    for module in (jnp, jnp.linalg):
        for name, found in sorted(vars(module).items()):
            ours = (getattr(found, "__module__", "") or "").startswith("tetrad")
            if name.startswith("_") or not ours or not callable(found):
                continue
            if inspect.isclass(found) or id(found) in seen:
                continue
            seen.add(id(found))
            yield pytest.param(found, id=name)


@pytest.mark.parametrize("function", list(documented()))
def test_every_function_has_an_example_that_runs(function):
    text = function.__doc__
    assert text and ">>>" in text
    example = doctest.DocTestParser().get_doctest(text, {}, "example", None, None)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(example)
    assert runner.summarize(verbose=False).failed == 0


def test_empty_slices_beside_integers_can_be_read_again_and_again():
    x = jnp.arange(12).reshape(3, 4)
    for index in ((0, slice(1, 1)), (slice(2, 1), -1), (1, slice(4, None))):
        for _ in range(3):  # seen, planned, and by plan
            assert x[index].shape == (0,)
            np.testing.assert_array_equal(x.at[index].set(7), x)
