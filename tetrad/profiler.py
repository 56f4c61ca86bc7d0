"""Profiles for other tools: time as a trace for Perfetto, memory for pprof."""

from tetrad._src.see.pprof import device_memory_profile as device_memory_profile
from tetrad._src.see.pprof import (
    save_device_memory_profile as save_device_memory_profile,
)
from tetrad._src.see.tracing import ProfileOptions as ProfileOptions
from tetrad._src.see.tracing import StepTraceAnnotation as StepTraceAnnotation
from tetrad._src.see.tracing import TraceAnnotation as TraceAnnotation
from tetrad._src.see.tracing import annotate_function as annotate_function
from tetrad._src.see.tracing import start_server as start_server
from tetrad._src.see.tracing import start_trace as start_trace
from tetrad._src.see.tracing import stop_server as stop_server
from tetrad._src.see.tracing import stop_trace as stop_trace
from tetrad._src.see.tracing import trace as trace
