"""Derivatives held against finite differences."""

from tetrad.test_util import check_grads as check_grads
from tetrad.test_util import check_jvp as check_jvp
from tetrad.test_util import check_vjp as check_vjp
