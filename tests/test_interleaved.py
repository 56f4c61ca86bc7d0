"""Reads and writes of every second, third or fourth element, and backwards."""

import re

import ml_dtypes
import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp

DTYPES = [
    "bool",
    "int8",
    "int16",
    "float16",
    ml_dtypes.bfloat16,
    "int32",
    "float32",
    "int64",
    "float64",
    "complex64",
    "complex128",
]


def numbers(dtype, *shape):
    found = np.random.default_rng(0).integers(0, 100, shape).astype(dtype)
    if found.dtype.kind == "c":
        found += 1j * found[..., ::-1]
    return found


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("step", [2, 3, 4, 5, -1, -2])
def test_strided_reads(dtype, step):
    with jax.enable_x64(True):
        for length in (1, 7, 31, 64, 257):
            x = numbers(dtype, 3, length * abs(step) + 1)
            for view in (
                lambda a: a[:, ::step],
                lambda a: a[1, ::step],
                lambda a: a[:, 1:][:, ::step],
            ):
                np.testing.assert_array_equal(jax.jit(view)(jnp.asarray(x)), view(x))
            got = jax.jit(lambda a: a[:, ::step].sum(1, dtype="float32"))
            if x.dtype.kind != "c":
                want = x[:, ::step].sum(1, dtype="float32")
                np.testing.assert_allclose(got(jnp.asarray(x)), want, rtol=1e-6)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("step", [2, 3, 4])
def test_channels_are_taken_apart_and_put_together(dtype, step):
    def turned(a):
        return jnp.stack([a[..., step - 1 - i] for i in range(step)], -1)

    with jax.enable_x64(True):
        for length in (1, 15, 16, 100):
            x = numbers(dtype, 2, length, step)
            got = jax.jit(turned)(jnp.asarray(x))
            np.testing.assert_array_equal(got, x[..., ::-1])


def test_channels_of_one_image_are_read_once():
    def gray(image):
        return 0.3 * image[..., 0] + 0.59 * image[..., 1] + 0.11 * image[..., 2]

    image = np.random.default_rng(0).random((33, 50, 3), dtype="float32")
    want = 0.3 * image[..., 0] + 0.59 * image[..., 1] + 0.11 * image[..., 2]
    np.testing.assert_allclose(jax.jit(gray)(jnp.asarray(image)), want, rtol=1e-6)
    text = jax.see.program(gray)(jnp.asarray(image)).llvm
    assert "gather" in text  # the tail
    assert len(re.findall(r"= load <\d+ x float>", text)) == 3


@pytest.mark.parametrize(
    "shape, axes",
    [
        ((1000, 3), (0,)),
        ((7, 100, 2), (1,)),
        ((5, 90, 60, 3), (1, 2)),
        ((40, 64, 3), (0,)),
        ((3, 40, 4, 5), (0, 1)),
        ((20000, 3), (0,)),
        ((33, 40, 2, 3), (1,)),
    ],
)
def test_folds_in_front_of_few_kept_elements(shape, axes):
    x = np.random.default_rng(0).random(shape, dtype="float32")
    for view in (lambda a: a, lambda a: a[::-1], lambda a: a * a[..., :1]):
        got = jax.jit(lambda a, view=view: view(a).sum(axes))(jnp.asarray(x))
        want = view(x).sum(axes, dtype="float64")
        np.testing.assert_allclose(got, want, rtol=2e-6)
        got = jax.jit(lambda a, view=view: view(a).max(axes))(jnp.asarray(x))
        np.testing.assert_array_equal(got, view(x).max(axes))
    got = jax.jit(lambda a: jnp.argmax(a, axes[0]))(jnp.asarray(x))
    np.testing.assert_array_equal(got, np.argmax(x, axes[0]))


def test_what_is_written_is_not_walked_across_its_rows():
    def both(a):
        doubled = a * 2
        return doubled, doubled.sum(0)

    x = np.random.default_rng(0).random((500, 3), dtype="float32")
    doubled, total = jax.jit(both)(jnp.asarray(x))
    np.testing.assert_array_equal(doubled, x * 2)
    np.testing.assert_allclose(total, (x * 2).sum(0), rtol=1e-6)
    text = jax.see.program(both)(jnp.asarray(x)).loops
    assert "write f32 strided" not in text
