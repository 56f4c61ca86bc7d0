"""Special functions: `tetrad.scipy.special`."""

from tetrad._src.scipy.special import beta as beta
from tetrad._src.scipy.special import betainc as betainc
from tetrad._src.scipy.special import betaln as betaln
from tetrad._src.scipy.special import boxcox as boxcox
from tetrad._src.scipy.special import boxcox1p as boxcox1p
from tetrad._src.scipy.special import comb as comb
from tetrad._src.scipy.special import digamma as digamma
from tetrad._src.scipy.special import entr as entr
from tetrad._src.scipy.special import erf as erf
from tetrad._src.scipy.special import erfc as erfc
from tetrad._src.scipy.special import erfinv as erfinv
from tetrad._src.scipy.special import expit as expit
from tetrad._src.scipy.special import factorial as factorial
from tetrad._src.scipy.special import gamma as gamma
from tetrad._src.scipy.special import gammainc as gammainc
from tetrad._src.scipy.special import gammaincc as gammaincc
from tetrad._src.scipy.special import gammaln as gammaln
from tetrad._src.scipy.special import gammasgn as gammasgn
from tetrad._src.scipy.special import i0 as i0
from tetrad._src.scipy.special import i0e as i0e
from tetrad._src.scipy.special import i1 as i1
from tetrad._src.scipy.special import i1e as i1e
from tetrad._src.scipy.special import kl_div as kl_div
from tetrad._src.scipy.special import log_ndtr as log_ndtr
from tetrad._src.scipy.special import log_softmax as log_softmax
from tetrad._src.scipy.special import logit as logit
from tetrad._src.scipy.special import logsumexp as logsumexp
from tetrad._src.scipy.special import multigammaln as multigammaln
from tetrad._src.scipy.special import ndtr as ndtr
from tetrad._src.scipy.special import ndtri as ndtri
from tetrad._src.scipy.special import poch as poch
from tetrad._src.scipy.special import polygamma as polygamma
from tetrad._src.scipy.special import rel_entr as rel_entr
from tetrad._src.scipy.special import softmax as softmax
from tetrad._src.scipy.special import xlog1py as xlog1py
from tetrad._src.scipy.special import xlogy as xlogy
from tetrad._src.scipy.special import zeta as zeta

from tetrad._src.util.frames import hide_all as _hide_all

_hide_all(globals())
