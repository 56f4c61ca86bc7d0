"""`tetrad.lax`: the operations themselves; names and meanings are those of `jax.lax`.

Stricter than `tetrad.numpy`: dtypes must agree, and shapes too unless an operand is a
scalar.
"""

from tetrad.lax import linalg as linalg

# Control flow
from tetrad._src.api.placing import (
    with_sharding_constraint as with_sharding_constraint,
)
from tetrad._src.api.platforms import platform_dependent as platform_dependent
from tetrad._src.control.cond import cond as cond
from tetrad._src.control.cond import switch as switch
from tetrad._src.control.implicit import custom_linear_solve as custom_linear_solve
from tetrad._src.control.implicit import custom_root as custom_root
from tetrad._src.control.loop import fori_loop as fori_loop
from tetrad._src.control.loop import while_loop as while_loop
from tetrad._src.control.maps import associative_scan as associative_scan
from tetrad._src.control.maps import map as map
from tetrad._src.control.maps import reduce as reduce
from tetrad._src.control.scan import scan as scan

# Collectives: across the lanes of a named axis
from tetrad._src.control.collectives import all_gather as all_gather
from tetrad._src.control.collectives import all_to_all as all_to_all
from tetrad._src.control.collectives import axis_index as axis_index
from tetrad._src.control.collectives import axis_size as axis_size
from tetrad._src.control.collectives import pmax as pmax
from tetrad._src.control.collectives import pmean as pmean
from tetrad._src.control.collectives import pmin as pmin
from tetrad._src.control.collectives import ppermute as ppermute
from tetrad._src.control.collectives import precv as precv
from tetrad._src.control.collectives import psend as psend
from tetrad._src.control.collectives import ragged_all_to_all as ragged_all_to_all
from tetrad._src.control.collectives import pshuffle as pshuffle
from tetrad._src.control.collectives import psum as psum
from tetrad._src.control.collectives import pswapaxes as pswapaxes
from tetrad._src.control.collectives import psum_scatter as psum_scatter

# Arithmetic
from tetrad._src.ops.complex import abs as abs
from tetrad._src.ops.arithmetic import add as add
from tetrad._src.ops.arithmetic import cbrt as cbrt
from tetrad._src.ops.rounding import ceil as ceil
from tetrad._src.ops.arithmetic import clamp as clamp
from tetrad._src.ops.complex import complex as complex
from tetrad._src.ops.complex import conj as conj
from tetrad._src.ops.identity import copy as copy
from tetrad._src.ops.arithmetic import div as div
from tetrad._src.ops.rounding import floor as floor
from tetrad._src.ops.complex import imag as imag
from tetrad._src.ops.arithmetic import integer_pow as integer_pow
from tetrad._src.ops.arithmetic import log as log
from tetrad._src.ops.arithmetic import max as max
from tetrad._src.ops.arithmetic import min as min
from tetrad._src.ops.arithmetic import mul as mul
from tetrad._src.ops.arithmetic import neg as neg
from tetrad._src.ops.rounding import nextafter as nextafter
from tetrad._src.ops.arithmetic import pow as pow
from tetrad._src.ops.complex import real as real
from tetrad._src.ops.arithmetic import reciprocal as reciprocal
from tetrad._src.ops.arithmetic import rem as rem
from tetrad._src.ops.rounding import round as round
from tetrad._src.ops.rounding import RoundingMethod as RoundingMethod
from tetrad._src.ops.arithmetic import rsqrt as rsqrt
from tetrad._src.ops.arithmetic import sign as sign
from tetrad._src.ops.arithmetic import sqrt as sqrt
from tetrad._src.ops.arithmetic import square as square
from tetrad._src.ops.identity import dce_sink as dce_sink
from tetrad._src.ops.identity import optimization_barrier as optimization_barrier
from tetrad._src.ops.identity import stop_gradient as stop_gradient
from tetrad._src.ops.arithmetic import sub as sub

# Exponentials, trigonometry
from tetrad._src.ops.token import after_all as after_all
from tetrad._src.ops.token import create_token as create_token
from tetrad._src.ops.transcendental import acos as acos
from tetrad._src.ops.transcendental import acosh as acosh
from tetrad._src.ops.transcendental import asin as asin
from tetrad._src.ops.transcendental import asinh as asinh
from tetrad._src.ops.transcendental import atan as atan
from tetrad._src.ops.transcendental import atan2 as atan2
from tetrad._src.ops.transcendental import atanh as atanh
from tetrad._src.ops.transcendental import cos as cos
from tetrad._src.ops.transcendental import cosh as cosh
from tetrad._src.ops.transcendental import exp as exp
from tetrad._src.ops.transcendental import exp2 as exp2
from tetrad._src.ops.transcendental import expm1 as expm1
from tetrad._src.ops.transcendental import log1p as log1p
from tetrad._src.ops.transcendental import logistic as logistic
from tetrad._src.ops.transcendental import sin as sin
from tetrad._src.ops.transcendental import sinh as sinh
from tetrad._src.ops.transcendental import tan as tan
from tetrad._src.ops.transcendental import tanh as tanh

# Special functions
from tetrad._src.lib.special import bessel_i0e as bessel_i0e
from tetrad._src.lib.special import bessel_i1e as bessel_i1e
from tetrad._src.lib.special import betainc as betainc
from tetrad._src.ops.special import digamma as digamma
from tetrad._src.ops.special import erf as erf
from tetrad._src.ops.special import erf_inv as erf_inv
from tetrad._src.ops.special import erfc as erfc
from tetrad._src.lib.special import igamma as igamma
from tetrad._src.lib.special import igamma_grad_a as igamma_grad_a
from tetrad._src.lib.special import igammac as igammac
from tetrad._src.lib.special import random_gamma_grad as random_gamma_grad
from tetrad._src.ops.special import lgamma as lgamma
from tetrad._src.ops.special import polygamma as polygamma
from tetrad._src.ops.special import reduce_precision as reduce_precision
from tetrad._src.ops.special import zeta as zeta

# Comparison, selection, bits
from tetrad._src.ops.compare import bitwise_and as bitwise_and
from tetrad._src.ops.compare import bitwise_not as bitwise_not
from tetrad._src.ops.compare import bitwise_or as bitwise_or
from tetrad._src.ops.compare import bitwise_xor as bitwise_xor
from tetrad._src.ops.compare import clz as clz
from tetrad._src.ops.compare import eq as eq
from tetrad._src.ops.compare import ge as ge
from tetrad._src.ops.compare import gt as gt
from tetrad._src.ops.compare import is_finite as is_finite
from tetrad._src.ops.compare import le as le
from tetrad._src.ops.compare import lt as lt
from tetrad._src.ops.compare import ne as ne
from tetrad._src.ops.compare import population_count as population_count
from tetrad._src.ops.compare import select as select
from tetrad._src.ops.compare import select_n as select_n
from tetrad._src.ops.compare import shift_left as shift_left
from tetrad._src.ops.compare import shift_right_arithmetic as shift_right_arithmetic
from tetrad._src.ops.compare import shift_right_logical as shift_right_logical

# Conversion
from tetrad._src.ops.bitcast import bitcast_convert_type as bitcast_convert_type
from tetrad._src.ops.convert import convert_element_type as convert_element_type
from tetrad._src.ops.convert import dtype as dtype

# Shapes
from tetrad._src.ops.views import broadcast as broadcast
from tetrad._src.ops.views import broadcast_in_dim as broadcast_in_dim
from tetrad._src.ops.views import broadcast_shapes as broadcast_shapes
from tetrad._src.ops.views import broadcast_to_rank as broadcast_to_rank
from tetrad._src.ops.views import broadcasted_iota as broadcasted_iota
from tetrad._src.ops.views import collapse as collapse
from tetrad._src.ops.views import empty as empty
from tetrad._src.ops.views import expand_dims as expand_dims
from tetrad._src.ops.views import full as full
from tetrad._src.ops.views import full_like as full_like
from tetrad._src.ops.views import iota as iota
from tetrad._src.ops.views import reduce_sum as reduce_sum
from tetrad._src.ops.views import reshape as reshape
from tetrad._src.ops.views import rev as rev
from tetrad._src.ops.views import squeeze as squeeze
from tetrad._src.ops.views import tile as tile
from tetrad._src.ops.views import transpose as transpose
from tetrad._src.ops.views import zeros_like as zeros_like

# Parts of arrays
from tetrad._src.ops.slices import concatenate as concatenate
from tetrad._src.ops.slices import index_in_dim as index_in_dim
from tetrad._src.ops.slices import pad as pad
from tetrad._src.ops.slices import slice as slice
from tetrad._src.ops.slices import slice_in_dim as slice_in_dim
from tetrad._src.ops.slices import split as split
from tetrad._src.ops.slices import stack as stack
from tetrad._src.ops.slices import unstack as unstack

# Reductions
from tetrad._src.ops.reduce import argmax as argmax
from tetrad._src.ops.reduce import argmin as argmin
from tetrad._src.ops.reduce import reduce_and as reduce_and
from tetrad._src.ops.reduce import reduce_max as reduce_max
from tetrad._src.ops.reduce import reduce_min as reduce_min
from tetrad._src.ops.reduce import reduce_or as reduce_or
from tetrad._src.ops.reduce import reduce_prod as reduce_prod
from tetrad._src.ops.reduce import reduce_xor as reduce_xor

# Running folds
from tetrad._src.ops.cumulative import cumlogsumexp as cumlogsumexp
from tetrad._src.ops.cumulative import cummax as cummax
from tetrad._src.ops.cumulative import cummin as cummin
from tetrad._src.ops.cumulative import cumprod as cumprod
from tetrad._src.ops.cumulative import cumsum as cumsum

# Products
from tetrad._src.ops.algorithms import DotAlgorithm as DotAlgorithm
from tetrad._src.ops.algorithms import DotAlgorithmPreset as DotAlgorithmPreset
from tetrad._src.ops.contract import DotDimensionNumbers as DotDimensionNumbers
from tetrad._src.ops.contract import PrecisionLike as PrecisionLike
from tetrad._src.ops.contract import Precision as Precision
from tetrad._src.ops.contract import batch_matmul as batch_matmul
from tetrad._src.ops.contract import dot as dot
from tetrad._src.ops.contract import dot_general as dot_general

# Indexing
from tetrad._src.ops.gather import GatherDimensionNumbers as GatherDimensionNumbers
from tetrad._src.ops.gather import GatherScatterMode as GatherScatterMode
from tetrad._src.ops.gather import ScatterDimensionNumbers as ScatterDimensionNumbers
from tetrad._src.ops.gather import gather as gather
from tetrad._src.ops.gather import index_take as index_take
from tetrad._src.ops.index import dynamic_index_in_dim as dynamic_index_in_dim
from tetrad._src.ops.index import dynamic_slice as dynamic_slice
from tetrad._src.ops.index import dynamic_slice_in_dim as dynamic_slice_in_dim
from tetrad._src.ops.index import (
    dynamic_update_index_in_dim as dynamic_update_index_in_dim,
)
from tetrad._src.ops.index import dynamic_update_slice as dynamic_update_slice
from tetrad._src.ops.index import (
    dynamic_update_slice_in_dim as dynamic_update_slice_in_dim,
)
from tetrad._src.ops.scatter import scatter as scatter
from tetrad._src.ops.scatter import scatter_add as scatter_add
from tetrad._src.ops.scatter import scatter_apply as scatter_apply
from tetrad._src.ops.scatter import scatter_max as scatter_max
from tetrad._src.ops.scatter import scatter_min as scatter_min
from tetrad._src.ops.scatter import scatter_mul as scatter_mul
from tetrad._src.ops.scatter import scatter_sub as scatter_sub

# Order
from tetrad._src.ops.sort import sort as sort
from tetrad._src.ops.sort import sort_key_val as sort_key_val
from tetrad._src.ops.sort import top_k as top_k

# Primitives: the classes of these operations
from tetrad._src.control.cond import Cond as cond_p
from tetrad._src.control.implicit import LinearSolve as linear_solve_p
from tetrad._src.control.loop import While as while_p
from tetrad._src.control.scan import Scan as scan_p
from tetrad._src.ops.arithmetic import Add as add_p
from tetrad._src.ops.arithmetic import Cbrt as cbrt_p
from tetrad._src.ops.arithmetic import Clamp as clamp_p
from tetrad._src.ops.arithmetic import Div as div_p
from tetrad._src.ops.arithmetic import IntegerPow as integer_pow_p
from tetrad._src.ops.arithmetic import Log as log_p
from tetrad._src.ops.arithmetic import Max as max_p
from tetrad._src.ops.arithmetic import Min as min_p
from tetrad._src.ops.arithmetic import Mul as mul_p
from tetrad._src.ops.arithmetic import Neg as neg_p
from tetrad._src.ops.arithmetic import Pow as pow_p
from tetrad._src.ops.arithmetic import Rem as rem_p
from tetrad._src.ops.arithmetic import Rsqrt as rsqrt_p
from tetrad._src.ops.arithmetic import Sign as sign_p
from tetrad._src.ops.arithmetic import Sqrt as sqrt_p
from tetrad._src.ops.arithmetic import Square as square_p
from tetrad._src.ops.arithmetic import Sub as sub_p
from tetrad._src.ops.bitcast import BitcastConvertType as bitcast_convert_type_p
from tetrad._src.ops.compare import And as and_p
from tetrad._src.ops.compare import Clz as clz_p
from tetrad._src.ops.compare import Eq as eq_p
from tetrad._src.ops.compare import Ge as ge_p
from tetrad._src.ops.compare import Gt as gt_p
from tetrad._src.ops.compare import IsFinite as is_finite_p
from tetrad._src.ops.compare import Le as le_p
from tetrad._src.ops.compare import Lt as lt_p
from tetrad._src.ops.compare import Ne as ne_p
from tetrad._src.ops.compare import Not as not_p
from tetrad._src.ops.compare import Or as or_p
from tetrad._src.ops.compare import PopulationCount as population_count_p
from tetrad._src.ops.compare import SelectN as select_n_p
from tetrad._src.ops.compare import ShiftLeft as shift_left_p
from tetrad._src.ops.compare import ShiftRightArithmetic as shift_right_arithmetic_p
from tetrad._src.ops.compare import ShiftRightLogical as shift_right_logical_p
from tetrad._src.ops.compare import Xor as xor_p
from tetrad._src.ops.complex import Abs as abs_p
from tetrad._src.ops.complex import Complex as complex_p
from tetrad._src.ops.complex import Conj as conj_p
from tetrad._src.ops.complex import Imag as imag_p
from tetrad._src.ops.complex import Real as real_p
from tetrad._src.ops.convert import ConvertElementType as convert_element_type_p
from tetrad._src.ops.identity import Copy as copy_p
from tetrad._src.ops.identity import StopGradient as stop_gradient_p
from tetrad._src.ops.rounding import Ceil as ceil_p
from tetrad._src.ops.rounding import Floor as floor_p
from tetrad._src.ops.rounding import Nextafter as nextafter_p
from tetrad._src.ops.rounding import Round as round_p
from tetrad._src.ops.slices import Concatenate as concatenate_p
from tetrad._src.ops.slices import Pad as pad_p
from tetrad._src.ops.slices import Slice as slice_p
from tetrad._src.ops.special import Digamma as digamma_p
from tetrad._src.ops.special import Erf as erf_p
from tetrad._src.ops.special import ErfInv as erf_inv_p
from tetrad._src.ops.special import Erfc as erfc_p
from tetrad._src.ops.special import Lgamma as lgamma_p
from tetrad._src.ops.special import Polygamma as polygamma_p
from tetrad._src.ops.special import ReducePrecision as reduce_precision_p
from tetrad._src.lib.special import BesselI0e as bessel_i0e_p
from tetrad._src.lib.special import BesselI1e as bessel_i1e_p
from tetrad._src.lib.special import Betainc as regularized_incomplete_beta_p
from tetrad._src.lib.special import Igamma as igamma_p
from tetrad._src.lib.special import IgammaGradA as igamma_grad_a_p
from tetrad._src.lib.special import Igammac as igammac_p
from tetrad._src.ops.special import Zeta as zeta_p
from tetrad._src.ops.transcendental import Acos as acos_p
from tetrad._src.ops.transcendental import Acosh as acosh_p
from tetrad._src.ops.transcendental import Asin as asin_p
from tetrad._src.ops.transcendental import Asinh as asinh_p
from tetrad._src.ops.transcendental import Atan as atan_p
from tetrad._src.ops.transcendental import Atan2 as atan2_p
from tetrad._src.ops.transcendental import Atanh as atanh_p
from tetrad._src.ops.transcendental import Cos as cos_p
from tetrad._src.ops.transcendental import Cosh as cosh_p
from tetrad._src.ops.transcendental import Exp as exp_p
from tetrad._src.ops.transcendental import Exp2 as exp2_p
from tetrad._src.ops.transcendental import Expm1 as expm1_p
from tetrad._src.ops.transcendental import Log1p as log1p_p
from tetrad._src.ops.transcendental import Logistic as logistic_p
from tetrad._src.ops.transcendental import Sin as sin_p
from tetrad._src.ops.transcendental import Sinh as sinh_p
from tetrad._src.ops.transcendental import Tan as tan_p
from tetrad._src.ops.transcendental import Tanh as tanh_p
from tetrad._src.ops.views import BroadcastInDim as broadcast_in_dim_p
from tetrad._src.ops.views import Iota as iota_p
from tetrad._src.ops.views import ReduceSum as reduce_sum_p
from tetrad._src.ops.views import Reshape as reshape_p
from tetrad._src.ops.views import Rev as rev_p
from tetrad._src.ops.views import Squeeze as squeeze_p
from tetrad._src.ops.views import Transpose as transpose_p
from tetrad._src.control.collectives import AllGather as all_gather_p
from tetrad._src.control.collectives import AxisIndex as axis_index_p
from tetrad._src.control.collectives import Pmax as pmax_p
from tetrad._src.control.collectives import Pmin as pmin_p
from tetrad._src.control.collectives import Ppermute as ppermute_p
from tetrad._src.control.collectives import Psum as psum_p
from tetrad._src.ops.contract import DotGeneral as dot_general_p
from tetrad._src.ops.cumulative import Cumlogsumexp as cumlogsumexp_p
from tetrad._src.ops.cumulative import Cummax as cummax_p
from tetrad._src.ops.cumulative import Cummin as cummin_p
from tetrad._src.ops.cumulative import Cumprod as cumprod_p
from tetrad._src.ops.cumulative import Cumsum as cumsum_p
from tetrad._src.ops.gather import Gather as gather_p
from tetrad._src.ops.gather import ScatterAdd as scatter_add_p
from tetrad._src.ops.gather import ScatterSub as scatter_sub_p
from tetrad._src.ops.identity import OptimizationBarrier as optimization_barrier_p
from tetrad._src.ops.index import DynamicSlice as dynamic_slice_p
from tetrad._src.ops.index import DynamicUpdateSlice as dynamic_update_slice_p
from tetrad._src.ops.reduce import Argmax as argmax_p
from tetrad._src.ops.reduce import Argmin as argmin_p
from tetrad._src.ops.reduce import ReduceAnd as reduce_and_p
from tetrad._src.ops.reduce import ReduceMax as reduce_max_p
from tetrad._src.ops.reduce import ReduceMin as reduce_min_p
from tetrad._src.ops.reduce import ReduceOr as reduce_or_p
from tetrad._src.ops.reduce import ReduceProd as reduce_prod_p
from tetrad._src.ops.reduce import ReduceXor as reduce_xor_p
from tetrad._src.ops.scatter import Scatter as scatter_p
from tetrad._src.ops.scatter import ScatterMax as scatter_max_p
from tetrad._src.ops.scatter import ScatterMin as scatter_min_p
from tetrad._src.ops.scatter import ScatterMul as scatter_mul_p
from tetrad._src.ops.sort import Sort as sort_p
from tetrad._src.ops.convolution import ConvGeneralDilated as conv_general_dilated_p
from tetrad._src.ops.fft import Fft as fft_p
from tetrad._src.ops.identity import DceSink as dce_sink_p
from tetrad._src.ops.placing import DevicePut as device_put_p
from tetrad._src.ops.sort import TopK as top_k_p
from tetrad._src.ops.windows import ReduceWindowMax as reduce_window_max_p
from tetrad._src.ops.windows import ReduceWindowMin as reduce_window_min_p
from tetrad._src.ops.windows import ReduceWindowSum as reduce_window_sum_p

# Windows and convolutions
from tetrad._src.control.windows import reduce_window as reduce_window
from tetrad._src.ops.convolution import ConvDimensionNumbers as ConvDimensionNumbers
from tetrad._src.ops.convolution import (
    ConvGeneralDilatedDimensionNumbers as ConvGeneralDilatedDimensionNumbers,
)
from tetrad._src.ops.convolution import conv as conv
from tetrad._src.ops.convolution import conv_dimension_numbers as conv_dimension_numbers
from tetrad._src.ops.convolution import conv_general_dilated as conv_general_dilated
from tetrad._src.ops.convolution import (
    conv_general_dilated_patches as conv_general_dilated_patches,
)
from tetrad._src.ops.convolution import conv_transpose as conv_transpose
from tetrad._src.ops.convolution import (
    conv_with_general_padding as conv_with_general_padding,
)
from tetrad._src.ops.windows import padtype_to_pads as padtype_to_pads
from tetrad._src.ops.windows import (
    reduce_window_shape_tuple as reduce_window_shape_tuple,
)

# Fourier transforms
from tetrad._src.ops.fft import FftType as FftType
from tetrad._src.ops.fft import fft as fft

# Groups, places and selections
from tetrad._src.control.collectives import pbroadcast as pbroadcast
from tetrad._src.control.collectives import pcast as pcast
from tetrad._src.control.composite import composite as composite
from tetrad._src.lib.block_scales import scaled_dot as scaled_dot
from tetrad._src.lib.bit_generator import RandomAlgorithm as RandomAlgorithm
from tetrad._src.lib.bit_generator import rng_bit_generator as rng_bit_generator
from tetrad._src.lib.bit_generator import rng_uniform as rng_uniform
from tetrad._src.lib.local_convolution import (
    conv_general_dilated_local as conv_general_dilated_local,
)
from tetrad._src.lib.local_convolution import (
    conv_general_permutations as conv_general_permutations,
)
from tetrad._src.lib.local_convolution import (
    conv_general_shape_tuple as conv_general_shape_tuple,
)
from tetrad._src.lib.local_convolution import conv_shape_tuple as conv_shape_tuple
from tetrad._src.lib.local_convolution import (
    conv_transpose_shape_tuple as conv_transpose_shape_tuple,
)
from tetrad._src.lib.ragged import (
    RaggedDotDimensionNumbers as RaggedDotDimensionNumbers,
)
from tetrad._src.lib.ragged import ragged_dot as ragged_dot
from tetrad._src.lib.ragged import ragged_dot_general as ragged_dot_general
from tetrad._src.lib.selection import approx_max_k as approx_max_k
from tetrad._src.lib.selection import approx_min_k as approx_min_k
from tetrad._src.lib.selection import broadcast_like as broadcast_like
from tetrad._src.lib.selection import mulhi as mulhi
from tetrad._src.lib.selection import shape_as_value as shape_as_value
from tetrad._src.lib.selection import stage as stage
from tetrad._src.ops.accuracy import AccuracyMode as AccuracyMode
from tetrad._src.ops.accuracy import Tolerance as Tolerance
