"""Batching rules of declared operations."""

from tetrad._src.api.primitives import AXIS_BATCHERS as fancy_primitive_batchers
from tetrad._src.api.primitives import BATCHERS as primitive_batchers
from tetrad._src.api.primitives import NAMED_AXIS_BATCHERS as axis_primitive_batchers
from tetrad._src.api.rules import bdim_at_front as bdim_at_front
from tetrad._src.api.rules import broadcast as broadcast
from tetrad._src.api.rules import defbroadcasting as defbroadcasting
from tetrad._src.api.rules import defreducer as defreducer
from tetrad._src.api.rules import defvectorized as defvectorized
from tetrad._src.ops.views import moveaxis as moveaxis
from tetrad._src.transforms.vmap import BatchTracer as BatchTracer

not_mapped = None
