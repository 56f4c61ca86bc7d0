"""Polynomials as vectors of coefficients, the highest power first."""

from __future__ import annotations

from typing import Any

import numpy as np

from tetrad._src.core.bind import Tracer, Value
from tetrad._src.numpy import convert, lax
from tetrad._src.numpy.axes import static_int
from tetrad._src.numpy.convert import describe, operand, value
from tetrad._src.numpy.create import spread
from tetrad._src.numpy.elementwise import number
from tetrad._src.numpy.promote import promote_dtypes, promote_floats
from tetrad._src.numpy.signal import convolved
from tetrad._src.util import errors


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


def _aligned(a: Value, b: Value) -> tuple[Any, Any]:
    """Both with as many coefficients, zeros in front."""
    n = max(a.shape[0], b.shape[0])
    first, second = [lax.pad(x, number(x, 0), [(n - x.shape[0], 0, 0)]) for x in (a, b)]
    return first, second


def polyadd(a1: Any, a2: Any) -> Value:
    """The coefficients of the sum of two polynomials.

    >>> import tetrad.numpy as jnp
    >>> jnp.polyadd(jnp.array([1, 2]), jnp.array([5]))
    Array([1, 7], dtype=int32)
    """
    return lax.add(*_aligned(*_coefficients("jnp.polyadd", a1, a2)))


def polysub(a1: Any, a2: Any) -> Value:
    """The coefficients of the difference of two polynomials.

    >>> import tetrad.numpy as jnp
    >>> jnp.polysub(jnp.array([1, 2]), jnp.array([5]))
    Array([ 1, -3], dtype=int32)
    """
    return lax.sub(*_aligned(*_coefficients("jnp.polysub", a1, a2)))


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

    >>> import tetrad.numpy as jnp
    >>> jnp.poly(jnp.array([1., -1.]))
    Array([ 1.,  0., -1.], dtype=float32)
    """
    name = "jnp.poly"
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
    """The complex roots of a polynomial; its coefficients must be known.

    >>> import tetrad.numpy as jnp
    >>> jnp.roots(jnp.array([1., -3., 2.])).real
    Array([2., 1.], dtype=float32)
    """
    (c,) = _coefficients("jnp.roots", p)
    if isinstance(c, Tracer):
        raise NotImplementedError(
            "jnp.roots works outside of transformations only: compute it on known values"
        )
    host = np.roots(
        np.asarray(c).astype(np.complex128 if c.aval.kind == "c" else float)
    )
    return convert.asarray(
        host.astype(np.complex128),
        np.complex64
        if c.dtype.itemsize < 8 or c.aval.kind == "c" and c.dtype == np.complex64
        else complex,
    )
