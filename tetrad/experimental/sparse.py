"""`tetrad.experimental.sparse`: arrays of few elements, `BCOO`, and functions of them."""

from tetrad._src.sparse.bcoo import BCOO as BCOO
from tetrad._src.sparse.bcoo import JAXSparse as JAXSparse
from tetrad._src.sparse.bcoo import concatenate as bcoo_concatenate
from tetrad._src.sparse.bcoo import dot_general as bcoo_dot_general
from tetrad._src.sparse.bcoo import empty as empty
from tetrad._src.sparse.bcoo import extract as bcoo_extract
from tetrad._src.sparse.bcoo import eye as eye
from tetrad._src.sparse.bcoo import fromdense as bcoo_fromdense
from tetrad._src.sparse.bcoo import multiply_dense as bcoo_multiply_dense
from tetrad._src.sparse.bcoo import multiply_sparse as bcoo_multiply_sparse
from tetrad._src.sparse.bcoo import random_bcoo as random_bcoo
from tetrad._src.sparse.bcoo import reduce_sum as bcoo_reduce_sum
from tetrad._src.sparse.bcoo import reshape as bcoo_reshape
from tetrad._src.sparse.bcoo import sort_indices as bcoo_sort_indices
from tetrad._src.sparse.bcoo import sum_duplicates as bcoo_sum_duplicates
from tetrad._src.sparse.bcoo import todense as bcoo_todense
from tetrad._src.sparse.bcoo import todense as todense
from tetrad._src.sparse.bcoo import transpose as bcoo_transpose
from tetrad._src.sparse.transform import grad as grad
from tetrad._src.sparse.transform import sparsify as sparsify
from tetrad._src.sparse.transform import value_and_grad as value_and_grad

__all__ = [
    "BCOO",
    "JAXSparse",
    "bcoo_concatenate",
    "bcoo_dot_general",
    "bcoo_extract",
    "bcoo_fromdense",
    "bcoo_multiply_dense",
    "bcoo_multiply_sparse",
    "bcoo_reduce_sum",
    "bcoo_reshape",
    "bcoo_sort_indices",
    "bcoo_sum_duplicates",
    "bcoo_todense",
    "bcoo_transpose",
    "empty",
    "eye",
    "grad",
    "random_bcoo",
    "sparsify",
    "todense",
    "value_and_grad",
]
