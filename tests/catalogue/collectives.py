"""Operations of lax across the lanes of a mapped axis, here one of vmap."""

import numpy as np

from catalogue.row import Arg, Row, real

SUM = {"bfloat16": 4, "float32": 8, "float64": 8}  # additions in another order


DTYPES = ("float32", "float64", "bfloat16", "int32")
NO_SLOPE = {"jax grad": "JAX has no derivative of pmax and pmin"}


def across(name, reference, *rest, shape=(3, 4), inside=None, arg=None, **more):
    """`name` applied in each lane of the first axis, with the arguments `rest`."""
    options = more.pop("options", {})

    def call(jax, x):
        def lane(v):
            out = getattr(jax.lax, name)(*([v] if inside is None else []), "lanes",
                                         *rest, **options)  # fmt: skip
            return out if inside is None else inside(v, out)

        return jax.vmap(lane, axis_name="lanes")(x)

    more.setdefault("dtypes", DTYPES)
    return Row(f"lax.{name}", reference, (arg or real(0.5, 3, shape=shape),),
               call=call, ulp=SUM, **more)  # fmt: skip


def everywhere(fold):
    return lambda x: np.broadcast_to(fold(x, 0), x.shape)


ROWS = [
    across("psum", everywhere(lambda x, axis: x.sum(axis, dtype=x.dtype))),
    across("psum", everywhere(lambda x, axis: x.sum(axis, "int32")), id="bools",
           dtypes=("bool",), out="int32"),
    across("pmean", everywhere(np.mean), dtypes=("float32", "float64")),
    across("pmean", everywhere(np.mean), id="bools", dtypes=("bool",), out="float32"),
    across("pmax", everywhere(np.max), arg=Arg(distinct=True), broken=NO_SLOPE,
           dtypes=(*DTYPES, "complex64")),
    across("pmin", everywhere(np.min), arg=Arg(distinct=True), broken=NO_SLOPE,
           dtypes=(*DTYPES, "complex64")),
    across("all_gather", lambda x: np.broadcast_to(x, (3, 3, 4))),
    across("all_gather", lambda x: np.broadcast_to(x.reshape(-1), (3, 12)), id="tiled",
           options={"tiled": True}),
    across("all_to_all", lambda x: x.swapaxes(0, 1), 0, 0, shape=(3, 3, 2)),
    across("ppermute", lambda x: x[[2, 0, 1]], [(0, 1), (1, 2), (2, 0)]),
    across("pshuffle", lambda x: x[[2, 0, 1]], [2, 0, 1]),
    across("psum_scatter", lambda x: x.sum(0, dtype=x.dtype), shape=(3, 3, 2)),
    across("axis_index", lambda x: x + np.arange(3, dtype="int32")[:, None],
           inside=lambda v, i: v + i.astype(v.dtype)),
    across("axis_size", lambda x: x * 3, inside=lambda v, n: v * n),
]  # fmt: skip
