"""Transforms, convolutions and interpolation against SciPy."""

import numpy as np
import pytest
import scipy.fft
import scipy.ndimage
import scipy.signal

import tetrad as jax
import tetrad.numpy as jnp
from tetrad.scipy import fft, integrate, ndimage, signal


@pytest.fixture(autouse=True)
def wide():
    with jax.enable_x64(True):
        yield


def close(got, wanted):
    np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-10)


def test_cosine_transforms():
    rng = np.random.default_rng(0)
    for size in (1, 2, 3, 7, 8):
        x = rng.normal(size=(3, size, 2))
        for norm in (None, "ortho", "backward"):
            for n in (None, 5, 12):
                for name in ("dct", "idct"):
                    got = getattr(fft, name)(x, n=n, axis=1, norm=norm)
                    close(got, getattr(scipy.fft, name)(x, n=n, axis=1, norm=norm))
            for name in ("dctn", "idctn"):
                for s, axes in ((None, None), ((4, 3), None), ((4,), (0,))):
                    got = getattr(fft, name)(x, s=s, axes=axes, norm=norm)
                    wanted = getattr(scipy.fft, name)(x, s=s, axes=axes, norm=norm)
                    close(got, wanted)
    z = x + 1j * x[::-1]
    close(fft.dct(z), scipy.fft.dct(z))
    assert fft.dct(jnp.arange(4, dtype=jnp.float32)).dtype == jnp.float32
    _, slope = jax.jvp(fft.dct, (x,), (2 * x,))
    close(slope, 2 * fft.dct(x))
    with pytest.raises(NotImplementedError, match="type 2"):
        fft.dct(x, 3)
    with pytest.raises(ValueError, match="norm must be"):
        fft.idct(x, norm="forward")
    with pytest.raises(ValueError, match="lengths"):
        fft.dctn(x, s=(2, 2), axes=(0,))


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("kind", ["real", "complex"])
def test_convolutions(mode, kind):
    rng = np.random.default_rng(0)
    shapes = [((7,), (3,)), ((3,), (8,)), ((6, 5), (2, 3)), ((4, 4), (4, 4)),
              ((4, 5, 3), (2, 2, 2))]  # fmt: skip
    for one, two in shapes:
        x, y = rng.normal(size=one), rng.normal(size=two)
        if kind == "complex":
            x, y = x + 1j * rng.normal(size=one), y + 1j * rng.normal(size=two)
        for name in ("convolve", "correlate"):
            for method in ("auto", "direct", "fft"):
                got = getattr(signal, name)(x, y, mode, method)
                close(got, getattr(scipy.signal, name)(x, y, mode, method))
        if x.ndim == 2:
            for name in ("convolve2d", "correlate2d"):
                got = getattr(signal, name)(x, y, mode)
                close(got, getattr(scipy.signal, name)(x, y, mode))
                if mode != "valid":
                    got = getattr(signal, name)(y, x, mode)
                    close(got, getattr(scipy.signal, name)(y, x, mode))
            got = signal.fftconvolve(x, y[:1], mode, axes=1)
            close(got, scipy.signal.fftconvolve(x, y[:1], mode, axes=1))


def test_mistakes_of_convolutions():
    x = jnp.ones((3, 3))
    with pytest.raises(ValueError, match="same number of axes"):
        signal.convolve(x, jnp.ones(2))
    with pytest.raises(ValueError, match="mode must be"):
        signal.convolve(x, x, "all")
    with pytest.raises(ValueError, match="method must be"):
        signal.correlate(x, x, method="slow")
    with pytest.raises(ValueError, match="at least as large"):
        signal.convolve(jnp.ones((2, 3)), jnp.ones((3, 2)), "valid")
    with pytest.raises(NotImplementedError, match="boundary='fill'"):
        signal.convolve2d(x, x, boundary="wrap")
    with pytest.raises(ValueError, match="must not be empty"):
        signal.convolve(x, jnp.ones((0, 3)))


def test_detrend():
    x = np.random.default_rng(0).normal(size=(4, 30)).cumsum(1)
    for axis, type_, bp in ((-1, "linear", 0), (0, "constant", 0), (1, "linear", [10, 11]),
                            (0, "linear", 0)):  # fmt: skip
        wanted = scipy.signal.detrend(x, axis, type_, bp)
        close(signal.detrend(x, axis, type_, bp), wanted)
    got = jax.jit(lambda x: signal.detrend(x, bp=[5]))(x)
    close(got, scipy.signal.detrend(x, bp=[5]))
    with pytest.raises(ValueError, match="bp must be"):
        signal.detrend(x, bp=99)


def test_map_coordinates():
    rng = np.random.default_rng(0)
    image = rng.normal(size=(5, 4))
    places = np.stack([rng.uniform(-7, 12, 60), rng.uniform(-6, 9, 60)])
    theirs = {"constant": "grid-constant", "wrap": "grid-wrap"}
    for order in (0, 1):
        for mode in ("constant", "nearest", "wrap", "mirror", "reflect"):
            got = ndimage.map_coordinates(image, list(places), order, mode, 2.5)
            wanted = scipy.ndimage.map_coordinates(
                image, places, order=order, mode=theirs.get(mode, mode), cval=2.5
            )
            close(got, wanted)
    whole = ndimage.map_coordinates(jnp.arange(5), [jnp.array([0.6, 2.4])], 1)
    assert whole.tolist() == [1, 2]
    f = lambda p: ndimage.map_coordinates(jnp.array([0.0, 3, 4]), [p], 1)
    assert jax.grad(f)(0.5) == 3
    with pytest.raises(NotImplementedError, match="order must be 0 or 1"):
        ndimage.map_coordinates(image, list(places), 3)
    with pytest.raises(ValueError, match="each of the 2 axes"):
        ndimage.map_coordinates(image, list(places[:1]), 1)


def test_trapezoid():
    x = np.sort(np.random.default_rng(0).normal(size=9))
    close(integrate.trapezoid(x**2, x), np.trapezoid(x**2, x))


@pytest.mark.parametrize("kind", ["real", "complex"])
def test_spectra(kind):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 3, 100))
    if kind == "complex":
        x, y = x + 1j * y, y - 2j * x
    settings = [{}, {"nperseg": 16}, {"nperseg": 15, "noverlap": 9, "nfft": 20},
                {"window": "hamming", "nperseg": 12, "fs": 3.0},
                {"window": "triang", "nperseg": 12}, {"window": "triang", "nperseg": 15},
                {"window": np.arange(1.0, 11)}, {"detrend": "linear", "nperseg": 20},
                {"return_onesided": False, "nperseg": 20}]  # fmt: skip
    for each in settings:
        if kind == "complex":
            each = each | {"return_onesided": False}
        stft = each if "window" not in each else each | {"nperseg": each.get("nperseg")}
        for more in ({}, {"boundary": None, "padded": False}, {"boundary": "even"},
                     {"boundary": "odd"}, {"boundary": "constant"}):  # fmt: skip
            want = {"nperseg": 100} | stft | more
            for got, wanted in zip(
                signal.stft(x, **want), scipy.signal.stft(x, **want), strict=True
            ):
                close(got, wanted)
        want = {"nperseg": None if "window" in each else 100} | each
        for got, wanted in zip(
            signal.welch(x, **want), scipy.signal.welch(x, **want), strict=True
        ):
            close(got, wanted)
        want = want | {"scaling": "spectrum", "average": "median"}
        for got, wanted in zip(
            signal.csd(x, y, **want), scipy.signal.csd(x, y, **want), strict=True
        ):
            close(got, wanted)
    sides = kind == "real"
    want = {"nperseg": 16, "return_onesided": sides}
    Z = scipy.signal.stft(x.T, axis=0, **want)[2]
    close(signal.stft(x.T, axis=0, **want)[2], Z)
    for more in ({}, {"noverlap": 4}, {"boundary": False, "window": "hamming"}):
        want = {"input_onesided": sides, "freq_axis": 0} | more
        _, wanted = scipy.signal.istft(Z, **want)
        times, got = signal.istft(Z, **want)
        close(got, wanted)
        assert times.shape == (got.shape[-1],)
    with pytest.raises(NotImplementedError, match="window must be triang"):
        signal.welch(x, window="kaiser")
    with pytest.raises(ValueError, match="noverlap must be less"):
        signal.stft(x, nperseg=8, noverlap=8)
