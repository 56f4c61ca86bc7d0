"""The catalogue of operations: one row here gives an operation all its tests.

`row.py` says what a row is. The other files hold the rows, by topic.
"""

from catalogue.elementwise import ROWS as ELEMENTWISE
from catalogue.row import Row

ROWS: list[Row] = [*ELEMENTWISE]

# Functions of tetrad.lax without a row, and why.
EXEMPT: dict[str, str] = {}
