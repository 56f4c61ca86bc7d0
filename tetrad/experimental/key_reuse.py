"""The check of random keys, which is on by default here: see `tetrad.key_check`.

A key that is used twice leads to a `KeyReuseWarning`; under `jax.debug_key_reuse(True)` or
`tetrad.key_check("error")` to a `KeyReuseError`.
"""

from tetrad._src.util.config import key_check as key_check
from tetrad._src.util.errors import KeyReuseError as KeyReuseError
from tetrad._src.util.errors import KeyReuseWarning as KeyReuseWarning
