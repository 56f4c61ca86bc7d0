"""Resampling of images, against definitions and known values."""

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad.image import ResizeMethod, resize, scale_and_translate

METHODS = [
    "nearest",
    "linear",
    "lanczos3",
    "lanczos5",
    "cubic",
    "cubic-pytorch",
    "area",
]


def close(got, wanted, atol=2e-6):
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=atol)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("antialias", [True, False])
def test_constants_stay_and_shapes_fit(method, antialias):
    image = jnp.full((5, 7, 2), 3.5)
    for shape in ((8, 3, 2), (5, 7, 2), (1, 20, 2), (0, 7, 2)):
        got = resize(image, shape, method, antialias)
        close(got, np.full(shape, 3.5), 1e-5)
    got = jax.jit(lambda x: resize(x, (8, 3, 2), method))(image)
    assert got.shape == (8, 3, 2)


def test_known_values():
    x = jnp.arange(4.0)
    close(resize(x, (2,), "area"), [0.5, 2.5])
    close(resize(x, (2,), "linear", antialias=False), [0.5, 2.5])
    close(resize(x, (2,), "linear"), [5 / 7, 16 / 7])
    close(resize(x, (8,), "linear"), [0, 0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3])
    assert resize(jnp.arange(6), (4,), "nearest").tolist() == [0, 2, 3, 5]
    assert resize(jnp.arange(6), (3,), "nearest").dtype == jnp.int32
    assert resize(jnp.arange(6), (3,), "linear").dtype == jnp.float32
    # A cubic kernel reproduces squares away from the edges.
    n = np.arange(20.0)
    got = resize(jnp.array(n**2), (40,), "cubic", antialias=False)
    close(got[8:-8], ((np.arange(40) + 0.5) / 2 - 0.5)[8:-8] ** 2, 1e-3)


def test_cubic_pytorch_repeats_edges():
    # By hand: the kernel with a = -3/4 at distances 1.75, .75, .25, 1.25.
    def kernel(x, a=-0.75):
        if x < 1:
            return (a + 2) * x**3 - (a + 3) * x**2 + 1
        return a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a

    w = [kernel(d) for d in (1.75, 0.75, 0.25, 1.25)]
    got = resize(jnp.array([1.0, 2, 4]), (6,), "cubic-pytorch", antialias=False)
    close(got[0], w[0] * 1 + w[1] * 1 + w[2] * 1 + w[3] * 2)
    close(got[2], w[0] * 1 + w[1] * 1 + w[2] * 2 + w[3] * 4)


def test_scale_and_translate():
    rng = np.random.default_rng(0)
    image = jnp.array(rng.normal(size=(6, 5, 3)), dtype=jnp.float32)
    one, none = jnp.ones(2), jnp.zeros(2)
    for method in METHODS[1:]:
        got = scale_and_translate(image, (6, 5, 3), (0, 1), one, none, method)
        close(got, image, 1e-5)
        wanted = resize(image, (12, 15, 3), method)
        factors = jnp.array([2.0, 3.0])
        got = scale_and_translate(image, (12, 15, 3), (0, -2), factors, none, method)
        close(got, wanted, 1e-5)
    got = scale_and_translate(image, (6, 5, 3), (0,), one[:1], -one[:1], "linear")
    close(got[:5], image[1:])
    close(got[5], 0)

    def total(move):
        moved = scale_and_translate(image, (6, 5, 3), (0, 1), one, move, "cubic")
        return (moved * image).sum()

    move, step = jnp.array([0.3, -0.4]), 1e-2
    for i in range(2):
        ahead, behind = move.at[i].add(step), move.at[i].add(-step)
        wanted = (total(ahead) - total(behind)) / (2 * step)
        np.testing.assert_allclose(jax.grad(total)(move)[i], wanted, rtol=1e-2)


def test_gradient_is_the_transpose():
    x, y = jnp.arange(12.0).reshape(3, 4), jnp.ones((5, 2))
    for method in METHODS:
        f = lambda x, m=method: resize(x, (5, 2), m)
        _, back = jax.vjp(f, x)
        weights = np.array([f(e.reshape(3, 4)) for e in jnp.eye(12)])
        close(back(y)[0].ravel(), weights.reshape(12, -1) @ y.ravel())


def test_mistakes():
    x = jnp.ones((3, 4))
    with pytest.raises(ValueError, match="each of the 2 axes"):
        resize(x, (3,), "linear")
    with pytest.raises(ValueError, match="method must be one of"):
        resize(x, (3, 3), "sharp")
    with pytest.raises(ValueError, match="axis 0 of the image is empty"):
        resize(jnp.ones((0, 4)), (3, 4), "linear")
    with pytest.raises(ValueError, match="'nearest' is not supported"):
        scale_and_translate(x, (3, 4), (0,), jnp.ones(1), jnp.ones(1), "nearest")
    with pytest.raises(ValueError, match="scale must have one element"):
        scale_and_translate(x, (3, 4), (0,), jnp.ones(2), jnp.ones(1), "linear")
    with pytest.raises(ValueError, match="is not in spatial_dims"):
        scale_and_translate(x, (3, 5), (0,), jnp.ones(1), jnp.ones(1), "linear")
    assert ResizeMethod.from_string("lanczos5") is ResizeMethod.LANCZOS5
