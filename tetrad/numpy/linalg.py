"""Linear algebra on arrays: `tetrad.numpy.linalg`."""

from __future__ import annotations
