"""Cosine transforms: `tetrad.scipy.fft`."""

from tetrad._src.scipy.fft import dct as dct
from tetrad._src.scipy.fft import dctn as dctn
from tetrad._src.scipy.fft import idct as idct
from tetrad._src.scipy.fft import idctn as idctn

from tetrad._src.util.frames import hide_all as _hide_all

_hide_all(globals())
