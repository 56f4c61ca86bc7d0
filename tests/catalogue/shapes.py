"""Operations of lax that make arrays, and that move elements without reading them."""

import numpy as np

from catalogue.row import (
    ANY,
    EVERYTHING,
    Arg,
    Bad,
    Row,
)

F32 = np.zeros((2, 3), np.float32)
FEW = ("float32", "int32", "bool", "complex64", "bfloat16", "float64")
MAKE = "values jit backend oracle"


def move(name, reference, args=(ANY,), dtypes=FEW, **more):
    return Row(f"lax.{name}", reference, args, dtypes=dtypes, **more)


def constant(
    name, array, call, dtypes=("float32", "int32", "float16", "uint8"), **more
):
    """A function without operands; `array` of its dtype is what it makes."""

    def reference():
        return np.asarray(array)

    return Row(f"lax.{name}", reference, (), dtypes=dtypes, call=call, tests=MAKE,
               **more)  # fmt: skip


MAKERS = [
    *[
        constant("iota", np.arange(5), lambda jax, d=d: jax.lax.iota(d, 5), (d,), id=d,
                 out=d)
        for d in ("int32", "uint8", "float32", "bfloat16", "complex64")
    ],
    constant("broadcasted_iota", np.tile(np.arange(4), (3, 1)), dtypes=("int32",),
             call=lambda jax: jax.lax.broadcasted_iota("int32", (3, 4), 1)),
    constant("full", np.full((2, 3), 7), dtypes=("float32",), out="float32",
             call=lambda jax: jax.lax.full((2, 3), 7, "float32")),
    constant("empty", np.zeros((2, 3)), dtypes=("float32",),
             call=lambda jax: jax.lax.empty((2, 3), "float32")),
    move("full_like", lambda x: np.full_like(x, 2), params={"fill_value": 2}),
    move("full_like", lambda x: np.full((2, 2), 1.0), id="of another kind",
         params={"fill_value": 1, "dtype": "float32", "shape": (2, 2)}, out="float32"),
    move("zeros_like", np.zeros_like, tests="values jit vmap grad backend"),
]  # fmt: skip

AXES = [
    move("broadcast", lambda x: np.broadcast_to(x, (2, 5, 3, 4)),
         params={"sizes": (2, 5)}),
    move("broadcast_in_dim", lambda x: np.broadcast_to(x[:, None], (3, 2, 4)),
         params={"shape": (3, 2, 4), "broadcast_dimensions": (0, 2)},
         errors=(
             Bad(ValueError, r"\(3, 2\).*float32\[2,3\]|float32\[2,3\].*\(3, 2\)",
                 (F32, (3, 2), (0, 1))),
             Bad(ValueError, "broadcast_dimensions", (F32, (2, 3), (0,))),
         )),
    move("broadcast_in_dim", lambda x: np.broadcast_to(x, (3, 4)), (Arg((3, 1)),),
         params={"shape": (3, 4), "broadcast_dimensions": (0, 1)}, id="stretch"),
    move("broadcast_in_dim", lambda x: np.broadcast_to(x, (2, 3)), (Arg(()),),
         params={"shape": (2, 3), "broadcast_dimensions": ()}, id="scalar"),
    move("broadcast_in_dim", lambda x: np.broadcast_to(x, (0, 3)), (Arg((3,)),),
         params={"shape": (0, 3), "broadcast_dimensions": (1,)}, id="empty"),
    move("broadcast_to_rank", lambda x: x[None, None], params={"rank": 4}),
    move("expand_dims", lambda x: x[:, None, :, None], params={"dimensions": (1, 3)}),
    move("squeeze", lambda x: x[:, 0, :, 0], (Arg((3, 1, 4, 1)),),
         params={"dimensions": (1, -1)},
         errors=(Bad(ValueError, r"2", (F32, (0,))),)),
    move("reshape", lambda x: x.reshape(2, 6), params={"new_sizes": (2, 6)},
         dtypes=EVERYTHING,
         errors=(Bad(ValueError, r"\[2,3\].*\(4, 2\)", (F32, (4, 2))),)),
    move("reshape", lambda x: x.T.reshape(2, 6), id="transposed",
         params={"new_sizes": (2, 6), "dimensions": (1, 0)}),
    move("reshape", lambda x: x.reshape(()), (Arg((1, 1)),), id="rank 0",
         params={"new_sizes": ()}),
    move("collapse", lambda x: x.reshape(2, 12), (Arg((2, 3, 4)),),
         params={"start_dimension": 1, "stop_dimension": 3}),
    move("transpose", lambda x: x.transpose(2, 0, 1), (Arg((2, 3, 4)),),
         params={"permutation": (2, 0, 1)}, dtypes=EVERYTHING,
         errors=(Bad(ValueError, r"\(0, 0\).*\[2,3\]", (F32, (0, 0))),)),
    move("transpose", lambda x: x.T, (Arg((40, 33)),), params={"permutation": (1, 0)},
         id="blocks"),
    move("rev", lambda x: x[::-1, ::-1], params={"dimensions": (0, 1)},
         errors=(Bad(ValueError, "2", (F32, (2,))),)),
    move("rev", lambda x: x[:, ::-1], params={"dimensions": (1,)}, id="one axis"),
    move("tile", lambda x: np.tile(x, (2, 3)), params={"reps": (2, 3)}),
]  # fmt: skip


def padded(x, value, config):
    """By placing each element; negative padding cuts."""
    shape = [low + high + n + max(n - 1, 0) * step
             for n, (low, high, step) in zip(x.shape, config)]  # fmt: skip
    out = np.full(shape, value, x.dtype)
    for at in np.ndindex(x.shape):
        to = [low + i * (step + 1) for i, (low, _, step) in zip(at, config)]
        if all(0 <= i < n for i, n in zip(to, shape)):
            out[tuple(to)] = x[at]
    return out


def pad(config, shape=(3, 4), **more):
    def reference(x, value):
        return padded(x, value, config)

    return move("pad", reference, (Arg(shape), Arg(())), id=str(config), **more,
                params={"padding_config": config})  # fmt: skip


def listed(method, *rest):
    """A call that takes its operands as a list."""
    return lambda jax, *xs: getattr(jax.lax, method)(list(xs), *rest)


THREE = (Arg((2, 4)), Arg((3, 4)), Arg((1, 4)))
PARTS = [
    move("slice", lambda x: x[1:3, 0:4:2],
         params={"start_indices": (1, 0), "limit_indices": (3, 4), "strides": (1, 2)},
         dtypes=EVERYTHING,
         errors=(Bad(ValueError, r"\[2,3\].*axis 0.*limit 3", (F32, (0, 0), (3, 3))),)),
    move("slice", lambda x: x[1:1], id="nothing",
         params={"start_indices": (1, 0), "limit_indices": (1, 4)}),
    move("slice_in_dim", lambda x: x[:, 1:4:2],
         params={"start_index": 1, "limit_index": 4, "stride": 2, "axis": 1}),
    move("index_in_dim", lambda x: x[:, -1:], params={"index": -1, "axis": 1}),
    move("index_in_dim", lambda x: x[1], id="dropped",
         params={"index": 1, "axis": 0, "keepdims": False}),
    pad(((1, 2, 0), (0, 0, 1)), dtypes=EVERYTHING, errors=(
        Bad(TypeError, "dtypes|int32", (F32, np.int32(0), ((0, 0, 0),) * 2)),)),
    pad(((-1, 1, 0), (2, -2, 2))),
    pad(((0, 0, 0), (-1, -1, 0))),
    pad(((2, 1, 0),), (0,)),
    move("concatenate", lambda *xs: np.concatenate(xs, 0), THREE, dtypes=EVERYTHING,
         call=listed("concatenate", 0),
         errors=(Bad(ValueError, r"\[2,3\].*\[3,2\]", ([F32, F32.T], 0)),)),
    move("concatenate", lambda *xs: np.concatenate(xs, 1), (Arg((3, 4)), Arg((3, 0))),
         call=listed("concatenate", 1), id="empty"),
    move("stack", lambda *xs: np.stack(xs, 1), (Arg(), Arg()), call=listed("stack", 1),
         tests="values jit vmap grad backend"),
    move("split", lambda x: np.split(x, [1, 3], 1),
         params={"sizes": (1, 2, 1), "axis": 1}),
    move("unstack", lambda x: list(x), params={"axis": 0},
         tests="values jit vmap grad backend"),
]  # fmt: skip

ROWS = [*MAKERS, *AXES, *PARTS]
