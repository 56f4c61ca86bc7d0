"""Every operation of the catalogue on a PJRT plugin: each backend is the other's oracle."""

import numpy as np
import pytest
from plugin import PLATFORM, needs_plugin, on_plugin
from support import assert_close, is_inexact
from test_catalogue import cases, leaves

import tetrad as jax
import tetrad.numpy as jnp

pytestmark = needs_plugin

# XLA's CPU compiler approximates more freely and contracts products into sums.
ULP = {"float16": 4, "bfloat16": 4, "float32": 64, "float64": 64, "complex64": 256,
       "complex128": 256}  # fmt: skip


@pytest.mark.parametrize(
    "row, dtype", cases("backend", lambda row: row.light_dtypes()[:1], "plugin values")
)
def test_values_on_the_plugin(row, dtype):
    for name in ("main", "edges") if row.has_edges(dtype) else ("main",):
        args = ordinary(row.samples(dtype)[name])
        wants = leaves(row.run(jax, *map(jnp.asarray, args)))
        with on_plugin():
            outs = leaves(row.run(jax, *map(jnp.asarray, args)))
            for out, want in zip(outs, wants, strict=True):
                assert out.device.platform == PLATFORM
                assert out.weak_type == want.weak_type
                limit = ULP.get(str(out.dtype))
                assert_close(out, np.asarray(want), limit, row.margin(dtype) + 1e-30)


def ordinary(args):
    """Vectors of edges without numbers whose squares overflow or vanish."""
    if any(x.ndim != 1 or not is_inexact(x.dtype) for x in args):
        return args
    if len({x.shape for x in args}) > 1 or not args:
        return args
    with np.errstate(all="ignore"):
        sizes = [np.abs(x).astype(np.float64) for x in args]
    kept = [~np.isfinite(s) | (s == 0) | ((s > 1e-6) & (s < 1e6)) for s in sizes]
    return [x[np.logical_and.reduce(kept)] for x in args]
