"""The exceptions of tetrad; each one's docstring is its documentation page."""

from tetrad._src.util.errors import CheckError as CheckError
from tetrad._src.util.errors import ConcretizationTypeError as ConcretizationTypeError
from tetrad._src.util.errors import CopyError as CopyError
from tetrad._src.util.errors import DeletedArrayError as DeletedArrayError
from tetrad._src.util.errors import (
    InconclusiveDimensionOperation as InconclusiveDimensionOperation,
)
from tetrad._src.util.errors import JAXIndexError as JAXIndexError
from tetrad._src.util.errors import JaxprTypeError as JaxprTypeError
from tetrad._src.util.errors import JaxRuntimeError as JaxRuntimeError
from tetrad._src.util.errors import JAXTypeError as JAXTypeError
from tetrad._src.util.errors import KeyReuseError as KeyReuseError
from tetrad._src.util.errors import KeyReuseWarning as KeyReuseWarning
from tetrad._src.util.errors import (
    NonConcreteBooleanIndexError as NonConcreteBooleanIndexError,
)
from tetrad._src.util.errors import NonFiniteError as NonFiniteError
from tetrad._src.util.errors import OutOfBoundsError as OutOfBoundsError
from tetrad._src.util.errors import OutOfBoundsWarning as OutOfBoundsWarning
from tetrad._src.util.errors import OutOfMemoryError as OutOfMemoryError
from tetrad._src.util.errors import ShapeError as ShapeError
from tetrad._src.util.errors import TooManyCompilesError as TooManyCompilesError
from tetrad._src.util.errors import (
    TracerArrayConversionError as TracerArrayConversionError,
)
from tetrad._src.util.errors import (
    TracerBoolConversionError as TracerBoolConversionError,
)
from tetrad._src.util.errors import (
    TracerIntegerConversionError as TracerIntegerConversionError,
)
from tetrad._src.util.errors import TransferGuardError as TransferGuardError
from tetrad._src.util.errors import UnexpectedTracerError as UnexpectedTracerError

__all__ = [
    "CheckError",
    "ConcretizationTypeError",
    "CopyError",
    "DeletedArrayError",
    "InconclusiveDimensionOperation",
    "JAXIndexError",
    "JAXTypeError",
    "JaxRuntimeError",
    "JaxprTypeError",
    "KeyReuseError",
    "KeyReuseWarning",
    "NonConcreteBooleanIndexError",
    "NonFiniteError",
    "OutOfBoundsError",
    "OutOfBoundsWarning",
    "OutOfMemoryError",
    "ShapeError",
    "TooManyCompilesError",
    "TracerArrayConversionError",
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
    "UnexpectedTracerError",
]
