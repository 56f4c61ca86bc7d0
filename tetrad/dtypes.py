"""Element types and their promotion."""

from tetrad._src.util.dtypes import bfloat16 as bfloat16
from tetrad._src.util.dtypes import canonicalize_dtype as canonicalize_dtype
from tetrad._src.util.dtypes import extended as extended
from tetrad._src.util.dtypes import finfo as finfo
from tetrad._src.util.dtypes import float0 as float0
from tetrad._src.util.dtypes import TypePromotionError as TypePromotionError
from tetrad._src.util.dtypes import iinfo as iinfo
from tetrad._src.util.dtypes import issubdtype as issubdtype
from tetrad._src.util.dtypes import itemsize_bits as itemsize_bits
from tetrad._src.util.dtypes import prng_key as prng_key
from tetrad._src.util.dtypes import result_type as result_type
from tetrad._src.util.dtypes import scalar_type_of as scalar_type_of
