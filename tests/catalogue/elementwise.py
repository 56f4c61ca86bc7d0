"""Elementwise operations of lax."""

import mpmath
import numpy as np
from scipy import special

from catalogue.precise import precise
from catalogue.row import (
    BOOL,
    COMPLEX,
    EVERYTHING,
    FAST_EXTREMA,
    FLOATS,
    INTS,
    NUMBERS,
    REALS,
    Arg,
    Bad,
    Row,
    dtype_of,
    fixed,
    is_inexact,
    mask,
    real,
    whole,
)

BRANCH = "JAX has a slope where there is no value, and the wrong branch"
NOT_IN_JAX = "values jit vmap grad backend"
INEXACT = FLOATS + COMPLEX
F32 = np.zeros((2, 3), np.float32)
I32 = np.zeros((2, 3), np.int32)
NOT_INT = (Bad(TypeError, "int32", (I32,)),)
NOT_FLOAT = (Bad(TypeError, "float32", (F32,)),)


def unary(name, reference, low=-3.0, high=3.0, dtypes=INEXACT, **more):
    more.setdefault("elementwise", True)
    return Row(f"lax.{name}", reference, (real(low, high),), dtypes=dtypes, **more)


def binary(name, reference, x=None, y=None, dtypes=NUMBERS, **more):
    sample = I32 if "float32" not in dtypes else F32
    half = sample.astype(f"{sample.dtype.kind}2")
    errors = [
        Bad(TypeError, rf"lax.{name} .*shapes.*\[2,3\].*\[3,2\]", (sample, sample.T)),
        Bad(TypeError, rf"lax.{name} .*dtypes.*32\[2,3\].*16", (sample, half)),
    ]
    if "int32" not in dtypes and name != "pow":
        errors.append(Bad(TypeError, "int32", (F32, I32)))
    if "float32" not in dtypes:
        errors.append(Bad(TypeError, "float32", (F32, F32)))
    more.setdefault("elementwise", True)
    return Row(
        f"lax.{name}", reference, (x or Arg(), y or Arg()), dtypes=dtypes,
        errors=tuple(errors), **more,
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
    unary("atan", np.arctan, -0.9, 0.9, errors=NOT_INT),
    unary("sinh", np.sinh, errors=NOT_INT),
    unary("cosh", np.cosh, errors=NOT_INT),
    unary("tanh", np.tanh, -1.4, 1.4, errors=NOT_INT),
    unary("asinh", np.arcsinh, -0.9, 0.9, errors=NOT_INT),
    unary("acosh", np.arccosh, 1.2, 4, errors=NOT_INT, broken={
        "jax grad": BRANCH}),
    unary("atanh", np.arctanh, -0.9, 0.9, errors=NOT_INT),
    unary("sqrt", np.sqrt, 0.1, 4, errors=NOT_INT),
    unary("rsqrt", lambda x: 1 / np.sqrt(x), 0.1, 4, errors=NOT_INT),
    unary("cbrt", np.cbrt, 0.1, 4, FLOATS, errors=NOT_INT),
    binary("atan2", np.arctan2, real(0.2, 3), real(0.2, 3), FLOATS),
    Row("lax.atan2", lambda x, y: -1j * np.log((y + 1j * x) / np.sqrt(x * x + y * y)),
        (real(0.2, 3), real(0.2, 3)), dtypes=COMPLEX, id="complex", elementwise=True,
        edges=False, ulp=64),
    # exp(y log x) magnifies the rounding of y log x by its size.
    binary("pow", np.power, real(0.2, 3), real(-2, 2), INEXACT,
           ulp={"complex64": 32, "complex128": 32}),
    Row("lax.pow", np.power, (real(-2, 2), whole(0, 4)), id="whole"),
    # The products of halves are rounded one by one, as in JAX.
    *[
        unary("integer_pow", lambda x, n=n: x**n, 0.5, 2,
            NUMBERS if n >= 0 else INEXACT,
              params={"y": n}, id=f"{n}", ulp={"float16": 4,
                  "bfloat16": 4} if n > 3 else None)
        for n in (0, 1, 2, 3, 7, -1, -2)
    ],
    unary("reciprocal", lambda x: 1 / x, 0.3, 3, errors=()),
]  # fmt: skip


def quotient(x, y):
    """Towards zero; -1, or the largest, by zero; XLA's rule."""
    if x.dtype.kind in "fc":
        return x / y
    bits = 8 * x.dtype.itemsize

    def one(x, y):
        if y == 0:
            return 2**bits - 1
        size = abs(int(x)) // abs(int(y))
        return (size if (x < 0) == (y < 0) else -size) % 2**bits

    return np.vectorize(one, otypes=[f"u{bits // 8}"])(x, y).view(x.dtype)


def remainder(x, y):
    """What the quotient towards zero leaves; x itself by zero."""
    if x.dtype.kind == "f":
        return np.fmod(x, y)
    return np.where(y == 0, x, np.fmod(x, np.where(y == 0, 1, y)))


def sign(x):
    if x.dtype.kind == "c":
        return np.where(x == 0, 0, x / np.where(x == 0, 1, np.abs(x)))
    return np.where(x == 0, x, np.sign(x))


def clamp(low, x, high):
    return np.minimum(np.maximum(x, low), high)


ARITHMETIC = [
    binary("add", np.add),
    binary("sub", np.subtract),
    binary("mul", np.multiply),
    # Complex quotients by zero are infinities whose quadrant nobody states.
    binary("div", quotient, y=real(0.5, 3), edges=REALS),
    binary("rem", remainder, real(4, 7), real(1.1, 1.9), REALS),
    unary("neg", np.negative, dtypes=NUMBERS),
    unary("square", np.square, dtypes=NUMBERS),
    unary("abs", np.abs, 0.3, 3, NUMBERS),
    unary("sign", sign, 0.3, 3, REALS),
    # The derivative is taken to be 0, as for real numbers and as in JAX.
    unary("sign", sign, 0.3, 3, COMPLEX, id="complex", tests="values jit vmap oracle"),
    binary("max", np.maximum, dtypes=EVERYTHING, broken=FAST_EXTREMA),
    binary("min", np.minimum, dtypes=EVERYTHING, broken=FAST_EXTREMA),
    Row("lax.clamp", clamp, (real(-2, -1), real(-3, 3), real(1, 2)), elementwise=True,
        dtypes=REALS, errors=(Bad(TypeError, "dtypes", (F32, I32, F32)),),
        broken=FAST_EXTREMA),
    Row("lax.clamp", clamp, (real(-2, -1, shape=()), real(-3, 3), real(1, 2, shape=())),
        id="scalars", broken={"jax grad": "JAX fails: cases of different shapes"}),
    unary("floor", np.floor, dtypes=FLOATS, errors=NOT_INT),
    unary("ceil", np.ceil, dtypes=FLOATS, errors=NOT_INT),
    unary("round", lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x), dtypes=FLOATS,
          errors=NOT_INT),
    unary("round", np.rint, dtypes=FLOATS, id="even",
          call=lambda jax, x: jax.lax.round(x, jax.lax.RoundingMethod.TO_NEAREST_EVEN)),
    # Its own reference: the next float depends on the type, so nothing may be widened.
    Row("lax.nextafter", lambda x, y: after(x, y), elementwise=True,
        args=(real(), real()), dtypes=("float32",),
            tests="values jit vmap backend oracle"),
]  # fmt: skip


def after(x, y):
    return np.nextafter(x.astype(np.float32), y.astype(np.float32))


PARTS = ("complex64", "complex128")
COMPLEX_NUMBERS = [
    unary("real", np.real, dtypes=PARTS, errors=NOT_FLOAT),
    unary("imag", np.imag, dtypes=PARTS, errors=NOT_FLOAT),
    unary("conj", np.conj, dtypes=PARTS, errors=NOT_INT),
    unary("conj", lambda x: x + 0j, dtypes=("float32", "float64"), id="real"),
    binary("complex", lambda x, y: x + 1j * y, dtypes=("float32", "float64"),
           edges=False),  # the reference multiplies infinities by zero
]  # fmt: skip

COMPARE = [
    binary("eq", np.equal, dtypes=EVERYTHING),
    binary("ne", np.not_equal, dtypes=EVERYTHING),
    binary("lt", np.less, dtypes=REALS + BOOL),
    binary("le", np.less_equal, dtypes=REALS + BOOL),
    binary("gt", np.greater, dtypes=REALS + BOOL),
    binary("ge", np.greater_equal, dtypes=REALS + BOOL),
    unary("is_finite", np.isfinite, dtypes=FLOATS, errors=NOT_INT),
    Row("lax.select", np.where, (mask(), Arg(), Arg()), dtypes=EVERYTHING,
        elementwise=True),
    Row("lax.select", np.where, (mask(()), Arg(), Arg()), id="one condition"),
    Row("lax.select_n", lambda m, x, y: np.where(m, y, x), (mask(), Arg(), Arg()),
        dtypes=EVERYTHING, elementwise=True),
    Row("lax.select_n", lambda i, *xs: np.choose(i, xs), id="three",
        args=(whole(0, 2), Arg(), Arg(), Arg()),
        errors=(Bad(TypeError, "which", (F32, F32, F32)),)),
]  # fmt: skip


def shifted(x, by, shift, over):
    """NumPy's shift where it is defined, `over` where all bits leave."""
    bits = 8 * x.dtype.itemsize
    outside = (by < 0) | (by >= bits) if by.dtype.kind == "i" else by >= bits
    return np.where(outside, over, shift(x, np.where(outside, 0, by)))


def shift_left(x, by):
    return shifted(x, by, np.left_shift, 0).astype(x.dtype)


def shift_right_arithmetic(x, by):
    signed = x.view(np.dtype(f"i{x.dtype.itemsize}"))
    fill = np.where(signed < 0, -1, 0).astype(signed.dtype)
    shift = lambda v, n: v >> n.astype(v.dtype)
    return shifted(signed, by, shift, fill).astype(signed.dtype).view(x.dtype)


def shift_right_logical(x, by):
    plain = np.dtype(f"u{x.dtype.itemsize}")
    bits = shifted(x.view(plain), by, lambda x, n: x >> n.astype(plain), 0)
    return bits.astype(plain).view(x.dtype)


def leading_zeros(x):
    bits = 8 * x.dtype.itemsize
    plain = x.view(np.dtype(f"u{x.dtype.itemsize}"))
    return np.vectorize(lambda v: bits - int(v).bit_length(), otypes=[x.dtype])(plain)


def ones(x):
    plain = x.view(np.dtype(f"u{x.dtype.itemsize}"))
    return np.bitwise_count(plain).astype(x.dtype)


BITWISE = INTS + BOOL
BITS = [
    binary("bitwise_and", np.bitwise_and, dtypes=BITWISE),
    binary("bitwise_or", np.bitwise_or, dtypes=BITWISE),
    binary("bitwise_xor", np.bitwise_xor, dtypes=BITWISE),
    unary("bitwise_not", np.bitwise_not, dtypes=BITWISE, errors=NOT_FLOAT),
    binary("shift_left", shift_left, y=real(0, 7), dtypes=INTS),
    binary("shift_right_logical", shift_right_logical, y=real(0, 7), dtypes=INTS),
    binary("shift_right_arithmetic", shift_right_arithmetic, y=real(0, 7), dtypes=INTS),
    unary("population_count", ones, dtypes=INTS, errors=NOT_FLOAT),
    unary("clz", leading_zeros, dtypes=INTS, errors=NOT_FLOAT),
]


def reduced(x):
    """To 5 bits of exponent and 4 of mantissa, by way of the integers."""
    fraction, exponent = np.frexp(x.astype(np.float64))
    rounded = np.ldexp(np.rint(np.ldexp(fraction, 5)), exponent - 5)
    size = np.abs(rounded)
    rounded = np.where(size >= 2.0**16, np.copysign(np.inf, x), rounded)
    rounded = np.where(size < 2.0**-14, np.copysign(0, x), rounded)
    return np.where(np.isnan(x), x, rounded)


def log_gamma(x):
    return mpmath.log(abs(mpmath.gamma(x)))


def digamma_at_ends(x):
    """No value at any of the poles, as in JAX; SciPy has one at 0."""
    return np.nan if x <= 0 else special.digamma(x)


SPECIAL = [
    unary("erf", precise(mpmath.erf, special.erf), dtypes=FLOATS, errors=NOT_INT),
    unary("erfc", precise(mpmath.erfc, special.erfc), dtypes=FLOATS, errors=NOT_INT),
    unary("erf_inv", precise(mpmath.erfinv, special.erfinv), -0.9, 0.9, FLOATS,
          errors=NOT_INT),
    unary("lgamma", precise(log_gamma, lambda x: np.abs(special.gammaln(x))), 2.2, 6,
          FLOATS, errors=NOT_INT,
          broken={"jax values": "JAX is inexact at the zeros of lgamma"}),
    unary("digamma", precise(mpmath.digamma, digamma_at_ends), 1.6, 6, FLOATS,
          errors=NOT_INT),
    Row("lax.polygamma", precise(lambda n, x: mpmath.polygamma(int(n), x),
                                 special.polygamma),
        (fixed([0.0, 1.0, 2.0, 3.0], smooth=False), real(0.5, 5, shape=(4,)))),
    Row("lax.zeta", precise(mpmath.zeta, special.zeta),
        (real(2, 5, smooth=False), real(0.5, 5)),
        broken={"jax grad": "JAX has no derivative of zeta"}),
    unary("reduce_precision", reduced, dtypes=("float32", "float64", "bfloat16"),
          params={"exponent_bits": 5, "mantissa_bits": 4},
          tests="values jit vmap backend oracle"),
]  # fmt: skip


def converted(to):
    def reference(x):
        kind = dtype_of(to)
        if is_inexact(kind) or kind.kind == "b":
            return x.astype(kind)
        if x.dtype.kind in "fc":
            limits = np.iinfo(kind)
            low, high = float(limits.min), float(limits.max)
            inside = np.where(np.isnan(x), 0, np.clip(x, low, high))
            top = inside >= high
            return np.where(top, limits.max, np.where(top, 0, inside).astype(kind))
        return x.astype(kind)

    return reference


def conversion(to, dtypes, **more):
    return unary("convert_element_type", converted(to), params={"new_dtype": to},
                 dtypes=dtypes, id=to, out=to, **more)  # fmt: skip


CONVERT = [
    conversion("float64", ("float64", "int64")),
    conversion("complex128", ("float64",)),
    *[
        # Differences of numbers rounded to fewer digits are no slopes.
        conversion(to, dtypes, tests="values jit vmap backend oracle")
        for to, dtypes in {
            "float32": REALS + BOOL,
            "bfloat16": FLOATS + BOOL,
            "float16": FLOATS + INTS,
            "int32": REALS + BOOL,
            "uint8": REALS + BOOL,
            "bool": EVERYTHING,
            "complex64": ("float32", "int32", "bool"),
        }.items()
    ],
    unary("bitcast_convert_type", lambda x: x.astype(np.float32).view(np.int32),
          params={"new_dtype": "int32"}, dtypes=("float32",)),
    unary("bitcast_convert_type", lambda x: x.view(np.float32),
          params={"new_dtype": "float32"}, dtypes=("int32", "uint32"), out="float32",
          id="from integers"),
    Row("lax.bitcast_convert_type", lambda x: x.view(np.uint8).reshape(3, 4, 4),
        params={"new_dtype": "uint8"}, dtypes=("int32",), id="narrow", out="uint8"),
    Row("lax.bitcast_convert_type", lambda x: x.view(np.int32)[..., 0],
        (Arg((3, 4)),), params={"new_dtype": "int32"}, dtypes=("uint8",), id="wide",
        out="int32"),
    unary("copy", lambda x: x, dtypes=EVERYTHING, tests=NOT_IN_JAX),
    unary("stop_gradient", lambda x: x, dtypes=EVERYTHING,
          tests="values jit vmap backend oracle"),
    unary("optimization_barrier", lambda x: x, dtypes=EVERYTHING),
]  # fmt: skip

ROWS = [
    *TRANSCENDENTAL,
    *ARITHMETIC,
    *COMPLEX_NUMBERS,
    *COMPARE,
    *BITS,
    *SPECIAL,
    *CONVERT,
]
