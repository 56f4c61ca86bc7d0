"""New arrays: filled, counted, diagonal, triangular, on grids."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import STATE, Tracer, Value, aval_of, home_of, making_at
from tetrad._src.numpy import convert, lax
from tetrad._src.numpy.axes import axis_argument, shape_argument, static_int
from tetrad._src.numpy.convert import operand, there, value
from tetrad._src.numpy.dtype import dtype_argument, float_dtype, int_dtype
from tetrad._src.numpy.elementwise import number
from tetrad._src.numpy.plan import planned, planned_whole
from tetrad._src.numpy.promote import (
    broadcast,
    common_shape,
    promote_inexact,
    to,
)
from tetrad._src.util import dtypes, errors
from tetrad._src.util.config import config
from tetrad._src.util.memo import Cache

# -------------------------------------------------------------------------------- filled


_fillings: Cache = Cache("fillings", limit=4096)


def _filled(shape: Any, fill: int, dtype: Any, name: str, device: Any = None) -> Value:
    """An array full of a number, which is an argument of the program, not part of it."""
    if device is not None:
        return there(device, _filled, shape, fill, dtype, name)  # type: ignore[no-any-return]
    key: Any = (shape, type(shape), dtype, fill, config.x64)
    try:
        plan = _fillings.get(key)
    except TypeError:
        plan = None  # a shape that cannot be hashed
        key = None
    if plan is None:
        extents = shape_argument(shape, name)
        found = float_dtype(name, dtype)
        if found == dtypes.float0:
            return np.zeros(extents, found)  # type: ignore[return-value]
        if dtypes.is_key(found):
            return _blank_keys(extents, found, fill, name)  # type: ignore[no-any-return]
        plan = lax.BroadcastInDim(extents, ()), found.type(fill)
        if key is not None and dtype in _QUIET:
            _fillings[key] = plan
    op, scalar = plan
    return STATE.trace.process(op, (scalar,))  # type: ignore[no-any-return]


# What may be asked for without a warning that 64-bit types are off.
_QUIET: tuple[Any, ...] = (
    None,
    int,
    float,
    bool,
    np.dtype(np.float32),
    np.dtype(np.int32),
)


def zeros(shape: Any, dtype: Any = None, *, device: Any = None) -> Value:
    """An array of `shape` full of 0, of the default float type unless `dtype` is given.

    TypeError if the shape is not made of integers, ValueError if one is negative.

    >>> import tetrad.numpy as jnp
    >>> jnp.zeros((2, 3))
    Array([[0., 0., 0.],
           [0., 0., 0.]], dtype=float32)
    """
    return _filled(shape, 0, dtype, "jnp.zeros", device)


def ones(shape: Any, dtype: Any = None, *, device: Any = None) -> Value:
    """An array of `shape` full of 1, of the default float type unless `dtype` is given.

    TypeError if the shape is not made of integers, ValueError if one is negative.

    >>> import tetrad.numpy as jnp
    >>> jnp.ones(3, dtype=int)
    Array([1, 1, 1], dtype=int32)
    """
    return _filled(shape, 1, dtype, "jnp.ones", device)


def empty(shape: Any, dtype: Any = None, *, device: Any = None) -> Value:
    """An array of `shape`, full of 0: arrays never show uninitialised memory.

    >>> import tetrad.numpy as jnp
    >>> jnp.empty(2)
    Array([0., 0.], dtype=float32)
    """
    return _filled(shape, 0, dtype, "jnp.empty", device)


def full(
    shape: Any, fill_value: Any, dtype: Any = None, *, device: Any = None
) -> Value:
    """An array of `shape` full of `fill_value`, which broadcasts to the shape.

    Without `dtype` the result has the dtype of `fill_value`. ValueError if it does not
    broadcast.

    >>> import tetrad.numpy as jnp
    >>> jnp.full((2,), 3.)
    Array([3., 3.], dtype=float32, weak_type=True)
    """
    if device is not None:
        return there(device, full, shape, fill_value, dtype)  # type: ignore[no-any-return]
    extents = shape_argument(shape, "jnp.full")
    fill = operand(fill_value, "jnp.full", "fill_value")
    if dtype is not None:
        fill = to(fill, dtype_argument(dtype, "jnp.full"), False, "jnp.full")
        if not isinstance(fill, Value):
            fill = aval_of(fill).dtype.type(fill)
    return spread(fill, extents, "jnp.full")


def spread(x: Any, shape: tuple[int, ...], name: str) -> Any:
    """`x` broadcast to `shape`; a Value in any case."""
    aval = aval_of(x)
    fits = len(aval.shape) <= len(shape) and all(
        a in (1, b) for a, b in zip(aval.shape[::-1], shape[::-1])
    )
    if not fits:
        raise ValueError(
            f"{name}: Incompatible shapes for broadcasting: {aval.long_name()} does not"
            f" become {shape}; aligned at the last axis, extents must be equal or 1"
        )
    if isinstance(x, Value):
        return broadcast(x, shape)
    return lax.full(shape, x)


def _like(a: Any, fill: Any, dtype: Any, shape: Any, name: str, device: Any) -> Value:
    aval = _type_of(a, name)
    if device is not None:
        return there(device, _full_of, aval, fill, dtype, shape, name)  # type: ignore[no-any-return]
    with making_at(home_of(a)):
        return _full_of(aval, fill, dtype, shape, name)


def _full_of(aval: Any, fill: Any, dtype: Any, shape: Any, name: str) -> Any:
    """An array like `aval`, as far as `dtype` and `shape` are not given."""
    extents = aval.shape if shape is None else shape_argument(shape, name)
    if aval.kind == "K" and dtype is None:
        return _blank_keys(extents, aval.dtype, fill, name)
    weak = aval.weak_type and dtype is None
    found = dtypes.canonicalize_dtype(aval.dtype) if dtype is None else dtype
    found = dtype_argument(found, name)
    fill = operand(fill, name, "fill_value")
    if weak:
        return spread(to(fill, found, True, name), extents, name)
    fill = (
        lax.convert_element_type(fill, found)
        if isinstance(fill, Value)
        else _cast(fill, found, name)
    )
    return spread(fill, extents, name)


def _type_of(a: Any, name: str) -> Any:
    """The aval of an array, or of anything that tells a shape and a dtype."""
    shape, dtype = getattr(a, "shape", None), getattr(a, "dtype", None)
    if isinstance(a, np.ndarray):
        convert.canonical_host(a[:0] if a.ndim else a, name)
        return aval_of(a)
    if isinstance(a, Value) or shape is None or dtype is None:
        return aval_of(operand(a, name, "argument 0"))
    return Aval(shape, dtype, bool(getattr(a, "weak_type", False)))


def _blank_keys(shape: tuple[int, ...], dtype: Any, fill: Any, name: str) -> Any:
    if fill != 0:
        raise TypeError(f"{name}: random keys are no numbers, so {fill!r} is none")
    words = lax.full((*shape, dtype.words), np.uint32(0))
    return lax.random_wrap(words, dtype.impl)


def _cast(x: Any, dtype: Any, name: str) -> Any:
    """The host scalar `x` as a NumPy scalar of `dtype`; fractions are cut."""
    kind = dtypes.kind(dtype)
    if kind in "iu" and isinstance(x, (float, np.floating)):
        x = int(x)
    scalar = to(x, dtype, False, name)
    return dtype.type(scalar)


def zeros_like(
    a: Any, dtype: Any = None, shape: Any = None, *, device: Any = None
) -> Value:
    """An array full of 0 with the shape and dtype of `a` where they are not given.

    >>> import tetrad.numpy as jnp
    >>> jnp.zeros_like(jnp.arange(3))
    Array([0, 0, 0], dtype=int32)
    """
    return _like(a, 0, dtype, shape, "jnp.zeros_like", device)


def ones_like(
    a: Any, dtype: Any = None, shape: Any = None, *, device: Any = None
) -> Value:
    """An array full of 1 with the shape and dtype of `a` where they are not given.

    >>> import tetrad.numpy as jnp
    >>> jnp.ones_like(jnp.arange(3.))
    Array([1., 1., 1.], dtype=float32)
    """
    return _like(a, 1, dtype, shape, "jnp.ones_like", device)


def empty_like(
    prototype: Any, dtype: Any = None, shape: Any = None, *, device: Any = None
) -> Value:
    """An array full of 0 with the shape and dtype of `prototype`, unless given.

    >>> import tetrad.numpy as jnp
    >>> jnp.empty_like(jnp.arange(2))
    Array([0, 0], dtype=int32)
    """
    return _like(prototype, 0, dtype, shape, "jnp.empty_like", device)


def full_like(
    a: Any, fill_value: Any, dtype: Any = None, shape: Any = None, *, device: Any = None
) -> Value:
    """An array full of `fill_value` with the shape and dtype of `a`, unless given.

    >>> import tetrad.numpy as jnp
    >>> jnp.full_like(jnp.arange(3), 7)
    Array([7, 7, 7], dtype=int32)
    """
    return _like(a, fill_value, dtype, shape, "jnp.full_like", device)


# ------------------------------------------------------------------------------- counted


def _concrete(x: Any, name: str, argument: str) -> Any:
    """`x` as a Python or NumPy number, for what decides a shape."""
    if isinstance(x, Tracer):
        raise errors.ConcretizationTypeError(
            f"{name}: {argument} decides the shape, so it must be known when the program"
            f" is built, got a traced {x.aval.long_name()}. Mark the argument static"
            " (static_argnums), or count to a fixed bound and mask with jnp.where"
        )
    if isinstance(x, (Value, np.ndarray)):
        host = np.asarray(x)
        if host.ndim:
            raise TypeError(
                f"{name}: {argument} must be a number, got an array of shape {host.shape}"
            )
        return host[()]
    if isinstance(x, (complex, np.complexfloating)):
        raise ValueError(f"{name}: {argument} must be a real number, got {x!r}")
    if not isinstance(x, (int, float, np.generic)):
        raise TypeError(f"{name}: {argument} must be a number, got {x!r}")
    return x


def arange(
    start: Any,
    stop: Any = None,
    step: Any = None,
    dtype: Any = None,
    *,
    device: Any = None,
) -> Value:
    """The numbers start, start + step, … below stop; `arange(stop)` counts from 0.

    The result has ⌈(stop - start) / step⌉ elements. Arguments must be known when the
    program is built, since they decide the shape. ZeroDivisionError for step 0.

    >>> import tetrad.numpy as jnp
    >>> jnp.arange(1, 10, 3)
    Array([1, 4, 7], dtype=int32)
    """
    name = "jnp.arange"
    if device is not None:
        return there(device, arange, start, stop, step, dtype)  # type: ignore[no-any-return]
    if stop is None:
        if type(start) in (int, float) and start >= 0 and step is dtype is None:
            found = int_dtype() if type(start) is int else float_dtype("jnp.arange")
            return STATE.trace.process(lax.Iota(found, (math.ceil(start),), 0), ())
        start, stop = 0, start
    first = _concrete(start, name, "start")
    last = _concrete(stop, name, "stop")
    by = 1 if step is None else _concrete(step, name, "step")
    given = [v for v in (start, stop, step) if v is not None]
    if dtype is None:
        found = dtypes.result_type(*given)
    else:
        found = dtype_argument(dtype, name)
    if dtypes.kind(found) == "b":
        raise TypeError(f"{name}: there is no sequence of bools; give dtype=int")
    count = max(0, math.ceil(_distance(first, last, by)))
    return _sequence(first, by, count, found, name)  # type: ignore[no-any-return]


def _distance(first: Any, last: Any, step: Any) -> Any:
    if step == 0:
        raise ZeroDivisionError("jnp.arange: step must not be 0")
    if all(isinstance(v, (int, np.integer)) for v in (first, last, step)):
        first, last, step = int(first), int(last), int(step)
        return -((first - last) // step)
    return (last - first) / step


def _sequence(first: Any, step: Any, count: int, dtype: Any, name: str) -> Any:
    kind = dtypes.kind(dtype)
    if kind in "iu" and not isinstance(first, (int, np.integer)):
        first, step = int(first), int(step) or step
    narrow = kind in "iu" and dtypes.itemsize_bits(dtype) < 32
    if narrow and count:
        dtypes.check_narrowing(
            int(first + step * (count - 1)), dtype, f"{name}: the value"
        )
    x = lax.iota(dtype, count)
    if step != 1:
        x = lax.mul(to(_plain(step), dtype, False, name), x)
    if first != 0:
        x = lax.add(to(_plain(first), dtype, False, name), x)
    return x


def _plain(x: Any) -> Any:
    """A host number as a Python number."""
    return x.item() if isinstance(x, np.generic) else x


@planned_whole
def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """`num` numbers at equal distances from `start` to `stop`, that included.

    Without `endpoint`, stop itself is left out. Arrays `start` and `stop` broadcast;
    the numbers then run along the new axis `axis`. With `retstep` the pair (numbers,
    distance), which is NaN where there is none. ValueError for negative `num`.

    >>> import tetrad.numpy as jnp
    >>> jnp.linspace(0, 1, 5)
    Array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    """
    name = "jnp.linspace"
    if device is not None:
        return there(device, linspace, start, stop, num, endpoint, retstep, dtype, axis)
    count = static_int(num, name, "num")
    if count < 0:
        raise ValueError(f"{name}: num must not be negative, got {count}")
    low, high = promote_inexact(name, start, stop)
    computed = aval_of(low).dtype
    final = computed if dtype is None else dtype_argument(dtype, name)
    shape = _common_shape(low, high)
    low, high = [_column(v, shape, computed) for v in (low, high)]
    spaces = count - 1 if endpoint else count
    gap = lax.sub(high, low)
    step = lax.div(gap, number(gap, spaces if spaces > 0 else 1))
    if count > 1:
        out = _between(low, high, count, spaces, endpoint, shape, computed)
    else:
        out = lax.full((0, *shape), number(low, 0))
        if count == 1:
            out = lax.reshape(low, (1, *shape))
    if dtypes.kind(final) in "iu" and dtypes.kind(computed) not in "iu":
        out = lax.floor(out)
    out = lax.convert_element_type(out, final)
    out = _move_front(out, axis_argument(axis, len(shape) + 1, name))
    if not retstep:
        return out
    if spaces <= 0:
        step = lax.full((), number(low, math.nan))
    return out, step


def _common_shape(x: Any, y: Any) -> tuple[int, ...]:
    return aval_of(x).shape or aval_of(y).shape


def _column(x: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """`x` as an array of `shape`, not weakly typed."""
    if not isinstance(x, Value):
        return lax.full(shape, dtype.type(x))
    return broadcast(lax.convert_element_type(x, dtype), shape)


def _between(
    low: Any,
    high: Any,
    count: int,
    spaces: int,
    endpoint: bool,
    shape: tuple[int, ...],
    dtype: Any,
) -> Any:
    """(low · (spaces - i) + high · i) / spaces; the end, if wanted, is `high` itself.

    Where that overflows, low · (1 - i / spaces) + high · i / spaces, which rounds once more.
    """
    inner = count - 1 if endpoint else count
    full_shape = (inner, *shape)
    axes = tuple(range(1, len(full_shape)))
    place = lax.broadcast_in_dim(lax.iota(dtype, inner), full_shape, (0,))
    whole = number(place, spaces)
    wide_low = lax.broadcast_in_dim(low, full_shape, axes)
    wide_high = lax.broadcast_in_dim(high, full_shape, axes)
    ratio = lax.div(place, whole)
    rest = lax.sub(number(ratio, 1), ratio)
    out = lax.add(lax.mul(wide_low, rest), lax.mul(wide_high, ratio))
    if dtypes.kind(dtype) == "f":
        low_part = lax.mul(wide_low, lax.sub(whole, place))
        exact = lax.div(lax.add(low_part, lax.mul(wide_high, place)), whole)
        out = lax.select(lax.is_finite(exact), exact, out)
    if not endpoint:
        return out
    end = lax.broadcast_in_dim(high, (1, *shape), axes)
    return lax.concatenate([out, end], 0)


def _move_front(x: Any, axis: int) -> Any:
    """`x` with its first axis at position `axis`."""
    order = list(range(1, aval_of(x).ndim))
    order.insert(axis, 0)
    return lax.transpose(x, tuple(order))


@planned_whole
def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Value:
    """Powers of `base` whose exponents run from `start` to `stop`: see `linspace`.

    >>> import tetrad.numpy as jnp
    >>> jnp.logspace(0, 2, 3)
    Array([  1.,  10., 100.], dtype=float32)
    """
    name = "jnp.logspace"
    if isinstance(base, (Value, np.ndarray)) and aval_of(base).ndim:
        bases: Any = value(base, name, "base")
        ends = [value(v, name) for v in (start, stop)]
        shape = common_shape(name, [*ends, bases])
        start, stop = [broadcast(v, shape) for v in ends]
        exponents = linspace(start, stop, num, endpoint, axis=axis)
        bases = broadcast(lax.convert_element_type(bases, exponents.dtype), shape)
        along = axis_argument(axis, exponents.ndim, name)
        bases = lax.expand_dims(bases, (along,))
        base = broadcast(bases, exponents.shape)
    else:
        exponents = linspace(start, stop, num, endpoint, axis=axis)
        if isinstance(base, Value):
            base = lax.convert_element_type(base, exponents.dtype)
        else:
            base = number(exponents, base)
    powers = lax.pow(base, exponents)
    if dtype is None:
        return powers
    return lax.convert_element_type(powers, dtype_argument(dtype, name))


@planned_whole
def geomspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    dtype: Any = None,
    axis: int = 0,
) -> Value:
    """`num` numbers at equal ratios from `start` to `stop`, which have one sign.

    >>> import tetrad.numpy as jnp
    >>> jnp.geomspace(1, 100, 3).shape
    (3,)
    """
    low, high = promote_inexact("jnp.geomspace", start, stop)
    along = axis_argument(
        axis, 1 + max(aval_of(v).ndim for v in (low, high)), "jnp.geomspace"
    )
    sign = lax.sign(low) if isinstance(low, Value) else number(low, np.sign(low))
    exponents = linspace(
        lax.log(lax.div(low, sign)),
        lax.log(lax.div(high, sign)),
        num,
        endpoint,
        axis=axis,
    )
    sign = to(sign, aval_of(exponents).dtype, False, "jnp.geomspace")
    if aval_of(sign).ndim:
        axes = [i for i in range(exponents.ndim) if i != along]
        sign = lax.broadcast_in_dim(sign, exponents.shape, axes)
    out = lax.mul(lax.exp(exponents), sign)
    return (
        out
        if dtype is None
        else lax.convert_element_type(out, dtype_argument(dtype, "jnp.geomspace"))
    )


# ----------------------------------------------------------------- diagonals and triangles


def _rows_and_columns(shape: tuple[int, ...], k: Any, name: str) -> tuple[Any, Any]:
    """(row + k, column) of each element of the last two axes; k may be traced."""
    ndim = len(shape)
    rows = lax.broadcasted_iota(np.int32, shape, ndim - 2)
    columns = lax.broadcasted_iota(np.int32, shape, ndim - 1)
    if isinstance(k, Tracer) and k.aval.kind in "iu" and not k.ndim:
        return lax.add(rows, lax.convert_element_type(k, np.int32)), columns
    # Further off than the matrix reaches, all diagonals are alike.
    k = max(-shape[-2] - 1, min(static_int(k, name, "k"), shape[-1] + 1))
    return (lax.add(rows, k) if k else rows), columns


def eye(
    N: int, M: int | None = None, k: int = 0, dtype: Any = None, *, device: Any = None
) -> Value:
    """An N × M matrix with 1 on its k-th diagonal and 0 elsewhere; M is N unless given.

    >>> import tetrad.numpy as jnp
    >>> jnp.eye(2)
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    if device is not None:
        return there(device, eye, N, M, k, dtype)  # type: ignore[no-any-return]
    found = float_dtype("jnp.eye", dtype)
    shape = shape_argument((N, N if M is None else M), "jnp.eye")
    rows, columns = _rows_and_columns(shape, k, "jnp.eye")
    return lax.convert_element_type(lax.eq(rows, columns), found)


def identity(n: int, dtype: Any = None) -> Value:
    """The n × n matrix with 1 on its diagonal and 0 elsewhere.

    >>> import tetrad.numpy as jnp
    >>> jnp.identity(2, dtype=int)
    Array([[1, 0],
           [0, 1]], dtype=int32)
    """
    return eye(n, dtype=dtype)


def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = None) -> Value:
    """An N × M matrix with 1 on and below its k-th diagonal and 0 above.

    >>> import tetrad.numpy as jnp
    >>> jnp.tri(2)
    Array([[1., 0.],
           [1., 1.]], dtype=float32)
    """
    found = float_dtype("jnp.tri", np.float32 if dtype is None else dtype)
    shape = shape_argument((N, N if M is None else M), "jnp.tri")
    rows, columns = _rows_and_columns(shape, k, "jnp.tri")
    return lax.convert_element_type(lax.ge(rows, columns), found)


def _triangle(m: Any, k: int, name: str, keep: Callable[[Any, Any], Any]) -> Value:
    x = value(m, name, "m")
    if x.ndim < 2:
        raise ValueError(
            f"{name} needs an array of at least 2 axes, got {x.aval.long_name()}"
        )
    rows, columns = _rows_and_columns(x.shape[-2:], k, name)
    mask = broadcast(keep(rows, columns), x.shape)
    return lax.select(mask, x, number(x, 0))


@planned()
def tril(m: Any, k: int = 0) -> Value:
    """`m` with 0 above its k-th diagonal: the lower triangle of the last two axes.

    >>> import tetrad.numpy as jnp
    >>> jnp.tril(jnp.ones((2, 2)))
    Array([[1., 0.],
           [1., 1.]], dtype=float32)
    """
    return _triangle(m, k, "jnp.tril", lax.ge)


@planned()
def triu(m: Any, k: int = 0) -> Value:
    """`m` with 0 below its k-th diagonal: the upper triangle of the last two axes.

    >>> import tetrad.numpy as jnp
    >>> jnp.triu(jnp.ones((2, 2)))
    Array([[1., 1.],
           [0., 1.]], dtype=float32)
    """
    x = value(m, "jnp.triu", "m")
    return _triangle(x, k, "jnp.triu", lax.le)


@planned()
def diag(v: Any, k: int = 0) -> Value:
    """The k-th diagonal of a matrix, or the matrix with a vector on its k-th diagonal.

    ValueError unless `v` has 1 or 2 axes.

    >>> import tetrad.numpy as jnp
    >>> jnp.diag(jnp.array([1, 2]))
    Array([[1, 0],
           [0, 2]], dtype=int32)
    """
    x = value(v, "jnp.diag", "v")
    k = static_int(k, "jnp.diag", "k")
    if x.ndim == 1:
        return diagonal_matrix(x, k)
    if x.ndim == 2:
        return diagonal(x, k)
    raise ValueError(f"jnp.diag takes a vector or a matrix, got {x.aval.long_name()}")


def diagonal_matrix(x: Value, k: int) -> Any:
    n = x.shape[0] + abs(k)
    before = max(0, k)
    padded = lax.pad(x, number(x, 0), [(before, n - x.shape[0] - before, 0)])
    rows, columns = _rows_and_columns((n, n), k, "jnp.diag")
    wide = lax.broadcast_in_dim(padded, (n, n), (1,))
    return lax.select(lax.eq(rows, columns), wide, number(x, 0))


def diagflat(v: Any, k: int = 0) -> Value:
    """The matrix with the elements of `v`, flattened, on its k-th diagonal.

    >>> import tetrad.numpy as jnp
    >>> jnp.diagflat(jnp.array([[1, 2]]))
    Array([[1, 0],
           [0, 2]], dtype=int32)
    """
    x = value(v, "jnp.diagflat", "v")
    flat = lax.reshape(x, (x.size,))
    return diagonal_matrix(flat, static_int(k, "jnp.diagflat", "k"))


@planned()
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Value:
    """The elements a[…, i, i + offset] of two axes, along a new last axis.

    ValueError unless `a` has two axes.

    >>> import tetrad.numpy as jnp
    >>> jnp.diagonal(jnp.arange(4).reshape(2, 2))
    Array([0, 3], dtype=int32)
    """
    name = "jnp.diagonal"
    x = value(a, name, "a")
    if x.ndim < 2:
        raise ValueError(
            f"{name} needs an array of at least 2 axes, got {x.aval.long_name()}"
        )
    first = axis_argument(axis1, x.ndim, name, "axis1")
    second = axis_argument(axis2, x.ndim, name, "axis2")
    if first == second:
        raise ValueError(f"{name}: axis1 and axis2 can not be same, both are {first}")
    rest = [i for i in range(x.ndim) if i not in (first, second)]
    x = lax.transpose(x, (*rest, first, second))
    rows, columns = x.shape[-2:]
    offset = static_int(offset, name, "offset")
    top, left = max(0, -offset), max(0, offset)
    n = max(0, min(rows - top, columns - left))
    lead = x.shape[:-2]
    starts = [0] * len(lead) + [min(top, rows), min(left, columns)]
    square = lax.slice(x, starts, [*lead, starts[-2] + n, starts[-1] + n])
    # Read n·n elements with stride n + 1: the diagonal of a square is a strided view.
    flat = lax.reshape(square, (*lead, n * n))
    limits = [*lead, n * n]
    steps = [1] * len(lead) + [n + 1]
    return lax.slice(flat, [0] * len(limits), limits, steps)


# --------------------------------------------------------------------------------- grids


@planned_whole
def meshgrid(
    *xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> list[Value]:
    """The coordinates of a grid: one array for each vector, together of one shape.

    With indexing "ij" the i-th vector runs along axis i; with "xy" the first two swap.
    `sparse` leaves the other axes at extent 1. ValueError for vectors with axes.

    >>> import tetrad.numpy as jnp
    >>> jnp.meshgrid(jnp.arange(2), jnp.arange(2))[0]
    Array([[0, 1],
           [0, 1]], dtype=int32)
    """
    name = "jnp.meshgrid"
    if not copy:
        raise ValueError(f"{name}: arrays have their own memory; leave copy=False out")
    if indexing not in ("xy", "ij"):
        raise ValueError(f'{name}: indexing must be "xy" or "ij", got {indexing!r}')
    xs = [value(x, name) for x in xi]
    for i, x in enumerate(xs):
        if x.ndim > 1:
            raise ValueError(
                f"{name} takes vectors, argument {i} is {x.aval.long_name()}"
            )
    xs = [lax.reshape(x, (x.size,)) for x in xs]
    axes = list(range(len(xs)))
    if indexing == "xy" and len(xs) > 1:
        axes[0], axes[1] = 1, 0
    shape = [0] * len(xs)
    for x, axis in zip(xs, axes):
        shape[axis] = x.shape[0]
    result = []
    for x, axis in zip(xs, axes):
        extents = [x.shape[0] if i == axis else 1 for i in range(len(xs))]
        wide = tuple(extents if sparse else shape)
        result.append(lax.broadcast_in_dim(x, wide, (axis,)))
    return result


def indices(dimensions: Sequence[int], dtype: Any = None, sparse: bool = False) -> Any:
    """The index of every element of a grid, stacked along a new first axis.

    `sparse` gives a tuple of arrays with extent 1 in the other axes.

    >>> import tetrad.numpy as jnp
    >>> jnp.indices((2, 2))[1]
    Array([[0, 1],
           [0, 1]], dtype=int32)
    """
    shape = shape_argument(dimensions, "jnp.indices")
    found = int_dtype("jnp.indices", dtype)
    if sparse:
        vectors = [lax.iota(found, n) for n in shape]
        return tuple(
            [
                lax.reshape(
                    v, tuple([n if i == axis else 1 for i in range(len(shape))])
                )
                for axis, (v, n) in enumerate(zip(vectors, shape))
            ]
        )
    if not shape:
        return lax.full((0,), found.type(0))
    grids = [lax.broadcasted_iota(found, (1, *shape), i + 1) for i in range(len(shape))]
    return lax.concatenate(grids, 0)


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Value:
    """The matrix of powers of a vector: row i is x[i]^(N-1), …, x[i], 1.

    >>> import tetrad.numpy as jnp
    >>> jnp.vander(jnp.array([1, 2, 3]))
    Array([[1, 1, 1],
           [4, 2, 1],
           [9, 3, 1]], dtype=int32)
    """
    v = value(x, "jnp.vander", "x")
    if v.ndim != 1:
        raise ValueError(f"jnp.vander takes a vector, got {v.aval.long_name()}")
    count = v.shape[0] if N is None else static_int(N, "jnp.vander", "N")
    powers = [lax.reshape(lax.integer_pow(v, i), (v.shape[0], 1)) for i in range(count)]
    if not increasing:
        powers.reverse()
    if not powers:
        return lax.full((v.shape[0], 0), number(v, 0))
    return lax.concatenate(powers, 1)


def copy(a: Any, order: str | None = None) -> Value:
    """A new array with the elements of `a`.

    >>> import tetrad.numpy as jnp
    >>> jnp.copy(jnp.arange(3))
    Array([0, 1, 2], dtype=int32)
    """
    return convert.array(a, copy=True, order=order)
