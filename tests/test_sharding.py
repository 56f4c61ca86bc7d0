"""Meshes, specs and shardings: descriptions, and where an array can follow them."""

import pickle

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad.sharding import AbstractMesh, AxisType, Mesh, NamedSharding, Sharding

P = jax.P


@pytest.fixture
def mesh():
    return Mesh(jax.devices()[:1], ("x",))


def test_specs_are_sequences():
    spec = P("x", None, ("y", "z"))
    assert len(spec) == 3
    assert spec[0] == "x"
    assert list(spec) == ["x", None, ("y", "z")]
    assert spec == P("x", None, ("y", "z"))
    assert spec == ("x", None, ("y", "z"))
    assert spec != P("x")
    assert hash(spec) == hash(P("x", None, ("y", "z")))
    assert repr(spec) == "P('x', None, ('y', 'z'))"
    assert P("x") + P(None) == P("x", None)
    assert pickle.loads(pickle.dumps(spec)) == spec
    with pytest.raises(TypeError, match="a name of the mesh"):
        P(3)


def test_meshes(mesh):
    assert mesh.shape == {"x": 1}
    assert mesh.axis_names == ("x",)
    assert mesh.size == 1
    assert not mesh.empty
    assert mesh.device_ids.tolist() == [0]
    assert mesh.are_all_axes_auto and not mesh.are_all_axes_explicit
    assert mesh == Mesh(np.array(jax.devices()[:1]), "x")
    assert hash(mesh) == hash(Mesh(jax.devices()[:1], ("x",)))
    assert pickle.loads(pickle.dumps(mesh)) == mesh
    assert mesh.abstract_mesh == AbstractMesh((1,), ("x",))
    assert AbstractMesh((1,), "x", (AxisType.Explicit,)).are_all_axes_explicit
    assert not jax.sharding.get_abstract_mesh().are_all_axes_explicit
    with pytest.raises(ValueError, match="one name for each"):
        Mesh(jax.devices()[:1], ("x", "y"))
    with pytest.raises(ValueError, match="must differ"):
        AbstractMesh((2, 2), ("x", "x"))
    with pytest.raises(ValueError, match="one axis type"):
        AbstractMesh((2,), ("x",), ())


def test_shards_divide_shapes():
    mesh = AbstractMesh((2, 4), ("x", "y"))
    assert NamedSharding(mesh, P("x", "y")).shard_shape((8, 8)) == (4, 2)
    assert NamedSharding(mesh, P(("x", "y"))).shard_shape((8, 3)) == (1, 3)
    assert NamedSharding(mesh, P()).is_fully_replicated
    assert not NamedSharding(mesh, P(None, "y")).is_fully_replicated
    with pytest.raises(ValueError, match="does not divide into 4 equal parts"):
        NamedSharding(mesh, P(None, "y")).shard_shape((8, 6))
    with pytest.raises(ValueError, match="describes 2 axes"):
        NamedSharding(mesh, P("x", "y")).shard_shape((8,))


def test_shardings_check_their_parts(mesh):
    with pytest.raises(TypeError, match="takes a jax.sharding.Mesh"):
        NamedSharding(None, P())
    with pytest.raises(TypeError, match="takes a jax.sharding.PartitionSpec"):
        NamedSharding(mesh, "x")
    with pytest.raises(ValueError, match="names the axis 'y'"):
        NamedSharding(mesh, P("y"))
    with pytest.raises(ValueError, match="twice"):
        NamedSharding(mesh, P("x", "x"))


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


def test_arrays_follow_shardings_over_one_device(mesh):
    sharding = NamedSharding(mesh, P("x"))
    x = jax.device_put(jnp.arange(3.0), sharding)
    assert x.device is jax.devices()[0]
    assert isinstance(x.sharding, Sharding)
    assert x.sharding.num_devices == 1
    assert x.sharding.shard_shape((3,)) == (3,)
    with pytest.raises(ValueError, match="abstract mesh"):
        jax.device_put(x, NamedSharding(mesh.abstract_mesh, P()))


def test_what_needs_several_devices_says_so():
    class Fake:
        id = 1

    mesh = Mesh(np.array([jax.devices()[0], Fake()]), "x")
    with pytest.raises(NotImplementedError, match="over 2; put it on one"):
        jax.device_put(jnp.ones(2), NamedSharding(mesh, P("x")))
    with pytest.raises(NotImplementedError, match=r"jax\.vmap with the same in_axes"):
        jax.pmap(lambda x: x)
