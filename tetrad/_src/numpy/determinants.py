"""Determinants with all derivatives, also of singular matrices.

The determinant is a polynomial in the elements, so it has derivatives everywhere, while
the usual formula det A · tr(A⁻¹ dA) needs an inverse. Here A = U·diag(s)·Vᴴ: in the bases
U and V the matrix is diagonal, and the derivatives of a determinant at a diagonal matrix
are sums of products of the s that are left when one, two or three are taken out. Nothing
is divided. With Y = Uᴴ·dA·V and c = det U · det Vᴴ,

    first    c Σ p(i) Yᵢᵢ                                        p(i): all s but sᵢ
    second   c Σ p(i,j) (Yᵢᵢ Zⱼⱼ − Yᵢⱼ Zⱼᵢ)                       over i ≠ j
    third    c Σ p(i,j,k) (six products, one a permutation)      over different i, j, k

The first derivative goes by LU, which is cheaper and as good. From the fourth on the
formula with the inverse is used: A must be regular then.

Reading order: `det`, then `_adjugate`, `AdjugateSlope`, `_third`: one derivative each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tetrad._src.control.custom import custom_jvp
from tetrad._src.core.avals import Aval
from tetrad._src.core.op import Axis, Kind, Op
from tetrad._src.numpy import contract, create, lax, reduce, shape
from tetrad._src.numpy.decompositions import adjoint
from tetrad._src.numpy.einsum import einsum
from tetrad._src.ops.spectral import Svd
from tetrad._src.transforms.jvp import instantiate, jvp_flat
from tetrad._src.transforms.vmap import spread
from tetrad._src.util import dtypes


def parity(pivots: Any) -> Any:
    """Whether the number of row exchanges is odd."""
    own = lax.broadcasted_iota("int32", pivots.shape, pivots.ndim - 1)
    count: Any = reduce.sum(lax.ne(pivots, own), -1)
    return count % 2


@custom_jvp
def det(x: Any) -> Any:
    """The determinant of square matrices, by LU."""
    return _of_lu(*lax.lu(x)[:2])


def _of_lu(lu: Any, pivots: Any) -> Any:
    diagonal = create.diagonal(lu, 0, -2, -1)
    flip = (1 - 2 * parity(pivots)).astype(diagonal.dtype)
    return flip * reduce.prod(diagonal, -1)


@det.defjvp
def _det_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (dx,) = primals, tangents
    return det(x), _trace_of(_adjugate(x), dx)


def _trace_of(x: Any, y: Any) -> Any:
    """tr(x · y)."""
    return reduce.sum(x * shape.swapaxes(y, -1, -2), (-2, -1))


# ---------------------------------------------------------------------- first derivative


@custom_jvp
def _adjugate(x: Any) -> Any:
    """det x · x⁻¹, finite where x is singular: det x has the derivative tr(result · dx).

    There a zero on the diagonal of U is replaced by a number so small that the product
    of determinant and inverse, a polynomial in it, is right to rounding.
    """
    lu, pivots, permutation = lax.lu(x)
    n = x.shape[-1]
    unit: Any = shape.broadcast_to(create.eye(n, dtype=bool), x.shape)
    size: Any = reduce.max(lax.abs(x), (-2, -1), keepdims=True, initial=0)
    limits = dtypes.finfo(size.dtype)
    tiny = limits.eps**2 * size + limits.tiny * 1e4
    small: Any = lax.convert_element_type(shape.broadcast_to(tiny, lu.shape), lu.dtype)
    zero: Any = unit & (lu == 0)
    mended = lax.select(zero, small, lu)
    whole = shape.broadcast_to(create.eye(n, dtype=x.dtype), x.shape)
    inverse = lu_solved(mended, permutation, whole, 0)
    return _of_lu(mended, pivots)[..., None, None] * inverse


@_adjugate.defjvp
def _adjugate_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (dx,) = primals, tangents
    return _adjugate(x), AdjugateSlope()(x, dx)


# --------------------------------------------------------------------- second derivative


class AdjugateSlope(Op):
    """The derivative of the adjugate of x in the direction y.

    tr(result · z) is the second derivative of the determinant in the directions y, z.
    It is an operation, not a function with a rule, for it stays whole where y is linear.
    """

    name = "adjugate_slope"
    kind = Kind.OPAQUE
    accepts = "fc"
    linear = ((1,),)
    aligned = False

    def type(self, x: Aval, y: Aval) -> Aval:  # type: ignore[override]
        return y

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        (x, y), (dx, dy) = primals, tangents
        parts = []
        if dy is not None:
            parts.append(self(x, dy))
        if dx is not None:
            parts.append(_third(x, y, dx))
        return self(x, y), parts[0] if len(parts) == 1 else parts[0] + parts[1]

    def transpose(self, ct: Any, x: Any, y: Any) -> tuple[Any, Any]:
        turned = shape.swapaxes(self(x, shape.swapaxes(ct, -1, -2)), -1, -2)
        return None, turned

    def batch(self, axis: Axis, mapped: Sequence[bool], x: Any, y: Any) -> Any:
        return self(*[v if m else spread(axis, v) for v, m in zip((x, y), mapped)])

    def expand(self, x: Any, y: Any) -> Any:
        u, v, turn, s = _bases(x)
        inner = _product(adjoint(u), y, v)
        pairs = _without_two(s)
        diagonal: Any = create.diagonal(inner, 0, -2, -1)
        along = reduce.sum(pairs * diagonal[..., None, :], -1)
        core = _on_diagonal(along) - pairs * inner
        return turn * _product(v, core, adjoint(u))


def _bases(x: Any) -> tuple[Any, Any, Any, Any]:
    """U, V, det U · det Vᴴ (with two axes of extent 1), and s in the dtype of x."""
    s, u, vh = Svd(True, True)(x)
    turn = (_of_lu(*lax.lu(u)[:2]) * _of_lu(*lax.lu(vh)[:2]))[..., None, None]
    return u, adjoint(vh), turn, lax.convert_element_type(s, x.dtype)


def _between(s: Any) -> Any:
    """The products of the s between i and j, for i < j: [..., i, j]; else 1."""
    n = s.shape[-1]
    i, j = _indices(n, 2)
    rows: Any = shape.broadcast_to(s[..., None, :], (*s.shape, n))
    later = lax.cumprod(_where(j > i, rows, 1), rows.ndim - 1)  # of s from i + 1 to j
    ends = later[..., :-1]
    first = create.ones((*s.shape[:-1], n, 1), s.dtype)
    return _where(j > i, lax.concatenate([first, ends], ends.ndim - 1), 1)


def _outside(s: Any) -> tuple[Any, Any]:
    """The products of the s before each place, and behind it."""
    axis = s.ndim - 1
    one = create.ones((*s.shape[:-1], 1), s.dtype)
    up = lax.concatenate([one, lax.cumprod(s, axis)[..., :-1]], axis)
    down = lax.concatenate([lax.cumprod(s, axis, reverse=True)[..., 1:], one], axis)
    return up, down


def _without_two(s: Any) -> Any:
    """The products of all s but sᵢ and sⱼ: [..., i, j]; 0 where i = j."""
    up, down = _outside(s)
    i, j = _indices(s.shape[-1], 2)
    half = _where(j > i, up[..., :, None] * _between(s) * down[..., None, :], 0)
    return half + shape.swapaxes(half, -1, -2)


# ---------------------------------------------------------------------- third derivative


@custom_jvp
def _third(x: Any, y: Any, z: Any) -> Any:
    """The second derivative of the adjugate in the directions y and z."""
    u, v, turn, s = _bases(x)
    y, z = [_product(adjoint(u), w, v) for w in (y, z)]
    p = _without_three(s)
    a, b = [create.diagonal(w, 0, -2, -1) for w in (y, z)]
    both = y * shape.swapaxes(z, -1, -2)
    straight = _sum("ijk,i,j->k", p, a, b) - _sum("ijk,ij->k", p, both)
    core = _on_diagonal(straight)
    core = core - y * _sum("ijk,j->ik", p, b) - z * _sum("ijk,i->jk", p, a)
    core = core + _sum("ijk,ij,jk->ik", p, y, z) + _sum("ijk,ji,ik->jk", p, z, y)
    return turn * _product(v, core, adjoint(u))


@_third.defjvp
def _third_jvp(primals: Any, tangents: Any) -> Any:
    """By the formula with the inverse: the matrix must be regular."""
    _, (slope,) = jvp_flat(lambda *xs: [_regular(*xs)], primals, tangents)
    value = _third(*primals)
    return value, instantiate(value, slope)


def _regular(x: Any, y: Any, z: Any) -> Any:
    n = x.shape[-1]
    unit = shape.broadcast_to(create.eye(n, dtype=x.dtype), x.shape)
    lu, _, permutation = lax.lu(x)
    inverse = lu_solved(lu, permutation, unit, 0)
    a, b = [_product(inverse, w) for w in (y, z)]
    traces: list[Any] = [contract.trace(w, 0, -2, -1) for w in (a, b, _product(a, b))]
    tr_a, tr_b, tr_ab = [trace[..., None, None] for trace in traces]
    core = (tr_a * tr_b - tr_ab) * unit - tr_a * b - tr_b * a
    core = core + _product(a, b) + _product(b, a)
    return det(x)[..., None, None] * _product(core, inverse)


def _without_three(s: Any) -> Any:
    """The products of all s but three: [..., i, j, k]; 0 where two of them are one."""
    up, down = _outside(s)
    mid = _between(s)
    i, j, k = _indices(s.shape[-1], 3)
    part = up[..., :, None, None] * mid[..., :, :, None]
    part = part * mid[..., None, :, :] * down[..., None, None, :]
    part = _where((i < j) & (j < k), part, 0)
    lead = tuple(range(part.ndim - 3))
    total: Any = None
    for order in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)):
        turned = lax.transpose(part, (*lead, *[len(lead) + a for a in order]))
        total = turned if total is None else total + turned
    return total


# -------------------------------------------------------------------------------- helpers


def lu_solved(lu: Any, permutation: Any, b: Any, trans: int) -> Any:
    """X from the factors of A: A·X = B, Aᵀ·X = B or Aᴴ·X = B for trans = 0, 1, 2."""
    if trans == 0:
        rows = lax.rows_taken(b, permutation)
        below = lax.triangular_solve(
            lu, rows, left_side=True, lower=True, unit_diagonal=True
        )
        return lax.triangular_solve(lu, below, left_side=True)
    turned: dict[str, Any] = {
        "left_side": True,
        "transpose_a": True,
        "conjugate_a": trans == 2,
    }
    above = lax.triangular_solve(lu, b, **turned)
    rows = lax.triangular_solve(lu, above, lower=True, unit_diagonal=True, **turned)
    places = lax.broadcasted_iota("int32", permutation.shape, permutation.ndim - 1)
    _, inverse = lax.sort(
        (permutation, places), dimension=permutation.ndim - 1, num_keys=1
    )
    return lax.rows_taken(rows, inverse)


def _indices(n: int, ndim: int) -> list[Any]:
    extents = (n,) * ndim
    return [lax.broadcasted_iota("int32", extents, axis) for axis in range(ndim)]


def _where(condition: Any, x: Any, other: float) -> Any:
    wide = shape.broadcast_to(condition, x.shape)
    return lax.select(wide, x, lax.full(x.shape, x.dtype.type(other)))


def _product(*factors: Any) -> Any:
    first, *rest = factors
    for other in rest:
        first = contract.matmul(first, other, precision="highest")
    return first


def _on_diagonal(x: Any) -> Any:
    n = x.shape[-1]
    unit: Any = create.eye(n, dtype=bool)
    return _where(unit, shape.broadcast_to(x[..., None], (*x.shape, n)), 0)


def _sum(formula: str, *xs: Any) -> Any:
    ins, out = formula.split("->")
    full = ",".join(["..." + part for part in ins.split(",")]) + "->..." + out
    return einsum(full, *xs, precision="highest")
