"""Indices out of range: warned of where they are known, errors where that is wanted."""

import re
import warnings

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax
from tetrad.errors import OutOfBoundsError, OutOfBoundsWarning
from tetrad.experimental import checkify

X = np.arange(5.0, dtype=np.float32)
LAST = 4.0


def same(got, expected):
    np.testing.assert_array_equal(np.asarray(got), expected)


def pick(x, i):
    return x[i]


# ------------------------------------------------------------------- warnings where known

KNOWN = {
    "int": (lambda x: x[7], LAST),
    "negative": (lambda x: x[-9], 0.0),
    "tuple": (lambda x: x[None, 7], [LAST]),
    "numpy": (lambda x: x[np.array([1, 7])], [1.0, LAST]),
    "numpy scalar": (lambda x: x[np.int64(7)], LAST),
    "array": (lambda x: x[jnp.array([1, 7])], [1.0, LAST]),
    "scalar array": (lambda x: x[jnp.array(7)], LAST),
    "with a slice": (lambda x: x[None][0:1, jnp.array([-6])], [[0.0]]),
    "get": (lambda x: x.at[7].get(), LAST),
    "set": (lambda x: x.at[7].set(9.0), X),
    "add": (lambda x: x.at[jnp.array([0, 7])].add(9.0), [9, 1, 2, 3, 4]),
    "subtract": (lambda x: x.at[np.array([0, 7])].subtract(1.0), [-1, 1, 2, 3, 4]),
    "power": (lambda x: x.at[7].power(2.0), X),
    "take": (lambda x: jnp.take(x, jnp.array([1, 7])), [1, np.nan]),
    "method take": (lambda x: x.take(jnp.array([1, 7])), [1, np.nan]),
    "take_along_axis": (
        lambda x: jnp.take_along_axis(x, jnp.array([1, 7]), 0),
        [1, np.nan],
    ),
    "put_along_axis": (
        lambda x: jnp.put_along_axis(x, jnp.array([7]), 9.0, 0, inplace=False),
        X,
    ),
    "put": (lambda x: jnp.put(x, jnp.array([7]), 9.0, inplace=False), [0, 1, 2, 3, 9]),
}


@pytest.mark.parametrize("name", KNOWN)
def test_a_known_index_is_warned_of_and_then_taken_as_jax_does(name):
    program, expected = KNOWN[name]
    for _ in range(4):  # by plan, too
        x = jnp.asarray(X).block_until_ready()
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            same(program(x), expected)
        if not _:
            assert [w.category for w in seen] == [OutOfBoundsWarning], seen
            assert seen[0].filename == __file__
            assert re.search(
                r"(7|-9|-6) is out of range for axis \d", str(seen[0].message)
            )
            assert "mode=" in str(seen[0].message)
        else:
            assert not seen  # once for each place
    with jax.bounds("off"):
        same(program(jnp.asarray(X)), expected)
    with jax.bounds("ignore"):
        same(program(jnp.asarray(X)), expected)
    with jax.bounds("error"), pytest.raises(OutOfBoundsError, match="of extent 5"):
        program(jnp.asarray(X))


SAID = {
    "get": lambda x, i: x.at[i].get(mode="clip"),
    "fill": lambda x, i: x.at[i].get(mode="fill", fill_value=-1.0),
    "promise": lambda x, i: x.at[i].get(mode="promise_in_bounds"),
    "set": lambda x, i: x.at[i].set(1.0, mode="drop"),
    "clip": lambda x, i: x.at[i].add(1.0, mode="clip"),
    "take": lambda x, i: jnp.take(x, i, mode="wrap"),
    "take fill": lambda x, i: jnp.take(x, i, mode="fill"),
    "along": lambda x, i: jnp.take_along_axis(x, jnp.ravel(i), 0, mode="clip"),
    "put": lambda x, i: jnp.put(x, i, 1.0, mode="clip", inplace=False),
    "segment": lambda x, i: jax.ops.segment_sum(x[:1], jnp.ravel(i), 5, mode="drop"),
    "clipped": lambda x, i: x[jnp.clip(i, 0, 4)],
}


@pytest.mark.parametrize("setting", ["warn", "error"])
@pytest.mark.parametrize("name", SAID)
def test_whoever_says_what_is_meant_is_not_told(name, setting):
    program = SAID[name]
    with jax.bounds(setting):
        for i in (7, np.array([7]), jnp.array([7]).block_until_ready()):
            program(jnp.asarray(X), i)
            jax.jit(program)(X, i)


def test_what_is_inside_is_silent():
    x = jnp.asarray(X)
    for setting in ("warn", "error"):
        with jax.bounds(setting):
            for i in (4, -5, jnp.array([4, -5]), np.array([4, -5]), jnp.zeros(0, int)):
                pick(x, i)
                jax.jit(pick)(x, i)
                x.at[i].set(0.0)
            x[jnp.array([4], "uint8")]
            x[jnp.array([-5], "int8")]
            x[x > 1]
            assert [float(v) for v in x] == X.tolist()


def test_what_is_pending_is_not_waited_for():
    x = jnp.asarray(X)
    same(x[jnp.arange(8)[7:]], [LAST])


def test_two_axes_are_told_apart():
    x = jnp.zeros((2, 3))
    with jax.bounds("error"):
        with pytest.raises(
            OutOfBoundsError, match="index 5 is out of range for axis 1"
        ):
            x[1, jnp.array(5)]
        with pytest.raises(
            OutOfBoundsError, match="index -3 is out of range for axis 0"
        ):
            jax.jit(lambda i, j: x[i, j])(-3, 9)
        with pytest.raises(
            OutOfBoundsError, match="index 9 is out of range for axis 1"
        ):
            jax.jit(lambda i, j: x[i, j])(-2, 9)


# ------------------------------------------------------------------------------- compiled


def loop(x, n):
    return lax.fori_loop(0, n, lambda i, total: total + x[i], 0.0)


def scanned(x, indices):
    return lax.scan(lambda c, i: (c + x[i], c), 0.0, indices)[0]


def chosen(x, yes, i):
    return lax.cond(yes, lambda i: x[i] * 2, lambda i: 0.0, i)


@jax.custom_vjp
def doubled(x, i):
    return 2 * x[i]


doubled.defvjp(
    lambda x, i: (2 * x[i], i),
    lambda i, ct: (jnp.zeros(5).at[i].add(2 * ct), None),
)


@jax.custom_jvp
def tripled(x, i):
    return 3 * x[i]


tripled.defjvp(
    lambda primals, tangents: (tripled(*primals), 3 * tangents[0][primals[1]])
)

COMPILED = {
    "jit": lambda x, i: jax.jit(pick)(x, i),
    "nested jit": lambda x, i: jax.jit(lambda x, i: jax.jit(pick)(x, i) + 1)(x, i),
    "jit of arrays": lambda x, i: jax.jit(pick)(x, jnp.array([0, i])),
    "jit set": lambda x, i: jax.jit(lambda x, i: x.at[i].set(1.0))(x, i),
    "jit multiply": lambda x, i: jax.jit(lambda x, i: x.at[i].multiply(2.0))(x, i),
    "vmap": lambda x, i: jax.vmap(pick, (None, 0))(x, jnp.array([0, i])),
    "jit vmap": lambda x, i: jax.jit(jax.vmap(pick, (None, 0)))(x, jnp.array([0, i])),
    "vmap jit": lambda x, i: jax.vmap(jax.jit(pick), (None, 0))(x, jnp.array([0, i])),
    "vmap vmap": lambda x, i: jax.vmap(jax.vmap(pick, (None, 0)), (None, 0))(
        x, jnp.array([[0, i]])
    ),
    "grad": lambda x, i: jax.grad(pick)(x, i),
    "grad jit": lambda x, i: jax.grad(jax.jit(pick))(x, i),
    "jit grad": lambda x, i: jax.jit(jax.grad(pick))(x, i),
    "jvp": lambda x, i: jax.jvp(lambda x: x[jnp.array(i)], (x,), (x,)),
    "jacfwd": lambda x, i: jax.jacfwd(pick)(x, i),
    "vmap grad": lambda x, i: jax.vmap(jax.grad(pick), (None, 0))(x, jnp.array([0, i])),
    "scan": lambda x, i: scanned(x, jnp.array([0, i])),
    "jit scan": lambda x, i: jax.jit(scanned)(x, jnp.array([0, i])),
    "grad scan": lambda x, i: jax.grad(scanned)(x, jnp.array([0, i])),
    "vmap scan": lambda x, i: jax.vmap(scanned, (None, 0))(x, jnp.array([[0, i]])),
    "cond": lambda x, i: chosen(x, jnp.array(True), i),
    "jit cond": lambda x, i: jax.jit(chosen)(x, True, i),
    "vmap cond": lambda x, i: jax.vmap(chosen, (None, 0, 0))(
        x, jnp.array([True, False]), jnp.array([i, 0])
    ),
    "grad cond": lambda x, i: jax.grad(chosen)(x, True, i),
    "switch": lambda x, i: jax.jit(
        lambda n, i: lax.switch(n, [lambda i: 0.0, lambda i: x[i]], i)
    )(1, i),
    "fori_loop": lambda x, i: loop(x, i + 1),
    "jit fori_loop": lambda x, i: jax.jit(loop)(x, i + 1),
    "vmap fori_loop": lambda x, i: jax.vmap(loop, (None, 0))(x, jnp.array([2, i + 1])),
    "checkpoint": lambda x, i: jax.checkpoint(lambda x: jnp.sin(x[jnp.array(i)]))(x),
    "grad checkpoint": lambda x, i: jax.grad(
        jax.checkpoint(lambda x, i: jnp.sin(x[i]))
    )(x, i),
    "custom_vjp": lambda x, i: jax.jit(doubled)(x, i),
    "grad custom_vjp": lambda x, i: jax.grad(doubled)(x, i),
    "grad jit custom_vjp": lambda x, i: jax.grad(jax.jit(doubled))(x, i),
    "custom_jvp": lambda x, i: jax.jit(tripled)(x, i),
    "grad custom_jvp": lambda x, i: jax.grad(tripled)(x, i),
    "ahead of time": lambda x, i: jax.jit(pick).lower(x, i).compile()(x, i),
    "donated": lambda x, i: jax.jit(lambda x, i: x.at[i].add(1.0), donate_argnums=0)(
        x + 1, i
    ),
    "map": lambda x, i: lax.map(lambda i: x[i], jnp.array([0, i])),
    "take": lambda x, i: jax.jit(jnp.take)(x, i),
    "along": lambda x, i: jax.jit(lambda x, i: jnp.take_along_axis(x, i, 0))(
        x, jnp.array([i])
    ),
    "segment_sum": lambda x, i: jax.jit(lambda x, i: jax.ops.segment_sum(x, i, 5))(
        x, jnp.full(5, i)
    ),
    "dynamic_index": lambda x, i: jax.jit(lax.dynamic_index_in_dim)(x, i),
    "dynamic_update": lambda x, i: jax.jit(
        lambda x, i: lax.dynamic_update_index_in_dim(x, 1.0, i, 0)
    )(x, i),
    "gather": lambda x, i: jax.jit(
        lambda x, i: lax.gather(
            x, i, lax.GatherDimensionNumbers((), (0,), (0,)), slice_sizes=(1,)
        )
    )(x, jnp.array([[i]])),
    "scatter": lambda x, i: jax.jit(
        lambda x, i: lax.scatter_add(
            x, i, x[:1], lax.ScatterDimensionNumbers((), (0,), (0,))
        )
    )(x, jnp.array([[i]])),
}


@pytest.mark.parametrize("name", COMPILED)
def test_errors_come_out_of_compiled_programs(name):
    program = COMPILED[name]
    x = jnp.asarray(X)
    expected = program(x, 3)
    with jax.bounds("error"):
        inside = program(x, 3)
        for got, wanted in zip(jax.tree.leaves(inside), jax.tree.leaves(expected)):
            same(got, np.asarray(wanted))
        for _ in range(3):
            with pytest.raises(OutOfBoundsError, match="axis 0 of extent 5") as told:
                program(x, 5)
            assert "test_bounds.py:" in str(told.value)
            assert re.search(r"index 5 ", str(told.value))
    with jax.bounds("off"):
        program(x, 5)


def test_what_is_not_done_is_no_error():
    x = jnp.asarray(X)
    with jax.bounds("error"):
        same(chosen(x, jnp.array(False), 9), 0)
        same(
            jax.vmap(chosen, (None, 0, 0))(
                x, jnp.array([True, False]), jnp.array([1, 9])
            ),
            [2, 0],
        )
        same(jax.vmap(loop, (None, 0))(x, jnp.array([2, 5])), [1, 10])


def test_windows_that_would_be_moved():
    x = jnp.asarray(X)
    with jax.bounds("error"):
        same(lax.dynamic_slice(x, (2,), (3,)), X[2:])
        same(lax.dynamic_slice(x, (-3,), (3,)), X[2:])
        same(jax.jit(lambda s: lax.dynamic_slice(x, (s,), (3,)))(-3), X[2:])
        for start in (3, -2):
            with pytest.raises(OutOfBoundsError, match="a window of 3 from index 3"):
                lax.dynamic_slice(x, (start,), (3,))
            with pytest.raises(OutOfBoundsError, match=r"jnp\.clip\(start, 0, 2\)"):
                jax.jit(lambda s: lax.dynamic_slice(x, (s,), (3,)))(start)
        with pytest.raises(OutOfBoundsError, match="a window of 2 from index 4"):
            jax.jit(lambda s: lax.dynamic_update_slice(x, x[:2], (s,)))(4)
    same(lax.dynamic_slice(x, (3,), (3,)), X[2:])  # moved, without a word


def test_rows_of_no_segment_are_no_mistake_unless_asked():
    x = jnp.asarray(X)
    ids = jnp.array([0, 1, 1, 2, 9]).block_until_ready()
    same(jax.ops.segment_sum(x, ids, 3), [0, 3, 3])
    with jax.bounds("error"), pytest.raises(OutOfBoundsError, match='mode="drop"'):
        jax.ops.segment_sum(x, ids, 3)


def test_the_message_of_an_error():
    x = jnp.asarray(X)
    with jax.bounds("error"), pytest.raises(IndexError) as told:
        jax.jit(lambda x, place: x[place])(x, 7)
    text = str(told.value)
    assert text.startswith(
        "x[place]: index 7 is out of range for axis 0 of extent 5 (shape (5,)). Where"
        ' that is meant, x.at[place].get(mode="clip") reads the nearest element'
    )
    assert "test_bounds.py:" in text


def test_settings():
    assert jax.config.tetrad_bounds == "warn"
    with jax.bounds("ignore"):
        assert jax.config.tetrad_bounds == "off"
    with pytest.raises(ValueError, match="must be one of"):
        jax.bounds("loud")
    jax.config.update("tetrad_bounds", "error")
    try:
        with pytest.raises(OutOfBoundsError):
            jax.jit(pick)(X, 9)
    finally:
        jax.config.update("tetrad_bounds", "warn")
    jax.jit(pick)(X, 9)


@jax.bounds("error")
def test_a_decorated_function():
    with pytest.raises(OutOfBoundsError):
        jax.jit(pick)(X, 9)


def test_static_indices_may_be_checked_as_in_jax():
    x = jnp.asarray(X)
    jax.config.update("jax_check_static_indices", True)
    try:
        with pytest.raises(IndexError, match="index 7 out of bounds for axis 0"):
            x[7]
    finally:
        jax.config.update("jax_check_static_indices", False)


def test_an_axis_without_elements_is_an_error_in_any_case():
    with jax.bounds("off"), pytest.raises(IndexError, match="size 0"):
        jnp.zeros((0, 3))[0]


@pytest.mark.parametrize("setting", ["warn", "error"])
def test_no_index_is_no_mistake_even_where_nothing_is(setting):
    none = jax.block_until_ready(jnp.zeros(0, "int32"))
    with warnings.catch_warnings(), jax.bounds(setting):
        warnings.simplefilter("error")
        assert jnp.zeros((0, 3))[none].shape == (0, 3)
        assert jnp.zeros((0, 3)).at[none].set(1.0).shape == (0, 3)


def test_checkify_has_its_own_checks():
    x = jnp.asarray(X)
    with jax.bounds("off"):
        error, value = checkify.checkify(pick, errors=checkify.index_checks)(x, 9)
    assert "index 9 is out of bounds" in error.get()
    with jax.bounds("error"):
        with pytest.raises(OutOfBoundsError):
            checkify.checkify(pick)(x, 9)
        error, value = checkify.checkify(pick)(x, 3)
        assert error.get() is None
        same(value, 3)


def test_a_jaxpr_shows_what_must_hold():
    with jax.bounds("error"):
        assert "in_bounds" in str(jax.make_jaxpr(pick)(X, 1))
    assert "in_bounds" not in str(jax.make_jaxpr(pick)(X, 1))


def test_keys_are_still_counted_once():
    key = jax.random.key(3)
    with jax.bounds("error"), jax.key_check("error"):
        jax.jit(lambda k, i: jax.random.normal(k, (3,))[i])(key, 1)
        with pytest.raises(jax.errors.KeyReuseError):
            jax.random.normal(key)


def test_derivatives_of_loops_that_read():
    x = jnp.asarray(X)
    with jax.bounds("error"):
        same(jax.grad(loop)(x, 5), np.ones(5))
        step = jax.jit(lambda x, i: x[i])

        def total(x):
            return lax.fori_loop(0, 4, lambda i, t: t + step(x, i), 0.0)

        same(jax.grad(total)(x), [1, 1, 1, 1, 0])
        same(jax.jvp(total, (x,), (x,))[1], 6)


def test_slices_filled_beyond_what_there_is_are_meant():
    x = jnp.arange(3.0)
    with jax.bounds("error"):
        assert jnp.compress(x > 1, x, size=5, fill_value=7).tolist() == [2, 7, 7, 7, 7]
        assert jax.jit(lambda x: jnp.extract(x > 1, x, size=5))(x).shape == (5,)
