"""Index tricks: grids by slices, `r_` and `c_`, and indices of triangles and diagonals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tetrad._src.core.bind import Tracer, Value, aval_of
from tetrad._src.numpy import assemble, convert, create, lax
from tetrad._src.numpy.axes import shape_argument, static_int
from tetrad._src.numpy.convert import describe, value
from tetrad._src.numpy.dtype import dtype_argument, float_dtype, int_dtype
from tetrad._src.numpy.elementwise import number
from tetrad._src.numpy.promote import call, promote
from tetrad._src.numpy.search import nonzero
from tetrad._src.util import errors


def _from_slice(s: slice, name: str) -> Any:
    """The vector that a slice names: an imaginary step counts points, stop included."""
    for part in ("start", "stop", "step"):
        given = getattr(s, part)
        if isinstance(given, Tracer):
            raise errors.ConcretizationTypeError(
                f"the slice {part} of jnp.{name} decides the shape, so it must be known"
                f" when the program is built, got a traced {given.aval.long_name()}."
                " Mark the argument that it comes from static (static_argnums)"
            )
    start = 0 if s.start is None else s.start
    if s.stop is None:
        return create.arange(start)
    if isinstance(s.step, complex):
        return create.linspace(start, s.stop, int(abs(s.step)))
    return create.arange(start, s.stop, 1 if s.step is None else s.step)


class _Grid:
    """`jnp.mgrid` and `jnp.ogrid`: coordinates of a grid from slices."""

    def __init__(self, name: str, sparse: bool) -> None:
        self.name = name
        self.sparse = sparse

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return _from_slice(key, self.name)
        if not key:
            return () if self.sparse else create.arange(0)
        vectors = [_from_slice(s, self.name) for s in key]
        if any(v.aval.kind == "f" for v in vectors):
            vectors = [lax.convert_element_type(v, float_dtype("")) for v in vectors]
        grids = create.meshgrid(*vectors, indexing="ij", sparse=self.sparse)
        return grids if self.sparse else assemble.stack(grids)

    def __repr__(self) -> str:
        return f"<tetrad.numpy.{self.name}>"


mgrid = _Grid("mgrid", False)
ogrid = _Grid("ogrid", True)


class _Concatenator:
    """`jnp.r_` and `jnp.c_`: arrays, numbers and slices, joined."""

    def __init__(self, name: str, axis: int, ndmin: int, at: int) -> None:
        self.name = name
        self.axis, self.ndmin, self.at = axis, ndmin, at

    def __getitem__(self, key: Any) -> Any:
        items = list(key) if isinstance(key, tuple) else [key]
        axis, ndmin, at = self.axis, self.ndmin, self.at
        matrix = ""
        if items and isinstance(items[0], str):
            text = items.pop(0)
            if text in ("r", "c"):
                matrix = text
            else:
                axis, ndmin, at = self._directive(text)
        parts = []
        for item in items:
            whole = (
                _from_slice(item, self.name)
                if isinstance(item, slice)
                else convert.asarray(item)
            )
            parts.append(self._lifted(whole, ndmin, at))
        whole = assemble.concatenate(parts, axis)
        if matrix and whole.ndim == 1:
            shape = (1, whole.size) if matrix == "r" else (whole.size, 1)
            return lax.reshape(whole, shape)
        return whole

    def _directive(self, text: str) -> tuple[int, int, int]:
        try:
            numbers = [int(part) for part in text.split(",")]
        except ValueError:
            raise ValueError(
                f"jnp.{self.name}: could not understand directive {text!r}; it is 'r', 'c', or"
                " one to three integers such as '0,2'"
            ) from None
        numbers += [self.ndmin, self.at][len(numbers) - 1 :]
        return numbers[0], numbers[1], numbers[2]

    @staticmethod
    def _lifted(x: Value, ndmin: int, at: int) -> Any:
        if not x.ndim:
            x = lax.reshape(x, (1,))
        missing = ndmin - x.ndim
        if missing <= 0:
            return x
        place = at if at >= 0 else at + missing + 1
        shape = [1] * missing
        shape[place:place] = x.shape
        return lax.reshape(x, shape)

    def __repr__(self) -> str:
        return f"<tetrad.numpy.{self.name}>"


r_ = _Concatenator("r_", 0, 1, -1)
c_ = _Concatenator("c_", -1, 2, 0)


class _Slices:
    """`jnp.s_` and `jnp.index_exp`: an index as an object."""

    def __init__(self, always_tuple: bool) -> None:
        self.always_tuple = always_tuple

    def __getitem__(self, key: Any) -> Any:
        return (key,) if self.always_tuple and not isinstance(key, tuple) else key


s_ = _Slices(False)
index_exp = _Slices(True)


def ix_(*args: Any) -> tuple[Value, ...]:
    """Vectors shaped so that they index a grid: x[jnp.ix_(rows, columns)].

    >>> import tetrad.numpy as jnp
    >>> jnp.arange(9).reshape(3, 3)[jnp.ix_(jnp.array([0, 2]), jnp.array([1]))]
    Array([[1],
           [7]], dtype=int32)
    """
    result = []
    for i, arg in enumerate(args):
        x = value(arg, "jnp.ix_")
        if x.ndim != 1:
            raise ValueError(f"jnp.ix_ takes vectors, argument {i} is {describe(x)}")
        if x.aval.kind == "b":
            x = convert.asarray(np.nonzero(np.asarray(x))[0].astype(np.int32))
        shape = [x.shape[0] if j == i else 1 for j in range(len(args))]
        result.append(lax.reshape(x, shape))
    return tuple(result)


# ------------------------------------------------------------------ triangles, diagonals


def _constants(arrays: Sequence[np.ndarray]) -> tuple[Value, ...]:
    return tuple([convert.device_array(a.astype(int_dtype()), False) for a in arrays])


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Value, ...]:
    """(rows, columns) of the lower triangle of an n × m matrix, up to its k-th diagonal.

    >>> import tetrad.numpy as jnp
    >>> jnp.tril_indices(2)
    (Array([0, 1, 1], dtype=int32), Array([0, 0, 1], dtype=int32))
    """
    n, k = (
        static_int(n, "jnp.tril_indices", "n"),
        static_int(k, "jnp.tril_indices", "k"),
    )
    return _constants(np.tril_indices(n, k, m))


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Value, ...]:
    """(rows, columns) of the upper triangle of an n × m matrix, from its k-th diagonal.

    >>> import tetrad.numpy as jnp
    >>> jnp.triu_indices(2)
    (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    n, k = (
        static_int(n, "jnp.triu_indices", "n"),
        static_int(k, "jnp.triu_indices", "k"),
    )
    return _constants(np.triu_indices(n, k, m))


def _matrix_shape(arr: Any, name: str) -> tuple[int, int]:
    shape = value(arr, name).shape
    if len(shape) != 2:
        raise ValueError(f"{name} takes a matrix, got {describe(value(arr, name))}")
    return shape[0], shape[1]


def tril_indices_from(arr: Any, k: int = 0) -> tuple[Value, ...]:
    """(rows, columns) of the lower triangle of the matrix `arr`: see `tril_indices`.

    >>> import tetrad.numpy as jnp
    >>> jnp.tril_indices_from(jnp.ones((2, 2)))[0]
    Array([0, 1, 1], dtype=int32)
    """
    n, m = _matrix_shape(arr, "jnp.tril_indices_from")
    return tril_indices(n, k, m)


def triu_indices_from(arr: Any, k: int = 0) -> tuple[Value, ...]:
    """(rows, columns) of the upper triangle of the matrix `arr`: see `triu_indices`.

    >>> import tetrad.numpy as jnp
    >>> jnp.triu_indices_from(jnp.ones((2, 2)))[0]
    Array([0, 0, 1], dtype=int32)
    """
    n, m = _matrix_shape(arr, "jnp.triu_indices_from")
    return triu_indices(n, k, m)


def diag_indices(n: int, ndim: int = 2) -> tuple[Value, ...]:
    """The indices of the main diagonal of an array with `ndim` axes of extent n.

    >>> import tetrad.numpy as jnp
    >>> jnp.diag_indices(2)
    (Array([0, 1], dtype=int32), Array([0, 1], dtype=int32))
    """
    n = static_int(n, "jnp.diag_indices", "n")
    return (lax.iota(int_dtype(), n),) * static_int(ndim, "jnp.diag_indices", "ndim")


def diag_indices_from(arr: Any) -> tuple[Value, ...]:
    """The indices of the main diagonal of `arr`, all of whose extents are equal.

    >>> import tetrad.numpy as jnp
    >>> jnp.diag_indices_from(jnp.ones((2, 2)))
    (Array([0, 1], dtype=int32), Array([0, 1], dtype=int32))
    """
    x = value(arr, "jnp.diag_indices_from", "arr")
    if x.ndim < 2 or len(set(x.shape)) != 1:
        raise ValueError(
            f"jnp.diag_indices_from: extents must be equal, got {describe(x)}"
        )
    return diag_indices(x.shape[0], x.ndim)


def mask_indices(n: int, mask_func: Any, k: int = 0, *, size: int | None = None) -> Any:
    """The indices of the elements of an n × n array that `mask_func(array, k)` keeps.

    >>> import tetrad.numpy as jnp
    >>> jnp.mask_indices(2, jnp.triu)
    (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    from_ones = mask_func(create.ones((n, n)), k)
    return nonzero(from_ones, size=size)


def unravel_index(indices: Any, shape: Any) -> tuple[Value, ...]:
    """The index along each axis of elements given by their flat (row-major) index.

    Indices out of range are moved inside.

    >>> import tetrad.numpy as jnp
    >>> jnp.unravel_index(jnp.array([1, 5]), (2, 3))
    (Array([0, 1], dtype=int32), Array([1, 2], dtype=int32))
    """
    name = "jnp.unravel_index"
    x = value(indices, name, "indices")
    if x.aval.kind not in "iu":
        raise TypeError(f"{call(name)}: indices must be integers, got {describe(x)}")
    if isinstance(shape, (tuple, list)) and any(isinstance(n, Tracer) for n in shape):
        return _unravel_traced(x, [value(n, name) for n in shape])
    extents = shape_argument(shape, name)
    total = math.prod(extents)
    if x.aval.kind == "i":
        x = lax.select(lax.lt(x, number(x, 0)), lax.add(x, number(x, total)), x)
        x = lax.max(x, number(x, 0))
    x = lax.min(x, number(x, max(total - 1, 0)))
    parts = []
    for n in reversed(extents):
        parts.append(lax.rem(x, number(x, max(n, 1))))
        x = lax.div(x, number(x, max(n, 1)))
    return tuple(parts[::-1])


def _unravel_traced(x: Any, extents: list[Any]) -> tuple[Value, ...]:
    """As `unravel_index`, for extents that are not known."""
    sizes = [lax.convert_element_type(n, x.dtype) for n in extents]
    total = math.prod(sizes[1:], start=sizes[0])
    if x.aval.kind == "i":
        x = lax.select(lax.lt(x, number(x, 0)), lax.add(x, total), x)
        x = lax.max(x, number(x, 0))
    x = lax.min(x, lax.max(total - number(total, 1), number(total, 0)))
    parts = []
    for n in reversed(sizes):
        n = lax.max(n, number(n, 1))
        parts.append(lax.rem(x, n))
        x = lax.div(x, n)
    return tuple(parts[::-1])


def ravel_multi_index(
    multi_index: Sequence[Any],
    dims: Sequence[int],
    mode: str = "raise",
    order: str = "C",
    *,
    dtype: Any = None,
) -> Value:
    """The flat index of elements given by an index along each axis.

    Mode "clip" or "wrap" brings indices into range, "ignore" trusts them; "raise" checks
    them, which needs their values, so it works outside transformations. Order "F" is
    column-major. The result has the dtype that the indices promote to, unless given.

    >>> import tetrad.numpy as jnp
    >>> jnp.ravel_multi_index((jnp.array([1]), jnp.array([2])), (2, 3))
    Array([5], dtype=int32)
    """
    name = "jnp.ravel_multi_index"
    extents = shape_argument(dims, name)
    if len(multi_index) != len(extents):
        raise ValueError(f"{name}: {len(multi_index)} indices for {len(extents)} axes")
    if order not in ("C", "F"):
        raise ValueError(f'{name}: order must be "C" or "F", got {order!r}')
    parts = [value(i, name) for i in multi_index]
    for i, (part, n) in enumerate(zip(parts, extents)):
        if part.aval.kind not in "iub":
            raise TypeError(
                f"{name}: indices must be integers, got {describe(part)} for axis {i}"
            )
        if mode == "raise":
            host = np.asarray(part)
            if host.size and not (host.min() >= 0 and host.max() < n):
                raise ValueError(f"{name}: an index of axis {i} is not in 0 … {n - 1}")
        elif mode == "clip":
            parts[i] = lax.min(lax.max(part, number(part, 0)), number(part, n - 1))
        elif mode == "wrap":
            parts[i] = part % n
        elif mode != "ignore":
            raise ValueError(
                f'{name}: mode must be "raise", "clip", "wrap" or "ignore", got {mode!r}'
            )
    strides = [math.prod(extents[i + 1 :]) for i in range(len(extents))]
    if order == "F":
        strides = [math.prod(extents[:i]) for i in range(len(extents))]
    if dtype is not None:
        found = dtype_argument(dtype, name)
        parts = [lax.convert_element_type(part, found) for part in parts]
    parts = promote(name, *parts)
    result: Any = convert.asarray(0, aval_of(parts[0]).dtype if parts else int_dtype())
    for part, stride in zip(parts, strides):
        result = result + part * stride
    return result
