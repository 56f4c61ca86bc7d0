"""Small libraries for teaching: `optimizers` and `stax`."""

from tetrad.example_libraries import optimizers as optimizers
from tetrad.example_libraries import stax as stax
