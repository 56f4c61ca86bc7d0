"""Rules by which transformations treat operations that programs declare."""

from tetrad.interpreters import ad as ad
from tetrad.interpreters import batching as batching
from tetrad.interpreters import mlir as mlir
from tetrad.interpreters import partial_eval as partial_eval
from tetrad.interpreters import pxla as pxla
from tetrad.interpreters import xla as xla
