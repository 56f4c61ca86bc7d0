"""Elementwise operations of lax."""

import numpy as np
from scipy import special

from catalogue.row import (
    COMPLEX,
    FLOATS,
    INTS,
    NUMBERS,
    REALS,
    SIGNED,
    Arg,
    Bad,
    Row,
    fixed,
    mask,
    real,
    whole,
)

INEXACT = FLOATS + COMPLEX
F32 = np.zeros((2, 3), np.float32)
I32 = np.zeros((2, 3), np.int32)
NOT_INT = (Bad(TypeError, "int32", (I32,)),)


def unary(name, reference, low=-3.0, high=3.0, dtypes=FLOATS, **more):
    more.setdefault("elementwise", True)
    return Row(f"lax.{name}", reference, (real(low, high),), dtypes=dtypes, **more)


def binary(name, reference, x=None, y=None, dtypes=NUMBERS, **more):
    mixed = Bad(TypeError, f"lax.{name} .*dtypes.*float32.*int32", (F32, I32))
    if "int32" not in dtypes:
        mixed = Bad(TypeError, "int32", (F32, I32))
    turned = F32.T.copy()
    shapes = Bad(TypeError, rf"lax.{name} .*shapes.*\[2,3\].*\[3,2\]", (F32, turned))
    more.setdefault("elementwise", True)
    return Row(
        f"lax.{name}", reference, (x or Arg(), y or Arg()), dtypes=dtypes,
        errors=(mixed, shapes), **more,
    )  # fmt: skip


TRANSCENDENTAL = [
    unary("exp", np.exp, errors=NOT_INT),
    unary("exp2", np.exp2, errors=NOT_INT),
    unary("expm1", np.expm1, errors=NOT_INT),
    unary("log", np.log, 0.1, 4, errors=NOT_INT),
    unary("log1p", np.log1p, -0.8, 4, errors=NOT_INT),
    unary("logistic", lambda x: 1 / (1 + np.exp(-x)), errors=NOT_INT),
    unary("sin", np.sin, errors=NOT_INT),
    unary("cos", np.cos, errors=NOT_INT),
    unary("tan", np.tan, -1.4, 1.4, errors=NOT_INT),
    unary("asin", np.arcsin, -0.9, 0.9, errors=NOT_INT),
    unary("acos", np.arccos, -0.9, 0.9, errors=NOT_INT),
    unary("atan", np.arctan, errors=NOT_INT),
    unary("sinh", np.sinh, errors=NOT_INT),
    unary("cosh", np.cosh, errors=NOT_INT),
    unary("tanh", np.tanh, errors=NOT_INT),
    unary("asinh", np.arcsinh, errors=NOT_INT),
    unary("acosh", np.arccosh, 1.2, 4, errors=NOT_INT),
    unary("atanh", np.arctanh, -0.9, 0.9, errors=NOT_INT),
    unary("sqrt", np.sqrt, 0.1, 4, errors=NOT_INT),
    unary("rsqrt", lambda x: 1 / np.sqrt(x), 0.1, 4, errors=NOT_INT),
    unary("cbrt", np.cbrt, 0.1, 4, errors=NOT_INT),
    binary("atan2", np.arctan2, real(0.2, 3), real(0.2, 3), FLOATS),
]

ARITHMETIC = [
    binary("add", np.add),
    binary("sub", np.subtract),
    binary("mul", np.multiply),
    unary("neg", np.negative, dtypes=NUMBERS),
    unary("square", np.square, dtypes=NUMBERS),
    binary("max", np.maximum, dtypes=REALS),
    binary("min", np.minimum, dtypes=REALS),
    unary("floor", np.floor),
    unary("ceil", np.ceil),
]

ROWS = TRANSCENDENTAL + ARITHMETIC
