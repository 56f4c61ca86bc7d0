"""Functions of tetrad.numpy that make, arrange, fold and look up arrays."""

import numpy as np

from catalogue.row import (
    ANY,
    EVERYTHING,
    Arg,
    Bad,
    Row,
    fixed,
    mask,
    real,
    whole,
)

F32 = np.zeros((2, 3), np.float32)
FEW = ("float32", "int32", "bool")
MORE = ("float32", "float64", "bfloat16", "int32", "uint8", "complex64", "bool")
REAL = ("float32", "float64", "bfloat16", "int32")
SUM = {"float16": 4, "bfloat16": 4, "float32": 16, "float64": 16, "complex64": 32,
       "complex128": 32}  # fmt: skip
MAKE = "values jit backend oracle"


def move(name, args=(ANY,), reference=None, dtypes=FEW, **more):
    """A function that NumPy has by the same name and with the same parameters."""
    numpy = getattr(np, name)
    params = more.get("params", {})
    if reference is None:
        reference = lambda *xs: numpy(*xs, **params)
    return Row(f"numpy.{name}", reference, args, dtypes=dtypes, **more)


def joined(name, args, **more):
    """A function of a list of arrays."""
    params = more.pop("params", {})
    return move(name, args, lambda *xs: getattr(np, name)(list(xs), **params),
                call=lambda jax, *xs: getattr(jax.numpy, name)(list(xs), **params),
                **more)  # fmt: skip


def made(name, *args, dtype="float32", weak=False, broken=None, **params):
    """A function without array operands."""
    shown = [getattr(a, "__name__", a) for a in args]  # no addresses in test names
    return Row(
        f"numpy.{name}", lambda: getattr(np, name)(*args, **params), (),
        dtypes=(dtype,), out=dtype, tests=MAKE, weak=weak,
        broken=broken or {}, id=f"{shown}{params or ''}",
        call=lambda jax: getattr(jax.numpy, name)(*args, **params),
    )  # fmt: skip


MAKERS = [
    made("zeros", (2, 3)), made("zeros", 3), made("ones", (2, 3)),
    made("full", (2, 3), 2.5, weak=True), made("empty", (2, 0)),
    made("arange", 5, dtype="int32"), made("arange", 1, 7, 2, dtype="int32"),
    made("arange", 0.5, 3.0), made("arange", 5, 1, -1, dtype="int32"),
    made("linspace", 0, 1, 7), made("linspace", 1, 2, 4, endpoint=False),
    made("logspace", 0, 2, 5), made("geomspace", 1, 100, 5),
    made("eye", 3), made("eye", 3, 4, k=1), made("identity", 3), made("tri", 3, 4, -1),
    made("array", [[1, 2], [3, 4]], dtype="int32"), made("array", [1.5, 2]),
    made("array", True, dtype="bool"), made("array", 1j, dtype="complex64", weak=True),
    made("asarray", [1, 2.5]), made("indices", (2, 3), dtype="int32"),
    made("hanning", 7), made("hamming", 7),
    made("blackman", 7, broken={"jax values": "JAX has small negative ends"}),
        made("bartlett", 7),
    made("tril_indices", 3, dtype="int32"), made("triu_indices", 3, 1, dtype="int32"),
    made("diag_indices", 3, dtype="int32"),
    move("zeros_like", dtypes=EVERYTHING), move("ones_like", dtypes=EVERYTHING),
    move("full_like", params={"fill_value": 2}, dtypes=MORE),
    move("empty_like", reference=np.zeros_like), move("copy", dtypes=MORE),
    Row("numpy.meshgrid", lambda x, y: np.meshgrid(x, y), (Arg((3,)), Arg((4,))),
        dtypes=FEW),
    move("diag", (Arg((4,)),), params={"k": 1}), move("diag", id="of a matrix"),
    move("diagonal", params={"offset": 1}), move("diagflat", (Arg((3,)),)),
    move("tril", params={"k": 1}), move("triu", params={"k": -1}),
    move("vander", (Arg((4,)),), dtypes=("float32",)),
]  # fmt: skip

SHAPES = [
    move("reshape", params={"shape": (2, -1)}, dtypes=EVERYTHING, errors=(
        Bad((TypeError, ValueError), r"\[2,3\]|\(2, 3\)", (F32, (4, 2))),)),
    move("ravel", dtypes=MORE), move("transpose", dtypes=MORE),
    move("transpose", (Arg((2, 3, 4)),), params={"axes": (1, 2, 0)}, id="axes"),
    move("permute_dims", params={"axes": (1, 0)}),
    move("matrix_transpose", (Arg((2, 3, 4)),)),
    move("swapaxes", (Arg((2, 3, 4)),), params={"axis1": 0, "axis2": -1}),
    move("moveaxis", (Arg((2, 3, 4)),), params={"source": 0, "destination": 2}),
    move("rollaxis", (Arg((2, 3, 4)),), params={"axis": 2}),
    move("expand_dims", params={"axis": (0, 2)}),
    move("squeeze", (Arg((3, 1, 4, 1)),), params={"axis": 1},
         errors=(Bad(ValueError, "3|0", (F32, 0)),)),
    move("squeeze", (Arg((3, 1, 4, 1)),), id="all"),
    move("broadcast_to", params={"shape": (2, 3, 4)}, errors=(
        Bad(ValueError, r"\(2, 3\).*\(2, 4\)|\[2,3\].*\(2, 4\)", (F32, (2, 4))),)),
    move("broadcast_arrays", (Arg((3, 1)), Arg((4,)))),
    move("atleast_1d", (Arg(()),)), move("atleast_2d", (Arg((3,)),)),
    move("atleast_3d"), move("flip"), move("flip", params={"axis": 1}, id="axis"),
    move("fliplr"), move("flipud"), move("rot90", params={"k": 3}),
    move("roll", params={"shift": 2}), move("roll", id="axes",
         params={"shift": (1, -2), "axis": (0, 1)}),
    move("tile", params={"reps": (2, 1, 3)}),
    move("repeat", params={"repeats": 3, "axis": 1}),
    move("repeat", params={"repeats": 2}, id="flat"),
    move("resize", params={"new_shape": (5, 3)}),
    move("pad", params={"pad_width": ((1, 2), (0, 1))}, dtypes=MORE),
    *[
        move("pad", params={"pad_width": ((1, 2), (2, 1)), "mode": mode}, id=mode,
             dtypes=("float32", "int32"))
        for mode in ("edge", "reflect", "wrap", "symmetric")
    ],
    joined("concatenate", (Arg((2, 4)), Arg((3, 4))), dtypes=EVERYTHING),
    joined("concatenate", (Arg((3, 2)), Arg((3, 1), dtype="float32")), id="mixed",
           params={"axis": 1}, dtypes=("int32", "bfloat16", "float32"), out="float32"),
    joined("stack", (Arg(), Arg()), params={"axis": -1}, dtypes=MORE),
    joined("vstack", (Arg((3,)), Arg((3,)))), joined("hstack", (Arg((3,)), Arg((2,)))),
    joined("dstack", (Arg((3,)), Arg((3,)))),
    joined("column_stack", (Arg((3,)), Arg((3, 2)))),
    move("append", (Arg((3,)), Arg((2,))), lambda x, y: np.append(x, y)),
    move("split", params={"indices_or_sections": 2, "axis": 1}),
    move("array_split", params={"indices_or_sections": 3, "axis": 1}),
    move("hsplit", params={"indices_or_sections": 2}),
    move("insert", params={"obj": 1, "values": 7, "axis": 1}),
    move("delete", params={"obj": 1, "axis": 1}),
    joined("block", (Arg((2, 2)), Arg((2, 1)))),
]  # fmt: skip


def fold(name, args=None, reference=None, dtypes=REAL, **more):
    more.setdefault("ulp", SUM)
    return move(name, args or (real(0.5, 3),), reference, dtypes, **more)


DISTINCT = (Arg((3, 7), distinct=True),)
FOLDS = [
    # Small integers are added in int32, as NumPy adds them in its own default.
    fold("sum", errors=(Bad(ValueError, "axis 2|2", (F32, 2)),)),
    fold("sum", params={"axis": 0}, id="axis", dtypes=(*REAL, "complex64")),
    fold("sum", params={"axis": (0, 1), "keepdims": True}, id="kept"),
    fold("sum", (mask(),), id="bools", dtypes=("float32",), out="int32"),
    fold("prod", (real(0.5, 1.5),), params={"axis": 1}),
    fold("mean", params={"axis": 1}, dtypes=(*REAL, "float16", "complex64")),
    fold("mean", id="all"), fold("std", params={"axis": 0}, dtypes=REAL),
    fold("var", params={"axis": 1, "ddof": 1}, dtypes=REAL),
    # Differences from the mean cancel.
    fold("var", (Arg(),), id="all", dtypes=("float32", "float64")),
    fold("max", DISTINCT, params={"axis": 1}, dtypes=(*REAL, "uint8", "bool",
         "complex64")),
    fold("min", DISTINCT, params={"axis": 0}, dtypes=(*REAL, "uint8", "bool",
         "complex64")),
    fold("amax", DISTINCT), fold("amin", DISTINCT), fold("ptp", DISTINCT),
    fold("all", (mask(),), params={"axis": 1}, dtypes=("bool",)),
    fold("any", (mask(),), params={"axis": 1}, dtypes=("bool",)),
    fold("all", id="numbers", dtypes=FEW), fold("any", id="numbers", dtypes=FEW),
    fold("argmax", DISTINCT, params={"axis": 1}, out="index",
         dtypes=(*REAL, "complex64")),
    fold("argmin", DISTINCT, out="index", dtypes=(*REAL, "complex64")),
    fold("count_nonzero", (Arg(),), params={"axis": 1}, dtypes=FEW, out="index"),
    fold("average", (real(0.5, 3), real(0.5, 2)),
         lambda x, w: np.average(x, weights=w), dtypes=("float32", "float64"),
         call=lambda jax, x, w: jax.numpy.average(x, weights=w)),
    fold("cumsum", params={"axis": 1}), fold("cumsum", id="flat"),
    fold("cumprod", (real(0.5, 1.5),), params={"axis": 0}),
    fold("diff", (Arg(),), params={"axis": 1}), fold("ediff1d", (Arg((5,)),)),
    fold("gradient", (Arg((5,)),), dtypes=("float32", "float64")),
    fold("trapezoid", dtypes=("float32", "float64")),
    *[
        fold(name, (fixed([[1, np.nan, 2.5], [3, 4, np.nan]], smooth=False),),
             params={"axis": 1}, dtypes=("float32", "float64"),
             out="index" if "arg" in name else None)
        for name in ("nansum", "nanmean", "nanmax", "nanmin", "nanprod", "nanstd",
                     "nanvar", "nanargmax", "nanmedian")
    ],
    fold("median", DISTINCT, params={"axis": 1}, dtypes=("float32", "float64",
        "int32")),
    # The place q (n - 1) is rounded, and differences of neighbours cancel.
    fold("quantile", DISTINCT, params={"q": 0.3, "axis": 1},
         dtypes=("float32", "float64"), absolute={"float32": 1e-6, "float64": 1e-15}),
    fold("percentile", DISTINCT, params={"q": 30, "axis": 1},
         dtypes=("float32", "float64"), absolute={"float32": 1e-6, "float64": 1e-15}),
]  # fmt: skip

ORDERS = [
    move("sort", DISTINCT, dtypes=(*REAL, "bool")),
    move("sort", DISTINCT, params={"axis": 0}, id="columns"),
    move("argsort", DISTINCT, dtypes=REAL, out="index"),
    move("argsort", DISTINCT, params={"axis": 0}, id="columns", out="index"),
    move("searchsorted", (fixed([1, 3, 5, 7], smooth=False), whole(0, 9, (3, 2))),
         dtypes=("int32", "float32"), out="int32"),
    move("searchsorted", (fixed([1, 3, 5, 7], smooth=False), whole(0, 9, (5,))),
         params={"side": "right"}, id="right", dtypes=("int32",), out="int32"),
    move("searchsorted", (fixed([1 - 2j, 1 + 1j, 3, 3 + 2j], smooth=False),
         fixed([1, 1 + 1j, 3 + 1j, 4, 0], smooth=False)), id="complex",
         dtypes=("complex64",), out="int32"),
    move("digitize", (real(0, 9), fixed([1, 3, 5, 7], smooth=False)), out="int32",
         dtypes=("float32", "int32")),
    move("bincount", (whole(0, 5, (9,)),), out="index", dtypes=("int32",),
         call=lambda jax, x: jax.numpy.bincount(x, length=6),
         reference=lambda x: np.bincount(x, minlength=6)),
    move("nonzero", (fixed([[1, 0, 2], [0, 0, 3]], smooth=False, mapped=False),),
         dtypes=FEW, out="index", tests="values"),
    move("unique", (fixed([3, 1, 3, 2, 1], smooth=False, mapped=False),),
         dtypes=("float32", "int32"), tests="values"),
    move("unique", (fixed([3, 1, 3, 2, 1], smooth=False),), id="of known size",
         dtypes=("float32", "int32"), reference=lambda x: np.append(np.unique(x), [1,
             1]),
         call=lambda jax, x: jax.numpy.unique(x, size=5), tests="values jit oracle"),
    move("interp", (real(0, 4, shape=(5,)), fixed([0.0, 1, 2, 4], smooth=False),
         real(shape=(4,))), dtypes=("float32", "float64"), ulp=SUM, wide=False),
]  # fmt: skip

LOOKUPS = [
    move("take", (Arg((5, 6)), whole(-5, 4, (2, 3))), lambda x, i: np.take(x, i,
        axis=0),
         call=lambda jax, x, i: jax.numpy.take(x, i, axis=0), dtypes=MORE),
    move("take_along_axis", (Arg((5, 6)), whole(-5, 4, (2, 6))),
         lambda x, i: np.take_along_axis(x, i, 0), params={"axis": 0}),
    Row("numpy.asarray", lambda x, i: x[i], (Arg((5, 6)), whole(-5, 4, (3,))),
        id="x[i]",
        call=lambda jax, x, i: x[i], dtypes=MORE),
    Row("numpy.asarray", lambda x, i, j: x[i, j], id="x[i, j]", dtypes=FEW,
        args=(Arg((5, 6)), whole(-5, 4, (3, 1)), whole(-6, 5, (2,))),
        call=lambda jax, x, i, j: x[i, j]),
    Row("numpy.asarray", lambda x, i: x[i, None, 1::2], (Arg((5, 6)), whole(-5, 4, ())),
        id="x[i, None, 1::2]", call=lambda jax, x, i: x[i, None, 1::2], dtypes=FEW),
    Row("numpy.asarray", lambda x: x[::-1, ..., -1], (Arg((5, 3, 6)),), dtypes=FEW,
        id="x[::-1, ..., -1]", call=lambda jax, x: x[::-1, ..., -1]),
    Row("numpy.asarray", lambda x, m: np.where(m, x, 0).sum(1), id="x.sum(where)",
        args=(real(0.5, 3), mask()), call=lambda jax, x, m: x.sum(1, where=m), ulp=SUM,
        dtypes=("float32",)),
    *[
        Row("numpy.asarray", change, (Arg((5, 6)), whole(-5, 4, ()), Arg((6,))),
            id=f"x.at[i].{name}", dtypes=("float32", "int32"),
            call=lambda jax, x, i, v, name=name: getattr(x.at[i], name)(v))
        for name, change in {
            "set": lambda x, i, v: changed(x, i, v),
            "add": lambda x, i, v: changed(x, i, x[i] + v),
            "multiply": lambda x, i, v: changed(x, i, x[i] * v),
            "max": lambda x, i, v: changed(x, i, np.maximum(x[i], v)),
            "min": lambda x, i, v: changed(x, i, np.minimum(x[i], v)),
        }.items()
    ],
]  # fmt: skip


def changed(x, i, v):
    x = np.array(x)
    x[i] = v
    return x


def positive(*shape):
    return real(0.5, 2, shape=shape)


def product(name, *shapes, reference=None, dtypes=("float32", "float64", "int32",
            "bfloat16"), **more):  # fmt: skip
    more.setdefault("id", str(shapes))
    return move(name, tuple(positive(*s) for s in shapes), reference, dtypes,
                ulp=SUM, bits=False, **more)  # fmt: skip


def sums(spec, *shapes, **more):
    return product(
        "einsum", *shapes, id=spec, dtypes=("float32", "float64", "int32"),
        reference=lambda *xs: np.einsum(spec, *xs, optimize=False),
        call=lambda jax, *xs: jax.numpy.einsum(spec, *xs), **more,
    )  # fmt: skip


PRODUCTS = [
    product("dot", (5,), (5,)), product("dot", (3, 5), (5, 4)),
    product("dot", (2, 3, 5), (4, 5, 2)), product("dot", (), (3, 2)),
    product("matmul", (3, 5), (5, 4), errors=(
        Bad((TypeError, ValueError), r"\[2,3\].*\[2,3\]|\(2, 3\).*\(2, 3\)",
            (F32, F32)),)),
    product("matmul", (5,), (5, 4)), product("matmul", (2, 3, 5), (5, 4)),
    product("matmul", (2, 1, 3, 5), (4, 5, 2)),
    product("vdot", (3, 4), (3, 4)), product("inner", (2, 5), (3, 5)),
    product("outer", (3,), (4,)), product("kron", (2, 3), (3, 2)),
    # Differences of products cancel.
    product("cross", (4, 3), (4, 3), reference=lambda x, y: np.cross(x, y),
            tests="values jit vmap grad backend",
            absolute={"float32": 1e-6, "float64": 1e-15, "bfloat16": 0.05}),
    product("tensordot", (2, 3, 4), (3, 4, 5)),
    product("tensordot", (2, 3), (3, 2), id="axes",
            reference=lambda x, y: np.tensordot(x, y, ((0, 1), (1, 0))),
            params={"axes": ((0, 1), (1, 0))}),
    product("trace", (3, 4)),
    sums("ij,jk->ik", (3, 5), (5, 4)), sums("bij,bkj->bik", (2, 3, 5), (2, 4, 5)),
    sums("ii->i", (3, 3)), sums("ij->ji", (3, 4)), sums("ij->", (3, 4)),
    sums("i,j->ij", (3,), (4,)), sums("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)),
    sums("...ij,...j->...i", (2, 3, 4), (2, 4)),
    product("convolve", (7,), (3,), dtypes=("float32", "float64")),
    product("correlate", (7,), (3,), dtypes=("float32", "float64")),
    product("polyval", (4,), (3,), dtypes=("float32", "float64")),
]  # fmt: skip

ROWS = [*MAKERS, *SHAPES, *FOLDS, *ORDERS, *LOOKUPS, *PRODUCTS]
