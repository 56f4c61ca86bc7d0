"""Rows of the catalogue in small dtypes: each row in one float and in two integers.

Which float a row gets depends on its name, so that all of them occur. Results are those
of the reference, rounded once; of functions made of others, only the types are looked at.
"""

import re
import zlib

import numpy as np
import pytest
from catalogue import ROWS
from catalogue.row import SMALL_FLOATS, SMALL_INTS
from support import assert_close

import tetrad as jax
import tetrad.numpy as jnp
from tetrad._src.util import dtypes

FLOATS = [name for name in SMALL_FLOATS if name != "float8_e8m0fnu"]

# Each step is rounded to three or fewer bits, or the reference knows wider types only.
STEPS = re.compile(
    r"""lax\.(betainc|fori_loop|nextafter|scan|while_loop|scatter_(add|mul)|zeta|polygamma)
    |lax\.(shift_right_\w+|clz|population_count|empty|gather)
    |nn\.(hard_\w+|leaky_relu|logmeanexp|selu|sparse_\w+|standardize|one_hot)
    |nn\.(dot_product_attention|(log_)?softmax)
    |numpy\.(arg\w+|searchsorted|average|corrcoef|cov|cross|histogram\w*|interp)
    |numpy\.(linalg\.(matrix_)?norm|nan_to_num|nextafter|nan(std|var))
    |numpy\.(roots|sort_complex|spacing|trapezoid|unwrap|vectorize)""",
    re.VERBOSE,
)
REFUSED = {
    "lax.complex": TypeError,  # parts of complex numbers are at least of 32 bits
    "lax.conj:real": TypeError,
    "numpy.add:small integer and int32": dtypes.TypePromotionError,
    "numpy.concatenate:mixed": dtypes.TypePromotionError,
    "numpy.unpackbits": TypeError,  # takes uint8 only
}


def chosen(row):
    """One small float, one signed and one unsigned integer, where the row takes them."""
    number = zlib.crc32(str(row).encode())
    small = row.small_dtypes()
    floats = [name for name in FLOATS if name in small]
    names = [floats[number % len(floats)]] if floats else []
    for pair in (SMALL_INTS[:2], SMALL_INTS[2:]):
        names += [name for name in pair if name in small][number % 2 :][:1]
    return names


def cases():
    return [
        pytest.param(row, name, id=f"{row}-{name}")
        for row in ROWS
        if "values" in row.tests and row.name != "lax.bitcast_convert_type"
        for name in chosen(row)
    ]


@pytest.mark.parametrize("row, name", cases())
def test_values(row, name):
    refusal = REFUSED.get(str(row))
    for which, args in row.samples(name).items():
        operands = [jnp.asarray(a) for a in args]
        if refusal is not None:
            with pytest.raises(refusal):
                row.run(jax, *operands)
            continue
        outs = jax.tree.leaves(row.run(jax, *operands))
        if STEPS.fullmatch(row.name):
            continue
        wants = row.rounded(row.expected(args), name, False)
        for out, want in zip(outs, wants, strict=True):
            try:
                assert_close(np.asarray(out), want, 1, row.margin(name))
            except AssertionError as error:
                raise AssertionError(f"{which}: {error}") from None
