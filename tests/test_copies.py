"""Updates without copies: what is in place, what is told about copies, what forbids them."""

import os
import pathlib
import re
import subprocess
import sys
import threading

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax

pytestmark = pytest.mark.usefixtures("few_objects")

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


def test_one_small_update_alone_is_in_place():
    x, v = jnp.zeros(100), jnp.ones(3)
    jax.block_until_ready((x, v))
    place = x.unsafe_buffer_pointer()
    before = ledger().copies
    for i in range(4):
        x = lax.dynamic_update_slice(x, v, (i,))
        x.block_until_ready()
        assert x.unsafe_buffer_pointer() == place
    b = x
    x = lax.dynamic_update_slice(x, v, (50,))
    x.block_until_ready()
    assert x.unsafe_buffer_pointer() != place and ledger().copies == before + 1
    assert float(b.sum()) == 6 and float(x.sum()) == 9


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("index", ["3", "(3, 4)", "slice(1, 5)", "slice(None, None, -1)",
    "slice(2, 90, 3)", "slice(90, 3, -2)", "-1", "(..., 2)", "(None, 3)", "mask", "row",
    "(slice(None), row)", "ints", "(ints, ints)", "(slice(None), ints)", "(ints, 4)",
    "host", "(slice(0, 9, 2), ints)", "(scalar, slice(3, 9))"])  # fmt: skip
def test_updates_of_every_kind_are_in_place(index, jitted):
    n = 256
    x = (jnp.arange(n * n) % 7 + 1.0).reshape(n, n).block_until_ready()
    values = np.asarray(x) % 2 == 0
    names = {
        "mask": jnp.asarray(values), "row": jnp.asarray(values[0]),
        "ints": jnp.array([3, 7, 3, 9]), "host": np.array([3, 8]), "scalar": jnp.array(5),
    }  # fmt: skip
    at = eval(index, names)
    for method in (
        "set",
        "add",
        "subtract",
        "multiply",
        "divide",
        "power",
        "min",
        "max",
    ):
        if index == "slice(None, None, -1)" and method == "set":
            continue  # nothing of the old array is left

        def update(x, method=method):
            return getattr(x.at[at], method)(2.0)

        want = np.asarray(update(x))
        if jitted:
            x = jax.jit(update, donate_argnums=0)(x)
            np.testing.assert_array_equal(x, want)
            f = jax.jit(update, donate_argnums=0)
        else:
            f = update
        place = x.unsafe_buffer_pointer()
        want = np.asarray(update(x))
        with Counted() as counted, jax.no_copies():
            x = getattr(x.at[at], method)(2.0) if not jitted else f(x)
            x.block_until_ready()
        assert x.unsafe_buffer_pointer() == place, method
        assert counted.bytes <= 4 * n * n // 2 and not counted.copied, method
        np.testing.assert_array_equal(x, want)


def test_readers_of_the_old_array_come_first():
    def element_before(x):
        s = x[3]
        return x.at[0].set(9.0), s

    def element_after(x):
        y = x.at[0].set(9.0)
        return y, x[3] + x[4]

    def sum_after(x):
        y = x.at[0].set(9.0)
        return y, x.sum()

    def gathered(x):
        old = x[jnp.array([0, 5])]
        x = x.at[0].set(9.0)
        return x.at[jnp.array([1, 2])].set(old), old.sum()

    for f in (element_before, element_after, sum_after, gathered):
        host = np.asarray(fresh()).copy()
        want = [np.asarray(v) for v in f(fresh())]
        x = fresh()
        place = x.unsafe_buffer_pointer()
        with jax.no_copies():
            got = jax.jit(f, donate_argnums=0)(x)
        assert got[0].unsafe_buffer_pointer() == place
        for a, b in zip(got, want):
            np.testing.assert_allclose(a, b, rtol=1e-6)
        x = fresh()
        place = x.unsafe_buffer_pointer()
        with jax.no_copies():
            x, s = f(x)
            jax.block_until_ready((x, s))
        assert x.unsafe_buffer_pointer() == place
        np.testing.assert_array_equal(fresh(), host)


def test_branches_update_in_place():
    def step(x, p):
        return lax.cond(p, lambda x: x.at[0].set(5.0), lambda x: x, x)

    def either(x, p):
        first = lambda x: x.at[0].set(5.0)
        return lax.cond(p, first, lambda x: x.at[1].set(x[0] + x[3]), x)

    def loop(x, p):
        def turn(c, t):
            return lax.cond(
                t % 2 == 0, lambda c: c.at[t].set(c[t + 1]), lambda c: c, c
            ), 0

        return lax.scan(turn, x, jnp.arange(6))[0]

    def nested(x, p):
        inner = lambda x: lax.cond(
            x[5] > 3, lambda x: x.at[2].set(x[7]), lambda x: x.at[3].add(1.0), x
        )
        return lax.cond(p, inner, lambda x: x.at[4].multiply(x[0]), x)

    for f in (step, either, loop, nested):
        g = jax.jit(f, donate_argnums=0)
        for p in (True, False):
            want = np.asarray(jax.jit(f)(fresh(), p))
            x = fresh()
            place = x.unsafe_buffer_pointer()
            with Counted() as counted:
                x = g(x, p)
                x.block_until_ready()
            assert x.unsafe_buffer_pointer() == place and counted.bytes < BYTES
            np.testing.assert_array_equal(x, want)


def test_an_array_that_is_not_donated_is_copied_once():
    chain = jax.jit(
        lambda x: x.at[0].set(1.0).at[1].add(2.0).at[jnp.array([3, 4])].set(0)
    )
    dying = jax.jit(lambda x: jnp.sin(x).at[0].set(1.0).at[1].add(2.0))
    loop = jax.jit(lambda x: lax.fori_loop(0, 9, lambda i, c: c.at[i].set(0.0), x))
    for f in (chain, dying, loop):
        x = fresh()
        f(x).block_until_ready()
        with Counted() as counted:
            f(x).block_until_ready()
        assert BYTES <= counted.bytes < 1.1 * BYTES
        np.testing.assert_array_equal(x, fresh())


def test_carries_are_updated_in_place():
    scan = lambda x: lax.scan(
        lambda c, t: (c.at[t].set(t * 1.0), c[t]), x, jnp.arange(9)
    )
    fori = lambda x: lax.fori_loop(0, 9, lambda i, c: c.at[i].add(c[i + 1]), x)

    def loop(x):
        def body(c):
            return c[0] + 1, c[1].at[c[0]].set(1.0)

        return lax.while_loop(lambda c: c[0] < 9, body, (0, x))[1]

    for f in (scan, fori, loop):
        g = jax.jit(f, donate_argnums=0)
        jax.block_until_ready(g(fresh()))
        x = fresh()
        place = x.unsafe_buffer_pointer()
        with Counted() as counted, jax.no_copies():
            out = jax.tree.leaves(g(x))[0]
            out.block_until_ready()
        assert out.unsafe_buffer_pointer() == place and counted.bytes < BYTES // 10


def test_expressions_go_into_the_buffer_of_a_dying_operand():
    y = fresh()
    for f in (
        lambda x: x + y,
        lambda x: jnp.where(x > 3, x, y),
        lambda x: x * 2 - x.mean(),
        lambda x: x.astype(int),
    ):
        x = fresh()
        place = x.unsafe_buffer_pointer()
        with Counted() as counted:
            x = f(x)
            x.block_until_ready()
        assert x.unsafe_buffer_pointer() == place and counted.bytes < BYTES // 10
    x = fresh()
    place = x.unsafe_buffer_pointer()
    x += y
    assert x.unsafe_buffer_pointer() == place


def test_reading_elements_copies_no_more_than_them():
    x = jnp.zeros(10_000_000).block_until_ready()
    reads = [lambda: x[5], lambda: x[5:10], lambda: x[-1], lambda: x[jnp.array([1, 2])]]
    reads += [
        lambda: x[1_000_000::1_000_000],
        lambda: x.at[3].get(),
        lambda: x[:3][::-1],
    ]
    for read in reads:
        with Counted() as counted:
            got = read().block_until_ready()
        assert counted.bytes <= 64 + 4 * got.nbytes
    with Counted() as counted:
        view = np.asarray(x)
        assert float(view[3]) == 0 and float(x[7]) == 0 and x.item(9) == 0
        memoryview(view)[:3].tobytes()
    assert counted.bytes < 100
    assert view.ctypes.data == x.unsafe_buffer_pointer()


# ------------------------------------------------------------------------------- donation


def test_a_donated_array_passed_again():
    f = jax.jit(lambda x, y: x.at[0].set(7.0) + y, donate_argnums=0)
    g = jax.jit(lambda x, y: (x.at[0].set(7.0), y), donate_argnums=0)
    x = fresh()
    want = np.asarray(x) * 2
    want[0] = 7 + 1
    np.testing.assert_array_equal(f(x, x), want)
    assert x.is_deleted()
    x = fresh()
    first, second = g(x, x)
    assert float(first[0]) == 7 and float(second[0]) == 1


def test_donation_of_memory_that_a_view_sees():
    f = jax.jit(lambda state: state + 1, donate_argnums=0)
    state = fresh()
    view = np.asarray(state)
    with pytest.warns(UserWarning, match="donated to `<lambda>`.*NumPy view `view` at"):
        new = f(state)
    assert view[0] == 1 and float(new[0]) == 2
    state = fresh()
    view = np.asarray(state)
    f(state)  # told once
    assert view[0] == 1


def test_use_after_donation_names_function_and_line():
    def step(state, rate):
        return {"w": state["w"] - rate}

    f = jax.jit(step, donate_argnames="state")
    state = {"w": fresh()}
    f(state, 0.1)
    words = r"donated to `step` as `state\['w'\]` at .*test_copies.py:\d+"
    with pytest.raises(jax.errors.DeletedArrayError, match=words):
        state["w"] + 1


def test_the_environment_forbids_copies():
    program = (
        "import tetrad as jax, tetrad.numpy as jnp\n"
        "x = jnp.zeros(1000)\n"
        "b = x\n"
        "x = x.at[0].set(1)\n"
        "try:\n"
        "    x.block_until_ready()\n"
        "except jax.errors.CopyError as error:\n"
        "    assert 'held by `b`' in str(error), error\n"
        "    with jax.no_copies(False):\n"
        "        print(float(x[0]), float(b[0]))\n"
    )
    environment = {**os.environ, "TETRAD_NO_COPIES": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True
    )
    assert done.stdout.split() == ["1.0", "0.0"], done.stderr


def test_only_the_thread_of_the_block_is_checked():
    x = fresh()
    b = x
    found = []

    def update():
        found.append(float(b.at[0].set(5.0)[0]))

    with jax.no_copies():
        thread = threading.Thread(target=update)
        thread.start()
        thread.join()
    assert found == [5.0] and float(x[0]) == 1


def test_reports_inside_of_the_block():
    x = fresh()
    b = x
    with pytest.raises(jax.errors.CopyError), jax.see.copies() as seen, jax.no_copies():
        x = x.at[0].set(5.0)
    assert len(seen) == 0 and float(b[0]) == 1 and float(x[0]) == 5


def test_numbers_that_do_not_fit_are_refused_by_remembered_calls_too():
    x = jnp.zeros(3, int)
    f = jax.jit(lambda x, n: x + n)
    for n in (3, np.int64(3)):
        for _ in range(3):
            assert int(f(x, n)[0]) == 3 and int(x.at[1].set(n)[1]) == 3
    for n in (2**40, np.int64(2**40), np.uint64(2**33)):
        for use in (lambda n: f(x, n), lambda n: x.at[1].set(n)):
            with pytest.raises(OverflowError, match="does not fit"):
                use(n)
