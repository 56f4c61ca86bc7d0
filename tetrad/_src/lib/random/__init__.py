"""Random numbers from explicit keys: the same key gives the same numbers.

Bits come from the counter cipher of `ops/random.py`; the modules here turn bits into
distributions. Read `keys`, then `uniform`, from which the others follow.
"""

from tetrad._src.lib.random.continuous import cauchy as cauchy
from tetrad._src.lib.random.continuous import (
    double_sided_maxwell as double_sided_maxwell,
)
from tetrad._src.lib.random.continuous import exponential as exponential
from tetrad._src.lib.random.continuous import gumbel as gumbel
from tetrad._src.lib.random.continuous import laplace as laplace
from tetrad._src.lib.random.continuous import logistic as logistic
from tetrad._src.lib.random.continuous import lognormal as lognormal
from tetrad._src.lib.random.continuous import maxwell as maxwell
from tetrad._src.lib.random.continuous import pareto as pareto
from tetrad._src.lib.random.continuous import rayleigh as rayleigh
from tetrad._src.lib.random.continuous import triangular as triangular
from tetrad._src.lib.random.continuous import wald as wald
from tetrad._src.lib.random.continuous import weibull_min as weibull_min
from tetrad._src.lib.random.counts import binomial as binomial
from tetrad._src.lib.random.counts import geometric as geometric
from tetrad._src.lib.random.counts import multinomial as multinomial
from tetrad._src.lib.random.counts import poisson as poisson
from tetrad._src.lib.random.gamma import beta as beta
from tetrad._src.lib.random.gamma import chisquare as chisquare
from tetrad._src.lib.random.gamma import dirichlet as dirichlet
from tetrad._src.lib.random.gamma import f as f
from tetrad._src.lib.random.gamma import gamma as gamma
from tetrad._src.lib.random.gamma import generalized_normal as generalized_normal
from tetrad._src.lib.random.gamma import loggamma as loggamma
from tetrad._src.lib.random.gamma import random_gamma_p as random_gamma_p
from tetrad._src.lib.random.gamma import t as t
from tetrad._src.lib.random.keys import PRNGKey as PRNGKey
from tetrad._src.lib.random.keys import clone as clone
from tetrad._src.lib.random.keys import fold_in as fold_in
from tetrad._src.lib.random.keys import key as key
from tetrad._src.lib.random.keys import key_data as key_data
from tetrad._src.lib.random.keys import key_dtype as key_dtype
from tetrad._src.lib.random.keys import key_impl as key_impl
from tetrad._src.lib.random.keys import split as split
from tetrad._src.lib.random.keys import wrap_key_data as wrap_key_data
from tetrad._src.lib.random.orders import categorical as categorical
from tetrad._src.lib.random.orders import choice as choice
from tetrad._src.lib.random.orders import permutation as permutation
from tetrad._src.lib.random.uniform import bernoulli as bernoulli
from tetrad._src.lib.random.uniform import bits as bits
from tetrad._src.lib.random.uniform import normal as normal
from tetrad._src.lib.random.uniform import rademacher as rademacher
from tetrad._src.lib.random.uniform import randint as randint
from tetrad._src.lib.random.uniform import truncated_normal as truncated_normal
from tetrad._src.lib.random.uniform import uniform as uniform
from tetrad._src.lib.random.vectors import ball as ball
from tetrad._src.lib.random.vectors import multivariate_normal as multivariate_normal
from tetrad._src.lib.random.vectors import orthogonal as orthogonal
