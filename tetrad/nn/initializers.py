"""First values of weights: functions of a key, a shape and a dtype."""

from tetrad._src.lib.initializers import Initializer as Initializer
from tetrad._src.lib.initializers import constant as constant
from tetrad._src.lib.initializers import delta_orthogonal as delta_orthogonal
from tetrad._src.lib.initializers import glorot_normal as glorot_normal
from tetrad._src.lib.initializers import glorot_uniform as glorot_uniform
from tetrad._src.lib.initializers import he_normal as he_normal
from tetrad._src.lib.initializers import he_uniform as he_uniform
from tetrad._src.lib.initializers import kaiming_normal as kaiming_normal
from tetrad._src.lib.initializers import kaiming_uniform as kaiming_uniform
from tetrad._src.lib.initializers import lecun_normal as lecun_normal
from tetrad._src.lib.initializers import lecun_uniform as lecun_uniform
from tetrad._src.lib.initializers import normal as normal
from tetrad._src.lib.initializers import ones as ones
from tetrad._src.lib.initializers import orthogonal as orthogonal
from tetrad._src.lib.initializers import truncated_normal as truncated_normal
from tetrad._src.lib.initializers import uniform as uniform
from tetrad._src.lib.initializers import variance_scaling as variance_scaling
from tetrad._src.lib.initializers import xavier_normal as xavier_normal
from tetrad._src.lib.initializers import xavier_uniform as xavier_uniform
from tetrad._src.lib.initializers import zeros as zeros
