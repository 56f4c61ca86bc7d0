"""Work goes on while Python does: order, waiting, and failures that come later."""

import collections
import gc
import subprocess
import sys
import textwrap
import weakref

import numpy as np
import pytest
from plugin import needs_plugin, on_plugin

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax
from tetrad._src.cpu.pool import native


def slow(x, turns=30):
    """Some milliseconds on the stream; gives x, if all of its elements are 1."""
    n = x.shape[0]
    return lax.fori_loop(0, turns, lambda i, x: x @ x / n, x)


slow = jax.jit(slow, static_argnames="turns")


# ------------------------------------------------------------------------------- order


def test_work_is_submitted_and_goes_on():
    x = jnp.ones((400, 400))
    y = slow(x, turns=200)
    assert not y.is_ready()  # Python is here long before
    assert float(y[0, 0]) == 1 and y.is_ready()


def test_order_of_one_device():
    """Later work reads, overwrites and frees what earlier work is still busy with."""
    x = jnp.ones((200, 200))
    want = 1.0
    y = slow(x)
    for i in range(20):
        y = y.at[0].set(y[0] * 1)  # in place
        y = slow(y) + i
        y = y - i
        scratch = jnp.full((200, 200), float(i)) @ y  # its memory is used again
        del scratch
    assert float(y[0, 0]) == want and float(y.sum()) == 200 * 200


def test_tickets_grow_in_order_of_submission():
    x = jnp.ones((300, 300))
    outs = [slow(x + 0) for _ in range(5)]
    tickets = [y.buffer.made for y in outs]
    assert tickets == sorted(tickets) and len(set(tickets)) == 5
    outs[-1].block_until_ready()
    assert all([y.is_ready() for y in outs])  # jobs finish in order


def test_small_work_waits_for_what_it_reads_only():
    """A program of microseconds runs at once, beside the stream, if it can."""
    x = jnp.ones((500, 500))
    small = jnp.arange(3.0)
    small.block_until_ready()
    busy = slow(x, turns=300)
    assert (small + 1).tolist() == [1, 2, 3]
    assert not busy.is_ready()
    assert (busy[0, :2] + 1).tolist() == [2, 2]


def test_donation_and_deletion_behind_running_work():
    give = jax.jit(lambda x: x * 2, donate_argnums=0)
    x = slow(jnp.ones((300, 300)), turns=100)
    y = give(x)
    assert x.is_deleted() and not y.is_deleted()
    z = slow(y / 2)
    y.delete()
    del y
    gc.collect()
    assert float(z[5, 5]) == 1


def test_memory_of_running_work_lives():
    x = jnp.ones((300, 300))
    y = slow(x * 1.0, turns=200)
    gone = weakref.ref(x)
    del x
    gc.collect()
    others = [jnp.full((300, 300), float(i)) + 0 for i in range(20)]
    jax.block_until_ready(others)
    assert gone() is None and float(y[7, 7]) == 1


# ------------------------------------------------------------------- block_until_ready


class Waits:
    """An object of the user with the method."""

    def __init__(self):
        self.waited = 0

    def block_until_ready(self):
        self.waited += 1
        return self


Pair = collections.namedtuple("Pair", "a b")


def test_block_until_ready_on_anything():
    x = slow(jnp.ones((300, 300)), turns=100)
    own = Waits()
    tree = {
        "arrays": [x, (x + 1, x.sum())],
        "own": own,
        "none": None,
        "rest": [1, 2.5, "text", np.ones(2), b"x", object, Waits],
        "pair": Pair(x[0], {3: own}),
    }
    assert jax.block_until_ready(tree) is tree
    assert own.waited == 2
    for y in (x, *tree["arrays"][1], tree["pair"].a):
        assert y.is_ready()
    for nothing in (None, 3, "x", [], {}, own):
        assert jax.block_until_ready(nothing) is nothing
    assert x.block_until_ready() is x


def test_block_until_ready_under_transformations():
    f = lambda x: jax.block_until_ready(jnp.sin(x)) * 2
    x = jnp.arange(3.0)
    np.testing.assert_allclose(jax.jit(f)(x), f(x))
    np.testing.assert_allclose(jax.vmap(f)(x), f(x))
    np.testing.assert_allclose(jax.grad(f)(1.0), 2 * np.cos(1.0), rtol=1e-6)


def test_block_until_ready_of_deleted_arrays():
    x = jnp.ones(3)
    x.delete()
    with pytest.raises(RuntimeError, match="has been deleted"):
        jax.block_until_ready({"x": x})


# ---------------------------------------------------------------------------- failures

STOPPED = """
import os, signal, threading, time
import numpy as np
import tetrad as jax, tetrad.numpy as jnp
from tetrad import lax

x = jnp.ones((300, 300))
other = jnp.sin(x)
forever = jax.jit(lambda x: lax.while_loop(
    lambda c: c[0] >= 0, lambda c: (c[0] * 1, c[1] @ c[1] / 300), (1, x))[1])
lost = forever(x)  # the loop
after = lost * 2
before = x + other
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    lost.block_until_ready()
except KeyboardInterrupt:
    pass
else:
    raise SystemExit("no interrupt")

def told(act):
    try:
        act()
    except jax.errors.JaxRuntimeError as error:
        return str(error)
    raise SystemExit("no error")

"""


def run(script):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-"],
        input=STOPPED + textwrap.dedent(script),
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


LOOP = [n for n, t in enumerate(STOPPED.split("\n"), 1) if "# the loop" in t][0]
FULL = (
    f"the array made at <stdin>:{LOOP} was never computed: Ctrl-C stopped the loop that"
    " computes it. Other arrays are intact; run the line again to have this one."
)


def short(line, told):
    return (
        f"the array made at <stdin>:{line} was never computed; the error raised at"
        f" <stdin>:{told} says why"
    )


def test_a_failure_is_told_once():
    """In full at the first use, then in short with the place where it was told."""
    first = STOPPED.count("\n") + 1
    lines = run(
        """\
        print(told(lambda: lost.block_until_ready()))
        print(told(lambda: float(lost[0, 0])))
        print(told(lambda: np.asarray(lost)))
        print(told(lambda: jax.block_until_ready([1, {"x": lost}])))
        print(told(lambda: jnp.sum(lost + x).item()))
        print(np.allclose(before, 1 + np.sin(1.0)), float(other[0, 0]) > 0.8)
        print(float((jnp.ones(3) * 2).sum()))
        """
    )
    assert lines[:4] == [FULL, *[short(LOOP, first)] * 3]
    assert lines[4] == short(LOOP, first)
    assert lines[5:] == ["True True", "6.0"]


def test_the_first_use_may_be_of_a_dependent():
    first = STOPPED.count("\n") + 1
    lines = run(
        """\
        print(told(lambda: after.block_until_ready()))
        print(told(lambda: lost.block_until_ready()))
        print(told(lambda: float(after[0, 0])))
        """
    )
    assert "was never computed" in lines[0] and "Ctrl-C stopped the loop" in lines[0]
    assert f"<stdin>:{LOOP}" in lines[0]
    assert lines[1] == short(LOOP, first)
    assert lines[2].endswith(f"raised at <stdin>:{first} says why")


def test_a_failure_in_a_recording_stays_with_its_cause():
    """What does not depend on it is computed, though it was recorded together."""
    lines = run(
        """\
        a = lost + 1
        b = x * 3
        c = b + a
        print(float(b.sum()))
        print(told(lambda: float(c.sum())))
        print(told(lambda: float(a.sum())))
        print(float((b + 1)[0, 0]))
        """
    )
    assert lines[0] == str(3.0 * 300 * 300) and lines[3] == "4.0"
    assert lines[1].startswith(FULL[:40]) and "Ctrl-C stopped the loop" in lines[1]
    assert lines[2].endswith("says why")


def test_callbacks_fail_at_once():
    """A program that calls Python returns when it has; its failure is no later one."""

    def fail(x):
        raise ZeroDivisionError("in the callback")

    f = jax.jit(lambda x: jax.pure_callback(fail, x, x) + 1)
    x = jnp.ones(3)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError, match="in the callback"):
            f(x)
    assert (x + 1).tolist() == [2, 2, 2]
    assert native().last >= native().done


@needs_plugin
def test_a_failure_on_another_platform():
    """Memory that the plugin finds missing only while it runs."""
    with on_plugin():

        @jax.jit
        def f(n):
            wide = jnp.arange(1e6).reshape(1000, 1000)
            terms = wide[:, None, None, :] * n + wide[None, :, :, None]
            return jnp.sort(jnp.sin(terms), axis=0)[3, 3, 3, 4]

        y = f(3.0)
        first = second = ""
        with pytest.raises(jax.errors.JaxRuntimeError) as told:
            float(y)
        first = str(told.value)
        z = y + 1
        with pytest.raises(jax.errors.JaxRuntimeError) as told:
            z.block_until_ready()
        second = str(told.value)
        with pytest.raises(jax.errors.JaxRuntimeError, match="says why"):
            np.asarray(y)
        assert float(jnp.ones(3).sum()) == 3
        del y, z, told
    gc.collect()
    assert "test_async.py" in first and "Out of memory" in first
    assert second.endswith("says why") and "Out of memory" not in second
