"""Fourier transforms: `tetrad.numpy.fft`."""

from tetrad._src.numpy.fft import fft as fft
from tetrad._src.numpy.fft import fft2 as fft2
from tetrad._src.numpy.fft import fftfreq as fftfreq
from tetrad._src.numpy.fft import fftn as fftn
from tetrad._src.numpy.fft import fftshift as fftshift
from tetrad._src.numpy.fft import hfft as hfft
from tetrad._src.numpy.fft import ifft as ifft
from tetrad._src.numpy.fft import ifft2 as ifft2
from tetrad._src.numpy.fft import ifftn as ifftn
from tetrad._src.numpy.fft import ifftshift as ifftshift
from tetrad._src.numpy.fft import ihfft as ihfft
from tetrad._src.numpy.fft import irfft as irfft
from tetrad._src.numpy.fft import irfft2 as irfft2
from tetrad._src.numpy.fft import irfftn as irfftn
from tetrad._src.numpy.fft import rfft as rfft
from tetrad._src.numpy.fft import rfft2 as rfft2
from tetrad._src.numpy.fft import rfftfreq as rfftfreq
from tetrad._src.numpy.fft import rfftn as rfftn
