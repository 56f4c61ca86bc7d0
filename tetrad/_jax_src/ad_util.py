"""Operations that rules of other libraries name."""

from tetrad._src.ops.identity import StopGradient as stop_gradient_p
from tetrad._src.transforms.sums import AddAny as add_jaxvals_p
from tetrad._src.transforms.sums import add_any as add_jaxvals
