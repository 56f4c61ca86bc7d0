"""Meshes and shardings: what one device makes obvious works, more is refused."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import NamedSharding, P
from tetrad.experimental import layout, multihost_utils
from tetrad.experimental.pjit import pjit
from tetrad.sharding import AbstractMesh, AxisType, Mesh, SingleDeviceSharding


@pytest.fixture
def mesh():
    return jax.make_mesh((1,), ("x",), devices=jax.devices()[:1])


@pytest.fixture
def rows(mesh):
    return NamedSharding(mesh, P("x"))


def test_specifications():
    spec = P("x", None, ("a", "b"))
    assert list(spec) == ["x", None, ("a", "b")]
    assert len(spec) == 3
    assert spec[0] == "x"
    assert spec[1:] == (None, ("a", "b"))
    assert spec + ("z",) == P("x", None, ("a", "b"), "z")
    assert P(("x",)) == P("x") != P("x", None)
    assert P([]) == P(None)
    assert hash(P("x")) == hash(P(("x",)))
    assert repr(P("x")) == "P('x',)"
    assert repr(P("x", unreduced={"y"})) == "P('x', unreduced={'y'})"
    assert pickle.loads(pickle.dumps(spec)) == spec
    assert spec.update(partitions=("q",)) == P("q")
    assert jax.tree.leaves(P("x", "y")) == [P("x", "y")]
    with pytest.raises(ValueError, match="cannot be unreduced"):
        P("x", unreduced={"x"})
    with pytest.raises(TypeError, match="must be a set"):
        P("x", unreduced="y")


def test_meshes(mesh):
    assert mesh is Mesh(jax.devices()[:1], ("x",), (AxisType.Explicit,))
    assert str(mesh) == "Mesh('x': 1, axis_types=(Explicit,))"
    assert mesh.shape == {"x": 1}
    assert mesh.size == 1
    assert not mesh.empty
    assert copy.deepcopy(mesh) is mesh
    assert mesh.abstract_mesh.axis_names == ("x",)
    assert mesh.update(axis_types=(AxisType.Auto,)).auto_axes == ("x",)
    assert AbstractMesh((2, 3), ("a", "b")).size == 6
    assert jax.sharding.get_mesh().empty
    with jax.set_mesh(mesh):
        assert jax.sharding.get_mesh() is mesh
        assert jax.sharding.get_abstract_mesh() == mesh.abstract_mesh
    with mesh as entered:
        assert entered is mesh is jax.sharding.get_mesh()
    assert jax.sharding.get_mesh().empty
    with pytest.raises(ValueError, match="ndim"):
        Mesh(jax.devices()[:1], ("x", "y"))
    with pytest.raises(ValueError, match="Number of devices"):
        jax.make_mesh((1 << 20,), ("x",))
    with pytest.raises(ValueError, match="AbstractMesh has no devices"):
        AbstractMesh((2,), ("x",)).devices


def test_named_shardings(mesh, rows):
    assert rows.shard_shape((4, 2)) == (4, 2)
    assert rows.is_fully_replicated
    assert rows == NamedSharding(mesh, P("x")) != NamedSharding(mesh, P())
    assert rows.is_equivalent_to(SingleDeviceSharding(jax.devices()[0]), 1)
    assert pickle.loads(pickle.dumps(rows)) == rows
    with pytest.raises(ValueError, match="not found in mesh"):
        NamedSharding(mesh, P("y"))
    with pytest.raises(ValueError, match="duplicate entries"):
        NamedSharding(mesh, P("x", "x"))
    with pytest.raises(TypeError, match="spec must be a PartitionSpec"):
        NamedSharding(mesh, None)


def test_arrays_remember_their_sharding(mesh, rows):
    x = jax.device_put(jnp.ones((4, 2)), rows)
    assert x.sharding == rows
    assert (x + 1).sharding == rows
    assert (jnp.ones((4, 2)) * x).sharding == rows
    assert jnp.sum(x).sharding == NamedSharding(mesh, P())
    assert x.at[0].set(3.0).sharding == rows
    assert jax.jit(lambda x: 2 * x)(x).sharding == rows
    assert x.committed
    assert jnp.zeros((4, 2), device=rows).sharding == rows
    (shard,) = x.addressable_shards
    assert shard.data.shape == (4, 2)
    moved = jax.device_put({"a": x, "b": jnp.ones(3)}, {"a": rows, "b": None})
    assert moved["a"].sharding == rows
    with pytest.raises(ValueError, match="rank at least 1"):
        jax.device_put(1.0, rows)


def test_constraints(mesh, rows):
    x = jnp.arange(4.0)
    assert jax.lax.with_sharding_constraint(x, rows).sharding == rows
    f = jax.jit(lambda x: jax.lax.with_sharding_constraint({"a": x}, rows)["a"] * 2)
    assert f(x).tolist() == [0, 2, 4, 6]
    assert jax.grad(lambda x: jax.reshard(x, rows).sum())(x).tolist() == [1, 1, 1, 1]
    with jax.set_mesh(mesh):
        assert jax.device_put(x, P("x")).sharding == rows
        assert jax.reshard(x, P("x")).sharding == rows
    with pytest.raises(RuntimeError, match="non-empty mesh"):
        jax.lax.with_sharding_constraint(x, P("x"))
    with pytest.raises(ValueError, match="rank at least 1"):
        jax.lax.with_sharding_constraint(jnp.ones(()), rows)
    with pytest.raises(ValueError, match="not allowed"):
        jax.lax.with_sharding_constraint(x, None)
    with pytest.raises(ValueError, match="does not fit the values") as told:
        jax.lax.with_sharding_constraint((x, x), (rows,))
    assert "This fits" not in str(told.value)  # which would name axes


def test_jit_with_shardings(mesh, rows):
    f = jax.jit(lambda x, y: x + y, in_shardings=(rows, None), out_shardings=rows)
    assert f(jnp.ones(3), np.ones(3)).sharding == rows
    assert (
        f.lower(jnp.ones(3), jnp.ones(3)).compile()(jnp.ones(3), jnp.ones(3)).sum() == 6
    )
    named = pjit(lambda d: {"out": d["a"] * 2}, in_shardings=({"a": rows},))
    assert named({"a": jnp.ones(2)})["out"].tolist() == [2, 2]
    assert jax.grad(lambda x: f(x, x).sum())(jnp.ones(2)).tolist() == [2, 2]
    with jax.set_mesh(mesh):
        assert jax.jit(lambda x: x, out_shardings=P("x"))(jnp.ones(2)).sharding == rows
    with pytest.raises(ValueError, match="in_shardings"):
        jax.jit(lambda x: x, in_shardings=(rows, rows))(jnp.ones(2))
    with pytest.raises(TypeError, match="leaf specifications"):
        jax.jit(lambda x: x, in_shardings=3)
    with pytest.raises(ValueError, match="kwargs"):
        jax.jit(lambda x: x, in_shardings=rows)(x=jnp.ones(2))


def test_shard_map(mesh):
    x = jnp.arange(4.0)
    spec = P("x")

    def f(x, y):
        total = jax.lax.psum(x, "x") + jax.lax.axis_index("x") + jax.lax.axis_size("x")
        return {"sum": jax.lax.all_gather(total, "x", tiled=True) * y}

    g = jax.shard_map(f, mesh=mesh, in_specs=(spec, P()), out_specs={"sum": spec})
    assert g(x, 2.0)["sum"].tolist() == [2, 4, 6, 8]
    assert jax.jit(g)(x, 2.0)["sum"].tolist() == [2, 4, 6, 8]
    assert jax.grad(lambda x: g(x, 2.0)["sum"].sum())(x).tolist() == [2, 2, 2, 2]
    assert jax.vmap(lambda x: g(x, 2.0)["sum"])(jnp.ones((3, 4))).shape == (3, 4)
    with jax.set_mesh(mesh):
        assert jax.shard_map(jnp.sin, out_specs=spec)(jnp.zeros(2)).shape == (2,)
        two = jax.smap(lambda x: jax.lax.psum(x, "x"), out_axes=0, axis_name="x")
        assert two(jnp.ones(2)).shape == (2,)
    with pytest.raises(ValueError, match="context mesh"):
        jax.shard_map(jnp.sin, out_specs=spec)(x)
    with pytest.raises(ValueError, match="too long"):
        jax.shard_map(jnp.sum, mesh=mesh, in_specs=spec, out_specs=spec)(x)
    with pytest.raises(ValueError, match="refers to 'y'"):
        jax.shard_map(jnp.sin, mesh=mesh, in_specs=P("y"), out_specs=spec)(x)
    with pytest.raises(NameError, match="no axis is named 'z'"):
        sums = jax.shard_map(
            lambda x: jax.lax.psum(x, "z"), mesh=mesh, in_specs=spec, out_specs=spec
        )
        sums(x)


def test_pmap():
    f = jax.pmap(lambda x, y: x + jax.lax.pmean(y, "i"), axis_name="i")
    assert f(jnp.ones((1, 2)), jnp.ones((1, 2))).tolist() == [[2, 2]]
    scaled = jax.pmap(lambda x, n, y: x * n + y, static_broadcasted_argnums=1)
    assert scaled(jnp.ones((1, 2)), 3, jnp.ones((1, 2))).tolist() == [[4, 4]]
    mixed = jax.pmap(lambda x, p: (x, p["w"]), in_axes=(1, None), out_axes=(1, None))
    a, b = mixed(jnp.ones((2, 1)), {"w": jnp.arange(3)})
    assert a.shape == (2, 1)
    assert b.tolist() == [0, 1, 2]
    gone = jnp.ones((1, 2))
    jax.pmap(lambda x: x + 1, donate_argnums=0)(gone)
    assert gone.is_deleted()
    assert jax.pmap(jnp.sin, devices=jax.devices()[:1])(jnp.zeros((1, 2))).committed
    with pytest.raises(ValueError, match="mapped axes have 2 lanes"):
        jax.pmap(jnp.sin)(jnp.ones((2, 2)))
    with pytest.raises(ValueError, match="no axis 0"):
        jax.pmap(jnp.sin)(jnp.ones(()))
    with pytest.raises(ValueError, match="at least one argument"):
        jax.pmap(jnp.sin, in_axes=None)(jnp.ones((1, 2)))
    with pytest.raises(ValueError, match="inconsistent sizes"):
        jax.pmap(jnp.add)(jnp.ones((1, 2)), jnp.ones((2, 2)))
    with pytest.raises(ValueError, match="non-empty"):
        jax.pmap(jnp.sin, devices=[])
    with pytest.raises(ValueError, match="axis 7 is out of range"):
        jax.pmap(jnp.sin, out_axes=7)(jnp.ones((1, 2)))


def test_arrays_from_parts(rows):
    data = np.arange(4)
    made = jax.make_array_from_callback((4,), rows, lambda index: data[index])
    assert made.tolist() == [0, 1, 2, 3]
    assert made.sharding == rows
    assert jax.make_array_from_process_local_data(rows, data).sharding == rows
    parts = [jnp.arange(4)]
    assert jax.make_array_from_single_device_arrays((4,), rows, parts).sharding == rows
    shapes = {"a": (4,), "b": (None,)}
    both = {"a": data, "b": data}
    made = jax.make_array_from_process_local_data(rows, both, shapes)
    assert made["a"].shape == made["b"].shape == (4,)
    with pytest.raises(ValueError, match="global_shape does not fit the data"):
        jax.make_array_from_process_local_data(rows, both, {"a": (4,)})
    with pytest.raises(ValueError, match="Expected shard shape"):
        jax.make_array_from_callback((4,), rows, lambda index: data[:3])
    with pytest.raises(TypeError, match="list or tuple"):
        jax.make_array_from_single_device_arrays((4,), rows, parts[0])


def test_one_process():
    assert jax.host_count() == jax.process_count() == 1
    assert jax.host_ids() == jax.process_indices() == [0]
    jax.distributed.initialize()
    assert jax.distributed.is_initialized()
    with pytest.raises(RuntimeError, match="only be called once"):
        jax.distributed.initialize()
    jax.distributed.shutdown()
    with pytest.raises(NotImplementedError, match="one process"):
        jax.distributed.initialize("localhost:1", 2, 0)
    gathered = multihost_utils.process_allgather({"a": jnp.ones(2)})
    assert gathered["a"].shape == (1, 2)
    multihost_utils.sync_global_devices("here")
    multihost_utils.assert_equal(jnp.ones(2))


def test_formats(rows):
    x = jnp.ones((2, 2))
    fine = layout.Format(layout.Layout((0, 1)), rows)
    assert jax.device_put(x, fine).sharding == rows
    with pytest.raises(NotImplementedError, match="row-major"):
        jax.device_put(x, layout.Format(layout.Layout((1, 0)), rows))


def test_sharding_of_a_traced_array(capsys):
    found = []

    @jax.jit
    def f(x):
        y = x + 1
        jax.debug.inspect_array_sharding(y, callback=found.append)
        return y

    f(jnp.ones(2)).block_until_ready()
    assert [sharding.num_devices for sharding in found] == [1]
    jax.debug.visualize_array_sharding(jnp.ones(3))
    assert "CPU 0" in capsys.readouterr().out


SEVERAL = """
import tetrad as jax, tetrad.numpy as jnp
from tetrad import NamedSharding, P
from tetrad.experimental import mesh_utils
jax.set_cpu_devices(4)
mesh = jax.make_mesh((2, 2), ("x", "y"))
s = NamedSharding(mesh, P("y", "x"))
assert s.shard_shape((4, 8)) == (2, 4)
index = s.devices_indices_map((4, 8))
assert index[jax.devices()[1]] == (slice(2, 4), slice(0, 4)), index
assert NamedSharding(mesh, P(("x", "y"))).devices_indices_map((4,))[jax.devices()[2]] == (
    slice(2, 3),
)
assert not s.is_equivalent_to(NamedSharding(mesh, P("x", "y")), 2)
assert s.is_equivalent_to(NamedSharding(mesh, P("y", "x")), 2)
assert mesh_utils.create_device_mesh((4,)).shape == (4,)
jax.debug.visualize_sharding((4, 8), s)
x = jnp.ones((4, 4))
refused = {
    "device_put": lambda: jax.device_put(x, s),
    "constraint": lambda: jax.lax.with_sharding_constraint(x, s),
    "jit": lambda: jax.jit(jnp.sin, in_shardings=s)(x),
    "traced": lambda: jax.jit(lambda x: jax.lax.with_sharding_constraint(x, s))(x),
    "shard_map": lambda: jax.shard_map(
        jnp.sin, mesh=mesh, in_specs=P("x"), out_specs=P("x")
    )(x),
    "pmap": lambda: jax.pmap(jnp.sin)(x),
    "callback": lambda: jax.make_array_from_callback((4, 4), s, lambda i: x[i]),
}
for name, call in refused.items():
    try:
        call()
    except NotImplementedError as error:
        assert "one device" in str(error), error
    else:
        raise AssertionError(f"{name} was not refused")
one = NamedSharding(jax.make_mesh((1,), ("x",), devices=jax.devices()[2:3]), P("x"))
assert jax.device_put(x, one).device is jax.devices()[2]
try:
    jax.jit(jnp.sin, in_shardings=one)(jax.device_put(x, jax.devices()[1]))
except ValueError as error:
    assert "was placed on" in str(error)
else:
    raise AssertionError("an argument on another device was not refused")
gone, at = jax.device_put((None, x), tuple(jax.devices()[1:3]))
assert gone is None and at.device is jax.devices()[2]
print("fine")
"""


def test_several_devices_are_refused():
    done = subprocess.run(
        [sys.executable, "-c", SEVERAL], capture_output=True, text=True, timeout=120
    )
    assert done.stdout.endswith("fine\n"), done.stdout + done.stderr
    assert "CPU 0" in done.stdout


def test_monitoring():
    heard = []
    monitoring = jax.monitoring

    def listen(event, seconds, **words):
        heard.append((event, words))

    monitoring.register_event_duration_secs_listener(listen)

    @jax.jit
    def unheard_of(x):
        return x * 3 + 1

    unheard_of(jnp.arange(7.0)).block_until_ready()
    monitoring.record_event_duration_secs("/mine", 1.5, step=3)
    monitoring.unregister_event_duration_listener(listen)
    monitoring.record_event_duration_secs("/mine", 1.5, step=4)
    assert ("/mine", {"step": 3}) in heard
    assert ("/mine", {"step": 4}) not in heard
    traced = [w for e, w in heard if e == "/jax/core/compile/jaxpr_trace_duration"]
    assert {"fun_name": "unheard_of"} in traced
    numbers = []
    monitoring.register_scalar_listener(lambda event, value, **w: numbers.append(value))
    monitoring.register_event_time_span_listener(lambda e, a, b, **w: numbers.append(b))
    monitoring.record_scalar("/loss", 0.5)
    monitoring.record_event_time_span("/span", 1.0, 2.0)
    monitoring.clear_event_listeners()
    monitoring.record_scalar("/loss", 0.25)
    assert numbers == [0.5, 2.0]
    with pytest.raises(ValueError, match="does not listen"):
        monitoring.unregister_event_duration_listener(listen)
    with pytest.raises(TypeError, match="must be a function"):
        monitoring.register_event_listener(3)


def test_types_of_arrays_are_whole():
    sharding = jax.typeof(jnp.ones((2, 3))).sharding
    assert sharding.spec == P(None, None)
    assert sharding.mesh.empty
    assert sharding.is_fully_replicated
    drawn = jax.random.normal(jax.random.key(0), (2, 3), out_sharding=sharding)
    assert drawn.shape == (2, 3)
    with pytest.raises(NotImplementedError, match="out_sharding"):
        cut = NamedSharding(AbstractMesh((2,), ("x",)), P("x"))
        jax.random.normal(jax.random.key(0), (2, 3), out_sharding=cut)


def test_shards_divide_shapes():
    mesh = AbstractMesh((2, 4), ("x", "y"))
    assert NamedSharding(mesh, P("x", "y")).shard_shape((8, 8)) == (4, 2)
    assert NamedSharding(mesh, P(("x", "y"))).shard_shape((8, 3)) == (1, 3)
    assert NamedSharding(mesh, P()).is_fully_replicated
    assert not NamedSharding(mesh, P(None, "y")).is_fully_replicated
    with pytest.raises(ValueError, match="must be a multiple of 4"):
        NamedSharding(mesh, P(None, "y")).shard_shape((8, 6))
    with pytest.raises(ValueError, match="rank at least 2"):
        NamedSharding(mesh, P("x", "y")).shard_shape((8,))
    with pytest.raises(ValueError, match="name of its own"):
        AbstractMesh((2, 2), ("x", "x"))
    with pytest.raises(ValueError, match="axis_types has 0 entries"):
        AbstractMesh((2,), ("x",), ())
    with pytest.raises(ValueError, match="AbstractMesh has no devices"):
        jax.device_put(jnp.ones(2), NamedSharding(mesh, P()))
