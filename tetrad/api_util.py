"""Between functions of pytrees and functions of flat values."""

from tetrad._src.api.donated import donation_vector as donation_vector
from tetrad._src.api.donated import rebase_donate_argnums as rebase_donate_argnums
from tetrad._src.api.flat import leaf_aval as shaped_abstractify
from tetrad._src.api.linear_util import argnums_partial as argnums_partial
from tetrad._src.api.linear_util import debug_info as debug_info
from tetrad._src.api.linear_util import flatten_axes as flatten_axes
from tetrad._src.api.linear_util import flatten_fun as flatten_fun
from tetrad._src.api.linear_util import flatten_fun_nokwargs as flatten_fun_nokwargs
from tetrad._src.api.linear_util import safe_map as safe_map
