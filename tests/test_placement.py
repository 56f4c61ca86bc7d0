"""Where arrays go: committed and uncommitted arrays, default devices, `device=`."""

import copy
import pickle
import threading

import numpy as np
import pytest
from plugin import PLATFORM, needs_plugin
from several import cpu_devices, untouched

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax


@pytest.fixture(scope="module")
def cpus():
    with cpu_devices(4) as found:
        yield found


@pytest.fixture
def x():
    return jnp.arange(3.0)


@pytest.fixture
def c(cpus):
    """An array that is committed to cpu:2."""
    return jax.device_put(np.arange(3.0, dtype="f"), cpus[2])


def where(x):
    """The device and whether it is committed, of each array in a pytree."""
    found = {(str(y.device), y.committed) for y in jax.tree.leaves(x)}
    assert len(found) == 1, found
    return found.pop()


# ------------------------------------------------------------------- the default device


CREATIONS = {
    "array": lambda **kw: jnp.array([1.0, 2.0], **kw),
    "array of NumPy": lambda **kw: jnp.array(np.ones(3, "f"), **kw),
    "array of a number": lambda **kw: jnp.array(1.0, **kw),
    "nested": lambda **kw: jnp.array([[1, 2], [3, 4]], dtype="int8", **kw),
    "asarray": lambda **kw: jnp.asarray([1.0], **kw),
    "copy": lambda **kw: jnp.asarray(np.ones(3), copy=True, **kw),
    "zeros": lambda **kw: jnp.zeros(3, **kw),
    "ones": lambda **kw: jnp.ones((2, 2), "int32", **kw),
    "empty": lambda **kw: jnp.empty(3, **kw),
    "full": lambda **kw: jnp.full(3, 2.0, **kw),
    "full of an array": lambda **kw: jnp.full(3, np.ones(3, "f"), **kw),
    "zeros_like": lambda **kw: jnp.zeros_like(np.ones(3), **kw),
    "ones_like": lambda **kw: jnp.ones_like(np.ones(3), **kw),
    "empty_like": lambda **kw: jnp.empty_like(np.ones(3), **kw),
    "full_like": lambda **kw: jnp.full_like(np.ones(3), 2, **kw),
    "arange": lambda **kw: jnp.arange(5, **kw),
    "arange with steps": lambda **kw: jnp.arange(1, 9, 2.5, **kw),
    "linspace": lambda **kw: jnp.linspace(0, 1, 5, **kw),
    "linspace with its step": lambda **kw: jnp.linspace(0, 1, 5, retstep=True, **kw),
    "eye": lambda **kw: jnp.eye(3, **kw),
    "astype": lambda **kw: jnp.astype(np.ones(3), int, **kw),
    "from_dlpack": lambda **kw: jnp.from_dlpack(np.ones(3, "f"), **kw),
    "fftfreq": lambda **kw: jnp.fft.fftfreq(4, **kw),
    "rfftfreq": lambda **kw: jnp.fft.rfftfreq(4, **kw),
}

OTHERS = {
    "identity": lambda: jnp.identity(3),
    "logspace": lambda: jnp.logspace(0, 1, 3),
    "geomspace": lambda: jnp.geomspace(1, 2, 3),
    "tri": lambda: jnp.tri(3),
    "indices": lambda: jnp.indices((2, 3)),
    "meshgrid": lambda: jnp.meshgrid(np.arange(2), np.arange(3)),
    "mgrid": lambda: jnp.mgrid[:2, :3],
    "r_": lambda: jnp.r_[:3, 5],
    "tril_indices": lambda: jnp.tril_indices(3),
    "hanning": lambda: jnp.hanning(5),
    "fromfunction": lambda: jnp.fromfunction(lambda i, j: i + j, (2, 3)),
    "frombuffer": lambda: jnp.frombuffer(bytes(8), "float32"),
    "fromiter": lambda: jnp.fromiter(range(3), "int32"),
    "key": lambda: jax.random.key(0),
    "PRNGKey": lambda: jax.random.PRNGKey(0),
    "split": lambda: jax.random.split(jax.random.key(0)),
    "normal": lambda: jax.random.normal(jax.random.key(0), (3,)),
    "uniform": lambda: jax.random.uniform(jax.random.key(0), (3,)),
    "randint": lambda: jax.random.randint(jax.random.key(0), (3,), 0, 9),
    "permutation": lambda: jax.random.permutation(jax.random.key(0), 5),
    "gamma": lambda: jax.random.gamma(jax.random.key(0), 2.0, (3,)),
    "choice": lambda: jax.random.choice(jax.random.key(0), 5, (2,)),
    "jit without arguments": lambda: jax.jit(lambda: jnp.zeros(3) + 1)(),
    "jit of numbers": lambda: jax.jit(lambda v: v + 1)(2.0),
    "jit of NumPy": lambda: jax.jit(lambda v: v + 1)(np.ones(3, "f")),
    "device_put": lambda: jax.device_put(np.ones(3, "f")),
    "device_put of a number": lambda: jax.device_put(2.0),
    "sum of NumPy arrays": lambda: jnp.add(np.ones(3, "f"), np.ones(3, "f")),
    "grad": lambda: jax.grad(lambda v: v**2)(3.0),
    "vmap": lambda: jax.vmap(lambda v: v + 1)(np.ones(3, "f")),
    "scan": lambda: lax.scan(lambda a, _: (a + 1, a), 0.0, None, length=3),
    "scan of NumPy": lambda: lax.scan(
        lambda a, b: (a + b, a), np.float32(0), np.ones(3, "f")
    ),
    "fori_loop": lambda: lax.fori_loop(0, 3, lambda i, a: a + i, jnp.zeros(2)),
    "while_loop": lambda: lax.while_loop(lambda a: a < 3, lambda a: a + 1, 0),
    "cond": lambda: lax.cond(True, lambda: jnp.ones(2), lambda: jnp.zeros(2)),
    "one_hot": lambda: jax.nn.one_hot(np.arange(3), 4),
    "fft": lambda: jnp.fft.fft(np.ones(4, "f")),
    "inv": lambda: jnp.linalg.inv(np.eye(3, dtype="f")),
}


@pytest.mark.parametrize("name", [*CREATIONS, *OTHERS])
def test_the_default_device_gets_what_nobody_placed(cpus, name):
    function = {**CREATIONS, **OTHERS}[name]
    with untouched(cpus[0], cpus[2]), jax.default_device(cpus[1]):
        made = function()
        assert where(made) == ("cpu:1", False)
        jax.block_until_ready(made)
    assert where(function()) == ("cpu:0", False)


@pytest.mark.parametrize("name", CREATIONS)
def test_creation_on_a_device_touches_no_other(cpus, name):
    with untouched(cpus[0], cpus[2]):
        made = CREATIONS[name](device=cpus[1])
        assert where(made) == ("cpu:1", True)
        jax.block_until_ready(made)
    expected = CREATIONS[name]()
    if "empty" not in name:
        jax.tree.map(np.testing.assert_array_equal, made, expected)
    same = [a.aval is b.aval for a, b in zip(*map(jax.tree.leaves, (made, expected)))]
    assert all(same)


def test_creation_takes_shardings_and_nothing_else(cpus, x):
    there = jax.sharding.SingleDeviceSharding(cpus[3])
    assert where(jnp.zeros(3, device=there)) == ("cpu:3", True)
    assert where(jnp.ones(3, device=x.sharding)) == ("cpu:0", True)
    assert where(lax.full((3,), 1.0, sharding=there)) == ("cpu:3", True)
    assert where(lax.full_like(x, 1.0, sharding=there)) == ("cpu:3", True)
    made = jax.jit(lambda: lax.full((3,), 1.0, sharding=there))()
    assert where(made) == ("cpu:3", True)
    with pytest.raises(ValueError, match="takes a device such as"):
        jnp.zeros(3, device="cpu")


def test_the_default_device_by_name_update_and_thread(cpus):
    with jax.default_device("cpu"):
        assert where(jnp.ones(2)) == ("cpu:0", False)
    seen = []
    try:
        jax.config.update("jax_default_device", cpus[3])
        thread = threading.Thread(target=lambda: seen.append(where(jnp.ones(2))))
        with jax.default_device(cpus[1]):
            thread.start()
            thread.join()
            assert where(jnp.ones(2)) == ("cpu:1", False)
            with jax.default_device(None):
                assert where(jnp.ones(2)) == ("cpu:0", False)
            assert where(jnp.ones(2)) == ("cpu:1", False)
        assert where(jnp.ones(2)) == ("cpu:3", False)
    finally:
        jax.config.update("jax_default_device", None)
    assert seen == [("cpu:3", False)]
    assert where(jnp.ones(2) + 1) == ("cpu:0", False)


def test_a_default_device_is_a_device():
    with pytest.raises(ValueError, match=r"jax_default_device .* got 3"):
        jax.default_device(3)
    with (
        jax.default_device("tpu"),
        pytest.raises(RuntimeError, match="'tpu' is not available"),
    ):
        jnp.ones(3)


@needs_plugin
def test_a_platform_can_be_the_default():
    with jax.default_device(PLATFORM):
        assert where(jnp.ones(3) + 1) == (f"{PLATFORM}:0", False)


# -------------------------------------------------------- committed and uncommitted arrays


def test_what_nobody_placed_is_computed_with_on_the_default_device(cpus, x):
    with jax.default_device(cpus[1]):
        assert where(x + 1) == where(x + x) == ("cpu:1", False)
        assert where(jax.jit(lambda v: v + 1)(x)) == ("cpu:1", False)
        assert where(x.copy()) == where(jnp.array(x)) == ("cpu:1", False)
        assert where(x[0]) == where(x.at[0].set(2)) == ("cpu:1", False)
        assert where(jnp.zeros_like(x)) == ("cpu:1", False)
        assert where(jax.device_put(x)) == where(jnp.asarray(x)) == ("cpu:0", False)
        y = jnp.ones(3)
    assert where(y) == ("cpu:1", False)
    assert where(y + 1) == where(y + x) == where(x + y) == ("cpu:0", False)
    np.testing.assert_array_equal(x + y, [1, 2, 3])


def test_results_of_committed_operands_are_committed(cpus, c, x):
    committed = ("cpu:2", True)
    jitted = jax.jit(lambda a, b: (a + b, jnp.ones(3), b))
    key, other = jax.device_put(jax.random.split(jax.random.key(0)), cpus[2])
    made = [
        c + 1, 2 * c, c + x, x + c, -c, c[0], c[:2], c.T, c.sum(), c > 0,
        jnp.where(c > 0, c, x), jnp.stack([x, c]), c.astype(int), c.at[0].set(x[1]),
        c.copy(), jnp.array(c), jnp.asarray(c), jnp.zeros_like(c), jnp.ones_like(c),
        jnp.full_like(c, 2.0), jax.device_put(c), jitted(c, x), jitted(x, c),
        jax.grad(lambda v: (v**2).sum())(c), jax.jvp(jnp.sin, (c,), (x,)),
        jax.vmap(lambda v: v + 1)(c), jax.random.normal(key, (3,)),
        jax.random.split(other), lax.scan(lambda a, b: (a + b, a), 0.0, c),
        lax.full_like(c, 2), lax.full_like(c, 2, shape=(4,)),
        copy.copy(c), copy.deepcopy(c), c @ c, jnp.dot(c, np.ones(3, "f")),
    ]  # fmt: skip
    for result in made:
        assert where(result) == committed, result


def test_pickles_go_to_the_default_device(cpus, c):
    with jax.default_device(cpus[1]):
        again = pickle.loads(pickle.dumps(c))
    assert where(again) == ("cpu:1", False)
    np.testing.assert_array_equal(again, c)


def test_arrays_committed_to_two_devices_do_not_mix(cpus, c):
    e = jax.device_put(np.ones(3, "f"), cpus[3])
    for mix in (
        lambda: c + e,
        lambda: jnp.where(c > 0, c, e),
        lambda: jax.jit(lambda a, b: a + b)(c, e),
        lambda: jnp.stack([c * 2, e * 2]),
    ):
        with pytest.raises(ValueError, match="cpu:2 and cpu:3") as caught:
            mix()
        message = str(caught.value)
        assert message.count("test_placement.py:") == 2, message
    line = e.placement.where[0].co_firstlineno + 1
    assert f"on cpu:3 at {__file__.rsplit('/', 1)[1]}:{line}" in message.replace(
        "tests/", ""
    )
    assert where(c + jax.device_put(e, c.device)) == ("cpu:2", True)


def test_arrays_placed_by_different_lines_go_together(cpus):
    a = jax.device_put(jnp.ones(3), cpus[1])
    b = jax.device_put(jnp.ones(3), cpus[1])
    assert a.placement is not b.placement
    assert where(a + b) == where(jax.jit(lambda p, q: p + q)(a, b)) == ("cpu:1", True)
    assert (a + b).placement is a.placement


# ----------------------------------------------------------------- device_put, device_get


def test_device_put_of_trees(cpus, x):
    tree = {"a": x, "b": [x, 2.0]}
    assert where(jax.device_put(tree, cpus[1])) == ("cpu:1", True)
    moved = jax.device_put(tree, {"a": cpus[1], "b": cpus[2]})
    assert where(moved["a"]) == ("cpu:1", True)
    assert where(moved["b"]) == ("cpu:2", True)
    there = jax.sharding.SingleDeviceSharding(cpus[3])
    moved = jax.device_put(tree, {"a": there, "b": None})
    assert where(moved["a"]) == ("cpu:3", True)
    assert where(moved["b"]) == ("cpu:0", False)
    with pytest.raises(ValueError, match="device does not fit x"):
        jax.device_put(tree, {"a": cpus[1]})
    with pytest.raises(ValueError, match="takes a device such as"):
        jax.device_put(x, "cpu")
    with pytest.raises(TypeError, match="arrays hold numbers, got 'abc'"):
        jax.device_put("abc")


def test_device_put_shares_memory_unless_told_otherwise(cpus, x):
    address = x.unsafe_buffer_pointer()
    assert jax.device_put(x) is x
    for may_alias in (None, True):
        same = jax.device_put(x, cpus[0], may_alias=may_alias)
        assert same is not x and same.unsafe_buffer_pointer() == address
    fresh = jax.device_put(x, cpus[0], may_alias=False)
    assert fresh.unsafe_buffer_pointer() != address
    fresh = jax.device_put(x, may_alias=False)
    assert fresh.unsafe_buffer_pointer() != address and not fresh.committed
    np.testing.assert_array_equal(fresh, x)
    with pytest.raises(ValueError, match="at the same time"):
        jax.device_put(x, cpus[1], donate=True, may_alias=True)


def test_donated_arrays_are_gone_and_their_memory_with_them(cpus):
    x = jnp.arange(1000.0).block_until_ready()
    here, before = cpus[0].memory_stats(), x.nbytes
    moved = jax.device_put(x, cpus[1], donate=True)
    assert x.is_deleted() and moved[3] == 3
    after = cpus[0].memory_stats()
    assert here["bytes_in_use"] - after["bytes_in_use"] == before
    with pytest.raises(jax.errors.DeletedArrayError, match="donated to jax.device_put"):
        x + 1
    address = moved.unsafe_buffer_pointer()
    again = jax.device_put(moved, cpus[1], donate=True)
    assert moved.is_deleted() and again.unsafe_buffer_pointer() == address
    one, other = jax.device_put([jnp.ones(2), again], cpus[2], donate=[False, True])
    assert again.is_deleted() and where([one, other]) == ("cpu:2", True)


def test_to_device_and_what_arrays_say(cpus, x):
    moved = x.to_device(cpus[1])
    assert where(moved) == ("cpu:1", True)
    assert moved.devices() == {cpus[1]} == moved.sharding.device_set
    assert where(x.to_device(jax.sharding.SingleDeviceSharding(cpus[2]))) == (
        "cpu:2",
        True,
    )
    assert jax.devices() == jax.local_devices() == cpus
    assert jax.device_count() == jax.local_device_count() == 4


def test_device_get(c):
    tree = jax.device_get({"a": c, "b": 1.5, "c": np.ones(2)})
    assert type(tree["a"]) is np.ndarray and tree["b"] == 1.5
    np.testing.assert_array_equal(tree["a"], [0, 1, 2])


# -------------------------------------------------------------------- inside of functions


def test_device_put_in_a_compiled_function_says_where_it_runs(cpus, x, c):
    def move(v):
        return jax.device_put(v * 2, cpus[2]) + jnp.ones(3)

    f = jax.jit(move)
    assert where(f(x)) == where(f(x)) == where(f(c)) == ("cpu:2", True)
    np.testing.assert_array_equal(f(x), [1, 3, 5])
    elsewhere = jax.device_put(x, cpus[1])
    with pytest.raises(ValueError, match="runs on one device") as caught:
        f(elsewhere)
    assert "cpu:2" in str(caught.value) and "cpu:1" in str(caught.value)
    with pytest.raises(ValueError, match="cpu:1 at .* on cpu:2 at"):
        jax.jit(lambda v: jax.device_put(v, cpus[1]) + jax.device_put(v, cpus[2]))(x)
    assert "device_put[target=cpu:2]" in str(jax.make_jaxpr(move)(x))
    made = jax.jit(lambda: jnp.zeros(3, device=cpus[3]) + 1)()
    assert where(made) == ("cpu:3", True)
    assert where(jax.jit(lambda v: jax.device_put(v) + 1)(c)) == ("cpu:2", True)


def test_gradients_return_to_where_the_argument_was(cpus, x, c):
    def loss(v):
        return (jax.device_put(v, cpus[1]) ** 2).sum()

    assert where(jax.grad(loss)(x)) == ("cpu:0", False)
    assert where(jax.grad(loss)(c)) == ("cpu:2", True)
    np.testing.assert_array_equal(jax.grad(loss)(c), 2 * x)
    assert where(jax.vmap(lambda v: jax.device_put(v, cpus[1]))(c)) == ("cpu:1", True)
    primal, tangent = jax.jvp(lambda v: jax.device_put(v, cpus[1]), (x,), (x,))
    assert where([primal, tangent]) == ("cpu:1", True)
    np.testing.assert_array_equal(jax.grad(jax.jit(loss))(x), 2 * x)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_jit_for_a_device_or_a_platform(cpus, x, c):
    f = jax.jit(lambda v: v + 1, device=cpus[1])
    for operand in (x, c, np.arange(3, dtype="f")):
        assert where(f(operand)) == ("cpu:1", True)
        np.testing.assert_array_equal(f(operand), [1, 2, 3])
    assert where(f(1.0)) == ("cpu:1", True)
    assert where(jax.jit(lambda: jnp.ones(2), device=cpus[1])()) == ("cpu:1", True)
    assert where(jax.grad(lambda v: f(v).sum())(x)) == ("cpu:0", False)
    g = jax.jit(lambda v: v + 1, backend="cpu")
    assert where(g(c)) == ("cpu:0", True)
    with pytest.raises(ValueError, match="not both"):
        jax.jit(lambda v: v, device=cpus[1], backend="cpu")
    with pytest.raises(NotImplementedError, match="default_device"):
        f.lower(x)


def test_jit_for_a_device_is_deprecated(cpus):
    with pytest.warns(DeprecationWarning, match="device_put"):
        jax.jit(lambda v: v, device=cpus[1])


# --------------------------------------------------------------- everything stays there


STAYS = {
    "arithmetic": lambda v: jnp.sin(v) * 2 + v**2 - v.sum(),
    "NumPy operand": lambda v: v + np.ones(3, "f"),
    "NumPy operand of jnp": lambda v: jnp.maximum(np.ones(3, "f"), v),
    "NumPy in where": lambda v: jnp.where(v > 0, np.ones(3, "f"), v),
    "product with NumPy": lambda v: v @ np.ones((3, 2), "f"),
    "stack with NumPy": lambda v: jnp.stack([v, np.ones(3, "f")]),
    "NumPy index": lambda v: v[np.array([0, 2])],
    "NumPy mask": lambda v: v[np.array([True, False, True])],
    "tril": lambda v: jnp.tril(jnp.outer(v, v)),
    "at": lambda v: v.at[1].set(5.0).at[np.array([0, 2])].add(np.ones(2, "f")),
    "sort": lambda v: jnp.sort(v)[::-1],
    "argsort": lambda v: jnp.argsort(v),
    "cumsum": lambda v: jnp.cumsum(v),
    "roll": lambda v: jnp.roll(v, 1),
    "pad": lambda v: jnp.pad(v, 1),
    "linalg": lambda v: jnp.linalg.inv(jnp.eye(3) + jnp.outer(v, v)),
    "fft": lambda v: jnp.fft.fft(v),
    "softmax": lambda v: jax.nn.softmax(v),
    "special": lambda v: jax.scipy.special.gammaln(v + 1),
    "mean": lambda v: (v.mean(), v.std(), jnp.median(v)),
    "jit": jax.jit(lambda v: jnp.tril(jnp.outer(v, v)) + jnp.ones(3)),
    "jit and NumPy": lambda v: jax.jit(lambda a, b: a + b)(v, np.ones(3, "f")),
    "jit over NumPy": lambda v: jax.jit(lambda a: a + np.arange(3.0, dtype="f"))(v),
    "grad": jax.grad(lambda v: jnp.tanh(v).sum() ** 2),
    "grad of what is linear": jax.grad(lambda v: (2 * v).sum()),
    "grad of a jitted sum": jax.grad(jax.jit(lambda v: 3 * v.sum())),
    "nonzero": lambda v: jnp.nonzero(v),
    "unique": lambda v: jnp.unique(v),
    "setdiff1d": lambda v: jnp.setdiff1d(v, v[:1]),
    "where of a mask": lambda v: jnp.where(v > 0),
    "unstack": lambda v: list(v),
    "histogram": lambda v: jnp.histogram(v, 3),
    "einsum": lambda v: jnp.einsum("i,i", v, v),
    "top_k": lambda v: lax.top_k(v, 2),
    "pure_callback": lambda v: jax.pure_callback(
        lambda a: 2 * np.asarray(a), jax.ShapeDtypeStruct((3,), "float32"), v
    ),
    "hessian": jax.hessian(lambda v: jnp.tanh(v).sum() ** 2),
    "jvp": lambda v: jax.jvp(jnp.sin, (v,), (jnp.ones_like(v),)),
    "vjp": lambda v: jax.vjp(jnp.sin, v)[1](v),
    "vmap": lambda v: jax.vmap(lambda a, b: a * b, (0, None))(v, v),
    "scan": lambda v: lax.scan(lambda a, b: (a + b, a * 2), v[0], v),
    "scan from 0": lambda v: lax.scan(lambda a, b: (a + b, a * 2), 0.0, v),
    "while_loop": lambda v: lax.while_loop(
        lambda a: a.sum() < 50, lambda a: a + 1, v
    ),
    "fori_loop": lambda v: lax.fori_loop(0, 3, lambda i, a: a * i + 1, v),
    "cond": lambda v: lax.cond(v[0] > 0, lambda a: a + 1, lambda a: a - 1, v),
    "checkpoint": jax.grad(jax.checkpoint(lambda v: jnp.sin(jnp.sin(v)).sum())),
    "one_hot": lambda v: jax.nn.one_hot(v.astype(int), 4),
    "convolve": lambda v: jnp.convolve(v, jnp.ones_like(v)),
    "interp": lambda v: jnp.interp(v, v, v),
    "deepcopy": copy.deepcopy,
}  # fmt: skip


@pytest.mark.parametrize("name", STAYS)
def test_everything_stays_on_the_device(cpus, name):
    v = jax.device_put(np.arange(3.0, dtype="f"), cpus[1])
    for _ in range(3):  # plans are made on the way
        with untouched(cpus[0], cpus[2]):
            made = STAYS[name](v)
            assert where(made) == ("cpu:1", True)
            jax.block_until_ready(made)
    expected = STAYS[name](jnp.arange(3.0))
    jax.tree.map(np.testing.assert_array_equal, made, expected)


DRAWS = {
    "normal": lambda k: jax.random.normal(k, (3,)),
    "uniform": lambda k: jax.random.uniform(k, (3,), minval=1.0, maxval=2.0),
    "randint": lambda k: jax.random.randint(k, (3,), 0, 10),
    "bernoulli": lambda k: jax.random.bernoulli(k, 0.3, (3,)),
    "permutation": lambda k: jax.random.permutation(k, 5),
    "choice": lambda k: jax.random.choice(k, 5, (3,)),
    "gamma": lambda k: jax.random.gamma(k, 2.0, (3,)),
    "split": lambda k: jax.random.split(k, 3),
    "fold_in": lambda k: jax.random.fold_in(k, 3),
}


@pytest.mark.parametrize("name", DRAWS)
def test_draws_stay_with_the_key(cpus, name):
    keys = jax.device_put(jax.random.split(jax.random.key(1), 3), cpus[1])
    with untouched(cpus[0], cpus[2]):
        for i in range(3):
            made = DRAWS[name](keys[i])
            assert where(made) == ("cpu:1", True)
            jax.block_until_ready(made)


def test_a_key_that_moves_is_the_same_key(cpus):
    key = jax.random.key(7)
    moved = jax.device_put(key, cpus[1])
    jax.random.normal(key, (2,))
    with pytest.warns(jax.errors.KeyReuseWarning):
        jax.random.normal(moved, (2,))


# ------------------------------------------------------------------------------ see.device


def test_see_device_names_the_line(cpus, x, c):
    place = jax.see.device(c)
    assert (place.device, place.committed) == (cpus[2], True)
    assert "put there at" in place.reason and "jax.device_put(" in place.reason
    assert place.where.partition(":")[0].endswith("test_placement.py")
    made = jax.see.device(c * 2 + x)
    assert made.where == place.where and made.committed
    assert made.reason.startswith("computed at ") and "from an operand put" in str(made)
    made = jax.see.device(jnp.zeros(3, device=cpus[1]))
    assert "by jnp.zeros(3, device=cpus[1])" in made.reason
    assert str(made).startswith("cpu:1, committed: put there at ")


def test_see_device_of_what_nobody_placed(cpus, x):
    place = jax.see.device(x + 1)
    assert (place.device, place.committed) == (cpus[0], False)
    assert place.reason.endswith("on the default device, since nobody chose another")
    with jax.default_device(cpus[1]):
        y = jnp.ones(2)
        assert "which jax_default_device says" in jax.see.device(y).reason
    assert "goes to cpu:0, the default device now" in jax.see.device(y).reason


def test_see_device_of_everything_else(cpus, x, c):
    assert str(jax.see.device(2)) == "an int lives in Python, on no device"
    host = jax.see.device(np.ones(2))
    assert host.device is None and "an ndarray lives in NumPy" in str(host)
    seen = []
    jax.jit(lambda v: seen.append(jax.see.device(v)))(x)
    jax.grad(lambda v: (seen.append(jax.see.device(v)), v.sum())[1])(c)
    assert "is traced" in str(seen[0]) and seen[1].device is cpus[2]
    places = jax.see.device({"a": x, "b": [c]})
    assert list(places) == ["['a']", "['b'][0]"] and len(str(places).splitlines()) == 2
    c.delete()
    assert "deleted with .delete()" in str(jax.see.device(c))


def test_compiled_functions_run_where_they_were_compiled_for(cpus, x, c):
    f = jax.jit(lambda v: jax.device_put(v, cpus[1]) * 2)
    compiled = f.lower(x).compile()
    assert where(compiled(x)) == ("cpu:1", True)
    assert compiled.output_shardings.device_set == {cpus[1]}
    with pytest.raises(ValueError, match="runs on one device"):
        compiled(c)
    lowered = jax.jit(lambda v: v * 2).lower(x)
    with jax.default_device(cpus[3]):
        compiled = lowered.compile()
    assert where(compiled(x)) == ("cpu:3", False)
    assert where(compiled(c)) == ("cpu:2", True)


def test_device_put_in_loops_branches_and_transformed_functions(cpus, x):
    def there(v):
        return jax.device_put(v, cpus[1]) * 2

    on = ("cpu:1", True)
    assert where(lax.scan(lambda a, b: (there(a), there(b)), x[0], x)) == on
    assert where(lax.cond(x[0] < 1, there, lambda v: v, x)) == on
    assert where(jax.checkpoint(there)(x)) == where(jax.vmap(jax.jit(there))(x)) == on
    assert where(jax.linearize(there, x)[1](x)) == on
    assert where(jax.jit(lambda v: v.astype(int, device=cpus[1]))(x)) == on
    assert jax.eval_shape(there, x).shape == (3,)


def test_pending_work_survives_donation_and_deletion(cpus):
    for act in (
        lambda x: jax.device_put(x, cpus[1], donate=True),
        lambda x: jax.device_put(x, donate=True),
        lambda x: x.delete(),
    ):
        x = jnp.ones(3).block_until_ready()
        y = x + 1
        act(x)
        np.testing.assert_array_equal(y, [2, 2, 2])


def test_host_data_that_passes_through_is_copied(cpus, c):
    host = np.ones(3, "f")
    x = jnp.ravel(host)
    host[:] = 5
    assert where(x + c) == ("cpu:2", True)
    np.testing.assert_array_equal(x, [1, 1, 1])
    y = jnp.ravel(np.ones(3, "f"))
    assert y.device is cpus[0] and y.sharding.device_set == {cpus[0]}
    assert where(y + c) == ("cpu:2", True) and y.device is cpus[0]


@needs_plugin
@pytest.mark.parametrize("name", CREATIONS)
def test_creation_on_another_platform(cpus, name):
    device = jax.devices(PLATFORM)[0]
    with untouched(cpus[0]):
        made = CREATIONS[name](device=device)
        assert where(made) == (str(device), True)
        jax.block_until_ready(made)


NO_LAPACK = {"linalg", "pure_callback"}


@needs_plugin
@pytest.mark.parametrize("name", [n for n in STAYS if n not in NO_LAPACK])
def test_everything_stays_on_another_platform(cpus, name):
    device = jax.devices(PLATFORM)[0]
    v = jax.device_put(np.arange(3.0, dtype="f"), device)
    with untouched(cpus[0]):
        made = STAYS[name](v)
        assert where(made) == (str(device), True)
        jax.block_until_ready(made)


def test_eight_threads_have_their_own_default_device(cpus):
    wrong = []

    def work(device):
        with jax.default_device(device):
            for i in range(20):
                made = jnp.ones(3) * i + np.ones(3, "f")
                if made.device is not device or float(made[0]) != i + 1:
                    wrong.append(made)

    threads = [threading.Thread(target=work, args=(cpus[i % 4],)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_what_a_function_closes_over_follows_its_arguments(cpus, x, c):
    f = jax.jit(lambda v: v * c + x)
    assert where(f(x)) == ("cpu:2", True)
    moved = jax.device_put(x, cpus[1])
    with jax.see.transfers() as t:
        for _ in range(3):
            made = f(moved)
            assert where(made) == ("cpu:1", True)
    np.testing.assert_array_equal(made, x * x + x)
    assert t.total == 2 * x.nbytes  # once each
    assert where(f(c)) == ("cpu:2", True)
