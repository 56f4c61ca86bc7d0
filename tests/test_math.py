"""The vector math library: errors in ulp against mpmath, and special values.

Single precision is compared with mpmath at few points and with our own double precision
at many; double precision with mpmath. The bounds are those that `math.ULP` states.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
import pytest
from scalar_kernels import DTYPES, assert_same, elementwise

from tetrad._src.cpu import complex_math
from tetrad._src.cpu.math import BINARY, COMPLEX_ULP, MAGNITUDE_ULP, ULP, UNARY

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

INF, NAN = np.inf, np.nan
DIGITS = {"f32": 38.0, "f64": 308.0}
MANTISSA = {"f32": 24, "f64": 53}
SMALLEST = {"f32": -149, "f64": -1074}


def uniform(low: float, high: float) -> Callable[..., Any]:
    """Points spread evenly over an interval."""
    return lambda rng, type, count: rng.uniform(low, high, count)


def scaled(low: float, high: float, sign: str = "±") -> Callable[..., Any]:
    """Points spread evenly in the logarithm; 1 stands for the range of the type."""

    def draw(rng: Any, type: str, count: int) -> Any:
        digits = DIGITS[type]
        found = 10 ** rng.uniform(
            low * digits if abs(low) <= 1.2 else low,
            high * digits if abs(high) <= 1.2 else high,
            count,
        )
        return found * rng.choice([-1, 1], count) if sign == "±" else found

    return draw


def near(point: float) -> Callable[..., Any]:
    """Points that approach a number from both sides."""
    return lambda rng, type, count: point + scaled(-15, -1.5)(rng, type, count)


def exponent_range(scale: float) -> Callable[..., Any]:
    """Points over the range of arguments whose exponential is representable."""

    def draw(rng: Any, type: str, count: int) -> Any:
        low, high = (-104.0, 88.7) if type == "f32" else (-745.0, 709.7)
        return rng.uniform(low, high, count) * scale

    return draw


def multiples_of_half_pi(rng: Any, type: str, count: int) -> Any:
    """The floats nearest to multiples of π/2, where the sine or cosine is small."""
    return np.concatenate(
        [
            rng.integers(-1000, 1000, count // 2) * (np.pi / 2),
            rng.integers(-(10**9), 10**9, count - count // 2) * (np.pi / 2),
        ]
    )


@dataclass(frozen=True)
class Case:
    """A function of one argument: the exact one, and where to try it."""

    name: str
    exact: Callable[[Any], Any]
    points: tuple[Callable[..., Any], ...]
    digits: int = 40


def erf_inv(x: Any) -> Any:
    if abs(x) > 1:
        raise ValueError("outside of the domain")
    return mpmath.erfinv(x) if abs(x) < 1 else x * mpmath.inf


def lgamma(x: Any) -> Any:
    if x <= 0 and x == mpmath.floor(x):
        return mpmath.inf
    return mpmath.re(mpmath.loggamma(x))


WIDE = scaled(-1.1, 1.0)
CIRCULAR = (uniform(-10, 10), uniform(-2e5, 2e5), multiples_of_half_pi, WIDE)
UNIT = (uniform(-1, 1), scaled(-1.1, 0), near(1), near(-1))

CASES = [
    Case("exp", mpmath.exp, (exponent_range(1), uniform(-1, 1), WIDE)),
    Case(
        "exp2",
        lambda x: mpmath.mpf(2) ** x,
        (exponent_range(1.44), uniform(-1, 1), scaled(-1.1, 0)),
    ),
    Case("expm1", mpmath.expm1, (exponent_range(1), uniform(-1, 1), scaled(-1.1, 0))),
    Case("log", mpmath.log, (scaled(-1.1, 1, "+"), uniform(0.5, 2), near(1))),
    Case(
        "log1p",
        mpmath.log1p,
        (uniform(-1, 1), scaled(-1.1, -0.01), scaled(0.01, 1, "+"), near(-1)),
    ),
    Case(
        "logistic",
        lambda x: 1 / (1 + mpmath.exp(-x)),
        (exponent_range(1), uniform(-9, 9)),
    ),
    Case("sinh", mpmath.sinh, (exponent_range(1), uniform(-3, 3), scaled(-1.1, 0))),
    Case("cosh", mpmath.cosh, (exponent_range(1), uniform(-3, 3), scaled(-1.1, 0))),
    Case("tanh", mpmath.tanh, (uniform(-10, 10), uniform(-1, 1), WIDE)),
    Case("asinh", mpmath.asinh, (WIDE, uniform(-3, 3), scaled(-4, 2))),
    Case("acosh", mpmath.acosh, (scaled(0, 1, "+"), uniform(1, 3), near(1))),
    Case("atanh", mpmath.atanh, UNIT),
    Case("sin", mpmath.sin, CIRCULAR, 360),
    Case("cos", mpmath.cos, CIRCULAR, 360),
    Case("tan", mpmath.tan, CIRCULAR, 360),
    Case("asin", mpmath.asin, UNIT),
    Case("acos", mpmath.acos, UNIT),
    Case("atan", mpmath.atan, (WIDE, uniform(-5, 5))),
    Case(
        "cbrt",
        lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
        (WIDE, uniform(-5, 5)),
    ),
    Case("erf", mpmath.erf, (uniform(-6, 6), uniform(-1, 1), scaled(-1.1, 0))),
    Case("erfc", mpmath.erfc, (uniform(-6, 10.1), uniform(-1, 1), uniform(5, 27))),
    Case("erf_inv", erf_inv, (uniform(-0.99, 0.99), scaled(-1.1, 0), near(1))),
    Case(
        "lgamma",
        lgamma,
        (uniform(0, 30), uniform(-30, 0), scaled(-1, 1, "+"), near(1), near(2)),
    ),
    Case("digamma", mpmath.digamma, (uniform(0, 30), uniform(-30, 0), scaled(-1, 1))),
    Case("sqrt", mpmath.sqrt, (scaled(-1.1, 1, "+"),)),
    Case("rsqrt", lambda x: 1 / mpmath.sqrt(x), (scaled(-1.1, 1, "+"),)),
]
BY_NAME = {case.name: case for case in CASES}
RELATIVE_TO_ONE = ("lgamma", "digamma")


def arguments(case: Case, type: str, count: int) -> Any:
    rng = np.random.default_rng(7)
    drawn = np.concatenate([draw(rng, type, count) for draw in case.points])
    found = drawn.astype(DTYPES[type])
    return found[np.isfinite(found)]


def error_in_ulp(got: float, exact: Any, type: str, floor: int = -10000) -> float:
    """The distance from an exact result, in units of its last place."""
    limit = mpmath.ldexp(1, 128 if type == "f32" else 1024)
    half = mpmath.ldexp(limit, -MANTISSA[type] - 1)
    if abs(exact) >= limit - half:
        return 0.0 if got == float(mpmath.sign(exact)) * INF else INF
    if not np.isfinite(got):
        # At the very edge of the range, one unit in the last place.
        return 1.0 if abs(exact) > limit * (1 - mpmath.mpf(2) ** -20) else INF
    exponent = SMALLEST[type]
    if exact != 0:
        place = int(mpmath.floor(mpmath.log(abs(exact), 2))) - MANTISSA[type] + 1
        exponent = max(place, exponent, floor)
    return float(abs(mpmath.mpf(got) - exact) / mpmath.ldexp(1, exponent))


def worst_error(
    got: Any, exact: Callable[..., Any], operands: Any, type: str, floor: int = -10000
) -> tuple[float, Any]:
    """The largest error and where it is."""
    worst: tuple[float, Any] = (0.0, None)
    for k, result in enumerate(got.tolist()):
        at = [mpmath.mpf(float(x[k])) for x in operands]
        try:
            value = exact(*at)
        except (ZeroDivisionError, ValueError):
            continue  # a pole; the table of special values has it
        if isinstance(value, mpmath.mpc):
            continue
        error = error_in_ulp(result, value, type, floor)
        if error > worst[0]:
            worst = error, (tuple(map(float, at)), result)
    return worst


def apply(name: str, type: str, *operands: Any, fma: bool = True) -> Any:
    return elementwise(
        lambda b, *xs: getattr(b, name)(*xs),
        [type] * len(operands),
        *operands,
        lanes=16 if type == "f32" else 8,
        fma=fma,
    )


def test_every_function_has_a_bound_and_a_case():
    assert set(UNARY) | {"sqrt", "rsqrt"} == set(BY_NAME)
    assert set(BY_NAME) | set(BINARY) == set(ULP)


@pytest.mark.parametrize("fma", [True, False], ids=["fma", "plain"])
@pytest.mark.parametrize("type", ["f32", "f64"])
@pytest.mark.parametrize("name", BY_NAME)
def test_error_against_mpmath(name, type, fma):
    case = BY_NAME[name]
    x = arguments(case, type, 25 if fma else 10)
    got = apply(name, type, x, fma=fma)
    floor = 1 - MANTISSA[type] if name in RELATIVE_TO_ONE else -10000
    with mpmath.workdps(case.digits):
        error, at = worst_error(got, case.exact, [x], type, floor)
    assert error <= ULP[name][type], f"{name} is {error:.2f} ulp off at {at}"


@pytest.mark.parametrize("name", BY_NAME)
def test_single_precision_against_double(name):
    """At 200,000 points, and at 70,000 bit patterns spread over all floats."""
    case = BY_NAME[name]
    patterns = np.arange(0, 1 << 32, 61_357, dtype=np.uint64).astype(np.uint32)
    x = np.concatenate([arguments(case, "f32", 60_000), patterns.view(np.float32)])
    got = apply(name, "f32", x)
    exact = apply(name, "f64", x.astype(np.float64))
    rounded = exact.astype(np.float32)
    reference = np.abs(np.where(np.isfinite(rounded), rounded, 1))
    if name in RELATIVE_TO_ONE:
        reference = np.maximum(reference, np.float32(1))
    error = np.abs(got.astype(np.float64) - exact) / np.spacing(reference)
    same = (got == rounded) | ((got != got) & (rounded != rounded))
    error = np.where(same, 0, np.where(np.isnan(error), INF, error))
    worst = int(np.argmax(error))
    bound = ULP[name]["f32"] + 0.01
    assert error[worst] <= bound, f"{error[worst]:.2f} ulp off at {x[worst]}"


def test_erf_inv_in_the_middle():
    x = np.linspace(-0.9, 0.9, 20_001).astype(np.float32)
    exact = apply("erf_inv", "f64", x.astype(np.float64))
    error = np.abs(apply("erf_inv", "f32", x) - exact) / np.spacing(
        np.abs(exact).astype(np.float32)
    )
    assert error.max() <= 4


# Functions of two arguments


def atan2_points(rng: Any, type: str, count: int) -> Any:
    wide, tame = scaled(-1.1, 1), scaled(-3, 3)
    return [
        np.concatenate([wide(rng, type, count), tame(rng, type, count)])
        for _ in range(2)
    ]


def pow_points(rng: Any, type: str, count: int) -> Any:
    """Bases of every size, and close to 1, with exponents that give finite results."""
    span = 100.0 if type == "f32" else 740.0
    base = np.concatenate(
        [
            scaled(-1.1, 1, "+")(rng, type, count),
            np.abs(near(1)(rng, type, count)),
            rng.uniform(0, 10, count),
        ]
    ).astype(DTYPES[type])
    logarithm = np.log(np.maximum(base.astype(np.float64), 5e-324))
    logarithm = np.where(np.abs(logarithm) < 1e-16, 1, logarithm)
    exponent = rng.uniform(-1, 1, base.size) * span / logarithm
    negative = -rng.uniform(0, 10, count)
    whole = rng.integers(-30, 30, count)
    return [np.concatenate([base, negative]), np.concatenate([exponent, whole])]


@pytest.mark.parametrize("fma", [True, False], ids=["fma", "plain"])
@pytest.mark.parametrize("type", ["f32", "f64"])
@pytest.mark.parametrize("name", ["atan2", "pow"])
def test_error_of_binary_functions(name, type, fma):
    rng = np.random.default_rng(8)
    draw = {"atan2": atan2_points, "pow": pow_points}[name]
    operands = [x.astype(DTYPES[type]) for x in draw(rng, type, 60)]
    got = apply(name, type, *operands, fma=fma)
    exact = {"atan2": mpmath.atan2, "pow": mpmath.power}[name]
    with mpmath.workdps(40):
        error, at = worst_error(got, exact, operands, type)
    assert error <= ULP[name][type], f"{name} is {error:.2f} ulp off at {at}"


# Special values

ODD = (
    *("sinh", "tanh", "asinh", "atanh", "sin", "tan", "asin", "atan", "cbrt"),
    *("erf", "erf_inv", "expm1", "log1p"),
)
SPECIAL: dict[str, list[tuple[float, float]]] = {
    "exp": [(0, 1), (INF, INF), (-INF, 0), (1e30, INF), (-1e30, 0)],
    "exp2": [
        (0, 1),
        (1, 2),
        (10, 1024),
        (-3, 0.125),
        (INF, INF),
        (-INF, 0),
        (1e30, INF),
        (-1e30, 0),
    ],
    "expm1": [(INF, INF), (-INF, -1), (-1e30, -1), (1e30, INF)],
    "log": [(0, -INF), (-0.0, -INF), (1, 0), (INF, INF), (-1, NAN), (-INF, NAN)],
    "log1p": [(-1, -INF), (INF, INF), (-2, NAN), (-INF, NAN)],
    "logistic": [(0, 0.5), (INF, 1), (-INF, 0), (1e30, 1), (-1e30, 0)],
    "sinh": [(INF, INF), (-INF, -INF), (1e30, INF), (-1e30, -INF)],
    "cosh": [(0, 1), (INF, INF), (-INF, INF), (1e30, INF), (-1e30, INF)],
    "tanh": [(INF, 1), (-INF, -1), (1e30, 1), (-50, -1)],
    "asinh": [(INF, INF), (-INF, -INF)],
    "acosh": [(1, 0), (INF, INF), (0.5, NAN), (-2, NAN), (-INF, NAN)],
    "atanh": [(1, INF), (-1, -INF), (2, NAN), (-2, NAN), (INF, NAN)],
    "sin": [(INF, NAN), (-INF, NAN)],
    "cos": [(0, 1), (-0.0, 1), (INF, NAN), (-INF, NAN), (1e-30, 1)],
    "tan": [(INF, NAN), (-INF, NAN)],
    "asin": [(2, NAN), (-2, NAN), (INF, NAN), (1, np.pi / 2), (-1, -np.pi / 2)],
    "acos": [(1, 0), (2, NAN), (-2, NAN), (INF, NAN), (-1, np.pi), (0, np.pi / 2)],
    "atan": [(INF, np.pi / 2), (-INF, -np.pi / 2)],
    "cbrt": [(INF, INF), (-INF, -INF), (27, 3), (-8, -2), (1, 1)],
    "erf": [(INF, 1), (-INF, -1), (40, 1), (-40, -1)],
    "erfc": [(0, 1), (INF, 0), (-INF, 2), (40, 0), (-40, 2)],
    "erf_inv": [(1, INF), (-1, -INF), (2, NAN), (-2, NAN), (INF, NAN)],
    "lgamma": [
        (0, INF),
        (-0.0, INF),
        (1, 0),
        (2, 0),
        (-1, INF),
        (-7, INF),
        (INF, INF),
        (-INF, INF),
    ],
    "digamma": [(0, NAN), (-0.0, NAN), (-1, NAN), (-9, NAN), (INF, INF), (-INF, NAN)],
    "sqrt": [(0, 0), (-0.0, -0.0), (INF, INF), (-1, NAN), (-INF, NAN), (4, 2)],
    "rsqrt": [(0, INF), (-0.0, -INF), (INF, 0), (-1, NAN), (4, 0.5)],
}


@pytest.mark.parametrize("fma", [True, False], ids=["fma", "plain"])
@pytest.mark.parametrize("type", ["bf16", "f16", "f32", "f64"])
@pytest.mark.parametrize("name", SPECIAL)
def test_special_values(name, type, fma):
    rows = [*SPECIAL[name], (NAN, NAN)]
    if name in ODD:
        rows += [(0.0, 0.0), (-0.0, -0.0)]
        if name not in ("erf", "erf_inv", "cbrt"):
            tiny = {"f32": 1e-45, "f64": 5e-324, "bf16": 1e-40, "f16": 6e-8}[type]
            rows += [(tiny, tiny), (-tiny, -tiny)]
    x, expected = np.array(rows).T.astype(DTYPES[type])
    got = apply(name, type, x, fma=fma)
    angle = np.isin(np.abs(np.array(rows)[:, 1]), [np.pi, np.pi / 2])
    assert_same(got[~angle], expected[~angle])
    error = np.abs(got[angle].astype(float) / expected[angle].astype(float) - 1)
    assert (error < 0.01).all()


def test_sines_stay_within_one():
    x = np.arange(1, 300_001) * (np.pi / 2)
    for type in ("f32", "f64"):
        for name in ("sin", "cos"):
            assert np.abs(apply(name, type, x.astype(DTYPES[type]))).max() <= 1


@pytest.mark.parametrize("type", ["f32", "f64"])
@pytest.mark.parametrize("name", ["atan2", "pow"])
def test_special_pairs(name, type):
    """NumPy calls the C library, which follows Annex F."""
    tops = [0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, 2.0, -3.0, 0.5, -0.5, 1e300, 1e-320]
    x, y = np.array(np.meshgrid(tops, tops)).reshape(2, -1).astype(DTYPES[type])
    got = apply(name, type, x, y)
    expected = {"atan2": np.arctan2, "pow": np.power}[name](x, y)
    unusual = ~np.isfinite(expected) | (expected == 0) | (np.abs(expected) == 1)
    assert_same(got[unusual], expected[unusual])
    np.testing.assert_allclose(
        got[~unusual], expected[~unusual], rtol=1e-6 if type == "f32" else 1e-15
    )


@pytest.mark.parametrize("type", ["bf16", "f16"])
@pytest.mark.parametrize("name", BY_NAME)
def test_16_bit_floats_are_rounded_single_precision(name, type):
    bits = np.arange(0, 1 << 16, 3, dtype=np.uint16)
    x = bits.view(DTYPES[type])
    got = apply(name, type, x)
    single = apply(name, "f32", x.astype(np.float32))
    assert_same(got, single.astype(DTYPES[type]))


# Complex numbers


def complex_points(rng: Any, type: str, count: int, digits: float) -> Any:
    real, imag = (
        np.concatenate(
            [
                rng.uniform(-3, 3, count),
                scaled(-6, 1.25)(rng, "f64", count),
                scaled(-digits, digits)(rng, "f64", count),
            ]
        )
        for _ in range(2)
    )
    angle, radius = rng.uniform(-3, 3, count), 1 + near(0)(rng, "f64", count)
    ring = radius * np.exp(1j * angle)
    return np.concatenate([real + 1j * imag, ring]).astype(DTYPES[type])


COMPLEX_EXACT: dict[str, Callable[[Any], Any]] = {
    "exp": mpmath.exp,
    "exp2": lambda z: mpmath.mpf(2) ** z,
    "expm1": lambda z: mpmath.exp(z) - 1,
    "log": mpmath.log,
    "log1p": lambda z: mpmath.log(1 + z),
    "logistic": lambda z: 1 / (1 + mpmath.exp(-z)),
    "sqrt": mpmath.sqrt,
    "rsqrt": lambda z: 1 / mpmath.sqrt(z),
    "sign": lambda z: z / abs(z),
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "tan": mpmath.tan,
    "asin": mpmath.asin,
    "acos": mpmath.acos,
    "atan": mpmath.atan,
    "sinh": mpmath.sinh,
    "cosh": mpmath.cosh,
    "tanh": mpmath.tanh,
    "asinh": mpmath.asinh,
    "acosh": mpmath.acosh,
    "atanh": mpmath.atanh,
    "abs": abs,
}
BOUNDED = (
    *("exp", "exp2", "expm1", "logistic", "sin", "cos", "tan"),
    *("sinh", "cosh", "tanh"),
)


def plane_error(got: Any, exact: Any, type: str) -> float:
    """The distance in the plane over the magnitude, in units of the last place."""
    unit = 2.0**-23 if type == "c64" else 2.0**-52
    if not np.isfinite(got):
        return INF
    return float(abs(mpmath.mpmathify(got) - exact) / abs(exact)) / unit


@pytest.mark.parametrize("type", ["c64", "c128"])
@pytest.mark.parametrize("name", COMPLEX_EXACT)
def test_error_of_complex_functions(name, type):
    rng = np.random.default_rng(9)
    wide = 15 if type == "c64" else 100
    z = complex_points(rng, type, 12, 1.25 if name in BOUNDED else wide)
    got = apply(name, type, z)
    with mpmath.workdps(300):
        for x, result in zip(z.tolist(), got.tolist(), strict=True):
            exact = COMPLEX_EXACT[name](mpmath.mpc(x))
            if not 1e-36 < abs(exact) < 1e37:
                continue
            error = plane_error(result, exact, type)
            bound = MAGNITUDE_ULP if name == "abs" else COMPLEX_ULP[type]
            assert error <= bound, f"{error:.2f} at {x}: {result}"


@pytest.mark.parametrize("type", ["c64", "c128"])
def test_magnitudes_at_the_ends_of_the_range(type):
    real = np.float32 if type == "c64" else np.float64
    info = np.finfo(real)
    parts = [0, info.smallest_subnormal, info.tiny, 3 * info.tiny, 1, info.max]
    parts = np.array([*parts, info.max / 2, np.inf, np.nan], real)
    z = np.array([complex(x, -y) for x in parts for y in parts], DTYPES[type])
    with np.errstate(all="ignore"):
        expected = np.abs(z)
    got = apply("abs", type, z)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))
    fine = np.isfinite(expected)
    np.testing.assert_array_equal(got[np.isinf(expected)], np.inf)
    np.testing.assert_allclose(
        got[fine], expected[fine], rtol=2 * info.eps, atol=info.smallest_subnormal
    )


def test_every_complex_function_is_tested():
    assert set(complex_math.UNARY) | {"abs"} == set(COMPLEX_EXACT)


@pytest.mark.parametrize("type", ["c64", "c128"])
def test_complex_powers(type):
    rng = np.random.default_rng(10)
    x = complex_points(rng, type, 10, 1.25)
    y = complex_points(rng, type, 10, 1.25) / DTYPES[type](3)
    got = apply("pow", type, x, y)
    with mpmath.workdps(60):
        for a, c, result in zip(x.tolist(), y.tolist(), got.tolist(), strict=True):
            product = mpmath.mpc(c) * mpmath.log(mpmath.mpc(a))
            exact = mpmath.exp(product)
            if 1e-36 < abs(exact) < 1e37:
                bound = 0.6 if type == "c64" else 4 + 2 * float(abs(product))
                assert plane_error(result, exact, type) <= bound
    zero = np.zeros(2, DTYPES[type])
    powers = apply("pow", type, zero, np.array([0, 2]))
    assert powers.tolist() == [1, 0]


@pytest.mark.parametrize(
    "name, ufunc",
    [
        ("exp", np.exp),
        ("log", np.log),
        ("sqrt", np.sqrt),
        ("tanh", np.tanh),
        ("asin", np.arcsin),
        ("acos", np.arccos),
        ("asinh", np.arcsinh),
        ("atan", np.arctan),
        ("atanh", np.arctanh),
    ],
)
def test_branch_cuts_and_infinities(name, ufunc):
    """The parts that NumPy (C99 Annex G) gives a definite value."""
    parts = np.array([0.0, -0.0, 1.0, -1.0, 2.0, -2.0, -0.5, INF, -INF])
    z = np.empty(81, np.complex128)
    z.real, z.imag = np.repeat(parts, 9), np.tile(parts, 9)
    got, expected = apply(name, "c128", z), ufunc(z)
    for part in ("real", "imag"):
        ours, theirs = getattr(got, part), getattr(expected, part)
        definite = ~np.isnan(theirs)
        if name in ("exp", "tanh"):
            definite &= np.isfinite(z.imag)  # the signs of their zeros are free
        np.testing.assert_allclose(ours[definite], theirs[definite], rtol=1e-14)
        np.testing.assert_array_equal(
            np.signbit(ours[definite]), np.signbit(theirs[definite])
        )
