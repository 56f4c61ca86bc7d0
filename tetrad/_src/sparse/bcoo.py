"""Sparse arrays as lists of elements and their places: `BCOO`.

In: data[nse] and indices[nse, ndim] (integers), and the shape. Out: an array that knows
sums, products and transposes without the zeros. Places that lie beyond the shape are
padding: they stand for nothing, so that the number of elements can be fixed under `jit`.
An element may be named several times; its values add up.

Read `BCOO`, then `dot_general`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tetrad import numpy, random, tree_util
from tetrad._src.core.bind import Tracer

jnp: Any = numpy  # arrays have methods that their type does not state

Shape = tuple[int, ...]


class JAXSparse:
    """What all sparse arrays are: a shape, a dtype, and elements."""

    __array_priority__ = 100

    def __init__(self, args: Any, *, shape: Sequence[int]) -> None:
        self.shape: Shape = tuple([int(extent) for extent in shape])

    data: Any

    @property
    def dtype(self) -> Any:
        return self.data.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nse(self) -> int:
        """How many elements are stored."""
        return int(self.data.shape[0])

    def todense(self) -> Any:
        """The array with its zeros."""
        raise NotImplementedError(f"{type(self).__name__} does not say todense")

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        extents = ", ".join(map(str, self.shape))
        name = jnp.dtype(self.dtype).name
        return f"{type(self).__name__}({name}[{extents}], nse={self.nse})"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise TypeError(
            f"a {type(self).__name__} does not become a dense array by itself: write"
            " x.todense()"
        )


def _no_batch(n_batch: int, n_dense: int) -> None:
    if n_batch or n_dense:
        raise NotImplementedError(
            f"BCOO: n_batch={n_batch}, n_dense={n_dense}, but all axes are sparse here;"
            " map over a batch of arrays with jax.vmap, or keep a list of them"
        )


class BCOO(JAXSparse):
    """A sparse array: elements, and the place of each.

    Args:
      args: (data, indices): the elements of shape [nse], and integers of shape
        [nse, ndim].
      shape: the shape of the array.
      indices_sorted: a promise that places come in row-major order.
      unique_indices: a promise that no place comes twice.

    >>> import tetrad.numpy as jnp
    >>> from tetrad.experimental import sparse
    >>> m = sparse.BCOO.fromdense(jnp.array([[0., 2.], [3., 0.]]))
    >>> m
    BCOO(float32[2, 2], nse=2)
    >>> (m @ jnp.array([1., 10.])).tolist()
    [20.0, 3.0]
    """

    indices: Any
    n_batch = 0
    n_dense = 0

    def __init__(
        self,
        args: tuple[Any, Any],
        *,
        shape: Sequence[int],
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ) -> None:
        super().__init__(args, shape=shape)
        data, indices = args
        self.data = jnp.asarray(data)
        self.indices = jnp.asarray(indices)
        self.indices_sorted = indices_sorted
        self.unique_indices = unique_indices
        expected = (*self.data.shape[:1], len(self.shape))
        if self.data.ndim != 1 or self.indices.shape != expected:
            raise ValueError(
                f"BCOO: data must be [nse] and indices [nse, {len(self.shape)}] for shape"
                f" {self.shape}, got {self.data.shape} and {self.indices.shape}"
            )

    @property
    def n_sparse(self) -> int:
        return len(self.shape)

    @classmethod
    def fromdense(
        cls,
        mat: Any,
        *,
        nse: int | None = None,
        index_dtype: Any = np.int32,
        n_dense: int = 0,
        n_batch: int = 0,
    ) -> BCOO:
        """The elements of a dense array that are not 0.

        Args:
          nse: how many elements to store; needed where `mat` is traced.
          index_dtype: the dtype of the places.
          n_dense, n_batch: 0.
        """
        _no_batch(n_batch, n_dense)
        mat = jnp.asarray(mat)
        if nse is None:
            if isinstance(mat, Tracer):
                raise ValueError(
                    "BCOO.fromdense: how many elements a traced array has is not known;"
                    " say nse=..."
                )
            nse = int(jnp.count_nonzero(mat))
        if not mat.ndim:
            return cls((mat.reshape(1), jnp.zeros((1, 0), index_dtype)), shape=())
        places = jnp.nonzero(mat, size=nse, fill_value=max(mat.shape))
        indices = jnp.stack(places, -1).astype(index_dtype)
        data = mat.at[places].get(mode="fill", fill_value=0)
        return cls((data, indices), shape=mat.shape, indices_sorted=True,
                   unique_indices=True)  # fmt: skip

    @classmethod
    def from_scipy_sparse(
        cls,
        mat: Any,
        *,
        index_dtype: Any = np.int32,
        n_dense: int = 0,
        n_batch: int = 0,
    ) -> BCOO:
        """The elements of a sparse matrix of SciPy."""
        _no_batch(n_batch, n_dense)
        coo = mat.tocoo()
        indices = np.stack([coo.row, coo.col], -1).astype(index_dtype)
        return cls((jnp.asarray(coo.data), indices), shape=mat.shape)

    @classmethod
    def _empty(cls, shape: Sequence[int], dtype: Any, index_dtype: Any) -> BCOO:
        data = jnp.zeros((0,), dtype)
        return cls((data, jnp.zeros((0, len(shape)), index_dtype)), shape=shape)

    def _like(self, data: Any, indices: Any = None, shape: Any = None) -> BCOO:
        same = indices is None
        return BCOO(
            (data, self.indices if same else indices),
            shape=self.shape if shape is None else shape,
            indices_sorted=same and self.indices_sorted,
            unique_indices=same and self.unique_indices,
        )

    def _places(self) -> tuple[Any, ...]:
        return tuple([self.indices[:, i] for i in range(self.ndim)])

    def todense(self) -> Any:
        """The array with its zeros."""
        if not self.ndim:
            return self.data.sum()
        zeros = jnp.zeros(self.shape, self.dtype)
        return zeros.at[self._places()].add(self.data, mode="drop")

    def astype(self, dtype: Any) -> BCOO:
        return self._like(self.data.astype(dtype))

    def block_until_ready(self) -> BCOO:
        self.data.block_until_ready()
        return self

    def transpose(self, axes: Sequence[int] | None = None) -> BCOO:
        """The array with its axes in another order, by default reversed."""
        order = range(self.ndim)[::-1] if axes is None else axes
        order = [axis % self.ndim for axis in order]
        if sorted(order) != list(range(self.ndim)):
            raise ValueError(
                f"BCOO.transpose: axes must name each of {self.ndim} axes, got {axes}"
            )
        moved = self.indices[:, np.array(order, int)] if order else self.indices
        return self._like(self.data, moved, [self.shape[axis] for axis in order])

    @property
    def T(self) -> BCOO:
        return self.transpose()

    def reshape(self, *args: Any) -> BCOO:
        """The array with the same elements in row-major order in another shape."""
        shape = args[0] if len(args) == 1 and not isinstance(args[0], int) else args
        shape = list(shape)
        if -1 in shape:
            rest = math.prod([n for n in shape if n != -1])
            shape[shape.index(-1)] = self.size // max(rest, 1)
        if math.prod(shape) != self.size:
            raise ValueError(f"BCOO.reshape: {self.shape} cannot become {tuple(shape)}")
        inside = self._inside()
        flat = jnp.zeros(self.data.shape, self.indices.dtype)
        for i, extent in enumerate(self.shape):
            flat = flat * extent + self.indices[:, i]
        columns = []
        for extent in shape[::-1]:
            columns.append(jnp.where(inside, flat % max(extent, 1), extent))
            flat = flat // max(extent, 1)
        indices = jnp.stack(columns[::-1], -1) if shape else self.indices[:, :0]
        return self._like(self.data, indices, shape)

    def _beyond(self) -> Any:
        """The place of what stands for nothing."""
        return jnp.asarray(np.array(self.shape, self.indices.dtype))

    def _inside(self) -> Any:
        """Whether a place lies in the shape."""
        return jnp.all(self.indices < self._beyond(), -1)

    def _order(self) -> Any:
        """The numbers of the elements in row-major order; equal places as they come."""
        return jnp.lexsort(self._places()[::-1])

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> BCOO:
        """Each place once, in row-major order; `nse` places if that is given.

        Elements that are 0 go, unless `remove_zeros` is False.
        """
        stands = self._inside()
        if remove_zeros:
            stands = stands & (self.data != 0)
        indices = jnp.where(stands[:, None], self.indices, self._beyond())
        mat = self._like(self.data, indices).sort_indices()
        number = jnp.cumsum(_first_of_equal(mat.indices).astype(int)) - 1
        if nse is None:
            if isinstance(number, Tracer):
                nse = self.nse
            else:
                nse = int(jnp.max(jnp.where(mat._inside(), number + 1, 0), initial=0))
        total = jnp.zeros((nse,), mat.dtype).at[number].add(mat.data, mode="drop")
        places = jnp.tile(self._beyond(), (nse, 1))
        places = places.at[number].set(mat.indices, mode="drop")
        return BCOO((total, places), shape=self.shape, indices_sorted=True,
                    unique_indices=True)  # fmt: skip

    def sort_indices(self) -> BCOO:
        """The elements in row-major order."""
        order = self._order()
        return BCOO(
            (self.data[order], self.indices[order]),
            shape=self.shape,
            indices_sorted=True,
            unique_indices=self.unique_indices,
        )

    def sum(self, axis: Any = None) -> Any:
        """The sum of all elements, or a sparse array of sums along axes."""
        if axis is None:
            return jnp.sum(jnp.where(self._inside(), self.data, 0))
        axes = axis if isinstance(axis, (tuple, list)) else (axis,)
        gone = {a % self.ndim for a in axes}
        kept = [a for a in range(self.ndim) if a not in gone]
        inside = self._inside()
        indices = jnp.where(inside[:, None], self.indices, self._beyond())
        return self._like(
            jnp.where(inside, self.data, 0),
            indices[:, np.array(kept, int)],
            [self.shape[a] for a in kept],
        )

    # -- arithmetic -----------------------------------------------------------------

    def __neg__(self) -> BCOO:
        return self._like(-self.data)

    def __pos__(self) -> BCOO:
        return self

    def __abs__(self) -> BCOO:
        return self._like(abs(self.data))

    def __mul__(self, other: Any) -> BCOO:
        if isinstance(other, BCOO):
            other = other.todense()
        other = jnp.asarray(other)
        if not other.ndim:
            return self._like(self.data * other)
        if jnp.broadcast_shapes(other.shape, self.shape) != self.shape:
            raise ValueError(
                f"a sparse array of shape {self.shape} times one of {other.shape}: the"
                " product must have the shape of the sparse one"
            )
        wide = jnp.broadcast_to(other, self.shape)
        factors = wide.at[self._places()].get(mode="fill", fill_value=0)
        return self._like(self.data * factors)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> BCOO:
        quotient: BCOO = self * (1 / jnp.asarray(other))
        return quotient

    def __add__(self, other: Any) -> Any:
        if isinstance(other, BCOO):
            if other.shape != self.shape:
                raise ValueError(
                    f"sparse arrays of shapes {self.shape} and {other.shape} do not add"
                )
            data = jnp.concatenate([self.data, other.data])
            indices = jnp.concatenate([self.indices, other.indices])
            return BCOO((data, indices), shape=self.shape)
        return self.todense() + other

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self + (-other)

    def __rsub__(self, other: Any) -> Any:
        return (-self) + other

    def __matmul__(self, other: Any) -> Any:
        return _matmul(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return _matmul(other, self)

    def __getitem__(self, idx: Any) -> Any:
        return BCOO.fromdense(self.todense()[idx])


def _first_of_equal(indices: Any) -> Any:
    """Whether a place in order differs from the one before it."""
    differs = jnp.any(indices[1:] != indices[:-1], -1)
    return jnp.concatenate([jnp.ones((min(len(indices), 1),), bool), differs])


def _flatten(x: BCOO) -> Any:
    return (x.data, x.indices), (x.shape, x.indices_sorted, x.unique_indices)


def _unflatten(facts: Any, children: Any) -> BCOO:
    made = object.__new__(BCOO)
    made.data, made.indices = children
    made.shape, made.indices_sorted, made.unique_indices = facts
    return made


tree_util.register_pytree_node(BCOO, _flatten, _unflatten)


# -------------------------------------------------------------------------- products


def _shape_of(x: Any) -> Shape:
    return x.shape if isinstance(x, BCOO) else jnp.shape(x)


def _matmul(x: Any, y: Any) -> Any:
    """x @ y, of which one is sparse at least; vectors and matrices."""
    ranks = len(_shape_of(x)), len(_shape_of(y))
    if min(ranks) < 1 or max(ranks) > 2:
        raise NotImplementedError(
            f"products of sparse arrays are for vectors and matrices, got shapes"
            f" {_shape_of(x)} and {_shape_of(y)}; sparse.bcoo_dot_general has all others"
        )
    contract = ((ranks[0] - 1,), (0,))
    return dot_general(x, y, dimension_numbers=(contract, ((), ())))


def dot_general(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """The product that `lax.dot_general` gives, of a sparse and a dense array.

    Two sparse arrays give a sparse one, whose elements are found in the dense product.

    Args:
      dimension_numbers: as for `lax.dot_general`.
      precision: as there; products of elements are exact in their dtype.
      preferred_element_type: the dtype of the result.
      out_sharding: None.

    >>> import tetrad.numpy as jnp
    >>> from tetrad.experimental import sparse
    >>> m = sparse.BCOO.fromdense(jnp.eye(2))
    >>> numbers = (((1,), (0,)), ((), ()))
    >>> sparse.bcoo_dot_general(m, jnp.ones(2), dimension_numbers=numbers).tolist()
    [1.0, 1.0]
    """
    if out_sharding is not None:
        raise NotImplementedError(
            "sparse.bcoo_dot_general: out_sharding must be None; move the result with"
            " jax.device_put"
        )
    (lc, rc), (lb, rb) = dimension_numbers
    if isinstance(lhs, BCOO) and isinstance(rhs, BCOO):
        dense = dot_general(
            lhs,
            rhs.todense(),
            dimension_numbers=dimension_numbers,
            preferred_element_type=preferred_element_type,
        )
        nse = min(dense.size, lhs.nse * rhs.nse) if isinstance(dense, Tracer) else None
        return BCOO.fromdense(dense, nse=nse)
    if isinstance(lhs, BCOO):
        rhs = jnp.asarray(rhs)
        dtype = preferred_element_type or jnp.result_type(lhs.dtype, rhs.dtype)
        return _sparse_by_dense(lhs, rhs, dimension_numbers, jnp.dtype(dtype))
    flipped = dot_general(
        rhs,
        lhs,
        dimension_numbers=((rc, lc), (rb, lb)),
        preferred_element_type=preferred_element_type,
    )
    # batch, free axes of rhs, free axes of lhs → the other way round
    count = len(rb)
    mine = rhs.ndim - len(rc) - count
    order = [*range(count), *range(count + mine, flipped.ndim)]
    return flipped.transpose([*order, *range(count, count + mine)])


def _sparse_by_dense(lhs: BCOO, rhs: Any, dimension_numbers: Any, dtype: Any) -> Any:
    """The product of a sparse and a dense array: a term for each element, added up."""
    (lc, rc), (lb, rb) = dimension_numbers
    left, right = (*lb, *lc), (*rb, *rc)
    _check_extents(lhs.shape, rhs.shape, left, right)
    rest = [a for a in range(rhs.ndim) if a not in right]
    kept = [*lb, *[a for a in range(lhs.ndim) if a not in left]]
    places = lhs._places()
    taken = rhs.transpose([*right, *rest])
    if left:
        at = tuple([places[a] for a in left])
        taken = taken.at[at].get(mode="fill", fill_value=0)
    column = (lhs.nse,) + (1,) * len(rest)
    terms = lhs.data.reshape(column).astype(dtype) * taken.astype(dtype)
    terms = jnp.where(lhs._inside().reshape(column), terms, 0)
    if not kept:
        return terms.sum(0)
    shape = (*[lhs.shape[a] for a in kept], *[rhs.shape[a] for a in rest])
    out = jnp.zeros(shape, dtype)
    return out.at[tuple([places[a] for a in kept])].add(terms, mode="drop")


def _check_extents(left: Shape, right: Shape, la: Any, ra: Any) -> None:
    for a, b in zip(la, ra):
        if left[a] != right[b]:
            raise TypeError(
                f"a product of sparse arrays of shapes {left} and {right}: axis {a} has"
                f" extent {left[a]}, and axis {b} of the other {right[b]}"
            )


# ----------------------------------------------------------------- functions by name


def fromdense(
    mat: Any,
    *,
    nse: int | None = None,
    n_batch: int = 0,
    n_dense: int = 0,
    index_dtype: Any = np.int32,
) -> BCOO:
    """The elements of a dense array that are not 0: see `BCOO.fromdense`."""
    return BCOO.fromdense(
        mat, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype
    )


def todense(x: Any) -> Any:
    """A sparse array with its zeros; a dense one as it is."""
    return x.todense() if isinstance(x, BCOO) else jnp.asarray(x)


def extract(sparr: BCOO, arr: Any, *, assume_unique: bool | None = None) -> BCOO:
    """The elements of a dense array at the places of a sparse one.

    Args:
      assume_unique: whether no place comes twice, by default what `sparr` promises. If one
        may, the first has the element and the others have 0.
    """
    taken = jnp.asarray(arr).at[sparr._places()].get(mode="fill", fill_value=0)
    if not (sparr.unique_indices if assume_unique is None else assume_unique):
        order = sparr._order()
        first = _first_of_equal(sparr.indices[order])
        taken = jnp.where(jnp.zeros(sparr.nse, bool).at[order].set(first), taken, 0)
    return sparr._like(taken)


def reduce_sum(mat: BCOO, *, axes: Sequence[int]) -> BCOO:
    """A sparse array of sums along axes."""
    found: BCOO = mat.sum(tuple(axes))
    return found


def transpose(mat: BCOO, *, permutation: Sequence[int]) -> BCOO:
    """The array with its axes in another order."""
    return mat.transpose(permutation)


def multiply_dense(sp_mat: BCOO, v: Any) -> Any:
    """The elements of a sparse array times those of a dense one."""
    return (sp_mat * v).data


def multiply_sparse(lhs: BCOO, rhs: BCOO) -> BCOO:
    """The product of two sparse arrays, element by element."""
    return lhs * rhs


def sum_duplicates(mat: BCOO, nse: int | None = None) -> BCOO:
    """Each place once: see `BCOO.sum_duplicates`."""
    return mat.sum_duplicates(nse, remove_zeros=False)


def sort_indices(mat: BCOO) -> BCOO:
    """The elements in row-major order."""
    return mat.sort_indices()


def reshape(mat: BCOO, *, new_sizes: Sequence[int], dimensions: Any = None) -> BCOO:
    """The same elements in another shape, after axes have been put in order."""
    if dimensions is not None:
        mat = mat.transpose(dimensions)
    return mat.reshape(tuple(new_sizes))


def concatenate(operands: Sequence[BCOO], *, dimension: int) -> BCOO:
    """Sparse arrays one after the other along an axis."""
    before = 0
    data, places = [], []
    for x in operands:
        step = np.zeros(x.ndim, np.int32)
        step[dimension] = before
        inside = x._inside()[:, None]
        places.append(jnp.where(inside, x.indices + step[None, :], np.int32(2**31 - 1)))
        data.append(x.data)
        before += x.shape[dimension]
    shape = list(operands[0].shape)
    shape[dimension] = before
    return BCOO((jnp.concatenate(data), jnp.concatenate(places)), shape=shape)


def empty(
    shape: Sequence[int],
    dtype: Any = None,
    index_dtype: Any = np.int32,
    sparse_format: str = "bcoo",
    **kwds: Any,
) -> BCOO:
    """A sparse array without elements."""
    _only_bcoo(sparse_format, kwds)
    return BCOO._empty(
        shape, jnp.result_type(float) if dtype is None else dtype, index_dtype
    )


def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: Any = None,
    index_dtype: Any = np.int32,
    sparse_format: str = "bcoo",
    **kwds: Any,
) -> BCOO:
    """A matrix with ones on diagonal `k`."""
    _only_bcoo(sparse_format, kwds)
    columns = N if M is None else M
    first = np.array([max(-k, 0), max(k, 0)], index_dtype)
    count = max(0, min(N - int(first[0]), columns - int(first[1])))
    places = np.arange(count, dtype=index_dtype)[:, None] + first
    ones = jnp.ones((count,), jnp.result_type(float) if dtype is None else dtype)
    return BCOO((ones, places), shape=(N, columns), indices_sorted=True,
                unique_indices=True)  # fmt: skip


def _only_bcoo(sparse_format: str, options: Any) -> None:
    if sparse_format != "bcoo":
        raise NotImplementedError(
            f"sparse_format={sparse_format!r} is not available; BCOO is the format here"
        )
    _no_batch(options.get("n_batch", 0), options.get("n_dense", 0))


def random_bcoo(
    key: Any,
    shape: Sequence[int],
    *,
    dtype: Any = None,
    indices_dtype: Any = None,
    nse: float = 0.2,
    n_batch: int = 0,
    n_dense: int = 0,
    unique_indices: bool = True,
    sorted_indices: bool = False,
    generator: Any = None,
    **kwds: Any,
) -> BCOO:
    """A sparse array of random elements at random places.

    Args:
      key: a random key.
      nse: how many elements (or which share of all).
      generator: as `jax.random.uniform`, which is the default.
      unique_indices, sorted_indices: whether no place comes twice, and in which order.
    """
    _no_batch(n_batch, n_dense)
    from_keys = generator or random.uniform
    extents = tuple([int(n) for n in shape])
    size = math.prod(extents)
    count = int(math.ceil(nse * size)) if 0 < nse < 1 else int(nse)
    first, second = random.split(key)
    if unique_indices:
        flat = random.permutation(first, size)[:count]
    else:
        flat = random.randint(first, (count,), 0, size)
    flat = jnp.sort(flat) if sorted_indices else flat
    places = jnp.stack(jnp.unravel_index(flat, extents), -1)
    places = places.astype(np.int32 if indices_dtype is None else indices_dtype)
    dtype = jnp.result_type(float) if dtype is None else dtype
    data = from_keys(second, (count,), dtype=dtype, **kwds)
    return BCOO((data, places), shape=extents, indices_sorted=sorted_indices,
                unique_indices=unique_indices)  # fmt: skip
