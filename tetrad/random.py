"""Random numbers from explicit keys."""

from tetrad._src.lib.random import PRNGKey as PRNGKey
from tetrad._src.lib.random import bernoulli as bernoulli
from tetrad._src.lib.random import bits as bits
from tetrad._src.lib.random import categorical as categorical
from tetrad._src.lib.random import choice as choice
from tetrad._src.lib.random import clone as clone
from tetrad._src.lib.random import exponential as exponential
from tetrad._src.lib.random import fold_in as fold_in
from tetrad._src.lib.random import gumbel as gumbel
from tetrad._src.lib.random import key as key
from tetrad._src.lib.random import key_data as key_data
from tetrad._src.lib.random import key_impl as key_impl
from tetrad._src.lib.random import normal as normal
from tetrad._src.lib.random import permutation as permutation
from tetrad._src.lib.random import randint as randint
from tetrad._src.lib.random import split as split
from tetrad._src.lib.random import truncated_normal as truncated_normal
from tetrad._src.lib.random import uniform as uniform
from tetrad._src.lib.random import wrap_key_data as wrap_key_data
