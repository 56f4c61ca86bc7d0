"""Rotations against SciPy's."""

import itertools

import numpy as np
import pytest
from scipy.spatial import transform

import tetrad as jax
import tetrad.numpy as jnp
from tetrad.scipy.spatial.transform import Rotation, Slerp

QUATS = np.random.default_rng(3).normal(size=(6, 4))
EULER = ["".join(s) for s in itertools.product("xyz", repeat=3) if s[0] != s[1] != s[2]]


def same(ours, theirs, tolerance=2e-6):
    """Whether two rotations are the same: their quaternions may differ in sign."""
    products = np.sum(np.asarray(ours.quat) * theirs.as_quat(), -1)
    np.testing.assert_allclose(np.abs(products), 1, atol=tolerance)


@pytest.fixture
def pair():
    return Rotation.from_quat(QUATS), transform.Rotation.from_quat(QUATS)


def test_forms(pair):
    ours, theirs = pair
    np.testing.assert_allclose(ours.as_matrix(), theirs.as_matrix(), atol=1e-6)
    np.testing.assert_allclose(ours.as_rotvec(), theirs.as_rotvec(), atol=3e-6)
    np.testing.assert_allclose(
        ours.as_rotvec(degrees=True), theirs.as_rotvec(degrees=True), atol=2e-4
    )
    np.testing.assert_allclose(ours.as_mrp(), theirs.as_mrp(), atol=2e-6)
    np.testing.assert_allclose(ours.magnitude(), theirs.magnitude(), atol=2e-6)
    np.testing.assert_allclose(
        ours.as_quat(canonical=True), theirs.as_quat(canonical=True), atol=1e-6
    )
    assert (ours.as_quat(scalar_first=True)[:, 0] == ours.quat[:, 3]).all()
    same(Rotation.from_matrix(theirs.as_matrix()), theirs)
    same(Rotation.from_rotvec(theirs.as_rotvec()), theirs)
    same(Rotation.from_mrp(theirs.as_mrp()), theirs)
    first = Rotation.from_quat(ours.as_quat(scalar_first=True), scalar_first=True)
    same(first, theirs)
    for matrix in (np.diag([1, -1, -1]), np.diag([-1, 1, -1]), np.diag([-1, -1, 1])):
        got = Rotation.from_matrix(matrix).as_matrix()
        np.testing.assert_allclose(got, matrix, atol=1e-6)


@pytest.mark.parametrize("seq", [*EULER, *[s.upper() for s in EULER]])
def test_euler_angles(seq):
    with jax.enable_x64():
        ours, theirs = Rotation.from_quat(QUATS), transform.Rotation.from_quat(QUATS)
        np.testing.assert_allclose(ours.as_euler(seq), theirs.as_euler(seq), atol=1e-12)
        angles = np.array([[0.3, -1.2, 2.5], [170.0, 20.0, -60.0]])
        got = Rotation.from_euler(seq, angles, degrees=True)
        same(got, transform.Rotation.from_euler(seq, angles, degrees=True), 1e-12)
        ends = [0.0, np.pi] if seq[0] == seq[2] else [-np.pi / 2, np.pi / 2]
        for end in ends:
            turn = Rotation.from_euler(seq, np.array([0.4, end, 0.3]))
            found = turn.as_euler(seq)
            assert found[2] == 0
            again = Rotation.from_euler(seq, found)
            np.testing.assert_allclose(again.as_matrix(), turn.as_matrix(), atol=1e-7)


def test_fewer_angles():
    for seq, angles in (("x", 0.5), ("Z", [[0.1], [0.2]]), ("yz", [0.3, 0.4])):
        got = Rotation.from_euler(seq, np.asarray(angles))
        same(got, transform.Rotation.from_euler(seq, angles))
    assert Rotation.from_euler("x", 0.5).single


def test_composition(pair):
    ours, theirs = pair
    same(ours * ours[::-1], theirs * theirs[::-1])
    same(ours[0] * ours, theirs[0] * theirs)
    same(ours.inv(), theirs.inv())
    same(ours**0.5, theirs**0.5)
    vectors = QUATS[:, :3]
    for inverse in (False, True):
        np.testing.assert_allclose(
            ours.apply(vectors, inverse), theirs.apply(vectors, inverse), atol=3e-6
        )
        np.testing.assert_allclose(
            ours[1].apply(vectors, inverse),
            theirs[1].apply(vectors, inverse),
            atol=3e-6,
        )
    same(ours.mean(), theirs.mean(), 2e-5)
    weights = np.arange(1.0, 7.0)
    same(ours.mean(weights), theirs.mean(weights), 2e-5)
    assert len(Rotation.concatenate([ours, ours[0]])) == 7


def test_small_angles_have_derivatives():
    def turned(rotvec):
        return Rotation.from_rotvec(rotvec).apply(jnp.array([1.0, 2.0, 3.0]))

    want = np.array([[0, 3, -2], [-3, 0, 1], [2, -1, 0]], np.float32)
    np.testing.assert_allclose(jax.jacobian(turned)(jnp.zeros(3)), want, atol=1e-6)
    there = jax.jacobian(lambda v: Rotation.from_rotvec(v).as_rotvec())(jnp.zeros(3))
    np.testing.assert_allclose(there, np.eye(3), atol=1e-6)
    angle = jax.grad(lambda a: Rotation.from_euler("z", a).magnitude())(0.5)
    assert abs(angle - 1) < 1e-5
    assert jnp.isfinite(jax.grad(
        lambda m: Rotation.from_matrix(m).as_euler("xyz").sum())(jnp.eye(3))).all()  # fmt: skip


def test_pytrees_and_transformations(pair):
    ours, _ = pair
    (leaf,) = jax.tree.leaves(ours)
    assert leaf is ours.quat
    doubled = jax.jit(lambda r: r * r)(ours)
    np.testing.assert_allclose(doubled.quat, (ours * ours).quat, atol=1e-6)
    mapped = jax.vmap(lambda r, v: r.apply(v))(ours, jnp.asarray(QUATS[:, :3]))
    np.testing.assert_allclose(mapped, ours.apply(QUATS[:, :3]), atol=1e-5)
    with jax.numpy_rank_promotion("raise"):
        ours[0].apply(QUATS[:, :3])
        (ours[0] * ours).as_euler("xyz")


def test_random_and_identity():
    many = Rotation.random(jax.random.key(0), 2000)
    mean = many.as_matrix().mean(0)
    assert jnp.abs(mean).max() < 0.05
    assert Rotation.random(jax.random.key(1)).single
    assert Rotation.identity().magnitude() == 0
    assert len(Rotation.identity(3)) == 3


def test_slerp(pair):
    ours, theirs = pair
    times = [0.0, 1.0, 1.5, 4.0, 5.0, 7.0]
    at = np.array([0.0, 0.3, 1.0, 1.2, 3.9, 7.0])
    same(Slerp(times, ours)(at), transform.Slerp(times, theirs)(at))
    path = Slerp.init(np.array(times), ours)
    same(
        jax.jit(lambda path, t: path(t))(path, 4.5), transform.Slerp(times, theirs)(4.5)
    )
    assert jnp.isnan(path(7.5).quat).all() and jnp.isnan(path(-0.1).quat).all()
    with pytest.raises(ValueError, match="times must increase"):
        Slerp([0.0, 1.0, 1.0, 2.0, 3.0, 4.0], ours)
    with pytest.raises(ValueError, match="stack of at least two"):
        Slerp([0.0], ours[0])
    with pytest.raises(ValueError, match=r"float32\[2\] for 6"):
        Slerp([0.0, 1.0], ours)


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: Rotation.from_quat(np.ones(3)), r"quat must have shape \(..., 4\)"),
        (lambda: Rotation.from_matrix(np.ones((3, 2))), r"shape \(..., 3, 3\)"),
        (lambda: Rotation.from_euler("xX", [1, 2]), "'X', 'Y', 'Z' for axes that turn"),
        (lambda: Rotation.from_euler("xx", [1, 2]), "must differ, got 'xx'"),
        (lambda: Rotation.from_euler("xyz", [1, 2]), r"shape \(..., 3\) for seq='xyz'"),
        (lambda: Rotation.identity().as_euler("xy"), "name 3 axes, got 'xy'"),
        (lambda: Rotation.identity(2).mean([1.0]), "weights must be 2 numbers"),
        (lambda: Rotation.identity(2).mean([1.0, -1.0]), "must not be negative"),
        (lambda: Rotation.identity().apply(np.ones(2)), "vectors must have shape"),
    ],
)
def test_what_does_not_fit(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_single_rotations_are_no_stacks():
    with pytest.raises(TypeError, match="no elements"):
        Rotation.identity()[0]
    with pytest.raises(TypeError, match="no len"):
        len(Rotation.identity())
