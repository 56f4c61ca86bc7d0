"""Functions that are wrapped step by step."""

from tetrad._src.api.linear_util import StoreException as StoreException
from tetrad._src.api.linear_util import WrappedFun as WrappedFun
from tetrad._src.api.linear_util import cache as cache
from tetrad._src.api.linear_util import merge_linear_aux as merge_linear_aux
from tetrad._src.api.linear_util import transformation as transformation
from tetrad._src.api.linear_util import transformation2 as transformation2
from tetrad._src.api.linear_util import (
    transformation_with_aux as transformation_with_aux,
)
from tetrad._src.api.linear_util import (
    transformation_with_aux2 as transformation_with_aux2,
)
from tetrad._src.api.linear_util import wrap_init as wrap_init
