"""The rest of tetrad.numpy: sets, polynomials, norms, statistics, index arithmetic."""

import numpy as np

from catalogue.numpy_arrays import (
    DISTINCT,
    FEW,
    SUM,
    fold,
    joined,
    made,
    move,
    product,
)
from catalogue.numpy_elementwise import binary, unary
from catalogue.row import Arg, Row, fixed, mask, real, whole

DOUBLE = ("float32", "float64")
# What depends on the values in its shape runs eagerly only.
EAGER = "values"
NAN = fixed([[1, np.nan, 2.5], [3, 4, np.nan]], smooth=False)
SETS = (fixed([3, 1, 3, 2, 1], smooth=False), fixed([5, 3, 1], smooth=False))

ALIASES = [
    binary("atan2", real(0.2), real(0.2), np.arctan2, DOUBLE),
    binary("pow", real(0.3, 2), real(0.3, 2), np.power, DOUBLE),
    unary("bitwise_invert", reference=np.invert, dtypes=("int32", "bool")),
    binary("bitwise_left_shift", y=real(0, 7), reference=np.left_shift,
           dtypes=("int32",), edges=False),
    binary("bitwise_right_shift", y=real(0, 7), reference=np.right_shift,
           dtypes=("int32",), edges=False),
    unary("around", reference=np.round, dtypes=DOUBLE),
    joined("concat", (Arg((2, 4)), Arg((3, 4)))),
    move("astype", reference=lambda x: x.astype(np.int32), dtypes=("float32", "bool"),
         call=lambda jax, x: jax.numpy.astype(x, "int32"), out="int32"),
    fold("cumulative_sum", params={"axis": 1}), fold("cumulative_prod",
         (real(0.5, 1.5),), params={"axis": 0}),
    move("unstack", reference=lambda x: list(x)),
    move("vsplit", (Arg((4, 3)),), params={"indices_or_sections": 2}),
    move("dsplit", (Arg((2, 3, 4)),), params={"indices_or_sections": 2}),
    made("kaiser", 7, 3.0), made("fromfunction", lambda i, j: i + 2 * j, (2, 3)),
    Row("numpy.mask_indices", lambda: np.mask_indices(3, np.triu), (), out="int32",
        dtypes=("int32",), tests=EAGER,
        call=lambda jax: jax.numpy.mask_indices(3, jax.numpy.triu)),
]  # fmt: skip

COMPARISONS = [
    move("allclose", (Arg(), Arg()), dtypes=("float32", "int32")),
    move("array_equal", (Arg(), Arg()), dtypes=FEW),
    move("array_equiv", (Arg(), Arg((4,))), dtypes=FEW),
    move("isin", (whole(0, 5), whole(0, 5, (4,))), dtypes=("int32",)),
    unary("spacing", 0.5, 2, lambda x: np.spacing(x.astype(np.float32)), ("float32",),
          edges=False, tests="values jit vmap backend oracle"),
]  # fmt: skip

STATISTICS = [
    # Differences from the mean cancel.
    move("cov", (Arg((3, 6)),), dtypes=DOUBLE, ulp=SUM, bits=False,
         absolute={"float32": 1e-5, "float64": 1e-14}),
    move("corrcoef", (Arg((3, 6)),), dtypes=DOUBLE, ulp=SUM, bits=False,
         absolute={"float32": 1e-6, "float64": 1e-15}),
    move("histogram", (real(0, 4, shape=(9,)),), params={"bins": 4, "range": (0, 4)},
         dtypes=DOUBLE, tests="values jit vmap oracle", out=(str, None)),
    move("histogram_bin_edges", (real(0, 4, shape=(9,)),),
         params={"bins": 4, "range": (0, 4)}, dtypes=DOUBLE,
         tests="values jit vmap oracle"),
    move("histogram2d", (real(0, 4, shape=(9,)),) * 2, dtypes=("float32",),
         params={"bins": 3, "range": ((0, 4), (0, 4))}, tests="values jit",
         out=("index", None, None)),
    *[
        fold(name, (NAN,), params={"axis": 1, **params}, dtypes=DOUBLE,
             out="index" if name == "nanargmin" else None)
        for name, params in (("nanargmin", {}), ("nancumsum", {}), ("nancumprod", {}),
                             ("nanpercentile", {"q": 30}), ("nanquantile", {"q": 0.3}))
    ],
    # Multiples of a rounded period are taken off.
    fold("unwrap", (real(0, 9, shape=(6,)),), dtypes=DOUBLE,
         absolute={"float32": 1e-5, "float64": 1e-14}),
]  # fmt: skip

ORDERS = [
    move("lexsort", (fixed([3, 1, 3, 2, 1], smooth=False),
                     fixed([1, 2, 0, 2, 1], smooth=False)),
         lambda x, y: np.lexsort((x, y)), dtypes=("int32", "float32"), out="index",
         call=lambda jax, x, y: jax.numpy.lexsort((x, y))),
    # The kth element is in its place; sums of both sides, in any order, say what is there.
    move("partition", DISTINCT, dtypes=("float32", "int32"),
         reference=lambda x: sides(np, np.partition(x, 3, axis=-1)),
         call=lambda jax, x: sides(jax.numpy, jax.numpy.partition(x, 3)), ulp=SUM,
         absolute=1e-5, bits=False),
    move("argpartition", DISTINCT, dtypes=("float32", "int32"), out="index",
         reference=lambda x: np.sort(np.argpartition(x, 3, axis=-1)[..., :3]),
         call=lambda jax, x: jax.numpy.sort(
             jax.numpy.argpartition(x, 3)[..., :3])),
    *[
        move(name, SETS, dtypes=("int32",), tests=EAGER)
        for name in ("setdiff1d", "intersect1d", "union1d", "setxor1d")
    ],
    *[
        move(name, SETS[:1], lambda x, name=name: parts(getattr(np, name)(x)),
             dtypes=("int32",), tests=EAGER, out=out)
        for name, out in (("unique_values", None), ("unique_counts", (None, "index")),
                          ("unique_inverse", (None, "index")),
                          ("unique_all", (None, "index", "index", "index")))
    ],
    move("argwhere", (fixed([[1, 0, 2], [0, 0, 3]], smooth=False),), dtypes=FEW,
         tests=EAGER, out="index"),
    move("flatnonzero", (fixed([[1, 0, 2], [0, 0, 3]], smooth=False),), dtypes=FEW,
         tests=EAGER, out="index"),
    move("trim_zeros", (fixed([0, 1, 0, 2, 0], smooth=False),), dtypes=FEW,
        tests=EAGER),
    move("sort_complex", (Arg((5,), distinct=True, smooth=False),),
         lambda x: np.sort(x) + 0j, dtypes=("float32",)),
]  # fmt: skip


def parts(out):
    return list(out) if isinstance(out, tuple) else out


def sides(numpy, x):
    return x[..., :3].sum(-1), x[..., 3], x[..., 4:].sum(-1)


INDEXING = [
    move("unravel_index", (whole(0, 11, (4,)),), params={"shape": (3, 4)},
         dtypes=("int32",), out="index", reference=lambda i: np.unravel_index(i, (3,
             4))),
    move("ravel_multi_index", (whole(0, 2, (4,)), whole(0, 3, (4,))),
         lambda i, j: np.ravel_multi_index((i, j), (3, 4)), dtypes=("int32",),
         call=lambda jax, i, j: jax.numpy.ravel_multi_index((i, j), (3, 4),
             mode="clip"),
         out="index"),
    move("choose", (whole(0, 1), Arg(), Arg()), lambda i, x, y: np.choose(i, [x, y]),
         call=lambda jax, i, x, y: jax.numpy.choose(i, [x, y], mode="clip")),
    move("compress", (Arg(),), dtypes=FEW, reference=lambda x: x[[True, False, True]],
         call=lambda jax, x: jax.numpy.compress(np.array([True, False, True]), x,
             axis=0)),
    move("extract", (mask(), Arg()), dtypes=FEW, tests=EAGER),
    move("piecewise", (Arg(),), lambda x: np.where(x > 0, x, -2 * x), dtypes=DOUBLE,
         call=lambda jax, x: jax.numpy.piecewise(
             x, [x > 0], [lambda v: v, lambda v: -2 * v])),
    move("put_along_axis", (Arg((4, 3)), fixed([[0, 1, 3]], "int32", smooth=False),
                            Arg((1, 3))), dtypes=("float32", "int32"),
         reference=lambda x, i, v: put_along(x, i, v),
         call=lambda jax, x, i, v: jax.numpy.put_along_axis(x, i, v, 0, inplace=False)),
    move("put", (Arg((4, 3)), fixed([0, 5, 7], "int32", smooth=False), Arg((3,))),
         lambda x, i, v: put(x, i, v), dtypes=("float32", "int32"),
         call=lambda jax, x, i, v: jax.numpy.put(x, i, v, inplace=False)),
    move("place", (Arg(), mask(), Arg((3,))), lambda x, m, v: place(x, m, v),
         dtypes=("float32", "int32"),
         call=lambda jax, x, m, v: jax.numpy.place(x, m, v, inplace=False)),
    move("fill_diagonal", (Arg((3, 3)), Arg(())), lambda x, v: diagonal_of(x, v),
         call=lambda jax, x, v: jax.numpy.fill_diagonal(x, v, inplace=False)),
    move("ix_", (whole(0, 2, (3,)), whole(0, 2, (2,))), dtypes=("int32",)),
    move("diag_indices_from", (Arg((3, 3), smooth=False),), out="index",
         dtypes=("float32",)),
    move("tril_indices_from", (Arg((3, 4), smooth=False),), out="index",
         dtypes=("float32",)),
    move("triu_indices_from", (Arg((3, 4), smooth=False),), out="index",
         dtypes=("float32",)),
    move("packbits", (mask((3, 9)),), params={"axis": 1}, dtypes=("bool",),
        out="uint8"),
    move("unpackbits", (Arg((3, 2)),), params={"axis": 1}, dtypes=("uint8",)),
]  # fmt: skip


def put_along(x, i, v):
    x = np.array(x)
    np.put_along_axis(x, i, v, 0)
    return x


def put(x, i, v):
    x = np.array(x)
    np.put(x, i, v)
    return x


def place(x, m, v):
    x = np.array(x)
    np.place(x, m, v)
    return x


def diagonal_of(x, v):
    x = np.array(x)
    np.fill_diagonal(x, v)
    return x


def linalg(name, *args, reference=None, **more):
    params = more.get("params", {})
    numpy = getattr(np.linalg, name, None)
    more.setdefault("dtypes", DOUBLE)
    return Row(f"numpy.linalg.{name}", reference or (lambda *xs: numpy(*xs, **params)),
               args, ulp=SUM, **more)  # fmt: skip


NORMS = [
    linalg("norm", Arg()), linalg("norm", Arg(), params={"axis": 1}, id="axis"),
    linalg("norm", Arg(), params={"ord": 1, "axis": 0}, id="sums"),
    linalg("norm", real(shape=(3, 4), distinct=True), params={"ord": np.inf},
        id="rows"),
    linalg("norm", Arg((5,)), params={"ord": 3}, id="cubes"),
    linalg("matrix_norm", Arg()), linalg("matrix_power", real(0.2, 1, shape=(3, 3)),
           params={"n": 3}, bits=False),
    linalg("multi_dot", real(0.5, 2, shape=(2, 3)), real(0.5, 2, shape=(3, 4)),
           real(0.5, 2, shape=(4, 2)), bits=False,
           reference=lambda *xs: xs[0] @ xs[1] @ xs[2],
           call=lambda jax, *xs: jax.numpy.linalg.multi_dot(list(xs))),
]  # fmt: skip

PRODUCTS = [
    product("vecdot", (3, 4), (3, 4)), product("matvec", (3, 4), (4,)),
    product("vecmat", (3,), (3, 4)),
    product("poly", (4,), dtypes=DOUBLE),
    # Differences cancel.
    product("polyadd", (4,), (3,)), product("polysub", (4,), (3,), absolute={
        "float32": 1e-6, "float64": 1e-15, "bfloat16": 0.02}),
    product("polymul", (4,), (3,), dtypes=DOUBLE),
    product("polyder", (4,), dtypes=DOUBLE), product("polyint", (4,), dtypes=DOUBLE),
    # The remainder keeps its zeros in front, since shapes do not depend on values.
    move("polydiv", (fixed([1.0, 5.0, 6.0, 3.0]), fixed([1.0, 2.0])), dtypes=DOUBLE,
         order=1, bits=False, reference=lambda u, v: divided(u, v)),
    # Roots in any order: their sum and their product are coefficients. Eigenvalues
    # of a matrix that is far from normal are inexact.
    move("roots", (fixed([1.0, -6.0, 11.0, -6.0], smooth=False),), dtypes=DOUBLE,
         reference=lambda p: np.array([6.0, 6.0]) + 0j, absolute=1e-4, wide=False,
         out={"float32": "complex64", "float64": "complex128"}.get, tests=EAGER,
         call=lambda jax, p: of_roots(jax.numpy, jax.numpy.roots(p,
             strip_zeros=False))),
    move("apply_along_axis", (real(0.5, 2),), lambda x: x.sum(1), dtypes=DOUBLE,
        ulp=SUM,
         call=lambda jax, x: jax.numpy.apply_along_axis(jax.numpy.sum, 1, x)),
    move("apply_over_axes", (real(0.5, 2),), lambda x: x.sum((0, 1), keepdims=True),
         dtypes=DOUBLE, ulp=SUM,
         call=lambda jax, x: jax.numpy.apply_over_axes(jax.numpy.sum, x, (0, 1))),
    move("vectorize", (Arg((3, 1)), Arg((4,))), lambda x, y: x * y + 1, dtypes=DOUBLE,
         call=lambda jax, x, y: jax.numpy.vectorize(lambda a, b: a * b + 1)(x, y)),
    move("vectorize", (real(0.5, 2), real(0.5, 2, shape=(4,))), lambda x, y: x @ y,
         dtypes=DOUBLE, ulp=SUM, bits=False, id="signature",
         call=lambda jax, x, y: jax.numpy.vectorize(
             jax.numpy.dot, signature="(n),(n)->()")(x, y)),
]  # fmt: skip


def divided(u, v):
    quotient, rest = np.polydiv(u, v)
    return quotient, np.concatenate([np.zeros(len(u) - len(rest)), rest])


def of_roots(numpy, roots):
    return numpy.stack([roots.sum(), roots.prod()])


ROWS = [
    *ALIASES,
    *COMPARISONS,
    *STATISTICS,
    *ORDERS,
    *INDEXING,
    *NORMS,
    *PRODUCTS,
]
