"""Elementwise functions of tetrad.numpy: NumPy's names, with promotion."""

import numpy as np

from catalogue.row import (
    EVERYTHING,
    FAST_EXTREMA,
    FLOATS,
    Arg,
    Bad,
    Row,
    mask,
    real,
    whole,
)

BRANCH = {"jax grad": "JAX has a slope where there is no value, and the wrong branch"}
BESIDE_INFINITY = {"jax grad": "JAX has a slope where the other operand is infinite"}
F32 = np.zeros((2, 3), np.float32)
WIDE = ("float32", "float64", "complex64", "complex128")
TO_FLOAT = ("float32", "float64", "bfloat16", "int32")
PLAIN = ("float32", "float64", "bfloat16", "int32", "uint8")
SOME = (*PLAIN, "bool", "complex64")
ORDERED = (*PLAIN, "bool")
WHOLE = ("int32", "uint8", "int64", "bool")
NOT_ARRAY = (Bad(TypeError, "list|str", ("a word",)),)


def unary(name, low=-3.0, high=3.0, reference=None, dtypes=TO_FLOAT, **more):
    more.setdefault("elementwise", True)
    if dtypes is TO_FLOAT:
        # Large integers are rounded to float32 before; the reference does not.
        more.setdefault("edges", ("float32", "float64", "bfloat16"))
    return Row(f"numpy.{name}", reference or getattr(np, name), (real(low, high),),
               dtypes=dtypes, **more)  # fmt: skip


def binary(name, x=None, y=None, reference=None, dtypes=PLAIN, **more):
    more.setdefault("elementwise", True)
    more.setdefault("errors", (
        Bad((ValueError, TypeError), r"\(2, 3\).*\(3, 2\)|\[2,3\].*\[3,2\]",
            (F32, F32.T)),
    ) if "float32" in dtypes else ())  # fmt: skip
    return Row(f"numpy.{name}", reference or getattr(np, name),
               (x or Arg(), y or Arg()), dtypes=dtypes, **more)  # fmt: skip


FUNCTIONS = [
    unary("exp", errors=NOT_ARRAY), unary("exp2"), unary("expm1"),
    unary("log", 0.1), unary("log2", 0.1),
    unary("log10", 0.1, ulp={"bfloat16": 2}),  # a quotient of two rounded numbers
    unary("log1p", -0.8),
    unary("sqrt", 0.1), unary("cbrt", 0.1), unary("sin"), unary("cos"),
    unary("tan", -1.4, 1.4), unary("arcsin", -0.9, 0.9), unary("arccos", -0.9, 0.9),
    unary("arctan"), unary("sinh"), unary("cosh"), unary("tanh"), unary("arcsinh"),
    unary("arccosh", 1.2, broken=BRANCH), unary("arctanh", -0.9, 0.9),
    unary("asin", -0.9, 0.9, np.arcsin), unary("acos", -0.9, 0.9, np.arccos),
    unary("atan", reference=np.arctan), unary("asinh", reference=np.arcsinh),
    unary("acosh", 1.2, 3, np.arccosh, broken=BRANCH), unary("atanh", -0.9, 0.9,
        np.arctanh),
    unary("deg2rad"),
    unary("deg2rad", reference=lambda x: x * (np.pi / 180), dtypes=("complex64",),
          id="complex"),
    unary("rad2deg"), unary("degrees"), unary("radians"),
    # π x is rounded before the sine is taken, which shows near the zeros.
    unary("sinc", 0.1, 0.7, dtypes=("float32", "float64", "bfloat16"), edges=False,
          ulp={"bfloat16": 3}),
]  # fmt: skip

ARITHMETIC = [
    binary("add", dtypes=SOME), binary("subtract", dtypes=(*PLAIN, "complex64")),
    binary("multiply", dtypes=SOME),
    binary("divide", y=real(0.5, 3), dtypes=TO_FLOAT),
    binary("true_divide", y=real(0.5, 3), dtypes=TO_FLOAT),
    binary("maximum", dtypes=ORDERED, broken=FAST_EXTREMA),
    binary("minimum", dtypes=ORDERED, broken=FAST_EXTREMA),
    binary("fmax"), binary("fmin"),
    binary("power", real(0.3, 2), real(0.3, 2), dtypes=("float32", "float64")),
    binary("power", real(-3, 3), real(0, 5), dtypes=("int32", "uint8"), id="integers",
           edges=False),  # NumPy refuses negative powers
    binary("float_power", real(0.3, 2), real(0.3, 2), dtypes=("float32", "float64")),
    binary("arctan2", real(0.2), real(0.2), dtypes=("float32", "float64")),
    binary("arctan2", real(0.2), real(0.2), lambda x, y: np.arctan(x / y),
           ("complex64",), id="complex", edges=False, ulp=64),
    binary("hypot", real(0.2), real(0.2), dtypes=("float32", "float64"),
           edges=False),  # a wider reference does not overflow
    binary("logaddexp", dtypes=("float32", "float64"), broken=BESIDE_INFINITY),
    binary("logaddexp2", dtypes=("float32", "float64"),
           broken={"jax values": "JAX rounds what cancels"} | BESIDE_INFINITY),
    binary("copysign", real(0.3), dtypes=("float32", "float64")),
    binary("fmod", real(4, 7), real(1.1, 1.9), dtypes=("float32", "float64")),
    # Division of integers by zero, and of infinities, is NumPy's own affair.
    binary("remainder", real(4, 7), real(1.1, 1.9), edges=False),
    binary("mod", real(-7, -4), real(1.1, 1.9), dtypes=("float32", "int32"),
           edges=False),
    binary("floor_divide", real(4.2, 5.5), real(1.3, 1.9), edges=False),
    binary("divmod", real(4.2, 5.5), real(1.3, 1.9), edges=False),
    binary("heaviside", real(0.2, 3), dtypes=("float32", "float64")),
    unary("negative", dtypes=(*PLAIN, "complex64")),
    unary("positive", reference=lambda x: x, dtypes=(*PLAIN, "complex64", "bool")),
    unary("square", dtypes=(*PLAIN, "complex64")),
    unary("reciprocal", 0.3, 3, dtypes=("float32", "float64", "complex64")),
    unary("abs", 0.3, 3, np.abs, (*PLAIN, "complex64")),
    unary("absolute", 0.3, 3, dtypes=PLAIN),
    unary("fabs", 0.3, 3, dtypes=TO_FLOAT),
    unary("sign", 0.3, 3, lambda x: np.where(x == 0, x, np.sign(x)), PLAIN),
    # The rounding functions give integers back as they are.
    unary("floor", dtypes=PLAIN), unary("ceil", dtypes=PLAIN),
    unary("trunc", dtypes=PLAIN),
    unary("rint", dtypes=TO_FLOAT), unary("round", dtypes=("float32", "float64",
        "int32")),
    # NumPy scales, rounds and scales back, so that the result has two more roundings.
    unary("round", params={"decimals": 2}, id="decimals", edges=False,
          reference=lambda x: np.round(x, 2), dtypes=("float32", "float64"),
          tests="values jit vmap backend oracle"),
    unary("nan_to_num", dtypes=("float32",), reference=lambda x: np.nan_to_num(
        x.astype(np.float32))),
    # The fraction of an infinity is NaN, as in JAX; NumPy has 0.
    unary("modf", 0.2, 0.9, dtypes=("float32", "float64"), edges=False),
    unary("frexp", 0.2, 0.9, dtypes=("float32", "float64"), out=(None, "int32"),
          tests="values jit vmap backend oracle"),
    binary("ldexp", y=whole(-3, 3), reference=lambda x, n: x * 2.0**n, edges=False,
           dtypes=("float32", "float64"), errors=()),
    binary("nextafter", reference=lambda x, y: np.nextafter(
        x.astype(np.float32), y.astype(np.float32)), dtypes=("float32",),
        tests="values jit vmap backend oracle"),
    unary("real", dtypes=("complex64", "float32")),
    unary("imag", dtypes=("complex64", "float32")),
    unary("conj", dtypes=("complex64", "float32")),
    unary("conjugate", dtypes=("complex64",)),
    unary("angle", 0.2, 3, dtypes=("complex64", "float32", "complex128")),
    binary("gcd", dtypes=("int32", "uint8"), x=real(0, 60), y=real(0, 60), edges=False),
    binary("lcm", dtypes=("int32", "uint8"), x=real(0, 14), y=real(0, 14), edges=False),
]  # fmt: skip

LOGIC = [
    *[binary(name, dtypes=SOME) for name in ("equal", "not_equal")],
    *[binary(name, dtypes=ORDERED)
      for name in ("less", "less_equal", "greater", "greater_equal")],
    *[binary(name, dtypes=SOME) for name in ("logical_and", "logical_or",
        "logical_xor")],
    unary("logical_not", dtypes=SOME),
    *[unary(name, dtypes=("float32", "int32", "bfloat16", "complex64"))
      for name in ("isnan", "isinf", "isfinite")],
    *[unary(name, dtypes=("float32", "int32", "bfloat16"))
      for name in ("isposinf", "isneginf", "signbit")],
    unary("isreal", dtypes=("float32", "complex64")),
    unary("iscomplex", dtypes=("float32", "complex64")),
    *[binary(name, dtypes=WHOLE)
      for name in ("bitwise_and", "bitwise_or", "bitwise_xor")],
    unary("bitwise_not", dtypes=WHOLE), unary("invert", dtypes=WHOLE),
    unary("bitwise_count", dtypes=("int32", "uint8"), out="uint8", edges=False),
    binary("left_shift", y=real(0, 7), dtypes=("int32", "uint8"), edges=False),
    binary("right_shift", y=real(0, 7), dtypes=("int32", "uint8"), edges=False),
    binary("isclose", dtypes=("float32", "int32")),
]  # fmt: skip

NAN = np.array([[1.0, np.nan, 2.0, 0.5], [np.nan] * 4, [3.0, -1.0, 0.0, np.nan]])

MIXED = [
    binary("add", Arg(), whole(-3, 3), id="float and int32", dtypes=FLOATS,
           elementwise=False),
    binary("add", Arg(), whole(-3, 3), id="small integer and int32", out="int32",
           dtypes=("int8", "uint8", "int16", "bool"), elementwise=False),
    binary("multiply", Arg(dtype="float32"), Arg(), id="float32 and", elementwise=False,
           dtypes=("float16", "bfloat16", "int32", "bool"), out="float32"),
    binary("add", Arg((3, 1)), Arg((4,)), id="stretched", dtypes=("float32", "int32"),
           elementwise=False),
    binary("add", Arg((2, 1, 4)), Arg((3, 1)), id="stretched both", dtypes=("float32",),
           elementwise=False),
    binary("multiply", Arg((0, 3)), Arg((3,)), id="empty", dtypes=("float32",),
           elementwise=False),
]  # fmt: skip

CHOICES = [
    Row("numpy.where", np.where, (mask(), Arg(), Arg()), dtypes=EVERYTHING,
        elementwise=True, errors=(Bad((ValueError, TypeError), r"2, ?3.*3, ?2",
        (F32 > 0, F32, F32.T)),)),
    Row("numpy.where", np.where, (mask((4,)), Arg((3, 1)), Arg(())), id="stretched"),
    Row("numpy.clip", lambda x: np.clip(x, -1, 2), params={"min": -1, "max": 2},
        dtypes=("float32", "int32", "bfloat16", "float64"), elementwise=True),
    Row("numpy.clip", lambda x, low, high: np.clip(x, low, high), id="arrays",
        args=(Arg(), real(-2, -1, shape=(4,)), real(1, 2, shape=(4,))),
        dtypes=("float32", "int32")),
    Row("numpy.select", lambda m, n, x, y: np.select([m, n], [x, y], 0),
        (mask(), mask(), Arg(), Arg()), dtypes=("float32", "int32"),
        call=lambda jax, m, n, x, y: jax.numpy.select([m, n], [x, y])),
]  # fmt: skip

ROWS = [*FUNCTIONS, *ARITHMETIC, *LOGIC, *MIXED, *CHOICES]
