"""NumPy's functions on arrays: `import tetrad.numpy as jnp`."""

from __future__ import annotations

import numpy as _np

from tetrad._src.core.bind import Value as ndarray
from tetrad._src.numpy.assemble import append as append
from tetrad._src.numpy.assemble import array_split as array_split
from tetrad._src.numpy.assemble import block as block
from tetrad._src.numpy.assemble import column_stack as column_stack
from tetrad._src.numpy.assemble import concat as concat
from tetrad._src.numpy.assemble import concatenate as concatenate
from tetrad._src.numpy.assemble import dsplit as dsplit
from tetrad._src.numpy.assemble import dstack as dstack
from tetrad._src.numpy.assemble import hsplit as hsplit
from tetrad._src.numpy.assemble import hstack as hstack
from tetrad._src.numpy.assemble import pad as pad
from tetrad._src.numpy.assemble import repeat as repeat
from tetrad._src.numpy.assemble import split as split
from tetrad._src.numpy.assemble import stack as stack
from tetrad._src.numpy.assemble import tile as tile
from tetrad._src.numpy.assemble import unstack as unstack
from tetrad._src.numpy.assemble import vsplit as vsplit
from tetrad._src.numpy.assemble import vstack as vstack
from tetrad._src.numpy.choice import choose as choose
from tetrad._src.numpy.choice import clip as clip
from tetrad._src.numpy.choice import compress as compress
from tetrad._src.numpy.choice import extract as extract
from tetrad._src.numpy.choice import nan_to_num as nan_to_num
from tetrad._src.numpy.choice import piecewise as piecewise
from tetrad._src.numpy.choice import put_along_axis as put_along_axis
from tetrad._src.numpy.choice import select as select
from tetrad._src.numpy.choice import take as take
from tetrad._src.numpy.choice import take_along_axis as take_along_axis
from tetrad._src.numpy.choice import where as where
from tetrad._src.numpy.contract import dot as dot
from tetrad._src.numpy.contract import inner as inner
from tetrad._src.numpy.contract import kron as kron
from tetrad._src.numpy.contract import matmul as matmul
from tetrad._src.numpy.contract import matvec as matvec
from tetrad._src.numpy.contract import outer as outer
from tetrad._src.numpy.contract import tensordot as tensordot
from tetrad._src.numpy.contract import trace as trace
from tetrad._src.numpy.contract import vdot as vdot
from tetrad._src.numpy.contract import vecdot as vecdot
from tetrad._src.numpy.contract import vecmat as vecmat
from tetrad._src.numpy.convert import array as array
from tetrad._src.numpy.convert import asarray as asarray
from tetrad._src.numpy.convert import place as place
from tetrad._src.numpy.create import arange as arange
from tetrad._src.numpy.create import copy as copy
from tetrad._src.numpy.create import diag as diag
from tetrad._src.numpy.create import diagflat as diagflat
from tetrad._src.numpy.create import diagonal as diagonal
from tetrad._src.numpy.create import empty as empty
from tetrad._src.numpy.create import empty_like as empty_like
from tetrad._src.numpy.create import eye as eye
from tetrad._src.numpy.create import fromfunction as fromfunction
from tetrad._src.numpy.create import full as full
from tetrad._src.numpy.create import full_like as full_like
from tetrad._src.numpy.create import geomspace as geomspace
from tetrad._src.numpy.create import identity as identity
from tetrad._src.numpy.create import indices as indices
from tetrad._src.numpy.create import linspace as linspace
from tetrad._src.numpy.create import logspace as logspace
from tetrad._src.numpy.create import meshgrid as meshgrid
from tetrad._src.numpy.create import ones as ones
from tetrad._src.numpy.create import ones_like as ones_like
from tetrad._src.numpy.create import tri as tri
from tetrad._src.numpy.create import tril as tril
from tetrad._src.numpy.create import triu as triu
from tetrad._src.numpy.create import vander as vander
from tetrad._src.numpy.create import zeros as zeros
from tetrad._src.numpy.create import zeros_like as zeros_like
from tetrad._src.numpy.cumulative import cumprod as cumprod
from tetrad._src.numpy.cumulative import cumsum as cumsum
from tetrad._src.numpy.cumulative import cumulative_prod as cumulative_prod
from tetrad._src.numpy.cumulative import cumulative_sum as cumulative_sum
from tetrad._src.numpy.cumulative import diff as diff
from tetrad._src.numpy.cumulative import ediff1d as ediff1d
from tetrad._src.numpy.cumulative import gradient as gradient
from tetrad._src.numpy.cumulative import nancumprod as nancumprod
from tetrad._src.numpy.cumulative import nancumsum as nancumsum
from tetrad._src.numpy.cumulative import trapezoid as trapezoid
from tetrad._src.numpy.cumulative import unwrap as unwrap
from tetrad._src.numpy.dtype import bfloat16 as bfloat16
from tetrad._src.numpy.dtype import bool_ as bool
from tetrad._src.numpy.dtype import bool_ as bool_
from tetrad._src.numpy.dtype import can_cast as can_cast
from tetrad._src.numpy.dtype import cdouble as cdouble
from tetrad._src.numpy.dtype import complex128 as complex128
from tetrad._src.numpy.dtype import complex64 as complex64
from tetrad._src.numpy.dtype import complex_ as complex_
from tetrad._src.numpy.dtype import csingle as csingle
from tetrad._src.numpy.dtype import double as double
from tetrad._src.numpy.dtype import finfo as finfo
from tetrad._src.numpy.dtype import float16 as float16
from tetrad._src.numpy.dtype import float32 as float32
from tetrad._src.numpy.dtype import float64 as float64
from tetrad._src.numpy.dtype import float8_e4m3b11fnuz as float8_e4m3b11fnuz
from tetrad._src.numpy.dtype import float8_e4m3fn as float8_e4m3fn
from tetrad._src.numpy.dtype import float8_e4m3fnuz as float8_e4m3fnuz
from tetrad._src.numpy.dtype import float8_e5m2 as float8_e5m2
from tetrad._src.numpy.dtype import float8_e5m2fnuz as float8_e5m2fnuz
from tetrad._src.numpy.dtype import float_ as float_
from tetrad._src.numpy.dtype import iinfo as iinfo
from tetrad._src.numpy.dtype import int16 as int16
from tetrad._src.numpy.dtype import int32 as int32
from tetrad._src.numpy.dtype import int4 as int4
from tetrad._src.numpy.dtype import int64 as int64
from tetrad._src.numpy.dtype import int8 as int8
from tetrad._src.numpy.dtype import int_ as int_
from tetrad._src.numpy.dtype import isdtype as isdtype
from tetrad._src.numpy.dtype import issubdtype as issubdtype
from tetrad._src.numpy.dtype import promote_types as promote_types
from tetrad._src.numpy.dtype import result_type as result_type
from tetrad._src.numpy.dtype import single as single
from tetrad._src.numpy.dtype import uint as uint
from tetrad._src.numpy.dtype import uint16 as uint16
from tetrad._src.numpy.dtype import uint32 as uint32
from tetrad._src.numpy.dtype import uint4 as uint4
from tetrad._src.numpy.dtype import uint64 as uint64
from tetrad._src.numpy.dtype import uint8 as uint8
from tetrad._src.numpy.elementwise import abs as abs
from tetrad._src.numpy.elementwise import absolute as absolute
from tetrad._src.numpy.elementwise import add as add
from tetrad._src.numpy.elementwise import around as around
from tetrad._src.numpy.elementwise import cbrt as cbrt
from tetrad._src.numpy.elementwise import ceil as ceil
from tetrad._src.numpy.elementwise import divide as divide
from tetrad._src.numpy.elementwise import divmod as divmod
from tetrad._src.numpy.elementwise import fabs as fabs
from tetrad._src.numpy.elementwise import float_power as float_power
from tetrad._src.numpy.elementwise import floor as floor
from tetrad._src.numpy.elementwise import floor_divide as floor_divide
from tetrad._src.numpy.elementwise import fmax as fmax
from tetrad._src.numpy.elementwise import fmin as fmin
from tetrad._src.numpy.elementwise import fmod as fmod
from tetrad._src.numpy.elementwise import maximum as maximum
from tetrad._src.numpy.elementwise import minimum as minimum
from tetrad._src.numpy.elementwise import mod as mod
from tetrad._src.numpy.elementwise import modf as modf
from tetrad._src.numpy.elementwise import multiply as multiply
from tetrad._src.numpy.elementwise import negative as negative
from tetrad._src.numpy.elementwise import positive as positive
from tetrad._src.numpy.elementwise import pow as pow
from tetrad._src.numpy.elementwise import power as power
from tetrad._src.numpy.elementwise import reciprocal as reciprocal
from tetrad._src.numpy.elementwise import remainder as remainder
from tetrad._src.numpy.elementwise import rint as rint
from tetrad._src.numpy.elementwise import round as round
from tetrad._src.numpy.elementwise import sign as sign
from tetrad._src.numpy.elementwise import sqrt as sqrt
from tetrad._src.numpy.elementwise import square as square
from tetrad._src.numpy.elementwise import subtract as subtract
from tetrad._src.numpy.elementwise import true_divide as true_divide
from tetrad._src.numpy.elementwise import trunc as trunc
from tetrad._src.numpy.logic import allclose as allclose
from tetrad._src.numpy.logic import angle as angle
from tetrad._src.numpy.logic import array_equal as array_equal
from tetrad._src.numpy.logic import array_equiv as array_equiv
from tetrad._src.numpy.logic import bitwise_and as bitwise_and
from tetrad._src.numpy.logic import bitwise_count as bitwise_count
from tetrad._src.numpy.logic import bitwise_invert as bitwise_invert
from tetrad._src.numpy.logic import bitwise_left_shift as bitwise_left_shift
from tetrad._src.numpy.logic import bitwise_not as bitwise_not
from tetrad._src.numpy.logic import bitwise_or as bitwise_or
from tetrad._src.numpy.logic import bitwise_right_shift as bitwise_right_shift
from tetrad._src.numpy.logic import bitwise_xor as bitwise_xor
from tetrad._src.numpy.logic import conj as conj
from tetrad._src.numpy.logic import conjugate as conjugate
from tetrad._src.numpy.logic import equal as equal
from tetrad._src.numpy.logic import greater as greater
from tetrad._src.numpy.logic import greater_equal as greater_equal
from tetrad._src.numpy.logic import imag as imag
from tetrad._src.numpy.logic import invert as invert
from tetrad._src.numpy.logic import isclose as isclose
from tetrad._src.numpy.logic import iscomplex as iscomplex
from tetrad._src.numpy.logic import iscomplexobj as iscomplexobj
from tetrad._src.numpy.logic import isfinite as isfinite
from tetrad._src.numpy.logic import isinf as isinf
from tetrad._src.numpy.logic import isnan as isnan
from tetrad._src.numpy.logic import isneginf as isneginf
from tetrad._src.numpy.logic import isposinf as isposinf
from tetrad._src.numpy.logic import isreal as isreal
from tetrad._src.numpy.logic import isrealobj as isrealobj
from tetrad._src.numpy.logic import isscalar as isscalar
from tetrad._src.numpy.logic import left_shift as left_shift
from tetrad._src.numpy.logic import less as less
from tetrad._src.numpy.logic import less_equal as less_equal
from tetrad._src.numpy.logic import logical_and as logical_and
from tetrad._src.numpy.logic import logical_not as logical_not
from tetrad._src.numpy.logic import logical_or as logical_or
from tetrad._src.numpy.logic import logical_xor as logical_xor
from tetrad._src.numpy.logic import not_equal as not_equal
from tetrad._src.numpy.logic import real as real
from tetrad._src.numpy.logic import right_shift as right_shift
from tetrad._src.numpy.nan import nanargmax as nanargmax
from tetrad._src.numpy.nan import nanargmin as nanargmin
from tetrad._src.numpy.nan import nanmax as nanmax
from tetrad._src.numpy.nan import nanmean as nanmean
from tetrad._src.numpy.nan import nanmin as nanmin
from tetrad._src.numpy.nan import nanprod as nanprod
from tetrad._src.numpy.nan import nanstd as nanstd
from tetrad._src.numpy.nan import nansum as nansum
from tetrad._src.numpy.nan import nanvar as nanvar
from tetrad._src.numpy.order import argpartition as argpartition
from tetrad._src.numpy.order import argsort as argsort
from tetrad._src.numpy.order import intersect1d as intersect1d
from tetrad._src.numpy.order import lexsort as lexsort
from tetrad._src.numpy.order import median as median
from tetrad._src.numpy.order import nanmedian as nanmedian
from tetrad._src.numpy.order import nanpercentile as nanpercentile
from tetrad._src.numpy.order import nanquantile as nanquantile
from tetrad._src.numpy.order import partition as partition
from tetrad._src.numpy.order import percentile as percentile
from tetrad._src.numpy.order import quantile as quantile
from tetrad._src.numpy.order import setdiff1d as setdiff1d
from tetrad._src.numpy.order import setxor1d as setxor1d
from tetrad._src.numpy.order import sort as sort
from tetrad._src.numpy.order import sort_complex as sort_complex
from tetrad._src.numpy.order import union1d as union1d
from tetrad._src.numpy.order import unique as unique
from tetrad._src.numpy.order import unique_all as unique_all
from tetrad._src.numpy.order import unique_counts as unique_counts
from tetrad._src.numpy.order import unique_inverse as unique_inverse
from tetrad._src.numpy.order import unique_values as unique_values
from tetrad._src.numpy.promote import broadcast_shapes as broadcast_shapes
from tetrad._src.numpy.promote import inexact as inexact
from tetrad._src.numpy.reduce import all as all
from tetrad._src.numpy.reduce import amax as amax
from tetrad._src.numpy.reduce import amin as amin
from tetrad._src.numpy.reduce import any as any
from tetrad._src.numpy.reduce import argmax as argmax
from tetrad._src.numpy.reduce import argmin as argmin
from tetrad._src.numpy.reduce import average as average
from tetrad._src.numpy.reduce import count_nonzero as count_nonzero
from tetrad._src.numpy.reduce import max as max
from tetrad._src.numpy.reduce import mean as mean
from tetrad._src.numpy.reduce import min as min
from tetrad._src.numpy.reduce import prod as prod
from tetrad._src.numpy.reduce import ptp as ptp
from tetrad._src.numpy.reduce import std as std
from tetrad._src.numpy.reduce import sum as sum
from tetrad._src.numpy.reduce import var as var
from tetrad._src.numpy.search import argwhere as argwhere
from tetrad._src.numpy.search import bincount as bincount
from tetrad._src.numpy.search import digitize as digitize
from tetrad._src.numpy.search import flatnonzero as flatnonzero
from tetrad._src.numpy.search import histogram as histogram
from tetrad._src.numpy.search import histogram_bin_edges as histogram_bin_edges
from tetrad._src.numpy.search import interp as interp
from tetrad._src.numpy.search import isin as isin
from tetrad._src.numpy.search import nonzero as nonzero
from tetrad._src.numpy.search import searchsorted as searchsorted
from tetrad._src.numpy.shape import atleast_1d as atleast_1d
from tetrad._src.numpy.shape import atleast_2d as atleast_2d
from tetrad._src.numpy.shape import atleast_3d as atleast_3d
from tetrad._src.numpy.shape import broadcast_arrays as broadcast_arrays
from tetrad._src.numpy.shape import broadcast_to as broadcast_to
from tetrad._src.numpy.shape import expand_dims as expand_dims
from tetrad._src.numpy.shape import flip as flip
from tetrad._src.numpy.shape import fliplr as fliplr
from tetrad._src.numpy.shape import flipud as flipud
from tetrad._src.numpy.shape import matrix_transpose as matrix_transpose
from tetrad._src.numpy.shape import moveaxis as moveaxis
from tetrad._src.numpy.shape import ndim as ndim
from tetrad._src.numpy.shape import permute_dims as permute_dims
from tetrad._src.numpy.shape import ravel as ravel
from tetrad._src.numpy.shape import reshape as reshape
from tetrad._src.numpy.shape import resize as resize
from tetrad._src.numpy.shape import roll as roll
from tetrad._src.numpy.shape import rollaxis as rollaxis
from tetrad._src.numpy.shape import rot90 as rot90
from tetrad._src.numpy.shape import shape as shape
from tetrad._src.numpy.shape import size as size
from tetrad._src.numpy.shape import squeeze as squeeze
from tetrad._src.numpy.shape import swapaxes as swapaxes
from tetrad._src.numpy.shape import transpose as transpose
from tetrad._src.numpy.transcendental import acos as acos
from tetrad._src.numpy.transcendental import acosh as acosh
from tetrad._src.numpy.transcendental import arccos as arccos
from tetrad._src.numpy.transcendental import arccosh as arccosh
from tetrad._src.numpy.transcendental import arcsin as arcsin
from tetrad._src.numpy.transcendental import arcsinh as arcsinh
from tetrad._src.numpy.transcendental import arctan as arctan
from tetrad._src.numpy.transcendental import arctan2 as arctan2
from tetrad._src.numpy.transcendental import arctanh as arctanh
from tetrad._src.numpy.transcendental import asin as asin
from tetrad._src.numpy.transcendental import asinh as asinh
from tetrad._src.numpy.transcendental import atan as atan
from tetrad._src.numpy.transcendental import atan2 as atan2
from tetrad._src.numpy.transcendental import atanh as atanh
from tetrad._src.numpy.transcendental import copysign as copysign
from tetrad._src.numpy.transcendental import cos as cos
from tetrad._src.numpy.transcendental import cosh as cosh
from tetrad._src.numpy.transcendental import deg2rad as deg2rad
from tetrad._src.numpy.transcendental import degrees as degrees
from tetrad._src.numpy.transcendental import exp as exp
from tetrad._src.numpy.transcendental import exp2 as exp2
from tetrad._src.numpy.transcendental import expm1 as expm1
from tetrad._src.numpy.transcendental import heaviside as heaviside
from tetrad._src.numpy.transcendental import hypot as hypot
from tetrad._src.numpy.transcendental import ldexp as ldexp
from tetrad._src.numpy.transcendental import log as log
from tetrad._src.numpy.transcendental import log10 as log10
from tetrad._src.numpy.transcendental import log1p as log1p
from tetrad._src.numpy.transcendental import log2 as log2
from tetrad._src.numpy.transcendental import logaddexp as logaddexp
from tetrad._src.numpy.transcendental import logaddexp2 as logaddexp2
from tetrad._src.numpy.transcendental import nextafter as nextafter
from tetrad._src.numpy.transcendental import rad2deg as rad2deg
from tetrad._src.numpy.transcendental import radians as radians
from tetrad._src.numpy.transcendental import signbit as signbit
from tetrad._src.numpy.transcendental import sin as sin
from tetrad._src.numpy.transcendental import sinc as sinc
from tetrad._src.numpy.transcendental import sinh as sinh
from tetrad._src.numpy.transcendental import tan as tan
from tetrad._src.numpy.transcendental import tanh as tanh
from tetrad.numpy import linalg as linalg

dtype = _np.dtype
generic = _np.generic
number = _np.number
integer = _np.integer
signedinteger = _np.signedinteger
unsignedinteger = _np.unsignedinteger
inexact = _np.inexact
floating = _np.floating
complexfloating = _np.complexfloating
character = _np.character
flexible = _np.flexible
object_ = _np.object_

pi = _np.pi
e = _np.e
euler_gamma = _np.euler_gamma
inf = _np.inf
nan = _np.nan
newaxis = None

get_printoptions = _np.get_printoptions
set_printoptions = _np.set_printoptions
printoptions = _np.printoptions
array_repr = _np.array_repr
array_str = _np.array_str
iterable = _np.iterable
save = _np.save
savez = _np.savez
ComplexWarning = _np.exceptions.ComplexWarning
