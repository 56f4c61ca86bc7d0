"""Operations of lax along axes: reductions, running folds, orders."""

import numpy as np

from catalogue.row import (
    ANY,
    BOOL,
    COMPLEX,
    EVERYTHING,
    FLOATS,
    INTS,
    NUMBERS,
    REALS,
    Arg,
    Bad,
    Row,
    real,
)

F32 = np.zeros((2, 3), np.float32)
INEXACT = FLOATS + COMPLEX
DISCRETE = INTS + BOOL

# Additions of n numbers: n roundings at worst. Halves are added in float32.
SUM = {"float32": 8, "float64": 8, "complex64": 16, "complex128": 16}


def fold(name, reference, args=(ANY,), **more):
    return Row(f"lax.{name}", reference, args, **more)


def plain_sum(x, axes):
    return np.sum(x, axis=axes, dtype=x.dtype)


def plain_product(x, axes):
    return np.prod(x, axis=axes, dtype=x.dtype)


def sums(axes, shape=(3, 4), **more):
    return fold("reduce_sum", lambda x: plain_sum(x, axes), (real(0.5, 3,
        shape=shape),),
                params={"axes": axes}, ulp=SUM, id=f"{shape}{axes}",
                    **more)  # fmt: skip


REDUCTIONS = [
    sums((0, 1), dtypes=NUMBERS, errors=(Bad(ValueError, "2", (F32, (2,))),)),
    sums((0,)),
    sums((1,)),
    sums((0, 2), (3, 4, 5)),
    sums((1,), (3, 0)),
    sums((), (3,)),
    sums((0,), (1000,)),
    sums((1,), (5, 300)),
    sums((0,), (300, 5)),
    fold("reduce_prod", lambda x: plain_product(x, (0, 1)), (real(0.5, 1.5),),
         params={"axes": (0, 1)}, ulp=SUM | {"float16": 4, "bfloat16": 4},
         dtypes=NUMBERS),
    fold("reduce_prod", lambda x: plain_product(x, 1), (real(0.5, 1.5),),
         params={"axes": (1,)}, ulp=SUM | {"float16": 4, "bfloat16": 4}, id="rows"),
    fold("reduce_max", lambda x: np.max(x, 1), (Arg(distinct=True),),
         params={"axes": (1,)}, dtypes=EVERYTHING),
    fold("reduce_max", lambda x: np.max(x, (0, 2)), (Arg((3, 4, 5), distinct=True),),
         params={"axes": (0, 2)}, id="two axes"),
    fold("reduce_min", lambda x: np.min(x, 0), (Arg(distinct=True),),
         params={"axes": (0,)}, dtypes=EVERYTHING),
    fold("reduce_and", lambda x: np.bitwise_and.reduce(x, 1), params={"axes": (1,)},
         dtypes=DISCRETE, errors=(Bad(TypeError, "float32", (F32, (0,))),)),
    fold("reduce_or", lambda x: np.bitwise_or.reduce(x, 1), params={"axes": (1,)},
         dtypes=DISCRETE, errors=(Bad(TypeError, "float32", (F32, (0,))),)),
    fold("reduce_xor", lambda x: np.bitwise_xor.reduce(x, 1), params={"axes": (1,)},
         dtypes=DISCRETE, errors=(Bad(TypeError, "float32", (F32, (0,))),)),
    fold("argmax", lambda x: np.argmax(x, 1), dtypes=NUMBERS, out="int32",
         params={"axis": 1, "index_dtype": "int32"},
         errors=(Bad(ValueError, "2", (F32, 2, np.int32)),)),
    fold("argmin", lambda x: np.argmin(x, 0), dtypes=NUMBERS, out="int32",
         params={"axis": 0, "index_dtype": "int32"}),
    *[
        fold("reduce", ufunc, (real(0.5, 2), Arg(())), id=name, ulp=SUM,
             dtypes=("float32", "int32", "float64"),
             broken={"jax grad": "JAX has no derivative by the initial value"},
             call=lambda jax, x, init, name=name: jax.lax.reduce(
                 x, init, getattr(jax.lax, name), (1,)))
        for name, ufunc in {
            "add": lambda x, init: x.sum(1, dtype=x.dtype) + init,
            "mul": lambda x, init: x.prod(1, dtype=x.dtype) * init,
            "max": lambda x, init: np.maximum(x.max(1), init),
            "min": lambda x, init: np.minimum(x.min(1), init),
        }.items()
    ],
]  # fmt: skip


def running(name, ufunc, axis=0, reverse=False, shape=(4, 3), arg=None, **more):
    def reference(x):
        if reverse:
            x = np.flip(x, axis)
        out = ufunc.accumulate(x, axis=axis, dtype=x.dtype)
        return np.flip(out, axis) if reverse else out

    more.setdefault("id", f"{shape}{axis}{' backwards' if reverse else ''}")
    return fold(name, reference, (arg or real(0.5, 1.5, shape=shape),), **more,
                params={"axis": axis, "reverse": reverse})  # fmt: skip


HALVES = SUM | {"float16": 4, "bfloat16": 4}  # each running value is rounded
CUMULATIVE = [
    running("cumsum", np.add, dtypes=NUMBERS, ulp=HALVES),
    running("cumsum", np.add, 1, True, ulp=HALVES),
    # 999 additions in another order than the reference's.
    running("cumsum", np.add, 0, shape=(1000,), ulp={"float32": 32, "float64": 32},
            dtypes=("float32", "float64")),
    running("cumprod", np.multiply, dtypes=NUMBERS, ulp=HALVES),
    running("cumprod", np.multiply, 1, True, ulp=HALVES),
    running("cummax", np.maximum, arg=Arg((4, 3), distinct=True), dtypes=NUMBERS),
    running("cummax", np.maximum, 1, True, arg=Arg((4, 3), distinct=True)),
    running("cummin", np.minimum, arg=Arg((4, 3), distinct=True), dtypes=NUMBERS),
    running("cummin", np.minimum, 1, True, arg=Arg((4, 3), distinct=True)),
    running("cumlogsumexp", np.logaddexp, ulp=HALVES),
    running("cumlogsumexp", np.logaddexp, 1, True, ulp=HALVES),
]  # fmt: skip


def stable(x, axis):
    return np.argsort(x, axis, kind="stable")


def largest(x, k):
    places = np.argsort(-x.astype(np.float64), -1, kind="stable")[..., :k]
    return [np.take_along_axis(x, places, -1), places.astype(np.int64)]


def by_key(x, y):
    order = stable(x, 1)
    return [np.take_along_axis(x, order, 1), np.take_along_axis(y, order, 1)]


ORDERS = [
    fold("sort", lambda x: np.sort(x, 1), (Arg((3, 7), distinct=True),),
         params={"dimension": 1}, dtypes=REALS + BOOL,
         errors=(Bad(ValueError, "2", (F32,), {"dimension": 2}),)),
    fold("sort", lambda x: np.sort(x, 0), (Arg((7, 3), distinct=True),),
         params={"dimension": 0}, id="columns"),
    fold("sort", lambda x: np.sort(x), (Arg((300,), distinct=True),), id="long"),
    fold("sort", by_key, (Arg((3, 7), distinct=True), Arg((3, 7))), id="several",
         call=lambda jax, x, y: jax.lax.sort((x, y), dimension=1, num_keys=1)),
    fold("sort_key_val", by_key, (Arg((3, 7), distinct=True), Arg((3, 7))),
         dtypes=REALS),
    fold("top_k", lambda x: largest(x, 3), (Arg((3, 7), distinct=True),),
         params={"k": 3}, dtypes=("float32", "int32", "float64", "bfloat16"),
         out=(None, "int32"),
         errors=(Bad(ValueError, "k must be.* 3 .*got 4", (F32,), {"k": 4}),)),
]  # fmt: skip


ROWS = [*REDUCTIONS, *CUMULATIVE, *ORDERS]
