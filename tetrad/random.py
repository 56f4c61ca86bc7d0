"""Random numbers from explicit keys."""

from tetrad._src.lib.random.keys import PRNGKey as PRNGKey
from tetrad._src.lib.random.uniform import bernoulli as bernoulli
from tetrad._src.lib.random.uniform import bits as bits
from tetrad._src.lib.random.orders import categorical as categorical
from tetrad._src.lib.random.orders import choice as choice
from tetrad._src.lib.random.keys import clone as clone
from tetrad._src.lib.random.continuous import exponential as exponential
from tetrad._src.lib.random.keys import fold_in as fold_in
from tetrad._src.lib.random.continuous import gumbel as gumbel
from tetrad._src.lib.random.keys import key as key
from tetrad._src.lib.random.keys import key_data as key_data
from tetrad._src.lib.random.keys import key_impl as key_impl
from tetrad._src.lib.random.uniform import normal as normal
from tetrad._src.lib.random.orders import permutation as permutation
from tetrad._src.lib.random.uniform import randint as randint
from tetrad._src.lib.random.keys import split as split
from tetrad._src.lib.random.uniform import truncated_normal as truncated_normal
from tetrad._src.lib.random.uniform import uniform as uniform
from tetrad._src.lib.random.keys import wrap_key_data as wrap_key_data
