"""What the tests share: distances in ULP, sample values, and loops that stand for vmap."""

import numpy as np

import tetrad as jax
import tetrad.numpy as jnp

# Largest distance from the reference in units in the last place, by dtype. Reductions
# and products add up rounding errors; their rows state more, with a reason.
ULP = {"float16": 1, "bfloat16": 1, "float32": 4, "float64": 4, "complex64": 8,
       "complex128": 8}  # fmt: skip

MANTISSA = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}


def real_name(dtype):
    return {"complex64": "float32", "complex128": "float64"}.get(str(dtype), str(dtype))


def ulp_distance(got, want):
    """Elementwise |got - want| in ULP of `want`; equal infinities and NaN count as 0."""
    name = real_name(got.dtype)
    if np.iscomplexobj(got):
        scale = np.abs(want)
        got = np.asarray(got, np.complex128)
        want = np.asarray(want, np.complex128)
    else:
        got = np.asarray(got, np.float64)
        want = np.asarray(want, np.float64)
        scale = np.abs(want)
    with np.errstate(all="ignore"):
        same = (got == want) | (np.isnan(got) & np.isnan(want))
        tiny = {"float16": 2.0**-14, "bfloat16": 2.0**-126, "float32": 2.0**-126,
                "float64": 2.0**-1022}[name]  # fmt: skip
        exponent = np.floor(np.log2(np.maximum(scale.astype(np.float64), tiny)))
        unit = 2.0 ** (exponent - MANTISSA[name])
        distance = np.abs(got - want) / unit
    distance = np.where(same, 0, distance)
    return np.where(np.isnan(distance), np.inf, distance)


def assert_close(got, want, ulp=None, absolute=0.0):
    """Shapes and dtypes agree and no element is further off than the table allows."""
    got = np.asarray(got)
    want = np.asarray(want)
    assert got.shape == want.shape, f"shape {got.shape}, expected {want.shape}"
    assert got.dtype == want.dtype, f"dtype {got.dtype}, expected {want.dtype}"
    if not np.issubdtype(real_name(got.dtype) if got.dtype.kind == "c" else got.dtype, np.number) and got.dtype.kind != "V":
        np.testing.assert_array_equal(got, want)
        return
    if str(got.dtype) not in ULP:
        np.testing.assert_array_equal(got, want)
        return
    limit = ULP[str(got.dtype)] if ulp is None else ulp
    distance = ulp_distance(got, want)
    wide = np.complex128 if np.iscomplexobj(got) else np.float64
    with np.errstate(all="ignore"):
        near = np.abs(got.astype(wide) - want.astype(wide)) <= absolute
    bad = (distance > limit) & ~near
    if bad.any():
        at = np.unravel_index(np.argmax(np.where(bad, distance, -1)), bad.shape)
        raise AssertionError(
            f"{int(bad.sum())} of {bad.size} elements are off by more than {limit} ulp;"
            f" worst at {at}: got {got[at]!r}, expected {want[at]!r},"
            f" {float(distance[at]):.1f} ulp"
        )


def assert_bits(got, want):
    """The same shape, dtype and bits (all NaN count as one)."""
    got = np.asarray(got)
    want = np.asarray(want)
    assert got.shape == want.shape and got.dtype == want.dtype, (got, want)
    if got.dtype.kind in "fc":
        both_nan = np.isnan(got) & np.isnan(want)
        equal = (got == want) & (np.signbit(got.real) == np.signbit(want.real))
        assert (equal | both_nan).all(), f"bits differ: {got!r} and {want!r}"
    else:
        assert got.tobytes() == want.tobytes(), f"bits differ: {got!r} and {want!r}"


def loop(fun, in_axes, size):
    """vmap as a Python loop: the specification that vmap is tested against."""

    def looped(*args):
        lanes = []
        for i in range(size):
            lane = [
                a if axis is None else jnp.take(a, i, axis=axis)
                for a, axis in zip(args, in_axes)
            ]
            lanes.append(fun(*lane))
        return jax.tree.map(lambda *xs: jnp.stack(xs), *lanes)

    return looped
