"""Cosine transforms: `tetrad.scipy.fft`."""

from tetrad._src.scipy.fft import dct as dct
from tetrad._src.scipy.fft import dctn as dctn
from tetrad._src.scipy.fft import idct as idct
from tetrad._src.scipy.fft import idctn as idctn
