"""Polynomials as vectors of coefficients, the highest power first."""

from __future__ import annotations

from typing import Any

import numpy as np

from tetrad._src.core.bind import Tracer, Value
from tetrad._src.numpy import contract, convert, lax, reduce
from tetrad._src.numpy.axes import static_int
from tetrad._src.numpy.convert import describe, operand, value
from tetrad._src.numpy.create import spread, vander
from tetrad._src.numpy.decompositions import eigvals
from tetrad._src.numpy.elementwise import number
from tetrad._src.numpy.plan import planned_with_floats
from tetrad._src.numpy.promote import broadcast, promote_dtypes, promote_floats
from tetrad._src.numpy.signal import convolved
from tetrad._src.numpy.systems import inv, lstsq
from tetrad._src.util import dtypes, errors


def _coefficients(name: str, *ps: Any) -> list[Value]:
    """Coefficient vectors of one dtype; lists of numbers will do."""
    arrays = [convert.array(p) if isinstance(p, (list, tuple)) else p for p in ps]
    xs = [value(p, name) for p in promote_dtypes(name, *arrays)]
    xs = [x if x.ndim else lax.reshape(x, (1,)) for x in xs]
    for x in xs:
        if x.ndim != 1:
            raise ValueError(
                f"{name}: coefficients must be a vector, got {describe(x)}"
            )
    return xs


@planned_with_floats
def polyval(p: Any, x: Any, *, unroll: int = 16) -> Value:
    """p[0] xⁿ⁻¹ + … + p[n-2] x + p[n-1], by Horner's rule.

    Further axes of `p` are several polynomials, which broadcast with x.

    >>> import tetrad.numpy as jnp
    >>> jnp.polyval(jnp.array([1., 2.]), 3.)
    Array(5., dtype=float32)
    """
    name = "jnp.polyval"
    p = convert.array(p) if isinstance(p, (list, tuple)) else p
    c, v = promote_dtypes(name, p, x)
    c = value(c, name, "p")
    shape = (c[0] + v).shape if c.shape[0] else operand(v, name).shape  # type: ignore[operator]
    total = spread(number(c, 0), shape, name)
    for i in range(c.shape[0]):
        total = total * v + c[i]  # type: ignore[index]
    return total


def _aligned(name: str, *ps: Any) -> tuple[Any, Any]:
    """Both with as many coefficients, zeros in front; further axes broadcast.

    Where one has more axes, the other has the same coefficients along these.
    """
    arrays = [convert.array(p) if isinstance(p, (list, tuple)) else p for p in ps]
    xs = [value(p, name) for p in promote_dtypes(name, *arrays)]
    a, b = [x if x.ndim else lax.reshape(x, (1,)) for x in xs]
    n, ndim = max(a.shape[0], b.shape[0]), max(a.ndim, b.ndim)
    a, b = [lax.reshape(x, (*x.shape, *[1] * (ndim - x.ndim))) for x in (a, b)]
    full = [
        lax.pad(x, number(x, 0), [(n - x.shape[0], 0, 0), *[(0, 0, 0)] * (x.ndim - 1)])
        for x in (a, b)
    ]
    try:
        shape = np.broadcast_shapes(*[x.shape for x in full])
    except ValueError:
        raise ValueError(
            f"{name}: the axes of several polynomials must broadcast, got {describe(a)}"
            f" and {describe(b)}"
        ) from None
    first, second = [broadcast(x, shape) for x in full]
    return first, second


def polyadd(a1: Any, a2: Any) -> Value:
    """The coefficients of the sum of two polynomials.

    >>> import tetrad.numpy as jnp
    >>> jnp.polyadd(jnp.array([1, 2]), jnp.array([5]))
    Array([1, 7], dtype=int32)
    """
    return lax.add(*_aligned("jnp.polyadd", a1, a2))


def polysub(a1: Any, a2: Any) -> Value:
    """The coefficients of the difference of two polynomials.

    >>> import tetrad.numpy as jnp
    >>> jnp.polysub(jnp.array([1, 2]), jnp.array([5]))
    Array([ 1, -3], dtype=int32)
    """
    return lax.sub(*_aligned("jnp.polysub", a1, a2))


def polymul(a1: Any, a2: Any, *, trim_leading_zeros: bool = False) -> Value:
    """The coefficients of the product of two polynomials, as floats.

    >>> import tetrad.numpy as jnp
    >>> jnp.polymul(jnp.array([1., 1.]), jnp.array([1., -1.]))
    Array([ 1.,  0., -1.], dtype=float32)
    """
    name = "jnp.polymul"
    xs = [value(x, name) for x in promote_floats(name, *_coefficients(name, a1, a2))]
    if trim_leading_zeros:
        xs = [_trimmed(x, name) for x in xs]
    return convolved(xs[0], xs[1], "full", name)


def _trimmed(x: Value, name: str) -> Value:
    if isinstance(x, Tracer):
        raise errors.ConcretizationTypeError(
            f"{name}: how many leading zeros there are is not known of a traced"
            f" {describe(x)}; leave trim_leading_zeros out"
        )
    places = np.flatnonzero(np.asarray(x))
    return x[int(places[0]) if places.size else x.shape[0] - 1 :]  # type: ignore[index]


def polydiv(u: Any, v: Any, *, trim_leading_zeros: bool = False) -> tuple[Value, Value]:
    """The coefficients of the quotient and the remainder of two polynomials.

    >>> import tetrad.numpy as jnp
    >>> jnp.polydiv(jnp.array([1., 0., -1.]), jnp.array([1., 1.]))[0]
    Array([ 1., -1.], dtype=float32)
    """
    name = "jnp.polydiv"
    rest, divisor = [
        value(x, name) for x in promote_floats(name, *_coefficients(name, u, v))
    ]
    m, n = rest.shape[0], divisor.shape[0]
    steps = m - n + 1
    if steps < 1:
        return lax.full((1,), number(rest, 0)), rest
    quotient = []
    for k in range(steps):
        factor = rest[k] / divisor[0]  # type: ignore[index]
        quotient.append(lax.reshape(factor, (1,)))
        rest = rest.at[k : k + n].add(-factor * divisor)  # type: ignore[attr-defined]
    if trim_leading_zeros:
        rest = _trimmed(rest, name)
    return lax.concatenate(quotient, 0), rest


def polyder(p: Any, m: int = 1) -> Value:
    """The coefficients of the m-th derivative of a polynomial.

    >>> import tetrad.numpy as jnp
    >>> jnp.polyder(jnp.array([3., 2., 1.]))
    Array([6., 2.], dtype=float32)
    """
    (c,) = _coefficients("jnp.polyder", p)
    c = value(promote_floats("jnp.polyder", c)[0], "jnp.polyder")
    order = static_int(m, "jnp.polyder", "m")
    if order < 0:
        raise ValueError(f"jnp.polyder: the order must not be negative, got {order}")
    n = c.shape[0]
    if order == 0:
        return c
    factors = np.ones(max(n - order, 0))
    powers = np.arange(n - 1, order - 1, -1)
    for i in range(order):
        factors = factors * (powers - i)
    kept = lax.slice(c, (0,), (max(n - order, 0),))
    return lax.mul(kept, convert.asarray(factors.astype(c.dtype)))


def polyint(p: Any, m: int = 1, k: Any = None) -> Value:
    """The coefficients of the m-th integral of a polynomial, with constants k (0).

    >>> import tetrad.numpy as jnp
    >>> jnp.polyint(jnp.array([6., 2.]))
    Array([3., 2., 0.], dtype=float32)
    """
    name = "jnp.polyint"
    order = static_int(m, name, "m")
    if order < 0:
        raise ValueError(f"{name}: the order must not be negative, got {order}")
    (c,) = _coefficients(name, p)
    c = value(promote_floats(name, c)[0], name)
    constants = value(0 if k is None else k, name, "k")
    constants = lax.convert_element_type(
        lax.reshape(constants, (constants.size,)), c.dtype
    )
    if constants.shape[0] not in (1, order):
        raise ValueError(f"{name}: k must be one constant, or {order} of them")
    for i in range(order):
        n = c.shape[0]
        divisors = convert.asarray(np.arange(n, 0, -1).astype(c.dtype))
        j = i if constants.shape[0] > 1 else 0
        constant = lax.slice(constants, (j,), (j + 1,))
        c = lax.concatenate([lax.div(c, divisors), constant], 0)
    return c


def poly(seq_of_zeros: Any) -> Value:
    """The coefficients of the polynomial with leading coefficient 1 and given roots.

    Of a square matrix, those of its characteristic polynomial.

    >>> import tetrad.numpy as jnp
    >>> jnp.poly(jnp.array([1., -1.]))
    Array([ 1.,  0., -1.], dtype=float32)
    """
    name = "jnp.poly"
    if isinstance(seq_of_zeros, (list, tuple)):
        seq_of_zeros = convert.array(seq_of_zeros)
    given = value(seq_of_zeros, name, "seq_of_zeros")
    if given.ndim == 2 and given.shape[0] == given.shape[1]:
        matrix = value(promote_floats(name, given)[0], name)
        seq_of_zeros = eigvals(_at_least_single(matrix))
    (roots,) = _coefficients(name, seq_of_zeros)
    roots = value(promote_floats(name, roots)[0], name)
    c = lax.full((1,), roots.dtype.type(1))
    for i in range(roots.shape[0]):
        root = lax.slice(roots, (i,), (i + 1,))
        padded = lax.pad(c, number(c, 0), [(0, 1, 0)])
        shifted = lax.pad(c, number(c, 0), [(1, 0, 0)])
        c = lax.sub(
            padded, lax.mul(lax.broadcast_in_dim(root, shifted.shape, (0,)), shifted)
        )
    return c


def roots(p: Any, *, strip_zeros: bool = True) -> Value:
    """The complex roots of a polynomial.

    Leading zeros lower the degree, and trailing ones are roots, so the coefficients must
    be known; with strip_zeros=False they may be traced, and in the place of each root that a
    leading zero takes away there is a NaN, at the end.

    >>> import tetrad.numpy as jnp
    >>> jnp.roots(jnp.array([1., -3., 2.])).real
    Array([2., 1.], dtype=float32)
    """
    name = "jnp.roots"
    (c,) = _coefficients(name, p)
    if not strip_zeros:
        return _roots_of_all(value(promote_floats(name, c)[0], name))
    if isinstance(c, Tracer):
        raise errors.ConcretizationTypeError(
            f"{name}: how many zeros lead is not known of a traced {describe(c)}; write"
            " strip_zeros=False, or compute it outside of transformations"
        )
    host = np.roots(
        np.asarray(c).astype(np.complex128 if c.aval.kind == "c" else float)
    )
    narrow = c.dtype.itemsize < 8 or c.aval.kind == "c" and c.dtype == np.complex64
    return convert.asarray(
        host.astype(np.complex128), np.complex64 if narrow else complex
    )


def _at_least_single(x: Any) -> Any:
    """Floats of 16 bits as float32: there are no eigenvalues of narrower ones."""
    return lax.convert_element_type(x, np.float32) if x.dtype.itemsize < 4 else x


def _roots_of_all(c: Any) -> Any:
    """The eigenvalues of the companion matrix, with leading zeros moved to the end.

    There each of them is a root 0 too many, which is nearest to 0 and becomes NaN.
    """
    c = _at_least_single(c)
    n = c.shape[0] - 1
    if n < 1:
        return lax.full((0,), np.complex64(0))
    zero = lax.convert_element_type(lax.eq(c, number(c, 0)), np.int32)
    lost = lax.reduce_sum(lax.cumprod(zero), (0,))
    order: Any = lax.rem(lax.add(lax.iota(np.int32, n + 1), lost), np.int32(n + 1))
    c = c[order]
    row = lax.reshape(lax.neg(c[1:] / c[0]), (1, n))
    below = convert.asarray(np.eye(n - 1, n, dtype=c.dtype))
    found: Any = eigvals(lax.concatenate([row, below], 0) if n > 1 else row)
    # Without leading zeros the order of the eigenvalues stays.
    size = lax.mul(lax.abs(found), number(lax.abs(found), -1))
    kept = lax.convert_element_type(lax.gt(lost, np.int32(0)), size.dtype)
    size = lax.mul(size, lax.broadcast_in_dim(kept, (n,), ()))
    places: Any = lax.sort((size, lax.iota(np.int32, n)), num_keys=1)[1]
    last = lax.ge(lax.add(lax.iota(np.int32, n), lost), np.int32(n))
    broken = found.dtype.type(complex(np.nan, np.nan))
    return lax.select(last, lax.full((n,), broken), found[places])


def polyfit(
    x: Any,
    y: Any,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: Any = None,
    cov: Any = False,
) -> Any:
    """The coefficients of the polynomial of degree `deg` with the least squared error.

    It minimises Σᵢ (wᵢ·(p(xᵢ) − yᵢ))².

    Args:
      x: the places, of shape (n,).
      y: the values, of shape (n,) or (n, k) for k polynomials.
      deg: the degree.
      rcond: singular values below rcond·(the largest) count as 0; n·ε if left out.
      full: whether to give (p, residuals, rank, singular values, rcond).
      w: weights, of shape (n,).
      cov: whether to give (p, covariance of p); "unscaled" takes the weights for true.

    Raises TypeError or ValueError if shapes do not fit.

    >>> import tetrad.numpy as jnp
    >>> jnp.polyfit(jnp.array([0., 1., 2.]), jnp.array([1., 3., 5.]), 1).round(3).tolist()
    [2.0, 1.0]
    """
    name = "jnp.polyfit"
    degree = static_int(deg, name, "deg")
    if degree < 0:
        raise ValueError(f"{name}: expected deg >= 0, got {degree}")
    xs = [value(v, name) for v in promote_floats(name, value(x, name), value(y, name))]
    at, values = xs
    if at.ndim != 1 or not at.size:
        raise TypeError(
            f"{name}: x must be a vector that is not empty, got {describe(at)}"
        )
    if values.ndim not in (1, 2) or values.shape[0] != at.shape[0]:
        raise TypeError(
            f"{name}: y must be a vector or a matrix with as many rows as x has elements,"
            f" got {describe(values)} for x {describe(at)}"
        )
    n, order = at.shape[0], degree + 1
    left: Any = vander(at, order)
    right: Any = values
    if w is not None:
        weights: Any = lax.convert_element_type(value(w, name, "w"), at.dtype)
        if weights.shape != at.shape:
            raise TypeError(
                f"{name}: w must have the shape of x, got {describe(weights)}"
            )
        left = left * weights[:, None]
        right = right * (weights[:, None] if right.ndim == 2 else weights)
    scale: Any = lax.sqrt(reduce.sum(left * left, 0))
    left = left / scale[None, :]
    limit = n * dtypes.finfo(at.dtype).eps if rcond is None else rcond
    c, residuals, rank, s = lstsq(left, right, limit)
    c = c / (scale[:, None] if right.ndim == 2 else scale)  # type: ignore[operator]
    if full:
        return c, residuals, rank, s, convert.asarray(limit)
    if not cov:
        return c
    base: Any = inv(contract.matmul(left.T, left)) / (scale[:, None] * scale[None, :])
    if right.ndim == 2:
        base = base[:, :, None]
    if cov != "unscaled":
        if n <= order:
            raise ValueError(
                f"{name}: the number of data points, {n}, must exceed {order}, the number of"
                " coefficients, to scale the covariance"
            )
        factor: Any = residuals / (n - order)  # type: ignore[operator]
        base = base * lax.reshape(factor, (1,) * (base.ndim - 1) + (factor.size,))
    return c, base
