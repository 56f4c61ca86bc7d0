"""Reductions by segment."""

from tetrad._src.lib.segments import segment_max as segment_max
from tetrad._src.lib.segments import segment_min as segment_min
from tetrad._src.lib.segments import segment_prod as segment_prod
from tetrad._src.lib.segments import segment_sum as segment_sum
