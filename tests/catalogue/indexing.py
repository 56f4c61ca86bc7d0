"""Operations of lax that read and write at computed places.

`gathered` and `scattered` are the definitions, element by element.
"""

import numpy as np

from catalogue.row import (
    EVERYTHING,
    FLOATS,
    NUMBERS,
    Arg,
    Bad,
    Row,
    fixed,
    whole,
)

F32 = np.zeros((2, 3), np.float32)
FEW = ("float32", "int32", "float64", "bfloat16", "bool")


def row(name, reference, args, dtypes=FEW, **more):
    return Row(f"lax.{name}", reference, args, dtypes=dtypes, **more)


def clamped(start, size, window):
    start = int(start)
    return min(max(start + (size if start < 0 else 0), 0), size - window)


def window(x, starts, sizes):
    at = [clamped(s, n, w) for s, n, w in zip(starts, x.shape, sizes)]
    return tuple(slice(a, a + w) for a, w in zip(at, sizes))


def sliced(x, *starts, sizes=(2, 2)):
    return x[window(x, starts, sizes)].copy()


def updated(x, update, *starts):
    out = np.array(x)
    out[window(x, starts, update.shape)] = update
    return out


INDEX = whole(-5, 6, shape=())
DYNAMIC = [
    row("dynamic_slice", sliced, (Arg((5, 6)), INDEX, INDEX), EVERYTHING,
        call=lambda jax, x, i, j: jax.lax.dynamic_slice(x, (i, j), (2, 2)),
        errors=(Bad(TypeError, r"window.*\(3, 2\).*\[2,3\]", (F32, (0, 0), (3, 2))),)),
    row("dynamic_slice_in_dim", lambda x, i: sliced(x, 0, i, sizes=(5, 2)),
        (Arg((5, 6)), INDEX), params={"slice_size": 2, "axis": 1}),
    row("dynamic_index_in_dim", lambda x, i: sliced(x, i, 0, sizes=(1, 6)),
        (Arg((5, 6)), INDEX)),
    row("dynamic_index_in_dim", lambda x, i: sliced(x, i, 0, sizes=(1, 6))[0],
        (Arg((5, 6)), INDEX), params={"axis": 0, "keepdims": False}, id="dropped"),
    row("dynamic_update_slice", updated, (Arg((5, 6)), Arg((2, 3)), INDEX, INDEX),
        EVERYTHING,
        call=lambda jax, x, u, i, j: jax.lax.dynamic_update_slice(x, u, (i, j))),
    row("dynamic_update_slice_in_dim", lambda x, u, i: updated(x, u, 0, i),
        (Arg((5, 6)), Arg((5, 2)), INDEX), params={"axis": 1}),
    row("dynamic_update_index_in_dim", lambda x, u, i: updated(x, u[None], i, 0),
        (Arg((5, 6)), Arg((6,)), INDEX), params={"axis": 0}),
]  # fmt: skip


def places(indices, operand_shape, numbers, window_shape, batch_axes):
    """For each index vector: its position, and the start of its window."""
    index_map = numbers["start_index_map"]
    batching = numbers.get("operand_batching_dims", ())
    index_batching = numbers.get("start_indices_batching_dims", ())
    for at in np.ndindex(indices.shape[:-1]):
        start = [0] * len(operand_shape)
        for entry, axis in enumerate(index_map):
            start[axis] = int(indices[at][entry])
        for axis, index_axis in zip(batching, index_batching):
            start[axis] = at[index_axis]
        yield at, start


def full_window(numbers, window_shape):
    """The extents of a window, and which of its axes the result keeps."""
    gone = {*numbers["collapsed_slice_dims"], *numbers.get("operand_batching_dims", ())}
    return [i for i in range(len(window_shape)) if i not in gone]


def fits(start, shape, window):
    return all(0 <= s <= n - w for s, n, w in zip(start, shape, window))


def clipped(start, shape, window):
    return [min(max(s, 0), n - w) for s, n, w in zip(start, shape, window)]


def positions(at, inside, offset_dims, rank):
    """The index into the result (or updates) of an element of a window."""
    full = [0] * rank
    for axis, i in zip(offset_dims, inside):
        full[axis] = i
    batch = [axis for axis in range(rank) if axis not in offset_dims]
    for axis, i in zip(batch, at):
        full[axis] = i
    return tuple(full)


def gathered(x, indices, numbers, sizes, mode, missing=None):
    kept = full_window(numbers, sizes)
    rank = indices.ndim - 1 + len(kept)
    offset_dims = numbers["offset_dims"]
    extents = positions(indices.shape[:-1], [sizes[a] for a in kept], offset_dims, rank)
    out = np.zeros(extents, x.dtype)
    for at, start in places(indices, x.shape, numbers, sizes, rank):
        inside = fits(start, x.shape, sizes)
        start = clipped(start, x.shape, sizes)
        for w in np.ndindex(*[sizes[a] for a in kept]):
            source = list(start)
            for axis, i in zip(kept, w):
                source[axis] += i
            value = x[tuple(source)] if inside or mode == "clip" else missing
            out[positions(at, w, offset_dims, rank)] = value
    return out


def scattered(x, indices, updates, numbers, mode, combine):
    out = np.array(x)
    gather = {
        "collapsed_slice_dims": numbers["inserted_window_dims"],
        "start_index_map": numbers["scatter_dims_to_operand_dims"],
        "operand_batching_dims": numbers.get("operand_batching_dims", ()),
        "start_indices_batching_dims": numbers.get("scatter_indices_batching_dims", ()),
    }
    kept = full_window(gather, x.shape)
    windows = numbers["update_window_dims"]
    sizes = [1] * x.ndim
    for axis, update_axis in zip(kept, windows):
        sizes[axis] = updates.shape[update_axis]
    for at, start in places(indices, x.shape, gather, sizes, updates.ndim):
        if mode == "clip":
            start = clipped(start, x.shape, sizes)
        elif not fits(start, x.shape, sizes):
            continue
        for w in np.ndindex(*[sizes[a] for a in kept]):
            to = list(start)
            for axis, i in zip(kept, w):
                to[axis] += i
            new = updates[positions(at, w, windows, updates.ndim)]
            out[tuple(to)] = combine(out[tuple(to)], new)
    return out


def nothing_of(x):
    """What reads as missing: NaN, the smallest integer, the largest unsigned, True."""
    if x.dtype.kind in "fc":
        return np.nan
    if x.dtype.kind == "b":
        return True
    limits = np.iinfo(x.dtype)
    return limits.min if limits.min else limits.max


ROWS_AT = {"offset_dims": (1,), "collapsed_slice_dims": (0,), "start_index_map": (0,)}
POINTS = {"offset_dims": (), "collapsed_slice_dims": (0, 1), "start_index_map": (0, 1)}
WINDOWS = {"offset_dims": (1, 2), "collapsed_slice_dims": (), "start_index_map": (1, 0)}
LANES = {"offset_dims": (), "collapsed_slice_dims": (1,), "start_index_map": (1,),
         "operand_batching_dims": (0,),
             "start_indices_batching_dims": (0,)}  # fmt: skip


def gather(id, numbers, sizes, indices, mode="clip", **more):
    def reference(x, i):
        return gathered(x, i, numbers, sizes, mode, nothing_of(x))

    def call(jax, x, i):
        dims = jax.lax.GatherDimensionNumbers(**numbers)
        return jax.lax.gather(x, i, dims, sizes, mode=mode)

    return row("gather", reference, (Arg((5, 6)), indices), call=call,
               id=f"{id} {mode}", **more)  # fmt: skip


GATHER = [
    gather("rows", ROWS_AT, (1, 6), whole(-2, 7, (4, 1))),
    gather("rows", ROWS_AT, (1, 6), whole(-2, 7, (4, 1)), "fill"),
    gather("rows", ROWS_AT, (1, 6), whole(0, 4, (4, 1)), "promise_in_bounds"),
    gather("points", POINTS, (1, 1), whole(-2, 7, (2, 3, 2)), dtypes=EVERYTHING),
    gather("points", POINTS, (1, 1), whole(-2, 7, (2, 3, 2)), "fill",
           dtypes=("float32", "int32", "uint8", "bool", "complex64", "float16")),
    gather("windows", WINDOWS, (2, 3), whole(-2, 7, (4, 2))),
    gather("windows", WINDOWS, (2, 3), whole(-2, 7, (4, 2)), "fill"),
    gather("lanes", LANES, (1, 1), whole(-2, 7, (5, 4, 1))),
    gather("lanes", LANES, (1, 1), whole(-2, 7, (5, 4, 1)), "fill"),
    gather("no index", ROWS_AT, (1, 6), whole(0, 4, (0, 1))),
    row("index_take", lambda x, i, j: x[np.clip(i, 0, 4), np.clip(j, 0, 5)],
        (Arg((5, 6)), whole(-1, 6, (4,)), whole(-1, 6, (4,))),
        call=lambda jax, x, i, j: jax.lax.index_take(x, (i, j), (0, 1)),
        # JAX adds the extent to negative indices here; ours are taken as they are.
        tests="values jit vmap grad backend"),
]  # fmt: skip

ADD_ROWS = {"update_window_dims": (1,), "inserted_window_dims": (0,),
            "scatter_dims_to_operand_dims": (0,)}  # fmt: skip
AT_POINTS = {"update_window_dims": (), "inserted_window_dims": (0, 1),
             "scatter_dims_to_operand_dims": (0, 1)}  # fmt: skip
IN_WINDOWS = {"update_window_dims": (1, 2), "inserted_window_dims": (),
              "scatter_dims_to_operand_dims": (1, 0)}  # fmt: skip
IN_LANES = {"update_window_dims": (), "inserted_window_dims": (1,),
            "scatter_dims_to_operand_dims": (1,), "operand_batching_dims": (0,),
            "scatter_indices_batching_dims": (0,)}  # fmt: skip

COMBINE = {
    "scatter": lambda old, new: new,
    "scatter_add": lambda old, new: old + new,
    "scatter_sub": lambda old, new: old - new,
    "scatter_mul": lambda old, new: old * new,
    "scatter_min": np.minimum,
    "scatter_max": np.maximum,
}


def scatter(name, id, numbers, indices, updates, mode="fill", **more):
    def reference(x, i, u):
        with np.errstate(all="ignore"):
            return scattered(x, i, u, numbers, mode, COMBINE[name])

    def call(jax, x, i, u):
        dims = jax.lax.ScatterDimensionNumbers(**numbers)
        unique = more.get("unique", False)
        return getattr(jax.lax, name)(x, i, u, dims, mode=mode, unique_indices=unique)

    unique = more.pop("unique", False)
    more = {"unique": unique, **more} if unique else more
    options = {k: v for k, v in more.items() if k != "unique"}
    return row(name, reference, (Arg((5, 6)), indices, Arg(updates)), call=call,
               id=f"{id} {mode}", **options)  # fmt: skip


DISTINCT = fixed([[3], [0], [-1], [2]], "int32", smooth=False, mapped=False)
AGAIN = whole(-2, 7, (4, 1))
NUMERIC = ("float32", "int32", "float64", "bfloat16", "uint8", "complex64")
SCATTER = [
    scatter("scatter", "rows", ADD_ROWS, DISTINCT, (4, 6), dtypes=EVERYTHING),
    scatter("scatter", "rows", ADD_ROWS, fixed([[3], [0], [-1], [2]], "int32",
            smooth=False, mapped=False), (4, 6), "clip", dtypes=("float32",),
            tests="values jit backend"),
    scatter("scatter", "windows", IN_WINDOWS, fixed([[0, 0], [3, 2], [4, 4]], "int32",
            smooth=False, mapped=False), (3, 2, 3)),
    scatter("scatter_add", "rows", ADD_ROWS, AGAIN, (4, 6), dtypes=NUMERIC),
    scatter("scatter_add", "rows", ADD_ROWS, AGAIN, (4, 6), "clip"),
    scatter("scatter_add", "points", AT_POINTS, whole(-2, 7, (2, 3, 2)), (2, 3),
            dtypes=NUMERIC),
    scatter("scatter_add", "windows", IN_WINDOWS, whole(-2, 7, (4, 2)), (4, 2, 3)),
    scatter("scatter_add", "lanes", IN_LANES, whole(-2, 7, (5, 4, 1)), (5, 4)),
    scatter("scatter_add", "nothing", ADD_ROWS, whole(0, 4, (0, 1)), (0, 6)),
    scatter("scatter_sub", "rows", ADD_ROWS, AGAIN, (4, 6), dtypes=NUMERIC),
    scatter("scatter_mul", "rows", ADD_ROWS, DISTINCT, (4, 6), dtypes=NUMERIC,
            unique=True),
    scatter("scatter_min", "rows", ADD_ROWS, AGAIN, (4, 6), dtypes=NUMBERS,
            tests="values jit vmap backend oracle"),
    scatter("scatter_max", "rows", ADD_ROWS, AGAIN, (4, 6), dtypes=NUMBERS,
            tests="values jit vmap backend oracle"),
    row("scatter_apply", lambda x, i: scattered(
            x, i, np.zeros((4, 6)), ADD_ROWS, "fill", lambda old, _: np.sin(old)),
        (Arg((5, 6)), DISTINCT), FLOATS,
        call=lambda jax, x, i: jax.lax.scatter_apply(
            x, i, jax.lax.sin, jax.lax.ScatterDimensionNumbers(**ADD_ROWS),
            update_shape=(4, 6), unique_indices=True),
        broken={"jax grad": "JAX has no derivative of scatter_apply"}),
]  # fmt: skip

ROWS = [*DYNAMIC, *GATHER, *SCATTER]
