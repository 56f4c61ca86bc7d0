"""Convolutions and reductions over windows against plain loops, and their derivatives.

Both are linear in what they are differentiated by (extremes: locally), so derivatives are
checked exactly: forward mode by linearity, reverse mode by the product with a cotangent.
"""

import itertools
import random

import numpy as np
import pytest
from plugin import needs_plugin, on_plugin

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax
from tetrad.test_util import check_grads


def spread_and_padded(x, dilation, padding, fill):
    """`x` with holes and surroundings; negative padding cuts."""
    shape = [max(n - 1, 0) * d + min(n, 1) for n, d in zip(x.shape, dilation)]
    wide = np.full(shape, fill, x.dtype)
    wide[tuple(slice(None, None, d) for d in dilation)] = x
    around = np.pad(
        wide,
        [(max(lo, 0), max(hi, 0)) for lo, hi in padding],
        constant_values=fill,
    )
    cuts = [
        slice(max(-lo, 0), n - max(-hi, 0))
        for (lo, hi), n in zip(padding, around.shape)
    ]
    return around[tuple(cuts)]


def same(shape, reach, strides):
    pairs = []
    for n, r, s in zip(shape, reach, strides):
        total = max((-(-n // s) - 1) * s + r - n, 0)
        pairs.append((total // 2, total - total // 2))
    return pairs


def reference(x, w, stride, padding, lhs_dilation, rhs_dilation, groups, batches):
    """lhs[n, c, …] and rhs[o, c, …], place by place and tap by tap."""
    n_axes = x.ndim - 2
    reach = [(k - 1) * d + 1 for k, d in zip(w.shape[2:], rhs_dilation)]
    if isinstance(padding, str):
        none = [(0, 0)] * n_axes
        padding = none if padding == "VALID" else same(x.shape[2:], reach, stride)
    x = spread_and_padded(x, (1, 1, *lhs_dilation), [(0, 0), (0, 0), *padding], 0)
    if batches > 1:
        n, c, *rest = x.shape
        x = x.reshape(batches, n // batches, c, *rest)
        x = np.moveaxis(x, 0, 1).reshape(n // batches, batches * c, *rest)
        groups = batches
    places = [
        max((n - r) // s + 1, 0) if n >= r else 0
        for n, r, s in zip(x.shape[2:], reach, stride)
    ]
    out = np.zeros((x.shape[0], w.shape[0], *places), np.float64)
    cg, og = w.shape[1], w.shape[0] // groups
    for q in itertools.product(*map(range, places)):
        for k in itertools.product(*map(range, w.shape[2:])):
            at = [i * s + j * d for i, s, j, d in zip(q, stride, k, rhs_dilation)]
            for g in range(groups):
                part = x[(slice(None), slice(g * cg, g * cg + cg), *at)]
                rows = slice(g * og, g * og + og)
                out[(slice(None), rows, *q)] += part @ w[(rows, slice(None), *k)].T
    return out


def case(seed):
    """A random convolution: operands in the usual layout, arguments, and layouts."""
    r = random.Random(seed)
    rng = np.random.default_rng(seed)
    axes = r.choice([1, 2, 2, 3])
    groups = r.choice([1, 1, 2, 3])
    batches = groups if r.random() < 0.3 else 1
    groups = 1 if batches > 1 else groups
    cg, og, n = r.choice([1, 2, 3]), r.choice([1, 2, 4]), r.choice([1, 2])
    several = max(groups, batches)
    extents = [r.randint(3, 7) for _ in range(axes)]
    kernel = [r.randint(1, 4) for _ in range(axes)]
    x = rng.normal(size=(n * batches, cg * groups, *extents))
    w = rng.normal(size=(several * og, cg, *kernel))
    ones = (1,) * axes
    strides = tuple(r.choice([1, 1, 2, 3]) for _ in range(axes))
    holes = tuple(r.choice([1, 2]) for _ in range(axes)) if r.random() < 0.4 else ones
    if holes != ones and r.random() < 0.5:
        strides = ones
    apart = tuple(r.choice([1, 1, 2]) for _ in range(axes))
    padding = [(r.randint(-1, 3), r.randint(-1, 3)) for _ in range(axes)]
    if holes == ones and r.random() < 0.3:
        padding = r.choice(["SAME", "VALID"])
    letters = "DHW"[3 - axes :]
    layouts = [
        "".join(r.sample(s + letters, len(s + letters))) for s in ("NC", "OI", "NC")
    ]
    # Strides and padding follow the order in which the kernel names the axes.
    letters = "".join(c for c in layouts[1] if c not in "OI")
    args = (strides, padding, holes, apart, groups, batches)
    return x, w, args, letters, layouts


def turned(x, names, order):
    return np.transpose(x, [names.index(c) for c in order])


@pytest.mark.parametrize("seed", range(40))
def test_random_convolutions(seed):
    x, w, args, letters, layouts = case(seed)
    strides, padding, holes, apart, groups, batches = args
    expected = turned(reference(x, w, *args), "NC" + letters, layouts[2])

    def f(x, w):
        return lax.conv_general_dilated(
            x, w, strides, padding, holes, apart, tuple(layouts), groups, batches
        )

    with jax.enable_x64(True):
        lhs = jnp.array(turned(x, "NC" + letters, layouts[0]))
        rhs = jnp.array(turned(w, "OI" + letters, layouts[1]))
        out, pull = jax.vjp(f, lhs, rhs)
        np.testing.assert_allclose(out, expected, rtol=1e-9, atol=1e-9)
        if not expected.size:
            return
        rng = np.random.default_rng(seed + 1)
        ct, dx, dw = (rng.normal(size=y.shape) for y in (expected, lhs, rhs))
        by_lhs, by_rhs = pull(jnp.array(ct))
        np.testing.assert_allclose(np.sum(by_lhs * dx), np.sum(ct * f(dx, rhs)))
        np.testing.assert_allclose(np.sum(by_rhs * dw), np.sum(ct * f(lhs, dw)))
        if seed % 4:
            return
        # vmap over either operand or both
        xs, ws = (jnp.stack([y, 2 * y, y - 1]) for y in (lhs, rhs))
        for axes in ((0, None), (None, 0), (0, 0)):
            got = jax.vmap(f, axes)(
                xs if axes[0] == 0 else lhs, ws if axes[1] == 0 else rhs
            )
            for i in range(3):
                wanted = f(
                    xs[i] if axes[0] == 0 else lhs, ws[i] if axes[1] == 0 else rhs
                )
                np.testing.assert_allclose(got[i], wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("shape", "kernel", "strides", "groups"),
    [
        ((3, 40, 44, 6), (3, 3, 6, 8), (1, 1), 1),
        ((2, 65, 66, 3), (7, 7, 3, 16), (2, 2), 1),
        ((9, 30, 31, 8), (3, 3, 2, 12), (1, 2), 4),
        ((1, 3000, 5), (9, 5, 7), (3,), 1),
    ],
)
def test_large_convolutions_in_blocks(shape, kernel, strides, groups):
    """Images of several blocks of patches, and several tasks."""
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=shape).astype("f4"), rng.normal(size=kernel).astype("f4")
    n = len(shape) - 2
    letters = "DHW"[3 - n :]
    layout = (f"N{letters}C", f"{letters}IO", f"N{letters}C")

    def f(x, w):
        return lax.conv_general_dilated(
            x, w, strides, "SAME", None, None, layout, groups
        )

    ones = (1,) * n
    wanted = reference(
        np.moveaxis(x, -1, 1), np.moveaxis(w, (-1, -2), (0, 1)), strides, "SAME", ones,
        ones, groups, 1,
    )  # fmt: skip
    wanted = np.moveaxis(wanted, 1, -1)
    out, pull = jax.vjp(f, jnp.array(x), jnp.array(w))
    np.testing.assert_allclose(out, wanted, rtol=1e-3, atol=1e-3)
    ct = rng.normal(size=out.shape).astype("f4")
    by_lhs, by_rhs = pull(jnp.array(ct))
    scale = np.sqrt(out.size)
    for got, at, direction in ((by_lhs, 0, x), (by_rhs, 1, w)):
        moved = rng.normal(size=direction.shape).astype("f4")
        along = f(moved, w) if at == 0 else f(x, moved)
        left = np.sum(np.asarray(got, "f8") * moved)
        right = np.sum(np.asarray(along, "f8") * ct)
        assert abs(left - right) < 1e-3 * scale


@pytest.mark.parametrize(
    "dtype", ["int32", "float16", "bfloat16", "complex64", "uint8"]
)
def test_other_dtypes(dtype):
    rng = np.random.default_rng(0)
    x = jnp.array(rng.integers(0, 4, (2, 3, 6, 5))).astype(dtype)
    w = jnp.array(rng.integers(0, 3, (4, 3, 2, 2))).astype(dtype)
    out = lax.conv(x, w, (1, 2), "SAME")
    assert out.dtype == x.dtype
    real = [np.asarray(y).real.astype("float32") for y in (x, w)]
    wanted = reference(*real, (1, 2), "SAME", (1, 1), (1, 1), 1, 1)
    np.testing.assert_array_equal(np.asarray(out).real.astype("float64"), wanted)
    if dtype == "float16":
        wide = lax.conv(x, w, (1, 2), "SAME", preferred_element_type=jnp.float32)
        assert wide.dtype == jnp.float32


def test_transposed_convolutions_undo_shapes():
    for padding, extent in (("SAME", 12), ("VALID", 13)):
        y = lax.conv_transpose(jnp.ones((2, 4, 3)), jnp.ones((4, 3, 5)), (3,), padding)
        assert y.shape == (2, extent, 5)
    # With transpose_kernel it is the gradient of the forward convolution.
    x, w = jnp.ones((1, 9, 2)), jnp.arange(24.0).reshape(3, 2, 4)
    layout = ("NHC", "HIO", "NHC")

    def forward(x):
        return lax.conv_general_dilated(x, w, (2,), "VALID", dimension_numbers=layout)

    out, pull = jax.vjp(forward, x)
    back = lax.conv_transpose(
        jnp.ones_like(out), w, (2,), "VALID", transpose_kernel=True
    )
    np.testing.assert_allclose(back, pull(jnp.ones_like(out))[0])


def test_patches_are_what_a_kernel_sees():
    x = np.random.default_rng(0).normal(size=(2, 5, 6, 3)).astype("f4")
    w = np.random.default_rng(1).normal(size=(4, 3, 2, 3)).astype("f4")
    numbers = ("NHWC", "OIHW", "NHWC")
    patches = lax.conv_general_dilated_patches(
        x, (2, 3), (1, 2), "SAME", dimension_numbers=numbers
    )
    product = np.asarray(patches) @ w.reshape(4, -1).T
    direct = lax.conv_general_dilated(x, w, (1, 2), "SAME", dimension_numbers=numbers)
    np.testing.assert_allclose(product, direct, rtol=1e-4, atol=1e-4)


# --------------------------------------------------------------------------- windows

FOLDS = {
    "add": (lax.add, 0.0, np.sum),
    "max": (lax.max, -np.inf, np.max),
    "min": (lax.min, np.inf, np.min),
    "mul": (lax.mul, 1.0, np.prod),
}


def windowed(x, init, fold, window, strides, padding, holes, apart):
    reach = [(k - 1) * d + 1 for k, d in zip(window, apart)]
    if isinstance(padding, str):
        none = [(0, 0)] * x.ndim
        padding = none if padding == "VALID" else same(x.shape, reach, strides)
    x = spread_and_padded(x, holes, padding, init)
    places = [
        (n - r) // s + 1 if n >= r else 0 for n, r, s in zip(x.shape, reach, strides)
    ]
    out = np.empty(places, x.dtype)
    for q in np.ndindex(*places):
        box = tuple(
            slice(i * s, i * s + r, d) for i, s, r, d in zip(q, strides, reach, apart)
        )
        out[q] = fold(x[box])
    return out


@pytest.mark.parametrize("seed", range(15))
@pytest.mark.parametrize("name", FOLDS)
def test_random_windows(name, seed):
    r = random.Random(seed)
    axes = r.choice([1, 2, 3])
    x = np.random.default_rng(seed).normal(size=[r.randint(1, 8) for _ in range(axes)])
    window, strides = ([r.randint(1, 3) for _ in range(axes)] for _ in range(2))
    ones = [1] * axes
    holes = r.choice([ones, [r.randint(1, 2) for _ in range(axes)]])
    apart = r.choice([ones, [r.randint(1, 2) for _ in range(axes)]])
    pairs = [(r.randint(0, 2), r.randint(0, 2)) for _ in range(axes)]
    padding = r.choice(["SAME", "VALID", pairs])
    function, init, fold = FOLDS[name]

    def f(x):
        return lax.reduce_window(
            x, init, function, window, strides, padding, holes, apart
        )

    with jax.enable_x64(True):
        expected = windowed(x, init, fold, window, strides, padding, holes, apart)
        out = f(jnp.array(x))
        np.testing.assert_allclose(out, expected, rtol=1e-12)
        if name == "mul" or not expected.size:
            return
        np.testing.assert_array_equal(jax.vmap(f)(jnp.array([x, x + 1]))[1], f(x + 1))
        v = np.random.default_rng(seed + 1).normal(size=x.shape)
        ct = np.random.default_rng(seed + 2).normal(size=expected.shape)
        out, tangent = jax.jvp(f, (jnp.array(x),), (jnp.array(v),))
        ahead, behind = f(jnp.array(x + 1e-7 * v)), f(jnp.array(x - 1e-7 * v))
        finite = np.isfinite(expected)
        wanted = (np.asarray(ahead)[finite] - np.asarray(behind)[finite]) / 2e-7
        np.testing.assert_allclose(
            np.asarray(tangent)[finite], wanted, rtol=1e-6, atol=1e-6
        )
        (back,) = jax.vjp(f, jnp.array(x))[1](jnp.array(ct))
        np.testing.assert_allclose(np.sum(back * v), np.sum(ct * np.asarray(tangent)))


def test_windows_of_several_arrays_and_any_function():
    values, places = jnp.array([3.0, 1.0, 2.0, 5.0]), jnp.arange(4)

    def larger(a, b):
        keep = a[0] >= b[0]
        return lax.select(keep, a[0], b[0]), lax.select(keep, a[1], b[1])

    best, where = lax.reduce_window(
        (values, places), (-jnp.inf, -1), larger, (2,), (1,), "VALID"
    )
    np.testing.assert_array_equal(best, [3, 2, 5])
    np.testing.assert_array_equal(where, [0, 2, 3])


@needs_plugin
def test_on_a_plugin():
    x = np.random.default_rng(0).normal(size=(2, 3, 8, 8)).astype("f4")
    w = np.random.default_rng(1).normal(size=(4, 3, 3, 3)).astype("f4")

    def loss(x, w):
        h = lax.conv(x, w, (2, 2), "SAME")
        h = lax.reduce_window(h, 0.0, lax.add, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
        h = lax.reduce_window(h, -jnp.inf, lax.max, (1, 1, 2, 1), (1, 1, 1, 1), "SAME")
        return jnp.sum(jnp.sin(h))

    here = jax.value_and_grad(loss, (0, 1))(jnp.array(x), jnp.array(w))
    with on_plugin():
        there = jax.value_and_grad(loss, (0, 1))(jnp.array(x), jnp.array(w))
        for got, wanted in zip(jax.tree.leaves(there), jax.tree.leaves(here)):
            np.testing.assert_allclose(got, wanted, rtol=1e-3, atol=1e-3)


def test_words_about_wrong_arguments():
    x, w = jnp.ones((1, 3, 5, 5)), jnp.ones((4, 2, 3, 3))
    with pytest.raises(ValueError, match="3 features and rhs takes 2"):
        lax.conv(x, w, (1, 1), "SAME")
    with pytest.raises(ValueError, match='padding must be "SAME"'):
        lax.conv(x, jnp.ones((4, 3, 3, 3)), (1, 1), "FULL")
    with pytest.raises(ValueError, match="window_strides must have the same number"):
        lax.conv(x, jnp.ones((4, 3, 3, 3)), (1,), "SAME")
    with pytest.raises(ValueError, match="layout 'NHWX'"):
        lax.conv_general_dilated(
            x, x, (1, 1), "SAME", dimension_numbers=("NHWX", "HWIO", "NHWC")
        )
    with pytest.raises(TypeError, match="one dtype"):
        lax.conv(x, jnp.ones((4, 3, 3, 3), "bfloat16"), (1, 1), "SAME")
    with pytest.raises(ValueError, match="window_dimensions needs an entry for each"):
        lax.reduce_window(x, 0.0, lax.add, (2, 2), None, "VALID")
    with pytest.raises(ValueError, match="groups do not divide"):
        lax.conv_general_dilated(
            x, jnp.ones((4, 1, 3, 3)), (1, 1), "SAME", feature_group_count=3
        )


@pytest.mark.parametrize(
    "combine", [lax.mul, lambda a, b: a * b + 0 * a, jnp.logaddexp]
)
@pytest.mark.parametrize("padding", ["VALID", "SAME", ((1, 2), (0, 1))])
@pytest.mark.parametrize("how", [((1, 1), (1, 1), (1, 1)), ((2, 3), (2, 1), (1, 2))])
def test_derivatives_of_any_fold_over_windows(combine, padding, how):
    x = np.random.default_rng(2).uniform(0.5, 1.5, (5, 6))
    init = -np.inf if combine is jnp.logaddexp else 1.0
    strides, base, inside = how

    def folded(x):
        return lax.reduce_window(
            x, init, combine, (2, 3), strides, padding, base, inside
        )

    with jax.enable_x64(True):
        check_grads(folded, (x,), 2)


def test_windows_start_with_one_number():
    for function in (lax.add, lax.max, lambda x, y: x + y + 1):
        with pytest.raises(TypeError, match=r"init_values have shapes \[\(1,\)\]"):
            lax.reduce_window(jnp.ones(3), jnp.ones(1), function, (2,), (1,), "VALID")
