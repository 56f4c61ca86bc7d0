"""Checks in compiled programs: `check`, and `checkify`, which makes results of them."""

from tetrad._src.api.checkify import all_checks as all_checks
from tetrad._src.api.checkify import automatic_checks as automatic_checks
from tetrad._src.api.checkify import checkify as checkify
from tetrad._src.api.checkify import div_checks as div_checks
from tetrad._src.api.checkify import float_checks as float_checks
from tetrad._src.api.checkify import index_checks as index_checks
from tetrad._src.api.checkify import nan_checks as nan_checks
from tetrad._src.api.checkify import user_checks as user_checks
from tetrad._src.control.checks import DivisionByZeroError as DivisionByZeroError
from tetrad._src.control.checks import Error as Error
from tetrad._src.control.checks import ErrorEffect as ErrorEffect
from tetrad._src.control.checks import FailedCheckError as FailedCheckError
from tetrad._src.control.checks import JaxException as JaxException
from tetrad._src.control.checks import NaNError as NaNError
from tetrad._src.control.checks import OOBError as OOBError
from tetrad._src.control.checks import check as check
from tetrad._src.control.checks import check_error as check_error
from tetrad._src.control.checks import debug_check as debug_check
from tetrad._src.control.checks import init_error as init_error
from tetrad._src.util.errors import CheckError as JaxRuntimeError
from tetrad._src.util.frames import hide_all as _hide_all

ErrorCategory = type[JaxException]

_hide_all(globals())
