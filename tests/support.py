"""What the tests share: distances in ULP, bits, slopes by differences, pages, counts."""

import sys
from html.parser import HTMLParser

import ml_dtypes
import numpy as np

from tetrad._src.util.dtypes import SMALL_FLOATS

# Largest distance from the reference in units in the last place, by dtype. Reductions
# and products add up rounding errors; their rows state more, with a reason.
ULP = {"float16": 1, "bfloat16": 1, "float32": 4, "float64": 4, "complex64": 8,
       "complex128": 8}  # fmt: skip

MANTISSA = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}
SMALLEST = {"float16": -14, "bfloat16": -126, "float32": -126, "float64": -1022}
for _name, _dtype in SMALL_FLOATS.items():
    ULP[_name] = 1
    MANTISSA[_name] = int(ml_dtypes.finfo(_dtype).nmant)
    SMALLEST[_name] = int(ml_dtypes.finfo(_dtype).minexp)


def real_name(dtype):
    return {"complex64": "float32", "complex128": "float64"}.get(str(dtype), str(dtype))


def is_inexact(dtype):
    return real_name(dtype) in MANTISSA


def ulp_distance(got, want):
    """Elementwise |got - want| in ULP of `want`; equal infinities and NaN count as 0."""
    name = real_name(got.dtype)
    wide = np.clongdouble if got.dtype.kind == "c" else np.longdouble
    got = got.astype(wide)
    want = want.astype(wide)
    with np.errstate(all="ignore"):
        same = (got == want) | (np.isnan(got) & np.isnan(want))
        _, exponent = np.frexp(np.abs(want))
        exponent = np.maximum(exponent - 1, SMALLEST[name])
        unit = np.ldexp(np.longdouble(1), exponent - MANTISSA[name])
        distance = np.where(same, 0, np.abs(got - want) / unit)
    return np.where(np.isnan(distance), np.inf, distance)


def assert_close(got, want, ulp=None, absolute=0.0):
    """Shapes and dtypes agree and no element is further off than the table allows."""
    got = np.asarray(got)
    want = np.asarray(want)
    assert got.shape == want.shape, f"shape {got.shape}, expected {want.shape}"
    assert got.dtype == want.dtype, f"dtype {got.dtype}, expected {want.dtype}"
    if not is_inexact(got.dtype):
        np.testing.assert_array_equal(got, want)
        return
    limit = ULP[str(got.dtype)] if ulp is None else ulp
    distance = ulp_distance(got, want)
    wide = np.clongdouble if got.dtype.kind == "c" else np.longdouble
    with np.errstate(all="ignore"):
        near = np.abs(got.astype(wide) - want.astype(wide)) <= absolute
    bad = (distance > limit) & ~near
    if bad.any():
        at = np.unravel_index(np.argmax(np.where(bad, distance, -1)), bad.shape)
        raise AssertionError(
            f"{int(bad.sum())} of {bad.size} elements are off by more than {limit} ulp;"
            f" worst at {[int(i) for i in at]}: got {got[at]!r},"
            f" expected {want[at]!r}, {float(distance[at]):.1f} ulp"
        )


def same_bits(got, want):
    """Elementwise: the same bits; all NaN count as one."""
    if got.dtype.kind == "c":
        return same_bits(got.real, want.real) & same_bits(got.imag, want.imag)
    if not is_inexact(got.dtype):
        return got == want
    equal = (got == want) & (np.signbit(got) == np.signbit(want))
    return equal | (np.isnan(got) & np.isnan(want))


def assert_bits(got, want, note=""):
    """The same shape, dtype and bits."""
    got = np.asarray(got)
    want = np.asarray(want)
    assert got.shape == want.shape, f"{note}: shape {got.shape}, expected {want.shape}"
    assert got.dtype == want.dtype, f"{note}: dtype {got.dtype}, expected {want.dtype}"
    same = same_bits(got, want)
    assert np.all(same), f"{note}: {got[~same]!r}, expected {want[~same]!r}"


def direction(x, seed):
    """A random tangent for an inexact array."""
    rng = np.random.default_rng(seed)
    t = rng.standard_normal(x.shape)
    if x.dtype.kind == "c":
        t = t + 1j * rng.standard_normal(x.shape)
    return np.asarray(t, x.dtype)


def slopes(fun, args, tangents, step=1e-4):
    """The derivatives of `fun` along `tangents`: central differences, extrapolated once."""

    def moved(h):
        outs = fun(*[a if t is None else a + h * t for a, t in zip(args, tangents)])
        return [np.asarray(o) for o in outs]

    def central(h):
        return [(p - m) / (2 * h) for p, m in zip(moved(h), moved(-h))]

    return [(4 * a - b) / 3 for a, b in zip(central(step / 2), central(step))]


def inner(xs, ys):
    """The real part of the bilinear pairing that transposition preserves."""
    return sum(
        float(np.sum(np.asarray(x) * np.asarray(y)).real) for x, y in zip(xs, ys)
    )


class Page(HTMLParser):
    """The elements of a page; complains about those that are not closed in order."""

    VOID = ("meta", "br", "img", "link")

    def __init__(self, text):
        super().__init__()
        self.open = []
        self.elements = []
        self.texts = {}  # by the element they stand in
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        tag = self.open[-1] if self.open else ""
        self.texts.setdefault(tag, []).append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def words(self):
        return [text for texts in self.texts.values() for text in texts]


def calls_of(run):
    """How many Python functions `run` calls."""
    count = 0

    def see(frame, event, argument):
        nonlocal count
        count += event == "call"

    sys.setprofile(see)
    try:
        run()
    finally:
        sys.setprofile(None)
    return count
