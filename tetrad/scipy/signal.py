"""Signals: `tetrad.scipy.signal`."""

from tetrad._src.scipy.convolution import convolve as convolve
from tetrad._src.scipy.convolution import convolve2d as convolve2d
from tetrad._src.scipy.convolution import correlate as correlate
from tetrad._src.scipy.convolution import correlate2d as correlate2d
from tetrad._src.scipy.convolution import detrend as detrend
from tetrad._src.scipy.convolution import fftconvolve as fftconvolve
from tetrad._src.scipy.spectral import csd as csd
from tetrad._src.scipy.spectral import stft as stft
from tetrad._src.scipy.spectral import welch as welch
from tetrad._src.scipy.spectral import istft as istft

from tetrad._src.util.frames import hide_all as _hide_all

_hide_all(globals())
