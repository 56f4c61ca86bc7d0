"""Optimizers as three functions: `tetrad.example_libraries.optimizers`."""

from tetrad._src.example_libraries.optimizers import JoinPoint as JoinPoint
from tetrad._src.example_libraries.optimizers import Optimizer as Optimizer
from tetrad._src.example_libraries.optimizers import OptimizerState as OptimizerState
from tetrad._src.example_libraries.optimizers import Schedule as Schedule
from tetrad._src.example_libraries.optimizers import adagrad as adagrad
from tetrad._src.example_libraries.optimizers import adam as adam
from tetrad._src.example_libraries.optimizers import adamax as adamax
from tetrad._src.example_libraries.optimizers import clip_grads as clip_grads
from tetrad._src.example_libraries.optimizers import constant as constant
from tetrad._src.example_libraries.optimizers import (
    exponential_decay as exponential_decay,
)
from tetrad._src.example_libraries.optimizers import (
    inverse_time_decay as inverse_time_decay,
)
from tetrad._src.example_libraries.optimizers import l2_norm as l2_norm
from tetrad._src.example_libraries.optimizers import make_schedule as make_schedule
from tetrad._src.example_libraries.optimizers import momentum as momentum
from tetrad._src.example_libraries.optimizers import nesterov as nesterov
from tetrad._src.example_libraries.optimizers import optimizer as optimizer
from tetrad._src.example_libraries.optimizers import (
    pack_optimizer_state as pack_optimizer_state,
)
from tetrad._src.example_libraries.optimizers import (
    piecewise_constant as piecewise_constant,
)
from tetrad._src.example_libraries.optimizers import (
    polynomial_decay as polynomial_decay,
)
from tetrad._src.example_libraries.optimizers import rmsprop as rmsprop
from tetrad._src.example_libraries.optimizers import (
    rmsprop_momentum as rmsprop_momentum,
)
from tetrad._src.example_libraries.optimizers import sgd as sgd
from tetrad._src.example_libraries.optimizers import sm3 as sm3
from tetrad._src.example_libraries.optimizers import (
    unpack_optimizer_state as unpack_optimizer_state,
)
