"""Rotations in three dimensions, as `scipy.spatial.transform.Rotation` has them.

A rotation is a unit quaternion (x, y, z, w), a stack of rotations an array of them; both
are pytrees. Active rotations: `apply` turns vectors, and `p * q` turns by q first. Capital
letters in a sequence of axes are axes that turn along (intrinsic), small ones stay.

Read `Rotation`; the formulas stand below it, then `Slerp`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tetrad import lax, numpy, random, tree_util
from tetrad._src.scipy.arguments import apart, floats

jnp: Any = numpy  # arrays have methods that their type does not state


class Rotation:
    """A rotation in three dimensions, or a stack of them along leading axes.

    Made by `from_quat`, `from_matrix`, `from_rotvec`, `from_euler`, `from_mrp`,
    `identity`, `random`; `Rotation(quat)` takes unit quaternions as they are.

    >>> from tetrad.scipy.spatial.transform import Rotation
    >>> turn = Rotation.from_euler("z", 90, degrees=True)
    >>> turn.as_rotvec().round(3)
    Array([0.   , 0.   , 1.571], dtype=float32)
    >>> (turn * turn).magnitude().round(3)
    Array(3.142, dtype=float32)
    """

    __slots__ = ("quat", "__weakref__")

    def __init__(self, quat: Any) -> None:
        self.quat = quat

    # -- makers ------------------------------------------------------------------------

    @classmethod
    def from_quat(cls, quat: Any, *, scalar_first: bool = False) -> Rotation:
        """From quaternions (x, y, z, w), or (w, x, y, z), which are divided by their norm.

        quat[..., 4]; ValueError for other shapes. NaN for a quaternion of zeros.
        """
        quat = _vectors("from_quat", "quat", quat, 4)
        quat = jnp.roll(quat, -1, axis=-1) if scalar_first else quat
        return cls(_normalized(quat))

    @classmethod
    def from_matrix(cls, matrix: Any) -> Rotation:
        """From orthogonal matrices of determinant 1, matrix[..., 3, 3]; nobody checks it."""
        matrix = floats(matrix)
        if matrix.shape[-2:] != (3, 3):
            raise ValueError(
                "Rotation.from_matrix: matrix must have shape (..., 3, 3), got"
                f" {matrix.aval.long_name()}"
            )
        return cls(_quat_of_matrix(matrix))

    @classmethod
    def from_rotvec(cls, rotvec: Any, degrees: bool = False) -> Rotation:
        """From vectors along the axis, as long as the angle: rotvec[..., 3]."""
        rotvec = _vectors("from_rotvec", "rotvec", rotvec, 3)
        return cls(_quat_of_rotvec(jnp.deg2rad(rotvec) if degrees else rotvec))

    @classmethod
    def from_mrp(cls, mrp: Any) -> Rotation:
        """From modified Rodrigues parameters, the axis times tan(angle/4): mrp[..., 3]."""
        mrp = _vectors("from_mrp", "mrp", mrp, 3)
        square = jnp.sum(mrp * mrp, -1, keepdims=True)
        parts = jnp.concatenate([2 * mrp, 1 - square], -1)
        return cls(parts / (1 + square))

    @classmethod
    def from_euler(cls, seq: str, angles: Any, degrees: bool = False) -> Rotation:
        """From one to three angles around coordinate axes, one after the other.

        Args:
          seq: the axes: "xyz" stay, "XYZ" turn along. Neighbours differ.
          angles: the angles, angles[..., len(seq)]; for one axis angles[...] too.
          degrees: whether they are degrees.
        """
        axes, intrinsic = _axes("from_euler", seq)
        angles = floats(angles)
        if len(axes) == 1 and (not angles.ndim or angles.shape[-1] != 1):
            angles = angles[..., None]
        if not angles.ndim or angles.shape[-1] != len(axes):
            raise ValueError(
                f"Rotation.from_euler: angles must have shape (..., {len(axes)}) for"
                f" seq={seq!r}, got {angles.aval.long_name()}"
            )
        angles = jnp.deg2rad(angles) if degrees else angles
        return cls(_quat_of_angles(angles, axes, intrinsic))

    @classmethod
    def identity(cls, num: int | None = None, dtype: Any = float) -> Rotation:
        """The rotation that changes nothing, or `num` of them."""
        one = jnp.array([0, 0, 0, 1], dtype=dtype)
        return cls(one if num is None else jnp.tile(one, (num, 1)))

    @classmethod
    def random(cls, random_key: Any, num: int | None = None) -> Rotation:
        """A rotation from the uniform distribution, or `num` of them.

        The direction of four normal numbers is uniform among quaternions.
        """
        shape = (4,) if num is None else (num, 4)
        return cls(_normalized(jnp.asarray(random.normal(random_key, shape))))

    @classmethod
    def concatenate(cls, rotations: Sequence[Rotation]) -> Rotation:
        """The rotations of several objects in one stack."""
        return cls(jnp.concatenate([jnp.atleast_2d(r.quat) for r in rotations]))

    # -- other forms ---------------------------------------------------------------------

    def as_quat(self, canonical: bool = False, scalar_first: bool = False) -> Any:
        """The quaternions (x, y, z, w), or (w, x, y, z).

        Of q and −q, which are the same rotation, `canonical` gives the one whose w is
        positive, or if that is 0, the first of x, y, z that is not.
        """
        quat = _canonical(self.quat) if canonical else self.quat
        return jnp.roll(quat, 1, axis=-1) if scalar_first else quat

    def as_matrix(self) -> Any:
        """The orthogonal matrices, [..., 3, 3]."""
        return _matrix(self.quat)

    def as_rotvec(self, degrees: bool = False) -> Any:
        """Vectors along the axis, as long as the angle, which is at most π."""
        found = _rotvec(self.quat)
        return jnp.rad2deg(found) if degrees else found

    def as_mrp(self) -> Any:
        """Modified Rodrigues parameters, of the angle that is at most π."""
        quat = _upper(self.quat)
        return quat[..., :3] / (1 + quat[..., 3:])

    def as_euler(self, seq: str, degrees: bool = False) -> Any:
        """Three angles around coordinate axes, [..., 3], for `from_euler`.

        The second lies in [−π/2, π/2], or in [0, π] if the first and last axis are the
        same. Where it is at an end only a sum of the others is determined, and the third
        is 0.
        """
        axes, intrinsic = _axes("as_euler", seq)
        if len(axes) != 3:
            raise ValueError(f"Rotation.as_euler: seq must name 3 axes, got {seq!r}")
        found = _angles(self.quat, axes, intrinsic)
        return jnp.rad2deg(found) if degrees else found

    # -- what rotations do -----------------------------------------------------------------

    def apply(self, vectors: Any, inverse: bool = False) -> Any:
        """The vectors [..., 3] turned, or turned back; leading axes broadcast."""
        vectors = _vectors("apply", "vectors", vectors, 3)
        return _turned(self.quat, vectors, inverse)

    def __mul__(self, other: Rotation) -> Rotation:
        """The rotation that turns as `other` does, and then as `self` does."""
        if not isinstance(other, Rotation):
            return NotImplemented
        return Rotation(_normalized(_product(self.quat, other.quat)))

    def __pow__(self, n: float) -> Rotation:
        """The rotation by n times the angle around the same axis."""
        return Rotation(_quat_of_rotvec(_rotvec(self.quat) * n))

    def inv(self) -> Rotation:
        """The rotation that turns back."""
        return Rotation(self.quat * jnp.array([-1, -1, -1, 1], self.quat.dtype))

    def magnitude(self) -> Any:
        """The angle, in [0, π]."""
        x = _upper(self.quat)
        return 2 * jnp.arctan2(_length(x[..., :3])[..., 0], x[..., 3])

    def mean(self, weights: Any = None) -> Rotation:
        """The rotation nearest to a stack of them: it maximises Σ wᵢ (q·qᵢ)².

        ValueError unless there is one non-negative weight for each rotation, if they can
        be seen.
        """
        quat = jnp.atleast_2d(self.quat).reshape(-1, 4)
        count = quat.shape[0]
        w = jnp.ones(count, quat.dtype) if weights is None else jnp.asarray(weights)
        if w.shape != (count,):
            raise ValueError(
                f"Rotation.mean: weights must be {count} numbers, one for each rotation,"
                f" got {w.aval.long_name()}"
            )
        if isinstance(weights, (list, tuple, np.ndarray)) and np.min(weights) < 0:
            raise ValueError(
                f"Rotation.mean: weights must not be negative, got {weights}"
            )
        total = jnp.einsum("n,ni,nj->ij", w.astype(quat.dtype), quat, quat)
        return Rotation(lax.linalg.eigh(total)[0][:, -1])

    # -- stacks ------------------------------------------------------------------------

    @property
    def single(self) -> bool:
        """Whether this is one rotation, and no stack."""
        return self.quat.ndim == 1  # type: ignore[no-any-return]

    def __getitem__(self, indexer: Any) -> Rotation:
        if self.single:
            raise TypeError("a single Rotation has no elements; stacks of them have")
        return Rotation(self.quat[indexer])

    def __len__(self) -> int:
        if self.single:
            raise TypeError("a single Rotation has no len(); stacks of them have")
        return len(self.quat)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"Rotation(quat={self.quat!r})"


tree_util.register_pytree_with_keys(
    Rotation,
    lambda r: (((tree_util.GetAttrKey("quat"), r.quat),), None),
    lambda _, leaves: Rotation(*leaves),
)


# ------------------------------------------------------------------------- formulas


def _vectors(method: str, argument: str, x: Any, length: int) -> Any:
    x = floats(x)
    if not x.ndim or x.shape[-1] != length:
        raise ValueError(
            f"Rotation.{method}: {argument} must have shape (..., {length}), got"
            f" {x.aval.long_name()}"
        )
    return x


def _axes(method: str, seq: str) -> tuple[list[int], bool]:
    """The axes that letters stand for, and whether they turn along."""
    known = isinstance(seq, str) and 1 <= len(seq) <= 3
    if not known or not (set(seq) <= set("xyz") or set(seq) <= set("XYZ")):
        raise ValueError(
            f"Rotation.{method}: seq must be one to three of 'x', 'y', 'z', or of 'X',"
            f" 'Y', 'Z' for axes that turn along, got {seq!r}"
        )
    if any(a == b for a, b in zip(seq, seq[1:])):
        raise ValueError(
            f"Rotation.{method}: neighbouring axes in seq must differ, got {seq!r}"
        )
    return ["xyz".index(letter) for letter in seq.lower()], seq.isupper()


def _length(x: Any) -> Any:
    """The norm along the last axis, which stays; its slope at 0 is 0."""
    square = jnp.sum(x * x, -1, keepdims=True)
    none = square == 0
    return jnp.where(none, 0, jnp.sqrt(jnp.where(none, 1, square)))


@apart
def _normalized(quat: Any) -> Any:
    scale = jnp.max(jnp.abs(quat), -1, keepdims=True)
    quat = quat / lax.stop_gradient(scale)
    return quat / jnp.sqrt(jnp.sum(quat * quat, -1, keepdims=True))


@apart
def _canonical(quat: Any) -> Any:
    x, y, z, w = [quat[..., i : i + 1] for i in range(4)]
    below = (x < 0) | ((x == 0) & ((y < 0) | ((y == 0) & (z < 0))))
    return jnp.where((w < 0) | ((w == 0) & below), -quat, quat)


@apart
def _upper(quat: Any) -> Any:
    """The quaternion of q and −q whose w is not negative."""
    return jnp.where(quat[..., 3:] < 0, -quat, quat)


@apart
def _product(p: Any, q: Any) -> Any:
    p, q = jnp.broadcast_arrays(p, q)
    a, b, s, t = p[..., :3], q[..., :3], p[..., 3:], q[..., 3:]
    axis = s * b + t * a + jnp.cross(a, b)
    return jnp.concatenate([axis, s * t - jnp.sum(a * b, -1, keepdims=True)], -1)


@apart
def _matrix(quat: Any) -> Any:
    x, y, z, w = [quat[..., i] for i in range(4)]
    rows = [
        [x * x - y * y - z * z + w * w, 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), y * y + w * w - x * x - z * z, 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), z * z + w * w - x * x - y * y],
    ]
    return jnp.stack([jnp.stack(row, -1) for row in rows], -2)


@apart
def _turned(quat: Any, vectors: Any, inverse: bool) -> Any:
    matrix = _matrix(quat)
    return jnp.einsum(
        "...ji,...j->...i" if inverse else "...ij,...j->...i", matrix, vectors
    )


@apart
def _quat_of_matrix(m: Any) -> Any:
    """By the largest of the four squares of the quaternion, so that nothing cancels."""
    trace = m[..., 0, 0] + m[..., 1, 1] + m[..., 2, 2]
    squares = jnp.stack([m[..., 0, 0], m[..., 1, 1], m[..., 2, 2], trace], -1)
    found = []
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        parts = [None] * 4
        parts[i] = 1 - trace + 2 * m[..., i, i]
        parts[j] = m[..., j, i] + m[..., i, j]
        parts[k] = m[..., k, i] + m[..., i, k]
        parts[3] = m[..., k, j] - m[..., j, k]
        found.append(jnp.stack(parts, -1))
    last = [m[..., (i + 2) % 3, (i + 1) % 3] - m[..., (i + 1) % 3, (i + 2) % 3]
            for i in range(3)]  # fmt: skip
    found.append(jnp.stack([*last, 1 + trace], -1))
    which = jnp.argmax(squares, -1)[..., None]
    quat = found[3]
    for i in range(3):
        quat = jnp.where(which == i, found[i], quat)
    return _normalized(quat)


@apart
def _quat_of_rotvec(rotvec: Any) -> Any:
    angle = _length(rotvec)
    small = angle < 1e-3
    square = jnp.sum(rotvec * rotvec, -1, keepdims=True)
    safe = jnp.where(small, 1, angle)
    scale = jnp.where(small, 0.5 - square / 48, jnp.sin(0.5 * safe) / safe)
    cosine = jnp.where(small, 1 - square / 8 + square**2 / 384, jnp.cos(0.5 * safe))
    return jnp.concatenate([rotvec * scale, cosine], -1)


@apart
def _rotvec(quat: Any) -> Any:
    quat = _upper(quat)
    axis, w = quat[..., :3], quat[..., 3:]
    sine = _length(axis)
    small = sine < 1e-3
    safe = jnp.where(small, 1, sine)
    square = jnp.sum(axis * axis, -1, keepdims=True)
    scale = jnp.where(small, 2 + square / 3, 2 * jnp.arctan2(safe, w) / safe)
    return axis * scale


@apart
def _quat_of_angles(angles: Any, axes: list[int], intrinsic: bool) -> Any:
    total = None
    for i, axis in enumerate(axes):
        half = 0.5 * angles[..., i]
        parts = [jnp.zeros_like(half)] * 3
        parts[axis] = jnp.sin(half)
        turn = jnp.stack([*parts, jnp.cos(half)], -1)
        if total is None:
            total = turn
        else:
            total = _product(total, turn) if intrinsic else _product(turn, total)
    return total


@apart
def _angles(quat: Any, axes: list[int], intrinsic: bool) -> Any:
    """Source: Bernardes and Viollet, PLoS ONE 17 (2022)."""
    i, j, k = axes[::-1] if intrinsic else axes
    proper = i == k
    k = 3 - i - j if proper else k
    sign = (i - j) * (j - k) * (k - i) // 2
    x, y, z, w = quat[..., i], quat[..., j], quat[..., k] * sign, quat[..., 3]
    a, b, c, d = (w, x, y, z) if proper else (w - y, x + z, y + w, z - x)
    low = _length(jnp.stack([c, d], -1))[..., 0]
    high = _length(jnp.stack([a, b], -1))[..., 0]
    second = 2 * jnp.arctan2(low, high)
    tiny = 1e-7 if quat.dtype == jnp.float64 else 1e-3
    at_start, at_end = second < tiny, second > math.pi - tiny
    none = low == 0
    half_sum = jnp.arctan2(jnp.where(high == 0, 0, b), jnp.where(high == 0, 1, a))
    half_difference = jnp.arctan2(jnp.where(none, 0, d), jnp.where(none, 1, c))
    turning = half_sum - half_difference, half_sum + half_difference
    first, third = turning[::-1] if intrinsic else turning
    if not proper:
        if intrinsic:
            first = first * sign
        else:
            third = third * sign
        second = second - math.pi / 2
    other = 2 * half_difference if intrinsic else -2 * half_difference
    whole = jnp.where(at_start, 2 * half_sum, other)
    if intrinsic and not proper:
        whole = whole * sign
    first = jnp.where(at_start | at_end, whole, first)
    third = jnp.where(at_start | at_end, 0, third)
    found = jnp.stack([first, second, third], -1)
    found = jnp.where(found < -math.pi, found + 2 * math.pi, found)
    return jnp.where(found > math.pi, found - 2 * math.pi, found)


# -------------------------------------------------------------------- interpolation


class Slerp:
    """Turns from rotation to rotation, between two of them with a constant speed.

    Args:
      times: at least two increasing times.
      rotations: a stack with a rotation for each time.

    A call gives the rotation at a time, or at each of a vector of times: NaN before the
    first and after the last. ValueError if the arguments do not fit each other.

    >>> from tetrad.scipy.spatial.transform import Rotation, Slerp
    >>> ends = Rotation.from_euler("z", jnp.array([0., 90.]), degrees=True)
    >>> Slerp([0., 2.], ends)(1.0).as_euler("xyz", degrees=True).round(3)
    Array([ 0.,  0., 45.], dtype=float32)
    """

    __slots__ = ("times", "rotations", "rotvecs", "__weakref__")

    def __init__(self, times: Any, rotations: Rotation) -> None:
        if not isinstance(rotations, Rotation) or rotations.single:
            raise ValueError(
                "Slerp: rotations must be a stack of at least two rotations, got"
                f" {rotations!r}"
            )
        known = isinstance(times, (list, tuple, np.ndarray))
        self.times = floats(times)
        if self.times.shape != (len(rotations),) or len(rotations) < 2:
            raise ValueError(
                "Slerp: times must be a vector of a time for each of at least two"
                f" rotations, got {self.times.aval.long_name()} for {len(rotations)}"
            )
        if known and not (np.diff(np.asarray(times, np.float64)) > 0).all():
            raise ValueError(f"Slerp: times must increase, got {times}")
        self.rotations = rotations
        self.rotvecs = (rotations[:-1].inv() * rotations[1:]).as_rotvec()

    @classmethod
    def init(cls, times: Any, rotations: Rotation) -> Slerp:
        """The same as `Slerp(times, rotations)`."""
        return cls(times, rotations)

    def __call__(self, times: Any) -> Rotation:
        t = floats(times)
        if t.ndim > 1:
            raise ValueError(
                f"Slerp: times must be a number or a vector, got {t.aval.long_name()}"
            )
        return Rotation(_interpolated(self, t))


@apart
def _interpolated(path: Slerp, t: Any) -> Any:
    known = path.times
    last = known.shape[0] - 2
    place = jnp.clip(jnp.searchsorted(known, t, side="right") - 1, 0, last)
    start, end = known[place], known[place + 1]
    share = (t - start) / (end - start)
    outside = (t < known[0]) | (t > known[-1])
    share = jnp.where(outside, jnp.nan, share).astype(path.rotvecs.dtype)
    turn = _quat_of_rotvec(path.rotvecs[place] * share[..., None])
    return _normalized(_product(path.rotations.quat[place], turn))


def _slerp_of(_: None, leaves: Any) -> Slerp:
    path = object.__new__(Slerp)
    path.times, path.rotations, path.rotvecs = leaves
    return path


tree_util.register_pytree_node(
    Slerp, lambda s: ((s.times, s.rotations, s.rotvecs), None), _slerp_of
)
