"""Derivatives held against finite differences."""

from tetrad._src.api.check_grads import check_grads as check_grads
from tetrad._src.api.check_grads import check_jvp as check_jvp
from tetrad._src.api.check_grads import check_vjp as check_vjp
