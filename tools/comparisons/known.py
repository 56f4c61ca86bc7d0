"""Disagreements that are meant, with reasons; `docs/differences.md` repeats them.

Each entry says for which functions, which kind of difference and which calls it holds
(patterns that must match from the start), and why.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from typing import NamedTuple

from comparisons.cases import Case
from comparisons.compare import Difference


class Known(NamedTuple):
    """A difference on purpose."""

    functions: str
    kinds: str
    what: str  # found anywhere in the description of the call
    reason: str


ANY = ".*"
OVERFLOW = "a Python integer that does not fit the dtype beside it is an OverflowError"
WEAK = "results are as weak as their operands; JAX makes some composed functions strong"
DENORMAL = "JAX flushes denormal numbers to zero on the CPU"
INTEGER_POWER = "an integer to a negative power is rounded to zero; JAX gives noise"
COMPLEX_POWER = "complex powers of 0 and with infinite parts are the limits, not NaN"
BOOLEANS = "bools add and multiply as `or` and `and` in updates"
FLOAT16_ANGLE = "angles of 16-bit numbers stay 16-bit numbers, as in NumPy"
EMPTY = "an integral over no points is 0, as in NumPy"
ROUND_BOOL = "round of bools gives them back; JAX fails by accident"
COMPLEX_ORDER = "complex numbers are partitioned like they are sorted"
NUMBERS = "functions of lax take Python numbers that the dtype beside them can hold"
INFINITE_ANGLE = "atan2 of two infinities is a multiple of π/4, as in C; JAX gives NaN"

SLOPES = "derivatives that JAX lacks exist here"
CUTS = "zeros of either sign choose the side of a branch cut, as in C; not so in JAX"
CLAMP = "clamp of complex numbers is min(max(x, low), high), also where parts are equal"
COMPLEX_EXTREMES = (
    "extremes of complex numbers are NaN if a part is, and inf + inf i over none"
)
COMPLEX_SUMS = "log-sums of complex exponentials are limits at infinities, not NaN"
COMPLEX_PLACES = "argmax and argmin take complex numbers, as in NumPy"
COMPLEX_ANGLE = "complex angles are computed in wider numbers, and rounded once"
REAL_PRODUCT = "a product of complex numbers does not drop its imaginary part"
MEDIAN_OF_ONE = "the median of a scalar has its shape, as in NumPy"
BOOL_SHARES = "psum_scatter counts bools, as psum does"
GAMMA = "igamma and igammac at infinities are the values of SciPy"
NARROW = "preferred_element_type may be narrower than the operands"
UNSIGNED = "abs of unsigned integers is the number itself"
NETWORK_WEAK = "functions of nn give strong floats for integers"
NETWORK_INTS = (
    "functions of nn take integers and bools as floats; JAX refuses them, or negates them"
    " as integers, which wraps"
)

COMPLEX_BOOL = "a complex number is true if any part is, as in NumPy"
BOOL_REMAINDER = "the remainder of a division of integers by zero is 0"
STANDARD = "running sums and products follow the array API standard"
STANDARDIZE = "standardize takes complex numbers"
SHARP_SOFTMAX = "attention of float64 is computed in float64; JAX rounds to float32"
COMPLEX_SCORES = "attention weighs by complex scores; JAX drops their imaginary parts"
BOOL_POWER = "a bool to a negative power is rounded to zero, too"
EXACT_ORDER = "comparisons with Python integers that do not fit are exact, as in NumPy"
AREAS = (
    "areas of trapezoids with infinite sides are NumPy's, not differences of infinities"
)
CONVOLVE = "an infinity does not meet the padding of a convolution, as in NumPy"

EXACT_GAMMA = (
    "lgamma is 0 at 1 and 2; gradients of gamma functions are finite at the ends"
)
FAR_SINC = "sinc of numbers so large that their sine is rounding alone"
BOOL_STEPS = "differences of bools are xor, as in NumPy's diff"
NARROW_INTERP = "interp takes bfloat16; JAX fails by accident"
PLACES = "positions are of the default integer type"
PRINCIPAL = "logarithms of negative zero imaginary parts are principal values"
SCALAR_TRIM = "trim_zeros needs an axis, as in NumPy"
UNSIGNED_ANGLE = "a negative Python integer is not wrapped where the result is a float"
HALF_ULP = "composed functions of 16-bit floats are rounded once"
SMALL_ONCE = (
    "functions and sums of floats of 8 bits and fewer are computed in float32 and rounded"
    " once; XLA rounds at each step"
)
SMALL_LACKS = "functions that JAX lacks for dtypes of 8 bits and fewer work"
SMALL_SIXES = "6 of float4_e2m1fn is the integer 6, not the largest integer"
SMALL_COUNTS = "bits of 4-bit integers are counted without copies of the sign"
POWERS_OF_TWO = "numbers of float8_e8m0fnu stay what they are; XLA loses the smallest"

EXACT = (
    "atanh, betainc and lgamma of float64 are right to the last digits; JAX's are not"
)
ZETA = "zeta of numbers below 1 is NaN, as in SciPy"
NO_AXES = "a sum over no axes is the array itself, of bools, too"

KNOWN: tuple[Known, ...] = (
    Known(r"lax\.(atanh|betainc|lgamma)", "values", "float64 (main|specials)", EXACT),
    Known(r"lax\.zeta", "values", "specials", ZETA),
    Known(r"lax\.reduce_sum", "only JAX refuses", "bool", NO_AXES),
    Known(ANY, "only JAX refuses", r"\b(u?int4|float[48]_\w+) (main|edges)", SMALL_LACKS),
    Known(r"lax\.(asin|betainc|cum(logsumexp|sum)|integer_pow|logistic|reduce_(prod|sum))"
          r"|lax\.(igamma_grad_a|random_gamma_grad)|nn\.((log_)?softmax|sigmoid)"
          r"|numpy\.(arcsin|arctanh|atanh|asin|cumsum|logaddexp2?|quantile|std|var)",
          "values", r"float[48]_", SMALL_ONCE),
    Known(r"lax\.convert_element_type", "values", "float4_e2m1fn", SMALL_SIXES),
    Known(r"lax\.population_count", "values", "int4", SMALL_COUNTS),
    Known(ANY, "values", "float8_e8m0fnu", POWERS_OF_TWO),
    Known(r"lax\.(lgamma|igamma_grad_a|random_gamma_grad)", "values",
          "edges|specials", EXACT_GAMMA),
    Known(r"numpy\.sinc", "values", "specials", FAR_SINC),
    Known(r"numpy\.ediff1d", "only JAX refuses", "bool", BOOL_STEPS),
    Known(r"numpy\.interp", "only JAX refuses", "bfloat16", NARROW_INTERP),
    Known(r"numpy\.arg(partition|sort|max|min)", "dtype", "64", PLACES),
    Known(r"nn\.log1mexp", "values", "complex", PRINCIPAL),
    Known(r"numpy\.trim_zeros", "ours refuses", r"\[\]", SCALAR_TRIM),
    Known(r"numpy\.a(rc)?tan2", "values", "int -1", UNSIGNED_ANGLE),
    Known(r"numpy\.logaddexp2?", "values", "float16", HALF_ULP),
    Known(r"numpy\.(round|around)", "values", "decimals b?float16", HALF_ULP),
    Known(r"lax\.convert_element_type", "values", "bool complex", COMPLEX_BOOL),
    Known(r"numpy\.fmod", "values", "bool", BOOL_REMAINDER),
    Known(r"numpy\.cumulative_(sum|prod)", "dtype", "int", STANDARD),
    Known(r"nn\.standardize", "only JAX refuses", "complex", STANDARDIZE),
    Known(r"nn\.dot_product_attention", "values", "float64", SHARP_SOFTMAX),
    Known(r"nn\.dot_product_attention", "values", "complex", COMPLEX_SCORES),
    Known(r"numpy\.pow(er)?", "only JAX refuses", "int -1", BOOL_POWER),
    Known(r"numpy\.(greater|less|equal|not_equal)(_equal)?", "values", "int -1",
          EXACT_ORDER),
    Known(r"numpy\.(convolve|correlate)", "values", "specials", CONVOLVE),
    Known(r"numpy\.trapezoid", "values", "specials", AREAS),
    Known(ANY, "only JAX refuses",
          r"NotImplementedError: .*(ifferentiation rule|Gradient|JVP)|"
          r"Reverse-mode differentiation|gradient .* not supported", SLOPES),
    Known(r"lax\.clamp", "only JAX refuses", "jvp|vjp", SLOPES),
    Known(r"(lax|numpy)\.(arc|a)?(cosh|cos|sin|sinh|tanh?|sqrt|log.*)", "values",
          "complex.* (edges|specials)", CUTS),
    Known(r"lax\.clamp", "values", "complex.* edges", CLAMP),
    Known(r".*\.(cum|reduce_|p|scatter_)?(max|min)(imum)?", "values", "complex.* specials",
          COMPLEX_EXTREMES),
    Known(r"(numpy|lax)\.(arc|a)tan2", "values", "complex", COMPLEX_ANGLE),
    Known(r"lax\.dot_general", "ours refuses", "preferred complex", REAL_PRODUCT),
    Known(r"numpy\.(nan)?median", "shape", r"\[\] keepdims", MEDIAN_OF_ONE),
    Known(r"lax\.psum_scatter", "only JAX refuses", "bool", BOOL_SHARES),
    Known(r".*\.(cumlogsumexp|logaddexp2?)", "values", "complex.* (specials|edges)",
          COMPLEX_SUMS),
    Known(r"(lax|numpy)\.(nan)?arg(max|min)", "only JAX refuses", "complex",
          COMPLEX_PLACES),
    Known(r"lax\.igammac?", "values", "edges|specials", GAMMA),
    Known(ANY, "only JAX refuses", "preferred_element_type. must not be narrower",
          NARROW),
    Known(r"lax\.abs", "only JAX refuses", "uint", UNSIGNED),
    Known(r"nn\..*", "weak type", "int|bool", NETWORK_WEAK),
    Known(r"nn\..*", "values|only JAX refuses", "int|bool", NETWORK_INTS),
    Known(ANY, "ours refuses", "OverflowError: .*Python integer", OVERFLOW),
    Known(r"numpy\.(copysign|gcd|lcm|heaviside|hypot|logaddexp2?|pow|power|unwrap)",
          "weak type", "", WEAK),
    Known(r".*\.(power|pow|float_power)", "values", "int|bool", INTEGER_POWER),
    Known(r".*\.(power|pow|float_power)", "values", "complex", COMPLEX_POWER),
    Known(r"numpy\.(power|pow)", "dtype", "int8", "NumPy's numbers promote like arrays"),
    Known(ANY, "values", "denormals", DENORMAL),
    Known(ANY, "only JAX refuses", r"(add|mul) does not accept dtype bool", BOOLEANS),
    Known(r"numpy\.angle", "dtype", "float16", FLOAT16_ANGLE),
    Known(r"numpy\.trapezoid", "only JAX refuses", r"0\]", EMPTY),
    Known(r"numpy\.(round|around)", "only JAX refuses", "bool", ROUND_BOOL),
    Known(r"numpy\.(arg)?partition", "only JAX refuses", "complex", COMPLEX_ORDER),
    Known(r"lax\..*", "only JAX refuses",
          r"\b(int|float|complex|bool) -?[0-9.]+j?[, ]|\b(int|bool|float|complex) "
          r"(True|-?[0-9.]+j?) \|", NUMBERS),
    Known(r".*\.(arctan2|atan2)", "values", "specials|edges", INFINITE_ANGLE),
)  # fmt: skip


def reason_for(case: Case, found: Difference) -> str | None:
    """Why this difference is meant; None if it is not."""
    for known in KNOWN:
        if (
            _pattern(known.functions).fullmatch(case.function)
            and _pattern(known.kinds).fullmatch(found.kind)
            and _pattern(known.what).search(f"{case.what} | {found.detail}")
        ):
            return known.reason
    return None


def reasons() -> Iterable[str]:
    """All reasons, each once."""
    return dict.fromkeys(known.reason for known in KNOWN)


@functools.cache
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text)
