"""Distributions, a module each, and statistics of samples: `tetrad.scipy.stats`."""

from tetrad._src.scipy.stats.kde import gaussian_kde as gaussian_kde
from tetrad._src.scipy.stats.samples import mode as mode
from tetrad._src.scipy.stats.samples import rankdata as rankdata
from tetrad._src.scipy.stats.samples import sem as sem
from tetrad.scipy.stats import bernoulli as bernoulli
from tetrad.scipy.stats import beta as beta
from tetrad.scipy.stats import betabinom as betabinom
from tetrad.scipy.stats import binom as binom
from tetrad.scipy.stats import cauchy as cauchy
from tetrad.scipy.stats import chi2 as chi2
from tetrad.scipy.stats import dirichlet as dirichlet
from tetrad.scipy.stats import expon as expon
from tetrad.scipy.stats import gamma as gamma
from tetrad.scipy.stats import gennorm as gennorm
from tetrad.scipy.stats import geom as geom
from tetrad.scipy.stats import gumbel_l as gumbel_l
from tetrad.scipy.stats import gumbel_r as gumbel_r
from tetrad.scipy.stats import laplace as laplace
from tetrad.scipy.stats import logistic as logistic
from tetrad.scipy.stats import multinomial as multinomial
from tetrad.scipy.stats import multivariate_normal as multivariate_normal
from tetrad.scipy.stats import nbinom as nbinom
from tetrad.scipy.stats import norm as norm
from tetrad.scipy.stats import pareto as pareto
from tetrad.scipy.stats import poisson as poisson
from tetrad.scipy.stats import t as t
from tetrad.scipy.stats import truncnorm as truncnorm
from tetrad.scipy.stats import uniform as uniform
from tetrad.scipy.stats import vonmises as vonmises
from tetrad.scipy.stats import wrapcauchy as wrapcauchy

from tetrad._src.util.frames import hide_all as _hide_all

_hide_all(globals())
