"""Updates without copies: what is in place, what is told about copies, what forbids them."""

import pathlib
import re

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax

N = 100_000
BYTES = 4 * N


def ledger():
    return jax.devices("cpu")[0].ledger


def fresh(n=N):
    return (jnp.arange(n) % 7 + 1.0).block_until_ready()


class Counted:
    """Allocations of whole arrays, and copies, in a block."""

    def __enter__(self):
        self.total, self.copies = ledger().total, ledger().copies
        return self

    def __exit__(self, *error):
        self.bytes = ledger().total - self.total
        self.copied = ledger().copies - self.copies


# ------------------------------------------------------------------------ always counted


def test_copies_are_always_counted():
    x = fresh()
    before = ledger().copies, ledger().copied
    x = x.at[0].set(1)
    x.block_until_ready()
    assert (ledger().copies, ledger().copied) == before
    old = x
    x = x.at[0].set(1)
    x.block_until_ready()
    assert (ledger().copies, ledger().copied) == (before[0] + 1, before[1] + BYTES)
    assert float(old[3]) == 4


# ----------------------------------------------------------------------------- no_copies


def test_no_copies_names_the_update_and_the_holder():
    x = fresh()
    b = x
    with pytest.raises(jax.errors.CopyError) as caught, jax.no_copies():
        x = x.at[0].set(5.0)  # the update
    words = str(caught.value)
    lines = pathlib.Path(__file__).read_text().splitlines()
    update = next(n for n, s in enumerate(lines, 1) if s.endswith("# the update"))
    assert f"test_copies.py:{update}: the update `x.at[0].set(5.0)` would copy" in words
    assert re.search(rf"held by `b` at \S*test_copies.py:{update - 2}\.", words)
    assert "float32[100000]" in words and "390.6 KiB" in words and "del b" in words
    # Nothing is lost: the old array, and the update, which now may copy.
    assert float(b[0]) == 1 and float(x[0]) == 5


def test_after_letting_go_the_same_update_works():
    x = fresh()
    b = x
    with pytest.raises(jax.errors.CopyError), jax.no_copies():
        x = x.at[0].set(5.0)
    place = b.unsafe_buffer_pointer()
    del b
    with jax.no_copies():
        assert float(x[0]) == 5
    assert x.unsafe_buffer_pointer() == place


def test_the_error_comes_where_a_value_is_needed():
    x = fresh()
    b = x
    reached = []
    with pytest.raises(jax.errors.CopyError), jax.no_copies():
        x = x.at[0].set(5.0)
        reached.append(1)
        float(x[0])
        reached.append(2)
    assert reached == [1] and float(b[0]) == 1


def test_what_was_recorded_before_the_block_may_copy():
    x = fresh()
    b = x
    x = x.at[0].set(5.0)
    with jax.no_copies():
        assert float(x[0]) == 5 and float(b[0]) == 1


def test_after_the_block_updates_may_copy_again():
    x = fresh()
    with jax.no_copies():
        x = x.at[0].set(5.0)
    b = x
    x = x.at[0].set(6.0)
    assert float(x[0]) == 6 and float(b[0]) == 5


def test_an_exception_in_the_block_passes():
    x = fresh()
    b = x
    with pytest.raises(ZeroDivisionError), jax.no_copies():
        x = x.at[0].set(5.0)
        1 / 0
    assert float(x[0]) == 5 and float(b[0]) == 1


def holders_named(hold):
    x = fresh()
    kept = hold(x)
    with pytest.raises(jax.errors.CopyError) as caught, jax.no_copies():
        x = x.at[0].set(5.0)
        x.block_until_ready()
    del kept
    return str(caught.value)


class Model:
    pass


def test_holders_of_all_kinds_are_named():
    model = Model()

    def keep(x):
        model.state = x

    assert "`kept['a'][1]`" in holders_named(lambda x: {"a": [0, x]})
    assert "the NumPy view `kept` at" in holders_named(np.asarray)
    assert "the NumPy view `kept` at" in holders_named(lambda x: np.asarray(x)[3:])
    assert "the attribute `state` of a Model" in holders_named(keep)
    assert "`kept` at" in holders_named(lambda x: jax.device_put(x, x.device))


def test_masks_and_scatters_are_checked():
    index = jnp.array([1, 2])
    for update in (
        lambda x: x.at[x > 3].set(0),
        lambda x: x.at[index].add(1),
        lambda x: x.at[::2].multiply(2),
        lambda x: lax.dynamic_update_slice(x, jnp.ones(3), (4,)),
    ):
        x = fresh()
        want = np.asarray(update(x))
        with pytest.raises(jax.errors.CopyError, match="`b`"):
            b = x
            with jax.no_copies():
                x = update(x)
        del b
        with jax.no_copies():
            x.block_until_ready()
        np.testing.assert_array_equal(x, want)


def test_expressions_are_no_updates():
    x = fresh()
    with jax.no_copies():
        y = x + 1
        z = x.at[:].add(1)
        assert float(y[0]) == 2 == float(z[0])


def test_jit_needs_donation():
    x = fresh()
    f = jax.jit(lambda x: x.at[0].add(1))
    donation = pytest.raises(jax.errors.CopyError, match="donate_argnums")
    with donation, jax.no_copies():
        f(x)
    assert float(x[0]) == 1
    g = jax.jit(lambda x: x.at[0].add(1), donate_argnums=0)
    place = x.unsafe_buffer_pointer()
    with jax.no_copies():
        x = g(x)
    assert float(x[0]) == 2 and x.unsafe_buffer_pointer() == place


def test_a_program_that_needs_the_old_array_says_where():
    x = fresh()
    again = r"needed again at .*`x = x \+ y`"
    with pytest.raises(jax.errors.CopyError, match=again), jax.no_copies():
        y = x.at[0].set(5.0)
        x = x + y
    assert float(x[0]) == 6


def test_loops():
    x = fresh()
    loop = jax.jit(
        lambda x: lax.fori_loop(0, 10, lambda i, c: c.at[i].set(0.0), x),
        donate_argnums=0,
    )
    with jax.no_copies():
        x = loop(x)
    with pytest.raises(jax.errors.CopyError, match="jit"), jax.no_copies():
        lax.fori_loop(0, 10, lambda i, c: c.at[i].set(0.0), x)
    assert float(x.sum()) == float(fresh()[10:].sum())


def test_as_a_decorator_and_as_a_setting():
    x = fresh()
    b = x

    @jax.no_copies()
    def update(x):
        return x.at[0].set(5.0)

    with pytest.raises(jax.errors.CopyError):
        update(x)
    jax.config.update("tetrad_no_copies", True)
    try:
        assert jax.no_copies.value is True
        with jax.no_copies(False):
            y = b.at[0].set(7.0)
        assert float(y[0]) == 7
        with pytest.raises(jax.errors.CopyError):
            b.at[0].set(7.0).block_until_ready()
    finally:
        jax.config.update("tetrad_no_copies", False)
    assert float(x[0]) == 1


def test_small_arrays_are_checked_too():
    x = jnp.zeros(3)
    b = x
    with pytest.raises(jax.errors.CopyError, match="`b`"), jax.no_copies():
        x = x.at[0].set(1)
        x.tolist()
    assert b.tolist() == [0, 0, 0] and x.tolist() == [1, 0, 0]


def test_looking_for_holders_holds_nothing():
    x = fresh()
    b = x
    with pytest.raises(jax.errors.CopyError), jax.no_copies():
        x = x.at[0].set(5.0)
    in_use = jax.devices("cpu")[0].memory_stats
    before = in_use()["bytes_in_use"]
    del x, b
    assert in_use()["bytes_in_use"] == before - BYTES


# ------------------------------------------------------------------------------ see.copies


def test_see_copies_lists_lines_bytes_and_holders():
    x = fresh()
    with jax.see.copies() as seen:
        for i in range(3):
            old = x
            x = x.at[i].add(1)
            view = np.asarray(x)
            x = x.at[i].set(0)
    assert len(seen) == 6 and seen.bytes == 6 * BYTES
    first, second = seen
    assert (first.count, first.bytes) == (3, 3 * BYTES)
    assert first.text == "x = x.at[i].add(1)" and "`old` at" in first.holders[0]
    assert "the NumPy view `view`" in second.holders[0]
    assert "1.1 MiB    3 copies" in str(seen) and "6 copies" in str(seen)
    assert float(old[0]) == 0 and view.shape == (N,)


def test_see_copies_of_nothing():
    x = fresh()
    with jax.see.copies() as seen:
        x = x.at[0].add(1)
    assert len(seen) == 0 and str(seen) == "no update copied its array"


def test_lines_are_right_when_a_program_is_shared():
    x = fresh()
    with jax.see.copies() as seen:
        a = x.at[0].add(1)
        a.block_until_ready()
        b = x.at[0].add(1)
        b.block_until_ready()
    assert [line.text for line in seen] == ["a = x.at[0].add(1)", "b = x.at[0].add(1)"]


# -------------------------------------------------------------------------------- in place


def test_planned_updates_of_large_arrays_are_in_place():
    x = fresh()
    index = jnp.array([1, 2, -1])
    place = x.unsafe_buffer_pointer()
    with jax.no_copies():
        for _ in range(5):
            x = x.at[index].add(1)
            x.block_until_ready()
    assert x.unsafe_buffer_pointer() == place
