"""Fourier transforms of every length against NumPy, their derivatives, and jnp.fft."""

import numpy as np
import pytest
from plugin import needs_plugin, on_plugin

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax

# Powers, composites, primes of a stage, primes of a chirp, and axes taken in two parts.
LENGTHS = [*range(1, 40), 61, 67, 97, 128, 210, 256, 360, 1000, 1009, 2048, 4096, 4099,
           8192, 10_000, 65_536]  # fmt: skip
MARGIN = {"complex64": 3e-6, "complex128": 1e-14}


@pytest.fixture(autouse=True)
def wide():
    with jax.enable_x64(True):
        yield


def random(seed, *shape):
    rng = np.random.default_rng(seed)
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


@pytest.mark.parametrize("n", LENGTHS)
def test_every_length(n):
    batches = ((), (3,), (20,)) if n <= 256 else ((),)
    for batch in batches:
        for dtype, margin in MARGIN.items():
            x = random(n, *batch, n).astype(dtype)
            half = x[..., : n // 2 + 1]
            cases = {
                "FFT": (x, np.fft.fft(x.astype("c16"))),
                "IFFT": (x, np.fft.ifft(x.astype("c16"))),
                "RFFT": (x.real.copy(), np.fft.rfft(x.real.astype("f8"))),
                "IRFFT": (half, np.fft.irfft(half.astype("c16"), n)),
            }
            for kind, (operand, expected) in cases.items():
                got = np.asarray(lax.fft(jnp.array(operand), kind, (n,)))
                error = np.abs(got - expected).max()
                assert error <= 2 * margin * np.abs(expected).max(), (kind, dtype)


def test_several_axes_and_short_inner_ones():
    x = random(0, 2, 6, 10, 8)
    np.testing.assert_allclose(jnp.fft.fftn(x), np.fft.fftn(x), atol=1e-9)
    for axis in range(4):
        np.testing.assert_allclose(
            jnp.fft.fft(x, axis=axis), np.fft.fft(x, axis=axis), atol=1e-10
        )
    long = random(1, 2, 4096, 3)
    np.testing.assert_allclose(
        jnp.fft.fft(long, axis=1), np.fft.fft(long, axis=1), atol=1e-9
    )


@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
@pytest.mark.parametrize("n", [None, 4, 7, 12])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_numpys_functions_of_one_axis(name, n, norm):
    x = random(0, 3, 8)
    if name in ("rfft", "ihfft"):
        x = x.real
    ours, theirs = getattr(jnp.fft, name), getattr(np.fft, name)
    np.testing.assert_allclose(ours(x, n, 1, norm), theirs(x, n, 1, norm), atol=1e-12)
    np.testing.assert_allclose(ours(x, n, 0, norm), theirs(x, n, 0, norm), atol=1e-12)


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
def test_numpys_functions_of_several_axes(name, norm):
    x = random(0, 4, 5, 6)
    x = x.real if name == "rfftn" else x
    ours, theirs = getattr(jnp.fft, name), getattr(np.fft, name)
    for s, axes in ((None, None), ((3, 8), (0, 2)), (None, (2, 1)), ((7, 4), (-1, 0))):
        expected = theirs(x, s, axes, norm)
        np.testing.assert_allclose(ours(x, s, axes, norm), expected, atol=1e-12)
    two = name.replace("n", "2")
    np.testing.assert_allclose(
        getattr(jnp.fft, two)(x, norm=norm), getattr(np.fft, two)(x, norm=norm),
        atol=1e-12,
    )  # fmt: skip


def test_frequencies_and_shifts():
    for n in (1, 4, 5, 9):
        np.testing.assert_allclose(jnp.fft.fftfreq(n, 0.1), np.fft.fftfreq(n, 0.1))
        np.testing.assert_allclose(jnp.fft.rfftfreq(n, 2), np.fft.rfftfreq(n, 2))
    x = np.arange(20).reshape(4, 5)
    for axes in (None, 0, (1,), (0, 1)):
        np.testing.assert_array_equal(
            jnp.fft.fftshift(x, axes), np.fft.fftshift(x, axes)
        )
        np.testing.assert_array_equal(
            jnp.fft.ifftshift(x, axes), np.fft.ifftshift(x, axes)
        )


@pytest.mark.parametrize("n", [1, 2, 7, 8])
@pytest.mark.parametrize("kind", ["FFT", "IFFT", "RFFT", "IRFFT"])
def test_derivatives(kind, n):
    def f(x):
        return lax.fft(x, kind, (n,))

    def operand(seed):
        x = random(seed, 3, n)
        if kind == "RFFT":
            return jnp.array(x.real)
        return jnp.array(x[:, : n // 2 + 1] if kind == "IRFFT" else x)

    a, v = operand(0), operand(1)
    out, tangent = jax.jvp(f, (a,), (v,))
    np.testing.assert_allclose(tangent, f(v), atol=1e-12)
    ct = random(2, *out.shape)
    ct = jnp.array(ct if out.dtype.kind == "c" else ct.real)
    (back,) = jax.vjp(f, a)[1](ct)
    assert back.dtype == a.dtype
    left, right = np.sum(back * v), np.sum(ct * tangent)
    np.testing.assert_allclose(left.real, right.real, rtol=1e-9)


def test_vmap_jit_and_empty_batches():
    x = jnp.array(random(0, 4, 3, 16))
    wanted = jnp.fft.fft(x)
    np.testing.assert_array_equal(jax.vmap(jnp.fft.fft)(x), wanted)
    np.testing.assert_array_equal(jax.jit(jnp.fft.fft)(x), wanted)
    assert jnp.fft.fft(jnp.zeros((0, 4))).shape == (0, 4)


@needs_plugin
def test_on_a_plugin():
    x = random(0, 3, 12).astype("complex64")
    with on_plugin():
        for f, g in ((jnp.fft.fft, np.fft.fft), (jnp.fft.irfft, np.fft.irfft)):
            np.testing.assert_allclose(f(jnp.array(x)), g(x), atol=1e-4)


def test_words_about_wrong_arguments():
    x = jnp.ones(4)
    with pytest.raises(ValueError, match="takes real arrays"):
        jnp.fft.rfft(x * 1j)
    with pytest.raises(ValueError, match="norm must be None or one of"):
        jnp.fft.fft(x, norm="unit")
    with pytest.raises(ValueError, match="lengths of at least 1"):
        jnp.fft.fft(x, n=0)
    with pytest.raises(ValueError, match="fft_type must be one of"):
        lax.fft(x, "DFT", (4,))
    assert lax.fft(x, "FFT", (4,)).aval.kind == "c"  # real numbers, too
    assert lax.fft(x, "IRFFT", (6,)).aval.kind == "f"
    with pytest.raises(ValueError, match=r"last extents are \(3,\)"):
        lax.fft(x * 1j, "IRFFT", (4,))
    with pytest.raises(ValueError, match="axis must be one integer"):
        jnp.fft.fft(x, axis=(0,))
