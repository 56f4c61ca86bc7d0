"""Functions of neural networks."""

from tetrad._src.lib.nn import celu as celu
from tetrad._src.lib.nn import elu as elu
from tetrad._src.lib.nn import gelu as gelu
from tetrad._src.lib.nn import glu as glu
from tetrad._src.lib.nn import hard_sigmoid as hard_sigmoid
from tetrad._src.lib.nn import hard_silu as hard_silu
from tetrad._src.lib.nn import hard_swish as hard_swish
from tetrad._src.lib.nn import hard_tanh as hard_tanh
from tetrad._src.lib.nn import leaky_relu as leaky_relu
from tetrad._src.lib.nn import log_sigmoid as log_sigmoid
from tetrad._src.lib.nn import log_softmax as log_softmax
from tetrad._src.lib.nn import logsumexp as logsumexp
from tetrad._src.lib.nn import one_hot as one_hot
from tetrad._src.lib.nn import relu as relu
from tetrad._src.lib.nn import relu6 as relu6
from tetrad._src.lib.nn import selu as selu
from tetrad._src.lib.nn import sigmoid as sigmoid
from tetrad._src.lib.nn import silu as silu
from tetrad._src.lib.nn import soft_sign as soft_sign
from tetrad._src.lib.nn import softmax as softmax
from tetrad._src.lib.nn import softplus as softplus
from tetrad._src.lib.nn import standardize as standardize
from tetrad._src.lib.nn import swish as swish
from tetrad._src.lib.nn import tanh as tanh
