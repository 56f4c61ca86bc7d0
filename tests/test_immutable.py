"""Arrays never change, whatever is done to the memory they came from or are seen through.

A machine makes arrays of NumPy memory in every way there is, writes to that memory,
updates, donates, deletes, views and drops arrays in any order, and compares with a model
in which every step copies.
"""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax

SIZES = [0, 1, 3, 17, 1000, 4097, 20_000, 100_000]
number = st.integers(0, 10_000)
value = st.integers(-50, 50).map(float)


def memory(size, aligned, strided, fill):
    """Writable NumPy memory of `size` float32 numbers."""
    step = 2 if strided else 1
    raw = np.zeros(4 * size * step + 128, np.uint8)
    offset = -raw.ctypes.data % 64 + (0 if aligned else 4)
    host = raw[offset : offset + 4 * size * step].view(np.float32)[::step]
    host[:] = np.arange(size) % 13 + fill
    return host


def frozen(host):
    host = host.view()
    host.flags.writeable = False
    return host


def shaped(host):
    return jax.ShapeDtypeStruct(host.shape, host.dtype)


def contiguous(host):
    return memoryview(np.ascontiguousarray(host)).cast("B")


doubled = jax.jit(lambda x: x * 1)
same = jax.jit(lambda x: x)
MAKERS = {
    "array": jnp.array,
    "array copy=False": lambda host: jnp.array(host, copy=False),
    "asarray": jnp.asarray,
    "asarray of a read-only view": lambda host: jnp.asarray(frozen(host)),
    "device_put": jax.device_put,
    "device_put may_alias": lambda host: jax.device_put(host, may_alias=True),
    "argument of jit": doubled,
    "result of jit": same,
    "operand": lambda host: jnp.zeros((), "float32") + host,
    "frombuffer": lambda host: (
        jnp.frombuffer(contiguous(host), "float32") if host.size else jnp.asarray(host)
    ),
    "from_dlpack": jnp.from_dlpack,
    "callback": lambda host: jax.pure_callback(lambda: host, shaped(host)),
    "callback under jit": lambda host: jax.jit(
        lambda: jax.pure_callback(lambda: host, shaped(host))
    )(),
    "pickle": lambda host: pickle.loads(pickle.dumps(jnp.asarray(host))),
    "updates": lambda host: jnp.zeros(host.shape, "float32").at[:].set(host),
    "xs of a scan": lambda host: lax.scan(lambda c, x: (c, x), 0.0, host)[1],
    "carry of a loop": lambda host: lax.fori_loop(0, 1, lambda i, c: c, host),
    "reshape": lambda host: jnp.reshape(host, (-1,)),
    "tree": lambda host: jax.tree.map(jnp.asarray, {"a": host})["a"],
}


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("size", [0, 1, 100, 50_000, 1_000_000])
def test_no_array_follows_the_memory_it_was_made_of(name, size):
    if name == "frombuffer" and size == 0:
        return
    for aligned in (True, False):
        for strided in (False, True):
            host = memory(size, aligned, strided, 1)
            want = host.copy()
            x = MAKERS[name](host)
            y = x * 2 + 1  # may still be running, or not even have begun
            host[:] = -1
            np.testing.assert_array_equal(y, want * 2 + 1)
            np.testing.assert_array_equal(x, want)


def test_memory_of_a_buffer_that_is_written_later():
    raw = bytearray(np.arange(1000, dtype="float32").tobytes())
    x = jnp.frombuffer(raw, "float32")
    raw[:] = bytes(len(raw))
    np.testing.assert_array_equal(x, np.arange(1000))


def test_arguments_of_work_in_the_background():
    host = np.ones((600, 600), "float32")
    power = jax.jit(lambda a: a @ a @ a @ a)
    out = power(host)
    host[:] = 0
    assert float(out[0, 0]) == 600.0**3


VIEWS = {
    "asarray": np.asarray,
    "a slice of asarray": lambda x: np.asarray(x)[1:],
    "device_get": jax.device_get,
    "memoryview": lambda x: np.asarray(memoryview(np.asarray(x))),
    "dlpack": np.from_dlpack,
}


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("size", [3, 1000, 1_000_000])
def test_views_are_read_only_and_stay(name, size):
    x = (jnp.arange(size) * 1.0).block_until_ready()
    view = VIEWS[name](x)
    want = np.array(view)
    with pytest.raises(ValueError):
        view[0] = 7
    with pytest.raises(ValueError):
        view.flags.writeable = True
    # Nothing of what follows may write where the view looks.
    x = x.at[:2].set(-1.0)
    x.block_until_ready()
    np.testing.assert_array_equal(view, want)
    x = x + 1
    x.block_until_ready()
    y = jax.jit(lambda x: x * 2)(x)
    x.delete()
    z = [jnp.full(size, 5.0).block_until_ready() for _ in range(4)]
    np.testing.assert_array_equal(view, want)
    assert float(y[0]) == 0 and len(z) == 4


def test_copies_that_numpy_makes_may_be_written():
    x = jnp.arange(5.0)
    host = np.array(x)
    host[0] = 7
    other = (
        np.asarray(x, copy=True)
        if np.lib.NumpyVersion(np.__version__) >= "2.0.0"
        else host
    )
    other[1] = 7
    assert x.tolist() == [0, 1, 2, 3, 4]


def test_delete_kills_no_other_handle():
    x = (jnp.arange(1000) * 1.0).block_until_ready()
    y = jax.device_put(x, x.device)
    z = jax.device_put(x, jax.sharding.SingleDeviceSharding(x.device))
    w = x + 1  # not submitted yet
    view = np.asarray(x)
    x.delete()
    for kept in (y, z, view):
        np.testing.assert_array_equal(kept, np.arange(1000))
    np.testing.assert_array_equal(w, np.arange(1000) + 1)
    y = y.at[0].set(5)
    assert float(y[0]) == 5 and float(z[0]) == 0 and view[0] == 0
    with pytest.raises(RuntimeError, match="deleted"):
        x + 1


given_away = jax.jit(lambda x: x.at[:1].add(1.0), donate_argnums=0)
read_twice = jax.jit(lambda x, y: (x.at[:1].add(1.0), y * 2), donate_argnums=0)
looped = jax.jit(
    lambda x: lax.fori_loop(0, 3, lambda i, c: c.at[:1].add(1.0), x), donate_argnums=0
)


class Aliases(RuleBasedStateMachine):
    """Arrays with their models, views with what they showed, and the memory behind."""

    @initialize()
    def begin(self):
        self.arrays = []
        self.views = []
        self.hosts = []

    def pick(self, n):
        return n % len(self.arrays)

    def some(self):
        return len(self.arrays) > 0

    def forget_deleted(self):
        self.arrays = [(x, m) for x, m in self.arrays if not x.is_deleted()]

    @rule(
        size=st.sampled_from(SIZES),
        aligned=st.booleans(),
        strided=st.booleans(),
        fill=value,
        how=st.sampled_from(sorted(set(MAKERS) - {"xs of a scan"})),
    )
    def make(self, size, aligned, strided, fill, how):
        host = memory(size, aligned, strided, fill)
        self.arrays.append((MAKERS[how](host), host.copy()))
        self.hosts.append(host)

    @rule(n=number, v=value)
    def write_to_memory(self, n, v):
        if self.hosts:
            self.hosts[n % len(self.hosts)][:] = v

    @precondition(some)
    @rule(n=number)
    def another_name(self, n):
        self.arrays.append(self.arrays[self.pick(n)])

    @precondition(some)
    @rule(n=number)
    def another_handle(self, n):
        x, m = self.arrays[self.pick(n)]
        self.arrays.append((jax.device_put(x, x.device), m))

    @precondition(some)
    @rule(n=number)
    def deep_copy(self, n):
        x, m = self.arrays[self.pick(n)]
        self.arrays.append((copy.deepcopy(x), m))

    @precondition(some)
    @rule(
        n=number,
        at=number,
        v=value,
        how=st.sampled_from(["set", "add", "multiply", "min"]),
    )
    def update(self, n, at, v, how):
        n = self.pick(n)
        x, m = self.arrays[n]
        if not m.size:
            return
        at %= m.size
        m = m.copy()
        other = {
            "set": v,
            "add": m[at] + v,
            "multiply": m[at] * v,
            "min": min(m[at], v),
        }
        m[at] = other[how]
        self.arrays[n] = None
        x = getattr(x.at[at], how)(v)
        self.arrays[n] = (x, m)

    @precondition(some)
    @rule(n=number, v=value, form=st.sampled_from(["slice", "step", "mask", "indices"]))
    def update_many(self, n, v, form):
        n = self.pick(n)
        x, m = self.arrays[n]
        if m.size < 3:
            return
        index = {
            "slice": slice(1, m.size // 2 + 1),
            "step": slice(None, None, -3),
            "mask": m > v,
            "indices": np.array([0, m.size - 1]),
        }[form]
        m = m.copy()
        m[index] = v
        self.arrays[n] = None
        x = x.at[index].set(v)
        self.arrays[n] = (x, m)

    @precondition(some)
    @rule(n=number, k=number)
    def add(self, n, k):
        n, k = self.pick(n), self.pick(k)
        if self.arrays[n][1].shape == self.arrays[k][1].shape:
            (x, m), (y, o) = self.arrays[n], self.arrays[k]
            x = x * 0.5 + y
            self.arrays[n] = (x, m * np.float32(0.5) + o)

    @precondition(some)
    @rule(n=number, how=st.sampled_from(["one", "loop", "two"]))
    def donate(self, n, how):
        n = self.pick(n)
        x, m = self.arrays[n]
        if not m.size:
            return
        new = m.copy()
        new[:1] += 3 if how == "loop" else 1
        if how == "two":
            y, double = read_twice(x, x)
            self.arrays.append((double, m * 2))
        else:
            y = looped(x) if how == "loop" else given_away(x)
        assert x.is_deleted()
        self.forget_deleted()
        self.arrays.append((y, new))

    @precondition(some)
    @rule(n=number, how=st.sampled_from(sorted(VIEWS)))
    def view(self, n, how):
        x, _ = self.arrays[self.pick(n)]
        view = VIEWS[how](x)
        assert not view.flags.writeable
        self.views.append((view, np.array(view)))

    @rule(n=number)
    def drop_view(self, n):
        if self.views:
            del self.views[n % len(self.views)]

    @precondition(some)
    @rule(n=number)
    def drop(self, n):
        del self.arrays[self.pick(n)]

    @precondition(some)
    @rule(n=number)
    def delete(self, n):
        self.arrays[self.pick(n)][0].delete()
        self.forget_deleted()

    @precondition(some)
    @rule(n=number, at=number)
    def read(self, n, at):
        x, m = self.arrays[self.pick(n)]
        if m.size:
            at %= m.size
            assert float(x[at]) == m[at]
            np.testing.assert_array_equal(x[at : at + 5], m[at : at + 5])

    @precondition(some)
    @rule(n=number)
    def wait(self, n):
        self.arrays[self.pick(n)][0].block_until_ready()

    @rule()
    def compare(self):
        for x, m in self.arrays:
            np.testing.assert_array_equal(x, m)
        for view, shown in self.views:
            np.testing.assert_array_equal(view, shown)

    def teardown(self):
        if hasattr(self, "arrays"):
            self.compare()


Aliases.TestCase.settings = settings(
    max_examples=25,
    stateful_step_count=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
test_any_order_of_steps = pytest.mark.filterwarnings("ignore:a donated buffer")(
    Aliases.TestCase
)
