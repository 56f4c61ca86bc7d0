"""Neural networks as pairs of functions: `tetrad.example_libraries.stax`."""

from tetrad._src.example_libraries.stax import AvgPool as AvgPool
from tetrad._src.example_libraries.stax import BatchNorm as BatchNorm
from tetrad._src.example_libraries.stax import Conv as Conv
from tetrad._src.example_libraries.stax import Conv1DTranspose as Conv1DTranspose
from tetrad._src.example_libraries.stax import ConvTranspose as ConvTranspose
from tetrad._src.example_libraries.stax import Dense as Dense
from tetrad._src.example_libraries.stax import Dropout as Dropout
from tetrad._src.example_libraries.stax import Elu as Elu
from tetrad._src.example_libraries.stax import Exp as Exp
from tetrad._src.example_libraries.stax import FanInConcat as FanInConcat
from tetrad._src.example_libraries.stax import FanInSum as FanInSum
from tetrad._src.example_libraries.stax import FanOut as FanOut
from tetrad._src.example_libraries.stax import Flatten as Flatten
from tetrad._src.example_libraries.stax import Gelu as Gelu
from tetrad._src.example_libraries.stax import GeneralConv as GeneralConv
from tetrad._src.example_libraries.stax import (
    GeneralConvTranspose as GeneralConvTranspose,
)
from tetrad._src.example_libraries.stax import Identity as Identity
from tetrad._src.example_libraries.stax import LeakyRelu as LeakyRelu
from tetrad._src.example_libraries.stax import LogSoftmax as LogSoftmax
from tetrad._src.example_libraries.stax import MaxPool as MaxPool
from tetrad._src.example_libraries.stax import Relu as Relu
from tetrad._src.example_libraries.stax import Selu as Selu
from tetrad._src.example_libraries.stax import Sigmoid as Sigmoid
from tetrad._src.example_libraries.stax import Softmax as Softmax
from tetrad._src.example_libraries.stax import Softplus as Softplus
from tetrad._src.example_libraries.stax import SumPool as SumPool
from tetrad._src.example_libraries.stax import Tanh as Tanh
from tetrad._src.example_libraries.stax import elementwise as elementwise
from tetrad._src.example_libraries.stax import parallel as parallel
from tetrad._src.example_libraries.stax import serial as serial
from tetrad._src.example_libraries.stax import shape_dependent as shape_dependent
from tetrad.nn import elu as elu
from tetrad.nn import gelu as gelu
from tetrad.nn import leaky_relu as leaky_relu
from tetrad.nn import log_softmax as log_softmax
from tetrad.nn import relu as relu
from tetrad.nn import selu as selu
from tetrad.nn import sigmoid as sigmoid
from tetrad.nn import softmax as softmax
from tetrad.nn import softplus as softplus
from tetrad.nn import standardize as standardize
from tetrad.nn import log_softmax as logsoftmax
from tetrad.nn.initializers import glorot_normal as glorot
from tetrad.nn.initializers import glorot_normal as glorot_normal
from tetrad.nn.initializers import normal as normal
from tetrad.nn.initializers import normal as randn
from tetrad.nn.initializers import ones as ones
from tetrad.nn.initializers import zeros as zeros
