"""Spectra of signals in time: short Fourier transforms and their averages.

A signal is cut into segments of `nperseg` samples that overlap by `noverlap`; each is
multiplied by a window, padded to `nfft` samples and transformed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tetrad import lax, numpy
from tetrad._src.scipy.arguments import floating
from tetrad._src.scipy.convolution import detrend as without_trend

jnp: Any = numpy  # arrays have methods that their type does not state

# Windows that are sums of cosines, by their coefficients.
_COSINES = {
    "boxcar": (1.0,),
    "hann": (0.5, 0.5),
    "hamming": (0.54, 0.46),
    "blackman": (0.42, 0.5, 0.08),
    "nuttall": (0.3635819, 0.4891775, 0.1365995, 0.0106411),
    "blackmanharris": (0.35875, 0.48829, 0.14128, 0.01168),
}
_BOUNDARIES = ("zeros", "constant", "even", "odd")


def stft(
    x: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int | None = 256,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = False,
    return_onesided: bool = True,
    boundary: str | None = "zeros",
    padded: bool = True,
    axis: int = -1,
) -> tuple[Any, Any, Any]:
    """(frequencies, times, Z): the Fourier transform of each segment of a signal.

    Args:
      x: the signal, along `axis`.
      fs: samples per unit of time.
      window: 'hann', 'hamming', 'blackman', 'boxcar', 'nuttall', 'blackmanharris',
        'triang', or the values of a window.
      nperseg: samples in a segment; by default 256, or the length of the window.
      noverlap: how many of them the next segment shares; half by default.
      nfft: the length of the transforms; `nperseg` by default.
      detrend: False, 'constant', 'linear' or a function of segments.
      return_onesided: whether only frequencies from 0 are kept, for real signals.
      boundary: what half a segment before and after is: 'zeros', 'constant' (the value at
        the end), 'even' or 'odd' (a reflection about that value); or None for nothing.
      padded: whether zeros complete the last segment.
      axis: the axis of time; Z has frequencies there, and times in the last axis.

    >>> from tetrad.scipy import signal
    >>> signal.stft(jnp.ones(64), nperseg=16)[2].shape
    (9, 9)
    """
    x = floating(x)
    win, noverlap, nfft = _segments("stft", x, axis, window, nperseg, noverlap, nfft)
    n = win.size
    if boundary not in (*_BOUNDARIES, None):
        raise ValueError(
            f"stft: boundary must be one of {', '.join(_BOUNDARIES)} or None, got"
            f" {boundary!r}"
        )
    x = jnp.moveaxis(x, axis, -1)
    if boundary is not None:
        x = _extended(x, n // 2, boundary)
    if padded:
        x = _padded(x, 0, -(x.shape[-1] - n) % (n - noverlap))
    Z = _transforms(x, win, noverlap, nfft, detrend, return_onesided) / float(win.sum())
    times = np.arange(Z.shape[-2]) * (n - noverlap) + (0.0 if boundary else n / 2)
    Z = jnp.moveaxis(Z, -1, axis - 1 if axis < 0 else axis)
    f = _frequencies(nfft, fs, return_onesided and not jnp.iscomplexobj(x))
    return f, jnp.asarray(times) / fs, Z


def istft(
    Zxx: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    input_onesided: bool = True,
    boundary: bool = True,
    time_axis: int = -1,
    freq_axis: int = -2,
) -> tuple[Any, Any]:
    """(times, x): the signal whose segments `stft` transformed, in the least-squares sense.

    Args:
      Zxx: the transforms, with times and frequencies along `time_axis` and `freq_axis`.
      input_onesided: whether frequencies are those from 0 only, of a real signal.
      boundary: whether the signal was extended by half a segment at each end.

    The others are those of `stft` and must be what they were there.

    >>> from tetrad.scipy import signal
    >>> x = jnp.arange(64.)
    >>> bool(jnp.allclose(signal.istft(signal.stft(x, nperseg=16)[2])[1], x, atol=1e-4))
    True
    """
    Z = jnp.moveaxis(jnp.asarray(Zxx), (time_axis, freq_axis), (-2, -1))
    bins = Z.shape[-1]
    length = 2 * (bins - 1) if input_onesided else bins
    n = length if nperseg is None else int(nperseg)
    if isinstance(window, str):
        win = _window("istft", window, n)
    else:
        win = np.asarray(window, float)
        n = win.size if nperseg is None else n
    if win.shape != (n,):
        raise ValueError(f"istft: window must have {n} values, got shape {win.shape}")
    if nfft is not None:
        length = int(nfft)
    elif input_onesided and n == length + 1:
        length = n
    overlap = n // 2 if noverlap is None else int(noverlap)
    if length < n or not 0 <= overlap < n:
        raise ValueError(
            f"istft: nperseg must be above noverlap and at most nfft, got nperseg={n},"
            f" noverlap={overlap} and nfft={length}"
        )
    parts = jnp.fft.irfft(Z, length) if input_onesided else jnp.fft.ifft(Z, length)
    parts = parts[..., :n] * _row(win * win.sum(), parts)
    places = np.arange(Z.shape[-2])[:, None] * (n - overlap) + np.arange(n)
    size = int(places[-1, -1]) + 1
    x = jnp.zeros((*parts.shape[:-2], size), parts.dtype).at[..., places].add(parts)
    norm = np.zeros(size)
    for row in places:
        norm[row] += np.square(win)
    x = x / _row(np.where(norm > 1e-10, norm, 1), x)
    if boundary:
        x = x[..., n // 2 : size - n // 2]
    times = jnp.asarray(np.arange(float(x.shape[-1]))) / fs
    # The axis of time goes back to where it was, less the axis of frequencies.
    rank = x.ndim + 1
    time, frequency = time_axis % rank, freq_axis % rank
    return times, jnp.moveaxis(x, -1, time - (frequency < time))


def csd(
    x: Any,
    y: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Any, Any]:
    """(frequencies, P): the mean of conj(X)·Y over segments, by Welch's method.

    Args:
      x, y: the signals; None for y is x again.
      scaling: 'density', per unit of frequency, or 'spectrum'.
      average: 'mean', or 'median', over its bias for noise.

    The others are those of `stft`.

    >>> from tetrad.scipy import signal
    >>> signal.csd(jnp.ones(64), jnp.ones(64), nperseg=16)[1].shape
    (9,)
    """
    if scaling not in ("density", "spectrum"):
        raise ValueError(
            f"csd: scaling must be 'density' or 'spectrum', got {scaling!r}"
        )
    if average not in ("mean", "median"):
        raise ValueError(f"csd: average must be 'mean' or 'median', got {average!r}")
    x = floating(x)
    y = x if y is None else floating(y)
    win, noverlap, nfft = _segments("csd", x, axis, window, nperseg, noverlap, nfft)
    onesided = return_onesided and not (jnp.iscomplexobj(x) or jnp.iscomplexobj(y))
    X, Y = (
        _transforms(jnp.moveaxis(z, axis, -1), win, noverlap, nfft, detrend, onesided)
        for z in (x, y)
    )
    P = _average(jnp.conj(X) * Y, average)
    if scaling == "density":
        P = P / (fs * float(np.square(win).sum()))
    else:
        P = P / float(win.sum()) ** 2
    if onesided:  # each frequency stands for its negative, too
        twice = np.full(P.shape[-1], 2.0)
        twice[0] = 1
        if nfft % 2 == 0:
            twice[-1] = 1
        P = P * _row(twice, P)
    return _frequencies(nfft, fs, onesided), jnp.moveaxis(P, -1, axis)


def welch(
    x: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Any, Any]:
    """(frequencies, P): the power spectrum of a signal, `csd` with itself.

    >>> from tetrad.scipy import signal
    >>> signal.welch(jnp.ones(64), nperseg=16)[1].shape
    (9,)
    """
    f, P = csd(
        x, None, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling,
        axis, average,
    )  # fmt: skip
    return f, P.real


def _segments(
    name: str,
    x: Any,
    axis: int,
    window: Any,
    nperseg: int | None,
    noverlap: int | None,
    nfft: int | None,
) -> tuple[np.ndarray, int, int]:
    """(window, noverlap, nfft)."""
    size = x.shape[axis]
    if isinstance(window, str):
        n = min(256 if nperseg is None else int(nperseg), size)
        win = _window(name, window, n)
    else:
        win = np.asarray(window, float)
        if win.ndim != 1 or win.size > size:
            raise ValueError(
                f"{name}: a window must be a vector no longer than the signal, {size}; got"
                f" shape {win.shape}"
            )
        if nperseg is not None and nperseg != win.size:
            raise ValueError(
                f"{name}: nperseg is {nperseg}, but the window has {win.size} values"
            )
    n = win.size
    overlap = n // 2 if noverlap is None else int(noverlap)
    length = n if nfft is None else int(nfft)
    if not 0 <= overlap < n:
        raise ValueError(
            f"{name}: noverlap must be less than the {n} samples of a segment, got"
            f" {overlap}"
        )
    if length < n:
        raise ValueError(f"{name}: nfft must be at least nperseg, {n}; got {length}")
    return win, overlap, length


def _window(name: str, window: str, n: int) -> np.ndarray:
    if window == "triang":
        half = n // 2 + 1 if n % 2 == 0 else (n + 1) / 2
        triangle: np.ndarray = 1 - np.abs(np.arange(n) - n / 2) / half
        return triangle
    if window not in _COSINES:
        raise NotImplementedError(
            f"{name}: window must be triang, {', '.join(_COSINES)} or the values of a"
            f" window, got {window!r}"
        )
    if n < 1:
        raise ValueError(f"{name}: nperseg must be positive, got {n}")
    angles = 2 * np.pi * np.arange(n) / n
    win = np.zeros(n)
    for k, c in enumerate(_COSINES[window]):
        win += (-1) ** k * c * np.cos(k * angles)
    return win


def _row(values: np.ndarray, like: Any) -> Any:
    """A vector along the last axis of an array, in its dtype."""
    row = values.reshape((1,) * (like.ndim - 1) + (-1,))
    return jnp.asarray(row, like.real.dtype).astype(like.dtype)


def _average(P: Any, average: str) -> Any:
    """The average over the axis of segments."""
    if average == "mean":
        return jnp.mean(P, -2)
    # What the median of n squares of noise is, over their mean.
    k = np.arange(1, (P.shape[-2] - 1) // 2 + 1)
    bias = 1 + float(np.sum(1 / (2 * k + 1) - 1 / (2 * k)))
    if jnp.iscomplexobj(P):
        return lax.complex(jnp.median(P.real, -2), jnp.median(P.imag, -2)) / bias
    return jnp.median(P, -2) / bias


def _extended(x: Any, m: int, boundary: str) -> Any:
    """A signal with m more samples at each end."""
    if boundary == "zeros" or m == 0:
        return _padded(x, m, m)
    first, last = x[..., :1], x[..., -1:]
    if boundary == "constant":
        return jnp.concatenate([first] * m + [x] + [last] * m, -1)
    if m >= x.shape[-1]:
        raise ValueError(
            f"stft: boundary={boundary!r} needs a signal longer than {m}, half a segment"
        )
    left, right = x[..., m:0:-1], x[..., -2 : -m - 2 : -1]
    if boundary == "odd":
        left, right = 2 * first - left, 2 * last - right
    return jnp.concatenate([left, x, right], -1)


def _padded(x: Any, before: int, after: int) -> Any:
    return jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(before, after)])


def _transforms(
    x: Any, win: np.ndarray, noverlap: int, nfft: int, detrend: Any, onesided: bool
) -> Any:
    """The transforms of the segments, an axis of segments before that of frequencies."""
    n = win.size
    starts = np.arange(0, x.shape[-1] - n + 1, n - noverlap)
    parts = x[..., starts[:, None] + np.arange(n)]
    if callable(detrend):
        parts = detrend(parts)
    elif detrend:
        parts = without_trend(parts, -1, detrend)
    parts = parts * _row(win, parts)
    if onesided and not jnp.iscomplexobj(x):
        return jnp.fft.rfft(parts, nfft)
    return jnp.fft.fft(parts, nfft)


def _frequencies(nfft: int, fs: Any, onesided: bool) -> Any:
    return jnp.asarray(np.fft.rfftfreq(nfft) if onesided else np.fft.fftfreq(nfft)) * fs
