"""Functions of neural networks."""

from tetrad._src.lib.attention import dot_product_attention as dot_product_attention
from tetrad._src.lib.block_scales import (
    get_scaled_dot_general_config as get_scaled_dot_general_config,
)
from tetrad._src.lib.block_scales import scaled_dot_general as scaled_dot_general
from tetrad._src.lib.block_scales import scaled_matmul as scaled_matmul
from tetrad._src.lib.nn import celu as celu
from tetrad._src.lib.nn import elu as elu
from tetrad._src.lib.nn import gelu as gelu
from tetrad._src.lib.nn import glu as glu
from tetrad._src.lib.nn import hard_sigmoid as hard_sigmoid
from tetrad._src.lib.nn import hard_silu as hard_silu
from tetrad._src.lib.nn import hard_swish as hard_swish
from tetrad._src.lib.nn import hard_tanh as hard_tanh
from tetrad._src.lib.nn import identity as identity
from tetrad._src.lib.nn import leaky_relu as leaky_relu
from tetrad._src.lib.nn import log1mexp as log1mexp
from tetrad._src.lib.nn import log_sigmoid as log_sigmoid
from tetrad._src.lib.nn import log_softmax as log_softmax
from tetrad._src.lib.nn import logmeanexp as logmeanexp
from tetrad._src.lib.nn import logsumexp as logsumexp
from tetrad._src.lib.nn import mish as mish
from tetrad._src.lib.nn import one_hot as one_hot
from tetrad._src.lib.nn import relu as relu
from tetrad._src.lib.nn import relu6 as relu6
from tetrad._src.lib.nn import selu as selu
from tetrad._src.lib.nn import sigmoid as sigmoid
from tetrad._src.lib.nn import silu as silu
from tetrad._src.lib.nn import soft_sign as soft_sign
from tetrad._src.lib.nn import softmax as softmax
from tetrad._src.lib.nn import softplus as softplus
from tetrad._src.lib.nn import sparse_plus as sparse_plus
from tetrad._src.lib.nn import sparse_sigmoid as sparse_sigmoid
from tetrad._src.lib.nn import squareplus as squareplus
from tetrad._src.lib.nn import standardize as standardize
from tetrad._src.lib.nn import swish as swish
from tetrad._src.lib.nn import tanh as tanh
from tetrad.nn import initializers as initializers
